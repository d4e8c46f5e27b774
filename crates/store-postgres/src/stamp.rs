//! Noticing commits, by this server or another, without asking the database on every request.
//!
//! The stamp is a number that moves with every commit of this server, with every message of another that it has
//! committed (`NOTIFY`), and with every commit of another that is found by asking, four times a second. When the database
//! has not answered for long, nobody can know, and the stamp moves each time it is read: whoever trusts it trusts nothing
//! then. So what it guards, the tokens that were seen before, is at most [`TRUST`] behind.
//!
//! It is kept for each type of entity, too: who may do what is asked of few types, and looking again after every commit of
//! anything would be a round trip more for every write.
//!
//! Messages are sent beside the transactions they tell of, not inside: a commit with a message waits for all other such
//! commits.

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
use crate::error::EngineError;
use crate::outage::Outage;
use crate::pool::{Connections, lock};
use crate::settings::Settings;
use crate::transaction::Committed;
use crate::{log, migrations, serving};

/// How old an answer of the database may be.
const TRUST: Duration = Duration::from_millis(900);
const ASK_EVERY: Duration = Duration::from_millis(250);
/// A server that has been without its place for so long serves nothing until it has it again.
const MAX_ABSENCE: Duration = Duration::from_secs(2);
/// Messages are not sent more often than this.
const BELL_PAUSE: Duration = Duration::from_millis(20);
const CHANNEL: &str = "docent_change";
/// More of our own commits than this are not told apart from others'.
const MAX_OWN: usize = 10_000;
/// Of which types commits of others were is not looked up if they changed more than this.
const MAX_LOOKED_UP: i64 = 1000;

#[derive(Debug)]
pub(crate) struct Stamp {
    moved: AtomicU64,
    /// The stamp of the last commit that changed an entity of a type, and of the last one of which nobody knows.
    types: Mutex<Types>,
    /// When the last question was asked that has been answered.
    answered: Mutex<Option<Instant>>,
    /// Our own commits that have not been found in the log yet.
    own: Mutex<HashSet<i64>>,
    bell: Notify,
    /// What is to be told when the bell rings.
    told: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Types {
    /// There are no more than the registry has.
    known: HashMap<String, u64>,
    any: u64,
}

impl Stamp {
    pub(crate) fn new() -> Self {
        Self {
            moved: AtomicU64::new(1),
            types: Mutex::default(),
            answered: Mutex::new(None),
            own: Mutex::new(HashSet::new()),
            bell: Notify::new(),
            told: Mutex::default(),
        }
    }

    pub(crate) fn read(&self) -> CommitStamp {
        CommitStamp::new(if self.is_trusted() {
            self.moved.load(Ordering::Acquire)
        } else {
            self.shift()
        })
    }

    /// The stamp of the last commit that changed an entity of one of the types.
    pub(crate) fn read_of(&self, entity_types: &[&str]) -> CommitStamp {
        if !self.is_trusted() {
            return CommitStamp::new(self.shift());
        }
        let types = lock(&self.types);
        let of = |name: &&str| types.known.get(*name).copied();
        let newest = entity_types.iter().filter_map(of).max();
        CommitStamp::new(newest.map_or(types.any, |newest| newest.max(types.any)))
    }

    fn is_trusted(&self) -> bool {
        lock(&self.answered).is_some_and(|at| at.elapsed() < TRUST)
    }

    /// Notes a commit of our own.
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
        self.shift_types(types.iter().map(String::as_str));
        lock(&self.told).extend(types.iter().cloned());
        self.bell.notify_one();
    }

    /// Something was committed, and nobody knows what.
    fn shift(&self) -> u64 {
        let mut types = lock(&self.types);
        types.any = self.moved.fetch_add(1, Ordering::AcqRel) + 1;
        types.any
    }

    /// Entities of these types were changed.
    fn shift_types<'a>(&self, changed: impl Iterator<Item = &'a str>) {
        let mut types = lock(&self.types);
        let moved = self.moved.fetch_add(1, Ordering::AcqRel) + 1;
        for name in changed {
            match types.known.get_mut(name) {
                Some(stamp) => *stamp = moved,
                None if Registry::get().entity(name).is_some() => {
                    types.known.insert(name.to_owned(), moved);
                }
                None => types.any = moved,
            }
        }
    }

    /// What another server says when it has committed: who it is, and the types of what it changed.
    fn hear(&self, message: &str, ours: &str) {
        match message.split_once(' ') {
            Some((other, _)) if other == ours => {}
            Some((_, types)) => self.shift_types(types.split(',')),
            None => {
                self.shift();
            }
        }
    }

    /// What is said to the others.
    fn message(&self, us: &str) -> String {
        let types = std::mem::take(&mut *lock(&self.told));
        let types: Vec<String> = types.into_iter().collect();
        format!("{us} {}", types.join(","))
    }

    fn answered(&self, asked: Instant) {
        *lock(&self.answered) = Some(asked);
    }

    /// Looks at what was committed behind a position; returns the newest.
    pub(crate) async fn ask(
        &self,
        connections: &Connections,
        after: LogPosition,
    ) -> Result<LogPosition, EngineError> {
        let asked = Instant::now();
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
            if transactions.len() >= MAX_OWN || newest < after || changes > MAX_LOOKED_UP {
                self.shift();
            } else if !others.is_empty() {
                let types = log::types(connections, &others).await?;
                self.shift_types(types.iter().map(String::as_str));
            }
        }
        self.answered(asked);
        Ok(newest)
    }
}

