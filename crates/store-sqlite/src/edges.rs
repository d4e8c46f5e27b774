//! The statements that read edges.

use docent_model::{AspectName, Urn};
use docent_store::{ListPage, RelatedEntity};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, Row, params_from_iter};

use crate::error::EngineError;
use crate::read::{as_limit, aspect_name, excluded_ranges, exclusion, length_at, text_at, urn_at};

/// Visiting this many edges takes less than a millisecond.
const SHORT_EDGES: i64 = 500;

/// Whether a page of the outgoing edges of an entity takes long: it counts and sorts all of them.
pub(crate) fn are_many(connection: &Connection, source: &Urn) -> Result<bool, EngineError> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM edge WHERE source=?1 LIMIT 1 OFFSET ?2")?;
    Ok(statement.exists((source.as_str(), SHORT_EDGES))?)
}

/// The edges to `destination` that are derived from this aspect.
pub(crate) fn into(
    connection: &Connection,
    destination: &Urn,
    aspect: AspectName,
    limit: usize,
) -> Result<Vec<RelatedEntity>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT relationship,source,aspect FROM edge WHERE destination=?1 AND aspect=?2 \
         ORDER BY relationship, source LIMIT ?3",
    )?;
    let mut rows = statement.query((destination.as_str(), aspect.as_str(), as_limit(limit)))?;
    let mut related = Vec::new();
    while let Some(row) = rows.next()? {
        related.extend(edge_at(row)?);
    }
    Ok(related)
}

pub(crate) fn page(
    connection: &Connection,
    urn: &Urn,
    outgoing: bool,
    relationships: &[&str],
    excluded_types: &[String],
    start: usize,
    limit: usize,
) -> Result<ListPage<RelatedEntity>, EngineError> {
    let (near, far) = if outgoing {
        ("source", "destination")
    } else {
        ("destination", "source")
    };
    let filter = if relationships.is_empty() {
        String::new()
    } else {
        format!(
            " AND relationship IN ({})",
            vec!["?"; relationships.len()].join(",")
        )
    };
    let exclusion = exclusion(far, excluded_types);
    let condition = format!("FROM edge WHERE {near}=?{filter}{exclusion}");
    let excluded: Vec<String> = excluded_ranges(excluded_types).collect();
    let parameters = || {
        std::iter::once(urn.as_str())
            .chain(relationships.iter().copied())
            .chain(excluded.iter().map(String::as_str))
            .map(ToSqlOutput::from)
    };
    let total = connection
        .prepare_cached(&format!("SELECT count(*) {condition}"))?
        .query_row(params_from_iter(parameters()), length_at)?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT relationship,{far},aspect {condition} ORDER BY relationship,{far},aspect \
         LIMIT ? OFFSET ?"
    ))?;
    let page = [as_limit(limit), as_limit(start)].map(ToSqlOutput::from);
    let mut rows = statement.query(params_from_iter(parameters().chain(page)))?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.extend(edge_at(row)?);
    }
    Ok(ListPage { total, items })
}

fn edge_at(row: &Row<'_>) -> Result<Option<RelatedEntity>, EngineError> {
    let urn = urn_at(row, 1, "edge", "urn")?;
    let Some(aspect) = aspect_name(row, 2, "edge", urn.as_str())? else {
        return Ok(None);
    };
    Ok(Some(RelatedEntity {
        relationship: text_at(row, 0, "edge", "relationship", urn.as_str())?.to_owned(),
        urn,
        aspect,
    }))
}
