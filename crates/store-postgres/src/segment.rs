//! Batches of writes as column arrays: one statement of each kind for any number of writes.
//!
//! A statement must not touch a row twice, and writes to one aspect must keep their order. So the
//! writes of a transaction are split into segments in which every aspect occurs at most once, and
//! segments are applied in order.

use std::collections::{BTreeSet, HashSet};

use docent_model::{Derived, EpochMillis};
use docent_store::{
    AspectKey, AspectWrite, Effect, LogicalVersion, PointRange, RowVersion, TimeseriesRow,
};

use crate::arrays::{Entries, Keys, Points, Retired, Rows};
use crate::points;
use crate::pool::Step;
use crate::values::{parent_text, storable};

/// Deletes rows of `$table`, looked up key by key (see `read`). `$matches` joins the table to `k`,
/// and `$except` excludes rows by `$columns`.
macro_rules! delete {
    ($table:literal, $keys:literal, $columns:literal, $matches:literal, $except:literal) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE ctid = ANY (ARRAY(SELECT a.location FROM ",
            $keys,
            " CROSS JOIN LATERAL (SELECT ctid AS location, ",
            $columns,
            " FROM ",
            $table,
            " WHERE ",
            $matches,
            " OFFSET 0) AS a",
            $except,
            "))"
        )
    };
    ($table:literal) => {
        delete!(
            $table,
            "unnest($1::text[], $2::text[]) AS k (key_urn, key_aspect)",
            "urn",
            "urn = k.key_urn AND aspect = k.key_aspect",
            ""
        )
    };
}

pub(crate) const DELETE_ASPECTS: &str = delete!("metadata_aspect_v2");
pub(crate) const DELETE_TIMESERIES: &str = delete!("timeseries");
pub(crate) const FORGET_VERSIONS: &str = delete!("retired_version");

pub(crate) const DELETE_VERSIONS: &str = delete!(
    "metadata_aspect_v2",
    "unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) AS k (key_urn, key_aspect, first, last)",
    "urn",
    "urn = k.key_urn AND aspect = k.key_aspect AND version BETWEEN k.first AND k.last",
    ""
);

pub(crate) const RETIRE: &str = "INSERT INTO retired_version (urn, aspect, version) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])";

/// Runs after the insert: from then on no other transaction can insert and retire these rows.
pub(crate) const EXPECT_RETIRED: &str = "SELECT docent_expect(NOT EXISTS (SELECT 1 \
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k (urn, aspect, version) \
     LEFT JOIN LATERAL (SELECT r.version FROM retired_version r \
         WHERE r.urn = k.urn AND r.aspect = k.aspect OFFSET 0) AS r ON true \
     WHERE coalesce(r.version, 0) <> k.version))";

/// Fails instead of overwriting a version that is already in the history.
pub(crate) const INSERT_HISTORY: &str = "WITH history AS ( \
         SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamp[], \
         $7::text[], $8::text[]) \
         AS r (urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor) \
     ), inserted AS ( \
         INSERT INTO metadata_aspect_v2 \
         (urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor) \
         SELECT * FROM history WHERE version > 0 ORDER BY urn COLLATE \"C\", aspect COLLATE \"C\" \
         ON CONFLICT (urn, aspect, version) DO NOTHING RETURNING urn, aspect, version \
     ) SELECT docent_clash(h.urn, h.aspect, h.version) FROM history h \
     WHERE NOT EXISTS (SELECT 1 FROM inserted i WHERE i.urn = h.urn AND i.aspect = h.aspect AND i.version = h.version)";

macro_rules! insert_rows {
    () => {
        "INSERT INTO metadata_aspect_v2 \
         (urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor) \
         SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamp[], \
         $7::text[], $8::text[]) AS r (urn, aspect, version) ORDER BY r.urn COLLATE \"C\", r.aspect COLLATE \"C\""
    };
}

/// Fails if one of the rows exists.
pub(crate) const INSERT_ROWS: &str = insert_rows!();

pub(crate) const PUT_ROWS: &str = concat!(
    insert_rows!(),
    " ON CONFLICT (urn, aspect, version) DO UPDATE SET metadata = excluded.metadata, \
     systemmetadata = excluded.systemmetadata, createdon = excluded.createdon, createdby = excluded.createdby, \
     createdfor = excluded.createdfor"
);

