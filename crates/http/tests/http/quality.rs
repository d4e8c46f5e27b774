//! Incidents, health, contracts and runs of assets.

use serde_json::{Value, json};

use crate::support::{App, DATASET};

const ADA: &str = "urn:li:corpuser:ada";
const JOB: &str = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)";

fn incident(title: &str, state: &str, time_ms: i64, priority: i64) -> Value {
    let stamp = |time_ms: i64| json!({"time": time_ms, "actor": ADA});
    json!({
        "type": "OPERATIONAL", "title": title, "entities": [DATASET], "priority": priority,
        "assignees": [{"actor": ADA, "assignedAt": stamp(1)}],
        "status": {"state": state, "stage": "TRIAGE", "lastUpdated": stamp(time_ms + 100)},
        "created": stamp(time_ms),
    })
}

/// A dataset with three incidents, two of them active.
async fn with_incidents() -> App {
    let app = App::with_dataset().await;
    for (name, info) in [
        ("old", incident("late", "ACTIVE", 10, 0)),
        ("new", incident("wrong", "ACTIVE", 30, 2)),
        ("done", incident("fixed", "RESOLVED", 20, 0)),
    ] {
        app.ingest(&format!("urn:li:incident:{name}"), "incidentInfo", &info)
            .await;
    }
    app
}

#[tokio::test]
async fn incidents_of_a_dataset_are_listed_newest_first_and_filtered() {
    let app = with_incidents().await;
    let found = app.read_dataset("incidents { start count total incidents { urn title priority incidentStatus { state stage } } }",
    )
    .await;
    assert_eq!(found["incidents"]["total"], 3);
    // The size of a page, as in DataHub.
    assert_eq!(found["incidents"]["count"], 20);
    assert_eq!(
        found["incidents"]["incidents"][0],
        json!({"urn": "urn:li:incident:new", "title": "wrong", "priority": "MEDIUM",
            "incidentStatus": {"state": "ACTIVE", "stage": "TRIAGE"}})
    );
    for (arguments, total, expected) in [
        ("", 3, json!(["wrong", "fixed", "late"])),
        ("(start: 1, count: 1)", 3, json!(["fixed"])),
        ("(state: ACTIVE)", 2, json!(["wrong", "late"])),
        ("(priority: CRITICAL)", 2, json!(["fixed", "late"])),
        ("(priority: CRITICAL, state: ACTIVE)", 1, json!(["late"])),
        ("(stage: FIXED)", 0, json!([])),
        (
            r#"(assigneeUrns: ["urn:li:corpuser:ada"], count: 1)"#,
            3,
            json!(["wrong"]),
        ),
        (r#"(assigneeUrns: ["urn:li:corpuser:bob"])"#, 0, json!([])),
    ] {
        let fields = format!("incidents{arguments} {{ total incidents {{ title }} }}");
        let found = app.read_dataset(&fields).await["incidents"].clone();
        let listed = found["incidents"].as_array().unwrap();
        let titles: Vec<&Value> = listed.iter().map(|it| &it["title"]).collect();
        assert_eq!(json!(titles), expected, "{arguments}");
        assert_eq!(found["total"], total, "{arguments}");
    }
}

/// The health of the dataset, by type.
async fn health(app: &App, kind: &str) -> Value {
    let fields = "health { type status message reportedAt causes
        activeIncidentHealthDetails { latestIncidentUrn latestIncidentTitle lastActivityAt count }
        latestAssertionStatusByType { type status total statusCount lastStatusResultAt } }";
    let found = app.read_dataset(fields).await;
    let parts = found["health"].as_array().unwrap();
    let part = parts.iter().find(|part| part["type"] == kind);
    part.cloned().unwrap_or_default()
}

#[tokio::test]
async fn active_incidents_are_failures() {
    let app = with_incidents().await;
    let found = health(&app, "INCIDENTS").await;
    assert_eq!(found["status"], "FAIL");
    assert_eq!(found["message"], "2 active incidents");
    assert_eq!(
        found["activeIncidentHealthDetails"],
        json!({"latestIncidentUrn": "urn:li:incident:new", "latestIncidentTitle": "wrong",
            "lastActivityAt": 130, "count": 2})
    );
    let resolved = incident("wrong", "RESOLVED", 30, 2);
    app.ingest("urn:li:incident:new", "incidentInfo", &resolved)
        .await;
    assert_eq!(
        health(&app, "INCIDENTS").await["message"],
        "1 active incident"
    );
    let resolved = incident("late", "RESOLVED", 10, 0);
    app.ingest("urn:li:incident:old", "incidentInfo", &resolved)
        .await;
    let found = health(&app, "INCIDENTS").await;
    assert_eq!(found["status"], "PASS");
    assert_eq!(found["activeIncidentHealthDetails"], Value::Null);
}

