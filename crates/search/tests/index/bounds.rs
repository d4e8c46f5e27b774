//! What a search may use is bounded, whatever is asked.

use std::time::Duration;

use docent_search::{Criterion, Filter, Limits, Operator, Request, SearchError};
use serde_json::json;

use super::keeping_up::made_at;
use super::{Fixture, dataset};

/// Forty datasets of which every pattern of `o` and digits finds some.
async fn filled(limits: Limits) -> Fixture {
    let mut fixture = Fixture::new().await;
    let names = (0..40).map(|number| format!("orders_{number}"));
    fixture.datasets(names).await;
    assert_eq!(fixture.find("*").await.total, 40);
    fixture.search = fixture.search.with_limits(limits);
    fixture
}

fn asking(query: &str) -> Request {
    Request {
        query: query.to_owned(),
        ..Request::default()
    }
}

fn containing(text: &str) -> Request {
    Request {
        filter: Filter::all(vec![Criterion {
            operator: Operator::Contains,
            ..Criterion::equal("name", text)
        }]),
        ..Request::default()
    }
}

#[tokio::test]
async fn patterns_and_conditions_that_stand_for_too_many_words_are_refused_with_what_to_do() {
    let fixture = filled(Limits {
        terms: 30,
        ..Limits::default()
    })
    .await;
    for fits in ["*_11", "orders_1?", "orders*", "orders", "order"] {
        let found = fixture.search.search(&asking(fits)).await.unwrap();
        assert!(found.total > 0, "{fits}");
    }
    for request in [asking("*o*"), asking("name:*o*"), containing("o")] {
        let refused = fixture.search.search(&request).await.unwrap_err();
        assert!(matches!(refused, SearchError::TooBroad { .. }), "{refused}");
        assert!(refused.to_string().contains("more letters"), "{refused}");
    }
}

/// Each dataset has a list of its own: what they have in common is one column.
#[tokio::test]
async fn lists_are_no_words() {
    let fixture = filled(Limits {
        terms: 30,
        ..Limits::default()
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
        let request = Request {
            filter: Filter::all(vec![criterion]),
            ..Request::default()
        };
        let found = fixture.search.search(&request).await.unwrap();
        assert_eq!(found.total, 40, "{operator:?}");
    }
}

#[tokio::test]
async fn many_patterns_have_no_more_than_one_has() {
    let fixture = filled(Limits {
        terms: 25,
        ..Limits::default()
    })
    .await;
    let same = "*_1?* ".repeat(60);
    assert_eq!(
        fixture.search.search(&asking(&same)).await.unwrap().total,
        10
    );
    let different: Vec<String> = (0..10).map(|digit| format!("*_?{digit}*")).collect();
    let refused = fixture.search.search(&asking(&different.join(" "))).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, SearchError::TooBroad { .. }), "{refused}");
}

#[tokio::test]
async fn a_search_whose_time_is_over_is_ended_and_the_index_is_not_blamed() {
    let fixture = filled(Limits {
        time: Duration::ZERO,
        ..Limits::default()
    })
    .await;
    let made = made_at(&fixture);
    for request in [asking("orders"), asking("*o*"), containing("o")] {
        let ended = fixture.search.search(&request).await.unwrap_err();
        assert!(matches!(ended, SearchError::TooLong { .. }), "{ended}");
        assert!(ended.to_string().contains("narrow it"), "{ended}");
    }
    let search = fixture.search.clone().with_limits(Limits::default());
    // What was cut off was not remembered as if it were all.
    assert_eq!(search.search(&asking("orders")).await.unwrap().total, 40);
    assert_eq!(search.search(&asking("*o*")).await.unwrap().total, 40);
    assert_eq!(made_at(&fixture), made, "the index was built anew");
}

#[tokio::test]
async fn a_text_that_nobody_types_is_refused_and_one_of_ten_thousand_letters_is_answered() {
    let fixture = filled(Limits::default()).await;
    for text in [
        "x".repeat(10_000),
        "a_b ".repeat(2_500),
        "\"o\\“".repeat(1_500),
    ] {
        fixture.search.search(&asking(&text)).await.unwrap();
    }
    let refused = fixture.search.search(&asking(&"x".repeat(20_000))).await;
    let refused = refused.unwrap_err();
    assert!(matches!(refused, SearchError::Invalid(_)), "{refused}");
}
