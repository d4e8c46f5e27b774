//! `GET` and `HEAD /openapi/v3/entity/{type}/{urn}[/{aspect}]`, and `POST …/{type}/batchGet`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use docent_catalog::search::MAX_COUNT;
use docent_catalog::{
    AspectKey, Caller, Catalog, Conditions, ErrorSubject, RowVersion, StoredAspect,
};
use docent_model::{AspectName, Registry, Urn};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::address::{Address, Kind};
use super::entities::{EntityReply, parse_aspects};
use super::parse_like;
use crate::AppState;
use crate::auth::Authenticated;
use crate::body::WholeBody;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use crate::restli::{check_aspect, check_shown, json as reply, parse_aspect};
use crate::shown::{PIECE, Shown};

/// One entity with its aspects, or one aspect. `HEAD` asks only whether it is there.
pub(crate) async fn one(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    parameters: Parameters,
    method: Method,
    uri: Uri,
) -> Result<Response, ErrorResponse> {
    let address = Address::parse(&uri)?.certain(&state, &caller).await?;
    let Address { urn, aspect, .. } = address;
    let found = match aspect {
        Some(aspect) => self::aspect(&state, &caller, &parameters, &urn, aspect).await?,
        None => entity(&state, &caller, &parameters, &urn).await?,
    };
    match found {
        Some(_) if method == Method::HEAD => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(found) => Ok(found),
        None => {
            let message = match (aspect, version(&parameters)?) {
                (None, _) => format!("there is no {urn}"),
                (Some(aspect), 0) => format!("{urn} has no {aspect}"),
                (Some(aspect), version) => format!(
                    "{urn} has no {aspect} in version {version}: 0 is the latest, 1 the oldest, and old ones are not \
                     kept for ever"
                ),
            };
            Err(ErrorResponse::new(StatusCode::NOT_FOUND, message))
        }
    }
}

/// The version that is asked for; 0 is the latest.
fn version(parameters: &Parameters) -> Result<i64, ErrorResponse> {
    Ok(parameters.number("version")?.unwrap_or(0))
}

async fn aspect(
    state: &AppState,
    caller: &Caller,
    parameters: &Parameters,
    urn: &Urn,
    aspect: AspectName,
) -> Result<Option<Response>, ErrorResponse> {
    check_shown(aspect)?;
    let key = AspectKey::new(urn, aspect);
    let version = version(parameters)?;
    let catalog = state.catalog();
    let row = if version == 0 {
        let current = catalog.read_current(caller, &[key]).await?.pop();
        current.flatten()
    } else {
        let row = catalog
            .read_version(caller, &key, RowVersion::new(version))
            .await?;
        row.map(Arc::new)
    };
    let noted = parameters.flag("systemMetadata")?;
    let found = row
        .map(|row| Shown::default().aspect(&row, noted))
        .transpose()?;
    Ok(found.map(|found| reply(&found)))
}

async fn entity(
    state: &AppState,
    caller: &Caller,
    parameters: &Parameters,
    urn: &Urn,
) -> Result<Option<Response>, ErrorResponse> {
    let wanted = parse_aspects(&parameters.all("aspects"))?;
    let mut rows = state
        .catalog()
        .read_entities(caller, std::slice::from_ref(urn))
        .await?
        .pop()
        .unwrap_or_default();
    if rows.is_empty() {
        return Ok(None);
    }
    // Of a time series the newest point, if it is asked for.
    let series: Vec<AspectKey> = wanted
        .iter()
        .filter(|aspect| Registry::get().is_timeseries(**aspect))
        .map(|aspect| AspectKey::new(urn, *aspect))
        .collect();
    let points = state.catalog().read_current(caller, &series).await?;
    for (key, point) in series.iter().zip(points) {
        rows.extend(point.map(|point| (key.aspect, Arc::unwrap_or_clone(point))));
    }
    let noted = parameters.flag("systemMetadata")?;
    let is_shown = |aspect: AspectName| {
        (wanted.is_empty() || wanted.contains(&aspect)) && !Catalog::is_secret(aspect)
    };
    let mut shown = Shown::default();
    let aspects = rows
        .iter()
        .filter(|(aspect, _)| is_shown(*aspect))
        .map(|(aspect, row)| Ok((aspect.as_str(), shown.aspect(row, noted)?)))
        .collect::<Result<_, ErrorResponse>>()?;
    Ok(Some(reply(&EntityReply { urn, aspects })))
}

