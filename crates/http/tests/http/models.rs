//! Relationships of ER models, and logical models.

use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)";
const MODEL: &str = "urn:li:dataset:(urn:li:dataPlatform:concepts,user,PROD)";
const PLATFORM: &str = "urn:li:dataPlatform:concepts";

async fn app() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    app
}

fn relationship(name: &str, source: &str, destination: &str) -> Value {
    json!({"properties": {"name": name, "source": source, "destination": destination,
    "relationshipFieldmappings": [
        {"sourceField": "user_name", "destinationField": "user_name"},
        {"sourceField": "timestamp", "destinationField": "user_name"},
    ]}})
}

const CREATE: &str = "mutation ($input: ERModelRelationshipUpdateInput!) {
    createERModelRelationship(input: $input) { urn type properties { name cardinality createdTime
        createdActor { urn } source { urn } destination { urn }
        relationshipFieldMappings { sourceField destinationField } }
        editableProperties { name description } } }";

async fn create(app: &App, input: Value) -> Value {
    app.graphql_with(CREATE, json!({ "input": input })).await
}

async fn update(app: &App, urn: &str, input: Value) -> Value {
    let text = "mutation ($urn: String!, $input: ERModelRelationshipUpdateInput!) {
        updateERModelRelationship(urn: $urn, input: $input) }";
    app.graphql_with(text, json!({"urn": urn, "input": input}))
        .await
}

