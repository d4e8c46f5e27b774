//! `POST /runs?action=…`: ingestion runs and their rollback.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, proposal};

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";

impl App {
    /// Writes aspects as an ingestion run does.
    async fn run(&self, run: &str, aspects: &[(&str, &str, Value)]) {
        let proposals = aspects
            .iter()
            .map(|(urn, aspect, value)| {
                let mut proposal = proposal("UPSERT", urn, aspect, value);
                proposal["systemMetadata"] = json!({"lastObserved": NOW_MS, "runId": run});
                proposal
            })
            .collect();
        let (status, body) = self.propose_all(proposals).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }

    async fn runs(&self, action: &str, body: &Value) -> Value {
        let (status, reply) = self.post(&format!("/runs?action={action}"), body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply["value"].clone()
    }

    async fn roll_back(&self, run: &str, safe: bool) -> Value {
        let body = json!({"runId": run, "dryRun": false, "safe": safe});
        self.runs("rollback", &body).await
    }
}

fn text(text: &str) -> Value {
    json!({"description": text})
}

fn counts(summary: &Value) -> [i64; 4] {
    [
        "entitiesAffected",
        "aspectsReverted",
        "aspectsAffected",
        "unsafeEntitiesCount",
    ]
    .map(|name| summary[name].as_i64().unwrap())
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_described() {
    let app = App::empty().await;
    app.run("first", &[(DATASET, "datasetProperties", text("a"))])
        .await;
    app.run("second", &[(OTHER, "datasetProperties", text("a"))])
        .await;
    let (status, _) = app
        .propose(
            "UPSERT",
            OTHER,
            "editableDatasetProperties",
            &text("by hand"),
        )
        .await;
    assert_eq!(status, StatusCode::OK);
    let page = json!({"pageOffset": 0, "pageSize": 20, "includeSoft": false});
    let runs = app.runs("list", &page).await;
    let ids: Vec<&str> = runs
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|run| run["runId"].as_str())
        .collect();
    assert_eq!(ids, ["first", "second"], "{runs}");
    assert_eq!(runs[0]["timestamp"], NOW_MS);

    let described = app
        .runs(
            "describe",
            &json!({"runId": "first", "start": 0, "count": 100, "includeAspect": true}),
        )
        .await;
    let described = described.as_array().unwrap();
    assert_eq!(runs[0]["rows"], described.len());
    let properties = described
        .iter()
        .find(|row| row["aspectName"] == "datasetProperties")
        .unwrap();
    assert_eq!(properties["urn"], DATASET);
    assert_eq!(properties["runId"], "first");
    assert_eq!(
        properties["aspect"]["com.linkedin.dataset.DatasetProperties"],
        text("a")
    );
    let key = described
        .iter()
        .find(|row| row["aspectName"] == "datasetKey")
        .unwrap();
    assert_eq!(key["keyAspect"], true);

    app.ingest(DATASET, "status", &json!({"removed": true}))
        .await;
    let visible = app.runs("list", &page).await;
    assert_eq!(visible.as_array().unwrap().len(), 1, "{visible}");
    let all = app.runs("list", &json!({"includeSoft": true})).await;
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
}

#[tokio::test]
async fn a_rollback_reverts_changed_aspects_and_deletes_created_ones() {
    let app = App::empty().await;
    app.run("first", &[(DATASET, "datasetProperties", text("before"))])
        .await;
    app.run(
        "second",
        &[
            (DATASET, "datasetProperties", text("after")),
            (
                DATASET,
                "globalTags",
                json!({"tags": [{"tag": "urn:li:tag:x"}]}),
            ),
            (OTHER, "datasetProperties", text("new")),
        ],
    )
    .await;
    let dry = json!({"runId": "second", "dryRun": true, "safe": true});
    let planned = app.runs("rollback", &dry).await;
    assert_eq!(counts(&planned)[0], 1, "{planned}");
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await,
        Some(text("after"))
    );

    let done = app.roll_back("second", true).await;
    assert_eq!(counts(&done), counts(&planned));
    assert_eq!(done["aspectRowSummaries"], planned["aspectRowSummaries"]);
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await,
        Some(text("before"))
    );
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
    assert_eq!(app.aspect(OTHER, "datasetKey").await, None);
    // Search finds the current value.
    let search = json!({"entity": "dataset", "input": "before", "start": 0, "count": 10});
    let (_, found) = app.post("/entities?action=search", &search).await;
    assert_eq!(found["value"]["numEntities"], 1, "{found}");
    // A second rollback has nothing to do.
    assert_eq!(counts(&app.roll_back("second", true).await), [0, 0, 0, 0]);
}

