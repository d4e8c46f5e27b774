//! Connections with other platforms: their details are stored encrypted, and only tokens of those
//! who manage connections read them.

use docent_catalog::ingestion_secrets::SecretKeys;
use docent_catalog::{AspectKey, Caller, Proposal, ReadRequest};
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::sign_in::{add, query_with_cookie, session};
use crate::support::{App, secret_key, token_of};

const CONNECTION: &str = "urn:li:dataHubConnection:chat";
const BLOB: &str = r#"{"password":"hunter2-of-the-chat"}"#;
const READ: &str = r#"{ connection(urn: "urn:li:dataHubConnection:chat") { urn type
    details { type name json { blob } } platform { urn } } }"#;

fn input(blob: &str) -> Value {
    json!({"id": "chat", "type": "JSON", "platformUrn": "urn:li:dataPlatform:slack", "name": "Chat", "json": {"blob": blob}})
}

async fn upsert(app: &App, input: Value) -> Value {
    let text =
        "mutation ($input: UpsertDataHubConnectionInput!) { upsertConnection(input: $input) {
        urn details { type name json { blob } } platform { urn } } }";
    app.graphql_with(text, json!({ "input": input })).await
}

/// The texts in the store, with the history.
async fn stored(app: &App) -> Vec<String> {
    let key = AspectKey::new(
        &Urn::parse(CONNECTION).unwrap(),
        AspectName::CONNECTION_DETAILS,
    );
    let histories = app.store().histories_read(&[key]).await.unwrap();
    let texts = histories[0].iter().map(|row| format!("{row:?}"));
    texts.collect()
}

async fn allow(app: &App, user: &str, privilege: &str) -> String {
    let token = token_of(&app.catalog, user, None).await;
    let policy = json!({
        "displayName": user, "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": [privilege], "actors": {"users": [user]},
    });
    let name = user.rsplit(':').next().unwrap_or_default();
    let urn = format!("urn:li:dataHubPolicy:{privilege}-{name}");
    app.write_policy(&urn, &policy).await;
    token
}

#[tokio::test]
async fn a_connection_is_stored_encrypted_without_history() {
    let app = App::empty().await;
    // Administrators manage ingestion, not connections.
    let expected = json!({"urn": CONNECTION, "details": {"type": "JSON", "name": "Chat", "json": null},
        "platform": {"urn": "urn:li:dataPlatform:slack"}});
    for blob in [BLOB, "{}"] {
        let reply = upsert(&app, input(blob)).await;
        assert_eq!(reply["data"]["upsertConnection"], expected, "{reply}");
        let stored = stored(&app).await;
        assert_eq!(stored.len(), 1, "{stored:?}");
        assert!(!stored[0].contains("hunter2"), "{stored:?}");
    }
    let mut unnamed = input(BLOB);
    for member in ["id", "name"] {
        unnamed.as_object_mut().unwrap().remove(member);
    }
    let reply = upsert(&app, unnamed).await;
    let created = &reply["data"]["upsertConnection"];
    assert_ne!(created["urn"], CONNECTION, "{reply}");
    assert_eq!(created["details"]["name"], Value::Null, "{reply}");
    let none = r#"{ connection(urn: "urn:li:dataHubConnection:none") { urn } }"#;
    let reply = app.graphql(none).await;
    assert_eq!(reply["data"], json!({ "connection": null }), "{reply}");
}

#[tokio::test]
async fn invalid_connections_and_servers_without_a_key_change_nothing() {
    let app = App::empty().await;
    let with = |member: &str, value: Value| {
        let mut input = input(BLOB);
        input[member] = value;
        input
    };
    for (input, expected) in [
        (with("json", Value::Null), "json is missing"),
        (with("json", json!({"blob": "hunter2"})), "is not JSON"),
        (with("json", json!({"blob": ""})), "is not JSON"),
        (with("json", json!({"blob": "{} {"})), "is not JSON"),
        (with("platformUrn", json!("urn:li:tag:t")), "dataPlatform"),
        (with("name", json!("")), "the name is empty"),
        (with("id", json!(CONNECTION)), "without the URN prefix"),
        (
            with("json", json!({"blob": "x".repeat(65_537)})),
            "at most 65536",
        ),
    ] {
        let reply = upsert(&app, input).await;
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let without = App::without_secret_keys().await;
    let reply = upsert(&without, input(BLOB)).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("--secret-key-file"), "{message}");
    for app in [app, without] {
        assert!(stored(&app).await.is_empty());
    }
}

#[tokio::test]
async fn the_details_are_read_by_tokens_of_those_who_manage_connections() {
    let app = App::empty().await;
    upsert(&app, input(BLOB)).await;
    let blob = |reply: &Value| reply["data"]["connection"]["details"]["json"]["blob"].clone();
    let manager = allow(&app, "urn:li:corpuser:carl", "MANAGE_CONNECTIONS").await;
    let reply = app.graphql_as(&manager, READ).await;
    assert_eq!(blob(&reply), BLOB, "{reply}");
    // Those who manage ingestion see that there is one.
    let ingestion = allow(&app, "urn:li:corpuser:ida", "MANAGE_INGESTION").await;
    let reply = app.graphql_as(&ingestion, READ).await;
    let connection = &reply["data"]["connection"];
    assert_eq!(connection["details"]["name"], "Chat", "{reply}");
    assert_eq!(connection["details"]["json"], Value::Null, "{reply}");
    // A session of the same user gets none.
    add(&app, "urn:li:corpuser:cora").await;
    allow(&app, "urn:li:corpuser:cora", "MANAGE_CONNECTIONS").await;
    let cookie = session(&app, "cora").await;
    let (_, reply) = app.send(query_with_cookie(&cookie, READ)).await;
    let details = &reply["data"]["connection"]["details"];
    assert_eq!(details["name"], "Chat", "{reply}");
    assert_eq!(details["json"], Value::Null, "{reply}");
    let eddie = token_of(&app.catalog, "urn:li:corpuser:eddie", None).await;
    let reply = app.graphql_as(&eddie, READ).await;
    assert_eq!(reply["data"], json!({ "connection": null }), "{reply}");
    let log = r#"{ auditLog(input: { operation: "connection" }) { events { actorUrn entities { urn } } } }"#;
    let reply = app.graphql(log).await;
    let expected = json!([{"actorUrn": "urn:li:corpuser:carl", "entities": [{"urn": CONNECTION}]}]);
    assert_eq!(reply["data"]["auditLog"]["events"], expected, "{reply}");
}

