//! Docent over HTTP.
//!
//! Handlers translate: they read a request, call the catalog or the GraphQL engine, and write a reply. They
//! decide nothing.
//!
//! - [`graphql`]: `POST /api/graphql`
//! - [`restli`]: the REST calls of DataHub's ingestion clients
//! - [`openapi`]: the calls of its OpenAPI
//! - [`trace`]: the names of writes
//! - [`status`]: health and configuration, which need no token, as the description of the API
//! - [`sign_in`]: from a password to a session, which needs none either
//! - [`auth`]: from a request to the caller
//! - [`origin`]: whether another site made the request
//! - [`page`]: the web page, which needs no token
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
mod origin;
mod page;
mod query;
mod restli;
pub mod server;
mod sign_in;
mod status;
mod trace;

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
    room: body::Room,
}

impl AppState {
    pub fn new(catalog: Catalog, engine: Engine, auth: AuthMode) -> Self {
        Self {
            inner: Arc::new(Parts {
                catalog,
                engine,
                auth,
                room: body::Room::default(),
            }),
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn room(&self) -> &body::Room {
        &self.inner.room
    }

    pub(crate) fn auth(&self) -> AuthMode {
        self.inner.auth
    }
}

/// All routes, and once more below the path under which DataHub's web server passes them on.
pub fn router(state: AppState) -> Router {
    routes(&state)
        .merge(page::routes())
        .nest("/api/gms", routes(&state))
        .fallback(error::no_such_route)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(state)
}

/// Clients write some of them with a slash at the end: both spellings are served.
fn routes(state: &AppState) -> Router<AppState> {
    let graphql = || post(graphql::execute);
    let aspects = || trace::traced(state, post(restli::aspects::act));
    let entities = || trace::traced(state, post(restli::entities::act));
    let runs = || post(restli::runs::act);
    let operations = || post(restli::operations::act);
    let usage = || trace::traced(state, post(restli::usage::act));
    let relationships = || get(restli::relationships::list);
    let related = || get(restli::relationships::list_related);
    Router::new()
        .route("/api/graphql", graphql())
        .route("/api/v2/graphql", graphql())
        .route("/aspects", aspects())
        .route("/aspects/", aspects())
        .route("/aspects/{*urn}", get(restli::aspects::read))
        .route("/entitiesV2/{*urn}", get(restli::entities::read))
        .route("/entities", entities())
        .route("/entities/", entities())
        .route("/entities/{*urn}", get(restli::snapshots::read))
        .route("/relationships", relationships())
        .route("/relationships/", relationships())
        .route("/openapi/relationships/v1", related())
        .route("/openapi/relationships/v1/", related())
        .route("/runs", runs())
        .route("/runs/", runs())
        .route("/usageStats", usage())
        .route("/usageStats/", usage())
        .route("/operations", operations())
        .route("/operations/", operations())
        .route(
            "/openapi/operations/messaging/{queue}/consumer/lag",
            get(restli::operations::lag),
        )
        .route(
            "/openapi/operations/kafka/{queue}/consumer/offsets",
            get(restli::operations::offsets),
        )
        .route("/openapi/v1/trace/write/{trace}", post(trace::written))
        .route(
            "/openapi/v2/timeline/v1/{*urn}",
            get(openapi::timeline::read),
        )
        .route(
            "/openapi/v2/entity/batch/{type}",
            post(openapi::batch::read),
        )
        .route("/openapi/v3/entity/scroll", post(openapi::entities::scroll))
        .route(
            "/openapi/v3/entity/{type}",
            get(openapi::entities::list).merge(trace::traced(
                state,
                post(openapi::write::post).patch(openapi::write::patch),
            )),
        )
        .route(
            "/openapi/v3/entity/{type}/batchGet",
            post(openapi::read::batch),
        )
        .route(
            "/openapi/v3/entity/{type}/{*urn}",
            get(openapi::read::one).merge(trace::traced(
                state,
                post(openapi::write::post_one)
                    .patch(openapi::write::patch_one)
                    .delete(openapi::write::delete),
            )),
        )
        .route(
            "/openapi/v3/relationship/scroll",
            post(openapi::relationships::scroll),
        )
        .route("/openapi/v3/api-docs", get(openapi::document::document))
        .route("/openapi/swagger-ui", get(openapi::document::to_page))
        .route(
            "/openapi/swagger-ui/",
            get(openapi::document::to_page_in_folder),
        )
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
        .route("/logIn", post(sign_in::log_in))
        .route(
            "/logOut",
            post(sign_in::log_out).get(sign_in::log_out_by_link),
        )
}
