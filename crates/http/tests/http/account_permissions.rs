//! Permissions on accounts: impersonation, suspension, removal.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_catalog::people::{NewUser, Password};
use docent_model::AspectName;
use serde_json::{Value, json};

use crate::sign_in::{ADA, PASSWORD, add, session, system, urn, whoami, with_ada};
use crate::support::{App, USER, encoded, proposal, token_of};

const GRACE: &str = "urn:li:corpuser:grace";

/// A request with another token than the app's.
fn by(token: &str, method: Method, path: &str, body: &Value) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .unwrap()
}

fn status_of(status: &str) -> Value {
    json!({"status": status, "lastModified": {"time": 1, "actor": USER}})
}

async fn is_let_in(app: &App, token: &str) -> bool {
    app.catalog.authenticate(token).await.unwrap().is_some()
}

#[tokio::test]
async fn only_the_administrator_changes_suspensions_through_ingestion() {
    let app = with_ada().await;
    add(&app, GRACE).await;
    let graces = token_of(&app.catalog, GRACE, None).await;
    let adas = token_of(&app.catalog, ADA, None).await;
    app.catalog
        .suspend_user(&system(), &urn(ADA))
        .await
        .unwrap();
    let stored = app.aspect(ADA, "corpUserStatus").await;
    let one = format!("/openapi/v3/entity/corpuser/{}", encoded(ADA));
    let aspect = format!("{one}/corpUserStatus?createIfNotExists=false");
    let proposed = |urn: &str, status: &str| json!({"proposal": proposal("UPSERT", urn, "corpUserStatus", &status_of(status))});
    let operations = json!([{"op": "replace", "path": "/status", "value": "ACTIVE"}]);
    let patched = json!({"query": format!(
        r#"mutation {{ patchEntity(input: {{ urn: "{ADA}", aspectName: "corpUserStatus",
            patch: [{{ op: REPLACE, path: "/status", value: "\"ACTIVE\"" }}] }}) {{ success error }} }}"#
    )});
    for (what, method, path, body) in [
        (
            "proposal",
            Method::POST,
            "/aspects?action=ingestProposal",
            proposed(ADA, "ACTIVE"),
        ),
        (
            "suspending another",
            Method::POST,
            "/aspects?action=ingestProposal",
            proposed(USER, "SUSPENDED"),
        ),
        (
            "suspending a new user",
            Method::POST,
            "/aspects?action=ingestProposal",
            proposed("urn:li:corpuser:new", "SUSPENDED"),
        ),
        (
            "batch",
            Method::POST,
            "/aspects?action=ingestProposalBatch",
            json!({"proposals": [
                proposal("UPSERT", GRACE, "corpUserStatus", &status_of("ACTIVE")),
                proposal("UPSERT", ADA, "corpUserStatus", &status_of("ACTIVE")),
            ]}),
        ),
        (
            "aspect",
            Method::POST,
            aspect.as_str(),
            json!({"value": status_of("ACTIVE")}),
        ),
        ("patch", Method::PATCH, aspect.as_str(), operations),
        (
            "delete",
            Method::DELETE,
            &format!("{one}/corpUserStatus"),
            Value::Null,
        ),
        (
            "clear",
            Method::DELETE,
            &format!("{one}?clear=true"),
            Value::Null,
        ),
    ] {
        let (status, reply) = app.send(by(&graces, method, path, &body)).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{what}: {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(
            message.contains("UPDATE_USERS suspends"),
            "{what}: {message}"
        );
        let named = message.starts_with("item 1 (urn:li:corpuser:ada corpUserStatus)");
        assert!(named || what != "batch", "{message}");
    }
    let (_, reply) = app
        .send(by(&graces, Method::POST, "/api/graphql", &patched))
        .await;
    assert!(
        reply.to_string().contains("UPDATE_USERS suspends"),
        "{reply}"
    );
    assert_eq!(app.aspect(ADA, "corpUserStatus").await, stored);
    assert!(is_let_in(&app, &app.token).await);
    assert_eq!(app.aspect("urn:li:corpuser:new", "corpUserKey").await, None);

    // Writes that keep the status are accepted: connectors write it for every user.
    for (user, status) in [
        (ADA, "SUSPENDED"),
        (GRACE, "ACTIVE"),
        ("urn:li:corpuser:new", "ACTIVE"),
    ] {
        let path = "/aspects?action=ingestProposal";
        let (code, reply) = app
            .send(by(&graces, Method::POST, path, &proposed(user, status)))
            .await;
        assert_eq!(code, StatusCode::OK, "{user}: {reply}");
    }
    assert!(!is_let_in(&app, &adas).await);
    // The administrator is allowed to.
    app.ingest(ADA, "corpUserStatus", &status_of("ACTIVE"))
        .await;
    assert!(is_let_in(&app, &adas).await);
}

