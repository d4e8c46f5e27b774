//! Tests of changes that are computed outside a transaction, or beside its thread.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use async_trait::async_trait;
use docent_model::patch::Patch;
use docent_model::{AspectName, FixedClock, Urn};
use docent_store::{Store, StoreError, TransactionBody};
use docent_test_store::{Intercept, InterceptedStore, TestStore, open_postgres, postgres_database};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::*;
use crate::apply::json::conversions;
use crate::{Caller, ErrorKind, Proposal};

const ASPECT: AspectName = AspectName::EDITABLE_DATASET_PROPERTIES;

/// Counts conversions of texts with a word inside transactions, and lets others write before one
/// of them.
struct Watched {
    inner: Arc<dyn Store>,
    word: String,
    transactions: AtomicUsize,
    conversions: AtomicUsize,
    others: Catalog,
    others_write: Mutex<Option<(usize, Vec<Proposal>)>>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watched")
    }
}

#[async_trait]
impl Intercept for Watched {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        let number = self.transactions.fetch_add(1, Ordering::SeqCst) + 1;
        let write = {
            let mut write = self.others_write.lock().unwrap();
            write.take_if(|(before, _)| *before == number)
        };
        if let Some((_, write)) = write {
            let written = self.others.apply(&Caller::system(), write).await;
            written.map_err(|error| StoreError::other(error.to_string()))?;
        }
        let before = conversions::with(&self.word);
        let ran = self.inner.run_transaction(body).await;
        let conversions = conversions::with(&self.word) - before;
        self.conversions.fetch_add(conversions, Ordering::SeqCst);
        ran
    }
}

struct Setup {
    _database: Box<dyn Any + Send + Sync>,
    store: Arc<InterceptedStore<Watched>>,
    catalog: Catalog,
    urn: Urn,
}

impl Setup {
    /// Stores a long value. The name makes its text unique among the tests of this process.
    async fn new(name: &str, others_write: Option<(usize, Value)>) -> Self {
        Self::of_length(2 * LONG_TEXT_BYTES, name, others_write).await
    }

    async fn of_length(length: usize, name: &str, others_write: Option<(usize, Value)>) -> Self {
        let test_store = TestStore::open().await.unwrap();
        let store = test_store.store();
        Self::on(store, Box::new(test_store), length, name, others_write).await
    }

    /// PostgreSQL runs transactions on threads of the runtime.
    async fn on_postgres(length: usize, name: &str, others_write: (usize, Value)) -> Self {
        let database = postgres_database().unwrap();
        let store = Arc::new(open_postgres(database.url()).await.unwrap());
        let others_write = Some(others_write);
        Self::on(store, Box::new(database), length, name, others_write).await
    }

    async fn on(
        store: Arc<dyn Store>,
        database: Box<dyn Any + Send + Sync>,
        length: usize,
        name: &str,
        others_write: Option<(usize, Value)>,
    ) -> Self {
        let urn = dataset(name);
        let clock = Arc::new(FixedClock::at(1));
        let others = Catalog::new(Arc::clone(&store), clock.clone());
        let text = text(name, length);
        let write = Proposal::upsert(urn.clone(), ASPECT, text);
        others.apply(&Caller::system(), vec![write]).await.unwrap();
        // Deleted first, because a change of a long value would wait for its turn.
        let others_write = others_write.map(|(number, value)| {
            let delete = Proposal::new(urn.clone(), Change::DeleteAspect { aspect: ASPECT });
            let write = Proposal::upsert(urn.clone(), ASPECT, value.to_string());
            (number, vec![delete, write])
        });
        let store = Arc::new(InterceptedStore(Watched {
            inner: store,
            word: name.to_owned(),
            transactions: AtomicUsize::default(),
            conversions: AtomicUsize::default(),
            others,
            others_write: Mutex::new(others_write),
        }));
        let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
        Self {
            _database: database,
            store,
            catalog,
            urn,
        }
    }

    fn patch(&self, operations: Value) -> Proposal {
        patch(&self.urn, operations)
    }

    async fn apply(&self, proposal: Proposal) -> Result<(), Error> {
        self.apply_all(vec![proposal]).await
    }

    async fn apply_all(&self, proposals: Vec<Proposal>) -> Result<(), Error> {
        let caller = Caller::system();
        self.catalog.apply(&caller, proposals).await.map(drop)
    }

    async fn stored(&self) -> Value {
        let key = AspectKey::new(&self.urn, ASPECT);
        let read = self.catalog.read(ReadRequest::row(&key)).await.unwrap();
        serde_json::from_str(&read.into_row().unwrap().metadata).unwrap()
    }

    fn counts(&self) -> (usize, usize) {
        let transactions = self.store.transactions.load(Ordering::SeqCst);
        (transactions, self.store.conversions.load(Ordering::SeqCst))
    }
}

fn dataset(name: &str) -> Urn {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    Urn::parse(&urn).unwrap()
}

