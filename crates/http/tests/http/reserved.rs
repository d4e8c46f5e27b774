//! Aspects that only their use cases write, and links in the name of others.

use axum::http::{Method, StatusCode};
use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, USER, encoded, proposal, role, token_of};

const ADA: &str = "urn:li:corpuser:ada";
const POLICY: &str = "urn:li:dataHubPolicy:0";

/// Not even administrators write them directly, over any API.
#[tokio::test]
async fn only_their_use_cases_write_what_rights_depend_on() {
    let app = App::empty().await;
    let admins = token_of(&app.catalog, ADA, None).await;
    let admin = role("Admin");
    let ada = Urn::parse(ADA).unwrap();
    let assigned = app
        .catalog
        .assign_role(&Caller::system(), &[ada], Some(&admin))
        .await;
    assigned.unwrap();
    let policy = app.aspect(POLICY, "dataHubPolicyInfo").await.unwrap();
    let mut inactive = policy.clone();
    inactive["state"] = json!("INACTIVE");
    for (urn, aspect, value, hint) in [
        (POLICY, "dataHubPolicyInfo", &inactive, "updatePolicy"),
        (
            "urn:li:dataHubPolicy:new",
            "dataHubPolicyInfo",
            &policy,
            "createPolicy",
        ),
        (
            ADA,
            "roleMembership",
            &json!({"roles": []}),
            "batchAssignRole",
        ),
        (
            "urn:li:corpGroup:g",
            "roleMembership",
            &json!({"roles": ["urn:li:dataHubRole:Admin"]}),
            "batchAssignRole",
        ),
        (
            ADA,
            "nativeGroupMembership",
            &json!({"nativeGroups": ["urn:li:corpGroup:g"]}),
            "addGroupMembers",
        ),
        (
            "urn:li:inviteToken:t",
            "inviteToken",
            &json!({"token": "t"}),
            "createInviteToken",
        ),
        (
            "urn:li:globalSettings:0",
            "globalSettingsInfo",
            &json!({}),
            "the settings of the server",
        ),
    ] {
        // Secrets cannot be read either.
        let read = async || match aspect {
            "inviteToken" => None,
            _ => app.aspect(urn, aspect).await,
        };
        let before = read().await;
        let kind = urn.split(':').nth(2).unwrap();
        let one = format!("/openapi/v3/entity/{kind}/{}", encoded(urn));
        let patch = json!([{"op": "add", "path": "/x", "value": "y"}]);
        let single = |change: &str| json!({"proposal": proposal(change, urn, aspect, value)});
        let ingest = "/aspects?action=ingestProposal".to_owned();
        let list = json!({"proposals": [proposal("UPSERT", urn, aspect, value)]});
        let mut of_list = json!({"urn": urn});
        of_list[aspect] = json!({"value": value});
        for (method, path, body) in [
            (Method::POST, ingest.clone(), single("UPSERT")),
            (Method::POST, ingest.clone(), single("CREATE")),
            (Method::POST, ingest.clone(), single("DELETE")),
            (Method::POST, format!("{ingest}Batch"), list),
            (
                Method::POST,
                format!("/openapi/v3/entity/{kind}?async=false"),
                json!([of_list]),
            ),
            (
                Method::POST,
                format!("{one}/{aspect}"),
                json!({"value": value}),
            ),
            (Method::PATCH, format!("{one}/{aspect}"), patch),
            (Method::DELETE, format!("{one}/{aspect}"), Value::Null),
        ] {
            for token in [&app.token, &admins] {
                let (status, reply) = app.send_as(token, method.as_str(), &path, &body).await;
                let what = format!("{method} {path} {urn}: {reply}");
                assert_eq!(status, StatusCode::FORBIDDEN, "{what}");
                assert!(reply["message"].as_str().unwrap().contains(hint), "{what}");
            }
        }
        let patch = format!(
            r#"mutation {{ patchEntity(input: {{ urn: "{urn}", aspectName: "{aspect}",
                patch: [{{ op: ADD, path: "/x", value: "1" }}] }}) {{ success error }} }}"#
        );
        let reply = app.graphql(&patch).await;
        assert!(reply.to_string().contains(hint), "{reply}");
        assert_eq!(read().await, before);
    }
    // Nor by deleting the entity, or everything about it.
    let path = format!("/openapi/v3/entity/dataHubPolicy/{}", encoded(POLICY));
    let (status, _) = app.send_as(&admins, "DELETE", &path, &Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let body = json!({"urn": POLICY});
    let path = "/entities?action=delete";
    let (status, _) = app.send_as(&admins, "POST", path, &body).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let path = format!("/openapi/v3/entity/corpuser/{}?clear=true", encoded(ADA));
    let (status, _) = app.send_as(&app.token, "DELETE", &path, &Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let roles = app.aspect(ADA, "roleMembership").await;
    assert_eq!(roles, Some(json!({"roles": ["urn:li:dataHubRole:Admin"]})));
}

#[tokio::test]
async fn profiles_are_written_by_their_users_and_administrators() {
    let app = App::empty().await;
    let adas = token_of(&app.catalog, ADA, None).await;
    let about = |text: &str| json!({"aboutMe": text});
    let write = async |token: &str, urn: &str, aspect: &str, value: &Value| {
        let path = "/aspects?action=ingestProposal";
        let body = json!({"proposal": proposal("UPSERT", urn, aspect, value)});
        app.send_as(token, "POST", path, &body).await.0
    };
    let settings = json!({"appearance": {"showSimplifiedHomepage": true}});
    for (aspect, value) in [
        ("corpUserEditableInfo", about("x")),
        ("corpUserSettings", settings),
    ] {
        let denied = write(&adas, USER, aspect, &value).await;
        assert_eq!(denied, StatusCode::FORBIDDEN, "{aspect}");
        let allowed = write(&adas, ADA, aspect, &value).await;
        assert_eq!(allowed, StatusCode::OK, "{aspect}");
        let allowed = write(&app.token, ADA, aspect, &value).await;
        assert_eq!(allowed, StatusCode::OK, "{aspect}");
    }
}

/// A reader who may edit the links of the dataset, and nothing else about it.
#[tokio::test]
async fn links_have_the_caller_as_author_unless_the_caller_may_ingest() {
    let app = App::with_dataset().await;
    let adas = token_of(&app.catalog, ADA, None).await;
    let ada = Urn::parse(ADA).unwrap();
    let assigned = app
        .catalog
        .assign_role(&Caller::system(), &[ada], Some(&role("Reader")))
        .await;
    assigned.unwrap();
    let policy = json!({
        "type": "METADATA", "state": "ACTIVE", "name": "links", "privileges": ["EDIT_ENTITY_DOC_LINKS"],
        "actors": {"users": [ADA], "resourceOwners": false, "allUsers": false, "allGroups": false},
    });
    app.mutate("createPolicy", "PolicyUpdateInput", policy)
        .await;
    let link = |url: &str, author: &str| json!({"url": url, "description": "d", "createStamp": {"time": 1, "actor": author}});
    let authors = async || -> Vec<Value> {
        let links = app.aspect(DATASET, "institutionalMemory").await.unwrap();
        let links = links["elements"].as_array().unwrap().clone();
        links
            .iter()
            .map(|it| it["createStamp"]["actor"].clone())
            .collect()
    };
    let other = "urn:li:corpuser:grace";
    // The user datahub may ingest.
    let elements = json!({"elements": [link("https://a", other)]});
    app.ingest(DATASET, "institutionalMemory", &elements).await;
    assert_eq!(authors().await, [other]);
    let elements = json!({"elements": [link("https://a", ADA), link("https://b", other)]});
    let body = json!({"proposal": proposal("UPSERT", DATASET, "institutionalMemory", &elements)});
    let path = "/aspects?action=ingestProposal";
    let (status, reply) = app.send_as(&adas, "POST", path, &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(authors().await, [other, ADA]);
    let added = json!([{"op": "add", "path": "/elements/2", "value": link("https://c", other)}]);
    let path = format!(
        "/openapi/v3/entity/dataset/{}/institutionalMemory",
        encoded(DATASET)
    );
    let (status, reply) = app.send_as(&adas, "PATCH", &path, &added).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert!(!authors().await[1..].contains(&json!(other)), "{reply}");
    let update = async |token: &str, url: &str| {
        let mutation = format!(
            r#"mutation {{ updateDataset(urn: "{DATASET}", input: {{ institutionalMemory: {{ elements: [
                {{ author: "{other}", url: "{url}", description: "new", createdAt: 7 }}] }} }}) {{ urn }} }}"#
        );
        let reply = app.graphql_as(token, &mutation).await;
        assert_eq!(reply.get("errors"), None, "{reply}");
    };
    update(&adas, "https://d").await;
    assert_eq!(authors().await, [other, ADA, ADA, ADA]);
    // A new label has an author of its own.
    update(&adas, "https://a").await;
    let links = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    let link = &links["elements"][0];
    assert_eq!(link["createStamp"], json!({"time": 1, "actor": other}));
    assert_eq!(link["updateStamp"]["actor"], ADA);
    update(&app.token, "https://e").await;
    assert_eq!(authors().await, [other, ADA, ADA, ADA, other]);
}

