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
//! - [`shown`]: how much of what is stored a reply may show
//! - [`page`]: the web page, which needs no token
//! - [`server`]: connections, limits, shutdown
//! - [`spelling`]: paths with a slash at their end
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
mod shown;
mod sign_in;
mod spelling;
mod status;
mod trace;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use docent_catalog::Catalog;
use docent_graphql::Engine;
use tower::ServiceExt as _;

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

/// Where clients of DataHub expect the API if they were not given its root: the paths under which DataHub's web server and
/// its proxies pass it on.
const BASES: [&str; 2] = ["/api/gms", "/gms"];

/// All routes, and those of the API once more below each of [`BASES`].
pub fn router(state: AppState) -> Router {
    let whole = routes(&state).merge(page::routes());
    let whole = BASES
        .into_iter()
        .fold(whole, |whole, base| whole.nest(base, routes(&state)));
    let whole = whole
        .fallback(page::no_such_address)
        .method_not_allowed_fallback(error::method_not_allowed)
        .with_state(state);
    // A layer of the router itself would come too late: it is called when the route is found.
    Router::new().fallback_service(whole.map_request(spelling::without_slash))
}

/// None has a slash at its end: [`spelling`] takes it away.
fn routes(state: &AppState) -> Router<AppState> {
    let graphql = || post(graphql::execute);
    Router::new()
        .route("/api/graphql", graphql())
        .route("/api/v2/graphql", graphql())
        .route("/aspects", trace::traced(state, post(restli::aspects::act)))
        .route("/aspects/{*urn}", get(restli::aspects::read))
        .route("/entitiesV2/{*urn}", get(restli::entities::read))
        .route(
            "/entities",
            trace::traced(state, post(restli::entities::act)),
        )
        .route("/entities/{*urn}", get(restli::snapshots::read))
        .route("/relationships", get(restli::relationships::list))
        .route(
            "/openapi/relationships/v1",
            get(restli::relationships::list_related),
        )
        .route("/runs", post(restli::runs::act))
        .route(
            "/usageStats",
            trace::traced(state, post(restli::usage::act)),
        )
        .route("/operations", post(restli::operations::act))
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
            "/openapi/v1/registry/models/entity/specifications",
            get(openapi::models::entities),
        )
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
        .route("/openapi/v3/lineage/scroll", post(openapi::lineage::scroll))
        .route("/openapi/v3/api-docs", get(openapi::document::document))
        .route("/openapi/swagger-ui", get(openapi::document::to_page))
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
