//! Relevance tests: queries with expected results.
//!
//! `queries.jsonl` has one judgement per line, a JSON object: `query`; `over` ("demo" is the sample
//! catalog of `docent serve --demo` without dashboards, pipelines and statistics, "warehouse" is
//! made by [`generator`] and [`planted`]);
//! `types`, if the query is limited to some entity types; `expect`, URNs that must all be among the
//! first `within` results (1, 3 or 10); `ordered`, if they must be in that order; `never`, URNs
//! that must not be found; and `why`.
//!
//! They demand this ranking: exact name, then prefix of a name, words of a name, column name,
//! description. Described and much used entities come first among equals. Any word may match, but
//! entities with all words rank higher.
//!
//! To report a query with bad results, add a line. If it needs an entity of its own, plant one.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop as tests do")]

mod entity;
mod generator;
mod judge;
mod loader;
mod planted;

use std::collections::HashSet;

use docent_search::Search;

use crate::entity::Entity;
use crate::judge::{Data, Judgement, Verdict, mean_reciprocal_rank, named};

const DEMO: &str = include_str!("../../../docent/demo/catalog.json");

const MIN_QUERIES: usize = 130;

const MIN_MEAN_RECIPROCAL_RANK: f64 = 0.9;

fn entities(data: Data) -> Vec<Entity> {
    match data {
        Data::Demo => serde_json::from_str(DEMO).unwrap(),
        Data::Warehouse => {
            // In the middle, so that the order of writes does not favor planted entities.
            let mut entities = generator::generated();
            let second_half = entities.split_off(entities.len() / 2);
            entities.extend(planted::planted());
            entities.extend(second_half);
            entities
        }
    }
}

async fn verdicts(data: Data) -> Vec<Verdict> {
    let test_store = loader::filled_store(&entities(data)).await;
    let store = test_store.store();
    let search = Search::in_memory(store);
    let mut verdicts = Vec::new();
    for judgement in Judgement::all() {
        if judgement.over == data {
            verdicts.push(judgement.judge(&search).await);
        }
    }
    verdicts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn judged_queries_find_the_expected_entities() {
    let mut all = verdicts(Data::Demo).await;
    all.extend(verdicts(Data::Warehouse).await);
    let problems: Vec<String> = all.iter().filter_map(Verdict::problem).collect();
    let mean = mean_reciprocal_rank(&all);
    let summary = format!(
        "{} queries, {} with wrong results, mean reciprocal rank {mean:.4}",
        all.len(),
        problems.len()
    );
    let late: Vec<String> = all.iter().filter_map(Verdict::late_result).collect();
    println!(
        "{summary}\n\nReciprocal ranks below 1:\n{}",
        late.join("\n")
    );
    assert!(
        problems.is_empty() && mean >= MIN_MEAN_RECIPROCAL_RANK,
        "{summary} (at least {MIN_MEAN_RECIPROCAL_RANK} is required)\n\n{}",
        problems.join("\n")
    );
}

#[test]
fn every_judged_entity_exists_in_its_data() {
    for data in [Data::Demo, Data::Warehouse] {
        let entities = entities(data);
        let known: HashSet<&str> = entities.iter().map(|entity| entity.urn.as_str()).collect();
        assert_eq!(
            known.len(),
            entities.len(),
            "an entity of {data:?} is repeated"
        );
        for judgement in Judgement::all() {
            if judgement.over == data {
                for urn in named(&judgement) {
                    assert!(
                        known.contains(urn),
                        "{:?}: there is no {urn}",
                        judgement.query
                    );
                }
            }
        }
    }
}

#[test]
fn every_judgement_is_consistent() {
    let judgements = Judgement::all();
    assert!(judgements.len() >= MIN_QUERIES);
    let identities: HashSet<_> = judgements.iter().map(Judgement::identity).collect();
    assert_eq!(
        identities.len(),
        judgements.len(),
        "a judgement is repeated"
    );
    for judgement in &judgements {
        let query = &judgement.query;
        assert!([1, 3, 10].contains(&judgement.within), "{query:?}");
        assert!(!judgement.expect.is_empty(), "{query:?}");
        assert!(judgement.expect.len() <= judgement.within, "{query:?}");
        assert_eq!(
            named(judgement).len(),
            judgement.expect.len() + judgement.never.len(),
            "{query:?} names an entity twice"
        );
        for entity_type in &judgement.types {
            let known = docent_search::DEFAULT_TYPES.contains(&entity_type.as_str());
            assert!(known, "{query:?} names {entity_type}");
        }
        assert!(!judgement.why.is_empty(), "{query:?}");
    }
}

#[test]
fn the_generated_warehouse_is_deterministic() {
    let warehouse = entities(Data::Warehouse);
    assert!(warehouse == entities(Data::Warehouse));
    let of_type = |kind: &str| {
        let prefix = format!("urn:li:{kind}:");
        let matching = warehouse
            .iter()
            .filter(|entity| entity.urn.starts_with(&prefix));
        matching.count()
    };
    assert!(of_type("dataset") > 2_000);
    let platforms: HashSet<&str> = warehouse
        .iter()
        .filter_map(|entity| entity.urn.strip_prefix("urn:li:dataset:("))
        .filter_map(|key| key.split(',').next())
        .collect();
    assert_eq!(platforms.len(), 6);
    assert_eq!(of_type("domain"), 14);
}

fn judgement(expect: &[&str], within: usize) -> Judgement {
    Judgement {
        query: "query".to_owned(),
        over: Data::Demo,
        types: Vec::new(),
        expect: expect.iter().map(|urn| (*urn).to_owned()).collect(),
        within,
        ordered: false,
        never: Vec::new(),
        why: "because".to_owned(),
    }
}

#[test]
fn the_judge_reports_exactly_the_wrong_results() {
    let found = ["a", "b", "c", "d"];
    let problem = |judgement: Judgement| Verdict::new(judgement, &found).problem();

    assert_eq!(problem(judgement(&["a"], 1)), None);
    assert_eq!(problem(judgement(&["c", "b"], 3)), None);
    assert!(problem(judgement(&["b"], 1)).unwrap().contains("rank 2: b"));
    assert!(
        problem(judgement(&["a", "e"], 3))
            .unwrap()
            .contains("not found: e")
    );

    let ordered = |expect: &[&str]| Judgement {
        ordered: true,
        ..judgement(expect, 3)
    };
    assert_eq!(problem(ordered(&["a", "c"])), None);
    assert!(
        problem(ordered(&["c", "a"]))
            .unwrap()
            .contains("too early: a")
    );

    let never = Judgement {
        never: vec!["d".to_owned()],
        ..judgement(&["a"], 1)
    };
    assert!(
        problem(never)
            .unwrap()
            .contains("rank 4, but must not be found: d")
    );
}

#[test]
fn the_mean_reciprocal_rank_uses_the_first_expected_result() {
    let verdicts = [
        Verdict::new(judgement(&["c", "b"], 3), &["a", "b", "c"]),
        Verdict::new(judgement(&["a"], 1), &["a"]),
        Verdict::new(judgement(&["x"], 1), &["a"]),
    ];
    assert!((mean_reciprocal_rank(&verdicts) - 0.5).abs() < 1e-9);
}
