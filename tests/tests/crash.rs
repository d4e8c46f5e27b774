//! Kills the server repeatedly while clients write, or stops it with SIGTERM, and verifies the
//! store and the index.
//!
//! For longer manual runs, `DOCENT_CRASH_KILLS` sets the number of kills (50 by default), five
//! times the number of stops, and `DOCENT_CRASH_SEED` the random seed.

use std::env;
use std::process::Stdio;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{
    Connection, Random, Writer, index_equals_store, proposal, remove_index, verify_store,
    write_and_kill,
};
use docent_e2e::{Options, Server, on_postgres};
use serde_json::{Value, json};

const WRITERS: usize = 8;

/// Before each kill, a random number of writes below this one is acknowledged. Waiting for writes
/// instead of a time makes the test as strict on a slow machine as on a fast one.
const WRITES_PER_KILL: u64 = 10;

/// After this many kills, the store is checked and every entity is read back.
const THOROUGH_EVERY: u64 = 10;

/// After this many kills, the server is killed again while it starts.
const KILLED_START_EVERY: u64 = 5;

/// Far longer than building the index takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A restart takes a tenth of a second. The limit leaves room for a machine that does other work.
const SLOWEST_RESTART: Duration = Duration::from_secs(3);

/// The same for a build for tests, beside other tests.
const SLOWEST_TEST_RESTART: Duration = Duration::from_secs(10);

/// The log of a server that takes longer says what it waited for.
const SLOW_RESTART: Duration = Duration::from_secs(2);

/// Restarts the server and returns the time until it listens.
fn timed_restart(server: &mut Server) -> anyhow::Result<Duration> {
    let started = Instant::now();
    server.restart()?;
    let time = started.elapsed();
    if time > SLOW_RESTART {
        eprintln!("a restart took {time:?}:\n{}", server.printed());
    }
    // `make torture` sets it to a release build.
    let limit = match env::var_os("DOCENT_TEST_BINARY") {
        Some(_) => SLOWEST_RESTART,
        None => SLOWEST_TEST_RESTART,
    };
    ensure!(time < limit, "a restart took {} ms", time.as_millis());
    Ok(time)
}

fn engine() -> anyhow::Result<&'static str> {
    Ok(if on_postgres()? {
        "PostgreSQL"
    } else {
        "SQLite"
    })
}

fn prepare_writers(random: &mut Random, connection: &Connection) -> anyhow::Result<Vec<Writer>> {
    let prepare = |number| {
        let choices = Random::seeded(random.below(u64::MAX));
        Writer::prepare(number, choices, connection)
    };
    (0..WRITERS).map(prepare).collect()
}

