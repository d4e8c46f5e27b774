//! The change log, read in commit order.
//!
//! A transaction writes its changes under a number from a sequence and adds the number to
//! `change_pending`. These numbers are not in commit order: a transaction may commit long after one
//! with a higher number, and a reader past that number would miss it. So log positions are assigned
//! after the commit: a reader first assigns the next positions to all pending transactions, under a
//! lock ([`assign_positions`]). A visible pending row is committed; later commits get later
//! positions.
//!
//! Rejected alternatives: readers that stop at the oldest running transaction (`xmin`) need no
//! second table, but one long transaction hides all later commits, and a write must be visible once
//! acknowledged. A lock from taking the number until the end of the commit makes the numbers an
//! order, but serializes the disk flush of all commits. The cost of this design is one small row
//! per transaction, inserted and deleted.
//!
//! Deleted rows stay in the index while an older snapshot exists, for example that of a backup, and
//! the query for pending rows must not scan them all. So each session remembers the oldest running
//! transaction at the time nothing was pending ([`STATE`]) and ignores everything older. The value
//! lives in the session, so it never outlives a failover.

use docent_store::{AspectKey, LogEntry, LogEntryKind, LogPosition, LogicalVersion, StoreError};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease, Step};
use crate::serving::of_schema;
use crate::values::{as_limit, aspect_name, urn_at};

const TABLE: &str = "change_log";

/// Only transactions from the remembered one on can be pending.
macro_rules! unsettled {
    () => {
        "writer >= coalesce(nullif(current_setting('docent.settled', true), ''), '0')::xid8"
    };
}

/// Whether any transaction lacks a position, and the newest position.
pub(crate) const STATE: &str = concat!(
    "SELECT p.pending, coalesce(\
     (SELECT first_position + changes - 1 FROM change_commit ORDER BY first_position DESC LIMIT 1), 0), \
     CASE WHEN NOT p.pending THEN \
         set_config('docent.settled', pg_snapshot_xmin(pg_current_snapshot())::text, false) END \
     FROM (SELECT EXISTS (SELECT 1 FROM change_pending WHERE ",
    unsettled!(),
    ") AS pending OFFSET 0) AS p"
);

/// Serializes the assignment of positions.
const LOCK: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtext('docent_change_log'), ",
    of_schema!(),
    ")"
);

/// Assigns positions in the order of the numbers: a transaction that depends on another takes its
/// number after the other's commit.
pub(crate) const ASSIGN_POSITIONS: &str = concat!(
    "WITH taken AS ( DELETE FROM change_pending WHERE ",
    unsettled!(),
    " RETURNING transaction, changes \
     ), last AS ( \
         SELECT coalesce((SELECT first_position + changes FROM change_commit \
             ORDER BY first_position DESC LIMIT 1), 1) AS next \
     ) INSERT INTO change_commit (first_position, transaction, changes) \
     SELECT last.next + sum(taken.changes) OVER (ORDER BY taken.transaction) - taken.changes, \
         taken.transaction, taken.changes \
     FROM taken CROSS JOIN last"
);

/// Starts at the transaction that contains position `$1 + 1`.
pub(crate) const CHANGES: &str = "SELECT l.aspect, c.first_position + l.item, l.urn, l.kind, l.logical_version, \
         l.time_ms, l.actor \
     FROM change_commit c JOIN change_log l ON l.transaction = c.transaction \
     WHERE c.first_position >= coalesce(\
         (SELECT max(first_position) FROM change_commit WHERE first_position <= $1::bigint + 1), 0) \
         AND c.first_position + l.item > $1 \
     ORDER BY c.first_position, l.item LIMIT $2";

pub(crate) const NEWEST: &str = "SELECT l.aspect, c.first_position + l.item, l.urn, l.kind, l.logical_version, \
         l.time_ms, l.actor \
     FROM change_commit c JOIN change_log l ON l.transaction = c.transaction \
     ORDER BY c.first_position DESC, l.item DESC LIMIT $1 OFFSET $2";

