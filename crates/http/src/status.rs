//! Health checks and server configuration.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use docent_catalog::Caller;
use docent_catalog::server_status::STATUS_PRIVILEGES;
use docent_catalog::times::iso;
use serde_json::{Value, json};

use crate::AppState;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;

/// The DataHub version whose wire format this server implements. Clients enable features by it.
pub(crate) const DATAHUB_VERSION: &str = "v1.7.0";

/// Readiness: 200 if the store can be read and written. Health checks of DataHub's web server use
/// `/admin`.
pub(crate) async fn health(State(state): State<AppState>) -> StatusCode {
    if is_ready(&state).await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}

/// Liveness: 200 as long as the process runs.
pub(crate) async fn live() -> StatusCode {
    StatusCode::OK
}

/// Everyone sees whether the server is ready; administrators with a token see more.
pub(crate) async fn detailed(
    State(state): State<AppState>,
    mut parts: Parts,
) -> Result<Json<Value>, ErrorResponse> {
    let ready = is_ready(&state).await;
    let mut health = json!({
        "bootstrapped": ready,
        "ready": ready,
        "version": env!("CARGO_PKG_VERSION"),
    });
    if parts.headers.contains_key(AUTHORIZATION) {
        let caller = Authenticated::from_request_parts(&mut parts, &state).await;
        match caller {
            Ok(caller) => add_details(&mut health, &caller).await,
            Err(error) if error.status() == StatusCode::UNAUTHORIZED => return Err(error),
            // The store cannot be read: `ready` says so.
            Err(_) => {}
        }
    }
    Ok(Json(health))
}

async fn add_details(health: &mut Value, Authenticated { caller, state }: &Authenticated) {
    let catalog = state.catalog();
    let is_allowed = catalog.is_allowed(caller, STATUS_PRIVILEGES, None).await;
    if !is_allowed.unwrap_or(false) {
        return;
    }
    let Ok(status) = catalog.server_status(caller).await else {
        return;
    };
    health["startedAt"] = iso(status.started_at_ms).into();
    health["engine"] = status.engine.into();
    health["store"] = json!({
        "sizeBytes": status.store_bytes,
        "isWritable": status.is_writable,
    });
    health["searchIndex"] = match status.index {
        Some(index) => json!({
            "pendingChanges": index.pending_changes,
            "built": index.built,
            "sizeBytes": index.size_bytes,
        }),
        None => Value::Null,
    };
    health["backups"] = backups(state);
}

/// What is known of scheduled backups.
fn backups(state: &AppState) -> Value {
    match &state.in_effect().settings.backups {
        Some(backups) => json!({
            "lastSuccessAt": backups.last_success_ms().map(iso),
            "failures": backups.failures(),
            "logArchivedUntil": backups.archived_until_ms().map(iso),
        }),
        None => Value::Null,
    }
}

async fn is_ready(state: &AppState) -> bool {
    let system = Caller::system().actor().clone();
    let catalog = state.catalog();
    // In front of a database pair, requests must go to the server that can write.
    catalog.exists(&[system]).await.is_ok() && catalog.is_writable().await.unwrap_or(false)
}

/// The first request of DataHub's clients. They stop unless `noCode` is the string "true". They
/// cache our schema by the commit, so that is a hash of the schema. With `verbose=true`, it says
/// whether the request is authenticated.
pub(crate) async fn config(
    State(state): State<AppState>,
    parameters: Parameters,
    mut parts: Parts,
) -> Result<Json<Value>, ErrorResponse> {
    let mut config = json!({
        "noCode": "true",
        "retention": "true",
        // These enable features in clients: reading time series, PATCH, and search across lineage.
        "statefulIngestionCapable": true,
        "patchCapable": true,
        "timeZone": "GMT",
        "supportsImpactAnalysis": true,
        "datasetUrnNameCasing": false,
        "versions": {
            "acryldata/datahub": {"version": DATAHUB_VERSION, "commit": state.engine().schema_hash()},
            "docent": {"version": env!("CARGO_PKG_VERSION")},
        },
        "telemetry": {"enabledCli": false, "enabledIngestion": false},
        "managedIngestion": {"enabled": false, "defaultCliVersion": "1.7.0"},
        "datahub": {"serverType": "docent", "serverEnv": "core"},
        "models": {},
    });
    if parameters.flag("verbose")? {
        let caller = Authenticated::from_request_parts(&mut parts, &state).await;
        config["userType"] = match caller {
            Ok(_) => "user",
            Err(error) if error.status() == StatusCode::UNAUTHORIZED => "anonymous",
            Err(error) => return Err(error),
        }
        .into();
    }
    Ok(Json(config))
}
