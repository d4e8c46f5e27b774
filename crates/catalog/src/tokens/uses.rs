//! When tokens were used last.
//!
//! People revoke what nobody uses, so a use is worth noting; but not worth a write for each request. A use is noted
//! when the one before is a minute old, in memory, and [`Catalog::store_token_uses`] puts what has come
//! together into the store now and then. It stands in what the server notes beside the token (its system
//! metadata), which makes no version and no entry in the log, and goes with the token. A crash loses a minute of it, and
//! a store that cannot be written to loses nothing else.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use docent_model::{AspectName, EpochMillis, Urn, hex};
use docent_store::{StoredAspect, version};

use super::{KnownToken, token_urn};
use crate::proposal::{Change, Proposal};
use crate::{Caller, Catalog, Error};

/// How much later a use must be to be noted, too.
const PRECISION_MS: EpochMillis = 60_000;
/// How many uses wait for the store; those of more tokens are noted later.
const MAX_WAITING: usize = 4096;
/// The property of a token's system metadata.
const PROPERTY: &str = "lastUsed";

/// Uses that are not stored yet, by the ids of the tokens.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    waiting: Mutex<HashMap<String, EpochMillis>>,
    /// Whether the store refused them the last time: that is said once.
    refused: AtomicBool,
}

impl Uses {
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, EpochMillis>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: String, time_ms: EpochMillis) {
        let mut waiting = self.waiting();
        if waiting.len() < MAX_WAITING || waiting.contains_key(&id) {
            waiting.insert(id, time_ms);
        }
    }
}

/// When the use of a token was noted last; the same one for all who hold it.
#[derive(Debug, Default)]
pub(crate) struct Noted(AtomicI64);

impl Noted {
    pub(super) fn at(time_ms: Option<EpochMillis>) -> Self {
        Self(AtomicI64::new(time_ms.unwrap_or(EpochMillis::MIN)))
    }

    /// Whether a use at this time is to be noted; the first who asks does it.
    fn take(&self, now_ms: EpochMillis) -> bool {
        let noted = self.0.load(Ordering::Relaxed);
        now_ms.saturating_sub(noted) >= PRECISION_MS
            && self
                .0
                .compare_exchange(noted, now_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}

impl Catalog {
    /// Notes that a token is being used.
    pub(super) fn note_use(&self, hash: &[u8; 32], token: &KnownToken) {
        let now_ms = self.now_ms();
        if token.noted.take(now_ms) {
            self.inner.uses.add(hex(hash), now_ms);
        }
    }

    /// When a token was last used, to the minute: what its row says, or what is known here and not stored yet.
    pub fn token_last_used(&self, urn: &Urn, row: &StoredAspect) -> Option<EpochMillis> {
        let noted = version::system_metadata_of(row);
        let stored = noted
            .properties
            .and_then(|properties| properties.get(PROPERTY)?.as_str()?.parse().ok());
        stored.max(self.inner.uses.waiting().get(urn.key()).copied())
    }

    /// Stores what has been noted since the last time, in one transaction. What cannot be stored waits for the next time.
    pub async fn store_token_uses(&self, caller: &Caller) {
        let uses = self.inner.uses.waiting().clone();
        if uses.is_empty() {
            return;
        }
        let refused = &self.inner.uses.refused;
        match self.note_uses(caller, &uses).await {
            Ok(()) => {
                refused.store(false, Ordering::Relaxed);
                let mut waiting = self.inner.uses.waiting();
                waiting.retain(|id, time_ms| uses.get(id) != Some(time_ms));
            }
            Err(error) if !refused.swap(true, Ordering::Relaxed) => tracing::warn!(
                %error,
                "when tokens were last used could not be stored ({error}); it is tried again, and nothing else depends on it"
            ),
            Err(error) => tracing::debug!(%error, "uses of tokens could still not be stored"),
        }
    }

    async fn note_uses(
        &self,
        caller: &Caller,
        uses: &HashMap<String, EpochMillis>,
    ) -> Result<(), Error> {
        let note = |(id, time_ms): (&String, &EpochMillis)| {
            let change = Change::Note {
                aspect: AspectName::ACCESS_TOKEN_INFO,
                property: PROPERTY,
                value: time_ms.to_string(),
            };
            Ok(Proposal::new(token_urn(id)?, change))
        };
        let notes = uses.iter().map(note).collect::<Result<_, Error>>()?;
        self.apply(caller, notes).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute() {
        let noted = Noted::at(None);
        assert!(noted.take(1_000_000));
        assert!(!noted.take(1_000_001));
        assert!(!noted.take(1_059_999));
        assert!(noted.take(1_060_000));
        assert!(!Noted::at(Some(1_000_000)).take(1_000_001));
    }

    #[test]
    fn no_more_uses_wait_than_there_is_room_for() {
        let uses = Uses::default();
        for number in 0..MAX_WAITING {
            uses.add(number.to_string(), 1);
        }
        uses.add("one more".to_owned(), 2);
        uses.add("0".to_owned(), 2);
        let waiting = uses.waiting();
        assert_eq!(waiting.len(), MAX_WAITING);
        assert_eq!(waiting.get("0"), Some(&2));
    }
}
