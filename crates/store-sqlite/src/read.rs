//! The statements that read aspects and the log; `edges`, `placements`, `points` and `runs` have
//! the others.
//!
//! They take only a connection, so that readers and the writer's transactions share them.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::fields::urn_range;
use docent_store::version::{logical_version_in, logical_version_of};
use docent_store::{
    AspectKey, AspectRow, EntityAspects, EntityTexts, LogEntry, LogEntryKind, LogPosition,
    LogicalVersion, ReadReply, ReadRequest, RowVersion, StoreError, StoredAspect, VersionKey,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use crate::byte_limit::ByteLimit;
use crate::error::EngineError;

/// The aspect table, for messages about damaged rows.
pub(crate) const ASPECTS: &str = "metadata_aspect_v2";

/// The columns of [`stored_aspect`], followed by others. `?2` is the parameter of a [`ByteLimit`].
macro_rules! select_rows {
    ($others:literal, $which:literal) => {
        concat!(
            "SELECT version,\
             CASE WHEN octet_length(metadata)+ifnull(octet_length(systemmetadata),0)<=?2 \
             THEN metadata END,\
             CASE WHEN octet_length(systemmetadata)<=?2 THEN systemmetadata END,\
             createdon,createdby,createdfor",
            $others,
            " FROM metadata_aspect_v2 WHERE urn=?1 AND ",
            $which
        )
    };
}

/// The latest version of an aspect.
pub(crate) fn latest(
    connection: &Connection,
    key: &AspectKey,
) -> Result<Option<StoredAspect>, EngineError> {
    let mut limit = ByteLimit::unlimited();
    version(connection, key, RowVersion::LATEST, &mut limit)
}

/// The hot path of the whole server.
pub(crate) fn read(
    connection: &Connection,
    request: ReadRequest<'_>,
    limit: &mut ByteLimit,
) -> Result<ReadReply, EngineError> {
    let mut rows = Vec::with_capacity(request.rows.len());
    for key in request.rows {
        let row = version(connection, key, RowVersion::LATEST, limit)?;
        if limit.is_exceeded() {
            return Ok(ReadReply::default());
        }
        rows.push(row.map(Arc::new));
    }
    let mut entities = Vec::with_capacity(request.entities.len());
    for urn in request.entities {
        entities.push(entity(connection, urn, limit)?);
        if limit.is_exceeded() {
            return Ok(ReadReply::default());
        }
    }
    Ok(ReadReply {
        exists: exists(connection, request, &rows)?,
        entities,
        rows,
    })
}

/// Checks for existence. A found row proves that its entity exists.
fn exists(
    connection: &Connection,
    request: ReadRequest<'_>,
    rows: &[AspectRow],
) -> Result<Vec<bool>, EngineError> {
    if request.exists.is_empty() {
        return Ok(Vec::new());
    }
    let found: HashSet<&str> = request
        .rows
        .iter()
        .zip(rows)
        .filter(|(_, row)| row.is_some())
        .map(|(key, _)| key.urn.as_str())
        .collect();
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM metadata_aspect_v2 WHERE urn=?1 AND aspect=?2 AND version=0",
    )?;
    request
        .exists
        .iter()
        .map(|key| {
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            Ok(found.contains(urn) || statement.exists((urn, aspect))?)
        })
        .collect()
}

/// Whether the found rows prove the existence of every checked entity.
pub(crate) fn prove_existence(request: ReadRequest<'_>, rows: &[AspectRow]) -> bool {
    request.exists.iter().all(|check| {
        request
            .rows
            .iter()
            .zip(rows)
            .any(|(key, row)| row.is_some() && key.urn == check.urn)
    })
}

pub(crate) fn version(
    connection: &Connection,
    key: &AspectKey,
    version: RowVersion,
    limit: &mut ByteLimit,
) -> Result<Option<StoredAspect>, EngineError> {
    let mut statement = connection.prepare_cached(select_rows!("", "aspect=?3 AND version=?4"))?;
    let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
    let mut rows = statement.query((urn, limit.parameter(), aspect, version.get()))?;
    match rows.next()? {
        Some(row) => stored_aspect(row, urn, limit),
        None => Ok(None),
    }
}