#[tokio::test]
async fn connections_are_encrypted_again_when_the_key_is_replaced() {
    let app = App::empty().await;
    upsert(&app, input(BLOB)).await;
    let (system, urns) = (Caller::system(), [Urn::parse(CONNECTION).unwrap()]);
    let with_keys = |previous| {
        let current = secret_key('A');
        let keys = SecretKeys { current, previous };
        app.catalog.clone().with_secret_keys(Some(keys))
    };
    let only_new = with_keys(None);
    let blobs = only_new.connection_blobs(&system, &urns).await.unwrap();
    let error = blobs[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("--previous-secret-key-file"), "{error}");
    assert!(error.contains("upsertConnection"), "{error}");
    let both = with_keys(Some(secret_key('k')));
    assert_eq!(both.reencrypt_secrets().await.unwrap(), 1);
    assert_eq!(both.reencrypt_secrets().await.unwrap(), 0);
    let blobs = only_new.connection_blobs(&system, &urns).await.unwrap();
    assert_eq!(blobs[0].as_ref().unwrap().as_deref(), Some(BLOB));
    let key = AspectKey::new(&urns[0], AspectName::CONNECTION_DETAILS);
    let row = app.store().read(ReadRequest::row(&key)).await.unwrap();
    let details: Value = serde_json::from_str(&row.into_row().unwrap().metadata).unwrap();
    assert_eq!(details["name"], "Chat");
}

/// Replaces what is stored by what cannot be decrypted, as the operator may.
async fn damage(app: &App, id: &str) -> Urn {
    let urn = Urn::new("dataHubConnection", id).unwrap();
    app.add_connection(id).await;
    let aspect = AspectName::CONNECTION_DETAILS;
    let key = AspectKey::new(&urn, aspect);
    let row = app.store().read(ReadRequest::row(&key)).await.unwrap();
    let mut details: Value = serde_json::from_str(&row.into_row().unwrap().metadata).unwrap();
    let blob = details["json"]["encryptedBlob"].as_str().unwrap();
    let (key, _) = blob.rsplit_once('.').unwrap();
    details["json"]["encryptedBlob"] = json!(format!("{key}.AAAA"));
    let write = Proposal::upsert(urn.clone(), aspect, details.to_string());
    let written = app.catalog.ingest(&Caller::system(), vec![write]).await;
    written.unwrap();
    urn
}

#[tokio::test]
async fn a_damaged_connection_fails_alone() {
    let app = App::empty().await;
    upsert(&app, input(BLOB)).await;
    let damaged = damage(&app, "a-damaged").await;
    let urns = [damaged, Urn::parse(CONNECTION).unwrap()];
    let system = Caller::system();
    let blobs = app.catalog.connection_blobs(&system, &urns).await.unwrap();
    let error = blobs[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
    assert_eq!(blobs[1].as_ref().unwrap().as_deref(), Some(BLOB));
    let manager = allow(&app, "urn:li:corpuser:carl", "MANAGE_CONNECTIONS").await;
    let both = r#"{ bad: connection(urn: "urn:li:dataHubConnection:a-damaged") { details { json { blob } } }
        good: connection(urn: "urn:li:dataHubConnection:chat") { details { json { blob } } } }"#;
    let reply = app.graphql_as(&manager, both).await;
    assert_eq!(
        reply["data"]["good"]["details"]["json"]["blob"], BLOB,
        "{reply}"
    );
    assert_eq!(reply["errors"].as_array().unwrap().len(), 1, "{reply}");

    // A new key skips it.
    let keys = SecretKeys {
        current: secret_key('A'),
        previous: Some(secret_key('k')),
    };
    let catalog = app.catalog.clone().with_secret_keys(Some(keys));
    assert_eq!(catalog.reencrypt_secrets().await.unwrap(), 1);
}

#[tokio::test]
async fn the_details_are_not_ingested() {
    let app = App::empty().await;
    let details = json!({"type": "JSON", "name": "c", "json": {"encryptedBlob": "x"}});
    let aspect = "dataHubConnectionDetails";
    let sent = app.propose("UPSERT", CONNECTION, aspect, &details).await;
    assert_eq!(sent.0, 403, "{}", sent.1);
    assert!(
        sent.1.to_string().contains("upsertConnection"),
        "{}",
        sent.1
    );
    let body = json!([{"urn": CONNECTION, aspect: {"value": details}}]);
    let path = "/openapi/v3/entity/dataHubConnection?async=false";
    let (status, reply) = app.post(path, &body).await;
    assert_eq!(status, 403, "{reply}");
    assert!(stored(&app).await.is_empty());
}
