//! Rebuild, check, backup and restore.

use std::sync::{Arc, Mutex};

use docent_model::{AspectName, Derived};
use serde_json::json;

use super::{
    Harness, dataset, delete, domain, edges, key, log, placed, put, put_domain, put_value, read,
};
use crate::{
    AspectWrite, Effect, LogicalVersion, RawAspect, RawPoint, RawRetiredVersion, RebuildReport,
    RowVersion, Store, TimeseriesRow,
};

/// A few domains and datasets, with moves, deletions and history.
async fn fill(store: &dyn Store) {
    put_domain(store, &domain("sales"), "Sales", None).await;
    put_domain(store, &domain("europe"), "Europe", Some(&domain("sales"))).await;
    put_domain(store, &domain("asia"), "Asia", Some(&domain("europe"))).await;
    put_domain(store, &domain("asia"), "Asia", Some(&domain("sales"))).await;
    for (name, of) in [
        ("a", "europe"),
        ("b", "asia"),
        ("a", "asia"),
        ("c", "sales"),
    ] {
        let value = json!({"domains": [domain(of)]});
        put_value(store, &key(&dataset(name), AspectName::DOMAINS), &value).await;
    }
    delete(store, &key(&dataset("c"), AspectName::DOMAINS)).await;
}

async fn rebuild(store: &dyn Store) -> RebuildReport {
    store.rebuild(Box::new(|_, _| {})).await.unwrap()
}

/// Writes aspects with wrong derived rows.
async fn damage(store: &dyn Store) {
    let wrong = edges(&[("AssociatedWith", &domain("europe"))]);
    let value = json!({"domains": [domain("sales")]}).to_string();
    put(
        store,
        &key(&dataset("a"), AspectName::DOMAINS),
        &value,
        wrong,
    )
    .await;
    let value = json!({"name": "Asia"}).to_string();
    let wrong = placed("Atlantis", Some(&domain("europe")), 1);
    put(
        store,
        &key(&domain("asia"), AspectName::DOMAIN_PROPERTIES),
        &value,
        wrong,
    )
    .await;
}

pub(super) async fn an_empty_store_is_healthy(harness: &impl Harness) {
    let store = harness.store();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(rebuild(store).await, RebuildReport::default());
}

pub(super) async fn the_size_grows_with_the_data(harness: &impl Harness) {
    let store = harness.store();
    let empty = store.size_bytes().await.unwrap();
    // Random enough that no engine compresses it to less.
    let numbers: Vec<u64> = (0..300_000_u64)
        .map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    let value = json!({ "numbers": numbers });
    put_value(
        store,
        &key(&dataset("a"), AspectName::DATASET_PROPERTIES),
        &value,
    )
    .await;
    let grown = store.size_bytes().await.unwrap();
    assert!(grown > empty + 2_000_000, "{empty} bytes, then {grown}");
}

