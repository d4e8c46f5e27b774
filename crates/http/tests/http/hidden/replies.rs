//! Replies about something seen that refers to something hidden do not name it.

use serde_json::{Value, json};

use super::send;
use super::world::{BEHIND, COLUMN, CONTAINER, DOMAIN, FINANCE, TABLE, TERM, WORD, app};
use crate::support::{DATASET, encoded};

const STAND_IN: &str = "urn:li:restricted:";

#[tokio::test]
async fn browse_paths_do_not_name_it() {
    let (app, token) = app(true).await;
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ browsePathV2 {{ path {{ name entity {{ urn type }} }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &query).await;
    let path = &reply["data"]["dataset"]["browsePathV2"]["path"];
    let name = path[0]["name"].as_str().unwrap();
    assert!(name.starts_with(STAND_IN), "{reply}");
    let entity = json!({"urn": name, "type": "RESTRICTED"});
    assert_eq!(path[0]["entity"], entity, "{reply}");
    assert_eq!(path[1]["name"], "part", "{reply}");
    // The name alone, too.
    let name_only =
        format!(r#"{{ dataset(urn: "{DATASET}") {{ browsePathV2 {{ path {{ name }} }} }} }}"#);
    let reply = app.graphql_as(&token, &name_only).await;
    assert_eq!(
        reply["data"]["dataset"]["browsePathV2"]["path"][0]["name"],
        name
    );
    let reply = app.graphql(&query).await;
    let path = &reply["data"]["dataset"]["browsePathV2"]["path"];
    assert_eq!(path[0]["name"], CONTAINER, "{reply}");
}

/// The rule for aspects that are read as a whole: what is stored.
#[tokio::test]
async fn aspects_that_are_read_as_a_whole_are_as_stored() {
    let (app, token) = app(true).await;
    for aspect in ["browsePathsV2", "container"] {
        let path = format!("/openapi/v3/entity/dataset/{}/{aspect}", encoded(DATASET));
        let found = send(&app, &token, "GET", &path, &Value::Null).await;
        assert!(found.1.contains(CONTAINER), "{}", found.1);
        assert_eq!(
            found,
            send(&app, &app.token, "GET", &path, &Value::Null).await
        );
    }
}

#[tokio::test]
async fn the_timeline_of_a_dataset_does_not_name_it() {
    let (app, token) = app(true).await;
    for domain in [DOMAIN, FINANCE] {
        let assign = format!(r#"setDomain(entityUrn: "{BEHIND}", domainUrn: "{domain}")"#);
        let reply = app.graphql(&format!("mutation {{ {assign} }}")).await;
        assert_eq!(reply["data"]["setDomain"], true, "{reply}");
    }
    let path = format!(
        "/openapi/v2/timeline/v1/{}?categories=DOMAIN,GLOSSARY_TERM",
        encoded(BEHIND)
    );
    let (_, reply) = send(&app, &token, "GET", &path, &Value::Null).await;
    for urn in [DOMAIN, TERM] {
        assert!(!reply.contains(urn), "{reply}");
    }
    // Two changes of the domain and one of the terms, each with its modifier, parameter and
    // description.
    assert_eq!(reply.matches(STAND_IN).count(), 9, "{reply}");
    assert!(reply.contains(FINANCE), "{reply}");
    let (_, reply) = send(&app, &app.token, "GET", &path, &Value::Null).await;
    assert!(reply.contains(DOMAIN) && reply.contains(TERM), "{reply}");
    assert!(!reply.contains(STAND_IN), "{reply}");
}

#[tokio::test]
async fn foreign_keys_do_not_name_it() {
    let (app, token) = app(true).await;
    let mut schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    let source = format!("urn:li:schemaField:({DATASET},user_name)");
    schema["foreignKeys"] = json!([{
        "name": "key", "foreignDataset": TABLE, "foreignFields": [COLUMN], "sourceFields": [source],
    }]);
    app.ingest(DATASET, "schemaMetadata", &schema).await;
    let query = |fields: &str| {
        format!(
            r#"{{ dataset(urn: "{DATASET}") {{ schemaMetadata {{ foreignKeys {{ {fields} }} }} }} }}"#
        )
    };
    let fields = "name foreignDataset { urn name platform { urn name } }
        foreignFields { urn fieldPath parent { urn } } sourceFields { fieldPath }";
    let reply = app.graphql_as(&token, &query(fields)).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    let key = &reply["data"]["dataset"]["schemaMetadata"]["foreignKeys"][0];
    assert_eq!(key["sourceFields"][0]["fieldPath"], "user_name", "{reply}");
    for shown in [
        &key["foreignDataset"]["name"],
        &key["foreignDataset"]["platform"]["urn"],
        &key["foreignFields"][0]["fieldPath"],
        &key["foreignFields"][0]["parent"]["urn"],
    ] {
        assert!(shown.as_str().unwrap().starts_with(STAND_IN), "{reply}");
    }
    // A value that no stand-in can have.
    let fields = "name foreignDataset { origin }";
    let reply = app.graphql_as(&token, &query(fields)).await;
    let keys = &reply["data"]["dataset"]["schemaMetadata"]["foreignKeys"];
    assert_eq!(
        *keys,
        json!([{"name": "key", "foreignDataset": null}]),
        "{reply}"
    );
    assert!(reply.get("errors").is_none(), "{reply}");
    let reply = app.graphql(&query("foreignFields { fieldPath }")).await;
    assert!(reply.to_string().contains("user_name"), "{reply}");
}

#[tokio::test]
async fn lineage_of_columns_does_not_name_it() {
    let (app, token) = app(true).await;
    let mut lineage = app.aspect(BEHIND, "upstreamLineage").await.unwrap();
    let own = format!("urn:li:schemaField:({BEHIND},user_name)");
    lineage["fineGrainedLineages"] = json!([{
        "upstreamType": "FIELD_SET", "upstreams": [COLUMN], "downstreamType": "FIELD",
        "downstreams": [own], "confidenceScore": 1.0,
    }]);
    app.ingest(BEHIND, "upstreamLineage", &lineage).await;
    let columns = "upstreams { urn path } downstreams { urn path }";
    let query =
        format!(r#"{{ dataset(urn: "{BEHIND}") {{ fineGrainedLineages {{ {columns} }} }} }}"#);
    let reply = app.graphql_as(&token, &query).await;
    let columns = &reply["data"]["dataset"]["fineGrainedLineages"][0];
    let (upstream, downstream) = (&columns["upstreams"][0], &columns["downstreams"][0]);
    assert!(
        upstream["urn"].as_str().unwrap().starts_with(STAND_IN),
        "{reply}"
    );
    assert_eq!(upstream["path"], upstream["urn"], "{reply}");
    assert_eq!(
        *downstream,
        json!({"urn": own, "path": "user_name"}),
        "{reply}"
    );
    assert!(!reply.to_string().contains(WORD), "{reply}");
    let reply = app.graphql(&query).await;
    let upstreams = &reply["data"]["dataset"]["fineGrainedLineages"][0]["upstreams"];
    assert_eq!(
        *upstreams,
        json!([{"urn": COLUMN, "path": "user_name"}]),
        "{reply}"
    );
}

#[tokio::test]
async fn what_is_wrong_with_something_seen_is_seen_without_naming_it() {
    let (app, token) = app(true).await;
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:datahub"});
    let incident = json!({
        "type": "OPERATIONAL", "title": "late", "entities": [DATASET],
        "status": {"state": "ACTIVE", "lastUpdated": stamp}, "created": stamp,
    });
    app.ingest("urn:li:incident:i", "incidentInfo", &incident)
        .await;
    let operation = json!({
        "timestampMillis": 1, "lastUpdatedTimestamp": 1, "operationType": "INSERT",
        "affectedDatasets": [TABLE, DATASET],
    });
    app.ingest(DATASET, "operation", &operation).await;
    let policy = json!({
        "type": "METADATA", "state": "ACTIVE", "name": "Operations", "privileges": ["VIEW_DATASET_OPERATIONS"],
        "actors": {"resourceOwners": false, "allUsers": true, "allGroups": false},
    });
    app.mutate("createPolicy", "PolicyUpdateInput", policy)
        .await;
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{
            incidents {{ total incidents {{ title }} }} health {{ message }} operations {{ affectedDatasets }}
        }} }}"#
    );
    let reply = app.graphql_as(&token, &query).await;
    let found = &reply["data"]["dataset"];
    // No policy covers the incident itself.
    assert_eq!(
        found["incidents"],
        json!({"total": 1, "incidents": [{"title": "late"}]}),
        "{reply}"
    );
    assert_eq!(found["health"][0]["message"], "1 active incident");
    let affected = &found["operations"][0]["affectedDatasets"];
    assert!(
        affected[0].as_str().unwrap().starts_with(STAND_IN),
        "{reply}"
    );
    assert_eq!(affected[1], DATASET);
    assert!(!reply.to_string().contains(WORD), "{reply}");
}

#[tokio::test]
async fn values_of_properties_do_not_name_it() {
    let (app, token) = app(true).await;
    let values = json!({"properties": [{
        "propertyUrn": "urn:li:structuredProperty:p", "values": [{"string": TABLE}, {"string": "x"}],
    }]});
    let definition = json!({
        "qualifiedName": "p", "valueType": "urn:li:dataType:datahub.string",
        "cardinality": "MULTIPLE", "entityTypes": ["urn:li:entityType:datahub.dataset"],
    });
    let property = "urn:li:structuredProperty:p";
    app.ingest(property, "propertyDefinition", &definition)
        .await;
    app.ingest(DATASET, "structuredProperties", &values).await;
    let values = "values { ... on StringValue { stringValue } } valueEntities { urn }";
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ structuredProperties {{ properties {{ {values} }} }} }} }}"#
    );
    for (token, is_named) in [(&token, false), (&app.token, true)] {
        let reply = app.graphql_as(token, &query).await;
        let property = &reply["data"]["dataset"]["structuredProperties"]["properties"][0];
        let (value, entity) = (&property["values"][0], &property["valueEntities"][0]);
        assert_eq!(value["stringValue"], entity["urn"], "{reply}");
        assert_eq!(value["stringValue"] == TABLE, is_named, "{reply}");
        assert_eq!(property["values"][1]["stringValue"], "x", "{reply}");
    }
}

/// The rows could not fail without what they name.
#[tokio::test]
async fn the_administrator_sees_what_is_hidden_from_others() {
    let (app, token) = app(true).await;
    for (query, pointer, shown) in [
        (
            "{ getRootMetrics(input: {}) { total } }",
            "/data/getRootMetrics/total",
            json!(1),
        ),
        (
            "{ getSemanticModels(input: {}) { total } }",
            "/data/getSemanticModels/total",
            json!(1),
        ),
        (
            r#"{ connection(urn: "urn:li:dataHubConnection:hush") { details { name } } }"#,
            "/data/connection/details/name",
            json!("hush"),
        ),
        (
            r#"{ searchAcrossEntities(input: { types: [DATASET], query: "*", orFilters: [{ and: [
                { field: "lifecycleStage", condition: EXISTS }] }] }) { total } }"#,
            "/data/searchAcrossEntities/total",
            json!(1),
        ),
    ] {
        let reply = app.graphql(query).await;
        assert_eq!(reply.pointer(pointer), Some(&shown), "{reply}");
        let reply = app.graphql_as(&token, query).await;
        assert_ne!(reply.pointer(pointer), Some(&shown), "{reply}");
    }
}