pub(crate) const TOUCH: &str = "UPDATE metadata_aspect_v2 a SET systemmetadata = k.systemmetadata \
     FROM unnest($1::text[], $2::text[], $3::text[]) AS k (urn, aspect, systemmetadata) \
     WHERE a.urn = k.urn AND a.aspect = k.aspect AND a.version = 0";

/// Keeps edges that do not change, so that a write without changed relationships writes no edges.
pub(crate) const DELETE_EDGES: &str = delete!(
    "edge",
    "unnest($1::text[], $2::text[]) AS k (key_urn, key_aspect)",
    "source, aspect, relationship, destination",
    "source = k.key_urn AND aspect = k.key_aspect",
    " WHERE (a.source, a.aspect, a.relationship, a.destination) NOT IN \
     (SELECT * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[]))"
);

pub(crate) const INSERT_EDGES: &str = "INSERT INTO edge (source, aspect, relationship, destination) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) ON CONFLICT DO NOTHING";

pub(crate) const DELETE_PLACEMENTS: &str = delete!(
    "placement",
    "unnest($1::text[], $2::text[]) AS k (key_urn, key_aspect)",
    "urn, aspect",
    "urn = k.key_urn AND aspect = k.key_aspect",
    " WHERE (a.urn, a.aspect) NOT IN (SELECT * FROM unnest($3::text[], $4::text[]))"
);

pub(crate) const PUT_PLACEMENTS: &str = "INSERT INTO placement (urn, aspect, kind, parent, name, created_ms) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) \
     ON CONFLICT (urn, aspect) DO UPDATE SET kind = excluded.kind, parent = excluded.parent, name = excluded.name, \
     created_ms = excluded.created_ms";

pub(crate) const PUT_POINTS: &str = "INSERT INTO timeseries (urn, aspect, time_ms, id, metadata, systemmetadata) \
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[]) \
     ON CONFLICT (urn, aspect, time_ms, md5(id)) \
     DO UPDATE SET metadata = excluded.metadata, systemmetadata = excluded.systemmetadata";

pub(crate) const LOG: &str = "INSERT INTO change_log \
     (transaction, item, urn, aspect, kind, logical_version, time_ms, actor, run) \
     SELECT currval('change_transaction'), r.ordinal - 1, r.urn, r.aspect, r.kind, r.version, r.time_ms, r.actor, \
     r.run \
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[]) \
     WITH ORDINALITY AS r (urn, aspect, kind, version, time_ms, actor, run, ordinal)";

/// Assigns the transaction number: after the locks, so that a transaction that depends on another
/// has a higher one.
pub(crate) const NUMBER: &str = "INSERT INTO change_pending (transaction, changes) \
     VALUES (nextval('change_transaction'), $1) RETURNING transaction";

/// Ranges of versions to delete from the history.
#[derive(Debug, Default)]
struct VersionRanges {
    keys: Keys,
    first: Vec<i64>,
    last: Vec<i64>,
}

#[derive(Debug, Default)]
struct Edges {
    keys: Keys,
    relationships: Vec<&'static str>,
    destinations: Vec<String>,
}

#[derive(Debug, Default)]
struct Placements {
    keys: Keys,
    kinds: Vec<&'static str>,
    parents: Vec<String>,
    names: Vec<String>,
    created_ms: Vec<EpochMillis>,
}

/// The derived rows of written aspects.
#[derive(Debug, Default)]
pub(crate) struct DerivedRows {
    /// Aspects whose existing rows are replaced.
    replaced: Keys,
    edges: Edges,
    placements: Placements,
}

impl DerivedRows {
    /// Adds the rows of an aspect; `is_new` if it has none in the database.
    pub(crate) fn push(&mut self, key: &AspectKey, derived: &Derived, is_new: bool) {
        if !is_new {
            self.replaced.push(key);
        }
        for edge in &derived.edges {
            self.edges.keys.push(key);
            self.edges.relationships.push(edge.relationship);
            self.edges.destinations.push(edge.destination.to_string());
        }
        if let Some(placement) = &derived.placement {
            let rows = &mut self.placements;
            rows.keys.push(key);
            rows.kinds.push(placement.kind);
            rows.parents
                .push(parent_text(placement.parent.as_ref()).to_owned());
            rows.names.push(storable(&placement.name));
            rows.created_ms.push(placement.created_ms);
        }
    }

