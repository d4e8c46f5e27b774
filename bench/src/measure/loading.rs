//! Searches during a bulk load: a search finds everything that was acknowledged before it, so the
//! index has to keep up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::bench::{Bench, Docent};
use crate::data::BLOCK;
use crate::load::Client;
use crate::measure::bulk::{load_datasets, load_domains};
use crate::process::{self, CLIENT_CORE};
use crate::report::{Report, Target};

const WRITERS: usize = 4;
/// How many datasets are acknowledged at once.
const CHUNK: usize = 1000;
/// One search starts in this time, as people do.
const INTERVAL: Duration = Duration::from_millis(100);

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    // The index is fed by a second thread.
    process::unpin()?;
    let measured = measure_on_both(bench, report).await;
    process::pin(CLIENT_CORE)?;
    measured
}

async fn measure_on_both(bench: &Bench, report: &mut Report) -> Result<()> {
    let datasets = if bench.quick { 2 * BLOCK } else { 10 * BLOCK };
    report.progress(&format!("searches while {datasets} datasets are loaded"));
    let store = bench.create_store("loading.db")?;
    let docent = bench.serve_on_both(&store)?;
    let mut client = docent.client(WRITERS).await?;
    load_domains(&docent, &mut client).await?;
    let progress = Arc::new(Progress::default());
    let searches = Searches {
        client: docent.client(1).await?,
        request: search(&docent),
        progress: Arc::clone(&progress),
    };
    let searching = tokio::spawn(searches.run());
    let started = Instant::now();
    for first in (0..datasets).step_by(CHUNK) {
        load_datasets(&docent, &mut client, first, CHUNK).await?;
        progress.loaded.fetch_add(CHUNK, Ordering::SeqCst);
    }
    let loading = started.elapsed();
    progress.is_over.store(true, Ordering::SeqCst);
    let mut latencies = searching.await??;
    docent.server.stop()?;
    store.remove()?;
    // The last one began after the load.
    let after = latencies.pop().unwrap_or_default();
    ensure!(latencies.len() >= 10, "the load was too short");
    latencies.sort();
    let percentile = |percent: usize| millis(latencies[(latencies.len() - 1) * percent / 100]);
    report.line(
        format!("search while {datasets} datasets are loaded, p99"),
        format!("{:.0} ms ({} searches)", percentile(99), latencies.len()),
        format!("p50 {:.0} ms", percentile(50)),
        percentile(99),
        Target::Below(300.0, "ms"),
        "People can search while connectors load a whole warehouse, and find what was loaded until \
         then.",
    );
    report.line(
        "the first search after the load",
        format!("{:.0} ms", millis(after)),
        format!(
            "loaded {:.0} datasets/s",
            datasets as f64 / loading.as_secs_f64()
        ),
        millis(after),
        Target::Below(300.0, "ms"),
        "Nobody waits for the index after a load.",
    );
    Ok(())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn search(docent: &Docent) -> Vec<u8> {
    let query = "query search($input: SearchAcrossEntitiesInput!) { \
                 searchAcrossEntities(input: $input) { total searchResults { entity { urn } } } }";
    let input = json!({"types": ["DATASET"], "query": "orders", "start": 0, "count": 10});
    docent.graphql(&json!({"query": query, "variables": {"input": input}}).to_string())
}

#[derive(Debug, Default)]
struct Progress {
    /// How many datasets were acknowledged.
    loaded: AtomicUsize,
    is_over: AtomicBool,
}

struct Searches {
    client: Client,
    request: Vec<u8>,
    progress: Arc<Progress>,
}

impl Searches {
    /// Searches at fixed times until the load is over, and once after it. A search that is late
    /// counts from the time when it should have started.
    async fn run(mut self) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let mut scheduled = Instant::now();
        loop {
            let is_last = self.progress.is_over.load(Ordering::SeqCst);
            let loaded = self.progress.loaded.load(Ordering::SeqCst);
            let reply: Value = serde_json::from_slice(&self.client.ask(&self.request).await?)?;
            latencies.push(scheduled.elapsed());
            let total = reply["data"]["searchAcrossEntities"]["total"].as_u64();
            ensure!(
                total.is_some_and(|total| total >= loaded as u64),
                "{loaded} datasets were loaded, but a search replied {reply}"
            );
            if is_last {
                return Ok(latencies);
            }
            scheduled += INTERVAL;
            tokio::time::sleep_until(scheduled.into()).await;
            if self.progress.is_over.load(Ordering::SeqCst) {
                scheduled = Instant::now();
            }
        }
    }
}
