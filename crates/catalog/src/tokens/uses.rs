//! When tokens and sessions were last used.
//!
//! Users revoke unused tokens, and idle sessions end, so a use is worth recording, but not worth a
//! write per request. A use is recorded in memory once a minute, and
//! [`Catalog::store_token_uses`] writes the recorded uses now and then. They are in the system
//! metadata, which makes no version and no log entry. A crash loses a minute; a read-only store
//! loses nothing else.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::StoredAspect;

use super::{ENTITY, KnownSecret};
use crate::proposal::{Change, Proposal};
use crate::stored::time_property;
use crate::{Caller, Catalog, Error};

/// The resolution of recorded uses.
const PRECISION_MS: EpochMillis = 60_000;
/// How many uses wait for the store; uses of further tokens are recorded later.
const MAX_WAITING: usize = 4096;
/// The property of a token's system metadata.
const PROPERTY: &str = "lastUsed";

/// Uses that are not stored yet, by the entity of the token or session.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    waiting: Mutex<HashMap<Urn, EpochMillis>>,
    /// Whether the last write failed, so that the log says it once.
    failed: AtomicBool,
}

impl Uses {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Urn, EpochMillis>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, urn: Urn, time_ms: EpochMillis) {
        let mut waiting = self.waiting();
        if waiting.len() < MAX_WAITING || waiting.contains_key(&urn) {
            waiting.insert(urn, time_ms);
        }
    }
}

/// When a use was last recorded, shared by all clones.
#[derive(Debug, Default)]
pub(crate) struct LastUse(AtomicI64);

impl LastUse {
    pub(super) fn at(time_ms: Option<EpochMillis>) -> Self {
        Self(AtomicI64::new(time_ms.unwrap_or(EpochMillis::MIN)))
    }

    pub(crate) fn time_ms(&self) -> EpochMillis {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether to record a use at this time; only the first of several callers gets `true`.
    fn take(&self, now_ms: EpochMillis) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        // A use in the future is from before the clock was set back.
        !(0..PRECISION_MS).contains(&now_ms.saturating_sub(last))
            && self
                .0
                .compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

impl Catalog {
    /// Records a use of a token or session.
    pub(crate) fn record_use(
        &self,
        secret: &KnownSecret,
        urn: impl FnOnce() -> Result<Urn, Error>,
    ) {
        let now_ms = self.now_ms();
        if secret.last_use.take(now_ms)
            && let Ok(urn) = urn()
        {
            self.inner.uses.add(urn, now_ms);
        }
    }

    /// When a token or session was last used, to the minute, including uses that are not stored
    /// yet.
    pub(crate) fn last_used(&self, urn: &Urn, row: &StoredAspect) -> Option<EpochMillis> {
        let stored = time_property(row, PROPERTY);
        stored.max(self.inner.uses.waiting().get(urn).copied())
    }

    /// Stores the recorded uses in one transaction. On failure they wait for the next call.
    pub async fn store_token_uses(&self, caller: &Caller) {
        let uses = self.inner.uses.waiting().clone();
        if uses.is_empty() {
            return;
        }
        let failed = &self.inner.uses.failed;
        match self.write_uses(caller, &uses).await {
            Ok(()) => {
                failed.store(false, Ordering::Relaxed);
                let mut waiting = self.inner.uses.waiting();
                waiting.retain(|urn, time_ms| uses.get(urn) != Some(time_ms));
            }
            Err(error) if !failed.swap(true, Ordering::Relaxed) => tracing::warn!(
                %error,
                "cannot store when tokens were last used ({error}); it is retried, and nothing else depends on it"
            ),
            Err(error) => tracing::debug!(%error, "still cannot store when tokens were last used"),
        }
    }

    async fn write_uses(
        &self,
        caller: &Caller,
        uses: &HashMap<Urn, EpochMillis>,
    ) -> Result<(), Error> {
        let write = |(urn, time_ms): (&Urn, &EpochMillis)| {
            let aspect = if urn.entity_type() == ENTITY {
                AspectName::ACCESS_TOKEN_INFO
            } else {
                AspectName::SESSION_INFO
            };
            let change = Change::SetSystemProperty {
                aspect,
                property: PROPERTY,
                value: time_ms.to_string(),
            };
            Proposal::new(urn.clone(), change)
        };
        let proposals = uses.iter().map(write).collect();
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute() {
        let last_use = LastUse::at(None);
        assert!(last_use.take(1_000_000));
        assert!(!last_use.take(1_000_001));
        assert!(!last_use.take(1_059_999));
        assert!(last_use.take(1_060_000));
        assert!(!LastUse::at(Some(1_000_000)).take(1_000_001));
    }

    #[test]
    fn no_more_uses_wait_than_there_is_room_for() {
        let uses = Uses::default();
        let token = |name: &str| Urn::new(ENTITY, name).unwrap();
        for number in 0..MAX_WAITING {
            uses.add(token(&number.to_string()), 1);
        }
        uses.add(token("one more"), 2);
        uses.add(token("0"), 2);
        let waiting = uses.waiting();
        assert_eq!(waiting.len(), MAX_WAITING);
        assert_eq!(waiting.get(&token("0")), Some(&2));
    }
}
