//! Secrets inside of readable aspects are not shown over any API, whoever asks, and without
//! authentication none are created.

use axum::http::{Method, StatusCode, header};
use docent_http::AuthMode;
use serde_json::{Value, json};

use crate::support::{App, USER, encoded, token_of};

const SOURCE: &str = "urn:li:dataHubIngestionSource:warehouse";
const REQUEST: &str = "urn:li:dataHubExecutionRequest:warehouse";
const PASSWORD: &str = "hunter2-of-the-warehouse";

fn source(name: &str, recipe: &str) -> Value {
    json!({
        "name": name, "type": "snowflake",
        "config": {"recipe": recipe, "executorId": "default"},
    })
}

async fn app() -> App {
    let app = App::empty().await;
    let recipe = json!({"source": {"config": {"password": PASSWORD}}}).to_string();
    for name in ["Warehouse", "The warehouse"] {
        let value = source(name, &recipe);
        app.ingest(SOURCE, "dataHubIngestionSourceInfo", &value)
            .await;
    }
    let input = json!({
        "task": "RUN_INGEST", "args": {"recipe": recipe, "version": "1"}, "executorId": "default",
        "source": {"type": "MANUAL", "ingestionSource": SOURCE}, "requestedAt": 0,
    });
    app.ingest(REQUEST, "dataHubExecutionRequestInput", &input)
        .await;
    app
}

