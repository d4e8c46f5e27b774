//! `POST /openapi/v3/relationship/scroll`: edges from or to given entities, page after page.

use std::collections::{BTreeSet, HashSet};

use axum::extract::State;
use axum::response::Response;
use docent_catalog::search::{Filter, MAX_COUNT, Operator, whole};
use docent_catalog::{AspectKey, Caller, Error};
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{parse_body, refuse_slices};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::Refusal;
use crate::filter::OpenApiFilter;
use crate::query::Parameters;
use crate::restli::{json as reply, parse_urn};

const DEFAULT_COUNT: usize = 10;
/// How many edges of one entity are looked at in one go.
const CHUNK: usize = 1000;
/// How many edges one request looks through for those that it wants; a page may then be shorter than asked for.
const MAX_LOOKED_AT: usize = 20_000;
const MAX_URNS: usize = 1000;

#[derive(Deserialize, Default)]
#[serde(
    rename_all = "camelCase",
    expecting = "an object with sourceFilter or destinationFilter"
)]
struct Wanted {
    source_filter: Option<OpenApiFilter>,
    destination_filter: Option<OpenApiFilter>,
    edge_filter: Option<OpenApiFilter>,
}

/// One end of the edges that are wanted.
struct End {
    urns: Option<Vec<Urn>>,
    types: Vec<String>,
}

impl End {
    fn admits(&self, urn: &Urn) -> bool {
        let named = self.urns.as_ref().is_none_or(|urns| urns.contains(urn));
        let types = &self.types;
        named && (types.is_empty() || types.iter().any(|name| name == urn.entity_type()))
    }
}

/// Where the next page begins: which of the entities, and behind how many of its edges.
#[derive(Clone, Copy)]
struct Mark {
    entity: usize,
    edge: usize,
}

impl Mark {
    fn parse(text: &str) -> Option<Self> {
        let (entity, edge) = text.split_once('-')?;
        Some(Self {
            entity: entity.parse::<u32>().ok()? as usize,
            edge: edge.parse::<u32>().ok()? as usize,
        })
    }
}

pub(crate) async fn scroll(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    WholeBody(bytes): WholeBody,
) -> Result<Response, Refusal> {
    refuse_slices(&parameters)?;
    let wanted: Wanted = parse_body(&bytes)?;
    if wanted.edge_filter.is_some() {
        return Err(Refusal::bad_request(
            "edges cannot be filtered by their own properties: leave edgeFilter out",
        ));
    }
    let mut source = End {
        urns: urns(wanted.source_filter, "sourceFilter")?,
        types: parameters.all("sourceTypes"),
    };
    let mut destination = End {
        urns: urns(wanted.destination_filter, "destinationFilter")?,
        types: parameters.all("destinationTypes"),
    };
    match parameters.get("direction").unwrap_or("OUTGOING") {
        "OUTGOING" => {}
        // Seen from the other end.
        "INCOMING" => std::mem::swap(&mut source, &mut destination),
        other => {
            return Err(Refusal::bad_request(format!(
                "direction is '{other}': use OUTGOING or INCOMING"
            )));
        }
    }
    let count = whole("count", parameters.number("count")?, DEFAULT_COUNT)?;
    if count > MAX_COUNT {
        return Err(Refusal::bad_request(format!(
            "count is {count}: at most {MAX_COUNT} are given at once, use scrollId for the next page"
        )));
    }
    let mark = match parameters.get("scrollId").filter(|mark| !mark.is_empty()) {
        None => Mark { entity: 0, edge: 0 },
        Some(text) => Mark::parse(text).ok_or_else(|| {
            Refusal::bad_request(format!(
                "scrollId '{text}' is none that this call gave: send the one of the page before"
            ))
        })?,
    };
    let walk = Walk {
        state: &state,
        caller: &caller,
        names: parameters.all("relationshipTypes"),
        include_removed: parameters.flag("includeSoftDelete")?,
        count,
        source,
        destination,
    };
    let (edges, next) = walk.page(mark).await?;
    Ok(reply(&json!({
        "results": edges,
        "scrollId": next.map(|mark| format!("{}-{}", mark.entity, mark.edge)),
    })))
}

