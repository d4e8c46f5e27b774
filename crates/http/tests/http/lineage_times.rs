//! When lineage edges were created and changed, by whom, and lineage of a period.

use serde_json::{Value, json};

use crate::support::App;

const ALICE: &str = "urn:li:corpuser:alice";

fn table(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

fn job() -> String {
    "urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),load)".to_owned()
}

fn stamp(time: i64) -> Value {
    json!({"time": time, "actor": ALICE})
}

/// `a -> b`, created at 100 and updated at 200; `b -> c`, updated at 500; `b -> d` without a time;
/// and the task `b -> load`, created at 900.
async fn dated() -> App {
    let app = App::empty().await;
    app.ingest(&table("a"), "status", &json!({"removed": false}))
        .await;
    for (to, upstream) in [
        (
            "b",
            json!({"dataset": table("a"), "type": "COPY", "created": stamp(100), "auditStamp": stamp(200)}),
        ),
        (
            "c",
            json!({"dataset": table("b"), "type": "COPY", "auditStamp": stamp(500)}),
        ),
        ("d", json!({"dataset": table("b"), "type": "COPY"})),
    ] {
        let value = json!({ "upstreams": [upstream] });
        app.ingest(&table(to), "upstreamLineage", &value).await;
    }
    let edge = json!({"destinationUrn": table("b"), "created": stamp(900)});
    let value = json!({"inputDatasets": [], "outputDatasets": [], "inputDatasetEdges": [edge]});
    app.ingest(&job(), "dataJobInputOutput", &value).await;
    app
}

async fn neighbors(app: &App, urn: &str, input: &str, fields: &str) -> Vec<Value> {
    let query = format!(
        "{{ dataset(urn: \"{urn}\") {{ lineage(input: {input}) {{ total relationships {{ {fields} }} }} }} }}"
    );
    let reply = app.graphql(&query).await;
    let relationships = reply["data"]["dataset"]["lineage"]["relationships"].as_array();
    relationships.unwrap_or_else(|| panic!("{reply}")).clone()
}

/// The neighbors downstream of `b` in a period.
async fn downstream(app: &App, period: &str) -> Vec<String> {
    let input = format!("{{direction: DOWNSTREAM, {period}}}");
    let found = neighbors(app, &table("b"), &input, "entity { urn }").await;
    let urn = |it: &Value| it["entity"]["urn"].as_str().unwrap_or_default().to_owned();
    found.iter().map(urn).collect()
}

const FACTS: &str =
    "entity { urn } createdOn createdActor { urn } updatedOn updatedActor { urn } isManual";

#[tokio::test]
async fn edges_say_when_and_by_whom_they_were_changed_from_both_ends() {
    let app = dated().await;
    let facts = |urn: String, created: Option<i64>, updated: Option<i64>| {
        let actor = |time: Option<i64>| time.map(|_| json!({ "urn": ALICE }));
        json!({
            "entity": {"urn": urn}, "createdOn": created, "createdActor": actor(created),
            "updatedOn": updated, "updatedActor": actor(updated), "isManual": false,
        })
    };
    let found = neighbors(&app, &table("b"), "{direction: UPSTREAM}", FACTS).await;
    assert_eq!(found, [facts(table("a"), Some(100), Some(200))]);
    let found = neighbors(&app, &table("b"), "{direction: DOWNSTREAM}", FACTS).await;
    assert_eq!(
        found,
        [
            facts(job(), Some(900), None),
            facts(table("c"), None, Some(500)),
            facts(table("d"), None, None),
        ]
    );
}

#[tokio::test]
async fn an_edge_that_a_user_added_is_manual_and_belongs_to_every_period() {
    let app = dated().await;
    let change = |list: &str, upstream: &str| {
        let edge = format!(
            "{{upstreamUrn: \"{}\", downstreamUrn: \"{}\"}}",
            table(upstream),
            table("e")
        );
        let other = if list == "edgesToAdd" {
            "edgesToRemove"
        } else {
            "edgesToAdd"
        };
        format!("mutation {{ updateLineage(input: {{{list}: [{edge}], {other}: []}}) }}")
    };
    app.ingest(&table("e"), "status", &json!({"removed": false}))
        .await;
    let reply = app.graphql(&change("edgesToAdd", "b")).await;
    assert_eq!(reply["data"]["updateLineage"], true, "{reply}");
    let input = "{direction: UPSTREAM, startTimeMillis: 1, endTimeMillis: 2}";
    let found = neighbors(&app, &table("e"), input, "entity { urn } isManual").await;
    assert_eq!(
        found,
        [json!({"entity": {"urn": table("b")}, "isManual": true})]
    );
}

#[tokio::test]
async fn lineage_of_a_period_has_the_edges_that_existed_then() {
    let app = dated().await;
    let (load, c, d) = (job(), table("c"), table("d"));
    for (period, expected) in [
        ("start: 0", vec![&load, &c, &d]),
        ("startTimeMillis: 500", vec![&load, &c, &d]),
        ("startTimeMillis: 501", vec![&load, &d]),
        ("endTimeMillis: 899", vec![&c, &d]),
        ("startTimeMillis: 600, endTimeMillis: 800", vec![&d]),
    ] {
        let found = downstream(&app, period).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{period}");
    }
}

#[tokio::test]
async fn searches_across_lineage_follow_only_the_edges_of_a_period() {
    let app = dated().await;
    let total = async |query: &str, period: &str| {
        let query = format!(
            "{{ found: {query}(input: {{urn: \"{}\", direction: DOWNSTREAM, {period}}}) {{ total }} }}",
            table("a")
        );
        let reply = app.graphql(&query).await;
        let total = reply["data"]["found"]["total"].as_u64();
        total.unwrap_or_else(|| panic!("{reply}"))
    };
    assert_eq!(total("searchAcrossLineage", "start: 0").await, 4);
    // The edge a -> b ended before, and so did everything behind it.
    let later = "lineageFlags: {startTimeMillis: 300}";
    for query in [
        "searchAcrossLineage",
        "scrollAcrossLineage",
        "searchAcrossLineageCounts",
    ] {
        assert_eq!(total(query, later).await, 0, "{query}");
    }
    let early = "startTimeMillis: 150, endTimeMillis: 400";
    assert_eq!(total("searchAcrossLineage", early).await, 2);
    let both = format!("{early}, lineageFlags: {{startTimeMillis: 300}}");
    assert_eq!(total("searchAcrossLineage", &both).await, 0);
}
