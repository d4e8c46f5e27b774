//! Ingestion sources, requests to run them, and what an executor does with those.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, USER, encoded, proposal, token_of};

const PASSWORD: &str = "hunter2-of-the-warehouse";

fn recipe() -> String {
    json!({"source": {"type": "postgres", "config": {"password": PASSWORD}}}).to_string()
}

fn source_input(recipe: &str) -> Value {
    json!({
        "name": "Warehouse", "type": "postgres",
        "schedule": {"interval": "0 2 * * *", "timezone": "Europe/Berlin"},
        "config": {"recipe": recipe, "executorId": "remote", "version": "1.7.0", "debugMode": true,
            "extraArgs": [{"key": "extra_pip_requirements", "value": "[]"}]},
    })
}

async fn create(app: &App) -> String {
    let input = source_input(&recipe());
    let urn = app
        .mutate("createIngestionSource", "UpdateIngestionSourceInput", input)
        .await;
    urn.as_str().unwrap().to_owned()
}

async fn request(app: &App, source: &str) -> String {
    let kind = "CreateIngestionExecutionRequestInput";
    let input = json!({"ingestionSourceUrn": source});
    let urn = app
        .mutate("createIngestionExecutionRequest", kind, input)
        .await;
    urn.as_str().unwrap().to_owned()
}

async fn read_request(app: &App, token: &str, request: &str) -> Value {
    let query = format!(
        r#"{{ executionRequest(urn: "{request}") {{ id source {{ name }} input {{ task executorId requestedAt
            actor {{ urn }} source {{ type ingestionSource }} arguments {{ key value }} }}
            result {{ status startTimeMs }} }} }}"#
    );
    app.graphql_as(token, &query).await["data"]["executionRequest"].clone()
}

fn argument<'r>(request: &'r Value, name: &str) -> &'r str {
    let arguments = request["input"]["arguments"].as_array().unwrap();
    let found = arguments.iter().find(|it| it["key"] == name);
    found
        .and_then(|it| it["value"].as_str())
        .unwrap_or_default()
}

async fn update(app: &App, source: &str, input: Value) -> Value {
    let query = "mutation ($urn: String!, $input: UpdateIngestionSourceInput!) { updateIngestionSource(urn: $urn, input: $input) }";
    app.graphql_with(query, json!({"urn": source, "input": input}))
        .await
}

