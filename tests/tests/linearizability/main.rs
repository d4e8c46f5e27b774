//! Records what concurrent clients send and receive, while servers are killed, and checks that
//! the operations on every dataset are linearizable: each appears to take effect at one moment
//! between its request and its response, also for searches, and on whichever server.
//!
//! A round has new datasets and a fixed number of operations, so that it is as strict on a slow
//! machine as on a fast one, and short enough for the checker. For longer runs,
//! `DOCENT_HISTORY_SECONDS` sets the time (4 by default) and `DOCENT_HISTORY_SEED` the random seed.

mod client;
mod dataset;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::linearizability::{Call, Clock, check};
use docent_e2e::load::Random;
use docent_e2e::{Options, Server};
use docent_test_postgres::Database;

use client::{Caller, DOMAIN_COUNT, Sent};
use dataset::{MISSING_VERSION, Operation, Outcome};

const CLIENTS: u64 = 8;
const DATASETS: usize = 3;
/// The operations of each client in a round.
const OPERATIONS: u64 = 40;
/// Every second round kills a server.
const KILL_EVERY: u64 = 2;
/// The least part of the operations whose outcome must be known.
const MIN_KNOWN_PERCENT: u64 = 90;

/// Far longer than a request or a restart takes.
const TIMEOUT: Duration = Duration::from_mins(1);

type History = Vec<Call<Operation>>;

#[test]
fn load_operations_on_sqlite_are_linearizable() -> anyhow::Result<()> {
    let options = Options::default().store("sqlite:docent.db");
    let servers = vec![Server::start(options.without_authentication())?];
    check_histories("one server on SQLite", servers)
}

#[test]
fn load_operations_of_three_servers_on_postgresql_are_linearizable() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let options = || Options::default().store(database.url());
    let servers = (0..3).map(|_| Server::start(options().without_authentication()));
    let servers = servers.collect::<anyhow::Result<Vec<_>>>()?;
    check_histories("three servers on PostgreSQL", servers)
}

/// The figures of a run.
#[derive(Debug, Default)]
struct Figures {
    operations: usize,
    conflicts: usize,
    /// Operations that were sent, including reads without an outcome.
    sent: u64,
    /// Writes whose outcome is unknown.
    unknown: usize,
    kills: u64,
}

impl Figures {
    fn add(&mut self, history: &History) {
        let conflicts = history.iter().filter(|call| {
            let outcome = call.returned.as_ref().map(|(_, outcome)| outcome);
            matches!(outcome, Some(Outcome::Conflict { .. }))
        });
        self.operations += history.len();
        self.conflicts += conflicts.count();
        self.unknown += history
            .iter()
            .filter(|call| call.returned.is_none())
            .count();
    }
}

/// The servers, and a client for each, which changes when a server is restarted.
struct Cluster {
    servers: Vec<Server>,
    callers: RwLock<Vec<Caller>>,
}

impl Cluster {
    fn caller(&self, random: &mut Random) -> Caller {
        let callers = self.callers.read().unwrap_or_else(PoisonError::into_inner);
        callers[random.index(callers.len())].clone()
    }
}

fn check_histories(name: &str, servers: Vec<Server>) -> anyhow::Result<()> {
    let seconds = number_from("DOCENT_HISTORY_SECONDS", 4)?;
    let seed = number_from("DOCENT_HISTORY_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let callers = servers.iter().map(Caller::new);
    let callers = callers.collect::<anyhow::Result<Vec<_>>>()?;
    callers[0].create_domains()?;
    let mut cluster = Cluster {
        servers,
        callers: RwLock::new(callers),
    };
    let mut figures = Figures::default();
    let started = Instant::now();
    let mut round = 0;
    while started.elapsed() < Duration::from_secs(seconds) || round < KILL_EVERY {
        round += 1;
        let context = || format!("round {round}, seed {seed}, {name}");
        let histories = run_round(&mut cluster, round, &mut random).with_context(context)?;
        for (urn, history) in &histories {
            figures.add(history);
            check(history)
                .with_context(|| format!("the history of {urn}"))
                .with_context(context)?;
        }
        figures.sent += CLIENTS * OPERATIONS;
        figures.kills += u64::from(round.is_multiple_of(KILL_EVERY));
    }
    record(
        &format!("histories of concurrent operations, {name}"),
        &format!(
            "{} operations on {} datasets in {} s, seed {seed}, {} conditional writes rejected, \
             {} kills, {} writes with an unknown outcome: all linearizable",
            figures.operations,
            round * DATASETS as u64,
            started.elapsed().as_secs(),
            figures.conflicts,
            figures.kills,
            figures.unknown,
        ),
    )?;
    ensure!(figures.conflicts > 0, "no conditional write was rejected");
    // Operations without an outcome prove little. A kill interrupts at most one of each client.
    let known = (figures.operations - figures.unknown) as u64;
    ensure!(
        known * 100 >= figures.sent * MIN_KNOWN_PERCENT,
        "only {known} of {} operations have a known outcome",
        figures.sent
    );
    Ok(())
}

/// Runs all clients on new datasets, and kills a server in every second round.
fn run_round(
    cluster: &mut Cluster,
    round: u64,
    random: &mut Random,
) -> anyhow::Result<BTreeMap<String, History>> {
    let urns: Vec<String> = (0..DATASETS)
        .map(|number| {
            format!("urn:li:dataset:(urn:li:dataPlatform:hive,history.{round}.{number},PROD)")
        })
        .collect();
    let clock = Clock::default();
    let tokens = AtomicU64::new(round * CLIENTS * OPERATIONS);
    let performed = AtomicU64::new(0);
    let victim = round
        .is_multiple_of(KILL_EVERY)
        .then(|| random.index(cluster.servers.len()));
    let kill_after = random.below(CLIENTS * OPERATIONS * 3 / 4);
    let mut killed = victim.map(|victim| (victim, cluster.servers.remove(victim)));
    let clients = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let client = Client {
                    cluster,
                    clock: &clock,
                    tokens: &tokens,
                    performed: &performed,
                    urns: &urns,
                    random: Random::seeded(random.below(u64::MAX)),
                    seen: vec![Seen::default(); DATASETS],
                };
                scope.spawn(move || client.run())
            })
            .collect();
        let restarted = killed.as_mut().map(|(victim, server)| {
            wait_for(&performed, kill_after)?;
            server.restart()?;
            let caller = Caller::new(server)?;
            let mut callers = cluster
                .callers
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            callers[*victim] = caller;
            anyhow::Ok(())
        });
        let clients: Vec<_> = clients
            .into_iter()
            .map(|client| client.join().map_err(|_| anyhow!("a client panicked"))?)
            .collect();
        restarted.transpose()?;
        clients.into_iter().collect::<anyhow::Result<Vec<_>>>()
    })?;
    if let Some((victim, server)) = killed {
        cluster.servers.insert(victim, server);
    }
    let mut histories: BTreeMap<String, History> = BTreeMap::new();
    for (dataset, call) in clients.into_iter().flatten() {
        histories
            .entry(urns[dataset].clone())
            .or_default()
            .push(call);
    }
    Ok(histories)
}

