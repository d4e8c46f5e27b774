//! Entities for which writers met lately.
//!
//! A write reads without locks first, because mostly nobody disturbs it; where somebody does, all that it did is in vain
//! and it runs again with its locks (`run`). When many write to one entity, each of them would do everything twice, and
//! the first time hold up those whose turn it is. So it is remembered where writers met, and for a while whoever
//! reads such an entity in order to write asks for its lock in the same round trip.
//!
//! This is a hint and nothing else: whether a write is right is decided by what it finds when it commits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use docent_model::Urn;

/// Those who wait for locks do not meet, so it has to be tried without once in a while.
const LATELY: Duration = Duration::from_secs(1);
/// More entities than this are not remembered.
const MAX_ENTITIES: usize = 1000;

#[derive(Debug, Default)]
pub(crate) struct Contended {
    met: Mutex<HashMap<Urn, Instant>>,
}

impl Contended {
    /// Writers of these have met.
    pub(crate) fn note<'u>(&self, urns: impl Iterator<Item = &'u Urn>) {
        let now = Instant::now();
        let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= MAX_ENTITIES {
            met.retain(|_, at| now.duration_since(*at) < LATELY);
        }
        for urn in urns {
            if met.len() >= MAX_ENTITIES {
                break;
            }
            met.insert(urn.clone(), now);
        }
    }

    /// For which of these writers met lately.
    pub(crate) fn among<'u>(&self, urns: impl Iterator<Item = &'u Urn>) -> Vec<&'u Urn> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if met.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        let lately = |urn: &&Urn| {
            met.get(*urn)
                .is_some_and(|at| now.duration_since(*at) < LATELY)
        };
        urns.filter(lately).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urns(range: std::ops::Range<usize>) -> Vec<Urn> {
        range
            .map(|number| Urn::new("domain", &number.to_string()).unwrap())
            .collect()
    }

    #[test]
    fn no_more_than_a_bounded_number_of_entities_is_remembered() {
        let contended = Contended::default();
        let all = urns(0..MAX_ENTITIES + 10);
        assert!(contended.among(all.iter()).is_empty());
        contended.note(all[..5].iter());
        assert_eq!(contended.among(all.iter()).len(), 5);
        contended.note(all.iter());
        assert_eq!(contended.among(all.iter()).len(), MAX_ENTITIES);
    }
}
