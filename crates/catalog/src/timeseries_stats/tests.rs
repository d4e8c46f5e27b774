use std::sync::Arc;

use docent_model::FixedClock;
use docent_test_store::TestStore;
use serde_json::json;

use super::*;
use crate::search::criterion;
use crate::{Caller, ErrorKind, Proposal};

fn query(filter: &[(&str, &str, &str)], metrics: usize, groups: &[&str]) -> StatsQuery {
    let conditions = filter.iter().map(|(field, condition, value)| {
        let values = vec![(*value).to_owned()];
        criterion((*field).to_owned(), values, Some(condition), false).unwrap()
    });
    let conditions: Vec<Criterion> = conditions.collect();
    let any = if conditions.is_empty() {
        vec![]
    } else {
        vec![conditions]
    };
    StatsQuery {
        entity_type: "dataset",
        aspect: AspectName::OPERATION,
        filter: Filter { any },
        metrics: std::iter::repeat_with(|| Metric {
            path: "numAffectedRows".to_owned(),
            aggregation: Aggregation::Sum,
        })
        .take(metrics)
        .collect(),
        groups: groups
            .iter()
            .map(|path| Grouping {
                path: (*path).to_owned(),
                window: None,
            })
            .collect(),
    }
}

fn dataset(name: &str) -> Urn {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    Registry::get().parse_urn(&urn).unwrap()
}

/// A catalog with points 1 to 4 of one dataset, and 5 to 8 of another.
async fn catalog(test_store: &TestStore) -> Catalog {
    let catalog = Catalog::new(test_store.store(), Arc::new(FixedClock::at(1)));
    let points = (1..=8).map(|number| {
        let urn = dataset(if number <= 4 { "a" } else { "b" });
        let mut point = json!({
            "timestampMillis": number, "lastUpdatedTimestamp": number, "operationType": "INSERT",
        });
        // The others have none.
        if number % 2 == 0 {
            point["numAffectedRows"] = json!(number * 4);
        }
        Proposal::upsert(urn, AspectName::OPERATION, point.to_string())
    });
    let written = catalog.ingest(&Caller::system(), points.collect()).await;
    written.unwrap();
    catalog
}

#[tokio::test]
async fn conditions_on_the_urn_and_on_times_narrow_what_is_read() {
    let test_store = TestStore::open().await.unwrap();
    let catalog = catalog(&test_store).await;
    let a = dataset("a").to_string();
    let time = "timestampMillis";
    for (filter, expected) in [
        (vec![("urn", "EQUAL", a.as_str())], Some("24")),
        (vec![(time, "GREATER_THAN", "5")], Some("56")),
        (vec![(time, "LESS_THAN_OR_EQUAL_TO", "4")], Some("24")),
        (
            vec![
                (time, "GREATER_THAN_OR_EQUAL_TO", "3"),
                (time, "LESS_THAN", "7"),
            ],
            Some("40"),
        ),
        (vec![(time, "EQUAL", "8")], Some("32")),
        (vec![(time, "EQUAL", "8"), ("urn", "EQUAL", &a)], None),
        (vec![("urn", "EQUAL", "urn:li:tag:a")], None),
    ] {
        let table = catalog.stats_within(&query(&filter, 1, &[]), 4).await;
        let rows = table.unwrap().rows;
        let sum = rows.first().map(|row| row[0].as_str());
        assert_eq!(sum, expected, "{filter:?}");
    }
    for filter in [vec![], vec![("operationType", "EQUAL", "INSERT")]] {
        let all = query(&filter, 1, &[]);
        let error = catalog.stats_within(&all, 4).await.unwrap_err();
        assert!(error.to_string().contains("more than 4 points"), "{error}");
        assert_eq!(
            catalog.timeseries_stats(&all).await.unwrap().rows[0],
            ["80"]
        );
    }
}

#[tokio::test]
async fn groups_are_ordered_by_number_and_need_their_members() {
    let test_store = TestStore::open().await.unwrap();
    let catalog = catalog(&test_store).await;
    let by_rows = query(&[], 1, &["numAffectedRows"]);
    let table = catalog.timeseries_stats(&by_rows).await.unwrap();
    let expected = [["8", "8"], ["16", "16"], ["24", "24"], ["32", "32"]];
    assert_eq!(table.rows, expected);
}

#[tokio::test]
async fn large_requests_and_hierarchies_are_rejected() {
    let test_store = TestStore::open().await.unwrap();
    let catalog = catalog(&test_store).await;
    let many = |count: usize| vec!["operationType"; count];
    let along = [("urn", "DESCENDANTS_INCL", "urn:li:tag:a")];
    for (query, says) in [
        (
            query(&[], 51, &[]),
            "at most 50 metrics, and this one has 51",
        ),
        (
            query(&[], 1, &many(11)),
            "at most 10 buckets, and this one has 11",
        ),
        (query(&along, 1, &[]), "along a hierarchy"),
    ] {
        let error = catalog.timeseries_stats(&query).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let most = query(&[], 50, &many(10));
    assert_eq!(catalog.timeseries_stats(&most).await.unwrap().rows.len(), 1);
}

#[test]
fn the_states_of_a_group_are_counted_before_they_take_memory() {
    let query = query(&[], 50, &["numAffectedRows"]);
    let mut groups = Groups::default();
    let result = (0..10_000).try_for_each(|number| {
        let point = TimeseriesRow {
            metadata: format!(r#"{{"numAffectedRows":{number}}}"#),
            time_ms: number,
            id: String::new(),
            system_metadata: None,
        };
        query.add(&dataset("a"), &point, &mut groups)
    });
    assert!(result.unwrap_err().to_string().contains("16 MiB"));
    let states: usize = groups.states.values().map(Vec::capacity).sum();
    assert!(states * size_of::<State>() <= MAX_TABLE_BYTES);
    assert!(groups.states.len() > 1000);
}

#[test]
fn work_is_measured_by_the_passes_over_the_points() {
    assert_eq!(query(&[("a", "IN", "1")], 3, &["b", "c"]).passes(), 7);
}

#[test]
fn sums_have_no_long_rows_of_zeros() {
    for (sum, expected) in [
        (0.0, "0"),
        (-2.5, "-2.5"),
        (1e300, "1e300"),
        (1e-300, "1e-300"),
        (1e15, "1000000000000000"),
    ] {
        assert_eq!(number(sum), expected);
    }
}

#[test]
fn windows_begin_where_the_calendar_says() {
    // Wednesday, 2026-11-18 13:45:30.
    const TIME: EpochMillis = 1_795_009_530_123;
    for (name, expected) in [
        ("MINUTE", "2026-11-18T13:45:00Z"),
        ("HOUR", "2026-11-18T13:00:00Z"),
        ("DAY", "2026-11-18T00:00:00Z"),
        ("WEEK", "2026-11-16T00:00:00Z"),
        ("MONTH", "2026-11-01T00:00:00Z"),
        ("QUARTER", "2026-10-01T00:00:00Z"),
        ("YEAR", "2026-01-01T00:00:00Z"),
    ] {
        let start = Window::parse(name).unwrap().start(TIME, &TimeZone::UTC);
        let start = Timestamp::from_millisecond(start.unwrap()).unwrap();
        assert_eq!(start.to_string(), expected, "{name}");
    }
}
