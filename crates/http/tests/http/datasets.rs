//! `updateDataset` and `updateDatasets`, and descriptions of columns.

use std::time::{Duration, Instant};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};
use serde_json::{Value, json};

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:dbt,fct_users_deleted,PROD)";
const UPDATE: &str = "mutation ($urn: String!, $input: DatasetUpdateInput!) { updateDataset(urn: $urn, input: $input) { urn } }";
const UPDATE_ALL: &str =
    "mutation ($input: [BatchDatasetUpdateInput!]!) { updateDatasets(input: $input) { urn } }";

async fn update(app: &App, input: Value) {
    let reply = app
        .graphql_with(UPDATE, json!({"urn": DATASET, "input": input}))
        .await;
    assert_eq!(reply["data"]["updateDataset"]["urn"], DATASET, "{reply}");
}

async fn describe_column(app: &App, dataset: &str, column: &str) -> Value {
    let input = json!({
        "resourceUrn": dataset, "subResource": column, "subResourceType": "DATASET_FIELD",
        "description": "said by a person",
    });
    app.graphql_with(
        "mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }",
        json!({"input": input}),
    )
    .await
}

/// Makes `OTHER` a sibling of `of`.
async fn add_sibling(app: &App, of: &str) {
    app.add_dataset(OTHER).await;
    app.ingest(
        of,
        "siblings",
        &json!({"siblings": [OTHER], "primary": true}),
    )
    .await;
}

#[tokio::test]
async fn a_column_that_only_a_sibling_has_is_described_there() {
    let app = App::empty().await;
    add_sibling(&app, DATASET).await;
    let reply = describe_column(&app, DATASET, "user_name").await;
    assert_eq!(reply["data"]["updateDescription"], true, "{reply}");
    let columns = app.aspect(OTHER, "editableSchemaMetadata").await.unwrap();
    assert_eq!(
        columns["editableSchemaFieldInfo"],
        json!([{"fieldPath": "user_name", "description": "said by a person"}])
    );
    assert_eq!(app.aspect(DATASET, "editableSchemaMetadata").await, None);

    let reply = describe_column(&app, DATASET, "nowhere").await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400);
    assert_eq!(
        reply["errors"][0]["message"],
        format!("Failed to update {DATASET} & field nowhere. {DATASET} has no schema."),
        "the dataset that was asked for is named"
    );
}

#[tokio::test]
async fn a_column_that_the_dataset_has_is_described_there_and_not_at_a_sibling() {
    let app = App::with_dataset().await;
    add_sibling(&app, DATASET).await;
    let reply = describe_column(&app, DATASET, "user_name").await;
    assert_eq!(reply["data"]["updateDescription"], true, "{reply}");
    assert!(
        app.aspect(DATASET, "editableSchemaMetadata")
            .await
            .is_some()
    );
    assert_eq!(app.aspect(OTHER, "editableSchemaMetadata").await, None);
}

#[tokio::test]
async fn a_missing_dataset_is_not_described_through_its_siblings() {
    let app = App::empty().await;
    app.add_dataset(OTHER).await;
    app.ingest(
        OTHER,
        "siblings",
        &json!({"siblings": [MISSING], "primary": true}),
    )
    .await;
    let reply = describe_column(&app, MISSING, "user_name").await;
    assert_eq!(
        reply["errors"][0]["message"],
        format!("Failed to update {MISSING}. {MISSING} does not exist.")
    );
    assert_eq!(app.aspect(OTHER, "editableSchemaMetadata").await, None);
}

#[tokio::test]
async fn thousands_of_columns_and_links_are_updated_in_one_request() {
    let app = App::with_dataset().await;
    let names: Vec<String> = (0..4000).map(|number| format!("column_{number}")).collect();
    let mut schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    let template = schema["fields"][0].clone();
    let columns = names.iter().map(|name| {
        let mut column = template.clone();
        column["fieldPath"] = json!(name);
        column
    });
    schema["fields"] = columns.collect();
    app.ingest(DATASET, "schemaMetadata", &schema).await;
    let described: Vec<Value> = names
        .iter()
        .map(|name| json!({"fieldPath": name, "description": format!("about {name}")}))
        .collect();
    let links: Vec<Value> = names
        .iter()
        .map(|name| json!({"url": format!("https://example.org/{name}"), "author": USER}))
        .collect();
    let begun = Instant::now();
    for _ in 0..2 {
        update(
            &app,
            json!({
                "editableSchemaMetadata": {"editableSchemaFieldInfo": described},
                "institutionalMemory": {"elements": links},
            }),
        )
        .await;
    }
    // A quadratic implementation took more than twenty seconds.
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    let stored = app.aspect(DATASET, "editableSchemaMetadata").await.unwrap();
    let stored = stored["editableSchemaFieldInfo"].as_array().unwrap();
    assert_eq!(stored.len(), 4000);
    assert_eq!(stored[3999]["description"], "about column_3999");
    let stored = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    assert_eq!(stored["elements"].as_array().unwrap().len(), 4000);
}