/// What is proposed is in the name of the proposer, whoever accepts it.
#[tokio::test]
async fn proposed_links_have_the_proposer_as_author() {
    let app = App::with_dataset().await;
    let adas = token_of(&app.catalog, ADA, None).await;
    let assigned = app
        .catalog
        .assign_role(
            &Caller::system(),
            &[Urn::parse(ADA).unwrap()],
            Some(&role("Proposer")),
        )
        .await;
    assigned.unwrap();
    let mutation = format!(
        r#"mutation {{ updateDataset(urn: "{DATASET}", input: {{ institutionalMemory: {{ elements: [
            {{ author: "urn:li:corpuser:grace", url: "https://a", description: "d" }}] }} }}) {{ urn }} }}"#
    );
    let reply = app.graphql_as(&adas, &mutation).await;
    let proposal = &reply["extensions"]["proposals"][0];
    assert!(proposal.is_string(), "{reply}");
    let accept = format!("mutation {{ acceptProposals(proposalUrns: [{proposal}]) }}");
    let reply = app.graphql(&accept).await;
    assert_eq!(reply["data"]["acceptProposals"], true, "{reply}");
    let links = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    assert_eq!(links["elements"][0]["createStamp"]["actor"], ADA);
}

#[tokio::test]
async fn a_role_that_does_not_exist_is_not_assigned() {
    let app = App::empty().await;
    let assign = format!(
        r#"mutation {{ batchAssignRole(input: {{ roleUrn: "urn:li:dataHubRole:Raeder", actors: ["{USER}"] }}) }}"#
    );
    let (code, message) = app.graphql_error(&assign).await;
    assert_eq!(code, 400, "{message}");
    assert!(message.contains("Raeder. It does not exist"), "{message}");
    assert_eq!(app.aspect(USER, "roleMembership").await, None);
}

#[tokio::test]
async fn the_user_who_may_do_everything_is_neither_suspended_nor_deleted() {
    let app = App::empty().await;
    for mutation in [
        format!(r#"mutation {{ updateUserStatus(urn: "{USER}", status: SUSPENDED) }}"#),
        format!(r#"mutation {{ removeUser(urn: "{USER}") }}"#),
    ] {
        let (code, message) = app.graphql_error(&mutation).await;
        assert_eq!(code, 403, "{message}");
        assert!(message.contains("over the network"), "{message}");
    }
    // The operator may suspend it.
    let user = docent_model::Urn::parse(USER).unwrap();
    app.catalog
        .suspend_user(&Caller::system(), &user)
        .await
        .unwrap();
}
