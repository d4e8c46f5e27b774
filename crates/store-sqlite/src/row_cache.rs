//! A cache of latest rows, valid until the next commit.
//!
//! A row is cached with the commit stamp of its read and is valid only under that stamp, so that
//! writes need not invalidate it. The cache spares a read-mostly server two B-tree descents in
//! SQLite, a fifth of a whole request for a description.

use docent_store::{AspectKey, AspectRow, CommitStamp};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The memory limit of the cache, as [`RowWeight`] estimates it.
const CACHE_BYTES: u64 = 96 * 1024 * 1024;
/// About how many rows fit.
const CACHE_ROWS: usize = 256 * 1024;
/// The size of a row without its texts.
const ROW_BYTES: usize = 256;

#[derive(Debug)]
pub(crate) struct RowCache {
    rows: Cache<AspectKey, CachedRow, RowWeight>,
}

#[derive(Debug, Clone)]
struct CachedRow {
    stamp: CommitStamp,
    row: AspectRow,
}

#[derive(Debug, Clone)]
struct RowWeight;

impl Weighter<AspectKey, CachedRow> for RowWeight {
    fn weight(&self, key: &AspectKey, cached: &CachedRow) -> u64 {
        let texts = cached.row.as_deref().map_or(0, |row| {
            let system_metadata = row.system_metadata.as_ref().map_or(0, String::len);
            row.metadata.len() + system_metadata
        });
        (key.urn.as_str().len() + texts + ROW_BYTES) as u64
    }
}

impl RowCache {
    pub(crate) fn new() -> Self {
        Self {
            rows: Cache::with_weighter(CACHE_ROWS, CACHE_BYTES, RowWeight),
        }
    }

    /// The rows of these keys, if all were read under this stamp, and so belong to one snapshot.
    pub(crate) fn get(&self, keys: &[AspectKey], stamp: CommitStamp) -> Option<Vec<AspectRow>> {
        keys.iter()
            .map(|key| {
                let cached = self.rows.get(key)?;
                (cached.stamp == stamp).then_some(cached.row)
            })
            .collect()
    }

    /// Caches rows. The stamp must have been this one from before the snapshot until after the
    /// read.
    pub(crate) fn insert(&self, keys: &[AspectKey], rows: &[AspectRow], stamp: CommitStamp) {
        for (key, row) in keys.iter().zip(rows) {
            let row = row.clone();
            let cached = CachedRow { stamp, row };
            self.rows.insert(key.clone(), cached);
        }
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
    fn rows_are_valid_only_under_their_stamp_and_together() {
        let cache = RowCache::new();
        let keys = [key("a"), key("b")];
        cache.insert(&keys, &[Some(row(1)), None], STAMPS[0]);
        assert_eq!(cache.get(&keys, STAMPS[0]), Some(vec![Some(row(1)), None]));
        assert_eq!(cache.get(&keys, STAMPS[1]), None);
        cache.insert(&keys[..1], &[Some(row(2))], STAMPS[1]);
        assert_eq!(cache.get(&keys[..1], STAMPS[1]), Some(vec![Some(row(2))]));
        assert_eq!(cache.get(&keys, STAMPS[1]), None);
        assert_eq!(cache.get(&keys, STAMPS[0]), None);
    }

    #[test]
    fn memory_is_bounded() {
        let cache = RowCache::new();
        for number in 0..400_000 {
            cache.insert(&[key(&number.to_string())], &[Some(row(300))], STAMPS[1]);
        }
        let weight = cache.rows.weight();
        assert!(
            (CACHE_BYTES / 2..=CACHE_BYTES).contains(&weight),
            "{weight}"
        );
    }
}
