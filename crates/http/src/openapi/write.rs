//! `POST`, `PATCH` and `DELETE` below `/openapi/v3/entity/`: entities and aspects written by their URNs.
//!
//! A call is one list of proposals, carried out whole or not at all before the reply is sent. `async` changes nothing
//! but the status of the reply, which clients look at.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::{AspectKey, Caller, Catalog, Change, Conditions, ErrorSubject, Proposal};
use docent_model::patch::Patch;
use docent_model::{AspectName, SystemMetadata, Urn};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::address::{Address, Kind};
use super::entities::parse_aspects;
use super::{error_response, parse_like};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::conditions::Conditional;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::restli::check_aspect;
use crate::restli::parse_aspect;
use crate::restli::proposals::object_or_text;
use crate::shown::{AspectReply, PIECE, Shown};

/// An aspect as it is sent. The value travels as the text that it was written as.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an aspect with value")]
struct WireAspect {
    value: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "object_or_text")]
    system_metadata: Option<SystemMetadata>,
    headers: Option<Map<String, Value>>,
}

/// An entity as it is sent: `urn`, and aspects by their names.
type WireEntity = BTreeMap<String, Box<RawValue>>;

/// How the aspects of a call are written.
#[derive(Clone, Copy)]
enum Verb {
    Upsert,
    Create,
    CreateEntity,
    Patch,
}

/// What a call says about all that it writes.
struct Call<'a> {
    verb: Verb,
    conditions: &'a Conditions,
}

#[derive(Serialize)]
struct Written<'a> {
    urn: &'a Urn,
    #[serde(flatten)]
    aspects: BTreeMap<&'static str, Option<AspectReply>>,
}

/// Writes whole aspects of entities of one type, or of several types if that is called `generic`.
pub(crate) async fn post(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(kind): Path<String>,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let verb = creation(&parameters, false)?;
    let call = Call {
        verb,
        conditions: &conditions,
    };
    many(&state, &caller, &kind, &parameters, &call, &bytes).await
}

/// Patches aspects of entities.
pub(crate) async fn patch(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(kind): Path<String>,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let call = Call {
        verb: Verb::Patch,
        conditions: &conditions,
    };
    many(&state, &caller, &kind, &parameters, &call, &bytes).await
}

/// Creates one aspect, or replaces it where `createIfNotExists=false` says so. A condition says itself what may be there.
pub(crate) async fn post_one(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let (urn, aspect) = aspect_address(&uri)?;
    let wire: WireAspect = parse_like(&bytes, "{\"value\": {…}}")?;
    let call = Call {
        verb: creation(&parameters, !conditions.are_given())?,
        conditions: &conditions,
    };
    let proposal = call.proposal(&urn, aspect, wire)?;
    one(&state, &caller, &parameters, proposal, aspect).await
}

/// Patches one aspect.
pub(crate) async fn patch_one(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let (urn, aspect) = aspect_address(&uri)?;
    let example = "{\"patch\": [{\"op\": \"add\", \"path\": \"/…\", \"value\": …}]}";
    let wire = WireAspect {
        value: Some(parse_like(&bytes, example)?),
        system_metadata: None,
        headers: None,
    };
    let call = Call {
        verb: Verb::Patch,
        conditions: &conditions,
    };
    let proposal = call.proposal(&urn, aspect, wire)?;
    one(&state, &caller, &parameters, proposal, aspect).await
}

/// Deletes an entity, one of its aspects, those named by `aspects`, or with `clear=true` all but the key.
pub(crate) async fn delete(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let address = Address::parse(&uri)?.certain(&state, &caller).await?;
    let Address { urn, aspect, .. } = address;
    // A name that is spelled wrong must not make the whole entity of what was to be one aspect.
    parameters.expect_only(&["aspects", "clear", "async"])?;
    let mut aspects = parse_aspects(&parameters.all("aspects"))?;
    aspects.extend(aspect);
    if aspects.is_empty() && parameters.get("aspects").is_some() {
        // Taken as "all", a list that came out empty by mistake would delete the entity.
        return Err(ErrorResponse::bad_request(
            "aspects is empty: name the aspects to delete, or leave it out to delete the whole entity",
        ));
    }
    let clear = parameters.flag("clear")?;
    if clear && !aspects.is_empty() {
        return Err(ErrorResponse::bad_request(
            "clear=true deletes all aspects: leave it out to delete the one that is named",
        ));
    }
    let changes = if clear {
        vec![Change::Clear]
    } else if aspects.is_empty() {
        vec![Change::DeleteEntity]
    } else {
        let aspects = aspects.into_iter();
        aspects
            .map(|aspect| Change::DeleteAspect { aspect })
            .collect()
    };
    let proposals = changes.into_iter().map(|change| {
        let proposal = Proposal::new(urn.clone(), change);
        conditions.put_on(proposal)
    });
    let proposals = proposals.collect();
    let applied = state.catalog().ingest(&caller, proposals).await;
    let applied = applied.map_err(error_response)?;
    Ok(crate::restli::json(&json!({
        "urn": urn,
        "rows": applied.deleted_rows,
        "timeseriesRows": applied.deleted_timeseries_rows,
    })))
}

