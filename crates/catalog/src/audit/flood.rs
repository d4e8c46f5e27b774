//! Limits how many denials are stored. A client that repeats a denied request, or tries passwords,
//! must not fill the disk: beyond the limit denials are only counted, and each minute ends with one
//! event per source that says how many.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use docent_model::{EpochMillis, Urn};

const WINDOW_MS: EpochMillis = 60_000;
/// How many denials of one source are stored in a window.
const MAX_OF_SOURCE: u64 = 20;
/// How many denials are stored in a window.
const MAX_STORED: u64 = 120;
/// How many sources are told apart in a window.
const MAX_SOURCES: usize = 1_000;
/// How many of them get an event of their own when the window ends.
const MAX_SUMMARIES: usize = 20;

/// Denials that count together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub(super) actor: Option<Urn>,
    pub(super) address: Option<IpAddr>,
    pub(super) operation: Cow<'static, str>,
}

#[derive(Debug, Default)]
pub(super) struct Flood(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    begins_ms: EpochMillis,
    stored: u64,
    sources: HashMap<Source, Counts>,
    /// Dropped denials of sources beyond [`MAX_SOURCES`].
    others: u64,
    /// Dropped denials of windows that are over; `None` for several sources.
    ended: Vec<(Option<Source>, u64)>,
}

#[derive(Debug, Default)]
struct Counts {
    stored: u64,
    dropped: u64,
}

impl Flood {
    /// Counts a denial; returns whether to store it.
    pub(super) fn admit(&self, source: &Source, now_ms: EpochMillis) -> bool {
        let mut state = self.state();
        state.end_window(now_ms);
        let is_full = state.stored >= MAX_STORED;
        if state.sources.len() >= MAX_SOURCES && !state.sources.contains_key(source) {
            if is_full {
                state.others += 1;
            } else {
                state.stored += 1;
            }
            return !is_full;
        }
        let counts = state.sources.entry(source.clone()).or_default();
        if is_full || counts.stored >= MAX_OF_SOURCE {
            counts.dropped += 1;
            return false;
        }
        counts.stored += 1;
        state.stored += 1;
        true
    }

    /// The dropped denials of windows that are over, which nobody has taken yet.
    pub(super) fn take_ended(&self, now_ms: EpochMillis) -> Vec<(Option<Source>, u64)> {
        let mut state = self.state();
        state.end_window(now_ms);
        std::mem::take(&mut state.ended)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Begins a new window if the current one is over. A clock that was set back ends it too.
    fn end_window(&mut self, now_ms: EpochMillis) {
        if (0..WINDOW_MS).contains(&now_ms.saturating_sub(self.begins_ms)) {
            return;
        }
        let sources = std::mem::take(&mut self.sources).into_iter();
        let mut dropped: Vec<(Source, u64)> = sources
            .map(|(source, counts)| (source, counts.dropped))
            .filter(|(_, dropped)| *dropped > 0)
            .collect();
        dropped.sort_by_key(|(_, dropped)| std::cmp::Reverse(*dropped));
        let rest = dropped.split_off(dropped.len().min(MAX_SUMMARIES));
        let others: u64 = rest.iter().map(|(_, dropped)| dropped).sum();
        let others = others + std::mem::take(&mut self.others);
        // Taken once a minute; otherwise the counts of windows add up.
        let room = MAX_SUMMARIES.saturating_sub(self.ended.len());
        let unlisted = dropped.split_off(dropped.len().min(room));
        let unlisted: u64 = unlisted.iter().map(|(_, dropped)| dropped).sum();
        let listed = dropped.into_iter();
        self.ended
            .extend(listed.map(|(source, dropped)| (Some(source), dropped)));
        if others + unlisted > 0 {
            match self.ended.iter_mut().find(|(source, _)| source.is_none()) {
                Some((_, dropped)) => *dropped += others + unlisted,
                None => self.ended.push((None, others + unlisted)),
            }
        }
        self.begins_ms = now_ms;
        self.stored = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(number: usize) -> Source {
        Source {
            actor: Urn::new("corpuser", &number.to_string()).ok(),
            address: None,
            operation: "x".into(),
        }
    }

    #[test]
    fn a_source_is_stored_up_to_its_limit_and_then_counted() {
        let flood = Flood::default();
        let stored = (0..100).filter(|_| flood.admit(&source(1), 1_000_000));
        assert_eq!(stored.count() as u64, MAX_OF_SOURCE);
        assert!(flood.admit(&source(2), 1_000_000));
        assert_eq!(flood.take_ended(1_059_999), []);
        let ended = [(Some(source(1)), 100 - MAX_OF_SOURCE)];
        assert_eq!(flood.take_ended(1_060_000), ended);
        assert_eq!(flood.take_ended(1_120_000), []);
        assert!(flood.admit(&source(1), 1_120_000));
    }

    #[test]
    fn many_sources_share_one_limit_and_one_summary() {
        let flood = Flood::default();
        let all = 10 * MAX_SOURCES;
        let stored = (0..all).filter(|number| flood.admit(&source(*number), 1_000_000));
        assert_eq!(stored.count() as u64, MAX_STORED);
        let ended = flood.take_ended(1_060_000);
        assert_eq!(ended.len(), MAX_SUMMARIES + 1);
        let dropped: u64 = ended.iter().map(|(_, dropped)| dropped).sum();
        assert_eq!(dropped, all as u64 - MAX_STORED);
    }

    #[test]
    fn windows_that_nobody_takes_do_not_accumulate() {
        let flood = Flood::default();
        for window in 1..100 {
            for number in 0..1_000 {
                flood.admit(&source(number), window * WINDOW_MS);
            }
        }
        let ended = flood.take_ended(100 * WINDOW_MS);
        assert_eq!(ended.len(), MAX_SUMMARIES + 1);
        let dropped: u64 = ended.iter().map(|(_, dropped)| dropped).sum();
        assert_eq!(dropped, 99 * (1_000 - MAX_STORED));
    }
}
