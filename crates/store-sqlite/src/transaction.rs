//! [`Transaction`] on SQLite. Nothing here waits: every future is ready when it is first polled.

use async_trait::async_trait;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::fields::urn_range;
use docent_store::spent::ShortPart;
use docent_store::{
    AspectKey, AspectWrite, AuditRecord, Effect, LogicalVersion, PointRange, RelatedEntity,
    RowVersion, StoreError, StoredAspect, TimeseriesRow, Transaction,
};
use rusqlite::{Connection, params};

use crate::error::EngineError;
use crate::read::{ASPECTS, as_limit, urn_at};
use crate::{audit_log, derived, edges, placements, points, read};

macro_rules! insert_row {
    () => {
        "INSERT INTO metadata_aspect_v2 \
         (urn,aspect,version,metadata,systemmetadata,createdon,createdby,createdfor) \
         VALUES (?1,?2,?3,?4,?5,?6,?7,?8)"
    };
}

/// Borrows the writer's connection for one transaction.
pub(crate) struct SqliteTransaction<'c> {
    connection: &'c mut Connection,
    /// A list of writes failed halfway. Such a transaction is never committed, even if its body
    /// ignores the error.
    pub(crate) failed: bool,
}

impl<'c> SqliteTransaction<'c> {
    pub(crate) fn new(connection: &'c mut Connection) -> Self {
        Self {
            connection,
            failed: false,
        }
    }
}

/// Runs what a call does, in most cases one statement, and adds it to what the request spends.
fn measured<T>(statement: impl FnOnce() -> T) -> T {
    let part = ShortPart::begin();
    let result = statement();
    part.end(|spent| &spent.statements);
    result
}

