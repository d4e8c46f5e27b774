//! Applications and their assets.

use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, USER};

const PAYMENTS: &str = "urn:li:application:payments";
const SHOP: &str = "urn:li:application:shop";

async fn create(app: &App, input: Value) -> Value {
    let text = "mutation ($input: CreateApplicationInput!) { createApplication(input: $input) { urn
        properties { name description numAssets } ownership { owners { owner { ... on CorpUser { urn } } } }
        domain { domain { urn } } } }";
    app.graphql_with(text, json!({"input": input})).await
}

/// A catalog with two applications.
async fn app() -> App {
    let app = App::with_dataset().await;
    for (id, name) in [("payments", "Payments"), ("shop", "Shop")] {
        create(&app, json!({"id": id, "properties": {"name": name}})).await;
    }
    app
}

fn members(application: Option<&str>, assets: &[&str]) -> Value {
    json!({"applicationUrn": application, "resourceUrns": assets})
}

const SET: &str = "BatchSetApplicationInput";

#[tokio::test]
async fn an_application_is_created_changed_and_deleted() {
    let app = App::with_dataset().await;
    let finance = "urn:li:domain:finance";
    let domain = json!({"name": "Finance", "description": ""});
    app.ingest(finance, "domainProperties", &domain).await;
    let input = json!({"id": "payments", "domainUrn": finance, "properties": {"name": "Payments", "description": "Pays"}});
    assert_eq!(
        create(&app, input.clone()).await["data"]["createApplication"],
        json!({
            "urn": PAYMENTS, "properties": {"name": "Payments", "description": "Pays", "numAssets": 0},
            "ownership": {"owners": [{"owner": {"urn": USER}}]}, "domain": {"domain": {"urn": finance}},
        })
    );
    let again = create(&app, input).await;
    assert_eq!(again["errors"][0]["extensions"]["code"], 409, "{again}");
    let unowned =
        json!({"id": "shop", "properties": {"name": "Shop"}, "shouldAddCreatorAsOwner": false});
    let unowned = create(&app, unowned).await;
    assert_eq!(
        unowned["data"]["createApplication"]["ownership"],
        Value::Null
    );
    for bad in [
        json!({"properties": {"name": ""}}),
        json!({"properties": {"name": "x"}, "domainUrn": "urn:li:domain:none"}),
    ] {
        let reply = create(&app, bad).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    }

    let update = format!(
        r#"mutation {{ updateApplication(urn: "{PAYMENTS}", input: {{ name: "Billing" }}) {{ properties {{ name description }} }} }}"#
    );
    assert_eq!(
        app.graphql(&update).await["data"]["updateApplication"]["properties"],
        json!({"name": "Billing", "description": "Pays"})
    );
    app.mutate(
        "batchSetApplication",
        SET,
        members(Some(PAYMENTS), &[DATASET]),
    )
    .await;
    app.mutate("batchSetApplication", SET, members(Some(SHOP), &[DATASET]))
        .await;
    let delete = format!(r#"mutation {{ deleteApplication(urn: "{PAYMENTS}") }}"#);
    assert_eq!(
        app.graphql(&delete).await["data"]["deleteApplication"],
        true
    );
    let left = app.aspect(DATASET, "applications").await.unwrap();
    assert_eq!(left["applications"], json!([SHOP]));
    let missing = format!(r#"{{ application(urn: "{PAYMENTS}") {{ urn }} }}"#);
    assert_eq!(app.graphql_error(&missing).await.0, 404);
    for mutation in [delete, update] {
        assert_eq!(app.graphql_error(&mutation).await.0, 400);
    }
}

#[tokio::test]
async fn assets_belong_to_several_applications() {
    let app = app().await;
    let stored = async || {
        let value = app.aspect(DATASET, "applications").await.unwrap();
        value["applications"].clone()
    };
    for application in [PAYMENTS, SHOP, PAYMENTS] {
        let input = members(Some(application), &[DATASET]);
        assert_eq!(app.mutate("batchSetApplication", SET, input).await, true);
    }
    assert_eq!(stored().await, json!([PAYMENTS, SHOP]));
    let read = format!(
        r#"{{ listApplicationAssets(urn: "{SHOP}", input: {{ query: "*" }}) {{ total searchResults {{ entity {{ urn }} }} }}
            application(urn: "{SHOP}") {{ urn type exists properties {{ numAssets }} }}
            dataset(urn: "{DATASET}") {{ applications {{ application {{ urn }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({
            "listApplicationAssets": {"total": 1, "searchResults": [{"entity": {"urn": DATASET}}]},
            "application": {"urn": SHOP, "type": "APPLICATION", "exists": true, "properties": {"numAssets": 1}},
            "dataset": {"applications": [{"application": {"urn": PAYMENTS}}, {"application": {"urn": SHOP}}]},
        })
    );
    let unset = "BatchUnsetApplicationInput";
    for _ in 0..2 {
        let input = members(Some(PAYMENTS), &[DATASET]);
        app.mutate("batchUnsetApplication", unset, input).await;
        assert_eq!(stored().await, json!([SHOP]));
    }
    let none = "urn:li:application:none";
    for (application, assets, message) in [
        (
            SHOP,
            [DATASET, MISSING].as_slice(),
            format!("{MISSING} in resources does not exist"),
        ),
        (
            none,
            &[DATASET],
            format!("Application urn {none} does not exist"),
        ),
        (none, &[], format!("Application urn {none} does not exist")),
    ] {
        let input = members(Some(application), assets);
        let error = app.mutate_error("batchSetApplication", SET, input);
        let expected = format!("Failed to update applications, {message}");
        let (code, message) = error.await;
        assert_eq!(code, 400);
        assert!(message.ends_with(&expected), "{message}");
    }
    app.mutate("batchSetApplication", SET, members(None, &[DATASET]))
        .await;
    assert_eq!(stored().await, json!([]));
}
