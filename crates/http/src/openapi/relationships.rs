//! `POST /openapi/v3/relationship/scroll`: edges from or to given entities, or all of them, page after page.

use axum::extract::State;
use axum::response::Response;
use docent_catalog::search::{Filter, Operator};
use docent_model::{Registry, Urn};
use serde::Deserialize;

use super::edges::{Anchors, Walk};
use super::{MAX_URNS, parse_body, too_many};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::query::Parameters;
use crate::restli::parse_urn;

#[derive(Deserialize, Default)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object with sourceFilter or destinationFilter"
)]
struct Wanted {
    source_filter: Option<WireFilter>,
    destination_filter: Option<WireFilter>,
    edge_filter: Option<WireFilter>,
}

/// One end of the edges that are wanted.
struct End {
    urns: Option<Vec<Urn>>,
    types: Vec<String>,
}

impl End {
    fn admits(&self, urn: &Urn) -> bool {
        let named = self.urns.as_ref().is_none_or(|urns| urns.contains(urn));
        named && self.admits_type(urn.entity_type())
    }

    fn admits_type(&self, name: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|wanted| wanted == name)
    }
}

pub(crate) async fn scroll(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let wanted: Wanted = parse_body(&bytes)?;
    if wanted.edge_filter.is_some() {
        return Err(ErrorResponse::bad_request(
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
            return Err(ErrorResponse::bad_request(format!(
                "direction is '{other}': use OUTGOING or INCOMING"
            )));
        }
    }
    let all = |urns: &[Urn], outgoing| {
        let anchors = urns.iter().map(|urn| (urn.clone(), outgoing));
        Anchors::Named(anchors.collect())
    };
    let anchors = match (&source.urns, &destination.urns) {
        (Some(urns), _) => all(urns, true),
        (None, Some(urns)) => all(urns, false),
        (None, None) => {
            let types = Registry::get().entities();
            Anchors::Types(
                types
                    .filter(|entity| source.admits_type(entity.name))
                    .collect(),
            )
        }
    };
    let walk = Walk {
        state: &state,
        caller: &caller,
        anchors,
        names: parameters.all("relationshipTypes"),
        show: Box::new(move |edge| {
            let is_wanted = source.admits(edge.source) && destination.admits(edge.destination);
            is_wanted.then(|| edge.shown())
        }),
    };
    walk.reply(&parameters).await
}

/// The URNs that a filter names. Edges are stored by their ends, so only those can be asked for.
fn urns(filter: Option<WireFilter>, name: &str) -> Result<Option<Vec<Urn>>, ErrorResponse> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let Filter { any } = filter.read()?;
    let refused = || {
        ErrorResponse::bad_request(format!(
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
        return Err(too_many(name, urns.len()));
    }
    Ok(Some(urns).filter(|_| !any.is_empty()))
}