/// The URNs that a filter names. Edges are stored by their ends, so only those can be asked for.
fn urns(filter: Option<OpenApiFilter>, name: &str) -> Result<Option<Vec<Urn>>, Refusal> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let Filter { any } = filter.read()?;
    let refused = || {
        Refusal::bad_request(format!(
            "{name} can only name URNs: {{\"and\": [{{\"criteria\": [{{\"field\": \"urn\", \"values\": [\"urn:li:…\"]}}]}}]}}"
        ))
    };
    let mut urns = Vec::new();
    for alternative in &any {
        let [criterion] = alternative.as_slice() else {
            return Err(refused());
        };
        let by_urn = criterion.field == "urn" && criterion.operator == Operator::Equal;
        if !by_urn || criterion.negated {
            return Err(refused());
        }
        for text in &criterion.values {
            urns.push(parse_urn(text)?);
        }
    }
    if urns.len() > MAX_URNS {
        return Err(Refusal::bad_request(format!(
            "{name} has {} URNs: at most {MAX_URNS} can be asked for at once",
            urns.len()
        )));
    }
    Ok(Some(urns).filter(|_| !any.is_empty()))
}

struct Walk<'a> {
    state: &'a AppState,
    caller: &'a Caller,
    names: Vec<String>,
    include_removed: bool,
    count: usize,
    source: End,
    destination: End,
}

impl Walk<'_> {
    /// A page behind a mark, and where the next one begins.
    async fn page(&self, mut mark: Mark) -> Result<(Vec<Value>, Option<Mark>), Refusal> {
        let (from, outgoing) = match (&self.source.urns, &self.destination.urns) {
            (Some(urns), _) => (urns, true),
            (None, Some(urns)) => (urns, false),
            (None, None) => {
                return Err(Refusal::bad_request(
                    "say whose relationships you want: name URNs in sourceFilter or destinationFilter",
                ));
            }
        };
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let mut edges = Vec::new();
        let mut looked_at = 0;
        while let Some(urn) = from.get(mark.entity) {
            if edges.len() >= self.count || looked_at >= MAX_LOOKED_AT {
                return Ok((edges, Some(mark)));
            }
            let page = self
                .state
                .catalog()
                .relationships(
                    self.caller,
                    std::slice::from_ref(urn),
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
            let removed = self
                .removed(page.iter().map(|related| &related.urn).chain([urn]))
                .await?;
            let mut whole_chunk = true;
            for related in page {
                if edges.len() >= self.count {
                    whole_chunk = false;
                    break;
                }
                mark.edge += 1;
                let (source, destination) = if outgoing {
                    (urn, &related.urn)
                } else {
                    (&related.urn, urn)
                };
                let there = !removed.contains(source) && !removed.contains(destination);
                if there && self.source.admits(source) && self.destination.admits(destination) {
                    edges.push(edge(&related.relationship, source, destination));
                }
            }
            if whole_chunk && !more {
                mark = Mark {
                    entity: mark.entity + 1,
                    edge: 0,
                };
            }
        }
        Ok((edges, None))
    }

    /// Those that are removed, unless that does not matter.
    async fn removed<'u>(
        &self,
        urns: impl Iterator<Item = &'u Urn>,
    ) -> Result<HashSet<Urn>, Error> {
        if self.include_removed {
            return Ok(HashSet::new());
        }
        let urns: BTreeSet<&Urn> = urns.collect();
        let keys: Vec<AspectKey> = urns
            .into_iter()
            .map(|urn| AspectKey::new(urn, AspectName::STATUS))
            .collect();
        let rows = self.state.catalog().read(self.caller, &keys).await?;
        let is_removed = |text: &str| {
            let status: Value = serde_json::from_str(text).unwrap_or_default();
            status["removed"] == true
        };
        Ok(keys
            .into_iter()
            .zip(rows)
            .filter(|(_, row)| row.as_deref().is_some_and(|row| is_removed(&row.metadata)))
            .map(|(key, _)| key.urn)
            .collect())
    }
}

fn edge(name: &str, source: &Urn, destination: &Urn) -> Value {
    let end = |urn: &Urn| json!({"urn": urn, "entityType": urn.entity_type()});
    json!({
        "relationshipType": name,
        "source": end(source),
        "destination": end(destination),
    })
}
