//! `POST`, `PATCH` and `DELETE` under `/openapi/v3/entity/`.
//!
//! A request is one list of proposals, which is applied before the response. Those of an
//! asynchronous request are independent ([`crate::items`]), and its response has another status.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::privilege::{DELETE_ENTITY, EDIT_ENTITY};
use docent_catalog::search::Filter;
use docent_catalog::timeseries::TimeseriesQuery;
use docent_catalog::{
    AspectKey, Caller, Change, Conditions, ErrorSubject, PointRange, Proposal, Warning,
};
use docent_model::patch::Patch;
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::address::{Address, Kind};
use super::entities::parse_aspects;
use super::error_response;
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::{Conditional, with_item_headers};
use crate::error::ErrorResponse;
use crate::items::{RejectedItem, is_atomic, rejection, with_warnings};
use crate::query::{Parameters, Path};
use crate::reply_budget::{AspectReply, MAX_BYTES, READ_CHUNK, ReplyBudget};
use crate::wire::{Items, check_aspect, parse_aspect, parse_like, raw, reply, system_metadata};

/// An aspect in a request. The value stays text, so that it is stored as it was sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an aspect with value")]
struct WireAspect {
    value: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "system_metadata")]
    system_metadata: Option<SystemMetadata>,
    headers: Option<Map<String, Value>>,
}

/// An entity in a request: `urn`, and aspects by name.
type WireEntity = BTreeMap<String, Box<RawValue>>;

#[derive(Clone, Copy)]
pub(super) enum WriteMode {
    Upsert,
    Create,
    CreateEntity,
    Patch,
}

/// What applies to all aspects of a request.
pub(super) struct WriteOptions<'a> {
    pub(super) mode: WriteMode,
    pub(super) conditions: &'a Conditions,
}

#[derive(Serialize)]
struct EntityReply<'a> {
    urn: &'a Urn,
    #[serde(flatten)]
    aspects: BTreeMap<&'static str, Option<AspectReply>>,
}

/// Writes whole aspects of entities of one type, or of any types for `generic`.
pub(crate) async fn post(
    Authenticated { state, caller }: Authenticated,
    Path(kind): Path,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let options = WriteOptions {
        mode: write_mode(&parameters, false)?,
        conditions: &conditions,
    };
    write_entities(&state, &caller, &kind, &parameters, &options, &bytes).await
}

/// Patches aspects of entities.
pub(crate) async fn patch(
    Authenticated { state, caller }: Authenticated,
    Path(kind): Path,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let options = WriteOptions {
        mode: WriteMode::Patch,
        conditions: &conditions,
    };
    write_entities(&state, &caller, &kind, &parameters, &options, &bytes).await
}

/// Creates one aspect, or replaces it with `createIfNotExists=false` or a precondition.
pub(crate) async fn post_one(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let (urn, aspect) = aspect_address(&uri)?;
    let wire: WireAspect = parse_like(&bytes, "{\"value\": {…}}").await?;
    let options = WriteOptions {
        mode: write_mode(&parameters, conditions.is_empty())?,
        conditions: &conditions,
    };
    let translate = || options.proposal(&urn, aspect, wire);
    let proposal = long_work::run(bytes.len() > LONG_TEXT_BYTES, translate).await?;
    write_aspect(&state, &caller, &parameters, proposal, aspect).await
}

/// Patches one aspect.
pub(crate) async fn patch_one(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let (urn, aspect) = aspect_address(&uri)?;
    let example = "{\"patch\": [{\"op\": \"add\", \"path\": \"/…\", \"value\": …}]}";
    let wire = WireAspect {
        value: Some(parse_like(&bytes, example).await?),
        system_metadata: None,
        headers: None,
    };
    let options = WriteOptions {
        mode: WriteMode::Patch,
        conditions: &conditions,
    };
    let translate = || options.proposal(&urn, aspect, wire);
    let proposal = long_work::run(bytes.len() > LONG_TEXT_BYTES, translate).await?;
    write_aspect(&state, &caller, &parameters, proposal, aspect).await
}

