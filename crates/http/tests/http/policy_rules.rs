//! What `createPolicy` and `updatePolicy` reject, and what stored policies may contain anyway.

use serde_json::{Value, json};

use crate::policies::{FINANCE, RITA, app, may_describe, stewards};
use crate::support::{App, DATASET};

const UPDATE: &str = "mutation($urn: String!, $input: PolicyUpdateInput!) { updatePolicy(urn: $urn, input: $input) }";
const STORED: &str = "urn:li:dataHubPolicy:stored";

/// The input of a policy with which Rita edits [`FINANCE`].
fn ritas() -> Value {
    let mut input = stewards(&[]);
    input["actors"]["users"] = json!([RITA]);
    input
}

async fn update(app: &App, urn: &Value, input: &Value) -> Value {
    let variables = json!({"urn": urn, "input": input});
    app.graphql_with(UPDATE, variables).await
}

async fn create_error(app: &App, input: Value) -> String {
    let (code, message) = app
        .mutate_error("createPolicy", "PolicyUpdateInput", input)
        .await;
    assert_eq!(code, 400, "{message}");
    message
}

#[tokio::test]
async fn an_update_without_resources_does_not_widen_a_policy() {
    let (app, rita) = app().await;
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,elsewhere,PROD)";
    app.add_dataset(other).await;
    let urn = app
        .mutate("createPolicy", "PolicyUpdateInput", ritas())
        .await;
    let may_edit_other = async || {
        let mutation = format!(
            r#"mutation {{ updateDescription(input: {{ resourceUrn: "{other}", description: "d" }}) }}"#
        );
        app.graphql_as(&rita, &mutation).await["data"]["updateDescription"] == true
    };
    for (resources, says) in [
        (json!(null), "send its `resources`"),
        (json!({}), "does not say what the policy covers"),
        (json!({"allResources": false}), "{\"allResources\": true}"),
    ] {
        let mut input = ritas();
        input["resources"] = resources.clone();
        let reply = update(&app, &urn, &input).await;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], 400, "{resources}: {reply}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    assert!(may_describe(&app, &rita).await && !may_edit_other().await);
    let mut input = ritas();
    input["resources"] = json!({"allResources": true});
    assert_eq!(
        update(&app, &urn, &input).await["data"]["updatePolicy"],
        urn
    );
    assert!(may_edit_other().await);
    // It covers everything already.
    input.as_object_mut().unwrap().remove("resources");
    assert_eq!(
        update(&app, &urn, &input).await["data"]["updatePolicy"],
        urn
    );
    assert!(may_edit_other().await);
    // The form of DataHub's page.
    assert_eq!(
        update(&app, &urn, &ritas()).await["data"]["updatePolicy"],
        urn
    );
    input["resources"] = json!({"filter": {"criteria": []}});
    assert_eq!(
        update(&app, &urn, &input).await["data"]["updatePolicy"],
        urn
    );
    assert!(may_edit_other().await);
    // The tags that it allows are a limit, too.
    let public = json!({"field": "TAG", "values": ["urn:li:tag:public"], "condition": "EQUALS"});
    app.ingest(
        "urn:li:tag:public",
        "tagProperties",
        &json!({"name": "public"}),
    )
    .await;
    input["resources"] =
        json!({"privilegeConstraints": {"criteria": [public]}, "allResources": true});
    let updated = update(&app, &urn, &input).await;
    assert_eq!(updated["data"]["updatePolicy"], urn, "{updated}");
    input.as_object_mut().unwrap().remove("resources");
    let reply = update(&app, &urn, &input).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

