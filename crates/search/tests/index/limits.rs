//! The limits of a search.

use std::time::Duration;

use docent_search::{Criterion, Filter, Operator, SearchError, SearchLimits, SearchRequest};
use serde_json::json;

use super::freshness::created_at;
use super::{Fixture, dataset};

/// Forty datasets, so that every pattern of `o` and digits matches some.
async fn filled(limits: SearchLimits) -> Fixture {
    let mut fixture = Fixture::new().await;
    let names = (0..40).map(|number| format!("orders_{number}"));
    fixture.datasets(names).await;
    assert_eq!(fixture.find("*").await.total, 40);
    fixture.search = fixture.search.with_limits(limits);
    fixture
}

fn query(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.to_owned(),
        ..SearchRequest::default()
    }
}

fn containing(text: &str) -> SearchRequest {
    SearchRequest {
        filter: Filter::all(vec![Criterion {
            operator: Operator::Contains,
            ..Criterion::equal("name", text)
        }]),
        ..SearchRequest::default()
    }
}

#[tokio::test]
async fn patterns_and_conditions_with_too_many_terms_are_rejected() {
    let fixture = filled(SearchLimits {
        terms: 30,
        ..SearchLimits::default()
    })
    .await;
    for fits in ["*_11", "orders_1?", "orders*", "orders", "order"] {
        let found = fixture.search.search(&query(fits)).await.unwrap();
        assert!(found.total > 0, "{fits}");
    }
    for request in [query("*o*"), query("name:*o*"), containing("o")] {
        let rejection = fixture.search.search(&request).await.unwrap_err();
        assert!(
            matches!(rejection, SearchError::TooBroad { .. }),
            "{rejection}"
        );
        assert!(
            rejection.to_string().contains("longer prefixes"),
            "{rejection}"
        );
    }
}

/// Every dataset has a distinct list, but they share a column name.
#[tokio::test]
async fn list_conditions_do_not_count_as_terms() {
    let fixture = filled(SearchLimits {
        terms: 30,
        ..SearchLimits::default()
    })
    .await;
    for number in 0..40 {
        let fields = json!([{"fieldPath": "id"}, {"fieldPath": format!("value_{number}")}]);
        let schema = json!({"schemaName": "s", "fields": fields});
        let urn = dataset(&format!("orders_{number}"));
        fixture.put(&urn, "schemaMetadata", &schema).await;
    }
    for operator in [
        Operator::Equal,
        Operator::EqualIgnoringCase,
        Operator::StartsWith,
    ] {
        let criterion = Criterion {
            operator,
            ..Criterion::equal("fieldPaths", "id")
        };
        let request = SearchRequest {
            filter: Filter::all(vec![criterion]),
            ..SearchRequest::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert_eq!(found.total, 40, "{operator:?}");
    }
}

#[tokio::test]
async fn all_patterns_share_one_term_limit() {
    let fixture = filled(SearchLimits {
        terms: 25,
        ..SearchLimits::default()
    })
    .await;
    let same = "*_1?* ".repeat(60);
    assert_eq!(
        fixture.search.search(&query(&same)).await.unwrap().total,
        10
    );
    let different: Vec<String> = (0..10).map(|digit| format!("*_?{digit}*")).collect();
    let rejection = fixture.search.search(&query(&different.join(" "))).await;
    let rejection = rejection.unwrap_err();
    assert!(
        matches!(rejection, SearchError::TooBroad { .. }),
        "{rejection}"
    );
}

#[tokio::test]
async fn timeouts_do_not_discard_the_index() {
    let fixture = filled(SearchLimits {
        time: Duration::ZERO,
        ..SearchLimits::default()
    })
    .await;
    let created = created_at(&fixture);
    for request in [query("orders"), query("*o*"), containing("o")] {
        let error = fixture.search.search(&request).await.unwrap_err();
        assert!(matches!(error, SearchError::TimedOut { .. }), "{error}");
        assert!(error.to_string().contains("narrow it"), "{error}");
    }
    let search = fixture.search.clone().with_limits(SearchLimits::default());
    // Incomplete results must not have been cached.
    assert_eq!(search.search(&query("orders")).await.unwrap().total, 40);
    assert_eq!(search.search(&query("*o*")).await.unwrap().total, 40);
    assert_eq!(created_at(&fixture), created, "the index was rebuilt");
}

#[tokio::test]
async fn queries_are_rejected_only_over_the_length_limit() {
    let fixture = filled(SearchLimits::default()).await;
    for text in [
        "x".repeat(10_000),
        "a_b ".repeat(2_500),
        "\"o\\“".repeat(1_500),
    ] {
        fixture.search.search(&query(&text)).await.unwrap();
    }
    let rejection = fixture.search.search(&query(&"x".repeat(20_000))).await;
    let rejection = rejection.unwrap_err();
    assert!(matches!(rejection, SearchError::Invalid(_)), "{rejection}");
}