#[tokio::test]
async fn updates_of_several_datasets_are_atomic() {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let described = |urn: &str, text: &str| json!({"urn": urn, "update": {"editableProperties": {"description": text}}});
    let stored = async |urn: &str| {
        let properties = app.aspect(urn, "editableDatasetProperties").await;
        properties.map(|properties| properties["description"].clone())
    };
    let input = json!([
        described(DATASET, "one"),
        described(OTHER, "two"),
        described(MISSING, "three")
    ]);
    let reply = app.graphql_with(UPDATE_ALL, json!({"input": input})).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    assert_eq!(
        reply["errors"][0]["message"],
        format!("Failed to update {MISSING}. {MISSING} does not exist.")
    );
    assert_eq!(stored(DATASET).await, None);
    assert_eq!(stored(OTHER).await, None);

    let input = json!([described(DATASET, "one"), described(OTHER, "two")]);
    let reply = app.graphql_with(UPDATE_ALL, json!({"input": input})).await;
    assert_eq!(
        reply["data"]["updateDatasets"],
        json!([{"urn": DATASET}, {"urn": OTHER}]),
        "{reply}"
    );
    assert_eq!(stored(DATASET).await, Some(json!("one")));
    assert_eq!(stored(OTHER).await, Some(json!("two")));
}

#[tokio::test]
async fn an_update_of_a_missing_dataset_without_any_part_fails_too() {
    let app = App::with_dataset().await;
    update(&app, json!({})).await;
    let reply = app
        .graphql_with(UPDATE, json!({"urn": MISSING, "input": {}}))
        .await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

#[tokio::test]
async fn column_updates_keep_unspecified_values() {
    let app = App::with_dataset().await;
    let columns =
        |columns: Value| json!({"editableSchemaMetadata": {"editableSchemaFieldInfo": columns}});
    let tags = json!({"tags": [{"tag": {"urn": "urn:li:tag:Pii", "name": "Pii"}}]});
    update(
        &app,
        columns(json!([
            {"fieldPath": "user_name", "description": "who", "globalTags": tags},
            {"fieldPath": "timestamp", "description": "when"},
        ])),
    )
    .await;
    app.clock.advance(1000);
    update(
        &app,
        columns(json!([
            {"fieldPath": "timestamp", "globalTags": tags},
            {"fieldPath": "timestamp", "description": "when exactly"},
        ])),
    )
    .await;
    let stored = app.aspect(DATASET, "editableSchemaMetadata").await.unwrap();
    let tags = json!({"tags": [{"tag": "urn:li:tag:Pii"}]});
    assert_eq!(
        stored["editableSchemaFieldInfo"],
        json!([
            {"fieldPath": "user_name", "description": "who", "globalTags": tags},
            {"fieldPath": "timestamp", "description": "when exactly", "globalTags": tags},
        ])
    );
    assert_eq!(stored["created"], json!({"time": NOW_MS, "actor": USER}));
    assert_eq!(stored["lastModified"]["time"], NOW_MS + 1000);

    let input = columns(json!([
        {"fieldPath": "user_name", "description": "changed"},
        {"fieldPath": "first_missing"},
        {"fieldPath": "second_missing"},
    ]));
    let reply = app
        .graphql_with(UPDATE, json!({"urn": DATASET, "input": input}))
        .await;
    assert_eq!(
        reply["errors"][0]["message"],
        format!(
            "Failed to update {DATASET} & field first_missing. \
             Field first_missing does not exist in the datasets schema."
        )
    );
    assert_eq!(
        app.aspect(DATASET, "editableSchemaMetadata").await,
        Some(stored)
    );
}

#[tokio::test]
async fn owners_deprecation_and_tags_are_replaced() {
    let app = App::with_dataset().await;
    let tag = |name: &str| json!({"tags": [{"tag": {"urn": format!("urn:li:tag:{name}"), "name": name}}]});
    update(
        &app,
        json!({
            "ownership": {"owners": [
                {"owner": USER, "type": "TECHNICAL_OWNER"},
                {"owner": "urn:li:corpGroup:bi", "ownershipTypeUrn": "urn:li:ownershipType:steward"},
            ]},
            "deprecation": {"deprecated": true, "note": "use the other", "decommissionTime": 5},
            "tags": tag("Old"),
        }),
    )
    .await;
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{
            ownership {{ owners {{ owner {{ ... on CorpUser {{ urn }} ... on CorpGroup {{ urn }} }} type }} }}
            deprecation {{ deprecated note decommissionTime actor }}
            tags {{ tags {{ tag {{ urn }} }} }}
        }} }}"#
    );
    let shown = app.graphql(&read).await["data"]["dataset"].clone();
    assert_eq!(
        shown,
        json!({
            "ownership": {"owners": [
                {"owner": {"urn": USER}, "type": "TECHNICAL_OWNER"},
                {"owner": {"urn": "urn:li:corpGroup:bi"}, "type": "CUSTOM"},
            ]},
            "deprecation": {"deprecated": true, "note": "use the other", "decommissionTime": 5, "actor": USER},
            "tags": {"tags": [{"tag": {"urn": "urn:li:tag:Old"}}]},
        })
    );
    update(
        &app,
        json!({
            "ownership": {"owners": []},
            "deprecation": {"deprecated": false, "note": ""},
            "globalTags": tag("New"),
        }),
    )
    .await;
    let shown = app.graphql(&read).await["data"]["dataset"].clone();
    assert_eq!(shown["ownership"]["owners"], json!([]));
    assert_eq!(shown["deprecation"]["deprecated"], false);
    assert_eq!(shown["deprecation"]["decommissionTime"], Value::Null);
    assert_eq!(
        shown["tags"]["tags"],
        json!([{"tag": {"urn": "urn:li:tag:New"}}])
    );

    for wrong in [
        json!({"ownership": {"owners": [{"owner": DATASET, "type": "TECHNICAL_OWNER"}]}}),
        json!({"tags": {"tags": [{"tag": {"urn": USER, "name": "x"}}]}}),
    ] {
        let variables = json!({"urn": DATASET, "input": wrong});
        let reply = app.graphql_with(UPDATE, variables).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    }
}

