//! Scrolls through edges between entities, for the relationship and lineage endpoints.

use std::collections::{HashSet, VecDeque};

use axum::response::Response;
use docent_catalog::Error;
use docent_catalog::search::{MAX_COUNT, whole};
use docent_model::{AspectName, EntitySpec, Urn};
use serde_json::{Value, json};

use super::reject_slices;
use crate::AppState;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::reply;

const DEFAULT_COUNT: usize = 10;
/// How many edges of an entity, or entities, are read at once.
const CHUNK: usize = 1000;
/// How many edges one request examines. After that the page ends, even if it is shorter than
/// requested.
const MAX_EXAMINED: usize = 20_000;

/// The entities whose edges are read.
pub(super) enum Anchors {
    /// For each entity its outgoing edges (`true`) or its incoming ones.
    Named(Vec<(Urn, bool)>),
    /// The outgoing edges of all entities of these types.
    Types(Vec<&'static EntitySpec>),
}

pub(super) struct Edge<'a> {
    pub(super) relationship: &'a str,
    /// The aspect of the source that has the edge.
    pub(super) aspect: AspectName,
    pub(super) source: &'a Urn,
    pub(super) destination: &'a Urn,
    /// Whether it was read from its source.
    pub(super) outgoing: bool,
}

impl Edge<'_> {
    pub(super) fn to_json(&self) -> Value {
        let end = |urn: &Urn| json!({"urn": urn, "entityType": urn.entity_type()});
        json!({
            "relationshipType": self.relationship,
            "source": end(self.source),
            "destination": end(self.destination),
        })
    }
}

/// Renders an edge; `None` filters it out.
pub(super) type Render = dyn Fn(&Edge<'_>) -> Option<Value> + Send + Sync;

/// The start of a page, which clients get as `scrollId`.
#[derive(Clone)]
struct Cursor {
    /// The index in [`Anchors`].
    anchor: usize,
    /// How many edges of the entity earlier pages had.
    edge: usize,
    /// The last complete entity of the type.
    after: Option<Urn>,
}

impl Cursor {
    fn read(parameters: &Parameters) -> Result<Self, ErrorResponse> {
        match parameters.get("scrollId").filter(|text| !text.is_empty()) {
            None => Ok(Self {
                anchor: 0,
                edge: 0,
                after: None,
            }),
            Some(text) => Self::parse(text).ok_or_else(|| {
                ErrorResponse::bad_request(format!(
                    "scrollId '{text}' is invalid: send the one of the previous page"
                ))
            }),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (anchor, edge) = (number()?, number()?);
        let after = parts.next().map(Urn::parse).transpose().ok()?;
        Some(Self {
            anchor: usize::try_from(anchor).ok()?,
            edge: usize::try_from(edge).ok()?,
            after,
        })
    }

    fn text(&self) -> String {
        let Self {
            anchor,
            edge,
            after,
        } = self;
        match after {
            None => format!("{anchor}-{edge}"),
            Some(urn) => format!("{anchor}-{edge}-{urn}"),
        }
    }
}

pub(super) struct EdgeScroll<'a> {
    pub(super) state: &'a AppState,
    pub(super) anchors: Anchors,
    /// Relationship names; empty means all.
    pub(super) names: Vec<String>,
    pub(super) render: Box<Render>,
}

impl EdgeScroll<'_> {
    /// The page that the parameters request.
    pub(super) async fn reply(&self, parameters: &Parameters) -> Result<Response, ErrorResponse> {
        reject_slices(parameters)?;
        let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
        if count > MAX_COUNT {
            return Err(ErrorResponse::bad_request(format!(
                "count is {count}: at most {MAX_COUNT} are allowed, use scrollId for the next page"
            )));
        }
        let include_removed = parameters.flag("includeSoftDelete")?;
        let cursor = Cursor::read(parameters)?;
        let (edges, next) = self.page(cursor, count, include_removed).await?;
        Ok(reply(&json!({
            "results": edges,
            "scrollId": next.map(|cursor| cursor.text()),
        })))
    }

    /// A page, and the cursor of the next one.
    async fn page(
        &self,
        mut cursor: Cursor,
        count: usize,
        include_removed: bool,
    ) -> Result<(Vec<Value>, Option<Cursor>), ErrorResponse> {
        let catalog = self.state.catalog();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut edges = Vec::new();
        let mut examined = 0;
        let mut entities = VecDeque::new();
        while let Some((urn, outgoing)) = self.anchor(&mut cursor, &mut entities).await? {
            if edges.len() >= count || examined >= MAX_EXAMINED {
                return Ok((edges, Some(cursor)));
            }
            let page = catalog
                .relationships(
                    std::slice::from_ref(&urn),
                    outgoing,
                    &names,
                    cursor.edge,
                    CHUNK,
                )
                .await?
                .pop()
                .map_or_else(Vec::new, |page| page.items);
            examined += page.len().max(1);
            let has_more = page.len() == CHUNK;
            let removed = if include_removed || page.is_empty() {
                HashSet::new()
            } else {
                let ends = page.iter().map(|related| &related.urn).chain([&urn]);
                catalog.soft_deleted(ends).await?
            };
            let mut is_chunk_done = true;
            for related in page {
                if edges.len() >= count {
                    is_chunk_done = false;
                    break;
                }
                cursor.edge += 1;
                let (source, destination) = if outgoing {
                    (&urn, &related.urn)
                } else {
                    (&related.urn, &urn)
                };
                let edge = Edge {
                    relationship: &related.relationship,
                    aspect: related.aspect,
                    source,
                    destination,
                    outgoing,
                };
                if !removed.contains(source) && !removed.contains(destination) {
                    edges.extend((self.render)(&edge));
                }
            }
            if is_chunk_done && !has_more {
                self.advance(&mut cursor, &mut entities);
            }
        }
        Ok((edges, None))
    }

    /// The entity at the cursor, and whether its outgoing edges are read; `None` at the end. Reads
    /// entities of a type ahead in chunks.
    async fn anchor(
        &self,
        cursor: &mut Cursor,
        entities: &mut VecDeque<Urn>,
    ) -> Result<Option<(Urn, bool)>, Error> {
        let types = match &self.anchors {
            Anchors::Named(names) => return Ok(names.get(cursor.anchor).cloned()),
            Anchors::Types(types) => types,
        };
        while let (None, Some(entity)) = (entities.front(), types.get(cursor.anchor)) {
            let catalog = self.state.catalog();
            let next = catalog.urns_behind(entity, cursor.after.as_ref(), CHUNK);
            entities.extend(next.await?);
            if entities.is_empty() {
                *cursor = Cursor {
                    anchor: cursor.anchor + 1,
                    edge: 0,
                    after: None,
                };
            }
        }
        Ok(entities.front().map(|urn| (urn.clone(), true)))
    }

    /// Moves past an entity whose edges have all been read.
    fn advance(&self, cursor: &mut Cursor, entities: &mut VecDeque<Urn>) {
        cursor.edge = 0;
        match &self.anchors {
            Anchors::Named(_) => cursor.anchor += 1,
            Anchors::Types(_) => cursor.after = entities.pop_front(),
        }
    }
}
