//! Kills the server again and again while clients write, and looks at what is left.
//!
//! `DOCENT_CRASH_KILLS` sets how often (50 by default) and `DOCENT_CRASH_SEED` which random numbers are used, for longer
//! runs by hand.

use std::process::Stdio;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::load::{Connection, Random, Writer};
use docent_e2e::{Finished, Options, Server};
use serde_json::{Value, json};

const WRITERS: usize = 8;

/// The store is checked, and every entity looked for, after each so many kills.
const THOROUGH_EVERY: u64 = 10;

/// After each so many kills a server is killed a second time, while it starts on what the first kill left.
const KILLED_START_EVERY: u64 = 5;

#[test]
fn crash_all_acknowledged_writes_survive_and_no_batch_is_half_applied() -> anyhow::Result<()> {
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
    let begin = Instant::now();
    for kill in 1..=kills {
        let delay = Duration::from_millis(5 + random.below(146));
        write_and_kill(&mut server, &connection, &mut writers, delay)
            .with_context(|| format!("kill {kill}, seed {seed}"))?;
        if kill % KILLED_START_EVERY == 0 {
            kill_while_it_starts(&server, Duration::from_millis(random.below(60)))?;
        }
        server.restart()?;
        connection = connection.at(server.address());
        let thorough = kill % THOROUGH_EVERY == 0 || kill == kills;
        for writer in &mut writers {
            writer
                .verify(&connection, thorough)
                .with_context(|| format!("after kill {kill}, seed {seed}"))?;
        }
        if thorough {
            store_is_sound(&server).with_context(|| format!("after kill {kill}, seed {seed}"))?;
        }
    }
    let acknowledged: u64 = writers.iter().map(Writer::acknowledged).sum();
    eprintln!(
        "{kills} kills in {:.1} s, {acknowledged} acknowledged writes, seed {seed}",
        begin.elapsed().as_secs_f64()
    );
    ensure!(
        acknowledged >= kills,
        "only {acknowledged} writes were acknowledged: this proves nothing"
    );
    index_equals_store(&mut server, &connection)?;
    ensure!(server.stop()?.success());
    Ok(())
}

/// What the index holds after all those kills is what one holds that is made of the store.
fn index_equals_store(server: &mut Server, connection: &Connection) -> anyhow::Result<()> {
    let after_kills = scroll(connection)?;
    ensure!(
        after_kills.len() >= WRITERS,
        "the index has lost its datasets"
    );
    let values_after_kills = values(connection)?;
    server.kill()?;
    // Beside the SQLite file, or where servers on PostgreSQL have it.
    let index = match server.store() {
        "sqlite:docent.db" => "docent.db-search",
        _ => "docent-search",
    };
    fs::remove_dir_all(server.directory().join(index))?;
    server.restart()?;
    let connection = connection.at(server.address());
    let anew = scroll(&connection)?;
    ensure!(
        after_kills == anew,
        "the index differs from the store: it has {} entities, the store {}",
        after_kills.len(),
        anew.len()
    );
    let values_anew = values(&connection)?;
    ensure!(
        values_after_kills == values_anew,
        "the index has lost updates: it has {values_after_kills}, the store {values_anew}"
    );
    Ok(())
}

/// What the writers changed again and again, as the index has it: how many entities have each value.
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

/// All entities that search knows, soft-deleted ones too.
fn scroll(connection: &Connection) -> anyhow::Result<Vec<String>> {
    const DOCUMENT: &str = "query ($mark: String) {
        scrollAcrossEntities(input: {query: \"*\", count: 500, scrollId: $mark, searchFlags: {includeSoftDeleted: true}}) {
            nextScrollId searchResults { entity { urn } }
        } }";
    let mut found = Vec::new();
    let mut mark = Value::Null;
    loop {
        let mut data = connection.query(DOCUMENT, &json!({ "mark": mark }))?;
        let mut page = data["scrollAcrossEntities"].take();
        let results = page["searchResults"].as_array();
        found.extend(results.into_iter().flatten().map(Value::to_string));
        mark = page["nextScrollId"].take();
        if mark.is_null() {
            return Ok(found);
        }
    }
}

/// Searches until the server is gone, so that its end finds the index in the midst of being fed.
fn search_until_cut(connection: &Connection, killed: &AtomicBool) -> anyhow::Result<()> {
    const DOCUMENT: &str = "{ searchAcrossEntities(input: {query: \"*\", count: 0}) { total } }";
    loop {
        let searched = connection.query(DOCUMENT, &json!({}));
        if killed.load(Ordering::SeqCst) {
            return Ok(());
        }
        searched.context("a search failed while the server was up")?;
    }
}

/// Lets all writers write and kills the server in the midst of it.
fn write_and_kill(
    server: &mut Server,
    connection: &Connection,
    writers: &mut [Writer],
    delay: Duration,
) -> anyhow::Result<()> {
    let killed = AtomicBool::new(false);
    let start = Barrier::new(writers.len() + 2);
    thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (start, killed) = (&start, &killed);
                scope.spawn(move || {
                    start.wait();
                    writer.run_until_cut(connection, killed)
                })
            })
            .collect();
        let searching = scope.spawn(|| {
            start.wait();
            search_until_cut(connection, &killed)
        });
        start.wait();
        // The moment of the kill is what is random here; nothing waits for this time to be enough.
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
    })
}

/// Starts a server and kills it before or after it listens.
fn kill_while_it_starts(server: &Server, delay: Duration) -> anyhow::Result<()> {
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
    ensure!(ended.is_none(), "the server ended by itself: {ended:?}");
    Ok(())
}

/// Nothing is damaged, and nothing derived differs from what follows from the aspects.
fn store_is_sound(server: &Server) -> anyhow::Result<()> {
    let checked = Finished::run(&mut server.docent(["check", "--store", server.store()])?)?;
    ensure!(
        checked.succeeded()?.contains("the store is healthy"),
        "`docent check` must say that the store is healthy"
    );
    let rebuilt = Finished::run(&mut server.docent(["rebuild", "--store", server.store()])?)?;
    let report = rebuilt.succeeded()?;
    ensure!(
        report.contains("everything derived from them was right"),
        "a rebuild found differences: {report}"
    );
    Ok(())
}

fn number_from(variable: &str, default: u64) -> anyhow::Result<u64> {
    match env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable}={text}")),
        Err(_) => Ok(default),
    }
}
