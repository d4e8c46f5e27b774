//! Query plans of the hot statements: index access only, whatever the size of the tables.
//!
//! The expected plans are in `tests/plans.txt`. After an intended change, delete the file and run
//! the test: it writes the file again and fails once, so that the change is reviewed. On other
//! versions of PostgreSQL the test only checks that no statement scans a whole table or index.

use std::fmt::Write as _;
use std::path::Path;

use docent_test_postgres::Database;
use docent_test_store::postgres_database;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::settings::Settings;
use crate::{audit_log, browse, log, points, read, runs, segment, transaction, trees, versions};

/// The version that the file was written with.
const VERSION: &str = "15";

/// Every statement of a request, which must be as fast in a large catalog as in a small one.
/// Statements of maintenance commands ([`COMMANDS`]) scan everything anyway.
const HOT: [(&str, &str); 79] = [
    ("an aspect", read::LATEST),
    ("aspects", read::LATEST_OF),
    (
        "an aspect and the existence of its entity",
        read::LATEST_AND_EXISTS,
    ),
    ("a version", versions::VERSION),
    ("versions", versions::VERSIONS),
    ("a history", versions::HISTORY),
    ("histories", versions::HISTORIES),
    ("entities", read::ENTITIES),
    ("aspects and entities", read::MIXED),
    ("bytes of aspects and entities", read::BYTES),
    ("a range of entities", read::ENTITY_RANGE),
    ("a list of URNs", read::URNS),
    ("a list of texts", read::TEXTS),
    ("a count by pattern", read::COUNT_LIKE),
    ("placements", trees::PLACEMENTS),
    ("ancestors", trees::ANCESTORS),
    ("edges from entities", trees::EDGES_OUT),
    ("edges to entities", trees::EDGES_IN),
    ("edges into an entity", trees::EDGES_INTO),
    ("a parent", trees::PARENT),
    ("siblings of a name", trees::NAMED),
    ("children", trees::CHILDREN),
    ("points, the newest first", points::NEWEST_FIRST),
    ("points, the oldest first", points::OLDEST_FIRST),
    ("bytes of the newest points", points::BYTES_NEWEST_FIRST),
    ("bytes of the oldest points", points::BYTES_OLDEST_FIRST),
    ("the newest points", points::LATEST),
    ("points of all entities", points::OF_ALL),
    ("points by their keys", points::READ),
    ("how many points", points::COUNT),
    ("runs", runs::RUNS),
    ("aspects of a run", runs::RUN_ASPECTS),
    ("time series of a run", runs::RUN_TIMESERIES),
    ("how many points a run has", runs::RUN_POINTS_COUNT),
    ("whether anything is new", log::STATE),
    ("assigning positions", log::ASSIGN_POSITIONS),
    ("changes", log::CHANGES),
    ("the newest change", log::NEWEST),
    ("transactions", log::TRANSACTIONS),
    ("types of what was changed", log::TYPES),
    ("aspects in a transaction", transaction::GET),
    ("retired versions", transaction::RETIRED),
    ("names of aspects", transaction::NAMES),
    ("versions of an entity", transaction::VERSIONS),
    ("how many rows an entity has", transaction::ROWS_COUNT),
    ("locks", transaction::LOCK),
    ("locks without waiting", transaction::LOCK_NOWAIT),
    ("locks of existence", transaction::LOCK_EXISTENCE),
    ("locks for deletion", transaction::LOCK_FOR_DELETION),
    (
        "whether anything has changed",
        transaction::EXPECT_UNCHANGED,
    ),
    ("whether a version was retired", segment::EXPECT_RETIRED),
    ("deleting aspects", segment::DELETE_ASPECTS),
    ("deleting time series", segment::DELETE_TIMESERIES),
    ("deleting points", points::DELETE),
    ("deleting versions", segment::DELETE_VERSIONS),
    ("forgetting retired versions", segment::FORGET_VERSIONS),
    ("retiring versions", segment::RETIRE),
    ("inserting history", segment::INSERT_HISTORY),
    ("inserting aspects", segment::INSERT_ROWS),
    ("putting aspects", segment::PUT_ROWS),
    ("touching aspects", segment::TOUCH),
    ("deleting edges", segment::DELETE_EDGES),
    ("inserting edges", segment::INSERT_EDGES),
    ("deleting placements", segment::DELETE_PLACEMENTS),
    ("putting placements", segment::PUT_PLACEMENTS),
    ("putting points", segment::PUT_POINTS),
    ("the number of a transaction", segment::NUMBER),
    ("logging", segment::LOG),
    ("internal entries of the log", browse::INTERNAL),
    ("entries of the log", browse::ALL),
    ("edits in the log", browse::EDITS),
    ("adding audit events", audit_log::INSERT_EVENTS),
    ("adding audit items", audit_log::INSERT_ITEMS),
    ("audit events", audit_log::EVENTS),
    ("audit events of an entity", audit_log::EVENTS_OF_ENTITY),
    ("audit items", audit_log::ITEMS),
    ("the oldest audit events", audit_log::OLDEST),
    ("deleting audit items", audit_log::DELETE_ITEMS),
    ("deleting audit events", audit_log::DELETE_EVENTS),
];

/// Statements that count and therefore scan a whole index, within the statement timeout.
/// [`read::COUNT_LIKE`] does too if its pattern starts with a wildcard.
const COUNTED: [&str; 1] = ["read::COUNT"];

