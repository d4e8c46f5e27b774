//! The statements that read aspects; `trees`, `points`, `runs` and `log` have the others.
//!
//! Each is one round trip, however many keys it has: lists travel as arrays, and `unnest` makes rows of them.
//!
//! A plan is made once for each connection, perhaps while the tables are empty, and kept. So statements say themselves
//! how they want to be carried out: `LATERAL (… OFFSET 0)` can only be done key by key, and sessions do without scans of
//! whole tables (`settings`). `plans` holds them to it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::fields::urn_range;
use docent_store::{
    AspectKey, EntityAspects, EntityTexts, ReadReply, ReadRequest, Row as AspectRow, RowVersion,
    StoredAspect,
};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::values::{ASPECTS, as_limit, aspect_name, count_at, stored_aspect, urn_at};

/// The columns of [`stored_aspect`].
macro_rules! columns {
    () => {
        "a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, a.createdfor"
    };
}

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

/// The hot path of the whole server.
pub(crate) const LATEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = 0"
);

/// Whether the witness `$witness` of the entity `$urn` is there, which is looked for only if `a` was not found: the aspect
/// would speak for its entity.
macro_rules! found_or_witnessed {
    ($urn:expr, $witness:expr) => {
        concat!(
            "(a.version IS NOT NULL OR EXISTS (SELECT FROM metadata_aspect_v2 w WHERE w.urn = ",
            $urn,
            " AND w.aspect = ",
            $witness,
            " AND w.version = 0 OFFSET 0))"
        )
    };
}

/// An aspect and the witness of its entity, which most reads of one entity come to, and no lists around them. Without the
/// aspect there is a row of nulls if there is the witness.
pub(crate) const WITNESSED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM (SELECT) AS k LEFT JOIN LATERAL (SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = 0 OFFSET 0) AS a ON true WHERE ",
    found_or_witnessed!("$1", "$3")
);

/// The same for many: each has an aspect or none, and a witness or none.
pub(crate) const LATEST_OF: &str = concat!(
    "SELECT k.place, ",
    columns!(),
    " FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS k (urn, aspect, witness, place) LEFT JOIN ",
    latest_of_key!(columns!()),
    " ON true WHERE ",
    found_or_witnessed!("k.urn", "k.witness")
);

pub(crate) const VERSION: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = $3"
);

pub(crate) const HISTORY: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version > 0 ORDER BY a.version DESC"
);

/// The oldest first, and the latest, which is 0, last.
pub(crate) const HISTORIES: &str = concat!(
    "SELECT k.place, ",
    columns!(),
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, place) \
     CROSS JOIN LATERAL (SELECT ",
    columns!(),
    " FROM metadata_aspect_v2 a WHERE a.urn = k.urn AND a.aspect = k.aspect OFFSET 0) AS a \
     ORDER BY k.place, a.version = 0, a.version"
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
    "SELECT k.place, a.aspect, ",
    columns!(),
    " FROM unnest($1::text[]) WITH ORDINALITY AS k (urn, place) CROSS JOIN ",
    latest_of_entity!(),
    " ORDER BY k.place, a.aspect"
);

/// What [`LATEST_OF`] and [`ENTITIES`] say; the places of the entities are below zero. Behind the first `$3` keys come
/// witnesses, of which nothing has to be read.
pub(crate) const MIXED: &str = concat!(
    "SELECT k.place, a.aspect, a.version, \
     CASE WHEN k.place <= $3 THEN a.metadata ELSE '' END, \
     CASE WHEN k.place <= $3 THEN a.systemmetadata END, \
     a.createdon, a.createdby, a.createdfor \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, place) CROSS JOIN ",
    latest_of_key!(concat!("a.aspect, ", columns!())),
    " UNION ALL SELECT -k.place, a.aspect, ",
    columns!(),
    " FROM unnest($4::text[]) WITH ORDINALITY AS k (urn, place) CROSS JOIN ",
    latest_of_entity!(),
    " ORDER BY 1, 2"
);

/// One range of the index: from behind `$1` through the last entity of the page.
pub(crate) const ENTITY_RANGE: &str = "SELECT a.urn, a.aspect, a.metadata FROM metadata_aspect_v2 a \
     WHERE a.urn > $1 AND a.version = 0 AND a.urn <= (SELECT max(page.urn) FROM \
         (SELECT k.urn FROM metadata_aspect_v2 k WHERE k.urn > $1 AND k.urn < $2 AND k.aspect = $3 \
          AND k.version = 0 ORDER BY k.urn LIMIT $4) AS page) ORDER BY a.urn, a.aspect";

