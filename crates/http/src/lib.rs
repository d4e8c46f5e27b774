//! The HTTP server.
//!
//! Handlers translate: they parse a request, call the catalog or the GraphQL engine, and serialize
//! the result. They contain no business logic, and do not know which store engine is used.
//!
//! - [`graphql`]: `POST /api/graphql`
//! - [`agents`]: `POST /mcp`, for agents
//! - [`feed`]: `GET /events`, the feed of changes
//! - [`restli`]: the endpoints of DataHub's ingestion clients
//! - [`openapi`]: the endpoints of DataHub's OpenAPI
//! - [`wire`]: body helpers that both of these use
//! - [`items`]: lists of which some items are rejected
//! - [`trace`]: trace ids of writes
//! - [`status`]: health and configuration, without authentication
//! - [`sign_in`]: sign-in and sign-out
//! - [`accounts`]: sign-up and passwords
//! - [`sso`]: sign-in at identity providers, and tokens of trusted issuers
//! - [`accept`]: what clients accept
//! - [`cookies`]: the cookies of signed-in browsers
//! - [`auth`]: authenticates requests
//! - [`client`]: the address of the client, and the headers of every response
//! - [`mod@service`]: what happens to every request before it is routed
//! - [`deadline`]: limits the time of a request
//! - [`origin`]: rejects cross-site requests
//! - [`rate_limits`]: limits the rate of requests
//! - [`memory`]: memory that requests share
//! - [`parsed_size`]: estimates the memory of parsed JSON
//! - [`reply_budget`]: limits the size of replies
//! - [`requests`]: the request log and traces, and [`request_record`]: what handlers tell for it
//! - [`mod@metrics`]: metrics for Prometheus
//! - [`page`]: the web page, without authentication
//! - [`mod@frontend`]: a build of DataHub's web page in its place
//! - [`server`]: connections, timeouts, graceful shutdown
//! - [`trailing_slash`]: removes the slash at the end of a path
//!
//! To add a route, write a handler in the module of its resource and register it in [`routes`]. A
//! handler with an [`auth::Authenticated`] argument requires authentication; `tests/http/tokens.rs`
//! lists every route and fails for unprotected ones.

mod accept;
mod accounts;
mod agents;
pub mod auth;
mod body;
mod client;
mod conditions;
mod cookies;
mod deadline;
mod error;
mod feed;
mod filter;
mod frontend;
mod graphql;
mod items;
mod memory;
mod metrics;
mod openapi;
mod origin;
mod page;
mod parsed_size;
mod query;
mod rate_limits;
mod reply_budget;
mod request_record;
mod requests;
mod restli;
pub mod server;
mod service;
mod sign_in;
mod sso;
mod status;
mod trace;
mod trailing_slash;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{delete, get, post};
use docent_catalog::Catalog;
use docent_catalog::rate::RateLimit;
use docent_graphql::Engine;
use docent_mcp::AgentServer;
use ipnet::IpNet;

pub use auth::AuthMode;
pub use deadline::RequestTimeout;
pub use docent_mcp::AgentWrites;
use feed::FeedStreams;
pub use frontend::Frontend;
use metrics::HttpCounters;
pub use metrics::{BackupMeasurements, metrics_service};
pub use openapi::system_info::ShownSetting;
use rate_limits::RateLimits;
use reply_budget::ReplyMemory;
pub use requests::{RequestLog, RequestLogDetail, RequestLogFormat, Traces};
use requests::{RouteRecorder, SlowRequests};
use server::Connections;
pub use service::HttpService;
pub use sso::IdentityProviders;

/// How requests are accepted.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    pub auth: AuthMode,
    /// Proxies whose forwarding headers count.
    pub trusted_proxies: Vec<IpNet>,
    /// Host names that clients may use with authentication off, besides local ones.
    pub allowed_hosts: Vec<String>,
    /// The rate of requests from one address; `None` for any rate.
    pub address_rate_limit: Option<RateLimit>,
    /// The rate of requests with one token or session; `None` for any rate.
    pub token_rate_limit: Option<RateLimit>,
    pub request_timeout: RequestTimeout,
    /// What agents may change.
    pub agent_writes: AgentWrites,
    /// Who else authenticates users.
    pub identity: Arc<IdentityProviders>,
    /// `None` logs no requests.
    pub request_log: Option<Arc<RequestLog>>,
    /// Requests that take longer are logged; `None` for none.
    pub slow_requests: Option<Duration>,
    /// `None` makes no traces.
    pub traces: Option<Traces>,
    /// What the schedule of backups does; `None` without one.
    pub backups: Option<Arc<BackupMeasurements>>,
    /// The connections of the server, to be measured.
    pub connections: Option<Connections>,
    /// The settings of the server, as administrators see them.
    pub shown: Vec<ShownSetting>,
}

