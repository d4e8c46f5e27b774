//! Recomputes derived rows, page by page, while servers keep running.
//!
//! Each page is a transaction that locks its aspects, so that no writer changes one between the
//! read and the repair.

use std::time::Duration;

use docent_model::{Registry, Urn};
use docent_store::audit::expected_rows;
use docent_store::{AspectKey, RebuildReport};

use crate::derived::{Expected, TABLES, differ};
use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::segment::DerivedRows;
use crate::values::{as_limit, count_at};

/// Aspects per transaction.
const PAGE: i64 = 1000;
/// Retries of a page that conflicts with writers. The pause grows with each.
const MAX_RETRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

const TOTAL: &str = "SELECT count(*) FROM metadata_aspect_v2 WHERE version = 0";

const ROWS: &str = "SELECT urn, aspect, metadata FROM metadata_aspect_v2 \
     WHERE (urn, aspect) > ($1, $2) AND version = 0 ORDER BY urn, aspect LIMIT $3 FOR NO KEY UPDATE";

pub(crate) async fn rebuild(
    connections: &Connections,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<RebuildReport, EngineError> {
    let mut lease = connections.lease().await?;
    let mut report = RebuildReport::default();
    lease.begin_long("READ ONLY").await?;
    let total = match lease.query(TOTAL, &[]).await?.first() {
        Some(row) => count_at(row, 0)?,
        None => 0,
    };
    lease.commit().await?;
    progress(0, total);
    let (mut after, mut retries) = (Some((String::new(), String::new())), 0);
    while let Some(last) = &after {
        lease.begin_long("").await?;
        let repaired = repair_page(&lease, last, report).await;
        if let Some(repaired) = commit(&lease, repaired, &mut retries).await? {
            (after, report) = repaired;
            // Servers may add aspects meanwhile.
            progress(report.aspects.min(total), total);
        }
    }
    for table in TABLES {
        let deleted = loop {
            lease.begin_long("").await?;
            let deleted = lease.client()?.execute(table.delete_orphans, &[]).await;
            let deleted = deleted.map_err(EngineError::from);
            if let Some(deleted) = commit(&lease, deleted, &mut retries).await? {
                break deleted;
            }
        };
        report.orphans += deleted;
    }
    progress(total, total);
    Ok(report)
}

/// Commits, or returns `None` after a conflict with a writer: then the page is to be repeated.
async fn commit<T>(
    lease: &Lease,
    done: Result<T, EngineError>,
    retries: &mut u32,
) -> Result<Option<T>, EngineError> {
    let committed = match done {
        Ok(done) => lease.commit().await.map(|()| done),
        Err(error) => Err(error),
    };
    match committed {
        Err(EngineError::Conflict) if *retries < MAX_RETRIES => {
            lease.execute("ROLLBACK").await?;
            lease.mark_idle();
            *retries += 1;
            tokio::time::sleep(PAUSE * *retries).await;
            Ok(None)
        }
        committed => {
            *retries = 0;
            committed.map(Some)
        }
    }
}

/// Returns the start of the next page, if there may be one, and the updated report.
async fn repair_page(
    lease: &Lease,
    after: &(String, String),
    mut report: RebuildReport,
) -> Result<(Option<(String, String)>, RebuildReport), EngineError> {
    let rows = lease.query(ROWS, &[&after.0, &after.1, &PAGE]).await?;
    let Some(last) = rows.last() else {
        return Ok((None, report));
    };
    let next = (last.try_get(0)?, last.try_get(1)?);
    let mut known = Vec::with_capacity(rows.len());
    for row in &rows {
        let (urn, aspect): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        report.aspects += 1;
        let Some(derived) = expected_rows(urn, aspect, row.try_get(2)?) else {
            report.unreadable += 1;
            continue;
        };
        known.push(Expected {
            urn: urn.to_owned(),
            aspect: aspect.to_owned(),
            derived,
        });
    }
    let differ = differ(lease, &known).await?;
    let mut repaired = DerivedRows::default();
    for (it, _) in known.iter().zip(differ).filter(|(_, differs)| *differs) {
        // Aspects missing from the registry have no derived rows.
        if let (Some(aspect), Ok(urn)) = (
            Registry::get().stored_aspect(&it.aspect),
            Urn::parse(&it.urn),
        ) {
            repaired.push(&AspectKey { urn, aspect }, &it.derived, false);
            report.repaired += 1;
        }
    }
    let mut steps = Vec::new();
    repaired.steps(&mut steps);
    lease.pipeline(&steps).await?;
    Ok(((as_limit(rows.len()) == PAGE).then_some(next), report))
}
