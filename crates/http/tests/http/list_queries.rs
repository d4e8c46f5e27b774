//! Lists of queries, ownership types and ingestion sources, and the server configuration.

use crate::support::{App, DATASET, USER};
use serde_json::{Value, json};

async fn list(app: &App, field: &str, kind: &str, selection: &str, input: Value) -> Value {
    let query = format!("query ($input: {kind}!) {{ {field}(input: $input) {{ {selection} }} }}");
    let reply = app.graphql_with(&query, json!({"input": input})).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"][field].clone()
}

#[tokio::test]
async fn queries_are_listed_by_their_subject() {
    let app = App::with_dataset().await;
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    for (id, source, time, subjects) in [
        ("old", "MANUAL", 1, json!([{"entity": DATASET}])),
        (
            "new",
            "SYSTEM",
            2,
            json!([{"entity": DATASET}, {"entity": column}]),
        ),
    ] {
        let urn = format!("urn:li:query:{id}");
        let stamp = json!({"time": time, "actor": USER});
        let properties = json!({"statement": {"value": format!("select '{id}'"), "language": "SQL"},
            "source": source, "created": stamp, "lastModified": stamp});
        app.ingest(&urn, "queryProperties", &properties).await;
        app.ingest(&urn, "querySubjects", &json!({"subjects": subjects}))
            .await;
    }
    let all = "start count total queries { urn properties { statement { value } source }
        subjects { dataset { urn } schemaField { fieldPath } } }";
    let about = |urn: &str| json!([{"and": [{"field": "entities", "values": [urn], "condition": "EQUAL"}]}]);
    let new = json!({
        "urn": "urn:li:query:new", "properties": {"statement": {"value": "select 'new'"}, "source": "SYSTEM"},
        "subjects": [
            {"dataset": {"urn": DATASET}, "schemaField": null},
            {"dataset": {"urn": DATASET}, "schemaField": {"fieldPath": "user_name"}},
        ],
    });
    let found = list(
        &app,
        "listQueries",
        "ListQueriesInput",
        all,
        json!({"orFilters": about(DATASET)}),
    )
    .await;
    assert_eq!(found["total"], 2);
    assert_eq!(found["count"], 20);
    assert_eq!(found["queries"][0], new, "the last changed comes first");
    for input in [
        json!({"source": "SYSTEM"}),
        json!({"orFilters": about(&column), "count": 5}),
    ] {
        let found = list(&app, "listQueries", "ListQueriesInput", all, input).await;
        assert_eq!(found["queries"], json!([new]));
    }
    let manual = json!({"source": "MANUAL", "datasetUrn": DATASET});
    let found = list(
        &app,
        "listQueries",
        "ListQueriesInput",
        "queries { urn }",
        manual,
    )
    .await;
    assert_eq!(found["queries"], json!([{"urn": "urn:li:query:old"}]));
}

#[tokio::test]
async fn ownership_types_are_found_by_name() {
    let app = App::empty().await;
    for (id, name) in [("s", "Steward"), ("e", "Engineer")] {
        let stamp = json!({"time": 1, "actor": USER});
        let info = json!({"name": name, "created": stamp, "lastModified": stamp});
        app.ingest(
            &format!("urn:li:ownershipType:{id}"),
            "ownershipTypeInfo",
            &info,
        )
        .await;
    }
    let kind = "ListOwnershipTypesInput";
    let names = "total ownershipTypes { info { name } }";
    let found = list(
        &app,
        "listOwnershipTypes",
        kind,
        names,
        json!({"query": "steward"}),
    )
    .await;
    assert_eq!(
        found,
        json!({"total": 1, "ownershipTypes": [{"info": {"name": "Steward"}}]})
    );
    let found = list(&app, "listOwnershipTypes", kind, names, json!({})).await;
    assert_eq!(
        found["ownershipTypes"],
        json!([{"info": {"name": "Engineer"}}, {"info": {"name": "Steward"}}])
    );
}

#[tokio::test]
async fn ingestion_sources_are_listed_with_their_runs() {
    let app = App::empty().await;
    let source = "urn:li:dataHubIngestionSource:cli-1";
    let info = json!({"name": "[CLI] postgres", "type": "postgres", "config": {"recipe": "{}", "version": "1.7.0"}});
    app.ingest(source, "dataHubIngestionSourceInfo", &info)
        .await;
    for (id, at) in [("first", 1), ("second", 2)] {
        let run = format!("urn:li:dataHubExecutionRequest:{id}");
        let input = json!({"task": "CLI Ingestion", "args": {"a": "b"}, "executorId": "__cli", "requestedAt": at,
            "source": {"type": "CLI_INGESTION_SOURCE", "ingestionSource": source}});
        app.ingest(&run, "dataHubExecutionRequestInput", &input)
            .await;
    }
    let result = json!({"status": "SUCCESS", "startTimeMs": 3, "durationMs": 4});
    app.ingest(
        "urn:li:dataHubExecutionRequest:first",
        "dataHubExecutionRequestResult",
        &result,
    )
    .await;
    let selection = "total ingestionSources { urn name type config { version }
        executions(count: 10) { total executionRequests { id source { name } input { task source { ingestionSource } } result { status startTimeMs } } } }";
    let input = json!({"start": 0, "count": 10, "filters": [
        {"field": "urn", "values": ["cli"], "condition": "CONTAIN"},
        {"field": "name", "values": ["postgres"], "condition": "CONTAIN"},
    ]});
    let found = list(
        &app,
        "listIngestionSources",
        "ListIngestionSourcesInput",
        selection,
        input,
    )
    .await;
    let run = |id: &str, result: Value| {
        json!({"id": id, "result": result, "source": {"name": "[CLI] postgres"},
            "input": {"task": "CLI Ingestion", "source": {"ingestionSource": source}}})
    };
    assert_eq!(
        found,
        json!({"total": 1, "ingestionSources": [{
            "urn": source, "name": "[CLI] postgres", "type": "postgres", "config": {"version": "1.7.0"},
            "executions": {"total": 2, "executionRequests": [
                run("second", Value::Null),
                run("first", json!({"status": "SUCCESS", "startTimeMs": 3})),
            ]},
        }]})
    );
    let none = json!({"filters": [{"field": "name", "values": ["mysql"], "condition": "CONTAIN"}]});
    let found = list(
        &app,
        "listIngestionSources",
        "ListIngestionSourcesInput",
        "total",
        none,
    )
    .await;
    assert_eq!(found["total"], 0);
}

#[tokio::test]
async fn the_server_reports_its_features() {
    let app = App::empty().await;
    let query = "{ appConfig { appVersion telemetryConfig { enableThirdPartyLogging } featureFlags { metricsEnabled }
            semanticSearchConfig { enabled enabledEntities embeddingConfig { provider } } }
        globalViewsSettings { defaultView } }";
    let reply = app.graphql(query).await;
    let config = &reply["data"]["appConfig"];
    assert_eq!(config["appVersion"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        config["telemetryConfig"],
        json!({"enableThirdPartyLogging": false})
    );
    assert_eq!(config["featureFlags"], json!({"metricsEnabled": true}));
    assert_eq!(
        config["semanticSearchConfig"],
        json!({"enabled": false, "enabledEntities": [], "embeddingConfig": null})
    );
    assert_eq!(
        reply["data"]["globalViewsSettings"],
        json!({"defaultView": null})
    );
}