/// The state that handlers share.
#[derive(Debug, Clone)]
pub struct AppState {
    inner: Arc<Parts>,
    /// The catalog as the caller sees it, once the caller is known.
    seen: Option<Catalog>,
}

#[derive(Debug)]
struct Parts {
    catalog: Catalog,
    engine: Arc<Engine>,
    agents: AgentServer,
    /// Replaced when the settings are reread.
    in_effect: ArcSwap<SettingsInEffect>,
    body_budget: body::BodyBudget,
    reply_memory: ReplyMemory,
    counters: HttpCounters,
    streams: FeedStreams,
}

/// The settings, and what is built from them.
#[derive(Debug)]
pub(crate) struct SettingsInEffect {
    pub(crate) settings: HttpSettings,
    pub(crate) rate_limits: Arc<RateLimits>,
    pub(crate) slow_requests: Option<SlowRequests>,
}

impl SettingsInEffect {
    fn new(settings: HttpSettings, rate_limits: Arc<RateLimits>) -> Self {
        Self {
            slow_requests: settings.slow_requests.map(SlowRequests::new),
            rate_limits,
            settings,
        }
    }
}

impl AppState {
    pub fn new(catalog: Catalog, engine: Engine, settings: HttpSettings) -> Self {
        let rate_limits = Arc::new(RateLimits::new(&settings));
        Self {
            inner: Arc::new(Parts {
                catalog,
                engine: Arc::new(engine),
                agents: AgentServer::default(),
                in_effect: ArcSwap::from_pointee(SettingsInEffect::new(settings, rate_limits)),
                body_budget: body::BodyBudget::default(),
                reply_memory: ReplyMemory::default(),
                counters: HttpCounters::default(),
                streams: FeedStreams::default(),
            }),
            seen: None,
        }
    }

    /// Applies other settings from the next request on. Whether authentication is on stays as it
    /// is: sessions and pages depend on it.
    pub fn reload(&self, settings: HttpSettings) {
        let current = self.in_effect();
        let settings = HttpSettings {
            auth: current.settings.auth,
            ..settings
        };
        let rate_limits = if RateLimits::are_equal(&settings, &current.settings) {
            Arc::clone(&current.rate_limits)
        } else {
            Arc::new(RateLimits::new(&settings))
        };
        let in_effect = SettingsInEffect::new(settings, rate_limits);
        self.inner.in_effect.store(Arc::new(in_effect));
    }

    /// The same state with the catalog as a caller sees it.
    fn with_seen(&self, seen: Catalog) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            seen: Some(seen),
        }
    }

    /// The catalog; as the caller sees it in the state of [`auth::Authenticated`].
    pub(crate) fn catalog(&self) -> &Catalog {
        self.seen.as_ref().unwrap_or(&self.inner.catalog)
    }

    /// [`Self::catalog`], taken out of this state.
    pub(crate) fn take_catalog(&mut self) -> Catalog {
        let seen = self.seen.take();
        seen.unwrap_or_else(|| self.inner.catalog.clone())
    }

    /// Ends the streams of events, which never end by themselves, because the server stops. Their
    /// clients connect again.
    pub fn end_streams(&self) {
        self.inner.streams.end();
    }

    pub(crate) fn streams(&self) -> &FeedStreams {
        &self.inner.streams
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    pub(crate) fn agents(&self) -> &AgentServer {
        &self.inner.agents
    }

    pub(crate) fn body_budget(&self) -> &body::BodyBudget {
        &self.inner.body_budget
    }

    pub(crate) fn reply_memory(&self) -> &ReplyMemory {
        &self.inner.reply_memory
    }

    pub(crate) fn counters(&self) -> &HttpCounters {
        &self.inner.counters
    }

    pub(crate) fn identity(&self) -> Arc<IdentityProviders> {
        Arc::clone(&self.in_effect().settings.identity)
    }

    /// For a whole request, which keeps them for longer than a [`Guard`] should live.
    pub(crate) fn settings_of_request(&self) -> Arc<SettingsInEffect> {
        self.inner.in_effect.load_full()
    }

    pub(crate) fn in_effect(&self) -> Guard<Arc<SettingsInEffect>> {
        self.inner.in_effect.load()
    }
}

