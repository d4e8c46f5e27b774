//! Properties of every URN and every aspect in the registry.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, like the tests themselves"
)]

mod generate;
mod patches;
mod searches;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use docent_model::searchable::{SearchValue, search_values};
use docent_model::{AspectName, EntitySpec, Registry, Urn, derive};
use generate::{Choices, Corruption, Expectations};
use proptest::prelude::*;
use serde_json::Value;

/// Enough numbers to fill the largest record; fewer yield smaller values.
fn choices() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(any::<u32>(), 0..400)
}

/// A key part without the characters that separate parts.
fn plain_part() -> impl Strategy<Value = String> {
    "[^(),\u{241F}\\s\\p{Cc}:]([^(),\u{241F}\\p{Cc}]{0,12}[^(),\u{241F}\\s\\p{Cc}])?"
}

/// A tuple key, whose parts may be tuples and URNs.
fn tuple_key() -> impl Strategy<Value = String> {
    plain_part().prop_recursive(4, 24, 4, |part| {
        prop_oneof![
            prop::collection::vec(part.clone(), 2..5)
                .prop_map(|parts| format!("({})", parts.join(","))),
            ("[a-z][A-Za-z0-9_]{0,8}", part).prop_map(|(kind, key)| format!("urn:li:{kind}:{key}")),
        ]
    })
}

proptest! {
    #[test]
    fn urns_round_trip_as_text(
        entity_type in "[a-z][A-Za-z0-9_]{0,12}",
        parts in prop::collection::vec(tuple_key(), 2..5),
    ) {
        let text = format!("urn:li:{entity_type}:({})", parts.join(","));
        let urn = Urn::parse(&text).unwrap();
        prop_assert_eq!(urn.as_str(), &text);
        prop_assert_eq!(urn.to_string().parse::<Urn>().unwrap(), urn.clone());
        prop_assert_eq!(urn.entity_type(), entity_type);
        prop_assert_eq!(urn.key_parts(), parts);
    }

    #[test]
    fn parsing_never_panics_and_is_idempotent(text in "(urn:li:[a-z]{1,3}:)?[a-z(),: \u{241F}é]{0,40}") {
        if let Ok(urn) = Urn::parse(&text) {
            prop_assert_eq!(&Urn::parse(urn.as_str()).unwrap(), &urn);
            let _ = Registry::get().check_urn(&urn);
        }
    }

    #[test]
    fn urns_of_every_entity_type_have_a_key_aspect(numbers in choices()) {
        let registry = Registry::get();
        let mut choices = Choices::new(numbers);
        for entity in registry.entities() {
            let text = generate::urn(&mut choices, Some(&[entity.name]), 0);
            let urn = registry.parse_urn(&text).unwrap();
            let mut key = registry.key_aspect_value(&urn).unwrap();
            let members: Vec<&str> = key.as_object().unwrap().values().map(|part| part.as_str().unwrap()).collect();
            prop_assert_eq!(&members, &urn.key_parts());
            prop_assert_eq!(registry.validate(entity, entity.key_aspect, &mut key), Ok(false));
        }
    }
}

