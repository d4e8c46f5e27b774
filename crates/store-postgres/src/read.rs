//! Statements that read aspects; see `trees`, `points`, `runs` and `log` for others.
//!
//! Each takes one round trip for any number of keys: they are passed as arrays, which `unnest`
//! turns into rows.
//!
//! A connection caches each plan, perhaps from a time when the tables were empty. So statements
//! force their plan: `LATERAL (… OFFSET 0)` can only be executed key by key, and sessions disable
//! sequential scans (`settings`). The tests in `plans` check it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::fields::urn_range;
use docent_store::{
    AspectKey, AspectRow, EntityAspects, EntityTexts, ReadReply, ReadRequest, StoreError,
};
use tokio_postgres::Row;

use crate::error::{ASPECTS, EngineError};
use crate::pool::{Connections, Lease};
use crate::values::{as_limit, aspect_name, count_at, stored_aspect, urn_at};

/// The columns of [`stored_aspect`].
macro_rules! columns {
    () => {
        "a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, a.createdfor"
    };
}

pub(crate) use columns;

/// The latest row of the key `k`.
macro_rules! latest_of_key {
    ($columns:expr) => {
        concat!(
            "LATERAL (SELECT ",
            $columns,
            " FROM metadata_aspect_v2 a WHERE a.urn = k.urn AND a.aspect = k.aspect AND a.version = 0 OFFSET 0) AS a"
        )
    };
}
pub(crate) use latest_of_key;

/// The most frequent statement of a server.
pub(crate) const LATEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = 0"
);

/// Whether the entity `$urn` exists: its aspect `a` was found, or else its key aspect is looked up.
macro_rules! entity_exists {
    ($urn:expr, $key_aspect:expr) => {
        concat!(
            "(a.version IS NOT NULL OR EXISTS (SELECT FROM metadata_aspect_v2 w WHERE w.urn = ",
            $urn,
            " AND w.aspect = ",
            $key_aspect,
            " AND w.version = 0 OFFSET 0))"
        )
    };
}

/// One aspect and the existence of its entity, without arrays: the most frequent read. If only the
/// entity exists, returns a row of nulls.
pub(crate) const LATEST_AND_EXISTS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM (SELECT) AS k LEFT JOIN LATERAL (SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = 0 OFFSET 0) AS a ON true WHERE ",
    entity_exists!("$1", "$3")
);

/// The same for many: each with an aspect, an existence check, or both.
pub(crate) const LATEST_OF: &str = concat!(
    "SELECT k.ordinal, ",
    columns!(),
    " FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (urn, aspect, key_aspect, ordinal) LEFT JOIN ",
    latest_of_key!(columns!()),
    " ON true WHERE ",
    entity_exists!("k.urn", "k.key_aspect")
);

/// All latest rows of the entity `k`.
macro_rules! latest_of_entity {
    () => {
        concat!(
            "LATERAL (SELECT a.aspect, ",
            columns!(),
            " FROM metadata_aspect_v2 a WHERE a.urn = k.urn AND a.version = 0 OFFSET 0) AS a"
        )
    };
}

pub(crate) const ENTITIES: &str = concat!(
    "SELECT k.ordinal, a.aspect, ",
    columns!(),
    " FROM unnest($1::text[]) WITH ORDINALITY AS k (urn, ordinal) CROSS JOIN ",
    latest_of_entity!(),
    " ORDER BY k.ordinal, a.aspect"
);

/// [`LATEST_OF`] and [`ENTITIES`] in one; entities have negative indexes. Keys after the first `$3`
/// are existence checks, whose values are not read.
pub(crate) const MIXED: &str = concat!(
    "SELECT k.ordinal, a.aspect, a.version, \
     CASE WHEN k.ordinal <= $3 THEN a.metadata ELSE '' END, \
     CASE WHEN k.ordinal <= $3 THEN a.systemmetadata END, \
     a.createdon, a.createdby, a.createdfor \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) CROSS JOIN ",
    latest_of_key!(concat!("a.aspect, ", columns!())),
    " UNION ALL SELECT -k.ordinal, a.aspect, ",
    columns!(),
    " FROM unnest($4::text[]) WITH ORDINALITY AS k (urn, ordinal) CROSS JOIN ",
    latest_of_entity!(),
    " ORDER BY 1, 2"
);