/// What DataHub would read as everything, or as one of two contradictory statements.
#[tokio::test]
async fn resources_say_in_one_way_what_a_policy_covers() {
    let (app, _) = app().await;
    let of_domain = json!({"criteria": [
        {"field": "DOMAIN", "values": [FINANCE], "condition": "EQUALS"},
    ]});
    let constraints = json!({"criteria": [
        {"field": "TYPE", "values": ["tag"], "condition": "EQUALS"},
    ]});
    let with = |resources: &Value| {
        let mut input = ritas();
        input["resources"] = resources.clone();
        input
    };
    for (resources, says) in [
        (json!({}), "does not say what the policy covers"),
        (
            json!({"allResources": false}),
            "does not say what the policy covers",
        ),
        (
            json!({"privilegeConstraints": constraints}),
            "does not say what the policy covers",
        ),
        (json!({"resources": []}), "would cover nothing"),
        (
            json!({"type": "dataset", "resources": []}),
            "would cover nothing",
        ),
        (
            json!({"allResources": true, "filter": of_domain}),
            "contradicts the criteria",
        ),
        (
            json!({"allResources": true, "resources": [DATASET]}),
            "contradicts the list",
        ),
        (
            json!({"type": "dataset", "filter": of_domain}),
            "have no effect: write them as criteria",
        ),
        (
            json!({"resources": [DATASET], "filter": {"criteria": []}}),
            "have no effect: write them as criteria",
        ),
    ] {
        let message = create_error(&app, with(&resources)).await;
        assert!(message.contains(says), "{resources}: {message}");
    }
    for resources in [
        json!(null),
        json!({"allResources": true}),
        json!({"type": "dataset"}),
        json!({"type": "dataset", "allResources": true}),
        json!({"resources": [DATASET]}),
        json!({"type": "dataset", "resources": [DATASET]}),
        // As DataHub's page and its documentation send them.
        json!({"filter": {"criteria": []}}),
        json!({"allResources": false, "filter": {"criteria": []}}),
        json!({"allResources": true, "resources": [], "filter": {"criteria": []},
            "privilegeConstraints": constraints}),
        json!({"allResources": false, "resources": [], "filter": of_domain}),
    ] {
        app.mutate("createPolicy", "PolicyUpdateInput", with(&resources))
            .await;
    }
}

#[tokio::test]
async fn names_of_policies_are_one_line() {
    let (app, _) = app().await;
    for name in ["a\nb", "a\0b", "a\u{1b}[2Jb"] {
        let mut input = ritas();
        input["name"] = json!(name);
        let message = create_error(&app, input).await;
        assert!(
            message.starts_with("the name of a policy contains the control character U+00"),
            "{message}"
        );
    }
    let mut input = ritas();
    input["description"] = json!("a\0b");
    let message = create_error(&app, input.clone()).await;
    assert!(
        message.starts_with("the description contains the control character U+0000"),
        "{message}"
    );
    input["description"] = json!("first\n\tsecond");
    app.mutate("createPolicy", "PolicyUpdateInput", input).await;
}

#[tokio::test]
async fn privileges_are_granted_by_policies_of_their_type() {
    let (app, rita) = app().await;
    let mut input = ritas();
    input["privileges"] = json!(["EDIT_ENTITY", "MANAGE_POLICIES"]);
    let message = create_error(&app, input.clone()).await;
    assert_eq!(
        message,
        "MANAGE_POLICIES is a privilege of PLATFORM policies, and this policy has the type METADATA: grant it in \
         another policy"
    );
    input["type"] = json!("PLATFORM");
    input.as_object_mut().unwrap().remove("resources");
    let message = create_error(&app, input.clone()).await;
    assert!(
        message.starts_with("EDIT_ENTITY is a privilege of METADATA"),
        "{message}"
    );
    input["privileges"] = json!(["MANAGE_POLICIES"]);
    input["resources"] = json!({"allResources": true});
    let message = create_error(&app, input.clone()).await;
    assert!(message.contains("has no resources"), "{message}");
    // An empty filter, as some clients send it, is none.
    input["resources"] = json!({"filter": {"criteria": []}});
    let policy = app.mutate("createPolicy", "PolicyUpdateInput", input).await;
    let stored = app.aspect(policy.as_str().unwrap(), "dataHubPolicyInfo");
    let stored = stored.await.unwrap();
    assert_eq!(stored.get("resources"), None);
    // DataHub does not compare the type when it decides, and so grants what older policies say.
    let stored = json!({
        "displayName": "mixed", "description": "", "type": "PLATFORM", "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"], "actors": {"users": [RITA]},
    });
    app.write_policy(STORED, &stored).await;
    assert!(may_describe(&app, &rita).await);
}

