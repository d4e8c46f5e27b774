//! What the next process finds after one was killed while it fed the index.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::{RowVersion, StoredAspect};
use tantivy::indexer::NoMergePolicy;

use super::*;

fn urn(number: usize) -> Urn {
    Urn::parse(&format!("urn:li:tag:{number}")).unwrap()
}

/// Feeds entities, as [`index_entities`] does with what it has read.
fn feed(open: &OpenIndex, numbers: impl IntoIterator<Item = usize>, fields: &Fields) {
    let urns: Vec<Urn> = numbers.into_iter().map(urn).collect();
    let key: AspectName = Registry::get().aspect("tagKey").unwrap();
    let row = StoredAspect {
        version: RowVersion::LATEST,
        metadata: "{}".to_owned(),
        system_metadata: None,
        created_on_ms: 0,
        created_by: String::new(),
        created_for: None,
    };
    let entities = vec![vec![(key, row)]; urns.len()];
    let mut writer = locked(&open.writer);
    replace(&writer, &urns, &entities, fields).unwrap();
    commit(&mut writer, &IndexedPosition::default()).unwrap();
}

/// An index that merges no segments until it is opened again.
fn empty(directory: &Path, fields: &Fields) -> (IndexLocation, OpenIndex) {
    let location = IndexLocation::Directory(directory.to_owned());
    let draft = location.begin(fields).unwrap();
    let open = location.finish(draft, IndexedPosition::default(), fields);
    let open = open.unwrap();
    locked(&open.writer).set_merge_policy(Box::new(NoMergePolicy));
    (location, open)
}

/// Waits for merges, and returns the number of documents.
fn documents(open: OpenIndex) -> u64 {
    let writer = Arc::into_inner(open.writer).unwrap();
    let writer = writer.into_inner().unwrap();
    writer.wait_merging_threads().unwrap();
    open.reader.reload().unwrap();
    open.reader.searcher().num_docs()
}

/// tantivy numbers the first operation after a start like the last commit. A merge of committed
/// segments took that deletion for a committed one in some segments and not in others.
#[test]
fn a_merge_that_a_restart_starts_brings_no_document_back() {
    let directory = tempfile::tempdir().unwrap();
    let fields = Fields::new();
    let (location, open) = empty(directory.path(), &fields);
    // The largest segment comes first in a merge, and has no deletions.
    feed(&open, 0..20, &fields);
    for first in [20, 23, 26, 29, 32] {
        feed(&open, first..first + 3, &fields);
    }
    // The last commit deletes a document of the second segment.
    feed(&open, [20], &fields);
    drop(open);

    let open = location.open(&fields).unwrap();
    feed(&open, [21], &fields);
    assert_eq!(documents(open), 35);
}

/// A process can be killed after it has written files of deletions, and before it lists them.
#[test]
fn a_commit_that_was_not_finished_can_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let fields = Fields::new();
    let (location, open) = empty(directory.path(), &fields);
    feed(&open, 0..20, &fields);
    let list = directory
        .path()
        .join(format!("format-{}/meta.json", crate::schema::FORMAT));
    let before = fs::read(&list).unwrap();
    drop(open);

    for _ in 0..2 {
        fs::write(&list, &before).unwrap();
        let open = location.open(&fields).unwrap();
        feed(&open, [7], &fields);
        assert_eq!(documents(open), 20);
    }
}
