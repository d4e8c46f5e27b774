//! Finds entities with more than one document, which no feed leaves behind.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use docent_model::Urn;
use tantivy::{Searcher, TantivyError};

use crate::error::SearchError;
use crate::schema::URN;

/// The entities with several documents. Very rarely, one with a single document is among them,
/// because URNs are compared by their hashes.
pub(crate) fn duplicates(searcher: &Searcher) -> Result<Vec<Urn>, SearchError> {
    let (hasher, mut seen) = (RandomState::new(), HashSet::new());
    let mut found = Vec::new();
    for segment in searcher.segment_readers() {
        let Some(column) = segment.fast_fields().str(URN)? else {
            continue;
        };
        let documents = segment.doc_ids_alive();
        let mut ordinals: Vec<u64> = documents.flat_map(|it| column.term_ords(it)).collect();
        ordinals.sort_unstable();
        let dictionary = column.dictionary();
        dictionary
            .sorted_ords_to_term_cb(&ordinals, |urn| {
                if !seen.insert(hasher.hash_one(urn)) {
                    found.push(String::from_utf8_lossy(urn).into_owned());
                }
            })
            .map_err(TantivyError::from)?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found
        .iter()
        .filter_map(|urn| Urn::parse(urn).ok())
        .collect())
}