/// Deletes an entity, one of its aspects, those named by `aspects`, or with `clear=true` all but
/// the key. Of a time series, it deletes the newest points, as in DataHub.
pub(crate) async fn delete(
    Authenticated { state, caller }: Authenticated,
    parameters: Parameters,
    Conditional(conditions): Conditional,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let address = Address::parse(&uri)?.unambiguous(&state).await?;
    let Address { urn, aspect, .. } = address;
    // A misspelled parameter must not turn the deletion of an aspect into that of the entity.
    parameters.expect_only(&["aspects", "clear", "async"])?;
    let mut aspects = parse_aspects(&parameters.all("aspects"))?;
    aspects.extend(aspect);
    let mut seen = HashSet::new();
    aspects.retain(|aspect| seen.insert(*aspect));
    if aspects.is_empty() && parameters.get("aspects").is_some() {
        // An accidentally empty list must not delete the whole entity.
        return Err(ErrorResponse::bad_request(
            "aspects is empty: name the aspects to delete, or omit it to delete the whole entity",
        ));
    }
    let clear = parameters.flag("clear")?;
    if clear && !aspects.is_empty() {
        return Err(ErrorResponse::bad_request(
            "clear=true deletes all aspects: omit it to delete only those that are named",
        ));
    }
    let changes = if clear {
        vec![Change::Clear]
    } else if aspects.is_empty() {
        vec![Change::DeleteEntity]
    } else {
        let mut changes = Vec::with_capacity(aspects.len());
        for aspect in aspects {
            changes.push(deletion(&state, &caller, &urn, aspect).await?);
        }
        changes
    };
    let proposals = changes.into_iter().map(|change| {
        let proposal = Proposal::new(urn.clone(), change);
        conditions.apply_to(proposal)
    });
    let proposals = proposals.collect();
    let applied = state.catalog().ingest(&caller, proposals).await;
    let applied = applied.map_err(error_response)?;
    Ok(reply(&json!({
        "urn": urn,
        "rows": applied.deleted_rows,
        "timeseriesRows": applied.deleted_timeseries_rows,
    })))
}

/// The change that deletes an aspect, or the newest points of a time series.
async fn deletion(
    state: &AppState,
    caller: &Caller,
    urn: &Urn,
    aspect: AspectName,
) -> Result<Change, ErrorResponse> {
    if !Registry::get().is_timeseries(aspect) {
        return Ok(Change::DeleteAspect { aspect });
    }
    let privileges = [EDIT_ENTITY, DELETE_ENTITY];
    let authorized = state.catalog().authorize(caller, &privileges, Some(urn));
    authorized.await.map_err(error_response)?;
    let query = TimeseriesQuery {
        key: AspectKey::new(urn, aspect),
        range: PointRange::default(),
        filter: Filter::default(),
        sort: None,
        limit: 1,
    };
    let newest = state.catalog().timeseries(&query, MAX_BYTES as u64).await?;
    // Without a point, a time that none has: the transaction checks the rights again.
    let time = newest.rows.first().map_or(i64::MIN, |point| point.time_ms);
    let range = PointRange {
        from_ms: Some(time),
        through_ms: Some(time),
        run: None,
    };
    Ok(Change::DeletePoints { aspect, range })
}

/// DataHub has two names for the parameter that creates entities.
pub(super) fn write_mode(
    parameters: &Parameters,
    by_default: bool,
) -> Result<WriteMode, ErrorResponse> {
    let entity = parameters.flag("createEntityIfNotExists")?
        || parameters.flag("createIfEntityNotExists")?;
    let aspect = parameters.optional_flag("createIfNotExists")?;
    Ok(if entity {
        WriteMode::CreateEntity
    } else if aspect.unwrap_or(by_default) {
        WriteMode::Create
    } else {
        WriteMode::Upsert
    })
}

