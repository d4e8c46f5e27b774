//! Damage that bypasses the engine is found by the check, and repaired by the rebuild where
//! possible.

use docent_model::{AspectName, Registry, derive};
use docent_store::{
    AspectKey, LogPosition, ReadRequest, RebuildReport, StoreMaintenance as _, StoreReader as _,
};
use docent_store_sqlite::{OpenOptions, SqliteStore, check_file};
use serde_json::{Value, json};

use super::{TestDatabase, dataset, domain, put};

async fn put_value(store: &SqliteStore, key: &AspectKey, value: &Value) {
    let derived = derive(&key.urn, key.aspect, value);
    put(store, key, &value.to_string(), derived).await.unwrap();
}

/// A dataset with history in a domain, with their key aspects.
async fn healthy(database: &TestDatabase) -> SqliteStore {
    let store = database.open();
    for urn in [dataset("t"), domain("d")] {
        let registry = Registry::get();
        let aspect = registry.entity(urn.entity_type()).unwrap().key_aspect;
        let value = registry.key_aspect_value(&urn).unwrap();
        put_value(&store, &AspectKey::new(&urn, aspect), &value).await;
    }
    let properties = AspectKey::new(&domain("d"), AspectName::DOMAIN_PROPERTIES);
    put_value(&store, &properties, &json!({"name": "D"})).await;
    let domains = AspectKey::new(&dataset("t"), AspectName::DOMAINS);
    for list in [json!([]), json!([domain("d")])] {
        put_value(&store, &domains, &json!({"domains": list})).await;
    }
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    store
}

async fn findings_after(damage: &str) -> Vec<String> {
    let database = TestDatabase::new();
    let store = healthy(&database).await;
    assert!(database.raw().execute(damage, []).unwrap() > 0, "{damage}");
    store.check().await.unwrap()
}

#[tokio::test]
async fn each_kind_of_damage_is_one_finding() {
    for (damage, sentence) in [
        ("DELETE FROM edge", "has wrong derived rows"),
        (
            "UPDATE placement SET name = 'other'",
            "has wrong derived rows",
        ),
        (
            "UPDATE placement SET created_ms = 99",
            "has wrong derived rows",
        ),
        (
            "INSERT INTO edge VALUES ('urn:li:dataset:x', 'domains', 'AssociatedWith', 'urn:li:domain:d')",
            "rows in table edge for its aspect domains",
        ),
        (
            "INSERT INTO placement VALUES ('urn:li:domain:x', 'domainProperties', 'domain', '', 'X', 0)",
            "rows in table placement for its aspect domainProperties",
        ),
        (
            "UPDATE metadata_aspect_v2 SET metadata = '{' WHERE aspect = 'datasetKey'",
            "has invalid JSON in version 0",
        ),
        (
            "UPDATE metadata_aspect_v2 SET metadata = '{' WHERE version = 1",
            "has invalid JSON in version 1",
        ),
        (
            "UPDATE metadata_aspect_v2 SET systemmetadata = '[' WHERE version = 1",
            "unreadable system metadata",
        ),
        (
            "DELETE FROM metadata_aspect_v2 WHERE aspect = 'domainKey'",
            "has no key aspect domainKey",
        ),
        (
            "UPDATE metadata_aspect_v2 SET version = 2 WHERE version = 1",
            "version 2 in its history, but its latest version is 2",
        ),
        (
            "UPDATE metadata_aspect_v2 SET version = -1 WHERE version = 1",
            "has the invalid version -1",
        ),
        (
            "WITH RECURSIVE n (i) AS (SELECT 101 UNION ALL SELECT i + 1 FROM n WHERE i < 120) \
             INSERT INTO metadata_aspect_v2 SELECT urn, 'status', CASE i WHEN 101 THEN 0 ELSE i END, \
             '{}', '{\"version\":\"200\"}', 0, '', NULL FROM n, metadata_aspect_v2 \
             WHERE aspect = 'datasetKey' \
             UNION ALL SELECT urn, 'status', 121, '{}', NULL, 0, '', NULL \
             FROM metadata_aspect_v2 WHERE aspect = 'datasetKey'",
            "has 21 versions",
        ),
    ] {
        let findings = findings_after(damage).await;
        assert_eq!(findings.len(), 1, "{damage}: {findings:?}");
        assert!(findings[0].contains(sentence), "{damage}: {findings:?}");
    }
}

#[tokio::test]
async fn history_without_a_latest_version_is_found() {
    let findings =
        findings_after("DELETE FROM metadata_aspect_v2 WHERE aspect = 'domains' AND version = 0")
            .await;
    assert!(
        findings
            .iter()
            .any(|finding| finding.contains("no latest version")),
        "{findings:?}"
    );
}

#[tokio::test]
async fn damaged_files_are_distinguished_from_other_files() {
    let database = TestDatabase::new();
    drop(healthy(&database).await);
    assert_eq!(check_file(&database.path).unwrap(), Vec::<String>::new());
    let whole = std::fs::read(&database.path).unwrap();
    // The first page, and one of a table.
    for page in [0, 3] {
        let mut bytes = whole.clone();
        bytes[page * 4096 + 100..(page + 1) * 4096].fill(0x5a);
        std::fs::write(&database.path, &bytes).unwrap();
        let message = match check_file(&database.path) {
            Ok(findings) => findings.join("\n"),
            Err(rejected) => rejected.to_string(),
        };
        assert!(
            message.contains("is damaged") && !message.contains("not a SQLite database"),
            "{message}"
        );
        assert_eq!(std::fs::read(&database.path).unwrap(), bytes);
    }
    let mut bytes = whole.clone();
    bytes[100..4096].fill(0x5a);
    std::fs::write(&database.path, &bytes).unwrap();
    let rejected = SqliteStore::open(&database.path, OpenOptions::default()).unwrap_err();
    let rejected = rejected.to_string();
    assert!(
        rejected.contains("is damaged") && !rejected.contains("not a SQLite database"),
        "{rejected}"
    );
    std::fs::write(&database.path, "not a database ".repeat(1000)).unwrap();
    let rejected = check_file(&database.path).unwrap_err().to_string();
    assert!(rejected.contains("is not a SQLite database"), "{rejected}");
}