/// How many bytes the latest values of aspects and of whole entities have.
pub(crate) const BYTES: &str = concat!(
    "SELECT coalesce((SELECT sum(octet_length(a.metadata) + coalesce(octet_length(a.systemmetadata), 0)) \
     FROM unnest($1::text[], $2::text[]) AS k (urn, aspect) CROSS JOIN ",
    latest_of_key!("a.metadata, a.systemmetadata"),
    "), 0)::bigint + coalesce((SELECT sum(octet_length(a.metadata) + coalesce(octet_length(a.systemmetadata), 0)) FROM unnest($3::text[]) AS k (urn) CROSS JOIN ",
    latest_of_entity!(),
    "), 0)::bigint"
);

/// One range of the index: after `$1` through the last entity of the page.
pub(crate) const ENTITY_RANGE: &str = "SELECT a.urn, a.aspect, a.metadata FROM metadata_aspect_v2 a \
     WHERE a.urn > $1 AND a.version = 0 AND a.urn <= (SELECT max(page.urn) FROM \
         (SELECT k.urn FROM metadata_aspect_v2 k WHERE k.urn > $1 AND k.urn < $2 AND k.aspect = $3 \
          AND k.version = 0 ORDER BY k.urn LIMIT $4) AS page) ORDER BY a.urn, a.aspect";

pub(crate) const URNS: &str = "SELECT urn FROM metadata_aspect_v2 \
     WHERE urn > $1 AND urn < $2 AND aspect = $3 AND version = 0 ORDER BY urn LIMIT $4";

/// The latest texts of an aspect, of entities of a type.
pub(crate) const TEXTS: &str = "SELECT urn, metadata FROM metadata_aspect_v2 \
     WHERE urn > $1 AND urn < $2 AND aspect = $3 AND version = 0 ORDER BY urn LIMIT $4";

pub(crate) const COUNT: &str = "SELECT count(*) FROM metadata_aspect_v2 WHERE aspect = $1 AND version = 0 \
     AND NOT urn ^@ ANY ($2::text[])";

/// The text before the first wildcard limits the range of the index.
pub(crate) const COUNT_LIKE: &str = "SELECT count(*) FROM metadata_aspect_v2 \
     WHERE aspect = $1 AND version = 0 AND urn >= $2 AND urn < $3 AND urn LIKE $4 \
     AND NOT urn ^@ ANY ($5::text[])";

/// Keys as the two arrays of a statement.
pub(crate) fn key_arrays<'k>(
    keys: impl Iterator<Item = &'k AspectKey>,
) -> (Vec<&'k str>, Vec<&'k str>) {
    keys.map(|key| (key.urn.as_str(), key.aspect.as_str()))
        .unzip()
}

/// A read of latest rows, and existence checks by key aspect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointRead<'k> {
    pub(crate) rows: &'k [AspectKey],
    pub(crate) exists: &'k [AspectKey],
}

/// The result of a [`PointRead`]: rows and existence, in its order.
pub(crate) type PointReply = (Vec<AspectRow>, Vec<bool>);

/// Executes one read.
pub(crate) async fn point_read(
    connections: &Connections,
    read: PointRead<'_>,
) -> Result<PointReply, EngineError> {
    let lease = connections.lease().await?;
    let mut replies = point_reads(connections, lease, &[read]).await?;
    Ok(replies.pop().unwrap_or_default())
}

