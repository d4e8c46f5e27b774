//! A document of a provider that is fetched again when it is old, or does not suffice.

use std::sync::{Arc, PoisonError, RwLock};

use docent_model::EpochMillis;

use crate::OidcError;

/// Providers change their documents a few times a year.
const FRESH_MS: EpochMillis = 60 * 60 * 1000;
/// How long an old document is used while the provider cannot be reached.
const USABLE_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// The shortest time between two attempts: tokens with invented keys must not cause more.
const ATTEMPT_MS: EpochMillis = 10_000;

#[derive(Debug)]
pub(crate) struct Cached<T> {
    state: RwLock<State<T>>,
    refresh: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<(Arc<T>, EpochMillis)>,
    attempted_ms: Option<EpochMillis>,
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self {
            state: RwLock::new(State {
                value: None,
                attempted_ms: None,
            }),
            refresh: tokio::sync::Mutex::default(),
        }
    }
}

impl<T> Cached<T> {
    /// The document. Fetches it if it is old or not `sufficient`; if that is not possible now, the
    /// last one is returned while it is usable.
    pub(crate) async fn get(
        &self,
        now_ms: EpochMillis,
        is_sufficient: impl Fn(&T) -> bool,
        fetch: impl Future<Output = Result<T, OidcError>>,
    ) -> Result<Arc<T>, OidcError> {
        let current = || self.younger_than(FRESH_MS, now_ms);
        if let Some(value) = current().filter(|value| is_sufficient(value)) {
            return Ok(value);
        }
        let _one_at_a_time = self.refresh.lock().await;
        if let Some(value) = current().filter(|value| is_sufficient(value)) {
            return Ok(value);
        }
        let usable = self.younger_than(USABLE_MS, now_ms);
        if !self.begin_attempt(now_ms) {
            return usable.ok_or_else(|| {
                OidcError::Provider("the provider could not be reached a moment ago".to_owned())
            });
        }
        match fetch.await {
            Ok(value) => {
                let value = Arc::new(value);
                let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
                state.value = Some((Arc::clone(&value), now_ms));
                Ok(value)
            }
            Err(error) => {
                if usable.is_some() {
                    tracing::warn!("{error}; what it sent before is used");
                }
                usable.ok_or(error)
            }
        }
    }

    fn younger_than(&self, age_ms: EpochMillis, now_ms: EpochMillis) -> Option<Arc<T>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let (value, fetched_ms) = state.value.as_ref()?;
        (now_ms.saturating_sub(*fetched_ms) < age_ms).then(|| Arc::clone(value))
    }

    /// Whether enough time has passed since the last attempt.
    fn begin_attempt(&self, now_ms: EpochMillis) -> bool {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back must not block attempts for longer.
        let is_due = state
            .attempted_ms
            .is_none_or(|last| !(0..ATTEMPT_MS).contains(&(now_ms - last)));
        if is_due {
            state.attempted_ms = Some(now_ms);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn documents_are_fetched_when_they_are_old_or_do_not_suffice_at_a_bounded_rate() {
        let cached = Cached::default();
        let (fetches, is_up) = (Cell::new(0), Cell::new(true));
        let get = async |now_ms: i64, at_least: i32| {
            let fetch = async {
                fetches.set(fetches.get() + 1);
                if is_up.get() {
                    Ok(fetches.get())
                } else {
                    Err(OidcError::Provider("down".to_owned()))
                }
            };
            let value = cached.get(now_ms, |value| *value >= at_least, fetch).await;
            value.ok().map(|value| *value)
        };
        assert_eq!(get(0, 0).await, Some(1));
        assert_eq!(get(FRESH_MS - 1, 0).await, Some(1));
        assert_eq!(get(FRESH_MS, 0).await, Some(2));
        // An unknown key: once per interval.
        let at = FRESH_MS + ATTEMPT_MS;
        assert_eq!(get(at, 9).await, Some(3));
        assert_eq!(get(at + 1, 9).await, Some(3));
        assert_eq!(get(at + ATTEMPT_MS - 1, 9).await, Some(3));
        assert_eq!(get(at + ATTEMPT_MS, 9).await, Some(4));
        // An outage: the old one for a day.
        is_up.set(false);
        let last = at + ATTEMPT_MS;
        assert_eq!(get(last + FRESH_MS, 0).await, Some(4));
        assert_eq!(get(last + USABLE_MS - 1, 0).await, Some(4));
        assert_eq!(get(last + USABLE_MS + ATTEMPT_MS, 0).await, None);
        assert_eq!(get(last + USABLE_MS + ATTEMPT_MS + 1, 0).await, None);
        is_up.set(true);
        assert_eq!(get(last + USABLE_MS + 3 * ATTEMPT_MS, 0).await, Some(8));
    }
}