#[tokio::test]
async fn a_check_rejects_an_older_schema_and_leaves_it_unchanged() {
    let database = TestDatabase::new();
    drop(healthy(&database).await);
    database
        .raw()
        .execute_batch("DELETE FROM docent_migration WHERE number > 1; DROP INDEX aspect_by_run")
        .unwrap();
    let rejected = check_file(&database.path).unwrap_err().to_string();
    assert!(
        rejected.contains("was written by an older docent"),
        "{rejected}"
    );
    let steps: i64 = database
        .raw()
        .query_row("SELECT count(*) FROM docent_migration", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(steps, 1);
}

#[tokio::test]
async fn findings_are_limited() {
    let findings = findings_after(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
         INSERT INTO metadata_aspect_v2 SELECT 'urn:li:domain:' || i, 'status', 0, '{}', NULL, 0, '', NULL \
         FROM n",
    )
    .await;
    assert_eq!(findings.len(), 100);
}

#[tokio::test]
async fn a_rebuild_repairs_wrong_rows_and_deletes_orphans() {
    let database = TestDatabase::new();
    let store = healthy(&database).await;
    database
        .raw()
        .execute_batch(
            "DELETE FROM edge;
             UPDATE placement SET parent = 'urn:li:domain:elsewhere';
             INSERT INTO edge VALUES ('urn:li:dataset:x', 'domains', 'AssociatedWith', 'urn:li:domain:d');
             INSERT INTO edge VALUES ('urn:li:dataset:x', 'domains', 'AssociatedWith', 'urn:li:domain:e');
             INSERT INTO placement VALUES ('urn:li:domain:x', 'domainProperties', 'domain', '', 'X', 0);",
        )
        .unwrap();
    let report = store.rebuild(Box::new(|_, _| {})).await.unwrap();
    let expected = RebuildReport {
        aspects: 4,
        repaired: 2,
        orphans: 3,
        unreadable: 0,
    };
    assert_eq!(report, expected);
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let again = store.rebuild(Box::new(|_, _| {})).await.unwrap();
    assert_eq!((again.repaired, again.orphans), (0, 0));
}

#[tokio::test]
async fn a_damaged_row_is_an_error_with_its_key() {
    let database = TestDatabase::new();
    let store = healthy(&database).await;
    database
        .raw()
        .execute_batch("UPDATE metadata_aspect_v2 SET metadata = x'ff' WHERE aspect = 'domains'")
        .unwrap();
    let key = AspectKey::new(&dataset("t"), AspectName::DOMAINS);
    let read = store.read(ReadRequest::row(&key)).await;
    let error = read.unwrap_err().to_string();
    assert!(error.contains("metadata_aspect_v2"), "{error}");
    assert!(error.contains(dataset("t").as_str()), "{error}");
}

#[tokio::test]
async fn unknown_aspects_are_skipped() {
    let database = TestDatabase::new();
    let store = healthy(&database).await;
    database
        .raw()
        .execute_batch(
            "INSERT INTO metadata_aspect_v2 SELECT urn, 'fromTheFuture', 0, '{}', NULL, 0, '', NULL
             FROM metadata_aspect_v2 WHERE aspect = 'datasetKey';
             INSERT INTO change_log SELECT 1000, urn, 'fromTheFuture', 'put', 1, 0, '', NULL FROM change_log LIMIT 1;
             INSERT INTO change_log SELECT 1001, urn, aspect, 'delete', 1, 0, '', NULL FROM change_log LIMIT 1;",
        )
        .unwrap();
    let entities = store
        .read(ReadRequest::entities(&[dataset("t")]))
        .await
        .unwrap()
        .entities;
    let names: Vec<&str> = entities[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["datasetKey", "domains"]);
    let changes = store.log_read(LogPosition::new(999), 1).await.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].position, LogPosition::new(1001));
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_row_that_the_index_of_runs_misses_is_found_and_repaired() {
    let database = TestDatabase::new();
    let store = healthy(&database).await;
    let raw = database.raw();
    // As if the index had another condition while the row was written.
    let as_if = |from: &str, to: &str| {
        let sql = "UPDATE sqlite_schema SET sql=replace(sql, ?1, ?2) WHERE name='aspect_by_run'";
        raw.execute_batch("PRAGMA writable_schema=ON").unwrap();
        assert_eq!(raw.execute(sql, (from, to)).unwrap(), 1);
        raw.execute_batch("PRAGMA writable_schema=RESET").unwrap();
    };
    as_if("version = 0", "version = 9");
    let changed = raw.execute(
        "UPDATE metadata_aspect_v2 SET systemmetadata='{\"runId\":\"r\",\"lastObserved\":1}' WHERE aspect='datasetKey'",
        [],
    );
    assert_eq!(changed.unwrap(), 1);
    as_if("version = 9", "version = 0");
    drop(raw);
    drop(store);
    let store = database.open();
    assert_eq!(store.runs_list(true, 0, 9).await.unwrap(), []);
    let findings = store.check().await.unwrap();
    assert!(
        findings
            .iter()
            .any(|finding| finding.contains("aspect_by_run")),
        "{findings:?}"
    );
    store.rebuild(Box::new(|_, _| {})).await.unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    assert_eq!(store.runs_list(true, 0, 9).await.unwrap().len(), 1);
}
