//! Kills the database repeatedly while clients write, and verifies the store and the indexes.
//!
//! For longer runs, `DOCENT_DATABASE_KILLS` sets the number of kills (5 by default) and
//! `DOCENT_CRASH_SEED` the random seed.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{Connection, Random, Writer, index_equals_store, write_and_kill};
use docent_e2e::{Options, Server};
use serde_json::json;

use crate::{TIMEOUT, expect_sound};

const WRITERS: usize = 8;

/// Before each kill, a random number of writes below this one is acknowledged.
const WRITES_PER_KILL: u64 = 10;

/// After this many kills, the store is checked and every entity is read back.
const THOROUGH_EVERY: u64 = 10;

/// After this many kills, the database is killed again while it recovers.
const KILLED_START_EVERY: u64 = 5;

#[test]
fn crash_kills_of_the_database_lose_no_acknowledged_write_and_leave_no_partial_batch()
-> anyhow::Result<()> {
    let kills = number_from("DOCENT_DATABASE_KILLS", 5)?;
    let seed = number_from("DOCENT_CRASH_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let database = docent_test_postgres::Server::start()?;
    // The kernel keeps what a killed process has written. Recovery would sync every file first,
    // which takes most of the time between two kills.
    database.sql("ALTER SYSTEM SET fsync = off")?;
    database.sql("SELECT pg_reload_conf()")?;
    let options = Options::default().store(database.url());
    let mut servers = [Server::start(options.clone())?, Server::start(options)?];
    let token = servers[0].token("load")?;
    // A server that has not got its lock on the database back within two seconds rejects requests
    // until it has, also when it has answered others already.
    let connections = [
        Connection::new(servers[0].address(), &token)?.patient(TIMEOUT),
        Connection::new(servers[1].address(), &token)?.patient(TIMEOUT),
    ];
    let mut writers = (0..WRITERS)
        .map(|number| {
            let choices = Random::seeded(random.below(u64::MAX));
            Writer::prepare(number, choices, &connections[0])
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut recoveries = Vec::new();
    let begin = Instant::now();
    for kill in 1..=kills {
        let context = || format!("kill {kill}, seed {seed}");
        let at_least = random.below(WRITES_PER_KILL);
        let delay = Duration::from_millis(random.below(60));
        write_and_kill(&connections, &mut writers, at_least, delay, || {
            database.kill()
        })
        .with_context(|| format!("{}; {}", context(), last_lines(&servers)))?;
        if kill.is_multiple_of(KILLED_START_EVERY) {
            let delay = Duration::from_millis(random.below(60));
            database.kill_during_start(delay).with_context(context)?;
        }
        database.restart().with_context(context)?;
        let restarted = Instant::now();
        wait_for(&connections)?;
        recoveries.push(restarted.elapsed());
        let thorough = kill.is_multiple_of(THOROUGH_EVERY) || kill == kills;
        // On another server than the one that a writer writes to.
        let others = connections.iter().cycle().skip(1);
        for (writer, connection) in writers.iter_mut().zip(others) {
            writer.verify(connection, thorough).with_context(context)?;
        }
        if thorough {
            expect_sound(&database.url()).with_context(context)?;
        }
    }
    let acknowledged: u64 = writers.iter().map(Writer::acknowledged).sum();
    recoveries.sort_unstable();
    record(
        "kills of PostgreSQL",
        &format!(
            "{kills} kills in {:.0} s, {acknowledged} acknowledged writes, both servers used it again after {} ms \
             (median) to {} ms",
            begin.elapsed().as_secs_f64(),
            recoveries[recoveries.len() / 2].as_millis(),
            recoveries[recoveries.len() - 1].as_millis(),
        ),
    )?;
    ensure!(
        acknowledged >= kills,
        "only {acknowledged} writes were acknowledged, too few to prove anything"
    );
    for (server, connection) in servers.iter_mut().zip(&connections) {
        index_equals_store(server, connection)?;
        ensure!(server.stop()?.success());
    }
    Ok(())
}

/// What the servers printed last, to find out why they did not write.
fn last_lines(servers: &[Server]) -> String {
    const LINES: usize = 20;
    let tail = |server: &Server| {
        let printed = server.printed();
        let lines: Vec<&str> = printed.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    };
    let tails: Vec<String> = servers.iter().map(tail).collect();
    format!("the servers printed:\n{}", tails.join("\n\n"))
}

/// Waits until every server uses the database again.
fn wait_for(connections: &[Connection]) -> anyhow::Result<()> {
    const DOCUMENT: &str = "{ searchAcrossEntities(input: {query: \"*\", count: 0}) { total } }";
    let started = Instant::now();
    for connection in connections {
        let impatient = connection.patient(Duration::ZERO);
        while let Err(error) = impatient.query(DOCUMENT, &json!({})) {
            ensure!(started.elapsed() < TIMEOUT, "no recovery: {error:#}");
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}
