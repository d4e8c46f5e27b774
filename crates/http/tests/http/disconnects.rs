//! The work for clients that have gone.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use docent_catalog::{Caller, Catalog, Proposal};
use docent_graphql::Engine;
use docent_http::server::{ConnectionLimits, Connections, serve};
use docent_http::{AppState, AuthMode, HttpSettings, RequestTimeout};
use docent_model::{AspectName, FixedClock, Urn};
use docent_store::{ReadReply, ReadRequest, Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore, TestStore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::support::{DATASET, NOW_MS};

const DOMAIN: &str = "urn:li:domain:sales";
const CLIENTS: usize = 3;
/// Bounds every wait.
const LONG: Duration = Duration::from_mins(1);

/// A store whose reads can be stopped before they begin.
#[derive(Debug)]
struct StoppableStore {
    inner: Arc<dyn Store>,
    is_stopped: watch::Sender<bool>,
    begun: watch::Sender<usize>,
    running: watch::Sender<usize>,
}

struct RunningRead<'s>(&'s StoppableStore);

impl Drop for RunningRead<'_> {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count -= 1);
    }
}

#[async_trait]
impl Intercept for StoppableStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        self.begun.send_modify(|count| *count += 1);
        self.running.send_modify(|count| *count += 1);
        let _running = RunningRead(self);
        let mut is_stopped = self.is_stopped.subscribe();
        drop(is_stopped.wait_for(|is_stopped| !is_stopped).await);
        self.inner.read(request).await
    }
}

impl StoppableStore {
    async fn wait_until_running(&self, expected: usize) {
        let mut running = self.running.subscribe();
        let waited = tokio::time::timeout(LONG, running.wait_for(|count| *count == expected));
        let is_reached = waited.await.is_ok();
        let count = *self.running.borrow();
        assert!(is_reached, "{count} reads run instead of {expected}");
    }
}

/// A dataset in a domain.
async fn store_dataset(store: Arc<dyn Store>) {
    let catalog = Catalog::new(store, Arc::new(FixedClock::at(NOW_MS)));
    let upsert = |urn: &str, aspect, value: serde_json::Value| {
        Proposal::upsert(Urn::parse(urn).unwrap(), aspect, value.to_string())
    };
    let proposals = vec![
        upsert(
            DOMAIN,
            AspectName::DOMAIN_PROPERTIES,
            json!({"name": "Sales"}),
        ),
        upsert(DATASET, AspectName::DOMAINS, json!({"domains": [DOMAIN]})),
    ];
    let written = catalog.ingest(&Caller::system(), proposals).await;
    written.unwrap();
}

#[tokio::test]
async fn no_read_runs_or_begins_for_clients_that_have_gone() {
    let test_store = TestStore::open().await.unwrap();
    store_dataset(test_store.store()).await;
    let store = Arc::new(InterceptedStore(StoppableStore {
        inner: test_store.store(),
        is_stopped: watch::Sender::new(false),
        begun: watch::Sender::new(0),
        running: watch::Sender::new(0),
    }));
    let catalog = Catalog::new(Arc::clone(&store) as _, Arc::new(FixedClock::at(NOW_MS)));
    let settings = HttpSettings {
        auth: AuthMode::Off,
        // The end of their time would end the reads, too.
        request_timeout: RequestTimeout(2 * LONG),
        ..HttpSettings::default()
    };
    let state = AppState::new(catalog, Engine::docent().unwrap(), settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Connections::new(ConnectionLimits::default());
    let routes = docent_http::service(state);
    let stop = std::future::pending();
    let server = tokio::spawn(serve(listener, connections, None, routes, stop));

    let query = format!(
        "{{ dataset(urn: \"{DATASET}\") {{ domain {{ domain {{ properties {{ name }} }} }} }} }}"
    );
    let body = json!({"query": query}).to_string();
    let request = format!(
        "POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let send = async || {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        client
    };
    // How many reads the query makes, one after the other.
    let count = async || {
        let before = *store.begun.borrow();
        let mut reply = String::new();
        send().await.read_to_string(&mut reply).await.unwrap();
        assert!(reply.contains("Sales"), "{reply}");
        *store.begun.borrow() - before
    };
    let reads = count().await;
    assert!(reads > 1, "{reads}");

    store.is_stopped.send_replace(true);
    let before = *store.begun.borrow();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(send().await);
    }
    store.wait_until_running(CLIENTS).await;
    drop(clients);
    store.wait_until_running(0).await;
    store.is_stopped.send_replace(false);
    // Served after everything that was left of the others.
    assert_eq!(count().await, reads);
    assert_eq!(*store.begun.borrow() - before, CLIENTS + reads);
    server.abort();
}