/// An entity of a batch, with the aspects that are wanted of it; none means all.
#[derive(Deserialize)]
#[serde(expecting = "an object with urn and names of aspects")]
struct Wanted {
    urn: String,
    #[serde(flatten)]
    aspects: BTreeMap<String, Option<WantedAspect>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct WantedAspect {
    headers: Option<Map<String, Value>>,
}

/// An aspect, and which version of it.
type Wish = (AspectName, i64);

/// Several entities at once. Those that are not there are left out, and who is asked for twice is given once.
pub(crate) async fn batch(
    State(state): State<AppState>,
    Authenticated(caller): Authenticated,
    Path(kind): Path<String>,
    parameters: Parameters,
    WholeBody(bytes): WholeBody,
) -> Result<Response, ErrorResponse> {
    let kind = Kind::parse(&kind)?;
    let wanted: Vec<Wanted> = parse_like(&bytes, "[{\"urn\": \"urn:li:…\", \"status\": {}}]")?;
    if wanted.len() > MAX_COUNT {
        return Err(ErrorResponse::bad_request(format!(
            "{} entities are asked for: at most {MAX_COUNT} are given at once",
            wanted.len()
        )));
    }
    let mut wishes: Vec<(Urn, Vec<Wish>)> = Vec::with_capacity(wanted.len());
    for (position, wanted) in wanted.into_iter().enumerate() {
        let named = |error: ErrorResponse| error.about(ErrorSubject::item(position));
        let urn = kind.urn(&wanted.urn).map_err(named)?;
        let aspects = wanted.aspects.into_iter();
        let aspects = aspects.map(|(name, wanted)| wish(&urn, &name, wanted).map_err(named));
        let aspects = aspects.collect::<Result<_, ErrorResponse>>()?;
        wishes.push((urn, aspects));
    }
    let mut seen = HashSet::with_capacity(wishes.len());
    wishes.retain(|wish| seen.insert(wish.clone()));
    let noted = parameters.flag("systemMetadata")?;
    let mut shown = Shown::default();
    let mut found = Vec::with_capacity(wishes.len());
    for wishes in wishes.chunks(PIECE) {
        let rows = read(&state, &caller, wishes).await?;
        for ((urn, _), mut rows) in wishes.iter().zip(rows) {
            rows.retain(|(aspect, _)| !Catalog::is_secret(*aspect));
            if rows.is_empty() {
                continue;
            }
            let aspects = rows.iter();
            let aspects =
                aspects.map(|(aspect, row)| Ok((aspect.as_str(), shown.aspect(row, noted)?)));
            let aspects = aspects.collect::<Result<BTreeMap<_, _>, ErrorResponse>>()?;
            found.push(EntityReply { urn, aspects });
        }
    }
    Ok(reply(&found))
}

fn wish(urn: &Urn, name: &str, wanted: Option<WantedAspect>) -> Result<Wish, ErrorResponse> {
    let aspect = parse_aspect(name)?;
    check_aspect(urn, aspect)?;
    let headers = wanted.and_then(|wanted| wanted.headers);
    let conditions = Conditions::default().with(headers.as_ref())?;
    Ok((aspect, conditions.version().unwrap_or(0)))
}

/// What is wished for and there, in the order of the entities. All latest versions are read at once.
async fn read(
    state: &AppState,
    caller: &Caller,
    wishes: &[(Urn, Vec<Wish>)],
) -> Result<Vec<Vec<(AspectName, Arc<StoredAspect>)>>, ErrorResponse> {
    let catalog = state.catalog();
    let whole: Vec<Urn> = wishes
        .iter()
        .filter(|(_, wishes)| wishes.is_empty())
        .map(|(urn, _)| urn.clone())
        .collect();
    let latest = wishes.iter().flat_map(|(urn, wishes)| {
        let latest = wishes.iter().filter(|(_, version)| *version == 0);
        latest.map(|(aspect, _)| AspectKey::new(urn, *aspect))
    });
    let latest: Vec<AspectKey> = latest.collect();
    let mut whole = catalog.read_entities(caller, &whole).await?.into_iter();
    let mut latest = catalog.read_current(caller, &latest).await?.into_iter();
    let mut found = Vec::with_capacity(wishes.len());
    for (urn, wishes) in wishes {
        let mut rows = Vec::with_capacity(wishes.len());
        if wishes.is_empty() {
            let all = whole.next().unwrap_or_default().into_iter();
            rows.extend(all.map(|(aspect, row)| (aspect, Arc::new(row))));
        }
        for (aspect, version) in wishes {
            let row = if *version == 0 {
                latest.next().flatten()
            } else {
                let key = AspectKey::new(urn, *aspect);
                let row = catalog
                    .read_version(caller, &key, RowVersion::new(*version))
                    .await?;
                row.map(Arc::new)
            };
            rows.extend(row.map(|row| (*aspect, row)));
        }
        found.push(rows);
    }
    Ok(found)
}
