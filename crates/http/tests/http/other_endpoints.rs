//! Further REST endpoints: snapshots, lists, counts, usage, traces and lag.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, encoded};

fn snapshot(urn: &str, aspects: &Value) -> Value {
    json!({"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": {"urn": urn, "aspects": aspects}}})
}

#[tokio::test]
async fn a_snapshot_is_written_and_read_back() {
    let app = App::empty().await;
    let aspects = json!([
        {"com.linkedin.dataset.DatasetProperties": {"description": "d"}},
        {"com.linkedin.pegasus2avro.common.Status": {"removed": false}},
    ]);
    let body = json!({"entity": snapshot(DATASET, &aspects), "systemMetadata": {"lastObserved": 5, "runId": "r"}});
    let (status, reply) = app.post("/entities?action=ingest", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await,
        Some(json!({"description": "d"}))
    );
    let (_, runs) = app.post("/runs?action=list", &json!({})).await;
    assert_eq!(runs["value"][0]["runId"], "r", "{runs}");

    let (status, read) = app.get(&format!("/entities/{}", encoded(DATASET))).await;
    assert_eq!(status, StatusCode::OK, "{read}");
    let read = &read["value"]["com.linkedin.metadata.snapshot.DatasetSnapshot"];
    assert_eq!(read["urn"], DATASET);
    let read = read["aspects"].as_array().unwrap();
    let aspect = |record: &str| read.iter().find_map(|aspect| aspect.get(record));
    assert_eq!(
        aspect("com.linkedin.common.Status"),
        Some(&json!({"removed": false}))
    );
    assert!(aspect("com.linkedin.metadata.key.DatasetKey").is_some());
    let (_, user) = app.get(&format!("/entities/{}", encoded(USER))).await;
    assert!(
        user["value"]["com.linkedin.metadata.snapshot.CorpUserSnapshot"].is_object(),
        "{user}"
    );
    let (status, _) = app.get(&format!("/entities/{}", encoded(MISSING))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn batches_of_snapshots_are_atomic() {
    let app = App::empty().await;
    let good = json!([{"com.linkedin.dataset.DatasetProperties": {"description": "d"}}]);
    for (bad, status, expected) in [
        (
            json!([{"com.linkedin.chart.ChartInfo": {}}]),
            StatusCode::BAD_REQUEST,
            "item 1",
        ),
        (json!([]), StatusCode::BAD_REQUEST, "item 1"),
        (
            json!([{"com.linkedin.common.Status": {"removed": 1}}]),
            StatusCode::UNPROCESSABLE_ENTITY,
            "removed",
        ),
    ] {
        let body = json!({"entities": [snapshot(DATASET, &good), snapshot(MISSING, &bad)]});
        let (answered, reply) = app.post("/entities?action=batchIngest", &body).await;
        assert_eq!(answered, status, "{reply}");
        assert!(
            reply["message"].as_str().unwrap().contains(expected),
            "{reply}"
        );
        assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
    }
    let body = json!({"entities": [snapshot(DATASET, &good), snapshot(MISSING, &good)]});
    let (status, reply) = app.post("/entities/?action=batchIngest", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert!(app.aspect(MISSING, "datasetProperties").await.is_some());
}

#[tokio::test]
async fn urns_are_listed_and_aspects_counted() {
    let app = App::empty().await;
    for name in ["c", "a", "b"] {
        app.ingest(
            &format!("urn:li:tag:{name}"),
            "tagProperties",
            &json!({"name": name}),
        )
        .await;
    }
    let list = async |start: i64, count: i64| {
        let body = json!({"entity": "tag", "start": start, "count": count});
        let (status, reply) = app.post("/entities?action=listUrns", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply["value"].clone()
    };
    assert_eq!(
        list(1, 5).await,
        json!({"start": 1, "count": 2, "total": 3, "entities": ["urn:li:tag:b", "urn:li:tag:c"]})
    );
    assert_eq!(list(0, 1).await["entities"], json!(["urn:li:tag:a"]));
    assert_eq!(list(3, 5).await["count"], 0);
    let count = async |body: Value| app.post("/aspects?action=getCount", &body).await;
    assert_eq!(
        count(json!({"aspect": "tagProperties"})).await.1["value"],
        3
    );
    assert_eq!(
        count(json!({"aspect": "tagProperties", "urnLike": "urn:li:tag:b%"}))
            .await
            .1["value"],
        1
    );
    for pattern in ["%".repeat(5), "x".repeat(60_000)] {
        let costly = json!({"aspect": "tagProperties", "urnLike": pattern});
        assert_eq!(count(costly).await.0, StatusCode::BAD_REQUEST);
    }
    assert_eq!(
        count(json!({"aspect": "nothing"})).await.0,
        StatusCode::BAD_REQUEST
    );
    let unknown = json!({"entity": "nothing", "start": 0, "count": 1});
    assert_eq!(
        app.post("/entities?action=listUrns", &unknown).await.0,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn usage_is_stored_in_buckets_and_aggregated() {
    let app = App::with_dataset().await;
    let day = 24 * 60 * 60 * 1000;
    let bucket = |time: i64, user: &str, queries: i64| {
        json!({
            "bucket": time,
            "duration": "DAY",
            "resource": DATASET,
            "metrics": {
                "uniqueUserCount": 1,
                "users": [{"user": user, "count": queries}],
                "totalSqlQueries": queries,
                "fields": [{"fieldName": "user_name", "count": queries}],
            },
        })
    };
    let first = NOW_MS - 10 * day;
    let buckets = [
        bucket(first, "urn:li:corpuser:a", 2),
        bucket(NOW_MS - day, "urn:li:corpuser:b", 3),
    ];
    let (status, reply) = app
        .post(
            "/usageStats?action=batchIngest",
            &json!({"buckets": buckets}),
        )
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let all =
        json!({"resource": DATASET, "duration": "DAY", "startTime": first, "endTime": NOW_MS});
    let (_, found) = app.post("/usageStats?action=query", &all).await;
    let found = &found["value"];
    // Also what has no place among the buckets counts.
    let one = json!({"resource": DATASET, "duration": "DAY", "startTime": first, "maxBuckets": 1});
    let (_, one) = app.post("/usageStats?action=query", &one).await;
    assert_eq!(one["value"]["buckets"].as_array().unwrap().len(), 1);
    assert_eq!(one["value"]["aggregations"], found["aggregations"]);
    // Days without a report are empty.
    assert_eq!(found["buckets"].as_array().unwrap().len(), 10, "{found}");
    for back in 1..9 {
        let time = NOW_MS - (back + 1) * day;
        let empty = json!({"bucket": time, "duration": "DAY", "resource": DATASET, "metrics": {}});
        assert_eq!(found["buckets"][usize::try_from(back).unwrap()], empty);
    }
    assert_eq!(found["buckets"][9], buckets[0]);
    assert_eq!(found["aggregations"]["totalSqlQueries"], 5);
    assert_eq!(found["aggregations"]["uniqueUserCount"], 2);
    assert_eq!(
        found["aggregations"]["users"][0],
        json!({"user": "urn:li:corpuser:b", "count": 3})
    );
    assert_eq!(
        found["aggregations"]["fields"],
        json!([{"fieldName": "user_name", "count": 5}])
    );
    let week = json!({"resource": DATASET, "duration": "DAY", "rangeFromEnd": "WEEK"});
    let (_, found) = app.post("/usageStats?action=queryRange", &week).await;
    assert_eq!(
        found["value"]["buckets"].as_array().unwrap().len(),
        1,
        "{found}"
    );
    let bad = json!({"resource": DATASET, "duration": "DAY", "range": "AGES"});
    assert_eq!(
        app.post("/usageStats?action=queryRange", &bad).await.0,
        StatusCode::BAD_REQUEST
    );
    let mut bad = bucket(first, "nobody", 2);
    let (status, _) = app
        .post("/usageStats?action=batchIngest", &json!({"buckets": [bad]}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    bad["resource"] = json!("x");
    let (status, _) = app
        .post("/usageStats?action=batchIngest", &json!({"buckets": [bad]}))
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn consumer_lag_is_zero_and_restore_indices_has_no_effect() {
    let app = App::empty().await;
    for queue in ["mcp", "mcl", "mcl-timeseries", "usage-events"] {
        let path = format!(
            "/openapi/operations/messaging/{queue}/consumer/lag?skipCache=true&detailed=true"
        );
        assert_eq!(
            app.get(&path).await,
            (StatusCode::OK, json!({"consumerGroups": {}}))
        );
        let path = format!("/openapi/operations/kafka/{queue}/consumer/offsets");
        assert_eq!(app.get(&path).await, (StatusCode::OK, json!({})));
    }
    for path in ["messaging/none/consumer/lag", "kafka/none/consumer/offsets"] {
        let (status, reply) = app.get(&format!("/openapi/operations/{path}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(
            reply["message"]
                .as_str()
                .unwrap()
                .contains("mcl-timeseries")
        );
    }
    let (status, reply) = app
        .post(
            "/operations?action=restoreIndices",
            &json!({"urn": DATASET}),
        )
        .await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        reply["value"]
            .as_str()
            .unwrap()
            .starts_with("Nothing to restore"),
        "{reply}"
    );
    let (status, _) = app.post("/operations?action=explode", &json!({})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn entities_are_read_in_the_version_two_format() {
    let app = App::with_dataset().await;
    let ask = json!({"urns": [DATASET, MISSING], "aspectNames": ["datasetProperties"], "withSystemMetadata": true});
    let (status, reply) = app.post("/openapi/v2/entity/batch/dataset", &ask).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(reply["entities"].as_array().unwrap().len(), 1, "{reply}");
    let entity = &reply["entities"][0];
    assert_eq!(entity["urn"], DATASET);
    assert_eq!(entity["aspects"].as_object().unwrap().len(), 1);
    let properties = &entity["aspects"]["datasetProperties"];
    assert!(properties["value"]["description"].is_string(), "{reply}");
    assert_eq!(properties["systemMetadata"]["version"], "1");
    let (_, all) = app
        .post(
            "/openapi/v2/entity/batch/dataset",
            &json!({"urns": [DATASET]}),
        )
        .await;
    assert!(all["entities"][0]["aspects"]["schemaMetadata"]["systemMetadata"].is_null());
    for (path, body) in [
        ("/openapi/v2/entity/batch/nothing", json!({"urns": []})),
        ("/openapi/v2/entity/batch/chart", json!({"urns": [DATASET]})),
        ("/openapi/v2/entity/batch/dataset", json!({})),
    ] {
        assert_eq!(
            app.post(path, &body).await.0,
            StatusCode::BAD_REQUEST,
            "{path}"
        );
    }
}

#[tokio::test]
async fn entity_specifications_are_paged() {
    let app = App::empty().await;
    let path = "/openapi/v1/registry/models/entity/specifications";
    let (mut names, mut start) = (Vec::new(), 0);
    loop {
        let (status, reply) = app.get(&format!("{path}?start={start}&count=50")).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        for entity in reply["elements"].as_array().unwrap() {
            names.push(entity["name"].as_str().unwrap().to_owned());
            if entity["name"] == "domain" {
                assert_eq!(entity["keyAspectName"], "domainKey");
                let aspects = entity["aspectSpecs"].to_string();
                assert!(aspects.contains("domainProperties"), "{aspects}");
                let first = &entity["aspectSpecs"][0]["aspectAnnotation"];
                assert_eq!(first["schemaVersion"], 1);
                assert!(!aspects.contains("schemaMetadata"), "{aspects}");
            }
        }
        start += reply["count"].as_u64().unwrap();
        if start >= reply["total"].as_u64().unwrap() {
            break;
        }
    }
    assert_eq!(names.len(), 72);
    assert!(names.contains(&"domain".to_owned()));
}

#[tokio::test]
async fn several_entities_are_read_at_once() {
    let app = App::with_dataset().await;
    app.ingest("urn:li:tag:a", "tagProperties", &json!({"name": "A"}))
        .await;
    let (dataset, tag) = (encoded(DATASET), encoded("urn:li:tag:a"));
    for list in [
        format!("List({dataset},{tag})"),
        format!("List%28{dataset},{tag}%29"),
    ] {
        let path = format!("/entitiesV2?ids={list}&aspects=List(tagProperties,datasetKey)");
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let results = reply["results"].as_object().unwrap();
        assert_eq!(results.len(), 2, "{reply}");
        let of_tag = &results["urn:li:tag:a"]["aspects"];
        assert_eq!(of_tag["tagProperties"]["value"]["name"], "A");
        assert_eq!(results[DATASET]["entityName"], "dataset");
        assert!(results[DATASET]["aspects"]["datasetKey"].is_object());
    }
    let many = vec![tag; 1_001].join(",");
    for bad in ["", "?ids=List(x)", &format!("?ids=List({many})")] {
        let (status, reply) = app.get(&format!("/entitiesV2{bad}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    }
}

#[tokio::test]
async fn callers_learn_who_they_are_and_that_nothing_is_throttled() {
    let app = App::empty().await;
    let identity = app.get("/openapi/operations/identity/user/urn").await;
    assert_eq!(identity, (StatusCode::OK, json!({"urn": USER})));
    let throttles = app.get("/openapi/operations/throttle/requests").await;
    assert_eq!(throttles, (StatusCode::OK, json!({})));
}

#[tokio::test]
async fn the_configuration_says_on_request_whether_the_caller_is_known() {
    let app = App::empty().await;
    let (_, config) = app.get("/config").await;
    assert_eq!(config["userType"], Value::Null);
    let (_, config) = app.get("/config?verbose=true").await;
    assert_eq!(config["userType"], "user");
    let anonymous = Request::builder().uri("/config?verbose=true");
    let (status, config) = app.send(anonymous.body(Body::empty()).unwrap()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(config["userType"], "anonymous");
}
