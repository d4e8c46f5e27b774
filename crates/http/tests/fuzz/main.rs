//! Fuzz targets: inputs that nobody wrote, and what must hold for each of them.
//!
//! A target is a test with a property ([`engine::Outcome`]) and a file of inputs in `corpus/`. The
//! [`engine`] checks those first, and then changes them ([`mutate`]) until its time is over:
//! `DOCENT_FUZZ_SECONDS` for each target, two by default. `DOCENT_FUZZ_SEED` repeats a run. With a
//! directory in `DOCENT_FUZZ_KEPT`, a run keeps what it found, and the next one continues from it.
//! An input that fails is printed as a line for the corpus; add it with the fix.
//!
//! To add a target, write a module with a property that is stronger than "does not panic", and a
//! file of the same name in `corpus/`.

#![expect(
    clippy::unwrap_used,
    reason = "a panic fails the test, and the engine reports the input"
)]

mod addresses;
mod engine;
mod execution;
mod filters;
mod graphql;
mod headers;
mod mutate;
mod patches;
mod proposals;
mod schema;
mod search_text;
#[expect(
    dead_code,
    reason = "the tests of the API use more of what they share with these"
)]
#[path = "../http/support.rs"]
mod support;
mod urns;
mod variables;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use engine::{Outcome, inputs_of, shape};
use support::App;

/// A catalog with what the proposals of the corpus write.
async fn world() -> App {
    let app = App::with_dataset().await;
    for input in inputs_of("proposals") {
        let body: Value = serde_json::from_str(&input).unwrap_or_default();
        app.post("/aspects?action=ingestProposal", &body).await;
    }
    app
}

/// Fails for responses that no request may get: a server error, or one that does not say what to
/// correct.
fn expect_clear(status: StatusCode, reply: &Value) -> Outcome {
    if status.is_server_error() {
        return Err(format!("{status}: {reply}"));
    }
    if status.is_success() {
        return Ok(status.to_string());
    }
    match reply["message"].as_str() {
        Some(message) if !message.is_empty() => Ok(shape(&format!("{status} {message}"))),
        _ => Err(format!("{status} without a message: {reply}")),
    }
}

/// Fails for a GraphQL reply with an internal error, and for one without the required members.
fn expect_clear_reply(reply: &Value) -> Outcome {
    if reply.get("data").is_none() {
        return Err(format!("no data: {reply}"));
    }
    let Some(errors) = reply.get("errors") else {
        return Ok("data".to_owned());
    };
    let errors = errors.as_array().filter(|errors| !errors.is_empty());
    let errors = errors.ok_or_else(|| format!("no list of errors: {reply}"))?;
    let mut shapes = Vec::new();
    for error in errors {
        let message = error["message"].as_str().unwrap_or_default();
        let code = error["extensions"]["code"].as_u64().unwrap_or_default();
        if message.is_empty() || code >= 500 {
            return Err(format!("an error of the server: {error}"));
        }
        shapes.push(shape(message));
    }
    shapes.sort();
    shapes.dedup();
    Ok(shapes.join(";"))
}

/// The status and the body of a POST of any text.
async fn post_text(app: &App, path: &str, text: &str) -> (StatusCode, Value) {
    let request: Request<Body> = app.request(axum::http::Method::POST, path, text.to_owned());
    app.send(request).await
}

/// The number of entities that a REST search finds; the status and the message if it fails.
async fn count(app: &App, query: &str, filter: &Value) -> Result<u64, (StatusCode, Value)> {
    let body =
        json!({"entity": "dataset", "input": query, "start": 0, "count": 0, "filter": filter});
    let (status, reply) = app.post("/entities?action=search", &body).await;
    match reply["value"]["numEntities"].as_u64() {
        Some(found) if status == StatusCode::OK => Ok(found),
        _ => Err((status, reply)),
    }
}
