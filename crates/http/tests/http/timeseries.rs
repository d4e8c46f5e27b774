//! Time series aspects.

use axum::http::{Method, StatusCode};
use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, encoded, role, token_of};

const READ: &str = "/aspects?action=getTimeseriesAspectValues";

impl App {
    /// Three points of an operation on the dataset, at 1000, 2000 and 3000.
    async fn with_operations() -> Self {
        let app = Self::with_dataset().await;
        for (time, kind, rows) in [
            (1000, "INSERT", 30),
            (3000, "DELETE", 20),
            (2000, "INSERT", 10),
        ] {
            let point = json!({
                "timestampMillis": time,
                "operationType": kind,
                "lastUpdatedTimestamp": time,
                "numAffectedRows": rows,
                "affectedDatasets": [DATASET],
            });
            app.ingest(DATASET, "operation", &point).await;
        }
        app
    }

    /// The times of the points that are read.
    async fn times(&self, more: &Value) -> Vec<i64> {
        let mut body = json!({"urn": DATASET, "entity": "dataset", "aspect": "operation"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, reply) = self.post(READ, &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let values = reply["value"]["values"].as_array().unwrap().clone();
        let time = |value: &Value| {
            let text = value["aspect"]["value"].as_str().unwrap();
            let point: Value = serde_json::from_str(text).unwrap();
            point["timestampMillis"].as_i64().unwrap()
        };
        values.iter().map(time).collect()
    }
}

fn filter(field: &str, condition: &str, value: &str) -> Value {
    json!({"filter": {"or": [{"and": [{"field": field, "condition": condition, "values": [value]}]}]}})
}

/// The time series that need a privilege to be read, the privilege, and the field that tells.
const STATISTICS: [(&str, &str, &str); 3] = [
    (
        "operation",
        "VIEW_DATASET_OPERATIONS",
        "canViewDatasetOperations",
    ),
    (
        "datasetProfile",
        "VIEW_DATASET_PROFILE",
        "canViewDatasetProfile",
    ),
    (
        "datasetUsageStatistics",
        "VIEW_DATASET_USAGE",
        "canViewDatasetUsage",
    ),
];

#[tokio::test]
async fn statistics_of_datasets_need_their_privileges() {
    let app = App::with_operations().await;
    let profile = json!({"timestampMillis": 1000, "rowCount": 5});
    app.ingest(DATASET, "datasetProfile", &profile).await;
    let bucket = json!({"bucket": 0, "duration": "DAY", "resource": DATASET, "metrics": {"totalSqlQueries": 7}});
    let path = "/usageStats?action=batchIngest";
    let (status, reply) = app.post(path, &json!({"buckets": [bucket]})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let user = "urn:li:corpuser:pia";
    let token = token_of(&app.catalog, user, None).await;
    let (system, users) = (Caller::system(), [Urn::parse(user).unwrap()]);
    let proposer = role("Proposer");
    let assigned = app.catalog.assign_role(&system, &users, Some(&proposer));
    assigned.await.unwrap();
    // How many points the user sees of each.
    let seen = async || {
        let fields = STATISTICS.map(|(_, _, field)| field).join(" ");
        let shown = format!(r#"{{ dataset(urn: "{DATASET}") {{ privileges {{ {fields} }} }} }}"#);
        let shown = app.graphql_as(&token, &shown).await;
        let mut counts = Vec::new();
        for (aspect, _, field) in STATISTICS {
            let body = json!({"urn": DATASET, "entity": "dataset", "aspect": aspect});
            let (_, reply) = app.send_as(&token, "POST", READ, &body).await;
            let values = reply["value"]["values"].as_array();
            let count = values.map(Vec::len).unwrap();
            let path = format!("/openapi/v3/entity/dataset/{}/{aspect}", encoded(DATASET));
            let (status, reply) = app.send_as(&token, "GET", &path, &Value::Null).await;
            assert_eq!(status.is_success(), count > 0, "{reply}");
            let shown = &shown["data"]["dataset"]["privileges"][field];
            assert_eq!(*shown, count > 0, "{aspect}");
            counts.push(count);
        }
        let usage = json!({"resource": DATASET, "duration": "DAY", "startTime": 0, "endTime": 1});
        let path = "/usageStats?action=query";
        let (_, reply) = app.send_as(&token, "POST", path, &usage).await;
        let sees_usage = reply.to_string().contains("totalSqlQueries\":7");
        assert_eq!(sees_usage, counts[2] > 0, "{reply}");
        counts
    };
    assert_eq!(seen().await, [3, 1, 1]);
    let base = "urn:li:dataHubPolicy:view-dataset-sensitive";
    let delete = format!(r#"mutation {{ deletePolicy(urn: "{base}") }}"#);
    let deleted = app.graphql(&delete).await;
    assert_eq!(deleted["data"]["deletePolicy"], base);
    assert_eq!(seen().await, [0, 0, 0]);
    for ((_, privilege, _), expected) in STATISTICS.iter().zip([[3, 0, 0], [3, 1, 0], [3, 1, 1]]) {
        let policy = json!({
            "type": "METADATA", "state": "ACTIVE", "name": format!("{privilege} on one dataset"),
            "privileges": [privilege],
            "actors": {"users": [user], "resourceOwners": false, "allUsers": false, "allGroups": false},
            "resources": {"resources": [DATASET]},
        });
        app.mutate("createPolicy", "PolicyUpdateInput", policy)
            .await;
        assert_eq!(seen().await, expected, "{privilege}");
    }
    assert_eq!(app.times(&json!({})).await.len(), 3, "the administrator");
}

#[tokio::test]
async fn points_are_read_newest_first_by_range_limit_and_filter() {
    let app = App::with_operations().await;
    assert_eq!(app.times(&json!({})).await, [3000, 2000, 1000]);
    assert_eq!(app.times(&json!({"limit": 1})).await, [3000]);
    assert_eq!(
        app.times(&json!({"latestValue": true, "limit": 5})).await,
        [3000]
    );
    let range = json!({"startTimeMillis": 1000, "endTimeMillis": 2000});
    assert_eq!(app.times(&range).await, [2000, 1000]);
    let inserts = filter("operationType", "EQUAL", "INSERT");
    assert_eq!(app.times(&inserts).await, [2000, 1000]);
    assert_eq!(
        app.times(&filter("numAffectedRows", "GREATER_THAN", "15"))
            .await,
        [3000, 1000]
    );
    assert_eq!(
        app.times(&filter("affectedDatasets", "EQUAL", DATASET))
            .await
            .len(),
        3
    );
    assert_eq!(app.times(&filter("urn", "EQUAL", DATASET)).await.len(), 3);
    assert_eq!(
        app.times(&filter("operationType", "EQUAL", "UPDATE")).await,
        [0_i64; 0]
    );
    let ascending = json!({"sort": {"field": "timestampMillis", "order": "ASCENDING"}});
    assert_eq!(app.times(&ascending).await, [1000, 2000, 3000]);
    let by_rows = json!({"sort": {"field": "numAffectedRows", "order": "ASCENDING"}, "limit": 2});
    assert_eq!(app.times(&by_rows).await, [2000, 3000]);
}

#[tokio::test]
async fn the_reply_repeats_the_request() {
    let app = App::with_operations().await;
    let body = json!({"urn": DATASET, "entity": "dataset", "aspect": "operation", "limit": 1});
    let (_, reply) = app
        .post("/aspects/?action=getTimeseriesAspectValues", &body)
        .await;
    let value = &reply["value"];
    assert_eq!(value["entityName"], "dataset");
    assert_eq!(value["aspectName"], "operation");
    assert_eq!(value["limit"], 1);
    assert_eq!(
        value["values"][0]["aspect"]["contentType"],
        "application/json"
    );
    assert_eq!(
        value["values"][0]["systemMetadata"]["runId"],
        "no-run-id-provided"
    );
}

#[tokio::test]
async fn checkpoints_of_stateful_ingestion_are_found_by_pipeline() {
    let app = App::empty().await;
    let job = "urn:li:dataJob:(urn:li:dataFlow:(datahub,p,prod),state)";
    for (time, pipeline) in [(1, "p"), (2, "q")] {
        let checkpoint = json!({
            "timestampMillis": time,
            "pipelineName": pipeline,
            "platformInstanceId": "",
            "config": "",
            "state": {"formatVersion": "1.0", "serde": "utf-8", "payload": "e30="},
            "runId": "r",
        });
        app.ingest(job, "datahubIngestionCheckpoint", &checkpoint)
            .await;
    }
    let mut body = filter("pipelineName", "EQUAL", "p");
    body["urn"] = json!(job);
    body["entity"] = json!("dataJob");
    body["aspect"] = json!("datahubIngestionCheckpoint");
    body["limit"] = json!(1);
    let (_, reply) = app.post(READ, &body).await;
    let text = reply["value"]["values"][0]["aspect"]["value"]
        .as_str()
        .unwrap();
    let checkpoint: Value = serde_json::from_str(text).unwrap();
    assert_eq!(checkpoint["timestampMillis"], 1);
    let (_, config) = app.get("/config").await;
    assert_eq!(config["statefulIngestionCapable"], true);
    assert_eq!(config["supportsImpactAnalysis"], true);
}

#[tokio::test]
async fn points_are_deleted_by_range_and_with_their_entity() {
    let app = App::with_operations().await;
    let range = json!({"urn": DATASET, "aspectName": "operation", "startTimeMillis": 2000, "endTimeMillis": 2500});
    let (status, reply) = app.post("/entities?action=delete", &range).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        (&reply["value"]["rows"], &reply["value"]["timeseriesRows"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(app.times(&json!({})).await, [3000, 1000]);
    let (_, reply) = app
        .post("/entities?action=delete", &json!({"urn": DATASET}))
        .await;
    assert_eq!(reply["value"]["timeseriesRows"], 2, "{reply}");
    assert_eq!(app.times(&json!({})).await, [0_i64; 0]);
}

#[tokio::test]
async fn invalid_time_series_requests_are_rejected_with_a_message() {
    let app = App::with_operations().await;
    for (path, body, expected) in [
        (READ, json!({"urn": DATASET}), "aspect"),
        (READ, json!({"urn": "x", "aspect": "operation"}), "URN"),
        (
            READ,
            json!({"urn": DATASET, "aspect": "nothing"}),
            "no aspect called",
        ),
        (
            READ,
            json!({"urn": DATASET, "aspect": "status"}),
            "not a time series",
        ),
        (
            READ,
            json!({"urn": DATASET, "aspect": "assertionRunEvent"}),
            "Unknown aspect",
        ),
        (
            READ,
            json!({"urn": DATASET, "aspect": "operation", "entity": "chart"}),
            "does not fit",
        ),
        (
            READ,
            json!({"urn": DATASET, "aspect": "operation", "limit": -1}),
            "limit",
        ),
        (
            READ,
            json!({"urn": DATASET, "aspect": "operation", "limit": 1_000_000}),
            "10000",
        ),
        (
            "/entities?action=delete",
            json!({"urn": DATASET, "startTimeMillis": 1}),
            "aspectName",
        ),
        (
            "/entities?action=delete",
            json!({"urn": DATASET, "aspectName": "status", "endTimeMillis": 1}),
            "not a time series",
        ),
    ] {
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body} {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(expected), "{body}: {message}");
    }
}

#[tokio::test]
async fn the_openapi_returns_the_latest_point_as_an_aspect() {
    let app = App::with_operations().await;
    let entity = format!("/openapi/v3/entity/dataset/{}", encoded(DATASET));
    let (status, reply) = app
        .get(&format!("{entity}/operation?systemMetadata=true"))
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["value"]["timestampMillis"], 3000);
    assert!(reply["systemMetadata"]["lastObserved"].is_i64(), "{reply}");
    let head = app.request(Method::HEAD, &format!("{entity}/operation"), String::new());
    assert_eq!(app.send(head).await.0, StatusCode::NO_CONTENT);
    let (status, _) = app.get(&format!("{entity}/datasetProfile")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    // In place of a version, there is a time.
    let (_, reply) = app.get(&format!("{entity}/operation?version=2999")).await;
    assert_eq!(reply["value"]["timestampMillis"], 2000, "{reply}");
    let (status, _) = app.get(&format!("{entity}/operation?version=999")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, reply) = app
        .get(&format!("{entity}?aspects=operation,datasetKey"))
        .await;
    assert_eq!(
        reply["operation"]["value"]["timestampMillis"], 3000,
        "{reply}"
    );
    assert!(reply["datasetKey"].is_object(), "{reply}");
    let request =
        json!([{"urn": DATASET, "datasetKey": {}, "operation": {}, "datasetProfile": {}}]);
    let (_, reply) = app
        .post("/openapi/v3/entity/dataset/batchGet", &request)
        .await;
    assert_eq!(
        reply[0]["operation"]["value"]["timestampMillis"], 3000,
        "{reply}"
    );
    assert_eq!(reply[0]["datasetProfile"], Value::Null);
}

#[tokio::test]
async fn the_openapi_deletes_the_newest_point_of_a_time_series() {
    let app = App::with_operations().await;
    let path = format!("/openapi/v3/entity/dataset/{}/operation", encoded(DATASET));
    for left in [vec![2000, 1000], vec![1000], vec![], vec![]] {
        let count = app.times(&json!({})).await.len() - left.len();
        let request = app.request(Method::DELETE, &path, String::new());
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        assert_eq!(reply["timeseriesRows"], count, "{reply}");
        assert_eq!(app.times(&json!({})).await, left);
    }
    assert!(app.aspect(DATASET, "datasetProperties").await.is_some());
}

#[tokio::test]
async fn the_newest_point_needs_the_right_to_delete_it() {
    let app = App::with_operations().await;
    let user = "urn:li:corpuser:pia";
    let token = token_of(&app.catalog, user, None).await;
    let (system, users) = (Caller::system(), [Urn::parse(user).unwrap()]);
    let reader = role("Reader");
    let assigned = app.catalog.assign_role(&system, &users, Some(&reader));
    assigned.await.unwrap();
    let path = format!("/openapi/v3/entity/dataset/{}/operation", encoded(DATASET));
    let (status, reply) = app.send_as(&token, "DELETE", &path, &Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert_eq!(app.times(&json!({})).await, [3000, 2000, 1000]);
}

#[tokio::test]
async fn an_aspect_that_is_named_twice_is_deleted_once() {
    let app = App::with_dataset().await;
    let status = json!({"removed": false});
    app.ingest(DATASET, "status", &status).await;
    let urn = encoded(DATASET);
    let path = format!("/openapi/v3/entity/dataset/{urn}?aspects=status&aspects=status");
    let mut request = app.request(Method::DELETE, &path, String::new());
    let version = "1".parse().unwrap();
    request.headers_mut().insert("if-version-match", version);
    let (status, reply) = app.send(request).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["rows"], 1, "{reply}");
}

#[tokio::test]
async fn daily_and_hourly_buckets_with_the_same_start_are_both_stored() {
    let app = App::with_dataset().await;
    let bucket = |duration: &str, queries: i64| json!({"bucket": 0, "duration": duration, "resource": DATASET, "metrics": {"totalSqlQueries": queries}});
    let buckets = [bucket("DAY", 24), bucket("HOUR", 1), bucket("HOUR", 2)];
    let body = json!({"buckets": buckets});
    let (status, reply) = app.post("/usageStats?action=batchIngest", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    for (duration, queries) in [("DAY", 24), ("HOUR", 2)] {
        let body =
            json!({"resource": DATASET, "duration": duration, "startTime": 0, "endTime": 10});
        let (_, reply) = app.post("/usageStats?action=query", &body).await;
        assert_eq!(
            reply["value"]["buckets"],
            json!([bucket(duration, queries)])
        );
    }
}

const SCROLL: &str = "/openapi/v2/timeseries/dataset/operation";

#[tokio::test]
async fn points_of_all_datasets_are_scrolled_newest_first() {
    let app = App::with_operations().await;
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";
    app.add_dataset(other).await;
    for (time, message) in [(2000, Some("m")), (2500, None), (500, None)] {
        let mut point = json!({
            "timestampMillis": time,
            "operationType": "CREATE",
            "lastUpdatedTimestamp": time,
        });
        if let Some(message) = message {
            point["messageId"] = message.into();
        }
        app.ingest(other, "operation", &point).await;
    }
    let scroll = async |query: &str, count: usize| {
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("{SCROLL}?count={count}&{query}&scrollId={cursor}");
            let (status, reply) = app.get(&path).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
            let results = reply["results"].as_array().unwrap();
            found.extend(results.clone());
            let Some(next) = reply["scrollId"].as_str() else {
                return found;
            };
            assert_eq!(results.len(), count);
            cursor = encoded(next);
        }
    };
    let times = |points: &[Value]| -> Vec<i64> {
        let time = |it: &Value| it["timestampMillis"].as_i64().unwrap();
        points.iter().map(time).collect()
    };
    let all = scroll("", 10).await;
    assert_eq!(times(&all), [3000, 2500, 2000, 2000, 1000, 500]);
    for count in [1, 2, 3, 6] {
        assert_eq!(scroll("", count).await, all, "{count}");
    }
    let range = "startTimeMillis=1000&endTimeMillis=2500";
    assert_eq!(scroll(range, 2).await, all[1..5]);
    let event = json!({
        "timestampMillis": 2500, "operationType": "CREATE", "lastUpdatedTimestamp": 2500,
    });
    let point = json!({"timestampMillis": 2500, "urn": other, "event": event});
    assert_eq!(all[1], point);
    let named = all.iter().filter(|it| it["messageId"] == "m");
    assert_eq!(named.count(), 1);
    let with_metadata = scroll("systemMetadata=true", 10).await;
    assert!(with_metadata[0]["systemMetadata"]["lastObserved"].is_i64());
}

#[tokio::test]
async fn a_scroll_of_points_has_only_those_that_the_caller_may_see() {
    let app = App::with_operations().await;
    let user = "urn:li:corpuser:pia";
    let token = token_of(&app.catalog, user, None).await;
    let (system, users) = (Caller::system(), [Urn::parse(user).unwrap()]);
    let proposer = role("Proposer");
    let assigned = app.catalog.assign_role(&system, &users, Some(&proposer));
    assigned.await.unwrap();
    let count = async || {
        let (_, reply) = app.send_as(&token, "GET", SCROLL, &Value::Null).await;
        reply["results"].as_array().unwrap().len()
    };
    assert_eq!(count().await, 3);
    let base = "urn:li:dataHubPolicy:view-dataset-sensitive";
    app.graphql(&format!(r#"mutation {{ deletePolicy(urn: "{base}") }}"#))
        .await;
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn scrolls_of_points_reject_what_is_no_time_series() {
    let app = App::with_operations().await;
    let cursor = json!([1, DATASET, "a\u{0}b"]).to_string();
    let with_nul = format!("dataset/operation?scrollId={}", encoded(&cursor));
    for (path, says) in [
        ("dataset/status", "status is not a time series"),
        ("dataset/nothing", "there is no aspect called 'nothing'"),
        ("table/operation", "there is no entity type called 'table'"),
        ("domain/operation", "operation"),
        ("dataset/operation?count=0", "count is 0"),
        ("dataset/operation?count=10001", "count is 10001"),
        ("dataset/operation?scrollId=x", "scrollId 'x' is invalid"),
        (&with_nul, "is invalid: send the one of the previous page"),
    ] {
        let (status, reply) = app.get(&format!("/openapi/v2/timeseries/{path}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(says), "{path}: {message}");
    }
}

#[tokio::test]
async fn points_are_added_up_by_members_and_times() {
    let app = App::with_operations().await;
    let path = "/analytics?action=getTimeseriesStats";
    let metric = |path: &str, kind: &str| json!({"fieldPath": path, "aggregationType": kind});
    let by_kind = json!({"key": "operationType", "type": "STRING_GROUPING_BUCKET"});
    let by_day = json!({
        "key": "timestampMillis", "type": "DATE_GROUPING_BUCKET",
        "timeWindowSize": {"multiple": 1, "unit": "DAY"},
    });
    let query = json!({
        "entityName": "dataset",
        "aspectName": "operation",
        "metrics": [
            metric("numAffectedRows", "LATEST"),
            metric("numAffectedRows", "SUM"),
            metric("affectedDatasets", "CARDINALITY"),
            metric("customOperationType", "LATEST"),
        ],
        "buckets": [by_kind, by_day],
    });
    let (status, reply) = app.post(path, &query).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let expected = json!({
        "columnNames": [
            "operationType", "timestampMillis", "latest_numAffectedRows", "sum_numAffectedRows",
            "cardinality_affectedDatasets", "latest_customOperationType",
        ],
        "columnTypes": ["string", "long", "string", "double", "long", "string"],
        "rows": [
            ["DELETE", "0", "20", "20", "1", "NULL"],
            ["INSERT", "0", "10", "40", "1", "NULL"],
        ],
    });
    assert_eq!(reply["value"]["table"], expected);
    assert_eq!(reply["value"]["groupingBuckets"], query["buckets"]);
    let mut filtered = query.clone();
    filtered["filter"] = filter("operationType", "EQUAL", "DELETE")["filter"].clone();
    let (_, reply) = app.post(path, &filtered).await;
    assert_eq!(
        reply["value"]["table"]["rows"],
        json!([expected["rows"][0]])
    );
    assert_eq!(reply["value"]["filter"], filtered["filter"]);
    let mut missing = query.clone();
    missing["buckets"] = json!([{"key": "customOperationType", "type": "STRING_GROUPING_BUCKET"}]);
    let (_, reply) = app.post(path, &missing).await;
    assert_eq!(reply["value"]["table"]["rows"], json!([]), "{reply}");
    let along = filter("urn", "DESCENDANTS_INCL", DATASET);
    for (member, value, says) in [
        (
            "metrics",
            json!(vec![metric("x", "SUM"); 51]),
            "at most 50 metrics",
        ),
        ("buckets", json!(vec![by_kind; 11]), "at most 10 buckets"),
        ("buckets", json!([{"key": "x"}]), "buckets: "),
        ("filter", along["filter"].clone(), "along a hierarchy"),
        ("metrics", json!([metric("x", "MEDIAN")]), "MEDIAN"),
        ("buckets", json!([{"key": "x", "type": "ROUND"}]), "ROUND"),
        (
            "buckets",
            json!([{"key": "x", "type": "DATE_GROUPING_BUCKET"}]),
            "timeWindowSize",
        ),
        ("aspectName", json!("status"), "not a time series"),
    ] {
        let mut invalid = query.clone();
        invalid[member] = value;
        let (status, reply) = app.post(path, &invalid).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply["message"].as_str().unwrap().contains(says), "{reply}");
    }
}
