//! Signing in, accounts and passwords.

use std::net::IpAddr;

use crate::support::{App, USER, encoded};
use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use docent_catalog::people::{NewUser, Password};
use docent_catalog::{Caller, ConflictReason, ErrorKind};
use docent_http::server::Peer;
use docent_model::{AspectName, Urn};
use docent_store::AspectKey;
use http_body_util::BodyExt;
use serde_json::{Value, json};

pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const ADA: &str = "urn:li:corpuser:ada";
const HERE: [u8; 4] = [192, 0, 2, 1];
pub(crate) const ME: &str = "{ me { corpUser { urn } } }";

pub(crate) fn system() -> Caller {
    Caller::new(Urn::parse("urn:li:corpuser:__datahub_system").unwrap())
}

pub(crate) fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

/// A catalog where ada can sign in.
pub(crate) async fn with_ada() -> App {
    let app = App::empty().await;
    add(&app, ADA).await;
    app
}

pub(crate) async fn add(app: &App, user: &str) {
    let new = NewUser {
        user: urn(user),
        display_name: None,
        email: None,
        password: Password::new(PASSWORD).unwrap(),
    };
    app.catalog.add_user(&system(), new, None).await.unwrap();
}

pub(crate) fn log_in(username: &str, password: &str) -> Request<Body> {
    let body = json!({"username": username, "password": password});
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/logIn")
        .header(header::HOST, "docent.example")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    request
        .extensions_mut()
        .insert(Peer::at(IpAddr::from(HERE)));
    request
}

pub(crate) fn with_header(
    mut request: Request<Body>,
    name: &'static str,
    value: &str,
) -> Request<Body> {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

pub(crate) fn cookies(response: &Response<Body>) -> Vec<String> {
    let cookies = response.headers().get_all(header::SET_COOKIE).iter();
    cookies
        .map(|cookie| cookie.to_str().unwrap().to_owned())
        .collect()
}

/// Signs in and returns the `Cookie` header that a browser would send.
pub(crate) async fn session(app: &App, username: &str) -> String {
    session_with(app, username, PASSWORD).await
}

pub(crate) async fn session_with(app: &App, username: &str, password: &str) -> String {
    let response = app.respond(log_in(username, password)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let pairs: Vec<String> = cookies(&response)
        .iter()
        .map(|cookie| cookie.split(';').next().unwrap().to_owned())
        .collect();
    pairs.join("; ")
}

/// A GraphQL request with a cookie, as DataHub's client sends it, without browser headers.
pub(crate) fn query_with_cookie(cookie: &str, query: &str) -> Request<Body> {
    Request::builder()
        .method(Method::POST)
        .uri("/api/v2/graphql")
        .header(header::HOST, "docent.example")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::COOKIE, cookie)
        .body(Body::from(json!({"query": query}).to_string()))
        .unwrap()
}

pub(crate) async fn whoami(app: &App, cookie: &str) -> Option<String> {
    let (status, reply) = app.send(query_with_cookie(cookie, ME)).await;
    if status == StatusCode::UNAUTHORIZED {
        return None;
    }
    assert_eq!(status, StatusCode::OK, "{reply}");
    let urn = &reply["data"]["me"]["corpUser"]["urn"];
    Some(urn.as_str().unwrap().to_owned())
}

#[tokio::test]
async fn signing_in_sets_http_only_same_site_cookies() {
    let app = with_ada().await;
    let response = app.respond(log_in("ada", PASSWORD)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookies = cookies(&response);
    let [session, actor, device] = cookies.as_slice() else {
        panic!("{cookies:?}");
    };
    let (secret, rest) = session.split_once("; ").unwrap();
    assert_eq!(
        rest, "HttpOnly; SameSite=Lax; Path=/; Max-Age=86400",
        "{session}"
    );
    let secret = secret.strip_prefix("PLAY_SESSION=").unwrap();
    assert!(secret.len() >= 64, "{secret}");
    assert_eq!(
        actor,
        "actor=urn:li:corpuser:ada; SameSite=Lax; Path=/; Max-Age=86400"
    );
    let (mark, rest) = device.split_once("; ").unwrap();
    assert!(mark.starts_with("docent_device="), "{device}");
    assert!(!mark.contains("ada") && mark.len() < 100, "{device}");
    assert_eq!(
        rest, "HttpOnly; SameSite=Lax; Path=/; Max-Age=7776000",
        "{device}"
    );
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body, json!({"actor": ADA}));
    let cookie = format!("other=1; PLAY_SESSION={secret}; actor=urn:li:corpuser:ada");
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
}

#[tokio::test]
async fn user_names_may_contain_any_characters() {
    let app = App::empty().await;
    let user = "urn:li:corpuser:zoë o'hara; x=y@example.com";
    add(&app, user).await;
    let cookie = session(&app, "zoë o'hara; x=y@example.com").await;
    assert!(
        cookie.contains("zo%C3%AB%20o%27hara%3B%20x%3Dy@example.com"),
        "{cookie}"
    );
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(user));
}