/// Keeps the stamp true for as long as it is not dropped.
#[derive(Debug)]
pub(crate) struct Watch(#[expect(dead_code, reason = "dropping it ends the tasks")] JoinSet<()>);

impl Watch {
    /// Takes the place of a server at the database, and watches it from there on. `served` are the connections of its
    /// requests; the watch has its own: how late it is must not depend on how many of them wait.
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
            us: format!("{:08x}", getrandom::u32().unwrap_or_default()),
        };
        let begun = Instant::now();
        let line = loop {
            match listener.begin().await {
                // It may be done in a moment.
                Err(EngineError::Store(StoreError::Refused { reason }))
                    if reason == serving::TAKEN && begun.elapsed() < watch.patience() =>
                {
                    tokio::time::sleep(ASK_EVERY).await;
                }
                begun => break begun?,
            }
        };
        let newest = stamp.ask(&watch, LogPosition::START).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(ask_again(Arc::clone(stamp), watch, newest));
        tasks.spawn(listen_again(listener, line, Arc::clone(served)));
        Ok(Self(tasks))
    }
}

async fn ask_again(stamp: Arc<Stamp>, watch: Arc<Connections>, mut newest: LogPosition) {
    let mut outage = Outage::default();
    let mut ticks = tokio::time::interval(ASK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let asked = stamp.ask(&watch, newest).await;
        outage.asked(&asked);
        outage.look(&watch).await;
        newest = asked.unwrap_or(newest);
    }
}

/// Listens on a line, and on the next when it breaks. Serves nothing while the database cannot be served.
async fn listen_again(listener: Listener, mut line: Line, served: Arc<Connections>) {
    loop {
        if let Err(error) = listener.listen(line).await {
            tracing::debug!(%error, "messages of other servers are missed; the database is asked instead");
        }
        let broken = Instant::now();
        line = loop {
            // Whatever was said meanwhile was missed.
            listener.stamp.shift();
            let begun = begin_in_time(&listener, broken, &served).await;
            let reason = match begun {
                Ok(line) => break line,
                Err(EngineError::Store(StoreError::Refused { reason })) => Some(reason),
                Err(error) => {
                    tracing::debug!(%error, "nothing is heard of other servers");
                    (broken.elapsed() >= MAX_ABSENCE).then(|| without_place(&error.to_string()))
                }
            };
            if let Some(reason) = reason {
                refuse(&served, &reason);
            }
            tokio::time::sleep(ASK_EVERY).await;
        };
        if served.refuse(None) {
            tracing::info!("this server serves again");
        }
    }
}

/// Lays a line; if that takes too long, nothing is served from then on.
async fn begin_in_time(
    listener: &Listener,
    broken: Instant,
    served: &Connections,
) -> Result<Line, EngineError> {
    let mut beginning = std::pin::pin!(listener.begin());
    let left = MAX_ABSENCE.saturating_sub(broken.elapsed());
    if let Ok(begun) = tokio::time::timeout(left, &mut beginning).await {
        return begun;
    }
    refuse(served, &without_place("the database does not answer"));
    beginning.await
}

/// Why a server does not serve that cannot hold its lock.
fn without_place(reason: &str) -> String {
    format!(
        "the connection by which this server has its place at the database is broken, and another one cannot be had: {reason}"
    )
}

fn refuse(served: &Connections, reason: &str) {
    if served.refuse(Some(reason.to_owned())) {
        tracing::error!(reason, "this server does not serve any more");
    }
}

/// One who hears what other servers say.
struct Listener {
    stamp: Arc<Stamp>,
    connector: Connector,
    watch: Arc<Connections>,
    us: String,
}

/// A connection on which messages come, and the lock of a server is held.
struct Line {
    client: Client,
    pump: JoinSet<()>,
    /// Not as long as the database can only be read: then others are asked for what they did.
    listens: bool,
}

impl Listener {
    /// Connects, and makes sure that the database can be served, now and as long as the line is there.
    async fn begin(&self) -> Result<Line, EngineError> {
        match tokio::time::timeout(self.watch.patience(), self.begin_slowly()).await {
            Ok(begun) => begun,
            Err(_) => Err(EngineError::Lost("the database does not answer".to_owned())),
        }
    }

