//! Usage, profiles and operations of datasets, and runs of assertions and jobs, over GraphQL.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, role, token_of};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Midnight before [`NOW_MS`], in UTC.
const TODAY: i64 = NOW_MS - NOW_MS % DAY_MS;
const ADA: &str = "urn:li:corpuser:ada";
const BOB: &str = "urn:li:corpuser:bob";

fn usage(time_ms: i64, unit: &str, queries: i64, users: &[(&str, i64)]) -> Value {
    let count = |(user, count): &(&str, i64)| json!({"user": user, "count": count});
    json!({
        "timestampMillis": time_ms,
        "eventGranularity": {"unit": unit, "multiple": 1},
        "totalSqlQueries": queries,
        "uniqueUserCount": users.len(),
        "topSqlQueries": [format!("select {queries}")],
        "userCounts": users.iter().map(count).collect::<Vec<_>>(),
        "fieldCounts": [{"fieldPath": "user_name", "count": queries}],
    })
}

#[tokio::test]
async fn profiles_come_newest_first_within_limits_and_filters() {
    let app = App::with_dataset().await;
    for (time_ms, rows, partition) in [(1000, 5, "a"), (2000, 6, "b"), (3000, 7, "a")] {
        let profile = json!({
            "timestampMillis": time_ms, "rowCount": rows, "columnCount": 2, "sizeInBytes": 90,
            "partitionSpec": {
                "partition": partition, "type": "PARTITION",
                "timePartition": {"startTimeMillis": 0, "length": {"unit": "HOUR", "multiple": 6}},
            },
            "fieldProfiles": [{
                "fieldPath": "user_name", "uniqueCount": 3, "uniqueProportion": 0.5, "nullCount": 1, "min": "a",
                "sampleValues": ["x", "y"],
                "quantiles": [{"quantile": "0.5", "value": "m"}],
                "distinctValueFrequencies": [{"value": "x", "frequency": 2}],
                "histogram": {"boundaries": ["a", "m", "z"], "heights": [2.0, 1.0]},
            }],
        });
        app.ingest(DATASET, "datasetProfile", &profile).await;
    }
    let all = app
        .read_dataset(
            "datasetProfiles(limit: 1) {
            timestampMillis rowCount columnCount sizeInBytes
            partitionSpec { type partition timePartition { startTimeMillis durationMillis } }
            fieldProfiles { fieldPath uniqueCount uniqueProportion nullCount min max sampleValues
                quantiles { quantile value } distinctValueFrequencies { value frequency }
                histogram { boundaries heights } }
        }",
        )
        .await;
    assert_eq!(
        all["datasetProfiles"],
        json!([{
            "timestampMillis": 3000, "rowCount": 7, "columnCount": 2, "sizeInBytes": 90,
            "partitionSpec": {
                "type": "PARTITION", "partition": "a",
                "timePartition": {"startTimeMillis": 0, "durationMillis": 21_600_000},
            },
            "fieldProfiles": [{
                "fieldPath": "user_name", "uniqueCount": 3, "uniqueProportion": 0.5, "nullCount": 1,
                "min": "a", "max": null, "sampleValues": ["x", "y"],
                "quantiles": [{"quantile": "0.5", "value": "m"}],
                "distinctValueFrequencies": [{"value": "x", "frequency": 2}],
                "histogram": {"boundaries": ["a", "m", "z"], "heights": [2.0, 1.0]},
            }],
        }])
    );
    for (arguments, expected) in [
        ("", json!([7, 6, 5])),
        ("(limit: 2)", json!([7, 6])),
        ("(startTimeMillis: 2000)", json!([7, 6])),
        (
            "(startTimeMillis: 1000, endTimeMillis: 2000)",
            json!([6, 5]),
        ),
        (
            r#"(filter: {and: [{field: "partitionSpec.partition", values: ["a"]}]}, limit: 1)"#,
            json!([7]),
        ),
    ] {
        let found = app
            .read_dataset(&format!("datasetProfiles{arguments} {{ rowCount }}"))
            .await;
        let profiles = found["datasetProfiles"].as_array().unwrap();
        let rows: Vec<&Value> = profiles.iter().map(|it| &it["rowCount"]).collect();
        assert_eq!(json!(rows), expected, "{arguments}");
    }
    let (code, message) = app
        .graphql_error(&format!(
            r#"{{ dataset(urn: "{DATASET}") {{ datasetProfiles(limit: -1) {{ rowCount }} }} }}"#
        ))
        .await;
    assert_eq!(
        (code, message.as_str()),
        (400, "limit must not be negative: -1")
    );
}