pub(crate) const TRANSACTIONS: &str = "SELECT first_position + changes - 1, transaction, changes FROM change_commit \
     WHERE first_position > $1 ORDER BY first_position LIMIT $2";

/// The third part of a URN is its entity type.
pub(crate) const TYPES: &str = "SELECT DISTINCT split_part(l.urn, ':', 3) FROM unnest($1::bigint[]) AS k (transaction) \
     CROSS JOIN LATERAL (SELECT l.urn FROM change_log l WHERE l.transaction = k.transaction OFFSET 0) AS l";

/// Assigns positions to all committed transactions and returns the newest.
pub(crate) async fn bring_up(connections: &Connections) -> Result<LogPosition, EngineError> {
    let (pending, newest) = state(&connections.query(STATE, &[]).await?)?;
    if !pending {
        return Ok(newest);
    }
    let lease = connections.lease().await?;
    assign_positions(&lease).await?;
    Ok(state(&lease.query(STATE, &[]).await?)?.1)
}

async fn assign_positions(lease: &Lease) -> Result<(), EngineError> {
    lease.mark_in_transaction();
    let steps = ["BEGIN", LOCK, ASSIGN_POSITIONS, "COMMIT"].map(Step::plain);
    let assigned = lease.pipeline(&steps).await;
    if assigned.is_err() {
        // The next reader assigns what is still pending.
        lease.execute("ROLLBACK").await?;
    }
    lease.mark_idle();
    assigned.map(drop)
}

fn state(rows: &[Row]) -> Result<(bool, LogPosition), EngineError> {
    match rows.first() {
        Some(row) => Ok((row.try_get(0)?, LogPosition::new(row.try_get(1)?))),
        None => Ok((false, LogPosition::START)),
    }
}

/// A transaction in the log.
pub(crate) struct LoggedTransaction {
    pub(crate) number: i64,
    pub(crate) changes: i32,
}

