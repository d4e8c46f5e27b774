//! The main use cases of the product, each with its exact reply and its error for a missing target.

use crate::support::{App, DATASET, MISSING};
use serde_json::json;

#[tokio::test]
async fn the_description_of_a_dataset_is_read() {
    let app = App::with_dataset().await;
    let query = "query ($urn: String!) { dataset(urn: $urn) { properties { description } } }";
    assert_eq!(
        app.graphql_with(query, json!({"urn": DATASET})).await,
        json!({
            "data": {"dataset": {"properties": {
                "description": "table containing all the users deleted on a single day"
            }}},
            "extensions": {}
        })
    );
    let missing = app.graphql_with(query, json!({"urn": MISSING})).await;
    assert_eq!(missing["data"], json!({"dataset": null}));
    assert_eq!(missing["errors"][0]["extensions"]["code"], 404);
    assert_eq!(missing["errors"][0]["extensions"]["type"], "NOT_FOUND");
    assert_eq!(missing["errors"][0]["path"], json!(["dataset"]));
}

#[tokio::test]
async fn the_descriptions_of_columns_are_read() {
    let app = App::with_dataset().await;
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ schemaMetadata {{ fields {{ fieldPath description }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&query).await,
        json!({
            "data": {"dataset": {"schemaMetadata": {"fields": [
                {"fieldPath": "user_name", "description": "Name of the user who was deleted"},
                {"fieldPath": "timestamp", "description": "Timestamp user was deleted at"},
            ]}}},
            "extensions": {}
        })
    );
}

#[tokio::test]
async fn a_description_and_a_link_are_set() {
    let app = App::with_dataset().await;
    // One link as a single object, as in DataHub's tutorial.
    let update = r###"mutation updateDataset {
        updateDataset(
            urn: "URN"
            input: {
                editableProperties: { description: "## The Real Estate Sales Dataset\nThis is a really important Dataset." }
                institutionalMemory: {
                    elements: {
                        author: "urn:li:corpuser:jdoe"
                        url: "https://wikipedia.com/real_estate"
                        description: "This is the definition of what real estate means"
                    }
                }
            }
        ) { urn }
    }"###;
    assert_eq!(
        app.graphql(&update.replace("URN", DATASET)).await,
        json!({"data": {"updateDataset": {"urn": DATASET}}, "extensions": {}})
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{
            properties {{ description }}
            editableProperties {{ description }}
            institutionalMemory {{ elements {{ url label description author {{ urn }} }} }}
        }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"],
        json!({
            "properties": {"description": "table containing all the users deleted on a single day"},
            "editableProperties": {
                "description": "## The Real Estate Sales Dataset\nThis is a really important Dataset."
            },
            "institutionalMemory": {"elements": [{
                "url": "https://wikipedia.com/real_estate",
                "label": "This is the definition of what real estate means",
                "description": "This is the definition of what real estate means",
                "author": {"urn": "urn:li:corpuser:jdoe"},
            }]}
        })
    );
    // A list adds links; existing links stay, and an existing URL gets the new text.
    let more = r#"mutation { updateDataset(urn: "URN", input: { institutionalMemory: { elements: [
        { author: "urn:li:corpuser:jdoe", url: "https://example.com/b", description: "b" },
        { author: "urn:li:corpuser:jdoe", url: "https://wikipedia.com/real_estate", description: "new text" }
    ] } }) { institutionalMemory { elements { url label } } editableProperties { description } } }"#;
    let reply = app.graphql(&more.replace("URN", DATASET)).await;
    assert_eq!(
        reply["data"]["updateDataset"]["institutionalMemory"]["elements"],
        json!([
            {"url": "https://wikipedia.com/real_estate", "label": "new text"},
            {"url": "https://example.com/b", "label": "b"},
        ])
    );
    assert!(reply["data"]["updateDataset"]["editableProperties"]["description"].is_string());

    let (code, message) = app.graphql_error(&update.replace("URN", MISSING)).await;
    assert_eq!(code, 400);
    assert_eq!(
        message,
        format!("Failed to update {MISSING}. {MISSING} does not exist.")
    );
    assert_eq!(
        app.aspect(MISSING, "datasetKey").await,
        None,
        "nothing was created"
    );
}

