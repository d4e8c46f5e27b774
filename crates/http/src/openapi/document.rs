//! `GET /openapi/v3/api-docs`: the OpenAPI document, generated from [`routes`] and the registry;
//! and a page that shows it without external resources.
//!
//! To describe a route, add an entry to [`routes`]; a test compares it with the router. Its
//! statuses follow from [`mod@responses`], and its reply from [`replies`].

mod replies;
mod responses;
mod routes;

use std::sync::LazyLock;

use axum::Extension;
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use bytes::Bytes;
use docent_model::{EntitySpec, Registry, json_schemas};
use serde_json::{Map, Value, json};

use crate::reply_budget::SharedReply;
use crate::trailing_slash::HadTrailingSlash;
use replies::Reply;
use responses::RESPONSES;
use routes::{Body, OPERATIONS, Operation};

/// The page may call this server and run its own script.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
                           form-action 'none'; frame-ancestors 'none'";

/// Public: the document contains nothing about the stored data.
pub(crate) async fn document() -> Response {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(whole().to_string()));
    let json = [(header::CONTENT_TYPE, "application/json")];
    (Extension(SharedReply), json, DOCUMENT.clone()).into_response()
}

/// The page that shows the document.
pub(crate) async fn page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    ];
    (
        Extension(SharedReply),
        headers,
        include_str!("document/index.html"),
    )
        .into_response()
}

/// Redirects to the page. The target is relative, because the routes are also served under other
/// base paths.
pub(crate) async fn to_page(slash: Option<Extension<HadTrailingSlash>>) -> Redirect {
    Redirect::temporary(match slash {
        Some(_) => "index.html",
        None => "swagger-ui/index.html",
    })
}

pub(crate) async fn script() -> Response {
    let headers = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (
        Extension(SharedReply),
        headers,
        include_str!("document/page.js"),
    )
        .into_response()
}

pub(crate) async fn style() -> Response {
    let headers = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
    (
        Extension(SharedReply),
        headers,
        include_str!("document/page.css"),
    )
        .into_response()
}

fn whole() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        if operation.path.contains("{type}") {
            for entity in Registry::get().entities() {
                add(&mut paths, operation, Some(entity));
            }
        } else {
            add(&mut paths, operation, None);
        }
    }
    json!({
        "openapi": "3.0.1",
        "info": {
            "title": "Docent",
            "description": "A metadata catalog with DataHub's API. GraphQL is served at /api/graphql. \
                Error messages count the items of a list from 0.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
        },
    })
}

