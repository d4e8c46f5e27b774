//! Sessions: what they authenticate, and when they end.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_model::Urn;
use serde_json::json;

use crate::sign_in::{
    ADA, ME, PASSWORD, add, cookies, log_in, query_with_cookie, session, system, urn, whoami,
    with_ada, with_header,
};
use crate::support::App;

#[tokio::test]
async fn signing_out_ends_only_this_session() {
    let app = with_ada().await;
    let (first, second) = (session(&app, "ada").await, session(&app, "ada").await);
    let out = |method: Method, cookie: &str| {
        Request::builder()
            .method(method)
            .uri("/logOut")
            .header(header::COOKIE, cookie)
            .body(Body::empty())
            .unwrap()
    };
    let response = app.respond(out(Method::POST, &first)).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(
        cookies(&response),
        [
            "PLAY_SESSION=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0",
            "docent_id_token=; HttpOnly; SameSite=Lax; Path=/logOut; Max-Age=0",
            "actor=; SameSite=Lax; Path=/; Max-Age=0",
        ]
    );
    assert_eq!(whoami(&app, &first).await, None);
    assert_eq!(whoami(&app, &second).await.as_deref(), Some(ADA));
    let response = app.respond(out(Method::POST, &first)).await;
    assert_eq!(response.status(), StatusCode::OK, "who is out is out");

    let foreign = with_header(out(Method::GET, &second), "sec-fetch-site", "cross-site");
    assert_eq!(app.send(foreign).await.0, StatusCode::FORBIDDEN);
    let picture = with_header(out(Method::GET, &second), "sec-fetch-dest", "image");
    assert_eq!(app.send(picture).await.0, StatusCode::FORBIDDEN);
    assert_eq!(whoami(&app, &second).await.as_deref(), Some(ADA));
    let link = with_header(out(Method::GET, &second), "sec-fetch-dest", "document");
    let response = app.respond(link).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()[header::LOCATION], "/");
    assert_eq!(cookies(&response).len(), 3);
    assert_eq!(whoami(&app, &second).await, None);
}

#[tokio::test]
async fn a_session_expires_after_a_day() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    app.clock.advance(24 * 3_600_000 - 1);
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
    app.clock.advance(1);
    assert_eq!(whoami(&app, &cookie).await, None);
}

#[tokio::test]
async fn the_oldest_session_ends_when_a_user_has_too_many() {
    let app = with_ada().await;
    add(&app, "urn:li:corpuser:grace").await;
    let others = session(&app, "grace").await;
    let mut sessions = Vec::new();
    for _ in 0..21 {
        app.clock.advance(1);
        sessions.push(session(&app, "ada").await);
    }
    assert_eq!(whoami(&app, &sessions[0]).await, None);
    for cookie in &sessions[1..] {
        assert_eq!(whoami(&app, cookie).await.as_deref(), Some(ADA));
    }
    assert!(whoami(&app, &others).await.is_some());
}

#[tokio::test]
async fn sessions_end_when_the_user_is_suspended_removed_or_deleted() {
    let app = App::empty().await;
    for (name, how) in [("a", "suspend"), ("b", "remove"), ("c", "delete")] {
        let user = format!("urn:li:corpuser:{name}");
        add(&app, &user).await;
        let cookie = session(&app, name).await;
        // Used before, so that the server may have cached it.
        assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(user.as_str()));
        match how {
            "suspend" => {
                let (caller, urn) = (system(), urn(&user));
                app.catalog.suspend_user(&caller, &urn).await.unwrap();
            }
            "remove" => app.ingest(&user, "status", &json!({"removed": true})).await,
            _ => {
                let (status, _) = app
                    .post("/entities?action=delete", &json!({"urn": user}))
                    .await;
                assert_eq!(status, StatusCode::OK);
            }
        }
        assert_eq!(whoami(&app, &cookie).await, None, "{how}");
    }
    // Reactivating the account does not restore its sessions.
    let user = urn("urn:li:corpuser:a");
    let cookie = session_of_suspended(&app, &user).await;
    app.catalog.resume_user(&system(), &user).await.unwrap();
    assert_eq!(whoami(&app, &cookie).await, None);
    assert!(whoami(&app, &session(&app, "a").await).await.is_some());
}

/// A session from before the suspension of its user.
async fn session_of_suspended(app: &App, user: &Urn) -> String {
    app.catalog.resume_user(&system(), user).await.unwrap();
    let cookie = session(app, user.key()).await;
    app.catalog.suspend_user(&system(), user).await.unwrap();
    cookie
}

