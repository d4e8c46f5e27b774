//! Makes a store of the benchmark's datasets larger without the server: the rows that the server
//! wrote for the first block of datasets are copied for later ones, under other names.

use std::ops::Range;

use anyhow::{Result, ensure};

use crate::bench::Store;
use crate::data::{self, BLOCK, dataset_urn};
use crate::report::Report;

/// Adds datasets to a store that has all of the first block and none of these. Nothing is synced:
/// the store need not survive a crash.
pub(crate) fn grow(store: &Store, datasets: Range<usize>, report: &mut Report) -> Result<()> {
    let connection = super::open_writer(&store.path)?;
    super::check_tables(&connection)?;
    let (first, end) = (dataset_urn(0), dataset_urn(BLOCK));
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = DELETE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -262144;
         CREATE TEMP TABLE first_aspect AS SELECT * FROM metadata_aspect_v2
             WHERE urn >= '{first}' AND urn < '{end}' ORDER BY urn, aspect, version;
         CREATE TEMP TABLE first_edge AS SELECT * FROM edge WHERE source >= '{first}' AND source < '{end}'
             ORDER BY source, aspect, relationship, destination;
         CREATE TEMP TABLE first_change AS SELECT * FROM change_log
             WHERE urn >= '{first}' AND urn < '{end}' ORDER BY position;",
    ))?;
    let name = |block| format!("{}{}", data::NAME_STEM, data::block_digits(block));
    let old = name(0);
    for block in datasets.start / BLOCK..datasets.end.div_ceil(BLOCK) {
        report.progress(&format!("{} datasets: block {block}", datasets.end));
        let new = name(block);
        let within = |number: usize| number.saturating_sub(block * BLOCK).min(BLOCK);
        let (from, to) = (
            dataset_urn(within(datasets.start)),
            dataset_urn(within(datasets.end)),
        );
        for sql in [
            "INSERT INTO metadata_aspect_v2 SELECT replace(urn, ?1, ?2), aspect, version, \
             replace(metadata, ?1, ?2), systemmetadata, createdon, createdby, createdfor FROM first_aspect \
             WHERE urn >= ?3 AND urn < ?4",
            "INSERT INTO edge SELECT replace(source, ?1, ?2), aspect, relationship, \
             replace(destination, ?1, ?2) FROM first_edge WHERE source >= ?3 AND source < ?4",
            "INSERT INTO change_log (urn, aspect, kind, logical_version, time_ms, actor) \
             SELECT replace(urn, ?1, ?2), aspect, kind, logical_version, time_ms, actor FROM first_change \
             WHERE urn >= ?3 AND urn < ?4",
        ] {
            let rows = connection
                .prepare_cached(sql)?
                .execute((&old, &new, &from, &to))?;
            ensure!(rows > 0, "the store has no rows to copy");
        }
    }
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    Ok(())
}