    pub(crate) fn steps(self, steps: &mut Vec<Step>) {
        let Self {
            replaced,
            edges,
            placements,
        } = self;
        if !replaced.is_empty() {
            let remaining = &edges.keys;
            steps.push(Step::new(
                DELETE_EDGES,
                vec![
                    Box::new(replaced.urns.clone()),
                    Box::new(replaced.aspects.clone()),
                    Box::new(remaining.urns.clone()),
                    Box::new(remaining.aspects.clone()),
                    Box::new(edges.relationships.clone()),
                    Box::new(edges.destinations.clone()),
                ],
            ));
            let remaining = &placements.keys;
            steps.push(Step::new(
                DELETE_PLACEMENTS,
                vec![
                    Box::new(replaced.urns),
                    Box::new(replaced.aspects),
                    Box::new(remaining.urns.clone()),
                    Box::new(remaining.aspects.clone()),
                ],
            ));
        }
        if !edges.keys.is_empty() {
            steps.push(Step::new(
                INSERT_EDGES,
                vec![
                    Box::new(edges.keys.urns),
                    Box::new(edges.keys.aspects),
                    Box::new(edges.relationships),
                    Box::new(edges.destinations),
                ],
            ));
        }
        if !placements.keys.is_empty() {
            steps.push(Step::new(
                PUT_PLACEMENTS,
                vec![
                    Box::new(placements.keys.urns),
                    Box::new(placements.keys.aspects),
                    Box::new(placements.kinds),
                    Box::new(placements.parents),
                    Box::new(placements.names),
                    Box::new(placements.created_ms),
                ],
            ));
        }
    }
}

/// Writes that can be applied together.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    aspects: HashSet<AspectKey>,
    series: HashSet<AspectKey>,
    /// Several points of one series fit into a segment, if they differ.
    point_keys: HashSet<(AspectKey, EpochMillis, String)>,
    deleted: Keys,
    retired: Retired,
    pruned: VersionRanges,
    history: Rows,
    inserted: Rows,
    /// The retired versions of inserted rows, as the work read them.
    inserted_after: Retired,
    put: Rows,
    touched: Keys,
    touched_metadata: Vec<String>,
    derived: DerivedRows,
    points: Points,
    deleted_points: Vec<(AspectKey, PointRange)>,
}

impl Segment {
    /// Whether the write belongs in the next segment.
    pub(crate) fn conflicts_with(&self, write: &AspectWrite) -> bool {
        let key = &write.key;
        if self.aspects.contains(key) {
            return true;
        }
        match &write.effect {
            Effect::Timeseries(point) => {
                let same = (key.clone(), point.time_ms, point.id.clone());
                self.point_keys.contains(&same)
            }
            _ => self.series.contains(key),
        }
    }

    /// Adds a write. `is_new` if the aspect is known to be missing; then `retired` is its retired
    /// version.
    pub(crate) fn push(
        &mut self,
        write: &AspectWrite,
        is_new: bool,
        retired: Option<LogicalVersion>,
    ) {
        let key = &write.key;
        if let Effect::Timeseries(point) = &write.effect {
            self.push_point(key, point);
            return;
        }
        self.aspects.insert(key.clone());
        match &write.effect {
            Effect::Put {
                row,
                history,
                prune_through,
                derived,
                ..
            } => {
                // Inserted after the others are pruned, so one that is pruned too is left out.
                let is_kept = |version| prune_through.is_none_or(|through| version > through);
                if let Some(history) = history
                    && is_kept(history.version)
                {
                    self.history.push(key, history.version, history);
                }
                if let Some(prune_through) = prune_through {
                    self.remove_versions(key, 1, prune_through.get());
                }
                if is_new {
                    self.inserted.push(key, RowVersion::LATEST, row);
                    self.inserted_after.push(key, retired);
                } else {
                    self.put.push(key, RowVersion::LATEST, row);
                }
                self.derived.push(key, derived, is_new);
            }
            Effect::Touch { system_metadata } => {
                self.touched.push(key);
                self.touched_metadata.push(system_metadata.clone());
            }
            Effect::Revert {
                row,
                keep_through,
                derived,
                ..
            } => {
                self.remove_versions(key, keep_through.get().saturating_add(1), i64::MAX);
                self.put.push(key, RowVersion::LATEST, row);
                self.derived.push(key, derived, false);
            }
            Effect::Delete {
                retired_version, ..
            } => {
                self.deleted.push(key);
                if retired_version.is_some() {
                    self.retired.push(key, *retired_version);
                }
                self.derived.push(key, &Derived::default(), false);
            }
            Effect::DeletePoints(range) => self.deleted_points.push((key.clone(), range.clone())),
            Effect::Timeseries(_) => {}
        }
    }

