//! Every write over REST, called by every kind of caller, and every route with tokens that do not
//! count any more. A route without a row fails the test.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::access::{CALLERS, TAG, app, domain_token, tokens};
use crate::support::{App, DATASET, encoded, proposal, token_of};
use crate::tokens::{PROTECTED, concrete};

/// Those of `access.rs`, and one who may propose changes.
const PROPOSER: (char, &str) = ('P', "paula");

/// Those who may edit [`DATASET`]: an Editor, an administrator, the steward of its domain, its
/// owner and a token for its domain.
const DATASET_EDITORS: &str = "EASOD";
const EDITORS: &str = "EA";
/// Those who may delete [`DATASET`].
const DELETERS: &str = "EAD";
const EVERYONE: &str = "REASHOPD";

/// A method, a route, the rest of the address, the body, who may send it, and whether those who
/// may not edit can propose it. What deletes something comes last.
pub(crate) type Row = (
    &'static str,
    &'static str,
    String,
    Value,
    &'static str,
    Proposable,
);

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Proposable {
    Yes,
    No,
}

/// Routes that only read, whatever their method. GraphQL has its own test.
const READING: [(&str, &str); 10] = [
    ("POST", "/api/graphql"),
    ("POST", "/api/v2/graphql"),
    // For administrators: `audit.rs` tests who may.
    ("POST", "/openapi/v1/events/audit/search"),
    ("POST", "/openapi/v1/trace/write/{trace}"),
    ("POST", "/openapi/v2/entity/batch/{type}"),
    ("POST", "/openapi/v3/entity/scroll"),
    ("POST", "/openapi/v3/entity/{type}/batchGet"),
    ("POST", "/openapi/v3/relationship/scroll"),
    ("POST", "/openapi/v3/lineage/scroll"),
    // About the caller's own account.
    ("POST", "/changePassword"),
];

