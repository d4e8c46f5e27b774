//! The store on one SQLite file: the default engine.
//!
//! One thread writes and commits in groups (`writer`), a few connections read beside it (`readers`); SQLite's
//! write-ahead log lets both go on at once. Point reads run in place on the caller's thread, because they take a few
//! microseconds; whatever may take longer goes to a thread that may block.
//!
//! This crate speaks SQL and decides nothing: what a write does to versions, history and derived rows is handed
//! to it (`docent_store::version`, `docent_model::derive`).
//!
//! To add a query: its statement in `read`, its method in [`SqliteStore`], its test in the conformance suite. To
//! change the schema: `migrations`.

mod backup;
mod check;
mod connection;
mod derived;
mod error;
mod lock;
mod migrations;
mod path;
mod placements;
mod points;
mod read;
mod readers;
mod rebuild;
mod recent;
mod runs;
mod stamp;
mod transaction;
mod transfer;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use docent_model::{AspectName, Urn};
use docent_store::{
    AspectKey, Change, EntityTexts, MixedRows, Page, PointRange, RawAspect, RawPoint, RawRetired,
    RebuildReport, Related, Row, Run, RunAspect, Store, StoreError, StoredAspect, TimeseriesRow,
    Work,
};
use rusqlite::Connection;

use crate::connection::SMALL_CACHE_KIB;
use crate::error::EngineError;
use crate::lock::ServerLock;
use crate::readers::Readers;
use crate::recent::RecentRows;
use crate::stamp::{CommitStamp, LogIndex};
use crate::writer::{Log, Writer};

pub use backup::{BACKUP_START, restore};
pub use check::check_file;
pub use path::real_path;
pub use writer::WriterStatistics;

/// Reads of more rows than this leave the caller's thread.
const IN_PLACE_ROWS: usize = 64;

/// How to open a database.
#[derive(Debug, Clone, Copy)]
pub struct OpenOptions {
    /// For a server: no other server may use the file. Commands leave it off and work beside a running server.
    pub exclusive: bool,
    /// Makes the file if there is none.
    pub create: bool,
    /// How many connections read.
    pub readers: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            exclusive: true,
            create: true,
            readers: cores.clamp(2, 8),
        }
    }
}

/// A SQLite file as a [`Store`]. Dropping it finishes the queued writes.
#[derive(Debug)]
pub struct SqliteStore {
    // Fields are dropped from the top: the connection that may write closes last, so that SQLite can put its log
    // away; then the file beside the database may close, and then the lock goes.
    readers: Arc<Readers>,
    recent: RecentRows,
    stamp: Arc<CommitStamp>,
    writer: Writer,
    _log_index: Option<LogIndex>,
    path: PathBuf,
    _lock: Option<ServerLock>,
}

impl SqliteStore {
    /// Opens the database and brings its schema up to date. Refuses one that a newer docent wrote.
    pub fn open(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let path = real_path(path);
        if options.create {
            path::make_file(&path)?;
        } else {
            path::expect_file(&path)?;
        }
        let lock = if options.exclusive {
            Some(ServerLock::take(&path)?)
        } else {
            lock::expect_one_name(&path)?;
            None
        };
        Ok(Self::open_locked(path, options, lock)?)
    }

    fn open_locked(
        path: PathBuf,
        options: OpenOptions,
        lock: Option<ServerLock>,
    ) -> Result<Self, EngineError> {
        let writing = connection::open_writer(&path)?;
        let log_index = options
            .exclusive
            .then(|| LogIndex::open(&path))
            .transpose()?;
        migrations::migrate(&writing, &path)?;
        let stamp = Arc::new(match &log_index {
            Some(index) => CommitStamp::Log(index.clone()),
            None => CommitStamp::asked(&path)?,
        });
        let readers = Readers::open(&path, options.readers, Arc::clone(&stamp))?;
        let readers = Arc::new(readers);
        let log = Log {
            stamp: Arc::clone(&stamp),
            readers: Arc::clone(&readers),
            place: lock.as_ref().map(|lock| lock.place().clone()),
        };
        Ok(Self {
            readers,
            recent: RecentRows::new(),
            stamp,
            writer: Writer::start(writing, log)?,
            _log_index: log_index,
            path,
            _lock: lock,
        })
    }

    /// How well the writer groups: pieces of work against commits.
    pub fn writer_statistics(&self) -> WriterStatistics {
        self.writer.statistics()
    }

