//! `GET` and `HEAD /openapi/v3/entity/{type}/{urn}[/{aspect}]`, and `POST …/{type}/batchGet`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::search::MAX_COUNT;
use docent_catalog::{AspectKey, Conditions, ErrorSubject, ReadRequest, RowVersion, StoredAspect};
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::address::{Address, Kind};
use super::entities::{EntityReply, parse_aspects};
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::JsonBody;
use crate::conditions::with_item_headers;
use crate::error::ErrorResponse;
use crate::query::{Parameters, Path};
use crate::reply_budget::{READ_CHUNK, ReplyBudget};
use crate::wire::{Items, check_aspect, check_not_secret, parse_aspect, parse_like};

/// One entity with its aspects, or one aspect. `HEAD` is an existence check.
pub(crate) async fn one(
    Authenticated { state, .. }: Authenticated,
    parameters: Parameters,
    method: Method,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let address = Address::parse(&uri)?.unambiguous(&state).await?;
    let Address { urn, aspect, .. } = address;
    let found = match aspect {
        Some(aspect) => self::aspect(&state, &parameters, &urn, aspect).await?,
        None => entity(&state, &parameters, &urn).await?,
    };
    match found {
        Some(_) if method == Method::HEAD => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(found) => Ok(found),
        None => {
            let message = match (aspect, version(&parameters)?) {
                (None, _) => format!("there is no {urn}"),
                (Some(aspect), 0) => format!("{urn} has no {aspect}"),
                (Some(aspect), version) => format!(
                    "{urn} has no {aspect} in version {version}: 0 is the latest, 1 the oldest, and old versions are \
                     deleted eventually"
                ),
            };
            Err(ErrorResponse::new(StatusCode::NOT_FOUND, message))
        }
    }
}

/// The requested version; 0 is the latest.
fn version(parameters: &Parameters) -> Result<i64, ErrorResponse> {
    Ok(parameters.number("version")?.unwrap_or(0))
}

async fn aspect(
    state: &AppState,
    parameters: &Parameters,
    urn: &Urn,
    aspect: AspectName,
) -> Result<Option<Response>, ErrorResponse> {
    check_not_secret(aspect)?;
    let key = AspectKey::new(urn, aspect);
    let version = version(parameters)?;
    let catalog = state.catalog();
    let mut budget = ReplyBudget::new(state.reply_memory());
    let row = if version == 0 {
        let current = budget.read_current(catalog, &[key]).await?.pop();
        current.flatten().map(Arc::unwrap_or_clone)
    } else {
        let version = RowVersion::new(version);
        budget.read_version(catalog, &key, version).await?
    };
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let Some(row) = row else {
        return Ok(None);
    };
    let build = |budget: &mut ReplyBudget<'_>| {
        let found = budget.aspect(row, with_system_metadata)?;
        budget.reply(&found)
    };
    budget.build(build).await.map(Some)
}

async fn entity(
    state: &AppState,
    parameters: &Parameters,
    urn: &Urn,
) -> Result<Option<Response>, ErrorResponse> {
    let requested = parse_aspects(&parameters.all("aspects"))?;
    let catalog = state.catalog();
    let mut budget = ReplyBudget::new(state.reply_memory());
    let rows = if requested.is_empty() {
        let rows = budget.read_entity(catalog, urn).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        rows
    } else {
        // The key tells whether the entity exists, in the same read: it may be deleted meanwhile.
        let key = AspectKey::of_entity(urn).map(|key| key.aspect);
        let names = requested.iter().copied().chain(key).collect();
        // Time series are included only on request, with their latest point.
        let mut rows = budget.read_aspects(catalog, urn, names).await?;
        if !rows.iter().any(|(name, _)| Some(*name) == key) {
            return Ok(None);
        }
        rows.retain(|(name, _)| requested.contains(name));
        rows
    };
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let build = |budget: &mut ReplyBudget<'_>| {
        let aspects = budget.aspects(rows, with_system_metadata)?;
        budget.reply(&EntityReply { urn, aspects })
    };
    budget.build(build).await.map(Some)
}

