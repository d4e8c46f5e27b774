//! Authentication by access tokens.

use crate::support::{App, DATASET, USER, new_token, token_of};
use std::collections::BTreeSet;
use std::path::Path;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_catalog::{Caller, ErrorKind};
use docent_model::{AspectName, Urn};
use docent_store::{RawAspect, RowVersion, StoredAspect};
use serde_json::{Value, json};

use crate::routes::ALSO_A_PAGE;
pub(crate) use crate::routes::PROTECTED;

pub(crate) const OPEN: [(&str, &str); 13] = [
    ("GET", "/sso"),
    ("GET", "/admin"),
    ("GET", "/openapi/v3/api-docs"),
    ("GET", "/openapi/swagger-ui/index.html"),
    ("GET", "/openapi/swagger-ui/page.js"),
    ("GET", "/openapi/swagger-ui/page.css"),
    ("GET", "/config"),
    ("GET", "/health"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/check/ready"),
    ("GET", "/health/detailed"),
    ("GET", "/health/detail"),
];

/// Routes of the web page, which are public files.
const PAGE: [&str; 3] = ["/", "/search", "/favicon.svg"];

/// Redirects to public routes.
const MOVED: [(&str, &str); 1] = [("GET", "/openapi/swagger-ui")];

/// Sign-in routes, tested in `sign_in.rs`, `sessions.rs` and `accounts.rs`.
pub(crate) const SIGN_IN: [(&str, &str); 8] = [
    ("POST", "/logIn"),
    ("POST", "/logOut"),
    ("GET", "/logOut"),
    ("POST", "/signUp"),
    ("POST", "/signUp/check"),
    ("POST", "/resetNativeUserCredentials"),
    ("GET", "/sso/{provider}"),
    ("GET", "/callback/{provider}"),
];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// A concrete path of a route.
pub(crate) fn concrete(route: &str) -> String {
    [
        ("{*urn}", "urn%3Ali%3Adomain%3Aa"),
        ("{type}", "domain"),
        ("{queue}", "mcp"),
        ("{trace}", "0123"),
        ("{urn}", "urn:li:dataset:a"),
        ("{parent}", "urn:li:dataset:b"),
        ("{set}", "urn:li:versionSet:a"),
        ("{entity}", "dataset"),
        ("{name}", "domain"),
    ]
    .into_iter()
    .fold(route.to_owned(), |path, (name, value)| {
        path.replace(name, value)
    })
}

/// The routes in the source of the router.
fn routes() -> BTreeSet<&'static str> {
    let source = include_str!("../../src/lib.rs");
    let routes: BTreeSet<&str> = source
        .split(".route(")
        .skip(1)
        .filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next())
        .collect();
    assert_eq!(routes.len(), source.matches(".route(").count());
    routes
}

fn anonymous(method: &str, path: &str, authorization: Option<&str>) -> Request<Body> {
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path);
    if let Some(value) = authorization {
        request = request.header(header::AUTHORIZATION, value);
    }
    request.body(Body::from("{}")).unwrap()
}