fn removed(removed: bool) -> Value {
    json!({ "removed": removed })
}

#[tokio::test]
async fn only_the_administrator_removes_or_restores_accounts_through_ingestion() {
    const PROPOSAL: &str = "/aspects?action=ingestProposal";
    const PROGRAM: &str = "urn:li:corpuser:program";
    const GONE: &str = "urn:li:corpuser:gone";
    const FOUND: &str = "urn:li:corpuser:found";
    let app = with_ada().await;
    for user in [GRACE, GONE] {
        add(&app, user).await;
    }
    let graces = token_of(&app.catalog, GRACE, None).await;
    let programs = token_of(&app.catalog, PROGRAM, None).await;
    app.ingest(GONE, "status", &removed(true)).await;
    app.catalog
        .suspend_user(&system(), &urn(ADA))
        .await
        .unwrap();
    let status = |urn: &str, value: bool| json!({"proposal": proposal("UPSERT", urn, "status", &removed(value))});
    let soft = |urn: &str, deleted: bool| {
        json!({"query": format!(
            r#"mutation {{ batchUpdateSoftDeleted(input: {{ urns: ["{urn}"], deleted: {deleted} }}) }}"#
        )})
    };
    let of = |urn: &str| format!("/openapi/v3/entity/corpuser/{}", encoded(urn));
    let (post, delete) = (Method::POST, Method::DELETE);
    let hard = "/entities?action=delete".to_owned();
    let refused = [
        (&post, PROPOSAL.to_owned(), status(USER, true)),
        (&post, PROPOSAL.to_owned(), status(PROGRAM, true)),
        (&post, PROPOSAL.to_owned(), status(ADA, true)),
        (&post, PROPOSAL.to_owned(), status(GONE, false)),
        (&post, "/api/graphql".to_owned(), soft(PROGRAM, true)),
        (&post, "/api/graphql".to_owned(), soft(GONE, false)),
        (&post, hard.clone(), json!({ "urn": ADA })),
        (&post, hard.clone(), json!({ "urn": PROGRAM })),
        (&delete, of(GONE), Value::Null),
        (&delete, format!("{}/corpUserKey", of(USER)), Value::Null),
        (&delete, format!("{}/status", of(GONE)), Value::Null),
        (&delete, format!("{}?clear=true", of(GONE)), Value::Null),
    ];
    for (method, path, body) in refused {
        let (status, reply) = app.send(by(&graces, method.clone(), &path, &body)).await;
        let text = reply.to_string();
        // GraphQL has the code in the reply.
        let is_forbidden = status == StatusCode::FORBIDDEN || text.contains("403");
        assert!(is_forbidden, "{method} {path} {body}: {text}");
        assert!(text.contains("UPDATE_USERS suspends, removes"), "{text}");
    }
    assert!(is_let_in(&app, &app.token).await);
    assert!(is_let_in(&app, &programs).await);

    // Ingestion may create, update and delete users who have no account.
    for (method, path, body) in [
        (&post, PROPOSAL.to_owned(), status(FOUND, false)),
        (&post, PROPOSAL.to_owned(), status(FOUND, true)),
        (&post, "/api/graphql".to_owned(), soft(FOUND, false)),
        (&post, PROPOSAL.to_owned(), status(GRACE, false)),
        (&post, PROPOSAL.to_owned(), status(ADA, false)),
        (&post, PROPOSAL.to_owned(), status(GONE, true)),
        (&post, hard.clone(), json!({ "urn": FOUND })),
    ] {
        let (code, reply) = app.send(by(&graces, method.clone(), &path, &body)).await;
        assert_eq!(code, StatusCode::OK, "{path} {body}: {reply}");
        assert!(reply.get("errors").is_none(), "{path} {body}: {reply}");
    }
    assert_eq!(app.aspect(FOUND, "corpUserKey").await, None);
    assert!(is_let_in(&app, &graces).await);
}

