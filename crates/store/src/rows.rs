//! The rows that cross the border.

use std::sync::Arc;

use docent_model::{AspectName, Derived, EpochMillis, LogicalVersion, Registry, Urn};

use crate::{LogPosition, RowVersion};

/// Which aspect of which entity.
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

    /// The key aspect, which every entity has that exists; `None` of a kind that the registry does not know.
    pub fn of_entity(urn: &Urn) -> Option<Self> {
        let entity = Registry::get().entity(urn.entity_type())?;
        Some(Self::new(urn, entity.key_aspect))
    }
}

/// A row of the aspect table without its key. `metadata` is the JSON text exactly as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAspect {
    pub version: RowVersion,
    pub metadata: String,
    pub system_metadata: Option<String>,
    pub created_on_ms: EpochMillis,
    pub created_by: String,
    pub created_for: Option<String>,
}

/// The texts of the latest aspects of an entity, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityTexts {
    pub urn: Urn,
    pub aspects: Vec<(AspectName, String)>,
}

/// What is stored under a key. Engines may give out one row to several callers.
pub type Row = Option<Arc<StoredAspect>>;

/// One change to one aspect, decided by [`crate::version`] or by the catalog; the engine only carries it out.
#[derive(Debug, Clone, PartialEq)]
pub struct AspectWrite {
    pub key: AspectKey,
    pub effect: Effect,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Row 0 becomes `row`; what it was is kept as `history` under its logical version, history rows up to `prune_through` go; the rows derived
    /// from the aspect are replaced and the change is logged.
    Put {
        row: StoredAspect,
        history: Option<StoredAspect>,
        prune_through: Option<RowVersion>,
        derived: Derived,
        /// The logical version that `row` has, for the log.
        logical_version: LogicalVersion,
    },
    /// The value stays; only what the server notes about it changes. Not logged.
    Touch { system_metadata: String },
    /// Row 0 becomes `row`, which says again what a former version said; history rows behind `keep_through` go. The rows
    /// derived from the aspect are replaced and the change is logged.
    Revert {
        row: StoredAspect,
        /// The former version, which stays in the history.
        keep_through: RowVersion,
        /// The logical version that `row` has, for the log.
        logical_version: LogicalVersion,
        derived: Derived,
    },
    /// All versions, all points of a time series and all derived rows go; logged with this time and actor.
    Delete {
        /// The version to remember for [`crate::Transaction::retired_versions`]; `None` forgets one from before, too.
        retired_version: Option<LogicalVersion>,
        time_ms: EpochMillis,
        actor: String,
    },
    /// A point of a time series is added, or replaces the one with the same time and id.
    Timeseries(TimeseriesRow),
    /// The points of a time series in this range go. Not logged.
    DeletePoints(PointRange),
}

/// A point of a time series aspect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeseriesRow {
    pub time_ms: EpochMillis,
    /// Tells apart points of the same time, see [`docent_model::point_id`].
    pub id: String,
    pub metadata: String,
    pub system_metadata: Option<String>,
}

/// Which points of a time series; what is `None` does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointRange {
    /// The first time that counts.
    pub from_ms: Option<EpochMillis>,
    /// The last time that counts.
    pub through_ms: Option<EpochMillis>,
    /// Only points of this ingestion run.
    pub run: Option<String>,
}

/// An ingestion run that wrote or confirmed the latest version of some aspects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub id: String,
    /// How many aspects have it as their last.
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

/// An entry of the change log. Positions grow in commit order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub position: LogPosition,
    pub key: AspectKey,
    pub kind: ChangeKind,
    /// The logical version after the change; `None` for a deletion.
    pub logical_version: Option<LogicalVersion>,
    pub time_ms: EpochMillis,
    pub actor: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Put,
    Delete,
}

/// Part of a longer list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub total: usize,
    pub items: Vec<T>,
}

/// The other end of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Related {
    pub relationship: String,
    pub urn: Urn,
    /// The aspect of the edge's source that says so.
    pub aspect: AspectName,
}

/// A row of the aspect table with its key, whatever it holds: for carrying everything into another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAspect {
    pub urn: String,
    pub aspect: String,
    pub row: StoredAspect,
}

/// The last version of an aspect that was taken back, with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRetired {
    pub urn: String,
    pub aspect: String,
    pub version: LogicalVersion,
}

/// A point of a time series with its key, whatever it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPoint {
    pub urn: String,
    pub aspect: String,
    pub point: TimeseriesRow,
}
