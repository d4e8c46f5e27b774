//! Serves a build of DataHub's web page (`datahub-web-react`) in place of our own, with the routes
//! that its web server has besides the API.
//!
//! The build is a directory of the operator's: nothing of it is part of this program. Its files are
//! public, like those of our page.

use std::path::Path;
use std::{fs, io};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use docent_oidc::local_path;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use tower::ServiceExt;
use tower_http::services::ServeDir;

use crate::auth::Authenticated;
use crate::client::Client;
use crate::error::ErrorResponse;
use crate::query::Query;
use crate::reply_budget::SharedReply;
use crate::{AppState, AuthMode, cookies, page};

/// The document contains this in place of the path under which it is served.
const BASE_PATH: &str = "@basePath";

/// Folders with nothing but files: a missing one is an error, and not a route of the page.
const FILE_FOLDERS: [&str; 2] = ["assets", "node_modules"];

/// DataHub's page generates code and styles at runtime, embeds other sites and shows pictures from
/// them. It may still send data to this server alone.
const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob:; \
                      style-src 'self' 'unsafe-inline'; img-src 'self' data: blob: https: http:; font-src 'self' data:; \
                      frame-src https: http:; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

/// Not all names of its files change with their contents.
const FILES_ARE_CACHED: &str = "public, max-age=3600";

/// The micro frontends that administrators of DataHub can add to the page: none.
const MICRO_FRONTENDS: &str = "subNavigationMode: false\nmicroFrontends: []\n";

/// A build of DataHub's web page.
#[derive(Debug, Clone)]
pub struct Frontend {
    document: Bytes,
    files: ServeDir,
}

impl Frontend {
    /// Reads the document of the build in a directory. The other files are read when they are
    /// requested.
    ///
    /// # Errors
    ///
    /// If there is no `index.html`.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let document = fs::read_to_string(directory.join("index.html"))?;
        Ok(Self {
            document: document.replace(BASE_PATH, "/").into(),
            files: ServeDir::new(directory)
                .append_index_html_on_directories(false)
                .precompressed_br()
                .precompressed_gzip(),
        })
    }

    fn document(&self) -> Response {
        let headers = [(CONTENT_TYPE, "text/html; charset=utf-8")];
        let response = (Extension(SharedReply), headers, self.document.clone());
        with_headers(response.into_response(), "no-cache")
    }
}

/// What DataHub's web server answers itself. The other paths are files or routes of the page.
pub(crate) fn routes(frontend: Frontend) -> Router<AppState> {
    Router::new()
        .route("/authenticate", get(authenticate))
        .route("/mfe/config", get(micro_frontends))
        // The API has another method there.
        .route("/analytics", get(file_or_document))
        .fallback(file_or_document)
        .layer(Extension(frontend))
}

async fn file_or_document(
    Extension(frontend): Extension<Frontend>,
    caller: Result<Authenticated, ErrorResponse>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let uri = request.uri().clone();
    let is_in_file_folder = FILE_FOLDERS.contains(&page::first_segment(uri.path()));
    if !is_read || (page::is_api_path(uri.path()) && !is_in_file_folder) {
        return Err(page::unknown_route(&caller?, &uri));
    }
    let found = frontend.files.clone().oneshot(request).await;
    let found = found.unwrap_or_else(|never| match never {});
    if found.status() != StatusCode::NOT_FOUND {
        return Ok(with_headers(found.map(Body::new), FILES_ARE_CACHED));
    }
    if is_in_file_folder {
        let message = format!("The web page has no file {}.", uri.path());
        return Err(ErrorResponse::new(StatusCode::NOT_FOUND, message));
    }
    Ok(frontend.document())
}

fn with_headers(mut response: Response, cached: &'static str) -> Response {
    let headers: [(HeaderName, &'static str); 3] = [
        (CACHE_CONTROL, cached),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
    ];
    for (name, value) in headers {
        let headers = response.headers_mut();
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[derive(Debug, Deserialize)]
struct AuthenticateQuery {
    /// The path to return to.
    redirect_uri: Option<String>,
}

/// Where the page sends browsers without a session: back if they have one, to the identity provider
/// if there is one, and to the sign-in page otherwise.
async fn authenticate(
    State(state): State<AppState>,
    client: Client,
    caller: Result<Authenticated, ErrorResponse>,
    Query(query): Query<AuthenticateQuery>,
) -> Response {
    let path = local_path(query.redirect_uri.as_deref().unwrap_or("/"));
    if let Ok(caller) = caller {
        // Without authentication nobody signs in, and the page looks for this cookie.
        let is_open = state.in_effect().settings.auth == AuthMode::Off;
        let actor = is_open.then(|| cookies::show_actor(&client, caller.caller.actor()));
        return (AppendHeaders(actor), redirect(path.to_owned())).into_response();
    }
    let encoded = utf8_percent_encode(path, NON_ALPHANUMERIC);
    redirect(match state.identity().providers.first() {
        Some(provider) => format!("/sso/{}?redirect={encoded}", provider.settings().id),
        None => format!("/login?redirect_uri={encoded}"),
    })
}

fn redirect(location: String) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, location)]).into_response()
}

async fn micro_frontends(_: Authenticated) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/yaml")], MICRO_FRONTENDS)
}
