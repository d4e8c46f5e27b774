//! Explanations, shown with the matching words in `<…>`.

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

fn shown(found: &Match) -> String {
    let mut marked = found.value.clone();
    for place in found.places.iter().rev() {
        marked.insert(place.end, '>');
        marked.insert(place.start, '<');
    }
    format!("{}: {marked}", found.field)
}

/// What is marked in one value.
fn marked(query: &str, value: &str) -> Option<String> {
    let mut found = explained(query, &[("f", value)]);
    found.pop().map(|text| text["f: ".len()..].to_owned())
}

#[test]
fn every_matching_column_is_named_in_the_order_given() {
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
fn case_accents_and_division_do_not_matter() {
    assert_eq!(
        marked("strasse", "Die Straße").as_deref(),
        Some("Die <Straße>")
    );
    assert_eq!(
        marked("customerorders", "my customer_orders").as_deref(),
        Some("my <customer_orders>")
    );
    assert_eq!(
        marked("customer_orders", "CustomerOrders").as_deref(),
        Some("<CustomerOrders>")
    );
    assert_eq!(
        marked("customer_orders", "the customer orders").as_deref(),
        Some("the <customer> <orders>")
    );
    assert_eq!(marked("q3", "in Q3 of").as_deref(), Some("in <Q3> of"));
}

#[test]
fn parts_of_a_typed_name_explain_only_where_the_whole_is_missing() {
    assert_eq!(
        marked("customer_orders", "customer_orders of a customer").as_deref(),
        Some("<customer_orders> of a customer")
    );
    assert_eq!(
        marked("customer_orders", "old orders").as_deref(),
        Some("old <orders>")
    );
    assert_eq!(marked("orders_v2", "2 of v"), None);
}

#[test]
fn what_stood_for_a_word_is_marked() {
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
        marked("\"pet orders\"", "orders of pet, pet_orders").as_deref(),
        Some("orders of pet, <pet>_<orders>")
    );
    assert_eq!(marked("\"pet orders\"", "pet of orders"), None);
}

#[test]
fn prefixes_mark_the_whole_word() {
    assert_eq!(
        marked("ord*", "Orders and ordinals, word").as_deref(),
        Some("<Orders> and <ordinals>, word")
    );
    assert_eq!(
        marked("orders*", "orders ordered").as_deref(),
        Some("<orders> ordered")
    );
    assert_eq!(
        marked("customer_ord*", "customer orders").as_deref(),
        Some("<customer> <orders>")
    );
    assert_eq!(
        marked("customero*", "customer_orders").as_deref(),
        Some("<customer_orders>")
    );
}

#[test]
fn patterns_match_words_or_the_whole_value() {
    assert_eq!(
        marked("o?d*rs", "old Orders").as_deref(),
        Some("old <Orders>")
    );
    assert_eq!(
        marked("*stomer", "customer x").as_deref(),
        Some("<customer> x")
    );
    assert_eq!(
        marked("sales.*.orders", "Sales.eu.orders").as_deref(),
        Some("<Sales.eu.orders>")
    );
    assert_eq!(marked("a*z", "b"), None);
}

#[test]
fn a_field_of_the_query_is_looked_for_there_alone() {
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
fn what_must_not_be_there_explains_nothing() {
    let values = [("name", "orders pets")];
    assert_eq!(explained("orders -pets", &values), ["name: <orders> pets"]);
    assert_eq!(explained("-pets", &values), [""; 0]);
    assert_eq!(explained("*", &values), [""; 0]);
}

#[test]
fn the_frame_of_a_urn_explains_nothing() {
    let dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,data.orders,PROD)";
    assert_eq!(
        marked("data dataset urn hive", dataset).as_deref(),
        Some("urn:li:dataset:(urn:li:dataPlatform:<hive>,<data>.orders,PROD)")
    );
    assert_eq!(marked(dataset, dataset), Some(format!("<{dataset}>")));
    assert_eq!(marked("urn:li:tag:a", "urn:li:tag:b"), None);
}

#[test]
fn places_never_overlap() {
    assert_eq!(
        marked("customer customerorders orders", "customer_orders").as_deref(),
        Some("<customer_orders>")
    );
}

#[test]
fn a_long_value_is_cut_around_the_first_match() {
    let value = format!(
        "{}the orders {}",
        "lorem ipsum ".repeat(50),
        "dolor sit ".repeat(50)
    );
    let found = marked("orders", &value).unwrap();
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
fn a_long_value_is_cut_only_where_something_is_left_out() {
    let value = format!("orders {}", "dolor ".repeat(100));
    let found = marked("orders", &value).unwrap();
    assert!(
        found.starts_with("<orders> dolor") && found.ends_with("dolor…"),
        "{found}"
    );
    let value = format!("{}orders", "dolor ".repeat(100));
    let found = marked("orders", &value).unwrap();
    assert!(
        found.starts_with("…dolor") && found.ends_with("dolor <orders>"),
        "{found}"
    );
    assert!(
        found.chars().count() > 190,
        "the space behind is used before: {found}"
    );
}

#[test]
fn a_long_value_without_spaces_is_cut_between_characters() {
    let value = "顧".repeat(300) + "客" + &"顧".repeat(300);
    let found = marked("客", &value).unwrap();
    assert!(
        found.starts_with("…顧") && found.ends_with("顧…"),
        "{found}"
    );
    assert!(found.contains("<客>"), "{found}");
    let found = marked("f:*", &value).unwrap();
    assert_eq!(found.chars().count(), 201);
}

#[test]
fn a_match_longer_than_what_is_shown_is_cut_with_it() {
    let value = "a".repeat(500);
    assert_eq!(
        marked("a*", &value),
        Some(format!("<{}>…", "a".repeat(200)))
    );
}

#[test]
fn every_column_of_a_wide_table_is_named_up_to_a_thousand() {
    let values = vec![("fieldPaths", "order"); 1200];
    assert_eq!(explained("order", &values[..900]).len(), 900);
    assert_eq!(explained("order", &values).len(), 1000);
}

#[test]
fn a_word_is_marked_where_it_is_written_as_several() {
    assert_eq!(
        marked("stgcustomerorders", "Stg.customer.orders of 2024").as_deref(),
        Some("<Stg>.<customer>.<orders> of 2024")
    );
    assert_eq!(marked("stgorders", "stg of orders"), None);
    assert_eq!(marked("customerorders", "customer.ordering"), None);
}

#[test]
fn only_the_last_of_plain_words_may_go_on() {
    let expanded = |word: &str, unfinished: bool| {
        let begins = |known: &&str| unfinished && known.starts_with(word);
        let known = ["orders", "totals"].into_iter().filter(begins);
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
fn a_field_explains_by_all_texts_that_are_searched_as_one_with_it() {
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
    fn places_are_sorted_apart_and_inside_of_the_value(
        query in r#"[abs*?":_ é]{0,12}"#,
        value in prop_oneof!["[abs_ .é]{0,400}", ".{0,400}", "[顧ab]{0,400}"],
    ) {
        for found in explain(&parse(&query), &[("a", &value)], &|_, _| vec!["b".to_owned()]) {
            let mut end = 0;
            for place in &found.places {
                prop_assert!(end <= place.start && place.start < place.end);
                prop_assert!(found.value.get(place.clone()).is_some(), "{found:?}");
                end = place.end;
            }
            prop_assert!(found.value.chars().count() <= 202);
            prop_assert!(value.contains(found.value.trim_matches('…')));
        }
    }
}