#[tokio::test]
async fn unchanged_aspects_of_a_run_stay_after_a_rollback() {
    let app = App::empty().await;
    app.run("first", &[(DATASET, "datasetProperties", text("a"))])
        .await;
    app.run("second", &[(DATASET, "datasetProperties", text("a"))])
        .await;
    let done = app.roll_back("second", false).await;
    assert_eq!(counts(&done), [0, 0, 0, 0], "{done}");
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await,
        Some(text("a"))
    );
}

#[tokio::test]
async fn entities_with_other_writes_survive_a_safe_rollback() {
    let app = App::empty().await;
    app.run("first", &[(DATASET, "datasetProperties", text("a"))])
        .await;
    app.ingest(DATASET, "editableDatasetProperties", &text("by hand"))
        .await;
    let done = app.roll_back("first", true).await;
    assert_eq!(done["entitiesAffected"], 0, "{done}");
    assert_eq!(
        (&done["aspectsAffected"], &done["unsafeEntitiesCount"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(done["unsafeEntities"], json!([{"urn": DATASET}]));
    assert_eq!(app.aspect(DATASET, "datasetProperties").await, None);
    assert_eq!(
        app.aspect(DATASET, "editableDatasetProperties").await,
        Some(text("by hand"))
    );
    assert!(app.aspect(DATASET, "datasetKey").await.is_some());

    let done = app.roll_back("first", false).await;
    assert_eq!(done["entitiesAffected"], 1, "{done}");
    assert_eq!(app.aspect(DATASET, "editableDatasetProperties").await, None);
    assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
}

#[tokio::test]
async fn a_rollback_deletes_the_domains_of_a_run_with_their_subdomains() {
    let app = App::empty().await;
    let domain = |name: &str, parent: Option<&str>| {
        let mut value = json!({"name": name});
        if let Some(parent) = parent {
            value["parentDomain"] = json!(format!("urn:li:domain:{parent}"));
        }
        value
    };
    app.run(
        "domains",
        &[
            ("urn:li:domain:a", "domainProperties", domain("a", None)),
            (
                "urn:li:domain:b",
                "domainProperties",
                domain("b", Some("a")),
            ),
            (
                "urn:li:domain:c",
                "domainProperties",
                domain("c", Some("b")),
            ),
        ],
    )
    .await;
    let done = app.roll_back("domains", true).await;
    assert_eq!(done["entitiesAffected"], 3, "{done}");
    for id in ["a", "b", "c"] {
        let urn = format!("urn:li:domain:{id}");
        assert_eq!(app.aspect(&urn, "domainKey").await, None, "{urn}");
    }
}

#[tokio::test]
async fn a_rollback_deletes_time_series_points_of_the_run() {
    let app = App::with_dataset().await;
    let profile = |time: i64| json!({"timestampMillis": time, "rowCount": time});
    app.run("one", &[(DATASET, "datasetProfile", profile(1))])
        .await;
    app.run("two", &[(DATASET, "datasetProfile", profile(2))])
        .await;
    let done = app.roll_back("one", true).await;
    assert_eq!(done["timeseriesRows"], 1, "{done}");
    let ask = json!({"urn": DATASET, "entity": "dataset", "aspect": "datasetProfile"});
    let (_, left) = app
        .post("/aspects?action=getTimeseriesAspectValues", &ask)
        .await;
    assert_eq!(
        left["value"]["values"].as_array().unwrap().len(),
        1,
        "{left}"
    );
}

#[tokio::test]
async fn entities_with_points_of_another_run_survive_a_safe_rollback() {
    let app = App::empty().await;
    app.run("one", &[(DATASET, "datasetProperties", text("x"))])
        .await;
    let profile = json!({"timestampMillis": 2, "rowCount": 2});
    app.run("two", &[(DATASET, "datasetProfile", profile)])
        .await;
    let done = app.roll_back("one", true).await;
    assert_eq!(done["unsafeEntitiesCount"], 1, "{done}");
    assert!(app.aspect(DATASET, "datasetKey").await.is_some());
    let ask = json!({"urn": DATASET, "entity": "dataset", "aspect": "datasetProfile"});
    let (_, left) = app
        .post("/aspects?action=getTimeseriesAspectValues", &ask)
        .await;
    let points = left["value"]["values"].as_array().unwrap();
    assert_eq!(points.len(), 1, "{left}");
}

#[tokio::test]
async fn a_run_with_thousands_of_entities_is_rolled_back_completely() {
    let app = App::empty().await;
    let urns: Vec<String> = (0..700)
        .map(|number| format!("urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)"))
        .collect();
    let aspects: Vec<(&str, &str, Value)> = urns
        .iter()
        .map(|urn| (urn.as_str(), "datasetProperties", text("x")))
        .collect();
    app.run("large", &aspects).await;
    let done = app.roll_back("large", true).await;
    assert_eq!(done["entitiesAffected"], 700);
    assert!(
        done["aspectsReverted"].as_i64().unwrap() > 2000,
        "{}",
        done["aspectsReverted"]
    );
    assert_eq!(done["aspectRowSummaries"].as_array().unwrap().len(), 100);
    let listed = json!({"entity": "dataset", "start": 0, "count": 10});
    let (_, left) = app.post("/entities?action=listUrns", &listed).await;
    assert_eq!(left["value"]["total"], 0, "{left}");
}

#[tokio::test]
async fn invalid_run_requests_are_rejected_with_a_message() {
    let app = App::empty().await;
    for (path, body, expected) in [
        (
            "/runs?action=forget",
            json!({}),
            "list, describe and rollback",
        ),
        ("/runs", json!({}), "list, describe and rollback"),
        ("/runs?action=describe", json!({}), "runId"),
        ("/runs?action=list", json!({"pageOffset": -1}), "pageOffset"),
        (
            "/runs?action=rollback",
            json!({"runId": "no-run-id-provided"}),
            "id of the run",
        ),
        (
            "/runs?action=rollback",
            json!({"runId": ""}),
            "id of the run",
        ),
    ] {
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path}: {message}");
    }
    let (status, unknown) = app
        .post("/runs/?action=rollback", &json!({"runId": "never"}))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(counts(&unknown["value"]), [0, 0, 0, 0]);
}

#[tokio::test]
async fn runs_without_an_observation_time_use_the_write_time() {
    let app = App::empty().await;
    let body = json!([{"urn": DATASET, "datasetProperties": {"value": text("a"), "systemMetadata": {"runId": "silent"}}}]);
    let (status, reply) = app
        .post("/openapi/v3/entity/dataset?async=false", &body)
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let runs = app.runs("list", &json!({})).await;
    assert_eq!(runs[0]["timestamp"], NOW_MS, "{runs}");
}

#[tokio::test]
async fn a_domain_with_subdomains_of_others_survives_a_rollback() {
    let app = App::empty().await;
    let (parent, child) = ("urn:li:domain:parent", "urn:li:domain:child");
    app.run(
        "domains",
        &[
            (parent, "domainProperties", json!({"name": "parent"})),
            (DATASET, "datasetProperties", text("x")),
        ],
    )
    .await;
    let below = json!({"name": "child", "parentDomain": parent});
    app.ingest(child, "domainProperties", &below).await;
    for safe in [true, false] {
        let done = app.roll_back("domains", safe).await;
        assert_eq!(done["unsafeEntities"], json!([{"urn": parent}]), "{done}");
        assert!(app.aspect(parent, "domainProperties").await.is_some());
    }
    assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
}

#[tokio::test]
async fn versions_are_not_reused_after_a_rollback() {
    let app = App::empty().await;
    app.run("first", &[(DATASET, "datasetProperties", text("before"))])
        .await;
    app.run("second", &[(DATASET, "datasetProperties", text("wrong"))])
        .await;
    app.roll_back("second", true).await;
    app.run("third", &[(DATASET, "datasetProperties", text("right"))])
        .await;
    let mut stale = proposal("UPSERT", DATASET, "datasetProperties", &text("stale"));
    stale["headers"] = json!({"If-Version-Match": "2"});
    let (status, reply) = app.propose_all(vec![stale]).await;
    assert_eq!(status, StatusCode::PRECONDITION_FAILED, "{reply}");
    let properties = app.aspect(DATASET, "datasetProperties").await;
    assert_eq!(properties, Some(text("right")));
}
