//! Failures of servers and of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use docent_e2e::{Options, Server, Signal};
use docent_test_postgres::Database;
use serde_json::json;

use crate::caller::Caller;
use crate::{PROPERTIES, TIMEOUT, dataset, expect_sound, start_servers};

const CLIENTS: usize = 8;

/// Clients that keep writing, reading and searching during a failure.
struct Clients<'a> {
    callers: &'a [Caller],
    stop: AtomicBool,
    acknowledged: Mutex<BTreeMap<String, BTreeSet<String>>>,
    /// Responses with 503.
    unavailable: AtomicU64,
    /// The last success by kind of request, client and server.
    successes: Mutex<BTreeMap<(&'static str, usize, usize), Instant>>,
    slowest: Mutex<Duration>,
}

impl<'a> Clients<'a> {
    fn new(callers: &'a [Caller]) -> Self {
        Self {
            callers,
            stop: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            unavailable: AtomicU64::new(0),
            successes: Mutex::default(),
            slowest: Mutex::default(),
        }
    }

    /// Runs the clients during `failure`, and then looks for all acknowledged writes.
    fn run_during(&self, failure: impl FnOnce(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let known = json!({"description": "a rare quagga", "customProperties": {"known": "x"}});
        let response = self.callers[0].propose("UPSERT", &dataset("known"), PROPERTIES, &known)?;
        ensure!(response.status == 200, "{}", response.body);
        thread::scope(|scope| {
            let writers = (0..CLIENTS).map(|client| scope.spawn(move || self.write(client)));
            let searchers = (0..2).map(|client| scope.spawn(move || self.search(client)));
            let clients: Vec<_> = writers.chain(searchers).collect();
            let result = failure(self);
            self.stop.store(true, Ordering::Relaxed);
            for client in clients {
                client
                    .join()
                    .unwrap_or_else(|_| bail!("a client panicked"))?;
            }
            result
        })?;
        let acknowledged = lock(&self.acknowledged);
        for caller in self.callers {
            for (urn, expected) in &*acknowledged {
                let (properties, _) = caller.properties(urn)?;
                let lost: Vec<&String> = expected.difference(&properties).collect();
                ensure!(lost.is_empty(), "{urn} lost {lost:?}");
            }
        }
        Ok(())
    }

    /// Waits until requests fail.
    fn wait_for_outage(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let before = self.unavailable.load(Ordering::Relaxed);
        while self.unavailable.load(Ordering::Relaxed) < before + 8 {
            ensure!(begun.elapsed() < TIMEOUT, "no request fails");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Writes, and reads the value back from another server.
    fn write(&self, client: usize) -> anyhow::Result<()> {
        let urn = dataset(format!("steady-{client}"));
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let property = format!("p{number}");
            let server = number % self.callers.len();
            let begun = Instant::now();
            let response = self.callers[server].patch(&urn, &property)?;
            self.record_duration(begun);
            match response.status {
                200 => {
                    let mut acknowledged = lock(&self.acknowledged);
                    let own = acknowledged.entry(urn.clone()).or_default();
                    own.insert(property);
                    let expected = own.clone();
                    drop(acknowledged);
                    self.record_success("write", client, server);
                    self.read(&urn, &expected, (server + 1) % self.callers.len())?;
                }
                503 => {
                    ensure!(
                        response.retry_after.is_some(),
                        "503 without Retry-After: {}",
                        response.body
                    );
                    self.record_unavailable();
                }
                status => bail!("{status} {}", response.body),
            }
        }
        Ok(())
    }

    /// A read either fails or returns all acknowledged writes.
    fn read(&self, urn: &str, expected: &BTreeSet<String>, server: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        let read = self.callers[server].properties_unless_unavailable(urn)?;
        self.record_duration(begun);
        match read {
            Some((properties, _)) => {
                let missing: Vec<&String> = expected.difference(&properties).collect();
                ensure!(missing.is_empty(), "{urn} is shown without {missing:?}");
            }
            None => self.record_unavailable(),
        }
        Ok(())
    }

    fn search(&self, client: usize) -> anyhow::Result<()> {
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let server = number % self.callers.len();
            let begun = Instant::now();
            let found = self.callers[server].found_unless_unavailable("quagga")?;
            self.record_duration(begun);
            match found {
                Some(1) => self.record_success("search", client, server),
                Some(other) => bail!("{other} hits instead of one"),
                None => self.record_unavailable(),
            }
        }
        Ok(())
    }

    fn record_unavailable(&self) {
        self.unavailable.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(5));
    }