pub(crate) const URNS: &str = "SELECT urn FROM metadata_aspect_v2 \
     WHERE urn > $1 AND urn < $2 AND aspect = $3 AND version = 0 ORDER BY urn LIMIT $4";

pub(crate) const COUNT: &str =
    "SELECT count(*) FROM metadata_aspect_v2 WHERE aspect = $1 AND version = 0";

/// What stands before the first wildcard bounds the part of the index that is looked at.
pub(crate) const COUNT_LIKE: &str = "SELECT count(*) FROM metadata_aspect_v2 \
     WHERE aspect = $1 AND version = 0 AND urn >= $2 AND urn < $3 AND urn LIKE $4";

/// Keys as the two arrays that statements take.
pub(crate) fn key_arrays<'k>(
    keys: impl Iterator<Item = &'k AspectKey>,
) -> (Vec<&'k str>, Vec<&'k str>) {
    keys.map(|key| (key.urn.as_str(), key.aspect.as_str()))
        .unzip()
}

/// What somebody wants to know: the latest versions of aspects, and whether the entities of key aspects exist.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'q> {
    pub(crate) keys: &'q [AspectKey],
    pub(crate) witnesses: &'q [AspectKey],
}

/// The answer to a [`Question`], in the order of its lists.
pub(crate) type Found = (Vec<AspectRow>, Vec<bool>);

/// A question in a statement of its own.
pub(crate) async fn answer(
    connections: &Connections,
    question: Question<'_>,
) -> Result<Found, EngineError> {
    let lease = connections.lease().await?;
    let mut found = answer_all(connections, lease, &[question]).await?;
    Ok(found.pop().unwrap_or_default())
}

