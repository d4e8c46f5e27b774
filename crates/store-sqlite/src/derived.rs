//! The derived rows of an aspect in the tables: compared and replaced by writes, rebuilds and
//! checks.

use docent_model::Derived;
use docent_store::AspectKey;
use rusqlite::{Connection, params};

use crate::error::EngineError;
use crate::placements::parent_text;

/// A table of derived rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// The column with the entity whose aspect a row is derived from.
    pub(crate) owner: &'static str,
}

pub(crate) const TABLES: [Table; 2] = [
    Table {
        name: "edge",
        owner: "source",
    },
    Table {
        name: "placement",
        owner: "urn",
    },
];

impl Table {
    /// The condition for rows whose aspect is missing.
    pub(crate) fn is_orphan(&self) -> String {
        let Self { name, owner } = self;
        format!(
            "NOT EXISTS (SELECT 1 FROM metadata_aspect_v2 AS a \
             WHERE a.urn={name}.{owner} AND a.aspect={name}.aspect AND a.version=0)"
        )
    }
}

/// Replaces the stored rows of an aspect by those of `derived`, if they differ; returns whether
/// they did. A write that changes no relationship touches no page of these tables.
pub(crate) fn replace(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    derived: &Derived,
) -> Result<bool, EngineError> {
    let differs = !matches(connection, urn, aspect, derived)?;
    if differs {
        for sql in [
            "DELETE FROM edge WHERE source=?1 AND aspect=?2",
            "DELETE FROM placement WHERE urn=?1 AND aspect=?2",
        ] {
            connection.prepare_cached(sql)?.execute((urn, aspect))?;
        }
        insert(connection, urn, aspect, derived)?;
    }
    Ok(differs)
}

/// Inserts the rows of an aspect that has none.
pub(crate) fn insert(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    derived: &Derived,
) -> Result<(), EngineError> {
    for edge in &derived.edges {
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO edge (source,aspect,relationship,destination) \
                 VALUES (?1,?2,?3,?4)",
            )?
            .execute((urn, aspect, edge.relationship, edge.destination.as_str()))?;
    }
    if let Some(placement) = &derived.placement {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO placement (urn,aspect,kind,parent,name,created_ms) \
                 VALUES (?1,?2,?3,?4,?5,?6)",
            )?
            .execute(params![
                urn,
                aspect,
                placement.kind,
                parent_text(placement.parent.as_ref()),
                placement.name,
                placement.created_ms
            ])?;
    }
    Ok(())
}

/// Whether the stored rows of an aspect equal `derived`.
pub(crate) fn matches(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    derived: &Derived,
) -> Result<bool, EngineError> {
    Ok(edges_match(connection, urn, aspect, derived)?
        && placement_matches(connection, urn, aspect, derived)?)
}

fn edges_match(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    derived: &Derived,
) -> Result<bool, EngineError> {
    // The statement returns each edge once, in this order.
    let mut expected: Vec<(&str, &str)> = derived
        .edges
        .iter()
        .map(|edge| (edge.relationship, edge.destination.as_str()))
        .collect();
    expected.sort_unstable();
    expected.dedup();
    let mut statement = connection.prepare_cached(
        "SELECT relationship,destination FROM edge WHERE source=?1 AND aspect=?2 \
         ORDER BY relationship,destination",
    )?;
    let mut rows = statement.query((urn, aspect))?;
    let mut expected = expected.into_iter();
    while let Some(row) = rows.next()? {
        let stored = (row.get_ref(0)?, row.get_ref(1)?);
        if expected.next().map(|(a, b)| (a.into(), b.into())) != Some(stored) {
            return Ok(false);
        }
    }
    Ok(expected.next().is_none())
}

fn placement_matches(
    connection: &Connection,
    urn: &str,
    aspect: &str,
    derived: &Derived,
) -> Result<bool, EngineError> {
    let mut statement = connection.prepare_cached(
        "SELECT kind,parent,name,created_ms FROM placement WHERE urn=?1 AND aspect=?2",
    )?;
    let mut rows = statement.query((urn, aspect))?;
    Ok(match (rows.next()?, &derived.placement) {
        (None, None) => true,
        (Some(row), Some(placement)) => {
            row.get_ref(0)? == placement.kind.into()
                && row.get_ref(1)? == parent_text(placement.parent.as_ref()).into()
                && row.get_ref(2)? == placement.name.as_str().into()
                && row.get_ref(3)?.as_i64_or_null().ok() == Some(Some(placement.created_ms))
        }
        _ => false,
    })
}

/// Deletes the rows of an aspect.
pub(crate) fn remove(connection: &Connection, key: &AspectKey) -> Result<(), EngineError> {
    replace(
        connection,
        key.urn.as_str(),
        key.aspect.as_str(),
        &Derived::default(),
    )
    .map(drop)
}
