//! Relationships of ER models, and logical models.

use docent_catalog::{Caller, Proposal};
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, proposal, role, token_of};

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

    // Without mappings, they stay, and so does the cardinality.
    let mut renamed = relationship("renamed", OTHER, DATASET);
    let properties = renamed["properties"].as_object_mut().unwrap();
    properties.remove("relationshipFieldmappings");
    let reply = update(&app, urn, renamed).await;
    assert_eq!(reply["data"]["updateERModelRelationship"], true, "{reply}");
    let after = app.aspect(urn, "erModelRelationshipProperties").await;
    let after = after.unwrap();
    assert_eq!(after["name"], "renamed");
    for member in ["relationshipFieldMappings", "cardinality"] {
        assert_eq!(after[member], stored[member]);
        assert_ne!(after[member], Value::Null);
    }

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
    let of_columns = |source: &str, destination: &str, columns: [&str; 2]| {
        let mut input = relationship("columns", source, destination);
        let [from, to] = columns;
        input["properties"]["relationshipFieldmappings"] =
            json!([{"sourceField": from, "destinationField": to}]);
        input
    };
    for columns in [["user_name", "none"], ["none", "user_name"]] {
        let reply = create(&app, of_columns(DATASET, OTHER, columns)).await;
        assert!(
            message(&reply).contains("Field none does not exist"),
            "{reply}"
        );
    }
    // A schema may be stored later.
    let bare = "urn:li:dataset:(urn:li:dataPlatform:hive,bare,PROD)";
    app.ingest(bare, "status", &json!({"removed": false})).await;
    let reply = create(&app, of_columns(DATASET, bare, ["user_name", "later"])).await;
    let created = reply["data"]["createERModelRelationship"]["urn"].clone();
    let created = created.as_str().unwrap_or_else(|| panic!("{reply}"));
    let reply = update(&app, created, of_columns(DATASET, bare, ["none", "later"])).await;
    assert!(
        message(&reply).contains("Field none does not exist"),
        "{reply}"
    );
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
    let physical = json!({"name": "mysql", "type": "OTHERS", "datasetNameDelimiter": "."});
    app.ingest("urn:li:dataPlatform:mysql", "dataPlatformInfo", &physical)
        .await;
    let key = json!({"platformName": "bare"});
    app.ingest("urn:li:dataPlatform:bare", "dataPlatformKey", &key)
        .await;
    let new = |name: &str, platform: &str, columns: Value| json!({"name": name, "platform": platform, "columns": columns});
    let twice = json!([{"fieldPath": "a", "type": "STRING"}, {"fieldPath": "a", "type": "DATE"}]);
    for (input, expected) in [
        (new("user", PLATFORM, columns.clone()), "already exists"),
        (new("", PLATFORM, columns.clone()), "the name is empty"),
        (new("x", PLATFORM, json!([])), "at least one column"),
        (new("x", PLATFORM, twice), "Duplicate column"),
        (
            new("x", "urn:li:dataPlatform:mysql", columns.clone()),
            "not a logical platform",
        ),
        // It has datasets, but is not stored.
        (
            new("x", "urn:li:dataPlatform:hive", columns.clone()),
            "not a logical platform",
        ),
        (
            new("x", "urn:li:dataPlatform:bare", columns.clone()),
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
    let unmapped = "urn:li:dataset:(urn:li:dataPlatform:hive,unmapped,PROD)";
    app.add_dataset(unmapped).await;
    link(&app, unmapped, json!([])).await;
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
    let kept = parent_of(&app, unmapped).await;
    assert_eq!(kept.as_deref(), Some(MODEL), "it has lost nothing");

    let input = json!({"childUrn": DATASET});
    let kind = "UnlinkPhysicalChildInput";
    let reply = app.mutate("unlinkPhysicalChild", kind, input).await;
    assert_eq!(reply, true);
    assert_eq!(parent_of(&app, DATASET).await, None);
    assert_eq!(parent_of(&app, &user_name).await, None);
}

#[tokio::test]
async fn the_logical_platform_of_datahub_needs_no_information() {
    let app = app().await;
    let model = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)";
    let stamp = json!({"time": 1, "actor": USER});
    let parent =
        json!({"parent": {"destinationUrn": model, "created": stamp, "lastModified": stamp}});
    app.ingest(DATASET, "logicalParent", &parent).await;
    assert_eq!(parent_of(&app, DATASET).await.as_deref(), Some(model));
}