fn wait_for(performed: &AtomicU64, goal: u64) -> anyhow::Result<()> {
    let started = Instant::now();
    while performed.load(Ordering::SeqCst) < goal {
        ensure!(started.elapsed() < TIMEOUT, "the clients are stuck");
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// What a client last saw of a dataset.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    version: Option<i64>,
    token: u64,
}

/// Sends one operation at a time, to a random server.
struct Client<'a> {
    cluster: &'a Cluster,
    clock: &'a Clock,
    tokens: &'a AtomicU64,
    performed: &'a AtomicU64,
    urns: &'a [String],
    random: Random,
    seen: Vec<Seen>,
}

impl Client<'_> {
    /// Returns the calls, each with the index of its dataset.
    fn run(mut self) -> anyhow::Result<Vec<(usize, Call<Operation>)>> {
        let mut calls = Vec::new();
        for _ in 0..OPERATIONS {
            let dataset = self.random.index(DATASETS);
            let operation = self.choose(dataset);
            let call = self.perform(dataset, operation)?;
            calls.extend(call.map(|call| (dataset, call)));
            self.performed.fetch_add(1, Ordering::SeqCst);
        }
        Ok(calls)
    }

    fn choose(&mut self, dataset: usize) -> Operation {
        let seen = self.seen[dataset];
        match self.random.below(20) {
            0..=3 => Operation::Write {
                token: self.new_token(),
            },
            4..=6 => Operation::WriteIf {
                version: seen.version.unwrap_or(MISSING_VERSION),
                token: self.new_token(),
            },
            7..=9 => {
                let domain = self.random.index(DOMAIN_COUNT + 1);
                Operation::SetDomain((domain < DOMAIN_COUNT).then_some(domain))
            }
            10 => Operation::Delete,
            11..=13 => Operation::ReadAspects,
            14 => Operation::ReadFields,
            15..=17 => Operation::ReadIndex,
            _ => Operation::Search { token: seen.token },
        }
    }

    fn new_token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::SeqCst)
    }

    /// Performs an operation. Returns `None` for a read without an outcome, which says nothing.
    fn perform(
        &mut self,
        dataset: usize,
        operation: Operation,
    ) -> anyhow::Result<Option<Call<Operation>>> {
        let started = Instant::now();
        loop {
            let caller = self.cluster.caller(&mut self.random);
            let invoked = self.clock.now();
            let sent = caller.perform(&self.urns[dataset], operation)?;
            let now = self.clock.now();
            let returned = match sent {
                Sent::Returned(outcome) => {
                    self.remember(dataset, operation, outcome);
                    Some((now, outcome))
                }
                Sent::Unknown if operation.is_write() => None,
                Sent::Unknown => return Ok(None),
                Sent::Rejected => {
                    ensure!(started.elapsed() < TIMEOUT, "no server can be reached");
                    // Until the server is restarted.
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            return Ok(Some(Call {
                operation,
                invoked,
                returned,
            }));
        }
    }

    fn remember(&mut self, dataset: usize, operation: Operation, outcome: Outcome) {
        let seen = &mut self.seen[dataset];
        match outcome {
            Outcome::Aspects(found) => seen.version = found.map(|dataset| dataset.version),
            Outcome::Conflict { actual } => seen.version = Some(actual),
            Outcome::Fields(Some((token, _))) => seen.token = token,
            _ => {}
        }
        if let (Operation::Write { token } | Operation::WriteIf { token, .. }, Outcome::Done) =
            (operation, outcome)
        {
            seen.token = token;
        }
    }
}
