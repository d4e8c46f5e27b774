//! Docent over HTTP.
//!
//! Handlers translate: they read a request, call the catalog or the GraphQL engine, and write a reply. They
//! decide nothing.
//!
//! - [`graphql`]: `POST /api/graphql`
//! - [`restli`]: the REST calls of DataHub's ingestion clients
//! - [`openapi`]: the calls of its OpenAPI
//! - [`status`]: health and configuration, which with the description of the API are the only routes that need no token
//! - [`auth`]: from a request to the caller
//! - [`server`]: connections, limits, shutdown
//!
//! To add a route: a handler in the module of its noun, and a line in [`router`]. A handler that takes
//! [`auth::Authenticated`] is protected; `tests/http/tokens.rs` lists every route and fails for one that is not.

pub mod auth;
mod body;
mod conditions;
mod error;
mod filter;
mod graphql;
mod openapi;
mod query;
mod restli;
pub mod server;
mod status;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use docent_catalog::Catalog;
use docent_graphql::Engine;

pub use auth::AuthMode;

/// What every handler needs.
#[derive(Debug, Clone)]
pub struct AppState {
    inner: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    catalog: Catalog,
    engine: Engine,
    auth: AuthMode,
}

impl AppState {
    pub fn new(catalog: Catalog, engine: Engine, auth: AuthMode) -> Self {
        Self {
            inner: Arc::new(Parts {
                catalog,
                engine,
                auth,
            }),
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn auth(&self) -> AuthMode {
        self.inner.auth
    }
}

/// All routes. Clients write some of them with a slash at the end: both spellings are served.
pub fn router(state: AppState) -> Router {
    let graphql = || post(graphql::execute).fallback(graphql::only_post);
    let aspects = || post(restli::proposals::ingest);
    let entities = || post(restli::entities::act);
    Router::new()
        .route("/", get(status::page))
        .route("/api/graphql", graphql())
        .route("/api/v2/graphql", graphql())
        .route("/aspects", aspects())
        .route("/aspects/", aspects())
        .route("/aspects/{*urn}", get(restli::aspects::read))
        .route("/entitiesV2/{*urn}", get(restli::entities::read))
        .route("/entities", entities())
        .route("/entities/", entities())
        .route("/openapi/v3/entity/scroll", post(openapi::entities::scroll))
        .route(
            "/openapi/v3/entity/{type}",
            get(openapi::entities::list)
                .post(openapi::write::post)
                .patch(openapi::write::patch),
        )
        .route(
            "/openapi/v3/entity/{type}/batchGet",
            post(openapi::read::batch),
        )
        .route(
            "/openapi/v3/entity/{type}/{*urn}",
            get(openapi::read::one)
                .post(openapi::write::post_one)
                .patch(openapi::write::patch_one)
                .delete(openapi::write::delete),
        )
        .route(
            "/openapi/v3/relationship/scroll",
            post(openapi::relationships::scroll),
        )
        .route("/openapi/v3/api-docs", get(openapi::document::document))
        .route(
            "/openapi/swagger-ui/index.html",
            get(openapi::document::page),
        )
        .route(
            "/openapi/swagger-ui/page.js",
            get(openapi::document::script),
        )
        .route(
            "/openapi/swagger-ui/page.css",
            get(openapi::document::style),
        )
        .route("/config", get(status::config))
        .route("/health", get(status::health))
        .route("/health/live", get(status::live))
        .route("/health/ready", get(status::health))
        .route("/health/detailed", get(status::detailed))
        .fallback(error::no_such_route)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(state)
}
