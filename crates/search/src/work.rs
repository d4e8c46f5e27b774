//! What one search may use: some time, and some terms of the dictionaries.
//!
//! A pattern, the beginning of a word or a condition like "contains" may stand for any number of terms, and a query has
//! many of them. So whoever walks over terms tells the [`Work`] of the search, and stops with the error that it gives once
//! the search has used what it may. What a search answers is exact or it is an error: nothing is left out silently.
//!
//! To bound one more walk: call [`Work::looked`] for each thing that is looked at, and [`Work::took`] for each that is kept.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tantivy::TantivyError;

use crate::error::SearchError;

/// What every search may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Counted from when a thread begins to work for it.
    pub time: Duration,
    /// How many terms its patterns and conditions may stand for, in all.
    pub terms: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            // Each is a list of documents to be read, some 1.3 µs, and in a condition some hundred bytes.
            terms: 1_000_000,
        }
    }
}

/// So often the clock is looked at: walking over a term takes as long as looking at the clock.
const STEPS_PER_LOOK: u32 = 64;

/// What one search has used. Cloning it is cheap and gives the same.
#[derive(Debug, Clone)]
pub(crate) struct Work(Rc<State>);

#[derive(Debug)]
struct State {
    limits: Limits,
    began: Instant,
    steps: Cell<u32>,
    terms: Cell<usize>,
    late: Cell<bool>,
}

impl Work {
    pub(crate) fn begin(limits: Limits) -> Self {
        Self(Rc::new(State {
            limits,
            began: Instant::now(),
            steps: Cell::new(0),
            terms: Cell::new(0),
            late: Cell::new(false),
        }))
    }

    /// Something small was done, such as looking at a term.
    pub(crate) fn looked(&self) -> tantivy::Result<()> {
        let state = &*self.0;
        let steps = state.steps.get() + 1;
        state.steps.set(steps % STEPS_PER_LOOK);
        if steps == STEPS_PER_LOOK || state.terms.get() > state.limits.terms {
            return self.check();
        }
        Ok(())
    }

    /// A term is one of those that were meant. The next step finds out if that is one too many.
    pub(crate) fn took(&self) {
        let terms = &self.0.terms;
        terms.set(terms.get() + 1);
    }

    /// Something that may take longer is about to be done. The error only ends the work; what to tell is [`Work::over`].
    pub(crate) fn check(&self) -> tantivy::Result<()> {
        let state = &*self.0;
        if state.began.elapsed() > state.limits.time {
            state.late.set(true);
        }
        match self.over() {
            Some(error) => Err(TantivyError::SystemError(error.to_string())),
            None => Ok(()),
        }
    }

    /// Why the search was ended, if it was.
    pub(crate) fn over(&self) -> Option<SearchError> {
        let Limits { time, terms } = self.0.limits;
        if self.0.terms.get() > terms {
            return Some(SearchError::TooBroad { terms });
        }
        self.0.late.get().then_some(SearchError::TooLong {
            seconds: time.as_secs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(time: Duration, terms: usize) -> Limits {
        Limits { time, terms }
    }

    #[test]
    fn a_search_ends_when_its_time_is_over_and_says_so() {
        let work = Work::begin(limits(Duration::ZERO, 10));
        let ended = (0..=STEPS_PER_LOOK).find(|_| work.looked().is_err());
        assert!(ended.is_some());
        let said = work.over().unwrap().to_string();
        assert!(said.contains("narrow it"), "{said}");
    }

    #[test]
    fn a_search_ends_with_the_first_term_that_is_too_many() {
        let work = Work::begin(limits(Duration::MAX, 10));
        for _ in 0..10 {
            work.took();
            work.looked().unwrap();
        }
        assert!(work.over().is_none());
        work.took();
        assert!(work.looked().is_err());
        let said = work.over().unwrap().to_string();
        assert!(said.contains("more letters"), "{said}");
    }
}
