//! The index in use: made when it is missing, fed when it is behind, replaced when it is damaged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use docent_store::Store;
use tantivy::{IndexReader, Searcher};
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
    /// How many entities the index that is being built has.
    built: AtomicU64,
    /// What searches remember of the index.
    kept: std::sync::Mutex<Kept>,
}

#[derive(Clone)]
struct Current {
    reader: IndexReader,
    /// Nothing had been committed after this stamp that the reader does not have.
    stamp: u64,
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

    /// A searcher that has everything that is committed now.
    pub(crate) async fn searcher(&self) -> Result<Searcher, SearchError> {
        let stamp = self.0.store.commit_stamp_exact().await?;
        let current = self.current();
        if let Some(current) = &current
            && current.stamp == stamp
        {
            return Ok(current.reader.searcher());
        }
        // Whoever asked may go away; the work is for everybody.
        let live = self.clone();
        let feeding = tokio::spawn(async move { live.bring_up().await });
        let fed = if current.is_some() {
            feeding.await
        } else {
            match tokio::time::timeout(BUILD_PATIENCE, feeding).await {
                Ok(fed) => fed,
                Err(_) => {
                    return Err(SearchError::Building {
                        done: self.0.built.load(Ordering::Relaxed),
                    });
                }
            }
        };
        fed.map_err(|error| tantivy::TantivyError::InternalError(error.to_string()))?
    }

    /// Opens or builds the index if that has not happened, and takes in what was committed.
    async fn bring_up(&self) -> Result<Searcher, SearchError> {
        let inner = &*self.0;
        let mut feeding = inner.feeding.lock().await;
        let mut open = match feeding.take() {
            Some(open) => open,
            None => self.open().await?,
        };
        let stamp = inner.store.commit_stamp_exact().await?;
        if let Some(current) = self.current()
            && current.stamp == stamp
        {
            // Somebody else brought it up while we waited.
            *feeding = Some(open);
            return Ok(current.reader.searcher());
        }
        feed::catch_up(&*inner.store, &mut open, &inner.fields).await?;
        let current = Current {
            reader: open.reader.clone(),
            stamp,
        };
        let searcher = current.reader.searcher();
        *inner
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Some(current);
        *feeding = Some(open);
        Ok(searcher)
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
        let open = feed::build(&*inner.store, &inner.location, &inner.fields, &inner.built).await?;
        let entities = inner.built.load(Ordering::Relaxed);
        tracing::info!(entities, elapsed = ?started.elapsed(), "the search index is built");
        Ok(open)
    }

    /// Compares the files with their checksums while the index serves, and gives it up if one is damaged.
    fn check_later(&self, open: &OpenIndex) {
        // A check that takes long must not keep a store open that everybody else is done with.
        let (live, index) = (Arc::downgrade(&self.0), open.index.clone());
        tokio::spawn(async move {
            if let Err(error) = blocking(move || index::check(&index)).await
                && let Some(inner) = live.upgrade()
            {
                tracing::error!(%error, "the search index is damaged and is built anew");
                Self(inner).discard().await;
            }
        });
    }

    /// Gives up an index that turned out to be damaged; the next search builds another.
    pub(crate) async fn discard(&self) {
        let mut feeding = self.0.feeding.lock().await;
        *self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = None;
        *feeding = None;
        let location = self.0.location.clone();
        if let Err(error) = blocking(move || location.discard()).await {
            tracing::error!(%error, "a damaged search index could not be removed");
        }
    }

    fn current(&self) -> Option<Current> {
        self.0
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
