//! Scopes of tokens: they narrow what their user may change, over every API.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::hidden::world::assign;
use crate::support::{App, DATASET, USER, encoded, proposal, token_of};

const FINANCE: &str = "urn:li:domain:finance";
const PAYMENTS: &str = "urn:li:domain:payments";
const TAG: &str = "urn:li:tag:pii";
const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,elsewhere,PROD)";

/// A domain with a subdomain that has [`DATASET`], and another dataset.
async fn app() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    for (urn, aspect, value) in [
        (FINANCE, "domainProperties", json!({"name": "Finance"})),
        (
            PAYMENTS,
            "domainProperties",
            json!({"name": "Payments", "parentDomain": FINANCE}),
        ),
        (DATASET, "domains", json!({"domains": [PAYMENTS]})),
        (TAG, "tagProperties", json!({"name": "PII"})),
    ] {
        app.ingest(urn, aspect, &value).await;
    }
    app
}

const CREATE: &str = "mutation ($input: CreateAccessTokenInput!) {
    createAccessToken(input: $input) { accessToken metadata { id scope { readOnly privileges domainUrn } } } }";

async fn try_create(app: &App, scope: Value) -> Value {
    let input = json!({"type": "PERSONAL", "actorUrn": USER, "duration": "ONE_DAY",
        "name": "scoped", "scope": scope});
    app.graphql_with(CREATE, json!({ "input": input })).await
}

/// A token of the administrator with a scope.
pub(crate) async fn scoped(app: &App, scope: Value) -> String {
    let reply = try_create(app, scope).await;
    let token = &reply["data"]["createAccessToken"]["accessToken"];
    token
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
        .to_owned()
}

/// A token with a scope of a user with a role.
pub(crate) async fn scoped_for(app: &App, user: &str, role_name: &str, scope: Value) -> String {
    token_of(&app.catalog, user, None).await;
    assign(app, user, role_name).await;
    let input = json!({"type": "PERSONAL", "actorUrn": user, "duration": "ONE_DAY",
        "name": "scoped", "scope": scope});
    let reply = app.graphql_with(CREATE, json!({ "input": input })).await;
    let token = &reply["data"]["createAccessToken"]["accessToken"];
    token.as_str().unwrap().to_owned()
}

/// The code of a mutation's error, or 200.
async fn code(app: &App, token: &str, mutation: &str) -> u64 {
    let reply = app
        .graphql_as(token, &format!("mutation {{ {mutation} }}"))
        .await;
    match reply["errors"].as_array() {
        None => 200,
        Some(errors) => errors[0]["extensions"]["code"]
            .as_u64()
            .unwrap_or_else(|| panic!("{mutation}: {reply}")),
    }
}

