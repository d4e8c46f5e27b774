//! Assertions about datasets.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS};

const COLUMN: &str = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD),user_name)";

/// Three assertions: two about [`DATASET`], one of them removed, and one about [`MISSING`].
async fn app() -> App {
    let app = App::with_dataset().await;
    for (name, dataset) in [("a", DATASET), ("b", DATASET), ("c", MISSING)] {
        let info = json!({
            "type": "DATASET",
            "entityUrn": dataset,
            "datasetAssertion": {"dataset": dataset, "scope": "DATASET_COLUMN", "operator": "NOT_NULL", "fields": [COLUMN]},
        });
        app.ingest(&format!("urn:li:assertion:{name}"), "assertionInfo", &info)
            .await;
    }
    app.ingest("urn:li:assertion:b", "status", &json!({"removed": true}))
        .await;
    app
}

async fn assertions(app: &App, arguments: &str) -> Value {
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ assertions{arguments} {{
            start count total assertions {{ urn info {{ type datasetAssertion {{ scope operator }} }} }}
        }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["dataset"]["assertions"].clone()
}

#[tokio::test]
async fn the_assertions_of_a_dataset_are_listed_with_it() {
    let app = app().await;
    assert_eq!(
        assertions(&app, "").await,
        json!({"start": 0, "count": 1, "total": 1, "assertions": [{
            "urn": "urn:li:assertion:a",
            "info": {"type": "DATASET", "datasetAssertion": {"scope": "DATASET_COLUMN", "operator": "NOT_NULL"}},
        }]})
    );
    let all = assertions(&app, "(includeSoftDeleted: true)").await;
    assert_eq!(all["total"], 2, "{all}");
    let second = assertions(&app, "(includeSoftDeleted: true, start: 1, count: 5)").await;
    assert_eq!(second["count"], 1, "{second}");
    assert_eq!(second["start"], 1);
    assert_eq!(second["assertions"][0]["urn"], "urn:li:assertion:b");
}

#[tokio::test]
async fn assertions_are_found_by_their_subject() {
    let app = app().await;
    let search = |field: &str, value: &str| {
        format!(
            r#"{{ searchAcrossEntities(input: {{ types: [ASSERTION, DATASET], query: "*", count: 10,
                orFilters: [{{ and: [{{ field: "{field}", values: ["{value}"] }}] }}]
            }}) {{ searchResults {{ entity {{ urn }} }} }} }}"#
        )
    };
    let found = async |field: &str, value: &str| {
        let reply = app.graphql(&search(field, value)).await;
        let results = &reply["data"]["searchAcrossEntities"]["searchResults"];
        let results = results.as_array().unwrap_or_else(|| panic!("{reply}"));
        let urns = results.iter().map(|it| it["entity"]["urn"].to_string());
        urns.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("entity", DATASET).await, "\"urn:li:assertion:a\"");
    assert_eq!(found("entity", MISSING).await, "\"urn:li:assertion:c\"");
    assert_eq!(
        found("_entityType", "DATASET").await,
        format!("\"{DATASET}\"")
    );
    let body = json!({
        "input": "*", "entity": "assertion", "start": 0, "count": 10,
        "filter": {"or": [{"and": [{"field": "entity", "values": [MISSING], "condition": "EQUAL"}]}]},
    });
    let (status, reply) = app.post("/entities?action=search", &body).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(reply["value"]["numEntities"], 1, "{reply}");
}

const UPSERT: &str = r"mutation ($urn: String, $input: UpsertCustomAssertionInput!) {
    upsertCustomAssertion(urn: $urn, input: $input) { urn info { type description customAssertion { type logic } } platform { urn } }
}";

async fn upsert(app: &App, urn: Option<&str>, input: Value) -> Value {
    let body = json!({"query": UPSERT, "variables": {"urn": urn, "input": input}});
    let (status, reply) = app.post("/api/graphql", &body).await;
    assert_eq!(status, StatusCode::OK);
    reply
}

#[tokio::test]
async fn the_columns_of_an_assertion_are_read_from_both_of_their_members() {
    let app = app().await;
    let other = COLUMN.replace("user_name", "timestamp");
    for (stored, first, all) in [
        (json!({"field": COLUMN}), COLUMN, json!([COLUMN])),
        (
            json!({"fields": [other, COLUMN]}),
            &*other,
            json!([other, COLUMN]),
        ),
        (
            json!({"field": COLUMN, "fields": [COLUMN]}),
            COLUMN,
            json!([COLUMN]),
        ),
    ] {
        let mut custom = json!({"type": "mine", "entity": DATASET});
        for (name, value) in stored.as_object().unwrap() {
            custom[name] = value.clone();
        }
        let urn = "urn:li:assertion:columns";
        let info = json!({"type": "CUSTOM", "customAssertion": custom});
        app.ingest(urn, "assertionInfo", &info).await;
        let query = format!(
            r#"{{ assertion(urn: "{urn}") {{ info {{ customAssertion {{ field {{ urn }} fields {{ urn }} }} }} }} }}"#
        );
        let reply = app.graphql(&query).await;
        let found = &reply["data"]["assertion"]["info"]["customAssertion"];
        assert_eq!(found["field"]["urn"], first, "{reply}");
        let fields = found["fields"].as_array().unwrap().iter();
        let fields: Vec<&Value> = fields.map(|field| &field["urn"]).collect();
        assert_eq!(json!(fields), all, "{reply}");
    }
}

