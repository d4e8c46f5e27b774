//! How PostgreSQL carries out the hot statements: by indexes alone, however large the tables are.
//!
//! The plans stand in `tests/plans.txt`. After a change that is meant to change them, delete the file and run the test:
//! it writes the file anew and fails once, so that somebody looks at it. Other versions of PostgreSQL may plan a little
//! differently; there only the absence of scans over whole tables is asked for.

use std::fmt::Write as _;
use std::path::Path;

use docent_test_store::postgres_database;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::{log, points, read, runs, segment, transaction, trees};

/// The version that the file was written with.
const VERSION: &str = "15";

const HOT: [(&str, &str); 31] = [
    ("an aspect", read::LATEST),
    ("aspects", read::LATEST_OF),
    ("a version", read::VERSION),
    ("a history", read::HISTORY),
    ("histories", read::HISTORIES),
    ("entities", read::ENTITIES),
    ("aspects and entities", read::MIXED),
    ("a range of entities", read::ENTITY_RANGE),
    ("a list of URNs", read::URNS),
    ("a count by pattern", read::COUNT_LIKE),
    ("placements", trees::PLACEMENTS),
    ("ancestors", trees::ANCESTORS),
    ("edges from entities", trees::EDGES_OUT),
    ("edges to entities", trees::EDGES_IN),
    ("edges into an entity", trees::EDGES_INTO),
    ("a parent", trees::PARENT),
    ("siblings of a name", trees::NAMED),
    ("any child", trees::ANY_CHILD),
    ("points", points::NEWEST_FIRST),
    ("the newest points", points::LATEST),
    ("runs", runs::RUNS),
    ("aspects of a run", runs::RUN_ASPECTS),
    ("time series of a run", runs::RUN_TIMESERIES),
    ("how many points a run has", runs::RUN_POINTS_COUNT),
    ("changes", log::CHANGES),
    ("the newest change", log::NEWEST),
    ("aspects in a transaction", transaction::GET),
    ("retired versions", transaction::RETIRED),
    ("whether a version was retired", segment::EXPECT_RETIRED),
    ("locks", transaction::LOCK),
    ("whether anything has changed", transaction::EXPECT),
];

/// Enough for the planner to see that scanning costs.
const FILL: &str = r#"
    INSERT INTO metadata_aspect_v2
    SELECT 'urn:li:dataset:' || e, a, v, '{"removed":false}', '{"runId":"run-' || e % 50 || '","lastObserved":' || e || '}',
        now(), 'urn:li:corpuser:x', NULL
    FROM generate_series(1, 5000) e, unnest(ARRAY['datasetKey', 'datasetProperties', 'status']) a, generate_series(0, 2) v;
    INSERT INTO edge SELECT 'urn:li:dataset:' || e, 'domains', 'AssociatedWith', 'urn:li:domain:' || e % 500
    FROM generate_series(1, 10000) e;
    INSERT INTO placement SELECT 'urn:li:domain:' || e, 'domainProperties', 'domain', 'urn:li:domain:' || e / 10, 'name ' || e, e
    FROM generate_series(1, 10000) e;
    INSERT INTO timeseries SELECT 'urn:li:dataset:' || e % 500, 'datasetProfile', e, '', '{}', '{"runId":"run-' || e % 50 || '"}'
    FROM generate_series(1, 10000) e;
    INSERT INTO change_log SELECT e, 0, 'urn:li:dataset:' || e, 'status', 'put', 1, 1, 'urn:li:corpuser:x' FROM generate_series(1, 20000) e;
    INSERT INTO change_commit SELECT e, e, 1 FROM generate_series(1, 20000) e;
    INSERT INTO retired_version SELECT 'urn:li:dataset:' || e, 'status', 1 FROM generate_series(1, 20000) e;
    VACUUM ANALYZE;
"#;

async fn lines(client: &Client, sql: &str) -> Vec<String> {
    let answers = client.simple_query(sql).await.unwrap();
    answers
        .into_iter()
        .filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn hot_statements_use_indexes_alone() {
    let database = postgres_database().unwrap();
    let (client, connection) = tokio_postgres::connect(database.url(), NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    for statement in FILL.split(';').filter(|text| !text.trim().is_empty()) {
        client.batch_execute(statement).await.unwrap();
    }
    client
        .batch_execute(
            // Which kind of index scan is taken depends on what was vacuumed when; that it is one does not.
            "SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_bitmapscan = off; \
             SET enable_indexonlyscan = off",
        )
        .await
        .unwrap();
    let mut plans = String::new();
    for (number, (name, sql)) in HOT.iter().enumerate() {
        client
            .batch_execute(&format!("PREPARE hot{number} AS {sql}"))
            .await
            .unwrap();
        let parameters = (1..=9)
            .take_while(|it| sql.contains(&format!("${it}")))
            .count();
        let nulls = vec!["NULL"; parameters].join(", ");
        let arguments = if nulls.is_empty() {
            nulls
        } else {
            format!("({nulls})")
        };
        let explain = format!("EXPLAIN (COSTS OFF) EXECUTE hot{number}{arguments}");
        let plan = lines(&client, &explain).await;
        let whole = plan.iter().find(|line| line.contains("Seq Scan"));
        assert_eq!(whole, None, "{name}: {plan:#?}");
        writeln!(plans, "{name}\n    {}\n", plan.join("\n    ")).unwrap();
    }
    let version = lines(&client, "SHOW server_version").await.remove(0);
    if version.split('.').next() == Some(VERSION) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans.txt");
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        if written.is_empty() {
            std::fs::write(&path, &plans).unwrap();
        }
        assert_eq!(
            plans,
            written,
            "delete {} to have it written anew",
            path.display()
        );
    }
    drop(client);
    connection.await.unwrap().unwrap();
}
