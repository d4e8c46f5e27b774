//! Points of time series aspects.

use docent_model::{NO_RUN_ID, Registry};

use super::{Harness, dataset, delete, key, write};
use crate::{
    AspectKey, AspectWrite, Effect, PointKey, PointRange, Store, StoreError, TimeseriesRow,
    transact,
};

fn profile(name: &str) -> AspectKey {
    let aspect = Registry::get().aspect("datasetProfile").unwrap();
    key(&dataset(name), aspect)
}

fn point(time_ms: i64, id: &str, metadata: &str) -> TimeseriesRow {
    TimeseriesRow {
        time_ms,
        id: id.to_owned(),
        metadata: metadata.to_owned(),
        system_metadata: (!id.is_empty()).then(|| "{}".to_owned()),
    }
}

async fn add(store: &dyn Store, key: &AspectKey, point: &TimeseriesRow) {
    let effect = Effect::Timeseries(point.clone());
    write(
        store,
        vec![AspectWrite {
            key: key.clone(),
            effect,
        }],
    )
    .await;
}

async fn list(store: &dyn Store, key: &AspectKey, limit: usize) -> Vec<TimeseriesRow> {
    let all = PointRange::default();
    store
        .timeseries_list(key, &all, true, 0, limit)
        .await
        .unwrap()
}

fn times(from_ms: i64, through_ms: i64) -> PointRange {
    PointRange {
        from_ms: Some(from_ms),
        through_ms: Some(through_ms),
        run: None,
    }
}

async fn count(store: &dyn Store, key: &AspectKey, range: &PointRange) -> u64 {
    let (key, range) = (key.clone(), range.clone());
    transact::<u64, StoreError, _>(store, move |tx| {
        let (key, range) = (key.clone(), range.clone());
        Box::pin(async move { tx.points_count(&key, &range).await })
    })
    .await
    .unwrap()
}

async fn delete_points(store: &dyn Store, key: &AspectKey, range: PointRange) {
    let effect = Effect::DeletePoints(range);
    let key = key.clone();
    write(store, vec![AspectWrite { key, effect }]).await;
}

fn metadata(points: &[TimeseriesRow]) -> Vec<&str> {
    points.iter().map(|point| point.metadata.as_str()).collect()
}

pub(super) async fn points_are_listed_newest_first_up_to_the_limit(harness: &impl Harness) {
    let store = harness.store();
    let points = [point(5, "", "5"), point(9, "x", "9"), point(1, "", "1")];
    for point in &points {
        add(store, &profile("t"), point).await;
    }
    add(store, &profile("other"), &point(7, "", "7")).await;
    let [five, nine, one] = points;
    let all = list(store, &profile("t"), 10).await;
    assert_eq!(all, [nine.clone(), five.clone(), one]);
    let two = list(store, &profile("t"), 2).await;
    assert_eq!(two, [nine, five]);
}

pub(super) async fn a_point_of_the_same_time_and_id_is_replaced(harness: &impl Harness) {
    let store = harness.store();
    for point in [point(5, "a", "1"), point(5, "b", "2"), point(5, "a", "3")] {
        add(store, &profile("t"), &point).await;
    }
    let mut all = list(store, &profile("t"), 10).await;
    all.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(all, [point(5, "a", "3"), point(5, "b", "2")]);
}

pub(super) async fn deleting_an_aspect_deletes_its_points(harness: &impl Harness) {
    let store = harness.store();
    for name in ["t", "other"] {
        add(store, &profile(name), &point(5, "", "1")).await;
    }
    delete(store, &profile("t")).await;
    assert_eq!(list(store, &profile("t"), 10).await, []);
    let other = list(store, &profile("other"), 10).await;
    assert_eq!(other.len(), 1);
}

pub(super) async fn ranges_are_inclusive_and_read_in_either_direction(harness: &impl Harness) {
    let store = harness.store();
    for time in 1..=5 {
        add(store, &profile("t"), &point(time, "", &time.to_string())).await;
    }
    let range = times(2, 4);
    let read = async |newest_first, start| {
        store
            .timeseries_list(&profile("t"), &range, newest_first, start, 2)
            .await
            .unwrap()
    };
    assert_eq!(metadata(&read(true, 0).await), ["4", "3"]);
    assert_eq!(metadata(&read(false, 0).await), ["2", "3"]);
    assert_eq!(metadata(&read(true, 2).await), ["2"]);
}

pub(super) async fn the_bytes_of_points_are_known_before_they_are_read(harness: &impl Harness) {
    let store = harness.store();
    for (time, id, value) in [
        (1, "", "1"),
        (2, "x", "\"ä\""),
        (3, "", "333"),
        (4, "", "44"),
    ] {
        add(store, &profile("t"), &point(time, id, value)).await;
    }
    let range = times(1, 3);
    let bytes = async |newest_first, start| {
        store
            .timeseries_bytes(&profile("t"), &range, newest_first, start, 2)
            .await
            .unwrap()
    };
    assert_eq!(bytes(true, 0).await, [3, 4 + 2]);
    assert_eq!(bytes(true, 2).await, [1]);
    assert_eq!(bytes(false, 0).await, [1, 4 + 2]);
    assert_eq!(bytes(false, 3).await, [0; 0]);
}

