//! Policies, roles and groups over GraphQL, and what callers learn about their own rights.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, USER, role, token_of};

pub(crate) const FINANCE: &str = "urn:li:domain:finance";
pub(crate) const RITA: &str = "urn:li:corpuser:rita";

/// A steward of [`FINANCE`], as input of `createPolicy`.
pub(crate) fn stewards(groups: &[&str]) -> Value {
    json!({
        "type": "METADATA", "state": "ACTIVE", "name": "Finance stewards", "description": "d",
        "privileges": ["EDIT_ENTITY"],
        "actors": {
            "groups": groups, "resourceOwners": false, "allUsers": false, "allGroups": false,
        },
        "resources": {"filter": {"criteria": [
            {"field": "DOMAIN", "values": [FINANCE], "condition": "EQUALS"},
        ]}},
    })
}

/// [`DATASET`] in [`FINANCE`], and a token of the Reader Rita.
pub(crate) async fn app() -> (App, String) {
    let app = App::with_dataset().await;
    let domain = json!({"name": "Finance", "description": ""});
    app.ingest(FINANCE, "domainProperties", &domain).await;
    let domains = json!({"domains": [FINANCE]});
    app.ingest(DATASET, "domains", &domains).await;
    let token = token_of(&app.catalog, RITA, None).await;
    let rita = Urn::parse(RITA).unwrap();
    let reader = role("Reader");
    let assigned = app
        .catalog
        .assign_role(&Caller::system(), &[rita], Some(&reader))
        .await;
    assigned.unwrap();
    (app, token)
}

