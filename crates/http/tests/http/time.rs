//! Clocks that are wrong, and times that nobody means.

use axum::http::{Method, StatusCode};
use docent_catalog::sessions::SessionLimits;
use docent_model::Clock as _;
use serde_json::{Value, json};

use crate::sign_in::{ADA, add, session, whoami, with_ada, with_header};
use crate::support::{App, DATASET, NOW_MS, encoded, new_token, proposal};

const HOUR_MS: i64 = 60 * 60 * 1000;
const YEAR_2100_MS: i64 = 4_102_444_800_000;
const BEFORE_1970_MS: i64 = -86_400_000;
/// Times that clients send by mistake.
const ODD_TIMES_MS: [i64; 6] = [i64::MIN, -1, 0, NOW_MS, YEAR_2100_MS, i64::MAX];

fn set_clock(app: &App, time_ms: i64) {
    app.clock.advance(time_ms - app.clock.now_ms());
}

/// Fails for a server error, and for an error that does not say what to correct.
fn expect_clear(what: &str, (status, reply): (StatusCode, Value)) -> (StatusCode, Value) {
    let message = reply["message"].as_str().unwrap_or_default();
    let is_clear = status.is_success() || status.is_client_error() && !message.is_empty();
    assert!(is_clear, "{what}: {status} {reply}");
    (status, reply)
}

async fn found(app: &App, text: &str) -> Value {
    let query = "query($q: String!) { searchAcrossEntities(input: {query: $q}) { total } }";
    let reply = app.graphql_with(query, json!({"q": text})).await;
    reply["data"]["searchAcrossEntities"]["total"].clone()
}

async fn audit_events(app: &App, more: Value) -> usize {
    let query = "query($i: AuditLogInput!) { auditLog(input: $i) { events { time } } }";
    let mut input = json!({"entity": DATASET, "operation": "updateDescription"});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let reply = app.graphql_with(query, json!({"i": input})).await;
    let events = reply["data"]["auditLog"]["events"].as_array();
    events.unwrap_or_else(|| panic!("{reply}")).len()
}

