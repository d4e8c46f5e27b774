//! What the catalog counts, for administrators: with the counts of the layers below it.

use docent_model::EpochMillis;
use docent_model::measure::Counter;
pub use docent_model::measure::Distribution;
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

#[derive(Debug, Default)]
pub(crate) struct Counters {
    succeeded_sign_ins: Counter,
    pub(crate) rejected_sign_ins: Counter,
    delayed_sign_ins: Counter,
    pub(crate) denials: Counter,
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
            loaded_bytes,
            max_loaded_bytes,
            store: self.store().measurements(),
            search: self.options.search.as_ref().map(|it| it.measurements()),
        }
    }
}
