//! Preconditions of writes.

use crate::support::{App, DATASET, NOW_MS, encoded, proposal};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

const DOMAIN: &str = "urn:li:domain:marketing";

fn message(body: &Value) -> &str {
    body["message"].as_str().unwrap_or_default()
}

fn named(name: &str) -> Value {
    json!({"name": name})
}

async fn name(app: &App) -> Option<String> {
    let stored = app.aspect(DOMAIN, "domainProperties").await?;
    Some(stored["name"].as_str().unwrap().to_owned())
}

/// [`DOMAIN`] as a snapshot.
fn snapshot(aspects: &[(&str, Value)]) -> Value {
    let aspects: Vec<Value> = aspects
        .iter()
        .map(|(record, value)| json!({*record: value}))
        .collect();
    let snapshot = json!({"urn": DOMAIN, "aspects": aspects});
    json!({"value": {"com.linkedin.metadata.snapshot.DomainSnapshot": snapshot}})
}

async fn send(app: &App, header: (&str, &str), path: &str, body: Value) -> (StatusCode, Value) {
    let mut request = app.request(Method::POST, path, body.to_string());
    let name = axum::http::HeaderName::from_bytes(header.0.as_bytes()).unwrap();
    request
        .headers_mut()
        .insert(name, header.1.parse().unwrap());
    app.send(request).await
}

/// All ways to send a precondition with a write of [`DOMAIN`]'s name.
#[derive(Debug, Clone, Copy)]
enum Endpoint {
    RestProposal,
    RestRequest,
    OpenApiAspect,
    OpenApiRequest,
    OpenApiOne,
    OpenApiPatch,
    Batch,
    Snapshot,
    Snapshots,
}

const ENDPOINTS: [Endpoint; 9] = [
    Endpoint::RestProposal,
    Endpoint::RestRequest,
    Endpoint::OpenApiAspect,
    Endpoint::OpenApiRequest,
    Endpoint::OpenApiOne,
    Endpoint::OpenApiPatch,
    Endpoint::Batch,
    Endpoint::Snapshot,
    Endpoint::Snapshots,
];

async fn write(
    app: &App,
    endpoint: Endpoint,
    header: (&str, &str),
    new: &str,
) -> (StatusCode, Value) {
    let (header, condition) = header;
    let inside = json!({header: condition});
    let mut wire = proposal("UPSERT", DOMAIN, "domainProperties", &named(new));
    let single = "/aspects?action=ingestProposal";
    let batch = "/aspects?action=ingestProposalBatch";
    let list = "/openapi/v3/entity/domain?async=false";
    let aspect = |headers: &Value| json!([{"urn": DOMAIN, "domainProperties": {"value": named(new), "headers": headers}}]);
    let patch = json!({"patch": [{"op": "add", "path": "/name", "value": new}]});
    let patch = json!([{"urn": DOMAIN, "domainProperties": {"value": patch, "headers": inside}}]);
    let one = format!(
        "/openapi/v3/entity/domain/{}/domainProperties",
        encoded(DOMAIN)
    );
    let request = |method: Method, path: &str, body: Value, outside: bool| {
        let mut request = app.request(method, path, body.to_string());
        if outside {
            let name = header.to_lowercase();
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request
                .headers_mut()
                .insert(name, condition.parse().unwrap());
        }
        request
    };
    let snapshot = snapshot(&[("com.linkedin.domain.DomainProperties", named(new))]);
    let request = match endpoint {
        Endpoint::RestProposal => {
            wire["headers"] = inside;
            request(Method::POST, single, json!({"proposal": wire}), false)
        }
        Endpoint::Batch => {
            wire["headers"] = inside;
            request(Method::POST, batch, json!({"proposals": [wire]}), false)
        }
        Endpoint::RestRequest => request(Method::POST, single, json!({"proposal": wire}), true),
        Endpoint::OpenApiAspect => request(Method::POST, list, aspect(&inside), false),
        Endpoint::OpenApiRequest => request(Method::POST, list, aspect(&Value::Null), true),
        Endpoint::OpenApiOne => request(Method::POST, &one, json!({"value": named(new)}), true),
        Endpoint::Snapshot => {
            let body = json!({"entity": snapshot});
            request(Method::POST, "/entities?action=ingest", body, true)
        }
        Endpoint::Snapshots => {
            let body = json!({"entities": [snapshot]});
            request(Method::POST, "/entities?action=batchIngest", body, true)
        }
        Endpoint::OpenApiPatch => request(Method::PATCH, list, patch, false),
    };
    app.send(request).await
}

