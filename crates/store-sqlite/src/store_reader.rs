//! [`StoreReader`] on SQLite. Decides which reads run in place, and which on a blocking thread.

use async_trait::async_trait;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::spent::ShortPart;
use docent_store::{
    AspectKey, AuditEvent, AuditItem, AuditKey, AuditRange, BrowsedEntry, CommitStamp, EntityTexts,
    ListPage, LogEntry, LogKey, LogPosition, PointKey, PointRange, PointSize, ReadReply,
    ReadRequest, RelatedEntity, RowVersion, RunAspect, RunSummary, SHORT_READ_BYTES, StoreError,
    StoreReader, StoredAspect, TimeseriesRow, VersionKey,
};
use rusqlite::Connection;

use crate::byte_limit::ByteLimit;
use crate::error::EngineError;
use crate::readers::ReadLength;
use crate::{SqliteStore, audit_log, browse, edges, placements, points, read, runs};

/// Reads of more rows than this leave the caller's thread.
const IN_PLACE_ROWS: usize = 64;
/// About how many aspects an entity has.
const ROWS_PER_ENTITY: usize = 10;
/// About how many rows a chain of parents takes.
const ROWS_PER_CHAIN: usize = 4;

/// Whether to try a read on the calling thread.
fn has_few_rows(request: ReadRequest<'_>) -> bool {
    let rows = request.rows.len() + request.exists.len();
    rows + request.entities.len() * ROWS_PER_ENTITY <= IN_PLACE_ROWS
}

impl SqliteStore {
    /// Reads on the calling thread, from the row cache if nothing was committed since. `None` if
    /// that takes too long.
    fn read_in_place(&self, request: ReadRequest<'_>) -> Result<Option<ReadReply>, EngineError> {
        let stamp = self.stamp.if_cheap()?;
        if let Some(stamp) = stamp
            && request.entities.is_empty()
            && let Some(rows) = self.row_cache.get(request.rows, stamp)
            && read::prove_existence(request, &rows)
        {
            return Ok(Some(ReadReply {
                rows,
                exists: vec![true; request.exists.len()],
                entities: Vec::new(),
            }));
        }
        let mut limit = ByteLimit::short();
        let read = |connection: &Connection| read::read(connection, request, &mut limit);
        let reply = self.readers.snapshot_since(stamp, read)?;
        if limit.is_exceeded() {
            return Ok(None);
        }
        self.cache(request.rows, &reply, stamp)?;
        Ok(Some(reply))
    }

    /// Caches rows that were read after the stamp was.
    fn cache(
        &self,
        keys: &[AspectKey],
        reply: &ReadReply,
        stamp: Option<CommitStamp>,
    ) -> Result<(), EngineError> {
        // If the stamp has changed, the snapshot may be newer than it.
        if let Some(stamp) = stamp
            && !keys.is_empty()
            && self.stamp.read()? == stamp
        {
            self.row_cache.insert(keys, &reply.rows, stamp);
        }
        Ok(())
    }

    /// A short read in place, added to what the request spends.
    fn measured_in_place(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, EngineError> {
        let part = ShortPart::begin();
        let reply = self.read_in_place(request)?;
        if reply.is_some() {
            part.end(|spent| &spent.reads);
        }
        Ok(reply)
    }

    /// Runs a read of few rows in place until it exceeds the limit. Then, and if it has many rows,
    /// it runs on a blocking thread.
    async fn read_limited<T: Send + 'static>(
        &self,
        length: ReadLength,
        read: impl Fn(&Connection, &mut ByteLimit) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if length == ReadLength::Short {
            let mut limit = ByteLimit::short();
            let read_short = |connection: &Connection| read(connection, &mut limit);
            let part = ShortPart::begin();
            let result = self.readers.snapshot(read_short)?;
            if !limit.is_exceeded() {
                part.end(|spent| &spent.reads);
                return Ok(result);
            }
        }
        self.read_snapshot(ReadLength::Long, move |connection| {
            read(connection, &mut ByteLimit::unlimited())
        })
        .await
    }

    /// Runs a short read in place, and others on a blocking thread.
    pub(crate) async fn read_snapshot<T: Send + 'static>(
        &self,
        length: ReadLength,
        read: impl FnOnce(&Connection) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if length == ReadLength::Short {
            let part = ShortPart::begin();
            let result = self.readers.snapshot(read)?;
            part.end(|spent| &spent.reads);
            return Ok(result);
        }
        let is_scan = length == ReadLength::Scan;
        self.readers.long_snapshot(is_scan, read).await
    }
}