    fn record_success(&self, kind: &'static str, client: usize, server: usize) {
        lock(&self.successes).insert((kind, client, server), Instant::now());
    }

    fn record_duration(&self, begun: Instant) {
        let mut slowest = lock(&self.slowest);
        *slowest = slowest.max(begun.elapsed());
    }

    /// Waits until every client has written to and searched on every server. Returns the time until
    /// each server accepted a write.
    fn wait_for_recovery(&self, since: Instant) -> anyhow::Result<Duration> {
        let servers = self.callers.len();
        let all = (CLIENTS + 2) * self.callers.len();
        let mut took = None;
        loop {
            let served: Vec<_> = {
                let successes = lock(&self.successes);
                let recent = successes.iter().filter(|(_, at)| **at > since);
                recent.map(|(success, _)| *success).collect()
            };
            let writes = served.iter().filter(|(kind, ..)| *kind == "write");
            let writable: BTreeSet<_> = writes.map(|(_, _, server)| server).collect();
            if writable.len() == servers {
                took = took.or(Some(since.elapsed()));
            }
            if let (Some(took), true) = (took, served.len() == all) {
                return Ok(took);
            }
            ensure!(
                since.elapsed() < TIMEOUT,
                "{} of {all} are served again",
                served.len()
            );
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn callers(servers: &[Server]) -> anyhow::Result<Vec<Caller>> {
    servers.iter().map(Caller::new).collect()
}

#[test]
fn crash_of_the_database_loses_nothing_and_servers_recover_within_two_seconds() -> anyhow::Result<()>
{
    let database = docent_test_postgres::Server::start()?;
    let servers = start_servers(&database.url(), 2)?;
    Clients::new(&callers(&servers)?).run_during(|clients| {
        for _ in 0..3 {
            clients.wait_for_recovery(Instant::now())?;
            database.kill()?;
            clients.wait_for_outage()?;
            database.restart()?;
            let took = clients.wait_for_recovery(Instant::now())?;
            ensure!(took < Duration::from_secs(2), "{took:?}");
        }
        Ok(())
    })?;
    expect_sound(&database.url())
}

/// A hanging database is worse than a crashed one: callers wait for a result.
#[test]
fn crash_a_hanging_database_times_out_and_is_used_again_when_it_continues() -> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let url = format!(
        "{}&statement_timeout=1&pool_timeout=1&connect_timeout=1",
        database.url()
    );
    let servers = start_servers(&url, 2)?;
    Clients::new(&callers(&servers)?).run_during(|clients| {
        clients.wait_for_recovery(Instant::now())?;
        database.signal_all(Signal::STOP)?;
        clients.wait_for_outage()?;
        // Longer than any timeout.
        thread::sleep(Duration::from_secs(12));
        database.signal_all(Signal::CONT)?;
        let took = clients.wait_for_recovery(Instant::now())?;
        ensure!(took < Duration::from_secs(2), "{took:?}");
        // Three seconds for a response, and two for a connection before and after it.
        let slowest = *lock(&clients.slowest);
        ensure!(slowest < Duration::from_secs(10), "{slowest:?}");
        Ok(())
    })?;
    expect_sound(&database.url())
}

#[test]
fn load_closed_connections_are_replaced_and_lose_nothing() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = start_servers(database.url(), 2)?;
    Clients::new(&callers(&servers)?).run_during(|clients| {
        clients.wait_for_recovery(Instant::now())?;
        for _ in 0..5 {
            database.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )?;
            let took = clients.wait_for_recovery(Instant::now())?;
            ensure!(took < Duration::from_secs(2), "{took:?}");
        }
        Ok(())
    })?;
    expect_sound(database.url())
}

