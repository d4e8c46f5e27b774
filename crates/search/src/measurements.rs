//! What the index and its searches count, for administrators.

use docent_model::measure::{Counter, Distribution, Histogram};

/// The counts since the server started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMeasurements {
    /// Commits of changes to the index.
    pub commits: u64,
    /// How many entities those wrote. An entity counts again with each change.
    pub entities: u64,
    /// How long searches took with the changes that they indexed first, in microseconds.
    pub search_micros: Distribution,
    /// Those that failed, also because a request had a mistake.
    pub failed_searches: u64,
}

#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) commits: Counter,
    pub(crate) entities: Counter,
    pub(crate) searches: Histogram,
    pub(crate) failed_searches: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            commits: Counter::default(),
            entities: Counter::default(),
            searches: Histogram::of_durations(),
            failed_searches: Counter::default(),
        }
    }
}

impl Counters {
    pub(crate) fn read(&self) -> SearchMeasurements {
        SearchMeasurements {
            commits: self.commits.get(),
            entities: self.entities.get(),
            search_micros: self.searches.read(),
            failed_searches: self.failed_searches.get(),
        }
    }
}