/// Requests in flight are finished, later ones find no server.
#[test]
fn crash_loads_that_end_with_sigterm_lose_nothing_and_leave_a_correct_index() -> anyhow::Result<()>
{
    let stops = number_from("DOCENT_CRASH_KILLS", 50)?.div_ceil(5);
    let seed = number_from("DOCENT_CRASH_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let mut server = Server::start(Options::default())?;
    let token = server.token("load")?;
    let mut connection = Connection::new(server.address(), &token)?;
    let mut writers = prepare_writers(&mut random, &connection)?;
    for stop in 1..=stops {
        let context = || format!("stop {stop}, seed {seed}");
        let at_least = random.below(WRITES_PER_KILL);
        let delay = Duration::from_millis(random.below(60));
        let connections = slice::from_ref(&connection);
        write_and_kill(connections, &mut writers, at_least, delay, || {
            let status = server.stop()?;
            ensure!(status.success(), "{status}");
            Ok(())
        })
        .with_context(context)?;
        if stop == stops {
            verify_store(server.directory(), server.store()).with_context(context)?;
        }
        server.restart()?;
        connection = connection.at(server.address());
        for writer in &mut writers {
            writer
                .verify(&connection, stop == stops)
                .with_context(context)?;
        }
    }
    let acknowledged: u64 = writers.iter().map(Writer::acknowledged).sum();
    record(
        &format!("stops of the server on {}", engine()?),
        &format!("{stops} under load, {acknowledged} acknowledged writes"),
    )?;
    ensure!(acknowledged >= stops, "only {acknowledged} writes");
    index_equals_store(&mut server, &connection)
}

#[test]
fn crash_all_acknowledged_writes_survive_and_no_batch_is_partially_applied() -> anyhow::Result<()> {
    let kills = number_from("DOCENT_CRASH_KILLS", 50)?;
    let seed = number_from("DOCENT_CRASH_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let mut server = Server::start(Options::default())?;
    let token = server.token("load")?;
    let mut connection = Connection::new(server.address(), &token)?;
    let mut writers = prepare_writers(&mut random, &connection)?;
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
        restarts.push(timed_restart(&mut server)?);
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
    let slowest = restarts.last().copied().unwrap_or_default();
    let median = restarts.get(restarts.len() / 2).copied();
    record(
        &format!("kills of the server on {}", engine()?),
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

/// The server listens before it looks at the index, so that reads and writes need not wait for it.
#[test]
fn crash_of_a_server_whose_index_is_lost_delays_searches_only() -> anyhow::Result<()> {
    const DATASETS: usize = 20_000;
    const BATCH: usize = 2000;
    let mut server = Server::start(Options::default())?;
    let token = server.token("load")?;
    let connection = Connection::new(server.address(), &token)?;
    let dataset = |number| format!("urn:li:dataset:(urn:li:dataPlatform:hive,lost.{number},PROD)");
    let describe = |number, text: &str| {
        let value = json!({ "description": text });
        proposal(&dataset(number), "datasetProperties", &value)
    };
    for first in (0..DATASETS).step_by(BATCH) {
        let batch: Vec<Value> = (first..first + BATCH)
            .map(|number| describe(number, "before the kill"))
            .collect();
        ensure!(connection.ingest(&batch)?, "the batch was not acknowledged");
    }
    server.kill()?;
    remove_index(&server)?;
    let restart = timed_restart(&mut server)?;
    let connection = connection.at(server.address());
    let is_built = AtomicBool::new(false);
    let (exchanges, slowest) = thread::scope(|scope| {
        let searching = scope.spawn(|| {
            let searched = wait_for_search(&connection, DATASETS);
            is_built.store(true, Ordering::SeqCst);
            searched
        });
        let mut exchanges = 0_usize;
        let mut slowest = Duration::ZERO;
        while !is_built.load(Ordering::SeqCst) {
            let begun = Instant::now();
            let text = format!("while it is built {exchanges}");
            let number = exchanges % DATASETS;
            ensure!(connection.ingest(&[describe(number, &text)])?, "no write");
            let read = connection.aspect(&dataset(number), "datasetProperties", 0)?;
            let read = read.context("the dataset is missing")?;
            ensure!(read["value"]["description"] == text, "{read}");
            slowest = slowest.max(begun.elapsed());
            exchanges += 1;
        }
        searching
            .join()
            .map_err(|_| anyhow!("the searcher panicked"))??;
        anyhow::Ok((exchanges, slowest))
    })?;
    record(
        &format!("a lost index on {}", engine()?),
        &format!(
            "restart in {} ms, {exchanges} writes and reads while {DATASETS} entities were indexed, in {} ms at most",
            restart.as_millis(),
            slowest.as_millis()
        ),
    )?;
    ensure!(exchanges > 10, "only {exchanges} writes and reads");
    ensure!(slowest < Duration::from_secs(5), "{slowest:?}");
    Ok(())
}

/// Waits until a search finds all datasets. Until then, searches fail or wait.
fn wait_for_search(connection: &Connection, datasets: usize) -> anyhow::Result<()> {
    const DOCUMENT: &str =
        "{ searchAcrossEntities(input: {types: [DATASET], query: \"*\", count: 0}) { total } }";
    let started = Instant::now();
    loop {
        let searched = connection.query(DOCUMENT, &json!({}));
        if let Ok(data) = &searched
            && data["searchAcrossEntities"]["total"] == datasets
        {
            return Ok(());
        }
        ensure!(
            started.elapsed() < PATIENCE,
            "the index is not built: {searched:?}"
        );
    }
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
