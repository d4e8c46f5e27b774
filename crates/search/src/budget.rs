//! Limits what one search may use: time, and terms of the dictionaries.
//!
//! A pattern, a prefix or a condition such as "contains" can match any number of terms, and a query
//! may have many of them. Every walk over terms reports to the [`SearchBudget`] and stops with its
//! error once the budget is exceeded. A search returns exact results or an error; it never omits
//! results silently.
//!
//! To limit one more walk, call [`SearchBudget::step`] for each item visited and
//! [`SearchBudget::count_term`] for each term that matches.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tantivy::TantivyError;

use crate::error::SearchError;

/// The limits of every search.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// Measured from the moment a thread starts on the search.
    pub time: Duration,
    /// How many terms the patterns and conditions of a search may match in total.
    pub terms: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            // Each is a posting list to read, about 1.3 µs, and in a condition about a hundred
            // bytes.
            terms: 1_000_000,
        }
    }
}

/// Reading the clock takes as long as visiting a term, so it is read once per this many steps.
const STEPS_PER_CLOCK_READ: u32 = 64;

/// What one search has used so far. Clones share their state.
#[derive(Debug, Clone)]
pub(crate) struct SearchBudget(Rc<Usage>);

#[derive(Debug)]
struct Usage {
    limits: SearchLimits,
    started: Instant,
    steps: Cell<u32>,
    terms: Cell<usize>,
    timed_out: Cell<bool>,
}

impl SearchBudget {
    pub(crate) fn start(limits: SearchLimits) -> Self {
        Self(Rc::new(Usage {
            limits,
            started: Instant::now(),
            steps: Cell::new(0),
            terms: Cell::new(0),
            timed_out: Cell::new(false),
        }))
    }

    /// Reports a small step, such as visiting a term.
    pub(crate) fn step(&self) -> tantivy::Result<()> {
        let state = &*self.0;
        let steps = state.steps.get() + 1;
        state.steps.set(steps % STEPS_PER_CLOCK_READ);
        if steps == STEPS_PER_CLOCK_READ || state.terms.get() > state.limits.terms {
            return self.check();
        }
        Ok(())
    }

    /// Reports a matching term. The next step fails if it exceeds the limit.
    pub(crate) fn count_term(&self) {
        let terms = &self.0.terms;
        terms.set(terms.get() + 1);
    }

    /// Checks the limits before a step that may take longer. The error only stops the walk; the
    /// error for the caller is [`SearchBudget::exceeded`].
    pub(crate) fn check(&self) -> tantivy::Result<()> {
        let state = &*self.0;
        if state.started.elapsed() > state.limits.time {
            state.timed_out.set(true);
        }
        match self.exceeded() {
            Some(error) => Err(TantivyError::SystemError(error.to_string())),
            None => Ok(()),
        }
    }

    /// Returns why the search was stopped, if it was.
    pub(crate) fn exceeded(&self) -> Option<SearchError> {
        let SearchLimits { time, terms } = self.0.limits;
        if self.0.terms.get() > terms {
            return Some(SearchError::TooBroad { terms });
        }
        self.0.timed_out.get().then_some(SearchError::TimedOut {
            seconds: time.as_secs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(time: Duration, terms: usize) -> SearchLimits {
        SearchLimits { time, terms }
    }

    #[test]
    fn a_search_over_its_time_limit_times_out() {
        let budget = SearchBudget::start(limits(Duration::ZERO, 10));
        let stopped = (0..=STEPS_PER_CLOCK_READ).find(|_| budget.step().is_err());
        assert!(stopped.is_some());
        let message = budget.exceeded().unwrap().to_string();
        assert!(message.contains("narrow it"), "{message}");
    }

    #[test]
    fn a_search_stops_at_the_first_term_over_the_limit() {
        let budget = SearchBudget::start(limits(Duration::MAX, 10));
        for _ in 0..10 {
            budget.count_term();
            budget.step().unwrap();
        }
        assert!(budget.exceeded().is_none());
        budget.count_term();
        assert!(budget.step().is_err());
        let message = budget.exceeded().unwrap().to_string();
        assert!(message.contains("longer prefixes"), "{message}");
    }
}