#[async_trait]
impl Transaction for SqliteTransaction<'_> {
    async fn aspects_get(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<StoredAspect>>, StoreError> {
        let read = |key| read::latest(self.connection, key);
        Ok(measured(|| {
            keys.iter().map(read).collect::<Result<_, _>>()
        })?)
    }

    async fn aspect_names(&mut self, urn: &Urn) -> Result<Vec<AspectName>, StoreError> {
        let read = || read::aspect_names(self.connection, urn);
        Ok(measured(read)?)
    }

    async fn latest_versions(
        &mut self,
        urn: &Urn,
    ) -> Result<Vec<(AspectName, LogicalVersion)>, StoreError> {
        let read = || read::latest_versions(self.connection, urn);
        Ok(measured(read)?)
    }

    async fn rows_count(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<(u64, u64), StoreError> {
        let read = || read::rows_count(self.connection, urn, aspect);
        Ok(measured(read)?)
    }

    async fn aspect_history(&mut self, key: &AspectKey) -> Result<Vec<StoredAspect>, StoreError> {
        let read = || read::history(self.connection, key);
        Ok(measured(read)?)
    }

    async fn retired_versions(
        &mut self,
        keys: &[AspectKey],
    ) -> Result<Vec<Option<LogicalVersion>>, StoreError> {
        let read = |key| read::retired_version(self.connection, key);
        Ok(measured(|| {
            keys.iter().map(read).collect::<Result<_, _>>()
        })?)
    }

    async fn points_count(
        &mut self,
        key: &AspectKey,
        range: &PointRange,
    ) -> Result<u64, StoreError> {
        let read = || points::count(self.connection, key, range);
        Ok(measured(read)?)
    }

    async fn placement_parent(&mut self, urn: &Urn) -> Result<Option<Option<Urn>>, StoreError> {
        let read = || placements::parent_of(self.connection, urn);
        Ok(measured(read)?)
    }

    async fn placements_named(
        &mut self,
        kind: &str,
        parent: Option<&Urn>,
        name: &str,
    ) -> Result<Vec<Urn>, StoreError> {
        let read = || placements::named(self.connection, kind, parent, name);
        Ok(measured(read)?)
    }

    async fn placement_children(
        &mut self,
        kind: &str,
        parents: &[Urn],
        limit: usize,
    ) -> Result<Vec<Urn>, StoreError> {
        let read = || placements::children(self.connection, kind, parents, limit);
        Ok(measured(read)?)
    }

    async fn edges_into(
        &mut self,
        destination: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<RelatedEntity>, StoreError> {
        let read = || edges::into(self.connection, destination, aspect, limit);
        Ok(measured(read)?)
    }

    async fn texts_list(
        &mut self,
        entity_type: &str,
        aspect: AspectName,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<(Urn, String)>, StoreError> {
        let read = || texts(self.connection, entity_type, aspect, after, limit);
        Ok(measured(read)?)
    }

    async fn lock(&mut self, _: &str) -> Result<(), StoreError> {
        // There is one writer.
        Ok(())
    }

    async fn write(&mut self, writes: &[AspectWrite]) -> Result<(), StoreError> {
        for write in writes {
            if let Err(error) = measured(|| execute(self.connection, write)) {
                self.failed = true;
                return Err(error.into());
            }
        }
        Ok(())
    }

    async fn audit(&mut self, record: &AuditRecord) -> Result<(), StoreError> {
        measured(|| audit_log::insert(self.connection, record)).map_err(|error| {
            self.failed = true;
            error.into()
        })
    }
}

/// The latest texts of an aspect, of entities of a type.
fn texts(
    connection: &Connection,
    entity_type: &str,
    aspect: AspectName,
    after: Option<&Urn>,
    limit: usize,
) -> Result<Vec<(Urn, String)>, EngineError> {
    let (first, end) = urn_range(entity_type);
    let after = after.map_or(first.as_str(), Urn::as_str).max(&first);
    let mut statement = connection.prepare_cached(
        "SELECT urn, metadata FROM metadata_aspect_v2 \
         WHERE urn>?1 AND urn<?2 AND aspect=?3 AND version=0 ORDER BY urn LIMIT ?4",
    )?;
    let mut rows = statement.query(params![after, end, aspect.as_str(), as_limit(limit)])?;
    let mut texts = Vec::new();
    while let Some(row) = rows.next()? {
        texts.push((urn_at(row, 0, ASPECTS, "urn")?, row.get(1)?));
    }
    Ok(texts)
}

fn execute(connection: &Connection, write: &AspectWrite) -> Result<(), EngineError> {
    let key = &write.key;
    match &write.effect {
        Effect::Put {
            row,
            history,
            prune_through,
            derived,
            logical_version,
            run,
        } => {
            if let Some(history) = history {
                insert_history(connection, key, history)?;
            }
            put_latest(connection, key, row)?;
            if let Some(prune_through) = prune_through {
                connection
                    .prepare_cached(
                        "DELETE FROM metadata_aspect_v2 \
                         WHERE urn=?1 AND aspect=?2 AND version BETWEEN 1 AND ?3",
                    )?
                    .execute(params![
                        key.urn.as_str(),
                        key.aspect.as_str(),
                        prune_through.get()
                    ])?;
            }
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            if history.is_none() {
                // A new aspect has no derived rows yet.
                derived::insert(connection, urn, aspect, derived)?;
            } else {
                derived::replace(connection, urn, aspect, derived)?;
            }
            log(
                connection,
                key,
                NewLogEntry::put(row, *logical_version, run.clone()),
            )
        }
        Effect::Touch { system_metadata } => {
            connection
                .prepare_cached(
                    "UPDATE metadata_aspect_v2 SET systemmetadata=?3 \
                     WHERE urn=?1 AND aspect=?2 AND version=0",
                )?
                .execute((key.urn.as_str(), key.aspect.as_str(), system_metadata))?;
            Ok(())
        }
        Effect::Revert {
            row,
            keep_through,
            logical_version,
            derived,
        } => {
            let (urn, aspect) = (key.urn.as_str(), key.aspect.as_str());
            put_latest(connection, key, row)?;
            connection
                .prepare_cached(
                    "DELETE FROM metadata_aspect_v2 WHERE urn=?1 AND aspect=?2 AND version>?3",
                )?
                .execute(params![urn, aspect, keep_through.get()])?;
            derived::replace(connection, urn, aspect, derived)?;
            log(
                connection,
                key,
                NewLogEntry::put(row, *logical_version, None),
            )
        }
        Effect::Delete {
            retired_version,
            time_ms,
            actor,
        } => {
            for sql in [
                "DELETE FROM metadata_aspect_v2 WHERE urn=?1 AND aspect=?2",
                "DELETE FROM timeseries WHERE urn=?1 AND aspect=?2",
                "DELETE FROM retired_version WHERE urn=?1 AND aspect=?2",
            ] {
                connection
                    .prepare_cached(sql)?
                    .execute((key.urn.as_str(), key.aspect.as_str()))?;
            }
            derived::remove(connection, key)?;
            if let Some(version) = retired_version {
                retire(connection, key, *version)?;
            }
            let entry = NewLogEntry {
                kind: "delete",
                logical_version: None,
                time_ms: *time_ms,
                actor,
                run: None,
            };
            log(connection, key, entry)
        }
        Effect::Timeseries(point) => put_point(connection, key, point),
        Effect::DeletePoints(range) => points::delete(connection, key, range),
    }
}

fn put_latest(
    connection: &Connection,
    key: &AspectKey,
    row: &StoredAspect,
) -> Result<(), EngineError> {
    insert(
        connection,
        concat!(
            insert_row!(),
            " ON CONFLICT (urn,aspect,version) DO UPDATE SET metadata=excluded.metadata, \
             systemmetadata=excluded.systemmetadata, createdon=excluded.createdon, \
             createdby=excluded.createdby, createdfor=excluded.createdfor"
        ),
        key,
        RowVersion::LATEST,
        row,
    )?;
    Ok(())
}

/// Inserts a history row; an existing one is never overwritten, even if a damaged row claims its
/// version.
fn insert_history(
    connection: &Connection,
    key: &AspectKey,
    row: &StoredAspect,
) -> Result<(), EngineError> {
    let version = row.version;
    let sql = concat!(
        insert_row!(),
        " ON CONFLICT (urn,aspect,version) DO NOTHING"
    );
    if version.is_history() && insert(connection, sql, key, version, row)? == 1 {
        return Ok(());
    }
    Err(EngineError::Store(StoreError::Corrupt {
        table: read::ASPECTS,
        column: "version",
        key: key.urn.to_string(),
        reason: format!(
            "the latest {} claims version {version}, which is already in its history",
            key.aspect
        ),
    }))
}

/// Returns the number of inserted rows.
fn insert(
    connection: &Connection,
    sql: &str,
    key: &AspectKey,
    version: RowVersion,
    row: &StoredAspect,
) -> Result<usize, EngineError> {
    Ok(connection.prepare_cached(sql)?.execute(params![
        key.urn.as_str(),
        key.aspect.as_str(),
        version.get(),
        row.metadata,
        row.system_metadata,
        row.created_on_ms,
        row.created_by,
        row.created_for
    ])?)
}

/// Stores the last version of an aspect that a rollback deletes.
fn retire(
    connection: &Connection,
    key: &AspectKey,
    version: LogicalVersion,
) -> Result<(), EngineError> {
    connection
        .prepare_cached("INSERT INTO retired_version (urn,aspect,version) VALUES (?1,?2,?3)")?
        .execute(params![
            key.urn.as_str(),
            key.aspect.as_str(),
            version.get()
        ])?;
    Ok(())
}

fn put_point(
    connection: &Connection,
    key: &AspectKey,
    point: &TimeseriesRow,
) -> Result<(), EngineError> {
    connection
        .prepare_cached(
            "INSERT INTO timeseries (urn,aspect,time_ms,id,metadata,systemmetadata) \
             VALUES (?1,?2,?3,?4,?5,?6) ON CONFLICT (urn,aspect,time_ms,id) \
             DO UPDATE SET metadata=excluded.metadata, systemmetadata=excluded.systemmetadata",
        )?
        .execute(params![
            key.urn.as_str(),
            key.aspect.as_str(),
            point.time_ms,
            point.id,
            point.metadata,
            point.system_metadata
        ])?;
    Ok(())
}

/// An entry of the change log without its key.
struct NewLogEntry<'e> {
    kind: &'static str,
    logical_version: Option<LogicalVersion>,
    time_ms: EpochMillis,
    actor: &'e str,
    run: Option<String>,
}

impl<'e> NewLogEntry<'e> {
    fn put(row: &'e StoredAspect, version: LogicalVersion, run: Option<String>) -> Self {
        Self {
            kind: "put",
            logical_version: Some(version),
            time_ms: row.created_on_ms,
            actor: &row.created_by,
            run,
        }
    }
}

fn log(
    connection: &Connection,
    key: &AspectKey,
    entry: NewLogEntry<'_>,
) -> Result<(), EngineError> {
    let NewLogEntry {
        kind,
        logical_version,
        time_ms,
        actor,
        run,
    } = entry;
    connection
        .prepare_cached(
            "INSERT INTO change_log (urn,aspect,kind,logical_version,time_ms,actor,run) \
             VALUES (?1,?2,?3,?4,?5,?6,?7)",
        )?
        .execute(params![
            key.urn.as_str(),
            key.aspect.as_str(),
            kind,
            logical_version.map_or(0, LogicalVersion::get),
            time_ms,
            actor,
            run
        ])?;
    Ok(())
}