    async fn begin_slowly(&self) -> Result<Line, EngineError> {
        let (client, mut connection) = self.connector.connect_soon().await?;
        let (stamp, us) = (Arc::clone(&self.stamp), self.us.clone());
        let mut pump = JoinSet::new();
        pump.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await
            {
                if let AsyncMessage::Notification(message) = message {
                    stamp.hear(message.payload(), &us);
                }
            }
        });
        if !serving::together(&client).await? {
            let reason = serving::TAKEN.to_owned();
            return Err(StoreError::Refused { reason }.into());
        }
        migrations::expect_served(&self.watch.lease().await?).await?;
        let mut line = Line {
            client,
            pump,
            listens: false,
        };
        line.listen_up().await?;
        Ok(line)
    }

    /// Hears and tells until the line breaks.
    async fn listen(&self, mut line: Line) -> Result<(), EngineError> {
        while !line.listens {
            tokio::time::sleep(ASK_EVERY).await;
            line.listen_up().await?;
            // Whatever was said before was missed.
            self.stamp.shift();
        }
        loop {
            tokio::select! {
                _ = line.pump.join_next() => return Ok(()),
                () = self.stamp.bell.notified() => {
                    // Names of types are those of the registry, which need no escapes.
                    let ring = format!("NOTIFY {CHANNEL}, '{}'", self.stamp.message(&self.us));
                    line.client.batch_execute(&ring).await?;
                }
            }
            tokio::time::sleep(BELL_PAUSE).await;
        }
    }
}

impl Line {
    /// Messages come from now on, if the database sends any.
    async fn listen_up(&mut self) -> Result<(), EngineError> {
        // A message need not be durable.
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
    use crate::migrations::tests::{CUT_LINES, put, serve};

    /// A stamp that is told of commits by messages alone.
    async fn told(database: &Database) -> (Arc<Stamp>, JoinSet<()>) {
        let settings = Settings::parse(database.url()).unwrap();
        let (stamp, served) = (Arc::new(Stamp::new()), Connections::new(&settings).unwrap());
        let listener = Listener {
            stamp: Arc::clone(&stamp),
            connector: Connector::new(&settings).unwrap(),
            watch: Arc::new(Connections::new(&settings).unwrap()),
            us: "tested".to_owned(),
        };
        let line = listener.begin().await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(listen_again(listener, line, Arc::new(served)));
        (stamp, tasks)
    }

    /// A server that has lost its connection, and gets no other, must not go on with those that it has for requests.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_server_that_cannot_have_its_place_again_serves_nothing_until_it_has() {
        let database = postgres_database().unwrap();
        let store = serve(&database).await.unwrap();
        put(&store, 1).await;
        let (stranger, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
            .await
            .unwrap();
        tokio::spawn(connection);
        let allow = async |is_allowed: bool| {
            let update = format!(
                "UPDATE pg_database SET datallowconn = {is_allowed} WHERE datname = current_database()"
            );
            stranger.batch_execute(&update).await.unwrap();
        };
        allow(false).await;
        stranger.batch_execute(CUT_LINES).await.unwrap();
        let started = Instant::now();
        let refused = loop {
            if let Err(error) = store.aspects_export(None, 1).await {
                break error.to_string();
            }
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "it goes on serving"
            );
            tokio::time::sleep(ASK_EVERY).await;
        };
        assert!(refused.contains("its place"), "{refused}");
        allow(true).await;
        let allowed = Instant::now();
        while let Err(error) = store.aspects_export(None, 1).await {
            assert!(allowed.elapsed() < Duration::from_secs(2), "{error}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn domains(stamp: &Stamp) -> Option<u64> {
        lock(&stamp.types).known.get("domain").copied()
    }

    /// Writes until the stamp knows.
    async fn hears(stamp: &Stamp, store: &PostgresStore, first: usize) {
        let (before, started) = (domains(stamp), Instant::now());
        put(store, first).await;
        while domains(stamp) == before {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "nothing is heard"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn servers_tell_each_other_what_they_have_committed() {
        let database = postgres_database().unwrap();
        let (stamp, _tasks) = told(&database).await;
        let store = serve(&database).await.unwrap();
        hears(&stamp, &store, 1).await;
        hears(&stamp, &store, 2).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_line_that_was_cut_is_laid_again_and_what_was_missed_is_believed_by_nobody() {
        let database = postgres_database().unwrap();
        let (stamp, _tasks) = told(&database).await;
        let any = lock(&stamp.types).any;
        database.sql(CUT_LINES).unwrap();
        let started = Instant::now();
        let listens = "SELECT 1 / count(*) FROM pg_stat_activity WHERE datname = current_database() \
                       AND pid <> pg_backend_pid() AND query LIKE '%LISTEN docent_change'";
        while lock(&stamp.types).any == any || database.sql(listens).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "nobody listens"
            );
        }
        let store = serve(&database).await.unwrap();
        hears(&stamp, &store, 1).await;
    }
}
