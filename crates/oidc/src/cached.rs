//! A document of a provider that is fetched again when it is old, or does not suffice.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use docent_model::EpochMillis;
use tokio::sync::OwnedMutexGuard;

use crate::OidcError;

/// Providers change their documents a few times a year.
const FRESH_MS: EpochMillis = 60 * 60 * 1000;
/// How long an old document is used while the provider cannot be reached.
const USABLE_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// The shortest time between two attempts: tokens with invented keys must not cause more.
const ATTEMPT_MS: EpochMillis = 10_000;
/// How long a caller waits for a newer document than one that suffices. A provider that does not
/// answer takes ten seconds.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Clones share the document.
#[derive(Debug)]
pub(crate) struct Cached<T>(Arc<Shared<T>>);

#[derive(Debug)]
struct Shared<T> {
    state: RwLock<State<T>>,
    refresh: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct State<T> {
    value: Option<(Arc<T>, EpochMillis)>,
    attempted_ms: Option<EpochMillis>,
}

impl<T> Clone for Cached<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Arc::new(Shared {
            state: RwLock::new(State {
                value: None,
                attempted_ms: None,
            }),
            refresh: Arc::default(),
        }))
    }
}

impl<T: Send + Sync + 'static> Cached<T> {
    /// The document. Fetches it if it is old or not `sufficient`; if that is not possible now, the
    /// last one is returned while it is usable. A caller for whom it suffices waits for a moment
    /// only, and not at all for the fetch of another caller.
    pub(crate) async fn get<F>(
        &self,
        now_ms: EpochMillis,
        is_sufficient: impl Fn(&T) -> bool,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<T>, OidcError>
    where
        F: Future<Output = Result<T, OidcError>> + Send + 'static,
    {
        let Self(shared) = self;
        let current = || {
            let current = shared.younger_than(FRESH_MS, now_ms);
            current.filter(|value| is_sufficient(value))
        };
        if let Some(value) = current() {
            return Ok(value);
        }
        let old = shared.younger_than(USABLE_MS, now_ms);
        if let Some(old) = old.filter(|value| is_sufficient(value)) {
            let Ok(turn) = Arc::clone(&shared.refresh).try_lock_owned() else {
                return Ok(old);
            };
            if !shared.begin_attempt(now_ms) {
                return Ok(old);
            }
            let fetched = tokio::spawn(Arc::clone(shared).fetch(now_ms, fetch(), turn));
            return match tokio::time::timeout(MAX_WAIT, fetched).await {
                Ok(Ok(fetched)) => fetched,
                _ => Ok(old),
            };
        }
        let turn = Arc::clone(&shared.refresh).lock_owned().await;
        if let Some(value) = current() {
            return Ok(value);
        }
        if !shared.begin_attempt(now_ms) {
            return shared.younger_than(USABLE_MS, now_ms).ok_or_else(|| {
                OidcError::Provider("the provider could not be reached a moment ago".to_owned())
            });
        }
        Arc::clone(shared).fetch(now_ms, fetch(), turn).await
    }
}

impl<T> Shared<T> {
    /// Fetches the document, one caller at a time. If that fails, returns the last one while it is
    /// usable.
    async fn fetch(
        self: Arc<Self>,
        now_ms: EpochMillis,
        fetch: impl Future<Output = Result<T, OidcError>>,
        _turn: OwnedMutexGuard<()>,
    ) -> Result<Arc<T>, OidcError> {
        match fetch.await {
            Ok(value) => {
                let value = Arc::new(value);
                let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
                state.value = Some((Arc::clone(&value), now_ms));
                Ok(value)
            }
            Err(error) => {
                let usable = self.younger_than(USABLE_MS, now_ms);
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
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

    use super::*;

    #[tokio::test]
    async fn documents_are_fetched_when_they_are_old_or_do_not_suffice_at_a_bounded_rate() {
        let cached = Cached::default();
        let (fetches, is_up) = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicBool::new(true)));
        let get = async |now_ms: i64, at_least: i32| {
            let fetch = || {
                let (fetches, is_up) = (Arc::clone(&fetches), Arc::clone(&is_up));
                async move {
                    let number = fetches.fetch_add(1, Ordering::SeqCst) + 1;
                    if is_up.load(Ordering::SeqCst) {
                        Ok(number)
                    } else {
                        Err(OidcError::Provider("down".to_owned()))
                    }
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
        is_up.store(false, Ordering::SeqCst);
        let last = at + ATTEMPT_MS;
        assert_eq!(get(last + FRESH_MS, 0).await, Some(4));
        assert_eq!(get(last + USABLE_MS - 1, 0).await, Some(4));
        assert_eq!(get(last + USABLE_MS + ATTEMPT_MS, 0).await, None);
        assert_eq!(get(last + USABLE_MS + ATTEMPT_MS + 1, 0).await, None);
        is_up.store(true, Ordering::SeqCst);
        assert_eq!(get(last + USABLE_MS + 3 * ATTEMPT_MS, 0).await, Some(8));
    }

    /// Bounds every wait: the provider in this test never answers.
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_provider_that_hangs_delays_nobody_for_whom_the_old_document_suffices() {
        let cached = Cached::default();
        let first = cached.get(0, |_| true, || async { Ok(1) }).await;
        assert_eq!(*first.unwrap(), 1);
        let hanging = std::future::pending::<Result<i32, OidcError>>;
        let get = |now_ms| cached.get(now_ms, |_| true, hanging);
        for now_ms in [FRESH_MS, FRESH_MS + ATTEMPT_MS] {
            let old = tokio::time::timeout(LONG, get(now_ms)).await;
            assert_eq!(*old.expect("the caller waits").unwrap(), 1);
        }
        // Another caller has begun to fetch a document with an unknown key.
        let unknown = cached.clone();
        let unknown = tokio::spawn(async move {
            let found = unknown.get(FRESH_MS, |value| *value > 1, hanging).await;
            found.map(|value| *value)
        });
        tokio::task::yield_now().await;
        let old = tokio::time::timeout(LONG, get(FRESH_MS + 2 * ATTEMPT_MS)).await;
        assert_eq!(*old.expect("the caller waits").unwrap(), 1);
        unknown.abort();
    }
}
