//! Counters and histograms, updated where things happen.
//!
//! They are plain atomic numbers and know nothing of the format in which they are shown: the server
//! reads them when somebody asks. An update costs a few nanoseconds.
//!
//! To measure one more thing: a [`Counter`] or [`Histogram`] next to the code that does it, and a
//! member in what its crate reports to the layer above.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number of things that begin and end.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn decrement(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper bounds of durations, in microseconds: from a tenth of a millisecond to half a minute.
pub const DURATIONS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
];

/// The distribution of a number.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for larger numbers.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Counts numbers by upper bounds, from the smallest.
    pub fn new(bounds: &'static [u64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    /// A histogram of microseconds.
    pub fn of_durations() -> Self {
        Self::new(DURATIONS)
    }

    pub fn observe(&self, number: u64) {
        let index = self.bounds.partition_point(|bound| *bound < number);
        self.counts[index].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(number, Ordering::Relaxed);
    }

    pub fn observe_duration(&self, duration: Duration) {
        self.observe(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
    }

    pub fn read(&self) -> Distribution {
        let counts = self.counts.iter();
        Distribution {
            bounds: self.bounds,
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

/// What a [`Histogram`] has counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    pub bounds: &'static [u64],
    /// The numbers up to each bound and over the one before, and those over the last one.
    pub counts: Vec<u64>,
    pub sum: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_up_to_and_including_their_bound() {
        let histogram = Histogram::new(&[10, 20]);
        for number in [0, 10, 11, 20, 21, 1000] {
            histogram.observe(number);
        }
        let read = histogram.read();
        assert_eq!(read.counts, [2, 2, 2]);
        assert_eq!(read.sum, 1062);
        let durations = Histogram::of_durations();
        durations.observe_duration(Duration::from_millis(1));
        assert_eq!(durations.read().counts[3], 1);
    }
}