/// Executes reads in one statement, and so on one snapshot.
pub(crate) async fn point_reads(
    connections: &Connections,
    lease: Lease,
    reads: &[PointRead<'_>],
) -> Result<Vec<PointReply>, EngineError> {
    match reads {
        [
            PointRead {
                rows: [key],
                exists: [],
            },
        ] => {
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            let rows = connections
                .query_on(lease, LATEST, &[&urn, &aspect])
                .await?;
            let row = rows.first().map(|row| stored_aspect(row, 0)).transpose()?;
            Ok(vec![(vec![row.map(Arc::new)], Vec::new())])
        }
        [
            PointRead {
                rows: [key],
                exists: [entity],
            },
        ] if key.urn == entity.urn => {
            let urn = key.urn.as_str();
            let (aspect, key_aspect) = (key.aspect.as_str(), entity.aspect.as_str());
            let rows = connections
                .query_on(lease, LATEST_AND_EXISTS, &[&urn, &aspect, &key_aspect])
                .await?;
            let row = rows
                .first()
                .map(|row| optional_aspect(row, 0))
                .transpose()?;
            Ok(vec![(vec![row.flatten()], vec![!rows.is_empty()])])
        }
        reads => {
            let parameters = BatchParameters::new(reads);
            let rows = connections
                .query_on(
                    lease,
                    LATEST_OF,
                    &[
                        &parameters.urns,
                        &parameters.aspects,
                        &parameters.key_aspects,
                    ],
                )
                .await?;
            parameters.replies(reads, &rows)
        }
    }
}

/// `None` if only the entity exists.
fn optional_aspect(row: &Row, first: usize) -> Result<AspectRow, EngineError> {
    Ok(match row.try_get::<_, Option<i64>>(first)? {
        Some(_) => Some(Arc::new(stored_aspect(row, first)?)),
        None => None,
    })
}

/// Reads as the arrays of [`LATEST_OF`].
#[derive(Default)]
struct BatchParameters<'k> {
    urns: Vec<&'k str>,
    aspects: Vec<Option<&'k str>>,
    key_aspects: Vec<Option<&'k str>>,
    sources: Vec<Source>,
}

/// What an element of the arrays is for: the index of the read, and the indexes in its lists.
struct Source {
    read: usize,
    row: Option<usize>,
    exists: Option<usize>,
}

