//! Latest rows that were read since the last commit, kept in memory.
//!
//! A row is good for as long as nothing is committed, by anybody: it is kept with the commit stamp it was read
//! under and counts only under that stamp. So nobody has to tell this cache about writes, and a row of an old stamp
//! is simply read again. It spares a read-mostly server the two descents of SQLite's trees, which are a quarter of a
//! whole request for a description (docs/PERFORMANCE.md).
//!
//! Keeping a long row costs more than it spares unless the row is read again soon, so long rows are kept only when
//! they are missed a second time among the last thousands.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use docent_store::{AspectKey, CommitStamp, Row};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// How much memory kept rows may take, as [`RowWeight`] estimates it.
const CACHE_BYTES: u64 = 96 * 1024 * 1024;
/// About how many rows that is.
const CACHE_ROWS: usize = 256 * 1024;
/// What a row takes beside its texts.
const ROW_BYTES: usize = 256;

/// Rows that weigh more must be missed twice.
const LONG_ROW_BYTES: u64 = 1024;
/// How many misses of long rows are remembered, in groups: about as many as such rows fit into the cache. One place for
/// each hash would not do, because rows that are read in turn and share a place would hide each other for ever.
const MISS_GROUPS: usize = 16 * 1024;
const GROUP_PLACES: usize = 4;
const _: () = assert!(MISS_GROUPS.is_power_of_two());

#[derive(Debug)]
pub(crate) struct RecentRows {
    rows: Cache<AspectKey, Read, RowWeight>,
    /// The hashes of long rows that were missed once, each in the group that its last digits say, the newest first.
    /// Two that meet here at the same moment harm nothing but each other.
    misses: Box<[[AtomicU64; GROUP_PLACES]]>,
    hasher: RandomState,
}

#[derive(Debug, Clone)]
struct Read {
    stamp: CommitStamp,
    row: Row,
}

#[derive(Debug, Clone)]
struct RowWeight;

impl Weighter<AspectKey, Read> for RowWeight {
    fn weight(&self, key: &AspectKey, read: &Read) -> u64 {
        let texts = read.row.as_deref().map_or(0, |row| {
            let system_metadata = row.system_metadata.as_ref().map_or(0, String::len);
            row.metadata.len() + system_metadata
        });
        (key.urn.as_str().len() + texts + ROW_BYTES) as u64
    }
}

impl RecentRows {
    pub(crate) fn new() -> Self {
        Self {
            rows: Cache::with_weighter(CACHE_ROWS, CACHE_BYTES, RowWeight),
            misses: std::iter::repeat_with(Default::default)
                .take(MISS_GROUPS)
                .collect(),
            hasher: RandomState::new(),
        }
    }

    /// The rows under these keys, if all of them were read under this stamp: together they are of one snapshot.
    pub(crate) fn get(&self, keys: &[AspectKey], stamp: CommitStamp) -> Option<Vec<Row>> {
        keys.iter()
            .map(|key| {
                let read = self.rows.get(key)?;
                (read.stamp == stamp).then_some(read.row)
            })
            .collect()
    }

    /// Keeps rows that were read while the stamp was this one, from before the snapshot began until after the read.
    pub(crate) fn keep(&self, keys: &[AspectKey], rows: &[Row], stamp: CommitStamp) {
        for (key, row) in keys.iter().zip(rows) {
            let row = row.clone();
            let read = Read { stamp, row };
            if RowWeight.weight(key, &read) <= LONG_ROW_BYTES || self.is_second_miss(key) {
                self.rows.insert(key.clone(), read);
            }
        }
    }

    fn is_second_miss(&self, key: &AspectKey) -> bool {
        let hash = self.hasher.hash_one(key);
        let mut moved = hash;
        for place in &self.misses[hash as usize % MISS_GROUPS] {
            moved = place.swap(moved, Ordering::Relaxed);
            if moved == hash {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use docent_model::{AspectName, Urn};
    use docent_store::{RowVersion, StoredAspect};

    use super::*;

    const STAMPS: [CommitStamp; 2] = [CommitStamp::new(7), CommitStamp::new(8)];

    fn key(name: &str) -> AspectKey {
        let urn = Urn::parse(&format!("urn:li:corpuser:{name}")).unwrap();
        AspectKey::new(&urn, AspectName::STATUS)
    }

    fn row(length: usize) -> Arc<StoredAspect> {
        Arc::new(StoredAspect {
            version: RowVersion::LATEST,
            metadata: "x".repeat(length),
            system_metadata: None,
            created_on_ms: 0,
            created_by: String::new(),
            created_for: None,
        })
    }

    #[test]
    fn rows_are_given_only_under_the_stamp_they_were_read_under_and_only_together() {
        let recent = RecentRows::new();
        let keys = [key("a"), key("b")];
        recent.keep(&keys, &[Some(row(1)), None], STAMPS[0]);
        assert_eq!(recent.get(&keys, STAMPS[0]), Some(vec![Some(row(1)), None]));
        assert_eq!(recent.get(&keys, STAMPS[1]), None);
        recent.keep(&keys[..1], &[Some(row(2))], STAMPS[1]);
        assert_eq!(recent.get(&keys[..1], STAMPS[1]), Some(vec![Some(row(2))]));
        assert_eq!(recent.get(&keys, STAMPS[1]), None);
        assert_eq!(recent.get(&keys, STAMPS[0]), None);
    }

    #[test]
    fn a_long_row_is_kept_when_it_is_missed_again() {
        let recent = RecentRows::new();
        let keys = [key("long")];
        recent.keep(&keys, &[Some(row(5000))], STAMPS[1]);
        assert_eq!(recent.get(&keys, STAMPS[1]), None);
        recent.keep(&keys, &[Some(row(5000))], STAMPS[1]);
        assert_eq!(recent.get(&keys, STAMPS[1]), Some(vec![Some(row(5000))]));
    }

    #[test]
    fn nearly_all_of_many_long_rows_that_are_read_in_turn_are_kept() {
        let recent = RecentRows::new();
        let keys: Vec<[AspectKey; 1]> = (0..10_000).map(|n| [key(&n.to_string())]).collect();
        let long = [Some(row(2000))];
        for _ in 0..2 {
            for key in &keys {
                recent.keep(key, &long, STAMPS[1]);
            }
        }
        let kept = keys
            .iter()
            .filter(|key| recent.get(*key, STAMPS[1]).is_some());
        assert!(kept.count() > 9_700);
    }

    #[test]
    fn memory_is_bounded() {
        let recent = RecentRows::new();
        for number in 0..400_000 {
            recent.keep(&[key(&number.to_string())], &[Some(row(300))], STAMPS[1]);
        }
        assert!(recent.rows.weight() <= CACHE_BYTES);
    }
}
