//! What a monitor, a client or a person asks first: is it up, what is it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use docent_catalog::{Caller, SYSTEM_ACTOR};
use docent_model::Urn;
use serde_json::{Value, json};

use crate::AppState;

/// The version of DataHub whose wire format is spoken; clients switch features on by it.
const SPOKEN_VERSION: &str = "v1.7.0";

/// 200 when requests can be answered: the store is open, gives an answer and can be written to.
pub(crate) async fn health(State(state): State<AppState>) -> StatusCode {
    if is_ready(&state).await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

/// 200 as long as the process lives.
pub(crate) async fn live() -> StatusCode {
    StatusCode::OK
}

pub(crate) async fn detailed(State(state): State<AppState>) -> Json<Value> {
    let ready = is_ready(&state).await;
    Json(json!({
        "bootstrapped": ready,
        "ready": ready,
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

async fn is_ready(state: &AppState) -> bool {
    let Ok(system) = Urn::parse(SYSTEM_ACTOR) else {
        return false;
    };
    let caller = Caller::new(system.clone());
    let catalog = state.catalog();
    // Of two servers on a pair of databases the one that cannot write is not the one to send requests to.
    catalog.exists(&caller, &[system]).await.is_ok() && catalog.is_writable().await.unwrap_or(false)
}

/// What clients ask before anything else. `noCode` must be the text "true", or they refuse to go on; the
/// commit is the key under which they cache our schema, so it changes with it.
pub(crate) async fn config(State(state): State<AppState>) -> Json<Value> {
    Json(json!({
        "noCode": "true",
        "retention": "true",
        // Clients take these as promises: time series that can be read, PATCH, and search along lineage.
        "statefulIngestionCapable": true,
        "patchCapable": true,
        "timeZone": "GMT",
        "supportsImpactAnalysis": true,
        "datasetUrnNameCasing": false,
        "versions": {
            "acryldata/datahub": {"version": SPOKEN_VERSION, "commit": state.engine().schema_hash()},
            "docent": {"version": env!("CARGO_PKG_VERSION")},
        },
        "telemetry": {"enabledCli": false, "enabledIngestion": false},
        "managedIngestion": {"enabled": false, "defaultCliVersion": "1.7.0"},
        "datahub": {"serverType": "docent", "serverEnv": "core"},
        "models": {},
    }))
}
