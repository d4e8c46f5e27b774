//! A store that fails when it is told to, or whose log never ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use docent_model::Urn;
use docent_store::{Change, EntityTexts, LogPosition, ReadReply, ReadRequest, Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore};

#[derive(Debug)]
pub(crate) struct HinderedStore {
    inner: Arc<dyn Store>,
    /// Reads of entities work only so often.
    pub(crate) reads_left: AtomicU64,
    /// How often all entities of a kind were listed, as an index that is built does.
    pub(crate) listed: AtomicU64,
    /// However much of the log is read, somebody has written as much again.
    pub(crate) endless: AtomicBool,
    /// How often the log was read since.
    pub(crate) read: AtomicU64,
    /// Other changes stand at the positions of the log, as when the database was put back to an earlier state.
    pub(crate) put_back: AtomicBool,
}

/// Nobody reads an endless log for ever; a test that fails should end.
const MOST_READS: u64 = 100;

impl HinderedStore {
    pub(crate) fn before(inner: Arc<dyn Store>) -> InterceptedStore<Self> {
        InterceptedStore(Self {
            inner,
            reads_left: AtomicU64::new(u64::MAX),
            listed: AtomicU64::new(0),
            endless: AtomicBool::new(false),
            read: AtomicU64::new(0),
            put_back: AtomicBool::new(false),
        })
    }

    fn as_it_is_now(&self, mut change: Change) -> Change {
        change.time_ms += i64::from(self.put_back.load(Ordering::SeqCst));
        change
    }
}

#[async_trait]
impl Intercept for HinderedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        let left = |left: u64| left.checked_sub(1);
        let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.reads_left.fetch_update(set, get, left).is_err() {
            return Err(StoreError::other("the disk is on fire"));
        }
        self.inner.read(request).await
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        self.listed.fetch_add(1, Ordering::SeqCst);
        self.inner.entities_list(entity_type, after, limit).await
    }

    async fn changes_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<Change>, StoreError> {
        let newest = self.inner.change_newest().await?;
        let Some(newest) = newest.filter(|_| self.endless.load(Ordering::SeqCst)) else {
            let changes = self.inner.changes_read(after, limit).await?;
            return Ok(changes
                .into_iter()
                .map(|it| self.as_it_is_now(it))
                .collect());
        };
        if self.read.fetch_add(1, Ordering::SeqCst) == MOST_READS {
            return Err(StoreError::other("the log was read for ever"));
        }
        let change = |number| Change {
            position: LogPosition::new(after.get() + number),
            ..newest.clone()
        };
        Ok((1..).take(limit).map(change).collect())
    }

    async fn change_newest(&self) -> Result<Option<Change>, StoreError> {
        let newest = self.inner.change_newest().await?;
        Ok(newest.map(|it| self.as_it_is_now(it)))
    }
}