fn add(paths: &mut Map<String, Value>, operation: &Operation, entity: Option<&EntitySpec>) {
    let name = entity.map_or("", |entity| entity.name);
    let path = operation.path.replace("{type}", name);
    let tag = if name.is_empty() { operation.tag } else { name };
    let mut described = json!({
        "tags": [tag],
        "summary": operation.summary,
        "parameters": parameters(operation, entity),
        "responses": responses(operation, entity),
    });
    if let Some(schema) = body_schema(&operation.body, name) {
        described["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    if operation.is_open {
        described["security"] = json!([]);
    }
    let methods = paths.entry(path).or_insert_with(|| json!({}));
    methods[operation.method] = described;
}

fn responses(operation: &Operation, entity: Option<&EntitySpec>) -> Map<String, Value> {
    let possible = RESPONSES.iter().filter(|it| (it.applies_to)(operation));
    possible
        .map(|it| {
            let described = match it.status {
                200..=202 => success(it.description, replies::of(operation, entity)),
                204 | 300..400 => success(it.description, None),
                400 => {
                    let mut described = failure(it.description);
                    replies::add_rejection(operation, &mut described["content"]);
                    described
                }
                _ => failure(it.description),
            };
            (it.status.to_string(), described)
        })
        .collect()
}

fn success(description: &str, reply: Option<Reply>) -> Value {
    match reply {
        None => json!({"description": description}),
        Some(reply) => json!({"description": description, "content": reply.content()}),
    }
}

fn failure(description: &str) -> Value {
    json!({
        "description": description,
        "content": {"application/json": {"schema": reference("Failure")}},
    })
}

fn parameters(operation: &Operation, entity: Option<&EntitySpec>) -> Vec<Value> {
    let in_path = operation
        .path
        .split(['{', '}'])
        .skip(1)
        .step_by(2)
        .filter(|name| *name != "type");
    let in_path = in_path.map(|name| {
        let mut schema = json!({"type": "string"});
        if name == "urn" {
            schema["format"] = json!("urn");
        }
        if let ("aspect", Some(entity)) = (name, entity) {
            let aspects = std::iter::once(&entity.key_aspect).chain(&entity.aspects);
            let aspects: Vec<&str> = aspects.map(|aspect| aspect.as_str()).collect();
            schema["enum"] = json!(aspects);
        }
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    });
    let in_query = operation.query.iter().map(|(name, kind)| {
        let schema = match kind.strip_prefix("one of ") {
            Some(values) => {
                json!({"type": "string", "enum": values.split(", ").collect::<Vec<_>>()})
            }
            None => json!({"type": kind}),
        };
        json!({"name": name, "in": "query", "required": *name == "action", "schema": schema})
    });
    let conditions: &[&str] = if operation.is_write() {
        &[
            "If-Version-Match",
            "If-Modified-Since",
            "If-Unmodified-Since",
            "If-None-Match",
        ]
    } else {
        &[]
    };
    let in_header = conditions.iter().map(|name| {
        json!({"name": name, "in": "header", "required": false, "schema": {"type": "string"}})
    });
    in_path.chain(in_query).chain(in_header).collect()
}

fn body_schema(body: &Body, entity: &str) -> Option<Value> {
    Some(match body {
        Body::None => return None,
        Body::Entities => list(&reference(&format!("{entity}.Entity"))),
        Body::Patches => list(&reference("EntityPatch")),
        Body::Groups(item) => {
            json!({"type": "object", "additionalProperties": list(&reference(item))})
        }
        Body::Schema(name) => reference(name),
        Body::Example(example) => {
            let example: Value = serde_json::from_str(example).unwrap_or_default();
            let mut schema = like(&example);
            schema["example"] = example;
            schema
        }
    })
}

/// The schema of values like this one. No member is required.
fn like(example: &Value) -> Value {
    match example {
        Value::Null => json!({}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(text) if text.starts_with("urn:li:") => {
            json!({"type": "string", "format": "urn"})
        }
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => list(&items.first().map_or_else(|| json!({}), like)),
        Value::Object(members) => {
            let members = members.iter();
            let members: Map<_, _> = members.map(|(name, it)| (name.clone(), like(it))).collect();
            json!({"type": "object", "properties": members})
        }
    }
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn schemas() -> Map<String, Value> {
    let registry = Registry::get();
    let mut schemas = json_schemas(&reference);
    for entity in registry.entities() {
        let mut properties = json!({"urn": {"type": "string", "format": "urn"}});
        for aspect in std::iter::once(&entity.key_aspect).chain(&entity.aspects) {
            let envelope = format!("{aspect}.Aspect");
            properties[aspect.as_str()] = reference(&envelope);
            schemas.entry(envelope).or_insert_with(|| {
                json!({
                    "type": "object",
                    "required": ["value"],
                    "properties": {
                        "value": reference(registry.record_name(*aspect).unwrap_or_default()),
                        "systemMetadata": {"type": "object", "nullable": true},
                        "headers": {"type": "object", "additionalProperties": {"type": "string"}, "nullable": true},
                    },
                })
            });
        }
        let schema = json!({"type": "object", "required": ["urn"], "properties": properties});
        schemas.insert(format!("{}.Entity", entity.name), schema);
    }
    for own in [own_schemas(), replies::schemas()] {
        if let Value::Object(own) = own {
            schemas.extend(own);
        }
    }
    schemas
}

fn own_schemas() -> Value {
    json!({
        "Failure": {
            "type": "object",
            "properties": {
                "error": {"type": "string"},
                "message": {"type": "string"},
                "status": {"type": "integer"},
            },
        },
        "Entity": {
            "type": "object",
            "required": ["urn"],
            "properties": {"urn": {"type": "string", "format": "urn"}},
            "additionalProperties": reference("Aspect"),
        },
        "Aspect": {
            "type": "object",
            "required": ["value"],
            "properties": {
                "value": {"type": "object"},
                "systemMetadata": {"type": "object", "nullable": true},
                "headers": {"type": "object", "nullable": true},
            },
        },
        "EntityPatch": {
            "type": "object",
            "required": ["urn"],
            "properties": {"urn": {"type": "string", "format": "urn"}},
            "additionalProperties": {
                "type": "object",
                "required": ["value"],
                "properties": {"value": reference("Patch"), "headers": {"type": "object", "nullable": true}},
            },
        },
        "Patch": {
            "type": "object",
            "required": ["patch"],
            "properties": {
                "patch": list(&json!({
                    "type": "object",
                    "required": ["op", "path"],
                    "properties": {
                        "op": {"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
                        "path": {"type": "string"},
                        "from": {"type": "string"},
                        "value": {},
                    },
                })),
                "arrayPrimaryKeys": {
                    "type": "object",
                    "additionalProperties": list(&json!({"type": "string"})),
                },
                "forceGenericPatch": {"type": "boolean"},
            },
        },
        "EntityRequests": list(&json!({
            "type": "object",
            "required": ["urn"],
            "properties": {"urn": {"type": "string", "format": "urn"}},
            "additionalProperties": {"type": "object"},
        })),
    })
}
