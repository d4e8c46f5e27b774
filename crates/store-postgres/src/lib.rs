//! The store on PostgreSQL, for any number of servers.
//!
//! The servers share no state but the database. A read takes one round trip for any number of rows
//! (`read`, `trees`, `points`, `runs`), a write takes two (`transaction`, `run`), and the log is in
//! commit order (`log`).
//!
//! This crate speaks SQL and knows no rules: the effects of a write on versions, history and
//! derived rows are computed by its callers (`docent_store::version`, `docent_model::derive`).
//!
//! To add a query: put the statement in the module of its kind, a method in [`PostgresStore`], a
//! test in the conformance suite. To change the schema: see `migrations`.

mod arrays;
mod audit_log;
mod backup;
mod backup_check;
mod browse;
mod check;
mod connect;
mod derived;
mod error;
mod foreign;
mod log;
mod migrations;
mod outage;
#[cfg(test)]
mod plans;
mod points;
mod pool;
mod read;
mod rebuild;
mod run;
mod runs;
mod segment;
mod serving;
mod settings;
mod short_reads;
mod stamp;
mod tls;
mod transaction;
mod transfer;
mod trees;
mod values;
mod versions;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{
    AspectKey, AuditEvent, AuditItem, AuditKey, AuditRange, AuditRecord, BrowsedEntry, CommitStamp,
    EntityTexts, ListPage, LogEntry, LogKey, LogPosition, PointKey, PointRange, PointSize,
    RawAspect, RawPoint, RawRetiredVersion, ReadReply, ReadRequest, RebuildReport, RelatedEntity,
    RowVersion, RunAspect, RunSummary, SHORT_READ_BYTES, StoreError, StoreMaintenance,
    StoreMeasurements, StoreReader, StoreWriter, StoredAspect, TimeseriesRow, TransactionBody,
    VersionKey, spent,
};

use crate::connect::Connector;
use crate::error::EngineError;
use crate::pool::Connections;
use crate::read::PointRead;
use crate::serving::ExclusiveUse;
use crate::short_reads::ShortReads;
use crate::stamp::{Stamp, Watch};

/// How many values are read without a look at their size: that would take another round trip, and
/// most are small.
const FEW_VALUES: usize = 8;

pub use backup::{BACKUP_START, restore};
pub use backup_check::check_backup;
pub use foreign::{ForeignAspect, ForeignAspects};
pub use settings::Settings;

/// How to open a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// Creates the tables in an empty database.
    pub create: bool,
    /// Watches for commits of other servers. For servers, not for commands.
    pub watch: bool,
}

/// A PostgreSQL database as a [`docent_store::Store`].
#[derive(Debug)]
pub struct PostgresStore {
    connections: Arc<Connections>,
    short_reads: Arc<ShortReads>,
    stamp: Arc<Stamp>,
    watch: Option<Watch>,
    exclusive: Option<ExclusiveUse>,
}

impl PostgresStore {
    /// Connects and migrates the schema. Rejects a database with an incompatible newer schema.
    pub async fn open(settings: &Settings, options: OpenOptions) -> Result<Self, StoreError> {
        let connections = Arc::new(Connections::new(settings)?);
        let mut lease = connections.lease().await?;
        migrations::migrate(&mut lease, options.create).await?;
        drop(lease);
        let mut store = Self::connected(connections);
        if options.watch {
            let watch = Watch::start(&store.stamp, &store.connections, settings).await?;
            store.watch = Some(watch);
        }
        Ok(store)
    }

    /// Opens a database for reading only. Changes nothing: it rejects an older schema.
    pub async fn open_read_only(settings: &Settings) -> Result<Self, StoreError> {
        let connections = Arc::new(Connections::new(settings)?);
        migrations::expect_newest(&connections.lease().await?).await?;
        Ok(Self::connected(connections))
    }

    fn connected(connections: Arc<Connections>) -> Self {
        Self {
            short_reads: Arc::new(ShortReads::new(&connections)),
            connections,
            stamp: Arc::new(Stamp::new()),
            watch: None,
            exclusive: None,
        }
    }

    /// Opens a database without servers, and keeps servers from starting until the store is closed.
    pub async fn open_exclusive(settings: &Settings, create: bool) -> Result<Self, StoreError> {
        let exclusive = ExclusiveUse::acquire(&Connector::new(settings)?).await?;
        let options = OpenOptions {
            create,
            watch: false,
        };
        let mut store = Self::open(settings, options).await?;
        store.exclusive = Some(exclusive);
        Ok(store)
    }
}

/// Whether a database contains a catalog. Changes nothing.
pub async fn exists(settings: &Settings) -> Result<bool, StoreError> {
    let connections = Connections::new(settings)?;
    let lease = connections.lease().await?;
    Ok(migrations::has_catalog(&lease).await?)
}