/// The recipe that is really stored.
async fn stored_recipe(app: &App) -> String {
    let urn = docent_model::Urn::parse(SOURCE).unwrap();
    let aspect = docent_model::Registry::get().aspect("dataHubIngestionSourceInfo");
    let key = docent_store::AspectKey::new(&urn, aspect.unwrap());
    let request = docent_store::ReadRequest::row(&key);
    let row = app.store().read(request).await.unwrap().into_row();
    let value: Value = serde_json::from_str(&row.unwrap().metadata).unwrap();
    value["config"]["recipe"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn recipes_are_redacted_over_rest() {
    let app = app().await;
    let (source, request) = (encoded(SOURCE), encoded(REQUEST));
    let info = "dataHubIngestionSourceInfo";
    let reads = [
        format!("/aspects/{source}?aspect={info}&version=0"),
        format!("/aspects/{source}?aspect={info}&version=1"),
        format!("/entitiesV2/{source}"),
        format!("/entities/{source}"),
        format!("/openapi/v3/entity/dataHubIngestionSource/{source}"),
        format!("/openapi/v3/entity/dataHubIngestionSource/{source}/{info}"),
        format!("/openapi/v3/entity/dataHubIngestionSource/{source}/{info}?version=1"),
        format!("/openapi/v3/entity/dataHubExecutionRequest/{request}"),
        format!("/entitiesV2/{request}"),
        "/openapi/v3/entity/dataHubIngestionSource?query=*".to_owned(),
    ];
    for path in reads {
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {reply}");
        assert!(!reply.to_string().contains(PASSWORD), "{path}: {reply}");
        if path.contains(info) {
            assert!(reply.to_string().contains("********"), "{path}: {reply}");
        }
    }
    let batch = json!([{"urn": SOURCE, info: {}}]);
    let path = "/openapi/v3/entity/dataHubIngestionSource/batchGet";
    let (_, reply) = app.post(path, &batch).await;
    assert!(!reply.to_string().contains(PASSWORD), "{reply}");
    let found = app
        .graphql(&format!(
            r#"{{ searchAcrossEntities(input: {{ types: [INGESTION_SOURCE], query: "{PASSWORD}" }}) {{ total }} }}"#
        ))
        .await;
    assert_eq!(found["data"]["searchAcrossEntities"]["total"], 0, "{found}");
}

#[tokio::test]
async fn what_was_read_can_be_written_back() {
    let app = app().await;
    let info = "dataHubIngestionSourceInfo";
    let mut read = app.aspect(SOURCE, info).await.unwrap();
    assert_eq!(read["config"]["recipe"], "********");
    read["name"] = json!("Renamed");
    app.ingest(SOURCE, info, &read).await;
    assert!(stored_recipe(&app).await.contains(PASSWORD));
    assert_eq!(app.aspect(SOURCE, info).await.unwrap()["name"], "Renamed");
    // Another recipe replaces it.
    app.ingest(SOURCE, info, &source("Renamed", "{}")).await;
    assert_eq!(stored_recipe(&app).await, "{}");
}

#[tokio::test]
async fn a_patch_cannot_copy_a_secret() {
    let app = app().await;
    let patch = json!([{"op": "copy", "from": "/config/recipe", "path": "/name"}]);
    let info = "dataHubIngestionSourceInfo";
    let (status, reply) = app.propose("PATCH", SOURCE, info, &patch).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{reply}");
    assert!(reply.to_string().contains("replaced as a whole"), "{reply}");
}

#[tokio::test]
async fn tokens_of_others_are_not_shown() {
    let app = App::empty().await;
    let other = token_of(&app.catalog, "urn:li:corpuser:rita", None).await;
    let found = app.catalog.find_token(&app.token).await.unwrap().unwrap();
    let query = format!(
        r#"{{ entity(urn: "urn:li:dataHubAccessToken:{}") {{ ... on AccessTokenMetadata {{ name ownerUrn }} }} }}"#,
        found.id
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["entity"]["ownerUrn"],
        crate::support::USER,
        "{reply}"
    );
    let reply = app.graphql_as(&other, &query).await;
    assert!(
        !reply.to_string().contains("urn:li:corpuser:datahub"),
        "{reply}"
    );
}

#[tokio::test]
async fn with_authentication_off_no_invite_and_reset_links_are_created() {
    let app = App::with_auth(AuthMode::Off).await;
    let reset = format!(
        r#"mutation {{ createNativeUserResetToken(input: {{ userUrn: "{USER}" }}) {{ resetToken }} }}"#
    );
    for (operation, command) in [
        (reset.as_str(), "docent user passwd"),
        (
            "mutation { createInviteToken(input: {}) { inviteToken } }",
            "docent user add",
        ),
        (
            "{ getInviteToken(input: {}) { inviteToken } }",
            "docent user add",
        ),
    ] {
        let (code, message) = app.graphql_error(operation).await;
        assert_eq!(code, 403, "{message}");
        assert!(message.contains(command), "{message}");
    }
}

/// The id of a token is a hash of its secret: neither secret nor anybody's business.
#[tokio::test]
async fn tokens_are_listed_to_their_users_and_administrators_alone() {
    let app = App::empty().await;
    let ada = token_of(&app.catalog, "urn:li:corpuser:ada", None).await;
    let list = json!({"entity": "dataHubAccessToken", "start": 0, "count": 10});
    let changes =
        "{ recentChanges(input: { types: [ACCESS_TOKEN], count: 20 }) { entity { urn } } }";
    for (token, count) in [(&ada, 1), (&app.token, 2)] {
        let mut request = app.request(Method::POST, "/entities?action=listUrns", list.to_string());
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let value = &reply["value"];
        assert_eq!(value["total"], count, "{reply}");
        assert_eq!(
            value["entities"].as_array().map(Vec::len),
            Some(count),
            "{reply}"
        );
        let reply = app.graphql_as(token, changes).await;
        let listed = reply["data"]["recentChanges"].as_array();
        assert_eq!(listed.map(Vec::len), Some(count), "{reply}");
    }
}

#[tokio::test]
async fn users_list_the_tokens_that_act_for_them() {
    let app = App::empty().await;
    let ada = token_of(&app.catalog, "urn:li:corpuser:ada", None).await;
    let by_operator = docent_catalog::tokens::NewToken {
        name: "by the operator".to_owned(),
        description: None,
        actor: docent_model::Urn::parse("urn:li:corpuser:ada").unwrap(),
        ttl_ms: None,
        scope: None,
    };
    let system = docent_catalog::Caller::system();
    app.catalog
        .create_token(&system, by_operator)
        .await
        .unwrap();
    let query =
        "{ listAccessTokens(input: { start: 0, count: 10 }) { total tokens { actorUrn } } }";
    let reply = app.graphql_as(&ada, query).await;
    let token = json!({"actorUrn": "urn:li:corpuser:ada"});
    let expected = json!({"total": 2, "tokens": [token, token]});
    assert_eq!(reply["data"]["listAccessTokens"], expected, "{reply}");
}