fn describe(urn: &str) -> String {
    format!(r#"updateDescription(input: {{ description: "d", resourceUrn: "{urn}" }})"#)
}

fn tag(urn: &str) -> String {
    format!(r#"addTag(input: {{ tagUrn: "{TAG}", resourceUrn: "{urn}" }})"#)
}

fn set_domain(urn: &str, domain: &str) -> String {
    format!(r#"setDomain(entityUrn: "{urn}", domainUrn: "{domain}")"#)
}

#[tokio::test]
async fn a_read_only_token_changes_nothing_over_any_api() {
    let app = app().await;
    let token = scoped(&app, json!({"readOnly": true})).await;
    let newest = app.store().log_newest().await.unwrap();
    let removed = json!({"removed": true});
    let deletion = json!({"urn": PAYMENTS});
    let changes = [
        (
            "/aspects?action=ingestProposal",
            json!({"proposal": proposal("UPSERT", DATASET, "status", &removed)}),
        ),
        (
            "/aspects?action=ingestProposalBatch",
            json!({"proposals": [proposal("UPSERT", DATASET, "status", &removed)]}),
        ),
        ("/entities?action=delete", json!({"urn": DATASET})),
        ("/entities?action=deleteReferences", deletion),
        (
            "/openapi/v3/entity/dataset",
            json!([{"urn": DATASET, "status": {"value": removed}}]),
        ),
    ];
    for (path, body) in &changes {
        let (status, reply) = app.send_as(&token, "POST", path, body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains("read-only"), "{message}");
    }
    let path = format!("/openapi/v3/entity/dataset/{}", encoded(DATASET));
    let (status, _) = app.send_as(&token, "DELETE", &path, &json!(null)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for mutation in [describe(DATASET), tag(DATASET), set_domain(OTHER, FINANCE)] {
        assert_eq!(code(&app, &token, &mutation).await, 403, "{mutation}");
    }
    assert_eq!(app.store().log_newest().await.unwrap(), newest);

    // It reads what its user may read, and lists no privilege to change anything.
    let query =
        "{ listPolicies(input: {}) { total } me { platformPrivileges { managePolicies } } }";
    let reply = app.graphql_as(&token, query).await;
    let total = reply["data"]["listPolicies"]["total"].as_u64();
    assert!(total.is_some_and(|total| total > 0), "{reply}");
    let privileges = &reply["data"]["me"]["platformPrivileges"];
    assert_eq!(privileges["managePolicies"], false, "{reply}");
    let (status, _) = app.send_as(&token, "GET", &path, &json!(null)).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_with_named_privileges_makes_only_changes_that_need_them() {
    let app = app().await;
    let token = scoped(&app, json!({"privileges": ["EDIT_ENTITY_DOCS"]})).await;
    assert_eq!(code(&app, &token, &describe(DATASET)).await, 200);
    for denied in [
        tag(DATASET),
        set_domain(OTHER, FINANCE),
        r#"createDomain(input: { name: "New" })"#.to_owned(),
        r#"createPolicy(input: { type: PLATFORM, name: "p", state: ACTIVE, privileges: ["MANAGE_POLICIES"],
            actors: { resourceOwners: false, allUsers: true, allGroups: false } })"#
            .to_owned(),
    ] {
        assert_eq!(code(&app, &token, &denied).await, 403, "{denied}");
    }
    // Not even the profile of its own user.
    let profile = json!({"displayName": "Mallory", "email": "mallory@example.com"});
    let body = json!({"proposal": proposal("UPSERT", USER, "corpUserEditableInfo", &profile)});
    let path = "/aspects?action=ingestProposal";
    let (status, reply) = app.send_as(&token, "POST", path, &body).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    let query = format!(
        r#"{{ getGrantedPrivileges(input: {{ actorUrn: "{USER}", resourceSpec: {{ resourceType: DATASET, resourceUrn: "{DATASET}" }} }}) {{ privileges }} }}"#
    );
    let reply = app.graphql_as(&token, &query).await;
    let privileges = reply["data"]["getGrantedPrivileges"]["privileges"].to_string();
    assert!(privileges.contains("EDIT_ENTITY_DOCS"), "{reply}");
    assert!(!privileges.contains("EDIT_ENTITY_TAGS"), "{reply}");
}

#[tokio::test]
async fn a_token_for_a_domain_makes_changes_inside_only() {
    let app = app().await;
    let token = scoped(&app, json!({"domainUrn": FINANCE})).await;
    for (mutation, expected) in [
        (describe(DATASET), 200),
        (tag(DATASET), 200),
        (describe(OTHER), 403),
        (tag(OTHER), 403),
        // Neither into the domain nor out of it.
        (set_domain(OTHER, FINANCE), 403),
        (format!(r#"unsetDomain(entityUrn: "{DATASET}")"#), 403),
        (set_domain(DATASET, FINANCE), 200),
        (r#"createDomain(input: { name: "New" })"#.to_owned(), 403),
        (
            r#"createTag(input: { id: "t", name: "t" })"#.to_owned(),
            403,
        ),
    ] {
        assert_eq!(code(&app, &token, &mutation).await, expected, "{mutation}");
    }
    // The right follows the tree.
    let move_out = format!(r#"moveDomain(input: {{ resourceUrn: "{FINANCE}" }})"#);
    assert_eq!(
        code(&app, &app.token, &set_domain(DATASET, PAYMENTS)).await,
        200
    );
    assert_eq!(code(&app, &app.token, &move_out).await, 200);
    let detach = format!(r#"moveDomain(input: {{ resourceUrn: "{PAYMENTS}" }})"#);
    assert_eq!(code(&app, &app.token, &detach).await, 200);
    assert_eq!(code(&app, &token, &describe(DATASET)).await, 403);
}

#[tokio::test]
async fn a_token_for_a_deleted_domain_is_revoked() {
    let app = app().await;
    // The description has escapes, and the other token only mentions the domain.
    let input = json!({"type": "PERSONAL", "actorUrn": USER, "duration": "ONE_DAY", "name": "own",
        "description": "a \"b\"\n", "scope": {"domainUrn": PAYMENTS}});
    let reply = app.graphql_with(CREATE, json!({ "input": input })).await;
    let own = reply["data"]["createAccessToken"]["accessToken"].as_str();
    let own = own.unwrap_or_else(|| panic!("{reply}"));
    let input = json!({"type": "PERSONAL", "actorUrn": USER, "duration": "ONE_DAY",
        "name": PAYMENTS, "scope": {"domainUrn": FINANCE}});
    let reply = app.graphql_with(CREATE, json!({ "input": input })).await;
    let other = reply["data"]["createAccessToken"]["accessToken"].as_str();
    let other = other.unwrap_or_else(|| panic!("{reply}"));
    assert_eq!(code(&app, own, &describe(DATASET)).await, 200);
    let delete = format!(r#"deleteDomain(urn: "{PAYMENTS}")"#);
    assert_eq!(code(&app, &app.token, &delete).await, 200);
    // Another domain with the same id has other tokens.
    let again = r#"createDomain(input: { id: "payments", name: "New" })"#;
    assert_eq!(code(&app, &app.token, again).await, 200);
    for domain in [PAYMENTS, FINANCE] {
        let moved = set_domain(DATASET, domain);
        assert_eq!(code(&app, &app.token, &moved).await, 200);
        let body = json!({"query": format!("mutation {{ {} }}", describe(DATASET))});
        let (status, reply) = app.send_as(own, "POST", "/api/graphql", &body).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{reply}");
    }
    assert_eq!(code(&app, other, &describe(DATASET)).await, 200);
    let listed = app
        .graphql("{ listAccessTokens(input: { start: 0, count: 10 }) { tokens { name } } }")
        .await;
    let listed = listed["data"]["listAccessTokens"]["tokens"].to_string();
    assert!(
        listed.contains(PAYMENTS) && !listed.contains("own"),
        "{listed}"
    );
}

#[tokio::test]
async fn a_token_with_a_scope_neither_creates_nor_revokes_tokens() {
    let app = app().await;
    let all = json!({"privileges": ["GENERATE_PERSONAL_ACCESS_TOKENS", "EDIT_ENTITY"]});
    let token = scoped(&app, all).await;
    let create = format!(
        r#"createAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", duration: ONE_HOUR, name: "wide" }}) {{ accessToken }}"#
    );
    assert_eq!(code(&app, &token, &create).await, 403);
    let listed = app
        .graphql("{ listAccessTokens(input: {}) { tokens { id } } }")
        .await;
    let id = &listed["data"]["listAccessTokens"]["tokens"][0]["id"];
    let revoke = format!("revokeAccessToken(tokenId: {id})");
    let reply = app
        .graphql_as(&token, &format!("mutation {{ {revoke} }}"))
        .await;
    let error = &reply["errors"][0];
    assert_eq!(error["extensions"]["code"], 403, "{reply}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("the scope of the access token"),
        "{message}"
    );
}

#[tokio::test]
async fn a_denial_by_the_scope_does_not_blame_the_user() {
    let app = app().await;
    let policies = "mutation { deletePolicy(urn: \"urn:li:dataHubPolicy:7\") }";
    let tag = format!("mutation {{ {} }}", tag(DATASET));
    for (scope, mutation, says) in [
        (
            json!({"privileges": ["EDIT_ENTITY_DOCS"]}),
            tag.as_str(),
            "the scope of the access token does not include one of the privileges EDIT_ENTITY_TAGS, EDIT_ENTITY on",
        ),
        (
            json!({"privileges": ["EDIT_ENTITY_DOCS"]}),
            policies,
            "the scope of the access token does not include the privilege MANAGE_POLICIES. Use a token",
        ),
        (
            json!({"domainUrn": FINANCE}),
            &format!("mutation {{ {} }}", describe(OTHER)),
            "the scope of the access token, which is limited to urn:li:domain:finance, does not include one of",
        ),
    ] {
        let token = scoped(&app, scope).await;
        let reply = app.graphql_as(&token, mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
        assert!(!message.contains("An administrator can grant"), "{message}");
        let log = "{ auditLog(input: { count: 1 }) { events { outcome reason } } }";
        let event = &app.graphql(log).await["data"]["auditLog"]["events"][0];
        assert_eq!(event["outcome"], "DENIED");
        assert!(event["reason"].as_str().unwrap().contains(says), "{event}");
    }
    // Nor if the user could propose the change.
    let paula = "urn:li:corpuser:paula";
    for (scope, says) in [
        (
            json!({"privileges": ["EDIT_ENTITY_TAGS"]}),
            "the scope of the access token does not include the privilege PROPOSE_CHANGES on",
        ),
        (
            json!({"domainUrn": PAYMENTS}),
            "which is limited to urn:li:domain:payments, does not include the privilege PROPOSE_CHANGES",
        ),
    ] {
        let token = scoped_for(&app, paula, "Proposer", scope).await;
        let mutation = format!("mutation {{ {} }}", describe(OTHER));
        let reply = app.graphql_as(&token, &mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
    let scope = json!({"privileges": ["PROPOSE_CHANGES"]});
    let token = scoped_for(&app, paula, "Proposer", scope).await;
    let mutation = format!("mutation {{ {} }}", describe(OTHER));
    let reply = app.graphql_as(&token, &mutation).await;
    assert!(reply["extensions"]["proposals"][0].is_string(), "{reply}");
    // A user without the privilege is told so, whatever the scope.
    let rita = "urn:li:corpuser:rita";
    let scope = json!({"privileges": ["EDIT_ENTITY_DOCS"]});
    let token = scoped_for(&app, rita, "Reader", scope).await;
    let reply = app.graphql_as(&token, policies).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("rita needs the privilege MANAGE_POLICIES"),
        "{message}"
    );
}

#[tokio::test]
async fn the_audit_log_needs_a_privilege_in_the_scope() {
    let app = app().await;
    let query = "{ auditLog(input: { count: 1 }) { events { operation } } }";
    let path = "/openapi/v1/events/audit/search";
    for (scope, is_allowed) in [
        (json!({"privileges": ["EDIT_ENTITY_DOCS"]}), false),
        (json!({"privileges": ["MANAGE_POLICIES"]}), false),
        (json!({"domainUrn": FINANCE}), false),
        (json!({"privileges": ["GET_ANALYTICS_PRIVILEGE"]}), true),
        (json!({"privileges": ["MANAGE_SYSTEM_OPERATIONS"]}), true),
        (json!({"readOnly": true}), true),
    ] {
        let token = scoped(&app, scope.clone()).await;
        let reply = app.graphql_as(&token, query).await;
        let (status, found) = app.send_as(&token, "POST", path, &json!({})).await;
        if is_allowed {
            assert!(reply["errors"].is_null(), "{scope}: {reply}");
            assert_eq!(status, StatusCode::OK, "{scope}: {found}");
        } else {
            let message = reply["errors"][0]["message"].as_str().unwrap();
            assert!(
                message.contains("the scope of the access token"),
                "{message}"
            );
            assert_eq!(status, StatusCode::FORBIDDEN, "{scope}: {found}");
        }
    }
}

#[tokio::test]
async fn scopes_are_listed_and_invalid_ones_are_rejected() {
    let app = app().await;
    let scope = json!({"privileges": ["EDIT_ENTITY_TAGS"], "domainUrn": FINANCE});
    let token = scoped(&app, scope).await;
    let expected =
        json!({"readOnly": false, "privileges": ["EDIT_ENTITY_TAGS"], "domainUrn": FINANCE});
    let members = "name scope { readOnly privileges domainUrn }";
    let metadata = format!(r#"{{ getAccessTokenMetadata(token: "{token}") {{ {members} }} }}"#);
    let reply = app.graphql(&metadata).await;
    let shown = &reply["data"]["getAccessTokenMetadata"]["scope"];
    assert_eq!(*shown, expected, "{reply}");
    let list = format!("{{ listAccessTokens(input: {{}}) {{ tokens {{ {members} }} }} }}");
    let reply = app.graphql(&list).await;
    let tokens = reply["data"]["listAccessTokens"]["tokens"].as_array();
    let scopes: Vec<(&Value, &Value)> = tokens
        .unwrap()
        .iter()
        .map(|token| (&token["name"], &token["scope"]))
        .collect();
    assert!(scopes.contains(&(&json!("scoped"), &expected)), "{reply}");
    assert!(scopes.contains(&(&json!("test"), &Value::Null)), "{reply}");

    for (scope, says) in [
        (json!({}), "the scope is empty"),
        (json!({"readOnly": false}), "the scope is empty"),
        (json!({"privileges": []}), "1 to 100 privileges"),
        (
            json!({"privileges": ["EDIT_EVERYTHING"]}),
            "EDIT_EVERYTHING",
        ),
        (
            json!({"domainUrn": "urn:li:domain:missing"}),
            "does not exist",
        ),
        (json!({ "domainUrn": DATASET }), "domain"),
        (
            json!({"readOnly": true, "privileges": ["EDIT_ENTITY_DOCS"]}),
            "choose one or the other",
        ),
        (
            json!({"readOnly": true, "domainUrn": FINANCE}),
            "choose one or the other",
        ),
    ] {
        let reply = try_create(&app, scope.clone()).await;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], 400, "{scope}: {reply}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{scope}: {message}");
    }
}

#[tokio::test]
async fn a_token_with_a_scope_withdraws_only_what_it_could_propose() {
    let app = app().await;
    let paula = "urn:li:corpuser:paula";
    let whole = token_of(&app.catalog, paula, None).await;
    let of_finance = scoped_for(&app, paula, "Proposer", json!({"domainUrn": FINANCE})).await;
    let scope = json!({"privileges": ["EDIT_ENTITY_TAGS"]});
    let of_tags = scoped_for(&app, paula, "Proposer", scope).await;
    let mut proposals = Vec::new();
    for urn in [DATASET, OTHER] {
        let mutation = format!("mutation {{ {} }}", describe(urn));
        let reply = app.graphql_as(&whole, &mutation).await;
        let proposal = reply["extensions"]["proposals"][0].as_str();
        let proposal = proposal.unwrap_or_else(|| panic!("{reply}"));
        proposals.push(format!(r#"rejectProposals(proposalUrns: ["{proposal}"])"#));
    }
    let [inside, outside] = proposals.as_slice() else {
        panic!("{proposals:?}");
    };
    for (token, withdrawal) in [
        (&of_tags, inside),
        (&of_tags, outside),
        (&of_finance, outside),
    ] {
        let mutation = format!("mutation {{ {withdrawal} }}");
        let reply = app.graphql_as(token, &mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(
            message.contains("the scope of the access token")
                && message.contains("does not include the privilege PROPOSE_CHANGES on"),
            "{message}"
        );
    }
    assert_eq!(code(&app, &of_finance, inside).await, 200);
    assert_eq!(code(&app, &whole, outside).await, 200);
}
