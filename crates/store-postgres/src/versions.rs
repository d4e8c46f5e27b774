//! Statements that read versions of aspects by their numbers, and histories.

use docent_store::version::logical_version_of;
use docent_store::{AspectKey, RowVersion, StoredAspect, VersionKey};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::Connections;
use crate::read::{columns, index_at, key_arrays};
use crate::values::stored_aspect;

pub(crate) const VERSION: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = $3"
);

/// The row of each version, or else the latest, until those before have `$4` bytes.
pub(crate) const VERSIONS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM (SELECT ",
    columns!(),
    ", k.ordinal, sum(octet_length(a.metadata) + coalesce(octet_length(a.systemmetadata), 0)) \
     OVER (ORDER BY k.ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before \
     FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS k (urn, aspect, version, ordinal) \
     LEFT JOIN LATERAL (SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = k.urn AND a.aspect = k.aspect \
     AND a.version IN (k.version, 0) ORDER BY a.version DESC LIMIT 1) AS a ON true) AS a \
     WHERE coalesce(a.before, 0) < $4::bigint ORDER BY a.ordinal"
);

pub(crate) const HISTORY: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version > 0 ORDER BY a.version DESC"
);

/// The oldest first, and the latest, which is 0, last.
pub(crate) const HISTORIES: &str = concat!(
    "SELECT k.ordinal, ",
    columns!(),
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
     CROSS JOIN LATERAL (SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = k.urn AND a.aspect = k.aspect OFFSET 0) AS a \
     ORDER BY k.ordinal, a.version = 0, a.version"
);

pub(crate) async fn version(
    connections: &Connections,
    key: &AspectKey,
    version: RowVersion,
) -> Result<Option<StoredAspect>, EngineError> {
    let rows = connections
        .query(
            VERSION,
            &[&key.urn.as_str(), &key.aspect.as_str(), &version.get()],
        )
        .await?;
    rows.first().map(|row| stored_aspect(row, 0)).transpose()
}

/// Versions by their logical numbers, until they have so many bytes.
pub(crate) async fn logical_versions(
    connections: &Connections,
    keys: &[VersionKey],
    max_bytes: u64,
) -> Result<Vec<Option<StoredAspect>>, EngineError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let (urns, aspects) = key_arrays(keys.iter().map(|key| &key.key));
    let versions: Vec<i64> = keys.iter().map(|key| key.version.get()).collect();
    let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
    let rows = connections
        .query(VERSIONS, &[&urns, &aspects, &versions, &max_bytes])
        .await?;
    let row_of = |(row, key): (&Row, &VersionKey)| {
        if row.try_get::<_, Option<i64>>(0)?.is_none() {
            return Ok(None);
        }
        let row = stored_aspect(row, 0)?;
        let is_requested = row.version.is_history() || logical_version_of(&row) == key.version;
        Ok(is_requested.then_some(row))
    };
    rows.iter().zip(keys).map(row_of).collect()
}

/// All versions of aspects, oldest first.
pub(crate) async fn histories(
    connections: &Connections,
    keys: &[AspectKey],
) -> Result<Vec<Vec<StoredAspect>>, EngineError> {
    let mut histories = vec![Vec::new(); keys.len()];
    if keys.is_empty() {
        return Ok(histories);
    }
    let (urns, aspects) = key_arrays(keys.iter());
    for row in &connections.query(HISTORIES, &[&urns, &aspects]).await? {
        histories[index_at(row)?].push(stored_aspect(row, 1)?);
    }
    Ok(histories)
}