fn message(reply: &Value) -> &str {
    reply["errors"][0]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_relationship_of_two_datasets_is_created_changed_and_deleted() {
    let app = app().await;
    let mut input = relationship("same users", DATASET, OTHER);
    input["editableProperties"] = json!({"name": "Same users", "description": "By name."});
    let reply = create(&app, input).await;
    let created = &reply["data"]["createERModelRelationship"];
    // The hash of {"Destination":OTHER,"ERModelRelationName":"same users","Source":DATASET}.
    let urn = "urn:li:erModelRelationship:60fadb30aed7053b519385d8961bae7d";
    assert_eq!(
        *created,
        json!({
            "urn": urn, "type": "ER_MODEL_RELATIONSHIP",
            "properties": {
                "name": "same users", "cardinality": "N_ONE", "createdTime": NOW_MS,
                "createdActor": {"urn": USER}, "source": {"urn": DATASET}, "destination": {"urn": OTHER},
                "relationshipFieldMappings": [
                    {"sourceField": "user_name", "destinationField": "user_name"},
                    {"sourceField": "timestamp", "destinationField": "user_name"},
                ],
            },
            "editableProperties": {"name": "Same users", "description": "By name."},
        }),
        "{reply}"
    );

    // It keeps its creation, and the order of the datasets does not make another one.
    app.clock.advance(1_000);
    let swapped = relationship("same users", OTHER, DATASET);
    let reply = update(&app, urn, swapped.clone()).await;
    assert_eq!(reply["data"]["updateERModelRelationship"], true, "{reply}");
    let stored = app.aspect(urn, "erModelRelationshipProperties").await;
    let stored = stored.unwrap();
    assert_eq!(stored["source"], OTHER);
    assert_eq!(stored["created"], json!({"time": NOW_MS, "actor": USER}));
    assert_eq!(stored["lastModified"]["time"], NOW_MS + 1_000);
    let reply = update(
        &app,
        urn,
        json!({"editableProperties": {"description": " "}}),
    )
    .await;
    assert_eq!(reply["data"]["updateERModelRelationship"], true, "{reply}");
    let texts = app
        .aspect(urn, "editableERModelRelationshipProperties")
        .await
        .unwrap();
    assert_eq!(
        (&texts["name"], &texts["description"]),
        (&Value::Null, &Value::Null)
    );

    // One that was soft-deleted is back when it is created again.
    app.ingest(urn, "status", &json!({"removed": true})).await;
    let reply = create(&app, swapped).await;
    assert_eq!(
        reply["data"]["createERModelRelationship"]["urn"], urn,
        "{reply}"
    );
    assert_eq!(
        app.aspect(urn, "status").await,
        Some(json!({"removed": false}))
    );

    let delete = format!(r#"mutation {{ deleteERModelRelationship(urn: "{urn}") }}"#);
    let reply = app.graphql(&delete).await;
    assert_eq!(reply["data"]["deleteERModelRelationship"], true, "{reply}");
    let (code, text) = app.graphql_error(&delete).await;
    assert_eq!(code, 400, "{text}");
    assert!(text.contains("does not exist"), "{text}");
}

#[tokio::test]
async fn a_relationship_needs_datasets_a_name_and_whole_pairs() {
    let app = app().await;
    let mut half = relationship("half", DATASET, OTHER);
    half["properties"]["relationshipFieldmappings"] = json!([{"sourceField": "user_name"}]);
    for (input, expected) in [
        (
            json!({"editableProperties": {"description": "d"}}),
            "properties are missing",
        ),
        (relationship(" ", DATASET, OTHER), "the name is empty"),
        (relationship("r", DATASET, MISSING), "does not exist"),
        (relationship("r", DATASET, "urn:li:tag:t"), "dataset"),
        (half, "sourceField and destinationField"),
    ] {
        let reply = create(&app, input).await;
        assert!(message(&reply).contains(expected), "{reply}");
    }
    let reply = create(&app, relationship("r", DATASET, DATASET)).await;
    let urn = reply["data"]["createERModelRelationship"]["urn"].clone();
    let urn = urn.as_str().unwrap();
    for (input, expected) in [
        (json!({}), "nothing to change"),
        (relationship("r", DATASET, OTHER), "keeps its datasets"),
    ] {
        let reply = update(&app, urn, input).await;
        assert!(message(&reply).contains(expected), "{reply}");
    }
    let none = "urn:li:erModelRelationship:none";
    let reply = update(&app, none, relationship("r", DATASET, OTHER)).await;
    assert!(message(&reply).contains("does not exist"), "{reply}");
    assert_eq!(
        app.aspect(none, "erModelRelationshipProperties").await,
        None
    );
}

async fn create_model(app: &App, columns: Value) -> Value {
    let input =
        json!({"name": "user", "displayName": "User", "platform": PLATFORM, "columns": columns});
    app.mutate("createLogicalModel", "CreateLogicalModelInput", input)
        .await
}

async fn set_columns(app: &App, columns: Value) {
    let input = json!({"urn": MODEL, "columns": columns});
    let kind = "UpdateLogicalModelSchemaInput";
    let reply = app.mutate("updateLogicalModelSchema", kind, input).await;
    assert_eq!(reply, true);
}

async fn link(app: &App, child: &str, mappings: Value) {
    let input = json!({"logicalParentUrn": MODEL, "childUrn": child, "columnMappings": mappings});
    let reply = app
        .mutate("linkPhysicalChild", "LinkPhysicalChildInput", input)
        .await;
    assert_eq!(reply, true);
}

fn column(dataset: &str, path: &str) -> String {
    format!("urn:li:schemaField:({dataset},{path})")
}

/// The logical parent of a dataset or column.
async fn parent_of(app: &App, urn: &str) -> Option<String> {
    let aspect = app.aspect(urn, "logicalParent").await?;
    let parent = aspect["parent"]["destinationUrn"].as_str();
    parent.map(str::to_owned)
}

#[tokio::test]
async fn a_logical_model_is_created_with_its_platform() {
    let app = app().await;
    let columns =
        json!([{"fieldPath": "name", "type": "STRING"}, {"fieldPath": "age", "type": "NUMBER"}]);
    assert_eq!(create_model(&app, columns.clone()).await, MODEL);
    let query = format!(
        r#"{{ dataset(urn: "{MODEL}") {{ properties {{ name }} platform {{ properties {{ logical displayName }} }}
            schemaMetadata {{ fields {{ fieldPath type nativeDataType }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["dataset"],
        json!({
            "properties": {"name": "User"},
            "platform": {"properties": {"logical": true, "displayName": "concepts"}},
            "schemaMetadata": {"fields": [
                {"fieldPath": "name", "type": "STRING", "nativeDataType": "STRING"},
                {"fieldPath": "age", "type": "NUMBER", "nativeDataType": "NUMBER"},
            ]},
        }),
        "{reply}"
    );
    let physical = json!({"name": "hive", "type": "OTHERS", "datasetNameDelimiter": "."});
    app.ingest("urn:li:dataPlatform:hive", "dataPlatformInfo", &physical)
        .await;
    let new = |name: &str, platform: &str, columns: Value| json!({"name": name, "platform": platform, "columns": columns});
    let twice = json!([{"fieldPath": "a", "type": "STRING"}, {"fieldPath": "a", "type": "DATE"}]);
    for (input, expected) in [
        (new("user", PLATFORM, columns.clone()), "already exists"),
        (new("", PLATFORM, columns.clone()), "the name is empty"),
        (new("x", PLATFORM, json!([])), "at least one column"),
        (new("x", PLATFORM, twice), "Duplicate column"),
        (
            new("x", "urn:li:dataPlatform:hive", columns.clone()),
            "not a logical platform",
        ),
        (
            new("x", "urn:li:dataPlatform:a-very-long-name", columns.clone()),
            "at most 15",
        ),
        (new("x", USER, columns.clone()), "dataPlatform"),
    ] {
        let kind = "CreateLogicalModelInput";
        let (_, text) = app.mutate_error("createLogicalModel", kind, input).await;
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The columns of others are ingested.
    for (urn, expected) in [
        (DATASET, "not a logical platform"),
        (MISSING, "does not exist"),
    ] {
        let input = json!({"urn": urn, "columns": columns});
        let kind = "UpdateLogicalModelSchemaInput";
        let (_, text) = app
            .mutate_error("updateLogicalModelSchema", kind, input)
            .await;
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test]
async fn changed_columns_lose_their_links_and_the_others_keep_them() {
    let app = app().await;
    let columns =
        json!([{"fieldPath": "name", "type": "STRING"}, {"fieldPath": "at", "type": "TIME"}]);
    create_model(&app, columns).await;
    let name = json!({"parentFieldPath": "name", "childFieldPath": "user_name"});
    let at = json!({"parentFieldPath": "at", "childFieldPath": "timestamp"});
    link(&app, DATASET, json!([name, at])).await;
    link(&app, OTHER, json!([at])).await;
    let [user_name, timestamp] = ["user_name", "timestamp"].map(|path| column(DATASET, path));
    let logical_at = Some(column(MODEL, "at"));
    assert_eq!(parent_of(&app, DATASET).await.as_deref(), Some(MODEL));
    assert_eq!(
        parent_of(&app, &user_name).await,
        Some(column(MODEL, "name"))
    );
    assert_eq!(parent_of(&app, &timestamp).await, logical_at);

    // More columns in another order change nothing.
    let more = json!([{"fieldPath": "at", "type": "TIME"}, {"fieldPath": "name", "type": "STRING"},
        {"fieldPath": "age", "type": "NUMBER"}]);
    set_columns(&app, more).await;
    assert_eq!(parent_of(&app, &timestamp).await, logical_at);
    // Another type does.
    let changed =
        json!([{"fieldPath": "at", "type": "DATE"}, {"fieldPath": "name", "type": "STRING"}]);
    set_columns(&app, changed).await;
    assert_eq!(parent_of(&app, &timestamp).await, None);
    assert_eq!(parent_of(&app, &column(OTHER, "timestamp")).await, None);
    assert_eq!(
        parent_of(&app, &user_name).await,
        Some(column(MODEL, "name"))
    );
    assert_eq!(parent_of(&app, DATASET).await.as_deref(), Some(MODEL));
    assert_eq!(parent_of(&app, OTHER).await, None, "no column is left");

    let input = json!({"childUrn": DATASET});
    let kind = "UnlinkPhysicalChildInput";
    let reply = app.mutate("unlinkPhysicalChild", kind, input).await;
    assert_eq!(reply, true);
    assert_eq!(parent_of(&app, DATASET).await, None);
    assert_eq!(parent_of(&app, &user_name).await, None);
}

#[tokio::test]
async fn a_link_needs_two_datasets_with_the_columns() {
    let app = app().await;
    create_model(&app, json!([{"fieldPath": "name", "type": "STRING"}])).await;
    let pair =
        |parent: &str, child: &str| json!({"parentFieldPath": parent, "childFieldPath": child});
    let input = |parent: &str, child: &str, mappings: Value| json!({"logicalParentUrn": parent, "childUrn": child, "columnMappings": mappings});
    for (input, expected) in [
        (input(MODEL, MISSING, json!([])), "does not exist"),
        (input(MISSING, DATASET, json!([])), "does not exist"),
        (input(DATASET, DATASET, json!([])), "its own logical parent"),
        (input(PLATFORM, DATASET, json!([])), "dataset"),
        (
            input(MODEL, DATASET, json!([pair("none", "user_name")])),
            "none",
        ),
        (input(MODEL, DATASET, json!([pair("name", "none")])), "none"),
        (
            input(
                MODEL,
                DATASET,
                json!([pair("name", "user_name"), pair("name", "timestamp")]),
            ),
            "mapped twice",
        ),
    ] {
        let kind = "LinkPhysicalChildInput";
        let (_, text) = app.mutate_error("linkPhysicalChild", kind, input).await;
        assert!(text.contains(expected), "{expected}: {text}");
        assert_eq!(parent_of(&app, DATASET).await, None);
    }
    let kind = "SetLogicalParentInput";
    let set = |resource: &str, parent: Value| json!({"resourceUrn": resource, "parentUrn": parent});
    let user_name = column(DATASET, "user_name");
    let name = column(MODEL, "name");
    for input in [set(DATASET, json!(MODEL)), set(&user_name, json!(name))] {
        assert_eq!(app.mutate("setLogicalParent", kind, input).await, true);
    }
    assert_eq!(parent_of(&app, &user_name).await, Some(name));
    let text = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ logicalParent {{ urn }} }}
            model: dataset(urn: "{MODEL}") {{ relationships(input: {{ types: ["PhysicalInstanceOf"], direction: INCOMING,
                start: 0, count: 10 }}) {{ total }} }} }}"#
    );
    let reply = app.graphql(&text).await;
    assert_eq!(reply["data"]["dataset"]["logicalParent"]["urn"], MODEL);
    assert_eq!(reply["data"]["model"]["relationships"]["total"], 1);
    for (input, expected) in [
        (set(DATASET, json!(column(MODEL, "name"))), "schemaField"),
        (set(&column(DATASET, "none"), Value::Null), "none"),
        (set(USER, Value::Null), "dataset"),
    ] {
        let (_, text) = app.mutate_error("setLogicalParent", kind, input).await;
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let unset = set(DATASET, Value::Null);
    assert_eq!(app.mutate("setLogicalParent", kind, unset).await, true);
    assert_eq!(parent_of(&app, DATASET).await, None);
}
