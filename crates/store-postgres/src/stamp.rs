//! The commit stamp: notices commits of this server and others without a query per request.
//!
//! The stamp increases with every commit of this server, with every notification of another
//! (`NOTIFY`), and with every commit of another found by polling, four times a second. If polling
//! has failed for [`MAX_AGE`], the stamp increases on every read, so that callers treat every
//! cached value as stale. Cached tokens are therefore at most that much behind.
//!
//! There is also a stamp per entity type: permissions depend on few types, and rechecking them
//! after every commit would add a round trip to every write.
//!
//! Notifications are sent outside the transactions they announce: PostgreSQL serializes commits
//! that contain a `NOTIFY`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use docent_model::Registry;
use docent_store::{CommitStamp, LogPosition, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client};

use crate::connect::Connector;
use crate::error::{EngineError, NO_RESPONSE};
use crate::outage::Outage;
use crate::pool::{Connections, lock};
use crate::settings::Settings;
use crate::transaction::Committed;
use crate::{log, migrations, serving};

/// How old the last successful poll may be.
const MAX_AGE: Duration = Duration::from_millis(900);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// A server that has been without the serving lock for this long serves nothing until it has it
/// again.
const MAX_UNLOCKED: Duration = Duration::from_secs(2);
/// The shortest interval between two notifications.
const NOTIFY_PAUSE: Duration = Duration::from_millis(20);
const CHANNEL: &str = "docent_change";
/// How many of our own commits are remembered, to tell them from others' in the log.
const MAX_OWN: usize = 10_000;
/// Beyond this many changes by other servers, all types count as changed instead of being looked
/// up.
const MAX_LOOKUP: i64 = 1000;

#[derive(Debug)]
pub(crate) struct Stamp {
    value: AtomicU64,
    types: Mutex<TypeStamps>,
    /// When the last successful poll began.
    polled: Mutex<Option<Instant>>,
    /// Our own commits that polling has not found in the log yet.
    own: Mutex<HashSet<i64>>,
    /// Wakes the task that sends notifications.
    unsent: Notify,
    /// The entity types of the next notification.
    unsent_types: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct TypeStamps {
    /// The stamp of the last commit that changed an entity of the type. Bounded by the registry.
    known: HashMap<String, u64>,
    /// The stamp of the last commit whose types are unknown.
    any: u64,
}

impl Stamp {
    pub(crate) fn new() -> Self {
        Self {
            value: AtomicU64::new(1),
            types: Mutex::default(),
            polled: Mutex::new(None),
            own: Mutex::new(HashSet::new()),
            unsent: Notify::new(),
            unsent_types: Mutex::default(),
        }
    }

    pub(crate) fn read(&self) -> CommitStamp {
        CommitStamp::new(if self.is_current() {
            self.value.load(Ordering::Acquire)
        } else {
            self.advance()
        })
    }

    /// The stamp of the last commit that changed an entity of one of the types.
    pub(crate) fn read_of(&self, entity_types: &[&str]) -> CommitStamp {
        if !self.is_current() {
            return CommitStamp::new(self.advance());
        }
        let types = lock(&self.types);
        let of = |name: &&str| types.known.get(*name).copied();
        let newest = entity_types.iter().filter_map(of).max();
        CommitStamp::new(newest.map_or(types.any, |newest| newest.max(types.any)))
    }

    fn is_current(&self) -> bool {
        lock(&self.polled).is_some_and(|at| at.elapsed() < MAX_AGE)
    }

    /// Records a commit of this server.
    pub(crate) fn committed(&self, committed: &Committed) {
        let Committed::Written(number, types) = committed else {
            return;
        };
        if let Some(number) = number {
            let mut own = lock(&self.own);
            if own.len() >= MAX_OWN {
                own.clear();
            }
            own.insert(*number);
        }
        self.advance_types(types.iter().map(String::as_str));
        lock(&self.unsent_types).extend(types.iter().cloned());
        self.unsent.notify_one();
    }

    /// Records a commit whose entity types are unknown.
    fn advance(&self) -> u64 {
        let mut types = lock(&self.types);
        types.any = self.value.fetch_add(1, Ordering::AcqRel) + 1;
        types.any
    }

