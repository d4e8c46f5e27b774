//! The use cases of Docent, independent of the API that calls them.
//!
//! Reads come from the store ([`read`]), follow lineage ([`lineage`]) or history ([`timeline`],
//! [`history`], [`activity`], [`events`]); searches use the index ([`search`]). Every change
//! becomes a list of [`Proposal`]s for [`Catalog::apply`], the only function that writes. The other
//! modules turn the input of one use case into proposals: [`action_requests`], [`applications`],
//! [`asset_updates`], [`business_attributes`], [`connections`], [`contracts`], [`credentials`],
//! [`datasets`], [`descriptions`], [`domains`], [`er_models`], [`external_users`], [`files`],
//! [`glossary`], [`groups`], [`incidents`], [`ingestion_secrets`], [`ingestion_sources`],
//! [`invitations`], [`labels`], [`lifecycle`], [`lifecycle_stages`], [`links`], [`logical_models`],
//! [`logical_parents`], [`names`], [`owners`], [`ownership_types`], [`pages`], [`people`],
//! [`policies`], [`products`], [`profiles`], [`property_definitions`], [`saved_queries`],
//! [`service_accounts`], [`sessions`], [`structured_properties`], [`tokens`], [`user_settings`],
//! [`versions`], [`vocabulary`], [`webhooks`].
//!
//! Every use case that writes takes the [`Caller`], [`access`] decides whether the caller may, and
//! [`audit`] records it.
//!
//! This crate must not know SQL, HTTP or GraphQL.
//!
//! To add a use case: add a module (or a function in the module of its noun) with an `impl Catalog`
//! block that builds proposals and calls [`Catalog::apply`]. See docs/adding-a-mutation.md.

mod about_assets;
pub mod access;
mod accounts;
pub mod action_requests;
pub mod activity;
pub mod applications;
mod apply;
pub mod assertions;
pub mod asset_updates;
pub mod audit;
pub mod business_attributes;
mod caller;
pub mod changes;
mod conditions;
pub mod connections;
mod consequences;
pub mod contracts;
pub mod credentials;
pub mod datasets;
pub mod descriptions;
pub mod documents;
pub mod domains;
pub mod er_models;
mod error;
pub mod events;
mod external_record;
pub mod external_users;
pub mod files;
pub mod forms;
pub mod glossary;
pub mod groups;
pub mod history;
mod hooks;
mod ids;
pub mod incidents;
mod ingest;
pub mod ingestion_secrets;
pub mod ingestion_sources;
pub mod invitations;
pub mod labels;
pub mod lifecycle;
pub mod lifecycle_stages;
pub mod limits;
pub mod lineage;
pub mod links;
mod loaded_memory;
pub mod logical_models;
pub mod logical_parents;
pub mod long_work;
pub mod measurements;
pub mod metadata_tests;
pub mod metrics;
pub mod names;
pub mod openlineage;
pub mod operations;
pub mod owners;
pub mod ownership_types;
pub mod pages;
pub mod people;
pub mod policies;
pub mod posts;
pub mod privilege;
pub mod products;
pub mod profiles;
pub mod property_definitions;
mod proposal;
pub mod quality;
pub mod rate;
pub mod read;
mod redaction;
pub mod references;
pub mod report_usage;
mod request_demands;
pub mod runs;
pub mod saved_queries;
pub mod search;
mod secret;
pub mod server_status;
pub mod service_accounts;
pub mod sessions;
pub mod settings;
pub mod stewards;
mod stored;
pub mod structured_properties;
mod target;
pub mod timeline;
pub mod times;
pub mod timeseries;
pub mod timeseries_stats;
pub mod tokens;
pub mod traces;
pub mod usage;
pub mod user_settings;
pub mod versions;
pub mod view;
pub mod views;
pub mod vocabulary;
pub mod webhooks;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use docent_model::{Clock, EpochMillis};
use docent_search::Search;
use docent_store::Store;
use tokio::sync::Semaphore;