#[tokio::test]
async fn a_link_needs_two_datasets_with_the_columns() {
    let app = app().await;
    // Ingested ones too.
    let to = |parent: &str| json!({"parent": {"destinationUrn": parent, "created": {"time": 1, "actor": USER}, "lastModified": {"time": 1, "actor": USER}}});
    for (child, parent) in [
        (DATASET, OTHER.to_owned()),
        (&column(DATASET, "user_name"), column(OTHER, "user_name")),
    ] {
        let parent = to(&parent);
        let sent = app.propose("UPSERT", child, "logicalParent", &parent);
        let (status, reply) = sent.await;
        assert!(status.is_client_error(), "{reply}");
        assert!(
            reply.to_string().contains("not a logical platform"),
            "{reply}"
        );
    }
    create_model(&app, json!([{"fieldPath": "name", "type": "STRING"}])).await;
    let pair =
        |parent: &str, child: &str| json!({"parentFieldPath": parent, "childFieldPath": child});
    let input = |parent: &str, child: &str, mappings: Value| json!({"logicalParentUrn": parent, "childUrn": child, "columnMappings": mappings});
    for (input, expected) in [
        (input(MODEL, MISSING, json!([])), "does not exist"),
        (input(MISSING, DATASET, json!([])), "does not exist"),
        (input(DATASET, DATASET, json!([])), "its own logical parent"),
        (input(OTHER, DATASET, json!([])), "not a logical platform"),
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

/// The token of a user who may only read.
async fn reader(app: &App, user: &str) -> String {
    let token = token_of(&app.catalog, user, None).await;
    app.ingest(user, "corpUserInfo", &json!({"active": true}))
        .await;
    let users = [Urn::parse(user).unwrap()];
    let (system, role) = (Caller::system(), role("Reader"));
    let assigned = app.catalog.assign_role(&system, &users, Some(&role));
    assigned.await.unwrap();
    token
}

/// Grants a user a privilege, on one dataset if it is given.
async fn allow(app: &App, user: &str, kind: &str, privilege: &str, on: Option<&str>) {
    let mut policy = json!({
        "displayName": user, "description": "", "type": kind, "state": "ACTIVE",
        "privileges": [privilege], "actors": {"users": [user]},
    });
    if let Some(urn) = on {
        policy["resources"] = json!({"filter": {"criteria": [
            {"field": "URN", "values": [urn], "condition": "EQUALS"},
        ]}});
    }
    let id = user.rsplit(':').next().unwrap_or_default();
    let on = on.map_or(0, str::len);
    let urn = format!("urn:li:dataHubPolicy:{id}-{privilege}-{on}");
    app.write_policy(&urn, &policy).await;
}

#[tokio::test]
async fn changing_columns_needs_the_right_on_the_model() {
    let app = app().await;
    create_model(&app, json!([{"fieldPath": "name", "type": "STRING"}])).await;
    let user = "urn:li:corpuser:lea";
    let token = reader(&app, user).await;
    allow(&app, user, "PLATFORM", "CREATE_LOGICAL_MODELS", None).await;
    let text = format!(
        r#"mutation {{ updateLogicalModelSchema(input: {{ urn: "{MODEL}", columns: [{{ fieldPath: "age", type: NUMBER }}] }}) }}"#
    );
    let reply = app.graphql_as(&token, &text).await;
    assert!(message(&reply).contains("EDIT_ENTITY"), "{reply}");
    allow(&app, user, "METADATA", "EDIT_ENTITY", Some(MODEL)).await;
    let reply = app.graphql_as(&token, &text).await;
    assert_eq!(reply["data"]["updateLogicalModelSchema"], true, "{reply}");
}

#[tokio::test]
async fn a_link_needs_the_right_on_both_sides_over_every_api() {
    let app = app().await;
    create_model(&app, json!([{"fieldPath": "name", "type": "STRING"}])).await;
    let user = "urn:li:corpuser:lea";
    let token = reader(&app, user).await;
    allow(&app, user, "METADATA", "EDIT_ENTITY", Some(DATASET)).await;
    let stamp = json!({"time": 1, "actor": USER});
    let aspect =
        json!({"parent": {"destinationUrn": MODEL, "created": stamp, "lastModified": stamp}});
    let ingested = json!({ "proposal": proposal("UPSERT", DATASET, "logicalParent", &aspect) });
    let path = "/aspects?action=ingestProposal";
    let set = format!(
        r#"mutation {{ setLogicalParent(input: {{ resourceUrn: "{DATASET}", parentUrn: "{MODEL}" }}) }}"#
    );
    let link = format!(
        r#"mutation {{ linkPhysicalChild(input: {{ logicalParentUrn: "{MODEL}", childUrn: "{DATASET}",
            columnMappings: [{{ parentFieldPath: "name", childFieldPath: "user_name" }}] }}) }}"#
    );
    for text in [&set, &link] {
        let reply = app.graphql_as(&token, text).await;
        assert!(message(&reply).contains(MODEL), "{reply}");
    }
    let (status, reply) = app.send_as(&token, "POST", path, &ingested).await;
    assert_eq!(status, 403, "{reply}");
    assert_eq!(parent_of(&app, DATASET).await, None);

    allow(&app, user, "METADATA", "EDIT_ENTITY", Some(MODEL)).await;
    let (status, reply) = app.send_as(&token, "POST", path, &ingested).await;
    assert_eq!(status, 200, "{reply}");
    assert_eq!(parent_of(&app, DATASET).await.as_deref(), Some(MODEL));
    let unset =
        format!(r#"mutation {{ setLogicalParent(input: {{ resourceUrn: "{DATASET}" }}) }}"#);
    for (text, expected) in [(&unset, None), (&set, Some(MODEL))] {
        app.graphql_as(&token, text).await;
        assert_eq!(parent_of(&app, DATASET).await.as_deref(), expected);
    }
}

