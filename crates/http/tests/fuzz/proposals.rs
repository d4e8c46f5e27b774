//! Change proposals: either nothing changes and the message says why, or the stored value is valid.

use axum::http::StatusCode;
use docent_model::{Registry, Urn};
use serde_json::Value;

use crate::engine::{Format, Outcome, Target};
use crate::support::{App, encoded};
use crate::{expect_clear, post_text, world};

const TARGET: Target = Target {
    name: "proposals",
    format: Format::Json,
    dictionary: &[
        "UPSERT",
        "CREATE",
        "CREATE_ENTITY",
        "PATCH",
        "RESTATE",
        "DELETE",
        "entityUrn",
        "aspectName",
        "changeType",
        "aspect",
        "value",
        "contentType",
        "application/json",
        "systemMetadata",
        "lastObserved",
        "runId",
        "headers",
        "If-Version-Match",
        "If-None-Match",
        "status",
        "removed",
        "urn:li:tag:pii",
        "urn:li:domain:finance",
        "name",
        "description",
        "time",
        "actor",
        "created",
    ],
};

#[tokio::test]
async fn fuzz_proposals_are_rejected_without_effect_or_store_a_valid_value() {
    let app = world().await;
    TARGET.run(async |input| check(&app, input).await).await;
    // Edges, placements and versions are those of the aspects.
    let damage = app.store().check().await.unwrap();
    assert!(damage.is_empty(), "{damage:#?}");
}

async fn check(app: &App, input: &str) -> Outcome {
    let body = serde_json::from_str::<Value>(input).unwrap_or_default();
    let proposal = &body["proposal"];
    let address = address(proposal);
    let before = stored(app, address.as_ref()).await?;
    let (status, reply) = post_text(app, "/aspects?action=ingestProposal", input).await;
    let outcome = expect_clear(status, &reply)?;
    let after = stored(app, address.as_ref()).await?;
    if status != StatusCode::OK {
        return if before == after {
            Ok(outcome)
        } else {
            Err(format!("{status} {reply}, and {before:?} became {after:?}"))
        };
    }
    let (Some((urn, aspect)), Some(mut value)) = (address, after) else {
        return Ok(outcome);
    };
    expect_valid(&urn, &aspect, &mut value)?;
    Ok(format!("{outcome} {aspect}"))
}

/// Fails if the registry would reject a stored value, or change it.
pub(crate) fn expect_valid(urn: &str, aspect: &str, value: &mut Value) -> Result<(), String> {
    let registry = Registry::get();
    let urn = Urn::parse(urn).map_err(|error| error.to_string())?;
    let entity = registry
        .check_urn(&urn)
        .map_err(|error| error.to_string())?;
    let aspect = registry.aspect(aspect).ok_or("no aspect")?;
    match registry.validate(entity, aspect, value) {
        Ok(false) => Ok(()),
        other => Err(format!("{urn} has an invalid {aspect}, {other:?}: {value}")),
    }
}

/// The URN and the aspect of a proposal, if it has a valid one that can be read.
fn address(proposal: &Value) -> Option<(String, String)> {
    let registry = Registry::get();
    let urn = registry.parse_urn(proposal["entityUrn"].as_str()?).ok()?;
    let aspect = registry.aspect(proposal["aspectName"].as_str()?)?;
    if registry.is_timeseries(aspect) {
        return None;
    }
    Some((urn.to_string(), aspect.to_string()))
}

/// The latest value; `None` also for secret ones.
async fn stored(app: &App, address: Option<&(String, String)>) -> Result<Option<Value>, String> {
    let Some((urn, aspect)) = address else {
        return Ok(None);
    };
    let path = format!("/aspects/{}?aspect={aspect}&version=0", encoded(urn));
    let (status, reply) = app.get(&path).await;
    match status {
        StatusCode::OK => {
            let aspects = reply["aspect"].as_object().ok_or("no aspect")?;
            Ok(aspects.values().next().cloned())
        }
        StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => Ok(None),
        other => Err(format!("{path}: {other} {reply}")),
    }
}