#[tokio::test]
async fn every_route_except_the_public_ones_needs_authentication() {
    let app = App::empty().await;
    for (method, route) in PROTECTED.into_iter().chain([("GET", "/no/such/route")]) {
        let path = concrete(route);
        for authorization in [
            None,
            Some("Bearer"),
            Some("Bearer "),
            Some("bearer invalid-token"),
            Some("Basic dXNlcjpwYXNz"),
            Some("Token abc"),
        ] {
            let (status, body) = app.send(anonymous(method, &path, authorization)).await;
            assert_eq!(
                status,
                StatusCode::UNAUTHORIZED,
                "{method} {path} {authorization:?}"
            );
            let message = body["message"].as_str().unwrap_or_default();
            assert!(message.contains("docent token create"), "{body}");
        }
        let valid = format!("Bearer {}", app.token);
        let (status, _) = app.send(anonymous(method, &path, Some(&valid))).await;
        assert_ne!(status, StatusCode::UNAUTHORIZED, "{method} {path}");
    }
    for (method, route) in OPEN {
        let (status, _) = app.send(anonymous(method, route, None)).await;
        assert_eq!(status, StatusCode::OK, "{route}");
    }
    for path in PAGE {
        let (status, _) = app.send(anonymous("GET", path, None)).await;
        assert_ne!(status, StatusCode::UNAUTHORIZED, "{path}");
        let (status, _) = app.send(anonymous("POST", path, None)).await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    for (method, path) in MOVED {
        let (status, _) = app.send(anonymous(method, path, None)).await;
        assert_eq!(status, StatusCode::TEMPORARY_REDIRECT, "{path}");
    }
}

#[tokio::test]
async fn the_router_has_exactly_the_listed_routes_and_methods() {
    let app = App::empty().await;
    let valid = format!("Bearer {}", app.token);
    let page = [("GET", ALSO_A_PAGE)];
    let lists = || OPEN.into_iter().chain(MOVED).chain(SIGN_IN).chain(page);
    let mut served = BTreeSet::new();
    for route in routes() {
        let path = concrete(route);
        for method in METHODS {
            let (status, _) = app.send(anonymous(method, &path, Some(&valid))).await;
            let is_taken = status != StatusCode::METHOD_NOT_ALLOWED;
            // axum adds HEAD to GET.
            if is_taken && method != "HEAD" {
                served.insert((method, route));
            }
            // All other routes need authentication; 405 of open ones does not.
            let listed_method = if method == "HEAD" { "GET" } else { method };
            if !lists().any(|open| open == (listed_method, route)) {
                let (status, _) = app.send(anonymous(method, &path, None)).await;
                let is_closed = status == StatusCode::UNAUTHORIZED
                    || (!is_taken && status == StatusCode::METHOD_NOT_ALLOWED);
                assert!(is_closed, "{method} {route} is {status}");
            }
        }
    }
    let known: BTreeSet<_> = PROTECTED.into_iter().chain(lists()).collect();
    assert_eq!(served, known);
}

#[tokio::test]
async fn every_route_is_served_with_a_trailing_slash_and_under_each_base_path() {
    let app = App::empty().await;
    let valid = format!("Bearer {}", app.token);
    for route in routes() {
        let path = concrete(route);
        let is_page = |method: &&str| route == ALSO_A_PAGE && ["GET", "HEAD"].contains(method);
        for method in METHODS.into_iter().filter(|it| !is_page(it)) {
            for authorization in [None, Some(valid.as_str())] {
                let plain = app.send(anonymous(method, &path, authorization)).await;
                for other in [
                    format!("{path}/"),
                    format!("/gms{path}"),
                    format!("/gms{path}/"),
                    format!("/api/gms{path}"),
                    format!("/api/gms{path}/"),
                ] {
                    let sent = app.send(anonymous(method, &other, authorization)).await;
                    // The error has the path as it was sent.
                    let said = sent.1.to_string().replace("/api/gms/", "/");
                    let said = said.replace("/gms/", "/");
                    let mut expected = (plain.0, plain.1.to_string());
                    if route == "/metrics" && plain.0.is_success() {
                        // Each request changes them.
                        expected.1.clone_from(&said);
                    }
                    assert_eq!((sent.0, said), expected, "{method} {other}");
                }
            }
        }
    }
}

#[test]
fn routes_are_registered_only_in_the_router_and_the_pages() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !["src/lib.rs", "src/page.rs", "src/frontend.rs", "tests.rs"]
                .iter()
                .any(|name| path.ends_with(name))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                // Unit tests may have their own router.
                let text = text.split("#[cfg(test)]").next().unwrap();
                assert!(!text.contains(".route("), "{}", path.display());
            }
        }
    }
}

