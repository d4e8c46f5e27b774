//! Accounts of programs.

use docent_catalog::people::{NewUser, Password};
use docent_model::Urn;
use serde_json::json;

use crate::accounts::code;
use crate::sign_in::{ADA, ME, PASSWORD, system};
use crate::support::{App, USER, token_of};

#[tokio::test]
async fn service_accounts_authenticate_with_tokens_and_cannot_sign_in() {
    let app = App::empty().await;
    let query = "mutation { createServiceAccount(input: {displayName: \"Airflow\", description: \"Pipelines\"}) { urn type name displayName description createdBy createdAt updatedAt } }";
    let reply = app.graphql(query).await;
    let account = &reply["data"]["createServiceAccount"];
    let service = account["urn"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned();
    assert!(service.starts_with("urn:li:corpuser:service_"), "{service}");
    assert_eq!(account["type"], "CORP_USER");
    assert_eq!(account["displayName"], "Airflow");
    assert_eq!(account["description"], "Pipelines");
    assert_eq!(account["createdBy"], USER);
    let name = account["name"].as_str().unwrap();
    assert_eq!(service, format!("urn:li:corpuser:service_{name}"));
    let listed = app
        .graphql("{ all: listServiceAccounts(input: {}) { total serviceAccounts { urn displayName } } some: listServiceAccounts(input: {query: \"airf\"}) { total } none: listServiceAccounts(input: {query: \"dbt\"}) { total } }")
        .await;
    assert_eq!(
        listed["data"]["all"]["serviceAccounts"][0]["urn"], service,
        "{listed}"
    );
    assert_eq!(listed["data"]["some"]["total"], 1);
    assert_eq!(listed["data"]["none"]["total"], 0);
    let one = app
        .graphql(&format!(
            "{{ getServiceAccount(urn: \"{service}\") {{ displayName }} }}"
        ))
        .await;
    assert_eq!(one["data"]["getServiceAccount"]["displayName"], "Airflow");

    let user = Urn::parse(&service).unwrap();
    let password = Password::new(PASSWORD).unwrap();
    let set = app.catalog.set_password(&system(), &user, &password).await;
    assert!(set.unwrap_err().to_string().contains("service account"));
    let new = NewUser {
        user,
        display_name: None,
        email: None,
        password,
    };
    let added = app.catalog.add_user(&system(), new, None).await;
    assert!(added.unwrap_err().to_string().contains("service account"));
    let link = format!(
        "mutation {{ createNativeUserResetToken(input: {{userUrn: \"{service}\"}}) {{ resetToken }} }}"
    );
    assert_eq!(app.graphql_error(&link).await.0, 409);

    // Somebody who manages service accounts, and no other users' tokens.
    let policy = json!({
        "type": "PLATFORM", "state": "ACTIVE", "name": "Operators", "privileges": ["MANAGE_SERVICE_ACCOUNTS"],
        "actors": {"users": [ADA], "resourceOwners": false, "allUsers": false, "allGroups": false},
    });
    let ada = token_of(&app.catalog, ADA, Some(86_400_000)).await;
    app.mutate("createPolicy", "PolicyUpdateInput", policy)
        .await;
    let create = |actor: &str| {
        format!(
            "mutation {{ createAccessToken(input: {{type: SERVICE_ACCOUNT, actorUrn: \"{actor}\", duration: ONE_HOUR, name: \"t\"}}) {{ accessToken }} }}"
        )
    };
    let reply = app.graphql_as(&ada, &create(&service)).await;
    let token = reply["data"]["createAccessToken"]["accessToken"].as_str();
    let token = token.unwrap_or_else(|| panic!("{reply}")).to_owned();
    let reply = app.graphql_as(&token, ME).await;
    assert_eq!(reply["data"]["me"]["corpUser"]["urn"], service);
    assert_eq!(code(&app.graphql_as(&ada, &create(USER)).await), 403);

    let delete = |urn: &str| format!("mutation {{ deleteServiceAccount(urn: \"{urn}\") }}");
    assert_eq!(code(&app.graphql_as(&ada, &delete(USER)).await), 404);
    let reply = app.graphql_as(&ada, &delete(&service)).await;
    assert_eq!(reply["data"]["deleteServiceAccount"], true, "{reply}");
    let reply = app.graphql_as(&token, ME).await;
    assert!(
        reply["message"].as_str().is_some(),
        "the token is gone: {reply}"
    );
}
