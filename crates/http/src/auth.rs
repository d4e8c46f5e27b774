//! Authenticates requests.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use docent_catalog::{Caller, SYSTEM_ACTOR};
use docent_model::Urn;

use crate::client::Client;
use crate::cookies;
use crate::error::ErrorResponse;
use crate::origin;
use crate::sso;
use crate::trace::Trace;
use crate::{AppState, BASES, GRAPHQL_PATH};

/// Whether callers must authenticate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuthMode {
    #[default]
    On,
    /// Every caller is the system user, or the user in the header `X-DataHub-Actor`.
    Off,
}

/// Extractor for the caller: requires a valid token, or a session and a request that is not
/// cross-site. With authentication off every request must not be cross-site, because other sites'
/// pages could otherwise use the browser of anyone who can reach this server.
#[derive(Debug)]
pub(crate) struct Authenticated {
    pub(crate) caller: Caller,
    /// The state, with the catalog as the caller sees it.
    pub(crate) state: AppState,
}

const ACTOR_HEADER: &str = "x-datahub-actor";
/// No action has a longer name.
const MAX_ACTION: usize = 40;

impl FromRequestParts<AppState> for Authenticated {
    type Rejection = ErrorResponse;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &AppState,
    ) -> Result<Self, ErrorResponse> {
        Self::of(parts, state, Attempt::Request).await
    }
}

impl Authenticated {
    /// Authenticates a request again, while its response is being sent: the token may have been
    /// revoked, and the rights may have changed.
    pub(crate) async fn recheck(parts: &Parts, state: &AppState) -> Result<Self, ErrorResponse> {
        Self::of(parts, state, Attempt::Recheck).await
    }

    async fn of(parts: &Parts, state: &AppState, attempt: Attempt) -> Result<Self, ErrorResponse> {
        let client = Client::of(parts);
        let caller = authenticate(parts, state, &client, attempt).await?;
        client.record().set_caller(caller.actor());
        let mut caller = caller.at(client.address()).in_operation(operation(parts));
        if let Some(trace) = parts.extensions.get::<Trace>() {
            caller = caller.in_trace(Arc::clone(&trace.id));
            trace.caller.get_or_init(|| caller.clone());
        }
        let catalog = state.catalog().seen_by(&caller).await?;
        Ok(Self {
            caller,
            state: state.with_seen(catalog),
        })
    }
}

/// Why a caller is authenticated. Rechecks do not count as requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Request,
    Recheck,
}

/// The route in the audit log: the method, the path without values, and the action of Rest.li.
/// GraphQL has its own names.
fn operation(parts: &Parts) -> Cow<'static, str> {
    let path = match parts.extensions.get::<MatchedPath>() {
        Some(route) => route.as_str(),
        // Not routed: see `service`.
        None if parts.uri.path() == GRAPHQL_PATH => GRAPHQL_PATH,
        None => "",
    };
    let path = BASES
        .iter()
        .find_map(|base| path.strip_prefix(base))
        .unwrap_or(path);
    if path.ends_with("/graphql") {
        return Cow::Borrowed("GraphQL");
    }
    let method = &parts.method;
    Cow::Owned(match action(parts.uri.query()) {
        Some(action) => format!("{method} {path}?action={action}"),
        None => format!("{method} {path}"),
    })
}

/// The action of Rest.li in a query.
pub(crate) fn action(query: Option<&str>) -> Option<&str> {
    let actions = query?.split('&');
    let is_name = |name: &&str| {
        (1..=MAX_ACTION).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let mut actions = actions.filter_map(|pair| pair.strip_prefix("action="));
    actions.find(is_name)
}

async fn authenticate(
    parts: &Parts,
    state: &AppState,
    client: &Client,
    attempt: Attempt,
) -> Result<Caller, ErrorResponse> {
    let in_effect = state.in_effect();
    let settings = &in_effect.settings;
    if settings.auth == AuthMode::Off {
        origin::check(parts, client)?;
        origin::check_host(&parts.headers, client, &settings.allowed_hosts)?;
        return named_caller(parts);
    }
    let (catalog, rate_limits) = (state.catalog(), &in_effect.rate_limits);
    // A token takes precedence: an invalid one fails even with a valid cookie.
    let caller = if parts.headers.contains_key(AUTHORIZATION) {
        let secret = bearer(parts).ok_or_else(ErrorResponse::unauthenticated)?;
        let caller = match settings.identity.issuer_of(secret) {
            Some(issuer) => Box::pin(sso::authenticate(catalog, issuer, secret, client)).await?,
            None => catalog.authenticate(secret).await?,
        };
        if caller.is_some() && attempt == Attempt::Request {
            rate_limits.check_secret(secret, catalog)?;
        }
        caller
    } else {
        let secret = cookies::SESSION
            .read(&parts.headers, client)
            .ok_or_else(ErrorResponse::unauthenticated)?;
        let caller = catalog.authenticate_session(&secret).await?;
        if caller.is_some() && attempt == Attempt::Request {
            rate_limits.check_secret(&secret, catalog)?;
            origin::check(parts, client)?;
        }
        caller
    };
    caller.ok_or_else(ErrorResponse::unauthenticated)
}

fn bearer(parts: &Parts) -> Option<&str> {
    let value = str::from_utf8(parts.headers.get(AUTHORIZATION)?.as_bytes()).ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty()).then_some(secret)
}

fn named_caller(parts: &Parts) -> Result<Caller, ErrorResponse> {
    let named = parts
        .headers
        .get(ACTOR_HEADER)
        .map(|value| value.to_str().unwrap_or_default());
    let actor = Urn::parse(named.unwrap_or(SYSTEM_ACTOR))
        .and_then(|actor| actor.expect_type("corpuser").map(|()| actor))
        .map_err(|error| {
            ErrorResponse::bad_request(format!(
                "the header X-DataHub-Actor must name a user: {error}"
            ))
        })?;
    Ok(Caller::new(actor))
}