#[tokio::test]
async fn the_latest_result_of_each_assertion_counts() {
    let app = App::with_dataset().await;
    let urn = |name: &str| format!("urn:li:assertion:{name}");
    for (name, kind) in [
        ("a", "VOLUME"),
        ("b", "VOLUME"),
        ("c", "FIELD"),
        ("d", "SQL"),
    ] {
        let info = json!({"type": kind, "entityUrn": DATASET,
            "datasetAssertion": {"dataset": DATASET, "scope": "DATASET_ROWS", "operator": "NOT_NULL"}});
        app.ingest(&urn(name), "assertionInfo", &info).await;
    }
    assert_eq!(health(&app, "ASSERTIONS").await, Value::Null, "no result");
    let report = async |name: &str, time_ms: i64, result: &str| {
        let run = json!({"timestampMillis": time_ms, "runId": "r", "asserteeUrn": DATASET,
            "assertionUrn": urn(name), "status": "COMPLETE", "result": {"type": result}});
        app.ingest(&urn(name), "assertionRunEvent", &run).await;
    };
    report("a", 1, "FAILURE").await;
    report("a", 2, "SUCCESS").await;
    report("b", 3, "SUCCESS").await;
    report("c", 1, "SUCCESS").await;
    report("d", 9, "INIT").await;
    let found = health(&app, "ASSERTIONS").await;
    assert_eq!(found["status"], "PASS");
    assert_eq!(found["message"], "All assertions are passing");
    assert_eq!(found["reportedAt"], 3);
    report("b", 4, "ERROR").await;
    let found = health(&app, "ASSERTIONS").await;
    assert_eq!(found["status"], "FAIL");
    assert_eq!(found["message"], "1 of 4 assertions are failing");
    assert_eq!(found["causes"], json!([urn("b")]));
    assert_eq!(
        found["latestAssertionStatusByType"],
        json!([
            {"type": "FIELD", "status": "PASS", "total": 1, "statusCount": 1, "lastStatusResultAt": 1},
            {"type": "VOLUME", "status": "FAIL", "total": 2, "statusCount": 1, "lastStatusResultAt": 4},
        ])
    );
    app.ingest(&urn("b"), "status", &json!({"removed": true}))
        .await;
    let found = health(&app, "ASSERTIONS").await;
    assert_eq!(found["status"], "PASS", "a removed assertion: {found}");
}

#[tokio::test]
async fn failing_tests_are_failures() {
    let app = App::with_dataset().await;
    assert_eq!(health(&app, "TESTS").await, Value::Null);
    let result =
        |name: &str, kind: &str| json!({"test": format!("urn:li:test:{name}"), "type": kind});
    let mut results = json!({"passing": [result("a", "SUCCESS")], "failing": []});
    app.ingest(DATASET, "testResults", &results).await;
    assert_eq!(health(&app, "TESTS").await["status"], "PASS");
    results["failing"] = json!([result("b", "FAILURE")]);
    app.ingest(DATASET, "testResults", &results).await;
    let found = health(&app, "TESTS").await;
    assert_eq!(found["status"], "FAIL");
    assert_eq!(found["message"], "1 of 2 tests failing");
}

#[tokio::test]
async fn a_dataset_has_the_contract_that_names_it() {
    let app = App::with_dataset().await;
    assert_eq!(
        app.read_dataset("contract { urn }").await["contract"],
        Value::Null
    );
    let contract = "urn:li:dataContract:c";
    let properties = json!({"entity": DATASET, "freshness": [{"assertion": "urn:li:assertion:a"}]});
    app.ingest(contract, "dataContractProperties", &properties)
        .await;
    app.ingest(contract, "dataContractStatus", &json!({"state": "ACTIVE"}))
        .await;
    let fields = "contract { urn properties { entityUrn freshness { assertion { urn } } } status { state } }";
    assert_eq!(
        app.read_dataset(fields).await["contract"],
        json!({
            "urn": contract, "status": {"state": "ACTIVE"},
            "properties": {"entityUrn": DATASET, "freshness": [{"assertion": {"urn": "urn:li:assertion:a"}}]},
        })
    );
    app.ingest(contract, "status", &json!({"removed": true}))
        .await;
    assert_eq!(
        app.read_dataset("contract { urn }").await["contract"],
        Value::Null
    );
}

#[tokio::test]
async fn runs_are_listed_with_their_job_and_their_datasets() {
    let app = App::with_dataset().await;
    let info = json!({"name": "load", "type": {"string": "COMMAND"}, "customProperties": {}});
    app.ingest(JOB, "dataJobInfo", &info).await;
    for (name, time_ms, aspect) in [("r1", 1, "Input"), ("r2", 2, "Output"), ("r3", 3, "Output")] {
        let urn = format!("urn:li:dataProcessInstance:{name}");
        let properties = json!({"name": name, "created": {"time": time_ms, "actor": ADA}});
        app.ingest(&urn, "dataProcessInstanceProperties", &properties)
            .await;
        let relationships = json!({"parentTemplate": JOB, "upstreamInstances": []});
        app.ingest(&urn, "dataProcessInstanceRelationships", &relationships)
            .await;
        let datasets = json!({format!("{}s", aspect.to_lowercase()): [DATASET]});
        app.ingest(&urn, &format!("dataProcessInstance{aspect}"), &datasets)
            .await;
    }
    let names = |found: &Value| {
        let runs = found["runs"].as_array().unwrap();
        let names: Vec<&Value> = runs.iter().map(|run| &run["name"]).collect();
        json!([found["total"], names])
    };
    for (arguments, expected) in [
        ("(direction: INCOMING)", json!([1, ["r1"]])),
        ("(direction: OUTGOING)", json!([2, ["r3", "r2"]])),
        (
            "(direction: OUTGOING, start: 1, count: 1)",
            json!([2, ["r2"]]),
        ),
    ] {
        let fields = format!("runs{arguments} {{ total runs {{ name }} }}");
        let found = app.read_dataset(&fields).await;
        assert_eq!(names(&found["runs"]), expected, "{arguments}");
    }
    let query = format!(
        r#"{{ dataJob(urn: "{JOB}") {{ runs(count: 2) {{ start count total runs {{ name }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        names(&reply["data"]["dataJob"]["runs"]),
        json!([3, ["r3", "r2"]]),
        "{reply}"
    );
}
