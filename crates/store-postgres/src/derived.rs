//! Compares stored derived rows with those that follow from the aspects, for rebuild and check.

use docent_model::Derived;

use crate::error::EngineError;
use crate::pool::Lease;
use crate::read::index_at;
use crate::values::{parent_text, storable};

const EDGES: &str = "SELECT k.ordinal, e.relationship, e.destination \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
     JOIN edge e ON e.source = k.urn AND e.aspect = k.aspect \
     ORDER BY k.ordinal, e.relationship, e.destination";

const PLACEMENTS: &str = "SELECT k.ordinal, p.kind, p.parent, p.name, p.created_ms \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
     JOIN placement p ON p.urn = k.urn AND p.aspect = k.aspect";

/// A table of derived rows.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// Selects the keys of derived rows whose aspect does not exist.
    pub(crate) find_orphans: &'static str,
    pub(crate) delete_orphans: &'static str,
}

macro_rules! orphans {
    ($begin:literal, $table:literal, $owner:literal) => {
        concat!(
            $begin,
            " FROM ",
            $table,
            " WHERE NOT EXISTS (SELECT 1 FROM metadata_aspect_v2 AS a WHERE a.urn = ",
            $table,
            ".",
            $owner,
            " AND a.aspect = ",
            $table,
            ".aspect AND a.version = 0)"
        )
    };
}

pub(crate) const TABLES: [Table; 2] = [
    Table {
        name: "edge",
        find_orphans: orphans!("SELECT DISTINCT source, aspect", "edge", "source"),
        delete_orphans: orphans!("DELETE", "edge", "source"),
    },
    Table {
        name: "placement",
        find_orphans: orphans!("SELECT DISTINCT urn, aspect", "placement", "urn"),
        delete_orphans: orphans!("DELETE", "placement", "urn"),
    },
];

/// The derived rows that follow from an aspect.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) urn: String,
    pub(crate) aspect: String,
    pub(crate) derived: Derived,
}

/// Returns for each aspect whether its stored rows differ from the expected ones.
pub(crate) async fn differ(lease: &Lease, expected: &[Expected]) -> Result<Vec<bool>, EngineError> {
    let urns: Vec<&str> = expected.iter().map(|it| it.urn.as_str()).collect();
    let aspects: Vec<&str> = expected.iter().map(|it| it.aspect.as_str()).collect();
    let mut edges: Vec<Vec<(String, String)>> = vec![Vec::new(); expected.len()];
    for row in &lease.query(EDGES, &[&urns, &aspects]).await? {
        edges[index_at(row)?].push((row.try_get(1)?, row.try_get(2)?));
    }
    let mut placements: Vec<Option<(String, String, String, i64)>> = vec![None; expected.len()];
    for row in &lease.query(PLACEMENTS, &[&urns, &aspects]).await? {
        placements[index_at(row)?] = Some((
            row.try_get(1)?,
            row.try_get(2)?,
            row.try_get(3)?,
            row.try_get(4)?,
        ));
    }
    let matches = |derived: &Derived, edges: &[(String, String)], placement: &Option<_>| {
        // The query returns each edge once, in this order.
        let mut expected_edges: Vec<(&str, &str)> = derived
            .edges
            .iter()
            .map(|edge| (edge.relationship, edge.destination.as_str()))
            .collect();
        expected_edges.sort_unstable();
        expected_edges.dedup();
        let stored = edges
            .iter()
            .map(|(relationship, destination)| (relationship.as_str(), destination.as_str()));
        let expected_placement = derived.placement.as_ref().map(|it| {
            (
                it.kind.to_owned(),
                parent_text(it.parent.as_ref()).to_owned(),
                storable(&it.name),
                it.created_ms,
            )
        });
        stored.eq(expected_edges) && *placement == expected_placement
    };
    Ok(expected
        .iter()
        .zip(edges.iter().zip(&placements))
        .map(|(it, (edges, placement))| !matches(&it.derived, edges, placement))
        .collect())
}