#[async_trait]
impl StoreReader for SqliteStore {
    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        if has_few_rows(request)
            && let Some(reply) = self.measured_in_place(request)?
        {
            return Ok(reply);
        }
        let stamp = self.stamp.if_cheap()?;
        let (rows, exists) = (request.rows.to_vec(), request.exists.to_vec());
        let entities = request.entities.to_vec();
        let read = move |connection: &Connection| {
            let request = ReadRequest {
                rows: &rows,
                exists: &exists,
                entities: &entities,
            };
            read::read(connection, request, &mut ByteLimit::unlimited())
        };
        let reply = self.read_snapshot(ReadLength::Long, read).await?;
        // A few long rows. Many rows, such as those of a scan, would replace those in use.
        if has_few_rows(request) {
            self.cache(request.rows, &reply, stamp)?;
        }
        Ok(reply)
    }

    async fn read_if_short(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, StoreError> {
        if has_few_rows(request) {
            return Ok(self.measured_in_place(request)?);
        }
        if self.read_bytes(request.rows, request.entities).await? > SHORT_READ_BYTES {
            return Ok(None);
        }
        self.read(request).await.map(Some)
    }

    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, StoreError> {
        let key = key.clone();
        let read = move |connection: &Connection, bytes: &mut ByteLimit| {
            read::version(connection, &key, version, bytes)
        };
        self.read_limited(ReadLength::Short, read).await
    }

    async fn versions_read(
        &self,
        keys: &[VersionKey],
        max_bytes: u64,
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        let keys = keys.to_vec();
        self.read_snapshot(ReadLength::Long, move |connection| {
            read::logical_versions(connection, &keys, max_bytes)
        })
        .await
    }

    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError> {
        let keys = keys.to_vec();
        self.read_snapshot(ReadLength::Long, move |connection| {
            keys.iter()
                .map(|key| read::versions(connection, key))
                .collect()
        })
        .await
    }

    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let (entity_type, after) = (entity_type.to_owned(), after.cloned());
        self.read_snapshot(ReadLength::Long, move |connection| {
            read::urns(connection, &entity_type, aspect, after.as_ref(), limit)
        })
        .await
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        let (entity_type, after) = (entity_type.to_owned(), after.cloned());
        self.read_snapshot(ReadLength::Long, move |connection| {
            read::entity_range(connection, &entity_type, after.as_ref(), limit)
        })
        .await
    }

    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<ListPage<Urn>, StoreError> {
        // Counting takes time linear in the number of children.
        let (kind, parent) = (kind.to_owned(), parent.cloned());
        self.read_snapshot(ReadLength::Long, move |connection| {
            placements::children_page(connection, &kind, parent.as_ref(), start, limit)
        })
        .await
    }

    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError> {
        let long = urns.len() > IN_PLACE_ROWS / ROWS_PER_CHAIN;
        let urns = urns.to_vec();
        self.read_snapshot(ReadLength::long_if(long), move |connection| {
            urns.iter()
                .map(|urn| placements::ancestors(connection, urn, max))
                .collect()
        })
        .await
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError> {
        // Incoming edges may be unbounded; outgoing ones are those of a few aspects.
        let long = !outgoing || urns.len() > IN_PLACE_ROWS / ROWS_PER_ENTITY;
        let urns = urns.to_vec();
        let relationships: Vec<String> = relationships.iter().map(ToString::to_string).collect();
        let excluded: Vec<String> = excluded_types.iter().map(ToString::to_string).collect();
        let read = move |connection: &Connection, bytes: &mut ByteLimit| {
            let relationships: Vec<&str> = relationships.iter().map(String::as_str).collect();
            let mut pages = Vec::with_capacity(urns.len());
            for urn in &urns {
                if bytes.is_short() && edges::are_many(connection, urn)? {
                    bytes.exceed();
                    break;
                }
                let names = &relationships;
                let page = edges::page(connection, urn, outgoing, names, &excluded, start, limit);
                pages.push(page?);
            }
            Ok(pages)
        };
        self.read_limited(ReadLength::long_if(long), read).await
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        // Points of a run are found by a scan.
        let long = start.saturating_add(limit) > IN_PLACE_ROWS || range.run.is_some();
        let (key, range) = (key.clone(), range.clone());
        let read = move |connection: &Connection, bytes: &mut ByteLimit| {
            points::list(connection, &key, &range, newest_first, start, limit, bytes)
        };
        self.read_limited(ReadLength::long_if(long), read).await
    }

    async fn timeseries_bytes(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let long = start.saturating_add(limit) > IN_PLACE_ROWS || range.run.is_some();
        let (key, range) = (key.clone(), range.clone());
        self.read_snapshot(ReadLength::long_if(long), move |connection| {
            points::bytes(connection, &key, &range, newest_first, start, limit)
        })
        .await
    }

    async fn points_list(
        &self,
        aspect: AspectName,
        range: &PointRange,
        after: Option<&PointKey>,
        limit: usize,
    ) -> Result<Vec<PointSize>, StoreError> {
        let (range, after) = (range.clone(), after.cloned());
        self.read_snapshot(ReadLength::Long, move |connection| {
            points::list_all(connection, aspect, &range, after.as_ref(), limit)
        })
        .await
    }

    async fn points_read(
        &self,
        aspect: AspectName,
        keys: &[PointKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        let long = keys.len() > IN_PLACE_ROWS;
        let keys = keys.to_vec();
        let read = move |connection: &Connection, bytes: &mut ByteLimit| {
            points::read(connection, aspect, &keys, bytes)
        };
        self.read_limited(ReadLength::long_if(long), read).await
    }

    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        let long = keys.len() > IN_PLACE_ROWS;
        let keys = keys.to_vec();
        let read = move |connection: &Connection, bytes: &mut ByteLimit| {
            points::latest(connection, &keys, bytes)
        };
        self.read_limited(ReadLength::long_if(long), read).await
    }

    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        self.read_snapshot(ReadLength::Scan, move |connection| {
            runs::list(connection, include_removed, start, limit)
        })
        .await
    }

    async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunAspect>, StoreError> {
        let run = run.to_owned();
        self.read_snapshot(ReadLength::Scan, move |connection| {
            runs::aspects(connection, &run, include_removed, start, limit)
        })
        .await
    }

    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError> {
        let run = run.to_owned();
        self.read_snapshot(ReadLength::Scan, move |connection| {
            runs::timeseries(connection, &run, limit)
        })
        .await
    }

    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError> {
        let run = run.to_owned();
        self.read_snapshot(ReadLength::Scan, move |connection| {
            runs::points_count(connection, &run)
        })
        .await
    }

    async fn read_bytes(&self, rows: &[AspectKey], entities: &[Urn]) -> Result<u64, StoreError> {
        let length = ReadLength::long_if(rows.len() + entities.len() > IN_PLACE_ROWS);
        let (rows, entities) = (rows.to_vec(), entities.to_vec());
        self.read_snapshot(length, move |connection| {
            read::value_bytes(connection, &rows, &entities)
        })
        .await
    }

    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
        excluded_types: &[&str],
    ) -> Result<u64, StoreError> {
        let urn_like = urn_like.map(str::to_owned);
        let excluded: Vec<String> = excluded_types.iter().map(ToString::to_string).collect();
        self.read_snapshot(ReadLength::Scan, move |connection| {
            read::aspects_count(connection, aspect, urn_like.as_deref(), &excluded)
        })
        .await
    }

    async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        self.read_snapshot(
            ReadLength::long_if(limit > IN_PLACE_ROWS),
            move |connection| read::log_after(connection, after, limit),
        )
        .await
    }

    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError> {
        self.read_snapshot(ReadLength::Short, read::newest_entry)
            .await
    }

    async fn log_browse(
        &self,
        before: LogKey,
        edits_only: bool,
        limit: usize,
    ) -> Result<Vec<BrowsedEntry>, StoreError> {
        self.read_snapshot(
            ReadLength::long_if(limit > IN_PLACE_ROWS),
            move |connection| browse::entries(connection, before, edits_only, limit),
        )
        .await
    }

    async fn log_count_internal(
        &self,
        from_ms: EpochMillis,
        until_ms: EpochMillis,
    ) -> Result<u64, StoreError> {
        self.read_snapshot(ReadLength::Scan, move |connection| {
            browse::count_internal(connection, from_ms, until_ms)
        })
        .await
    }

    async fn audit_events(
        &self,
        range: AuditRange<'_>,
        limit: usize,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        let (range, entity) = (
            AuditRange {
                entity: None,
                ..range
            },
            range.entity,
        );
        let entity = entity.map(ToOwned::to_owned);
        self.read_snapshot(ReadLength::Scan, move |connection| {
            let entity = entity.as_deref();
            audit_log::events(connection, AuditRange { entity, ..range }, limit)
        })
        .await
    }

    async fn audit_items(
        &self,
        events: &[AuditKey],
        entity: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Vec<AuditItem>>, StoreError> {
        let (events, entity) = (events.to_vec(), entity.map(ToOwned::to_owned));
        self.read_snapshot(ReadLength::Long, move |connection| {
            audit_log::items(connection, &events, entity.as_deref(), limit)
        })
        .await
    }

    fn commit_stamp(&self) -> Result<CommitStamp, StoreError> {
        Ok(self.stamp.read()?)
    }

    fn commit_stamp_of(&self, _entity_types: &[&str]) -> Result<CommitStamp, StoreError> {
        self.commit_stamp()
    }

    async fn commit_stamp_exact(&self) -> Result<CommitStamp, StoreError> {
        self.commit_stamp()
    }
}
