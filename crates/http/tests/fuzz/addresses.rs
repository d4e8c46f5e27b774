//! Addresses: a URN that is encoded in any usual way is decoded to itself. Every other address gets
//! a clear response.

use axum::http::{StatusCode, Uri};
use docent_model::Registry;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::engine::{Format, Outcome, Target};
use crate::support::App;
use crate::{expect_clear, world};

const TARGET: Target = Target {
    name: "addresses",
    format: Format::Text,
    dictionary: &[
        "/aspects/",
        "/entitiesV2/",
        "/entities/",
        "/relationships?urn=",
        "/openapi/v3/entity/",
        "/openapi/v2/timeline/v1/",
        "/openapi/relationships/v1?urn=",
        "?aspect=",
        "&version=",
        "?aspects=List(",
        "&types=List(",
        "&direction=",
        "INCOMING",
        "OUTGOING",
        "&start=",
        "&count=",
        "status",
        "datasetProperties",
        "dataset",
        "tag",
        "generic",
        "urn%3Ali%3Atag%3Apii",
        "%2F",
        "%28",
        "%29",
        "%2C",
        "%3A",
        "%25",
        "%FF",
        "%",
        "/",
        "//",
        "?",
        "&",
        "=",
        "+",
        "urn:li:tag:",
        "/gms",
        "/api/gms",
    ],
};

/// What clients leave as it is: everything that may stand in a path, or only what is never encoded.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'%')
    .add(b'/')
    .add(b'\\')
    .add(b'^')
    .add(b'|')
    .add(b'[')
    .add(b']');
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[tokio::test]
async fn fuzz_addresses_are_decoded_to_the_urn_that_was_encoded() {
    let app = world().await;
    TARGET.run(async |text| check(&app, text).await).await;
}

async fn check(app: &App, text: &str) -> Outcome {
    if text.starts_with('/') {
        // What a connection accepts as an address.
        if text.parse::<Uri>().is_err() {
            return Ok("no address".to_owned());
        }
        let (status, reply) = app.get(text).await;
        return expect_clear(status, &reply);
    }
    let Ok(urn) = Registry::get().parse_urn(text) else {
        let path = format!("/entitiesV2/{}", utf8_percent_encode(text, UNRESERVED));
        if path.parse::<Uri>().is_err() {
            return Ok("no address".to_owned());
        }
        let (status, reply) = app.get(&path).await;
        if status != StatusCode::BAD_REQUEST && status != StatusCode::NOT_FOUND {
            return Err(format!("{status}: {reply}"));
        }
        return expect_clear(status, &reply);
    };
    for set in [NON_ALPHANUMERIC, UNRESERVED, IN_PATH] {
        let encoded = utf8_percent_encode(text, set).to_string();
        let (status, reply) = app.get(&format!("/entitiesV2/{encoded}")).await;
        if status != StatusCode::OK || reply["urn"] != urn.as_str() {
            return Err(format!("{encoded}: {status} {reply}"));
        }
        let kind = urn.entity_type();
        let (status, reply) = app
            .get(&format!("/openapi/v3/entity/{kind}/{encoded}"))
            .await;
        let is_it = match status {
            StatusCode::OK => reply["urn"] == urn.as_str(),
            StatusCode::NOT_FOUND => true,
            _ => false,
        };
        if !is_it {
            return Err(format!("{kind}/{encoded}: {status} {reply}"));
        }
        let query = format!(
            "/relationships?urn={}",
            utf8_percent_encode(text, UNRESERVED)
        );
        let (status, reply) = app.get(&format!("{query}&direction=INCOMING")).await;
        if status != StatusCode::OK {
            return Err(format!("{query}: {status} {reply}"));
        }
    }
    Ok(urn.entity_type().to_owned())
}
