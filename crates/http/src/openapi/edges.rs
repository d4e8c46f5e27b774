//! Edges between entities, page after page: what the scrolls over relationships and over lineage have in common.

use std::collections::{HashSet, VecDeque};

use axum::response::Response;
use docent_catalog::search::{MAX_COUNT, whole};
use docent_catalog::{Caller, Error};
use docent_model::{AspectName, EntitySpec, Urn};
use serde_json::{Value, json};

use super::refuse_slices;
use crate::AppState;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::restli::json as reply;

const DEFAULT_COUNT: usize = 10;
/// How many edges of one entity, and how many entities, are looked at in one go.
const CHUNK: usize = 1000;
/// How many edges one request looks through for those that it wants; a page may then be shorter than asked for.
const MAX_LOOKED_AT: usize = 20_000;

/// Whose edges are looked at.
pub(super) enum Anchors {
    /// Those that begin at an entity, or those that lead to it.
    Named(Vec<(Urn, bool)>),
    /// All that begin at entities of these types.
    Types(Vec<&'static EntitySpec>),
}

/// One edge that was found.
pub(super) struct Edge<'a> {
    pub(super) relationship: &'a str,
    /// The aspect of the source that says so.
    pub(super) aspect: AspectName,
    pub(super) source: &'a Urn,
    pub(super) destination: &'a Urn,
    /// Whether it was found at its source.
    pub(super) outgoing: bool,
}

impl Edge<'_> {
    pub(super) fn shown(&self) -> Value {
        let end = |urn: &Urn| json!({"urn": urn, "entityType": urn.entity_type()});
        json!({
            "relationshipType": self.relationship,
            "source": end(self.source),
            "destination": end(self.destination),
        })
    }
}

/// How an edge is shown; `None` if it is not wanted.
pub(super) type Show = dyn Fn(&Edge<'_>) -> Option<Value> + Send + Sync;

/// Where the next page begins: at which of the names or types, behind which entity of the type, and behind how many of the
/// edges that come then.
#[derive(Clone)]
struct Mark {
    at: usize,
    edge: usize,
    after: Option<Urn>,
}

impl Mark {
    fn read(parameters: &Parameters) -> Result<Self, ErrorResponse> {
        match parameters.get("scrollId").filter(|mark| !mark.is_empty()) {
            None => Ok(Self {
                at: 0,
                edge: 0,
                after: None,
            }),
            Some(text) => Self::parse(text).ok_or_else(|| {
                ErrorResponse::bad_request(format!(
                    "scrollId '{text}' is none that this call gave: send the one of the page before"
                ))
            }),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let (at, edge) = (number()?, number()?);
        let after = parts.next().map(Urn::parse).transpose().ok()?;
        Some(Self {
            at: at as usize,
            edge: edge as usize,
            after,
        })
    }

    fn text(&self) -> String {
        let Self { at, edge, after } = self;
        match after {
            None => format!("{at}-{edge}"),
            Some(urn) => format!("{at}-{edge}-{urn}"),
        }
    }
}

pub(super) struct Walk<'a> {
    pub(super) state: &'a AppState,
    pub(super) caller: &'a Caller,
    pub(super) anchors: Anchors,
    /// Names of relationships; none means all.
    pub(super) names: Vec<String>,
    pub(super) show: Box<Show>,
}

impl Walk<'_> {
    /// Answers with the page that the parameters ask for.
    pub(super) async fn reply(&self, parameters: &Parameters) -> Result<Response, ErrorResponse> {
        refuse_slices(parameters)?;
        let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
        if count > MAX_COUNT {
            return Err(ErrorResponse::bad_request(format!(
                "count is {count}: at most {MAX_COUNT} are given at once, use scrollId for the next page"
            )));
        }
        let include_removed = parameters.flag("includeSoftDelete")?;
        let mark = Mark::read(parameters)?;
        let (edges, next) = self.page(mark, count, include_removed).await?;
        Ok(reply(&json!({
            "results": edges,
            "scrollId": next.map(|mark| mark.text()),
        })))
    }

    /// A page behind a mark, and where the next one begins.
    async fn page(
        &self,
        mut mark: Mark,
        count: usize,
        include_removed: bool,
    ) -> Result<(Vec<Value>, Option<Mark>), ErrorResponse> {
        let catalog = self.state.catalog();
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut edges = Vec::new();
        let mut looked_at = 0;
        let mut ahead = VecDeque::new();
        while let Some((urn, outgoing)) = self.anchor(&mut mark, &mut ahead).await? {
            if edges.len() >= count || looked_at >= MAX_LOOKED_AT {
                return Ok((edges, Some(mark)));
            }
            let page = catalog
                .relationships(
                    self.caller,
                    std::slice::from_ref(&urn),
                    outgoing,
                    &names,
                    mark.edge,
                    CHUNK,
                )
                .await?
                .pop()
                .map_or_else(Vec::new, |page| page.items);
            looked_at += page.len().max(1);
            let more = page.len() == CHUNK;
            let removed = if include_removed || page.is_empty() {
                HashSet::new()
            } else {
                let ends = page.iter().map(|related| &related.urn).chain([&urn]);
                catalog.soft_deleted(self.caller, ends).await?
            };
            let mut whole_chunk = true;
            for related in page {
                if edges.len() >= count {
                    whole_chunk = false;
                    break;
                }
                mark.edge += 1;
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
                    edges.extend((self.show)(&edge));
                }
            }
            if whole_chunk && !more {
                self.pass(&mut mark, &mut ahead);
            }
        }
        Ok((edges, None))
    }

    /// The entity that the mark stands before, and which of its edges are meant; `None` behind the last one.
    async fn anchor(
        &self,
        mark: &mut Mark,
        ahead: &mut VecDeque<Urn>,
    ) -> Result<Option<(Urn, bool)>, Error> {
        let types = match &self.anchors {
            Anchors::Named(names) => return Ok(names.get(mark.at).cloned()),
            Anchors::Types(types) => types,
        };
        while let (None, Some(entity)) = (ahead.front(), types.get(mark.at)) {
            let catalog = self.state.catalog();
            let behind = catalog.urns_behind(self.caller, entity, mark.after.as_ref(), CHUNK);
            ahead.extend(behind.await?);
            if ahead.is_empty() {
                *mark = Mark {
                    at: mark.at + 1,
                    edge: 0,
                    after: None,
                };
            }
        }
        Ok(ahead.front().map(|urn| (urn.clone(), true)))
    }

    /// Leaves an entity behind whose edges have all been looked at.
    fn pass(&self, mark: &mut Mark, ahead: &mut VecDeque<Urn>) {
        mark.edge = 0;
        match &self.anchors {
            Anchors::Named(_) => mark.at += 1,
            Anchors::Types(_) => mark.after = ahead.pop_front(),
        }
    }
}
