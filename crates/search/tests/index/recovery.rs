//! An index that is missing, damaged or of another store is rebuilt automatically.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docent_search::{Facets, Search, SearchPage, SearchRequest, Sort};

use super::{Fixture, name_of};

/// tantivy reads it only to find files to delete.
const GARBAGE_LIST: &str = ".managed.json";
/// A segment is named by a UUID without dashes.
const SEGMENT_NAME_LENGTH: usize = 32;
/// The kinds of file of an index with a deleted document, by extension or name.
const FILE_KINDS: [&str; 9] = [
    GARBAGE_LIST,
    "del",
    "fast",
    "fieldnorm",
    "idx",
    "meta.json",
    "pos",
    "store",
    "term",
];

/// An index with 30 documents in one segment.
async fn filled() -> Fixture {
    let fixture = Fixture::new().await;
    // Several threads build an index, each with segments of its own. One of a few documents would
    // be merged after the first deletion. A single thread feeds an index that exists.
    assert_eq!(fixture.find("table").await.total, 0);
    for number in 0..30 {
        fixture
            .dataset(
                &format!("table_{number}"),
                &format!("A table like others, marked{number}"),
            )
            .await;
    }
    assert_eq!(fixture.find("table").await.total, 30);
    fixture
}

/// Whether the index has all words, values and sort columns that were written.
async fn is_whole(fixture: &Fixture) -> bool {
    if fixture.find("table").await.total != 30 {
        return false;
    }
    for number in 0..30 {
        let found = fixture.names(&format!("description:marked{number}")).await;
        if found != [format!("table_{number}")] {
            return false;
        }
    }
    let by_name = SearchRequest {
        sort: vec![Sort {
            field: "name".to_owned(),
            descending: false,
        }],
        facets: Facets::Named {
            fields: vec!["platform".to_owned()],
            values: 10,
        },
        page: SearchPage::Offset {
            start: 0,
            count: 100,
        },
        ..SearchRequest::default()
    };
    let found = fixture.search.search(&by_name).await.unwrap();
    let names: Vec<String> = found.hits.iter().map(|hit| name_of(&hit.urn)).collect();
    names.len() == 30 && names.is_sorted() && found.facets[0].values[0].count == 30
}

/// The names of the segments. A rebuilt index shares none with its predecessor.
fn segments(fixture: &Fixture) -> BTreeSet<String> {
    let names = files(fixture).into_iter();
    let names = names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    // The name of a file of deleted documents continues with a commit number.
    names
        .filter_map(|name| name.get(..SEGMENT_NAME_LENGTH).map(str::to_owned))
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .collect()
}

fn files(fixture: &Fixture) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(fixture.files_path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && fs::metadata(path).unwrap().len() > 0)
        .collect();
    files.sort();
    files
}

fn kind(file: &Path) -> String {
    let name = file.file_name().unwrap().to_string_lossy();
    if name == GARBAGE_LIST || name == "meta.json" {
        return name.into_owned();
    }
    file.extension().unwrap().to_string_lossy().into_owned()
}

/// An index that is not open, with a deleted document in one of its segments.
async fn closed_with_deletes() -> Fixture {
    let fixture = filled().await;
    fixture
        .dataset("table_7", "A table like others, marked7, twice")
        .await;
    assert!(is_whole(&fixture).await);
    // The first search opens the index, so its files do not change before.
    fixture.restart().await
}

/// Replaces a file of the closed index, and returns whether the first search rebuilds the index.
async fn is_rebuilt_after(fixture: &Fixture, file: &Path, content: Option<&[u8]>) -> bool {
    let before = segments(fixture);
    assert!(!before.is_empty());
    // Files are read-only but can be replaced.
    fs::remove_file(file).unwrap();
    if let Some(content) = content {
        fs::write(file, content).unwrap();
    }
    assert!(is_whole(fixture).await, "{}", file.display());
    before.is_disjoint(&segments(fixture))
}

#[tokio::test]
async fn an_undamaged_index_is_not_rebuilt() {
    let fixture = closed_with_deletes().await;
    for file in files(&fixture) {
        let content = fs::read(&file).unwrap();
        assert!(!is_rebuilt_after(&fixture, &file, Some(&content)).await);
    }
}

/// The segment list has no checksum, so its numbers are compared with those of the segments.
#[tokio::test]
async fn an_index_with_wrong_document_counts_is_rebuilt() {
    for (member, wrong) in [("max_doc", -1), ("max_doc", 1), ("num_deleted_docs", 1)] {
        let fixture = closed_with_deletes().await;
        let path = fixture.files_path().join("meta.json");
        let text = fs::read_to_string(&path).unwrap();
        let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut segments = meta["segments"].as_array_mut().unwrap().iter_mut();
        let segment = segments.find(|it| it["deletes"].is_object()).unwrap();
        let count = match member {
            "max_doc" => &mut segment["max_doc"],
            _ => &mut segment["deletes"][member],
        };
        *count = (count.as_i64().unwrap() + wrong).into();
        let content = meta.to_string();
        let rebuilt = is_rebuilt_after(&fixture, &path, Some(content.as_bytes())).await;
        assert!(rebuilt, "{member} {wrong:+}");
    }
}

