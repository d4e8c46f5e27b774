//! Explanations, with the matching words in `<…>`.

use proptest::prelude::*;

use super::*;
use crate::language::parse;

fn explained(query: &str, values: &[(&str, &str)]) -> Vec<String> {
    explained_with(query, values, &|_, _| Vec::new())
}

fn explained_with(
    query: &str,
    values: &[(&str, &str)],
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
) -> Vec<String> {
    let matches = explain(&parse(query), values, expanded);
    matches.iter().map(shown).collect()
}

fn shown(found: &FieldMatch) -> String {
    let mut highlighted = found.value.clone();
    for range in found.ranges.iter().rev() {
        highlighted.insert(range.end, '>');
        highlighted.insert(range.start, '<');
    }
    format!("{}: {highlighted}", found.field)
}

/// The highlighted form of one value.
fn highlighted(query: &str, value: &str) -> Option<String> {
    let mut found = explained(query, &[("f", value)]);
    found.pop().map(|text| text["f: ".len()..].to_owned())
}

#[test]
fn every_matching_column_is_listed_in_order() {
    let values = [
        ("name", "Orders"),
        ("fieldPaths", "order_id"),
        ("fieldPaths", "customer"),
        ("fieldPaths", "orderDate"),
        ("description", "All orders, and every ORDER's lines."),
    ];
    assert_eq!(
        explained("order", &values),
        [
            "name: <Orders>",
            "fieldPaths: <order>_id",
            "fieldPaths: <order>Date",
            "description: All <orders>, and every <ORDER>'s lines.",
        ]
    );
}

#[test]
fn case_accents_and_separators_are_ignored() {
    assert_eq!(
        highlighted("strasse", "Die Straße").as_deref(),
        Some("Die <Straße>")
    );
    assert_eq!(
        highlighted("customerorders", "my customer_orders").as_deref(),
        Some("my <customer_orders>")
    );
    assert_eq!(
        highlighted("customer_orders", "CustomerOrders").as_deref(),
        Some("<CustomerOrders>")
    );
    assert_eq!(
        highlighted("customer_orders", "the customer orders").as_deref(),
        Some("the <customer> <orders>")
    );
    assert_eq!(highlighted("q3", "in Q3 of").as_deref(), Some("in <Q3> of"));
}

#[test]
fn parts_of_a_word_are_highlighted_only_if_the_whole_is_missing() {
    assert_eq!(
        highlighted("customer_orders", "customer_orders of a customer").as_deref(),
        Some("<customer_orders> of a customer")
    );
    assert_eq!(
        highlighted("customer_orders", "old orders").as_deref(),
        Some("old <orders>")
    );
    assert_eq!(highlighted("orders_v2", "2 of v"), None);
}

#[test]
fn expanded_words_are_highlighted() {
    let expanded = |word: &str, _: bool| {
        let known = [("custmer", "customer"), ("ord", "order")];
        let found = known.iter().filter(|(typed, _)| *typed == word);
        found.map(|(_, index)| (*index).to_owned()).collect()
    };
    let values = [("name", "customerOrders"), ("name", "pets")];
    assert_eq!(
        explained_with("Custmer ord", &values, &expanded),
        ["name: <customer><Orders>"]
    );
    assert_eq!(
        explained_with("custmer_ord", &values, &expanded),
        ["name: <customer><Orders>"]
    );
}

#[test]
fn phrases_match_only_in_order() {
    assert_eq!(
        highlighted("\"pet orders\"", "orders of pet, pet_orders").as_deref(),
        Some("orders of pet, <pet>_<orders>")
    );
    assert_eq!(highlighted("\"pet orders\"", "pet of orders"), None);
}

#[test]
fn prefixes_highlight_the_whole_word() {
    assert_eq!(
        highlighted("ord*", "Orders and ordinals, word").as_deref(),
        Some("<Orders> and <ordinals>, word")
    );
    assert_eq!(
        highlighted("orders*", "orders ordered").as_deref(),
        Some("<orders> ordered")
    );
    assert_eq!(
        highlighted("customer_ord*", "customer orders").as_deref(),
        Some("<customer> <orders>")
    );
    assert_eq!(
        highlighted("customero*", "customer_orders").as_deref(),
        Some("<customer_orders>")
    );
}

#[test]
fn patterns_match_words_or_the_whole_value() {
    assert_eq!(
        highlighted("o?d*rs", "old Orders").as_deref(),
        Some("old <Orders>")
    );
    assert_eq!(
        highlighted("*stomer", "customer x").as_deref(),
        Some("<customer> x")
    );
    assert_eq!(
        highlighted("sales.*.orders", "Sales.eu.orders").as_deref(),
        Some("<Sales.eu.orders>")
    );
    assert_eq!(highlighted("a*z", "b"), None);
}

#[test]
fn terms_on_a_field_match_only_that_field() {
    let values = [
        ("name", "orders"),
        ("description", "orders"),
        ("origin", "PROD"),
    ];
    assert_eq!(explained("name:orders", &values), ["name: <orders>"]);
    assert_eq!(
        explained("Name.keyword:orders", &values),
        ["name: <orders>"]
    );
    assert_eq!(
        explained("description:(x OR order)", &values),
        ["description: <orders>"]
    );
    assert_eq!(explained("origin:*", &values), ["origin: PROD"]);
}

#[test]
fn excluded_terms_explain_nothing() {
    let values = [("name", "orders pets")];
    assert_eq!(explained("orders -pets", &values), ["name: <orders> pets"]);
    assert_eq!(explained("-pets", &values), [""; 0]);
    assert_eq!(explained("*", &values), [""; 0]);
}

