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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use docent_model::Registry;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::AsyncMessage;

use crate::error::EngineError;
use crate::log;
use crate::migrations::SERVING;
use crate::outage::Outage;
use crate::pool::Connections;
use crate::settings::Settings;
use crate::tls;
use crate::transaction::Committed;

/// How old an answer of the database may be.
const TRUST: Duration = Duration::from_millis(900);
const ASK_EVERY: Duration = Duration::from_millis(250);
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

    pub(crate) fn read(&self) -> u64 {
        if self.is_trusted() {
            self.moved.load(Ordering::Acquire)
        } else {
            self.shift()
        }
    }

    /// The stamp of the last commit that changed an entity of one of the types.
    pub(crate) fn read_of(&self, entity_types: &[&str]) -> u64 {
        if !self.is_trusted() {
            return self.shift();
        }
        let types = lock(&self.types);
        let of = |name: &&str| types.known.get(*name).copied();
        let newest = entity_types.iter().filter_map(of).max();
        newest.map_or(types.any, |newest| newest.max(types.any))
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
        after: i64,
    ) -> Result<i64, EngineError> {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the stamp true for as long as it is not dropped.
#[derive(Debug)]
pub(crate) struct Watch(#[expect(dead_code, reason = "dropping it ends the tasks")] JoinSet<()>);

impl Watch {
    pub(crate) fn start(
        stamp: &Arc<Stamp>,
        connections: &Arc<Connections>,
        settings: &Settings,
        newest: i64,
    ) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(ask_again(
            Arc::clone(stamp),
            Arc::clone(connections),
            newest,
        ));
        tasks.spawn(listen_again(Arc::clone(stamp), settings.clone()));
        Self(tasks)
    }
}

async fn ask_again(stamp: Arc<Stamp>, connections: Arc<Connections>, mut newest: i64) {
    let mut outage = Outage::default();
    let mut ticks = tokio::time::interval(ASK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let asked = stamp.ask(&connections, newest).await;
        outage.asked(&asked);
        outage.look(&connections).await;
        newest = asked.unwrap_or(newest);
    }
}

async fn listen_again(stamp: Arc<Stamp>, settings: Settings) {
    let us = format!("{:08x}", getrandom::u32().unwrap_or_default());
    loop {
        if let Err(error) = listen(&stamp, &settings, &us).await {
            tracing::debug!(%error, "messages of other servers are missed; the database is asked instead");
        }
        // Whatever was said meanwhile was missed.
        stamp.shift();
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn listen(stamp: &Arc<Stamp>, settings: &Settings, us: &str) -> Result<(), EngineError> {
    let (client, mut connection) = settings.driver.connect(tls::connector(settings)?).await?;
    let (heard, ours) = (Arc::clone(stamp), us.to_owned());
    let mut pump = JoinSet::new();
    pump.spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(message) = message {
                heard.hear(message.payload(), &ours);
            }
        }
    });
    // A message need not be durable.
    let begin = format!("SET synchronous_commit = off; LISTEN {CHANNEL}; {SERVING}");
    client.batch_execute(&begin).await?;
    loop {
        tokio::select! {
            _ = pump.join_next() => return Ok(()),
            () = stamp.bell.notified() => {
                // Names of types are those of the registry, which need no escapes.
                let ring = format!("NOTIFY {CHANNEL}, '{}'", stamp.message(us));
                client.batch_execute(&ring).await?;
            }
        }
        tokio::time::sleep(BELL_PAUSE).await;
    }
}