#[tokio::test]
async fn only_the_administrator_creates_tokens_for_others() {
    let app = with_ada().await;
    add(&app, GRACE).await;
    let create = |user: &str| {
        json!({"query": format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{user}", duration: ONE_DAY, name: "x" }})
               {{ accessToken }} }}"#
        )})
    };
    let adas = token_of(&app.catalog, ADA, None).await;
    let ask =
        |token: &str, user: &str| app.send(by(token, Method::POST, "/api/graphql", &create(user)));
    for other in [GRACE, USER, "urn:li:corpuser:nobody"] {
        let (_, reply) = ask(&adas, other).await;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], 403, "{other}: {reply}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("the privilege MANAGE_ACCESS_TOKENS"),
            "{message}"
        );
    }
    let token_in = |reply: &Value| {
        let token = &reply["data"]["createAccessToken"]["accessToken"];
        token.as_str().unwrap().to_owned()
    };
    let own = token_in(&ask(&adas, ADA).await.1);
    assert!(is_let_in(&app, &own).await, "for oneself");
    let given = token_in(&ask(&app.token, GRACE).await.1);
    let caller = app.catalog.authenticate(&given).await.unwrap().unwrap();
    assert_eq!(caller.actor().as_str(), GRACE, "by the administrator");
    app.catalog
        .suspend_user(&system(), &urn(ADA))
        .await
        .unwrap();
    assert!(!is_let_in(&app, &own).await, "nothing is left to ada");

    let may = |token: &str| {
        let query = json!({"query": "{ me { platformPrivileges { manageTokens manageIdentities manageDomains } } }"});
        by(token, Method::POST, "/api/graphql", &query)
    };
    let (_, reply) = app.send(may(&given)).await;
    assert_eq!(
        reply["data"]["me"]["platformPrivileges"],
        json!({"manageTokens": false, "manageIdentities": false, "manageDomains": true})
    );
    let (_, reply) = app.send(may(&app.token)).await;
    assert_eq!(
        reply["data"]["me"]["platformPrivileges"]["manageTokens"],
        true
    );
}

#[tokio::test]
async fn a_token_does_not_outlive_the_token_that_created_it() {
    const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;
    let app = with_ada().await;
    let create = |duration: &str| {
        json!({"query": format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{ADA}", duration: {duration}, name: "x" }})
               {{ accessToken }} }}"#
        )})
    };
    let ask = |token: &str, duration| {
        let query = create(duration);
        app.send(by(token, Method::POST, "/api/graphql", &query))
    };
    let short = token_of(&app.catalog, ADA, Some(WEEK_MS)).await;
    let (_, reply) = ask(&short, "ONE_MONTH").await;
    let error = &reply["errors"][0];
    assert_eq!(error["extensions"]["code"], 403, "{reply}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("Z: choose a shorter lifetime"),
        "{message}"
    );
    for (token, duration) in [
        (&short, "ONE_WEEK"),
        (&short, "ONE_DAY"),
        (&token_of(&app.catalog, ADA, None).await, "ONE_YEAR"),
    ] {
        let (_, reply) = ask(token, duration).await;
        assert_eq!(reply.get("errors"), None, "{duration}: {reply}");
    }
    // A sign-in proves the password, so its tokens may live longer than the session.
    let cookie = session(&app, "ada").await;
    for (duration, is_allowed) in [("THREE_MONTHS", true), ("SIX_MONTHS", false)] {
        let mut request = by("", Method::POST, "/api/graphql", &create(duration));
        request.headers_mut().remove(header::AUTHORIZATION);
        let cookie = cookie.parse().unwrap();
        request.headers_mut().insert(header::COOKIE, cookie);
        let (_, reply) = app.send(request).await;
        let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
        let is_limited = message.contains("at most 90 days") && message.contains("--max-token-ttl");
        assert_eq!(is_limited, !is_allowed, "{duration}: {reply}");
    }
}

