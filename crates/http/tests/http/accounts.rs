//! Invite links, sign-up, reset links, own passwords, signing out everywhere.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_catalog::credentials::RESET_TTL_MS;
use docent_catalog::invitations::INVITE_TTL_MS;
use docent_catalog::sessions::SessionLimits;
use docent_model::AspectName;
use docent_store::AspectKey;
use serde_json::{Value, json};

use crate::sign_in::{
    ADA, ME, PASSWORD, cookies, log_in, query_with_cookie, session, system, urn, whoami, with_ada,
};
use crate::support::{App, USER, encoded, token_of};

const NEW: &str = "another long secret";

fn post(path: &str, body: &Value) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, "docent.example")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

fn sign_up(name: &str, invite: &str) -> Request<Body> {
    post(
        "/signUp",
        &json!({"fullName": "Grace Hopper", "email": name, "title": "", "password": PASSWORD, "inviteToken": invite}),
    )
}

fn check_link(invite: &str) -> Request<Body> {
    post("/signUp/check", &json!({"inviteToken": invite}))
}

async fn invite(app: &App, role: Option<&str>) -> String {
    let query =
        "query ($input: GetInviteTokenInput!) { getInviteToken(input: $input) { inviteToken } }";
    let role = role.map(|role| format!("urn:li:dataHubRole:{role}"));
    let reply = app
        .graphql_with(query, json!({"input": {"roleUrn": role}}))
        .await;
    let token = reply["data"]["getInviteToken"]["inviteToken"].as_str();
    token.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

async fn create_invite(app: &App, role: Option<&str>) -> String {
    let query = "mutation ($input: CreateInviteTokenInput!) { createInviteToken(input: $input) { inviteToken } }";
    let role = role.map(|role| format!("urn:li:dataHubRole:{role}"));
    let reply = app
        .graphql_with(query, json!({"input": {"roleUrn": role}}))
        .await;
    let token = reply["data"]["createInviteToken"]["inviteToken"].as_str();
    token.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

async fn reset_link(app: &App, user: &str) -> String {
    let query = format!(
        "mutation {{ createNativeUserResetToken(input: {{userUrn: \"{user}\"}}) {{ resetToken }} }}"
    );
    let reply = app.graphql(&query).await;
    let token = reply["data"]["createNativeUserResetToken"]["resetToken"].as_str();
    token.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

fn reset(name: &str, token: &str, password: &str) -> Request<Body> {
    post(
        "/resetNativeUserCredentials",
        &json!({"email": name, "password": password, "resetToken": token}),
    )
}

/// The code of the first error.
pub(crate) fn code(reply: &Value) -> u64 {
    reply["errors"][0]["extensions"]["code"]
        .as_u64()
        .unwrap_or_default()
}

#[tokio::test]
async fn an_invite_link_creates_accounts_with_its_role() {
    let app = App::empty().await;
    let token = invite(&app, Some("Reader")).await;
    let response = app.respond(sign_up("grace@example.com", &token)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = cookies(&response)[0].split(';').next().unwrap().to_owned();
    let grace = "urn:li:corpuser:grace@example.com";
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(grace));
    let info = app.aspect(grace, "corpUserInfo").await.unwrap();
    assert_eq!(info["displayName"], "Grace Hopper");
    assert_eq!(info["fullName"], "Grace Hopper");
    assert_eq!(info["email"], "grace@example.com");
    assert_eq!(info["active"], true);
    assert_eq!(info.get("title"), None);
    let roles = app.aspect(grace, "roleMembership").await.unwrap();
    assert_eq!(roles["roles"], json!(["urn:li:dataHubRole:Reader"]));
    // A link is for a team.
    let (status, _) = app.send(sign_up("ada@example.com", &token)).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = app.send(log_in("ada@example.com", PASSWORD)).await;
    assert_eq!(status, StatusCode::OK);
}

const OPEN_INVITATIONS: &str =
    "{ listInviteTokens { urn role { name } createdAt expiresAt createdBy { urn } } }";

#[tokio::test]
async fn open_invite_links_are_listed_without_their_secrets_and_revoked() {
    let app = App::empty().await;
    let token = invite(&app, Some("Reader")).await;
    let any = invite(&app, None).await;
    let reply = app.graphql(OPEN_INVITATIONS).await;
    let open = reply["data"]["listInviteTokens"].as_array().unwrap();
    assert_eq!(open.len(), 2, "{reply}");
    let text = reply.to_string();
    assert!(!text.contains(&token) && !text.contains(&any), "{reply}");
    let with_role = open.iter().find(|it| !it["role"].is_null()).unwrap();
    assert_eq!(with_role["role"]["name"], "Reader");
    let week = 7 * 24 * 60 * 60 * 1000;
    let [created, expires] = ["createdAt", "expiresAt"].map(|it| with_role[it].as_i64().unwrap());
    assert_eq!(expires - created, week, "{reply}");
    let (status, body) = app.send(check_link(&token)).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(body, json!({"expiresAt": expires}));

    let revoke = "mutation ($urn: String!) { revokeInviteToken(urn: $urn) }";
    let variables = json!({"urn": with_role["urn"]});
    let reply = app.graphql_with(revoke, variables.clone()).await;
    assert_eq!(reply["data"]["revokeInviteToken"], true, "{reply}");
    let (status, rejected) = app.send(sign_up("grace@example.com", &token)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, body) = app.send(check_link(&token)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(body["message"], rejected["message"], "{body}");
    let (status, _) = app.send(sign_up("ada@example.com", &any)).await;
    assert_eq!(status, StatusCode::OK);
    let reply = app.graphql(OPEN_INVITATIONS).await;
    let open = reply["data"]["listInviteTokens"].as_array().unwrap();
    assert_eq!(open.len(), 1, "{reply}");
    assert_eq!(open[0]["role"], Value::Null, "{reply}");
    let again = app.graphql_with(revoke, variables).await;
    assert_eq!(code(&again), 404, "{again}");
    let wrong = app
        .graphql_with(revoke, json!({"urn": "urn:li:tag:pii"}))
        .await;
    assert_eq!(code(&wrong), 400, "{wrong}");
}

/// Such as somebody who was deleted in the catalog that this one comes from.
#[tokio::test]
async fn nobody_signs_up_under_the_name_of_a_user_in_a_policy() {
    let app = App::empty().await;
    let token = invite(&app, Some("Reader")).await;
    for (name, state) in [
        ("former@example.com", "ACTIVE"),
        ("off@example.com", "INACTIVE"),
    ] {
        let user = format!("urn:li:corpuser:{name}");
        let policy = json!({"displayName": "Former", "description": "", "type": "PLATFORM", "state": state,
            "privileges": ["MANAGE_POLICIES"], "actors": {"users": [user], "groups": [], "roles": []},
            "editable": true});
        app.write_policy(&format!("urn:li:dataHubPolicy:{state}"), &policy)
            .await;
        let (status, reply) = app.send(sign_up(name, &token)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{name} {reply}");
    }
    let (status, _) = app.send(sign_up("new@example.com", &token)).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn sign_up_needs_a_valid_link_and_a_new_name() {
    let app = with_ada().await;
    let token = invite(&app, None).await;
    let wrong = "0".repeat(64);
    for (name, invite, status, says) in [
        (
            "grace@example.com",
            wrong.as_str(),
            StatusCode::FORBIDDEN,
            "ask an administrator",
        ),
        (
            "grace@example.com",
            "",
            StatusCode::FORBIDDEN,
            "ask an administrator",
        ),
        (
            "not an address",
            &token,
            StatusCode::BAD_REQUEST,
            "ada@example.com",
        ),
        (
            "service_x@example.com",
            &token,
            StatusCode::BAD_REQUEST,
            "reserved",
        ),
        (
            "Service_X@example.com",
            &token,
            StatusCode::BAD_REQUEST,
            "reserved",
        ),
    ] {
        let (got, body) = app.send(sign_up(name, invite)).await;
        assert_eq!(got, status, "{name}: {body}");
        assert!(body["message"].as_str().unwrap().contains(says), "{body}");
    }
    let as_user = |user: &str| {
        post(
            "/signUp",
            &json!({"userUrn": user, "fullName": "X", "email": "x@example.com", "password": PASSWORD, "inviteToken": token}),
        )
    };
    for (user, status) in [
        (ADA, StatusCode::CONFLICT),
        ("urn:li:corpuser:datahub", StatusCode::BAD_REQUEST),
        ("urn:li:corpuser:__datahub_system", StatusCode::BAD_REQUEST),
        ("urn:li:tag:x", StatusCode::BAD_REQUEST),
        ("x", StatusCode::BAD_REQUEST),
    ] {
        let (got, body) = app.send(as_user(user)).await;
        assert_eq!(got, status, "{user}: {body}");
    }
    let (status, _) = app.send(log_in("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::OK, "ada's password is unchanged");
    let (status, _) = app.send(as_user("urn:li:corpuser:chosen")).await;
    assert_eq!(status, StatusCode::OK, "a client may choose the name");
    // Passwords must be long and uncommon, and bodies complete.
    for (password, says) in [
        ("too short", "12 characters"),
        ("Password2026!", "easy to guess"),
    ] {
        let body = json!({"fullName": "G", "email": "g@example.com", "password": password, "inviteToken": token});
        let (status, body) = app.send(post("/signUp", &body)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(body["message"].as_str().unwrap().contains(says), "{body}");
    }
    let (status, body) = app
        .send(post("/signUp", &json!({"password": "needle"})))
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!body.to_string().contains("needle"), "{body}");
    let cross_site = {
        let mut request = sign_up("evil@example.com", &token);
        let site = "cross-site".parse().unwrap();
        request.headers_mut().insert("sec-fetch-site", site);
        request
    };
    let (status, _) = app.send(cross_site).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn links_end_when_they_are_replaced_or_expire() {
    let mut app = App::empty().await;
    let first = invite(&app, Some("Reader")).await;
    let other_role = invite(&app, Some("Editor")).await;
    let second = create_invite(&app, Some("Reader")).await;
    let status = async |name: &str, token: &str| app.send(sign_up(name, token)).await.0;
    assert_eq!(status("a@example.com", &first).await, StatusCode::FORBIDDEN);
    assert_eq!(status("b@example.com", &second).await, StatusCode::OK);
    assert_eq!(status("c@example.com", &other_role).await, StatusCode::OK);
    // Reading a link creates another, and at most twenty work.
    app.clock.advance(1);
    let third = invite(&app, Some("Reader")).await;
    assert_eq!(status("d@example.com", &second).await, StatusCode::OK);
    for _ in 0..19 {
        app.clock.advance(1);
        invite(&app, Some("Reader")).await;
    }
    assert_eq!(
        status("e@example.com", &second).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(status("f@example.com", &third).await, StatusCode::OK);
    app.clock.advance(INVITE_TTL_MS);
    assert_eq!(status("g@example.com", &third).await, StatusCode::FORBIDDEN);
    app.token = token_of(&app.catalog, USER, Some(86_400_000)).await;
    invite(&app, None).await;
    let urns = app
        .store()
        .urns_list("inviteToken", AspectName::INVITE_TOKEN, None, 100)
        .await;
    assert_eq!(urns.unwrap().len(), 1, "expired links are deleted");
}

#[tokio::test]
async fn links_are_for_those_who_manage_users_and_roles() {
    let app = with_ada().await;
    let ada = token_of(&app.catalog, ADA, Some(1_000_000)).await;
    for query in [
        "{ getInviteToken(input: {}) { inviteToken } }",
        "mutation { createInviteToken(input: {roleUrn: \"urn:li:dataHubRole:Admin\"}) { inviteToken } }",
        "mutation { createNativeUserResetToken(input: {userUrn: \"urn:li:corpuser:datahub\"}) { resetToken } }",
        "mutation { createServiceAccount(input: {}) { urn } }",
        "mutation { deleteServiceAccount(urn: \"urn:li:corpuser:ada\") }",
        "{ listServiceAccounts(input: {}) { total } }",
        "{ getServiceAccount(urn: \"urn:li:corpuser:ada\") { urn } }",
        "mutation { signOutEverywhere(input: {userUrn: \"urn:li:corpuser:datahub\"}) }",
    ] {
        let reply = app.graphql_as(&ada, query).await;
        assert_eq!(code(&reply), 403, "{query}: {reply}");
    }
    let missing = "mutation { createInviteToken(input: {roleUrn: \"urn:li:dataHubRole:none\"}) { inviteToken } }";
    assert_eq!(app.graphql_error(missing).await.0, 400);
}

#[tokio::test]
async fn signed_in_users_accept_the_role_of_a_link() {
    let app = with_ada().await;
    let ada = token_of(&app.catalog, ADA, Some(1_000_000)).await;
    let accept =
        |token: &str| format!("mutation {{ acceptRole(input: {{inviteToken: \"{token}\"}}) }}");
    let without = invite(&app, None).await;
    let reply = app.graphql_as(&ada, &accept(&without)).await;
    assert_eq!(reply["data"]["acceptRole"], true, "{reply}");
    assert_eq!(app.aspect(ADA, "roleMembership").await, None);
    let admin = invite(&app, Some("Admin")).await;
    let reply = app.graphql_as(&ada, &accept(&admin)).await;
    assert_eq!(reply["data"]["acceptRole"], true, "{reply}");
    let roles = app.aspect(ADA, "roleMembership").await.unwrap();
    assert_eq!(roles["roles"], json!(["urn:li:dataHubRole:Admin"]));
    let reply = app.graphql_as(&ada, &accept("wrong")).await;
    assert_eq!(code(&reply), 403, "{reply}");
}

#[tokio::test]
async fn invite_links_are_secret_and_cannot_be_forged() {
    let app = App::empty().await;
    let token = invite(&app, Some("Reader")).await;
    let urns = app
        .store()
        .urns_list("inviteToken", AspectName::INVITE_TOKEN, None, 10)
        .await
        .unwrap();
    let link = urns[0].as_str();
    assert!(!link.contains(&token));
    let stored = app.store();
    let keys = [AspectKey::new(&urns[0], AspectName::INVITE_TOKEN)];
    let rows = stored
        .read(docent_store::ReadRequest::rows(&keys))
        .await
        .unwrap()
        .rows;
    assert!(
        !rows[0].as_ref().unwrap().metadata.contains(&token),
        "only the hash is stored"
    );
    for path in [
        format!("/aspects/{}?aspect=inviteToken&version=0", encoded(link)),
        format!("/entitiesV2/{}", encoded(link)),
        format!(
            "/openapi/v3/entity/inviteToken/{}?systemMetadata=true",
            encoded(link)
        ),
    ] {
        let (_, body) = app.get(&path).await;
        let text = body.to_string();
        assert!(!text.contains("dataHubRole:Reader"), "{path}: {text}");
    }
    let forged = json!({"token": "x", "role": "urn:li:dataHubRole:Admin"});
    let (status, _) = app
        .propose("UPSERT", "urn:li:inviteToken:x", "inviteToken", &forged)
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let (status, _) = app
        .propose(
            "UPSERT",
            ADA,
            "subTypes",
            &json!({"typeNames": ["SERVICE_ACCOUNT"]}),
        )
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_reset_link_sets_a_password_once() {
    let app = with_ada().await;
    let (old_session, token) = (session(&app, "ada").await, reset_link(&app, ADA).await);
    assert!(
        whoami(&app, &old_session).await.is_some(),
        "a link changes nothing yet"
    );
    let (status, _) = app.send(log_in("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = app.send(reset("grace", &token, NEW)).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "the link is for ada");
    let (status, body) = app.send(reset("ada", &token, "short")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let response = app.respond(reset("ada", &token, NEW)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = cookies(&response)[0].split(';').next().unwrap().to_owned();
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
    assert_eq!(whoami(&app, &old_session).await, None);
    let (status, _) = app.send(log_in("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = app.send(reset("ada", &token, "yet another secret")).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "it works once");
}

#[tokio::test]
async fn reset_links_expire_and_stop_with_the_account() {
    let app = with_ada().await;
    let first = reset_link(&app, ADA).await;
    let second = reset_link(&app, ADA).await;
    let (status, _) = app.send(reset("ada", &first, NEW)).await;
    assert_eq!(
        status,
        StatusCode::FORBIDDEN,
        "the second replaces the first"
    );
    app.catalog
        .suspend_user(&system(), &urn(ADA))
        .await
        .unwrap();
    let (status, _) = app.send(reset("ada", &second, NEW)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    app.catalog.resume_user(&system(), &urn(ADA)).await.unwrap();
    app.clock.advance(RESET_TTL_MS);
    let (status, _) = app.send(reset("ada", &second, NEW)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_reset_link_gives_an_imported_user_the_first_password() {
    let app = App::empty().await;
    app.ingest(ADA, "corpUserInfo", &json!({"active": true}))
        .await;
    let token = reset_link(&app, ADA).await;
    let (status, _) = app.send(log_in("ada", "")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = app.send(reset("ada", &token, PASSWORD)).await;
    assert_eq!(status, StatusCode::OK);
    let missing = "mutation { createNativeUserResetToken(input: {userUrn: \"urn:li:corpuser:nobody\"}) { resetToken } }";
    assert_eq!(app.graphql_error(missing).await.0, 404);
}

#[tokio::test]
async fn a_role_that_manages_credentials_cannot_take_over_the_administrator() {
    let app = with_ada().await;
    let ada = token_of(&app.catalog, ADA, Some(1_000_000)).await;
    let admin = json!({"roleUrn": "urn:li:dataHubRole:Admin", "actors": [ADA]});
    app.mutate("batchAssignRole", "BatchAssignRoleInput", admin)
        .await;
    let link = |user: &str| {
        format!(
            "mutation {{ createNativeUserResetToken(input: {{userUrn: \"{user}\"}}) {{ resetToken }} }}"
        )
    };
    let reply = app.graphql_as(&ada, &link(USER)).await;
    assert_eq!(code(&reply), 403, "{reply}");
    let reply = app.graphql_as(&ada, &link(ADA)).await;
    assert!(reply.get("errors").is_none(), "{reply}");
}

#[tokio::test]
async fn users_change_their_own_password() {
    let app = with_ada().await;
    let (here, elsewhere) = (session(&app, "ada").await, session(&app, "ada").await);
    let change = |current: &str, new: &str| {
        let body = json!({"currentPassword": current, "newPassword": new});
        let mut request = post("/changePassword", &body);
        request
            .headers_mut()
            .insert(header::COOKIE, here.parse().unwrap());
        request
    };
    for (current, new, status) in [
        ("wrong", NEW, StatusCode::FORBIDDEN),
        (PASSWORD, "short", StatusCode::BAD_REQUEST),
        (PASSWORD, PASSWORD, StatusCode::BAD_REQUEST),
    ] {
        let (got, body) = app.send(change(current, new)).await;
        assert_eq!(got, status, "{body}");
    }
    let response = app.respond(change(PASSWORD, NEW)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = cookies(&response)[0].split(';').next().unwrap().to_owned();
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
    assert_eq!(whoami(&app, &here).await, None);
    assert_eq!(whoami(&app, &elsewhere).await, None);
    let (status, _) = app.send(log_in("ada", NEW)).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn guesses_of_the_current_password_are_limited() {
    let app = with_ada().await;
    let here = session(&app, "ada").await;
    let mut last = StatusCode::OK;
    for _ in 0..40 {
        let body = json!({"currentPassword": "a wrong guess", "newPassword": NEW});
        let mut request = post("/changePassword", &body);
        request
            .headers_mut()
            .insert(header::COOKIE, here.parse().unwrap());
        last = app.send(request).await.0;
        if last == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn signing_out_everywhere_ends_sessions_and_tokens_on_request() {
    let app = with_ada().await;
    let (first, second) = (session(&app, "ada").await, session(&app, "ada").await);
    let ada = token_of(&app.catalog, ADA, Some(1_000_000)).await;
    let query = "mutation { signOutEverywhere(input: {}) }";
    let (status, reply) = app.send(query_with_cookie(&first, query)).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(reply["data"]["signOutEverywhere"], true, "{reply}");
    assert_eq!(whoami(&app, &first).await, None);
    assert_eq!(whoami(&app, &second).await, None);
    let reply = app.graphql_as(&ada, ME).await;
    assert_eq!(reply["data"]["me"]["corpUser"]["urn"], ADA, "tokens stay");
    let third = session(&app, "ada").await;
    let all = "mutation { signOutEverywhere(input: {userUrn: \"urn:li:corpuser:ada\", revokeTokens: true}) }";
    let reply = app.graphql(all).await;
    assert_eq!(reply["data"]["signOutEverywhere"], true, "{reply}");
    assert_eq!(whoami(&app, &third).await, None);
    let reply = app.graphql_as(&ada, ME).await;
    assert!(reply["message"].as_str().is_some(), "{reply}");
    let missing = "mutation { signOutEverywhere(input: {userUrn: \"urn:li:corpuser:nobody\"}) }";
    assert_eq!(app.graphql_error(missing).await.0, 404);
}

#[tokio::test]
async fn sessions_end_after_their_time_and_when_idle() {
    const MINUTE: i64 = 60_000;
    let limits = SessionLimits {
        absolute_ms: 120 * MINUTE,
        idle_ms: Some(30 * MINUTE),
    };
    let app = App::with_session_limits(limits).await;
    crate::sign_in::add(&app, ADA).await;
    let response = app.respond(log_in("ada", PASSWORD)).await;
    assert!(
        cookies(&response)[0].contains("Max-Age=7200"),
        "{:?}",
        cookies(&response)
    );
    let (busy, idle) = (session(&app, "ada").await, session(&app, "ada").await);
    for _ in 0..3 {
        app.clock.advance(29 * MINUTE);
        assert!(whoami(&app, &busy).await.is_some());
    }
    assert_eq!(whoami(&app, &idle).await, None);
    // Another server knows the last use from the store.
    app.catalog.store_token_uses(&system()).await;
    app.clock.advance(20 * MINUTE);
    let other = app.other_server(limits);
    assert!(
        other
            .authenticate_session(secret(&busy))
            .await
            .unwrap()
            .is_some()
    );
    // This server has seen no request for 29 minutes, and the other one has.
    other.store_token_uses(&system()).await;
    app.clock.advance(11 * MINUTE);
    assert!(
        app.catalog
            .authenticate_session(secret(&busy))
            .await
            .unwrap()
            .is_some()
    );
    app.clock.advance(5 * MINUTE);
    assert_eq!(
        whoami(&app, &busy).await,
        None,
        "two hours after the sign-in"
    );
}

fn secret(cookie: &str) -> &str {
    cookie.split(';').next().unwrap().split_once('=').unwrap().1
}
