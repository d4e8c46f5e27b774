//! The index in use: made when it is missing, fed when it is behind, replaced when it is damaged.
//!
//! A search that finds changes feeds the index itself, and everybody who waits for the same takes what it made; a
//! [`Keeper`] feeds it beside them, so that not much is ever left to a search.

mod keeper;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use docent_store::{CommitStamp, Store};
use tantivy::{Index, IndexReader, Searcher, TantivyError};
use tokio::sync::Mutex;

use crate::error::SearchError;
use crate::feed::{self, Amount, blocking};
use crate::index::{self, Location, OpenIndex};
use crate::kept::Kept;
use crate::schema::Fields;

pub use keeper::Keeper;

/// When the files of a large index are compared with their checksums: whoever searches first should not wait for that.
const CHECK_DELAY: Duration = Duration::from_secs(1);
/// How long a search waits for an index that is being built; a small one is ready by then.
const BUILD_PATIENCE: Duration = Duration::from_secs(2);
/// How long a search waits for what was written to be taken in.
const FEED_PATIENCE: Duration = Duration::from_secs(10);
/// All files are read to find out whether an index is damaged, so that is done once in such a time.
const DOUBT_PAUSE: Duration = Duration::from_mins(1);
/// What an index holds that was not opened yet.
const UNKNOWN: i64 = -1;

/// Cloning it is cheap and gives the same index.
#[derive(Debug, Clone)]
pub(crate) struct Live(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    fields: Fields,
    location: Location,
    /// What searches read; `None` until there is an index.
    current: RwLock<Option<Current>>,
    /// Who holds it feeds the index. `None` until it was opened, and after damage.
    feeding: Mutex<Option<OpenIndex>>,
    /// How often feeding has begun.
    feeds: AtomicU64,
    /// Up to which position of the log the index has come.
    held: AtomicI64,
    /// Whether an index is being built, and how many entities it has.
    building: AtomicBool,
    built: AtomicU64,
    /// Which index was checked because a search failed, and when.
    doubted: std::sync::Mutex<Option<(u64, Instant)>>,
    /// What searches remember of the index.
    kept: std::sync::Mutex<Kept>,
}

#[derive(Clone)]
struct Current {
    reader: IndexReader,
    /// Nothing had been committed after this stamp that the reader does not have.
    stamp: CommitStamp,
    /// Which feeding made it.
    feed: u64,
    /// Which index it is of.
    serial: u64,
}

/// What a search reads from.
pub(crate) struct Moment {
    pub(crate) searcher: Searcher,
    pub(crate) serial: u64,
}

impl Current {
    fn moment(&self) -> Moment {
        Moment {
            searcher: self.reader.searcher(),
            serial: self.serial,
        }
    }
}

impl std::fmt::Debug for Current {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Current")
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

impl Live {
    pub(crate) fn new(store: Arc<dyn Store>, location: Location) -> Self {
        Self(Arc::new(Inner {
            store,
            fields: Fields::new(),
            location,
            current: RwLock::new(None),
            feeding: Mutex::new(None),
            feeds: AtomicU64::new(0),
            held: AtomicI64::new(UNKNOWN),
            building: AtomicBool::new(false),
            built: AtomicU64::new(0),
            doubted: std::sync::Mutex::default(),
            kept: std::sync::Mutex::default(),
        }))
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.0.fields
    }

    /// For one search.
    pub(crate) fn kept(&self) -> Kept {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_full() {
            *kept = Kept::default();
        }
        kept.clone()
    }

    /// Whether there is no index of our format on the disk.
    pub(crate) fn is_missing(&self) -> bool {
        self.0.location.is_empty()
    }

    /// Everything that is committed now.
    pub(crate) async fn moment(&self) -> Result<Moment, SearchError> {
        let inner = &*self.0;
        let arrived = inner.feeds.load(Ordering::SeqCst);
        let stamp = inner.store.commit_stamp_exact().await?;
        if let Some(current) = self.current()
            && current.stamp == stamp
        {
            return Ok(current.moment());
        }
        // Whoever asked may go away; the work is for everybody.
        let live = self.clone();
        let mut feeding = tokio::spawn(async move { live.bring_up(arrived).await });
        let began = Instant::now();
        let held = inner.held.load(Ordering::Relaxed).max(0);
        loop {
            let waited = tokio::time::timeout(BUILD_PATIENCE, &mut feeding).await;
            if let Ok(fed) = waited {
                return fed.map_err(|error| TantivyError::InternalError(error.to_string()))?;
            }
            if inner.building.load(Ordering::Relaxed) {
                return Err(SearchError::Building {
                    done: inner.built.load(Ordering::Relaxed),
                });
            }
            if began.elapsed() >= FEED_PATIENCE {
                return Err(self.progress_since(held).await?);
            }
        }
    }