#[tokio::test]
async fn what_a_policy_names_must_exist() {
    let (app, _) = app().await;
    let missing = |message: &str, urn: &str| {
        let says = format!("{urn} does not exist: create it first");
        assert!(message.contains(&says), "{message}");
    };
    for (member, urn) in [
        ("users", "urn:li:corpuser:nobody"),
        ("groups", "urn:li:corpGroup:none"),
        ("roles", "urn:li:dataHubRole:None"),
        ("resourceOwnersTypes", "urn:li:ownershipType:none"),
    ] {
        let mut input = ritas();
        input["actors"][member] = json!([urn]);
        missing(&create_error(&app, input).await, urn);
    }
    for (field, urn) in [
        ("DOMAIN", "urn:li:domain:none"),
        ("CONTAINER", "urn:li:container:none"),
        ("TAG", "urn:li:tag:none"),
        ("GLOSSARY", "urn:li:glossaryTerm:none"),
        ("GROUP_MEMBERSHIP", "urn:li:corpGroup:none"),
        ("URN", "urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)"),
    ] {
        let criterion = |condition: &str, value: &str| {
            let mut input = ritas();
            input["resources"]["filter"]["criteria"] =
                json!([{"field": field, "values": [value], "condition": condition}]);
            input
        };
        missing(&create_error(&app, criterion("NOT_EQUALS", urn)).await, urn);
        let message = create_error(&app, criterion("EQUALS", "nonsense")).await;
        assert!(message.contains("'nonsense' is not a URN"), "{message}");
        let message = create_error(&app, criterion("EQUALS", "")).await;
        assert!(message.contains("compares with nothing"), "{message}");
        if field != "URN" {
            let message = create_error(&app, criterion("EQUALS", DATASET)).await;
            assert!(message.contains("its type must be"), "{message}");
        }
        let prefix = criterion("STARTS_WITH", "urn:li:");
        app.mutate("createPolicy", "PolicyUpdateInput", prefix)
            .await;
    }
    // A column is part of its dataset.
    let mut input = ritas();
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    input["resources"]["filter"]["criteria"] =
        json!([{"field": "URN", "values": [column], "condition": "EQUALS"}]);
    app.mutate("createPolicy", "PolicyUpdateInput", input).await;
    // Owners come with datasets, often without accounts.
    let mut input = ritas();
    input["resources"]["filter"]["criteria"] =
        json!([{"field": "OWNER", "values": ["urn:li:corpuser:nobody"], "condition": "EQUALS"}]);
    app.mutate("createPolicy", "PolicyUpdateInput", input).await;
    let mut input = ritas();
    input["resources"] = json!({"type": "dataset", "resources": [FINANCE, "urn:li:tag:none"]});
    missing(&create_error(&app, input).await, "urn:li:tag:none");
}

#[tokio::test]
async fn an_update_keeps_missing_users_that_the_policy_names_already() {
    let (app, _) = app().await;
    let known = "urn:li:corpuser:elsewhere";
    let stored = json!({
        "displayName": "adopted", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"], "actors": {"users": [known]},
    });
    app.write_policy(STORED, &stored).await;
    let mut input = ritas();
    input["actors"]["users"] = json!([known, RITA]);
    let reply = update(&app, &json!(STORED), &input).await;
    assert_eq!(reply["data"]["updatePolicy"], STORED, "{reply}");
    input["actors"]["users"] = json!([known, "urn:li:corpuser:nobody"]);
    let reply = update(&app, &json!(STORED), &input).await;
    let message = reply["errors"][0]["message"].to_string();
    assert!(
        message.contains("urn:li:corpuser:nobody does not exist"),
        "{message}"
    );
}

