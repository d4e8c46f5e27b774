//! Questions about the schema.

use serde_json::{Value, json};

use crate::fixture::{Fixture, messages};

/// What generic clients ask when they connect.
const FULL: &str = "
query IntrospectionQuery {
  __schema {
    queryType { name }
    mutationType { name }
    subscriptionType { name }
    types { ...FullType }
    directives { name description locations args { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description
  fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
  inputFields { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } }
}";

#[tokio::test]
async fn the_full_introspection_query_works_and_shows_our_directives() {
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
async fn introspection_stands_beside_data_in_the_order_of_the_selection() {
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
async fn endless_introspection_is_refused() {
    let fixture = Fixture::new(&[]).await;
    let inner = "fields { type { fields { type { fields { type { fields { name } } } } } } }";
    let reply = fixture
        .json(&format!("{{ __schema {{ types {{ {inner} }} }} }}"))
        .await;
    assert!(messages(&reply)[0].contains("depth"), "{reply}");
    assert_eq!(reply["data"], Value::Null);
}