    /// How far the index has come from a position to the end of the log.
    async fn progress_since(&self, start: i64) -> Result<SearchError, SearchError> {
        let newest = feed::tail(&*self.0.store).await?.position.get();
        let held = self.0.held.load(Ordering::Relaxed);
        Ok(SearchError::Behind {
            done: held.saturating_sub(start).try_into().unwrap_or_default(),
            of: newest.saturating_sub(start).try_into().unwrap_or_default(),
        })
    }

    /// How many changes the index does not have yet.
    pub(crate) async fn behind(&self) -> Result<u64, SearchError> {
        let inner = &*self.0;
        let newest = feed::tail(&*inner.store).await?.position.get();
        let held = match inner.held.load(Ordering::Relaxed) {
            UNKNOWN => {
                let location = inner.location.clone();
                let holds = blocking(move || Ok(location.holds())).await?;
                holds.map_or(0, |holds| holds.position.get())
            }
            held => held,
        };
        Ok(newest.saturating_sub(held).try_into().unwrap_or_default())
    }

    /// Opens or builds the index if that has not happened, and takes in what was committed before feeding had begun
    /// `arrived` times. Of many who wait for that one feeds the index, and the others take what it made.
    async fn bring_up(&self, arrived: u64) -> Result<Moment, SearchError> {
        let inner = &*self.0;
        let mut feeding = inner.feeding.lock().await;
        if let Some(current) = self.current()
            && current.feed > arrived
        {
            return Ok(current.moment());
        }
        let feed = inner.feeds.fetch_add(1, Ordering::SeqCst) + 1;
        let stamp = inner.store.commit_stamp_exact().await?;
        let (reader, serial) = self.feed(&mut feeding, Amount::All).await?;
        let current = Current {
            reader,
            stamp,
            feed,
            serial,
        };
        let moment = current.moment();
        self.replace(Some(current));
        Ok(moment)
    }

    /// Takes some in, for searches to come.
    async fn take_some(&self, entities: usize) -> Result<(), SearchError> {
        let mut feeding = self.0.feeding.lock().await;
        self.feed(&mut feeding, Amount::Entities(entities)).await?;
        Ok(())
    }

    /// Takes in as much as is wanted; answers how to read the index, and which it is. One that takes nothing in is opened or
    /// built anew. When the store fails, the index stays as it is.
    async fn feed(
        &self,
        feeding: &mut Option<OpenIndex>,
        amount: Amount,
    ) -> Result<(IndexReader, u64), SearchError> {
        if let Some(open) = feeding {
            match self.catch_up(open, amount).await {
                Err(SearchError::Index(error)) => {
                    tracing::error!(%error, "the search index takes nothing in and is opened anew");
                    *feeding = None;
                }
                fed => return fed.map(|()| (open.reader.clone(), open.serial)),
            }
        }
        let mut open = self.open().await?;
        let mut fed = self.catch_up(&mut open, amount).await;
        if let Err(SearchError::Index(error)) = &fed
            && !is_of_the_disk(error)
        {
            tracing::error!(%error, "the search index takes nothing in and is built anew");
            drop(open);
            self.forget().await?;
            open = self.open().await?;
            fed = self.catch_up(&mut open, amount).await;
        }
        let readable = (open.reader.clone(), open.serial);
        if !matches!(fed, Err(SearchError::Index(_))) {
            *feeding = Some(open);
        }
        fed.map(|()| readable)
    }

    async fn catch_up(&self, open: &mut OpenIndex, amount: Amount) -> Result<(), SearchError> {
        let inner = &*self.0;
        feed::catch_up(&*inner.store, open, &inner.fields, amount, &inner.held).await
    }