#[tokio::test]
async fn the_description_of_a_column_is_set() {
    let app = App::with_dataset().await;
    let update = |urn: &str, column: &str, description: &str| {
        format!(
            r#"mutation {{ updateDescription(input: {{
                description: {description}, resourceUrn: "{urn}",
                subResource: "{column}", subResourceType: DATASET_FIELD
            }}) }}"#
        )
    };
    let done = json!({"data": {"updateDescription": true}, "extensions": {}});
    let line = update(
        DATASET,
        "user_name",
        r#""Name of the user who was deleted.""#,
    );
    assert_eq!(app.graphql(&line).await, done);
    let block = "\"\"\"\n        ### Deletion time\n        in **UTC**\n\n        - one\n          - two\n        \"\"\"";
    assert_eq!(
        app.graphql(&update(DATASET, "timestamp", block)).await,
        done
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{
            editableSchemaMetadata {{ editableSchemaFieldInfo {{ fieldPath description }} }}
            schemaMetadata {{ fields {{ description }} }}
        }} }}"#
    );
    let dataset = app.graphql(&read).await["data"]["dataset"].clone();
    assert_eq!(
        dataset["editableSchemaMetadata"]["editableSchemaFieldInfo"],
        json!([
            {"fieldPath": "user_name", "description": "Name of the user who was deleted."},
            {"fieldPath": "timestamp", "description": "### Deletion time\nin **UTC**\n\n- one\n  - two"},
        ])
    );
    assert_eq!(
        dataset["schemaMetadata"]["fields"][0]["description"], "Name of the user who was deleted",
        "what ingestion said stays"
    );

    let (code, message) = app
        .graphql_error(&update(DATASET, "no_such_column", r#""x""#))
        .await;
    assert_eq!(code, 400);
    assert_eq!(
        message,
        format!(
            "Failed to update {DATASET} & field no_such_column. Field no_such_column does not exist in the datasets schema."
        )
    );
    let (code, message) = app
        .graphql_error(&update(MISSING, "user_name", r#""x""#))
        .await;
    assert_eq!(code, 400);
    assert_eq!(
        message,
        format!("Failed to update {MISSING}. {MISSING} does not exist.")
    );
}

#[tokio::test]
async fn the_description_of_a_container_is_set() {
    let app = App::empty().await;
    let container = "urn:li:container:shop";
    let update = format!(
        r#"mutation {{ updateDescription(input: {{ description: "the *shop*", resourceUrn: "{container}" }}) }}"#
    );
    let (code, message) = app.graphql_error(&update).await;
    assert_eq!(code, 400);
    assert_eq!(
        message,
        format!("Failed to update {container}. {container} does not exist.")
    );
    app.ingest(
        container,
        "containerProperties",
        &json!({"name": "shop", "customProperties": {}}),
    )
    .await;
    assert_eq!(
        app.graphql(&update).await,
        json!({"data": {"updateDescription": true}, "extensions": {}})
    );
    let read = format!(
        r#"{{ container(urn: "{container}") {{ properties {{ name description }} editableProperties {{ description }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["container"],
        json!({
            "properties": {"name": "shop", "description": null},
            "editableProperties": {"description": "the *shop*"},
        })
    );
}

#[tokio::test]
async fn domains_are_created_and_nested() {
    let app = App::empty().await;
    let create = r#"mutation createDomain { createDomain(input: { name: "Marketing", description: "Entities related to the marketing department" }) }"#;
    let reply = app.graphql(create).await;
    let urn = reply["data"]["createDomain"].as_str().unwrap().to_owned();
    assert_eq!(
        reply,
        json!({"data": {"createDomain": urn}, "extensions": {}})
    );
    assert!(urn.starts_with("urn:li:domain:"), "{urn}");
    let nested = format!(
        r#"mutation {{ createDomain(input: {{ name: "Verticals", description: "below", parentDomain: "{urn}" }}) }}"#
    );
    let child = app.graphql(&nested).await["data"]["createDomain"]
        .as_str()
        .unwrap()
        .to_owned();
    let read = format!(
        r#"{{ domain(urn: "{child}") {{ properties {{ name description }} parentDomains {{ count domains {{ urn ... on Domain {{ properties {{ name }} }} }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["domain"],
        json!({
            "properties": {"name": "Verticals", "description": "below"},
            "parentDomains": {"count": 1, "domains": [{"urn": urn, "properties": {"name": "Marketing"}}]},
        })
    );
    let orphan =
        r#"mutation { createDomain(input: { name: "X", parentDomain: "urn:li:domain:none" }) }"#;
    let (code, message) = app.graphql_error(orphan).await;
    assert_eq!((code, &*message), (400, "Parent Domain does not exist!"));
}

#[tokio::test]
async fn a_dataset_is_added_to_a_domain_and_removed() {
    let app = App::with_dataset().await;
    for (id, name) in [("marketing", "Marketing"), ("finance", "Finance")] {
        app.ingest(
            &format!("urn:li:domain:{id}"),
            "domainProperties",
            &json!({"name": name, "customProperties": {}}),
        )
        .await;
    }
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ domain {{ associatedUrn domain {{ urn properties {{ name }} }} }} }} }}"#
    );
    let set = |dataset: &str, domain: &str| {
        format!(
            r#"mutation setDomain {{ setDomain(domainUrn: "{domain}", entityUrn: "{dataset}") }}"#
        )
    };
    assert_eq!(
        app.graphql(&read).await,
        json!({"data": {"dataset": {"domain": null}}, "extensions": {}})
    );
    for (id, name) in [("marketing", "Marketing"), ("finance", "Finance")] {
        let domain = format!("urn:li:domain:{id}");
        assert_eq!(
            app.graphql(&set(DATASET, &domain)).await,
            json!({"data": {"setDomain": true}, "extensions": {}})
        );
        assert_eq!(
            app.graphql(&read).await,
            json!({
                "data": {"dataset": {"domain": {
                    "associatedUrn": DATASET,
                    "domain": {"urn": domain, "properties": {"name": name}}
                }}},
                "extensions": {}
            }),
            "the later domain replaces the earlier one"
        );
    }
    let unset = |dataset: &str| format!(r#"mutation {{ unsetDomain(entityUrn: "{dataset}") }}"#);
    assert_eq!(
        app.graphql(&unset(DATASET)).await,
        json!({"data": {"unsetDomain": true}, "extensions": {}})
    );
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({"dataset": {"domain": null}})
    );
    assert_eq!(
        app.aspect(DATASET, "domains").await,
        Some(json!({"domains": [], "domainAssociations": []}))
    );
    let remove = format!(r#"mutation {{ removeDomain(entityUrn: "{DATASET}") }}"#);
    assert_eq!(
        app.graphql(&remove).await,
        json!({"data": {"removeDomain": true}, "extensions": {}})
    );

    let (code, message) = app.graphql_error(&set(DATASET, "urn:li:domain:none")).await;
    assert_eq!(code, 400);
    assert!(message.ends_with("Domain does not exist."), "{message}");
    let (code, message) = app
        .graphql_error(&set(MISSING, "urn:li:domain:marketing"))
        .await;
    assert_eq!(code, 400);
    assert!(message.ends_with("Entity does not exist."), "{message}");
    let (code, message) = app.graphql_error(&unset(MISSING)).await;
    assert_eq!(code, 400);
    assert!(message.contains("does not exist"), "{message}");
    assert_eq!(app.aspect(MISSING, "datasetKey").await, None);
}
