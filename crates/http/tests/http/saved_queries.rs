//! Queries, contracts, operations, and ownership types that users write.

use serde_json::{Value, json};

use crate::escalation::reader_with;
use crate::support::{App, DATASET, MISSING, NOW_MS, USER};

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";

/// Sends a mutation with an `input`, and returns its reply.
async fn send(app: &App, kind: &str, field: &str, input: Value) -> Value {
    let text = format!("mutation ($input: {kind}!) {{ {field} }}");
    app.graphql_with(&text, json!({ "input": input })).await
}

fn code(reply: &Value) -> &Value {
    &reply["errors"][0]["extensions"]["code"]
}

#[tokio::test]
async fn a_query_is_created_changed_and_deleted() {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let selection = "{ urn properties { name description source statement { value language } created { time actor }
        lastModified { time } } subjects { dataset { urn } } }";
    let create = format!("createQuery(input: $input) {selection}");
    let input = json!({
        "properties": {"name": "Deleted", "statement": {"value": "SELECT 1", "language": "SQL"}},
        "subjects": [{"datasetUrn": DATASET}],
    });
    let created = send(&app, "CreateQueryInput", &create, input).await;
    let created = &created["data"]["createQuery"];
    let urn = created["urn"].as_str().unwrap();
    assert_eq!(
        created["properties"],
        json!({"name": "Deleted", "description": null, "source": "MANUAL", "statement": {"value": "SELECT 1", "language": "SQL"},
            "created": {"time": NOW_MS, "actor": USER}, "lastModified": {"time": NOW_MS}})
    );
    assert_eq!(created["subjects"], json!([{"dataset": {"urn": DATASET}}]));
    let listed = format!(
        r#"{{ listQueries(input: {{ datasetUrn: "{DATASET}", source: MANUAL }}) {{ queries {{ urn }} }} }}"#
    );
    assert_eq!(
        app.graphql(&listed).await["data"]["listQueries"]["queries"],
        json!([{ "urn": urn }])
    );

    app.clock.advance(1000);
    let update = format!(r#"updateQuery(urn: "{urn}", input: $input) {selection}"#);
    let input = json!({"properties": {"description": "All"}, "subjects": [{"datasetUrn": OTHER}]});
    let updated = send(&app, "UpdateQueryInput", &update, input).await;
    let updated = &updated["data"]["updateQuery"];
    assert_eq!(
        updated["properties"],
        json!({"name": "Deleted", "description": "All", "source": "MANUAL", "statement": {"value": "SELECT 1", "language": "SQL"},
            "created": {"time": NOW_MS, "actor": USER}, "lastModified": {"time": NOW_MS + 1000}})
    );
    assert_eq!(updated["subjects"], json!([{"dataset": {"urn": OTHER}}]));

    for (kind, field, input) in [
        (
            "CreateQueryInput",
            &create,
            json!({"properties": {"statement": {"value": "", "language": "SQL"}}, "subjects": [{"datasetUrn": MISSING}]}),
        ),
        (
            "UpdateQueryInput",
            &update,
            json!({"properties": {"name": " "}}),
        ),
        (
            "UpdateQueryInput",
            &update,
            json!({"subjects": [{"datasetUrn": USER}]}),
        ),
    ] {
        let reply = send(&app, kind, field, input).await;
        assert_eq!(*code(&reply), 400, "{reply}");
    }
    let delete = format!(r#"mutation {{ deleteQuery(urn: "{urn}") }}"#);
    assert_eq!(app.graphql(&delete).await["data"]["deleteQuery"], true);
    assert_eq!(app.aspect(urn, "queryProperties").await, None);
    assert_eq!(
        app.graphql_error(&delete).await,
        (400, format!("Failed to find query with urn {urn}"))
    );
}

#[tokio::test]
async fn a_query_needs_the_right_on_its_old_and_new_datasets() {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let resources = json!({"resources": [DATASET]});
    let ada = reader_with(&app, "METADATA", &["EDIT_ENTITY_QUERIES"], resources).await;
    let send = async |mutation: String| {
        app.graphql_as(&ada, &format!("mutation {{ {mutation} }}"))
            .await
    };
    let create = |dataset: &str| {
        format!(
            r#"createQuery(input: {{ properties: {{ statement: {{ value: "SELECT 1", language: SQL }} }},
                subjects: [{{ datasetUrn: "{dataset}" }}] }}) {{ urn }}"#
        )
    };
    assert_eq!(*code(&send(create(OTHER)).await), 403);
    let created = send(create(DATASET)).await;
    let urn = created["data"]["createQuery"]["urn"].as_str().unwrap();
    let move_away = format!(
        r#"updateQuery(urn: "{urn}", input: {{ subjects: [{{ datasetUrn: "{OTHER}" }}] }}) {{ urn }}"#
    );
    assert_eq!(*code(&send(move_away).await), 403);
    let delete = format!(r#"deleteQuery(urn: "{urn}")"#);
    assert_eq!(send(delete.clone()).await["data"]["deleteQuery"], true);
    let others = app
        .graphql(&format!("mutation {{ {} }}", create(OTHER)))
        .await;
    let others = others["data"]["createQuery"]["urn"].as_str().unwrap();
    assert_eq!(
        *code(&send(format!(r#"deleteQuery(urn: "{others}")"#)).await),
        403
    );
}

#[tokio::test]
async fn a_dataset_has_one_contract_which_loses_deleted_assertions() {
    let app = App::with_dataset().await;
    let assertions = ["urn:li:assertion:fresh", "urn:li:assertion:full"];
    for urn in assertions {
        let info = json!({"type": "CUSTOM", "customAssertion": {"type": "t", "entity": DATASET}});
        app.ingest(urn, "assertionInfo", &info).await;
    }
    let [fresh, full] = assertions;
    let field = "upsertDataContract(input: $input) { urn properties { entityUrn freshness { assertion { urn } }
        schema { assertion { urn } } dataQuality { assertion { urn } } } status { state } }";
    let kind = "UpsertDataContractInput";
    let input = json!({"entityUrn": DATASET, "id": "c", "freshness": [{"assertionUrn": fresh}],
        "dataQuality": [{"assertionUrn": full}], "state": "PENDING"});
    let created = send(&app, kind, field, input).await;
    let item = |urn: &str| json!([{"assertion": {"urn": urn}}]);
    assert_eq!(
        created["data"]["upsertDataContract"],
        json!({"urn": "urn:li:dataContract:c", "status": {"state": "PENDING"}, "properties": {
            "entityUrn": DATASET, "freshness": item(fresh), "schema": null, "dataQuality": item(full)}})
    );
    let again = json!({"entityUrn": DATASET, "id": "d", "schema": [{"assertionUrn": full}]});
    let replaced = send(&app, kind, field, again).await;
    assert_eq!(
        replaced["data"]["upsertDataContract"],
        json!({"urn": "urn:li:dataContract:c", "status": {"state": "ACTIVE"}, "properties": {
            "entityUrn": DATASET, "freshness": null, "schema": item(full), "dataQuality": null}})
    );
    for input in [
        json!({"entityUrn": MISSING}),
        json!({"entityUrn": DATASET, "schema": [{"assertionUrn": "urn:li:assertion:none"}]}),
        json!({"entityUrn": DATASET, "schema": [{"assertionUrn": DATASET}]}),
    ] {
        let reply = send(&app, kind, field, input).await;
        assert_eq!(*code(&reply), 400, "{reply}");
    }
    let delete = format!(r#"mutation {{ deleteAssertion(urn: "{full}") }}"#);
    assert_eq!(app.graphql(&delete).await["data"]["deleteAssertion"], true);
    let read = "contract { urn properties { schema { assertion { urn } } } }";
    let left = app.read_dataset(read).await["contract"]["properties"]["schema"].clone();
    assert!(left.is_null() || left == json!([]), "{left}");
    assert_eq!(app.graphql_error(&delete).await.0, 400);
}

#[tokio::test]
async fn a_reported_operation_is_read_at_once() {
    let app = App::with_dataset().await;
    let kind = "ReportOperationInput";
    let field = "reportOperation(input: $input)";
    let input = json!({"urn": DATASET, "operationType": "CUSTOM", "customOperationType": "MERGE", "sourceType": "DATA_PROCESS",
        "customProperties": [{"key": "k", "value": "v"}], "partition": "day=1", "numAffectedRows": 9});
    let reported = send(&app, kind, field, input).await;
    assert_eq!(reported["data"]["reportOperation"], "true", "{reported}");
    let read = "operations(limit: 5) { timestampMillis lastUpdatedTimestamp actor operationType customOperationType sourceType
        numAffectedRows partition customProperties { key value } }";
    assert_eq!(
        app.read_dataset(read).await["operations"],
        json!([{"timestampMillis": NOW_MS, "lastUpdatedTimestamp": NOW_MS, "actor": USER, "operationType": "CUSTOM",
            "customOperationType": "MERGE", "sourceType": "DATA_PROCESS", "numAffectedRows": 9, "partition": "day=1",
            "customProperties": [{"key": "k", "value": "v"}]}])
    );
    let earlier = json!({"urn": DATASET, "operationType": "INSERT", "sourceType": "DATA_PLATFORM", "timestampMillis": 5});
    send(&app, kind, field, earlier).await;
    let times = app
        .read_dataset("operations(limit: 5) { timestampMillis }")
        .await;
    assert_eq!(times["operations"][1]["timestampMillis"], 5, "{times}");
    for urn in [MISSING, USER] {
        let input = json!({"urn": urn, "operationType": "INSERT", "sourceType": "DATA_PLATFORM"});
        let reply = send(&app, kind, field, input).await;
        assert_eq!(*code(&reply), 400, "{reply}");
    }
}

#[tokio::test]
async fn ownership_types_are_created_changed_and_deleted_from_owners() {
    let app = App::with_dataset().await;
    app.ingest(USER, "corpUserInfo", &json!({"active": true}))
        .await;
    let selection = "{ urn type info { name description } }";
    let create = format!("createOwnershipType(input: $input) {selection}");
    let input = json!({"name": "Sponsor", "description": "Pays"});
    let created = send(&app, "CreateOwnershipTypeInput", &create, input).await;
    let created = &created["data"]["createOwnershipType"];
    assert_eq!(
        created["info"],
        json!({"name": "Sponsor", "description": "Pays"})
    );
    assert_eq!(created["type"], "CUSTOM_OWNERSHIP_TYPE");
    let urn = created["urn"].as_str().unwrap();
    let owner = json!({"resourceUrn": DATASET, "ownerUrn": USER, "ownerEntityType": "CORP_USER", "ownershipTypeUrn": urn});
    app.mutate("addOwner", "AddOwnerInput", owner).await;

    let update = format!(r#"updateOwnershipType(urn: "{urn}", input: $input) {selection}"#);
    let updated = send(
        &app,
        "UpdateOwnershipTypeInput",
        &update,
        json!({"name": "Payer"}),
    )
    .await;
    assert_eq!(
        updated["data"]["updateOwnershipType"]["info"],
        json!({"name": "Payer", "description": "Pays"})
    );
    for (kind, field) in [
        ("CreateOwnershipTypeInput", &create),
        ("UpdateOwnershipTypeInput", &update),
    ] {
        let reply = send(&app, kind, field, json!({"name": "", "description": ""})).await;
        assert_eq!(*code(&reply), 400, "{reply}");
    }
    let delete =
        format!(r#"mutation {{ deleteOwnershipType(urn: "{urn}", deleteReferences: true) }}"#);
    assert_eq!(
        app.graphql(&delete).await["data"]["deleteOwnershipType"],
        true
    );
    let owners = app.aspect(DATASET, "ownership").await.unwrap();
    assert_eq!(owners["owners"][0]["owner"], USER);
    assert_eq!(owners["owners"][0]["type"], "CUSTOM");
    assert_eq!(owners["owners"][0].get("typeUrn"), None);
    assert_eq!(app.graphql_error(&delete).await.0, 400);
    let missing = send(
        &app,
        "UpdateOwnershipTypeInput",
        &update,
        json!({"name": "x"}),
    )
    .await;
    assert_eq!(*code(&missing), 400, "{missing}");
}
