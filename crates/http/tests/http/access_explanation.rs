//! What gives a user rights, for administrators.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::App;

const ADA: &str = "urn:li:corpuser:ada";

async fn explain(app: &App, user: &str) -> Value {
    let text = "query ($user: String!) { debugAccess(userUrn: $user) { roles groups groupsWithRoles rolesViaGroups
        allRoles policies privileges } }";
    app.graphql_with(text, json!({ "user": user })).await
}

#[tokio::test]
async fn groups_roles_policies_and_privileges_of_a_user_are_listed() {
    let app = App::empty().await;
    let group = |name: &str| format!("urn:li:corpGroup:{name}");
    let role = |name: &str| format!("urn:li:dataHubRole:{name}");
    app.ingest(ADA, "corpUserInfo", &json!({"active": true}))
        .await;
    for name in ["team", "guests", "gone"] {
        let info = json!({"admins": [], "members": [], "groups": []});
        app.ingest(&group(name), "corpGroupInfo", &info).await;
    }
    let groups = ["team", "guests", "gone"].map(group);
    app.ingest(ADA, "groupMembership", &json!({ "groups": groups }))
        .await;
    let reply = explain(&app, ADA).await;
    let access = &reply["data"]["debugAccess"];
    // The default role.
    assert_eq!(access["allRoles"], json!([role("Editor")]), "{reply}");
    assert_eq!(access["roles"], json!([]), "{reply}");

    for (actor, name) in [
        (ADA, "Reader"),
        (&group("team"), "Admin"),
        (&group("gone"), "Admin"),
    ] {
        let actor = Urn::parse(actor).unwrap();
        let role = Urn::parse(&role(name)).unwrap();
        app.catalog
            .assign_role(&Caller::system(), &[actor], Some(&role))
            .await
            .unwrap();
    }
    app.ingest(&group("gone"), "status", &json!({"removed": true}))
        .await;
    let policy = |actors: Value, state: &str, privilege: &str| {
        json!({"displayName": "p", "description": "", "type": "PLATFORM", "state": state,
            "privileges": [privilege], "actors": actors})
    };
    let guests = json!({"groups": [group("guests")]});
    let others = json!({"users": ["urn:li:corpuser:bob"]});
    for (name, policy) in [
        (
            "guests",
            policy(guests.clone(), "ACTIVE", "GET_TOPIC_EVENTS"),
        ),
        (
            "inactive",
            policy(guests, "INACTIVE", "GET_ANALYTICS_PRIVILEGE"),
        ),
        ("others", policy(others, "ACTIVE", "MANAGE_CONNECTIONS")),
    ] {
        app.write_policy(&format!("urn:li:dataHubPolicy:{name}"), &policy)
            .await;
    }
    let reply = explain(&app, ADA).await;
    let access = &reply["data"]["debugAccess"];
    assert_eq!(access["roles"], json!([role("Reader")]), "{reply}");
    assert_eq!(access["groups"], json!([group("guests"), group("team")]));
    assert_eq!(access["groupsWithRoles"], json!([group("team")]));
    assert_eq!(access["rolesViaGroups"], json!([role("Admin")]));
    assert_eq!(access["allRoles"], json!([role("Admin"), role("Reader")]));
    let has = |member: &str, text: &str| {
        let list = access[member].as_array().unwrap();
        list.iter().any(|it| it == text)
    };
    for (name, expected) in [("guests", true), ("inactive", false), ("others", false)] {
        let policy = format!("urn:li:dataHubPolicy:{name}");
        assert_eq!(has("policies", &policy), expected, "{name}: {access}");
    }
    for (privilege, expected) in [
        ("GET_TOPIC_EVENTS", true),
        ("MANAGE_POLICIES", true),
        ("MANAGE_CONNECTIONS", false),
    ] {
        assert_eq!(
            has("privileges", privilege),
            expected,
            "{privilege}: {access}"
        );
    }
    for (user, expected) in [
        ("urn:li:corpuser:nobody", "does not exist"),
        ("urn:li:corpGroup:team", "corpuser"),
    ] {
        let reply = explain(&app, user).await;
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
}