fn aspect_address(uri: &Uri) -> Result<(Urn, AspectName), ErrorResponse> {
    let Address { urn, aspect, .. } = Address::parse(uri)?;
    let aspect = aspect.ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "the path needs the aspect of {urn}: …/{{urn}}/{{aspect}}"
        ))
    })?;
    Ok((urn, aspect))
}

/// 202 for asynchronous requests, although the write is already done.
fn status(parameters: &Parameters, async_by_default: bool) -> Result<StatusCode, ErrorResponse> {
    let is_async = parameters
        .optional_flag("async")?
        .unwrap_or(async_by_default);
    Ok(if is_async {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    })
}

async fn write_entities(
    state: &AppState,
    caller: &Caller,
    kind: &str,
    parameters: &Parameters,
    options: &WriteOptions<'_>,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let kind = Kind::parse(kind)?;
    let status = status(parameters, true)?;
    let is_atomic = is_atomic(parameters, status == StatusCode::ACCEPTED)?;
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let is_long = bytes.len() > LONG_TEXT_BYTES;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut list = ProposalList::default();
    if let Kind::Of(_) = kind {
        let Items(entities): Items<WireEntity> =
            parse_like(bytes, "[{\"urn\": …, \"status\": {\"value\": {…}}}]").await?;
        let translate = || options.proposals(kind, entities, &mut list);
        long_work::run(is_long, translate).await;
        let (keys, warnings) = list.write(state, caller, is_atomic).await?;
        let written = written(state, &keys, with_system_metadata, &mut budget).await?;
        let build = |_: &mut ReplyBudget<'_>| (status, axum::Json(written)).into_response();
        return Ok(with_warnings(budget.build(build).await, &warnings));
    }
    let example = "{\"dataset\": [{\"urn\": …, \"status\": {\"value\": {…}}}]}";
    let groups: BTreeMap<String, Items<WireEntity>> = parse_like(bytes, example).await?;
    let mut counts = Vec::with_capacity(groups.len());
    for (name, Items(entities)) in groups {
        let kind = Kind::parse(&name).map_err(|error| error.about(&name))?;
        let before = list.proposals.len();
        let failed_before = list.rejected.len();
        let translate = || options.proposals(kind, entities, &mut list);
        long_work::run(is_long, translate).await;
        let rejected = list.rejected.split_off(failed_before).into_iter();
        list.rejected
            .extend(rejected.map(|item| item.in_group(&name)));
        counts.push((name, list.proposals.len() - before));
    }
    let (keys, warnings) = list.write(state, caller, is_atomic).await?;
    let mut rest = keys.as_slice();
    let mut reply = BTreeMap::new();
    for (name, count) in counts {
        let (of_kind, others) = rest.split_at(count);
        rest = others;
        let written = written(state, of_kind, with_system_metadata, &mut budget).await?;
        reply.insert(name, written);
    }
    let build = |_: &mut ReplyBudget<'_>| (status, axum::Json(reply)).into_response();
    Ok(with_warnings(budget.build(build).await, &warnings))
}

/// The items of a request, each an aspect of an entity.
#[derive(Default)]
pub(super) struct ProposalList {
    proposals: Vec<(Proposal, AspectName)>,
    rejected: Vec<RejectedItem>,
}

impl ProposalList {
    pub(super) fn add(&mut self, proposal: (Proposal, AspectName)) {
        self.proposals.push(proposal);
    }

    pub(super) fn reject(&mut self, item: ErrorSubject, error: ErrorResponse) {
        self.rejected.push(RejectedItem::new(item, error));
    }

