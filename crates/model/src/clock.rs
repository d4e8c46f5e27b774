//! Time as a parameter, so that tests can fix it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub type EpochMillis = i64;

/// The shortest duration that [`parse_duration_ms`] accepts.
const MIN_DURATION_MS: EpochMillis = 1000;

/// Parses a duration in the friendly (`30d`, `1w 2d`) or ISO 8601 format (`P30D`), with days of 24
/// hours. Returns `None` if it is malformed or shorter than a second.
pub fn parse_duration_ms(text: &str) -> Option<EpochMillis> {
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    let span: jiff::Span = text.parse().ok()?;
    let millis = span.to_duration(days).ok()?.as_millis();
    let millis = EpochMillis::try_from(millis).ok()?;
    (millis >= MIN_DURATION_MS).then_some(millis)
}

/// A source of the current time.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now_ms(&self) -> EpochMillis;
}

/// The system clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that all others use"
    )]
    fn now_ms(&self) -> EpochMillis {
        // A `jiff::Timestamp` would take longer to make than the clock to read.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| {
            EpochMillis::try_from(since.as_millis()).unwrap_or(EpochMillis::MAX)
        })
    }
}

/// A clock for tests that advances only on request.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    pub fn at(now_ms: EpochMillis) -> Self {
        Self(AtomicI64::new(now_ms))
    }

    pub fn advance(&self, by_ms: EpochMillis) {
        self.0.fetch_add(by_ms, Ordering::Relaxed);
    }
}

impl Clock for FixedClock {
    fn now_ms(&self) -> EpochMillis {
        self.0.load(Ordering::Relaxed)
    }
}