    /// A few latest rows, and whether each witness is there: from memory if nothing was committed since they were read.
    fn read_in_place(
        &self,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
    ) -> Result<(Vec<Row>, Vec<bool>), EngineError> {
        let stamp = self.stamp.if_cheap()?;
        if let Some(stamp) = stamp
            && let Some(rows) = self.recent.get(keys, stamp)
            && witnesses
                .iter()
                .all(|witness| read::speaks_for(keys, &rows, witness))
        {
            return Ok((rows, vec![true; witnesses.len()]));
        }
        let (rows, exist) = self.readers.snapshot_since(stamp, |connection| {
            read::witnessed(connection, keys, witnesses)
        })?;
        // The snapshot may be newer than the stamp, unless that is still the same.
        if let Some(stamp) = stamp
            && self.stamp.read()? == stamp
        {
            self.recent.keep(keys, &rows, stamp);
        }
        Ok((rows, exist))
    }

    /// Runs a read in place, or on a thread that may block if it is long.
    async fn read<T: Send + 'static>(
        &self,
        long: bool,
        read: impl FnOnce(&Connection) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if !long {
            return Ok(self.readers.snapshot(read)?);
        }
        let readers = Arc::clone(&self.readers);
        blocking(move || readers.snapshot(read)).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn aspects_read(&self, keys: &[AspectKey]) -> Result<Vec<Row>, StoreError> {
        if keys.len() <= IN_PLACE_ROWS {
            return Ok(self.read_in_place(keys, &[])?.0);
        }
        let keys = keys.to_vec();
        self.read(true, move |connection| read::latest_of(connection, &keys))
            .await
    }

    async fn aspects_read_witnessed(
        &self,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
    ) -> Result<(Vec<Row>, Vec<bool>), StoreError> {
        if keys.len() + witnesses.len() <= IN_PLACE_ROWS {
            return Ok(self.read_in_place(keys, witnesses)?);
        }
        let (keys, witnesses) = (keys.to_vec(), witnesses.to_vec());
        self.read(true, move |connection| {
            read::witnessed(connection, &keys, &witnesses)
        })
        .await
    }

    async fn aspect_read_version(
        &self,
        key: &AspectKey,
        version: i64,
    ) -> Result<Option<StoredAspect>, StoreError> {
        let read = |connection: &Connection| read::version(connection, key, version);
        Ok(self.readers.snapshot(read)?)
    }