#[test]
fn the_prefix_of_a_urn_explains_nothing() {
    let dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,data.orders,PROD)";
    assert_eq!(
        highlighted("data dataset urn hive", dataset).as_deref(),
        Some("urn:li:dataset:(urn:li:dataPlatform:<hive>,<data>.orders,PROD)")
    );
    assert_eq!(highlighted(dataset, dataset), Some(format!("<{dataset}>")));
    assert_eq!(highlighted("urn:li:tag:a", "urn:li:tag:b"), None);
}

#[test]
fn ranges_never_overlap() {
    assert_eq!(
        highlighted("customer customerorders orders", "customer_orders").as_deref(),
        Some("<customer_orders>")
    );
}

#[test]
fn long_values_are_shortened_around_the_first_match() {
    let value = format!(
        "{}the orders {}",
        "lorem ipsum ".repeat(50),
        "dolor sit ".repeat(50)
    );
    let found = highlighted("orders", &value).unwrap();
    assert!(
        found.starts_with("…lorem") || found.starts_with("…ipsum"),
        "{found}"
    );
    assert!(found.contains("the <orders> dolor"), "{found}");
    assert!(
        found.ends_with("dolor…") || found.ends_with("sit…"),
        "{found}"
    );
    let length = found.chars().count();
    assert!((150..=204).contains(&length), "{length}");
}

#[test]
fn ellipses_mark_only_omitted_text() {
    let value = format!("orders {}", "dolor ".repeat(100));
    let found = highlighted("orders", &value).unwrap();
    assert!(
        found.starts_with("<orders> dolor") && found.ends_with("dolor…"),
        "{found}"
    );
    let value = format!("{}orders", "dolor ".repeat(100));
    let found = highlighted("orders", &value).unwrap();
    assert!(
        found.starts_with("…dolor") && found.ends_with("dolor <orders>"),
        "{found}"
    );
    assert!(
        found.chars().count() > 190,
        "the whole length is used: {found}"
    );
}

#[test]
fn long_values_without_spaces_are_cut_between_characters() {
    let value = "顧".repeat(300) + "客" + &"顧".repeat(300);
    let found = highlighted("客", &value).unwrap();
    assert!(
        found.starts_with("…顧") && found.ends_with("顧…"),
        "{found}"
    );
    assert!(found.contains("<客>"), "{found}");
    let found = highlighted("f:*", &value).unwrap();
    assert_eq!(found.chars().count(), 201);
}

#[test]
fn a_match_longer_than_the_fragment_is_shortened() {
    let value = "a".repeat(500);
    assert_eq!(
        highlighted("a*", &value),
        Some(format!("<{}>…", "a".repeat(200)))
    );
}

#[test]
fn at_most_a_thousand_columns_are_listed() {
    let values = vec![("fieldPaths", "order"); 1200];
    assert_eq!(explained("order", &values[..900]).len(), 900);
    assert_eq!(explained("order", &values).len(), 1000);
}

#[test]
fn a_word_matches_a_sequence_of_words() {
    assert_eq!(
        highlighted("stgcustomerorders", "Stg.customer.orders of 2024").as_deref(),
        Some("<Stg>.<customer>.<orders> of 2024")
    );
    assert_eq!(highlighted("stgorders", "stg of orders"), None);
    assert_eq!(highlighted("customerorders", "customer.ordering"), None);
}

#[test]
fn only_the_last_of_plain_words_may_be_a_prefix() {
    let expanded = |word: &str, unfinished: bool| {
        let has_prefix = |known: &&str| unfinished && known.starts_with(word);
        let known = ["orders", "totals"].into_iter().filter(has_prefix);
        known
            .map(|word| word.trim_end_matches('s').to_owned())
            .collect()
    };
    let values = [("name", "orders"), ("name", "totals")];
    let explained = |query| explained_with(query, &values, &expanded);
    assert_eq!(explained("ord tot"), ["name: <totals>"]);
    assert_eq!(explained("tot ord"), ["name: <orders>"]);
    assert_eq!(explained("+ord"), Vec::<String>::new());
}

#[test]
fn fields_of_one_class_are_explained_together() {
    let values = [
        ("editedDescription", "refunds"),
        ("fieldPaths", "refund"),
        ("fieldDescriptions", "a refund"),
        ("customProperties", "team=refund"),
    ];
    assert_eq!(
        explained("description:refund", &values),
        [
            "editedDescription: <refunds>",
            "fieldDescriptions: a <refund>"
        ]
    );
    assert_eq!(
        explained("customProperties:team=refund", &values),
        ["customProperties: <team>=<refund>"]
    );
    assert_eq!(
        explained("column:refund", &values),
        ["fieldPaths: <refund>"]
    );
}

proptest! {
    #[test]
    fn ranges_are_sorted_disjoint_and_inside_the_value(
        query in r#"[abs*?":_ é]{0,12}"#,
        value in prop_oneof!["[abs_ .é]{0,400}", ".{0,400}", "[顧ab]{0,400}"],
    ) {
        for found in explain(&parse(&query), &[("a", &value)], &|_, _| vec!["b".to_owned()]) {
            let mut end = 0;
            for range in &found.ranges {
                prop_assert!(end <= range.start && range.start < range.end);
                prop_assert!(found.value.get(range.clone()).is_some(), "{found:?}");
                end = range.end;
            }
            prop_assert!(found.value.chars().count() <= 202);
            prop_assert!(value.contains(found.value.trim_matches('…')));
        }
    }
}
