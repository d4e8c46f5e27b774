//! An index that is lost, damaged or of something else is built anew without an operator.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docent_search::{Facets, Page, Request, Search, Sort};

use super::{Fixture, name_of};

/// tantivy only reads it to find files that it may delete.
const GARBAGE_LIST: &str = ".managed.json";
/// Segments are named by a UUID without dashes.
const SEGMENT_NAME_LENGTH: usize = 32;
/// The kinds of file that an index with a replaced document consists of, by extension or whole name.
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

async fn filled() -> Fixture {
    let fixture = Fixture::new().await;
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

/// Whether everything in the index is what was written: words, values and the columns that results are sorted by.
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
    let by_name = Request {
        sort: vec![Sort {
            field: "name".to_owned(),
            descending: false,
        }],
        facets: Facets::Named {
            fields: vec!["platform".to_owned()],
            values: 10,
        },
        page: Page::From {
            start: 0,
            count: 100,
        },
        ..Request::default()
    };
    let found = fixture.search.search(&by_name).await.unwrap();
    let names: Vec<String> = found.hits.iter().map(|hit| name_of(&hit.urn)).collect();
    names.len() == 30 && names.is_sorted() && found.facets[0].values[0].count == 30
}

/// The names of the index's segments. A rebuilt index shares none with the one before.
fn segments(fixture: &Fixture) -> BTreeSet<String> {
    let names = files(fixture).into_iter();
    let names = names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    // The file of deleted documents has the number of the commit behind the segment's name.
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

/// An index on the disk that no process has open, with a deleted document in one of its segments.
async fn closed_with_deletes() -> Fixture {
    let fixture = filled().await;
    fixture
        .dataset("table_7", "A table like others, marked7, twice")
        .await;
    assert!(is_whole(&fixture).await);
    // The index is not opened before the first search, so nothing moves its files until then.
    fixture.restart().await
}

/// Replaces a file of the closed index, and tells whether the first search rebuilt the index and found everything.
async fn is_rebuilt_after(fixture: &Fixture, file: &Path, content: Option<&[u8]>) -> bool {
    let before = segments(fixture);
    assert!(!before.is_empty());
    // Files cannot be written to, but they can be replaced.
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

/// The list of segments has no checksum, so its numbers are compared with those of the segments.
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
async fn a_place_where_no_index_can_be_kept_is_refused_at_once_and_named() {
    let fixture = filled().await;
    let file = fixture.index_path().join("a file");
    fs::write(&file, "not a directory").unwrap();
    for place in [file.clone(), file.join("below")] {
        let refused = Search::in_directory(Arc::clone(&fixture.store), &place).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains(&place.display().to_string()), "{said}");
    }
}

#[tokio::test]
async fn an_index_that_cannot_be_written_any_more_says_which() {
    let fixture = filled().await;
    let path = fixture.index_path();
    let fixture = fixture.restart().await;
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "not a directory").unwrap();
    let failed = fixture.search.search(&Request::default()).await;
    let said = failed.unwrap_err().to_string();
    assert!(said.contains(&path.display().to_string()), "{said}");
}

#[tokio::test]
async fn a_removed_index_is_built_anew() {
    let fixture = filled().await;
    let path = fixture.index_path();
    let fixture = fixture.restart().await;
    fs::remove_dir_all(path).unwrap();
    assert_eq!(fixture.find("table").await.total, 30);
}

#[tokio::test]
async fn an_index_with_a_damaged_file_of_any_kind_is_rebuilt() {
    for damage in ["truncate", "empty", "remove", "flip"] {
        for expected_kind in FILE_KINDS {
            let fixture = closed_with_deletes().await;
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
                    content[middle] ^= 1;
                    Some(&content[..])
                }
            };
            let rebuilt = is_rebuilt_after(&fixture, file, content).await;
            // Only a search result that changes would matter for the garbage list.
            let must_rebuild = expected_kind != GARBAGE_LIST;
            assert!(rebuilt || !must_rebuild, "{damage} {}", file.display());
        }
    }
}

#[tokio::test]
async fn files_that_are_mapped_cannot_be_written_by_accident() {
    let fixture = filled().await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&fixture.index_path()) & 0o077, 0);
    assert_eq!(mode(&fixture.files_path()) & 0o077, 0);
    let mut mapped = 0;
    for file in files(&fixture) {
        // What is replaced as a whole is read as a whole.
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
async fn an_index_may_be_removed_while_it_serves() {
    let fixture = filled().await;
    fs::remove_dir_all(fixture.index_path()).unwrap();
    fixture.dataset("table_behind", "Another").await;
    assert_eq!(fixture.find("table").await.total, 31);
}

#[tokio::test]
async fn an_index_of_an_older_format_is_replaced() {
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
