//! Properties over generated inputs.

use std::collections::{BTreeMap, BTreeSet};

use docent_model::{AspectName, Derived, derive};
use docent_store::{
    AspectKey, AspectWrite, Effect, Store, StoreError, StoreMaintenance as _, transact,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{TestDatabase, dataset, domain, put, status, text};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// JSON in various formats, and other texts: the store does not parse what it stores.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any_json().prop_map(|value| value.to_string()),
        any_json().prop_map(|value| format!("{value:#}\r\n\t ")),
        any::<String>(),
        prop::collection::vec(any::<char>(), 0..5000).prop_map(|chars| chars.into_iter().collect()),
    ]
}

#[test]
fn any_text_is_read_back_unchanged() {
    let database = TestDatabase::new();
    let (store, runtime) = (database.open(), runtime());
    let mut number = 0;
    let mut runner = TestRunner::new(Config::with_cases(300));
    let property = |content: String| {
        number += 1;
        let key = status(&format!("t{number}"));
        let read = runtime.block_on(async {
            put(&store, &key, &content, Derived::default())
                .await
                .unwrap();
            text(&store, &key).await
        });
        prop_assert_eq!(read, Some(content));
        Ok(())
    };
    let property = std::cell::RefCell::new(property);
    runner
        .run(&any_text(), |content| (property.borrow_mut())(content))
        .unwrap();
}

/// A step in a history of writes.
#[derive(Debug, Clone)]
enum Step {
    Put(AspectKey, Value),
    Delete(AspectKey),
}

fn any_key() -> impl Strategy<Value = AspectKey> {
    prop_oneof![
        (0_u8..4)
            .prop_map(|n| AspectKey::new(&domain(&n.to_string()), AspectName::DOMAIN_PROPERTIES)),
        (0_u8..4).prop_map(|n| AspectKey::new(&dataset(&n.to_string()), AspectName::DOMAINS)),
        (0_u8..4).prop_map(|n| AspectKey::new(&dataset(&n.to_string()), AspectName::OWNERSHIP)),
    ]
}

fn any_value(key: AspectKey) -> impl Strategy<Value = Step> {
    let targets = prop::collection::vec(0_u8..4, 0..4);
    (targets, "[a-c]{1,2}", 0_i64..3).prop_map(move |(targets, name, time)| {
        let domains: Vec<_> = targets.iter().map(|n| domain(&n.to_string())).collect();
        let value = match key.aspect {
            AspectName::DOMAIN_PROPERTIES => json!({
                "name": name,
                "parentDomain": domains.first(),
                "created": {"time": time, "actor": "urn:li:corpuser:a"},
            }),
            AspectName::DOMAINS => json!({"domains": domains}),
            _ => json!({"owners": targets.iter().map(|n| json!({
                "owner": format!("urn:li:corpuser:{n}"),
                "type": "DATAOWNER",
            })).collect::<Vec<_>>()}),
        };
        Step::Put(key.clone(), value)
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_key().prop_flat_map(any_value),
        1 => any_key().prop_map(Step::Delete),
    ]
}

async fn apply(store: &dyn Store, step: &Step) {
    match step {
        Step::Put(key, value) => {
            let derived = derive(&key.urn, key.aspect, value);
            put(store, key, &value.to_string(), derived).await.unwrap();
        }
        Step::Delete(key) => {
            let write = AspectWrite {
                key: key.clone(),
                effect: Effect::Delete {
                    retired_version: None,
                    time_ms: 7,
                    actor: String::new(),
                },
            };
            transact::<(), StoreError, _>(store, move |tx| {
                let write = write.clone();
                Box::pin(async move { tx.write(&[write]).await })
            })
            .await
            .unwrap();
        }
    }
}

/// The derived tables as lines of text.
fn stored_rows(connection: &Connection) -> BTreeSet<String> {
    let mut statement = connection
        .prepare(
            "SELECT concat_ws('|', source, aspect, relationship, destination) FROM edge
             UNION ALL SELECT concat_ws('|', urn, aspect, kind, parent, name, created_ms) FROM placement",
        )
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The same lines, from the latest values alone.
fn expected_rows(latest: &BTreeMap<AspectKey, Value>) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for (key, value) in latest {
        let derived = derive(&key.urn, key.aspect, value);
        let owner = format!("{}|{}", key.urn, key.aspect);
        for edge in derived.edges {
            lines.insert(format!(
                "{owner}|{}|{}",
                edge.relationship, edge.destination
            ));
        }
        if let Some(placement) = derived.placement {
            let parent = placement
                .parent
                .map_or(String::new(), |parent| parent.to_string());
            lines.insert(format!(
                "{owner}|{}|{parent}|{}|{}",
                placement.kind, placement.name, placement.created_ms
            ));
        }
    }
    lines
}

#[test]
fn derived_rows_depend_only_on_the_latest_values() {
    let runtime = runtime();
    let mut runner = TestRunner::new(Config::with_cases(40));
    let histories = prop::collection::vec(any_step(), 1..25);
    runner
        .run(&histories, |steps| {
            let database = TestDatabase::new();
            let store = database.open();
            let mut latest = BTreeMap::new();
            for step in &steps {
                runtime.block_on(apply(&store, step));
                match step {
                    Step::Put(key, value) => latest.insert(key.clone(), value.clone()),
                    Step::Delete(key) => latest.remove(key),
                };
            }
            prop_assert_eq!(stored_rows(&database.raw()), expected_rows(&latest));
            let report = runtime
                .block_on(store.rebuild(Box::new(|_, _| {})))
                .unwrap();
            prop_assert_eq!(report.aspects, latest.len() as u64);
            prop_assert_eq!((report.repaired, report.orphans), (0, 0));
            Ok(())
        })
        .unwrap();
}