/// With more clients than connections and a blocked table, every client gets 503 in time.
#[test]
fn load_on_a_blocked_table_fails_with_503_within_the_timeouts() -> anyhow::Result<()> {
    const REQUESTS: usize = 60;
    let database = Database::empty()?;
    let url = format!(
        "{}&pool_size=2&pool_timeout=1&statement_timeout=3",
        database.url()
    );
    let servers = start_servers(&url, 1)?;
    let caller = Caller::new(&servers[0])?;
    let urn = dataset("slow");
    ensure!(caller.patch(&urn, "first")?.status == 200);
    let statuses = thread::scope(|scope| -> anyhow::Result<Vec<u16>> {
        let block = "BEGIN; LOCK TABLE metadata_aspect_v2 IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12); COMMIT";
        let blocking = scope.spawn(|| database.sql(block));
        wait_for_lock(&database, "AccessExclusiveLock")?;
        let clients: Vec<_> = (0..REQUESTS)
            .map(|number| {
                let (caller, urn) = (&caller, &urn);
                scope.spawn(move || -> anyhow::Result<u16> {
                    let begun = Instant::now();
                    let response = caller.patch(urn, &format!("p{number}"))?;
                    let took = begun.elapsed();
                    ensure!(took < Duration::from_secs(9), "{took:?}");
                    ensure!((response.status == 503) == response.retry_after.is_some());
                    Ok(response.status)
                })
            })
            .collect();
        let statuses = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
            .collect();
        blocking
            .join()
            .unwrap_or_else(|_| bail!("the blocking thread panicked"))?;
        statuses
    })?;
    ensure!(statuses == [503; REQUESTS], "{statuses:?}");
    ensure!(caller.patch(&urn, "last")?.status == 200);
    let (properties, _) = caller.properties(&urn)?;
    ensure!(
        properties == BTreeSet::from(["first", "last"].map(str::to_owned)),
        "{properties:?}"
    );
    Ok(())
}

/// Whether somebody has locked the aspects.
fn is_locked(database: &Database, mode: &str) -> anyhow::Result<bool> {
    let held = format!(
        "SELECT 1 FROM pg_locks l WHERE l.mode = '{mode}' AND l.granted \
         AND l.relation = 'metadata_aspect_v2'::regclass"
    );
    Ok(!database.rows(&held)?.is_empty())
}

fn wait_for_lock(database: &Database, mode: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    while !is_locked(database, mode)? {
        ensure!(started.elapsed() < TIMEOUT, "the table is not locked");
    }
    Ok(())
}

/// The database may execute what a killed server has sent for a while, and hold its locks.
#[test]
fn crash_of_a_server_whose_locks_remain_delays_no_restart_and_no_reads() -> anyhow::Result<()> {
    const LOCK: &str = "ExclusiveLock";
    let database = Database::empty()?;
    let mut server = Server::start(Options::default().store(database.url()))?;
    let query = "{ me { corpUser { urn } } }";
    server.graphql(query, json!({}))?;
    thread::scope(|scope| {
        // It blocks all writers, and those who lock rows.
        let block =
            "BEGIN; LOCK TABLE metadata_aspect_v2 IN EXCLUSIVE MODE; SELECT pg_sleep(15); COMMIT";
        let blocking = scope.spawn(|| database.sql(block));
        wait_for_lock(&database, LOCK)?;
        server.kill()?;
        server.restart()?;
        let reply = server.graphql(query, json!({}))?;
        ensure!(reply["data"]["me"]["corpUser"]["urn"] == "urn:li:corpuser:datahub");
        ensure!(
            is_locked(&database, LOCK)?,
            "the server waited for the lock"
        );
        blocking
            .join()
            .unwrap_or_else(|_| bail!("the blocking thread panicked"))?;
        Ok(())
    })
}