fn text(name: &str, length: usize) -> String {
    json!({"description": name.repeat(length / name.len())}).to_string()
}

fn patch(urn: &Urn, operations: Value) -> Proposal {
    let patch = Arc::new(Patch::from_value(operations).unwrap());
    let aspect = ASPECT;
    Proposal::new(urn.clone(), Change::Patch { aspect, patch })
}

#[tokio::test]
async fn long_values_are_changed_outside_the_transaction() {
    let setup = Setup::new("patched", None).await;
    let name = json!([{"op": "add", "path": "/name", "value": "n"}]);
    setup.apply(setup.patch(name)).await.unwrap();
    assert_eq!(setup.counts(), (2, 0));
    assert_eq!(setup.stored().await["name"], "n");

    let setup = Setup::new("edited", None).await;
    let edit = Proposal::edit(setup.urn.clone(), ASPECT, |current: Option<Value>, _| {
        let description = current.unwrap_or_default()["description"].clone();
        Ok(json!({"description": description, "name": "edited"}))
    });
    setup.apply(edit).await.unwrap();
    assert_eq!(setup.counts(), (2, 0));
    assert_eq!(setup.stored().await["name"], "edited");

    let setup = Setup::new("replaced", None).await;
    let text = r#"{"name":"replaced"}"#.to_owned();
    let replace = Proposal::upsert(setup.urn.clone(), ASPECT, text);
    setup.apply(replace).await.unwrap();
    assert_eq!(setup.counts(), (2, 0));
    assert_eq!(setup.stored().await, json!({"name": "replaced"}));

    // An error is that of the patch, and is not found again inside.
    let setup = Setup::new("rejected", None).await;
    let failing = json!([{"op": "test", "path": "/name", "value": "n"}]);
    let rejected = setup.apply(setup.patch(failing)).await.unwrap_err();
    assert_eq!(setup.counts(), (2, 0));
    assert!(rejected.to_string().contains("/name"), "{rejected}");
}

/// Each value has less than [`LONG_TEXT_BYTES`].
#[tokio::test]
async fn many_changes_of_short_values_are_computed_outside_the_transaction() {
    const SHORT: usize = 200 * 1024;
    let setup = Setup::of_length(SHORT, "several", None).await;
    let urns = ["a", "b", "c", "d", "e", "f", "g", "h"].map(dataset);
    let write = |urn: &Urn| Proposal::upsert(urn.clone(), ASPECT, text("several", SHORT));
    let written = setup.apply_all(urns.iter().map(write).collect()).await;
    written.unwrap();
    let title = |urn| patch(urn, json!([{"op": "add", "path": "/name", "value": "n"}]));
    // Two are changed inside: each is parsed and written.
    let (before, conversions) = setup.counts();
    let two = setup.apply_all(urns[..2].iter().map(title).collect()).await;
    two.unwrap();
    assert_eq!(setup.counts(), (before + 1, conversions + 4));
    let (before, conversions) = setup.counts();
    let all = setup.apply_all(urns.iter().map(title).collect()).await;
    all.unwrap();
    assert_eq!(setup.counts(), (before + 2, conversions));

    // A value that is replaced is only compared, which takes less time.
    let (before, conversions) = setup.counts();
    let replace = |urn: &Urn| {
        let text = text("replaced", 10);
        Proposal::upsert(urn.clone(), ASPECT, text)
    };
    let all = setup.apply_all(urns.iter().map(replace).collect()).await;
    all.unwrap();
    assert_eq!(setup.counts(), (before + 1, conversions + 8));

    let setup = Setup::of_length(SHORT, "repeated", None).await;
    let patches = (0..8).map(|number| {
        let value = number.to_string();
        setup.patch(json!([{"op": "add", "path": "/name", "value": value}]))
    });
    setup.apply_all(patches.collect()).await.unwrap();
    assert_eq!(setup.counts(), (2, 0));
    assert_eq!(setup.stored().await["name"], "7");

    let setup = Setup::of_length(SHORT, "copied", None).await;
    let copy = json!({"op": "copy", "from": "/description", "path": "/name"});
    let copies = setup.patch(json!(vec![copy; 8]));
    setup.apply(copies).await.unwrap();
    assert_eq!(setup.counts(), (2, 0));
    let stored = setup.stored().await;
    assert_eq!(stored["name"], stored["description"]);
}

#[tokio::test]
async fn a_list_whose_changes_take_too_long_is_rejected() {
    let setup = Setup::new("endless", None).await;
    let patches = (0..50).map(|number| {
        let value = number.to_string();
        setup.patch(json!([{"op": "add", "path": "/name", "value": value}]))
    });
    let rejected = setup.apply_all(patches.collect()).await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::TooLarge, "{rejected}");
    assert_eq!(setup.counts(), (2, 0));
    assert_eq!(setup.stored().await["name"], Value::Null);
}