#[tokio::test]
async fn failed_sign_ins_do_not_reveal_the_reason() {
    let app = with_ada().await;
    for user in ["suspended", "removed", "never-had-a-password"] {
        let user = format!("urn:li:corpuser:{user}");
        if user.ends_with("password") {
            crate::support::token_of(&app.catalog, &user, None).await;
        } else {
            add(&app, &user).await;
        }
    }
    let suspended = urn("urn:li:corpuser:suspended");
    app.catalog
        .suspend_user(&system(), &suspended)
        .await
        .unwrap();
    app.ingest(
        "urn:li:corpuser:removed",
        "status",
        &json!({"removed": true}),
    )
    .await;
    let mut replies = Vec::new();
    for (username, password) in [
        ("ada", "wrong horse"),
        ("ada", ""),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        ("suspended", PASSWORD),
        ("removed", PASSWORD),
        ("never-had-a-password", PASSWORD),
    ] {
        let response = app.respond(log_in(username, password)).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{username}");
        assert_eq!(cookies(&response), Vec::<String>::new(), "{username}");
        let headers = response.headers().clone();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        replies.push((headers, body));
    }
    let message = String::from_utf8_lossy(&replies[0].1).into_owned();
    assert!(
        message.contains("username or the password is wrong"),
        "{message}"
    );
    for reply in &replies {
        assert_eq!(*reply, replies[0], "every rejection is the same");
    }
}

#[tokio::test]
async fn invalid_sign_in_bodies_are_rejected_without_repeating_them() {
    let app = with_ada().await;
    for body in [
        "",
        "{",
        "[]",
        r#"{"username": "ada"}"#,
        r#"{"username": "ada", "password": 12345678}"#,
        r#"{"username": {"needle": 1}, "password": "needle"}"#,
    ] {
        let mut request = log_in("", "");
        *request.body_mut() = Body::from(body);
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains("username"), "{message}");
        assert!(!message.contains("needle") && !message.contains("1234"));
    }
    let (status, reply) = app.send(log_in("ada", &"x".repeat(1025))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
}

