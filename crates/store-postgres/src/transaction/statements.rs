//! Statements of transactions that are not writes (see `segment` for those).

use crate::read::latest_of_key;

/// Returns for every row the transaction that wrote it (`xmin`), to detect changes, and for a
/// missing one its retired version, which its insert needs.
pub(crate) const GET: &str = concat!(
    "SELECT k.ordinal, a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, \
     a.createdfor, a.writer, CASE WHEN a.version IS NULL THEN \
         (SELECT r.version FROM retired_version r WHERE r.urn = k.urn AND r.aspect = k.aspect) END \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) LEFT JOIN ",
    latest_of_key!("a.*, a.xmin::text AS writer"),
    " ON true"
);

pub(crate) const RETIRED: &str = "SELECT k.ordinal, r.version \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
     CROSS JOIN LATERAL (SELECT r.version FROM retired_version r \
         WHERE r.urn = k.urn AND r.aspect = k.aspect OFFSET 0) AS r";

/// Locks rows in the given order; returns which exist. A missing row cannot be locked.
macro_rules! lock {
    ($strength:literal) => {
        concat!(
            "SELECT k.ordinal FROM (SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, ordinal) \
                 ORDER BY k.ordinal) AS k \
             CROSS JOIN LATERAL (SELECT 1 FROM metadata_aspect_v2 a \
                 WHERE a.urn = k.urn AND a.aspect = k.aspect AND a.version = 0 FOR ",
            $strength,
            ") AS a"
        )
    };
}

/// For written entities.
pub(crate) const LOCK: &str = lock!("NO KEY UPDATE");
/// Fails instead of waiting out of order, which could deadlock.
pub(crate) const LOCK_NOWAIT: &str = lock!("NO KEY UPDATE NOWAIT");
/// For entities that must not be deleted.
pub(crate) const LOCK_EXISTENCE: &str = lock!("KEY SHARE");
/// For entities about to be deleted.
pub(crate) const LOCK_FOR_DELETION: &str = lock!("UPDATE");

/// The key of a tree; see `serving` for the schema in it.
macro_rules! tree {
    () => {
        "hashtext('docent_tree'), hashtext(concat_ws(' ', nullif(current_schema(), 'public'), $1::text))"
    };
}

pub(crate) const LOCK_TREE: &str = concat!("SELECT pg_advisory_xact_lock(", tree!(), ")");
/// Fails instead of waiting: the holder of the lock may wait for one of our rows.
pub(crate) const LOCK_TREE_NOWAIT: &str = concat!(
    "SELECT docent_expect(pg_try_advisory_xact_lock(",
    tree!(),
    "))"
);

pub(crate) const EXPECT_UNCHANGED: &str = concat!(
    "SELECT docent_expect(NOT EXISTS (SELECT 1 \
     FROM unnest($1::text[], $2::text[], $3::text[]) AS k (urn, aspect, seen) LEFT JOIN ",
    latest_of_key!("a.xmin::text AS writer"),
    " ON true WHERE a.writer IS DISTINCT FROM k.seen))"
);

pub(crate) const NAMES: &str = "SELECT aspect FROM metadata_aspect_v2 WHERE urn = $1 \
     UNION SELECT aspect FROM timeseries WHERE urn = $1 ORDER BY 1";

pub(crate) const VERSIONS: &str =
    "SELECT aspect, systemmetadata FROM metadata_aspect_v2 WHERE urn = $1 AND version = 0";

pub(crate) const ROWS_COUNT: &str = "SELECT \
     (SELECT count(*) FROM metadata_aspect_v2 WHERE urn = $1 AND ($2::text IS NULL OR aspect = $2)), \
     (SELECT count(*) FROM timeseries WHERE urn = $1 AND ($2::text IS NULL OR aspect = $2))";
