//! `POST /openapi/v3/lineage/scroll`: scrolls through lineage edges, of the given entities or of
//! all.

use std::collections::HashSet;

use axum::response::Response;
use docent_model::{LineageDirection, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::edges::{Anchors, Edge, EdgeScroll};
use super::{MAX_URNS, too_many};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::wire::{parse_optional, parse_urn};

#[derive(Deserialize, Default)]
#[serde(expecting = "an object with urns")]
struct LineageInput {
    urns: Option<Vec<String>>,
}

/// Selects lineage edges.
struct LineageFilter {
    /// One end of the edge is one of these; empty selects all edges.
    urns: HashSet<Urn>,
    /// As seen from `urns`.
    direction: Option<LineageDirection>,
}

impl LineageFilter {
    fn render(&self, edge: &Edge<'_>) -> Option<Value> {
        let registry = Registry::get();
        let ends_at = edge.destination.entity_type();
        let leads = registry.lineage(edge.aspect, edge.relationship, ends_at)?;
        let (upstream, downstream) = match leads {
            LineageDirection::Upstream => (edge.destination, edge.source),
            LineageDirection::Downstream => (edge.source, edge.destination),
        };
        let has_direction = match self.direction {
            Some(LineageDirection::Upstream) => self.urns.contains(downstream),
            Some(LineageDirection::Downstream) => self.urns.contains(upstream),
            None => true,
        };
        // An edge between two of the entities is rendered once, at its source.
        let is_duplicate = !edge.outgoing && self.urns.contains(edge.source);
        if is_duplicate || !(has_direction || self.urns.is_empty()) {
            return None;
        }
        let mut value = edge.to_json();
        value["upstream"] = json!(upstream);
        value["downstream"] = json!(downstream);
        Some(value)
    }
}

pub(crate) async fn scroll(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let input: LineageInput = parse_optional(&bytes).await?;
    let texts = input.urns.unwrap_or_default();
    if texts.len() > MAX_URNS {
        return Err(too_many("urns", texts.len()));
    }
    let mut urns = texts
        .iter()
        .map(|text| parse_urn(text))
        .collect::<Result<Vec<Urn>, _>>()?;
    urns.sort_unstable();
    urns.dedup();
    let direction = match parameters.get("direction") {
        None => None,
        Some("UPSTREAM") => Some(LineageDirection::Upstream),
        Some("DOWNSTREAM") => Some(LineageDirection::Downstream),
        Some(other) => {
            return Err(ErrorResponse::bad_request(format!(
                "direction is '{other}': use UPSTREAM or DOWNSTREAM"
            )));
        }
    };
    let registry = Registry::get();
    let mut names = parameters.all("relationshipTypes");
    if names.is_empty() {
        let directions = [LineageDirection::Upstream, LineageDirection::Downstream];
        let all = directions
            .iter()
            .flat_map(|it| registry.lineage_relationships(*it));
        names = all.map(|name| (*name).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
    }
    let filter = LineageFilter {
        urns: urns.iter().cloned().collect(),
        direction,
    };
    let anchors = if urns.is_empty() {
        let types = registry.entities();
        Anchors::Types(
            types
                .filter(|entity| registry.has_lineage(entity))
                .collect(),
        )
    } else {
        let both = |urn: Urn| [(urn.clone(), true), (urn, false)];
        Anchors::Named(urns.into_iter().flat_map(both).collect())
    };
    let scroll = EdgeScroll {
        state: &state,
        anchors,
        names,
        render: Box::new(move |edge| filter.render(edge)),
    };
    scroll.reply(&parameters).await
}
