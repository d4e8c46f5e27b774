//! What happens when a server or the database goes away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use docent_e2e::Signal;
use docent_test_postgres::Database;

use crate::caller::Caller;
use crate::{PATIENCE, dataset, is_sound, open_servers};

/// Clients that go on whatever happens to the database.
struct Steady<'a> {
    callers: &'a [Caller],
    stop: AtomicBool,
    acknowledged: Mutex<BTreeMap<String, BTreeSet<String>>>,
    refused: AtomicU64,
    last_success: Mutex<Instant>,
}

impl<'a> Steady<'a> {
    fn new(callers: &'a [Caller]) -> Self {
        Self {
            callers,
            stop: AtomicBool::new(false),
            acknowledged: Mutex::default(),
            refused: AtomicU64::new(0),
            last_success: Mutex::new(Instant::now()),
        }
    }

    /// Does something to the database while the clients go on, and then looks for all that they were told is stored.
    fn through(&self, what: impl FnOnce(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        thread::scope(|scope| {
            let clients: Vec<_> = (0..8)
                .map(|client| scope.spawn(move || self.run(client)))
                .collect();
            let done = what(self);
            self.stop.store(true, Ordering::Relaxed);
            for client in clients {
                client
                    .join()
                    .unwrap_or_else(|_| bail!("a client panicked"))?;
            }
            done
        })?;
        let acknowledged = self
            .acknowledged
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
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

    fn run(&self, client: usize) -> anyhow::Result<()> {
        let urn = dataset(format!("steady-{client}"));
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let property = format!("p{number}");
            let answer = self.callers[number % self.callers.len()].patch(&urn, &property)?;
            match answer.status {
                200 => {
                    let mut acknowledged = self
                        .acknowledged
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    acknowledged
                        .entry(urn.clone())
                        .or_default()
                        .insert(property);
                    *self
                        .last_success
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = Instant::now();
                }
                503 => {
                    ensure!(
                        answer.retry_after.is_some(),
                        "503 without Retry-After: {}",
                        answer.body
                    );
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(5));
                }
                status => bail!("{status} {}", answer.body),
            }
        }
        Ok(())
    }

    /// How long it took until somebody was answered again.
    fn recovery(&self, since: Instant) -> anyhow::Result<Duration> {
        loop {
            let last = *self
                .last_success
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if last > since {
                return Ok(last - since);
            }
            ensure!(since.elapsed() < PATIENCE, "nothing works any more");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn crash_of_the_database_loses_nothing_and_is_over_two_seconds_after_its_return()
-> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let servers = open_servers(&database.url(), 2)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    Steady::new(&callers).through(|steady| {
        for _ in 0..3 {
            steady.recovery(Instant::now())?;
            database.kill()?;
            steady.outage()?;
            database.start_again()?;
            let took = steady.recovery(Instant::now())?;
            ensure!(took < Duration::from_secs(2), "{took:?}");
        }
        // A database that hangs instead of going away.
        database.signal_all(Signal::STOP)?;
        thread::sleep(Duration::from_secs(2));
        database.signal_all(Signal::CONT)?;
        steady.recovery(Instant::now())?;
        Ok(())
    })?;
    is_sound(&database.url())
}

#[test]
fn crash_of_the_database_is_over_two_seconds_after_its_follower_has_taken_its_place()
-> anyhow::Result<()> {
    let first = docent_test_postgres::Server::start()?;
    let second = first.follower()?;
    let servers = open_servers(&first.url_with(&second), 2)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    Steady::new(&callers).through(|steady| {
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
