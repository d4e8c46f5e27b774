//! Noticing commits, by this server or another, without asking the database on every request.
//!
//! The stamp is a number that moves with every commit of this server, with every message of another that it has
//! committed (`NOTIFY`), and with every commit of another that is found by asking, four times a second. When the database
//! has not answered for long, nobody can know, and the stamp moves each time it is read: whoever trusts it trusts nothing
//! then. So what it guards, the tokens that were seen before, is at most [`TRUST`] behind.
//!
//! Messages are sent beside the transactions they tell of, not inside: a commit with a message waits for all other such
//! commits.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::AsyncMessage;

use crate::error::EngineError;
use crate::log;
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

#[derive(Debug)]
pub(crate) struct Stamp {
    moved: AtomicU64,
    /// When the last question was asked that has been answered.
    answered: Mutex<Option<Instant>>,
    /// Our own commits that have not been found in the log yet.
    own: Mutex<HashSet<i64>>,
    bell: Notify,
}

impl Stamp {
    pub(crate) fn new() -> Self {
        Self {
            moved: AtomicU64::new(1),
            answered: Mutex::new(None),
            own: Mutex::new(HashSet::new()),
            bell: Notify::new(),
        }
    }

    pub(crate) fn read(&self) -> u64 {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if answered.is_some_and(|at| at.elapsed() < TRUST) {
            self.moved.load(Ordering::Acquire)
        } else {
            self.shift()
        }
    }

    /// Notes a commit of our own.
    pub(crate) fn committed(&self, committed: &Committed) {
        let Committed::Written(number) = committed else {
            return;
        };
        if let Some(number) = number {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            if own.len() >= MAX_OWN {
                own.clear();
            }
            own.insert(*number);
        }
        self.shift();
        self.bell.notify_one();
    }

    fn shift(&self) -> u64 {
        self.moved.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn answered(&self, asked: Instant) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
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
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            let mut others = transactions.len() >= MAX_OWN || newest < after;
            for (_, number) in &transactions {
                others |= !own.remove(number);
            }
            drop(own);
            if others {
                self.shift();
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
    let mut ticks = tokio::time::interval(ASK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match stamp.ask(&connections, newest).await {
            Ok(position) => newest = position,
            Err(error) => tracing::debug!(%error, "the database was not asked what is new"),
        }
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
            if let AsyncMessage::Notification(message) = message
                && message.payload() != ours
            {
                heard.shift();
            }
        }
    });
    // A message need not be durable.
    let begin = format!("SET synchronous_commit = off; LISTEN {CHANNEL}");
    client.batch_execute(&begin).await?;
    let ring = format!("NOTIFY {CHANNEL}, '{us}'");
    loop {
        tokio::select! {
            _ = pump.join_next() => return Ok(()),
            () = stamp.bell.notified() => client.batch_execute(&ring).await?,
        }
        tokio::time::sleep(BELL_PAUSE).await;
    }
}