#[tokio::test]
async fn versions_searches_and_the_audit_log_hold_while_the_clock_jumps() {
    let mut app = App::with_dataset().await;
    app.token = new_token(&app.catalog, None).await;
    let times = [
        NOW_MS,
        NOW_MS - HOUR_MS,
        YEAR_2100_MS,
        NOW_MS + 1,
        BEFORE_1970_MS,
        NOW_MS + 2,
    ];
    for (round, time_ms) in times.into_iter().enumerate() {
        set_clock(&app, time_ms);
        let text = format!("zebra{round}");
        let input = json!({"resourceUrn": DATASET, "description": text});
        app.mutate("updateDescription", "DescriptionUpdateInput", input)
            .await;
        assert_eq!(found(&app, &text).await, 1, "{text}");
        if round > 0 {
            let before = format!("zebra{}", round - 1);
            assert_eq!(found(&app, &before).await, 0, "{before}");
        }
        let (_, entity) = app.get(&format!("/entitiesV2/{}", encoded(DATASET))).await;
        let aspect = &entity["aspects"]["editableDatasetProperties"];
        assert_eq!(aspect["systemMetadata"]["version"], (round + 1).to_string());
        assert_eq!(aspect["created"]["time"], time_ms);
        assert_eq!(aspect["value"]["lastModified"]["time"], time_ms);
        // Preconditions are about versions, whatever the clock says.
        for (version, expected) in [
            (round.to_string(), StatusCode::PRECONDITION_FAILED),
            ((round + 1).to_string(), StatusCode::OK),
        ] {
            let path = format!("/openapi/v3/entity/dataset/{}", encoded(DATASET));
            let path = format!("{path}/editableDatasetProperties?async=false");
            let body = json!({"value": aspect["value"]}).to_string();
            let request = app.request(Method::POST, &path, body);
            let request = with_header(request, "if-version-match", &version);
            let (status, reply) = app.send(request).await;
            let status = if status.is_success() {
                StatusCode::OK
            } else {
                status
            };
            assert_eq!(status, expected, "{version}: {reply}");
        }
        assert_eq!(audit_events(&app, json!({})).await, round + 1);
        let then = json!({"since": time_ms, "until": time_ms + 1});
        assert_eq!(audit_events(&app, then).await, 1);
    }
    let query = "query($i: HistoryInput!) { history(input: $i) { changes { version text } } }";
    let input = json!({"urn": DATASET, "subject": "DESCRIPTION"});
    let reply = app.graphql_with(query, json!({"i": input})).await;
    let changes = reply["data"]["history"]["changes"].as_array().unwrap();
    let texts: Vec<&Value> = changes.iter().map(|change| &change["text"]).collect();
    let expected: Vec<String> = (0..times.len())
        .rev()
        .map(|it| format!("zebra{it}"))
        .collect();
    assert_eq!(json!(texts), json!(expected));
    let path = format!("/openapi/v2/timeline/v1/{}", encoded(DATASET));
    expect_clear(
        "timeline",
        app.get(&format!("{path}?categories=DOCUMENTATION")).await,
    );
    assert_eq!(app.store().check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn tokens_and_sessions_expire_with_the_clock_and_work_again_when_it_is_set_back() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    let token_status = async || app.get("/entitiesV2/urn:li:corpuser:ada").await.0;
    for (time_ms, is_valid) in [
        (NOW_MS, true),
        (YEAR_2100_MS, false),
        (NOW_MS, true),
        (NOW_MS - HOUR_MS, true),
        (BEFORE_1970_MS, true),
        (NOW_MS, true),
    ] {
        set_clock(&app, time_ms);
        let user = whoami(&app, &cookie).await;
        assert_eq!(user.as_deref(), is_valid.then_some(ADA), "{time_ms}");
        let expected = if is_valid {
            StatusCode::OK
        } else {
            StatusCode::UNAUTHORIZED
        };
        assert_eq!(token_status().await, expected, "{time_ms}");
    }
    // Sessions are deleted long after they have expired.
    add(&app, "urn:li:corpuser:grace").await;
    set_clock(&app, NOW_MS + 30 * HOUR_MS);
    for _ in 0..5 {
        session(&app, "grace").await;
    }
    assert_eq!(whoami(&app, &cookie).await, None);
    set_clock(&app, NOW_MS);
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
    // Users sign in whatever the clock says, and said before.
    for time_ms in [YEAR_2100_MS, BEFORE_1970_MS, NOW_MS] {
        set_clock(&app, time_ms);
        let cookie = session(&app, "ada").await;
        assert!(whoami(&app, &cookie).await.is_some(), "{time_ms}");
    }
}

#[tokio::test]
async fn a_use_in_the_future_does_not_prolong_a_session_when_the_clock_is_set_back() {
    let limits = SessionLimits {
        idle_ms: Some(HOUR_MS),
        ..SessionLimits::default()
    };
    let app = App::with_session_limits(limits).await;
    add(&app, ADA).await;
    let cookie = session(&app, "ada").await;
    let minutes = HOUR_MS / 60;
    set_clock(&app, NOW_MS + 59 * minutes);
    assert!(whoami(&app, &cookie).await.is_some());
    set_clock(&app, NOW_MS);
    assert!(whoami(&app, &cookie).await.is_some());
    set_clock(&app, NOW_MS + 61 * minutes);
    assert_eq!(whoami(&app, &cookie).await, None);
}

#[tokio::test]
async fn points_at_odd_times_are_listed_in_their_order() {
    let app = App::with_dataset().await;
    for (round, time_ms) in ODD_TIMES_MS.into_iter().enumerate() {
        for (aspect, point) in [
            (
                "operation",
                json!({"operationType": "INSERT", "lastUpdatedTimestamp": time_ms, "numAffectedRows": round}),
            ),
            ("datasetProfile", json!({"rowCount": round})),
            (
                "datasetUsageStatistics",
                json!({"eventGranularity": {"unit": "DAY", "multiple": 1}, "uniqueUserCount": 1}),
            ),
        ] {
            let mut point = point;
            point["timestampMillis"] = json!(time_ms);
            let written = app.propose("UPSERT", DATASET, aspect, &point).await;
            let (status, reply) = expect_clear(aspect, written);
            assert_eq!(status, StatusCode::OK, "{aspect} {time_ms}: {reply}");
        }
    }
    let mut newest_first = ODD_TIMES_MS;
    newest_first.reverse();
    let read = json!({"urn": DATASET, "entity": "dataset", "aspect": "operation"});
    let path = "/aspects?action=getTimeseriesAspectValues";
    let times = async |more: Value| {
        let mut body = read.clone();
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (_, reply) = expect_clear("points", app.post(path, &body).await);
        let values = reply["value"]["values"]
            .as_array()
            .unwrap_or_else(|| panic!("{reply}"));
        let time = |value: &Value| {
            let text = value["aspect"]["value"].as_str().unwrap();
            serde_json::from_str::<Value>(text).unwrap()["timestampMillis"].as_i64()
        };
        values.iter().filter_map(time).collect::<Vec<i64>>()
    };
    assert_eq!(times(json!({})).await, newest_first);
    for (from, through) in [
        (i64::MIN, i64::MAX),
        (-1, 0),
        (i64::MAX, i64::MAX),
        (i64::MIN, -1),
    ] {
        let range = json!({"startTimeMillis": from, "endTimeMillis": through});
        let expected: Vec<i64> = newest_first
            .into_iter()
            .filter(|time| (from..=through).contains(time))
            .collect();
        assert_eq!(times(range).await, expected, "{from} to {through}");
    }
    let delete = json!({"urn": DATASET, "aspectName": "operation", "startTimeMillis": i64::MIN, "endTimeMillis": -1});
    expect_clear("delete", app.post("/entities?action=delete", &delete).await);
    assert_eq!(times(json!({})).await, newest_first[..4]);
    assert_eq!(app.store().check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn entities_with_odd_times_are_found_and_sorted_by_them() {
    let app = App::empty().await;
    let urn = |round: usize| format!("urn:li:dataset:(urn:li:dataPlatform:hive,odd{round},PROD)");
    for (round, time_ms) in ODD_TIMES_MS.into_iter().enumerate() {
        let stamp = json!({"time": time_ms, "actor": "urn:li:corpuser:etl"});
        let value = json!({"name": "odd", "created": stamp, "lastModified": stamp});
        let mut wire = proposal("UPSERT", &urn(round), "datasetProperties", &value);
        wire["systemMetadata"] = json!({"lastObserved": time_ms, "runId": "r"});
        let body = json!({"proposal": wire});
        let written = app.post("/aspects?action=ingestProposal", &body).await;
        let (status, reply) = expect_clear("write", written);
        assert_eq!(status, StatusCode::OK, "{time_ms}: {reply}");
        let stored = app.aspect(&urn(round), "datasetProperties").await;
        assert_eq!(stored, Some(value), "as it was sent");
        let query = "query($u: String!) { dataset(urn: $u) { properties { created lastModified { time } } } }";
        let reply = app.graphql_with(query, json!({"u": urn(round)})).await;
        let shown = &reply["data"]["dataset"]["properties"]["lastModified"]["time"];
        assert_eq!(*shown, time_ms, "{reply}");
    }
    let expected: Vec<String> = (0..ODD_TIMES_MS.len()).map(urn).collect();
    for field in ["lastModifiedAt", "createdAt"] {
        let mut scrolled: Vec<String> = Vec::new();
        let mut scroll = Value::Null;
        loop {
            let query = "query($f: String!, $s: String) { scrollAcrossEntities(input: {types: [DATASET], query: \"*\", \
                scrollId: $s, count: 2, sortInput: {sortCriteria: [{field: $f, sortOrder: ASCENDING}]}}) \
                { nextScrollId searchResults { entity { urn } } } }";
            let reply = app
                .graphql_with(query, json!({"f": field, "s": scroll}))
                .await;
            let page = &reply["data"]["scrollAcrossEntities"];
            let hits = page["searchResults"]
                .as_array()
                .unwrap_or_else(|| panic!("{reply}"));
            let urns = hits.iter().filter_map(|hit| hit["entity"]["urn"].as_str());
            scrolled.extend(urns.map(str::to_owned));
            scroll = page["nextScrollId"].clone();
            if scroll.is_null() || scrolled.len() > expected.len() {
                break;
            }
        }
        assert_eq!(scrolled, expected, "{field}");
        for (round, time_ms) in ODD_TIMES_MS.into_iter().enumerate() {
            let criterion = json!({"field": field, "condition": "GREATER_THAN", "values": [time_ms.to_string()]});
            let filter = json!({"or": [{"and": [criterion]}]});
            let body = json!({"entity": "dataset", "input": "*", "start": 0, "count": 10, "filter": filter});
            let (_, reply) = expect_clear(field, app.post("/entities?action=search", &body).await);
            let later = ODD_TIMES_MS.len() - round - 1;
            assert_eq!(
                reply["value"]["numEntities"], later,
                "{field} after {time_ms}: {reply}"
            );
        }
    }
    let runs = json!({"runId": "r", "start": 0, "count": 10});
    expect_clear("runs", app.post("/runs?action=describe", &runs).await);
    assert_eq!(app.store().check().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn requests_with_odd_times_get_a_clear_response() {
    let app = App::with_dataset().await;
    let dataset = encoded(DATASET);
    for from in ODD_TIMES_MS {
        for until in ODD_TIMES_MS {
            let path = format!("/openapi/v2/timeline/v1/{dataset}?categories=TAG");
            let path = format!("{path}&startTime={from}&endTime={until}");
            expect_clear(&path, app.get(&path).await);
            let path = format!("/openapi/v1/events/audit/search?startTime={from}&endTime={until}");
            expect_clear(&path, app.post(&path, &json!({})).await);
            let stats = json!({"resource": DATASET, "duration": "DAY", "startTime": from, "endTime": until});
            expect_clear("usage", app.post("/usageStats?action=query", &stats).await);
            let query = "query($i: AuditLogInput!) { auditLog(input: $i) { nextScroll } }";
            let input = json!({"since": from, "until": until});
            let reply = app.graphql_with(query, json!({"i": input})).await;
            let code = reply["errors"][0]["extensions"]["code"].as_u64();
            assert!(code.is_none_or(|code| code < 500), "{reply}");
        }
    }
    for time in [
        "-9999-01-02T01:59:59Z",
        "9999-12-30T22:00:00Z",
        "1969-12-31T23:59:59Z",
    ] {
        for header in ["if-modified-since", "if-unmodified-since"] {
            let path = "/aspects?action=ingestProposal";
            let wire = proposal("UPSERT", DATASET, "status", &json!({"removed": false}));
            let request = app.request(Method::POST, path, json!({"proposal": wire}).to_string());
            expect_clear(time, app.send(with_header(request, header, time)).await);
        }
    }
}
