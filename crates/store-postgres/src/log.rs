//! The change log: reading it in commit order, whoever commits when.
//!
//! A transaction writes its changes under a number of its own and notes the number in `change_pending`. Numbers are no
//! order: a transaction may commit long after one with a higher number, and whoever had read up to that one would never
//! see it. So positions are given afterwards: who wants to read the log first gives the pending transactions the next
//! positions, under a lock ([`give_positions`]). What is pending can be seen, so it is committed; what is committed later
//! gets later positions.
//!
//! The losing options. Readers that stop before the oldest running transaction (`xmin`) need no second table, but are
//! blind for as long as anybody's long transaction runs, and a write must be found as soon as it is acknowledged. A lock
//! that writers hold from taking a number until the end of the commit makes numbers an order, but then one commit after
//! the other waits for the disk. The price of what we do is one small row per transaction, written and removed.
//!
//! Removed rows stay in the indexes while anybody's snapshot is older, an hour's backup for one, and looking whether anything
//! is pending must not walk over all of them. So each session remembers the oldest transaction of the database that was
//! not over when nothing was pending ([`STATE`]): nothing of older ones will ever be. A session ends with the server it is
//! on, so what it remembers is never of another one's transactions.

use docent_store::{AspectKey, Change, ChangeKind, LogPosition, LogicalVersion, StoreError};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease, Step};
use crate::serving::of_schema;
use crate::values::{as_limit, aspect_name, urn_at};

const TABLE: &str = "change_log";

/// What may be pending was left by this transaction of the database or later ones.
macro_rules! unsettled {
    () => {
        "writer >= coalesce(nullif(current_setting('docent.settled', true), ''), '0')::xid8"
    };
}

/// Whether anything waits for a position, and the newest position.
pub(crate) const STATE: &str = concat!(
    "SELECT p.pending, coalesce(\
     (SELECT first_position + changes - 1 FROM change_commit ORDER BY first_position DESC LIMIT 1), 0), \
     CASE WHEN NOT p.pending THEN \
         set_config('docent.settled', pg_snapshot_xmin(pg_current_snapshot())::text, false) END \
     FROM (SELECT EXISTS (SELECT 1 FROM change_pending WHERE ",
    unsettled!(),
    ") AS pending OFFSET 0) AS p"
);

/// Who holds this lock gives positions.
const LOCK: &str = concat!(
    "SELECT pg_advisory_xact_lock(hashtext('docent_change_log'), ",
    of_schema!(),
    ")"
);