proptest! {
    // Each case covers every aspect.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn valid_aspects_have_the_expected_edges_and_search_values(numbers in choices()) {
        for_every_aspect(&numbers, |kind, value, expectations, _| {
            let (accepted, kept) = validate(kind, value.clone());
            prop_assert_eq!(accepted, Ok(false), "{}: {}", kind.aspect, value);
            prop_assert_eq!(&kept, &value);
            let derived = derived_edges(kind, &value);
            prop_assert_eq!(derived, expectations.edges, "{}: {}", kind.aspect, value);
            let expected = searches::expected(kind.aspect.as_str(), &value);
            prop_assert_eq!(searched(kind, &value), expected, "{}: {}", kind.aspect, value);
            Ok(())
        })?;
    }

    #[test]
    fn invalid_members_are_rejected_with_their_path(numbers in choices()) {
        for_every_aspect(&numbers, |kind, mut value, expectations, choices| {
            let corruption = choices.pick(&expectations.corruptions).clone();
            let path = match &corruption {
                Corruption::Replace { at, by } => {
                    *value.pointer_mut(at).unwrap() = by.clone();
                    at.clone()
                }
                Corruption::Remove { record, member } => {
                    value.pointer_mut(record).unwrap().as_object_mut().unwrap().remove(member);
                    format!("{record}/{member}")
                }
            };
            let (rejected, _) = validate(kind, value.clone());
            let error = rejected.expect_err(&format!("{} {corruption:?}: {value}", kind.aspect));
            prop_assert_eq!(&error.0, &path, "{}", error.1);
            prop_assert!(error.1.starts_with(&format!("{}: ", kind.aspect)), "{}", error.1);
            derived_edges(kind, &value);
            searched(kind, &value);
            Ok(())
        })?;
    }

    #[test]
    fn unknown_members_are_trimmed_at_any_depth(numbers in choices()) {
        for_every_aspect(&numbers, |kind, value, expectations, choices| {
            let at = choices.pick(&expectations.records).clone();
            let mut extended = value.clone();
            let record = extended.pointer_mut(&at).unwrap().as_object_mut().unwrap();
            record.insert("noSuchMember".to_owned(), serde_json::json!({"deep": [1]}));
            let (trimmed, kept) = validate(kind, extended);
            prop_assert_eq!(trimmed, Ok(true));
            prop_assert_eq!(kept, value);
            Ok(())
        })?;
    }
}

/// An aspect, and an entity type that may have it.
#[derive(Clone, Copy)]
struct Kind {
    aspect: AspectName,
    entity: &'static EntitySpec,
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let registry = Registry::get();
    generate::aspects_of_entities()
        .into_iter()
        .map(|(aspect, entity)| Kind {
            aspect: registry.aspect(aspect).unwrap(),
            entity: registry.entity(entity).unwrap(),
        })
        .collect()
});

#[test]
fn every_aspect_is_covered() {
    let covered: BTreeSet<&str> = KINDS.iter().map(|kind| kind.aspect.as_str()).collect();
    let all: BTreeSet<&str> = generate::keys("aspects").into_iter().collect();
    let uncovered: Vec<&str> = all.difference(&covered).copied().collect();
    assert_eq!(uncovered, ["incidentSource", "mlHyperParam", "mlMetric"]);
}

fn for_every_aspect(
    numbers: &[u32],
    check: impl Fn(Kind, Value, Expectations, &mut Choices) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for (at, kind) in KINDS.iter().enumerate() {
        // Rotate the numbers, so that aspects get different values.
        let mut rotated = numbers.to_vec();
        rotated.rotate_left(at % numbers.len().max(1));
        let mut choices = Choices::new(rotated);
        let (value, expectations) = generate::aspect(&mut choices, kind.aspect.as_str());
        check(*kind, value, expectations, &mut choices)?;
    }
    Ok(())
}

/// The result (an error as path and message), and the value afterwards.
fn validate(kind: Kind, mut value: Value) -> (Result<bool, (String, String)>, Value) {
    let outcome = Registry::get()
        .validate(kind.entity, kind.aspect, &mut value)
        .map_err(|error| (error.path.clone(), error.to_string()));
    (outcome, value)
}

fn derived_edges(kind: Kind, value: &Value) -> BTreeSet<(String, String)> {
    let urn = Urn::parse("urn:li:corpuser:anyone").unwrap();
    let derived = derive(&urn, kind.aspect, value);
    derived
        .edges
        .into_iter()
        .map(|edge| (edge.relationship.to_owned(), edge.destination.to_string()))
        .collect()
}

/// The search fields and their values as JSON text.
fn searched(kind: Kind, value: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    search_values(kind.aspect, value, &mut |field, value| {
        let value = match value {
            SearchValue::Text(text) => Value::from(text.as_ref()),
            SearchValue::Flag(flag) => Value::from(flag),
            SearchValue::Number(number) => Value::from(number),
            SearchValue::Real(number) => Value::from(number),
        };
        all.push((field.name.to_owned(), value.to_string()));
    });
    all
}