#[tokio::test]
async fn usage_is_added_up_by_day_unless_a_day_was_reported_as_a_whole() {
    let app = App::with_dataset().await;
    for point in [
        usage(TODAY, "DAY", 5, &[(ADA, 3), (BOB, 2)]),
        // A part of the same day, which the whole includes.
        usage(TODAY + 1, "HOUR", 2, &[(ADA, 2)]),
        usage(TODAY - DAY_MS, "HOUR", 4, &[(ADA, 4)]),
        usage(TODAY - DAY_MS + 7_200_000, "HOUR", 1, &[(ADA, 1)]),
        usage(TODAY - 100 * DAY_MS, "DAY", 50, &[(BOB, 50)]),
    ] {
        app.ingest(DATASET, "datasetUsageStatistics", &point).await;
    }
    let fields = "{
        buckets { bucket duration resource metrics {
            uniqueUserCount totalSqlQueries topSqlQueries
            users { user { urn } count } fields { fieldName count }
        } }
        aggregations { uniqueUserCount totalSqlQueries users { user { urn } count } fields { fieldName count } }
    }";
    let found = app
        .read_dataset(&format!("usageStats(range: WEEK) {fields}"))
        .await;
    assert_eq!(
        found["usageStats"],
        json!({
            "buckets": [
                {"bucket": TODAY - DAY_MS, "duration": "DAY", "resource": DATASET, "metrics": {
                    "uniqueUserCount": 1, "totalSqlQueries": 5, "topSqlQueries": ["select 1"],
                    "users": [{"user": {"urn": ADA}, "count": 5}],
                    "fields": [{"fieldName": "user_name", "count": 5}],
                }},
                {"bucket": TODAY, "duration": "DAY", "resource": DATASET, "metrics": {
                    "uniqueUserCount": 2, "totalSqlQueries": 5, "topSqlQueries": ["select 5"],
                    "users": [{"user": {"urn": ADA}, "count": 3}, {"user": {"urn": BOB}, "count": 2}],
                    "fields": [{"fieldName": "user_name", "count": 5}],
                }},
            ],
            "aggregations": {
                "uniqueUserCount": 2, "totalSqlQueries": 10,
                "users": [{"user": {"urn": ADA}, "count": 8}, {"user": {"urn": BOB}, "count": 2}],
                "fields": [{"fieldName": "user_name", "count": 10}],
            },
        })
    );
    let queries = async |arguments: &str| {
        let fields = format!("usageStats{arguments} {{ aggregations {{ totalSqlQueries }} }}");
        app.read_dataset(&fields).await["usageStats"]["aggregations"]["totalSqlQueries"].clone()
    };
    assert_eq!(queries("").await, 10, "a month");
    assert_eq!(queries("(range: HALF_YEAR)").await, 60);
    assert_eq!(queries("(range: ALL)").await, 60);
    let since = format!("(range: DAY, startTimeMillis: {})", TODAY - DAY_MS);
    assert_eq!(queries(&since).await, 10, "instead of the range");
    let summary = "statsSummary { queryCountLast30Days uniqueUserCountLast30Days topUsersLast30Days { urn } }";
    assert_eq!(
        app.read_dataset(summary).await["statsSummary"],
        json!({
            "queryCountLast30Days": 10,
            "uniqueUserCountLast30Days": 2,
            "topUsersLast30Days": [{"urn": ADA}, {"urn": BOB}],
        })
    );
}

