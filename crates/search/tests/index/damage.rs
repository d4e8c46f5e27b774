//! An index that is lost, damaged or of something else is built anew without an operator.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use docent_search::{Facets, Page, Request, Search, Sort};

use super::{Fixture, name_of};

/// The library writes it to know what to remove.
const NOT_READ: &str = ".managed.json";
/// That of a UUID.
const SEGMENT_NAME_LENGTH: usize = 32;

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

/// The names of the index's segments: one that was built anew has others.
fn segments(fixture: &Fixture) -> BTreeSet<String> {
    let names = files(fixture).into_iter();
    let names = names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    names
        .filter(|name| name.len() == SEGMENT_NAME_LENGTH)
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

/// The list of segments has no checksum: a digit of it that changed is told by what the segments have.
#[tokio::test]
async fn an_index_that_counts_its_documents_wrong_is_built_anew() {
    for (member, wrong) in [("max_doc", -1), ("max_doc", 1), ("num_deleted_docs", 1)] {
        let fixture = filled().await;
        // One is replaced, so that a document is deleted.
        fixture
            .dataset("table_7", "A table like others, marked7, twice")
            .await;
        assert!(is_whole(&fixture).await);
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
        fs::remove_file(&path).unwrap();
        fs::write(&path, meta.to_string()).unwrap();
        let fixture = fixture.restart().await;
        assert!(is_whole(&fixture).await, "{member} {wrong}");
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
async fn every_file_may_be_truncated_emptied_removed_or_have_a_bit_flipped() {
    let mut fixture = filled().await;
    let count = files(&fixture).len();
    for at in 0..count {
        for harm in ["truncate", "empty", "remove", "flip"] {
            fixture = fixture.restart().await;
            let files = files(&fixture);
            let Some(file) = files.get(at.min(files.len() - 1)) else {
                continue;
            };
            let before = segments(&fixture);
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            match harm {
                "truncate" => bytes.truncate(middle),
                "empty" => bytes.clear(),
                "flip" => bytes[middle] ^= 1,
                _ => {}
            }
            // It cannot be written to, but it can be replaced.
            fs::remove_file(file).unwrap();
            if harm != "remove" {
                fs::write(file, bytes).unwrap();
            }
            assert!(is_whole(&fixture).await, "{harm} {}", file.display());
            let name = file.file_name().unwrap().to_string_lossy();
            assert!(!before.is_empty());
            let is_anew = before.is_disjoint(&segments(&fixture));
            assert!(is_anew || name == NOT_READ, "{harm} {}", file.display());
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
async fn an_index_that_is_ahead_of_the_log_or_of_another_one_is_built_anew() {
    let fixture = filled().await;
    let fixture = fixture.replaced().await;
    assert_eq!(fixture.find("*").await.total, 0);
    for number in 0..40 {
        fixture.dataset(&format!("other_{number}"), "Another").await;
    }
    let fixture = fixture.restart().await;
    assert_eq!(fixture.find("other").await.total, 40);
    assert_eq!(fixture.find("table").await.total, 0);
}
