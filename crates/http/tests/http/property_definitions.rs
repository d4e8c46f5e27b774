//! Definitions of structured properties.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, USER, error_of};

const RETENTION: &str = "urn:li:structuredProperty:io.retention";
const DATASETS: &str = "urn:li:entityType:datahub.dataset";
const FIELDS: &str = "urn definition { qualifiedName displayName cardinality immutable
    allowedValues { value { ... on NumberValue { numberValue } ... on StringValue { stringValue } } description }
    entityTypes { urn } typeQualifier { allowedTypes { urn } } allowedPlatforms { urn } lastModified { time } }
    settings { isHidden showInAssetSummary hideInAssetSummaryWhenEmpty showAsAssetBadge }";

async fn create(app: &App, input: Value) -> Value {
    let text = format!(
        "mutation ($input: CreateStructuredPropertyInput!) {{ createStructuredProperty(input: $input) {{ {FIELDS} }} }}"
    );
    app.graphql_with(&text, json!({"input": input})).await
}

async fn update(app: &App, input: Value) -> Value {
    let text = format!(
        "mutation ($input: UpdateStructuredPropertyInput!) {{ updateStructuredProperty(input: $input) {{ {FIELDS} }} }}"
    );
    app.graphql_with(&text, json!({"input": input})).await
}

fn retention() -> Value {
    json!({
        "id": "io.retention", "displayName": "Retention", "valueType": "urn:li:dataType:datahub.number",
        "allowedValues": [{"numberValue": 30, "description": "a month"}, {"numberValue": 90}],
        "entityTypes": [DATASETS],
    })
}

async fn set(app: &App, property: &str, values: Value) -> Value {
    let text = "mutation ($input: UpsertStructuredPropertiesInput!) { upsertStructuredProperties(input: $input) {
        properties { structuredProperty { urn } } } }";
    let params = json!([{"structuredPropertyUrn": property, "values": values}]);
    let input = json!({"assetUrn": DATASET, "structuredPropertyInputParams": params});
    app.graphql_with(text, json!({"input": input})).await
}