#[tokio::test]
async fn every_api_checks_the_expected_version() {
    for endpoint in ENDPOINTS {
        let app = App::empty().await;
        app.ingest(DOMAIN, "domainProperties", &named("one")).await;
        app.ingest(DOMAIN, "domainProperties", &named("two")).await;
        for wrong in ["1", "3", "-1", "0"] {
            let (status, body) = write(&app, endpoint, ("If-Version-Match", wrong), "no").await;
            assert_eq!(
                status,
                StatusCode::PRECONDITION_FAILED,
                "{endpoint:?} {body}"
            );
            let expected = format!("Expected version {wrong}, actual version 2");
            assert!(message(&body).contains(&expected), "{endpoint:?} {body}");
            assert_eq!(name(&app).await.as_deref(), Some("two"));
        }
        let (status, body) = write(&app, endpoint, ("If-Version-Match", "2"), "three").await;
        assert_eq!(status, StatusCode::OK, "{endpoint:?} {body}");
        assert_eq!(name(&app).await.as_deref(), Some("three"));
        let (status, body) = write(&app, endpoint, ("If-Version-Match", "newest"), "no").await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{endpoint:?} {body}");
        assert!(message(&body).contains("If-Version-Match"), "{body}");
    }
}

#[tokio::test]
async fn every_api_rejects_entity_tags() {
    let app = App::empty().await;
    for endpoint in ENDPOINTS {
        for tag in ["\"1\"", "1", "*"] {
            let (status, body) = write(&app, endpoint, ("If-Match", tag), "new").await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{endpoint:?}: {body}");
            let message = message(&body);
            assert!(message.contains(tag), "{endpoint:?}: {message}");
            assert!(
                message.contains("If-Version-Match"),
                "{endpoint:?}: {message}"
            );
        }
    }
    assert_eq!(name(&app).await, None);
}

#[tokio::test]
async fn version_minus_one_and_if_none_match_require_a_missing_aspect() {
    for endpoint in ENDPOINTS {
        for header in [("If-Version-Match", "-1"), ("If-None-Match", "*")] {
            let app = App::empty().await;
            let (status, body) = write(&app, endpoint, ("If-Version-Match", "1"), "no").await;
            assert_eq!(
                status,
                StatusCode::PRECONDITION_FAILED,
                "{endpoint:?} {body}"
            );
            assert!(
                message(&body).contains("Expected version 1, actual version -1"),
                "{body}"
            );
            assert_eq!(app.aspect(DOMAIN, "domainKey").await, None);
            let (status, body) = write(&app, endpoint, header, "first").await;
            assert_eq!(status, StatusCode::OK, "{endpoint:?} {body}");
            let (status, body) = write(&app, endpoint, header, "second").await;
            assert_eq!(
                status,
                StatusCode::PRECONDITION_FAILED,
                "{endpoint:?} {body}"
            );
            assert!(message(&body).contains("actual version 1"), "{body}");
            assert_eq!(name(&app).await.as_deref(), Some("first"));
        }
    }
}

#[tokio::test]
async fn times_are_compared_with_the_last_change() {
    let before = "2026-09-21T00:00:00Z";
    let after = "Tue, 22 Sep 2026 00:00:00 GMT";
    assert_eq!(NOW_MS, 1_790_000_000_000, "2026-09-21T14:13:20Z");
    for endpoint in ENDPOINTS {
        let app = App::empty().await;
        let modified = |time| ("If-Modified-Since", time);
        let unmodified = |time| ("If-Unmodified-Since", time);
        let (status, body) = write(&app, endpoint, modified(before), "no").await;
        assert_eq!(
            status,
            StatusCode::PRECONDITION_FAILED,
            "{endpoint:?} {body}"
        );
        let (status, body) = write(&app, endpoint, unmodified(before), "first").await;
        assert_eq!(status, StatusCode::OK, "{endpoint:?} {body}");
        for (header, expected) in [
            (modified(after), 412),
            (unmodified(before), 412),
            (modified(before), 200),
            (unmodified(after), 200),
            (modified("yesterday"), 400),
        ] {
            let new = format!("{header:?}");
            let (status, body) = write(&app, endpoint, header, &new).await;
            assert_eq!(status.as_u16(), expected, "{endpoint:?} {header:?} {body}");
            let is_written = name(&app).await.as_deref() == Some(&new);
            assert_eq!(is_written, expected == 200, "{endpoint:?} {header:?}");
        }
    }
}