    /// Writes all proposals, and returns the keys of their aspects. Fails if any item is rejected;
    /// the others are written nevertheless, unless the list is atomic.
    pub(super) async fn write(
        mut self,
        state: &AppState,
        caller: &Caller,
        is_atomic: bool,
    ) -> Result<(Vec<AspectKey>, Vec<Warning>), ErrorResponse> {
        if is_atomic {
            if !self.rejected.is_empty() {
                return Err(self.rejected.remove(0).into_response());
            }
            return write(state, caller, self.proposals).await;
        }
        let total = self.proposals.len() + self.rejected.len();
        let (proposals, keys) = with_keys(self.proposals);
        let written = state.catalog().ingest_each(caller, proposals).await;
        let written = written.map_err(error_response)?;
        let rejected = written.rejected.into_iter();
        let rejected = rejected.map(|error| RejectedItem::of(error, error_response));
        self.rejected.extend(rejected);
        if self.rejected.is_empty() {
            return Ok((keys, written.applied.warnings));
        }
        Err(rejection(total, self.rejected))
    }
}

async fn write_aspect(
    state: &AppState,
    caller: &Caller,
    parameters: &Parameters,
    proposal: Proposal,
    aspect: AspectName,
) -> Result<Response, ErrorResponse> {
    let status = status(parameters, false)?;
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let (keys, warnings) = write(state, caller, vec![(proposal, aspect)]).await?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let mut written = written(state, &keys, with_system_metadata, &mut budget).await?;
    let build = |_: &mut ReplyBudget<'_>| (status, axum::Json(written.pop())).into_response();
    Ok(with_warnings(budget.build(build).await, &warnings))
}

impl WriteOptions<'_> {
    /// Adds the proposals for a list of entities, each with its aspect.
    fn proposals(&self, kind: Kind, entities: Vec<WireEntity>, list: &mut ProposalList) {
        for (position, entity) in entities.into_iter().enumerate() {
            let item = ErrorSubject::item(position);
            if let Err(error) = self.entity(kind, &item, entity, list) {
                list.reject(item, error);
            }
        }
    }

    /// Adds the proposals for the aspects of one entity.
    fn entity(
        &self,
        kind: Kind,
        item: &ErrorSubject,
        mut entity: WireEntity,
        list: &mut ProposalList,
    ) -> Result<(), ErrorResponse> {
        let invalid = |message: &str| ErrorResponse::bad_request(message).about(item);
        let urn = entity.remove("urn");
        let urn = urn.ok_or_else(|| invalid("it has no 'urn'"))?;
        let urn: String =
            serde_json::from_str(urn.get()).map_err(|_| invalid("its 'urn' is not a string"))?;
        let urn = kind.urn(&urn).map_err(|error| error.about(item))?;
        let subject = item.clone().with_urn(urn.as_str());
        if entity.is_empty() {
            return Err(ErrorResponse::bad_request("it has no aspects").about(subject));
        }
        let mut names: HashMap<AspectName, String> = HashMap::new();
        for (name, aspect) in entity {
            let subject = ErrorSubject {
                aspect: Some(name.clone()),
                ..subject.clone()
            };
            match self.aspect(&urn, &name, &aspect, &mut names) {
                Ok((mut proposal, aspect)) => {
                    proposal.position = item.position;
                    list.add((proposal, aspect));
                }
                Err(error) => {
                    let error = error.about(&subject);
                    list.reject(subject, error);
                }
            }
        }
        Ok(())
    }

    fn aspect(
        &self,
        urn: &Urn,
        name: &str,
        aspect: &RawValue,
        names: &mut HashMap<AspectName, String>,
    ) -> Result<(Proposal, AspectName), ErrorResponse> {
        let aspect_name = parse_aspect(name)
            .map_err(|error| ErrorResponse::from(error).titled("Validation Error"))?;
        if let Some(other) = names.insert(aspect_name, name.to_owned()) {
            return Err(ErrorResponse::bad_request(format!(
                "the aspect occurs twice, also as '{other}': send it once"
            )));
        }
        check_aspect(urn, aspect_name)?;
        let wire: WireAspect = serde_json::from_str(aspect.get())
            .map_err(|error| ErrorResponse::bad_request(error.to_string()))?;
        Ok((self.proposal(urn, aspect_name, wire)?, aspect_name))
    }

    /// A proposal without system metadata and preconditions of its own.
    pub(super) fn simple(
        &self,
        urn: &Urn,
        aspect: AspectName,
        value: &Value,
    ) -> Result<Proposal, ErrorResponse> {
        let wire = WireAspect {
            value: Some(raw(value.to_string())?),
            system_metadata: None,
            headers: None,
        };
        self.proposal(urn, aspect, wire)
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
        let change = match self.mode {
            WriteMode::Upsert => Change::Upsert {
                aspect,
                text: text(),
            },
            WriteMode::Create => Change::Create {
                aspect,
                text: text(),
            },
            WriteMode::CreateEntity => Change::CreateEntity {
                aspect,
                text: text(),
            },
            WriteMode::Patch => Change::Patch {
                aspect,
                patch: Arc::new(Patch::parse(value.get()).map_err(|error| {
                    ErrorResponse::bad_request(error.to_string()).titled("Validation Error")
                })?),
            },
        };
        let system_metadata = wire.system_metadata.unwrap_or_default();
        let proposal =
            Proposal::new(urn.clone(), change).with_system_metadata(Some(system_metadata));
        let conditions = with_item_headers(self.conditions, wire.headers.as_ref())?;
        Ok(conditions.apply_to(proposal))
    }
}

