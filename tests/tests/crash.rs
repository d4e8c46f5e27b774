//! Kills the server repeatedly while clients write, and verifies the store and the index.
//!
//! For longer manual runs, `DOCENT_CRASH_KILLS` sets the number of kills (50 by default) and
//! `DOCENT_CRASH_SEED` the random seed.

use std::process::Stdio;
use std::slice;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{
    Connection, Random, Writer, index_equals_store, verify_store, write_and_kill,
};
use docent_e2e::{Options, Server, on_postgres};

const WRITERS: usize = 8;

/// Before each kill, a random number of writes below this one is acknowledged. Waiting for writes
/// instead of a time makes the test as strict on a slow machine as on a fast one.
const WRITES_PER_KILL: u64 = 10;

/// After this many kills, the store is checked and every entity is read back.
const THOROUGH_EVERY: u64 = 10;

/// After this many kills, the server is killed again while it starts.
const KILLED_START_EVERY: u64 = 5;

#[test]
fn crash_all_acknowledged_writes_survive_and_no_batch_is_partially_applied() -> anyhow::Result<()> {
    let kills = number_from("DOCENT_CRASH_KILLS", 50)?;
    let seed = number_from("DOCENT_CRASH_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let mut server = Server::start(Options::default())?;
    let token = server.token("load")?;
    let mut connection = Connection::new(server.address(), &token)?;
    let mut writers = (0..WRITERS)
        .map(|number| {
            let choices = Random::seeded(random.below(u64::MAX));
            Writer::prepare(number, choices, &connection)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut restarts = Vec::new();
    let begin = Instant::now();
    for kill in 1..=kills {
        let at_least = random.below(WRITES_PER_KILL);
        let delay = Duration::from_millis(random.below(60));
        let connections = slice::from_ref(&connection);
        write_and_kill(connections, &mut writers, at_least, delay, || server.kill())
            .with_context(|| format!("kill {kill}, seed {seed}"))?;
        if kill % KILLED_START_EVERY == 0 {
            kill_during_start(&server, Duration::from_millis(random.below(60)))?;
        }
        let started = Instant::now();
        server.restart()?;
        restarts.push(started.elapsed());
        connection = connection.at(server.address());
        let thorough = kill % THOROUGH_EVERY == 0 || kill == kills;
        for writer in &mut writers {
            writer
                .verify(&connection, thorough)
                .with_context(|| format!("after kill {kill}, seed {seed}"))?;
        }
        if thorough {
            verify_store(server.directory(), server.store())
                .with_context(|| format!("after kill {kill}, seed {seed}"))?;
        }
    }
    let acknowledged: u64 = writers.iter().map(Writer::acknowledged).sum();
    restarts.sort_unstable();
    let engine = if on_postgres()? {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    let slowest = restarts.last().copied().unwrap_or_default();
    let median = restarts.get(restarts.len() / 2).copied();
    record(
        &format!("kills of the server on {engine}"),
        &format!(
            "{kills} kills in {:.0} s, {acknowledged} acknowledged writes, restarts in {} ms (median) to {} ms",
            begin.elapsed().as_secs_f64(),
            median.unwrap_or_default().as_millis(),
            slowest.as_millis()
        ),
    )?;
    ensure!(
        acknowledged >= kills,
        "only {acknowledged} writes were acknowledged, too few to prove anything"
    );
    index_equals_store(&mut server, &connection)?;
    ensure!(server.stop()?.success());
    Ok(())
}

/// Starts a server and kills it before or after it listens.
fn kill_during_start(server: &Server, delay: Duration) -> anyhow::Result<()> {
    let mut child = server
        .docent([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            server.store(),
        ])?
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    thread::sleep(delay);
    let ended = child.try_wait()?;
    child.kill()?;
    child.wait()?;
    ensure!(
        ended.is_none(),
        "the server ended before it was killed: {ended:?}"
    );
    Ok(())
}
