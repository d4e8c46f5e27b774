//! Introspection.

use serde_json::{Value, json};

use crate::fixture::{Fixture, messages};

/// The introspection query of generic clients.
const FULL: &str = "
query IntrospectionQuery {
  __schema {
    description
    queryType { name kind }
    mutationType { name kind }
    subscriptionType { name kind }
    types { ...FullType }
    directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description specifiedByURL
  fields(includeDeprecated: true) {
    name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason
  }
  inputFields(includeDeprecated: true) { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue {
  name description type { ...TypeRef } defaultValue isDeprecated deprecationReason
}
fragment TypeRef on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
  ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } }
}";

#[tokio::test]
async fn the_full_introspection_query_includes_directives() {
    let fixture = Fixture::new(&[]).await;
    let first = fixture.text(FULL).await;
    assert_eq!(first, fixture.text(FULL).await);
    let reply: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(messages(&reply), [""; 0]);
    let schema = &reply["data"]["__schema"];
    assert_eq!(schema["queryType"]["name"], "Query");
    assert_eq!(schema["mutationType"]["name"], "Mutation");
    let names = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names(&schema["types"]).contains(&"Dataset".to_owned()));
    assert!(names(&schema["directives"]).contains(&"aspect".to_owned()));
}

#[tokio::test]
async fn introspection_and_data_are_in_the_order_of_the_selection() {
    let fixture = Fixture::new(&[]).await;
    let query = r#"query($name: String!) {
        a: __typename
        t: __type(name: $name) { kind name possibleTypes { name } }
        chain(json: "{\"value\": 1}") { __typename value }
        u: __type(name: "Nothing") { name }
    }"#;
    for name in ["Shape", "Person"] {
        let reply = fixture.with_variables(query, json!({"name": name})).await;
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["data"]["t"]["name"], name);
        let keys: Vec<_> = reply["data"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["a", "t", "chain", "u"]);
        assert_eq!(
            reply["data"]["chain"],
            json!({"__typename": "Chain", "value": 1})
        );
        assert_eq!(reply["data"]["u"], Value::Null);
    }
}

#[tokio::test]
async fn deeply_nested_introspection_is_rejected() {
    let fixture = Fixture::new(&[]).await;
    let inner = "fields { type { fields { type { fields { type { fields { name } } } } } } }";
    let reply = fixture
        .json(&format!("{{ __schema {{ queryType {{ {inner} }} }} }}"))
        .await;
    assert!(messages(&reply)[0].contains("depth"), "{reply}");
    assert_eq!(reply["data"], Value::Null);
}

#[tokio::test]
async fn the_full_introspection_query_of_docents_schema_is_within_the_limits() {
    let fixture = Fixture::docent(&[]).await;
    let reply = fixture.json(FULL).await;
    assert_eq!(messages(&reply), [""; 0]);
    let types = reply["data"]["__schema"]["types"].as_array().unwrap();
    assert!(types.iter().any(|ty| ty["name"] == "Dataset"));
}

#[tokio::test]
async fn an_operation_can_have_four_introspection_fields() {
    let fixture = Fixture::new(&[]).await;
    let query = |count: usize| {
        let fields: Vec<_> = (0..count)
            .map(|number| match number % 2 {
                0 => format!("a{number}: __schema {{ queryType {{ name }} }}"),
                _ => format!("a{number}: __type(name: \"Dataset\") {{ name }}"),
            })
            .collect();
        format!("{{ {} __typename }}", fields.join(" "))
    };
    let reply = fixture.json(&query(4)).await;
    assert_eq!(messages(&reply), [""; 0]);
    let reply = fixture.json(&query(5)).await;
    assert_eq!(
        messages(&reply),
        ["maximum number of __schema and __type fields exceeded 5 > 4"]
    );
    assert_eq!(
        reply["errors"][0]["extensions"],
        json!({"classification": "ExecutionAborted"})
    );
    assert_eq!(reply["data"], Value::Null);
}

#[tokio::test]
async fn introspection_counts_towards_complexity_but_typename_does_not() {
    let fixture = Fixture::new(&[]).await;
    let query = |count: usize, field: &str| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("a{number}: {field}"))
            .collect();
        format!("{{ __schema {{ queryType {{ {} }} }} }}", fields.join(" "))
    };
    let reply = fixture.json(&query(1998, "name")).await;
    assert_eq!(messages(&reply), [""; 0]);
    let reply = fixture.json(&query(1999, "name")).await;
    assert_eq!(
        messages(&reply),
        ["maximum query complexity exceeded 2001 > 2000"]
    );
    let reply = fixture.json(&query(3000, "__typename")).await;
    assert_eq!(messages(&reply), [""; 0]);
}

#[tokio::test]
async fn aliases_below_all_types_count_once_per_type() {
    let fixture = Fixture::docent(&[]).await;
    let query = |count: usize, inner: &str| {
        let fields: Vec<_> = (0..count)
            .map(|number| format!("a{number}: {inner}"))
            .collect();
        format!("{{ __schema {{ types {{ {} }} }} }}", fields.join(" "))
    };
    let reply = fixture.json(&query(2, "fields { description }")).await;
    assert_eq!(messages(&reply), [""; 0]);
    for query in [
        query(900, "fields { description }"),
        query(1, "fields { type { fields { type { fields { name } } } } }"),
    ] {
        let reply = fixture.json(&query).await;
        let message = messages(&reply)[0];
        assert!(
            message.starts_with("maximum number of values about the schema exceeded")
                && message.ends_with(" > 400000"),
            "{message}"
        );
        assert_eq!(reply["data"], Value::Null);
    }
}

#[tokio::test]
async fn introspection_results_are_cached_per_operation() {
    let fixture = Fixture::new(&[]).await;
    let document = r#"
        query A { t: __type(name: "Dataset") { name } }
        query B { t: __type(name: "Domain") { name } }"#;
    for (operation, name) in [("A", "Dataset"), ("B", "Domain"), ("A", "Dataset")] {
        let reply = fixture
            .operation(document, Some(operation), json!({}))
            .await;
        assert!(
            reply.starts_with(&format!(r#"{{"data":{{"t":{{"name":"{name}"}}}}"#)),
            "{reply}"
        );
    }
}