/// Versions by their logical numbers, until they have so many bytes.
pub(crate) fn logical_versions(
    connection: &Connection,
    keys: &[VersionKey],
    max_bytes: u64,
) -> Result<Vec<Option<StoredAspect>>, EngineError> {
    let mut rows = Vec::with_capacity(keys.len());
    let mut bytes = 0_u64;
    for VersionKey {
        key,
        version: number,
    } in keys
    {
        if bytes >= max_bytes {
            break;
        }
        let row = version(
            connection,
            key,
            (*number).into(),
            &mut ByteLimit::unlimited(),
        )?;
        let row = match row {
            Some(row) => Some(row),
            // The latest version is not in the history.
            None => latest(connection, key)?.filter(|row| logical_version_of(row) == *number),
        };
        bytes += row.as_ref().map_or(0, StoredAspect::value_bytes);
        rows.push(row);
    }
    Ok(rows)
}

/// The history of an aspect, newest first, without the latest version.
pub(crate) fn history(
    connection: &Connection,
    key: &AspectKey,
) -> Result<Vec<StoredAspect>, EngineError> {
    let mut statement = connection.prepare_cached(select_rows!(
        "",
        "aspect=?3 AND version>0 ORDER BY version DESC"
    ))?;
    let mut limit = ByteLimit::unlimited();
    let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
    let mut rows = statement.query((urn, limit.parameter(), aspect))?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        versions.extend(stored_aspect(row, urn, &mut limit)?);
    }
    Ok(versions)
}

/// All versions of an aspect, oldest first.
pub(crate) fn versions(
    connection: &Connection,
    key: &AspectKey,
) -> Result<Vec<StoredAspect>, EngineError> {
    let mut versions = history(connection, key)?;
    versions.reverse();
    versions.extend(latest(connection, key)?);
    Ok(versions)
}

/// The version that was stored for an aspect when a rollback deleted it.
pub(crate) fn retired_version(
    connection: &Connection,
    key: &AspectKey,
) -> Result<Option<LogicalVersion>, EngineError> {
    let version = connection
        .prepare_cached("SELECT version FROM retired_version WHERE urn=?1 AND aspect=?2")?
        .query_row((key.urn.as_str(), key.aspect.as_str()), |row| row.get(0))
        .optional()?;
    Ok(version.map(LogicalVersion::new))
}

/// All latest aspects of an entity, by name, without those that the registry does not know.
fn entity(
    connection: &Connection,
    urn: &Urn,
    limit: &mut ByteLimit,
) -> Result<EntityAspects, EngineError> {
    let mut statement =
        connection.prepare_cached(select_rows!(",aspect", "version=0 ORDER BY aspect"))?;
    let mut rows = statement.query((urn.as_str(), limit.parameter()))?;
    let mut aspects = Vec::new();
    while !limit.is_exceeded()
        && let Some(row) = rows.next()?
    {
        if let Some(name) = aspect_name(row, 6, ASPECTS, urn.as_str())? {
            let row = stored_aspect(row, urn.as_str(), limit)?;
            aspects.extend(row.map(|row| (name, row)));
        }
    }
    Ok(aspects)
}