/// DataHub calls the second parameter by both names.
fn creation(parameters: &Parameters, by_default: bool) -> Result<Verb, ErrorResponse> {
    let entity = parameters.flag("createEntityIfNotExists")?
        || parameters.flag("createIfEntityNotExists")?;
    let aspect = parameters.given_flag("createIfNotExists")?;
    Ok(if entity {
        Verb::CreateEntity
    } else if aspect.unwrap_or(by_default) {
        Verb::Create
    } else {
        Verb::Upsert
    })
}

fn aspect_address(uri: &Uri) -> Result<(Urn, AspectName), ErrorResponse> {
    let Address { urn, aspect, .. } = Address::parse(uri)?;
    let aspect = aspect.ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "say which aspect of {urn} is meant: …/{{urn}}/{{aspect}}"
        ))
    })?;
    Ok((urn, aspect))
}

/// The status that says how the write was asked for.
fn status(parameters: &Parameters, async_by_default: bool) -> Result<StatusCode, ErrorResponse> {
    let is_async = parameters.given_flag("async")?.unwrap_or(async_by_default);
    Ok(if is_async {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    })
}

async fn many(
    state: &AppState,
    caller: &Caller,
    kind: &str,
    parameters: &Parameters,
    call: &Call<'_>,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let kind = Kind::parse(kind)?;
    let status = status(parameters, true)?;
    let noted = parameters.flag("systemMetadata")?;
    if let Kind::Of(_) = kind {
        let entities: Vec<WireEntity> =
            parse_like(bytes, "[{\"urn\": …, \"status\": {\"value\": {…}}}]")?;
        let proposals = call.proposals(kind, entities)?;
        let keys = write(state, caller, proposals).await?;
        let written = written(state, caller, &keys, noted).await?;
        return Ok((status, axum::Json(written)).into_response());
    }
    let example = "{\"dataset\": [{\"urn\": …, \"status\": {\"value\": {…}}}]}";
    let groups: BTreeMap<String, Vec<WireEntity>> = parse_like(bytes, example)?;
    let mut proposals = Vec::new();
    let mut counts = Vec::with_capacity(groups.len());
    for (name, entities) in groups {
        let of_kind = Kind::parse(&name)
            .and_then(|kind| call.proposals(kind, entities))
            .map_err(|error| error.about(&name))?;
        counts.push((name, of_kind.len()));
        proposals.extend(of_kind);
    }
    let keys = write(state, caller, proposals).await?;
    let mut rest = keys.as_slice();
    let mut reply = BTreeMap::new();
    for (name, count) in counts {
        let (of_kind, others) = rest.split_at(count);
        rest = others;
        reply.insert(name, written(state, caller, of_kind, noted).await?);
    }
    Ok((status, axum::Json(reply)).into_response())
}

async fn one(
    state: &AppState,
    caller: &Caller,
    parameters: &Parameters,
    proposal: Proposal,
    aspect: AspectName,
) -> Result<Response, ErrorResponse> {
    let status = status(parameters, false)?;
    let noted = parameters.flag("systemMetadata")?;
    let keys = write(state, caller, vec![(proposal, aspect)]).await?;
    let mut written = written(state, caller, &keys, noted).await?;
    Ok((status, axum::Json(written.pop())).into_response())
}