/// Whether a user may change the description of [`DATASET`], according to the catalog.
pub(crate) async fn may_describe(app: &App, token: &str) -> bool {
    let query =
        format!(r#"{{ dataset(urn: "{DATASET}") {{ privileges {{ canEditDescription }} }} }}"#);
    let reply = app.graphql_as(token, &query).await;
    let shown = &reply["data"]["dataset"]["privileges"]["canEditDescription"];
    let mutation = format!(
        r#"mutation {{ updateDescription(input: {{ resourceUrn: "{DATASET}", description: "d" }}) }}"#
    );
    let reply = app.graphql_as(token, &mutation).await;
    let done = reply["data"]["updateDescription"] == true;
    assert_eq!(shown, done, "the page must show what is allowed: {reply}");
    done
}

pub(crate) async fn names(app: &App) -> Vec<String> {
    let reply = app
        .graphql("{ listPolicies(input: { count: 100 }) { total policies { name } } }")
        .await;
    let policies = reply["data"]["listPolicies"]["policies"]
        .as_array()
        .cloned();
    let policies = policies.unwrap_or_default();
    policies
        .iter()
        .map(|policy| policy["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_policy_is_created_listed_changed_and_deleted() {
    let (app, rita) = app().await;
    assert!(!may_describe(&app, &rita).await);
    let defaults = names(&app).await;
    assert!(
        defaults.contains(&"Editors - Ingest Metadata".to_owned()),
        "{defaults:?}"
    );
    let mut input = stewards(&[]);
    input["actors"]["users"] = json!([RITA]);
    let urn = app
        .mutate("createPolicy", "PolicyUpdateInput", input.clone())
        .await;
    assert!(may_describe(&app, &rita).await);
    let reply = app
        .graphql(r#"{ listPolicies(input: { query: "finance" }) { policies { urn type name state editable privileges
            actors { resolvedUsers { urn } roles allUsers } resources { filter { criteria { field condition values { value entity { urn } } } } } } } }"#)
        .await;
    assert_eq!(
        reply["data"]["listPolicies"]["policies"],
        json!([{
            "urn": urn, "type": "METADATA", "name": "Finance stewards", "state": "ACTIVE",
            "editable": true, "privileges": ["EDIT_ENTITY"],
            "actors": {"resolvedUsers": [{"urn": RITA}], "roles": [], "allUsers": false},
            "resources": {"filter": {"criteria": [{
                "field": "DOMAIN", "condition": "EQUALS",
                "values": [{"value": FINANCE, "entity": {"urn": FINANCE}}],
            }]}},
        }]),
        "{reply}"
    );
    let update = async |input: &Value| {
        let query = "mutation($urn: String!, $input: PolicyUpdateInput!) { updatePolicy(urn: $urn, input: $input) }";
        app.graphql_with(query, json!({"urn": urn, "input": input}))
            .await
    };
    input["state"] = json!("INACTIVE");
    assert_eq!(update(&input).await["data"]["updatePolicy"], urn);
    assert!(!may_describe(&app, &rita).await);
    input["state"] = json!("ACTIVE");
    input["actors"] = json!({
        "roles": ["urn:li:dataHubRole:Reader"],
        "resourceOwners": false, "allUsers": false, "allGroups": false,
    });
    update(&input).await;
    assert!(may_describe(&app, &rita).await);
    // An update by a client that does not know roles keeps them.
    input["actors"].as_object_mut().unwrap().remove("roles");
    update(&input).await;
    assert!(may_describe(&app, &rita).await);
    let delete = format!(r"mutation {{ deletePolicy(urn: {urn}) }}");
    assert_eq!(app.graphql(&delete).await["data"]["deletePolicy"], urn);
    assert!(!may_describe(&app, &rita).await);
    assert_eq!(names(&app).await, defaults);
}

#[tokio::test]
async fn a_policy_that_would_grant_nothing_is_rejected() {
    let (app, _) = app().await;
    for (member, value, says) in [
        (
            "privileges",
            json!(["EDIT_EVERYTHING"]),
            "'EDIT_EVERYTHING' is not a privilege",
        ),
        ("privileges", json!([]), "at least one privilege"),
        ("name", json!(" "), "a policy needs one"),
        (
            "type",
            json!("PLATFORM"),
            "is a privilege of METADATA policies",
        ),
        (
            "resources",
            json!({"filter": {"criteria": [{"field": "COLOR", "values": ["red"], "condition": "EQUALS"}]}}),
            "'COLOR' is not a field",
        ),
        (
            "resources",
            json!({"filter": {"criteria": [{"field": "TYPE", "values": ["DATASET"], "condition": "EQUALS"}]}}),
            "'DATASET' is not an entity type",
        ),
        (
            "actors",
            json!({"users": [FINANCE], "resourceOwners": false, "allUsers": false, "allGroups": false}),
            "corpuser",
        ),
    ] {
        let mut input = stewards(&[]);
        input[member] = value;
        let (code, message) = app
            .mutate_error("createPolicy", "PolicyUpdateInput", input)
            .await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains(says), "{message}");
    }
    for mutation in [
        r#"deletePolicy(urn: "urn:li:dataHubPolicy:0")"#,
        r#"updatePolicy(urn: "urn:li:dataHubPolicy:1", input: { type: METADATA, name: "x", state: INACTIVE,
            privileges: ["EDIT_ENTITY"], actors: { resourceOwners: false, allUsers: false, allGroups: false } })"#,
    ] {
        let (code, message) = app
            .graphql_error(&format!("mutation {{ {mutation} }}"))
            .await;
        assert_eq!(code, 403, "{message}");
        assert!(
            message.contains("cannot be changed or deleted"),
            "{message}"
        );
    }
}