/// Base paths under which DataHub's web server and its proxies serve the API. Clients append them
/// by default.
const BASES: [&str; 2] = ["/api/gms", "/gms"];

/// Where clients send GraphQL requests.
const GRAPHQL_PATH: &str = "/api/graphql";

/// All routes, with the API routes repeated under each of [`BASES`].
pub fn service(state: AppState) -> HttpService {
    let pages = page::routes().fallback(page::not_found);
    with_pages(state, pages)
}

/// [`service()`] with DataHub's web page in place of ours.
pub fn frontend_service(state: AppState, frontend: Frontend) -> HttpService {
    with_pages(state, frontend::routes(frontend))
}

fn with_pages(state: AppState, pages: Router<AppState>) -> HttpService {
    let whole = routes(&state).merge(pages);
    let whole = BASES
        .into_iter()
        .fold(whole, |whole, base| whole.nest(base, routes(&state)));
    let whole = whole
        .method_not_allowed_fallback(page::method_not_allowed)
        .layer(RouteRecorder)
        .with_state(state.clone());
    HttpService::new(state, whole)
}

/// Routes have no trailing slash: [`trailing_slash`] removes it from requests.
fn routes(state: &AppState) -> Router<AppState> {
    let graphql = || {
        post(async |State(state): State<AppState>, request: Request| {
            graphql::answer(&state, request).await
        })
    };
    Router::new()
        .route("/api/graphql", graphql())
        .route("/api/v2/graphql", graphql())
        .route("/mcp", post(agents::answer))
        .route("/events", get(feed::follow))
        .route("/aspects", trace::traced(state, post(restli::aspects::act)))
        .route("/aspects/{*urn}", get(restli::aspects::read))
        .route("/entitiesV2", get(restli::entities::read_many))
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
        .route("/analytics", post(restli::analytics::act))
        .route("/metrics", get(metrics::metrics))
        .merge(openapi_routes(state))
        .merge(status_and_sign_in())
}