#[tokio::test]
async fn a_source_is_created_updated_and_deleted() {
    let app = App::empty().await;
    let source = create(&app).await;
    let query = format!(
        r#"{{ ingestionSource(urn: "{source}") {{ name type schedule {{ interval timezone }}
            config {{ recipe executorId version debugMode extraArgs {{ key value }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["ingestionSource"],
        json!({
            "name": "Warehouse", "type": "postgres",
            "schedule": {"interval": "0 2 * * *", "timezone": "Europe/Berlin"},
            "config": {"recipe": recipe(), "executorId": "remote", "version": "1.7.0", "debugMode": true,
                "extraArgs": [{"key": "extra_pip_requirements", "value": "[]"}]},
        }),
        "{reply}"
    );
    // What callers without the privilege read can be written back.
    let mut input = source_input("********");
    input["name"] = json!("Renamed");
    input["schedule"] = Value::Null;
    let reply = update(&app, &source, input).await;
    assert_eq!(reply["data"]["updateIngestionSource"], source, "{reply}");
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["ingestionSource"]["name"], "Renamed",
        "{reply}"
    );
    assert_eq!(reply["data"]["ingestionSource"]["schedule"], Value::Null);
    let request = request(&app, &source).await;
    let read = read_request(&app, &app.token, &request).await;
    assert!(argument(&read, "recipe").contains(PASSWORD), "{read}");
    let list = "{ listIngestionSources(input: {}) { total facets { field aggregations { value count } } } }";
    let reply = app.graphql(list).await;
    assert_eq!(
        reply["data"]["listIngestionSources"],
        json!({"total": 1, "facets": [{"field": "type", "aggregations": [{"value": "postgres", "count": 1}]}]}),
        "{reply}"
    );
    let delete = format!(r#"mutation {{ deleteIngestionSource(urn: "{source}") }}"#);
    let reply = app.graphql(&delete).await;
    assert_eq!(reply["data"]["deleteIngestionSource"], source, "{reply}");
    assert_eq!(app.graphql_error(&delete).await.0, 400);
}

#[tokio::test]
async fn invalid_sources_are_rejected() {
    let app = App::empty().await;
    let with = |path: &str, value: Value| {
        let mut input = source_input(&recipe());
        *input.pointer_mut(path).unwrap() = value;
        input
    };
    for (input, part) in [
        (with("/name", json!(" ")), "name"),
        (
            with("/config/recipe", json!("source: x")),
            "not a JSON object",
        ),
        (with("/config/recipe", json!("[]")), "not a JSON object"),
        (
            with("/schedule/interval", json!("daily")),
            "cron expression",
        ),
        (with("/schedule/timezone", json!("Mars/Base")), "Mars/Base"),
    ] {
        let kind = "UpdateIngestionSourceInput";
        let (code, message) = app.mutate_error("createIngestionSource", kind, input).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains(part), "{message}");
        assert!(!message.contains(PASSWORD), "{message}");
    }
    let missing = "urn:li:dataHubIngestionSource:missing";
    let reply = update(&app, missing, source_input("********")).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    let kind = "CreateIngestionExecutionRequestInput";
    let input = json!({"ingestionSourceUrn": missing});
    let field = "createIngestionExecutionRequest";
    let (code, message) = app.mutate_error(field, kind, input).await;
    assert_eq!(code, 400, "{message}");
    let list = "{ listIngestionSources(input: {}) { total } }";
    assert_eq!(
        app.graphql(list).await["data"]["listIngestionSources"]["total"],
        0
    );
    // As `datahub ingest deploy` does.
    let reply = update(&app, missing, source_input("{}")).await;
    assert_eq!(reply["data"]["updateIngestionSource"], missing, "{reply}");
}

#[tokio::test]
async fn a_request_waits_for_an_executor_with_everything_that_it_needs() {
    let app = App::empty().await;
    let source = create(&app).await;
    let request = request(&app, &source).await;
    let read = read_request(&app, &app.token, &request).await;
    let id = request
        .strip_prefix("urn:li:dataHubExecutionRequest:")
        .unwrap();
    assert_eq!(read["id"], id);
    assert_eq!(read["source"]["name"], "Warehouse");
    assert_eq!(
        read["result"],
        json!({"status": "PENDING", "startTimeMs": null})
    );
    let input = &read["input"];
    assert_eq!(input["task"], "RUN_INGEST");
    assert_eq!(input["executorId"], "remote");
    assert_eq!(input["requestedAt"], NOW_MS);
    assert_eq!(input["actor"]["urn"], USER);
    assert_eq!(
        input["source"],
        json!({"type": "MANUAL_INGESTION_SOURCE", "ingestionSource": source})
    );
    let recipe: Value = serde_json::from_str(argument(&read, "recipe")).unwrap();
    assert_eq!(recipe["run_id"], request);
    assert_eq!(recipe["pipeline_name"], source);
    assert_eq!(recipe["source"]["config"]["password"], PASSWORD);
    assert_eq!(argument(&read, "version"), "1.7.0");
    assert_eq!(argument(&read, "debug_mode"), "true");
    assert_eq!(argument(&read, "extra_pip_requirements"), "[]");
}

#[tokio::test]
async fn recipes_are_for_those_who_read_secrets() {
    let app = App::empty().await;
    let source = create(&app).await;
    let request = request(&app, &source).await;
    let tokens = [
        (&["MANAGE_INGESTION"][..], "********"),
        (&["MANAGE_INGESTION", "MANAGE_SECRETS"], PASSWORD),
    ];
    for (index, (privileges, expected)) in tokens.into_iter().enumerate() {
        let user = format!("urn:li:corpuser:executor{index}");
        let token = token_of(&app.catalog, &user, None).await;
        let policy = json!({
            "displayName": "p", "description": "", "type": "PLATFORM", "state": "ACTIVE",
            "privileges": privileges, "actors": {"users": [user]},
        });
        let urn = format!("urn:li:dataHubPolicy:executor{index}");
        app.write_policy(&urn, &policy).await;
        let read = read_request(&app, &token, &request).await;
        assert!(argument(&read, "recipe").contains(expected), "{read}");
        let query =
            "{ listIngestionSources(input: {}) { ingestionSources { config { recipe } } } }";
        let listed = app.graphql_as(&token, query).await;
        let config = &listed["data"]["listIngestionSources"]["ingestionSources"][0]["config"];
        let whole = recipe();
        let shown = if expected == PASSWORD {
            whole.as_str()
        } else {
            expected
        };
        assert_eq!(config["recipe"], shown, "{listed}");
    }
    let editor = token_of(&app.catalog, "urn:li:corpuser:eddie", None).await;
    let read = read_request(&app, &editor, &request).await;
    assert_eq!(read, Value::Null);
    let path = format!("/entitiesV2/{}", encoded(&request));
    let (_, reply) = app.get(&path).await;
    assert!(!reply.to_string().contains(PASSWORD), "{reply}");
}

/// Takes up a request, on the condition that nobody else has.
async fn take_up(app: &App, request: &str) -> StatusCode {
    let result = json!({"status": "RUNNING", "startTimeMs": NOW_MS});
    let mut write = proposal("UPSERT", request, "dataHubExecutionRequestResult", &result);
    write["headers"] = json!({"If-Version-Match": "1"});
    app.propose_all(vec![write]).await.0
}

#[tokio::test]
async fn one_executor_takes_up_a_request_and_reports_the_result() {
    let app = App::empty().await;
    let source = create(&app).await;
    let request = request(&app, &source).await;
    let pending = r#"{ listExecutionRequests(input: { filters: [{ field: "executionResultStatus", values: ["PENDING"] }] }) {
        total executionRequests { urn } } }"#;
    let reply = app.graphql(pending).await;
    assert_eq!(
        reply["data"]["listExecutionRequests"],
        json!({"total": 1, "executionRequests": [{"urn": request}]}),
        "{reply}"
    );
    assert_eq!(take_up(&app, &request).await, StatusCode::OK);
    assert_eq!(
        take_up(&app, &request).await,
        StatusCode::PRECONDITION_FAILED
    );
    let reply = app.graphql(pending).await;
    assert_eq!(
        reply["data"]["listExecutionRequests"]["total"], 0,
        "{reply}"
    );
    let latest = format!(
        r#"{{ ingestionSource(urn: "{source}") {{ latestSuccessfulExecution {{ urn }} executions {{ total }} }} }}"#
    );
    let reply = app.graphql(&latest).await;
    assert_eq!(
        reply["data"]["ingestionSource"],
        json!({"latestSuccessfulExecution": null, "executions": {"total": 1}}),
        "{reply}"
    );
    let result =
        json!({"status": "SUCCESS", "startTimeMs": NOW_MS, "durationMs": 5, "report": "ok"});
    app.ingest(&request, "dataHubExecutionRequestResult", &result)
        .await;
    let reply = app.graphql(&latest).await;
    let found = &reply["data"]["ingestionSource"]["latestSuccessfulExecution"];
    assert_eq!(found["urn"], request, "{reply}");
}

