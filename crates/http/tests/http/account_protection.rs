//! What somebody with the right to edit metadata cannot do to the accounts of others.

use axum::http::StatusCode;
use docent_catalog::Caller;
use docent_catalog::external_users::ExternalUser;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, USER, proposal, role, token_of};

const EDITOR: &str = "urn:li:corpuser:ed";
const ADA: &str = "urn:li:corpuser:ada";
const MEMBER: &str = "urn:li:corpuser:member";
const EXTERNAL: &str = "urn:li:corpuser:external";
const NOBODY: &str = "urn:li:corpuser:nobody";
const GROUP: &str = "urn:li:corpGroup:admins";

/// An administrator without a password, a member of a group, a user of an identity provider, and
/// somebody whom ingestion has named.
async fn add_people(app: &App) {
    let info = json!({"active": true});
    for urn in [ADA, MEMBER, NOBODY] {
        app.ingest(urn, "corpUserInfo", &info).await;
    }
    let (system, ada) = (Caller::system(), [Urn::parse(ADA).unwrap()]);
    let admin = role("Admin");
    let assigned = app.catalog.assign_role(&system, &ada, Some(&admin));
    assigned.await.unwrap();
    let groups = json!({"groups": [GROUP]});
    app.ingest(MEMBER, "groupMembership", &groups).await;
    let external = ExternalUser {
        name: "external".to_owned(),
        display_name: None,
        email: None,
        groups: Some(Vec::new()),
        issued_at: None,
        provider: "example".to_owned(),
        may_create: true,
    };
    let verify = async || Ok(Some((external, i64::MAX)));
    let known = app
        .catalog
        .authenticate_external("token", None, verify)
        .await;
    assert!(known.unwrap().is_some());
}

#[tokio::test]
async fn editors_neither_soft_delete_nor_restore_people_with_rights() {
    let app = App::empty().await;
    let editor = token_of(&app.catalog, EDITOR, None).await;
    add_people(&app).await;
    let set = async |token: &str, urn: &str, removed: bool| {
        let status = json!({"removed": removed});
        let body = json!({"proposal": proposal("UPSERT", urn, "status", &status)});
        let path = "/aspects?action=ingestProposal";
        app.send_as(token, "POST", path, &body).await.0
    };
    for removed in [true, false] {
        for (urn, expected) in [
            (ADA, StatusCode::FORBIDDEN),
            (MEMBER, StatusCode::FORBIDDEN),
            (EXTERNAL, StatusCode::FORBIDDEN),
            (NOBODY, StatusCode::OK),
        ] {
            assert_eq!(
                set(&editor, urn, removed).await,
                expected,
                "{urn} {removed}"
            );
            assert_eq!(set(&app.token, urn, removed).await, StatusCode::OK, "{urn}");
        }
    }
    // Without a role, ada is somebody whom ingestion has named.
    let (system, ada) = (Caller::system(), [Urn::parse(ADA).unwrap()]);
    app.catalog.assign_role(&system, &ada, None).await.unwrap();
    assert_eq!(set(&editor, ADA, true).await, StatusCode::OK);
    // So is somebody whom an administrator has removed.
    let external = Urn::parse(EXTERNAL).unwrap();
    app.catalog.remove_user(&system, &external).await.unwrap();
    let info = json!({"active": true});
    app.ingest(EXTERNAL, "corpUserInfo", &info).await;
    assert_eq!(set(&editor, EXTERNAL, true).await, StatusCode::OK);
}