impl Call<'_> {
    /// The proposals of a list of entities, each with its aspect.
    fn proposals(
        &self,
        kind: Kind,
        entities: Vec<WireEntity>,
    ) -> Result<Vec<(Proposal, AspectName)>, ErrorResponse> {
        let mut proposals = Vec::with_capacity(entities.len());
        for (position, entity) in entities.into_iter().enumerate() {
            let from = proposals.len();
            self.entity(kind, entity, &mut proposals)
                .map_err(|error| error.about(ErrorSubject::item(position)))?;
            for (proposal, _) in &mut proposals[from..] {
                proposal.position = Some(position);
            }
        }
        Ok(proposals)
    }

    fn entity(
        &self,
        kind: Kind,
        mut entity: WireEntity,
        proposals: &mut Vec<(Proposal, AspectName)>,
    ) -> Result<(), ErrorResponse> {
        let urn = entity.remove("urn");
        let urn = urn.ok_or_else(|| ErrorResponse::bad_request("it has no 'urn'"))?;
        let urn: String = serde_json::from_str(urn.get())
            .map_err(|_| ErrorResponse::bad_request("its 'urn' is no text"))?;
        let urn = kind.urn(&urn)?;
        if entity.is_empty() {
            return Err(ErrorResponse::bad_request(format!(
                "{urn} comes without an aspect"
            )));
        }
        let mut spellings: HashMap<AspectName, String> = HashMap::new();
        for (name, aspect) in entity {
            let about = |error: ErrorResponse| error.about(format_args!("{urn} {name}"));
            let aspect_name = parse_aspect(&name).map_err(about)?;
            if let Some(other) = spellings.insert(aspect_name, name.clone()) {
                return Err(about(ErrorResponse::bad_request(format!(
                    "the aspect is there twice, also as '{other}': send it once"
                ))));
            }
            check_aspect(&urn, aspect_name).map_err(about)?;
            let wire: WireAspect = serde_json::from_str(aspect.get())
                .map_err(|error| about(ErrorResponse::bad_request(error.to_string())))?;
            let proposal = self.proposal(&urn, aspect_name, wire).map_err(about)?;
            proposals.push((proposal, aspect_name));
        }
        Ok(())
    }

    fn proposal(
        &self,
        urn: &Urn,
        aspect: AspectName,
        wire: WireAspect,
    ) -> Result<Proposal, ErrorResponse> {
        let value = wire.value.ok_or_else(|| {
            ErrorResponse::bad_request("it has no 'value': send {\"value\": {…}}")
        })?;
        let text = || value.get().to_owned();
        let change = match self.verb {
            Verb::Upsert => Change::Upsert {
                aspect,
                text: text(),
            },
            Verb::Create => Change::Create {
                aspect,
                text: text(),
            },
            Verb::CreateEntity => Change::CreateEntity {
                aspect,
                text: text(),
            },
            Verb::Patch => Change::Patch {
                aspect,
                patch: Arc::new(Patch::parse(value.get()).map_err(|error| {
                    ErrorResponse::bad_request(error.to_string()).titled("Validation Error")
                })?),
            },
        };
        let noted = wire.system_metadata.unwrap_or_default();
        let proposal = Proposal::new(urn.clone(), change).with_system_metadata(Some(noted));
        let conditions = self.conditions.with(wire.headers.as_ref())?;
        Ok(conditions.put_on(proposal))
    }
}

/// Carries the proposals out and says which aspects they are about.
async fn write(
    state: &AppState,
    caller: &Caller,
    proposals: Vec<(Proposal, AspectName)>,
) -> Result<Vec<AspectKey>, ErrorResponse> {
    let (proposals, keys): (Vec<Proposal>, Vec<AspectKey>) = proposals
        .into_iter()
        .map(|(proposal, aspect)| {
            let key = AspectKey::new(&proposal.urn, aspect);
            (proposal, key)
        })
        .unzip();
    let ingested = state.catalog().ingest(caller, proposals).await;
    ingested.map_err(error_response)?;
    Ok(keys)
}

/// The aspects as they are now, each once, those that stand next to each other and belong to one entity together. What is
/// too much to show is only named: it is written, so the call has not failed.
async fn written<'a>(
    state: &AppState,
    caller: &Caller,
    keys: &'a [AspectKey],
    noted: bool,
) -> Result<Vec<Written<'a>>, ErrorResponse> {
    let mut seen = HashSet::with_capacity(keys.len());
    let keys: Vec<&AspectKey> = keys.iter().filter(|key| seen.insert(*key)).collect();
    let mut shown = Shown::default();
    let mut entities: Vec<Written<'a>> = Vec::new();
    for keys in keys.chunks(PIECE) {
        let read: Vec<AspectKey> = keys.iter().map(|key| (*key).clone()).collect();
        let rows = state.catalog().read_current(caller, &read).await?;
        for (key, row) in keys.iter().zip(rows) {
            let row = row.filter(|_| !Catalog::is_secret(key.aspect));
            let aspect = row.and_then(|row| shown.aspect(&row, noted).ok());
            let name = key.aspect.as_str();
            match entities.last_mut() {
                Some(last) if *last.urn == key.urn => {
                    last.aspects.insert(name, aspect);
                }
                _ => entities.push(Written {
                    urn: &key.urn,
                    aspects: BTreeMap::from([(name, aspect)]),
                }),
            }
        }
    }
    Ok(entities)
}