pub(crate) fn rows() -> Vec<Row> {
    use Proposable::{No, Yes};
    let status = json!({"removed": true});
    let description = json!({"description": "d", "created": {"time": 0, "actor": "urn:li:corpuser:datahub"},
        "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}});
    let upsert = proposal("UPSERT", DATASET, "editableDatasetProperties", &description);
    let patch = json!([{"op": "add", "path": "/removed", "value": true}]);
    let profile = json!({"timestampMillis": 1, "rowCount": 1});
    let snapshot = json!({"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": {
        "urn": DATASET, "aspects": [{"com.linkedin.common.Status": status}],
    }}});
    let bucket = json!({"bucket": 0, "duration": "DAY", "resource": DATASET, "metrics": {"totalSqlQueries": 1}});
    let one = |aspect: &str| format!("/{}/{aspect}", encoded(DATASET));
    let action = |name: &str| format!("?action={name}");
    let by_type = "/openapi/v3/entity/{type}";
    let by_urn = "/openapi/v3/entity/{type}/{*urn}";
    vec![
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": upsert}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposalBatch"),
            json!({"proposals": [upsert]}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": proposal("PATCH", DATASET, "status", &patch)}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": proposal("UPSERT", DATASET, "datasetProfile", &profile)}),
            DATASET_EDITORS,
            No,
        ),
        (
            "POST",
            "/entities",
            action("ingest"),
            json!({"entity": snapshot}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/entities",
            action("batchIngest"),
            json!({"entities": [snapshot]}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/usageStats",
            action("batchIngest"),
            json!({"buckets": [bucket]}),
            DATASET_EDITORS,
            No,
        ),
        (
            "POST",
            by_type,
            "/dataset".to_owned(),
            json!([{"urn": DATASET, "editableDatasetProperties": {"value": description}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "PATCH",
            by_type,
            "/dataset".to_owned(),
            json!([{"urn": DATASET, "status": {"value": {"patch": patch}}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            by_urn,
            format!(
                "/dataset{}?createIfNotExists=false",
                one("editableDatasetProperties")
            ),
            json!({"value": description}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "PATCH",
            by_urn,
            format!("/dataset{}", one("status")),
            json!({"patch": patch}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/operations",
            action("restoreIndices"),
            json!({}),
            // It does nothing: the index follows every write.
            EVERYONE,
            No,
        ),
        (
            "POST",
            "/runs",
            action("rollback"),
            json!({"runId": "nightly", "dryRun": false, "hardDelete": true, "safe": false}),
            EDITORS,
            No,
        ),
        (
            "POST",
            "/entities",
            action("deleteReferences"),
            json!({"urn": TAG, "dryRun": false}),
            EDITORS,
            No,
        ),
        (
            "DELETE",
            by_urn,
            format!("/dataset{}", one("editableDatasetProperties")),
            Value::Null,
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/entities",
            action("delete"),
            json!({"urn": DATASET}),
            DELETERS,
            No,
        ),
        (
            "DELETE",
            by_urn,
            format!("/dataset/{}", encoded(DATASET)),
            Value::Null,
            DELETERS,
            No,
        ),
    ]
}

fn request(method: &str, path: &str, token: &str, body: &Value) -> Request<Body> {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body))
        .unwrap()
}

/// Writes what the rows change or delete.
async fn restore(app: &App) {
    app.add_dataset(DATASET).await;
    let tags = json!({"tags": [{"tag": TAG}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    for (aspect, value) in [
        ("status", json!({"removed": false})),
        ("domains", json!({"domains": ["urn:li:domain:finance"]})),
        (
            "ownership",
            json!({"owners": [{"owner": "urn:li:corpuser:olga", "type": "DATAOWNER"}],
                "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}}),
        ),
        (
            "editableDatasetProperties",
            json!({"description": "old", "created": {"time": 0, "actor": "urn:li:corpuser:datahub"},
                "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}}),
        ),
    ] {
        app.ingest(DATASET, aspect, &value).await;
    }
    let mut written = proposal(
        "UPSERT",
        "urn:li:container:of-the-run",
        "containerProperties",
        &json!({"name": "c"}),
    );
    written["systemMetadata"] = json!({"runId": "nightly", "lastObserved": 1});
    let (status, reply) = app
        .post(
            "/aspects?action=ingestProposal",
            &json!({"proposal": written}),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn every_write_is_denied_to_exactly_those_who_lack_the_privilege() {
    let app = app().await;
    let mut callers = CALLERS.to_vec();
    callers.push(PROPOSER);
    let mut tokens = tokens(&app, &callers).await;
    tokens.push(domain_token(&app).await);
    let rows = rows();
    let covered: BTreeSet<_> = rows
        .iter()
        .map(|(method, route, ..)| (*method, *route))
        .chain(READING)
        .collect();
    let writing = PROTECTED.into_iter().filter(|(method, _)| *method != "GET");
    assert_eq!(covered, writing.collect(), "every route has a row");

    for (method, route, rest, body, allowed, proposable) in &rows {
        let path = format!("{}{rest}", route.split("/{").next().unwrap());
        let by_right = |(letter, _): &&(char, String)| allowed.contains(*letter);
        let (may, may_not): (Vec<_>, Vec<_>) = tokens.iter().partition(by_right);
        // Those who are denied change nothing, so they come first.
        restore(&app).await;
        for (letter, token) in may_not {
            let response = app.respond(request(method, &path, token, body)).await;
            let is_proposed = response.headers().contains_key("x-docent-proposal");
            let name = format!("{method} {path} by {letter}");
            if *letter == PROPOSER.0 && *proposable == Proposable::Yes {
                assert!(response.status().is_success(), "{name}");
                assert!(is_proposed, "{name}");
            } else {
                assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}");
                assert!(!is_proposed, "{name}");
            }
        }
        for (letter, token) in may {
            restore(&app).await;
            let (status, reply) = app.send(request(method, &path, token, body)).await;
            assert!(status.is_success(), "{method} {path} by {letter}: {reply}");
        }
    }
}

#[tokio::test]
async fn expired_revoked_and_suspended_callers_are_rejected_on_every_route() {
    let app = app().await;
    let name = |name: &str| format!("urn:li:corpuser:{name}");
    let expired = token_of(&app.catalog, &name("eddie"), Some(1_000)).await;
    let revoked = token_of(&app.catalog, &name("rita"), None).await;
    let suspended = token_of(&app.catalog, &name("sam"), None).await;
    app.clock.advance(1_000);
    let system = Caller::system();
    let listed = app
        .graphql(r#"{ listAccessTokens(input: { filters: [{ field: "ownerUrn", values: ["urn:li:corpuser:rita"] }] }) { tokens { id } } }"#)
        .await;
    let id = listed["data"]["listAccessTokens"]["tokens"][0]["id"].as_str();
    app.catalog
        .revoke_token(&system, id.unwrap())
        .await
        .unwrap();
    app.ingest(&name("sam"), "corpUserInfo", &json!({"active": true}))
        .await;
    let sam = Urn::parse(&name("sam")).unwrap();
    app.catalog.suspend_user(&system, &sam).await.unwrap();
    for (method, route) in PROTECTED {
        let path = concrete(route);
        for (kind, token) in [
            ("expired", &expired),
            ("revoked", &revoked),
            ("suspended", &suspended),
        ] {
            let (status, _) = app.send(request(method, &path, token, &json!({}))).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} {kind}");
        }
    }
}