#[tokio::test]
async fn a_dataset_without_statistics_has_empty_ones() {
    let app = App::with_dataset().await;
    let found = app.read_dataset("datasetProfiles { rowCount } operations { operationType }
         usageStats(range: MONTH) { buckets { bucket } aggregations { uniqueUserCount } }
         statsSummary { queryCountLast30Days uniqueUserCountLast30Days topUsersLast30Days { urn } }
         operationsStats(input: {}) { buckets { bucket } aggregations { totalOperations } }
         timeseriesCapabilities { assetStats { oldestOperationTime oldestDatasetUsageTime oldestDatasetProfileTime } }",
    )
    .await;
    assert_eq!(
        found,
        json!({
            "datasetProfiles": [],
            "operations": [],
            "usageStats": {"buckets": [], "aggregations": {"uniqueUserCount": 0}},
            "statsSummary": {
                "queryCountLast30Days": null, "uniqueUserCountLast30Days": 0, "topUsersLast30Days": [],
            },
            "operationsStats": {"buckets": [], "aggregations": {"totalOperations": 0}},
            "timeseriesCapabilities": {"assetStats": {
                "oldestOperationTime": null, "oldestDatasetUsageTime": null, "oldestDatasetProfileTime": null,
            }},
        })
    );
}

fn operation(time_ms: i64, updated_ms: i64, kind: &str) -> Value {
    json!({
        "timestampMillis": time_ms, "lastUpdatedTimestamp": updated_ms, "operationType": kind, "actor": ADA,
        "numAffectedRows": 9, "sourceType": "DATA_PLATFORM", "affectedDatasets": [DATASET],
        "customProperties": {"query": "q1"},
        "partitionSpec": {"type": "PARTITION", "partition": "p1"},
    })
}

#[tokio::test]
async fn operations_are_listed_latest_first_and_counted_by_day_and_type() {
    let app = App::with_dataset().await;
    let mut custom = operation(NOW_MS - 3, NOW_MS - 3, "CUSTOM");
    custom["customOperationType"] = json!("VACUUM");
    for point in [
        operation(TODAY - DAY_MS, TODAY - 10, "INSERT"),
        // Reported first, but happened last.
        operation(TODAY - 2 * DAY_MS, NOW_MS, "UPDATE"),
        operation(NOW_MS - 4, NOW_MS - 4, "INSERT"),
        custom,
    ] {
        app.ingest(DATASET, "operation", &point).await;
    }
    let fields = "operations(limit: 2) { timestampMillis lastUpdatedTimestamp operationType customOperationType actor
        numAffectedRows sourceType affectedDatasets partition customProperties { key value } }";
    assert_eq!(
        app.read_dataset(fields).await["operations"],
        json!([
            {"timestampMillis": TODAY - 2 * DAY_MS, "lastUpdatedTimestamp": NOW_MS, "operationType": "UPDATE",
             "customOperationType": null, "actor": ADA, "numAffectedRows": 9, "sourceType": "DATA_PLATFORM",
             "affectedDatasets": [DATASET], "partition": "p1", "customProperties": [{"key": "query", "value": "q1"}]},
            {"timestampMillis": NOW_MS - 3, "lastUpdatedTimestamp": NOW_MS - 3, "operationType": "CUSTOM",
             "customOperationType": "VACUUM", "actor": ADA, "numAffectedRows": 9, "sourceType": "DATA_PLATFORM",
             "affectedDatasets": [DATASET], "partition": "p1", "customProperties": [{"key": "query", "value": "q1"}]},
        ])
    );
    let fields = "operationsStats(input: {range: WEEK}) {
        buckets { bucket duration aggregations { totalOperations totalInserts totalUpdates totalCustoms } }
        aggregations { totalOperations totalInserts totalUpdates totalDeletes customOperationsMap { key value } }
    }";
    assert_eq!(
        app.read_dataset(fields).await["operationsStats"],
        json!({
            "buckets": [
                {"bucket": TODAY - 2 * DAY_MS, "duration": "DAY", "aggregations":
                    {"totalOperations": 1, "totalInserts": 0, "totalUpdates": 1, "totalCustoms": 0}},
                {"bucket": TODAY - DAY_MS, "duration": "DAY", "aggregations":
                    {"totalOperations": 1, "totalInserts": 1, "totalUpdates": 0, "totalCustoms": 0}},
                {"bucket": TODAY, "duration": "DAY", "aggregations":
                    {"totalOperations": 2, "totalInserts": 1, "totalUpdates": 0, "totalCustoms": 1}},
            ],
            "aggregations": {
                "totalOperations": 4, "totalInserts": 2, "totalUpdates": 1, "totalDeletes": 0,
                "customOperationsMap": [{"key": "VACUUM", "value": 1}],
            },
        })
    );
    let fields =
        r#"operationsStats(input: {range: WEEK, timeZone: "Asia/Tokyo"}) { buckets { bucket } }"#;
    let found = app.read_dataset(fields).await;
    let first = &found["operationsStats"]["buckets"][0]["bucket"];
    assert_eq!(
        *first,
        TODAY - 2 * DAY_MS - 9 * 3_600_000,
        "midnight in Tokyo"
    );
    let (code, message) = app
        .graphql_error(&format!(
            r#"{{ dataset(urn: "{DATASET}") {{ operationsStats(input: {{timeZone: "Mars"}}) {{ buckets {{ bucket }} }} }} }}"#
        ))
        .await;
    assert_eq!(code, 400);
    assert!(
        message.contains("there is no time zone 'Mars'"),
        "{message}"
    );
    let fields =
        "timeseriesCapabilities { assetStats { oldestOperationTime oldestDatasetProfileTime } }";
    assert_eq!(
        app.read_dataset(fields).await["timeseriesCapabilities"]["assetStats"],
        json!({"oldestOperationTime": TODAY - 2 * DAY_MS, "oldestDatasetProfileTime": null})
    );
}