#[tokio::test]
async fn a_token_expires() {
    let app = App::empty().await;
    let short = new_token(&app.catalog, Some(1000)).await;
    let authorization = format!("Bearer {short}");
    let ask = || anonymous("POST", "/api/graphql", Some(&authorization));
    assert_ne!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    app.clock.advance(999);
    assert_ne!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    app.clock.advance(1);
    assert_eq!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_are_created_listed_and_revoked_over_graphql() {
    let app = App::empty().await;
    let create = format!(
        r#"mutation {{ createAccessToken(input: {{
            type: PERSONAL, actorUrn: "{USER}", duration: ONE_HOUR, name: "ci", description: "for ci"
        }}) {{ accessToken metadata {{ id urn name description actorUrn ownerUrn createdAt expiresAt owner {{ username }} }} }} }}"#
    );
    let created = app.graphql(&create).await["data"]["createAccessToken"].clone();
    let secret = created["accessToken"].as_str().unwrap().to_owned();
    let metadata = &created["metadata"];
    assert_eq!(metadata["name"], "ci");
    assert_eq!(metadata["actorUrn"], USER);
    assert_eq!(metadata["owner"]["username"], "datahub");
    assert_eq!(
        metadata["expiresAt"].as_i64().unwrap() - metadata["createdAt"].as_i64().unwrap(),
        3_600_000
    );
    let authorization = format!("Bearer {secret}");
    let ask = || anonymous("POST", "/api/graphql", Some(&authorization));
    assert_eq!(
        app.send(ask()).await.0,
        StatusCode::BAD_REQUEST,
        "let in; the body is no query"
    );

    let list = format!(
        r#"{{ listAccessTokens(input: {{ start: 0, count: 10, filters: [{{ field: "ownerUrn", values: ["{USER}"] }}] }}) {{ total tokens {{ id name }} }} }}"#
    );
    let listed = app.graphql(&list).await["data"]["listAccessTokens"].clone();
    assert_eq!(listed["total"], 2);
    assert_eq!(
        listed["tokens"][1]["name"], "ci",
        "the one that lives longest is first"
    );
    for (name, total) in [("ci", 1), ("c", 0)] {
        let list = format!(
            r#"{{ listAccessTokens(input: {{ start: 0, count: 10, filters: [{{ field: "name", condition: EQUAL, values: ["{name}"] }}] }}) {{ total }} }}"#
        );
        let listed = app.graphql(&list).await;
        assert_eq!(
            listed["data"]["listAccessTokens"]["total"], total,
            "{listed}"
        );
    }

    let whole = app.graphql(&list).await.to_string();
    assert!(!whole.contains(&secret), "a listing never shows the secret");
    let id = metadata["id"].as_str().unwrap();
    assert_ne!(id, secret);
    let revoke = format!(r#"mutation {{ revokeAccessToken(tokenId: "{id}") }}"#);
    assert_eq!(
        app.graphql(&revoke).await,
        json!({"data": {"revokeAccessToken": true}, "extensions": {}})
    );
    assert_eq!(app.send(ask()).await.0, StatusCode::UNAUTHORIZED);
    let again = app.graphql(&revoke).await;
    assert_eq!(again["data"], Value::Null, "the field is non-null: {again}");
    assert_eq!(again["errors"][0]["extensions"]["code"], 404);
}

#[tokio::test]
async fn a_token_needs_a_valid_duration_and_a_user() {
    let app = App::empty().await;
    for arguments in [
        format!(r#"actorUrn: "{USER}""#),
        format!(r#"actorUrn: "{USER}", duration: ONE_DAY, durationIso: "P1D""#),
        format!(r#"actorUrn: "{USER}", durationIso: "tomorrow""#),
        format!(r#"actorUrn: "{USER}", durationIso: "P366D""#),
        format!(r#"actorUrn: "{USER}", duration: NO_EXPIRY"#),
        r#"actorUrn: "urn:li:corpuser:nobody", duration: ONE_DAY"#.to_owned(),
        format!(r#"actorUrn: "{DATASET}", duration: ONE_DAY"#),
    ] {
        let create = format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, name: "x", {arguments} }}) {{ accessToken }} }}"#
        );
        let (code, message) = app.graphql_error(&create).await;
        assert_eq!(code, 400, "{arguments}: {message}");
    }
}