/// An entity of a batch, with the requested aspects; none means all.
#[derive(Deserialize)]
#[serde(expecting = "an object with urn and names of aspects")]
struct EntityInput {
    urn: String,
    #[serde(flatten)]
    aspects: BTreeMap<String, Option<AspectInput>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct AspectInput {
    headers: Option<Map<String, Value>>,
}

/// An aspect and its version.
type AspectVersion = (AspectName, i64);

/// An entity and its requested aspects; none means all.
type EntityRequest = (Urn, Vec<AspectVersion>);

/// Several entities. Missing ones are omitted, duplicates are returned once.
pub(crate) async fn batch(
    Authenticated { state, .. }: Authenticated,
    Path(kind): Path,
    parameters: Parameters,
    JsonBody(bytes): JsonBody,
) -> Result<Response, ErrorResponse> {
    let kind = Kind::parse(&kind)?;
    let is_grouped = bytes.trim_ascii_start().starts_with(b"{");
    if is_grouped && matches!(kind, Kind::Any) {
        return batch_by_type(&state, &parameters, &bytes).await;
    }
    let example = "[{\"urn\": \"urn:li:…\", \"status\": {}}]";
    let Items(inputs): Items<EntityInput> = parse_like(&bytes, example).await?;
    let requests = requests(kind, inputs)?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let found = read_batch(&state, &parameters, &requests, &mut budget).await?;
    budget.build(|budget| budget.reply(&found)).await
}

/// The same for `{"dataset": […], "chart": […]}`, with a reply by type.
async fn batch_by_type(
    state: &AppState,
    parameters: &Parameters,
    bytes: &[u8],
) -> Result<Response, ErrorResponse> {
    let example = "{\"dataset\": [{\"urn\": \"urn:li:…\", \"status\": {}}]}";
    let groups: BTreeMap<String, Items<EntityInput>> = parse_like(bytes, example).await?;
    let mut all = Vec::new();
    let mut names = BTreeMap::new();
    for (name, Items(inputs)) in groups {
        let kind = Kind::one(&name)?;
        let of_type = requests(kind, inputs).map_err(|error| error.about(&name))?;
        all.extend(of_type);
        if let Kind::Of(spec) = kind {
            names.insert(spec.name, name);
        }
    }
    expect_few(all.len())?;
    let mut budget = ReplyBudget::new(state.reply_memory());
    let found = read_batch(state, parameters, &all, &mut budget).await?;
    let mut grouped: BTreeMap<&str, Vec<EntityReply<'_>>> = BTreeMap::new();
    for name in names.values() {
        grouped.insert(name, Vec::new());
    }
    for entity in found {
        if let Some(name) = names.get(entity.urn.entity_type()) {
            grouped.entry(name).or_default().push(entity);
        }
    }
    budget.build(|budget| budget.reply(&grouped)).await
}

fn expect_few(count: usize) -> Result<(), ErrorResponse> {
    if count <= MAX_COUNT {
        return Ok(());
    }
    Err(ErrorResponse::bad_request(format!(
        "{count} entities are requested: at most {MAX_COUNT} are allowed"
    )))
}

/// The requested entities, each once.
fn requests(kind: Kind, inputs: Vec<EntityInput>) -> Result<Vec<EntityRequest>, ErrorResponse> {
    expect_few(inputs.len())?;
    let mut requests: Vec<EntityRequest> = Vec::with_capacity(inputs.len());
    for (position, input) in inputs.into_iter().enumerate() {
        let at_item = |error: ErrorResponse| error.about(ErrorSubject::item(position));
        let urn = kind.urn(&input.urn).map_err(at_item)?;
        let aspects = input.aspects.into_iter();
        let aspects =
            aspects.map(|(name, input)| aspect_version(&urn, &name, input).map_err(at_item));
        let aspects = aspects.collect::<Result<_, ErrorResponse>>()?;
        requests.push((urn, aspects));
    }
    let mut seen = HashSet::with_capacity(requests.len());
    requests.retain(|request| seen.insert(request.clone()));
    Ok(requests)
}

async fn read_batch<'r>(
    state: &AppState,
    parameters: &Parameters,
    requests: &'r [EntityRequest],
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<EntityReply<'r>>, ErrorResponse> {
    let with_system_metadata = parameters.flag("systemMetadata")?;
    let mut found = Vec::with_capacity(requests.len());
    for requests in requests.chunks(READ_CHUNK) {
        let rows = read(state, requests, budget).await?;
        let build = |budget: &mut ReplyBudget<'_>| {
            for ((urn, _), rows) in requests.iter().zip(rows) {
                if rows.is_empty() {
                    continue;
                }
                let rows = rows
                    .into_iter()
                    .map(|(aspect, row)| (aspect, Arc::unwrap_or_clone(row)));
                let aspects = budget.aspects(rows, with_system_metadata)?;
                found.push(EntityReply { urn, aspects });
            }
            Ok::<_, ErrorResponse>(())
        };
        budget.build(build).await?;
    }
    Ok(found)
}

fn aspect_version(
    urn: &Urn,
    name: &str,
    input: Option<AspectInput>,
) -> Result<AspectVersion, ErrorResponse> {
    let aspect = parse_aspect(name)?;
    check_aspect(urn, aspect)?;
    let headers = input.and_then(|input| input.headers);
    let conditions = with_item_headers(&Conditions::default(), headers.as_ref())?;
    Ok((aspect, conditions.version.unwrap_or(0)))
}

/// The stored aspects of each requested entity, in order. All latest versions are read at once.
async fn read(
    state: &AppState,
    requests: &[EntityRequest],
    budget: &mut ReplyBudget<'_>,
) -> Result<Vec<Vec<(AspectName, Arc<StoredAspect>)>>, ErrorResponse> {
    let catalog = state.catalog();
    let whole: Vec<Urn> = requests
        .iter()
        .filter(|(_, requests)| requests.is_empty())
        .map(|(urn, _)| urn.clone())
        .collect();
    let latest = requests.iter().flat_map(|(urn, requests)| {
        let latest = requests.iter().filter(|(_, version)| *version == 0);
        latest.map(|(aspect, _)| AspectKey::new(urn, *aspect))
    });
    let latest: Vec<AspectKey> = latest.collect();
    let whole = budget.read(catalog, ReadRequest::entities(&whole)).await?;
    let mut whole = whole.entities.into_iter();
    let mut latest = budget.read_current(catalog, &latest).await?.into_iter();
    let mut found = Vec::with_capacity(requests.len());
    for (urn, requests) in requests {
        let mut rows = Vec::with_capacity(requests.len());
        if requests.is_empty() {
            let all = whole.next().unwrap_or_default().into_iter();
            rows.extend(all.map(|(aspect, row)| (aspect, Arc::new(row))));
        }
        for (aspect, version) in requests {
            let row = if *version == 0 {
                latest.next().flatten()
            } else {
                let key = AspectKey::new(urn, *aspect);
                let version = RowVersion::new(*version);
                let row = budget.read_version(catalog, &key, version).await?;
                row.map(Arc::new)
            };
            rows.extend(row.map(|row| (*aspect, row)));
        }
        found.push(rows);
    }
    Ok(found)
}
