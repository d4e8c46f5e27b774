//! The index in use: built if it is missing, fed if it is behind, replaced if it is damaged.
//!
//! A search that finds pending changes feeds the index itself, and concurrent searches share the
//! result. An [`IndexMaintainer`] feeds it in the background, so that little is left for searches.

mod maintainer;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use docent_model::Urn;
use docent_store::{CommitStamp, LogPosition, Store, spent};
use tantivy::{Index, IndexReader, Searcher, TantivyError};
use tokio::sync::Mutex;

use crate::directory::OpenFiles;
use crate::duplicates::duplicates;
use crate::error::SearchError;
use crate::feed::{self, FeedAmount, blocking};
use crate::index::{self, IndexLocation, OpenIndex};
use crate::measurements::Counters;
use crate::schema::Fields;
use crate::segment_cache::SegmentCache;
use crate::shared_position::SharedPosition;

pub use maintainer::IndexMaintainer;

/// When to verify the checksums of a large index, so that the first search does not wait for it.
const CHECK_DELAY: Duration = Duration::from_secs(1);
/// How long a search waits for an index that is being built. Small ones are ready by then.
const BUILD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a search waits for pending changes to be indexed.
const FEED_TIMEOUT: Duration = Duration::from_secs(10);
/// Checking for damage reads all files, so it is not repeated within this time.
const RECHECK_INTERVAL: Duration = Duration::from_mins(1);

/// How far an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStatus {
    /// How many changes are not indexed yet.
    pub pending_changes: u64,
    /// How many entities are indexed so far, while the index is being built.
    pub built: Option<u64>,
    /// How many bytes it takes on the disk; `None` in memory.
    pub size_bytes: Option<u64>,
}

/// Clones share the index.
#[derive(Debug, Clone)]
pub(crate) struct LiveIndex(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<dyn Store>,
    fields: Fields,
    location: IndexLocation,
    /// The reader of searches; `None` until there is an index.
    current: RwLock<Option<CurrentReader>>,
    /// The lock is held while feeding. `None` until the index is open, and after damage.
    feeding: Mutex<Option<OpenIndex>>,
    /// How many feeds have started.
    feeds: AtomicU64,
    /// The log position of the last indexed change.
    indexed_up_to: SharedPosition,
    /// Whether an index is being built, and how many entities it has.
    building: AtomicBool,
    built: AtomicU64,
    /// The serial number of the index that was last checked after a failed search, and when.
    last_recheck: std::sync::Mutex<Option<(u64, Instant)>>,
    cache: std::sync::Mutex<SegmentCache>,
    counters: Counters,
}

#[derive(Clone)]
struct CurrentReader {
    reader: IndexReader,
    /// The reader has every change up to this commit stamp.
    stamp: CommitStamp,
    /// The feed that produced it.
    feed: u64,
    /// The serial number of its index.
    serial: u64,
    files: OpenFiles,
}

/// What a search reads from.
pub(crate) struct IndexSnapshot {
    pub(crate) searcher: Searcher,
    pub(crate) serial: u64,
}

impl CurrentReader {
    fn snapshot(&self) -> IndexSnapshot {
        IndexSnapshot {
            searcher: self.reader.searcher(),
            serial: self.serial,
        }
    }
}

impl std::fmt::Debug for CurrentReader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CurrentReader")
            .field("stamp", &self.stamp)
            .finish_non_exhaustive()
    }
}

impl LiveIndex {
    pub(crate) fn new(store: Arc<dyn Store>, location: IndexLocation) -> Self {
        Self(Arc::new(Inner {
            store,
            fields: Fields::new(),
            location,
            current: RwLock::new(None),
            feeding: Mutex::new(None),
            feeds: AtomicU64::new(0),
            indexed_up_to: SharedPosition::unknown(),
            building: AtomicBool::new(false),
            built: AtomicU64::new(0),
            last_recheck: std::sync::Mutex::default(),
            cache: std::sync::Mutex::default(),
            counters: Counters::default(),
        }))
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.0.counters
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.0.fields
    }

    /// The cache for one search.
    pub(crate) fn cache(&self) -> SegmentCache {
        let mut cache = self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.is_full() {
            *cache = SegmentCache::default();
        }
        cache.clone()
    }

    /// Whether there is no index of the current format on the disk.
    pub(crate) fn is_missing(&self) -> bool {
        self.0.location.is_empty()
    }