    /// Records a commit that changed entities of these types.
    fn advance_types<'a>(&self, changed: impl Iterator<Item = &'a str>) {
        let mut types = lock(&self.types);
        let value = self.value.fetch_add(1, Ordering::AcqRel) + 1;
        for name in changed {
            match types.known.get_mut(name) {
                Some(stamp) => *stamp = value,
                None if Registry::get().stored_entity(name).is_some() => {
                    types.known.insert(name.to_owned(), value);
                }
                None => types.any = value,
            }
        }
    }

    /// Handles a notification: the id of the sender and the entity types it changed.
    fn receive(&self, notification: &str, own_id: &str) {
        match notification.split_once(' ') {
            Some((sender, _)) if sender == own_id => {}
            Some((_, types)) => self.advance_types(types.split(',')),
            None => {
                self.advance();
            }
        }
    }

    /// The next notification to other servers.
    fn notification(&self, own_id: &str) -> String {
        let types = std::mem::take(&mut *lock(&self.unsent_types));
        let types: Vec<String> = types.into_iter().collect();
        format!("{own_id} {}", types.join(","))
    }

    /// Reads the commits after a position; returns the newest position.
    pub(crate) async fn poll(
        &self,
        connections: &Connections,
        after: LogPosition,
    ) -> Result<LogPosition, EngineError> {
        let started = Instant::now();
        let newest = log::bring_up(connections).await?;
        if newest != after {
            let transactions = log::transactions(connections, after, MAX_OWN).await?;
            let mut others = Vec::new();
            let mut changes = 0;
            {
                let mut own = lock(&self.own);
                for logged in &transactions {
                    if !own.remove(&logged.number) {
                        others.push(logged.number);
                        changes += i64::from(logged.changes);
                    }
                }
            }
            if transactions.len() >= MAX_OWN || newest < after || changes > MAX_LOOKUP {
                self.advance();
            } else if !others.is_empty() {
                let types = log::types(connections, &others).await?;
                self.advance_types(types.iter().map(String::as_str));
            }
        }
        *lock(&self.polled) = Some(started);
        Ok(newest)
    }
}

