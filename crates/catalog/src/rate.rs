//! Rate limits per key, such as an address or a token, in bounded memory.
//!
//! Each key has a burst of requests, which come back at a constant rate (the generic cell rate
//! algorithm). A limiter keeps its busiest keys: beyond its capacity it forgets others, which then
//! have their whole burst again. Nobody is limited because of another key. Each server counts on
//! its own.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use docent_model::EpochMillis;
use quick_cache::unsync::Cache;

/// How many keys a table has, with a few dozen bytes each.
const CAPACITY: usize = 16 * 1024;

/// An interval has whole microseconds.
const MAX_BURST: u32 = 1_000_000;

/// A burst size, and the time after which one request of it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    burst: u32,
    interval_us: i64,
}

impl RateLimit {
    pub const fn new(burst: u32, interval_us: i64) -> Self {
        Self { burst, interval_us }
    }

    /// The time at which the burst is whole again after one more request, or the wait for it.
    fn next(self, whole_at_us: i64, now_us: i64) -> Result<i64, i64> {
        let last = now_us.saturating_add(i64::from(self.burst).saturating_mul(self.interval_us));
        // Later than any request can make it: the clock was set back, and nothing is known.
        let whole_at_us = if whole_at_us > last {
            now_us
        } else {
            whole_at_us.max(now_us)
        };
        let next = whole_at_us.saturating_add(self.interval_us);
        if next > last {
            Err(next.saturating_sub(last))
        } else {
            Ok(next)
        }
    }
}

/// `100/s`, `600/m` or `10000/h`: so many at once, which come back within a second, a minute or an
/// hour.
impl FromStr for RateLimit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (count, unit) = text.split_once('/').ok_or(())?;
        let burst: u32 = count.parse().map_err(|_| ())?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            _ => return Err(()),
        };
        if !(1..=MAX_BURST).contains(&burst) {
            return Err(());
        }
        Ok(Self::new(burst, seconds * 1_000_000 / i64::from(burst)))
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for RateLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { burst, interval_us } = self;
        // The interval is rounded down, so the time for all is a little shorter.
        let seconds = (i64::from(*burst) * (interval_us + 1)) / 1_000_000;
        let unit = match seconds {
            ..60 => "s",
            60..3_600 => "m",
            _ => "h",
        };
        write!(formatter, "{burst}/{unit}")
    }
}

/// Limits the requests of each key.
#[derive(Debug)]
pub struct RateLimiter {
    limit: RateLimit,
    /// When the burst of each key is whole again, in microseconds.
    whole_at: KeyedTable<i64>,
}

impl RateLimiter {
    pub fn new(limit: RateLimit) -> Self {
        Self {
            limit,
            whole_at: KeyedTable::default(),
        }
    }

    /// Takes one request, or returns in how many milliseconds there is one.
    pub fn take(&self, key: &impl Hash, now_ms: EpochMillis) -> Result<(), EpochMillis> {
        let key = self.whole_at.key_of(key);
        let mut table = self.whole_at.lock();
        let whole_at_us = table.get(&key).copied().unwrap_or(i64::MIN);
        let next = self.limit.next(whole_at_us, now_ms.saturating_mul(1000));
        let next = next.map_err(|wait_us| wait_us.saturating_add(999) / 1000)?;
        table.insert(key, next);
        Ok(())
    }

    /// Returns a request that should not have counted.
    pub(crate) fn give_back(&self, key: &impl Hash) {
        let key = self.whole_at.key_of(key);
        if let Some(mut whole_at_us) = self.whole_at.lock().get_mut(&key) {
            *whole_at_us = whole_at_us.saturating_sub(self.limit.interval_us);
        }
    }
}

/// The network that an address counts as: the owner of an address of version 6 has many of them.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// A bounded table by the hash of a key. The hash has a secret of this process, so that nobody can
/// choose a key that collides with another.
#[derive(Debug)]
pub(crate) struct KeyedTable<V> {
    values: Mutex<Cache<u64, V>>,
    secret: RandomState,
}

impl<V> Default for KeyedTable<V> {
    fn default() -> Self {
        Self {
            values: Mutex::new(Cache::new(CAPACITY)),
            secret: RandomState::new(),
        }
    }
}

impl<V> KeyedTable<V> {
    pub(crate) fn key_of(&self, key: &impl Hash) -> u64 {
        self.secret.hash_one(key)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Cache<u64, V>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_admitted_and_then_a_constant_rate() {
        let limiter = RateLimiter::new(RateLimit::new(3, 500_000));
        for _ in 0..3 {
            limiter.take(&"a", 10_000).unwrap();
        }
        assert_eq!(limiter.take(&"a", 10_000), Err(500));
        assert_eq!(limiter.take(&"a", 10_200), Err(300));
        limiter.take(&"b", 10_000).unwrap();
        limiter.take(&"a", 10_500).unwrap();
        assert_eq!(limiter.take(&"a", 10_500), Err(500));
        limiter.give_back(&"a");
        limiter.take(&"a", 10_500).unwrap();
        // Rejected requests do not count.
        limiter.take(&"a", 11_000).unwrap();
    }

    #[test]
    fn rates_above_one_per_millisecond_are_exact() {
        let limiter = RateLimiter::new(RateLimit::new(4, 250));
        let admitted = |now_ms| (0..10).filter(|_| limiter.take(&1, now_ms).is_ok()).count();
        assert_eq!([admitted(1), admitted(2), admitted(3)], [4, 4, 4]);
    }

    #[test]
    fn a_clock_that_is_set_back_blocks_nobody() {
        let limiter = RateLimiter::new(RateLimit::new(2, 1_000_000));
        for now_ms in [1_000_000_000, 1_000] {
            for _ in 0..2 {
                limiter.take(&1, now_ms).unwrap();
            }
            assert_eq!(limiter.take(&1, now_ms), Err(1_000));
        }
    }

    #[test]
    fn limits_are_written_as_a_number_per_unit() {
        for (text, expected) in [
            ("100/s", Ok(RateLimit::new(100, 10_000))),
            ("600/m", Ok(RateLimit::new(600, 100_000))),
            ("1/h", Ok(RateLimit::new(1, 3_600_000_000))),
            ("7/s", Ok(RateLimit::new(7, 142_857))),
            ("1000000/m", Ok(RateLimit::new(1_000_000, 60))),
            ("1000000/s", Ok(RateLimit::new(1_000_000, 1))),
            ("1000001/s", Err(())),
            ("0/s", Err(())),
            ("-1/s", Err(())),
            ("10", Err(())),
            ("10/d", Err(())),
            ("ten/s", Err(())),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
            if let Ok(limit) = expected {
                assert_eq!(limit.to_string(), text);
            }
        }
    }

    #[test]
    fn memory_is_bounded() {
        let limiter = RateLimiter::new(RateLimit::new(1, 1_000_000));
        for key in 0..3 * CAPACITY {
            limiter.take(&key, 1).unwrap();
        }
        assert!(limiter.whole_at.lock().len() <= CAPACITY);
    }

    #[test]
    fn neighbors_in_a_network_of_version_6_are_one_address() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:1"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_eq!(parse("::ffff:10.0.0.1"), parse("10.0.0.1"));
    }
}