#[tokio::test]
async fn audit_stamps_have_the_user_of_the_token() {
    let app = App::with_dataset().await;
    let me = app
        .graphql("{ me { corpUser { urn } platformPrivileges { manageDomains } } }")
        .await;
    assert_eq!(
        me["data"]["me"],
        json!({"corpUser": {"urn": USER}, "platformPrivileges": {"manageDomains": true}})
    );
    let path = format!("/entitiesV2/{}", crate::support::encoded(DATASET));
    let (_, entity) = app.get(&path).await;
    let aspect = &entity["aspects"]["datasetProperties"];
    assert_eq!(aspect["created"]["actor"], USER);
    assert_eq!(aspect["created"]["time"], crate::support::NOW_MS);
}

#[tokio::test]
async fn tokens_cannot_be_forged_through_ingestion() {
    let app = App::empty().await;
    // The hash of "hello": if this entity were stored, "hello" would be a valid token.
    let forged = "urn:li:dataHubAccessToken:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let info = json!({"name": "forged", "actorUrn": USER, "ownerUrn": USER, "createdAt": 1});
    let (status, body) = app
        .propose("UPSERT", forged, "dataHubAccessTokenInfo", &info)
        .await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let (status, _) = app
        .send(anonymous("POST", "/api/graphql", Some("Bearer hello")))
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

/// Stores tokens of [`USER`] that never expire, with these ids.
async fn store_tokens(app: &App, ids: impl Iterator<Item = String>) {
    let info = json!({
        "name": "x", "actorUrn": USER, "ownerUrn": USER, "createdAt": 1,
    });
    let row = StoredAspect {
        version: RowVersion::LATEST,
        metadata: info.to_string(),
        system_metadata: None,
        created_on_ms: 1,
        created_by: USER.to_owned(),
        created_for: None,
    };
    let tokens = ids.map(|id| RawAspect {
        urn: format!("urn:li:dataHubAccessToken:{id}"),
        aspect: AspectName::ACCESS_TOKEN_INFO.to_string(),
        row: row.clone(),
    });
    app.store()
        .import(tokens.collect(), Vec::new())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_token_is_revoked_by_its_id_among_many() {
    let app = App::empty().await;
    store_tokens(&app, (0..9_999).map(|number| format!("a{number:05}"))).await;
    let last = ["fe01", "ff01", "ff02"];
    store_tokens(&app, last.iter().map(ToString::to_string)).await;
    let revoke = |id: &str| format!(r#"mutation {{ revokeAccessToken(tokenId: "{id}") }}"#);
    assert_eq!(app.graphql_error(&revoke("ff0")).await.0, 404);
    assert_eq!(app.graphql_error(&revoke("fe")).await.0, 404, "not whole");
    assert_eq!(app.graphql_error(&revoke("")).await.0, 404);
    let reply = app.graphql(&revoke("ff02")).await;
    assert_eq!(reply["data"]["revokeAccessToken"], true, "{reply}");
    assert_eq!(app.graphql_error(&revoke("ff02")).await.0, 404);

    let caller = Caller::new(Urn::parse(USER).unwrap());
    let by_prefix = async |prefix: &str| {
        let revoked = app.catalog.revoke_token_by_prefix(&caller, prefix).await;
        revoked.map_err(|error| error.kind())
    };
    assert_eq!(by_prefix("a0000").await, Err(ErrorKind::Invalid));
    assert_eq!(by_prefix("b-").await, Err(ErrorKind::NotFound));
    assert_eq!(by_prefix("").await, Err(ErrorKind::NotFound));
    assert_eq!(by_prefix("ff").await, Ok(()), "only one is left");
    assert_eq!(by_prefix("ff").await, Err(ErrorKind::NotFound));
}

#[tokio::test]
async fn expired_tokens_are_deleted_a_day_later() {
    let app = App::empty().await;
    let ended = new_token(&app.catalog, Some(1000)).await;
    let never_ends = new_token(&app.catalog, None).await;
    let stored = async |secret: &str| {
        let found = app.catalog.find_token(secret).await.unwrap();
        found.is_some()
    };
    app.clock.advance(1000 + 86_400_000);
    new_token(&app.catalog, Some(1000)).await;
    assert!(stored(&ended).await, "a day has not gone by yet");
    app.clock.advance(1);
    new_token(&app.catalog, Some(1000)).await;
    assert!(!stored(&ended).await);
    assert!(stored(&never_ends).await);
    assert!(stored(&app.token).await, "ended only just now");
}

#[tokio::test]
async fn token_metadata_is_returned_for_a_secret() {
    let app = App::empty().await;
    let ask = |token: &str| {
        format!(
            r#"{{ getAccessTokenMetadata(token: "{token}") {{ name actorUrn ownerUrn createdAt expiresAt }} }}"#
        )
    };
    let reply = app.graphql(&ask(&app.token)).await;
    assert_eq!(
        reply["data"]["getAccessTokenMetadata"],
        json!({
            "name": "test",
            "actorUrn": USER,
            "ownerUrn": USER,
            "createdAt": crate::support::NOW_MS,
            "expiresAt": crate::support::NOW_MS + 86_400_000,
        }),
        "{reply}"
    );
    let (code, message) = app.graphql_error(&ask("docent_unknown")).await;
    assert_eq!(code, 404, "{message}");
    assert!(!message.contains("docent_unknown"), "{message}");
    let other = token_of(&app.catalog, "urn:li:corpuser:other", None).await;
    let reply = app.graphql_as(&other, &ask(&app.token)).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 404, "{reply}");
}

#[tokio::test]
async fn tokens_stop_working_when_the_user_is_suspended_removed_or_deleted() {
    let app = App::empty().await;
    let ask = |token: &str| {
        let authorization = format!("Bearer {token}");
        app.send(anonymous("POST", "/api/graphql", Some(&authorization)))
    };
    for how in ["suspended", "removed", "deleted"] {
        let user = format!("urn:li:corpuser:{how}");
        let token = token_of(&app.catalog, &user, None).await;
        assert_eq!(
            ask(&token).await.0,
            StatusCode::BAD_REQUEST,
            "let in; the body is no query"
        );
        match how {
            "suspended" => {
                let (system, user) = (Caller::system(), Urn::parse(&user).unwrap());
                app.catalog.suspend_user(&system, &user).await.unwrap();
            }
            "removed" => app.ingest(&user, "status", &json!({"removed": true})).await,
            _ => {
                let body = json!({"urn": user});
                app.post("/entities?action=delete", &body).await;
            }
        }
        assert_eq!(ask(&token).await.0, StatusCode::UNAUTHORIZED, "{user}");
    }
}

#[tokio::test]
async fn a_token_is_created_by_the_former_query() {
    let app = App::empty().await;
    let query = format!(
        r#"{{ getAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", durationIso: "PT1H" }}) {{
            accessToken metadata {{ name actorUrn }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    let token = &reply["data"]["getAccessToken"];
    assert_eq!(
        token["metadata"],
        json!({"name": "getAccessToken", "actorUrn": USER}),
        "{reply}"
    );
    let secret = token["accessToken"].as_str().unwrap();
    let me = app.graphql_as(secret, "{ me { corpUser { urn } } }").await;
    assert_eq!(me["data"]["me"]["corpUser"]["urn"], USER, "{me}");
}