    /// Returns a snapshot with every change that is committed now.
    pub(crate) async fn snapshot(&self) -> Result<IndexSnapshot, SearchError> {
        let inner = &*self.0;
        let arrived = inner.feeds.load(Ordering::SeqCst);
        let stamp = inner.store.commit_stamp_exact().await?;
        if let Some(current) = self.current()
            && current.stamp == stamp
        {
            match damage(&current.files) {
                None => return Ok(current.snapshot()),
                Some(error) => self.discard(current.serial, &error).await,
            }
        }
        // The task must survive a caller that disconnects, because other searches share it.
        let live = self.clone();
        let feeding = async move { live.ensure_current(arrived).await };
        let mut feeding = tokio::spawn(spent::inherited(feeding));
        let started = Instant::now();
        let indexed_up_to = inner.indexed_up_to.get().unwrap_or(LogPosition::START);
        loop {
            let waited = tokio::time::timeout(BUILD_TIMEOUT, &mut feeding).await;
            if let Ok(fed) = waited {
                return fed.map_err(|error| TantivyError::InternalError(error.to_string()))?;
            }
            if inner.building.load(Ordering::Relaxed) {
                return Err(SearchError::Building {
                    done: inner.built.load(Ordering::Relaxed),
                });
            }
            if started.elapsed() >= FEED_TIMEOUT {
                return Err(self.progress_since(indexed_up_to).await?);
            }
        }
    }

    /// The error that reports the progress of the feed from a position to the end of the log.
    async fn progress_since(&self, start: LogPosition) -> Result<SearchError, SearchError> {
        let newest = feed::tail(&*self.0.store).await?.position;
        let indexed_up_to = self.0.indexed_up_to.get().unwrap_or(start);
        Ok(SearchError::CatchingUp {
            done: indexed_up_to.since(start),
            of: newest.since(start),
        })
    }

    /// How many changes are not indexed yet.
    pub(crate) async fn pending_changes(&self) -> Result<u64, SearchError> {
        let inner = &*self.0;
        let newest = feed::tail(&*inner.store).await?.position;
        let indexed_up_to = match inner.indexed_up_to.get() {
            None => {
                let location = inner.location.clone();
                let indexed = blocking(move || Ok(location.indexed())).await?;
                indexed.map_or(LogPosition::START, |indexed| indexed.position)
            }
            Some(indexed_up_to) => indexed_up_to,
        };
        Ok(newest.since(indexed_up_to))
    }

    /// How far the index is, and its size.
    pub(crate) async fn status(&self) -> Result<IndexStatus, SearchError> {
        let inner = &*self.0;
        let is_building = inner.building.load(Ordering::Relaxed);
        let location = inner.location.clone();
        Ok(IndexStatus {
            pending_changes: self.pending_changes().await?,
            built: is_building.then(|| inner.built.load(Ordering::Relaxed)),
            size_bytes: blocking(move || Ok(location.size_bytes())).await?,
        })
    }

    /// Opens or builds the index if necessary, and indexes what was committed before `arrived`
    /// feeds had started. Of many waiting searches one feeds the index, and the others share the
    /// result.
    async fn ensure_current(&self, arrived: u64) -> Result<IndexSnapshot, SearchError> {
        let inner = &*self.0;
        let mut feeding = inner.feeding.lock().await;
        if let Some(current) = self.current()
            && current.feed > arrived
        {
            return Ok(current.snapshot());
        }
        let feed = inner.feeds.fetch_add(1, Ordering::SeqCst) + 1;
        let stamp = inner.store.commit_stamp_exact().await?;
        let readable = self.feed(&mut feeding, FeedAmount::All).await?;
        let current = CurrentReader {
            reader: readable.reader,
            stamp,
            feed,
            serial: readable.serial,
            files: readable.files,
        };
        let snapshot = current.snapshot();
        self.replace(Some(current));
        Ok(snapshot)
    }

    /// Indexes some of the pending changes for later searches.
    async fn index_some(&self, entities: usize) -> Result<(), SearchError> {
        let mut feeding = self.0.feeding.lock().await;
        self.feed(&mut feeding, FeedAmount::Entities(entities))
            .await?;
        Ok(())
    }

