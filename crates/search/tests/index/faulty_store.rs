//! A store that fails on request, or whose log never ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use docent_model::Urn;
use docent_store::{EntityTexts, LogEntry, LogPosition, ReadReply, ReadRequest, Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore};

#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    /// Reads of entities fail after this many.
    pub(crate) remaining_reads: AtomicU64,
    /// The most bytes of entities that one call has read.
    pub(crate) largest_read: AtomicU64,
    /// How often entities were listed, which only building an index does.
    pub(crate) list_calls: AtomicU64,
    /// Whether every read of the log finds as many changes again.
    pub(crate) endless: AtomicBool,
    /// How often the endless log was read.
    pub(crate) read: AtomicU64,
    /// Whether the log has other changes at its positions, as after a restore from a backup.
    pub(crate) restored: AtomicBool,
}

/// Ends a test that would read an endless log forever.
const MAX_READS: u64 = 100;

impl FaultyStore {
    pub(crate) fn before(inner: Arc<dyn Store>) -> InterceptedStore<Self> {
        InterceptedStore(Self {
            inner,
            remaining_reads: AtomicU64::new(u64::MAX),
            largest_read: AtomicU64::new(0),
            list_calls: AtomicU64::new(0),
            endless: AtomicBool::new(false),
            read: AtomicU64::new(0),
            restored: AtomicBool::new(false),
        })
    }

    fn count_bytes(&self, bytes: u64) {
        self.largest_read.fetch_max(bytes, Ordering::SeqCst);
    }

    fn current_change(&self, mut change: LogEntry) -> LogEntry {
        change.time_ms += i64::from(self.restored.load(Ordering::SeqCst));
        change
    }
}

#[async_trait]
impl Intercept for FaultyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        let left = |left: u64| left.checked_sub(1);
        let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
        if self.remaining_reads.fetch_update(set, get, left).is_err() {
            return Err(StoreError::other("the disk is on fire"));
        }
        let reply = self.inner.read(request).await?;
        self.count_bytes(reply.value_bytes());
        Ok(reply)
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        self.list_calls.fetch_add(1, Ordering::SeqCst);
        let entities = self.inner.entities_list(entity_type, after, limit).await?;
        let texts = entities.iter().flat_map(|entity| &entity.aspects);
        self.count_bytes(texts.map(|(_, text)| text.len() as u64).sum());
        Ok(entities)
    }

    async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let newest = self.inner.log_newest().await?;
        let Some(newest) = newest.filter(|_| self.endless.load(Ordering::SeqCst)) else {
            let changes = self.inner.log_read(after, limit).await?;
            return Ok(changes
                .into_iter()
                .map(|it| self.current_change(it))
                .collect());
        };
        if self.read.fetch_add(1, Ordering::SeqCst) == MAX_READS {
            return Err(StoreError::other("the log was read for ever"));
        }
        let change = |number| LogEntry {
            position: LogPosition::new(after.get() + number),
            ..newest.clone()
        };
        Ok((1..).take(limit).map(change).collect())
    }

    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError> {
        let newest = self.inner.log_newest().await?;
        Ok(newest.map(|it| self.current_change(it)))
    }
}
