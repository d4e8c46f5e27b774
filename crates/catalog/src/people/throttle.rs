//! Rate limits for password attempts.
//!
//! Each user and each address has a number of attempts, which come back one by one. Both are
//! counted in tables of a fixed size, where several may share a slot. A key of this process chooses
//! the slots, so nobody can aim at the slot of another. Each server counts on its own.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use docent_model::{EpochMillis, Urn};

const SLOTS: usize = 16 * 1024;

/// The burst size, and the time after which one attempt comes back.
#[derive(Debug, Clone, Copy)]
struct Limit {
    attempts: i64,
    comes_back_ms: EpochMillis,
}

/// More than any user mistypes a password.
const PER_USER: Limit = Limit {
    attempts: 10,
    comes_back_ms: 30_000,
};
/// An office may share an address.
const PER_ADDRESS: Limit = Limit {
    attempts: 30,
    comes_back_ms: 10_000,
};

#[derive(Debug, Default)]
pub(crate) struct Throttle {
    users: Table,
    addresses: Table,
}

/// An admitted attempt; a correct password gives it back.
#[derive(Debug)]
pub(crate) struct Attempt {
    user: usize,
    address: usize,
}

impl Throttle {
    /// Takes one attempt, or returns in how many milliseconds there is one.
    pub(crate) fn take(
        &self,
        user: Option<&Urn>,
        address: Option<IpAddr>,
        now_ms: EpochMillis,
    ) -> Result<Attempt, EpochMillis> {
        let attempt = Attempt {
            user: self.users.slot(&user),
            address: self.addresses.slot(&address.map(network)),
        };
        let (mut users, mut addresses) = (self.users.lock(), self.addresses.lock());
        let user = PER_USER.next(users[attempt.user], now_ms);
        let address = PER_ADDRESS.next(addresses[attempt.address], now_ms);
        match (user, address) {
            (Ok(user), Ok(address)) => {
                users[attempt.user] = user;
                addresses[attempt.address] = address;
                Ok(attempt)
            }
            (user, address) => {
                let wait_ms = |next: Result<_, _>| next.err().unwrap_or(0);
                Err(wait_ms(user).max(wait_ms(address)))
            }
        }
    }

    pub(crate) fn give_back(&self, attempt: &Attempt) {
        self.users.lock()[attempt.user] -= PER_USER.comes_back_ms;
        self.addresses.lock()[attempt.address] -= PER_ADDRESS.comes_back_ms;
    }
}

/// The owner of an IPv6 address has a whole network of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

impl Limit {
    /// A slot holds the time at which all attempts are back. Each attempt moves it on, up to a
    /// limit.
    fn next(self, back_at: EpochMillis, now_ms: EpochMillis) -> Result<EpochMillis, EpochMillis> {
        let last = now_ms.saturating_add(self.attempts * self.comes_back_ms);
        // A clock that was set back must not block anyone for longer.
        let next = back_at.clamp(now_ms, last) + self.comes_back_ms;
        if next > last {
            Err(next - last)
        } else {
            Ok(next)
        }
    }
}

#[derive(Debug)]
struct Table {
    slots: Mutex<Vec<EpochMillis>>,
    key: RandomState,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            slots: Mutex::new(vec![0; SLOTS]),
            key: RandomState::new(),
        }
    }
}

impl Table {
    fn slot(&self, name: &impl Hash) -> usize {
        let slot = self.key.hash_one(name) % SLOTS as u64;
        usize::try_from(slot).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EpochMillis>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Urn {
        Urn::new("corpuser", name).unwrap()
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    #[test]
    fn a_user_has_ten_attempts_and_one_more_each_half_minute() {
        let throttle = Throttle::default();
        let ada = user("ada");
        let take = |number, now_ms| throttle.take(Some(&ada), Some(address(number)), now_ms);
        for number in 0..10 {
            assert!(take(number, 1_000_000).is_ok(), "{number}");
        }
        assert_eq!(take(10, 1_000_000).unwrap_err(), 30_000);
        assert_eq!(take(10, 1_020_000).unwrap_err(), 10_000);
        assert!(take(10, 1_030_000).is_ok());
        assert!(take(10, 1_030_000).is_err());
        // Rejected attempts do not count.
        assert!(take(10, 1_060_000).is_ok());
    }

    #[test]
    fn an_address_has_thirty_attempts_whomever_it_names() {
        let throttle = Throttle::default();
        let take =
            |number: u8| throttle.take(Some(&user(&number.to_string())), Some(address(1)), 0);
        for number in 0..30 {
            assert!(take(number).is_ok(), "{number}");
        }
        assert_eq!(take(30).unwrap_err(), 10_000);
        assert!(
            throttle
                .take(Some(&user("30")), Some(address(2)), 0)
                .is_ok()
        );
    }

    #[test]
    fn a_right_password_costs_no_attempt() {
        let throttle = Throttle::default();
        for _ in 0..100 {
            let attempt = throttle
                .take(Some(&user("ada")), Some(address(1)), 5)
                .unwrap();
            throttle.give_back(&attempt);
        }
    }

    #[test]
    fn a_clock_that_is_set_back_locks_nobody_out_for_longer() {
        let throttle = Throttle::default();
        for _ in 0..10 {
            let _ = throttle.take(Some(&user("ada")), None, 1_000_000_000);
        }
        let wait_ms = throttle.take(Some(&user("ada")), None, 1_000).unwrap_err();
        assert_eq!(wait_ms, 30_000);
    }

    #[test]
    fn neighbours_in_a_network_of_version_6_are_one_address() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:1"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_eq!(parse("::ffff:10.0.0.1"), parse("10.0.0.1"));
    }
}
