//! Consistency checks between the tables (`docent_store::audit`), from one snapshot.
//!
//! Damage to database files is found by PostgreSQL's own tools (`pg_amcheck`, `pg_checksums`).

use docent_store::audit::{Audit, MAX_FINDINGS};
use docent_store::audit_log::wrong_items;
use docent_store::{AuditKey, RowVersion};

use crate::derived::{Expected, TABLES, differ};
use crate::error::EngineError;
use crate::pool::{Connections, Lease};

/// Rows per query.
const PAGE: i64 = 1000;

const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata FROM metadata_aspect_v2 \
     WHERE (urn, aspect, version) > ($1, $2, $3) ORDER BY urn, aspect, version LIMIT $4";

/// Transactions whose number of log entries is wrong.
const INCOMPLETE_LOG: &str = "SELECT c.transaction, c.changes, count(l.item) \
     FROM (SELECT transaction, changes FROM change_commit UNION ALL SELECT transaction, changes FROM change_pending) c \
     LEFT JOIN change_log l ON l.transaction = c.transaction \
     GROUP BY c.transaction, c.changes HAVING count(l.item) <> c.changes ORDER BY 1 LIMIT 100";

/// Events with missing items, and items without an event.
const WRONG_ITEMS: &str = "SELECT e.time_ms, e.id, e.entities, count(i.urn) \
     FROM audit_event e LEFT JOIN audit_item i ON i.time_ms = e.time_ms AND i.event = e.id \
     GROUP BY e.time_ms, e.id HAVING e.entities <> count(i.urn) \
     UNION ALL SELECT i.time_ms, i.event, 0, count(*) FROM audit_item i WHERE NOT EXISTS \
         (SELECT 1 FROM audit_event e WHERE e.time_ms = i.time_ms AND e.id = i.event) \
     GROUP BY i.time_ms, i.event LIMIT 100";

/// Returns one sentence per finding, at most a hundred.
pub(crate) async fn check(connections: &Connections) -> Result<Vec<String>, EngineError> {
    let mut lease = connections.lease().await?;
    lease
        .begin_long("ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let mut audit = Audit::default();
    rows(&lease, &mut audit).await?;
    for table in TABLES {
        for row in lease.query(table.find_orphans, &[]).await? {
            audit.orphan(table.name, row.try_get(0)?, row.try_get(1)?);
            if audit.is_full() {
                break;
            }
        }
    }
    let mut findings = audit.finish();
    for row in lease.query(INCOMPLETE_LOG, &[]).await? {
        let (transaction, changes, logged): (i64, i32, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        findings.push(format!(
            "transaction {transaction} of the change log has {logged} changes instead of {changes}"
        ));
    }
    for row in lease.query(WRONG_ITEMS, &[]).await? {
        let key = AuditKey {
            time_ms: row.try_get(0)?,
            id: row.try_get(1)?,
        };
        findings.push(wrong_items(key, row.try_get(2)?, row.try_get(3)?));
    }
    findings.truncate(MAX_FINDINGS);
    lease.commit().await?;
    Ok(findings)
}

async fn rows(lease: &Lease, audit: &mut Audit) -> Result<(), EngineError> {
    let mut after = (String::new(), String::new(), 0_i64);
    while !audit.is_full() {
        let rows = lease
            .query(ROWS, &[&after.0, &after.1, &after.2, &PAGE])
            .await?;
        let Some(last) = rows.last() else { break };
        after = (last.try_get(0)?, last.try_get(1)?, last.try_get(2)?);
        let mut expected = Vec::new();
        for row in &rows {
            let (urn, aspect): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
            let derived = audit.row(
                urn,
                aspect,
                RowVersion::new(row.try_get(2)?),
                row.try_get(3)?,
                row.try_get(4)?,
            );
            if let Some(derived) = derived {
                expected.push(Expected {
                    urn: urn.to_owned(),
                    aspect: aspect.to_owned(),
                    derived,
                });
            }
        }
        let differ = differ(lease, &expected).await?;
        for (aspect, _) in expected.iter().zip(differ).filter(|(_, differs)| *differs) {
            audit.derived_differ(&aspect.urn, &aspect.aspect);
        }
    }
    Ok(())
}