#[tokio::test]
async fn cross_site_requests_cannot_use_a_session() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    let change = r#"mutation { createDomain(input: {id: "stolen", name: "Stolen"}) }"#;
    let exists = async || {
        let urns = [urn("urn:li:domain:stolen")];
        app.catalog.exists(&urns).await.unwrap() == [true]
    };
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        // Forms without `Origin` and `Sec-Fetch-Site`.
        ("content-type", "text/plain"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-type", "multipart/form-data; boundary=x"),
    ] {
        let request = with_header(query_with_cookie(&cookie, change), name, value);
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}: {value}: {reply}");
        assert!(!exists().await, "{name}: {value}");
    }
    // A form that signs the user in as the attacker.
    let request = with_header(log_in("ada", PASSWORD), "origin", "https://evil.example");
    let response = app.respond(request).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert_eq!(cookies(&response), Vec::<String>::new());

    // Tokens are exempt, because browsers never add them on their own.
    let body = json!({"query": ME}).to_string();
    let request = app.request(Method::POST, "/api/graphql", body);
    let request = with_header(request, "origin", "https://other.example");
    assert_eq!(app.send(request).await.0, StatusCode::OK);
    // Reads are allowed: other sites may link here.
    let mut request = query_with_cookie(&cookie, ME);
    *request.method_mut() = Method::GET;
    *request.uri_mut() = "/entitiesV2/urn:li:corpuser:ada".parse().unwrap();
    let request = with_header(request, "sec-fetch-site", "cross-site");
    assert_eq!(app.send(request).await.0, StatusCode::OK);

    for (name, value) in [
        ("origin", "http://docent.example"),
        ("sec-fetch-site", "same-origin"),
    ] {
        let request = with_header(query_with_cookie(&cookie, ME), name, value);
        assert_eq!(app.send(request).await.0, StatusCode::OK, "{name}: {value}");
    }
    let (status, reply) = app.send(query_with_cookie(&cookie, change)).await;
    assert_eq!(status, StatusCode::OK, "as a program: {reply}");
    assert!(exists().await);
}

#[tokio::test]
async fn tokens_are_created_listed_and_revoked_with_a_session() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    let ask = async |query: &str| {
        let (status, reply) = app.send(query_with_cookie(&cookie, query)).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply
    };
    let made = ask(&format!(
        r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{ADA}", duration: ONE_MONTH, name: "cli" }})
           {{ accessToken metadata {{ id ownerUrn }} }} }}"#
    ))
    .await;
    let made = &made["data"]["createAccessToken"];
    assert_eq!(made["metadata"]["ownerUrn"], ADA);
    let token = made["accessToken"].as_str().unwrap();
    assert!(app.catalog.authenticate(token).await.unwrap().is_some());
    let listed = ask("{ listAccessTokens(input: {}) { total tokens { name } } }").await;
    let listed = &listed["data"]["listAccessTokens"];
    assert_eq!(listed["total"], 1, "this one, not the app's: {listed}");
    assert!(!listed.to_string().contains("session"), "{listed}");
    let id = made["metadata"]["id"].as_str().unwrap();
    ask(&format!(
        r#"mutation {{ revokeAccessToken(tokenId: "{id}") }}"#
    ))
    .await;
    assert!(app.catalog.authenticate(token).await.unwrap().is_none());
}

#[tokio::test]
async fn sessions_and_tokens_are_not_interchangeable() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    assert!(
        whoami(&app, &cookie).await.is_some(),
        "it may be remembered"
    );
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    assert!(app.catalog.authenticate(secret).await.unwrap().is_none());
    for wrong in [&app.token, "", "x", &"0".repeat(96), &"ä".repeat(48)] {
        let cookie = format!("PLAY_SESSION={wrong}");
        let mut request = query_with_cookie("", ME);
        let value = header::HeaderValue::from_bytes(cookie.as_bytes()).unwrap();
        request.headers_mut().insert(header::COOKIE, value);
        assert_eq!(
            app.send(request).await.0,
            StatusCode::UNAUTHORIZED,
            "{wrong}"
        );
    }
    // An invalid token fails despite a valid cookie.
    let request = with_header(
        query_with_cookie(&cookie, ME),
        "authorization",
        "Bearer wrong",
    );
    assert_eq!(app.send(request).await.0, StatusCode::UNAUTHORIZED);
}
