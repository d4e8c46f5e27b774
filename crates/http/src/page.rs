//! Serves the web page: its files, and one document for all of its routes. The files contain no
//! data, so they need no authentication; the page reads data through the API, as the signed-in
//! user.
//!
//! To add a page route, extend [`PAGE_ROUTES`] here and the routes in `ui/src/application.tsx`. To
//! add an API endpoint with a new first path segment, extend [`API_PREFIXES`].

use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use docent_page::File;

use crate::accept::{is_browser_window, weight};
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Path;
use crate::reply_budget::SharedReply;
use crate::{AppState, BASES};

/// Routes that the page handles in the browser.
const PAGE_ROUTES: &[&str] = &[
    "/",
    "/login",
    "/signup",
    "/reset",
    "/search",
    "/dataset/{*urn}",
    "/domains",
    "/domain/{*urn}",
    "/glossary",
    "/tags",
    "/people",
    "/groups",
    "/platforms",
    "/browse",
    "/browse/{*path}",
    "/dataProducts",
    "/tag/{*urn}",
    "/glossaryTerm/{*urn}",
    "/glossaryNode/{*urn}",
    "/user/{*urn}",
    "/group/{*urn}",
    "/container/{*urn}",
    "/dashboard/{*urn}",
    "/chart/{*urn}",
    "/pipelines/{*urn}",
    "/tasks/{*urn}",
    "/dataProduct/{*urn}",
    "/platform/{*urn}",
    "/changes",
    "/bulk/columns",
    "/bulk/csv",
    "/proposals",
    "/settings",
    "/settings/{section}",
    "/graphiql",
    // Addresses of DataHub that lead to another one here, in `ui/src/datahub_addresses.ts`.
    "/search/",
    "/search/{type}",
    "/settings/{section}/{page}",
    "/embed/{*address}",
    "/ingestion",
    "/ingestion/{*tab}",
    "/structured-properties",
    "/marketplace",
    "/identities",
    "/permissions",
    "/policies",
    "/analytics",
];

/// First path segments of the API. Unknown paths below them get an API error, never the page. All
/// methods of the first ones need a token.
const API_PREFIXES: [&str; 25] = [
    "api",
    "mcp",
    "gms",
    "openapi",
    "aspects",
    "entities",
    "entitiesV2",
    "events",
    "relationships",
    "runs",
    "usageStats",
    "operations",
    "metrics",
    "admin",
    "config",
    "health",
    "check",
    "logIn",
    "logOut",
    "signUp",
    "resetNativeUserCredentials",
    "changePassword",
    "sso",
    "callback",
    "assets",
];

/// Paths of DataHub, or what they begin with, that need no token there and are missing here. They
/// are not found without a token, either: their clients take 401 for a wrong setting.
const MISSING_OPEN_PATHS: [&str; 5] = [
    "/actuator/prometheus",
    "/config/search/export",
    "/openapi/operations/dev/featureFlags",
    "/public-iceberg/",
    "/schema-registry/",
];

/// How many of [`API_PREFIXES`] are only for callers with a token.
const PROTECTED_PREFIXES: usize = 13;

/// The page may load its own scripts and call this server, nothing else. Inline styles are for the
/// editors, which generate theirs at runtime.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";
/// Revalidated on each load: the document refers to the files of the latest build.
const REVALIDATE: &str = "no-cache";

pub(crate) fn routes() -> Router<AppState> {
    let pages = PAGE_ROUTES.iter().copied();
    let router = pages.fold(Router::new(), |router, path| {
        router.route(path, get(document))
    });
    router
        .route("/assets/{*path}", get(asset))
        .route("/favicon.svg", get(icon))
}

async fn document(headers: HeaderMap) -> Response {
    response(docent_page::index(), &headers)
}

/// Browsers get the page, which shows that the address is unknown; programs get an API error.
pub(crate) async fn not_found(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    caller: Result<Authenticated, ErrorResponse>,
) -> Result<Response, ErrorResponse> {
    let is_read = method == Method::GET || method == Method::HEAD;
    if is_read && is_browser_window(&headers) && !is_api_path(uri.path()) {
        let page = response(docent_page::index(), &headers);
        return Ok((StatusCode::NOT_FOUND, page).into_response());
    }
    let path = without_base(uri.path());
    if MISSING_OPEN_PATHS.iter().any(|it| path.starts_with(it)) {
        return Err(missing(&uri));
    }
    Err(unknown_route(&caller?, &uri))
}

