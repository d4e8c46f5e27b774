//! The index in use: made when it is missing, fed when it is behind, replaced when it is damaged.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use docent_store::Store;
use tantivy::{Index, IndexReader, Searcher, TantivyError};
use tokio::sync::Mutex;

use crate::error::SearchError;
use crate::feed::{self, blocking};
use crate::index::{self, Location, OpenIndex};
use crate::kept::Kept;
use crate::schema::Fields;

/// How long a search waits for an index that is being built; a small one is ready by then.
const BUILD_PATIENCE: Duration = Duration::from_secs(2);

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
    /// Whether an index is being built, and how many entities it has.
    building: AtomicBool,
    built: AtomicU64,
    /// What searches remember of the index.
    kept: std::sync::Mutex<Kept>,
}

#[derive(Clone)]
struct Current {
    reader: IndexReader,
    /// Nothing had been committed after this stamp that the reader does not have.
    stamp: u64,
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
            building: AtomicBool::new(false),
            built: AtomicU64::new(0),
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
        loop {
            let waited = tokio::time::timeout(BUILD_PATIENCE, &mut feeding).await;
            if let Ok(fed) = waited {
                return fed.map_err(|error| TantivyError::InternalError(error.to_string()))?;
            }
            // An index that is there is behind only by what was written since.
            if inner.building.load(Ordering::Relaxed) {
                return Err(SearchError::Building {
                    done: inner.built.load(Ordering::Relaxed),
                });
            }
        }
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
        let open = match feeding.take() {
            Some(open) => open,
            None => self.open().await?,
        };
        let stamp = inner.store.commit_stamp_exact().await?;
        let open = match feed::catch_up(&*inner.store, open, &inner.fields).await {
            Err(SearchError::Index(error)) => {
                tracing::error!(%error, "the search index takes nothing in and is opened anew");
                self.catch_up_anew().await?
            }
            caught_up => caught_up?,
        };
        let current = Current {
            reader: open.reader.clone(),
            stamp,
            feed,
            serial: open.serial,
        };
        let moment = current.moment();
        self.replace(Some(current));
        *feeding = Some(open);
        Ok(moment)
    }

    /// Opens what is there, and if that does not help builds another index.
    async fn catch_up_anew(&self) -> Result<OpenIndex, SearchError> {
        let inner = &*self.0;
        match feed::catch_up(&*inner.store, self.open().await?, &inner.fields).await {
            Err(SearchError::Index(error)) if !is_of_the_disk(&error) => {
                tracing::error!(%error, "the search index takes nothing in and is built anew");
                self.forget().await?;
                feed::catch_up(&*inner.store, self.open().await?, &inner.fields).await
            }
            fed => fed,
        }
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
                return Ok(open);
            }
            tracing::warn!(
                "the search index is of another store, or ahead of it, and is built anew"
            );
        }
        let started = std::time::Instant::now();
        inner.building.store(true, Ordering::Relaxed);
        let built = feed::build(&*inner.store, &inner.location, &inner.fields, &inner.built).await;
        inner.building.store(false, Ordering::Relaxed);
        let open = built?;
        let entities = inner.built.load(Ordering::Relaxed);
        tracing::info!(entities, elapsed = ?started.elapsed(), "the search index is built");
        Ok(open)
    }

    /// Compares the files with their checksums while the index serves, and gives it up if one is damaged.
    fn check_later(&self, open: &OpenIndex) {
        // A check that takes long must not keep a store open that everybody else is done with.
        let (live, index, serial) = (Arc::downgrade(&self.0), open.index.clone(), open.serial);
        tokio::spawn(async move {
            if let Err(error) = blocking(move || index::check(&index)).await
                && let Some(inner) = live.upgrade()
            {
                Self(inner).discard(serial, &error).await;
            }
        });
    }

    /// Gives up an index that made a search fail, if its files turn out to be damaged: the next search builds another.
    pub(crate) async fn doubt(&self, index: Index, serial: u64) {
        if let Err(error) = blocking(move || index::check(&index)).await {
            self.discard(serial, &error).await;
        }
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
}