#[tokio::test]
async fn a_property_is_created_and_only_widened() {
    let app = App::with_dataset().await;
    let reply = create(&app, retention()).await;
    let created = &reply["data"]["createStructuredProperty"];
    assert_eq!(
        created,
        &json!({
            "urn": RETENTION,
            "definition": {
                "qualifiedName": "io.retention", "displayName": "Retention", "cardinality": "SINGLE", "immutable": false,
                "allowedValues": [
                    {"value": {"numberValue": 30.0}, "description": "a month"},
                    {"value": {"numberValue": 90.0}, "description": null},
                ],
                "entityTypes": [{"urn": DATASETS}], "typeQualifier": null, "allowedPlatforms": null,
                "lastModified": {"time": NOW_MS},
            },
            "settings": null,
        }),
        "{reply}"
    );
    let (code, message) = error_of(&create(&app, retention()).await);
    assert_eq!(code, 409, "{message}");
    app.clock.advance(5);
    let wider = json!({
        "urn": RETENTION, "description": "How long", "setCardinalityAsMultiple": true, "newAllowedValues": [{"numberValue": 365}],
        "newEntityTypes": ["urn:li:entityType:datahub.container", DATASETS],
        "newAllowedPlatforms": ["urn:li:dataPlatform:hive"], "settings": {"showInAssetSummary": true},
    });
    let reply = update(&app, wider).await;
    let changed = &reply["data"]["updateStructuredProperty"];
    let definition = &changed["definition"];
    assert_eq!(definition["cardinality"], "MULTIPLE", "{reply}");
    let allowed = definition["allowedValues"].as_array().unwrap();
    assert_eq!(allowed.len(), 3, "{reply}");
    assert_eq!(
        definition["entityTypes"],
        json!([{"urn": DATASETS}, {"urn": "urn:li:entityType:datahub.container"}])
    );
    assert_eq!(
        definition["allowedPlatforms"],
        json!([{"urn": "urn:li:dataPlatform:hive"}])
    );
    assert_eq!(definition["lastModified"], json!({"time": NOW_MS + 5}));
    assert_eq!(changed["settings"]["showInAssetSummary"], true);
    let stored = app.aspect(RETENTION, "propertyDefinition").await.unwrap();
    assert_eq!(stored["created"], json!({"time": NOW_MS, "actor": USER}));
    assert_eq!(stored["displayName"], "Retention");
    // Nothing to change is no error, a missing property is one.
    let reply = update(&app, json!({ "urn": RETENTION })).await;
    assert_eq!(reply["data"]["updateStructuredProperty"]["urn"], RETENTION);
    let missing = json!({"urn": "urn:li:structuredProperty:none", "displayName": "x"});
    let (code, message) = error_of(&update(&app, missing).await);
    assert!(code == 400 || code == 404, "{code} {message}");
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn a_definition_is_never_narrowed_on_any_api() {
    let app = App::with_dataset().await;
    let mut many = retention();
    many["cardinality"] = json!("MULTIPLE");
    create(&app, many).await;
    let aspect = "propertyDefinition";
    let stored = app.aspect(RETENTION, aspect).await.unwrap();
    let with = |member: &str, value: Value| {
        let mut changed = stored.clone();
        changed[member] = value;
        changed
    };
    for (changed, expected) in [
        (
            with("cardinality", json!("SINGLE")),
            "from MULTIPLE to SINGLE",
        ),
        (
            with("valueType", json!("urn:li:dataType:datahub.string")),
            "value type cannot be changed",
        ),
        (
            with("allowedValues", json!([{"value": {"double": 30}}])),
            "only added",
        ),
        (with("qualifiedName", json!("other")), "qualified name"),
        (with("qualifiedName", json!("io .retention")), "spaces"),
        (with("version", json!("1.0")), "14 digits"),
        (
            with(
                "typeQualifier",
                json!({"allowedTypes": ["urn:li:corpuser:a"]}),
            ),
            "is no entity type",
        ),
        (
            with(
                "entityTypes",
                json!([
                    "urn:li:entityType:datahub.dataset",
                    "urn:li:entityType:nothing"
                ]),
            ),
            "urn:li:entityType:nothing does not exist",
        ),
    ] {
        let (status, body) = app.propose("UPSERT", RETENTION, aspect, &changed).await;
        assert!(status.is_client_error(), "{body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(app.aspect(RETENTION, aspect).await.unwrap(), stored);
    // A later version may take values away, but not the name.
    let mut narrow = with("allowedValues", json!([{"value": {"double": 30}}]));
    narrow["version"] = json!("20260101000000");
    narrow["cardinality"] = json!("SINGLE");
    app.ingest(RETENTION, aspect, &narrow).await;
    let (status, _) = app.propose("UPSERT", RETENTION, aspect, &stored).await;
    assert!(status.is_success(), "more values are no narrower");
    // Any value was allowed.
    let mut open = retention();
    open["id"] = json!("open");
    open["allowedValues"] = Value::Null;
    create(&app, open).await;
    let some =
        json!({"urn": "urn:li:structuredProperty:open", "newAllowedValues": [{"numberValue": 1}]});
    let (code, message) = error_of(&update(&app, some).await);
    assert_eq!(code, 400, "{message}");
}

#[tokio::test]
async fn ingested_definitions_name_types_that_exist() {
    let app = App::with_dataset().await;
    let aspect = "propertyDefinition";
    let with = |value_type: &str| {
        json!({
            "qualifiedName": "io.retention", "valueType": value_type, "cardinality": "SINGLE",
            "entityTypes": ["urn:li:entityType:datahub.dataset"],
        })
    };
    for value_type in [
        "urn:li:dataType:datahub.length",
        "urn:li:container:datahub.string",
    ] {
        let (status, body) = app
            .propose("UPSERT", RETENTION, aspect, &with(value_type))
            .await;
        assert_eq!(status.as_u16(), 422, "{body}");
    }
    let mine = "urn:li:dataType:datahub.length";
    let info = json!({"qualifiedName": "datahub.length"});
    app.ingest(mine, "dataTypeInfo", &info).await;
    app.ingest(RETENTION, aspect, &with(mine)).await;
    app.ingest(
        "urn:li:structuredProperty:io.notes",
        aspect,
        &with("urn:li:dataType:datahub.rich_text"),
    )
    .await;
}

#[tokio::test]
async fn invalid_definitions_are_rejected() {
    let app = App::with_dataset().await;
    let with = |member: &str, value: Value| {
        let mut input = retention();
        input[member] = value;
        input
    };
    for (input, expected) in [
        (with("qualifiedName", json!("other")), "must be the same"),
        (with("id", json!("with space")), "spaces"),
        (with("id", json!("")), "the id is empty"),
        (with("valueType", json!("urn:li:tag:t")), "dataType"),
        (with("entityTypes", json!([])), "entityTypes is empty"),
        (with("entityTypes", json!([DATASET])), "entityType"),
        (with("allowedPlatforms", json!([DATASET])), "dataPlatform"),
        (with("allowedValues", json!([{}])), "either a stringValue"),
        (with("displayName", json!("x".repeat(201))), "200"),
        (
            with(
                "settings",
                json!({"isHidden": true, "showInSearchFilters": true}),
            ),
            "isHidden = true",
        ),
    ] {
        let (code, message) = error_of(&create(&app, input).await);
        assert_eq!(code, 400, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(app.aspect(RETENTION, "propertyDefinition").await, None);
}

#[tokio::test]
async fn settings_are_merged_and_one_property_is_the_badge() {
    let app = App::with_dataset().await;
    let mut first = retention();
    first["settings"] = json!({"showInAssetSummary": true, "hideInAssetSummaryWhenEmpty": true, "showAsAssetBadge": true});
    create(&app, first.clone()).await;
    first["id"] = json!("second");
    let (code, message) = error_of(&create(&app, first.clone()).await);
    assert_eq!(code, 409, "{message}");
    assert!(message.contains(RETENTION), "{message}");
    // Without a summary, nothing is hidden in it. The property keeps its own badge.
    let off = json!({"urn": RETENTION, "settings": {"showInAssetSummary": false, "showAsAssetBadge": true}});
    let reply = update(&app, off).await;
    assert_eq!(
        reply["data"]["updateStructuredProperty"]["settings"],
        json!({"isHidden": false, "showInAssetSummary": false, "hideInAssetSummaryWhenEmpty": false, "showAsAssetBadge": true}),
        "{reply}"
    );
    let hidden = json!({"urn": RETENTION, "settings": {"isHidden": true}});
    let (code, _) = error_of(&update(&app, hidden).await);
    assert_eq!(code, 400);
    let aspect = "structuredPropertySettings";
    let value = json!({"isHidden": true, "showAsAssetBadge": true});
    let (status, body) = app.propose("UPSERT", RETENTION, aspect, &value).await;
    assert!(status.is_client_error(), "{body}");
}

#[tokio::test]
async fn a_deleted_property_is_removed_from_entities_and_the_index() {
    let app = App::with_dataset().await;
    let delete = "mutation ($urn: String!) { deleteStructuredProperty(input: { urn: $urn }) }";
    let mut other = retention();
    other["id"] = json!("other");
    create(&app, other).await;
    let other = "urn:li:structuredProperty:other";
    // Over GraphQL and over REST, and also values that cannot be changed.
    for is_rest in [false, true] {
        let mut input = retention();
        input["immutable"] = json!(true);
        create(&app, input).await;
        set(&app, RETENTION, json!([{"numberValue": 30}])).await;
        set(&app, other, json!([{"numberValue": 90}])).await;
        if is_rest {
            let path = format!("/openapi/v3/entity/structuredProperty/{RETENTION}");
            let request = app.request(Method::DELETE, &path, "");
            let (status, body) = app.send(request).await;
            assert!(status.is_success(), "{body}");
        } else {
            let reply = app.graphql_with(delete, json!({ "urn": RETENTION })).await;
            assert_eq!(reply["data"]["deleteStructuredProperty"], true, "{reply}");
        }
        assert_eq!(app.aspect(RETENTION, "propertyDefinition").await, None);
        let left = app.aspect(DATASET, "structuredProperties").await.unwrap();
        let left = left["properties"].as_array().unwrap();
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0]["propertyUrn"], other);
        let search = r#"{ searchAcrossEntities(input: { types: [DATASET], query: "_exists_:structuredProperties.io.retention" }) { total } }"#;
        let reply = app.graphql(search).await;
        assert_eq!(reply["data"]["searchAcrossEntities"]["total"], 0, "{reply}");
    }
    let (code, message) = error_of(&app.graphql_with(delete, json!({ "urn": RETENTION })).await);
    assert!(code == 400 || code == 404, "{message}");
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn values_of_immutable_and_soft_deleted_properties_stay() {
    let app = App::with_dataset().await;
    let mut input = retention();
    input["immutable"] = json!(true);
    create(&app, input).await;
    set(&app, RETENTION, json!([{"numberValue": 30}])).await;
    let again = set(&app, RETENTION, json!([{"numberValue": 30}])).await;
    assert_eq!(again.get("errors"), None, "{again}");
    let changed = set(&app, RETENTION, json!([{"numberValue": 90}])).await;
    let (code, message) = error_of(&changed);
    assert_eq!(code, 400);
    assert!(message.contains("immutable"), "{message}");
    let aspect = "structuredProperties";
    let none = json!({"properties": []});
    let (status, body) = app.propose("UPSERT", DATASET, aspect, &none).await;
    assert!(status.is_client_error(), "{body}");
    // A soft-deleted property takes no values, and its definition stays.
    app.ingest(RETENTION, "status", &json!({"removed": true}))
        .await;
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";
    app.add_dataset(other).await;
    let value = json!({"properties": [{"propertyUrn": RETENTION, "values": [{"double": 30}]}]});
    let (status, body) = app.propose("UPSERT", other, aspect, &value).await;
    assert!(status.is_client_error(), "{body}");
    assert!(body["message"].as_str().unwrap().contains("soft deleted"));
    let (code, message) =
        error_of(&update(&app, json!({"urn": RETENTION, "displayName": "x"})).await);
    assert_eq!(code, 400, "{message}");
    app.ingest(RETENTION, "status", &json!({"removed": false}))
        .await;
    app.ingest(other, aspect, &value).await;
}

#[tokio::test]
async fn values_match_the_type_of_their_property() {
    let app = App::with_dataset().await;
    for (id, kind, more) in [
        ("day", "date", json!({})),
        (
            "who",
            "urn",
            json!({"typeQualifier": {"allowedTypes": ["urn:li:entityType:datahub.corpuser"]}}),
        ),
        ("count", "number", json!({})),
        (
            "there",
            "string",
            json!({"allowedPlatforms": ["urn:li:dataPlatform:snowflake"]}),
        ),
        (
            "here",
            "string",
            json!({"allowedPlatforms": ["urn:li:dataPlatform:hive"]}),
        ),
    ] {
        let mut input = json!({"id": id, "valueType": format!("urn:li:dataType:datahub.{kind}"), "entityTypes": [DATASETS]});
        for (member, value) in more.as_object().unwrap() {
            input[member] = value.clone();
        }
        create(&app, input).await;
    }
    for (id, value, expected) in [
        ("day", "2024-02-29", None),
        ("day", "2023-02-29", Some("YYYY-MM-DD")),
        ("day", "today", Some("YYYY-MM-DD")),
        ("who", USER, None),
        ("who", DATASET, Some("entityType:datahub.corpuser")),
        ("who", "somebody", Some("a URN")),
        ("count", "12.5", None),
        ("count", "NaN", Some("numberValue")),
        ("count", "many", Some("numberValue")),
        ("there", "x", Some("dataPlatform:snowflake")),
        ("here", "x", None),
    ] {
        let urn = format!("urn:li:structuredProperty:{id}");
        let reply = set(&app, &urn, json!([{ "stringValue": value }])).await;
        match expected {
            None => assert_eq!(reply.get("errors"), None, "{id} {value}: {reply}"),
            Some(expected) => {
                let (code, message) = error_of(&reply);
                assert_eq!(code, 400);
                assert!(message.contains(expected), "{message}");
            }
        }
    }
    // A number is stored as one, so that it can be compared.
    let stored = app.aspect(DATASET, "structuredProperties").await.unwrap();
    let values = stored["properties"].as_array().unwrap().iter();
    let counts: Vec<_> = values
        .filter(|it| it["propertyUrn"] == "urn:li:structuredProperty:count")
        .map(|it| it["values"].clone())
        .collect();
    assert_eq!(counts, [json!([{"double": 12.5}])]);
}

#[tokio::test]
async fn allowed_numbers_have_decimal_points_like_values() {
    let app = App::with_dataset().await;
    let definition = json!({
        "qualifiedName": "io.retention", "valueType": "urn:li:dataType:datahub.number",
        "entityTypes": ["urn:li:entityType:datahub.dataset"], "cardinality": "SINGLE",
        "allowedValues": [{"value": {"double": 30}}, {"value": {"double": 12.5}}],
    });
    app.ingest(RETENTION, "propertyDefinition", &definition)
        .await;
    let stored = app.aspect(RETENTION, "propertyDefinition").await.unwrap();
    let allowed = json!([{"value": {"double": 30.0}}, {"value": {"double": 12.5}}]);
    assert_eq!(stored["allowedValues"], allowed);
}
