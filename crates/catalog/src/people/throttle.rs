//! Delays password guessing without locking others out.
//!
//! Failures are counted per user and address together: a stranger who guesses a user's password
//! delays that address alone. After a few failures the delay doubles with each one. An address also
//! has a budget for all users together. A known device ([`super::device`]) is counted on its own,
//! so that nobody else's failures delay it.
//!
//! The tables are bounded ([`crate::rate`]), and each server counts on its own.

use std::net::IpAddr;

use docent_model::{EpochMillis, Urn};
use quick_cache::unsync::Cache;

use crate::rate::{KeyedTable, RateLimit, RateLimiter, network};

/// Failures without a delay: more than most users mistype a password.
const FREE_FAILURES: u32 = 5;
/// Only a thief of the device's cookie fails so often.
const FREE_DEVICE_FAILURES: u32 = 50;
const FIRST_DELAY_MS: EpochMillis = 1_000;
const MAX_DELAY_MS: EpochMillis = 15 * 60 * 1_000;
/// Failures are forgotten this long after the end of their delay.
const FORGOTTEN_AFTER_MS: EpochMillis = 60 * 60 * 1_000;
/// An office may share an address: 30 attempts, and one more every 10 seconds.
const PER_ADDRESS: RateLimit = RateLimit::new(30, 10_000_000);

#[derive(Debug)]
pub(crate) struct Throttle {
    /// By user and address, or by user and known device.
    failures: KeyedTable<Failures>,
    addresses: RateLimiter,
}

/// Consecutive failures, counted when an attempt starts, so that parallel ones count too.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    count: u32,
    last_ms: EpochMillis,
}

/// An attempt to sign in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub(crate) user: Option<&'a Urn>,
    pub(crate) address: Option<IpAddr>,
    /// The id of the device, if it is known for this user.
    pub(crate) device: Option<&'a str>,
}

impl Default for Throttle {
    fn default() -> Self {
        Self {
            failures: KeyedTable::default(),
            addresses: RateLimiter::new(PER_ADDRESS),
        }
    }
}

impl Throttle {
    /// Admits an attempt, or returns the milliseconds to wait. Counts it as a failure until
    /// [`Throttle::succeeded`].
    pub(crate) fn admit(
        &self,
        attempt: &Attempt<'_>,
        now_ms: EpochMillis,
    ) -> Result<(), EpochMillis> {
        let key = self.key(attempt);
        let mut table = self.failures.lock();
        let failures = table.get(&key).copied().unwrap_or_default();
        let next = failures.next(attempt.free_failures(), now_ms)?;
        if attempt.device.is_none() {
            self.addresses.take(&attempt.network(), now_ms)?;
        }
        Cache::insert(&mut table, key, next);
        Ok(())
    }

    /// The password was correct: the failures of this user at this address are forgotten.
    pub(crate) fn succeeded(&self, attempt: &Attempt<'_>) {
        self.failures.lock().remove(&self.key(attempt));
        if attempt.device.is_none() {
            self.addresses.give_back(&attempt.network());
        }
    }

    fn key(&self, attempt: &Attempt<'_>) -> u64 {
        match attempt.device {
            Some(device) => self.failures.key_of(&(attempt.user, "device", device)),
            None => self
                .failures
                .key_of(&(attempt.user, "address", attempt.network())),
        }
    }
}

impl Attempt<'_> {
    fn network(&self) -> Option<IpAddr> {
        self.address.map(network)
    }

    fn free_failures(&self) -> u32 {
        match self.device {
            Some(_) => FREE_DEVICE_FAILURES,
            None => FREE_FAILURES,
        }
    }
}

