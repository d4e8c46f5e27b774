//! `GET /openapi/v1/system-info` and the paths below it: the server and its settings, for
//! administrators.
//!
//! DataHub describes three processes. Here, one server does the work of all of them.

use axum::response::Response;
use docent_catalog::privilege::MANAGE_SYSTEM_OPERATIONS;
use docent_catalog::{Caller, ErrorKind};
use serde_json::{Map, Value, json};

use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::status::DATAHUB_VERSION;
use crate::wire::reply;
use crate::{AppState, HttpSettings};

/// A value of the server's settings. What may contain a secret has no value here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSetting {
    pub name: String,
    /// `None` masks the value.
    pub value: Option<String>,
}

/// As in DataHub.
const MASK: &str = "***REDACTED***";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A property, with where it comes from.
struct Property<'s> {
    name: &'s str,
    value: &'s str,
    source: Source,
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    Program,
    Settings,
}

impl Source {
    const ALL: [Self; 2] = [Self::Program, Self::Settings];

    fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Settings => "settings",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Program => "Constant",
            Self::Settings => "FlagVariableOrFile",
        }
    }
}

pub(crate) async fn all(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    authorize(&state, &caller).await?;
    Ok(reply(
        &json!({"springComponents": component_values(&state)}),
    ))
}

pub(crate) async fn components(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    authorize(&state, &caller).await?;
    Ok(reply(&component_values(&state)))
}

pub(crate) async fn properties(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    authorize(&state, &caller).await?;
    let in_effect = state.in_effect();
    let list = list(&in_effect.settings);
    let details: Map<String, Value> = list
        .iter()
        .map(|it| {
            let details = json!({
                "key": it.name,
                "value": it.value,
                "source": it.source.name(),
                "sourceType": it.source.kind(),
                "resolvedValue": it.value,
            });
            (it.name.to_owned(), details)
        })
        .collect();
    let sources = Source::ALL.map(|source| {
        let count = list.iter().filter(|it| it.source == source).count();
        json!({"name": source.name(), "type": source.kind(), "propertyCount": count})
    });
    Ok(reply(&json!({
        "properties": details,
        "propertySources": sources,
        "totalProperties": list.len(),
        "redactedProperties": list.iter().filter(|it| it.value == MASK).count(),
    })))
}

pub(crate) async fn simple_properties(
    Authenticated { caller, state }: Authenticated,
) -> Result<Response, ErrorResponse> {
    authorize(&state, &caller).await?;
    Ok(reply(&values(&state)))
}

/// Fails unless the caller may operate the system.
pub(crate) async fn authorize(state: &AppState, caller: &Caller) -> Result<(), ErrorResponse> {
    let privileges = [MANAGE_SYSTEM_OPERATIONS];
    let authorized = state.catalog().authorize(caller, &privileges, None).await;
    authorized.map_err(|error| {
        let is_denied = matches!(error.kind(), ErrorKind::Forbidden);
        let response = ErrorResponse::from(error);
        if is_denied {
            // Clients recognize DataHub's words.
            let actor = caller.actor();
            return response.about(format!("{actor} is not authorized for system operations"));
        }
        response
    })
}

fn list(settings: &HttpSettings) -> Vec<Property<'_>> {
    let constants = [
        ("docent.version", VERSION),
        ("datahub.version", DATAHUB_VERSION),
    ];
    let constants = constants.map(|(name, value)| Property {
        name,
        value,
        source: Source::Program,
    });
    let settings = settings.shown.iter().map(|setting| Property {
        name: &setting.name,
        value: setting.value.as_deref().unwrap_or(MASK),
        source: Source::Settings,
    });
    constants.into_iter().chain(settings).collect()
}

fn values(state: &AppState) -> Map<String, Value> {
    let in_effect = state.in_effect();
    let list = list(&in_effect.settings).into_iter();
    list.map(|it| (it.name.to_owned(), it.value.into()))
        .collect()
}

fn component_values(state: &AppState) -> Value {
    let component = |name: &str, properties: Value| {
        json!({
            "name": name,
            "status": "AVAILABLE",
            "version": VERSION,
            "properties": properties,
        })
    };
    let consumer =
        |name: &str, note: &str| component(name, json!({"deployment": "embedded", "note": note}));
    json!({
        "gms": component("GMS", values(state).into()),
        "maeConsumer": consumer(
            "MAE Consumer",
            "part of the server: the search index follows the change log",
        ),
        "mceConsumer": consumer(
            "MCE Consumer",
            "part of the server: a write is complete when it returns",
        ),
    })
}