    /// Feeds the index, and returns what reads it. An index that cannot be fed is reopened or
    /// rebuilt. If the store fails, the index stays as it is.
    async fn feed(
        &self,
        feeding: &mut Option<OpenIndex>,
        amount: FeedAmount,
    ) -> Result<Readable, SearchError> {
        if let Some(error) = feeding.as_ref().and_then(|open| damage(&open.files)) {
            self.discard_open(feeding, &error).await;
        }
        if let Some(open) = feeding {
            match self.catch_up(open, amount).await {
                Err(SearchError::Index(error)) => {
                    tracing::error!(%error, "reopening the search index, because it cannot be updated");
                    *feeding = None;
                }
                fed => return fed.map(|()| Readable::of(open)),
            }
        }
        let mut open = self.open().await?;
        let mut fed = self.catch_up(&mut open, amount).await;
        if let Err(SearchError::Index(error)) = &fed
            && !is_disk_error(error)
        {
            tracing::error!(%error, "rebuilding the search index, because it cannot be updated");
            drop(open);
            self.forget().await?;
            open = self.open().await?;
            fed = self.catch_up(&mut open, amount).await;
        }
        let readable = Readable::of(&open);
        if !matches!(fed, Err(SearchError::Index(_))) {
            *feeding = Some(open);
        }
        fed.map(|()| readable)
    }

    async fn catch_up(&self, open: &mut OpenIndex, amount: FeedAmount) -> Result<(), SearchError> {
        let inner = &*self.0;
        let feeding = feed::catch_up(
            &*inner.store,
            open,
            &inner.fields,
            amount,
            &inner.indexed_up_to,
            &inner.counters,
        );
        spent::timed(|spent| &spent.index_feeds, feeding).await
    }

    async fn open(&self) -> Result<OpenIndex, SearchError> {
        let inner = &*self.0;
        inner.built.store(0, Ordering::Relaxed);
        let (location, fields) = (inner.location.clone(), inner.fields.clone());
        let existing = blocking(move || Ok(location.open(&fields))).await?;
        if let Some(open) = existing {
            if feed::is_in_log(&*inner.store, &open.indexed).await? {
                self.check_later(&open);
                inner.indexed_up_to.set(open.indexed.position);
                return Ok(open);
            }
            tracing::warn!(
                "rebuilding the search index, because it belongs to another store or is ahead of this one"
            );
        }
        let started = Instant::now();
        let building = Building::begin(&inner.building);
        let open = feed::build(&*inner.store, &inner.location, &inner.fields, &inner.built).await?;
        drop(building);
        inner.indexed_up_to.set(open.indexed.position);
        let entities = inner.built.load(Ordering::Relaxed);
        tracing::info!(entities, elapsed = ?started.elapsed(), "built the search index");
        Ok(open)
    }

    /// Checks an index of an earlier process in the background.
    fn check_later(&self, open: &OpenIndex) {
        // A long check must not keep the store open after everyone else has closed it.
        let live = Arc::downgrade(&self.0);
        let index = (!open.checked).then(|| open.index.clone());
        let (reader, serial) = (open.reader.clone(), open.serial);
        tokio::spawn(async move {
            tokio::time::sleep(CHECK_DELAY).await;
            let verify = |index: Index| blocking(move || index::check(&index));
            let damage = match index.map(verify) {
                Some(verified) => verified.await.err(),
                None => None,
            };
            let found = match damage {
                Some(error) => Err(error),
                None => blocking(move || duplicates(&reader.searcher())).await,
            };
            let Some(inner) = live.upgrade() else { return };
            match found {
                Err(error) => Self(inner).discard(serial, &error).await,
                Ok(urns) => Self(inner).replace_duplicates(serial, urns).await,
            }
        });
    }

    /// Indexes entities that were found twice once more, which replaces all their documents.
    async fn replace_duplicates(&self, serial: u64, urns: Vec<Urn>) {
        let mut feeding = self.0.feeding.lock().await;
        let open = feeding.as_mut().filter(|open| open.serial == serial);
        let Some(open) = open.filter(|_| !urns.is_empty()) else {
            return;
        };
        tracing::error!(entities = ?urns, "the search index has entities twice: indexing them again");
        let (store, indexed) = (&*self.0.store, open.indexed.clone());
        let replaced = feed::index_entities(store, open, urns, indexed, &self.0.fields);
        if let Err(error) = replaced.await {
            tracing::error!(%error, "cannot update the search index");
        }
    }

    /// Checks an index that made a search fail. If its files are damaged, the next search rebuilds
    /// it.
    pub(crate) async fn recheck_after_failure(&self, index: Index, serial: u64) {
        if !self.should_recheck(serial, Instant::now()) {
            return;
        }
        if let Err(error) = blocking(move || index::check(&index)).await {
            self.discard(serial, &error).await;
        }
    }