pub(super) async fn only_points_in_the_range_are_counted_and_deleted(harness: &impl Harness) {
    let store = harness.store();
    for time in 1..=5 {
        add(store, &profile("t"), &point(time, "", &time.to_string())).await;
    }
    add(store, &profile("other"), &point(3, "", "3")).await;
    assert_eq!(count(store, &profile("t"), &times(2, 4)).await, 3);
    delete_points(store, &profile("t"), times(2, 4)).await;
    assert_eq!(metadata(&list(store, &profile("t"), 10).await), ["5", "1"]);
    assert_eq!(metadata(&list(store, &profile("other"), 10).await), ["3"]);
}

pub(super) async fn only_points_of_the_run_are_found_and_deleted(harness: &impl Harness) {
    let store = harness.store();
    for (time, run) in [(1, "one"), (2, "two"), (3, "one"), (4, NO_RUN_ID)] {
        let mut point = point(time, "", &time.to_string());
        point.system_metadata = Some(format!(r#"{{"runId":"{run}"}}"#));
        add(store, &profile("t"), &point).await;
    }
    assert_eq!(store.run_points_count("one").await.unwrap(), 2);
    let found = store.run_timeseries("one", 10).await.unwrap();
    assert_eq!(found, [(profile("t"), 2)]);
    let of_one = PointRange {
        run: Some("one".to_owned()),
        ..PointRange::default()
    };
    assert_eq!(count(store, &profile("t"), &of_one).await, 2);
    delete_points(store, &profile("t"), of_one).await;
    assert_eq!(metadata(&list(store, &profile("t"), 10).await), ["4", "2"]);
    assert_eq!(store.run_timeseries("one", 10).await.unwrap(), []);
}

pub(super) async fn newest_points_of_several_series_are_read_at_once(harness: &impl Harness) {
    let store = harness.store();
    for (name, time) in [("t", 5), ("t", 9), ("t", 1), ("other", 7)] {
        add(store, &profile(name), &point(time, "x", &time.to_string())).await;
    }
    let keys = [profile("other"), profile("missing"), profile("t")];
    let newest = store.timeseries_latest(&keys).await.unwrap();
    let expected = [Some(point(7, "x", "7")), None, Some(point(9, "x", "9"))];
    assert_eq!(newest, expected);
}

pub(super) async fn points_of_all_entities_are_listed_newest_first_in_pages(
    harness: &impl Harness,
) {
    let store = harness.store();
    let aspect = profile("a").aspect;
    let written = [
        ("a", point(5, "", "5")),
        ("b", point(5, "x", "55")),
        ("b", point(5, "y", "555")),
        ("c", point(9, "", "9")),
        ("a", point(-1, "", "-1")),
    ];
    for (name, point) in &written {
        add(store, &profile(name), point).await;
    }
    let other = key(&dataset("a"), Registry::get().aspect("operation").unwrap());
    add(store, &other, &point(6, "", "6")).await;
    let list = async |range: &PointRange, limit| {
        let mut found = Vec::new();
        let mut last: Option<PointKey> = None;
        loop {
            let page = store.points_list(aspect, range, last.as_ref(), limit);
            let page = page.await.unwrap();
            assert!(page.len() <= limit);
            let Some(end) = page.last() else {
                return found;
            };
            last = Some(end.key.clone());
            found.extend(page);
        }
    };
    let all = list(&times(-1, 9), 10).await;
    let sizes: Vec<u64> = all.iter().map(|it| it.bytes).collect();
    let mut same_time = sizes[1..3].to_vec();
    same_time.sort_unstable();
    assert_eq!((sizes[0], same_time), (1, vec![2 + 2, 3 + 2]));
    assert_eq!(sizes[3..], [1, 2]);
    for limit in [1, 2, 3] {
        assert_eq!(list(&times(-1, 9), limit).await, all);
    }
    assert_eq!(list(&times(0, 8), 2).await, all[1..4]);
    assert_eq!(list(&PointRange::default(), 2).await, all);
    let keys: Vec<PointKey> = all.iter().map(|it| it.key.clone()).collect();
    let read = store.points_read(aspect, &keys).await.unwrap();
    for (key, row) in keys.iter().zip(&read) {
        let row = row.as_ref().unwrap();
        assert_eq!((key.time_ms, &key.id), (row.time_ms, &row.id));
        let is_written =
            |(name, point): &(&str, TimeseriesRow)| dataset(name) == key.urn && point == row;
        assert!(written.iter().any(is_written), "{key:?}");
    }
    let missing = PointKey {
        time_ms: 8,
        ..keys[0].clone()
    };
    let read = store.points_read(aspect, &[missing, keys[4].clone()]).await;
    let read = read.unwrap();
    assert_eq!(read, [None, Some(point(-1, "", "-1"))]);
    assert_eq!(store.points_read(aspect, &[]).await.unwrap(), []);
}