#[tokio::test]
async fn of_concurrent_writers_with_the_same_version_one_succeeds() {
    let app = std::sync::Arc::new(App::empty().await);
    app.ingest(DOMAIN, "domainProperties", &named("start"))
        .await;
    let writers = (0..8).map(|writer| {
        let app = std::sync::Arc::clone(&app);
        tokio::spawn(async move {
            let header = ("If-Version-Match", "1");
            let new = format!("writer {writer}");
            write(&app, Endpoint::OpenApiAspect, header, &new).await.0
        })
    });
    let mut won = 0;
    for writer in writers.collect::<Vec<_>>() {
        match writer.await.unwrap() {
            StatusCode::OK => won += 1,
            other => assert_eq!(other, StatusCode::PRECONDITION_FAILED),
        }
    }
    assert_eq!(won, 1);
}

#[tokio::test]
async fn a_failed_precondition_rejects_the_whole_batch_and_names_its_item() {
    let app = App::with_dataset().await;
    let mut second = proposal("UPSERT", DOMAIN, "domainProperties", &named("M"));
    second["headers"] = json!({"If-Version-Match": "4"});
    let first = proposal("UPSERT", DATASET, "status", &json!({"removed": true}));
    let (status, body) = app.propose_all(vec![first, second]).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED);
    let expected = format!("item 1 ({DOMAIN} domainProperties): Expected version 4");
    assert!(message(&body).starts_with(&expected), "{body}");
    assert_eq!(app.aspect(DATASET, "status").await, None);
}

#[tokio::test]
async fn a_create_fails_on_an_existing_aspect_unless_it_may_be_skipped() {
    let app = App::empty().await;
    app.ingest(DOMAIN, "domainProperties", &named("first"))
        .await;
    for (change, part) in [
        ("CREATE", "the aspect already exists"),
        ("CREATE_ENTITY", "the entity key already exists"),
    ] {
        let (status, body) = app
            .propose(change, DOMAIN, "domainProperties", &named("no"))
            .await;
        assert_eq!(status, StatusCode::CONFLICT, "{body}");
        assert!(message(&body).contains(part), "{body}");
        let mut wire = proposal(change, DOMAIN, "domainProperties", &named("no"));
        wire["headers"] = json!({"If-None-Match": "*"});
        let also = proposal(
            "UPSERT",
            DATASET,
            "status",
            &json!({"removed": change == "CREATE"}),
        );
        let (status, body) = app.propose_all(vec![wire, also]).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(
            app.aspect(DATASET, "status").await,
            Some(json!({"removed": change == "CREATE"})),
            "the others are written"
        );
    }
    assert_eq!(name(&app).await.as_deref(), Some("first"));
}

#[tokio::test]
async fn restate_ignores_preconditions() {
    let app = App::empty().await;
    let mut wire = proposal("RESTATE", DOMAIN, "domainProperties", &named("M"));
    wire["headers"] = json!({"If-Version-Match": "9"});
    let (status, body) = app
        .post("/aspects?action=ingestProposal", &json!({"proposal": wire}))
        .await;
    assert_eq!(status, StatusCode::OK, "{body}");
}

