//! Points of time series aspects.

use docent_model::Registry;

use super::{Harness, dataset, delete, key, write};
use crate::{AspectKey, AspectWrite, Effect, Store, TimeseriesRow};

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

pub(super) async fn points_come_newest_first_and_limited(harness: &impl Harness) {
    let store = harness.store();
    let points = [point(5, "", "5"), point(9, "x", "9"), point(1, "", "1")];
    for point in &points {
        add(store, &profile("t"), point).await;
    }
    add(store, &profile("other"), &point(7, "", "7")).await;
    let [five, nine, one] = points;
    let all = store.timeseries_list(&profile("t"), 10).await.unwrap();
    assert_eq!(all, [nine.clone(), five.clone(), one]);
    let two = store.timeseries_list(&profile("t"), 2).await.unwrap();
    assert_eq!(two, [nine, five]);
}

pub(super) async fn a_point_of_the_same_time_and_id_is_replaced(harness: &impl Harness) {
    let store = harness.store();
    for point in [point(5, "a", "1"), point(5, "b", "2"), point(5, "a", "3")] {
        add(store, &profile("t"), &point).await;
    }
    let mut all = store.timeseries_list(&profile("t"), 10).await.unwrap();
    all.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(all, [point(5, "a", "3"), point(5, "b", "2")]);
}

pub(super) async fn a_deletion_removes_the_points(harness: &impl Harness) {
    let store = harness.store();
    for name in ["t", "other"] {
        add(store, &profile(name), &point(5, "", "1")).await;
    }
    delete(store, &profile("t")).await;
    assert_eq!(store.timeseries_list(&profile("t"), 10).await.unwrap(), []);
    let other = store.timeseries_list(&profile("other"), 10).await.unwrap();
    assert_eq!(other.len(), 1);
}