pub use apply::{Applied, AppliedItems, MAX_PROPOSALS};
pub use caller::Caller;
pub use conditions::Conditions;
pub use docent_model::aspects::SYSTEM_ACTOR;
pub use docent_store::{
    AspectKey, AspectRow, AuditEvent, AuditItem, AuditKey, AuditOutcome, AuditRecord, CommitStamp,
    EntityAspects, ListPage, LogKey, LogPosition, LogicalVersion, PointRange, ReadReply,
    ReadRequest, RelatedEntity, RowVersion, StoredAspect, spent,
};
pub use error::{ConflictReason, Error, ErrorKind, ErrorSubject, Warning};
pub use ids::{Ids, RandomIds};
pub use loaded_memory::{LoadError, LoadedBytes};
pub use proposal::{Change, MISSING_VERSION, Proposal, Requirement};
pub use target::Target;

/// The catalog over one store. Clones share everything. Each request has one, so cloning is cheap.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
    options: Arc<Options>,
    /// What the caller of this catalog sees; `None` for everything.
    view: Option<Arc<view::View>>,
    /// Who reads through this catalog; `None` for the server, and without access control.
    reading_caller: Option<Caller>,
}

/// How a catalog works, set before it is used.
#[derive(Debug, Clone)]
struct Options {
    search: Option<Arc<Search>>,
    ids: Arc<dyn Ids>,
    session_limits: sessions::SessionLimits,
    token_limits: tokens::TokenLimits,
    /// `None` if the server has no key for secrets.
    secret_keys: Option<ingestion_secrets::SecretKeys>,
    /// `None` if the server sends no events.
    event_sender: Option<Arc<dyn webhooks::EventSender>>,
}

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    started_at_ms: EpochMillis,
    known_tokens: tokens::KnownSecrets,
    known_sessions: tokens::KnownSecrets,
    /// Bearer tokens of trusted issuers.
    known_external: tokens::KnownSecrets,
    uses: tokens::Uses,
    hashing: people::password::Hashing,
    throttle: people::throttle::Throttle,
    /// `None` if every caller may do everything.
    access: OnceLock<access::cache::AccessCache>,
    event_log: OnceLock<events::EventLog>,
    /// Whether callers see only what policies let them view.
    has_view_policies: AtomicBool,
    audit: audit::AuditLog,
    /// Permits for histories in memory.
    histories: Semaphore,
    loaded_memory: loaded_memory::LoadedMemory,
    counters: measurements::Counters,
}

impl Catalog {
    /// A catalog without access control: see [`Catalog::enforce_policies`].
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner: Arc::new(Inner {
                store,
                started_at_ms: clock.now_ms(),
                clock,
                known_tokens: tokens::KnownSecrets::default(),
                known_sessions: tokens::KnownSecrets::default(),
                known_external: tokens::KnownSecrets::default(),
                uses: tokens::Uses::default(),
                hashing: people::password::Hashing::default(),
                throttle: people::throttle::Throttle::default(),
                access: OnceLock::new(),
                event_log: OnceLock::new(),
                has_view_policies: AtomicBool::new(false),
                audit: audit::AuditLog::default(),
                histories: Semaphore::new(history::MAX_HISTORIES),
                loaded_memory: loaded_memory::LoadedMemory::default(),
                counters: measurements::Counters::default(),
            }),
            options: Arc::new(Options {
                search: None,
                ids: Arc::new(RandomIds),
                token_limits: tokens::TokenLimits::default(),
                session_limits: sessions::SessionLimits::default(),
                secret_keys: None,
                event_sender: None,
            }),
            view: None,
            reading_caller: None,
        }
    }

    /// The same catalog with other options.
    fn with_options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(Arc::make_mut(&mut self.options));
        self
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// The time of audit stamps.
    pub fn now_ms(&self) -> EpochMillis {
        self.inner.clock.now_ms()
    }
}
