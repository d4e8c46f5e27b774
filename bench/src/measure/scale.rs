//! Reads from a store of a million datasets, compared with one of ten thousand.
//!
//! The large store is built from the small one, which has the first block of datasets
//! ([`crate::store::grow`]). A sample of replies is compared in full.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, Docent, Store, median};
use crate::data::{BLOCK, Read, dataset_name};
use crate::measure::reads::{self, Rounds, Slices};
use crate::measure::search::graphql::{SEARCH, request};
use crate::report::{Report, Target};
use crate::store;

const DATASETS: usize = 1_000_000;

/// Longer than any pause of the server while it indexes.
const IDLE_TIME: Duration = Duration::from_secs(4);

/// The time limit of indexing.
const INDEX_TIMEOUT: Duration = Duration::from_hours(1);
const POLL: Duration = Duration::from_secs(1);

/// Waits until the last of the datasets is found and the server has nothing left to do.
pub(crate) async fn wait_until_indexed(docent: &Docent, datasets: usize) -> Result<()> {
    let name = dataset_name(datasets - 1);
    let request = request(&docent.token, SEARCH, &name);
    let mut client = docent.client(1).await?;
    let started = Instant::now();
    loop {
        // While the server indexes, searches wait for it, some in vain.
        let reply: Value = serde_json::from_slice(&client.ask(&request).await?)?;
        if first_name(&reply) == Some(&name) {
            return docent.server.wait_until_idle(IDLE_TIME).await;
        }
        ensure!(
            started.elapsed() < INDEX_TIMEOUT,
            "'{name}' is still not found: {reply}"
        );
        tokio::time::sleep(POLL).await;
    }
}

/// Returns the name of the first result of a search.
pub(super) fn first_name(reply: &Value) -> Option<&str> {
    let results = &reply["data"]["searchAcrossEntities"]["searchResults"];
    results[0]["entity"]["properties"]["name"].as_str()
}

pub(crate) async fn measure(bench: &Bench, small: &Store, report: &mut Report) -> Result<()> {
    let large = small.copy(bench.path("large.db"))?;
    store::grow::grow(&large, BLOCK..DATASETS, report)?;
    let servers = [bench.serve(&large, None)?, bench.serve(small, None)?];
    report.progress("indexing a million datasets");
    for (docent, datasets) in servers.iter().zip([DATASETS, BLOCK]) {
        wait_until_indexed(docent, datasets).await?;
    }
    for read in Read::ALL {
        report.progress(&format!("{} among a million datasets", read.name()));
        let sources = [
            reads::spread(&servers[0], read, DATASETS).await?,
            reads::spread(&servers[1], read, BLOCK).await?,
        ];
        let [ours, theirs]: [Slices; 2] = reads::alternate_with(
            [&servers[0].server, &servers[1].server],
            [&sources[0], &sources[1]],
            Rounds::of(bench),
        )
        .await?;
        let ratios: Vec<f64> = ours
            .costs
            .iter()
            .zip(&theirs.costs)
            .map(|(large, small)| large / small)
            .collect();
        report.line(
            format!("read {} among 1,000,000 datasets", read.name()),
            format!(
                "{:.1} µs CPU ({:.0}/s)",
                median(&ours.costs),
                median(&ours.rates)
            ),
            format!(
                "10,000 datasets {:.1} µs ({:.0}/s)",
                median(&theirs.costs),
                median(&theirs.rates)
            ),
            median(&ratios),
            Target::AtMost(1.5),
            "A catalog that grows to a hundred times its size answers scripts nearly as fast as before.",
        );
    }
    for docent in servers {
        docent.server.stop()?;
    }
    large.remove()
}