    /// Whether the index was not checked recently. If it was, searches fail for another reason.
    fn should_recheck(&self, serial: u64, now: Instant) -> bool {
        let mut last_recheck = self
            .0
            .last_recheck
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if last_recheck.is_some_and(|(known, at)| known == serial && now < at + RECHECK_INTERVAL) {
            return false;
        }
        *last_recheck = Some((serial, now));
        true
    }

    async fn discard(&self, serial: u64, error: &SearchError) {
        let mut feeding = self.0.feeding.lock().await;
        // It may have been replaced in the meantime.
        if feeding.as_ref().is_none_or(|open| open.serial != serial) {
            return;
        }
        self.discard_open(&mut feeding, error).await;
    }

    async fn discard_open(&self, feeding: &mut Option<OpenIndex>, error: &SearchError) {
        tracing::error!(%error, "rebuilding the search index, because it is damaged");
        *feeding = None;
        if let Err(error) = self.forget().await {
            tracing::error!(%error, "cannot remove a damaged search index");
        }
    }

    async fn forget(&self) -> Result<(), SearchError> {
        self.replace(None);
        let location = self.0.location.clone();
        blocking(move || location.discard()).await
    }

    fn replace(&self, current: Option<CurrentReader>) {
        *self
            .0
            .current
            .write()
            .unwrap_or_else(PoisonError::into_inner) = current;
    }

    fn current(&self) -> Option<CurrentReader> {
        self.0
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What searches of an open index need.
struct Readable {
    reader: IndexReader,
    serial: u64,
    files: OpenFiles,
}

impl Readable {
    fn of(open: &OpenIndex) -> Self {
        Self {
            reader: open.reader.clone(),
            serial: open.serial,
            files: open.files.clone(),
        }
    }
}

/// The error for files that must not be read any more.
fn damage(files: &OpenFiles) -> Option<SearchError> {
    let path = files.truncated(Instant::now())?;
    Some(index::damaged(&format!("{} was truncated", path.display())))
}

/// Sets a flag until it is dropped.
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

/// Whether a new index would fail in the same way.
fn is_disk_error(error: &TantivyError) -> bool {
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
    use crate::document::Entity;

    #[tokio::test]
    async fn concurrent_searches_share_one_feed() {
        let test_store = TestStore::open().await.unwrap();
        let live = LiveIndex::new(test_store.store(), IndexLocation::Memory);
        let mut searches = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let live = live.clone();
            searches.spawn(async move { live.snapshot().await.map(drop) });
        }
        while let Some(ended) = searches.join_next().await {
            ended.unwrap().unwrap();
        }
        assert_eq!(live.0.feeds.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn an_entity_with_two_documents_is_indexed_again() {
        let test_store = TestStore::open().await.unwrap();
        let location = IndexLocation::Directory(test_store.directory().join("index"));
        let live = LiveIndex::new(test_store.store(), location);
        let searcher = live.snapshot().await.unwrap().searcher;
        assert_eq!(duplicates(&searcher).unwrap(), []);
        let feeding = live.0.feeding.lock().await;
        let open = feeding.as_ref().unwrap();
        for names in [
            &["once", "twice", "twice", "in two segments"][..],
            &["in two segments"],
        ] {
            let mut writer = open.writer.lock().unwrap();
            for name in names {
                let urn = Urn::new("tag", name).unwrap();
                let entity = Entity::read(std::iter::empty());
                let document = entity.into_document(&urn, &live.0.fields);
                writer.add_document(document).unwrap();
            }
            writer.commit().unwrap();
        }
        open.reader.reload().unwrap();
        let (serial, reader) = (open.serial, open.reader.clone());
        drop(feeding);
        assert_eq!(reader.searcher().num_docs(), 5);
        let found = duplicates(&reader.searcher()).unwrap();
        let names: Vec<&str> = found.iter().map(Urn::as_str).collect();
        assert_eq!(names, ["urn:li:tag:in two segments", "urn:li:tag:twice"]);
        // The store has neither.
        live.replace_duplicates(serial, found).await;
        assert_eq!(reader.searcher().num_docs(), 1);
    }

    #[tokio::test]
    async fn an_index_that_makes_searches_fail_is_rechecked_at_intervals() {
        let test_store = TestStore::open().await.unwrap();
        let live = LiveIndex::new(test_store.store(), IndexLocation::Memory);
        let now = Instant::now();
        assert!(live.should_recheck(1, now));
        assert!(!live.should_recheck(1, now));
        assert!(!live.should_recheck(1, now + RECHECK_INTERVAL / 2));
        assert!(live.should_recheck(2, now), "another index");
        assert!(live.should_recheck(2, now + RECHECK_INTERVAL));
    }
}
