//! Scrolls, sorting and pages.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use docent_model::Registry;
use docent_search::{SearchError, SearchPage, SearchRequest, Sort};
use docent_store::Store;
use proptest::prelude::*;
use serde_json::json;

use super::{Fixture, dataset};

/// The URNs of a whole scroll, in its order.
async fn scroll(fixture: &Fixture, count: usize) -> Vec<String> {
    scroll_by(fixture, count, &[]).await
}

async fn scroll_by(fixture: &Fixture, count: usize, sort: &[Sort]) -> Vec<String> {
    let mut cursor = None;
    let mut total = None;
    let mut urns = Vec::new();
    loop {
        let request = SearchRequest {
            query: "*".to_owned(),
            include_removed: true,
            page: SearchPage::Cursor { cursor, count },
            sort: sort.to_vec(),
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert!(found.hits.len() <= count);
        if !sort.is_empty() {
            assert_eq!(*total.get_or_insert(found.total), found.total);
        }
        urns.extend(found.hits.iter().map(|hit| hit.urn.to_string()));
        match found.next {
            Some(next) => cursor = Some(next),
            None => return urns,
        }
    }
}

async fn stored(store: &dyn Store) -> Vec<String> {
    let spec = Registry::get().entity("dataset").unwrap();
    let urns = store
        .urns_list("dataset", spec.key_aspect, None, 100_000)
        .await
        .unwrap();
    urns.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn scrolls_return_every_entity_once_for_any_page_size() {
    let fixture = Fixture::new().await;
    for number in 0..25 {
        fixture.dataset(&format!("t{number}"), "x").await;
    }
    let all = stored(&*fixture.store).await;
    for count in [1, 7, 24, 25, 26, 1000] {
        assert_eq!(scroll(&fixture, count).await, all, "pages of {count}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrolls_return_unchanged_entities_once_during_writes() {
    let fixture = Arc::new(Fixture::new().await);
    for number in 0..40 {
        fixture.dataset(&format!("stays_{number}"), "x").await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (fixture, stop) = (Arc::clone(&fixture), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                let name = format!("comes_and_goes_{}", round % 5);
                fixture.dataset(&name, &format!("gone{round}")).await;
                fixture
                    .dataset(&format!("stays_{}", round % 40), &format!("round{round}"))
                    .await;
                fixture.delete(&dataset(&name)).await;
                round += 1;
            }
            round
        })
    };
    for _ in 0..5 {
        let mut seen: HashMap<String, usize> = HashMap::new();
        for urn in scroll(&fixture, 6).await {
            *seen.entry(urn).or_default() += 1;
        }
        for number in 0..40 {
            let urn = dataset(&format!("stays_{number}")).to_string();
            assert_eq!(seen.get(&urn), Some(&1), "{urn}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    let rounds = writer.await.unwrap();
    assert!(rounds > 0);
    // The index has the last version of each entity and nothing of earlier ones.
    for round in 0..rounds {
        let found = fixture.names(&format!("description:round{round}")).await;
        let is_last = round + 40 >= rounds;
        let expected: Vec<_> = is_last
            .then(|| format!("stays_{}", round % 40))
            .into_iter()
            .collect();
        assert_eq!(found, expected, "round {round} of {rounds}");
    }
    assert_eq!(fixture.find("description:gone*").await.total, 0);
}

fn by(field: &str, descending: bool) -> Sort {
    Sort {
        field: field.to_owned(),
        descending,
    }
}

/// Datasets in several segments, with times of modification of which some are equal and some are
/// missing.
async fn changed() -> Fixture {
    let fixture = Fixture::new().await;
    for number in 0..17_i64 {
        let urn = fixture.dataset(&format!("t{number}"), "x").await;
        if number % 4 != 0 {
            let time = json!({"time": number % 5});
            let properties = json!({"customProperties": {}, "lastModified": time});
            fixture.put(&urn, "datasetProperties", &properties).await;
        }
        if number % 6 == 0 {
            fixture.find("*").await;
        }
    }
    fixture
}

#[tokio::test]
async fn scrolls_keep_the_requested_order() {
    let fixture = changed().await;
    for sort in [
        vec![by("lastModifiedAt", false)],
        vec![by("lastModifiedAt", true)],
        vec![by("name", true)],
        vec![by("urn", true)],
        vec![
            by("hasDescription", false),
            by("lastModifiedAt", true),
            by("name", false),
        ],
    ] {
        let request = SearchRequest {
            page: SearchPage::Offset {
                start: 0,
                count: 100,
            },
            sort: sort.clone(),
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        let expected: Vec<_> = found.hits.iter().map(|it| it.urn.to_string()).collect();
        assert_eq!(expected.len(), 17);
        for count in [1, 4, 16, 17, 100] {
            let found = scroll_by(&fixture, count, &sort).await;
            assert_eq!(found, expected, "{sort:?}, pages of {count}");
        }
    }
    let missing_last = scroll_by(&fixture, 3, &[by("lastModifiedAt", true)]).await;
    let without_time = [0, 4, 8, 12, 16].map(|number| dataset(&format!("t{number}")).to_string());
    let last: BTreeSet<_> = missing_last[12..].iter().cloned().collect();
    assert_eq!(last, BTreeSet::from(without_time));
}

#[tokio::test]
async fn sorted_scrolls_continue_after_their_cursor_despite_writes() {
    let fixture = changed().await;
    let sort = [by("name", false)];
    let page = |cursor| SearchRequest {
        page: SearchPage::Cursor { cursor, count: 5 },
        sort: sort.to_vec(),
        ..SearchRequest::default()
    };
    let first = fixture.search.search(&page(None)).await.unwrap();
    fixture.delete(&first.hits[4].urn).await;
    fixture.dataset("a_new_one", "before the cursor").await;
    let next = fixture.search.search(&page(first.next)).await.unwrap();
    assert_eq!(next.total, 17);
    let names: Vec<_> = next
        .hits
        .iter()
        .map(|hit| super::name_of(&hit.urn))
        .collect();
    assert_eq!(names, ["t13", "t14", "t15", "t16", "t2"]);
}

#[tokio::test]
async fn unknown_sort_fields_are_rejected_with_the_known_ones() {
    let fixture = Fixture::new().await;
    fixture.dataset("noted", "some orders").await;
    fixture.dataset("orders", "").await;
    let search = async |sort: Vec<Sort>, page| {
        let request = SearchRequest {
            query: "orders".to_owned(),
            sort,
            page,
            ..SearchRequest::default()
        };
        fixture.search.search(&request).await
    };
    for sort in [
        vec![by("_score", true)],
        vec![by("_score", false), by("name", false)],
    ] {
        let found = search(sort, SearchPage::default()).await.unwrap();
        assert_eq!(super::name_of(&found.hits[0].urn), "orders");
        assert!(found.hits[0].score > found.hits[1].score);
    }
    for field in ["nobodyKnows", "description", "_SCORE"] {
        for page in [
            SearchPage::default(),
            SearchPage::Cursor {
                cursor: None,
                count: 5,
            },
        ] {
            let rejection = search(vec![by(field, false)], page).await.unwrap_err();
            assert!(matches!(rejection, SearchError::Invalid(_)));
            let message = rejection.to_string();
            let names = [field, "_score", "name", "lastModifiedAt"];
            assert!(names.iter().all(|name| message.contains(name)), "{message}");
        }
    }
    for cursor in ["urn:li:tag:x", "{}", r#"{"values": [], "urn": "x"}"#] {
        let cursor = Some(cursor.to_owned());
        let page = SearchPage::Cursor { cursor, count: 5 };
        let rejection = search(vec![by("name", false)], page).await.unwrap_err();
        assert!(
            rejection.to_string().contains("nextScrollId"),
            "{rejection}"
        );
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Search,
    Restart,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12_u8, any::<u8>()).prop_map(|(name, text)| Step::Put(name, text)),
        2 => (0..12_u8).prop_map(Step::Delete),
        1 => Just(Step::Search),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn the_index_equals_the_store_after_any_steps(steps in prop::collection::vec(any_step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut fixture = Fixture::new().await;
            let mut expected = BTreeMap::new();
            let mut texts = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Put(name, text) => {
                        let text = format!("said{text}");
                        let urn = fixture.dataset(&format!("t{name}"), &text).await;
                        expected.insert(urn.to_string(), text.clone());
                        texts.insert(text);
                    }
                    Step::Delete(name) => {
                        let urn = dataset(&format!("t{name}"));
                        fixture.delete(&urn).await;
                        expected.remove(urn.as_str());
                    }
                    Step::Search => {
                        assert_eq!(fixture.find("*").await.total, expected.len());
                    }
                    Step::Restart => fixture = fixture.restart().await,
                }
            }
            let found = scroll(&fixture, 3).await;
            assert_eq!(found, expected.keys().cloned().collect::<Vec<_>>());
            // The index has the last version of each entity.
            for text in texts {
                let found = fixture.find(&format!("description:\"{text}\"")).await;
                let found: BTreeSet<_> = found.hits.iter().map(|hit| hit.urn.to_string()).collect();
                let with_text = expected.iter().filter(|(_, said)| **said == text);
                let with_text: BTreeSet<_> = with_text.map(|(urn, _)| urn.clone()).collect();
                assert_eq!(found, with_text, "{text}");
            }
        });
    }
}

#[tokio::test]
async fn pages_by_offset_return_each_result_once() {
    let fixture = Fixture::new().await;
    // The first eight characters decide between equal scores.
    for name in ["orders_2", "orders_1", "orders_3"] {
        fixture.dataset(name, "").await;
    }
    for platform in ["a", "z"] {
        for name in ["orders_1", "orders_2", "orders_3"] {
            let text = format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)");
            let urn = docent_model::Urn::parse(&text).unwrap();
            fixture.put(&urn, "datasetKey", &super::key_of(&urn)).await;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    for start in 0..9 {
        let request = SearchRequest {
            query: "orders".to_owned(),
            page: SearchPage::Offset { start, count: 1 },
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert_eq!((found.total, found.hits.len()), (9, 1));
        assert!(seen.insert(found.hits[0].urn.clone()), "{start}");
    }
}
