//! Fields that are indexed as lists: column names and properties.

use docent_search::{Criterion, Facets, Operator, SearchPage, SearchRequest, Sort};
use serde_json::{Value, json};

use super::filters::{criterion, matching};
use super::{Fixture, dataset, name_of};

fn schema(columns: &[String]) -> Value {
    let fields = columns.iter().map(|path| json!({"fieldPath": path}));
    json!({"schemaName": "s", "fields": fields.collect::<Vec<_>>()})
}

async fn catalog() -> Fixture {
    let fixture = Fixture::new().await;
    let wide: Vec<String> = (0..500).map(|at| format!("measured_value_{at}")).collect();
    let long = vec!["x".repeat(3_000)];
    for (name, columns) in [
        ("a", vec!["__".to_owned(), "Order-Id".to_owned()]),
        ("b", wide),
        ("c", long),
        (
            "d",
            vec![version_2_path(), "order id".to_owned(), "z\0b".to_owned()],
        ),
    ] {
        let dataset = fixture.dataset(name, "").await;
        fixture
            .put(&dataset, "schemaMetadata", &schema(&columns))
            .await;
        let properties = json!({"description": "", "customProperties": {"team": name, "env": ""}});
        fixture
            .put(&dataset, "datasetProperties", &properties)
            .await;
    }
    fixture
}

fn version_2_path() -> String {
    "[version=2.0].[type=struct].address.[type=string].city".to_owned()
}

fn request() -> SearchRequest {
    SearchRequest {
        types: vec!["dataset".to_owned()],
        page: SearchPage::Offset {
            start: 0,
            count: 100,
        },
        ..SearchRequest::default()
    }
}

async fn names(fixture: &Fixture, request: &SearchRequest) -> String {
    let found = fixture.search.search(request).await.unwrap();
    found.hits.iter().map(|hit| name_of(&hit.urn)).collect()
}

async fn equal(fixture: &Fixture, field: &str, values: &[String]) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    matching(fixture, criterion(field, Operator::Equal, &values)).await
}

#[tokio::test]
async fn list_values_are_compared_exactly() {
    let fixture = catalog().await;
    for (column, expected) in [
        ("Order-Id", "a"),
        ("order id", "d"),
        ("order_id", ""),
        ("__", "a"),
        ("_", ""),
        ("", ""),
        ("measured_value_0", "b"),
        ("measured_value_499", "b"),
        ("measured_value_", ""),
        ("measured_value_0\0measured_value_1", ""),
        ("z\0b", "d"),
        ("z", ""),
        (&version_2_path(), "d"),
        ("address.city", ""),
        (&"x".repeat(3_000), "c"),
        (&"x".repeat(100), ""),
    ] {
        let found = equal(&fixture, "fieldPaths", &[column.to_owned()]).await;
        assert_eq!(found, expected, "{column}");
    }
    let found = equal(&fixture, "fieldPaths", &["x".repeat(1_024)]).await;
    assert_eq!(found, "c", "as a facet names it");
    for (property, expected) in [("team=a", "a"), ("env=", "abcd"), ("team", "")] {
        let found = equal(&fixture, "customProperties", &[property.to_owned()]).await;
        assert_eq!(found, expected, "{property}");
    }
    let many: Vec<String> = (400..450)
        .map(|at| format!("measured_value_{at}"))
        .collect();
    assert_eq!(equal(&fixture, "fieldPaths", &many).await, "b");
    let mut several = many[..3].to_vec();
    several.push("__".to_owned());
    assert_eq!(equal(&fixture, "fieldPaths", &several).await, "ab");
}

#[tokio::test]
async fn facets_count_each_value_of_a_list() {
    let fixture = catalog().await;
    let fields = [
        "fieldPaths",
        "customProperties",
        "fieldPaths␞customProperties",
    ];
    let request = SearchRequest {
        facets: Facets::Named {
            fields: fields.map(str::to_owned).to_vec(),
            values: 10_000,
        },
        ..request()
    };
    let found = fixture.search.search(&request).await.unwrap();
    let [columns, properties, both] = found.facets.as_slice() else {
        panic!("{:?}", found.facets);
    };
    assert_eq!(columns.values.len(), 506);
    assert!(columns.values.iter().all(|it| it.count == 1));
    let counts: Vec<(&str, u64)> = properties
        .values
        .iter()
        .map(|it| (it.value.as_str(), it.count))
        .collect();
    assert_eq!(
        counts,
        [
            ("env=", 4),
            ("team=a", 1),
            ("team=b", 1),
            ("team=c", 1),
            ("team=d", 1)
        ]
    );
    assert_eq!(both.values.len(), 2 * 506);
    assert!(both.values.iter().any(|it| it.value == "Order-Id␞team=a"));
}

#[tokio::test]
async fn results_can_be_sorted_by_lists_and_other_fields() {
    let fixture = catalog().await;
    for name in ["f", "e"] {
        let dataset = fixture.dataset(name, "").await;
        let columns = schema(&["Order-Id".to_owned(), "__".to_owned()]);
        fixture.put(&dataset, "schemaMetadata", &columns).await;
    }
    let by = |field: &str, descending| Sort {
        field: field.to_owned(),
        descending,
    };
    for (sort, expected) in [
        (vec![by("fieldPaths", false), by("name", false)], "aefdbc"),
        (vec![by("fieldPaths", false), by("name", true)], "feadbc"),
        (vec![by("fieldPaths", true), by("name", false)], "cbdaef"),
    ] {
        let request = SearchRequest { sort, ..request() };
        assert_eq!(names(&fixture, &request).await, expected);
    }
}

#[tokio::test]
async fn conditions_that_ignore_case_find_values_in_long_and_short_lists() {
    let fixture = catalog().await;
    let many: Vec<String> = (0..30).map(|number| format!("none-{number}")).collect();
    for (operator, value) in [
        (Operator::EqualIgnoringCase, "oRDER-iD"),
        (Operator::Contains, "dER-i"),
        (Operator::StartsWith, "oRDER-"),
        (Operator::EndsWith, "R-iD"),
    ] {
        // Many values are compared otherwise than few.
        for others in [&many[..0], &many[..]] {
            let mut values: Vec<&str> = others.iter().map(String::as_str).collect();
            values.push(value);
            let condition = criterion("fieldPaths", operator, &values);
            assert_eq!(matching(&fixture, condition).await, "a", "{operator:?}");
        }
    }
}

/// Uses several segments, some without the field, and documents that were replaced and deleted.
#[tokio::test]
async fn lists_follow_the_last_write() {
    let fixture = catalog().await;
    let order_id = ["Order-Id".to_owned()];
    assert_eq!(equal(&fixture, "fieldPaths", &order_id).await, "a");
    let without = fixture.dataset("e", "").await;
    assert_eq!(equal(&fixture, "fieldPaths", &order_id).await, "a");
    fixture
        .put(&without, "schemaMetadata", &schema(&order_id))
        .await;
    assert_eq!(equal(&fixture, "fieldPaths", &order_id).await, "ae");
    fixture
        .put(&dataset("a"), "schemaMetadata", &schema(&[]))
        .await;
    assert_eq!(equal(&fixture, "fieldPaths", &order_id).await, "e");
    let others = Criterion {
        negated: true,
        ..criterion("fieldPaths", Operator::EqualIgnoringCase, &["Order-Id"])
    };
    assert_eq!(matching(&fixture, others).await, "abcd");
    fixture.delete(&without).await;
    assert_eq!(equal(&fixture, "fieldPaths", &order_id).await, "");
}
