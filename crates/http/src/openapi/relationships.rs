//! `/openapi/v3/relationship`: scrolls through edges, of the given entities or of all. The same
//! paths of version 2 have the same format.

use axum::response::Response;
use docent_catalog::search::{Filter, Operator};
use docent_model::{Registry, Urn};
use serde::Deserialize;

use super::address::Kind;
use super::edges::{Anchors, EdgeScroll};
use super::{MAX_URNS, too_many};
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::error::ErrorResponse;
use crate::filter::WireFilter;
use crate::query::{Parameters, Path};
use crate::wire::{parse_optional, parse_urn};

#[derive(Deserialize, Default)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object with sourceFilter or destinationFilter"
)]
struct RelationshipInput {
    source_filter: Option<WireFilter>,
    destination_filter: Option<WireFilter>,
    edge_filter: Option<WireFilter>,
}

/// The filter for one end of an edge.
struct EndFilter {
    urns: Option<Vec<Urn>>,
    types: Vec<String>,
}

impl EndFilter {
    fn matches(&self, urn: &Urn) -> bool {
        let named = self.urns.as_ref().is_none_or(|urns| urns.contains(urn));
        named && self.matches_type(urn.entity_type())
    }

    fn matches_type(&self, name: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|known| known == name)
    }
}

pub(crate) async fn scroll(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let input: RelationshipInput = parse_optional(&bytes).await?;
    let names = values(input.edge_filter, "edgeFilter", "relationshipType")?;
    let mut source = EndFilter {
        urns: urns(input.source_filter, "sourceFilter")?,
        types: parameters.all("sourceTypes"),
    };
    let mut destination = EndFilter {
        urns: urns(input.destination_filter, "destinationFilter")?,
        types: parameters.all("destinationTypes"),
    };
    if !is_outgoing(&parameters)? {
        std::mem::swap(&mut source, &mut destination);
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
                    .filter(|entity| source.matches_type(entity.name))
                    .collect(),
            )
        }
    };
    let mut types = parameters.all("relationshipTypes");
    if types.is_empty() {
        types = names.clone().unwrap_or_default();
    }
    let scroll = EdgeScroll {
        state: &state,
        anchors,
        names: types,
        render: Box::new(move |edge| {
            let matches = source.matches(edge.source)
                && destination.matches(edge.destination)
                && names
                    .as_ref()
                    .is_none_or(|names| names.iter().any(|it| it == edge.relationship));
            matches.then(|| edge.to_json())
        }),
    };
    scroll.reply(&parameters).await
}

/// All edges of one type.
pub(crate) async fn of_type(
    Authenticated { state, .. }: Authenticated,
    Path(name): Path,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let types = Registry::get().relationship(&name).map(|_| {
        let types = Registry::get().entities();
        types.collect()
    });
    let scroll = EdgeScroll {
        state: &state,
        // No entity has edges of a type that is not in the registry.
        anchors: Anchors::Types(types.unwrap_or_default()),
        names: vec![name],
        render: Box::new(|edge| Some(edge.to_json())),
    };
    scroll.reply(&parameters).await
}

/// The edges from an entity, or to it.
pub(crate) async fn of_entity(
    Authenticated { state, .. }: Authenticated,
    Path((name, urn)): Path<(String, String)>,
    parameters: Parameters,
) -> Result<Response, ErrorResponse> {
    let urn = Kind::one(&name)?.urn(&urn)?;
    let outgoing = is_outgoing(&parameters)?;
    let mut names = parameters.all("relationshipType");
    if names.iter().any(|name| name == "*") {
        names.clear();
    }
    let scroll = EdgeScroll {
        state: &state,
        anchors: Anchors::Named(vec![(urn, outgoing)]),
        names,
        render: Box::new(|edge| Some(edge.to_json())),
    };
    scroll.reply(&parameters).await
}

fn is_outgoing(parameters: &Parameters) -> Result<bool, ErrorResponse> {
    match parameters.get("direction").unwrap_or("OUTGOING") {
        "OUTGOING" => Ok(true),
        "INCOMING" => Ok(false),
        other => Err(ErrorResponse::bad_request(format!(
            "direction is '{other}': use OUTGOING or INCOMING"
        ))),
    }
}

/// The URNs of a filter.
fn urns(filter: Option<WireFilter>, name: &str) -> Result<Option<Vec<Urn>>, ErrorResponse> {
    let texts = values(filter, name, "urn")?;
    let parse = |texts: Vec<String>| texts.iter().map(|text| Ok(parse_urn(text)?)).collect();
    texts.map(parse).transpose()
}

/// The values of a filter by one field. Edges are indexed by their ends and their type, so other
/// fields are not supported.
fn values(
    filter: Option<WireFilter>,
    name: &str,
    field: &str,
) -> Result<Option<Vec<String>>, ErrorResponse> {
    let Some(filter) = filter else {
        return Ok(None);
    };
    let Filter { any } = filter.read()?;
    let unsupported = || {
        ErrorResponse::bad_request(format!(
            "{name} can only filter by {field}: {{\"and\": [{{\"criteria\": [{{\"field\": \"{field}\", \"values\": [\"…\"]}}]}}]}}"
        ))
    };
    let mut values = Vec::new();
    for alternative in &any {
        let [criterion] = alternative.as_slice() else {
            return Err(unsupported());
        };
        let is_field = criterion.field == field && criterion.operator == Operator::Equal;
        if !is_field || criterion.negated {
            return Err(unsupported());
        }
        values.extend(criterion.values.iter().cloned());
    }
    if values.len() > MAX_URNS {
        return Err(too_many(name, values.len()));
    }
    Ok(Some(values).filter(|_| !any.is_empty()))
}
