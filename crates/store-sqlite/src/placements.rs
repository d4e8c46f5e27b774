//! The statements that read the trees of entities.

use docent_model::Urn;
use docent_store::ListPage;
use rusqlite::{Connection, params};

use crate::error::EngineError;
use crate::read::{as_limit, length_at, text_at, urn_at};

pub(crate) fn children_page(
    connection: &Connection,
    kind: &str,
    parent: Option<&Urn>,
    start: usize,
    limit: usize,
) -> Result<ListPage<Urn>, EngineError> {
    let parent = parent_text(parent);
    let total = connection
        .prepare_cached("SELECT count(*) FROM placement WHERE kind=?1 AND parent=?2")?
        .query_row((kind, parent), length_at)?;
    let mut statement = connection.prepare_cached(
        "SELECT urn FROM placement WHERE kind=?1 AND parent=?2 \
         ORDER BY created_ms DESC, urn LIMIT ?3 OFFSET ?4",
    )?;
    let mut rows = statement.query(params![kind, parent, as_limit(limit), as_limit(start)])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        items.push(urn_at(row, 0, "placement", "urn")?);
    }
    Ok(ListPage { total, items })
}

/// `None` if the entity is in no tree, `Some(None)` if it is a root.
#[expect(clippy::option_option, reason = "the return type of the trait")]
pub(crate) fn parent_of(
    connection: &Connection,
    urn: &Urn,
) -> Result<Option<Option<Urn>>, EngineError> {
    let mut statement =
        connection.prepare_cached("SELECT parent FROM placement WHERE urn=?1 LIMIT 1")?;
    let mut rows = statement.query([urn.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    if text_at(row, 0, "placement", "parent", urn.as_str())?.is_empty() {
        return Ok(Some(None));
    }
    urn_at(row, 0, "placement", "parent").map(|parent| Some(Some(parent)))
}

/// The ancestors, nearest first; the list ends before a repeated entity.
pub(crate) fn ancestors(
    connection: &Connection,
    urn: &Urn,
    max: usize,
) -> Result<Vec<Urn>, EngineError> {
    let mut chain: Vec<Urn> = Vec::new();
    while chain.len() < max {
        let child = chain.last().unwrap_or(urn);
        match parent_of(connection, child)?.flatten() {
            Some(parent) if parent != *urn && !chain.contains(&parent) => chain.push(parent),
            _ => break,
        }
    }
    Ok(chain)
}

pub(crate) fn named(
    connection: &Connection,
    kind: &str,
    parent: Option<&Urn>,
    name: &str,
) -> Result<Vec<Urn>, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT urn FROM placement WHERE kind=?1 AND parent=?2 AND name=?3 ORDER BY urn",
    )?;
    let mut rows = statement.query((kind, parent_text(parent), name))?;
    let mut urns = Vec::new();
    while let Some(row) = rows.next()? {
        urns.push(urn_at(row, 0, "placement", "urn")?);
    }
    Ok(urns)
}

/// At most `limit` children of any of the parents.
pub(crate) fn children(
    connection: &Connection,
    kind: &str,
    parents: &[Urn],
    limit: usize,
) -> Result<Vec<Urn>, EngineError> {
    let mut statement =
        connection.prepare_cached("SELECT urn FROM placement WHERE kind=?1 AND parent=?2")?;
    let mut children = Vec::new();
    for parent in parents {
        let mut rows = statement.query((kind, parent.as_str()))?;
        while children.len() < limit
            && let Some(row) = rows.next()?
        {
            children.push(urn_at(row, 0, "placement", "urn")?);
        }
    }
    Ok(children)
}

/// The parent column; empty for a root.
pub(crate) fn parent_text(parent: Option<&Urn>) -> &str {
    parent.map_or("", Urn::as_str)
}