impl<'k> BatchParameters<'k> {
    fn new(reads: &[PointRead<'k>]) -> Self {
        let mut parameters = Self::default();
        for (number, read) in reads.iter().enumerate() {
            let mut by_urn = HashMap::new();
            for (row, key) in read.rows.iter().enumerate() {
                let index = parameters.push(number, &key.urn);
                parameters.aspects[index] = Some(key.aspect.as_str());
                parameters.sources[index].row = Some(row);
                by_urn.insert(&key.urn, index);
            }
            for (check, key) in read.exists.iter().enumerate() {
                // Shares an element with an aspect of its entity, if there is one.
                let index = by_urn.remove(&key.urn);
                let index = index.unwrap_or_else(|| parameters.push(number, &key.urn));
                parameters.key_aspects[index] = Some(key.aspect.as_str());
                parameters.sources[index].exists = Some(check);
            }
        }
        parameters
    }

    /// Adds an element and returns its index.
    fn push(&mut self, read: usize, urn: &'k Urn) -> usize {
        self.urns.push(urn.as_str());
        self.aspects.push(None);
        self.key_aspects.push(None);
        self.sources.push(Source {
            read,
            row: None,
            exists: None,
        });
        self.sources.len() - 1
    }

    fn replies(
        self,
        reads: &[PointRead<'_>],
        rows: &[Row],
    ) -> Result<Vec<PointReply>, EngineError> {
        let empty =
            |read: &PointRead<'_>| (vec![None; read.rows.len()], vec![false; read.exists.len()]);
        let mut replies: Vec<PointReply> = reads.iter().map(empty).collect();
        for row in rows {
            let source = &self.sources[index_at(row)?];
            let (aspects, exists) = &mut replies[source.read];
            if let Some(index) = source.row {
                aspects[index] = optional_aspect(row, 1)?;
            }
            if let Some(check) = source.exists {
                exists[check] = true;
            }
        }
        for (read, (aspects, exists)) in reads.iter().zip(&mut replies) {
            infer_existence(read.rows, aspects, read.exists, exists);
        }
        Ok(replies)
    }
}

/// An entity with any aspect exists, because every entity has its key aspect.
fn infer_existence(
    keys: &[AspectKey],
    rows: &[AspectRow],
    checks: &[AspectKey],
    exists: &mut [bool],
) {
    if exists.iter().all(|exists| *exists) {
        return;
    }
    let existing: HashSet<&Urn> = keys
        .iter()
        .zip(rows)
        .filter(|(_, row)| row.is_some())
        .map(|(key, _)| &key.urn)
        .collect();
    for (check, exists) in checks.iter().zip(exists) {
        *exists = *exists || existing.contains(&check.urn);
    }
}

/// A request that includes whole entities, in one round trip.
pub(crate) async fn mixed(
    connections: &Connections,
    request: ReadRequest<'_>,
) -> Result<ReadReply, EngineError> {
    let ReadRequest {
        rows: keys,
        exists,
        entities: urns,
    } = request;
    if keys.is_empty() && exists.is_empty() {
        return Ok(ReadReply {
            entities: entities(connections, urns).await?,
            ..ReadReply::default()
        });
    }
    let mut reply = ReadReply {
        rows: vec![None; keys.len()],
        exists: vec![false; exists.len()],
        entities: vec![Vec::new(); urns.len()],
    };
    let (single_urns, aspects) = key_arrays(keys.iter().chain(exists));
    let texts: Vec<&str> = urns.iter().map(Urn::as_str).collect();
    let limit = as_limit(keys.len());
    let rows = connections
        .query(MIXED, &[&single_urns, &aspects, &limit, &texts])
        .await?;
    for row in &rows {
        let ordinal: i64 = row.try_get(0)?;
        let index = from_ordinal(ordinal.saturating_abs())?;
        if ordinal < 0 {
            if let Some(name) = aspect_name(row, 1)? {
                reply.entities[index].push((name, stored_aspect(row, 2)?));
            }
            continue;
        }
        match index.checked_sub(keys.len()) {
            Some(check) => reply.exists[check] = true,
            None => reply.rows[index] = Some(Arc::new(stored_aspect(row, 2)?)),
        }
    }
    infer_existence(keys, &reply.rows, exists, &mut reply.exists);
    Ok(reply)
}

/// All latest aspects of entities, by name; those missing from the registry are skipped.
async fn entities(
    connections: &Connections,
    urns: &[Urn],
) -> Result<Vec<EntityAspects>, EngineError> {
    let mut entities = vec![Vec::new(); urns.len()];
    let texts: Vec<&str> = urns.iter().map(Urn::as_str).collect();
    for row in &connections.query(ENTITIES, &[&texts]).await? {
        if let Some(name) = aspect_name(row, 1)? {
            entities[index_at(row)?].push((name, stored_aspect(row, 2)?));
        }
    }
    Ok(entities)
}

/// The texts of the latest aspects of entities of a type.
pub(crate) async fn entity_range(
    connections: &Connections,
    entity_type: &str,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<EntityTexts>, EngineError> {
    let Some(spec) = Registry::get().stored_entity(entity_type) else {
        return Ok(Vec::new());
    };
    let (after, end) = range_of_type(entity_type, after);
    let key_aspect = spec.key_aspect.as_str();
    let rows = connections
        .query(ENTITY_RANGE, &[&after, &end, &key_aspect, &as_limit(limit)])
        .await?;
    let mut entities: Vec<EntityTexts> = Vec::new();
    for row in &rows {
        let urn: &str = row.try_get(0)?;
        if entities.last().is_none_or(|last| last.urn.as_str() != urn) {
            entities.push(EntityTexts {
                urn: urn_at(row, 0, ASPECTS)?,
                aspects: Vec::new(),
            });
        }
        if let Some(entity) = entities.last_mut()
            && let Some(name) = aspect_name(row, 1)?
        {
            entity.aspects.push((name, row.try_get(2)?));
        }
    }
    // URNs without the key aspect did not count towards the limit.
    let is_key = |(name, _): &(AspectName, String)| *name == spec.key_aspect;
    entities.retain(|entity| entity.aspects.iter().any(is_key));
    Ok(entities)
}

/// Behind what the URNs of a type come, and before what.
fn range_of_type(entity_type: &str, after: Option<&Urn>) -> (String, String) {
    let (first, end) = urn_range(entity_type);
    let after = after.map_or(first.as_str(), Urn::as_str).max(&first);
    (after.to_owned(), end)
}

pub(crate) async fn urns(
    connections: &Connections,
    entity_type: &str,
    aspect: AspectName,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<Urn>, EngineError> {
    let (after, end) = range_of_type(entity_type, after);
    let rows = connections
        .query(URNS, &[&after, &end, &aspect.as_str(), &as_limit(limit)])
        .await?;
    rows.iter().map(|row| urn_at(row, 0, ASPECTS)).collect()
}

/// The latest texts of an aspect, of entities of a type, in a transaction.
pub(crate) async fn texts(
    lease: &Lease,
    entity_type: &str,
    aspect: AspectName,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<(Urn, String)>, EngineError> {
    let (after, end) = range_of_type(entity_type, after);
    let rows = lease
        .query(TEXTS, &[&after, &end, &aspect.as_str(), &as_limit(limit)])
        .await?;
    let text = |row: &Row| Ok((urn_at(row, 0, ASPECTS)?, row.try_get(1)?));
    rows.iter().map(text).collect()
}

/// What the URNs of these types begin with.
pub(crate) fn urn_prefixes(entity_types: &[&str]) -> Vec<String> {
    let ranges = entity_types.iter().map(|it| urn_range(it));
    ranges.map(|(first, _)| first).collect()
}

/// How many entities have an aspect, except for those of some types.
pub(crate) async fn aspects_count(
    connections: &Connections,
    aspect: AspectName,
    urn_like: Option<&str>,
    excluded_types: &[&str],
) -> Result<u64, EngineError> {
    let aspect = aspect.as_str();
    let excluded = urn_prefixes(excluded_types);
    let rows = match urn_like {
        None => connections.query(COUNT, &[&aspect, &excluded]).await?,
        Some(like) => {
            let first: String = like.split(['%', '_']).take(1).collect();
            let end = format!("{first}\u{10FFFF}");
            // For callers a backslash is no escape character.
            let like = like.replace('\\', "\\\\");
            connections
                .query(COUNT_LIKE, &[&aspect, &first, &end, &like, &excluded])
                .await?
        }
    };
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

/// How many bytes the latest values of aspects and of whole entities have.
pub(crate) async fn value_bytes(
    connections: &Connections,
    keys: &[AspectKey],
    entities: &[Urn],
) -> Result<u64, EngineError> {
    let (urns, aspects) = key_arrays(keys.iter());
    let entities: Vec<&str> = entities.iter().map(Urn::as_str).collect();
    let rows = connections
        .query(BYTES, &[&urns, &aspects, &entities])
        .await?;
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

/// The index of the key that a row belongs to, from its first column.
pub(crate) fn index_at(row: &Row) -> Result<usize, EngineError> {
    from_ordinal(row.try_get(0)?)
}

/// `WITH ORDINALITY` counts from one.
fn from_ordinal(ordinal: i64) -> Result<usize, EngineError> {
    let index = usize::try_from(ordinal).ok();
    let index = index.and_then(|ordinal| ordinal.checked_sub(1));
    Ok(index.ok_or_else(|| StoreError::other(format!("unexpected ordinal {ordinal}")))?)
}
