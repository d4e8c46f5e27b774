//! Values of structured properties.

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};
use serde_json::{Value, json};

const DAYS: &str = "urn:li:structuredProperty:retention.days";
const CONTACTS: &str = "urn:li:structuredProperty:contacts";

async fn app() -> App {
    let app = App::with_dataset().await;
    let definition = |name: &str, kind: &str, cardinality: &str| {
        json!({
            "qualifiedName": name,
            "valueType": format!("urn:li:dataType:datahub.{kind}"),
            "cardinality": cardinality,
            "entityTypes": ["urn:li:entityType:datahub.dataset"],
            "immutable": false,
        })
    };
    let mut days = definition("retention.days", "number", "SINGLE");
    days["allowedValues"] = json!([{"value": {"double": 30}}, {"value": {"double": 90.0}}]);
    app.ingest(DAYS, "propertyDefinition", &days).await;
    let contacts = definition("contacts", "string", "MULTIPLE");
    app.ingest(CONTACTS, "propertyDefinition", &contacts).await;
    app
}

fn input(entity: &str, property: &str, values: &Value) -> Value {
    json!({"assetUrn": entity, "structuredPropertyInputParams": [{"structuredPropertyUrn": property, "values": values}]})
}

async fn upsert(app: &App, input: Value) -> Value {
    let query = "mutation ($input: UpsertStructuredPropertiesInput!) { upsertStructuredProperties(input: $input) {
        properties { structuredProperty { urn definition { qualifiedName } } associatedUrn
            values { ... on StringValue { stringValue } ... on NumberValue { numberValue } } } } }";
    app.graphql_with(query, json!({"input": input})).await
}

#[tokio::test]
async fn values_are_set_replaced_and_removed_per_property() {
    let app = app().await;
    upsert(&app, input(DATASET, DAYS, &json!([{"numberValue": 30}]))).await;
    app.clock.advance(5);
    let texts = json!([{"stringValue": "a"}, {"stringValue": "b"}]);
    let reply = upsert(&app, input(DATASET, CONTACTS, &texts)).await;
    assert_eq!(
        reply["data"]["upsertStructuredProperties"]["properties"],
        json!([
            {"structuredProperty": {"urn": DAYS, "definition": {"qualifiedName": "retention.days"}},
             "associatedUrn": DATASET, "values": [{"numberValue": 30.0}]},
            {"structuredProperty": {"urn": CONTACTS, "definition": {"qualifiedName": "contacts"}},
             "associatedUrn": DATASET, "values": [{"stringValue": "a"}, {"stringValue": "b"}]},
        ]),
        "{reply}"
    );
    for days in [30, 90, 90] {
        upsert(&app, input(DATASET, DAYS, &json!([{"numberValue": days}]))).await;
        app.clock.advance(5);
    }
    let stored = app.aspect(DATASET, "structuredProperties").await.unwrap();
    assert_eq!(
        stored["properties"][0],
        json!({
            "propertyUrn": DAYS, "values": [{"double": 90.0}],
            "created": {"time": NOW_MS, "actor": USER}, "lastModified": {"time": NOW_MS + 10, "actor": USER},
        })
    );
    let remove = "mutation ($input: RemoveStructuredPropertiesInput!) { removeStructuredProperties(input: $input) {
        properties { structuredProperty { urn } } } }";
    let given = json!({"input": {"assetUrn": DATASET, "structuredPropertyUrns": [DAYS, "urn:li:structuredProperty:none"]}});
    for _ in 0..2 {
        let reply = app.graphql_with(remove, given.clone()).await;
        assert_eq!(
            reply["data"]["removeStructuredProperties"],
            json!({"properties": [{"structuredProperty": {"urn": CONTACTS}}]}),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn values_that_violate_the_definition_are_rejected() {
    let app = app().await;
    let container = "urn:li:container:c";
    app.ingest(container, "containerProperties", &json!({"name": "c"}))
        .await;
    let number = json!([{"numberValue": 30}]);
    for (input, expected) in [
        (input(MISSING, DAYS, &number), "does not exist"),
        (
            input(DATASET, "urn:li:structuredProperty:none", &number),
            "urn:li:structuredProperty:none does not exist",
        ),
        (
            input(container, DAYS, &number),
            "is not for entities of type container",
        ),
        (
            input(DATASET, DAYS, &json!([{"numberValue": 31}])),
            "does not allow the value",
        ),
        (
            input(
                DATASET,
                DAYS,
                &json!([{"numberValue": 30}, {"numberValue": 90}]),
            ),
            "takes one value, but 2 are given",
        ),
        (
            input(DATASET, DAYS, &json!([{"stringValue": "30"}])),
            "send numberValue",
        ),
        (
            input(DATASET, CONTACTS, &json!([{"numberValue": 1}])),
            "send stringValue",
        ),
        (input(DATASET, CONTACTS, &json!([])), "needs a value"),
        (
            input(DATASET, CONTACTS, &json!([{}])),
            "either a stringValue or a numberValue",
        ),
        (
            input(USER, CONTACTS, &json!([{"stringValue": "a"}])),
            "is not for entities",
        ),
    ] {
        let reply = upsert(&app, input.clone()).await;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], 400, "{input}: {reply}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(app.aspect(DATASET, "structuredProperties").await, None);
    assert_eq!(app.aspect(MISSING, "datasetKey").await, None);
}