#[tokio::test]
async fn members_of_a_group_have_its_rights_and_a_deleted_group_leaves_no_grant() {
    let (app, rita) = app().await;
    let group = app
        .mutate(
            "createGroup",
            "CreateGroupInput",
            // As in directories of Windows; JSON escapes it.
            json!({"id": "CORP\\finance", "name": "Finance"}),
        )
        .await;
    let urn = group.as_str().unwrap();
    app.mutate("createPolicy", "PolicyUpdateInput", stewards(&[urn]))
        .await;
    assert!(!may_describe(&app, &rita).await);
    let members = json!({"groupUrn": urn, "userUrns": [RITA]});
    app.mutate("addGroupMembers", "AddGroupMembersInput", members.clone())
        .await;
    assert!(may_describe(&app, &rita).await);
    let listed = app
        .graphql("{ listGroups(input: {}) { total groups { urn properties { displayName } origin { type } } } }")
        .await;
    assert_eq!(
        listed["data"]["listGroups"]["groups"],
        json!([{"urn": urn, "properties": {"displayName": "Finance"}, "origin": {"type": "NATIVE"}}])
    );
    app.mutate(
        "removeGroupMembers",
        "RemoveGroupMembersInput",
        members.clone(),
    )
    .await;
    assert!(!may_describe(&app, &rita).await);
    app.mutate("addGroupMembers", "AddGroupMembersInput", members)
        .await;
    let removed = app
        .graphql(&format!("mutation {{ removeGroup(urn: {group}) }}"))
        .await;
    assert_eq!(removed["data"]["removeGroup"], true, "{removed}");
    let membership = app.aspect(RITA, "nativeGroupMembership").await;
    assert!(!membership.unwrap_or_default().to_string().contains(urn));
    let found = app
        .graphql(r#"{ listPolicies(input: { query: "finance stewards" }) { policies { actors { groups } } } }"#)
        .await;
    let policies = &found["data"]["listPolicies"]["policies"];
    assert_eq!(policies[0]["actors"]["groups"], json!([]), "{found}");
}

#[tokio::test]
async fn users_learn_their_own_rights_and_only_managers_those_of_others() {
    let (app, rita) = app().await;
    let granted = |user: &str, resource: &str| {
        format!(
            r#"{{ getGrantedPrivileges(input: {{ actorUrn: "{user}" {resource} }}) {{ privileges }} }}"#
        )
    };
    let spec = format!(r#", resourceSpec: {{ resourceType: DATASET, resourceUrn: "{DATASET}" }}"#);
    let reply = app.graphql_as(&rita, &granted(RITA, &spec)).await;
    let names = &reply["data"]["getGrantedPrivileges"]["privileges"];
    let has = |name: &str| names.as_array().unwrap().contains(&json!(name));
    assert!(has("VIEW_ENTITY_PAGE") && !has("EDIT_ENTITY"), "{reply}");
    let wrong = format!(r#", resourceSpec: {{ resourceType: CHART, resourceUrn: "{DATASET}" }}"#);
    let (code, message) = app.graphql_error(&granted(RITA, &wrong)).await;
    assert_eq!(code, 400, "{message}");
    assert_eq!(
        message,
        format!(
            "`resourceType` is CHART, and {DATASET} has the type dataset: send the type of the resource"
        )
    );
    let reply = app.graphql_as(&rita, &granted(USER, "")).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let reply = app.graphql(&granted(RITA, "")).await;
    let names = reply["data"]["getGrantedPrivileges"]["privileges"].to_string();
    assert!(names.contains("GENERATE_PERSONAL_ACCESS_TOKENS"), "{names}");
    assert!(!names.contains("MANAGE_POLICIES"), "{names}");
    let (code, message) = app
        .graphql_error(&granted("urn:li:corpuser:nobody", ""))
        .await;
    assert_eq!(code, 400, "{message}");
    assert!(
        message.contains("urn:li:corpuser:nobody does not exist"),
        "{message}"
    );
    let reply = app
        .graphql_as(&rita, "{ listPolicies(input: {}) { total } }")
        .await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let me = "{ me { platformPrivileges { managePolicies generatePersonalAccessTokens manageDomains } } }";
    let reply = app.graphql_as(&rita, me).await;
    assert_eq!(
        reply["data"]["me"]["platformPrivileges"],
        json!({"managePolicies": false, "generatePersonalAccessTokens": true, "manageDomains": false})
    );
    let roles = app
        .graphql("{ listRoles(input: {}) { roles { name } } }")
        .await;
    assert_eq!(
        roles["data"]["listRoles"]["roles"],
        json!([{"name": "Admin"}, {"name": "Editor"}, {"name": "Proposer"}, {"name": "Reader"}])
    );
}
