//! Kills of a server or of its database while clients write, and what must hold afterwards.

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use serde_json::{Value, json};

use super::{Connection, Writer};
use crate::command::{CommandOutput, docent_command};
use crate::server::Server;

/// A server that acknowledges no write for this long is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long an index is built on a busy machine.
const BUILT_WITHIN: Duration = Duration::from_mins(5);

/// Runs all writers, and kills what they need `delay` after the given number of acknowledged
/// writes. The writers share the connections.
pub fn write_and_kill(
    connections: &[Connection],
    writers: &mut [Writer],
    at_least: u64,
    delay: Duration,
    kill: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let counters: Vec<_> = writers.iter().map(Writer::acknowledged_counter).collect();
    let acknowledged = || -> u64 { counters.iter().map(|c| c.load(Ordering::SeqCst)).sum() };
    let goal = acknowledged() + at_least;
    let killed = AtomicBool::new(false);
    let start = Barrier::new(writers.len() + connections.len() + 1);
    thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .zip(connections.iter().cycle())
            .map(|(writer, connection)| {
                let (start, killed) = (&start, &killed);
                scope.spawn(move || {
                    start.wait();
                    writer.run_until_killed(connection, killed)
                })
            })
            .collect();
        let searching: Vec<_> = connections
            .iter()
            .map(|connection| {
                let (start, killed) = (&start, &killed);
                scope.spawn(move || {
                    start.wait();
                    search_until_killed(connection, killed)
                })
            })
            .collect();
        start.wait();
        let deadline = Instant::now() + PATIENCE;
        while acknowledged() < goal && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // A random moment for the kill; correctness does not depend on it.
        thread::sleep(delay);
        killed.store(true, Ordering::SeqCst);
        let ended = kill();
        for writer in running {
            writer.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        for searcher in searching {
            searcher
                .join()
                .map_err(|_| anyhow!("a searcher panicked"))??;
        }
        ended
    })?;
    ensure!(
        acknowledged() >= goal,
        "the server did not acknowledge {at_least} writes within {PATIENCE:?}"
    );
    Ok(())
}

/// Searches until the server is killed, so that the kill can interrupt index updates.
fn search_until_killed(connection: &Connection, killed: &AtomicBool) -> anyhow::Result<()> {
    const DOCUMENT: &str = "{ searchAcrossEntities(input: {query: \"*\", count: 0}) { total } }";
    let impatient = connection.patient(Duration::ZERO);
    loop {
        let searched = impatient.query(DOCUMENT, &json!({}));
        if killed.load(Ordering::SeqCst) {
            return Ok(());
        }
        if !connection.is_patient() {
            searched.context("a search failed while the server was up")?;
        }
    }
}

/// Verifies that the store is undamaged and that all derived data matches the aspects.
///
/// A relative path of the store is relative to the directory.
pub fn verify_store(directory: &Path, store: &str) -> anyhow::Result<()> {
    let run = |command: &str| {
        let mut docent = docent_command(directory)?;
        CommandOutput::run(docent.args([command, "--store", store]))?.succeeded()
    };
    let checked = run("check")?;
    ensure!(
        checked.contains("the store is healthy"),
        "`docent check` must report that the store is healthy: {checked}"
    );
    let report = run("rebuild")?;
    ensure!(
        report.contains("all derived data was correct"),
        "a rebuild found differences: {report}"
    );
    Ok(())
}

/// Compares the index after all those kills with one rebuilt from the store.
pub fn index_equals_store(server: &mut Server, connection: &Connection) -> anyhow::Result<()> {
    let after_kills = scroll(connection)?;
    ensure!(!after_kills.is_empty(), "the index is empty");
    let values_after_kills = values(connection)?;
    server.kill()?;
    remove_index(server)?;
    server.restart()?;
    // Searches wait for the index a while, and then get 503.
    let connection = connection.at(server.address()).patient(BUILT_WITHIN);
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

/// Removes the index of a server that does not run.
pub fn remove_index(server: &Server) -> anyhow::Result<()> {
    // Next to the SQLite file, or the default directory on PostgreSQL.
    let index = match server.store() {
        "sqlite:docent.db" => "docent.db-search",
        _ => "docent-search",
    };
    Ok(fs::remove_dir_all(server.directory().join(index))?)
}

/// Returns the indexed values that the writers change, with the number of entities for each.
fn values(connection: &Connection) -> anyhow::Result<Value> {
    const DOCUMENT: &str = "{ aggregateAcrossEntities(input: {
            query: \"*\", facets: [\"customProperties\", \"domains\"],
            searchFlags: {includeSoftDeleted: true, maxAggValues: 10000}
        }) { facets { field aggregations { value count } } } }";
    let data = connection.query(DOCUMENT, &json!({}))?;
    let facets = &data["aggregateAcrossEntities"]["facets"];
    let mut counted = 0;
    for facet in 0..2 {
        let values = facets[facet]["aggregations"].as_array();
        counted += values.with_context(|| format!("no facet: {data}"))?.len();
    }
    // On a slow machine, a short run may have written no custom properties.
    ensure!(counted > 0, "the index has no values: {data}");
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