/// In the order of the numbers: a transaction that builds on another takes its number after the other's commit.
pub(crate) const GIVE_POSITIONS: &str = concat!(
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

/// Begins with the transaction that the position behind `$1` belongs to.
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

/// What is behind the second colon of a URN is its type.
pub(crate) const TYPES: &str = "SELECT DISTINCT split_part(l.urn, ':', 3) FROM unnest($1::bigint[]) AS k (transaction) \
     CROSS JOIN LATERAL (SELECT l.urn FROM change_log l WHERE l.transaction = k.transaction OFFSET 0) AS l";

/// Gives positions to all that is committed; says which the newest is.
pub(crate) async fn bring_up(connections: &Connections) -> Result<LogPosition, EngineError> {
    let (pending, newest) = state(&connections.query(STATE, &[]).await?)?;
    if !pending {
        return Ok(newest);
    }
    let lease = connections.lease().await?;
    give_positions(&lease).await?;
    Ok(state(&lease.query(STATE, &[]).await?)?.1)
}

async fn give_positions(lease: &Lease) -> Result<(), EngineError> {
    lease.soil();
    let steps = ["BEGIN", LOCK, GIVE_POSITIONS, "COMMIT"].map(Step::plain);
    let given = lease.pipeline(&steps).await;
    if given.is_err() {
        // What it did not do, the next one does.
        lease.execute("ROLLBACK").await?;
    }
    lease.clean();
    given.map(drop)
}

fn state(rows: &[Row]) -> Result<(bool, LogPosition), EngineError> {
    match rows.first() {
        Some(row) => Ok((row.try_get(0)?, LogPosition::new(row.try_get(1)?))),
        None => Ok((false, LogPosition::START)),
    }
}

/// A transaction in the log.
pub(crate) struct Logged {
    pub(crate) number: i64,
    pub(crate) changes: i32,
}

/// The transactions behind a position.
pub(crate) async fn transactions(
    connections: &Connections,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<Logged>, EngineError> {
    let rows = connections
        .query(TRANSACTIONS, &[&after.get(), &as_limit(limit)])
        .await?;
    let logged = |row: &Row| {
        Ok(Logged {
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

/// Changes behind a position. Aspects that the registry does not know are passed over without counting, so that an empty
/// answer always means the end of the log.
pub(crate) async fn changes(
    connections: &Connections,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<Change>, EngineError> {
    bring_up(connections).await?;
    let (mut changes, mut after) = (Vec::new(), after.get());
    while changes.len() < limit {
        let wanted = limit - changes.len();
        let rows = connections
            .query(CHANGES, &[&after, &as_limit(wanted)])
            .await?;
        for row in &rows {
            after = row.try_get(1)?;
            changes.extend(change_at(row)?);
        }
        if rows.len() < wanted {
            break;
        }
    }
    Ok(changes)
}

pub(crate) async fn newest(connections: &Connections) -> Result<Option<Change>, EngineError> {
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
        start += rows.len() as i64;
    }
}

/// `None` if the registry does not know the aspect.
fn change_at(row: &Row) -> Result<Option<Change>, EngineError> {
    let position: i64 = row.try_get(1)?;
    let Some(aspect) = aspect_name(row, 0)? else {
        return Ok(None);
    };
    let kind = match row.try_get(3)? {
        "put" => ChangeKind::Put,
        "delete" => ChangeKind::Delete,
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
    Ok(Some(Change {
        position: LogPosition::new(position),
        key: AspectKey { urn, aspect },
        kind,
        logical_version: (kind == ChangeKind::Put)
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

    /// How many pages a statement looks at.
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

    /// Asks until the session remembers that everything before is settled: other tests may have transactions open on the
    /// same server, and before the oldest of them nothing is.
    async fn remember_all(lease: &Lease) {
        let end = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint";
        let end: i64 = lease.query(end, &[]).await.unwrap()[0].get(0);
        let settled = "SELECT current_setting('docent.settled')::bigint >= $1";
        let asking = async {
            loop {
                lease.query(STATE, &[]).await.unwrap();
                if lease.query(settled, &[&end]).await.unwrap()[0].get(0) {
                    return;
                }
            }
        };
        let most = std::time::Duration::from_mins(1);
        tokio::time::timeout(most, asking).await.unwrap();
    }

    fn leave_pending(database: &Database, first: u64, last: u64) {
        let leave = format!(
            "INSERT INTO change_pending (transaction, changes) SELECT number, 1 FROM generate_series({first}, {last}) number"
        );
        database.sql(&leave).unwrap();
    }

    #[tokio::test]
    async fn what_is_pending_is_found_as_fast_beside_a_long_backup() {
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
        leave_pending(&database, 1, 20_000);
        let lease = connections.lease().await.unwrap();
        give_positions(&lease).await.unwrap();
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(20_000)));
        remember_all(&lease).await;
        let looked = pages(&lease, STATE).await;
        assert!(looked < 100, "{looked} pages for nothing");
        // What is new is found, whatever was removed.
        leave_pending(&database, 20_001, 20_001);
        assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
        let looked = pages(&lease, GIVE_POSITIONS).await;
        assert!(looked < 200, "{looked} pages for one position");
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(20_001)));
    }

    /// A transaction that began before others ended, and ends when those have their positions.
    #[tokio::test]
    async fn a_late_commit_is_found_by_a_session_that_has_seen_nothing_pending() {
        let database = postgres_database().unwrap();
        let settings = Settings::parse(database.url()).unwrap();
        let connections = Connections::new(&settings).unwrap();
        let late = connections.lease().await.unwrap();
        late.soil();
        late.execute("BEGIN; INSERT INTO change_pending (transaction, changes) VALUES (1, 1)")
            .await
            .unwrap();
        let lease = connections.lease().await.unwrap();
        for number in 2..5 {
            leave_pending(&database, number, number);
            assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
            give_positions(&lease).await.unwrap();
            let (pending, newest) = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
            assert!(!pending);
            assert_eq!(newest.get(), i64::try_from(number).unwrap() - 1);
        }
        late.commit().await.unwrap();
        assert!(state(&lease.query(STATE, &[]).await.unwrap()).unwrap().0);
        give_positions(&lease).await.unwrap();
        let newest = state(&lease.query(STATE, &[]).await.unwrap()).unwrap();
        assert_eq!(newest, (false, LogPosition::new(4)));
    }
}
