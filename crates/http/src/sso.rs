//! Signing in at identity providers, and bearer tokens of trusted issuers.
//!
//! `GET /sso` lists the providers for the sign-in page, `/sso/{provider}` redirects to one, and
//! `/callback/{provider}` is where it returns. Whatever goes wrong there leads back to the sign-in
//! page with a code that the page explains; the log has the reason.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use cookie::time::Duration;
use docent_catalog::external_users::{ExternalUser, is_not_linked};
use docent_catalog::sessions::SignIn;
use docent_catalog::{Caller, Catalog, Error, ErrorKind};
use docent_oidc::{Callback, IdToken, Identity, OidcError, Provider, SIGN_IN_MS, TrustedIssuer};
use serde::Deserialize;
use serde_json::json;

use crate::AppState;
use crate::accept;
use crate::client::Client;
use crate::cookies;
use crate::error::ErrorResponse;
use crate::query::{Path, Query};

/// Tokens that this server issues begin with it, and are no JSON Web Tokens.
const OWN_TOKEN: &str = "docent_";

/// The name in the audit log.
pub(crate) const CALLBACK: &str = "GET /callback/{provider}";

/// Who else authenticates users.
#[derive(Debug, Default)]
pub struct IdentityProviders {
    pub providers: Vec<Provider>,
    pub issuers: Vec<TrustedIssuer>,
}

impl IdentityProviders {
    pub(crate) fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|it| it.settings().id == id)
    }

    /// The trusted issuer that a bearer token names.
    pub(crate) fn issuer_of(&self, token: &str) -> Option<&TrustedIssuer> {
        if self.issuers.is_empty() || token.starts_with(OWN_TOKEN) {
            return None;
        }
        let name = TrustedIssuer::unverified_issuer(token)?;
        self.issuers.iter().find(|it| it.settings().issuer == name)
    }
}

/// The codes that the sign-in page explains.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// The provider is not configured.
    Unknown,
    /// The provider cannot be reached, or misbehaves.
    Provider,
    /// The user refused, or the provider did.
    Denied,
    /// The callback belongs to no sign-in of this browser, or to an old one.
    Expired,
    /// The provider says nothing that can be a username here.
    Name,
    /// The account is unknown, suspended or removed.
    Account,
    /// The account has a password, which may be somebody else's.
    Password,
}

impl Failure {
    fn code(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Provider => "provider",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Name => "name",
            Self::Account => "account",
            Self::Password => "password",
        }
    }
}

impl From<&OidcError> for Failure {
    fn from(error: &OidcError) -> Self {
        match error {
            OidcError::Provider(_) => Self::Provider,
            OidcError::Denied(_) => Self::Denied,
            OidcError::Invalid(_) => Self::Expired,
            OidcError::NoUser(_) => Self::Name,
        }
    }
}

/// The buttons of the sign-in page.
pub(crate) async fn list(State(state): State<AppState>, headers: HeaderMap) -> Response {
    // DataHub's page leads browsers here to begin a sign-in.
    if accept::is_browser_window(&headers) {
        return match state.identity().providers.first() {
            Some(provider) => Redirect::to(&format!("/sso/{}", provider.settings().id)),
            None => Redirect::to("/login"),
        }
        .into_response();
    }
    let identity = state.identity();
    let providers = identity.providers.iter().map(|provider| {
        let settings = provider.settings();
        json!({"id": settings.id, "name": settings.name})
    });
    Json(json!({"providers": providers.collect::<Vec<_>>()})).into_response()
}

#[derive(Debug, Deserialize)]
pub(crate) struct StartQuery {
    /// The path to return to.
    redirect: Option<String>,
}

/// Redirects to a provider.
pub(crate) async fn start(
    State(state): State<AppState>,
    client: Client,
    Path(id): Path,
    Query(query): Query<StartQuery>,
) -> Response {
    let identity = state.identity();
    let Some(provider) = identity.provider(&id) else {
        return failed(Failure::Unknown);
    };
    let return_to = query.redirect.as_deref().unwrap_or("/");
    match provider.start(return_to).await {
        Ok(start) => {
            let max_age = Duration::milliseconds(SIGN_IN_MS);
            let cookie = cookies::SIGN_IN.set(&client, &start.cookie, max_age);
            (AppendHeaders([cookie]), Redirect::to(&start.location)).into_response()
        }
        Err(error) => {
            tracing::warn!(provider = id, %error, "cannot begin a sign-in at {id}: {error}");
            failed(Failure::from(&error))
        }
    }
}

