//! Values of structured properties.

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, proposal};
use axum::http::{Method, StatusCode};
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
    app.ingest(USER, "corpUserInfo", &json!({"active": true}))
        .await;
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
            "does not allow this value",
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
            input(DATASET, DAYS, &json!([{"stringValue": "thirty"}])),
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

fn assigned(property: &str, values: &Value) -> Value {
    json!({"properties": [{"propertyUrn": property, "values": values}]})
}

#[tokio::test]
async fn values_are_checked_on_every_api() {
    let app = app().await;
    let container = "urn:li:container:c";
    app.ingest(container, "containerProperties", &json!({"name": "c"}))
        .await;
    let aspect = "structuredProperties";
    for (entity, property, values, expected) in [
        (
            DATASET,
            DAYS,
            json!([{"double": 31}]),
            "does not allow this value",
        ),
        (
            DATASET,
            DAYS,
            json!([{"double": 30}, {"double": 90}]),
            "takes one value, but 2 are given",
        ),
        (
            DATASET,
            DAYS,
            json!([{"string": "thirty"}]),
            "send numberValue",
        ),
        (
            DATASET,
            CONTACTS,
            json!([{"double": 1}]),
            "send stringValue",
        ),
        (
            DATASET,
            "urn:li:structuredProperty:none",
            json!([{"string": "x"}]),
            "urn:li:structuredProperty:none does not exist",
        ),
        (
            container,
            DAYS,
            json!([{"double": 30}]),
            "is not for entities of type container",
        ),
    ] {
        let value = assigned(property, &values);
        let (restli, body) = app.propose("UPSERT", entity, aspect, &value).await;
        assert!(restli.is_client_error(), "{body}");
        let message = body["message"].as_str().unwrap().to_owned();
        assert!(message.contains(expected), "{message}");
        // The same for a patch, for OpenAPI, and in a list.
        let path = format!("/properties/{property}");
        let add = json!([{"op": "add", "path": path, "value": {"values": values}}]);
        let (status, body) = app.propose("PATCH", entity, aspect, &add).await;
        assert_eq!((status, &body["message"]), (restli, &json!(message)));
        let kind = entity.split(':').nth(2).unwrap();
        let path = format!("/openapi/v3/entity/{kind}?async=false");
        for (method, value) in [
            (Method::POST, value.clone()),
            (Method::PATCH, json!({"patch": add})),
        ] {
            let list = json!([{"urn": entity, "structuredProperties": {"value": value}}]);
            let request = app.request(method, &path, list.to_string());
            let (status, body) = app.send(request).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
            let in_list = body["message"].as_str().unwrap();
            assert!(in_list.ends_with(&message), "{in_list}");
        }
        assert_eq!(app.aspect(entity, aspect).await, None);
    }
    // A list may define a property and use it.
    let colors = "urn:li:structuredProperty:colors";
    let definition = json!({
        "qualifiedName": "colors", "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
        "allowedValues": [{"value": {"string": "red"}}],
    });
    let red = assigned(colors, &json!([{"string": "red"}]));
    let list = vec![
        proposal("UPSERT", colors, "propertyDefinition", &definition),
        proposal("UPSERT", DATASET, aspect, &red),
    ];
    let (status, body) = app.propose_all(list).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    // What is stored stays when the definition changes, and other properties can be set.
    let mut definition = definition;
    definition["allowedValues"] = json!([{"value": {"string": "green"}}]);
    definition["version"] = json!("20260101000000");
    app.ingest(colors, "propertyDefinition", &definition).await;
    app.ingest(DATASET, aspect, &red).await;
    let reply = upsert(&app, input(DATASET, DAYS, &json!([{"numberValue": 30}]))).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
}

const SEARCH: &str =
    "query ($input: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $input) {
    searchResults { entity { urn } } } }";

async fn found(app: &App, input: Value) -> Vec<String> {
    let mut input = input;
    if input.get("query").is_none() {
        input["query"] = json!("*");
    }
    input["types"] = json!(["DATASET"]);
    let reply = app.graphql_with(SEARCH, json!({"input": input})).await;
    let hits = reply["data"]["searchAcrossEntities"]["searchResults"].as_array();
    let hits = hits.unwrap_or_else(|| panic!("{reply}")).iter();
    let name = |hit: &Value| {
        let urn = hit["entity"]["urn"].as_str().unwrap();
        urn.split(',').nth(1).unwrap().to_owned()
    };
    hits.map(name).collect()
}