#[tokio::test]
async fn a_cancelled_request_is_not_taken_up_and_a_running_one_gets_a_signal() {
    let app = App::empty().await;
    let source = create(&app).await;
    let kind = "CancelIngestionExecutionRequestInput";
    let field = "cancelIngestionExecutionRequest";
    for (is_running, status) in [(false, "CANCELLED"), (true, "RUNNING")] {
        let request = request(&app, &source).await;
        if is_running {
            assert_eq!(take_up(&app, &request).await, StatusCode::OK);
        }
        let input = json!({"ingestionSourceUrn": source, "executionRequestUrn": request});
        assert_eq!(app.mutate(field, kind, input).await, request);
        let read = read_request(&app, &app.token, &request).await;
        assert_eq!(read["result"]["status"], status);
        let signal = app.aspect(&request, "dataHubExecutionRequestSignal").await;
        let signal = signal.unwrap();
        assert_eq!(signal["signal"], "KILL");
        assert_eq!(signal["executorId"], "remote");
        if !is_running {
            let taken = take_up(&app, &request).await;
            assert_eq!(taken, StatusCode::PRECONDITION_FAILED);
        }
    }
    let missing = "urn:li:dataHubExecutionRequest:missing";
    let input = json!({"ingestionSourceUrn": source, "executionRequestUrn": missing});
    let (code, message) = app.mutate_error(field, kind, input).await;
    assert_eq!(code, 400, "{message}");
    assert_eq!(
        app.aspect(missing, "dataHubExecutionRequestSignal").await,
        None
    );
}