/// The latest aspects of many entities of a type, from one index range.
pub(crate) fn entity_range(
    connection: &Connection,
    entity_type: &str,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<EntityTexts>, EngineError> {
    let Some(spec) = Registry::get().stored_entity(entity_type) else {
        return Ok(Vec::new());
    };
    let has_key = |entity: &mut EntityTexts| {
        let mut names = entity.aspects.iter().map(|(name, _)| *name);
        names.any(|name| name == spec.key_aspect)
    };
    let (first, end) = urn_range(entity_type);
    let after = after.map_or(first.as_str(), Urn::as_str).max(&first);
    let mut statement = connection.prepare_cached(
        "SELECT urn,aspect,metadata FROM metadata_aspect_v2 \
         WHERE urn>?1 AND urn<?2 AND version=0 ORDER BY urn,aspect",
    )?;
    let mut rows = statement.query([after, &end])?;
    let mut entities: Vec<EntityTexts> = Vec::new();
    while let Some(row) = rows.next()? {
        let is_next = entities
            .last()
            .is_none_or(|last| row.get_ref(0) != Ok(ValueRef::Text(last.urn.as_str().as_bytes())));
        if is_next {
            entities.pop_if(|last| !has_key(last));
            if entities.len() == limit {
                break;
            }
            entities.push(EntityTexts {
                urn: urn_at(row, 0, ASPECTS, "urn")?,
                aspects: Vec::new(),
            });
        }
        if let Some(entity) = entities.last_mut()
            && let Some(name) = aspect_name(row, 1, ASPECTS, entity.urn.as_str())?
        {
            entity.aspects.push((name, row.get(2)?));
        }
    }
    entities.pop_if(|last| !has_key(last));
    Ok(entities)
}

pub(crate) fn urns(
    connection: &Connection,
    entity_type: &str,
    aspect: AspectName,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<Urn>, EngineError> {
    let (first, end) = urn_range(entity_type);
    let after = after.map_or(first.as_str(), Urn::as_str).max(&first);
    let mut statement = connection.prepare_cached(
        "SELECT urn FROM metadata_aspect_v2 \
         WHERE urn>?1 AND urn<?2 AND aspect=?3 AND version=0 ORDER BY urn LIMIT ?4",
    )?;
    let mut rows = statement.query(params![after, end, aspect.as_str(), as_limit(limit)])?;
    let mut urns = Vec::new();
    while let Some(row) = rows.next()? {
        urns.push(urn_at(row, 0, ASPECTS, "urn")?);
    }
    Ok(urns)
}

/// The names of all aspects of an entity, including time series.
pub(crate) fn aspect_names(
    connection: &Connection,
    urn: &Urn,
) -> Result<Vec<AspectName>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT aspect FROM metadata_aspect_v2 WHERE urn=?1 \
         UNION SELECT aspect FROM timeseries WHERE urn=?1 ORDER BY 1",
    )?;
    let mut rows = statement.query([urn.as_str()])?;
    let mut names = Vec::new();
    while let Some(row) = rows.next()? {
        names.extend(aspect_name(row, 0, ASPECTS, urn.as_str())?);
    }
    Ok(names)
}

/// How many bytes the latest values of aspects and of whole entities have. Reads no value.
pub(crate) fn value_bytes(
    connection: &Connection,
    keys: &[AspectKey],
    entities: &[Urn],
) -> Result<u64, EngineError> {
    let mut of_aspect = connection.prepare_cached(
        "SELECT coalesce(sum(octet_length(metadata)+coalesce(octet_length(systemmetadata),0)),0) FROM metadata_aspect_v2 \
         WHERE urn=?1 AND aspect=?2 AND version=0",
    )?;
    let mut of_entity = connection.prepare_cached(
        "SELECT coalesce(sum(octet_length(metadata)+coalesce(octet_length(systemmetadata),0)),0) FROM metadata_aspect_v2 WHERE urn=?1 AND version=0",
    )?;
    let mut total = 0_u64;
    for key in keys {
        total += of_aspect.query_row((key.urn.as_str(), key.aspect.as_str()), count_at)?;
    }
    for urn in entities {
        total += of_entity.query_row([urn.as_str()], count_at)?;
    }
    Ok(total)
}

/// Counts the entities that have an aspect, except for those of some types.
pub(crate) fn aspects_count(
    connection: &Connection,
    aspect: AspectName,
    urn_like: Option<&str>,
    excluded_types: &[String],
) -> Result<u64, EngineError> {
    let mut sql = "SELECT count(*) FROM metadata_aspect_v2 WHERE aspect=? AND version=0".to_owned();
    let mut parameters = vec![aspect.as_str().to_owned()];
    if let Some(pattern) = urn_like.map(glob) {
        // The prefix before the first wildcard limits the scanned index range.
        let first: String = pattern.split(['*', '?', '[']).take(1).collect();
        sql += " AND urn>=? AND urn<? AND urn GLOB ?";
        let end = format!("{first}\u{10FFFF}");
        parameters.extend([first, end, pattern]);
    }
    sql += &exclusion("urn", excluded_types);
    parameters.extend(excluded_ranges(excluded_types));
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row(params_from_iter(parameters), count_at)?)
}