#[tokio::test]
async fn a_new_password_ends_sessions_keeps_tokens_and_erases_the_old_hash() {
    let app = with_ada().await;
    let key = AspectKey::new(&urn(ADA), AspectName::CORP_USER_CREDENTIALS);
    let hashes = async || {
        let versions = app.store().histories_read(std::slice::from_ref(&key)).await;
        let mut versions = versions.unwrap();
        let texts = versions.remove(0).into_iter().map(|row| row.metadata);
        texts.collect::<Vec<String>>()
    };
    let before = hashes().await;
    let token = crate::support::token_of(&app.catalog, ADA, None).await;
    let cookie = session(&app, "ada").await;
    let password = Password::new("another horse").unwrap();
    app.catalog
        .set_password(&system(), &urn(ADA), &password)
        .await
        .unwrap();
    assert_eq!(whoami(&app, &cookie).await, None);
    assert!(app.catalog.authenticate(&token).await.unwrap().is_some());
    let (status, _) = app.send(log_in("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    let (status, _) = app.send(log_in("ada", "another horse")).await;
    assert_eq!(status, StatusCode::OK);
    let after = hashes().await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(after, before);
}

#[tokio::test]
async fn adding_an_ingested_user_keeps_its_details_and_fails_a_second_time() {
    let app = with_ada().await;
    let grace = "urn:li:corpuser:grace";
    let info = json!({"active": true, "displayName": "Grace", "title": "Admiral"});
    app.ingest(grace, "corpUserInfo", &info).await;
    app.ingest(grace, "status", &json!({"removed": true})).await;
    let new = |user: &str| NewUser {
        user: urn(user),
        display_name: None,
        email: Some("grace@example.com".to_owned()),
        password: Password::new(PASSWORD).unwrap(),
    };
    app.catalog
        .add_user(&system(), new(grace), None)
        .await
        .unwrap();
    let stored = app.aspect(grace, "corpUserInfo").await.unwrap();
    assert_eq!(
        stored,
        json!({
            "active": true, "displayName": "Grace", "title": "Admiral",
            "email": "grace@example.com",
        })
    );
    assert!(whoami(&app, &session(&app, "grace").await).await.is_some());
    let again = app
        .catalog
        .add_user(&system(), new(ADA), None)
        .await
        .unwrap_err();
    let exists = ErrorKind::Conflict(ConflictReason::PasswordExists);
    assert_eq!(again.kind(), exists);
    assert!(
        again.to_string().contains("has a password already"),
        "{again}"
    );
    let wrong = app
        .catalog
        .add_user(&system(), new("urn:li:domain:x"), None)
        .await;
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Invalid);
    let nobody = urn("urn:li:corpuser:nobody");
    let password = Password::new(PASSWORD).unwrap();
    for refused in [
        app.catalog
            .set_password(&system(), &nobody, &password)
            .await,
        app.catalog.suspend_user(&system(), &nobody).await,
        app.catalog.resume_user(&system(), &nobody).await,
    ] {
        assert_eq!(refused.unwrap_err().to_string(), "there is no user nobody");
    }
    let exists = app.catalog.exists(&[nobody]).await.unwrap();
    assert_eq!(exists, [false], "and none was made");
}

#[tokio::test]
async fn no_api_reads_or_writes_password_hashes() {
    let app = with_ada().await;
    let credentials = json!({"salt": "s", "hashedPassword": "$argon2id$forged"});
    for change in ["UPSERT", "CREATE", "CREATE_ENTITY", "DELETE"] {
        for user in [ADA, USER, "urn:li:corpuser:new"] {
            let (status, reply) = app
                .propose(change, user, "corpUserCredentials", &credentials)
                .await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{change} {user}: {reply}");
            let message = reply["message"].as_str().unwrap();
            assert!(message.contains("people set their own"), "{message}");
        }
    }
    session(&app, "ada").await;

    let ada = encoded(ADA);
    let (status, _) = app
        .get(&format!("/aspects/{ada}?aspect=corpUserCredentials"))
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let scroll =
        json!({"entities": ["corpuser"], "aspects": ["corpUserCredentials", "corpUserKey"]});
    let raw = format!(
        r#"{{ corpUser(urn: "{ADA}") {{ isNativeUser aspects(input: {{}}) {{ aspectName payload }} }} }}"#
    );
    let named = r#"{ searchAcrossEntities(input: {query: "argon2id"}) { total } }"#;
    for (endpoint, (status, reply)) in [
        ("entitiesV2", app.get(&format!("/entitiesV2/{ada}")).await),
        (
            "entitiesV2 by name",
            app.get(&format!(
                "/entitiesV2/{ada}?aspects=List(corpUserCredentials)"
            ))
            .await,
        ),
        ("list", app.get("/openapi/v3/entity/corpuser").await),
        (
            "scroll",
            app.post("/openapi/v3/entity/scroll", &scroll).await,
        ),
        ("raw", (StatusCode::OK, app.graphql(&raw).await)),
        ("search", (StatusCode::OK, app.graphql(named).await)),
    ] {
        assert_eq!(status, StatusCode::OK, "{endpoint}: {reply}");
        let shown = reply.to_string();
        assert!(!shown.contains("$argon2id"), "{endpoint}: {shown}");
        assert!(!shown.contains("hashedPassword"), "{endpoint}: {shown}");
    }
    let reply = app.graphql(&raw).await;
    assert_eq!(reply["data"]["corpUser"]["isNativeUser"], true);
    assert_eq!(
        app.graphql(named).await["data"]["searchAcrossEntities"]["total"],
        0
    );
}

#[tokio::test]
async fn sign_in_works_under_the_base_paths_of_datahub() {
    let app = with_ada().await;
    let (status, config) = app.get("/api/gms/config").await;
    assert_eq!(
        (status, &config["noCode"]),
        (StatusCode::OK, &json!("true"))
    );
    let path = format!("/api/gms/aspects/{}?aspect=corpUserKey", encoded(ADA));
    let (status, reply) = app.get(&path).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let mut request = query_with_cookie("", ME);
    *request.uri_mut() = "/api/gms/no/such/route".parse().unwrap();
    assert_eq!(app.send(request).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_reset_link_takes_the_user_name_or_the_urn() {
    let app = with_ada().await;
    let link = format!(
        "mutation {{ createNativeUserResetToken(input: {{userUrn: \"{ADA}\"}}) {{ resetToken }} }}"
    );
    let path = "/resetNativeUserCredentials";
    for (user, status) in [
        (json!({}), StatusCode::BAD_REQUEST),
        (json!({"userUrn": "ada"}), StatusCode::BAD_REQUEST),
        (
            json!({"userUrn": "urn:li:corpGroup:ada"}),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!({"userUrn": "urn:li:corpuser:grace"}),
            StatusCode::FORBIDDEN,
        ),
        (json!({"userUrn": ADA}), StatusCode::OK),
        (json!({"email": "ada"}), StatusCode::OK),
    ] {
        let reply = app.graphql(&link).await;
        let mut body = user.clone();
        body["resetToken"] = reply["data"]["createNativeUserResetToken"]["resetToken"].clone();
        body["password"] = json!("another long secret");
        let (found, reply) = app.post(path, &body).await;
        assert_eq!(found, status, "{user}: {reply}");
    }
}