#[tokio::test]
async fn policies_have_limits() {
    let (app, _) = app().await;
    let many = |number: usize| -> Vec<String> {
        (0..number)
            .map(|it| format!("urn:li:corpuser:u{it}"))
            .collect()
    };
    for (pointer, value, says) in [
        (
            "/name",
            json!("x".repeat(201)),
            "the name of a policy has 201 characters",
        ),
        (
            "/description",
            json!("x".repeat(5_001)),
            "the description has 5001 characters",
        ),
        (
            "/actors/users",
            json!(many(1_001)),
            "the policy has 1001 users",
        ),
        (
            "/privileges",
            json!(vec!["EDIT_ENTITY"; 1_001]),
            "the policy has 1001 privileges",
        ),
        (
            "/resources/filter/criteria/0/values",
            json!(many(1_001)),
            "the policy has 1001 values",
        ),
        (
            "/resources/filter/criteria",
            json!(vec![
                json!({"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"});
                1_001
            ]),
            "the policy has 1001 criteria",
        ),
        (
            "/resources/filter/criteria",
            json!(vec![
                json!({"field": "TYPE", "values": vec!["dataset"; 1_000], "condition": "EQUALS"});
                11
            ]),
            "more than 10000 values together",
        ),
        (
            "/resources/filter/criteria/0",
            json!({"field": "URN", "values": ["u".repeat(513)], "condition": "STARTS_WITH"}),
            "a prefix for URN has 513 characters",
        ),
    ] {
        let mut input = ritas();
        *input.pointer_mut(pointer).unwrap() = value;
        let message = create_error(&app, input).await;
        assert!(message.contains(says), "{message}");
        assert!(message.len() < 300, "{message}");
    }
}

#[tokio::test]
async fn names_and_notes_have_limits_in_every_form() {
    let (app, _) = app().await;
    let name = "x".repeat(201);
    for mutation in [
        format!(r#"createGroup(input: {{ name: "{name}" }})"#),
        format!(r#"createDomain(input: {{ name: "{name}" }})"#),
        format!(r#"createTag(input: {{ name: "{name}" }})"#),
        format!(r#"createGlossaryTerm(input: {{ name: "{name}" }})"#),
        format!(r#"updateName(input: {{ urn: "{FINANCE}", name: "{name}" }})"#),
        format!(r#"createServiceAccount(input: {{ displayName: "{name}" }}) {{ urn }}"#),
        format!(
            r#"createAccessToken(input: {{ type: PERSONAL, actorUrn: "{RITA}", duration: ONE_DAY, name: "{name}" }})
                {{ accessToken }}"#
        ),
    ] {
        let (code, message) = app
            .graphql_error(&format!("mutation {{ {mutation} }}"))
            .await;
        assert_eq!(code, 400, "{message}");
        assert!(
            message.contains("has 201 characters: at most 200 are allowed"),
            "{message}"
        );
    }
    let note = "x".repeat(5_001);
    let (code, message) = app
        .graphql_error(&format!(
            r#"mutation {{ rejectProposals(proposalUrns: ["urn:li:actionRequest:x"], note: "{note}") }}"#
        ))
        .await;
    assert_eq!(code, 400, "{message}");
    assert!(
        message.contains("the note has 5001 characters"),
        "{message}"
    );
}

#[tokio::test]
async fn deleting_a_missing_policy_says_so() {
    let (app, _) = app().await;
    let (code, message) = app
        .graphql_error(r#"mutation { deletePolicy(urn: "urn:li:dataHubPolicy:none") }"#)
        .await;
    assert_eq!(code, 400, "{message}");
    assert_eq!(
        message,
        "Failed to delete urn:li:dataHubPolicy:none. It does not exist."
    );
}