/// Converts a LIKE pattern to GLOB: SQLite's LIKE ignores case.
fn glob(like: &str) -> String {
    let mut glob = String::with_capacity(like.len());
    for letter in like.chars() {
        match letter {
            '%' => glob.push('*'),
            '_' => glob.push('?'),
            '*' | '?' | '[' => glob.extend(['[', letter, ']']),
            other => glob.push(other),
        }
    }
    glob
}

/// Counts the rows of an entity, of one aspect or of all: (versioned, time series).
pub(crate) fn rows_count(
    connection: &Connection,
    urn: &Urn,
    aspect: Option<AspectName>,
) -> Result<(u64, u64), EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT (SELECT count(*) FROM metadata_aspect_v2 WHERE urn=?1 AND aspect=ifnull(?2,aspect)), \
                (SELECT count(*) FROM timeseries WHERE urn=?1 AND aspect=ifnull(?2,aspect))",
    )?;
    let aspect = aspect.map(AspectName::as_str);
    Ok(statement.query_row((urn.as_str(), aspect), |row| {
        Ok((unsigned_at(row, 0)?, unsigned_at(row, 1)?))
    })?)
}

/// The condition that a URN is of none of the types, with the parameters of [`excluded_ranges`].
pub(crate) fn exclusion(column: &str, excluded_types: &[String]) -> String {
    format!(" AND NOT ({column}>=? AND {column}<?)").repeat(excluded_types.len())
}

pub(crate) fn excluded_ranges(excluded_types: &[String]) -> impl Iterator<Item = String> {
    let ranges = excluded_types.iter().map(|it| urn_range(it));
    ranges.flat_map(|(first, end)| [first, end])
}

/// The log after a position. Skips aspects that the registry does not know without counting them,
/// so that an empty result always means the end of the log.
pub(crate) fn log_after(
    connection: &Connection,
    after: LogPosition,
    limit: usize,
) -> Result<Vec<LogEntry>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT aspect,position,urn,kind,logical_version,time_ms,actor FROM change_log \
         WHERE position>?1 ORDER BY position",
    )?;
    let mut rows = statement.query([after.get()])?;
    let mut entries = Vec::new();
    while entries.len() < limit {
        let Some(row) = rows.next()? else { break };
        entries.extend(entry_at(row)?);
    }
    Ok(entries)
}

pub(crate) fn newest_entry(connection: &Connection) -> Result<Option<LogEntry>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT aspect,position,urn,kind,logical_version,time_ms,actor FROM change_log \
         ORDER BY position DESC",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(entry) = entry_at(row)? {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns `None` if the registry does not know the aspect.
pub(crate) fn entry_at(row: &Row<'_>) -> Result<Option<LogEntry>, EngineError> {
    let position: i64 = row.get(1)?;
    let key = position.to_string();
    let Some(aspect) = aspect_name(row, 0, "change_log", &key)? else {
        return Ok(None);
    };
    let kind = match text_at(row, 3, "change_log", "kind", &key)? {
        "put" => LogEntryKind::Put,
        "delete" => LogEntryKind::Delete,
        other => return Err(damaged("change_log", "kind", &key, &format!("'{other}'"))),
    };
    Ok(Some(LogEntry {
        position: LogPosition::new(position),
        key: AspectKey {
            urn: urn_at(row, 2, "change_log", "urn")?,
            aspect,
        },
        kind,
        logical_version: (kind == LogEntryKind::Put)
            .then(|| row.get(4).map(LogicalVersion::new))
            .transpose()?,
        time_ms: row.get(5)?,
        actor: text_at(row, 6, "change_log", "actor", &key)?.to_owned(),
    }))
}

