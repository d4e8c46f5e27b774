//! The change log as users browse it: by the numbers of transactions, because those that are not
//! committed yet need no position.

use docent_model::EpochMillis;
use docent_store::{BrowsedEntry, LogKey};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::log::change_at;
use crate::pool::Connections;
use crate::values::{as_limit, count_at};

/// The condition of the indexes that [`docent_store::change_log::is_internal`] describes, as in the
/// migration.
macro_rules! internal {
    () => {
        "(urn >= 'urn:li:dataHub' AND urn < 'urn:li:dataHuc' \
          OR urn >= 'urn:li:docent' AND urn < 'urn:li:docenu' \
          OR urn >= 'urn:li:globalSettings:' AND urn < 'urn:li:globalSettings;' \
          OR urn >= 'urn:li:inviteToken:' AND urn < 'urn:li:inviteToken;' \
          OR urn >= 'urn:li:post:' AND urn < 'urn:li:post;' \
          OR urn >= 'urn:li:telemetry:' AND urn < 'urn:li:telemetry;' \
          OR aspect IN ('corpUserCredentials', 'corpUserSettings', 'corpUserStatus'))"
    };
}

/// The condition of the index of edits.
macro_rules! edits {
    () => {
        concat!(
            "run IS NULL AND actor <> 'urn:li:corpuser:__datahub_system' AND NOT ",
            internal!()
        )
    };
}

/// The second column is the position in the log, which is not read here.
macro_rules! before {
    ($condition:expr) => {
        concat!(
            "SELECT aspect, 0::bigint, urn, kind, logical_version, time_ms, actor, run, transaction, item \
             FROM change_log WHERE (transaction, item) < ($1::bigint, $2::bigint) AND ",
            $condition,
            " ORDER BY transaction DESC, item DESC LIMIT $3"
        )
    };
}

pub(crate) const ALL: &str = before!("true");

pub(crate) const EDITS: &str = before!(edits!());

pub(crate) const INTERNAL: &str = concat!(
    "SELECT count(*) FROM change_log WHERE time_ms >= $1 AND time_ms < $2 AND ",
    internal!()
);

/// Entries before one. Skips aspects that the registry does not know without counting them.
pub(crate) async fn entries(
    connections: &Connections,
    mut before: LogKey,
    edits_only: bool,
    limit: usize,
) -> Result<Vec<BrowsedEntry>, EngineError> {
    let sql = if edits_only { EDITS } else { ALL };
    let mut entries = Vec::new();
    while entries.len() < limit {
        let remaining = limit - entries.len();
        let rows = connections
            .query(
                sql,
                &[&before.transaction, &before.item, &as_limit(remaining)],
            )
            .await?;
        for row in &rows {
            before = key_at(row)?;
            entries.extend(browsed_at(row, before)?);
        }
        if rows.len() < remaining {
            break;
        }
    }
    Ok(entries)
}

fn key_at(row: &Row) -> Result<LogKey, EngineError> {
    Ok(LogKey {
        transaction: row.try_get(8)?,
        item: row.try_get::<_, i32>(9)?.into(),
    })
}

fn browsed_at(row: &Row, position: LogKey) -> Result<Option<BrowsedEntry>, EngineError> {
    let Some(entry) = change_at(row)? else {
        return Ok(None);
    };
    Ok(Some(BrowsedEntry {
        position,
        key: entry.key,
        kind: entry.kind,
        time_ms: entry.time_ms,
        actor: entry.actor,
        run: row.try_get(7)?,
    }))
}

pub(crate) async fn count_internal(
    connections: &Connections,
    from_ms: EpochMillis,
    until_ms: EpochMillis,
) -> Result<u64, EngineError> {
    let rows = connections.query(INTERNAL, &[&from_ms, &until_ms]).await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}
