//! Business attributes and metadata tests.

use serde_json::{Value, json};

use crate::support::{App, DATASET, USER, error_of};

const EMAIL: &str = "urn:li:businessAttribute:email";
const TEST: &str = "urn:li:test:owned";

async fn create(app: &App, input: Value) -> Value {
    let text = "mutation ($input: CreateBusinessAttributeInput!) { createBusinessAttribute(input: $input) { urn
        properties { name description type } ownership { owners { owner { ... on CorpUser { urn } } } } } }";
    app.graphql_with(text, json!({"input": input})).await
}

async fn column_of(app: &App) -> (String, String) {
    let schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    let path = schema["fields"][0]["fieldPath"]
        .as_str()
        .unwrap()
        .to_owned();
    (format!("urn:li:schemaField:({DATASET},{path})"), path)
}

async fn change(app: &App, field: &str, attribute: &str, column: &str) -> Value {
    let input =
        json!({"businessAttributeUrn": attribute, "resourceUrn": [{"resourceUrn": column}]});
    let text =
        format!("mutation ($input: AddBusinessAttributeInput!) {{ {field}(input: $input) }}");
    app.graphql_with(&text, json!({"input": input})).await
}

#[tokio::test]
async fn a_business_attribute_is_created_changed_and_listed() {
    let app = App::with_dataset().await;
    let input =
        json!({"id": "email", "name": "Email", "description": "An address", "type": "STRING"});
    let reply = create(&app, input.clone()).await;
    assert_eq!(
        reply["data"]["createBusinessAttribute"],
        json!({
            "urn": EMAIL, "properties": {"name": "Email", "description": "An address", "type": "STRING"},
            "ownership": {"owners": [{"owner": {"urn": USER}}]},
        }),
        "{reply}"
    );
    for (input, code) in [
        (input, 409),
        (json!({"id": "other", "name": "Email"}), 409),
        (json!({"name": ""}), 400),
    ] {
        let (found, message) = error_of(&create(&app, input).await);
        assert_eq!(found, code, "{message}");
    }
    let text = "mutation ($urn: String!, $input: UpdateBusinessAttributeInput!) { updateBusinessAttribute(urn: $urn, input: $input) {
        properties { name description type } } }";
    let update =
        |urn: &str, name: &str| json!({"urn": urn, "input": {"name": name, "type": "ARRAY"}});
    let reply = app.graphql_with(text, update(EMAIL, "Mail")).await;
    assert_eq!(
        reply["data"]["updateBusinessAttribute"]["properties"],
        json!({"name": "Mail", "description": "An address", "type": "ARRAY"}),
        "{reply}"
    );
    let (_, message) = error_of(
        &app.graphql_with(text, update("urn:li:businessAttribute:none", "None"))
            .await,
    );
    assert!(message.contains("does not exist"), "{message}");
    let list = r#"{ listBusinessAttributes(input: { query: "mail" }) { start count total businessAttributes { urn } } }"#;
    let reply = app.graphql(list).await;
    assert_eq!(
        reply["data"]["listBusinessAttributes"],
        json!({"start": 0, "count": 20, "total": 1, "businessAttributes": [{"urn": EMAIL}]}),
        "{reply}"
    );
}