/// Keeps the stamp current until dropped.
#[derive(Debug)]
pub(crate) struct Watch(#[expect(dead_code, reason = "dropping it ends the tasks")] JoinSet<()>);

impl Watch {
    /// Takes the serving lock and starts watching. `served` is the pool of requests; the watch has
    /// a pool of its own, so that a full queue does not delay it.
    pub(crate) async fn start(
        stamp: &Arc<Stamp>,
        served: &Arc<Connections>,
        settings: &Settings,
    ) -> Result<Self, EngineError> {
        let settings = settings.for_watch();
        let watch = Arc::new(Connections::new(&settings)?);
        let listener = Listener {
            stamp: Arc::clone(stamp),
            connector: Connector::new(&settings)?,
            watch: Arc::clone(&watch),
            own_id: format!("{:08x}", getrandom::u32().unwrap_or_default()),
        };
        let begun = Instant::now();
        let connection = loop {
            match listener.connect().await {
                // The command may finish soon.
                Err(EngineError::Store(StoreError::Rejected { reason }))
                    if reason == serving::LOCKED && begun.elapsed() < watch.response_timeout() =>
                {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                connected => break connected?,
            }
        };
        let newest = stamp.poll(&watch, LogPosition::START).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(poll_forever(Arc::clone(stamp), watch, newest));
        tasks.spawn(listen_forever(listener, connection, Arc::clone(served)));
        Ok(Self(tasks))
    }
}

async fn poll_forever(stamp: Arc<Stamp>, watch: Arc<Connections>, mut newest: LogPosition) {
    let mut outage = Outage::default();
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let polled = stamp.poll(&watch, newest).await;
        outage.record(&polled);
        outage.check_writable(&watch).await;
        newest = polled.unwrap_or(newest);
    }
}

/// Listens, and reconnects when the connection breaks. Suspends `served` while the server lacks the
/// serving lock.
async fn listen_forever(
    listener: Listener,
    mut connection: ListenConnection,
    served: Arc<Connections>,
) {
    loop {
        if let Err(error) = listener.listen(connection).await {
            tracing::debug!(%error, "notifications of other servers are missed; polling continues");
        }
        let broken = Instant::now();
        let mut is_logged = false;
        connection = loop {
            // Notifications were missed meanwhile.
            listener.stamp.advance();
            match reconnect(&listener, broken, &served).await {
                Ok(connection) => break connection,
                Err(EngineError::Store(StoreError::Rejected { reason })) => {
                    if !std::mem::replace(&mut is_logged, true) {
                        tracing::error!(reason, "requests are rejected");
                    }
                    served.suspend(Some(reason));
                }
                // The outage itself is logged where it is polled.
                Err(error) => {
                    tracing::debug!(%error, "cannot listen for notifications");
                    if broken.elapsed() >= MAX_UNLOCKED {
                        served.suspend(Some(without_lock(&error.to_string())));
                    }
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        served.suspend(None);
        if is_logged {
            tracing::info!("serving requests again");
        }
    }
}

/// Reconnects; suspends `served` as soon as that takes too long.
async fn reconnect(
    listener: &Listener,
    broken: Instant,
    served: &Connections,
) -> Result<ListenConnection, EngineError> {
    let mut connecting = std::pin::pin!(listener.connect());
    let left = MAX_UNLOCKED.saturating_sub(broken.elapsed());
    if let Ok(connected) = tokio::time::timeout(left, &mut connecting).await {
        return connected;
    }
    served.suspend(Some(without_lock(NO_RESPONSE)));
    connecting.await
}

/// Why a server without the serving lock rejects requests.
fn without_lock(reason: &str) -> String {
    format!("this server lost its serving lock on the database and cannot get it back: {reason}")
}

/// Receives and sends notifications.
struct Listener {
    stamp: Arc<Stamp>,
    connector: Connector,
    watch: Arc<Connections>,
    own_id: String,
}

/// The connection that receives notifications and holds the serving lock.
struct ListenConnection {
    client: Client,
    receiver: JoinSet<()>,
    /// False on a read-only database, where `LISTEN` fails: then polling finds the commits of
    /// others.
    listens: bool,
}

impl Listener {
    /// Connects, takes the serving lock and checks the schema.
    async fn connect(&self) -> Result<ListenConnection, EngineError> {
        let connecting = self.connect_without_timeout();
        match tokio::time::timeout(self.watch.response_timeout(), connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(EngineError::Lost(NO_RESPONSE.to_owned())),
        }
    }

    async fn connect_without_timeout(&self) -> Result<ListenConnection, EngineError> {
        let (client, mut connection) = self.connector.connect_in_time().await?;
        let (stamp, own_id) = (Arc::clone(&self.stamp), self.own_id.clone());
        let mut receiver = JoinSet::new();
        receiver.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(notification) = message {
                    stamp.receive(notification.payload(), &own_id);
                }
            }
        });
        if !serving::lock_shared(&client).await? {
            let reason = serving::LOCKED.to_owned();
            return Err(StoreError::Rejected { reason }.into());
        }
        migrations::expect_served(&self.watch.lease().await?).await?;
        let mut connection = ListenConnection {
            client,
            receiver,
            listens: false,
        };
        connection.try_listen().await?;
        Ok(connection)
    }

    /// Receives and sends notifications until the connection breaks.
    async fn listen(&self, mut connection: ListenConnection) -> Result<(), EngineError> {
        while !connection.listens {
            tokio::time::sleep(POLL_INTERVAL).await;
            connection.try_listen().await?;
            // Earlier notifications were missed.
            self.stamp.advance();
        }
        loop {
            tokio::select! {
                _ = connection.receiver.join_next() => return Ok(()),
                () = self.stamp.unsent.notified() => {
                    // Type names come from the registry and need no escaping.
                    let notification = self.stamp.notification(&self.own_id);
                    let notify = format!("NOTIFY {CHANNEL}, '{notification}'");
                    connection.client.batch_execute(&notify).await?;
                }
            }
            tokio::time::sleep(NOTIFY_PAUSE).await;
        }
    }
}

impl ListenConnection {
    /// Subscribes to notifications, unless the database is read-only.
    async fn try_listen(&mut self) -> Result<(), EngineError> {
        // A notification need not be durable.
        let begin = format!("SET synchronous_commit = off; LISTEN {CHANNEL}");
        self.listens = match self.client.batch_execute(&begin).await {
            Ok(()) => true,
            Err(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => false,
            Err(error) => return Err(error.into()),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use docent_store::StoreMaintenance as _;
    use docent_test_postgres::Database;
    use docent_test_store::postgres_database;

    use super::*;
    use crate::PostgresStore;
    use crate::migrations::tests::{CLOSE_LISTENERS, put, serve};

    /// A stamp that learns of commits only by notifications.
    async fn listening_stamp(database: &Database) -> (Arc<Stamp>, JoinSet<()>) {
        let settings = Settings::parse(database.url()).unwrap();
        let (stamp, served) = (Arc::new(Stamp::new()), Connections::new(&settings).unwrap());
        let listener = Listener {
            stamp: Arc::clone(&stamp),
            connector: Connector::new(&settings).unwrap(),
            watch: Arc::new(Connections::new(&settings).unwrap()),
            own_id: "tested".to_owned(),
        };
        let connection = listener.connect().await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(listen_forever(listener, connection, Arc::new(served)));
        (stamp, tasks)
    }

    /// Its pooled connections still work, but it no longer holds the serving lock.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_without_the_serving_lock_rejects_requests_until_it_has_it_again() {
        let database = postgres_database().unwrap();
        let store = serve(&database).await.unwrap();
        put(&store, 1).await;
        let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let allow = async |is_allowed: bool| {
            let update = format!(
                "UPDATE pg_database SET datallowconn = {is_allowed} WHERE datname = current_database()"
            );
            client.batch_execute(&update).await.unwrap();
        };
        allow(false).await;
        client.batch_execute(CLOSE_LISTENERS).await.unwrap();
        let started = Instant::now();
        let rejection = loop {
            if let Err(error) = store.aspects_export(None, 1).await {
                break error.to_string();
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "the server still serves"
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        assert!(rejection.contains("its serving lock"), "{rejection}");
        allow(true).await;
        let allowed = Instant::now();
        while let Err(error) = store.aspects_export(None, 1).await {
            assert!(allowed.elapsed() < Duration::from_secs(20), "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn domains(stamp: &Stamp) -> Option<u64> {
        lock(&stamp.types).known.get("domain").copied()
    }

    /// Writes, and waits until the stamp changes.
    async fn expect_notification(stamp: &Stamp, store: &PostgresStore, first: usize) {
        let (before, started) = (domains(stamp), Instant::now());
        put(store, first).await;
        while domains(stamp) == before {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "no notification arrived"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_notification_advances_the_stamps_of_its_entity_types_only() {
        let database = postgres_database().unwrap();
        let (stamp, _tasks) = listening_stamp(&database).await;
        let store = serve(&database).await.unwrap();
        let any = lock(&stamp.types).any;
        expect_notification(&stamp, &store, 1).await;
        expect_notification(&stamp, &store, 2).await;
        let types = lock(&stamp.types);
        assert_eq!(types.any, any);
        assert_eq!(types.known.keys().collect::<Vec<_>>(), ["domain"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_listener_reconnects_and_treats_everything_as_changed() {
        let database = postgres_database().unwrap();
        let (stamp, _tasks) = listening_stamp(&database).await;
        let any = lock(&stamp.types).any;
        database.sql(CLOSE_LISTENERS).unwrap();
        let started = Instant::now();
        let listens = "SELECT 1 / count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND pid <> pg_backend_pid() AND query LIKE '%LISTEN docent_change'";
        while lock(&stamp.types).any == any || database.sql(listens).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "no connection listens"
            );
        }
        let store = serve(&database).await.unwrap();
        expect_notification(&stamp, &store, 1).await;
    }
}
