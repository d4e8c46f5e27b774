//! Reading all results, page after page.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use docent_model::Registry;
use docent_search::{Page, Request};
use docent_store::Store;
use proptest::prelude::*;

use super::{Fixture, dataset};

/// All URNs that a scroll gives, in its order.
async fn scroll(fixture: &Fixture, count: usize) -> Vec<String> {
    let mut mark = None;
    let mut urns = Vec::new();
    loop {
        let request = Request {
            query: "*".to_owned(),
            include_removed: true,
            page: Page::After { mark, count },
            ..Request::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert!(found.hits.len() <= count);
        urns.extend(found.hits.iter().map(|hit| hit.urn.to_string()));
        match found.next {
            Some(next) => mark = Some(next),
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
async fn pages_of_any_length_give_every_entity_once() {
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
async fn what_is_there_throughout_comes_exactly_once_while_others_write() {
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
                fixture.dataset(&name, &format!("round {round}")).await;
                fixture
                    .dataset(&format!("stays_{}", round % 40), &format!("round {round}"))
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
    assert!(writer.await.unwrap() > 0);
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
    fn after_any_steps_a_full_scroll_equals_the_store(steps in prop::collection::vec(any_step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut fixture = Fixture::new().await;
            let mut expected = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Put(name, text) => {
                        let urn = fixture
                            .dataset(&format!("t{name}"), &format!("text {text}"))
                            .await;
                        expected.insert(urn.to_string());
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
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        });
    }
}

#[tokio::test]
async fn pages_by_number_have_each_result_once_whatever_the_names_share() {
    let fixture = Fixture::new().await;
    // The first eight letters are the order among equals.
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
        let request = Request {
            query: "orders".to_owned(),
            page: Page::From { start, count: 1 },
            ..Request::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert_eq!((found.total, found.hits.len()), (9, 1));
        assert!(seen.insert(found.hits[0].urn.clone()), "{start}");
    }
}