#[tokio::test]
async fn the_results_of_an_assertion_are_listed_and_counted() {
    const ASSERTION: &str = "urn:li:assertion:a";
    let app = App::with_dataset().await;
    let info = json!({"type": "DATASET", "entityUrn": DATASET,
        "datasetAssertion": {"dataset": DATASET, "scope": "DATASET_ROWS", "operator": "NOT_NULL"}});
    app.ingest(ASSERTION, "assertionInfo", &info).await;
    for (time_ms, result) in [(1, "SUCCESS"), (2, "FAILURE"), (3, "FAILURE"), (4, "ERROR")] {
        let run = json!({
            "timestampMillis": time_ms, "runId": format!("run-{time_ms}"), "asserteeUrn": DATASET,
            "assertionUrn": ASSERTION, "status": "COMPLETE", "runtimeContext": {"engine": "spark"},
            "result": {"type": result, "rowCount": 10, "unexpectedCount": 2, "actualAggValue": 1.5,
                "nativeResults": {"detail": "none"}, "externalUrl": "https://example.com/run"},
        });
        app.ingest(ASSERTION, "assertionRunEvent", &run).await;
    }
    let read = async |arguments: &str| {
        let query = format!(
            r#"{{ assertion(urn: "{ASSERTION}") {{ runEvents{arguments} {{
                total failed succeeded errored
                runEvents {{ timestampMillis lastObservedMillis runId asserteeUrn assertionUrn status
                    runtimeContext {{ key value }}
                    result {{ type rowCount unexpectedCount actualAggValue externalUrl nativeResults {{ key value }} }} }}
            }} }} }}"#
        );
        let reply = app.graphql(&query).await;
        assert!(reply.get("errors").is_none(), "{reply}");
        reply["data"]["assertion"]["runEvents"].clone()
    };
    let all = read("(status: COMPLETE)").await;
    let counts = ["total", "failed", "succeeded", "errored"].map(|name| all[name].clone());
    assert_eq!(json!(counts), json!([4, 2, 1, 1]));
    assert_eq!(
        all["runEvents"][0],
        json!({
            "timestampMillis": 4, "lastObservedMillis": NOW_MS, "runId": "run-4", "asserteeUrn": DATASET,
            "assertionUrn": ASSERTION, "status": "COMPLETE",
            "runtimeContext": [{"key": "engine", "value": "spark"}],
            "result": {"type": "ERROR", "rowCount": 10, "unexpectedCount": 2, "actualAggValue": 1.5,
                "externalUrl": "https://example.com/run", "nativeResults": [{"key": "detail", "value": "none"}]},
        })
    );
    let some = read("(startTimeMillis: 2, endTimeMillis: 3, limit: 1)").await;
    assert_eq!(some["total"], 1);
    assert_eq!(some["runEvents"][0]["runId"], "run-3");
    let failed = r#"(filter: {and: [{field: "result.type", values: ["FAILURE"]}]})"#;
    assert_eq!(read(failed).await["total"], 2);
}