#[tokio::test]
async fn an_unusable_directory_is_rejected_at_startup() {
    let fixture = filled().await;
    let file = fixture.index_path().join("a file");
    fs::write(&file, "not a directory").unwrap();
    for path in [file.clone(), file.join("below")] {
        let rejection = Search::in_directory(Arc::clone(&fixture.store), &path).unwrap_err();
        let message = rejection.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
    }
}

#[tokio::test]
async fn errors_name_a_directory_that_became_unusable() {
    let fixture = filled().await;
    let path = fixture.index_path();
    let fixture = fixture.restart().await;
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "not a directory").unwrap();
    let failed = fixture.search.search(&SearchRequest::default()).await;
    let message = failed.unwrap_err().to_string();
    assert!(message.contains(&path.display().to_string()), "{message}");
}

#[tokio::test]
async fn a_missing_index_is_rebuilt() {
    let fixture = filled().await;
    let path = fixture.index_path();
    let fixture = fixture.restart().await;
    fs::remove_dir_all(path).unwrap();
    assert_eq!(fixture.find("table").await.total, 30);
}

#[tokio::test]
async fn an_index_with_a_damaged_file_of_any_kind_is_rebuilt() {
    let mut fixture = closed_with_deletes().await;
    // Restoring a copy is much faster than filling another index.
    let copy = fixture.test_store.directory().join("undamaged");
    copy_directory(&fixture.index_path(), &copy);
    for damage in ["truncate", "empty", "remove", "flip"] {
        for expected_kind in FILE_KINDS {
            let files = files(&fixture);
            let kinds: BTreeSet<String> = files.iter().map(|file| kind(file)).collect();
            assert!(kinds.iter().eq(FILE_KINDS), "{kinds:?}");
            let file = files.iter().find(|file| kind(file) == expected_kind);
            let file = file.unwrap();
            let mut content = fs::read(file).unwrap();
            let middle = content.len() / 2;
            let content = match damage {
                "truncate" => Some(&content[..middle]),
                "empty" => Some(&[][..]),
                "remove" => None,
                _ => {
                    // Checksums cover the content, but not the footer with the checksum.
                    content[0] ^= 1;
                    Some(&content[..])
                }
            };
            let rebuilt = is_rebuilt_after(&fixture, file, content).await;
            assert!(rebuilt, "{damage} {}", file.display());
            fixture = fixture.restart().await;
            fs::remove_dir_all(fixture.index_path()).unwrap();
            copy_directory(&copy, &fixture.index_path());
        }
    }
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn index_files_are_private_and_read_only() {
    let fixture = filled().await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&fixture.index_path()) & 0o077, 0);
    assert_eq!(mode(&fixture.files_path()) & 0o077, 0);
    let mut mapped = 0;
    for file in files(&fixture) {
        // The others are replaced and read as a whole.
        if file
            .extension()
            .is_some_and(|it| it != "json" && it != "lock")
        {
            assert_eq!(mode(&file) & 0o222, 0, "{}", file.display());
            mapped += 1;
        }
    }
    assert!(mapped > 0);
}

#[tokio::test]
async fn the_index_may_be_removed_while_it_is_in_use() {
    let fixture = filled().await;
    fs::remove_dir_all(fixture.index_path()).unwrap();
    fixture.dataset("table_behind", "Another").await;
    assert_eq!(fixture.find("table").await.total, 31);
}

#[tokio::test]
async fn an_index_of_another_format_is_replaced() {
    let fixture = filled().await;
    let path = fixture.index_path();
    let fixture = fixture.restart().await;
    fs::rename(fixture.files_path(), path.join("format-0")).unwrap();
    assert_eq!(fixture.find("table").await.total, 30);
    assert!(!path.join("format-0").exists());
}

#[tokio::test]
async fn an_index_that_is_ahead_of_the_log_is_rebuilt() {
    let fixture = filled().await;
    let fixture = fixture.replaced().await;
    assert_eq!(fixture.find("*").await.total, 0);
}

#[tokio::test]
async fn an_index_of_another_log_is_rebuilt_although_that_log_is_longer() {
    let fixture = filled().await;
    let fixture = fixture.replaced().await;
    for number in 0..40 {
        fixture.dataset(&format!("other_{number}"), "Another").await;
    }
    assert_eq!(fixture.find("other").await.total, 40);
    assert_eq!(fixture.find("table").await.total, 0);
}
