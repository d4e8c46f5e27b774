//! What happens when a server or the database goes away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use docent_e2e::{Server, Signal};
use docent_test_postgres::Database;
use serde_json::json;

use crate::caller::Caller;
use crate::{PATIENCE, PROPERTIES, dataset, is_sound, open_servers};

const CLIENTS: usize = 8;

/// Clients that go on whatever happens to the database, writing, reading and searching.
struct Steady<'a> {
    callers: &'a [Caller],
    stop: AtomicBool,
    acknowledged: Mutex<BTreeMap<String, BTreeSet<String>>>,
    refused: AtomicU64,
    /// When each client was last told by each server that a write is stored, and by each that something is found.
    successes: Mutex<BTreeMap<(&'static str, usize, usize), Instant>>,
    slowest: Mutex<Duration>,
}

impl<'a> Steady<'a> {
    fn new(callers: &'a [Caller]) -> Self {
        Self {
            callers,
            stop: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            refused: AtomicU64::new(0),
            successes: Mutex::default(),
            slowest: Mutex::default(),
        }
    }

    /// Does something to the database while the clients go on, and then looks for all that they were told is stored.
    fn through(&self, what: impl FnOnce(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let known = json!({"description": "a rare quagga", "customProperties": {"known": "x"}});
        let answer = self.callers[0].propose("UPSERT", &dataset("known"), PROPERTIES, &known)?;
        ensure!(answer.status == 200, "{}", answer.body);
        thread::scope(|scope| {
            let writers = (0..CLIENTS).map(|client| scope.spawn(move || self.write(client)));
            let searchers = (0..2).map(|client| scope.spawn(move || self.search(client)));
            let clients: Vec<_> = writers.chain(searchers).collect();
            let done = what(self);
            self.stop.store(true, Ordering::Relaxed);
            for client in clients {
                client
                    .join()
                    .unwrap_or_else(|_| bail!("a client panicked"))?;
            }
            done
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

    /// Waits until requests are refused.
    fn outage(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        let refused = self.refused.load(Ordering::Relaxed);
        while self.refused.load(Ordering::Relaxed) < refused + 8 {
            ensure!(begun.elapsed() < PATIENCE, "nobody notices");
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Writes, and reads what was written from another server.
    fn write(&self, client: usize) -> anyhow::Result<()> {
        let urn = dataset(format!("steady-{client}"));
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let property = format!("p{number}");
            let server = number % self.callers.len();
            let begun = Instant::now();
            let answer = self.callers[server].patch(&urn, &property)?;
            self.took(begun);
            match answer.status {
                200 => {
                    let mut acknowledged = lock(&self.acknowledged);
                    let own = acknowledged.entry(urn.clone()).or_default();
                    own.insert(property);
                    let expected = own.clone();
                    drop(acknowledged);
                    self.succeeded("write", client, server);
                    self.read(&urn, &expected, (server + 1) % self.callers.len())?;
                }
                503 => {
                    ensure!(
                        answer.retry_after.is_some(),
                        "503 without Retry-After: {}",
                        answer.body
                    );
                    self.refuse();
                }
                status => bail!("{status} {}", answer.body),
            }
        }
        Ok(())
    }

    /// Whoever is answered is answered right.
    fn read(&self, urn: &str, expected: &BTreeSet<String>, server: usize) -> anyhow::Result<()> {
        let begun = Instant::now();
        let read = self.callers[server].properties_unless_refused(urn)?;
        self.took(begun);
        match read {
            Some((properties, _)) => {
                let missing: Vec<&String> = expected.difference(&properties).collect();
                ensure!(missing.is_empty(), "{urn} is shown without {missing:?}");
            }
            None => self.refuse(),
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
            let found = self.callers[server].found_unless_refused("quagga")?;
            self.took(begun);
            match found {
                Some(1) => self.succeeded("search", client, server),
                Some(other) => bail!("{other} were found instead of one"),
                None => self.refuse(),
            }
        }
        Ok(())
    }

    fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(5));
    }

    fn succeeded(&self, what: &'static str, client: usize, server: usize) {
        lock(&self.successes).insert((what, client, server), Instant::now());
    }

    fn took(&self, begun: Instant) {
        let mut slowest = lock(&self.slowest);
        *slowest = slowest.max(begun.elapsed());
    }

    /// How long it took until each server had stored something again. Waits until each has done so, and found what was
    /// searched, for every client.
    fn recovery(&self, since: Instant) -> anyhow::Result<Duration> {
        let servers = self.callers.len();
        let everybody = (CLIENTS + 2) * self.callers.len();
        let mut took = None;
        loop {
            let served: Vec<_> = {
                let successes = lock(&self.successes);
                let again = successes.iter().filter(|(_, at)| **at > since);
                again.map(|(who, _)| *who).collect()
            };
            let wrote = served.iter().filter(|(what, ..)| *what == "write");
            let by: BTreeSet<_> = wrote.map(|(_, _, by)| by).collect();
            if by.len() == servers {
                took = took.or(Some(since.elapsed()));
            }
            if let (Some(took), true) = (took, served.len() == everybody) {
                return Ok(took);
            }
            ensure!(
                since.elapsed() < PATIENCE,
                "{} of {everybody} are served again",
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
fn crash_of_the_database_loses_nothing_and_is_over_two_seconds_after_its_return()
-> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let servers = open_servers(&database.url(), 2)?;
    Steady::new(&callers(&servers)?).through(|steady| {
        for _ in 0..3 {
            steady.recovery(Instant::now())?;
            database.kill()?;
            steady.outage()?;
            database.start_again()?;
            let took = steady.recovery(Instant::now())?;
            ensure!(took < Duration::from_secs(2), "{took:?}");
        }
        Ok(())
    })?;
    is_sound(&database.url())
}

/// Worse than one that goes away: whoever has asked it something waits.
#[test]
fn crash_a_database_that_hangs_is_given_up_and_used_again_when_it_goes_on() -> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let url = format!(
        "{}&statement_timeout=1&pool_timeout=1&connect_timeout=1",
        database.url()
    );
    let servers = open_servers(&url, 2)?;
    Steady::new(&callers(&servers)?).through(|steady| {
        steady.recovery(Instant::now())?;
        database.signal_all(Signal::STOP)?;
        steady.outage()?;
        // Longer than anybody may wait.
        thread::sleep(Duration::from_secs(12));
        database.signal_all(Signal::CONT)?;
        let took = steady.recovery(Instant::now())?;
        ensure!(took < Duration::from_secs(2), "{took:?}");
        // An answer is waited for three seconds, a connection two before and two after that.
        let slowest = *lock(&steady.slowest);
        ensure!(slowest < Duration::from_secs(10), "{slowest:?}");
        Ok(())
    })?;
    is_sound(&database.url())
}

#[test]
fn load_connections_that_are_cut_lose_nothing_and_are_replaced() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 2)?;
    Steady::new(&callers(&servers)?).through(|steady| {
        steady.recovery(Instant::now())?;
        for _ in 0..5 {
            database.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            )?;
            let took = steady.recovery(Instant::now())?;
            ensure!(took < Duration::from_secs(2), "{took:?}");
        }
        Ok(())
    })?;
    is_sound(database.url())
}

/// More clients than connections, and a database that does not get on: everybody is told in time to come again.
#[test]
fn load_a_slow_database_has_a_queue_with_an_end() -> anyhow::Result<()> {
    const MANY: usize = 60;
    let database = Database::empty()?;
    let url = format!(
        "{}&pool_size=2&pool_timeout=1&statement_timeout=3",
        database.url()
    );
    let servers = open_servers(&url, 1)?;
    let caller = Caller::new(&servers[0])?;
    let urn = dataset("slow");
    ensure!(caller.patch(&urn, "first")?.status == 200);
    let statuses = thread::scope(|scope| -> anyhow::Result<Vec<u16>> {
        let block = "BEGIN; LOCK TABLE metadata_aspect_v2 IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(12); COMMIT";
        let blocking = scope.spawn(|| database.sql(block));
        let held = "SELECT 1 FROM pg_locks l WHERE l.mode = 'AccessExclusiveLock' AND l.granted \
                    AND l.relation = 'metadata_aspect_v2'::regclass";
        let started = Instant::now();
        while database.rows(held)?.is_empty() {
            ensure!(started.elapsed() < PATIENCE, "nobody blocks the table");
        }
        let clients: Vec<_> = (0..MANY)
            .map(|number| {
                let (caller, urn) = (&caller, &urn);
                scope.spawn(move || -> anyhow::Result<u16> {
                    let begun = Instant::now();
                    let answer = caller.patch(urn, &format!("p{number}"))?;
                    let took = begun.elapsed();
                    ensure!(took < Duration::from_secs(9), "{took:?}");
                    ensure!((answer.status == 503) == answer.retry_after.is_some());
                    Ok(answer.status)
                })
            })
            .collect();
        let statuses = clients
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
            .collect();
        blocking
            .join()
            .unwrap_or_else(|_| bail!("the table was not blocked"))?;
        statuses
    })?;
    ensure!(statuses == [503; MANY], "{statuses:?}");
    ensure!(caller.patch(&urn, "last")?.status == 200);
    let (properties, _) = caller.properties(&urn)?;
    ensure!(
        properties == BTreeSet::from(["first", "last"].map(str::to_owned)),
        "{properties:?}"
    );
    Ok(())
}

#[test]
fn crash_of_the_database_is_over_two_seconds_after_its_follower_has_taken_its_place()
-> anyhow::Result<()> {
    let first = docent_test_postgres::Server::start()?;
    let second = first.follower()?;
    let servers = open_servers(&first.url_with(&second), 2)?;
    Steady::new(&callers(&servers)?).through(|steady| {
        steady.recovery(Instant::now())?;
        first.kill()?;
        steady.outage()?;
        second.promote()?;
        let took = steady.recovery(Instant::now())?;
        ensure!(took < Duration::from_secs(2), "{took:?}");
        Ok(())
    })?;
    is_sound(&second.url())
}

#[test]
fn load_a_server_that_is_paused_holds_up_no_other_and_loses_nothing() -> anyhow::Result<()> {
    const ROUNDS: usize = 5;
    const LONG_PAUSE: Duration = Duration::from_secs(10);
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 2)?;
    let (paused, running) = (Caller::new(&servers[0])?, Caller::new(&servers[1])?);
    let urn = dataset("paused");
    let stop = AtomicBool::new(false);
    let (expected, unknown, took) = thread::scope(|scope| -> anyhow::Result<_> {
        let writer = scope.spawn(|| -> anyhow::Result<_> {
            let (mut acknowledged, mut unknown) = (BTreeSet::new(), BTreeSet::new());
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let property = format!("one-{number}");
                let answer = paused.patch(&urn, &property)?;
                // A server that was stopped on its way to the commit finds its connection closed and cannot tell.
                let said = answer.body["message"].as_str().unwrap_or_default();
                if answer.status == 503 && said.contains("it is not known whether") {
                    unknown.insert(property);
                    continue;
                }
                ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
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
                let answer = running.patch(&urn, &property)?;
                ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
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
    // Transactions that were cut in the middle give their locks up after five seconds.
    ensure!(took < Duration::from_secs(10), "{took:?}");
    for caller in [&paused, &running] {
        let (properties, version) = caller.properties(&urn)?;
        let lost: Vec<&String> = expected.difference(&properties).collect();
        ensure!(lost.is_empty(), "lost {lost:?}");
        let strange: Vec<&String> = properties
            .iter()
            .filter(|property| !expected.contains(*property) && !unknown.contains(*property))
            .collect();
        ensure!(strange.is_empty(), "nobody wrote {strange:?}");
        ensure!(version == properties.len() as u64, "version {version}");
    }
    is_sound(database.url())
}
