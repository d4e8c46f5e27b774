//! How good search is: queries with judged answers, kept as a test.
//!
//! `queries.jsonl` has one judgement a line, a JSON object: `query`, `over` ("demo" is the sample catalog of `docent serve --demo`, "warehouse"
//! what [`generator`] and [`planted`] make), `types` if only some entity types are asked for, `expect` (URNs, all of which
//! must be among the first `within`: 1, 3 or 10), `ordered` if they must come in that order, `never` for URNs that must not be found
//! at all, and `why`. The ranking that they hold search to: exact name, then beginning of a name, words of a name,
//! column name, description; what is documented or much used first among equals; any word may match, all words rank higher.
//!
//! Whoever finds a query with a bad answer adds a line. When the answer needs an entity of its own, plant one.

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

const QUERIES_AT_LEAST: usize = 130;

const MEAN_RECIPROCAL_RANK_AT_LEAST: f64 = 0.9;

fn entities(data: Data) -> Vec<Entity> {
    match data {
        Data::Demo => serde_json::from_str(DEMO).unwrap(),
        Data::Warehouse => {
            // In the middle of the others, so that no order of writing helps what was planted.
            let mut entities = generator::generated();
            let behind = entities.split_off(entities.len() / 2);
            entities.extend(planted::planted());
            entities.extend(behind);
            entities
        }
    }
}

async fn verdicts(data: Data) -> Vec<Verdict> {
    let place = loader::filled_store(&entities(data)).await;
    let store = place.store();
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
async fn people_find_what_they_look_for() {
    let mut all = verdicts(Data::Demo).await;
    all.extend(verdicts(Data::Warehouse).await);
    let complaints: Vec<String> = all.iter().filter_map(Verdict::complaint).collect();
    let mean = mean_reciprocal_rank(&all);
    let summary = format!(
        "{} queries, {} with a wrong answer, mean reciprocal rank {mean:.4}",
        all.len(),
        complaints.len()
    );
    let delays: Vec<String> = all.iter().filter_map(Verdict::delay).collect();
    println!(
        "{summary}\n\nReciprocal ranks below 1:\n{}",
        delays.join("\n")
    );
    assert!(
        complaints.is_empty() && mean >= MEAN_RECIPROCAL_RANK_AT_LEAST,
        "{summary} (at least {MEAN_RECIPROCAL_RANK_AT_LEAST} is asked for)\n\n{}",
        complaints.join("\n")
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
            "an entity of {data:?} comes twice"
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
fn every_judgement_can_be_met() {
    let judgements = Judgement::all();
    assert!(judgements.len() >= QUERIES_AT_LEAST);
    let questions: HashSet<_> = judgements.iter().map(Judgement::question).collect();
    assert_eq!(
        questions.len(),
        judgements.len(),
        "a question is asked twice"
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
            assert!(known, "{query:?} asks for {entity_type}");
        }
        assert!(!judgement.why.is_empty(), "{query:?}");
    }
}

#[test]
fn the_warehouse_is_the_same_in_every_run_and_as_large_as_it_says() {
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
fn the_judge_finds_what_is_wrong_and_nothing_else() {
    let found = ["a", "b", "c", "d"];
    let complaint = |judgement: Judgement| Verdict::new(judgement, &found).complaint();

    assert_eq!(complaint(judgement(&["a"], 1)), None);
    assert_eq!(complaint(judgement(&["c", "b"], 3)), None);
    assert!(
        complaint(judgement(&["b"], 1))
            .unwrap()
            .contains("rank 2: b")
    );
    assert!(
        complaint(judgement(&["a", "e"], 3))
            .unwrap()
            .contains("not found: e")
    );

    let ordered = |expect: &[&str]| Judgement {
        ordered: true,
        ..judgement(expect, 3)
    };
    assert_eq!(complaint(ordered(&["a", "c"])), None);
    assert!(
        complaint(ordered(&["c", "a"]))
            .unwrap()
            .contains("too early: a")
    );

    let never = Judgement {
        never: vec!["d".to_owned()],
        ..judgement(&["a"], 1)
    };
    assert!(
        complaint(never)
            .unwrap()
            .contains("rank 4, but must not be found: d")
    );
}

#[test]
fn the_mean_takes_the_first_right_answer_of_each_query() {
    let verdicts = [
        Verdict::new(judgement(&["c", "b"], 3), &["a", "b", "c"]),
        Verdict::new(judgement(&["a"], 1), &["a"]),
        Verdict::new(judgement(&["x"], 1), &["a"]),
    ];
    assert!((mean_reciprocal_rank(&verdicts) - 0.5).abs() < 1e-9);
}