pub(super) async fn a_store_with_history_is_healthy(harness: &impl Harness) {
    let store = harness.store();
    fill(store).await;
    for number in 0..30 {
        let value = json!({"removed": number % 2 == 0});
        put_value(store, &key(&dataset("a"), AspectName::STATUS), &value).await;
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

pub(super) async fn a_rebuild_repairs_nothing_after_regular_writes(harness: &impl Harness) {
    let store = harness.store();
    fill(store).await;
    let reported = Arc::new(Mutex::new(Vec::new()));
    let progress = {
        let reported = Arc::clone(&reported);
        move |done, total| reported.lock().unwrap().push((done, total))
    };
    let report = store.rebuild(Box::new(progress)).await.unwrap();
    // Three domains with two aspects each, two datasets with two, one with its key alone.
    let expected = RebuildReport {
        aspects: 11,
        repaired: 0,
        orphans: 0,
        unreadable: 0,
    };
    assert_eq!(report, expected);
    assert_eq!(reported.lock().unwrap().last(), Some(&(11, 11)));
}

pub(super) async fn a_rebuild_repairs_wrong_derived_rows(harness: &impl Harness) {
    let store = harness.store();
    fill(store).await;
    damage(store).await;
    assert_eq!(rebuild(store).await.repaired, 2);
    assert_eq!(rebuild(store).await.repaired, 0);
    let sales = [domain("sales")];
    let members = store.edges_list(&sales, false, &["AssociatedWith"], &[], 0, 9);
    let members = &members.await.unwrap()[0].items;
    assert_eq!(members.len(), 1);
    assert_eq!(members[0].urn, dataset("a"));
    let roots = store.placements_list("domain", None, 0, 9).await.unwrap();
    assert!(roots.items.contains(&domain("asia")), "{roots:?}");
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

pub(super) async fn a_check_finds_wrong_derived_rows(harness: &impl Harness) {
    let store = harness.store();
    fill(store).await;
    damage(store).await;
    let findings = store.check().await.unwrap();
    assert_eq!(findings.len(), 2, "{findings:?}");
    for (urn, aspect) in [
        (dataset("a"), "domains"),
        (domain("asia"), "domainProperties"),
    ] {
        let names = |finding: &String| finding.contains(urn.as_str()) && finding.contains(aspect);
        assert!(findings.iter().any(names), "{findings:?}");
    }
}

pub(super) async fn a_check_finds_a_missing_key_aspect(harness: &impl Harness) {
    let store = harness.store();
    fill(store).await;
    let status = key(&dataset("keyless"), AspectName::STATUS);
    put(store, &status, r#"{"removed":false}"#, Derived::default()).await;
    let findings = store.check().await.unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("datasetKey"), "{findings:?}");
}

pub(super) async fn a_restored_backup_has_the_same_contents<H: Harness>(harness: &H) {
    let store = harness.store();
    fill(store).await;
    let target = harness.scratch().join("copy.db");
    let reported = Arc::new(Mutex::new((0, 0)));
    let progress = {
        let reported = Arc::clone(&reported);
        move |done, total| *reported.lock().unwrap() = (done, total)
    };
    store.backup(&target, Box::new(progress)).await.unwrap();
    let (done, total) = *reported.lock().unwrap();
    assert!(total > 0 && done == total, "{done} of {total}");

    let domains = key(&dataset("a"), AspectName::DOMAINS);
    let before = read(store, &domains).await;
    let logged = log(store).await;
    // Later changes are not in the backup.
    delete(store, &domains).await;

    let restored = H::restored(&target).await;
    let copy = restored.store();
    assert_eq!(read(copy, &domains).await, before);
    assert_eq!(log(copy).await, logged);
    assert_eq!(rebuild(copy).await.repaired, 0);
    assert_eq!(copy.check().await.unwrap(), Vec::<String>::new());
    // The restored store can be written to.
    put_domain(copy, &domain("new"), "New", None).await;
    assert_eq!(
        read(store, &key(&domain("new"), AspectName::DOMAIN_PROPERTIES)).await,
        None
    );
}

pub(super) async fn a_backup_does_not_overwrite_a_file(harness: &impl Harness) {
    let target = harness.scratch().join("precious");
    std::fs::write(&target, "precious").unwrap();
    let rejected = harness.store().backup(&target, Box::new(|_, _| {})).await;
    assert!(rejected.unwrap_err().to_string().contains("precious"));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
}

/// All rows, in pages.
async fn exported(store: &dyn Store) -> (Vec<RawAspect>, Vec<RawPoint>) {
    let (mut aspects, mut points): (Vec<RawAspect>, Vec<RawPoint>) = (Vec::new(), Vec::new());
    loop {
        let page = store.aspects_export(aspects.last(), 3).await.unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        aspects.extend(page);
    }
    loop {
        let page = store.points_export(points.last(), 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        points.extend(page);
    }
    (aspects, points)
}

pub(super) async fn everything_can_be_exported_and_imported<H: Harness>(harness: &H) {
    let store = harness.store();
    fill(store).await;
    let profile = docent_model::Registry::get()
        .aspect("datasetProfile")
        .unwrap();
    for (name, time_ms, id) in [("b", 2, ""), ("a", 5, "y"), ("a", 5, "x"), ("a", 3, "z")] {
        let point = TimeseriesRow {
            time_ms,
            id: id.to_owned(),
            metadata: "{}".to_owned(),
            system_metadata: None,
        };
        let write = AspectWrite {
            key: key(&dataset(name), profile),
            effect: Effect::Timeseries(point),
        };
        super::write(store, vec![write]).await;
    }
    let (aspects, points) = exported(store).await;
    let total = (aspects.len() + points.len()) as u64;
    assert_eq!(store.export_count().await.unwrap(), total);
    let order: Vec<_> = aspects
        .iter()
        .map(|raw| (&raw.urn, &raw.aspect, raw.row.version))
        .collect();
    assert!(order.is_sorted(), "{order:?}");
    assert!(aspects.iter().any(|raw| raw.row.version.is_history()));
    let order: Vec<_> = points
        .iter()
        .map(|raw| (&raw.urn, raw.point.time_ms, &raw.point.id))
        .collect();
    assert!(order.is_sorted() && points.len() == 4, "{order:?}");

    let other = H::fresh().await;
    let copy = other.store();
    // Aspects that the registry does not know are included.
    let mut all = aspects.clone();
    all.push(RawAspect {
        aspect: "zzzUnknown".to_owned(),
        ..aspects[0].clone()
    });
    all.sort_unstable_by(|one, next| {
        (&one.urn, &one.aspect, one.row.version).cmp(&(&next.urn, &next.aspect, next.row.version))
    });
    copy.import(all.clone(), points.clone()).await.unwrap();
    assert_eq!(store.retired_versions_export(None, 9).await.unwrap(), []);
    let retired = [("a", 3), ("b", 1), ("c", 7)].map(|(name, version)| RawRetiredVersion {
        urn: dataset(name).to_string(),
        aspect: "zzzUnknown".to_owned(),
        version: LogicalVersion::new(version),
    });
    copy.retired_versions_import(retired.to_vec())
        .await
        .unwrap();
    let first = copy.retired_versions_export(None, 2).await.unwrap();
    assert_eq!(first, retired[..2]);
    let rest = copy.retired_versions_export(first.last(), 2).await.unwrap();
    assert_eq!(rest, retired[2..]);
    assert_eq!(copy.export_count().await.unwrap(), total + 1 + 3);
    rebuild(copy).await;
    assert_eq!(exported(copy).await, (all, points));
    assert_eq!(copy.check().await.unwrap(), Vec::<String>::new());
    let latest = aspects
        .iter()
        .filter(|raw| raw.row.version.is_latest())
        .count();
    let logged = log(copy).await;
    assert_eq!(logged.len(), latest);
    let sales = domain("sales");
    let below = copy.placements_list("domain", Some(&sales), 0, 9);
    assert_eq!(below.await.unwrap().total, 2);
}

pub(super) async fn export_pages_are_limited_in_bytes(harness: &impl Harness) {
    const LARGE: usize = crate::EXPORT_PAGE_BYTES / 2;
    let store = harness.store();
    let row = |version| RawAspect {
        urn: dataset("large").to_string(),
        aspect: "zzzUnknown".to_owned(),
        row: crate::StoredAspect {
            version: RowVersion::new(version),
            metadata: "x".repeat(LARGE),
            system_metadata: None,
            created_on_ms: 1,
            created_by: "urn:li:corpuser:tester".to_owned(),
            created_for: None,
        },
    };
    for version in 1..4 {
        store.import(vec![row(version)], Vec::new()).await.unwrap();
    }
    let first = store.aspects_export(None, 9).await.unwrap();
    assert_eq!(first.len(), 2);
    let rest = store.aspects_export(first.last(), 9).await.unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].row.version, RowVersion::new(3));
}