/// Whether two URLs lead to the same schema of the same database.
pub async fn is_same(one: &Settings, other: &Settings) -> Result<bool, StoreError> {
    // The start time, in microseconds, identifies the server.
    const WHICH: &str = "SELECT extract(epoch FROM pg_postmaster_start_time())::text, current_schema()::text, \
         (SELECT oid::bigint FROM pg_database WHERE datname = current_database())";
    let which = async |settings: &Settings| {
        let rows = Connections::new(settings)?.query(WHICH, &[]).await?;
        let read = |row: &tokio_postgres::Row| -> Result<_, EngineError> {
            let (started, schema): (String, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
            let database: i64 = row.try_get(2)?;
            Ok((started, schema, database))
        };
        rows.first().map(read).transpose()
    };
    let (one, other) = (which(one).await?, which(other).await?);
    Ok(one.is_some() && one == other)
}

/// Checks a database without opening a store, which would migrate it.
pub async fn check_database(settings: &Settings) -> Result<Vec<String>, StoreError> {
    let connections = Connections::new(settings)?;
    migrations::expect_newest(&connections.lease().await?).await?;
    Ok(check::check(&connections).await?)
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.watch = None;
        self.exclusive = None;
        self.connections.close();
    }
}

#[async_trait]
impl StoreReader for PostgresStore {
    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        if !request.entities.is_empty() {
            return Ok(read::mixed(&self.connections, request).await?);
        }
        let read = PointRead {
            rows: request.rows,
            exists: request.exists,
        };
        let (rows, exists) = self.short_reads.read(read).await?;
        Ok(ReadReply {
            rows,
            exists,
            entities: Vec::new(),
        })
    }

    async fn read_if_short(
        &self,
        request: ReadRequest<'_>,
    ) -> Result<Option<ReadReply>, StoreError> {
        let is_few = request.entities.is_empty() && request.rows.len() <= FEW_VALUES;
        if !is_few && self.read_bytes(request.rows, request.entities).await? > SHORT_READ_BYTES {
            return Ok(None);
        }
        let reply = self.read(request).await?;
        let is_short = request.rows.len() <= 1 || reply.value_bytes() <= SHORT_READ_BYTES;
        Ok(is_short.then_some(reply))
    }

    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: RowVersion,
    ) -> Result<Option<StoredAspect>, StoreError> {
        Ok(versions::version(&self.connections, key, version).await?)
    }

    async fn versions_read(
        &self,
        keys: &[VersionKey],
        max_bytes: u64,
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        Ok(versions::logical_versions(&self.connections, keys, max_bytes).await?)
    }

    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError> {
        Ok(versions::histories(&self.connections, keys).await?)
    }

    async fn urns_list(
        &self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        Ok(read::urns(&self.connections, entity_type, aspect, after, limit).await?)
    }

    async fn entities_list(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<EntityTexts>, StoreError> {
        Ok(read::entity_range(&self.connections, entity_type, after, limit).await?)
    }

    async fn placements_list(
        &self,
        kind: &str,
        parent: Option<&Urn>,
        start: usize,
        limit: usize,
    ) -> Result<ListPage<Urn>, StoreError> {
        Ok(trees::placements(&self.connections, kind, parent, start, limit).await?)
    }

    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError> {
        Ok(trees::ancestors(&self.connections, urns, max).await?)
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
        Ok(trees::edges(
            &self.connections,
            urns,
            outgoing,
            relationships,
            excluded_types,
            start,
            limit,
        )
        .await?)
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        Ok(points::list(&self.connections, key, range, newest_first, start, limit).await?)
    }

    async fn timeseries_bytes(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<u64>, StoreError> {
        Ok(points::bytes(&self.connections, key, range, newest_first, start, limit).await?)
    }

    async fn points_list(
        &self,
        aspect: AspectName,
        range: &PointRange,
        after: Option<&PointKey>,
        limit: usize,
    ) -> Result<Vec<PointSize>, StoreError> {
        Ok(points::list_all(&self.connections, aspect, range, after, limit).await?)
    }

    async fn points_read(
        &self,
        aspect: AspectName,
        keys: &[PointKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        Ok(points::read(&self.connections, aspect, keys).await?)
    }

    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        Ok(points::latest(&self.connections, keys).await?)
    }

    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunSummary>, StoreError> {
        Ok(runs::list(&self.connections, include_removed, start, limit).await?)
    }

    async fn run_aspects(
        &self,
        run: &str,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<RunAspect>, StoreError> {
        Ok(runs::aspects(&self.connections, run, include_removed, start, limit).await?)
    }

    async fn run_timeseries(
        &self,
        run: &str,
        limit: usize,
    ) -> Result<Vec<(AspectKey, u64)>, StoreError> {
        Ok(runs::timeseries(&self.connections, run, limit).await?)
    }

    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError> {
        Ok(runs::points_count(&self.connections, run).await?)
    }

    async fn read_bytes(&self, rows: &[AspectKey], entities: &[Urn]) -> Result<u64, StoreError> {
        Ok(read::value_bytes(&self.connections, rows, entities).await?)
    }

    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
        excluded_types: &[&str],
    ) -> Result<u64, StoreError> {
        Ok(read::aspects_count(&self.connections, aspect, urn_like, excluded_types).await?)
    }

    async fn log_read(
        &self,
        after: LogPosition,
        limit: usize,
    ) -> Result<Vec<LogEntry>, StoreError> {
        Ok(log::changes(&self.connections, after, limit).await?)
    }

    async fn log_newest(&self) -> Result<Option<LogEntry>, StoreError> {
        Ok(log::newest(&self.connections).await?)
    }

    async fn log_browse(
        &self,
        before: LogKey,
        edits_only: bool,
        limit: usize,
    ) -> Result<Vec<BrowsedEntry>, StoreError> {
        Ok(browse::entries(&self.connections, before, edits_only, limit).await?)
    }

    async fn log_count_internal(
        &self,
        from_ms: EpochMillis,
        until_ms: EpochMillis,
    ) -> Result<u64, StoreError> {
        Ok(browse::count_internal(&self.connections, from_ms, until_ms).await?)
    }

    async fn audit_events(
        &self,
        range: AuditRange<'_>,
        limit: usize,
    ) -> Result<Vec<AuditEvent>, StoreError> {
        Ok(audit_log::events(&self.connections, range, limit).await?)
    }

    async fn audit_items(
        &self,
        events: &[AuditKey],
        entity: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Vec<AuditItem>>, StoreError> {
        Ok(audit_log::items(&self.connections, events, entity, limit).await?)
    }

    fn commit_stamp(&self) -> Result<CommitStamp, StoreError> {
        Ok(self.stamp.read())
    }

    fn commit_stamp_of(&self, entity_types: &[&str]) -> Result<CommitStamp, StoreError> {
        Ok(self.stamp.read_of(entity_types))
    }

    async fn commit_stamp_exact(&self) -> Result<CommitStamp, StoreError> {
        let newest = log::bring_up(&self.connections).await?;
        Ok(CommitStamp::new(newest.get().cast_unsigned()))
    }
}

#[async_trait]
impl StoreWriter for PostgresStore {
    async fn is_writable(&self) -> Result<bool, StoreError> {
        Ok(!outage::is_read_only(&self.connections).await?)
    }

    async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
        let (connections, stamp) = (Arc::clone(&self.connections), Arc::clone(&self.stamp));
        // A caller that disconnects while it waits cancels its work.
        let lease = connections.lease().await?;
        // Later the work runs to its end, whether or not the caller waits.
        let running = async move {
            let committed = run::run(&connections, lease, body).await?;
            stamp.committed(&committed);
            Ok(())
        };
        let running = async { tokio::spawn(spent::inherited(running)).await };
        let ran = spent::timed(|spent| &spent.transactions, running).await;
        ran.map_err(StoreError::other)?
    }
}

#[async_trait]
impl StoreMaintenance for PostgresStore {
    fn engine(&self) -> &'static str {
        "PostgreSQL"
    }

    async fn size_bytes(&self) -> Result<u64, StoreError> {
        Ok(transfer::size_bytes(&self.connections).await?)
    }

    fn measurements(&self) -> StoreMeasurements {
        StoreMeasurements {
            writer: None,
            pool: Some(self.connections.measurements()),
        }
    }

    async fn export_count(&self) -> Result<u64, StoreError> {
        Ok(transfer::count(&self.connections).await?)
    }

    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError> {
        Ok(transfer::aspects(&self.connections, after, limit).await?)
    }

    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError> {
        Ok(transfer::points(&self.connections, after, limit).await?)
    }

    async fn retired_versions_export(
        &self,
        after: Option<&RawRetiredVersion>,
        limit: usize,
    ) -> Result<Vec<RawRetiredVersion>, StoreError> {
        Ok(transfer::retired(&self.connections, after, limit).await?)
    }

    async fn retired_versions_import(
        &self,
        retired: Vec<RawRetiredVersion>,
    ) -> Result<(), StoreError> {
        Ok(transfer::import_retired(&self.connections, retired).await?)
    }

    async fn audit_export(
        &self,
        after: Option<AuditKey>,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        Ok(audit_log::export(&self.connections, after, limit).await?)
    }

    async fn audit_import(&self, records: Vec<AuditRecord>) -> Result<(), StoreError> {
        Ok(audit_log::import(&self.connections, &records).await?)
    }

    async fn audit_prune(&self, before_ms: EpochMillis, limit: usize) -> Result<u64, StoreError> {
        Ok(audit_log::prune(&self.connections, before_ms, limit).await?)
    }

    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError> {
        Ok(transfer::import(&self.connections, aspects, points).await?)
    }

    async fn rebuild(
        &self,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError> {
        Ok(rebuild::rebuild(&self.connections, &mut *progress).await?)
    }

    async fn backup(
        &self,
        target: &Path,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError> {
        Ok(backup::backup(&self.connections, target, &mut *progress).await?)
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        Ok(check::check(&self.connections).await?)
    }
}
