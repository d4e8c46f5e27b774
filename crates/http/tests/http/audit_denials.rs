//! What the audit log says about denied requests.

use serde_json::{Value, json};

use crate::audit::{RITA, describe, events, newest, reader};
use crate::sign_in::ADA;
use crate::support::{App, DATASET, USER};

#[tokio::test]
async fn denials_name_the_privilege_and_the_entity() {
    let app = App::with_dataset().await;
    let rita = reader(&app, RITA).await;
    let before = events(&app, json!({"outcome": "DENIED"})).await;
    assert_eq!(before, Vec::<Value>::new());
    app.graphql_as(&rita, &describe("x")).await;
    app.graphql_as(&rita, "{ auditLog(input: {}) { nextScroll } }")
        .await;
    let denied = events(&app, json!({"outcome": "DENIED", "actor": RITA})).await;
    let operations: Vec<&Value> = denied.iter().map(|it| &it["operation"]).collect();
    assert_eq!(operations, ["auditLog", "updateDescription"]);
    let reason = denied[1]["reason"].as_str().unwrap();
    assert!(reason.contains("EDIT_ENTITY_DOCS"), "{reason}");
    assert_eq!(denied[1]["entities"][0]["urn"], DATASET);
    assert_eq!(denied[1]["policies"], json!([]));
    assert!(
        denied[0]["reason"]
            .as_str()
            .unwrap()
            .contains("MANAGE_SYSTEM_OPERATIONS")
    );
    // A reserved aspect, over REST.
    let secret = json!({"salt": "s", "hashedPassword": "hunter2"});
    app.propose("UPSERT", USER, "corpUserCredentials", &secret)
        .await;
    let event = newest(&app).await;
    assert_eq!(event["outcome"], "DENIED");
    assert!(!event.to_string().contains("hunter2"), "{event}");
    let of_entity = events(&app, json!({"entity": USER, "outcome": "DENIED"})).await;
    assert_eq!(of_entity.len(), 1);
}

#[tokio::test]
async fn denials_about_accounts_and_policies_name_them() {
    const POLICY: &str = "urn:li:dataHubPolicy:reader-metadata-policy";
    const DOMAIN: &str = "urn:li:domain:finance";
    let app = App::with_dataset().await;
    let rita = reader(&app, RITA).await;
    let policy = json!({
        "type": "METADATA", "state": "ACTIVE", "name": "x", "privileges": ["EDIT_ENTITY"],
        "actors": {"resourceOwners": false, "allUsers": true, "allGroups": false},
    });
    let with_policy = json!({"input": policy, "urn": POLICY});
    let none = Value::Null;
    for (mutation, variables, named) in [
        (
            format!(
                r#"mutation {{ batchAssignRole(input: {{actors: ["{RITA}", "{ADA}", "{RITA}"], roleUrn: "urn:li:dataHubRole:Admin"}}) }}"#
            ),
            &none,
            vec![ADA, RITA],
        ),
        (
            format!(r#"mutation {{ updateUserStatus(urn: "{ADA}", status: SUSPENDED) }}"#),
            &none,
            vec![ADA],
        ),
        (
            format!(r#"mutation {{ removeUser(urn: "{ADA}") }}"#),
            &none,
            vec![ADA],
        ),
        (
            format!(
                r#"mutation {{ createNativeUserResetToken(input: {{userUrn: "{ADA}"}}) {{ resetToken }} }}"#
            ),
            &none,
            vec![ADA],
        ),
        (
            format!(
                r#"mutation {{ createAccessToken(input: {{type: PERSONAL, actorUrn: "{ADA}", duration: ONE_DAY, name: "x"}}) {{ accessToken }} }}"#
            ),
            &none,
            vec![ADA],
        ),
        (
            format!(
                r#"mutation {{ addDomainSteward(domainUrn: "{DOMAIN}", actorUrn: "{RITA}") }}"#
            ),
            &none,
            vec![RITA, DOMAIN],
        ),
        (
            format!(r#"mutation {{ deletePolicy(urn: "{POLICY}") }}"#),
            &none,
            vec![POLICY],
        ),
        (
            "mutation ($urn: String!, $input: PolicyUpdateInput!) { updatePolicy(urn: $urn, input: $input) }"
                .to_owned(),
            &with_policy,
            vec![POLICY],
        ),
        (
            "mutation ($input: PolicyUpdateInput!) { createPolicy(input: $input) }".to_owned(),
            &with_policy,
            vec![],
        ),
    ] {
        let body = json!({"query": mutation, "variables": variables});
        let (_, reply) = app.send_as(&rita, "POST", "/api/graphql", &body).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
        let event = newest(&app).await;
        assert_eq!(event["outcome"], "DENIED", "{mutation}");
        assert_eq!(event["actorUrn"], RITA);
        let entities = event["entities"].as_array().unwrap();
        let urns: Vec<&str> = entities
            .iter()
            .filter_map(|entity| entity["urn"].as_str())
            .collect();
        assert_eq!(urns, named, "{mutation}");
    }
}