#[tokio::test]
async fn tokens_are_not_created_for_inactive_accounts() {
    let app = with_ada().await;
    add(&app, GRACE).await;
    app.catalog
        .suspend_user(&system(), &urn(ADA))
        .await
        .unwrap();
    app.ingest(GRACE, "status", &json!({"removed": true})).await;
    for (user, says) in [(ADA, "ada is suspended"), (GRACE, "grace was removed")] {
        let create = format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{user}", duration: ONE_DAY, name: "x" }})
               {{ accessToken }} }}"#
        );
        let (code, message) = app.graphql_error(&create).await;
        assert_eq!(code, 409, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test]
async fn only_the_administrator_assigns_roles() {
    let app = with_ada().await;
    let assign = |role: &str, actor: &str| {
        json!({"query": format!(
            r#"mutation {{ batchAssignRole(input: {{ roleUrn: {role}, actors: ["{actor}"] }}) }}"#
        )})
    };
    let reader = r#""urn:li:dataHubRole:Reader""#;
    let ask = |token: &str, role: &str, actor: &str| {
        let query = assign(role, actor);
        app.send(by(token, Method::POST, "/api/graphql", &query))
    };
    let (_, reply) = ask(&app.token, reader, ADA).await;
    assert_eq!(reply["data"]["batchAssignRole"], true, "{reply}");
    let stored = app.aspect(ADA, "roleMembership").await;
    let expected = json!({"roles": ["urn:li:dataHubRole:Reader"]});
    assert_eq!(stored, Some(expected));
    let adas = token_of(&app.catalog, ADA, None).await;
    for (token, role, actor, code) in [
        (&adas, "null", ADA, 403),
        (&app.token, reader, "urn:li:corpuser:nobody", 400),
        (&app.token, reader, "urn:li:tag:x", 400),
        (&app.token, r#""urn:li:tag:x""#, ADA, 400),
    ] {
        let (_, reply) = ask(token, role, actor).await;
        let error = &reply["errors"][0]["extensions"];
        assert_eq!(error["code"], code, "{actor}: {reply}");
    }
    let (_, reply) = ask(&app.token, "null", ADA).await;
    assert_eq!(reply["data"]["batchAssignRole"], true, "{reply}");
    let stored = app.aspect(ADA, "roleMembership").await;
    assert_eq!(stored, Some(json!({"roles": []})));
}

/// The ways to delete a user.
async fn delete(app: &App, user: &str, how: &str) {
    let (status, reply) = match how {
        "entity" => {
            app.post("/entities?action=delete", &json!({"urn": user}))
                .await
        }
        "key" => {
            let path = format!("/openapi/v3/entity/corpuser/{}/corpUserKey", encoded(user));
            app.send(app.request(Method::DELETE, &path, "")).await
        }
        _ => {
            let body = json!({"runId": "r1", "dryRun": false, "hardDelete": true});
            app.post("/runs?action=rollback", &body).await
        }
    };
    assert_eq!(status, StatusCode::OK, "{how}: {reply}");
    assert_eq!(app.aspect(user, "corpUserKey").await, None, "{how}");
}

#[tokio::test]
async fn tokens_and_sessions_of_a_deleted_user_stay_invalid_when_the_name_is_reused() {
    let app = App::empty().await;
    for how in ["entity", "key", "run"] {
        let user = format!("urn:li:corpuser:{how}");
        if how == "run" {
            let mut first = proposal("UPSERT", &user, "corpUserKey", &json!({"username": how}));
            first["systemMetadata"]["runId"] = json!("r1");
            let (status, reply) = app.propose_all(vec![first]).await;
            assert_eq!(status, StatusCode::OK, "{reply}");
        }
        add(&app, &user).await;
        let token = token_of(&app.catalog, &user, None).await;
        let cookie = session(&app, how).await;
        assert!(is_let_in(&app, &token).await);
        delete(&app, &user, how).await;
        assert!(!is_let_in(&app, &token).await);
        // Created by ingestion first, then given an account by the operator.
        app.ingest(&user, "corpUserKey", &json!({"username": how}))
            .await;
        assert!(!is_let_in(&app, &token).await, "{how}");
        assert_eq!(whoami(&app, &cookie).await, None, "{how}");
        add(&app, &user).await;
        assert!(!is_let_in(&app, &token).await, "{how}");
        let new = token_of(&app.catalog, &user, None).await;
        assert!(is_let_in(&app, &new).await, "{how}: a new one works");
        assert!(is_let_in(&app, &app.token).await, "others are left alone");
    }
}

#[tokio::test]
async fn the_deleted_row_count_covers_only_the_user() {
    let app = App::empty().await;
    let mut rows = Vec::new();
    for (user, tokens) in [(ADA, 0), (GRACE, 3)] {
        app.ingest(
            user,
            "corpUserKey",
            &json!({"username": user.rsplit(':').next()}),
        )
        .await;
        for _ in 0..tokens {
            token_of(&app.catalog, user, None).await;
        }
        let (_, reply) = app
            .post("/entities?action=delete", &json!({"urn": user}))
            .await;
        rows.push(reply["value"]["rows"].clone());
    }
    assert!(rows[0].as_u64().unwrap() > 0);
    assert_eq!(rows[0], rows[1]);
}

#[tokio::test]
async fn a_removed_user_who_is_added_again_has_a_clean_account() {
    let app = with_ada().await;
    let token = token_of(&app.catalog, ADA, None).await;
    app.ingest(ADA, "status", &json!({"removed": true})).await;
    let new = NewUser {
        user: urn(ADA),
        display_name: None,
        email: None,
        password: Password::new("another horse").unwrap(),
    };
    app.catalog.add_user(&system(), new, None).await.unwrap();
    assert!(!is_let_in(&app, &token).await);
    let (status, _) = app.send(crate::sign_in::log_in("ada", PASSWORD)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED, "the old password is gone");
    let (status, _) = app
        .send(crate::sign_in::log_in("ada", "another horse"))
        .await;
    assert_eq!(status, StatusCode::OK);
    // A token from before the first password stays valid.
    let token = token_of(&app.catalog, GRACE, None).await;
    add(&app, GRACE).await;
    assert!(is_let_in(&app, &token).await);
}

#[tokio::test]
async fn sessions_are_never_listed_and_ids_are_not_credentials() {
    let app = with_ada().await;
    let cookie = session(&app, "ada").await;
    let second = token_of(&app.catalog, ADA, None).await;
    let list = async |start: usize, count: usize| {
        let body = json!({"entity": "dataHubAccessToken", "start": start, "count": count});
        let (status, reply) = app.post("/entities?action=listUrns", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply["value"].clone()
    };
    let listed = list(0, 10).await;
    assert_eq!(listed["total"], 2, "{listed}");
    assert_eq!(listed["count"], 2, "{listed}");
    assert!(!listed.to_string().contains("ession"), "{listed}");
    assert_eq!(list(2, 10).await["count"], 0);
    for path in [
        "/openapi/v3/entity/dataHubAccessToken",
        "/openapi/v3/entity/dataHubAccessToken?query=session",
    ] {
        let (_, reply) = app.get(path).await;
        assert!(!reply.to_string().contains("session"), "{reply}");
    }

    // The store has the session, as an entity of a type that no API accepts.
    let store = app.store();
    let stored = store
        .urns_list("docentSession", AspectName::SESSION_INFO, None, 10)
        .await
        .unwrap();
    assert_eq!(stored.len(), 1, "there is one to hide");
    let session_urn = stored[0].as_str();
    let named = json!({"entity": "docentSession", "start": 0, "count": 10});
    let counted = json!({"aspect": "docentSessionInfo"});
    for (path, body) in [
        ("/entities?action=listUrns", &named),
        ("/aspects?action=getCount", &counted),
        ("/entities?action=delete", &json!({"urn": session_urn})),
    ] {
        let (status, reply) = app.post(path, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {reply}");
    }
    let (user, session_path) = (encoded(ADA), encoded(session_urn));
    for path in [
        format!("/entitiesV2/{session_path}"),
        format!("/aspects/{session_path}?aspect=docentSessionInfo"),
        "/openapi/v3/entity/docentSession".to_owned(),
        format!("/openapi/v3/entity/docentSession/{session_path}"),
    ] {
        let (status, reply) = app.get(&path).await;
        assert!(status.is_client_error(), "{path}: {reply}");
    }
    for path in [
        format!("/relationships?urn={user}&direction=INCOMING"),
        format!("/relationships?urn={user}&direction=INCOMING&types=List(SessionOf,TokenOf)"),
        format!(
            "/openapi/relationships/v1/?urn={user}&direction=INCOMING&relationshipTypes=SessionOf"
        ),
        "/openapi/v1/registry/models/entity/specifications?count=100".to_owned(),
        "/openapi/v3/api-docs".to_owned(),
        format!("/entitiesV2/{user}"),
    ] {
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {reply}");
        let reply = reply.to_string();
        for hidden in [
            "docentSession",
            "SessionInfo",
            "SessionOf",
            "TokenOf",
            session_urn,
        ] {
            assert!(!reply.contains(hidden), "{path}: {reply}");
        }
    }
    for query in [
        "{ recentChanges(input: {types: [ACCESS_TOKEN, CORP_USER], count: 50}) { entity { urn } } }".to_owned(),
        r#"{ searchAcrossEntities(input: {query: "*", count: 100}) { total searchResults { entity { urn } } } }"#.to_owned(),
        format!(
            r#"{{ corpUser(urn: "{ADA}") {{ relationships(input: {{types: ["SessionOf", "TokenOf"], direction: INCOMING}}) {{ total }} }} }}"#
        ),
    ] {
        let reply = app.graphql(&query).await.to_string();
        assert!(!reply.contains("docentSession"), "{query}: {reply}");
        assert!(!reply.contains(r#""total":1"#), "{query}: {reply}");
    }
    let body = json!({"urn": ADA, "dryRun": true});
    let (_, references) = app.post("/entities?action=deleteReferences", &body).await;
    assert_eq!(references["value"]["total"], 0, "{references}");

    // Nobody signs in with an id.
    let ids = listed["entities"].as_array().unwrap().iter();
    let ids = ids.map(|urn| urn.as_str().unwrap().rsplit(':').next().unwrap().to_owned());
    for id in ids {
        assert!(!is_let_in(&app, &id).await);
        assert!(!is_let_in(&app, &format!("docent_{id}")).await);
        let cookie = format!("PLAY_SESSION={id}");
        assert_eq!(whoami(&app, &cookie).await, None);
    }
    assert_eq!(whoami(&app, &cookie).await.as_deref(), Some(ADA));
    assert!(is_let_in(&app, &second).await);
}
