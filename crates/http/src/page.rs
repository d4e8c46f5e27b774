//! The web page: its files, and the one document behind all of its addresses. Nothing of it is secret, so none of it
//! needs a token; what it shows it asks for by the API, as the person who is signed in.
//!
//! To add an address of the page: a line in [`ADDRESSES`] here and a route in `ui/src/application.tsx`. To add a place of
//! the API: its first step in [`PLACES_OF_THE_API`], if it is a new one.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use docent_page::File;

use crate::AppState;
use crate::auth::Authenticated;
use crate::error::{self, ErrorResponse};

/// Where a person can be.
const ADDRESSES: [&str; 9] = [
    "/",
    "/login",
    "/search",
    "/dataset/{*urn}",
    "/domains",
    "/domain/{*urn}",
    "/settings",
    "/settings/{section}",
    "/graphiql",
];

/// The first steps of everything that programs ask for. Below them nothing is ever answered with a page.
const PLACES_OF_THE_API: [&str; 15] = [
    "api",
    "gms",
    "openapi",
    "aspects",
    "entities",
    "entitiesV2",
    "relationships",
    "runs",
    "usageStats",
    "operations",
    "config",
    "health",
    "logIn",
    "logOut",
    "assets",
];

/// What the page may do: run its own scripts and talk to this server, nothing else. Styles may stand inline because the
/// editors make theirs while they run; pictures may stand in the address itself (`data:`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const A_YEAR: &str = "public, max-age=31536000, immutable";
/// Kept, but asked for again each time: the document names the files of the newest build.
const EACH_TIME: &str = "no-cache";

pub(crate) fn routes() -> Router<AppState> {
    let pages = ADDRESSES.into_iter();
    let router = pages.fold(Router::new(), |router, address| {
        router.route(address, get(document))
    });
    router
        .route("/assets/{*path}", get(asset))
        .route("/favicon.svg", get(icon))
}

async fn document(headers: HeaderMap) -> Response {
    sent(docent_page::index(), &headers)
}

/// A person who mistyped an address is told so by the page, which knows the way home; a program by the API.
pub(crate) async fn no_such_address(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    caller: Result<Authenticated, ErrorResponse>,
) -> Result<Response, ErrorResponse> {
    let is_read = method == Method::GET || method == Method::HEAD;
    if is_read && wants_a_page(&headers) && !is_of_the_api(uri.path()) {
        let page = sent(docent_page::index(), &headers);
        return Ok((StatusCode::NOT_FOUND, page).into_response());
    }
    Err(error::no_such_route(&caller?, &uri))
}

fn is_of_the_api(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    first.is_some_and(|first| PLACES_OF_THE_API.contains(&first))
}

/// Whether it is a window that asks. Programs that take anything (`*/*`) do not want HTML.
fn wants_a_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut kinds = accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    kinds.any(|kind| {
        let name = kind.split(';').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("text/html")
    })
}

async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    file(&format!("assets/{path}"), &headers)
}

async fn icon(headers: HeaderMap) -> Result<Response, ErrorResponse> {
    file("favicon.svg", &headers)
}

fn file(path: &str, headers: &HeaderMap) -> Result<Response, ErrorResponse> {
    let found = docent_page::find(path).map(|file| sent(file, headers));
    found.ok_or_else(|| {
        ErrorResponse::new(
            StatusCode::NOT_FOUND,
            format!("The web page has no file {path}. Load the page again: it may be of an older version."),
        )
    })
}

fn sent(file: &'static File, request: &HeaderMap) -> Response {
    let brotli = file.brotli().filter(|_| takes(request, "br"));
    let gzip = file.gzip().filter(|_| takes(request, "gzip"));
    let (encoding, body) = match (brotli, gzip) {
        (Some(body), _) => (Some("br"), body),
        (None, Some(body)) => (Some("gzip"), body),
        (None, None) => (None, file.plain()),
    };
    let cached = if file.is_immutable() {
        A_YEAR
    } else {
        EACH_TIME
    };
    let headers: [(HeaderName, &str); 6] = [
        (CONTENT_TYPE, file.content_type()),
        (CACHE_CONTROL, cached),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "same-origin"),
        (VARY, "Accept-Encoding"),
    ];
    let encoding = encoding.map(|encoding| [(CONTENT_ENCODING, encoding)]);
    match encoding {
        Some(encoding) => (headers, encoding, body).into_response(),
        None => (headers, body).into_response(),
    }
}

/// Whether the client takes an encoding. `*` and weights other than zero are treated alike: what is smallest is best.
fn takes(headers: &HeaderMap, encoding: &str) -> bool {
    let mut listed = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let found = listed.find_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_it = parts.next()?.eq_ignore_ascii_case(encoding);
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_it.then_some(weight.is_none_or(|weight| weight > 0.0))
    });
    found.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_used_only_if_the_client_takes_it() {
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
            assert_eq!(takes(&headers, "br"), expected, "{accepted}");
        }
        assert!(!takes(&HeaderMap::new(), "gzip"));
    }
}
