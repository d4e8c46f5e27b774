//! Time as a parameter, so that tests can fix it.

use std::sync::atomic::{AtomicI64, Ordering};

/// Milliseconds since the Unix epoch.
pub type EpochMillis = i64;

/// The shortest span of time that anything of ours may last.
const MIN_SPAN_MS: f64 = 1000.0;

/// A span of time as people (`30d`, `1w 2d`) or programs (`P30D`) write it, with days of 24 hours. `None` if it is not
/// written like that, or is shorter than a second.
pub fn span_ms(text: &str) -> Option<EpochMillis> {
    let days = jiff::SpanRelativeTo::days_are_24_hours();
    let span: jiff::Span = text.parse().ok()?;
    let total = span.total((jiff::Unit::Millisecond, days)).ok()?;
    (total >= MIN_SPAN_MS).then_some(total as EpochMillis)
}

/// Where the current time comes from.
pub trait Clock: Send + Sync + std::fmt::Debug {
    fn now_ms(&self) -> EpochMillis;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> EpochMillis {
        jiff::Timestamp::now().as_millisecond()
    }
}

/// A clock that stands still until it is moved.
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