    async fn histories_read(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Vec<StoredAspect>>, StoreError> {
        let keys = keys.to_vec();
        self.read(true, move |connection| {
            keys.iter()
                .map(|key| read::versions(connection, key))
                .collect()
        })
        .await
    }

    async fn entities_read(
        &self,
        urns: &[Urn],
    ) -> Result<Vec<Vec<(AspectName, StoredAspect)>>, StoreError> {
        // An entity has some ten aspects.
        let long = urns.len() > IN_PLACE_ROWS / 10;
        let urns = urns.to_vec();
        self.read(long, move |connection| read::entities(connection, &urns))
            .await
    }

    async fn mixed_read(
        &self,
        keys: &[AspectKey],
        witnesses: &[AspectKey],
        urns: &[Urn],
    ) -> Result<MixedRows, StoreError> {
        let long = keys.len() + witnesses.len() + urns.len() * 10 > IN_PLACE_ROWS;
        let (keys, witnesses, urns) = (keys.to_vec(), witnesses.to_vec(), urns.to_vec());
        self.read(long, move |connection| {
            let (rows, exist) = read::witnessed(connection, &keys, &witnesses)?;
            Ok(MixedRows {
                rows,
                exist,
                entities: read::entities(connection, &urns)?,
            })
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
        self.read(true, move |connection| {
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
        self.read(true, move |connection| {
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
    ) -> Result<Page<Urn>, StoreError> {
        // Counting takes as long as there are entities.
        let (kind, parent) = (kind.to_owned(), parent.cloned());
        self.read(true, move |connection| {
            placements::below(connection, &kind, parent.as_ref(), start, limit)
        })
        .await
    }

    async fn placement_ancestors(
        &self,
        urns: &[Urn],
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, StoreError> {
        let long = urns.len() > IN_PLACE_ROWS / 4;
        let urns = urns.to_vec();
        self.read(long, move |connection| {
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
        start: usize,
        limit: usize,
    ) -> Result<Vec<Page<Related>>, StoreError> {
        // What an entity points at stands in one aspect or another; who points at it may be everybody.
        let long = !outgoing || urns.len() > IN_PLACE_ROWS / 10;
        let urns = urns.to_vec();
        let relationships: Vec<String> = relationships.iter().map(ToString::to_string).collect();
        self.read(long, move |connection| {
            let relationships: Vec<&str> = relationships.iter().map(String::as_str).collect();
            urns.iter()
                .map(|urn| read::edges(connection, urn, outgoing, &relationships, start, limit))
                .collect()
        })
        .await
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        // Those of a run are found by looking at all.
        let long = start.saturating_add(limit) > IN_PLACE_ROWS || range.run.is_some();
        let (key, range) = (key.clone(), range.clone());
        self.read(long, move |connection| {
            points::list(connection, &key, &range, newest_first, start, limit)
        })
        .await
    }

    async fn timeseries_latest(
        &self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<TimeseriesRow>>, StoreError> {
        let long = keys.len() > IN_PLACE_ROWS;
        let keys = keys.to_vec();
        self.read(long, move |connection| points::latest(connection, &keys))
            .await
    }

    async fn runs_list(
        &self,
        include_removed: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        self.read(true, move |connection| {
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
        self.read(true, move |connection| {
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
        self.read(true, move |connection| {
            runs::timeseries(connection, &run, limit)
        })
        .await
    }

    async fn run_points_count(&self, run: &str) -> Result<u64, StoreError> {
        let run = run.to_owned();
        self.read(true, move |connection| runs::points_count(connection, &run))
            .await
    }

    async fn aspects_count(
        &self,
        aspect: AspectName,
        urn_like: Option<&str>,
    ) -> Result<u64, StoreError> {
        let urn_like = urn_like.map(str::to_owned);
        self.read(true, move |connection| {
            read::aspects_count(connection, aspect, urn_like.as_deref())
        })
        .await
    }

    async fn changes_read(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.read(limit > IN_PLACE_ROWS, move |connection| {
            read::changes(connection, after, limit)
        })
        .await
    }

    async fn change_newest(&self) -> Result<Option<Change>, StoreError> {
        self.read(false, read::newest_change).await
    }

    fn commit_stamp(&self) -> Result<u64, StoreError> {
        Ok(self.stamp.read()?)
    }

    async fn run(&self, work: Box<dyn Work>) -> Result<(), StoreError> {
        self.writer.run(work).await
    }

    async fn export_count(&self) -> Result<u64, StoreError> {
        self.read(true, transfer::count).await
    }

    async fn aspects_export(
        &self,
        after: Option<&RawAspect>,
        limit: usize,
    ) -> Result<Vec<RawAspect>, StoreError> {
        let after = after.cloned();
        self.read(true, move |connection| {
            transfer::aspects(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn points_export(
        &self,
        after: Option<&RawPoint>,
        limit: usize,
    ) -> Result<Vec<RawPoint>, StoreError> {
        let after = after.cloned();
        self.read(true, move |connection| {
            transfer::points(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn retired_export(
        &self,
        after: Option<&RawRetired>,
        limit: usize,
    ) -> Result<Vec<RawRetired>, StoreError> {
        let after = after.cloned();
        self.read(true, move |connection| {
            transfer::retired(connection, after.as_ref(), limit)
        })
        .await
    }

    async fn retired_import(&self, retired: Vec<RawRetired>) -> Result<(), StoreError> {
        self.writer
            .run_alone(move |connection| transfer::import_retired(connection, &retired))
            .await
    }

    async fn import(
        &self,
        aspects: Vec<RawAspect>,
        points: Vec<RawPoint>,
    ) -> Result<(), StoreError> {
        self.writer
            .run_alone(move |connection| transfer::import(connection, &aspects, &points))
            .await
    }

    async fn rebuild(
        &self,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<RebuildReport, StoreError> {
        self.writer
            .run_alone(move |connection| rebuild::rebuild(connection, &mut *progress))
            .await
    }

    async fn backup(
        &self,
        target: &Path,
        mut progress: Box<dyn FnMut(u64, u64) + Send>,
    ) -> Result<(), StoreError> {
        let (source, target) = (self.path.clone(), target.to_owned());
        blocking(move || backup::backup(&source, &target, &mut *progress)).await
    }

    async fn check(&self) -> Result<Vec<String>, StoreError> {
        let path = self.path.clone();
        blocking(move || check::check(&connection::open_reader(&path, SMALL_CACHE_KIB)?)).await
    }
}

async fn blocking<T: Send + 'static>(
    task: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, StoreError> {
    let ended = tokio::task::spawn_blocking(task).await;
    Ok(ended.map_err(StoreError::other)??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_connection_that_writes_syncs_every_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("docent.db");
        for exclusive in [true, false] {
            let options = OpenOptions {
                exclusive,
                ..OpenOptions::default()
            };
            let store = SqliteStore::open(&path, options).unwrap();
            let ask = |pragma: &'static str| {
                store.writer.run_alone(move |connection| {
                    Ok(connection.query_row(pragma, [], |row| row.get::<_, i64>(0))?)
                })
            };
            // 2 is FULL: the log is on the disk before a commit is acknowledged. With NORMAL, which is 1, the last
            // commits are lost with the power.
            assert_eq!(ask("PRAGMA synchronous").await.unwrap(), 2);
            assert_eq!(ask("PRAGMA wal_autocheckpoint").await.unwrap(), 0);
        }
    }
}
