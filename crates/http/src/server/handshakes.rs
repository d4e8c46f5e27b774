//! Limits the TLS handshakes in progress: of all clients together, and of one address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Limits on handshakes. Further ones wait.
#[derive(Debug)]
pub(super) struct Handshakes {
    all: Semaphore,
    per_address: usize,
    by_address: Mutex<HashMap<IpAddr, AddressShare>>,
}

#[derive(Debug)]
struct AddressShare {
    free: Arc<Semaphore>,
    /// Handshakes in progress or waiting.
    users: usize,
}

/// A handshake in progress. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Handshake<'h> {
    _all: SemaphorePermit<'h>,
    _of_address: Option<(OwnedSemaphorePermit, ShareUser<'h>)>,
}

/// Removes the share of an address together with its last user.
#[derive(Debug)]
struct ShareUser<'h> {
    handshakes: &'h Handshakes,
    address: IpAddr,
}

impl Handshakes {
    pub(super) fn new(all: usize, per_address: usize) -> Self {
        Self {
            all: Semaphore::new(all),
            per_address,
            by_address: Mutex::default(),
        }
    }

    /// Waits until another handshake may begin; without an address, it counts in total only.
    /// Addresses wait for their own share first, so that one does not fill the queue of all.
    pub(super) async fn begin(&self, address: Option<IpAddr>) -> Option<Handshake<'_>> {
        let of_address = match address {
            Some(address) => {
                let (free, user) = self.share(address);
                Some((free.acquire_owned().await.ok()?, user))
            }
            None => None,
        };
        Some(Handshake {
            _all: self.all.acquire().await.ok()?,
            _of_address: of_address,
        })
    }

    fn share(&self, address: IpAddr) -> (Arc<Semaphore>, ShareUser<'_>) {
        let shares = self.by_address.lock();
        let mut shares = shares.unwrap_or_else(PoisonError::into_inner);
        let share = shares.entry(address).or_insert_with(|| AddressShare {
            free: Arc::new(Semaphore::new(self.per_address)),
            users: 0,
        });
        share.users += 1;
        let user = ShareUser {
            handshakes: self,
            address,
        };
        (Arc::clone(&share.free), user)
    }
}

impl Drop for ShareUser<'_> {
    fn drop(&mut self) {
        let shares = self.handshakes.by_address.lock();
        let mut shares = shares.unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut share) = shares.entry(self.address) {
            share.get_mut().users -= 1;
            if share.get().users == 0 {
                share.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn one_address_has_a_share_of_the_handshakes() {
        let handshakes = Handshakes::new(4, 2);
        let of = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
        let begin = |address| handshakes.begin(address).now_or_never().flatten();
        let first = begin(of(1)).unwrap();
        let _second = begin(of(1)).unwrap();
        let mut waiting = Box::pin(handshakes.begin(of(1)));
        assert!(waiting.as_mut().now_or_never().is_none());
        // The waiting one does not stand in the way of others.
        let other = begin(of(2)).unwrap();
        let _of_proxy = begin(None).unwrap();
        assert!(begin(of(3)).is_none(), "four are in progress");
        drop(first);
        let third = waiting.await.unwrap();
        drop((other, third));
        assert_eq!(handshakes.by_address.lock().unwrap().len(), 1);
    }
}