/// Reads the columns of `select_rows`. `None` if they exceed the limit.
fn stored_aspect(
    row: &Row<'_>,
    urn: &str,
    limit: &mut ByteLimit,
) -> Result<Option<StoredAspect>, EngineError> {
    if limit.is_short() && row.get_ref(1)? == ValueRef::Null {
        limit.exceed();
        return Ok(None);
    }
    let aspect = StoredAspect {
        version: RowVersion::new(row.get(0)?),
        metadata: text_at(row, 1, ASPECTS, "metadata", urn)?.to_owned(),
        system_metadata: optional_text_at(row, 2, "systemmetadata", urn)?,
        created_on_ms: row.get(3)?,
        created_by: text_at(row, 4, ASPECTS, "createdby", urn)?.to_owned(),
        created_for: optional_text_at(row, 5, "createdfor", urn)?,
    };
    limit.count(aspect.value_bytes());
    Ok(Some(aspect))
}

pub(crate) fn aspect_name(
    row: &Row<'_>,
    index: usize,
    table: &'static str,
    key: &str,
) -> Result<Option<AspectName>, EngineError> {
    Ok(Registry::get().stored_aspect(text_at(row, index, table, "aspect", key)?))
}

pub(crate) fn urn_at(
    row: &Row<'_>,
    index: usize,
    table: &'static str,
    column: &'static str,
) -> Result<Urn, EngineError> {
    let text = text_at(row, index, table, column, "unknown")?;
    Urn::parse(text).map_err(|error| damaged(table, column, text, &error.to_string()))
}

pub(crate) fn text_at<'r>(
    row: &'r Row<'_>,
    index: usize,
    table: &'static str,
    column: &'static str,
    key: &str,
) -> Result<&'r str, EngineError> {
    match row.get_ref(index)? {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes)
            .map_err(|error| damaged(table, column, key, &error.to_string())),
        other => Err(damaged(
            table,
            column,
            key,
            &format!("{} instead of text", other.data_type()),
        )),
    }
}

pub(crate) fn optional_text_at(
    row: &Row<'_>,
    index: usize,
    column: &'static str,
    key: &str,
) -> Result<Option<String>, EngineError> {
    if matches!(row.get_ref(index)?, ValueRef::Null) {
        return Ok(None);
    }
    text_at(row, index, ASPECTS, column, key).map(|text| Some(text.to_owned()))
}

fn damaged(table: &'static str, column: &'static str, key: &str, reason: &str) -> EngineError {
    EngineError::Store(StoreError::Corrupt {
        table,
        column,
        key: key.to_owned(),
        reason: reason.to_owned(),
    })
}

/// The first column of a statement that counts.
pub(crate) fn count_at(row: &Row<'_>) -> rusqlite::Result<u64> {
    unsigned_at(row, 0)
}

/// The first column of a statement that counts, as a length.
pub(crate) fn length_at(row: &Row<'_>) -> rusqlite::Result<usize> {
    unsigned_at(row, 0)
}

/// The logical versions of all latest aspects of an entity.
pub(crate) fn latest_versions(
    connection: &Connection,
    urn: &Urn,
) -> Result<Vec<(AspectName, LogicalVersion)>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT aspect,systemmetadata FROM metadata_aspect_v2 WHERE urn=?1 AND version=0",
    )?;
    let mut rows = statement.query([urn.as_str()])?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        let aspect = text_at(row, 0, ASPECTS, "aspect", urn.as_str())?;
        if let Some(aspect) = Registry::get().stored_aspect(aspect) {
            let system_metadata: Option<String> = row.get(1)?;
            versions.push((aspect, logical_version_in(system_metadata.as_deref())));
        }
    }
    Ok(versions)
}

/// A number that is never negative.
pub(crate) fn unsigned_at<N: TryFrom<i64>>(row: &Row<'_>, index: usize) -> rusqlite::Result<N> {
    let number: i64 = row.get(index)?;
    N::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, number))
}

pub(crate) fn as_limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