#[tokio::test]
async fn the_states_of_a_run_are_listed() {
    const RUN: &str = "urn:li:dataProcessInstance:r1";
    let app = App::with_dataset().await;
    let properties = json!({"name": "nightly", "created": {"time": 1, "actor": ADA}});
    app.ingest(RUN, "dataProcessInstanceProperties", &properties)
        .await;
    let started = json!({"timestampMillis": 10, "status": "STARTED", "attempt": 1});
    let ended = json!({"timestampMillis": 20, "status": "COMPLETE", "attempt": 1, "durationMillis": 10,
        "result": {"type": "SUCCESS", "nativeResultType": "airflow"}});
    for event in [started, ended] {
        app.ingest(RUN, "dataProcessInstanceRunEvent", &event).await;
    }
    let query = format!(
        r#"{{ entity(urn: "{RUN}") {{ ... on DataProcessInstance {{ state {{
            timestampMillis status attempt durationMillis result {{ resultType nativeResultType }}
        }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["entity"]["state"],
        json!([
            {"timestampMillis": 20, "status": "COMPLETE", "attempt": 1, "durationMillis": 10,
             "result": {"resultType": "SUCCESS", "nativeResultType": "airflow"}},
            {"timestampMillis": 10, "status": "STARTED", "attempt": 1, "durationMillis": null, "result": null},
        ]),
        "{reply}"
    );
}

#[tokio::test]
async fn statistics_need_their_privileges_over_graphql_too() {
    const PIA: &str = "urn:li:corpuser:pia";
    let app = App::with_dataset().await;
    let profile = json!({"timestampMillis": 1000, "rowCount": 5});
    app.ingest(DATASET, "datasetProfile", &profile).await;
    app.ingest(DATASET, "operation", &operation(NOW_MS, NOW_MS, "INSERT"))
        .await;
    app.ingest(
        DATASET,
        "datasetUsageStatistics",
        &usage(TODAY, "DAY", 5, &[(ADA, 5)]),
    )
    .await;
    let query = format!(
        r#"{{ dataset(urn: "{DATASET}") {{
            datasetProfiles {{ rowCount }} operations {{ operationType }}
            usageStats {{ buckets {{ bucket }} }} statsSummary {{ uniqueUserCountLast30Days }}
            operationsStats {{ aggregations {{ totalOperations }} }}
            timeseriesCapabilities {{ assetStats {{ oldestOperationTime }} }}
        }} }}"#
    );
    let token = token_of(&app.catalog, PIA, None).await;
    let proposer = role("Proposer");
    let users = [Urn::parse(PIA).unwrap()];
    let system = Caller::system();
    let assigned = app.catalog.assign_role(&system, &users, Some(&proposer));
    assigned.await.unwrap();
    let policy = "urn:li:dataHubPolicy:view-dataset-sensitive";
    app.graphql(&format!(r#"mutation {{ deletePolicy(urn: "{policy}") }}"#))
        .await;
    let reply = app.graphql_as(&token, &query).await;
    assert_eq!(
        reply["data"]["dataset"],
        json!({
            "datasetProfiles": [], "operations": [], "usageStats": {"buckets": []},
            "statsSummary": {"uniqueUserCountLast30Days": 0},
            "operationsStats": {"aggregations": {"totalOperations": 0}},
            "timeseriesCapabilities": {"assetStats": {"oldestOperationTime": null}},
        }),
        "{reply}"
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["dataset"]["datasetProfiles"],
        json!([{"rowCount": 5}])
    );
}
