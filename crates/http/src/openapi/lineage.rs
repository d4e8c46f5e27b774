//! `POST /openapi/v3/lineage/scroll`: edges along which data flows, at given entities or at all of them, page after page.

use std::collections::HashSet;

use axum::extract::State;
use axum::response::Response;
use docent_model::{LineageDirection, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::edges::{Anchors, Edge, Walk};
use super::{MAX_URNS, parse_body, too_many};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::restli::parse_urn;

#[derive(Deserialize, Default)]
#[serde(expecting = "an object with urns")]
struct Wanted {
    urns: Option<Vec<String>>,
}

/// The edges that are wanted.
struct Flow {
    /// Either end is among them; if there are none, all edges are wanted.
    urns: HashSet<Urn>,
    /// As seen from those.
    direction: Option<LineageDirection>,
}

impl Flow {
    fn show(&self, edge: &Edge<'_>) -> Option<Value> {
        let registry = Registry::get();
        let ends_at = edge.destination.entity_type();
        let leads = registry.lineage(edge.aspect, edge.relationship, ends_at)?;
        let (upstream, downstream) = match leads {
            LineageDirection::Upstream => (edge.destination, edge.source),
            LineageDirection::Downstream => (edge.source, edge.destination),
        };
        let goes_the_way = match self.direction {
            Some(LineageDirection::Upstream) => self.urns.contains(downstream),
            Some(LineageDirection::Downstream) => self.urns.contains(upstream),
            None => true,
        };
        // An edge between two of them is shown where it begins.
        let is_second = !edge.outgoing && self.urns.contains(edge.source);
        if is_second || !(goes_the_way || self.urns.is_empty()) {
            return None;
        }
        let mut shown = edge.shown();
        shown["upstream"] = json!(upstream);
        shown["downstream"] = json!(downstream);
        Some(shown)
    }
}

pub(crate) async fn scroll(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let wanted: Wanted = parse_body(&bytes)?;
    let texts = wanted.urns.unwrap_or_default();
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
    let flow = Flow {
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
    let walk = Walk {
        state: &state,
        caller: &caller,
        anchors,
        names,
        show: Box::new(move |edge| flow.show(edge)),
    };
    walk.reply(&parameters).await
}