    fn push_point(&mut self, key: &AspectKey, point: &TimeseriesRow) {
        self.series.insert(key.clone());
        self.point_keys
            .insert((key.clone(), point.time_ms, point.id.clone()));
        self.points.push(key, point);
    }

    fn remove_versions(&mut self, key: &AspectKey, first: i64, last: i64) {
        self.pruned.keys.push(key);
        self.pruned.first.push(first);
        self.pruned.last.push(last);
    }

    /// Adds the statements, in order.
    pub(crate) fn steps(self, steps: &mut Vec<Step>) {
        if !self.deleted.is_empty() {
            for sql in [DELETE_ASPECTS, DELETE_TIMESERIES, FORGET_VERSIONS] {
                steps.push(Step::new(
                    sql,
                    vec![
                        Box::new(self.deleted.urns.clone()),
                        Box::new(self.deleted.aspects.clone()),
                    ],
                ));
            }
        }
        steps.extend(self.retired.step(RETIRE));
        if !self.pruned.keys.is_empty() {
            steps.push(Step::new(
                DELETE_VERSIONS,
                vec![
                    Box::new(self.pruned.keys.urns),
                    Box::new(self.pruned.keys.aspects),
                    Box::new(self.pruned.first),
                    Box::new(self.pruned.last),
                ],
            ));
        }
        steps.extend(self.history.step(INSERT_HISTORY));
        steps.extend(self.inserted.step(INSERT_ROWS));
        steps.extend(self.inserted_after.step(EXPECT_RETIRED));
        steps.extend(self.put.step(PUT_ROWS));
        if !self.touched.is_empty() {
            steps.push(Step::new(
                TOUCH,
                vec![
                    Box::new(self.touched.urns),
                    Box::new(self.touched.aspects),
                    Box::new(self.touched_metadata),
                ],
            ));
        }
        self.derived.steps(steps);
        for (key, range) in &self.deleted_points {
            steps.push(Step::new(points::DELETE, points::parameters(key, range)));
        }
        steps.extend(self.points.step(PUT_POINTS));
    }
}

/// The log entries of a transaction.
#[derive(Debug, Default)]
pub(crate) struct LogEntries {
    types: BTreeSet<String>,
    entries: Entries,
}

impl LogEntries {
    pub(crate) fn push(&mut self, write: &AspectWrite) {
        let (kind, version, time_ms, actor) = match &write.effect {
            Effect::Put {
                row,
                logical_version,
                ..
            }
            | Effect::Revert {
                row,
                logical_version,
                ..
            } => (
                "put",
                Some(*logical_version),
                row.created_on_ms,
                &row.created_by,
            ),
            Effect::Delete { time_ms, actor, .. } => ("delete", None, *time_ms, actor),
            Effect::Touch { .. } | Effect::Timeseries(_) | Effect::DeletePoints(_) => return,
        };
        let run = match &write.effect {
            Effect::Put { run, .. } => run.clone(),
            _ => None,
        };
        let entity_type = write.key.urn.entity_type();
        if !self.types.contains(entity_type) {
            self.types.insert(entity_type.to_owned());
        }
        let (urn, aspect) = (write.key.urn.to_string(), write.key.aspect.as_str());
        self.entries
            .add((urn, aspect), kind, version, time_ms, (actor.clone(), run));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entity types of the changes.
    pub(crate) fn types(&self) -> BTreeSet<String> {
        self.types.clone()
    }

    /// The first of the two statements returns the transaction number.
    pub(crate) fn steps(self) -> [Step; 2] {
        self.entries.steps(NUMBER, LOG)
    }
}
