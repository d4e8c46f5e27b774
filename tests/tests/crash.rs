//! Kills the server repeatedly while clients write, and verifies the store and the index.
//!
//! For longer manual runs, `DOCENT_CRASH_KILLS` sets the number of kills (50 by default) and
//! `DOCENT_CRASH_SEED` the random seed.

use std::fs;
use std::process::Stdio;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{Connection, Random, Writer};
use docent_e2e::{CommandOutput, Options, Server, on_postgres};
use serde_json::{Value, json};

const WRITERS: usize = 8;

/// Before each kill, a random number of writes below this one is acknowledged. Waiting for writes
/// instead of a time makes the test as strict on a slow machine as on a fast one.
const WRITES_PER_KILL: u64 = 10;

/// A server that acknowledges no write for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

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
        write_and_kill(&mut server, &connection, &mut writers, at_least, delay)
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
            verify_store(&server).with_context(|| format!("after kill {kill}, seed {seed}"))?;
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

/// Compares the index after all those kills with one rebuilt from the store.
fn index_equals_store(server: &mut Server, connection: &Connection) -> anyhow::Result<()> {
    let after_kills = scroll(connection)?;
    ensure!(after_kills.len() >= WRITERS, "the index lost its datasets");
    let values_after_kills = values(connection)?;
    server.kill()?;
    // Next to the SQLite file, or the default directory on PostgreSQL.
    let index = match server.store() {
        "sqlite:docent.db" => "docent.db-search",
        _ => "docent-search",
    };
    fs::remove_dir_all(server.directory().join(index))?;
    server.restart()?;
    let connection = connection.at(server.address());
    let rebuilt = scroll(&connection)?;
    ensure!(
        after_kills == rebuilt,
        "the index differs from the store: it has {} entities, the store {}",
        after_kills.len(),
        rebuilt.len()
    );
    let rebuilt_values = values(&connection)?;
    ensure!(
        values_after_kills == rebuilt_values,
        "the index lost updates: it has {values_after_kills}, the store {rebuilt_values}"
    );
    Ok(())
}

/// Returns the indexed values that the writers change, with the number of entities for each.
fn values(connection: &Connection) -> anyhow::Result<Value> {
    const DOCUMENT: &str = "{ aggregateAcrossEntities(input: {
            query: \"*\", facets: [\"customProperties\", \"domains\"],
            searchFlags: {includeSoftDeleted: true, maxAggValues: 10000}
        }) { facets { field aggregations { value count } } } }";
    let data = connection.query(DOCUMENT, &json!({}))?;
    let facets = &data["aggregateAcrossEntities"]["facets"];
    for facet in 0..2 {
        let counted = facets[facet]["aggregations"].as_array();
        ensure!(
            counted.is_some_and(|counted| !counted.is_empty()),
            "the index has no values: {data}"
        );
    }
    Ok(facets.clone())
}

/// Returns all indexed entities, including soft-deleted ones.
fn scroll(connection: &Connection) -> anyhow::Result<Vec<String>> {
    const DOCUMENT: &str = "query ($cursor: String) {
        scrollAcrossEntities(input: {query: \"*\", count: 500, scrollId: $cursor, searchFlags: {includeSoftDeleted: true}}) {
            nextScrollId searchResults { entity { urn } }
        } }";
    let mut found = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut data = connection.query(DOCUMENT, &json!({ "cursor": cursor }))?;
        let mut page = data["scrollAcrossEntities"].take();
        let results = page["searchResults"].as_array();
        found.extend(results.into_iter().flatten().map(Value::to_string));
        cursor = page["nextScrollId"].take();
        if cursor.is_null() {
            return Ok(found);
        }
    }
}

/// Searches until the server is killed, so that the kill can interrupt index updates.
fn search_until_killed(connection: &Connection, killed: &AtomicBool) -> anyhow::Result<()> {
    const DOCUMENT: &str = "{ searchAcrossEntities(input: {query: \"*\", count: 0}) { total } }";
    loop {
        let searched = connection.query(DOCUMENT, &json!({}));
        if killed.load(Ordering::SeqCst) {
            return Ok(());
        }
        searched.context("a search failed while the server was up")?;
    }
}

/// Runs all writers, and kills the server `delay` after the given number of acknowledged writes.
fn write_and_kill(
    server: &mut Server,
    connection: &Connection,
    writers: &mut [Writer],
    at_least: u64,
    delay: Duration,
) -> anyhow::Result<()> {
    let counters: Vec<_> = writers.iter().map(Writer::acknowledged_counter).collect();
    let acknowledged = || -> u64 { counters.iter().map(|c| c.load(Ordering::SeqCst)).sum() };
    let goal = acknowledged() + at_least;
    let killed = AtomicBool::new(false);
    let start = Barrier::new(writers.len() + 2);
    thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (start, killed) = (&start, &killed);
                scope.spawn(move || {
                    start.wait();
                    writer.run_until_killed(connection, killed)
                })
            })
            .collect();
        let searching = scope.spawn(|| {
            start.wait();
            search_until_killed(connection, &killed)
        });
        start.wait();
        let deadline = Instant::now() + PATIENCE;
        while acknowledged() < goal && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // A random moment for the kill; correctness does not depend on it.
        thread::sleep(delay);
        killed.store(true, Ordering::SeqCst);
        let ended = server.kill();
        for writer in running {
            writer.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        searching
            .join()
            .map_err(|_| anyhow!("the searcher panicked"))??;
        ended
    })?;
    ensure!(
        acknowledged() >= goal,
        "the server did not acknowledge {at_least} writes within {PATIENCE:?}"
    );
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

/// Verifies that the store is undamaged and that all derived data matches the aspects.
fn verify_store(server: &Server) -> anyhow::Result<()> {
    let checked = CommandOutput::run(&mut server.docent(["check", "--store", server.store()])?)?;
    ensure!(
        checked.succeeded()?.contains("the store is healthy"),
        "`docent check` must report that the store is healthy"
    );
    let rebuilt =
        CommandOutput::run(&mut server.docent(["rebuild", "--store", server.store()])?)?;
    let report = rebuilt.succeeded()?;
    ensure!(
        report.contains("all derived data was correct"),
        "a rebuild found differences: {report}"
    );
    Ok(())
}
