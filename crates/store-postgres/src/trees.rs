//! Statements on edges and placements.

use docent_model::{AspectName, Urn};
use docent_store::{ListPage, RelatedEntity};
use tokio_postgres::Row;

use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::read::{index_at, urn_prefixes};
use crate::values::{as_limit, aspect_name, parent_text, storable, urn_at, usize_at};

const EDGE: &str = "edge";
const PLACEMENT: &str = "placement";

/// An empty page is one row with the count alone.
pub(crate) const PLACEMENTS: &str = "SELECT t.total, p.urn \
     FROM (SELECT count(*) AS total FROM placement WHERE kind = $1 AND parent = $2) AS t \
     LEFT JOIN LATERAL (SELECT urn, created_ms FROM placement WHERE kind = $1 AND parent = $2 \
         ORDER BY created_ms DESC, urn LIMIT $3 OFFSET $4) AS p ON true \
     ORDER BY p.created_ms DESC, p.urn";

/// The ancestors of all entities, at most `$2` each; `path` stops at a cycle.
pub(crate) const ANCESTORS: &str = "WITH RECURSIVE chain (ordinal, step, parent, path) AS ( \
         SELECT k.ordinal, 1, p.parent, ARRAY[k.urn::text, p.parent::text] \
         FROM unnest($1::text[]) WITH ORDINALITY AS k (urn, ordinal) \
         JOIN LATERAL (SELECT parent FROM placement WHERE urn = k.urn LIMIT 1) AS p ON true \
         WHERE p.parent <> '' AND p.parent <> k.urn AND $2::bigint > 0 \
       UNION ALL \
         SELECT c.ordinal, c.step + 1, p.parent, c.path || p.parent::text \
         FROM chain AS c JOIN LATERAL (SELECT parent FROM placement WHERE urn = c.parent LIMIT 1) AS p ON true \
         WHERE c.step < $2 AND p.parent <> '' AND p.parent::text <> ALL (c.path) \
     ) SELECT ordinal, parent FROM chain ORDER BY ordinal, step";

/// A page of edges and their total for each entity, in either direction. `$5` are the prefixes of
/// excluded URNs.
macro_rules! edges {
    ($near:literal, $far:literal) => {
        concat!(
            "SELECT k.ordinal, t.total, e.relationship, e.far, e.aspect \
             FROM unnest($1::text[]) WITH ORDINALITY AS k (urn, ordinal) \
             CROSS JOIN LATERAL (SELECT count(*) AS total FROM edge WHERE ",
            $near,
            " = k.urn AND ($2::text[] IS NULL OR relationship = ANY ($2)) AND NOT ",
            $far,
            " ^@ ANY ($5::text[])) AS t \
             LEFT JOIN LATERAL (SELECT relationship, ",
            $far,
            " AS far, aspect FROM edge WHERE ",
            $near,
            " = k.urn AND ($2::text[] IS NULL OR relationship = ANY ($2)) AND NOT ",
            $far,
            " ^@ ANY ($5::text[]) ORDER BY relationship, ",
            $far,
            ", aspect LIMIT $3 OFFSET $4) AS e ON true \
             ORDER BY k.ordinal, e.relationship, e.far, e.aspect"
        )
    };
}

pub(crate) const EDGES_OUT: &str = edges!("source", "destination");
pub(crate) const EDGES_IN: &str = edges!("destination", "source");

pub(crate) const EDGES_INTO: &str = "SELECT relationship, source, aspect FROM edge \
     WHERE destination = $1 AND aspect = $2 ORDER BY relationship, source LIMIT $3";

pub(crate) const PARENT: &str = "SELECT parent FROM placement WHERE urn = $1 LIMIT 1";

/// Sorts in an outer query, so that the planner does not scan the index on URNs for the order.
pub(crate) const NAMED: &str = "SELECT urn FROM (SELECT urn FROM placement \
     WHERE kind = $1 AND parent = $2 AND md5(name) = md5($3) AND name = $3 OFFSET 0) AS named ORDER BY urn";

pub(crate) const CHILDREN: &str = "SELECT p.urn FROM unnest($2::text[]) AS k (parent) \
     CROSS JOIN LATERAL (SELECT urn FROM placement WHERE kind = $1 AND parent = k.parent OFFSET 0) AS p LIMIT $3";

