//! Properties of every patch.

use docent_model::aspects::AuditStamp;
use docent_model::patch::{Patch, PatchBudget};
use docent_model::{Registry, Urn};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{choices, for_every_aspect};

fn stamp() -> AuditStamp {
    AuditStamp::new(&Urn::parse("urn:li:corpuser:a").unwrap(), 1)
}

/// A change to the owners, addressed by user, or by user and type, which may be empty.
#[derive(Debug, Clone)]
enum Edit {
    Add(&'static str, &'static str, u8),
    Remove(&'static str, Option<&'static str>),
    SetSource(&'static str, &'static str, u8),
}

fn user() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b/c", "~", "", "d"])
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["X", "", "Y~1"])
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        (user(), kind(), any::<u8>()).prop_map(|(user, kind, n)| Edit::Add(user, kind, n)),
        (user(), prop::option::of(kind())).prop_map(|(user, kind)| Edit::Remove(user, kind)),
        (user(), kind(), any::<u8>()).prop_map(|(user, kind, n)| Edit::SetSource(user, kind, n)),
    ];
    prop::collection::vec(edit, 0..40)
}

fn escaped(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1")
}

fn operation(edit: &Edit) -> Value {
    let path = |user: &str, kind: &str| format!("/owners/{}/{}", escaped(user), escaped(kind));
    match edit {
        Edit::Add(user, kind, n) => {
            json!({"op": "add", "path": path(user, kind), "value": {"n": n}})
        }
        Edit::Remove(user, Some(kind)) => json!({"op": "remove", "path": path(user, kind)}),
        Edit::Remove(user, None) => {
            json!({"op": "remove", "path": format!("/owners/{}", escaped(user)), "value": {}})
        }
        Edit::SetSource(user, kind, n) => {
            json!({"op": "add", "path": format!("{}/source/n", path(user, kind)), "value": n})
        }
    }
}

/// An owner in the naive model.
#[derive(Debug, Clone, Default, PartialEq)]
struct Owner {
    user: &'static str,
    kind: &'static str,
    n: Option<u8>,
    source: Option<u8>,
}

fn model(owners: &mut Vec<Owner>, edit: &Edit) {
    let mut entry = |user: &'static str, kind: &'static str| {
        let found = owners
            .iter()
            .position(|it| it.user == user && it.kind == kind);
        found.unwrap_or_else(|| {
            owners.push(Owner {
                user,
                kind,
                ..Owner::default()
            });
            owners.len() - 1
        })
    };
    match *edit {
        Edit::Add(user, kind, n) => {
            let at = entry(user, kind);
            owners[at] = Owner {
                user,
                kind,
                n: Some(n),
                source: None,
            };
        }
        Edit::SetSource(user, kind, n) => {
            let at = entry(user, kind);
            owners[at].source = Some(n);
        }
        Edit::Remove(user, kind) => {
            owners.retain(|it| it.user != user || kind.is_some_and(|kind| it.kind != kind));
        }
    }
}

fn read(owners: &Value) -> Vec<Owner> {
    let known = |text: Option<&str>| {
        let all = ["a", "b/c", "~", "d", "X", "Y~1"];
        all.into_iter().find(|it| Some(*it) == text).unwrap_or("")
    };
    let number = |value: &Value| value.as_u64().map(|n| u8::try_from(n).unwrap());
    let owners = owners.as_array().unwrap().iter();
    owners
        .map(|owner| Owner {
            user: known(owner["owner"].as_str()),
            kind: known(owner["type"].as_str()),
            n: number(&owner["n"]),
            source: number(&owner["source"]["n"]),
        })
        .collect()
}

proptest! {
    #[test]
    fn keyed_list_edits_match_a_naive_model(edits in edits(), cut in 0usize..40) {
        let aspect = Registry::get().aspect("ownership").unwrap();
        let mut expected = Vec::new();
        for edit in &edits {
            model(&mut expected, edit);
        }
        // The edits in one patch, and in two with a stored value in between.
        let operations: Vec<Value> = edits.iter().map(operation).collect();
        let (first, second) = operations.split_at(cut.min(operations.len()));
        for patches in [vec![operations.as_slice()], vec![first, second]] {
            let mut value = Some(json!({"owners": []}));
            for patch in patches {
                let patch = Patch::from_value(json!(patch)).unwrap();
                value = Some(patch.apply(aspect, value, &stamp(), &PatchBudget::default()).unwrap());
            }
            prop_assert_eq!(read(&value.unwrap()["owners"]), expected.clone());
        }
    }

    #[test]
    fn any_list_of_operations_terminates(text in r#"\[(\{"op":"(add|remove|move|copy|test|replace)","path":"(/[a-z0-9~-]{0,3}){0,4}","from":"(/tags)?","value":(1|\{\}|\[\])\},?){0,4}\]"#) {
        if let Ok(patch) = Patch::parse(&text) {
            for aspect in ["globalTags", "upstreamLineage", "editableSchemaMetadata"] {
                let aspect = Registry::get().aspect(aspect).unwrap();
                let _ = patch.apply(aspect, None, &stamp(), &PatchBudget::default());
            }
        }
    }
}

proptest! {
    // Each case covers every aspect.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn aspects_round_trip_through_keyed_lists(numbers in choices()) {
        for_every_aspect(&numbers, |kind, value, _, _| {
            // Removing missing elements indexes every list and changes nothing.
            let members = value.as_object().unwrap().keys();
            let operations: Vec<Value> = members
                .flat_map(|name| {
                    let deep = format!("/{name}/no/such/thing/is/in/here");
                    [deep, format!("/{name}/no")]
                })
                .map(|path| json!({"op": "remove", "path": path}))
                .collect();
            let patch = Patch::from_value(json!(operations)).unwrap();
            let again = patch.apply(kind.aspect, Some(value.clone()), &stamp(), &PatchBudget::default()).unwrap();
            prop_assert_eq!(again.to_string(), value.to_string());
            Ok(())
        })?;
    }

    #[test]
    fn adding_an_existing_value_changes_nothing_and_test_succeeds(numbers in choices()) {
        for_every_aspect(&numbers, |kind, value, _, _| {
            for (name, member) in value.as_object().unwrap() {
                let path = format!("/{}", escaped(name));
                let patch = json!([
                    {"op": "test", "path": path, "value": member},
                    {"op": "add", "path": path, "value": member},
                ]);
                let again = Patch::from_value(patch).unwrap().apply(kind.aspect, Some(value.clone()), &stamp(), &PatchBudget::default()).unwrap();
                prop_assert_eq!(again.to_string(), value.to_string());
            }
            Ok(())
        })?;
    }
}
