//! Signing in at identity providers; `ui/tests/sso.spec.ts` does it at a real one.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use docent_catalog::external_users::ExternalUser;
use docent_http::server::Peer;
use docent_http::{HttpSettings, IdentityProviders};
use docent_model::SystemClock;
use docent_oidc::{Algorithm, ClaimNames, Provider, ProviderSettings};

use serde_json::json;

use crate::audit::events;
use crate::support::App;

/// A provider that is never asked.
pub(crate) fn provider() -> Provider {
    let settings = ProviderSettings {
        id: "oidc".to_owned(),
        name: "Example".to_owned(),
        issuer: "https://login.example.com".to_owned(),
        client_id: "docent".to_owned(),
        client_secret: None,
        scopes: "openid".to_owned(),
        claims: ClaimNames {
            user: "sub".to_owned(),
            groups: None,
        },
        algorithms: Algorithm::ALL.to_vec(),
        skew_ms: 0,
        create_users: true,
        public_url: "https://docent.example.com".to_owned(),
    };
    Provider::new(settings, Arc::new(SystemClock)).unwrap()
}

#[tokio::test]
async fn a_sign_in_that_fails_at_the_provider_is_in_the_audit_log() {
    let app = App::with_settings(HttpSettings {
        identity: Arc::new(IdentityProviders {
            providers: vec![provider()],
            issuers: Vec::new(),
        }),
        ..HttpSettings::default()
    })
    .await;
    let mut request = app.request(Method::GET, "/callback/oidc?state=x&code=y", String::new());
    let peer = Peer::at(IpAddr::from([192, 0, 2, 7]));
    request.extensions_mut().insert(peer);
    let response = app.respond(request).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(response.headers()["location"], "/login?sso=expired");
    let denied = events(&app, json!({"outcome": "DENIED", "count": 10})).await;
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["operation"], "GET /callback/{provider}");
    assert_eq!(denied[0]["address"], "192.0.2.7");
    assert_eq!(denied[0]["actorUrn"], json!(null));
    let reason = denied[0]["reason"].as_str().unwrap();
    assert!(reason.contains("no sign-in of this browser"), "{reason}");
}

#[tokio::test]
async fn a_name_that_cannot_be_used_and_a_user_whom_a_token_creates_are_in_the_audit_log() {
    let app = App::empty().await;
    let address = IpAddr::from([192, 0, 2, 7]);
    let user = |name: &str| ExternalUser {
        name: name.to_owned(),
        display_name: None,
        email: None,
        groups: None,
        issued_at: None,
        provider: "example".to_owned(),
        may_create: true,
    };
    let (ada, other_form, reserved) = (user("ada"), user("(ada)"), user("datahub"));
    let verify = async || Ok(Some((ada, i64::MAX)));
    let caller = app
        .catalog
        .authenticate_external("token", Some(address), verify)
        .await;
    assert!(caller.unwrap().is_some());
    let created = events(&app, json!({"entity": "urn:li:corpuser:ada"})).await;
    assert_eq!(created[0]["operation"], "bearer token");
    assert_eq!(created[0]["address"], "192.0.2.7");
    let credential = created[0]["credential"].as_str().unwrap();
    assert!(credential.starts_with("bearer "), "{credential}");

    let verify = async || Ok(Some((reserved, i64::MAX)));
    let caller = app
        .catalog
        .authenticate_external("other token", Some(address), verify)
        .await;
    assert!(caller.is_err());
    let denied = events(&app, json!({"outcome": "DENIED"})).await;
    assert_eq!(denied[0]["operation"], "bearer token", "{denied:?}");
    assert_eq!(denied[0]["address"], "192.0.2.7", "{denied:?}");

    let signed_in =
        app.catalog
            .sign_in_external(&other_form, Some(address), "GET /callback/{provider}");
    assert!(signed_in.await.is_err());
    let denied = events(&app, json!({"outcome": "DENIED"})).await;
    assert_eq!(denied[0]["address"], "192.0.2.7", "{denied:?}");
    let reason = denied[0]["reason"].as_str().unwrap();
    assert!(reason.contains("'(ada)'"), "{reason}");
}