/// Where every method needs a token, a request without one gets 401, like DataHub's clients expect.
pub(crate) async fn method_not_allowed(
    method: Method,
    uri: Uri,
    caller: Result<Authenticated, ErrorResponse>,
) -> ErrorResponse {
    if let Err(error) = caller
        && is_protected(uri.path())
    {
        return error;
    }
    let message = format!("{} does not take {method} requests.", uri.path());
    let error = ErrorResponse::new(StatusCode::METHOD_NOT_ALLOWED, message);
    // Also under the base paths of DataHub's clients.
    if uri.path().trim_end_matches('/').ends_with("/api/graphql") {
        return error.followed_by("Send POST.");
    }
    error
}

/// Sent to authenticated callers only, so that others cannot enumerate the routes.
pub(crate) fn unknown_route(_: &Authenticated, uri: &Uri) -> ErrorResponse {
    missing(uri)
}

fn missing(uri: &Uri) -> ErrorResponse {
    ErrorResponse::new(
        StatusCode::NOT_FOUND,
        format!(
            "No endpoint {}. GraphQL is served at /api/graphql.",
            uri.path()
        ),
    )
}

pub(crate) fn is_api_path(path: &str) -> bool {
    API_PREFIXES.contains(&first_segment(path))
}

/// Whether all methods of a path need a token.
fn is_protected(path: &str) -> bool {
    API_PREFIXES[..PROTECTED_PREFIXES].contains(&first_segment(without_base(path)))
}

/// The path below one of [`BASES`], or the whole path.
pub(crate) fn without_base(path: &str) -> &str {
    let under_base = BASES.iter().find_map(|base| path.strip_prefix(base));
    under_base
        .filter(|rest| rest.starts_with('/'))
        .unwrap_or(path)
}

pub(crate) fn first_segment(path: &str) -> &str {
    let segments = path.trim_start_matches('/').split('/').next();
    segments.unwrap_or_default()
}

async fn asset(Path(path): Path, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    file(&format!("assets/{path}"), &headers)
}

async fn icon(headers: HeaderMap) -> Result<Response, ErrorResponse> {
    file("favicon.svg", &headers)
}

fn file(path: &str, headers: &HeaderMap) -> Result<Response, ErrorResponse> {
    let found = docent_page::find(path).map(|file| response(file, headers));
    found.ok_or_else(|| {
        ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!(
                "The web page has no file {path}. Reload the page: it may be from an older version."
            ),
        )
    })
}

fn response(file: &'static File, request: &HeaderMap) -> Response {
    let brotli = file.brotli().filter(|_| accepts_encoding(request, "br"));
    let gzip = file.gzip().filter(|_| accepts_encoding(request, "gzip"));
    let (encoding, body) = match (brotli, gzip) {
        (Some(body), _) => (Some("br"), body),
        (None, Some(body)) => (Some("gzip"), body),
        (None, None) => (None, file.plain()),
    };
    let cached = if file.is_immutable() {
        CACHE_FOREVER
    } else {
        REVALIDATE
    };
    let headers: [(HeaderName, &str); 5] = [
        (CONTENT_TYPE, file.content_type()),
        (CACHE_CONTROL, cached),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (VARY, "Accept-Encoding"),
    ];
    let encoding = encoding.map(|encoding| [(CONTENT_ENCODING, encoding)]);
    let shared = Extension(SharedReply);
    match encoding {
        Some(encoding) => (shared, headers, encoding, body).into_response(),
        None => (shared, headers, body).into_response(),
    }
}

/// Whether the client accepts an encoding. Weights other than zero are ignored: the smallest
/// response wins.
fn accepts_encoding(headers: &HeaderMap, encoding: &str) -> bool {
    weight(headers, ACCEPT_ENCODING, encoding).is_some_and(|weight| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_used_only_if_the_client_accepts_it() {
        for (accepted, expected) in [
            ("gzip, deflate, br", true),
            ("br", true),
            ("BR;q=0.5", true),
            ("gzip", false),
            ("br;q=0", false),
            ("brotli", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
            assert_eq!(accepts_encoding(&headers, "br"), expected, "{accepted}");
        }
        assert!(!accepts_encoding(&HeaderMap::new(), "gzip"));
    }
}