#[tokio::test]
async fn preconditions_on_time_series_are_rejected() {
    let app = App::with_dataset().await;
    let point = json!({"timestampMillis": 1, "rowCount": 1});
    let mut wire = proposal("UPSERT", DATASET, "datasetProfile", &point);
    wire["headers"] = json!({"If-Version-Match": "1"});
    let (status, body) = app
        .post("/aspects?action=ingestProposal", &json!({"proposal": wire}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    assert!(message(&body).contains("time series"), "{body}");
}

#[tokio::test]
async fn deletions_check_preconditions() {
    let app = App::empty().await;
    app.ingest(DOMAIN, "domainProperties", &named("one")).await;
    app.ingest(DOMAIN, "domainProperties", &named("two")).await;
    let delete = "/entities?action=delete";
    let properties = json!({"urn": DOMAIN, "aspectName": "domainProperties"});
    for (header, body) in [
        (("if-version-match", "1"), properties.clone()),
        (("if-none-match", "*"), properties.clone()),
        (
            ("if-unmodified-since", "2020-01-01T00:00:00Z"),
            properties.clone(),
        ),
        (("if-version-match", "7"), json!({"urn": DOMAIN})),
    ] {
        let (status, reply) = send(&app, header, delete, body).await;
        assert_eq!(
            status,
            StatusCode::PRECONDITION_FAILED,
            "{header:?} {reply}"
        );
        assert_eq!(name(&app).await.as_deref(), Some("two"), "{header:?}");
    }
    let (status, reply) = send(&app, ("if-version-match", "2"), delete, properties).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(name(&app).await, None);
}

#[tokio::test]
async fn snapshots_with_several_aspects_reject_a_version_but_accept_other_preconditions() {
    let app = App::empty().await;
    let two = |name: &str| {
        let snapshot = snapshot(&[
            (
                "com.linkedin.metadata.key.DomainKey",
                json!({"id": "marketing"}),
            ),
            ("com.linkedin.domain.DomainProperties", named(name)),
            (
                "com.linkedin.common.InstitutionalMemory",
                json!({"elements": []}),
            ),
        ]);
        json!({"entity": snapshot})
    };
    let ingest = "/entities?action=ingest";
    let (status, reply) = send(&app, ("if-version-match", "1"), ingest, two("no")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(message(&reply).contains("2 are sent"), "{reply}");
    let new = ("if-none-match", "*");
    let (status, reply) = send(&app, new, ingest, two("first")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, reply) = send(&app, new, ingest, two("second")).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{reply}");
    assert_eq!(name(&app).await.as_deref(), Some("first"));
}

#[tokio::test]
async fn unsupported_preconditions_are_rejected_and_never_ignored() {
    let app = App::with_dataset().await;
    app.ingest("urn:li:tag:x", "tagProperties", &json!({"name": "x"}))
        .await;
    let header = ("if-version-match", "1");
    let bucket = json!({"bucket": 1, "duration": "DAY", "resource": DATASET, "metrics": {}});
    let mutation = format!(
        r#"mutation {{ addTag(input: {{tagUrn: "urn:li:tag:x", resourceUrn: "{DATASET}"}}) }}"#
    );
    for (path, body) in [
        (
            "/usageStats?action=batchIngest",
            json!({"buckets": [bucket]}),
        ),
        ("/runs?action=rollback", json!({"runId": "r"})),
        ("/entities?action=deleteReferences", json!({"urn": DATASET})),
        ("/api/graphql", json!({"query": mutation})),
    ] {
        let (status, reply) = send(&app, header, path, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {reply}");
        assert!(
            message(&reply).contains("If-Version-Match"),
            "{path} {reply}"
        );
    }
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
    // Queries ignore preconditions.
    for (path, body) in [
        ("/api/graphql", json!({"query": "{ __typename }"})),
        ("/entities?action=listUrns", json!({"entity": "dataset"})),
    ] {
        let (status, reply) = send(&app, ("if-none-match", "\"etag\""), path, body).await;
        assert_eq!(status, StatusCode::OK, "{path} {reply}");
    }
}

#[tokio::test]
async fn preconditions_do_not_apply_to_key_aspects_among_others() {
    let path = "/openapi/v3/entity/domain?async=false";
    let star = ("if-none-match", "*");
    let key = json!({"value": {"id": "marketing"}});
    let properties = json!({"value": named("first")});
    let body =
        json!([{"urn": DOMAIN, "domainProperties": properties}, {"urn": DOMAIN, "domainKey": key}]);
    let app = App::empty().await;
    let (status, reply) = send(&app, star, path, body.clone()).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, reply) = send(&app, star, path, body).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{reply}");
    assert!(message(&reply).contains("domainProperties"), "{reply}");
    // Alone, the key aspect stands for the entity.
    let alone = json!([{"urn": DOMAIN, "domainKey": key}]);
    let (status, reply) = send(&app, star, path, alone).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{reply}");
}

#[tokio::test]
async fn clearing_an_entity_checks_preconditions_on_its_aspects() {
    let app = App::with_dataset().await;
    let point = json!({"timestampMillis": 1, "rowCount": 1});
    app.ingest(DATASET, "datasetProfile", &point).await;
    let path = format!("/openapi/v3/entity/dataset/{}?clear=true", encoded(DATASET));
    let clear = async |since: &str| {
        let mut request = app.request(Method::DELETE, &path, "");
        let name = axum::http::HeaderName::from_static("if-unmodified-since");
        request.headers_mut().insert(name, since.parse().unwrap());
        app.send(request).await
    };
    let (status, reply) = clear("2020-01-01T00:00:00Z").await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{reply}");
    assert!(!message(&reply).contains("item"), "{reply}");
    let stored = app.aspect(DATASET, "datasetProperties").await;
    assert!(stored.is_some());
    let (status, reply) = clear("2030-01-01T00:00:00Z").await;
    assert_eq!(
        (status, &reply["timeseriesRows"]),
        (StatusCode::OK, &json!(1))
    );
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, None);
    assert!(app.aspect(DATASET, "datasetKey").await.is_some());
}