pub(crate) async fn placements(
    connections: &Connections,
    kind: &str,
    parent: Option<&Urn>,
    start: usize,
    limit: usize,
) -> Result<ListPage<Urn>, EngineError> {
    let parent = parent_text(parent);
    let rows = connections
        .query(
            PLACEMENTS,
            &[&kind, &parent, &as_limit(limit), &as_limit(start)],
        )
        .await?;
    let mut page = ListPage {
        total: 0,
        items: Vec::new(),
    };
    for row in &rows {
        page.total = usize_at(row, 0)?;
        if row.try_get::<_, Option<&str>>(1)?.is_some() {
            page.items.push(urn_at(row, 1, PLACEMENT)?);
        }
    }
    Ok(page)
}

/// The ancestors of each entity, nearest first; stops at a cycle.
pub(crate) async fn ancestors(
    connections: &Connections,
    urns: &[Urn],
    max: usize,
) -> Result<Vec<Vec<Urn>>, EngineError> {
    let mut chains = vec![Vec::new(); urns.len()];
    if urns.is_empty() {
        return Ok(chains);
    }
    let texts: Vec<&str> = urns.iter().map(Urn::as_str).collect();
    let rows = connections
        .query(ANCESTORS, &[&texts, &as_limit(max)])
        .await?;
    for row in &rows {
        chains[index_at(row)?].push(urn_at(row, 1, PLACEMENT)?);
    }
    Ok(chains)
}

pub(crate) async fn edges(
    connections: &Connections,
    urns: &[Urn],
    outgoing: bool,
    relationships: &[&str],
    excluded_types: &[&str],
    start: usize,
    limit: usize,
) -> Result<Vec<ListPage<RelatedEntity>>, EngineError> {
    let empty = ListPage {
        total: 0,
        items: Vec::new(),
    };
    let mut pages = vec![empty; urns.len()];
    if urns.is_empty() {
        return Ok(pages);
    }
    let sql = if outgoing { EDGES_OUT } else { EDGES_IN };
    let texts: Vec<&str> = urns.iter().map(Urn::as_str).collect();
    let relationships = (!relationships.is_empty()).then_some(relationships);
    let (limit, start) = (as_limit(limit), as_limit(start));
    let excluded = urn_prefixes(excluded_types);
    let rows = connections
        .query(sql, &[&texts, &relationships, &limit, &start, &excluded])
        .await?;
    for row in &rows {
        let page = &mut pages[index_at(row)?];
        page.total = usize_at(row, 1)?;
        if row.try_get::<_, Option<&str>>(2)?.is_some() {
            page.items.extend(related_at(row, 2)?);
        }
    }
    Ok(pages)
}

/// Edges to `destination` from one aspect.
pub(crate) async fn edges_into(
    lease: &Lease,
    destination: &Urn,
    aspect: AspectName,
    limit: usize,
) -> Result<Vec<RelatedEntity>, EngineError> {
    let (destination, aspect) = (destination.as_str(), aspect.as_str());
    let rows = lease
        .query(EDGES_INTO, &[&destination, &aspect, &as_limit(limit)])
        .await?;
    let mut related = Vec::new();
    for row in &rows {
        related.extend(related_at(row, 0)?);
    }
    Ok(related)
}

/// `None` if the entity has no placement, `Some(None)` if it is a root.
pub(crate) async fn parent(lease: &Lease, urn: &Urn) -> Result<Option<Option<Urn>>, EngineError> {
    let rows = lease.query(PARENT, &[&urn.as_str()]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    if row.try_get::<_, &str>(0)?.is_empty() {
        return Ok(Some(None));
    }
    Ok(Some(Some(urn_at(row, 0, PLACEMENT)?)))
}

pub(crate) async fn named(
    lease: &Lease,
    kind: &str,
    parent: Option<&Urn>,
    name: &str,
) -> Result<Vec<Urn>, EngineError> {
    let rows = lease
        .query(NAMED, &[&kind, &parent_text(parent), &storable(name)])
        .await?;
    rows.iter().map(|row| urn_at(row, 0, PLACEMENT)).collect()
}

pub(crate) async fn children(
    lease: &Lease,
    kind: &str,
    parents: &[Urn],
    limit: usize,
) -> Result<Vec<Urn>, EngineError> {
    let parents: Vec<&str> = parents.iter().map(Urn::as_str).collect();
    let rows = lease
        .query(CHILDREN, &[&kind, &parents, &as_limit(limit)])
        .await?;
    rows.iter().map(|row| urn_at(row, 0, PLACEMENT)).collect()
}

/// Reads three columns from `first` on; `None` if the aspect is not in the registry.
fn related_at(row: &Row, first: usize) -> Result<Option<RelatedEntity>, EngineError> {
    let Some(aspect) = aspect_name(row, first + 2)? else {
        return Ok(None);
    };
    Ok(Some(RelatedEntity {
        relationship: row.try_get(first)?,
        urn: urn_at(row, first + 1, EDGE)?,
        aspect,
    }))
}