/// Others write before the first transaction, before the second one when the value was already
/// changed outside, and never.
#[tokio::test]
async fn a_long_value_that_others_change_meanwhile_is_changed_as_it_is_then() {
    for before in [1, 2, 3] {
        let others = json!({"name": "of others", "description": "short"});
        let name = format!("meanwhile{before}");
        let setup = Setup::new(&name, Some((before, others))).await;
        let description = json!([{"op": "add", "path": "/description", "value": "mine"}]);
        setup.apply(setup.patch(description)).await.unwrap();
        let stored = setup.stored().await;
        assert_eq!(stored["description"], "mine");
        let is_kept = stored["name"] == "of others";
        assert_eq!(is_kept, before < 3, "{before}: {stored}");
    }
}

/// A runtime with one thread, on which this test runs.
fn on_one_thread(test: impl Future<Output = ()> + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(runtime.spawn(test)).unwrap();
}

#[test]
fn other_tasks_of_the_same_thread_run_while_a_transaction_changes_a_long_value() {
    on_one_thread(async {
        let length = 2 * LONG_TEXT_BYTES;
        let others = json!({"description": "others".repeat(length / 6)});
        let setup = Setup::on_postgres(length, "computed", (2, others)).await;
        let served = Arc::new(Mutex::new(Vec::new()));
        let (runtime, is_served) = (Handle::current(), Arc::clone(&served));
        let edit = move |_: Option<Value>, _: &_| {
            let (sender, receiver) = mpsc::channel();
            runtime.spawn(async move { sender.send(()) });
            let reply = receiver.recv_timeout(Duration::from_secs(20));
            is_served.lock().unwrap().push(reply.is_ok());
            Ok(json!({"name": "n"}))
        };
        let edit = Proposal::edit(setup.urn.clone(), ASPECT, edit);
        setup.apply(edit).await.unwrap();
        // Outside the transaction, and inside it, because others have changed the value.
        assert_eq!(*served.lock().unwrap(), [true, true]);
    });
}

#[test]
fn other_tasks_of_the_same_thread_run_while_a_transaction_changes_many_values() {
    on_one_thread(async {
        let length = 200 * 1024;
        let others = json!({"description": "others".repeat(length / 6)});
        let setup = Setup::on_postgres(length, "many", (2, others)).await;
        let served = Arc::new(Mutex::new(Vec::new()));
        let is_served = Arc::new(AtomicBool::new(false));
        let runtime = Handle::current();
        // The first one finds another value, so all are changed inside.
        let edits = (0..8).map(|number| {
            let (runtime, served) = (runtime.clone(), Arc::clone(&served));
            let is_served = Arc::clone(&is_served);
            let edit = move |current: Option<Value>, _: &_| {
                let current = current.unwrap_or_default();
                let current = current["description"].as_str().unwrap_or_default();
                let is_inside = current.contains("others");
                if is_inside && number == 0 {
                    is_served.store(false, Ordering::SeqCst);
                    let is_served = Arc::clone(&is_served);
                    runtime.spawn(async move { is_served.store(true, Ordering::SeqCst) });
                }
                served
                    .lock()
                    .unwrap()
                    .push(is_served.load(Ordering::SeqCst));
                Ok(json!({"description": format!("{number}{current}")}))
            };
            Proposal::edit(setup.urn.clone(), ASPECT, edit)
        });
        setup.apply_all(edits.collect()).await.unwrap();
        let served = served.lock().unwrap();
        assert_eq!(served.len(), 16, "{served:?}");
        assert!(served[15], "{served:?}");
        assert!(!served[8], "{served:?}");
    });
}

/// A list with a long value may wait for minutes.
#[tokio::test]
async fn a_list_that_waited_for_its_turn_has_the_rights_of_that_time() {
    let setup = Setup::new("waiting", None).await;
    setup.catalog.enforce_policies(None);
    let bea = Urn::parse("urn:li:corpuser:bea").unwrap();
    let policy = Urn::parse("urn:li:dataHubPolicy:beas").unwrap();
    let info = json!({
        "displayName": "b", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"], "actors": {"users": [bea]},
    });
    let grant = Proposal::upsert(policy.clone(), AspectName::POLICY_INFO, info.to_string());
    setup.apply(grant).await.unwrap();
    let before = setup.counts().0;
    let turn = take_turn().await.unwrap();
    let name = setup.patch(json!([{"op": "add", "path": "/name", "value": "n"}]));
    let catalog = setup.catalog.clone();
    let waiting = tokio::spawn(async move {
        let caller = Caller::new(bea);
        catalog.apply(&caller, vec![name]).await.map(drop)
    });
    // Its first transaction finds the long value.
    while setup.counts().0 == before {
        tokio::task::yield_now().await;
    }
    let revoke = Proposal::new(policy, Change::DeleteEntity);
    setup.apply(revoke).await.unwrap();
    drop(turn);
    let denied = waiting.await.unwrap().unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
    assert_eq!(setup.stored().await["name"], Value::Null);
}
