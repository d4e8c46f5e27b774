//! `POST /aspects?action=ingestProposal` and `ingestProposalBatch`: writes aspects by change
//! proposals. Those of an asynchronous batch are independent, unless the client sends
//! `atomic=true`.

use std::sync::Arc;

use axum::response::Response;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::{Caller, Change, Conditions, Error, ErrorSubject, Proposal, Warning};
use docent_model::patch::Patch;
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::AppState;
use crate::conditions::with_item_headers;
use crate::error::ErrorResponse;
use crate::items::{RejectedItem, is_atomic, rejection, with_warnings};
use crate::query::Parameters;
use crate::wire::{Items, parse, parse_aspect, parse_urn, reply, system_metadata};

/// A change proposal of a client. Unknown members are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a change proposal")]
struct WireProposal {
    entity_type: Option<String>,
    entity_urn: Option<String>,
    /// Names the entity instead of the URN. DataHub's executor does this.
    entity_key_aspect: Option<WireAspect>,
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
    fn text(self, content_types: &[&str]) -> Result<String, Error> {
        if let Some(given) = &self.content_type {
            let kind = given.split(';').next().unwrap_or_default().trim();
            if !content_types.iter().any(|it| it.eq_ignore_ascii_case(kind)) {
                return Err(Error::invalid(format!(
                    "aspect.contentType is '{given}', but this changeType takes {}",
                    content_types.join(" or ")
                )));
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
    #[serde(default, rename = "async", deserialize_with = "flag")]
    is_async: bool,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with proposals")]
struct BatchInput {
    proposals: Items<WireProposal>,
    #[serde(default, rename = "async", deserialize_with = "flag")]
    is_async: bool,
}

/// A flag, which clients send as a string.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let is_true = |text: &str| text.eq_ignore_ascii_case("true");
    Ok(value
        .as_bool()
        .unwrap_or(value.as_str().is_some_and(is_true)))
}

/// What applies to all proposals of a request.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) action: Option<&'a str>,
    pub(super) parameters: &'a Parameters,
    pub(super) conditions: &'a Conditions,
}

pub(super) async fn ingest(
    state: &AppState,
    caller: &Caller,
    request: Request<'_>,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let (proposals, is_async, many) = match request.action {
        Some("ingestProposal") => {
            let input: IngestInput = parse(bytes).await?;
            (vec![input.proposal], input.is_async, false)
        }
        Some("ingestProposalBatch") => {
            let input: BatchInput = parse(bytes).await?;
            (input.proposals.0, input.is_async, true)
        }
        other => {
            return Err(ErrorResponse::bad_request(format!(
                "/aspects has no action '{}'; it has 'ingestProposal', 'ingestProposalBatch', \
                 'getTimeseriesAspectValues' and 'getCount'",
                other.unwrap_or_default()
            )));
        }
    };
    let total = proposals.len();
    let translate_all = || {
        let translated = proposals.into_iter().enumerate();
        let translated = translated.map(|(position, proposal)| {
            let position = many.then_some(position);
            let mut proposal = translate(proposal, request.conditions, position)?;
            // DataHub accepts asynchronous requests before it looks.
            proposal.skip_existing |= is_async;
            Ok(proposal)
        });
        translated.collect::<Vec<Result<Proposal, Error>>>()
    };
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let translated = long_work::run(is_long, translate_all).await;
    let catalog = state.catalog();
    if is_atomic(request.parameters, is_async)? {
        let proposals: Result<Vec<Proposal>, Error> = translated.into_iter().collect();
        let proposals = proposals.map_err(ErrorResponse::with_subject)?;
        let written = catalog.ingest(caller, proposals).await;
        let written = written.map_err(ErrorResponse::with_subject)?;
        return Ok(success(&written.warnings));
    }
    let mut proposals = Vec::with_capacity(total);
    let mut rejected = Vec::new();
    for one in translated {
        match one {
            Ok(proposal) => proposals.push(proposal),
            Err(error) => rejected.push(error),
        }
    }
    let written = catalog.ingest_each(caller, proposals).await;
    let written = written.map_err(ErrorResponse::with_subject)?;
    rejected.extend(written.rejected);
    if rejected.is_empty() {
        return Ok(success(&written.applied.warnings));
    }
    let rejected = rejected.into_iter();
    let rejected = rejected.map(|error| RejectedItem::of(error, ErrorResponse::with_subject));
    Err(rejection(total, rejected.collect()))
}

fn success(warnings: &[Warning]) -> Response {
    let mut body = json!({"value": "success"});
    if !warnings.is_empty() {
        let texts = warnings.iter().map(ToString::to_string);
        body["warnings"] = texts.collect();
    }
    with_warnings(reply(&body), warnings)
}

fn translate(
    wire: WireProposal,
    conditions: &Conditions,
    position: Option<usize>,
) -> Result<Proposal, Error> {
    let item = ErrorSubject::default().at(position);
    let urn = entity_of(&wire).map_err(|error| error.about(item.clone()))?;
    let subject = ErrorSubject {
        aspect: wire.aspect_name.clone(),
        ..item.with_urn(urn.as_str())
    };
    proposal(urn, wire, conditions, position).map_err(|error| error.about(subject))
}

/// The URN in a proposal, or the one that its key makes.
fn entity_of(wire: &WireProposal) -> Result<Urn, Error> {
    if let Some(urn) = &wire.entity_urn {
        // The message quotes a URN that is malformed.
        return parse_urn(&unescape(urn));
    }
    let Some(key) = &wire.entity_key_aspect else {
        return Err(Error::invalid("entityUrn is missing"));
    };
    let entity_type = wire.entity_type.as_deref();
    let entity_type = entity_type.ok_or_else(|| Error::invalid("entityType is missing"))?;
    let value: Value = serde_json::from_str(&key.value).unwrap_or_default();
    let urn = Registry::get().urn_of_key(entity_type, &value);
    let urn = urn.ok_or_else(|| {
        let message = format!("entityKeyAspect is not a key of the entity type {entity_type}");
        Error::invalid(message)
    })?;
    parse_urn(&urn)
}

fn proposal(
    urn: Urn,
    wire: WireProposal,
    conditions: &Conditions,
    position: Option<usize>,
) -> Result<Proposal, Error> {
    if let Some(entity_type) = &wire.entity_type
        && !entity_type.eq_ignore_ascii_case(urn.entity_type())
    {
        return Err(Error::invalid(format!(
            "entityType {entity_type} does not fit the URN"
        )));
    }
    let name = wire.aspect_name;
    let name = name.ok_or_else(|| Error::invalid("aspectName is missing"))?;
    let aspect = parse_aspect(&name)?;
    let change_type = wire.change_type.as_deref().unwrap_or("UPSERT");
    let change = change(change_type, aspect, wire.aspect)?;
    let deletes = matches!(change, Change::DeleteAspect { .. });
    let system_metadata = wire.system_metadata.unwrap_or_default();
    let mut proposal =
        Proposal::new(urn, change).with_system_metadata((!deletes).then_some(system_metadata));
    proposal.position = position;
    // RESTATE ignores preconditions.
    if change_type == "RESTATE" {
        return Ok(proposal);
    }
    let conditions = with_item_headers(conditions, wire.headers.as_ref())?;
    Ok(conditions.apply_to(proposal))
}

fn change(
    change_type: &str,
    aspect: AspectName,
    value: Option<WireAspect>,
) -> Result<Change, Error> {
    let text_of = |value: Option<WireAspect>, content_types: &[&str]| {
        let value = value.ok_or_else(|| Error::invalid("aspect.value is missing"))?;
        value.text(content_types)
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
            let patch = patch.map_err(|error| Error::invalid(error.to_string()))?;
            Ok(Change::Patch {
                aspect,
                patch: Arc::new(patch),
            })
        }
        "DELETE" => Ok(Change::DeleteAspect { aspect }),
        other => Err(Error::invalid(format!(
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