#[tokio::test]
async fn restate_writes_like_an_upsert() {
    let app = App::with_dataset().await;
    let value = json!({"description": "restated", "customProperties": {}});
    let (status, body) = app
        .propose("RESTATE", DATASET, "datasetProperties", &value)
        .await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(
        app.aspect(DATASET, "datasetProperties").await.unwrap()["description"],
        "restated"
    );
}

#[tokio::test]
async fn repeating_an_edit_creates_no_version_and_keeps_the_audit_stamp() {
    let app = App::with_dataset().await;
    let described = json!({"resourceUrn": DATASET, "description": "said by a person"});
    let named = json!({"urn": DATASET, "name": "Deleted users"});
    let parts = json!({
        "editableProperties": {"description": "said by a person", "name": "Deleted users"},
        "editableSchemaMetadata": {"editableSchemaFieldInfo": [
            {"fieldPath": "user_name", "description": "said by a person"},
        ]},
        "ownership": {"owners": [{"owner": USER, "type": "DATAOWNER"}]},
    });
    update(&app, parts.clone()).await;
    let aspects = [
        "editableDatasetProperties",
        "editableSchemaMetadata",
        "ownership",
    ];
    let mut before = Vec::new();
    for aspect in aspects {
        before.push(app.aspect(DATASET, aspect).await);
    }
    app.clock.advance(5);
    update(&app, parts).await;
    app.mutate("updateDescription", "DescriptionUpdateInput", described)
        .await;
    app.mutate("updateName", "UpdateNameInput", named).await;
    describe_column(&app, DATASET, "user_name").await;
    for (aspect, before) in aspects.into_iter().zip(before) {
        assert_eq!(app.aspect(DATASET, aspect).await, before, "{aspect}");
        assert_eq!(
            app.aspect_version(DATASET, aspect, 2).await,
            None,
            "{aspect}"
        );
    }
    let other = json!({"resourceUrn": DATASET, "description": "said by another"});
    app.mutate("updateDescription", "DescriptionUpdateInput", other)
        .await;
    let properties = app
        .aspect_version(DATASET, "editableDatasetProperties", 2)
        .await
        .unwrap();
    assert_eq!(properties["lastModified"]["time"], NOW_MS + 5);
    assert_eq!(properties["created"]["time"], NOW_MS);
}