/// Modules with statements of maintenance commands and of server start only.
const COMMANDS: [&str; 10] = [
    "backup.rs",
    "backup_check.rs",
    "check.rs",
    "derived.rs",
    "foreign.rs",
    "migrations.rs",
    "plans.rs",
    "rebuild.rs",
    "serving.rs",
    "transfer.rs",
];

/// Statements that read an index from one end and stop early, or a table that is nearly empty.
const BOUNDED_SCANS: [&str; 5] = [
    "runs",
    "whether anything is new",
    "assigning positions",
    "the newest change",
    "changes",
];

/// Enough rows to make full scans costly for the planner.
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
    INSERT INTO audit_event SELECT e, e, 'urn:li:corpuser:x', NULL, NULL, 'x', 'ALLOWED', NULL, NULL, 0, 1 FROM generate_series(1, 20000) e;
    INSERT INTO audit_item SELECT e, e, 'urn:li:dataset:' || e % 500, '[]' FROM generate_series(1, 20000) e;
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

/// A session with a server's settings and all hot statements prepared.
async fn prepared(database: &Database) -> Client {
    let settings = Settings::parse(database.url()).unwrap();
    let (client, connection) = settings.driver.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    // The kind of index scan depends on the last vacuum; only one kind keeps the plans stable.
    client
        .batch_execute("SET enable_bitmapscan = off; SET enable_indexonlyscan = off")
        .await
        .unwrap();
    for (number, (_, sql)) in HOT.iter().enumerate() {
        client
            .batch_execute(&format!("PREPARE hot{number} AS {sql}"))
            .await
            .unwrap();
    }
    client
}

/// The plans of all hot statements. Panics if one scans a whole table or index.
async fn plans(client: &Client) -> String {
    let (mut plans, mut wrong) = (String::new(), Vec::new());
    for (number, (name, sql)) in HOT.iter().enumerate() {
        let parameters = (1..=11)
            .take_while(|it| sql.contains(&format!("${it}")))
            .count();
        let nulls = vec!["NULL"; parameters].join(", ");
        let arguments = if nulls.is_empty() {
            nulls
        } else {
            format!("({nulls})")
        };
        let explain = format!("EXPLAIN (COSTS OFF) EXECUTE hot{number}{arguments}");
        let plan = lines(client, &explain).await;
        for (index, line) in plan.iter().enumerate() {
            let bounded = plan
                .get(index + 1)
                .is_some_and(|next| next.contains("Index Cond"));
            let whole = line.contains("Seq Scan") || line.contains("Index Scan") && !bounded;
            if whole && !BOUNDED_SCANS.contains(name) {
                wrong.push(format!("{name}: {plan:#?}"));
            }
        }
        writeln!(plans, "{name}\n    {}\n", plan.join("\n    ")).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    plans
}

async fn fill(client: &Client) {
    for statement in FILL.split(';').filter(|text| !text.trim().is_empty()) {
        client.batch_execute(statement).await.unwrap();
    }
}

#[tokio::test]
async fn hot_statements_only_use_index_access() {
    let database = postgres_database().unwrap();
    let client = prepared(&database).await;
    fill(&client).await;
    let plans = plans(&client).await;
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
            "delete {} to have it written again",
            path.display()
        );
    }
}

/// A connection caches plans from the time the catalog was empty until the next `ANALYZE`, which
/// may never run.
#[tokio::test]
async fn plans_made_on_empty_tables_only_use_index_access() {
    let database = postgres_database().unwrap();
    for state in ["new", "empty and known to be", "nearly empty"] {
        let client = prepared(&database).await;
        match state {
            "new" => {}
            "nearly empty" => {
                let few = FILL.replace("000)", ")").replace("500)", "5)");
                for statement in few.split(';').filter(|text| !text.trim().is_empty()) {
                    client.batch_execute(statement).await.unwrap();
                }
            }
            _ => client.batch_execute("VACUUM ANALYZE").await.unwrap(),
        }
        plans(&client).await;
    }
}

/// Finds statement constants in the source, so that none is forgotten.
#[test]
fn every_statement_of_a_request_has_its_plan_checked() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (_, list) = include_str!("plans.rs").split_once("const HOT:").unwrap();
    let (list, _) = list.split_once("];\n").unwrap();
    let named: Vec<&str> = list
        .split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter))
        .collect();
    let mut unchecked = Vec::new();
    let files = ["", "transaction"].map(|folder| std::fs::read_dir(source.join(folder)).unwrap());
    for file in files.into_iter().flatten() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() || COMMANDS.contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        for constant in program.split("const ").skip(1) {
            let (name, value) = constant.split_once(": &str =").unwrap_or_default();
            let value = value
                .trim_start()
                .trim_start_matches("concat!(")
                .trim_start();
            let verbs = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "];
            let is_statement = verbs
                .iter()
                .any(|verb| value[1.min(value.len())..].starts_with(verb))
                || ["delete!", "insert_rows!"]
                    .iter()
                    .any(|it| value.starts_with(it));
            let calls = [
                "pg_advisory_xact_lock(",
                "docent_expect(pg_try_advisory_xact_lock(",
                "current_setting(",
            ];
            let reads_nothing = calls
                .iter()
                .any(|call| value.starts_with(&format!("\"SELECT {call}")));
            let module = path.file_stem().unwrap().to_string_lossy();
            let module = module.replace("statements", "transaction");
            let name = format!("{module}::{name}");
            if is_statement && !reads_nothing && !named.contains(&name.as_str()) {
                unchecked.push(name);
            }
        }
    }
    assert_eq!(unchecked, COUNTED);
}
