//! The rows that cross the boundary between the catalog and the engines.

use std::sync::Arc;

use docent_model::{AspectName, Derived, EpochMillis, LogicalVersion, Registry, Urn};

use crate::{LogPosition, RowVersion};

/// The key of an aspect.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AspectKey {
    pub urn: Urn,
    pub aspect: AspectName,
}

impl AspectKey {
    pub fn new(urn: &Urn, aspect: AspectName) -> Self {
        Self {
            urn: urn.clone(),
            aspect,
        }
    }

    /// The key aspect of an entity, which every existing entity has; `None` if the registry does
    /// not know the type.
    pub fn of_entity(urn: &Urn) -> Option<Self> {
        let entity = Registry::get().stored_entity(urn.entity_type())?;
        Some(Self::new(urn, entity.key_aspect))
    }
}

/// The key of one version of an aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionKey {
    pub key: AspectKey,
    pub version: LogicalVersion,
}

/// A row of the aspect table without its key. `metadata` is the JSON text exactly as it was
/// written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAspect {
    pub version: RowVersion,
    pub metadata: String,
    pub system_metadata: Option<String>,
    pub created_on_ms: EpochMillis,
    pub created_by: String,
    pub created_for: Option<String>,
}

impl StoredAspect {
    /// How many bytes the value has, with its system metadata.
    pub fn value_bytes(&self) -> u64 {
        value_bytes(&self.metadata, self.system_metadata.as_deref())
    }
}

fn value_bytes(metadata: &str, system_metadata: Option<&str>) -> u64 {
    (metadata.len() + system_metadata.map_or(0, str::len)) as u64
}

/// An entity with the texts of its latest aspects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTexts {
    pub urn: Urn,
    pub aspects: Vec<(AspectName, String)>,
}

/// The row of a key, if there is one. Engines may share one row between callers.
pub type AspectRow = Option<Arc<StoredAspect>>;

/// A write to one aspect, decided by [`crate::version`] or by the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct AspectWrite {
    pub key: AspectKey,
    pub effect: Effect,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Replaces the latest row and the derived rows, and logs the change. The previous row becomes
    /// `history`; history rows through `prune_through` are deleted.
    Put {
        row: StoredAspect,
        history: Option<StoredAspect>,
        prune_through: Option<RowVersion>,
        derived: Derived,
        /// The logical version of `row`, for the log.
        logical_version: LogicalVersion,
        /// The ingestion run, for the log: that of `row`, or that of the write from which this one
        /// follows.
        run: Option<String>,
    },
    /// Replaces the system metadata of the latest row. Not logged.
    Touch { system_metadata: String },
    /// Replaces the latest row by the content of an earlier version, and the derived rows, and logs
    /// the change. History rows after `keep_through` are deleted.
    Revert {
        row: StoredAspect,
        /// The earlier version, which stays in the history.
        keep_through: RowVersion,
        /// The logical version of `row`, for the log.
        logical_version: LogicalVersion,
        derived: Derived,
    },
    /// Deletes all versions, all points of a time series and all derived rows; logged with this
    /// time and actor.
    Delete {
        /// The version that [`crate::Transaction::retired_versions`] returns from now on; `None`
        /// clears it.
        retired_version: Option<LogicalVersion>,
        time_ms: EpochMillis,
        actor: String,
    },
    /// Adds a point of a time series, or replaces the one with the same time and id.
    Timeseries(TimeseriesRow),
    /// Deletes the points of a time series in this range. Not logged.
    DeletePoints(PointRange),
}

/// A point of a time series aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeseriesRow {
    pub time_ms: EpochMillis,
    /// Distinguishes points of the same time, see [`docent_model::point_id`].
    pub id: String,
    pub metadata: String,
    pub system_metadata: Option<String>,
}

impl TimeseriesRow {
    /// How many bytes the value has, with its system metadata.
    pub fn value_bytes(&self) -> u64 {
        value_bytes(&self.metadata, self.system_metadata.as_deref())
    }
}

/// A point of a time series aspect among those of all entities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointKey {
    pub urn: Urn,
    pub time_ms: EpochMillis,
    /// See [`TimeseriesRow::id`].
    pub id: String,
}

/// A point, with the bytes of its value and system metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointSize {
    pub key: PointKey,
    pub bytes: u64,
}

/// A filter for points of a time series; `None` does not filter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointRange {
    /// The first time of the range.
    pub from_ms: Option<EpochMillis>,
    /// The last time of the range.
    pub through_ms: Option<EpochMillis>,
    /// Only points of this ingestion run.
    pub run: Option<String>,
}

/// An ingestion run that wrote or confirmed the latest version of some aspects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub id: String,
    /// The number of those aspects.
    pub rows: u64,
    /// When it observed the last of them.
    pub time_ms: EpochMillis,
}

/// An aspect whose latest version a run wrote or confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAspect {
    pub key: AspectKey,
    /// When the run observed it.
    pub time_ms: EpochMillis,
    pub system_metadata: String,
}

/// An entry of the change log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub position: LogPosition,
    pub key: AspectKey,
    pub kind: LogEntryKind,
    /// The logical version after the change; `None` for a deletion.
    pub logical_version: Option<LogicalVersion>,
    pub time_ms: EpochMillis,
    pub actor: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEntryKind {
    Put,
    Delete,
}

/// A page of a list of `total` items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    pub total: usize,
    pub items: Vec<T>,
}

/// The other end of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RelatedEntity {
    pub relationship: String,
    pub urn: Urn,
    /// The aspect of the edge's source that the edge is derived from.
    pub aspect: AspectName,
}

/// A row of the aspect table with its key, for export and import. Nothing about it is validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAspect {
    pub urn: String,
    pub aspect: String,
    pub row: StoredAspect,
}

/// The last version of an aspect that a rollback deleted, for export and import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRetiredVersion {
    pub urn: String,
    pub aspect: String,
    pub version: LogicalVersion,
}

/// A point of a time series with its key, for export and import. Nothing about it is validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPoint {
    pub urn: String,
    pub aspect: String,
    pub point: TimeseriesRow,
}