#[tokio::test]
async fn custom_assertions_are_created_and_replaced() {
    let app = app().await;
    let input = json!({
        "entityUrn": DATASET, "type": "freshness of rows", "description": "rows come daily", "fieldPath": "user_name",
        "platform": {"name": "checker"}, "externalUrl": "https://example.com/1", "logic": "select 1",
        "operator": "BETWEEN", "parameters": {"minValue": {"value": "1", "type": "NUMBER"}, "value": null},
        "nativeParameters": [{"key": "a", "value": "b"}],
    });
    let reply = upsert(&app, None, input).await;
    let stored = &reply["data"]["upsertCustomAssertion"];
    assert_eq!(stored["info"]["description"], "rows come daily", "{reply}");
    assert_eq!(stored["platform"]["urn"], "urn:li:dataPlatform:checker");
    let urn = stored["urn"].as_str().unwrap();
    let mut info = app.aspect(urn, "assertionInfo").await.unwrap();
    let created = info["source"]["created"].clone();
    assert!(created["time"].is_number(), "{info}");
    assert_eq!(info["entityUrn"], DATASET);
    assert_eq!(
        info["customAssertion"].take(),
        json!({
            "type": "freshness of rows", "entity": DATASET, "field": COLUMN, "fields": [COLUMN], "logic": "select 1", "operator": "BETWEEN",
            "parameters": {"minValue": {"value": "1", "type": "NUMBER"}}, "nativeParameters": {"a": "b"},
        })
    );

    app.clock.advance(1000);
    let less = json!({"entityUrn": DATASET, "type": "t", "description": "d", "platform": {}, "fieldPaths": ["user_name", "timestamp"]});
    let reply = upsert(&app, Some(urn), less.clone()).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    let info = app.aspect(urn, "assertionInfo").await.unwrap();
    assert_eq!(info["source"]["created"], created);
    assert_eq!(info.get("externalUrl"), None);
    let fields = info["customAssertion"]["fields"].as_array().unwrap();
    assert_eq!(fields.len(), 2, "{info}");
    assert_eq!(info["customAssertion"]["field"], fields[0]);

    let with = |member: &str, value: Value| {
        let mut input = less.clone();
        input[member] = value;
        input
    };
    for (urn, input, says) in [
        (None, with("entityUrn", json!("nonsense")), "nonsense"),
        (
            None,
            with("platform", json!({"urn": DATASET})),
            "dataPlatform",
        ),
        (Some(DATASET), less.clone(), "assertion"),
        (Some("urn:li:assertion:a"), less.clone(), "another kind"),
    ] {
        let reply = upsert(&app, urn, input).await;
        let error = &reply["errors"][0];
        let message = error["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{reply}"));
        assert!(message.contains(says), "{message}");
        assert!(
            error["extensions"]["code"].as_u64().unwrap() < 500,
            "{reply}"
        );
    }
}