#[tokio::test]
async fn logical_parents_form_no_cycle_over_any_api() {
    let app = app().await;
    let columns = json!([{"fieldPath": "name", "type": "STRING"}]);
    create_model(&app, columns.clone()).await;
    let input = json!({"name": "person", "platform": PLATFORM, "columns": columns});
    let kind = "CreateLogicalModelInput";
    let person = app.mutate("createLogicalModel", kind, input).await;
    let person = person.as_str().unwrap();
    let kind = "SetLogicalParentInput";
    let (person_name, model_name) = (column(person, "name"), column(MODEL, "name"));
    for (child, parent) in [(MODEL, person), (&model_name, &person_name)] {
        let set = json!({"resourceUrn": child, "parentUrn": parent});
        assert_eq!(app.mutate("setLogicalParent", kind, set).await, true);
        let back = json!({"resourceUrn": parent, "parentUrn": child});
        let (code, text) = app.mutate_error("setLogicalParent", kind, back).await;
        assert_eq!(code, 400, "{text}");
        assert!(text.contains("cannot be the logical parent"), "{text}");
        let stamp = json!({"time": 1, "actor": USER});
        for to in [parent, child] {
            let aspect =
                json!({"parent": {"destinationUrn": to, "created": stamp, "lastModified": stamp}});
            let proposed = app.propose("UPSERT", parent, "logicalParent", &aspect);
            let (code, reply) = proposed.await;
            assert_eq!(code, 400, "{to}: {reply}");
        }
        // Rights are not decided for the server itself, nor without authentication.
        let aspect =
            json!({"parent": {"destinationUrn": child, "created": stamp, "lastModified": stamp}});
        let urn = Urn::parse(parent).unwrap();
        let proposal = Proposal::upsert(urn, AspectName::LOGICAL_PARENT, aspect.to_string());
        let written = app.catalog.ingest(&Caller::system(), vec![proposal]).await;
        assert!(written.is_err(), "{parent}");
        assert_eq!(parent_of(&app, parent).await, None);
        assert_eq!(parent_of(&app, child).await.as_deref(), Some(parent));
    }
}
