//! Secrets of ingestion: stored encrypted, listed without their values, and read by those who
//! manage them.

use docent_catalog::ingestion_secrets::SecretKeys;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::support::{App, secret_key, token_of};

const SECRET: &str = "urn:li:dataHubSecret:WAREHOUSE";
const PASSWORD: &str = "hunter2-of-the-warehouse";

async fn create(app: &App) {
    let input = json!({"name": "WAREHOUSE", "value": PASSWORD, "description": "Of the loader"});
    let urn = app.mutate("createSecret", "CreateSecretInput", input).await;
    assert_eq!(urn, SECRET);
}

async fn values(app: &App, names: &[&str]) -> Value {
    let query =
        "query ($input: GetSecretValuesInput!) { getSecretValues(input: $input) { name value } }";
    let reply = app
        .graphql_with(query, json!({"input": {"secrets": names}}))
        .await;
    reply["data"]["getSecretValues"].clone()
}

/// The text in the store.
async fn stored(app: &App) -> String {
    let key = AspectKey::new(&Urn::parse(SECRET).unwrap(), AspectName::SECRET_VALUE);
    let row = app.store().read(ReadRequest::row(&key)).await.unwrap();
    row.into_row().unwrap().metadata.clone()
}

#[tokio::test]
async fn a_secret_is_stored_encrypted_and_read_by_name() {
    let app = App::empty().await;
    create(&app).await;
    assert!(!stored(&app).await.contains(PASSWORD));
    let list = "{ listSecrets(input: {}) { start count total secrets { urn name description } } }";
    let reply = app.graphql(list).await;
    let secret = json!({"urn": SECRET, "name": "WAREHOUSE", "description": "Of the loader"});
    assert_eq!(
        reply["data"]["listSecrets"],
        json!({"start": 0, "count": 20, "total": 1, "secrets": [secret]})
    );
    let found = app
        .graphql(r#"{ listSecrets(input: { query: "other" }) { total secrets { urn } } }"#)
        .await;
    assert_eq!(found["data"]["listSecrets"]["total"], 0, "{found}");
    assert_eq!(
        values(&app, &["WAREHOUSE", "WAREHOUSE", "missing"]).await,
        json!([{"name": "WAREHOUSE", "value": PASSWORD}])
    );
}

#[tokio::test]
async fn an_update_replaces_the_value_and_its_history() {
    let app = App::empty().await;
    create(&app).await;
    let input = json!({"urn": SECRET, "name": "Warehouse", "value": "new"});
    let urn = app.mutate("updateSecret", "UpdateSecretInput", input).await;
    assert_eq!(urn, SECRET);
    let expected = json!([{"name": "Warehouse", "value": "new"}]);
    assert_eq!(values(&app, &["WAREHOUSE"]).await, expected);
    let value: Value = serde_json::from_str(&stored(&app).await).unwrap();
    assert_eq!(value["description"], Value::Null);
    assert_eq!(value["created"]["actor"], crate::support::USER);
    let key = AspectKey::new(&Urn::parse(SECRET).unwrap(), AspectName::SECRET_VALUE);
    let histories = app.store().histories_read(&[key]).await.unwrap();
    assert_eq!(histories[0].len(), 1, "{histories:?}");
    let deleted = app
        .graphql(&format!(r#"mutation {{ deleteSecret(urn: "{SECRET}") }}"#))
        .await;
    assert_eq!(deleted["data"]["deleteSecret"], SECRET, "{deleted}");
    assert_eq!(values(&app, &["WAREHOUSE"]).await, json!([]));
}

#[tokio::test]
async fn invalid_secrets_are_rejected() {
    let app = App::empty().await;
    create(&app).await;
    let missing = "urn:li:dataHubSecret:missing";
    for (field, kind, input, code, part) in [
        (
            "createSecret",
            "CreateSecretInput",
            json!({"name": "WAREHOUSE", "value": "x"}),
            409,
            "already exists",
        ),
        (
            "createSecret",
            "CreateSecretInput",
            json!({"name": " ", "value": "x"}),
            400,
            "empty",
        ),
        (
            "createSecret",
            "CreateSecretInput",
            json!({"name": "long", "value": "x".repeat(65_537)}),
            400,
            "65537 characters",
        ),
        (
            "updateSecret",
            "UpdateSecretInput",
            json!({"urn": missing, "name": "x", "value": "x"}),
            400,
            "does not exist",
        ),
        (
            "updateSecret",
            "UpdateSecretInput",
            json!({"urn": crate::support::USER, "name": "x", "value": "x"}),
            400,
            "dataHubSecret",
        ),
    ] {
        let (found, message) = app.mutate_error(field, kind, input).await;
        assert_eq!(found, code, "{field}: {message}");
        assert!(message.contains(part), "{field}: {message}");
    }
    let delete = format!(r#"mutation {{ deleteSecret(urn: "{missing}") }}"#);
    assert_eq!(app.graphql_error(&delete).await.0, 400);
    let expected = json!([{"name": "WAREHOUSE", "value": PASSWORD}]);
    assert_eq!(values(&app, &["WAREHOUSE"]).await, expected);
}

#[tokio::test]
async fn without_a_key_the_error_names_the_setting() {
    let app = App::without_secret_keys().await;
    let create = r#"mutation { createSecret(input: { name: "x", value: "y" }) }"#;
    let read = r#"{ getSecretValues(input: { secrets: ["x"] }) { value } }"#;
    for operation in [create, read] {
        let (code, message) = app.graphql_error(operation).await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains("--secret-key-file"), "{message}");
    }
}

#[tokio::test]
async fn a_replaced_key_decrypts_until_everything_is_encrypted_again() {
    let app = App::empty().await;
    create(&app).await;
    let names = ["WAREHOUSE".to_owned()];
    let system = docent_catalog::Caller::system();
    let only_new = SecretKeys {
        current: secret_key('A'),
        previous: None,
    };
    let only_new = app.catalog.clone().with_secret_keys(Some(only_new));
    let error = only_new.secret_values(&system, &names).await.unwrap_err();
    assert!(
        error.to_string().contains("--previous-secret-key-file"),
        "{error}"
    );
    let both = SecretKeys {
        current: secret_key('A'),
        previous: Some(secret_key('k')),
    };
    let both = app.catalog.clone().with_secret_keys(Some(both));
    let read = both.secret_values(&system, &names).await.unwrap();
    assert_eq!(read[0].value, PASSWORD);
    assert_eq!(both.reencrypt_secrets().await.unwrap(), 1);
    assert_eq!(both.reencrypt_secrets().await.unwrap(), 0);
    let read = only_new.secret_values(&system, &names).await.unwrap();
    assert_eq!(read[0].value, PASSWORD);
    let value: Value = serde_json::from_str(&stored(&app).await).unwrap();
    assert_eq!(value["description"], "Of the loader");
}

#[tokio::test]
async fn reading_values_is_an_event_of_the_audit_log_and_so_is_a_denial() {
    let app = App::empty().await;
    create(&app).await;
    values(&app, &["WAREHOUSE"]).await;
    let eddie = token_of(&app.catalog, "urn:li:corpuser:eddie", None).await;
    let read = r#"{ getSecretValues(input: { secrets: ["WAREHOUSE"] }) { value } }"#;
    let reply = app.graphql_as(&eddie, read).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    assert!(!reply.to_string().contains(PASSWORD), "{reply}");
    let log = r#"{ auditLog(input: { operation: "getSecretValues" }) {
        events { actorUrn outcome entities { urn } } } }"#;
    let reply = app.graphql(log).await;
    let event = |actor: &str, outcome: &str| json!({"actorUrn": actor, "outcome": outcome, "entities": [{"urn": SECRET}]});
    assert_eq!(
        reply["data"]["auditLog"]["events"],
        json!([
            event("urn:li:corpuser:eddie", "DENIED"),
            event(crate::support::USER, "ALLOWED"),
        ]),
        "{reply}"
    );
}