#[tokio::test]
async fn assertions_are_found_and_counted_by_their_latest_result() {
    let app = app().await;
    for id in ["good", "bad", "silent"] {
        let custom = json!({"type": "mine", "entity": DATASET});
        let info = json!({"type": "CUSTOM", "customAssertion": custom, "entityUrn": DATASET});
        app.ingest(&format!("urn:li:assertion:{id}"), "assertionInfo", &info)
            .await;
    }
    let report = async |id: &str, time: i64, result: &str| {
        let run = json!({
            "timestampMillis": time, "runId": format!("run {time}"), "asserteeUrn": DATASET,
            "assertionUrn": format!("urn:li:assertion:{id}"), "status": "COMPLETE",
            "result": {"type": result},
        });
        app.ingest(&format!("urn:li:assertion:{id}"), "assertionRunEvent", &run)
            .await;
    };
    report("good", 10, "FAILURE").await;
    report("good", 20, "SUCCESS").await;
    report("bad", 10, "FAILURE").await;
    // Reported late.
    report("bad", 5, "SUCCESS").await;
    assert_eq!(
        app.aspect("urn:li:assertion:good", "assertionRunSummary")
            .await,
        Some(
            json!({"lastFailedAtMillis": 10, "lastPassedAtMillis": 20, "assertionStatus": "PASSING"})
        )
    );
    let query = format!(
        r#"{{ searchAcrossEntities(input: {{ types: [ASSERTION], query: "*", orFilters: [{{ and: [{{ field: "entity", values: ["{DATASET}"] }}] }}] }}) {{
            total facets {{ field aggregations {{ value count }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    let found = &reply["data"]["searchAcrossEntities"];
    // One of them is of the sample.
    assert_eq!(found["total"], 4, "{reply}");
    let facet = |name: &str| {
        let mut facets = found["facets"].as_array().unwrap().iter();
        facets.find(|it| it["field"] == name).unwrap()["aggregations"].clone()
    };
    assert_eq!(
        facet("assertionStatus"),
        json!([{"value": "FAILING", "count": 1}, {"value": "PASSING", "count": 1}])
    );
    assert_eq!(
        facet("assertionType"),
        json!([{"value": "CUSTOM", "count": 3}, {"value": "DATASET", "count": 1}])
    );
}

/// A tool may know a table before a connector does.
#[tokio::test]
async fn a_custom_assertion_may_name_a_dataset_that_is_not_stored_yet() {
    let app = app().await;
    let input = json!({"entityUrn": MISSING, "type": "t", "description": "d", "platform": {"name": "checker"}});
    let reply = upsert(&app, Some("urn:li:assertion:early"), input).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    let info = app.aspect("urn:li:assertion:early", "assertionInfo").await;
    assert_eq!(info.unwrap()["entityUrn"], MISSING);
    assert_eq!(app.aspect(MISSING, "datasetKey").await, None);
    let report = r#"mutation { reportAssertionResult(urn: "urn:li:assertion:early", result: { type: SUCCESS }) }"#;
    let reply = app.graphql(report).await;
    assert_eq!(reply["data"]["reportAssertionResult"], true, "{reply}");
}

#[tokio::test]
async fn a_result_without_a_time_is_of_now() {
    let app = app().await;
    app.clock.advance(1234);
    let report = r#"mutation { reportAssertionResult(urn: "urn:li:assertion:a", result: { type: SUCCESS }) }"#;
    let reply = app.graphql(report).await;
    assert_eq!(reply["data"]["reportAssertionResult"], true, "{reply}");
    let body = json!({"urn": "urn:li:assertion:a", "entity": "assertion", "aspect": "assertionRunEvent", "limit": 5});
    let path = "/aspects?action=getTimeseriesAspectValues";
    let (_, reply) = app.post(path, &body).await;
    let value = &reply["value"]["values"][0]["aspect"]["value"];
    let event: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
    assert_eq!(event["timestampMillis"], NOW_MS + 1234);
}

#[tokio::test]
async fn assertion_results_are_points_of_the_time_series() {
    let app = app().await;
    let report = |urn: &str, result: &str| {
        format!(
            r#"mutation {{ reportAssertionResult(urn: "{urn}", result: {{ timestampMillis: 5, {result} }}) }}"#
        )
    };
    let found = r#"type: ERROR, properties: [{ key: "k", value: "v" }], severity: HIGH,
        error: { type: SOURCE_QUERY_FAILED, message: "no such table" }"#;
    let reply = app.graphql(&report("urn:li:assertion:a", found)).await;
    assert_eq!(reply["data"]["reportAssertionResult"], true, "{reply}");
    let body = json!({"urn": "urn:li:assertion:a", "entity": "assertion", "aspect": "assertionRunEvent", "limit": 5});
    let (_, reply) = app
        .post("/aspects?action=getTimeseriesAspectValues", &body)
        .await;
    let value = reply["value"]["values"][0]["aspect"]["value"]
        .as_str()
        .unwrap();
    let mut event: Value = serde_json::from_str(value).unwrap();
    assert!(event["runId"].take().is_string());
    assert_eq!(
        event,
        json!({
            "timestampMillis": 5, "assertionUrn": "urn:li:assertion:a", "asserteeUrn": DATASET, "runId": null,
            "status": "COMPLETE", "result": {
                "type": "ERROR", "nativeResults": {"k": "v"}, "severity": "HIGH",
                "error": {"type": "SOURCE_QUERY_FAILED", "properties": {"message": "no such table"}},
            },
        })
    );
    for (urn, says) in [
        ("urn:li:assertion:none", "does not exist"),
        (DATASET, "assertion"),
    ] {
        let (code, message) = app.graphql_error(&report(urn, "type: SUCCESS")).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains(says), "{message}");
    }
}