#[test]
fn crash_of_the_primary_is_over_two_seconds_after_the_standby_is_promoted() -> anyhow::Result<()> {
    let first = docent_test_postgres::Server::start()?;
    let second = first.start_standby()?;
    let servers = start_servers(&first.url_with(&second), 2)?;
    Clients::new(&callers(&servers)?).run_during(|clients| {
        clients.wait_for_recovery(Instant::now())?;
        first.kill()?;
        clients.wait_for_outage()?;
        second.promote()?;
        let took = clients.wait_for_recovery(Instant::now())?;
        ensure!(took < Duration::from_secs(2), "{took:?}");
        Ok(())
    })?;
    expect_sound(&second.url())
}

#[test]
fn load_a_paused_server_does_not_block_others_and_loses_nothing() -> anyhow::Result<()> {
    const ROUNDS: usize = 5;
    const LONG_PAUSE: Duration = Duration::from_secs(10);
    let database = Database::empty()?;
    let servers = start_servers(database.url(), 2)?;
    let (paused, running) = (Caller::new(&servers[0])?, Caller::new(&servers[1])?);
    let urn = dataset("paused");
    let stop = AtomicBool::new(false);
    let (expected, unknown, slowest) = thread::scope(|scope| -> anyhow::Result<_> {
        let writer = scope.spawn(|| -> anyhow::Result<_> {
            let (mut acknowledged, mut unknown) = (BTreeSet::new(), BTreeSet::new());
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let property = format!("one-{number}");
                let response = paused.patch(&urn, &property)?;
                // A server paused during a commit finds its connection closed and does not know the
                // outcome.
                let message = response.body["message"].as_str().unwrap_or_default();
                if response.status == 503 && message.contains("it is unknown whether") {
                    unknown.insert(property);
                    continue;
                }
                ensure!(
                    response.status == 200,
                    "{} {}",
                    response.status,
                    response.body
                );
                acknowledged.insert(property);
            }
            Ok((acknowledged, unknown))
        });
        let mut slowest = Duration::ZERO;
        let mut acknowledged = BTreeSet::new();
        for round in 0..ROUNDS {
            servers[0].signal(Signal::STOP)?;
            let paused = Instant::now();
            let pause = if round + 1 == ROUNDS {
                LONG_PAUSE
            } else {
                Duration::ZERO
            };
            for number in 0.. {
                if number >= 20 && paused.elapsed() > pause {
                    break;
                }
                let property = format!("two-{round}-{number}");
                let begun = Instant::now();
                let response = running.patch(&urn, &property)?;
                ensure!(
                    response.status == 200,
                    "{} {}",
                    response.status,
                    response.body
                );
                slowest = slowest.max(begun.elapsed());
                acknowledged.insert(property);
            }
            servers[0].signal(Signal::CONT)?;
            thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        let (others, unknown) = writer
            .join()
            .unwrap_or_else(|_| bail!("the writer panicked"))?;
        acknowledged.extend(others);
        Ok((acknowledged, unknown, slowest))
    })?;
    // An interrupted transaction loses its locks after five seconds
    // (`idle_in_transaction_session_timeout`).
    ensure!(slowest < Duration::from_secs(10), "{slowest:?}");
    for caller in [&paused, &running] {
        let (properties, version) = caller.properties(&urn)?;
        let lost: Vec<&String> = expected.difference(&properties).collect();
        ensure!(lost.is_empty(), "lost {lost:?}");
        let unexpected: Vec<&String> = properties
            .iter()
            .filter(|property| !expected.contains(*property) && !unknown.contains(*property))
            .collect();
        ensure!(unexpected.is_empty(), "never written: {unexpected:?}");
        ensure!(version == properties.len() as u64, "version {version}");
    }
    expect_sound(database.url())
}
