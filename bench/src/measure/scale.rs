//! Reads from a store of a million datasets, compared with one of ten thousand.
//!
//! The large store is built from the small one: the rows of the first block of datasets are copied
//! for every other block, with the block's digits in all texts. A sample of replies is compared in
//! full.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::bench::{Bench, Store, median};
use crate::data::{self, BLOCK, Read};
use crate::measure::reads::{self, Rounds, Slices};
use crate::report::{Report, Target};
use crate::store;

const DATASETS: usize = 1_000_000;

/// Longer than any pause of the server while it indexes.
const IDLE_TIME: Duration = Duration::from_secs(4);

pub(crate) async fn measure(bench: &Bench, small: &Store, report: &mut Report) -> Result<()> {
    let large = small.copy(bench.path("large.db"))?;
    grow(&large, report)?;
    let servers = [bench.serve(&large, None)?, bench.serve(small, None)?];
    report.progress("indexing a million datasets");
    for docent in &servers {
        docent.server.wait_until_idle(IDLE_TIME).await?;
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
        );
    }
    for docent in servers {
        docent.server.stop()?;
    }
    large.remove()
}

/// Adds the missing blocks. The store need not survive a crash, so nothing is synced.
fn grow(store: &Store, report: &mut Report) -> Result<()> {
    let connection = store::open_writer(&store.path)?;
    store::check_tables(&connection)?;
    connection.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
         CREATE TEMP TABLE first_aspect AS SELECT * FROM metadata_aspect_v2
             WHERE urn LIKE 'urn:li:dataset:%' ORDER BY urn, aspect, version;
         CREATE TEMP TABLE first_edge AS SELECT * FROM edge WHERE source LIKE 'urn:li:dataset:%'
             ORDER BY source, aspect, relationship, destination;
         CREATE TEMP TABLE first_change AS SELECT * FROM change_log
             WHERE urn LIKE 'urn:li:dataset:%' ORDER BY position;",
    )?;
    let old = format!("{}{}", data::NAME_STEM, data::block_digits(0));
    for block in 1..DATASETS / BLOCK {
        report.progress(&format!("a million datasets: block {block}"));
        let new = format!("{}{}", data::NAME_STEM, data::block_digits(block));
        for sql in [
            "INSERT INTO metadata_aspect_v2 SELECT replace(urn, ?1, ?2), aspect, version, \
             replace(metadata, ?1, ?2), systemmetadata, createdon, createdby, createdfor FROM first_aspect",
            "INSERT INTO edge SELECT replace(source, ?1, ?2), aspect, relationship, \
             replace(destination, ?1, ?2) FROM first_edge",
            "INSERT INTO change_log (urn, aspect, kind, logical_version, time_ms, actor) \
             SELECT replace(urn, ?1, ?2), aspect, kind, logical_version, time_ms, actor FROM first_change",
        ] {
            let rows = connection.prepare_cached(sql)?.execute((&old, &new))?;
            ensure!(rows > 0, "the small store has no rows to copy");
        }
    }
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    Ok(())
}