    async fn open(&self) -> Result<OpenIndex, SearchError> {
        let inner = &*self.0;
        inner.built.store(0, Ordering::Relaxed);
        let (location, fields) = (inner.location.clone(), inner.fields.clone());
        let existing = blocking(move || Ok(location.open(&fields))).await?;
        if let Some(open) = existing {
            if feed::is_of_log(&*inner.store, &open.holds).await? {
                if !open.checked {
                    self.check_later(&open);
                }
                inner
                    .held
                    .store(open.holds.position.get(), Ordering::Relaxed);
                return Ok(open);
            }
            tracing::warn!(
                "the search index is of another store, or ahead of it, and is built anew"
            );
        }
        let started = Instant::now();
        let building = Building::begin(&inner.building);
        let open = feed::build(&*inner.store, &inner.location, &inner.fields, &inner.built).await?;
        drop(building);
        inner
            .held
            .store(open.holds.position.get(), Ordering::Relaxed);
        let entities = inner.built.load(Ordering::Relaxed);
        tracing::info!(entities, elapsed = ?started.elapsed(), "the search index is built");
        Ok(open)
    }

    /// Compares the files with their checksums while the index serves, and gives it up if one is damaged.
    fn check_later(&self, open: &OpenIndex) {
        // A check that takes long must not keep a store open that everybody else is done with.
        let (live, index, serial) = (Arc::downgrade(&self.0), open.index.clone(), open.serial);
        tokio::spawn(async move {
            tokio::time::sleep(CHECK_DELAY).await;
            if let Err(error) = blocking(move || index::check(&index)).await
                && let Some(inner) = live.upgrade()
            {
                Self(inner).discard(serial, &error).await;
            }
        });
    }

    /// Gives up an index that made a search fail, if its files turn out to be damaged: the next search builds another.
    pub(crate) async fn doubt(&self, index: Index, serial: u64) {
        if !self.is_worth_a_check(serial, Instant::now()) {
            return;
        }
        if let Err(error) = blocking(move || index::check(&index)).await {
            self.discard(serial, &error).await;
        }
    }

    /// Whether an index was not checked a moment ago. What makes searches fail then is something else.
    fn is_worth_a_check(&self, serial: u64, now: Instant) -> bool {
        let mut doubted = self
            .0
            .doubted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if doubted.is_some_and(|(known, at)| known == serial && now < at + DOUBT_PAUSE) {
            return false;
        }
        *doubted = Some((serial, now));
        true
    }

    async fn discard(&self, serial: u64, error: &SearchError) {
        let mut feeding = self.0.feeding.lock().await;
        // Another one may have taken its place meanwhile.
        if feeding.as_ref().is_none_or(|open| open.serial != serial) {
            return;
        }
        tracing::error!(%error, "the search index is damaged and is built anew");
        *feeding = None;
        if let Err(error) = self.forget().await {
            tracing::error!(%error, "a damaged search index could not be removed");
        }
    }

    async fn forget(&self) -> Result<(), SearchError> {
        self.replace(None);
        let location = self.0.location.clone();
        blocking(move || location.discard()).await
    }

    fn replace(&self, current: Option<Current>) {
        *self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = current;
    }

    fn current(&self) -> Option<Current> {
        self.0
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Says that an index is being built as long as it is, however that ends.
struct Building<'b>(&'b AtomicBool);

impl<'b> Building<'b> {
    fn begin(flag: &'b AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Whether another index would fare no better.
fn is_of_the_disk(error: &TantivyError) -> bool {
    matches!(
        error,
        TantivyError::IoError(_)
            | TantivyError::OpenWriteError(_)
            | TantivyError::LockFailure(..)
            | TantivyError::SystemError(_)
    )
}

#[cfg(test)]
mod tests {
    use docent_test_store::TestStore;

    use super::*;

    #[tokio::test]
    async fn many_who_wait_for_the_same_changes_have_them_taken_in_once() {
        let place = TestStore::open().await.unwrap();
        let live = Live::new(place.store(), Location::Memory);
        let mut searches = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let live = live.clone();
            searches.spawn(async move { live.moment().await.map(drop) });
        }
        while let Some(ended) = searches.join_next().await {
            ended.unwrap().unwrap();
        }
        assert_eq!(live.0.feeds.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_index_that_makes_searches_fail_is_checked_once_in_a_while() {
        let place = TestStore::open().await.unwrap();
        let live = Live::new(place.store(), Location::Memory);
        let now = Instant::now();
        assert!(live.is_worth_a_check(1, now));
        assert!(!live.is_worth_a_check(1, now));
        assert!(!live.is_worth_a_check(1, now + DOUBT_PAUSE / 2));
        assert!(live.is_worth_a_check(2, now), "another index");
        assert!(live.is_worth_a_check(2, now + DOUBT_PAUSE));
    }
}
