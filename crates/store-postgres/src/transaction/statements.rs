//! The statements of transactions that are not writes (`segment` has those).

use crate::read::latest_of_key;

/// Every row comes with the transaction that wrote it: that tells whether it has changed. Where there is none, the
/// version that was remembered of it comes along, because who makes an aspect asks for it.
pub(crate) const GET: &str = concat!(
    "SELECT k.place, a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, \
     a.createdfor, a.mark, CASE WHEN a.version IS NULL THEN \
         (SELECT r.version FROM retired_version r WHERE r.urn = k.urn AND r.aspect = k.aspect) END \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, place) LEFT JOIN ",
    latest_of_key!("a.*, a.xmin::text AS mark"),
    " ON true"
);

pub(crate) const RETIRED: &str = "SELECT k.place, r.version \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, place) \
     CROSS JOIN LATERAL (SELECT r.version FROM retired_version r \
         WHERE r.urn = k.urn AND r.aspect = k.aspect OFFSET 0) AS r";

/// One row after the other, in the order in which they are given; answers which were there. A row that is not there
/// cannot be locked.
macro_rules! lock {
    ($strength:literal) => {
        concat!(
            "SELECT k.place FROM (SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (urn, aspect, place) \
                 ORDER BY k.place) AS k \
             CROSS JOIN LATERAL (SELECT 1 FROM metadata_aspect_v2 a \
                 WHERE a.urn = k.urn AND a.aspect = k.aspect AND a.version = 0 FOR ",
            $strength,
            ") AS a"
        )
    };
}

/// For entities that are written.
pub(crate) const LOCK: &str = lock!("NO KEY UPDATE");
/// The same for who has read without a lock: whoever holds it is about to change what was read.
pub(crate) const LOCK_AT_ONCE: &str = lock!("NO KEY UPDATE NOWAIT");
/// For entities that must stay.
pub(crate) const LOCK_EXISTENCE: &str = lock!("KEY SHARE");
/// For entities to which nothing may be attached any more.
pub(crate) const LOCK_FOR_DELETION: &str = lock!("UPDATE");

/// The key of a tree; `serving` says why the schema is in it.
macro_rules! tree {
    () => {
        "hashtext('docent_tree'), hashtext(concat_ws(' ', nullif(current_schema(), 'public'), $1::text))"
    };
}

pub(crate) const LOCK_TREE: &str = concat!("SELECT pg_advisory_xact_lock(", tree!(), ")");
/// The same for who must not wait, because whoever has it may wait for one of our rows.
pub(crate) const LOCK_TREE_AT_ONCE: &str = concat!(
    "SELECT docent_expect(pg_try_advisory_xact_lock(",
    tree!(),
    "))"
);

pub(crate) const EXPECT: &str = concat!(
    "SELECT docent_expect(NOT EXISTS (SELECT 1 \
     FROM unnest($1::text[], $2::text[], $3::text[]) AS k (urn, aspect, seen) LEFT JOIN ",
    latest_of_key!("a.xmin::text AS mark"),
    " ON true WHERE a.mark IS DISTINCT FROM k.seen))"
);

pub(crate) const NAMES: &str = "SELECT aspect FROM metadata_aspect_v2 WHERE urn = $1 \
     UNION SELECT aspect FROM timeseries WHERE urn = $1 ORDER BY 1";

pub(crate) const ROWS_COUNT: &str = "SELECT \
     (SELECT count(*) FROM metadata_aspect_v2 WHERE urn = $1 AND ($2::text IS NULL OR aspect = $2)), \
     (SELECT count(*) FROM timeseries WHERE urn = $1 AND ($2::text IS NULL OR aspect = $2))";
