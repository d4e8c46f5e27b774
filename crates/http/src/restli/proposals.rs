//! `POST /aspects?action=ingestProposal` and `ingestProposalBatch`: writes aspects by change
//! proposals.

use std::sync::Arc;

use axum::response::Response;
use docent_catalog::{Caller, Change, Conditions, ErrorSubject, Proposal};
use docent_model::patch::Patch;
use docent_model::{AspectName, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::AppState;
use crate::conditions::with_item_headers;
use crate::error::ErrorResponse;
use crate::wire::{parse, parse_aspect, parse_urn, reply, system_metadata};

/// A change proposal of a client. Unknown members are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a change proposal")]
struct WireProposal {
    entity_type: Option<String>,
    entity_urn: Option<String>,
    change_type: Option<String>,
    aspect_name: Option<String>,
    aspect: Option<WireAspect>,
    #[serde(default, deserialize_with = "system_metadata")]
    system_metadata: Option<SystemMetadata>,
    headers: Option<Map<String, Value>>,
}

/// The value is JSON in a string, stored as it was sent.
#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "an aspect with value and contentType"
)]
struct WireAspect {
    value: String,
    content_type: Option<String>,
}

impl WireAspect {
    /// The value, if the change accepts its content type.
    fn text(self, content_types: &[&str]) -> Result<String, String> {
        if let Some(given) = &self.content_type {
            let kind = given.split(';').next().unwrap_or_default().trim();
            if !content_types.iter().any(|it| it.eq_ignore_ascii_case(kind)) {
                return Err(format!(
                    "aspect.contentType is '{given}', but this changeType takes {}",
                    content_types.join(" or ")
                ));
            }
        }
        Ok(self.value)
    }
}

const JSON: &str = "application/json";
const JSON_PATCH: &str = "application/json-patch+json";

#[derive(Deserialize)]
#[serde(expecting = "an object with proposal")]
struct IngestInput {
    proposal: WireProposal,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with proposals")]
struct BatchInput {
    proposals: Vec<WireProposal>,
}

pub(crate) async fn ingest(
    state: &AppState,
    caller: &Caller,
    action: Option<&str>,
    conditions: &Conditions,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let (proposals, many) = match action {
        Some("ingestProposal") => (vec![parse::<IngestInput>(bytes)?.proposal], false),
        Some("ingestProposalBatch") => (parse::<BatchInput>(bytes)?.proposals, true),
        other => {
            return Err(ErrorResponse::bad_request(format!(
                "/aspects has no action '{}'; it has 'ingestProposal', 'ingestProposalBatch', \
                 'getTimeseriesAspectValues' and 'getCount'",
                other.unwrap_or_default()
            )));
        }
    };
    let proposals = proposals
        .into_iter()
        .enumerate()
        .map(|(position, proposal)| {
            let position = many.then_some(position);
            translate(proposal, conditions, position).map_err(|message| {
                let error = ErrorResponse::bad_request(message);
                match position {
                    Some(position) => error.about(ErrorSubject::item(position)),
                    None => error,
                }
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let written = state.catalog().ingest(caller, proposals).await;
    written.map_err(ErrorResponse::with_subject)?;
    Ok(reply(&json!({"value": "success"})))
}

fn translate(
    wire: WireProposal,
    conditions: &Conditions,
    position: Option<usize>,
) -> Result<Proposal, String> {
    let urn = wire.entity_urn.ok_or("entityUrn is missing")?;
    let urn = parse_urn(&unescape(&urn)).map_err(ErrorResponse::into_message)?;
    if let Some(entity_type) = &wire.entity_type
        && !entity_type.eq_ignore_ascii_case(urn.entity_type())
    {
        return Err(format!(
            "entityType {entity_type} does not fit the URN {urn}"
        ));
    }
    let name = wire.aspect_name;
    let name = name.ok_or_else(|| format!("aspectName is missing ({urn})"))?;
    let aspect =
        parse_aspect(&name).map_err(|error| format!("{} ({urn})", error.into_message()))?;
    let change_type = wire.change_type.as_deref().unwrap_or("UPSERT");
    let change = change(&urn, change_type, aspect, wire.aspect)?;
    let deletes = matches!(change, Change::DeleteAspect { .. });
    let system_metadata = wire.system_metadata.unwrap_or_default();
    let mut proposal =
        Proposal::new(urn, change).with_system_metadata((!deletes).then_some(system_metadata));
    proposal.position = position;
    // RESTATE ignores preconditions.
    if change_type == "RESTATE" {
        return Ok(proposal);
    }
    let conditions = with_item_headers(conditions, wire.headers.as_ref())
        .map_err(|error| format!("{error} ({})", proposal.urn))?;
    Ok(conditions.put_on(proposal))
}

fn change(
    urn: &Urn,
    change_type: &str,
    aspect: AspectName,
    value: Option<WireAspect>,
) -> Result<Change, String> {
    let named = |message: &str| format!("{message} ({urn} {aspect})");
    let text_of = |value: Option<WireAspect>, content_types: &[&str]| {
        let value = value.ok_or_else(|| named("aspect.value is missing"))?;
        let text = value.text(content_types);
        text.map_err(|message| named(&message))
    };
    let text = |value| text_of(value, &[JSON]);
    match change_type {
        "UPSERT" | "RESTATE" | "UPDATE" => Ok(Change::Upsert {
            aspect,
            text: text(value)?,
        }),
        "CREATE" => Ok(Change::Create {
            aspect,
            text: text(value)?,
        }),
        "CREATE_ENTITY" => Ok(Change::CreateEntity {
            aspect,
            text: text(value)?,
        }),
        "PATCH" => {
            let patch = Patch::parse(&text_of(value, &[JSON_PATCH, JSON])?);
            let patch = patch.map_err(|error| named(&error.to_string()))?;
            Ok(Change::Patch {
                aspect,
                patch: Arc::new(patch),
            })
        }
        "DELETE" => Ok(Change::DeleteAspect { aspect }),
        other => Err(named(&format!(
            "changeType {other} is not supported; use UPSERT, CREATE, CREATE_ENTITY, PATCH, RESTATE or DELETE"
        ))),
    }
}

/// One client escapes non-ASCII characters twice, so that `é` arrives as the six characters
/// `\u00e9`.
fn unescape(urn: &str) -> String {
    if !urn.contains("\\u") {
        return urn.to_owned();
    }
    let quoted = format!("\"{}\"", urn.replace('"', "\\\""));
    serde_json::from_str(&quoted).unwrap_or_else(|_| urn.to_owned())
}