/// Where a provider returns.
pub(crate) async fn callback(
    State(state): State<AppState>,
    client: Client,
    Path(id): Path,
    Query(query): Query<Callback>,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let identity = state.identity();
    let Some(provider) = identity.provider(&id) else {
        return Ok(failed(Failure::Unknown));
    };
    let cookie = cookies::SIGN_IN.read(&headers, &client);
    let ended = AppendHeaders([cookies::SIGN_IN.set(&client, "", Duration::ZERO)]);
    let finished = match provider.finish(&query, cookie.as_deref()).await {
        Ok(finished) => finished,
        Err(error) => {
            tracing::warn!(provider = id, %error, "a sign-in at {id} failed: {error}");
            let reason = format!("the sign-in at {id} failed: {error}");
            let catalog = state.catalog();
            catalog
                .record_failed_sign_in(&reason, client.address(), CALLBACK)
                .await;
            return Ok((ended, failed(Failure::from(&error))).into_response());
        }
    };
    let mut external = external(finished.identity, &id, provider.settings().create_users);
    // User info is from now, whatever the age of the ID token.
    external.issued_at = None;
    let outcome = match state
        .catalog()
        .sign_in_external(&external, client.address(), CALLBACK)
        .await
    {
        Err(error) if is_name_error(&error) || is_not_linked(&error) => {
            tracing::warn!(provider = id, %error, "a sign-in at {id} failed: {error}");
            let failure = if is_not_linked(&error) {
                Failure::Password
            } else {
                Failure::Name
            };
            return Ok((ended, failed(failure)).into_response());
        }
        outcome => outcome?,
    };
    let SignIn::Welcome { user, secret, .. } = outcome else {
        return Ok((ended, failed(Failure::Account)).into_response());
    };
    let limits = state.catalog().session_limits();
    let begun = cookies::begin_session(&client, &user, &secret, limits);
    let IdToken(id_token) = &finished.id_token;
    let id_token = AppendHeaders([cookies::set_id_token(&client, &id, id_token, limits)]);
    let redirect = Redirect::to(&finished.return_to);
    Ok((ended, begun, id_token, redirect).into_response())
}

/// The caller of a token of a trusted issuer.
pub(crate) async fn authenticate(
    catalog: &Catalog,
    issuer: &TrustedIssuer,
    token: &str,
    client: &Client,
) -> Result<Option<Caller>, ErrorResponse> {
    let verify = async || match issuer.verify(token).await {
        Ok((identity, until_ms)) => {
            let settings = issuer.settings();
            let external = external(identity, &settings.issuer, settings.create_users);
            Ok(Some((external, until_ms)))
        }
        Err(OidcError::Provider(reason)) => {
            tracing::warn!(
                "tokens of {} cannot be checked: {reason}",
                issuer.settings().issuer
            );
            Err(Error::unavailable(
                "the issuer of the token cannot be reached: try again in a moment".to_owned(),
            ))
        }
        Err(error) => {
            tracing::info!(
                "a token of {} was rejected: {error}",
                issuer.settings().issuer
            );
            Ok(None)
        }
    };
    let caller = catalog
        .authenticate_external(token, client.address(), verify)
        .await;
    match caller {
        // A name that cannot be a user is no user.
        Err(error) if is_name_error(&error) => {
            tracing::info!(
                "a token of {} was rejected: {error}",
                issuer.settings().issuer
            );
            Ok(None)
        }
        Err(error) if is_not_linked(&error) => {
            tracing::warn!(
                "a token of {} was rejected: {error}",
                issuer.settings().issuer
            );
            let message = error.to_string();
            Err(ErrorResponse::new(StatusCode::FORBIDDEN, message))
        }
        caller => Ok(caller?),
    }
}

/// Where the browser ends the session at its provider.
pub(crate) async fn end_session(
    state: &AppState,
    provider: &str,
    id_token: Option<&str>,
) -> Option<String> {
    let identity = state.identity();
    let provider = identity.provider(provider)?;
    provider.end_session(id_token).await
}

fn external(identity: Identity, provider: &str, may_create: bool) -> ExternalUser {
    ExternalUser {
        name: identity.user,
        display_name: identity.display_name,
        email: identity.email,
        groups: identity.groups,
        issued_at: Some(identity.issued_at),
        provider: provider.to_owned(),
        may_create,
    }
}

fn is_name_error(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Forbidden)
}

fn failed(failure: Failure) -> Response {
    let location = format!("/login?sso={}", failure.code());
    Redirect::to(&location).into_response()
}