#[tokio::test]
async fn columns_have_a_business_attribute_until_it_is_deleted() {
    let app = App::with_dataset().await;
    create(&app, json!({"id": "email", "name": "Email"})).await;
    let (column, path) = column_of(&app).await;
    let reply = change(&app, "addBusinessAttribute", EMAIL, &column).await;
    assert_eq!(reply["data"]["addBusinessAttribute"], true, "{reply}");
    let text = "query ($urn: String!) { dataset(urn: $urn) { schemaMetadata { fields { fieldPath
        schemaFieldEntity { businessAttributes { businessAttribute { associatedUrn businessAttribute { urn } } } } } } } }";
    let reply = app.graphql_with(text, json!({ "urn": DATASET })).await;
    let field = &reply["data"]["dataset"]["schemaMetadata"]["fields"][0];
    assert_eq!(
        field,
        &json!({"fieldPath": path, "schemaFieldEntity": {"businessAttributes": {"businessAttribute":
            {"associatedUrn": column, "businessAttribute": {"urn": EMAIL}}}}}),
        "{reply}"
    );
    for (attribute, target, expected) in [
        (
            "urn:li:businessAttribute:none",
            column.as_str(),
            "does not exist",
        ),
        (EMAIL, DATASET, "cannot have business attributes"),
    ] {
        let reply = change(&app, "addBusinessAttribute", attribute, target).await;
        let (_, message) = error_of(&reply);
        assert!(message.contains(expected), "{message}");
    }
    let none = format!("urn:li:schemaField:({DATASET},none)");
    let (_, message) = error_of(&change(&app, "addBusinessAttribute", EMAIL, &none).await);
    assert!(message.contains("none"), "{message}");
    let aspect = "businessAttributes";
    for _ in 0..2 {
        change(&app, "removeBusinessAttribute", EMAIL, &column).await;
        assert_eq!(app.aspect(&column, aspect).await, Some(json!({})));
    }
    change(&app, "addBusinessAttribute", EMAIL, &column).await;
    let delete = "mutation ($urn: String!) { deleteBusinessAttribute(urn: $urn) }";
    let reply = app.graphql_with(delete, json!({ "urn": EMAIL })).await;
    assert_eq!(reply["data"]["deleteBusinessAttribute"], true, "{reply}");
    assert_eq!(app.aspect(&column, aspect).await, Some(json!({})));
    let again = app.graphql_with(delete, json!({ "urn": EMAIL })).await;
    let (_, message) = error_of(&again);
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn a_test_is_created_replaced_listed_and_deleted_with_its_results() {
    let app = App::with_dataset().await;
    let new = json!({"id": "owned", "name": "Owned", "category": "Governance", "description": "Has an owner", "definition": {"json": "{}"}});
    let reply = app
        .mutate("createTest", "CreateTestInput", new.clone())
        .await;
    assert_eq!(reply, TEST, "{reply}");
    let (code, _) = app.mutate_error("createTest", "CreateTestInput", new).await;
    assert_eq!(code, 409);
    let bad = json!({"name": "Bad", "category": "x", "definition": {"json": "{"}});
    let (code, message) = app.mutate_error("createTest", "CreateTestInput", bad).await;
    assert_eq!(code, 400);
    assert!(message.contains("is not JSON"), "{message}");
    let read = "query ($urn: String!) { test(urn: $urn) { urn name category description definition { json } } }";
    let expected = |name: &str, description: Value| json!({"urn": TEST, "name": name, "category": "Governance", "description": description, "definition": {"json": "{}"}});
    let reply = app.graphql_with(read, json!({ "urn": TEST })).await;
    assert_eq!(
        reply["data"]["test"],
        expected("Owned", json!("Has an owner")),
        "{reply}"
    );
    let update = "mutation ($urn: String!, $input: UpdateTestInput!) { updateTest(urn: $urn, input: $input) }";
    let input =
        json!({"name": "Has owners", "category": "Governance", "definition": {"json": "{}"}});
    let reply = app
        .graphql_with(update, json!({"urn": TEST, "input": input}))
        .await;
    assert_eq!(reply["data"]["updateTest"], TEST, "{reply}");
    let reply = app.graphql_with(read, json!({ "urn": TEST })).await;
    assert_eq!(
        reply["data"]["test"],
        expected("Has owners", Value::Null),
        "{reply}"
    );
    let list = r#"{ listTests(input: { query: "owners" }) { start count total tests { urn } } }"#;
    let reply = app.graphql(list).await;
    assert_eq!(
        reply["data"]["listTests"],
        json!({"start": 0, "count": 20, "total": 1, "tests": [{"urn": TEST}]}),
        "{reply}"
    );
    let results = json!({"failing": [], "passing": [{"test": TEST, "type": "SUCCESS"}]});
    app.ingest(DATASET, "testResults", &results).await;
    let passing = "testResults { passing { type test { urn } } }";
    let found = app.read_dataset(passing).await;
    assert_eq!(
        found["testResults"],
        json!({"passing": [{"type": "SUCCESS", "test": {"urn": TEST}}]})
    );
    let delete = "mutation ($urn: String!) { deleteTest(urn: $urn) }";
    let reply = app.graphql_with(delete, json!({ "urn": TEST })).await;
    assert_eq!(reply["data"]["deleteTest"], true, "{reply}");
    let found = app.read_dataset(passing).await;
    assert_eq!(found["testResults"], json!({"passing": []}));
    let (_, message) = error_of(&app.graphql_with(delete, json!({ "urn": TEST })).await);
    assert!(message.contains("does not exist"), "{message}");
}