#[tokio::test]
async fn properties_are_filtered_counted_sorted_and_searched() {
    let app = app().await;
    for (name, days, contacts) in [
        ("a", Some(90.0), json!([])),
        (
            "b",
            Some(30.0),
            json!([{"string": "ada"}, {"string": "bob"}]),
        ),
        ("c", None, json!([{"string": "ada"}])),
        ("exists_retention_days", None, json!([])),
    ] {
        let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
        let mut properties = Vec::new();
        if let Some(days) = days {
            properties.push(json!({"propertyUrn": DAYS, "values": [{"double": days}]}));
        }
        if contacts != json!([]) {
            properties.push(json!({"propertyUrn": CONTACTS, "values": contacts}));
        }
        let value = json!({ "properties": properties });
        app.ingest(&urn, "structuredProperties", &value).await;
    }
    let days = "structuredProperties.retention.days";
    let indexed = "structuredProperties.retention_days";
    let contacts = "structuredProperties.contacts";
    let by = |field: &str, condition: &str, values: Value| json!({"orFilters": [{"and": [{"field": field, "condition": condition, "values": values}]}]});
    for field in [days, indexed] {
        for value in ["30", "30.0"] {
            assert_eq!(found(&app, by(field, "EQUAL", json!([value]))).await, ["b"]);
        }
        let over = by(field, "GREATER_THAN", json!(["30"]));
        assert_eq!(found(&app, over).await, ["a"]);
        let mut exists = found(&app, by(field, "EXISTS", json!([]))).await;
        exists.sort();
        assert_eq!(exists, ["a", "b"]);
        for (query, expected) in [
            (format!("_exists_:{field}"), vec!["a", "b"]),
            (format!("{field}:*"), vec!["a", "b"]),
            (format!("{field}:90"), vec!["a"]),
            (format!("{field}:90.0"), vec!["a"]),
            (format!("{field}:>30"), vec!["a"]),
            (format!("{field}:>=30"), vec!["a", "b"]),
            (format!("{field}:<90"), vec!["b"]),
            (format!("{field}:<=9e1 -{field}:>45.5"), vec!["b"]),
            (format!("{field}:\">30\""), vec![]),
        ] {
            let mut hits = found(&app, json!({"query": query})).await;
            hits.sort();
            assert_eq!(hits, expected, "{query}");
        }
        for (order, expected) in [("ASCENDING", ["b", "a"]), ("DESCENDING", ["a", "b"])] {
            let sort = json!({"sortCriterion": {"field": field, "sortOrder": order}});
            let hits = found(&app, json!({"sortInput": sort})).await;
            assert_eq!(hits[..2], expected, "{order}");
            assert_eq!(hits.len(), 5, "those without a value come last");
        }
    }
    let versioned = "structuredProperties._versioned.contacts.20240614080000.string:bob";
    assert_eq!(found(&app, json!({"query": versioned})).await, ["b"]);
    let ada = found(&app, by(contacts, "EQUAL", json!(["ada"]))).await;
    assert_eq!(ada, ["b", "c"]);
    let none = found(
        &app,
        json!({"query": "_exists_:structuredProperties.unknown"}),
    )
    .await;
    assert_eq!(none, [""; 0]);
    let without = json!({"query": format!("hive -_exists_:{days} -_exists_:{contacts}")});
    assert!(!found(&app, without).await.contains(&"b".to_owned()));
    let query =
        "query ($input: AggregateAcrossEntitiesInput!) { aggregateAcrossEntities(input: $input) {
        facets { field aggregations { value count } } } }";
    let input = json!({"query": "*", "types": ["DATASET"], "facets": [contacts, days]});
    let reply = app.graphql_with(query, json!({"input": input})).await;
    assert_eq!(
        reply["data"]["aggregateAcrossEntities"]["facets"],
        json!([
            {"field": contacts, "aggregations": [{"value": "ada", "count": 2}, {"value": "bob", "count": 1}]},
            {"field": days, "aggregations": [{"value": "30.0", "count": 1}, {"value": "90.0", "count": 1}]},
        ]),
        "{reply}"
    );
}