/// Questions in one statement, so of one snapshot.
pub(crate) async fn answer_all(
    connections: &Connections,
    lease: Lease,
    questions: &[Question<'_>],
) -> Result<Vec<Found>, EngineError> {
    match questions {
        [
            Question {
                keys: [key],
                witnesses: [],
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
            Question {
                keys: [key],
                witnesses: [witness],
            },
        ] if key.urn == witness.urn => {
            let urn = key.urn.as_str();
            let (aspect, other) = (key.aspect.as_str(), witness.aspect.as_str());
            let rows = connections
                .query_on(lease, WITNESSED, &[&urn, &aspect, &other])
                .await?;
            let row = rows
                .first()
                .map(|row| aspect_if_there(row, 0))
                .transpose()?;
            Ok(vec![(vec![row.flatten()], vec![!rows.is_empty()])])
        }
        questions => {
            let asked = Asked::new(questions);
            let rows = connections
                .query_on(
                    lease,
                    LATEST_OF,
                    &[&asked.urns, &asked.aspects, &asked.witnesses],
                )
                .await?;
            asked.answered(questions, &rows)
        }
    }
}

/// Of a row that is there for its witness alone there is no aspect.
fn aspect_if_there(row: &Row, first: usize) -> Result<AspectRow, EngineError> {
    Ok(match row.try_get::<_, Option<i64>>(first)? {
        Some(_) => Some(Arc::new(stored_aspect(row, first)?)),
        None => None,
    })
}

/// Questions as the arrays of [`LATEST_OF`].
#[derive(Default)]
struct Asked<'q> {
    urns: Vec<&'q str>,
    aspects: Vec<Option<&'q str>>,
    witnesses: Vec<Option<&'q str>>,
    places: Vec<Place>,
}

/// Whose place in the arrays it is: of which question, and which of its lists' items.
struct Place {
    question: usize,
    key: Option<usize>,
    witness: Option<usize>,
}

impl<'q> Asked<'q> {
    fn new(questions: &[Question<'q>]) -> Self {
        let mut asked = Self::default();
        for (number, question) in questions.iter().enumerate() {
            let mut of_urn = HashMap::new();
            for (index, key) in question.keys.iter().enumerate() {
                let place = asked.push(number, &key.urn);
                asked.aspects[place] = Some(key.aspect.as_str());
                asked.places[place].key = Some(index);
                of_urn.insert(&key.urn, place);
            }
            for (index, witness) in question.witnesses.iter().enumerate() {
                // It stands beside an aspect of its entity if there is one.
                let place = of_urn.remove(&witness.urn);
                let place = place.unwrap_or_else(|| asked.push(number, &witness.urn));
                asked.witnesses[place] = Some(witness.aspect.as_str());
                asked.places[place].witness = Some(index);
            }
        }
        asked
    }

    /// Another place, for nothing yet.
    fn push(&mut self, question: usize, urn: &'q Urn) -> usize {
        self.urns.push(urn.as_str());
        self.aspects.push(None);
        self.witnesses.push(None);
        self.places.push(Place {
            question,
            key: None,
            witness: None,
        });
        self.places.len() - 1
    }

    fn answered(self, questions: &[Question<'_>], rows: &[Row]) -> Result<Vec<Found>, EngineError> {
        let nothing = |question: &Question<'_>| {
            (
                vec![None; question.keys.len()],
                vec![false; question.witnesses.len()],
            )
        };
        let mut found: Vec<Found> = questions.iter().map(nothing).collect();
        for row in rows {
            let place = &self.places[place_at(row)?];
            let (aspects, exist) = &mut found[place.question];
            if let Some(key) = place.key {
                aspects[key] = aspect_if_there(row, 1)?;
            }
            if let Some(witness) = place.witness {
                exist[witness] = true;
            }
        }
        for (question, (aspects, exist)) in questions.iter().zip(&mut found) {
            let_speak(question.keys, aspects, question.witnesses, exist);
        }
        Ok(found)
    }
}

/// Every entity has its key aspect, so any other speaks for it.
fn let_speak(keys: &[AspectKey], found: &[AspectRow], witnesses: &[AspectKey], exist: &mut [bool]) {
    if exist.iter().all(|exists| *exists) {
        return;
    }
    let speaking: HashSet<&Urn> = keys
        .iter()
        .zip(found)
        .filter(|(_, row)| row.is_some())
        .map(|(key, _)| &key.urn)
        .collect();
    for (witness, exists) in witnesses.iter().zip(exist) {
        *exists = *exists || speaking.contains(&witness.urn);
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
        let place: i64 = row.try_get(0)?;
        if place < 0 {
            if let Some(name) = aspect_name(row, 1)? {
                reply.entities[(-place - 1) as usize].push((name, stored_aspect(row, 2)?));
            }
            continue;
        }
        let place = place_at(row)?;
        match place.checked_sub(keys.len()) {
            Some(check) => reply.exists[check] = true,
            None => reply.rows[place] = Some(Arc::new(stored_aspect(row, 2)?)),
        }
    }
    let_speak(keys, &reply.rows, exists, &mut reply.exists);
    Ok(reply)
}

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

/// All versions of aspects, the oldest first and the latest last.
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
        histories[place_at(row)?].push(stored_aspect(row, 1)?);
    }
    Ok(histories)
}

/// All latest aspects of entities, by name; those that the registry does not know are left out.
async fn entities(
    connections: &Connections,
    urns: &[Urn],
) -> Result<Vec<EntityAspects>, EngineError> {
    let mut entities = vec![Vec::new(); urns.len()];
    let texts: Vec<&str> = urns.iter().map(Urn::as_str).collect();
    for row in &connections.query(ENTITIES, &[&texts]).await? {
        if let Some(name) = aspect_name(row, 1)? {
            entities[place_at(row)?].push((name, stored_aspect(row, 2)?));
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
    let Some(spec) = Registry::get().entity(entity_type) else {
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
    // Something without its key aspect is no entity, and was not counted.
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

/// How many entities have an aspect.
pub(crate) async fn aspects_count(
    connections: &Connections,
    aspect: AspectName,
    urn_like: Option<&str>,
) -> Result<u64, EngineError> {
    let aspect = aspect.as_str();
    let rows = match urn_like {
        None => connections.query(COUNT, &[&aspect]).await?,
        Some(like) => {
            let first: String = like.split(['%', '_']).take(1).collect();
            let end = format!("{first}\u{10FFFF}");
            // The backslash is a letter like any other to our callers.
            let like = like.replace('\\', "\\\\");
            connections
                .query(COUNT_LIKE, &[&aspect, &first, &end, &like])
                .await?
        }
    };
    rows.first().map_or(Ok(0), |row| count_at(row, 0))
}

/// The place in the list that was asked for; PostgreSQL counts from one.
pub(crate) fn place_at(row: &Row) -> Result<usize, EngineError> {
    Ok((row.try_get::<_, i64>(0)? - 1) as usize)
}