impl Failures {
    /// One failure more, or the milliseconds to wait for the next attempt.
    fn next(self, free: u32, now_ms: EpochMillis) -> Result<Self, EpochMillis> {
        let delay_ms = match self.count.checked_sub(free) {
            None => 0,
            Some(doublings) => 1_i64
                .checked_shl(doublings.min(32))
                .map_or(MAX_DELAY_MS, |factor| FIRST_DELAY_MS.saturating_mul(factor))
                .min(MAX_DELAY_MS),
        };
        // A clock that was set back must not block anyone for longer.
        let ends_at = self.last_ms.min(now_ms).saturating_add(delay_ms);
        if now_ms < ends_at {
            return Err(ends_at.saturating_sub(now_ms));
        }
        let is_forgotten = now_ms >= ends_at.saturating_add(FORGOTTEN_AFTER_MS);
        let count = if is_forgotten { 0 } else { self.count };
        Ok(Self {
            count: count.saturating_add(1),
            last_ms: now_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: EpochMillis = 1_000_000_000;

    fn user(name: &str) -> Urn {
        Urn::new("corpuser", name).unwrap()
    }

    fn attempt(user: &Urn, address: u8) -> Attempt<'_> {
        Attempt {
            user: Some(user),
            address: Some(IpAddr::from([10, 0, 0, address])),
            device: None,
        }
    }

    #[test]
    fn after_five_failures_the_delay_doubles_up_to_a_quarter_of_an_hour() {
        let throttle = Throttle::default();
        let ada = user("ada");
        let mut now_ms = NOW_MS;
        let mut delays = Vec::new();
        for _ in 0..18 {
            let admitted = throttle.admit(&attempt(&ada, 1), now_ms);
            if let Err(wait_ms) = admitted {
                delays.push(wait_ms / 1000);
                now_ms += wait_ms - 1;
                throttle.admit(&attempt(&ada, 1), now_ms).unwrap_err();
                now_ms += 1;
                throttle.admit(&attempt(&ada, 1), now_ms).unwrap();
            }
        }
        let expected = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900];
        assert_eq!(delays, expected);
        let forgotten_ms = now_ms + MAX_DELAY_MS + FORGOTTEN_AFTER_MS;
        for _ in 0..FREE_FAILURES {
            throttle.admit(&attempt(&ada, 1), forgotten_ms).unwrap();
        }
        throttle.admit(&attempt(&ada, 1), forgotten_ms).unwrap_err();
    }

    #[test]
    fn failures_delay_neither_other_addresses_nor_other_users_nor_known_devices() {
        let throttle = Throttle::default();
        let (ada, grace) = (user("ada"), user("grace"));
        while throttle.admit(&attempt(&ada, 1), NOW_MS).is_ok() {}
        throttle.admit(&attempt(&ada, 2), NOW_MS).unwrap();
        throttle.admit(&attempt(&grace, 1), NOW_MS).unwrap();
        let known = Attempt {
            device: Some("1f"),
            ..attempt(&ada, 1)
        };
        for _ in 0..FREE_DEVICE_FAILURES {
            throttle.admit(&known, NOW_MS).unwrap();
        }
        // A stolen cookie does not allow endless guesses.
        throttle.admit(&known, NOW_MS).unwrap_err();
    }

    #[test]
    fn an_address_has_thirty_attempts_for_all_users_together() {
        let throttle = Throttle::default();
        let admit = |number: u8, address| {
            throttle.admit(&attempt(&user(&number.to_string()), address), NOW_MS)
        };
        for number in 0..30 {
            admit(number, 1).unwrap();
        }
        assert_eq!(admit(30, 1), Err(10_000));
        admit(30, 2).unwrap();
        let ada = user("ada");
        let known = Attempt {
            device: Some("1f"),
            ..attempt(&ada, 1)
        };
        throttle.admit(&known, NOW_MS).unwrap();
    }

    #[test]
    fn a_correct_password_costs_no_attempt_and_forgets_failures() {
        let throttle = Throttle::default();
        let ada = user("ada");
        for _ in 0..20 {
            for _ in 0..FREE_FAILURES {
                throttle.admit(&attempt(&ada, 1), NOW_MS).unwrap();
                throttle.addresses.give_back(&attempt(&ada, 1).network());
            }
            throttle.succeeded(&attempt(&ada, 1));
        }
        let grace = user("grace");
        for _ in 0..100 {
            throttle.admit(&attempt(&grace, 1), NOW_MS).unwrap();
            throttle.succeeded(&attempt(&grace, 1));
        }
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out_for_longer() {
        let throttle = Throttle::default();
        let ada = user("ada");
        for _ in 0..=FREE_FAILURES {
            let _ = throttle.admit(&attempt(&ada, 1), NOW_MS);
        }
        assert_eq!(throttle.admit(&attempt(&ada, 1), 1_000), Err(1_000));
    }
}