/// DataHub's OpenAPI, with its document.
fn openapi_routes(state: &AppState) -> Router<AppState> {
    Router::new()
        .merge(operation_routes())
        .route(
            "/openapi/v1/events/audit/search",
            post(openapi::audit::search),
        )
        .route("/openapi/v1/events/poll", get(openapi::events::poll))
        .merge(system_info_routes())
        .route(
            "/openapi/v1/trace/write/{trace}",
            post(openapi::trace::write_status),
        )
        .route("/openapi/v1/tracking/track", post(openapi::tracking::track))
        .merge(registry_routes())
        .route("/openapi/v1/entities/counts", get(openapi::counts::all))
        .route(
            "/openapi/v1/entities/{entity}/count",
            get(openapi::counts::one),
        )
        .merge(first_version_routes(state))
        .route(
            "/openapi/v2/timeline/v1/{*urn}",
            get(openapi::timeline::read),
        )
        .route("/openapi/timeline/v1/{*urn}", get(openapi::timeline::read))
        .route(
            "/openapi/v2/timeseries/{entity}/{aspect}",
            get(openapi::timeseries::scroll),
        )
        .route(
            "/openapi/v2/entity/batch/{type}",
            post(openapi::batch::read),
        )
        .route(
            "/openapi/v2/entity/{type}",
            get(openapi::v2::list).merge(trace::traced(state, post(openapi::v2::post))),
        )
        .route(
            "/openapi/v2/entity/{type}/{*urn}",
            get(openapi::v2::read_one).merge(trace::traced(
                state,
                post(openapi::v2::post_one)
                    .patch(openapi::v2::patch_one)
                    .delete(openapi::v2::delete),
            )),
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
        .merge(association_routes(state))
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
}

/// Relationships, and links between two entities.
fn association_routes(state: &AppState) -> Router<AppState> {
    Router::new()
        .route(
            "/openapi/v2/relationship/scroll",
            post(openapi::relationships::scroll),
        )
        .route(
            "/openapi/v2/relationship/{name}",
            get(openapi::relationships::of_type),
        )
        .route(
            "/openapi/v2/relationship/{name}/{*urn}",
            get(openapi::relationships::of_entity),
        )
        .route(
            "/openapi/v3/relationship/scroll",
            post(openapi::relationships::scroll),
        )
        .route(
            "/openapi/v3/relationship/{name}",
            get(openapi::relationships::of_type),
        )
        .route(
            "/openapi/v3/relationship/{name}/{*urn}",
            get(openapi::relationships::of_entity),
        )
        .route(
            "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}",
            trace::traced(
                state,
                post(openapi::associations::link_version)
                    .delete(openapi::associations::unlink_version),
            ),
        )
        .route(
            "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf/{parent}",
            trace::traced(state, post(openapi::associations::link_physical)),
        )
        .route(
            "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf",
            trace::traced(state, delete(openapi::associations::unlink_physical)),
        )
}

/// Entity types and aspects.
fn registry_routes() -> Router<AppState> {
    Router::new()
        .route(
            "/openapi/v1/registry/models/entity/specifications",
            get(openapi::models::entities),
        )
        .route(
            "/openapi/v1/registry/models/entity/specifications/{entity}",
            get(openapi::models::entity),
        )
        .route(
            "/openapi/v1/registry/models/entity/specifications/{entity}/aspects",
            get(openapi::models::entity_aspects),
        )
        .route(
            "/openapi/v1/registry/models/aspect/specifications",
            get(openapi::models::aspects),
        )
        .route(
            "/openapi/v1/registry/models/aspect/specifications/{name}",
            get(openapi::models::aspect),
        )
}

/// The first version of DataHub's OpenAPI.
fn first_version_routes(state: &AppState) -> Router<AppState> {
    Router::new()
        .route("/openapi/entities/v1/latest", get(openapi::v1::latest))
        .route(
            "/openapi/entities/v1",
            trace::traced(state, post(openapi::v1::post).delete(openapi::v1::delete)),
        )
        .route(
            "/openapi/openlineage/api/v1/lineage",
            trace::traced(state, post(openapi::openlineage::post)),
        )
        .route(
            "/openapi/v2/platform/entities/v1",
            trace::traced(state, post(openapi::v1::propose)),
        )
}

/// What operators of DataHub ask.
fn operation_routes() -> Router<AppState> {
    Router::new()
        .route(
            "/openapi/operations/messaging/{queue}/consumer/lag",
            get(restli::operations::lag),
        )
        .route(
            "/openapi/operations/kafka/{queue}/consumer/offsets",
            get(restli::operations::offsets),
        )
        .route(
            "/openapi/operations/throttle/requests",
            get(restli::operations::throttles),
        )
        .route(
            "/openapi/operations/identity/user/urn",
            get(restli::operations::identity),
        )
}

/// The server and its settings, for administrators.
fn system_info_routes() -> Router<AppState> {
    Router::new()
        .route("/openapi/v1/system-info", get(openapi::system_info::all))
        .route(
            "/openapi/v1/system-info/spring-components",
            get(openapi::system_info::components),
        )
        .route(
            "/openapi/v1/system-info/properties",
            get(openapi::system_info::properties),
        )
        .route(
            "/openapi/v1/system-info/properties/simple",
            get(openapi::system_info::simple_properties),
        )
}

/// The routes that need no authentication, except for one's own password.
fn status_and_sign_in() -> Router<AppState> {
    Router::new()
        .route("/admin", get(status::health))
        .route("/config", get(status::config))
        .route("/health", get(status::health))
        .route("/health/live", get(status::live))
        .route("/health/ready", get(status::health))
        .route("/check/ready", get(status::health))
        .route("/health/detailed", get(status::detailed))
        .route("/health/detail", get(status::detailed))
        .merge(account_routes())
}

/// How people sign in, and what they do with their passwords.
fn account_routes() -> Router<AppState> {
    Router::new()
        .route("/logIn", post(sign_in::log_in))
        .route("/signUp", post(accounts::sign_up))
        .route("/signUp/check", post(accounts::check_invitation))
        .route(
            "/resetNativeUserCredentials",
            post(accounts::reset_password),
        )
        .route("/changePassword", post(accounts::change_password))
        .route("/sso", get(sso::list))
        .route("/sso/{provider}", get(sso::start))
        .route("/callback/{provider}", get(sso::callback))
        .route(
            "/logOut",
            post(sign_in::log_out).get(sign_in::log_out_and_redirect),
        )
}
