//! What the catalog counts, for administrators: with the counts of the layers below it.

use std::sync::atomic::{AtomicI64, Ordering};

use docent_model::EpochMillis;
pub use docent_model::measure::Distribution;
use docent_model::measure::{Counter, Histogram};
pub use docent_search::SearchMeasurements;
pub use docent_store::{PoolMeasurements, StoreMeasurements, WriterMeasurements};

use crate::Catalog;
use crate::sessions::SignIn;

/// The counts since the server started. They contain no names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogMeasurements {
    pub started_at_ms: EpochMillis,
    pub sign_ins: SignInCounts,
    /// Requests that were denied, with sign-ins, as the audit log counts them.
    pub denials: u64,
    /// The memory for metadata that requests load, and its limit.
    pub loaded_bytes: u64,
    pub max_loaded_bytes: u64,
    pub webhooks: WebhookMeasurements,
    pub store: StoreMeasurements,
    /// `None` for a server without a search index.
    pub search: Option<SearchMeasurements>,
}

/// Attempts to sign in, with a password or at an identity provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInCounts {
    pub succeeded: u64,
    pub rejected: u64,
    /// Too many attempts: not even tried.
    pub delayed: u64,
}

/// What webhooks have sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMeasurements {
    /// Events that a receiver accepted.
    pub accepted: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Events that became dead letters.
    pub dead_letters: u64,
    /// Changes that were read and are not delivered yet, of the webhooks that this server delivers.
    pub pending: u64,
    /// Attempts by how long they took.
    pub attempt_micros: Distribution,
}

#[derive(Debug)]
pub(crate) struct Counters {
    succeeded_sign_ins: Counter,
    pub(crate) rejected_sign_ins: Counter,
    delayed_sign_ins: Counter,
    pub(crate) denials: Counter,
    pub(crate) webhooks: WebhookCounters,
}

/// What webhooks count.
#[derive(Debug)]
pub(crate) struct WebhookCounters {
    pub(crate) accepted: Counter,
    pub(crate) failed: Counter,
    pub(crate) dead_letters: Counter,
    pub(crate) pending: AtomicI64,
    pub(crate) attempts: Histogram,
}

impl WebhookCounters {
    fn read(&self) -> WebhookMeasurements {
        WebhookMeasurements {
            accepted: self.accepted.get(),
            failed: self.failed.get(),
            dead_letters: self.dead_letters.get(),
            pending: self
                .pending
                .load(Ordering::Relaxed)
                .try_into()
                .unwrap_or_default(),
            attempt_micros: self.attempts.read(),
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            succeeded_sign_ins: Counter::default(),
            rejected_sign_ins: Counter::default(),
            delayed_sign_ins: Counter::default(),
            denials: Counter::default(),
            webhooks: WebhookCounters {
                accepted: Counter::default(),
                failed: Counter::default(),
                dead_letters: Counter::default(),
                pending: AtomicI64::default(),
                attempts: Histogram::of_durations(),
            },
        }
    }
}

impl Counters {
    /// Counts the outcome of an attempt to sign in.
    pub(crate) fn count_sign_in(&self, outcome: SignIn) -> SignIn {
        let counter = match outcome {
            SignIn::Welcome { .. } => &self.succeeded_sign_ins,
            SignIn::Rejected => &self.rejected_sign_ins,
            SignIn::Wait { .. } => &self.delayed_sign_ins,
        };
        counter.increment();
        outcome
    }
}

impl Catalog {
    /// The name of the storage engine.
    pub fn engine(&self) -> &'static str {
        self.store().engine()
    }

    /// Reads no data, so that everyone who may see numbers may see these.
    pub fn measurements(&self) -> CatalogMeasurements {
        let counters = &self.inner.counters;
        let (loaded_bytes, max_loaded_bytes) = self.loaded_memory().used_and_limit();
        CatalogMeasurements {
            started_at_ms: self.inner.started_at_ms,
            sign_ins: SignInCounts {
                succeeded: counters.succeeded_sign_ins.get(),
                rejected: counters.rejected_sign_ins.get(),
                delayed: counters.delayed_sign_ins.get(),
            },
            denials: counters.denials.get(),
            webhooks: counters.webhooks.read(),
            loaded_bytes,
            max_loaded_bytes,
            store: self.store().measurements(),
            search: self.options.search.as_ref().map(|it| it.measurements()),
        }
    }
}