/// The reply of a request that has changed these aspects.
pub(super) async fn written_reply(
    state: &AppState,
    keys: &[AspectKey],
) -> Result<Response, ErrorResponse> {
    let mut budget = ReplyBudget::new(state.reply_memory());
    let written = written(state, keys, false, &mut budget).await?;
    Ok(budget.build(|_| reply(&written)).await)
}

/// Applies the proposals, all or none, and returns the keys of their aspects.
async fn write(
    state: &AppState,
    caller: &Caller,
    proposals: Vec<(Proposal, AspectName)>,
) -> Result<(Vec<AspectKey>, Vec<Warning>), ErrorResponse> {
    let (proposals, keys) = with_keys(proposals);
    let ingested = state.catalog().ingest(caller, proposals).await;
    let applied = ingested.map_err(error_response)?;
    Ok((keys, applied.warnings))
}

fn with_keys(proposals: Vec<(Proposal, AspectName)>) -> (Vec<Proposal>, Vec<AspectKey>) {
    let proposals = proposals.into_iter();
    proposals
        .map(|(proposal, aspect)| {
            let key = AspectKey::new(&proposal.urn, aspect);
            (proposal, key)
        })
        .unzip()
}

/// The aspects after the write, without duplicates, grouped by adjacent entity. Aspects that exceed
/// the reply budget are null: the write succeeded, so the request must not fail. So are missing
/// ones, which an empty patch does not create.
async fn written<'a>(
    state: &AppState,
    keys: &'a [AspectKey],
    with_system_metadata: bool,
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<EntityReply<'a>>, ErrorResponse> {
    let mut seen = HashSet::with_capacity(keys.len());
    let keys: Vec<&AspectKey> = keys.iter().filter(|key| seen.insert(*key)).collect();
    let mut entities: Vec<EntityReply<'a>> = Vec::new();
    for keys in keys.chunks(READ_CHUNK) {
        let read: Vec<AspectKey> = keys.iter().map(|key| (*key).clone()).collect();
        // The write succeeded, so what cannot be read is left out.
        let rows = budget.read_current(state.catalog(), &read).await;
        let rows = rows.unwrap_or_else(|_| vec![None; keys.len()]);
        let build = |budget: &mut ReplyBudget<'_>| {
            for (key, row) in keys.iter().zip(rows) {
                let row = row.map(Arc::unwrap_or_clone);
                let aspect = row.and_then(|row| budget.aspect(row, with_system_metadata).ok());
                let name = key.aspect.as_str();
                match entities.last_mut() {
                    Some(last) if *last.urn == key.urn => {
                        last.aspects.insert(name, aspect);
                    }
                    _ => entities.push(EntityReply {
                        urn: &key.urn,
                        aspects: BTreeMap::from([(name, aspect)]),
                    }),
                }
            }
        };
        budget.build(build).await;
    }
    Ok(entities)
}