/// The transactions after a position.
pub(crate) async fn transactions(
    connections: &Connections,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<LoggedTransaction>, EngineError> {
    let rows = connections
        .query(TRANSACTIONS, &[&after.get(), &as_limit(limit)])
        .await?;
    let logged = |row: &Row| {
        Ok(LoggedTransaction {
            number: row.try_get(1)?,
            changes: row.try_get(2)?,
        })
    };
    rows.iter().map(logged).collect()
}

/// The types of the entities that transactions changed.
pub(crate) async fn types(
    connections: &Connections,
    transactions: &[i64],
) -> Result<Vec<String>, EngineError> {
    let rows = connections.query(TYPES, &[&transactions]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}

/// Changes after a position. Aspects missing from the registry are skipped and do not count towards
/// `limit`, so an empty result always means the end of the log.
pub(crate) async fn changes(
    connections: &Connections,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<LogEntry>, EngineError> {
    bring_up(connections).await?;
    let (mut changes, mut after) = (Vec::new(), after.get());
    while changes.len() < limit {
        let remaining = limit - changes.len();
        let rows = connections
            .query(CHANGES, &[&after, &as_limit(remaining)])
            .await?;
        for row in &rows {
            after = row.try_get(1)?;
            changes.extend(change_at(row)?);
        }
        if rows.len() < remaining {
            break;
        }
    }
    Ok(changes)
}

pub(crate) async fn newest(connections: &Connections) -> Result<Option<LogEntry>, EngineError> {
    bring_up(connections).await?;
    let mut start = 0_i64;
    loop {
        let rows = connections.query(NEWEST, &[&100_i64, &start]).await?;
        for row in &rows {
            if let Some(change) = change_at(row)? {
                return Ok(Some(change));
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        start += as_limit(rows.len());
    }
}

/// `None` if the aspect is not in the registry.
pub(crate) fn change_at(row: &Row) -> Result<Option<LogEntry>, EngineError> {
    let position: i64 = row.try_get(1)?;
    let Some(aspect) = aspect_name(row, 0)? else {
        return Ok(None);
    };
    let kind = match row.try_get(3)? {
        "put" => LogEntryKind::Put,
        "delete" => LogEntryKind::Delete,
        other => {
            return Err(EngineError::Store(StoreError::Corrupt {
                table: TABLE,
                column: "kind",
                key: position.to_string(),
                reason: format!("'{other}'"),
            }));
        }
    };
    let urn = urn_at(row, 2, TABLE)?;
    Ok(Some(LogEntry {
        position: LogPosition::new(position),
        key: AspectKey { urn, aspect },
        kind,
        logical_version: (kind == LogEntryKind::Put)
            .then(|| row.try_get(4).map(LogicalVersion::new))
            .transpose()?,
        time_ms: row.try_get(5)?,
        actor: row.try_get(6)?,
    }))
}

#[cfg(test)]
mod tests {
    use docent_test_postgres::Database;
    use docent_test_store::postgres_database;

    use super::*;
    use crate::settings::Settings;

    /// The number of pages that a statement reads.
    async fn pages(lease: &Lease, sql: &str) -> u64 {
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {sql}");
        let plan = lease.query(&explain, &[]).await.unwrap();
        let line = plan.iter().map(|row| row.get::<_, String>(0));
        let line = line
            .skip_while(|line| line.starts_with("Planning"))
            .find(|line| line.contains("Buffers:"));
        let line = line.unwrap();
        let counts = line
            .split(['=', ' '])
            .filter_map(|it| it.parse::<u64>().ok());
        counts.sum()
    }

    /// Repeats the query until the session remembers the current transaction: open transactions of
    /// other tests on the same server hold it back.
    async fn settle(lease: &Lease) {
        let end = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
        let end: i64 = lease.query(end, &[]).await.unwrap()[0].get(0);
        let settled = "SELECT current_setting('docent.settled')::bigint >= $1";
        let polling = async {
            loop {
                lease.query(STATE, &[]).await.unwrap();
                if lease.query(settled, &[&end]).await.unwrap()[0].get(0) {
                    return;
                }
            }
        };
        let most = std::time::Duration::from_mins(1);
        tokio::time::timeout(most, polling).await.unwrap();
    }

    fn insert_pending(database: &Database, first: u64, last: u64) {
        let insert = format!(
            "INSERT INTO change_pending (transaction, changes) SELECT number, 1 FROM generate_series({first}, {last}) number"
        );
        database.sql(&insert).unwrap();
    }

    #[tokio::test]
    async fn a_long_backup_does_not_slow_down_the_search_for_pending_rows() {
        let database = postgres_database().unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        let connections = Connections::new(&settings).unwrap();
        let mut backup = connections.lease().await.unwrap();
        backup
            .begin_long("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .unwrap();
        backup
            .query("SELECT count(*) FROM change_pending", &[])
            .await
            .unwrap();
        insert_pending(&database, 1, 20_000);
        let lease = connections.lease().await.unwrap();
        assign_positions(&lease).await.unwrap();
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(20_000)));
        settle(&lease).await;
        let read = pages(&lease, STATE).await;
        assert!(read < 100, "{read} pages read although nothing is pending");
        insert_pending(&database, 20_001, 20_001);
        assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
        let read = pages(&lease, ASSIGN_POSITIONS).await;
        assert!(read < 200, "{read} pages read for one position");
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(20_001)));
    }

    /// The late transaction begins before others commit, and commits after those have their
    /// positions.
    #[tokio::test]
    async fn a_late_commit_is_found_by_a_session_that_has_seen_nothing_pending() {
        let database = postgres_database().unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        let connections = Connections::new(&settings).unwrap();
        let late = connections.lease().await.unwrap();
        late.mark_in_transaction();
        late.execute("BEGIN; INSERT INTO change_pending (transaction, changes) VALUES (1, 1)")
            .await
            .unwrap();
        let lease = connections.lease().await.unwrap();
        for number in 2..5 {
            insert_pending(&database, number, number);
            assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
            assign_positions(&lease).await.unwrap();
            let (pending, newest) = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
            assert!(!pending);
            assert_eq!(newest.get(), i64::try_from(number).unwrap() - 1);
        }
        late.commit().await.unwrap();
        assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
        assign_positions(&lease).await.unwrap();
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(4)));
    }
}