#[tokio::test]
async fn tests_of_connections_and_sources_of_the_system_are_told_apart() {
    let app = App::empty().await;
    let source = create(&app).await;
    let mut input = source_input("{}");
    input["source"] = json!({"type": "SYSTEM"});
    let kind = "UpdateIngestionSourceInput";
    let system = app.mutate("createIngestionSource", kind, input).await;
    let by_user = request(&app, &source).await;
    let by_system = request(&app, system.as_str().unwrap()).await;
    let input = json!({"recipe": recipe(), "version": "  "});
    let kind = "CreateTestConnectionRequestInput";
    let test = app.mutate("createTestConnectionRequest", kind, input).await;
    let test = test.as_str().unwrap();
    let read = read_request(&app, &app.token, test).await;
    assert_eq!(read["input"]["task"], "TEST_CONNECTION");
    assert_eq!(argument(&read, "version"), "");
    let recipe: Value = serde_json::from_str(argument(&read, "recipe")).unwrap();
    assert_eq!(recipe["pipeline_name"], test);
    for (members, expected) in [
        ("", vec![&by_user, &by_system]),
        ("systemSources: false", vec![&by_user]),
        ("systemSources: true", vec![&by_system]),
    ] {
        let list = format!(
            r"{{ listExecutionRequests(input: {{ count: 10, {members} }}) {{ executionRequests {{ urn }} }} }}"
        );
        let reply = app.graphql(&list).await;
        let found = reply["data"]["listExecutionRequests"]["executionRequests"].as_array();
        let mut found: Vec<&str> = found
            .unwrap()
            .iter()
            .filter_map(|it| it["urn"].as_str())
            .collect();
        found.sort_unstable();
        let mut expected: Vec<&str> = expected.into_iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{reply}");
    }
}

#[tokio::test]
async fn a_run_is_rolled_back_by_its_id() {
    let app = App::empty().await;
    let mut write = proposal("UPSERT", DATASET, "status", &json!({"removed": false}));
    write["systemMetadata"] = json!({"runId": "run-1", "lastObserved": 0});
    let (status, reply) = app.propose_all(vec![write]).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let input = json!({"runId": "run-1"});
    let done = app
        .mutate("rollbackIngestion", "RollbackIngestionInput", input)
        .await;
    assert_eq!(done, "true");
    assert_eq!(app.aspect(DATASET, "status").await, None);
    let input = json!({"runId": ""});
    let (code, message) = app
        .mutate_error("rollbackIngestion", "RollbackIngestionInput", input)
        .await;
    assert_eq!(code, 400, "{message}");
}