/// A steward, the owner of a group and a service account: nobody has acted as them yet.
#[tokio::test]
async fn editors_do_not_remove_people_whom_others_gave_rights() {
    const STEWARD: &str = "urn:li:corpuser:steward";
    const OWNER: &str = "urn:li:corpuser:owner";
    const POLICY: &str = "urn:li:dataHubPolicy:docent-stewards-finance";
    let app = App::empty().await;
    let editor = token_of(&app.catalog, EDITOR, None).await;
    let info = json!({"active": true});
    for urn in [STEWARD, OWNER] {
        app.ingest(urn, "corpUserInfo", &info).await;
    }
    let domain = json!({"name": "Finance"});
    app.ingest("urn:li:domain:finance", "domainProperties", &domain)
        .await;
    let steward = format!(
        r#"mutation {{ addDomainSteward(domainUrn: "urn:li:domain:finance", actorUrn: "{STEWARD}") }}"#
    );
    assert_eq!(
        app.graphql(&steward).await["data"]["addDomainSteward"],
        true
    );
    let policy = app.aspect(POLICY, "dataHubPolicyInfo").await;
    assert_eq!(
        policy.as_ref().unwrap()["actors"]["users"],
        json!([STEWARD])
    );
    let info = json!({"admins": [], "members": [], "groups": []});
    app.ingest(GROUP, "corpGroupInfo", &info).await;
    let owner = json!([{"owner": OWNER, "type": "TECHNICAL_OWNER"}]);
    let owners = json!({"owners": owner, "lastModified": {"time": 0, "actor": USER}});
    app.ingest(GROUP, "ownership", &owners).await;
    let owners = app.aspect(GROUP, "ownership").await;
    let reply = app
        .graphql(r#"mutation { createServiceAccount(input: { displayName: "etl" }) { urn } }"#)
        .await;
    let service = reply["data"]["createServiceAccount"]["urn"].as_str();

    let removed = json!({"removed": true});
    for urn in [STEWARD, OWNER, service.unwrap()] {
        let soft = json!({"proposal": proposal("UPSERT", urn, "status", &removed)});
        for (path, body) in [
            ("/aspects?action=ingestProposal", soft),
            ("/entities?action=delete", json!({"urn": urn})),
            ("/entities?action=deleteReferences", json!({"urn": urn})),
        ] {
            let (status, reply) = app.send_as(&editor, "POST", path, &body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{path} {urn} {reply}");
        }
    }
    assert_eq!(app.aspect(POLICY, "dataHubPolicyInfo").await, policy);
    assert_eq!(app.aspect(GROUP, "ownership").await, owners);
    // The administrator may, and so do editors when the rights are gone.
    let body = json!({"urn": STEWARD});
    let (status, reply) = app.post("/entities?action=delete", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let none = json!({"owners": [], "lastModified": {"time": 0, "actor": USER}});
    app.ingest(GROUP, "ownership", &none).await;
    let body = json!({"urn": OWNER});
    let (status, reply) = app
        .send_as(&editor, "POST", "/entities?action=delete", &body)
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

async fn delete_references(app: &App, token: &str, urn: &str) -> (StatusCode, Value) {
    let body = json!({"urn": urn, "dryRun": false});
    let path = "/entities?action=deleteReferences";
    app.send_as(token, "POST", path, &body).await
}

#[tokio::test]
async fn removing_the_references_to_an_account_needs_the_right_to_manage_users() {
    let app = App::with_dataset().await;
    let editor = token_of(&app.catalog, EDITOR, None).await;
    add_people(&app).await;
    let people = [ADA, MEMBER, EXTERNAL, USER, NOBODY];
    let owners: Vec<Value> = people
        .iter()
        .map(|owner| json!({"owner": owner, "type": "TECHNICAL_OWNER"}))
        .collect();
    let owners = json!({"owners": owners, "lastModified": {"time": 0, "actor": USER}});
    app.ingest(DATASET, "ownership", &owners).await;
    let owners = app.aspect(DATASET, "ownership").await;
    for urn in [ADA, MEMBER, EXTERNAL, USER] {
        let (status, reply) = delete_references(&app, &editor, urn).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{urn} {reply}");
    }
    assert_eq!(app.aspect(DATASET, "ownership").await, owners);
    // Whom ingestion has named is no account.
    let (status, reply) = delete_references(&app, &editor, NOBODY).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn removing_an_owner_from_a_group_needs_the_right_to_change_its_owners() {
    let app = App::empty().await;
    let editor = token_of(&app.catalog, EDITOR, None).await;
    add_people(&app).await;
    let info = json!({"admins": [], "members": [], "groups": []});
    app.ingest(GROUP, "corpGroupInfo", &info).await;
    let owner = json!([{"owner": NOBODY, "type": "TECHNICAL_OWNER"}]);
    let owners = json!({"owners": owner, "lastModified": {"time": 0, "actor": USER}});
    app.ingest(GROUP, "ownership", &owners).await;
    let owners = app.aspect(GROUP, "ownership").await;
    let (status, reply) = delete_references(&app, &editor, NOBODY).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert_eq!(app.aspect(GROUP, "ownership").await, owners);
    let (status, reply) = delete_references(&app, &app.token, NOBODY).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let left = app.aspect(GROUP, "ownership").await;
    assert_eq!(left.unwrap()["owners"], json!([]));
}
