//! Every write and every read over REST, sent by every kind of caller, and every route with tokens
//! that are not valid any more. A route or an action without a row fails the test.

mod rows;

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};

use crate::access::{TAG, app, ended_tokens, tokens};
use crate::support::{App, DATASET, encoded, proposal};
use crate::tokens::{PROTECTED, concrete};

const PROPOSER: char = 'P';
const LOGICAL: &str = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)";
/// Its only version is [`DATASET`].
const VERSIONS: &str = "urn:li:versionSet:(reports,dataset)";
/// It has no versions.
const OTHER_VERSIONS: &str = "urn:li:versionSet:(models,dataset)";

/// Those who may edit [`DATASET`]: an Editor, an administrator, the steward of its domain, its
/// owner and a token for its domain.
const DATASET_EDITORS: &str = "EASOD";
const EDITORS: &str = "EA";
/// Those who may delete [`DATASET`].
const DELETERS: &str = "EAD";
const EVERYONE: &str = "REASHOPDV";
/// The administrator, also with a token that only reads; not with one for a domain.
const ADMINISTRATORS: &str = "AV";

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

pub(crate) use rows::rows;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Proposable {
    Yes,
    No,
}

/// Routes whose callers other tests walk: those of GraphQL, that of agents, which use GraphQL, and
/// that of the caller's own password.
const ELSEWHERE: [(&str, &str); 4] = [
    ("POST", "/mcp"),
    ("POST", "/api/graphql"),
    ("POST", "/api/v2/graphql"),
    ("POST", "/changePassword"),
];

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
    app.add_dataset(LOGICAL).await;
    let tags = json!({"tags": [{"tag": TAG}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let link = proposal("DELETE", LOGICAL, "versionProperties", &Value::Null);
    let (status, reply) = app.propose_all(vec![link]).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    for (aspect, value) in [
        (
            "versionProperties",
            json!({"versionSet": VERSIONS, "version": {"versionTag": "one"}, "sortId": "AAAAAAAA",
                "versioningScheme": "ALPHANUMERIC_GENERATED_BY_DATAHUB"}),
        ),
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
    let tokens = tokens(&app).await;
    let rows = rows();
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
            if *letter == PROPOSER && *proposable == Proposable::Yes {
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

/// A method, a route, what replaces its parameters and follows it, the body, and who may send it.
type Read = (&'static str, &'static str, String, Value, &'static str);

/// What only reads, whatever its method.
fn reads() -> Vec<Read> {
    let dataset = encoded(DATASET);
    let get = |route, rest: &str| ("GET", route, rest.to_owned(), Value::Null, EVERYONE);
    let post = |route, rest: &str, body| ("POST", route, rest.to_owned(), body, EVERYONE);
    let action = |route, name: &str, body| post(route, &format!("?action={name}"), body);
    let run = |dry_run: Value| json!({"runId": "nightly", "dryRun": dry_run});
    let mut reads = vec![
        get(
            "/aspects/{*urn}",
            &format!("/{dataset}?aspect=datasetProperties&version=0"),
        ),
        get("/entitiesV2", &format!("?ids=List({dataset})")),
        get("/entitiesV2/{*urn}", &format!("/{dataset}")),
        get("/entities/{*urn}", &format!("/{dataset}")),
        get(
            "/relationships",
            &format!("?urn={dataset}&direction=OUTGOING&types=List(OwnedBy)"),
        ),
        get(
            "/openapi/relationships/v1",
            &format!("?urn={dataset}&direction=OUTGOING&relationshipTypes=OwnedBy"),
        ),
        get(
            "/openapi/operations/messaging/{queue}/consumer/lag",
            "/mcp/consumer/lag",
        ),
        get(
            "/openapi/operations/kafka/{queue}/consumer/offsets",
            "/mcp/consumer/offsets",
        ),
        get(
            "/openapi/v1/registry/models/entity/specifications",
            "?count=1",
        ),
        get(
            "/openapi/v2/timeline/v1/{*urn}",
            &format!("/{dataset}?categories=DOCUMENTATION"),
        ),
        get(
            "/openapi/timeline/v1/{*urn}",
            &format!("/{dataset}?categories=DOCUMENTATION"),
        ),
        get("/openapi/operations/identity/user/urn", ""),
        get(
            "/openapi/v2/timeseries/{entity}/{aspect}",
            "/dataset/datasetProfile?count=10",
        ),
        get("/openapi/v3/entity/{type}", "/dataset?query=*&count=10"),
        get("/openapi/v2/entity/{type}", "/dataset?query=*&count=10"),
        get(
            "/openapi/v2/entity/{type}/{*urn}",
            &format!("/dataset/{dataset}"),
        ),
        get(
            "/openapi/v3/entity/{type}/{*urn}",
            &format!("/dataset/{dataset}"),
        ),
        get(
            "/openapi/v3/entity/{type}/{*urn}",
            &format!("/dataset/{dataset}/datasetProperties"),
        ),
        post(
            "/openapi/v1/trace/write/{trace}",
            "/0123456789abcdef0123456789abcdef",
            json!({DATASET: ["datasetProperties"]}),
        ),
        post(
            "/openapi/v1/tracking/track",
            "",
            json!({"type": "PageViewEvent"}),
        ),
        post(
            "/openapi/v2/entity/batch/{type}",
            "/dataset",
            json!({"urns": [DATASET], "aspectNames": ["domains"]}),
        ),
        post(
            "/openapi/v3/entity/scroll",
            "?query=*&count=10",
            json!({"entities": ["dataset"]}),
        ),
        post(
            "/openapi/v3/entity/{type}/batchGet",
            "/dataset/batchGet",
            json!([{"urn": DATASET, "domains": {}}]),
        ),
        post("/openapi/v3/relationship/scroll", "?count=10", json!({})),
        post("/openapi/v2/relationship/scroll", "?count=10", json!({})),
        get("/openapi/v2/relationship/{name}", "/OwnedBy"),
        get("/openapi/v3/relationship/{name}", "/OwnedBy"),
        get(
            "/openapi/v2/relationship/{name}/{*urn}",
            &format!("/dataset/{dataset}"),
        ),
        get(
            "/openapi/v3/relationship/{name}/{*urn}",
            &format!("/dataset/{dataset}"),
        ),
        get("/openapi/v1/entities/counts", "?types=dataset"),
        get("/openapi/v1/entities/{entity}/count", "/dataset/count"),
        get(
            "/openapi/v1/registry/models/entity/specifications/{entity}",
            "/dataset",
        ),
        get(
            "/openapi/v1/registry/models/entity/specifications/{entity}/aspects",
            "/dataset/aspects",
        ),
        get("/openapi/v1/registry/models/aspect/specifications", ""),
        get(
            "/openapi/v1/registry/models/aspect/specifications/{name}",
            "/status",
        ),
        get(
            "/openapi/entities/v1/latest",
            &format!("?urns={dataset}&aspectNames=status"),
        ),
        post(
            "/openapi/v3/lineage/scroll",
            "?count=10",
            json!({"urns": [DATASET]}),
        ),
        action(
            "/entities",
            "search",
            json!({"entity": "dataset", "input": "*", "start": 0, "count": 10}),
        ),
        action(
            "/entities",
            "searchAcrossEntities",
            json!({"entities": ["dataset"], "input": "*", "start": 0, "count": 10}),
        ),
        action(
            "/entities",
            "scrollAcrossEntities",
            json!({"entities": ["dataset"], "input": "*", "count": 10}),
        ),
        action(
            "/entities",
            "autocomplete",
            json!({"entity": "dataset", "query": "fct", "limit": 10}),
        ),
        action(
            "/entities",
            "browse",
            json!({"entity": "dataset", "path": "", "start": 0, "limit": 10}),
        ),
        action(
            "/entities",
            "listUrns",
            json!({"entity": "dataset", "start": 0, "count": 10}),
        ),
        action(
            "/entities",
            "deleteReferences",
            json!({"urn": TAG, "dryRun": true}),
        ),
        action(
            "/entities",
            "deleteAll",
            json!({"registryId": "models:0.0.1", "dryRun": true}),
        ),
        action(
            "/aspects",
            "getTimeseriesAspectValues",
            json!({"urn": DATASET, "entity": "dataset", "aspect": "datasetProfile"}),
        ),
        action("/aspects", "getCount", json!({"aspect": "datasetKey"})),
        action("/runs", "list", json!({"pageOffset": 0, "pageSize": 10})),
        action("/runs", "describe", run(Value::Null)),
        action(
            "/usageStats",
            "query",
            json!({"resource": DATASET, "duration": "DAY", "startTime": 0, "endTime": 1}),
        ),
        action(
            "/usageStats",
            "queryRange",
            json!({"resource": DATASET, "duration": "DAY", "rangeFromEnd": "WEEK"}),
        ),
        action(
            "/analytics",
            "getTimeseriesStats",
            json!({"entityName": "dataset", "aspectName": "operation", "metrics": []}),
        ),
    ];
    // What a rollback would do needs the right to do it.
    let rollback = "?action=rollback".to_owned();
    reads.push(("POST", "/runs", rollback, run(json!(true)), EDITORS));
    reads.push((
        "POST",
        "/openapi/v1/events/audit/search",
        String::new(),
        json!({}),
        ADMINISTRATORS,
    ));
    reads.push((
        "GET",
        "/openapi/v1/events/poll",
        "?topic=PlatformEvent_v1&pollTimeoutSeconds=0".to_owned(),
        Value::Null,
        ADMINISTRATORS,
    ));
    reads.push((
        "GET",
        "/events",
        "?since=0".to_owned(),
        Value::Null,
        ADMINISTRATORS,
    ));
    for path in [
        "/openapi/operations/throttle/requests",
        "/metrics",
        "/openapi/v1/system-info",
        "/openapi/v1/system-info/spring-components",
        "/openapi/v1/system-info/properties",
        "/openapi/v1/system-info/properties/simple",
    ] {
        reads.push(("GET", path, String::new(), Value::Null, ADMINISTRATORS));
    }
    reads
}

/// The actions of a route, as its documentation lists them.
fn documented_actions(document: &Value, route: &str) -> Vec<String> {
    let parameters = document["paths"][route]["post"]["parameters"].as_array();
    let is_action = |it: &&Value| it["name"] == "action";
    let action = parameters.into_iter().flatten().find(is_action);
    let names = action.and_then(|it| it["schema"]["enum"].as_array());
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn every_route_and_every_action_has_a_row() {
    let (rows, reads) = (rows(), reads());
    let written = rows.iter().map(|row| (row.0, row.1, &*row.2));
    let read = reads.iter().map(|row| (row.0, row.1, &*row.2));
    let all: Vec<_> = written.chain(read).collect();
    let routes = all.iter().map(|(method, route, _)| (*method, *route));
    let covered: BTreeSet<_> = routes.chain(ELSEWHERE).collect();
    assert_eq!(covered, PROTECTED.into_iter().collect());

    let app = app().await;
    let (_, document) = app.get("/openapi/v3/api-docs").await;
    let mut count = 0;
    for (method, route) in PROTECTED {
        for action in documented_actions(&document, route) {
            let rest = format!("?action={action}");
            assert!(all.contains(&(method, route, &rest)), "{route}{rest}");
            count += 1;
        }
    }
    // The documentation names the actions in the form that is read here.
    assert!(count > 15, "{count}");
}

#[tokio::test]
async fn every_read_is_answered_to_exactly_those_who_may_send_it() {
    let app = app().await;
    let tokens = tokens(&app).await;
    restore(&app).await;
    for (method, route, rest, body, allowed) in reads() {
        let path = format!("{}{rest}", route.split("/{").next().unwrap());
        for (letter, token) in &tokens {
            let (status, reply) = app.send(request(method, &path, token, &body)).await;
            let name = format!("{method} {path} by {letter}: {reply}");
            if allowed.contains(*letter) {
                assert!(status.is_success(), "{status} {name}");
            } else {
                assert_eq!(status, StatusCode::FORBIDDEN, "{name}");
            }
        }
    }
}

/// The caller's password needs a token that stands for the whole user.
#[tokio::test]
async fn a_password_is_not_changed_with_a_token_that_has_a_scope() {
    let app = app().await;
    let body = json!({"currentPassword": "unknown", "newPassword": "long and not common at all"});
    for (letter, token) in tokens(&app).await {
        let (status, reply) = app
            .send(request("POST", "/changePassword", &token, &body))
            .await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{letter}: {reply}");
        let message = reply["message"].as_str().unwrap();
        let is_scoped = message.contains("the access token");
        assert_eq!(is_scoped, "VD".contains(letter), "{letter}: {message}");
    }
}

#[tokio::test]
async fn expired_revoked_and_suspended_callers_are_rejected_on_every_route() {
    let app = app().await;
    let tokens = ended_tokens(&app).await;
    for (method, route) in PROTECTED {
        let path = concrete(route);
        for (kind, token) in &tokens {
            let (status, _) = app.send(request(method, &path, token, &json!({}))).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{method} {path} {kind}");
        }
    }
}
