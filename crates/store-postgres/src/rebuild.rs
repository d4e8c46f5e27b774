//! Recomputing what is derived, page by page, while servers go on.
//!
//! Each page is a transaction that locks the aspects it looks at, so that nobody changes one between the look at it and
//! the mending of what follows from it.

use std::time::Duration;

use docent_model::{Registry, Urn};
use docent_store::audit::expected;
use docent_store::{AspectKey, RebuildReport};

use crate::derived::{Expected, TABLES, differ};
use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::segment::DerivedRows;
use crate::values::count_at;

/// How many aspects are looked at at once.
const PAGE: i64 = 1000;
/// How often a page is tried again in whose way writers are, and the first pause; the others are longer.
const MAX_ATTEMPTS: u32 = 10;
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
    let (mut after, mut attempts) = (Some((String::new(), String::new())), 0);
    while let Some(last) = &after {
        lease.begin_long("").await?;
        let mended = mend_page(&lease, last, report).await;
        if let Some(mended) = keep(&lease, mended, &mut attempts).await? {
            (after, report) = mended;
            // Others may write while we read.
            progress(report.aspects.min(total), total);
        }
    }
    for table in TABLES {
        let deleted = loop {
            lease.begin_long("").await?;
            let deleted = lease.client()?.execute(table.delete_orphans, &[]).await;
            let deleted = deleted.map_err(EngineError::from);
            if let Some(deleted) = keep(&lease, deleted, &mut attempts).await? {
                break deleted;
            }
        };
        report.orphans += deleted;
    }
    progress(total, total);
    Ok(report)
}

/// Commits what was done; `None` if a writer was in the way, and it is to be done again.
async fn keep<T>(
    lease: &Lease,
    done: Result<T, EngineError>,
    attempts: &mut u32,
) -> Result<Option<T>, EngineError> {
    let kept = match done {
        Ok(done) => lease.commit().await.map(|()| done),
        Err(error) => Err(error),
    };
    match kept {
        Err(EngineError::Conflict) if *attempts < MAX_ATTEMPTS => {
            lease.execute("ROLLBACK").await?;
            lease.clean();
            *attempts += 1;
            tokio::time::sleep(PAUSE * *attempts).await;
            Ok(None)
        }
        kept => {
            *attempts = 0;
            kept.map(Some)
        }
    }
}

/// Returns where the next page begins, if there may be one, and the report with what is in the page.
async fn mend_page(
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
        let Some(derived) = expected(urn, aspect, row.try_get(2)?) else {
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
    let mut mended = DerivedRows::default();
    for (it, _) in known.iter().zip(differ).filter(|(_, differs)| *differs) {
        // Nothing follows from an aspect that the registry does not know, and nothing is mended there.
        if let (Some(aspect), Ok(urn)) = (Registry::get().aspect(&it.aspect), Urn::parse(&it.urn)) {
            mended.push(&AspectKey { urn, aspect }, &it.derived, false);
            report.mended += 1;
        }
    }
    let mut steps = Vec::new();
    mended.steps(&mut steps);
    lease.pipeline(&steps).await?;
    Ok(((rows.len() as i64 == PAGE).then_some(next), report))
}
