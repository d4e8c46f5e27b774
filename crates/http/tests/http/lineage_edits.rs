//! `updateLineage`.

use serde_json::{Value, json};

use crate::support::{App, NOW_MS, USER};

fn table(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

const JOB: &str = "urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),load)";
const CHART: &str = "urn:li:chart:(looker,c)";
const DASHBOARD: &str = "urn:li:dashboard:(looker,d)";

async fn warehouse() -> App {
    let app = App::empty().await;
    let status = json!({"removed": false});
    for urn in [table("a"), table("b"), JOB.to_owned()] {
        app.ingest(&urn, "status", &status).await;
    }
    let stamp = json!({"time": NOW_MS, "actor": USER});
    let stamps = json!({"created": stamp, "lastModified": stamp});
    let info = json!({"title": "t", "description": "", "lastModified": stamps});
    app.ingest(CHART, "chartInfo", &info).await;
    app.ingest(DASHBOARD, "dashboardInfo", &info).await;
    app
}

fn edge(downstream: &str, upstream: &str) -> Value {
    json!({"downstreamUrn": downstream, "upstreamUrn": upstream})
}

async fn update(app: &App, added: &[Value], removed: &[Value]) {
    let input = json!({"edgesToAdd": added, "edgesToRemove": removed});
    let reply = app
        .mutate("updateLineage", "UpdateLineageInput", input)
        .await;
    assert_eq!(reply, true);
}

#[tokio::test]
async fn edges_are_stored_by_the_aspect_for_the_types_of_both_ends() {
    let app = warehouse().await;
    let (a, b) = (table("a"), table("b"));
    let edges = [
        edge(&b, &a),
        edge(&b, JOB),
        edge(JOB, &a),
        edge(CHART, &a),
        edge(DASHBOARD, CHART),
        edge(DASHBOARD, &b),
    ];
    update(&app, &edges, &[]).await;
    let stamp = json!({"time": NOW_MS, "actor": USER});
    let upstream = app.aspect(&b, "upstreamLineage").await.unwrap();
    assert_eq!(
        upstream["upstreams"],
        json!([{
            "dataset": a, "type": "TRANSFORMED", "auditStamp": stamp, "created": stamp,
            "properties": {"source": "UI"},
        }])
    );
    let stored = |holder: &str, other: &str| {
        json!([{
            "sourceUrn": holder, "destinationUrn": other, "created": stamp,
            "lastModified": stamp, "properties": {"source": "UI"},
        }])
    };
    let job = app.aspect(JOB, "dataJobInputOutput").await.unwrap();
    assert_eq!(job["inputDatasetEdges"], stored(JOB, &a));
    assert_eq!(job["outputDatasetEdges"], stored(JOB, &b));
    let chart = app.aspect(CHART, "chartInfo").await.unwrap();
    assert_eq!(chart["inputEdges"], stored(CHART, &a));
    assert_eq!(chart["title"], "t");
    let dashboard = app.aspect(DASHBOARD, "dashboardInfo").await.unwrap();
    assert_eq!(dashboard["chartEdges"], stored(DASHBOARD, CHART));
    assert_eq!(dashboard["datasetEdges"], stored(DASHBOARD, &b));

    let query = format!(
        r#"{{ searchAcrossLineage(input: {{ urn: "{a}", direction: DOWNSTREAM, count: 50 }}) {{ total }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(reply["data"]["searchAcrossLineage"]["total"], 4, "{reply}");
    // Once more, and without effect.
    app.clock.advance(1000);
    update(&app, &edges, &[]).await;
    assert_eq!(app.aspect(&b, "upstreamLineage").await.unwrap(), upstream);

    // A removal wins.
    update(&app, &edges, &edges).await;
    let reply = app.graphql(&query).await;
    assert_eq!(reply["data"]["searchAcrossLineage"]["total"], 0, "{reply}");
    let upstream = app.aspect(&b, "upstreamLineage").await.unwrap();
    assert_eq!(upstream["upstreams"], json!([]));
}

#[tokio::test]
async fn edges_of_connectors_are_kept_or_removed() {
    let app = warehouse().await;
    let (a, b) = (table("a"), table("b"));
    let inputs = json!({"inputDatasets": [a, b], "outputDatasets": []});
    app.ingest(JOB, "dataJobInputOutput", &inputs).await;
    update(&app, &[edge(JOB, &a)], &[edge(JOB, &b)]).await;
    let job = app.aspect(JOB, "dataJobInputOutput").await.unwrap();
    assert_eq!(job["inputDatasets"], json!([a]));
    assert!(job.get("inputDatasetEdges").is_none(), "{job}");
}

#[tokio::test]
async fn the_lineage_of_columns_is_removed_with_the_edge() {
    let app = warehouse().await;
    let (a, b, c) = (table("a"), table("b"), table("c"));
    app.ingest(&c, "status", &json!({"removed": false})).await;
    let column = |dataset: &str| format!("urn:li:schemaField:({dataset},id)");
    let entry = |upstreams: Value, downstreams: Value| {
        json!({"upstreamType": "FIELD_SET", "upstreams": upstreams, "downstreamType": "FIELD",
            "downstreams": downstreams, "confidenceScore": 1.0})
    };
    let stamp = json!({"time": 1, "actor": USER});
    let upstream =
        |dataset: &str| json!({"dataset": dataset, "type": "TRANSFORMED", "auditStamp": stamp});
    let lineage = json!({
        "upstreams": [upstream(&a), upstream(&c)],
        "fineGrainedLineages": [
            entry(json!([column(&a)]), json!([column(&b)])),
            entry(json!([column(&a), column(&c)]), json!([column(&b)])),
        ],
    });
    app.ingest(&b, "upstreamLineage", &lineage).await;
    let reached = format!(
        r#"{{ searchAcrossLineage(input: {{ urn: "{}", direction: DOWNSTREAM }}) {{ total }} }}"#,
        column(&a)
    );
    let reply = app.graphql(&reached).await;
    assert_eq!(reply["data"]["searchAcrossLineage"]["total"], 1, "{reply}");
    update(&app, &[], &[edge(&b, &a)]).await;
    let stored = app.aspect(&b, "upstreamLineage").await.unwrap();
    assert_eq!(
        stored["fineGrainedLineages"],
        json!([entry(json!([column(&c)]), json!([column(&b)]))])
    );
    let reply = app.graphql(&reached).await;
    assert_eq!(reply["data"]["searchAcrossLineage"]["total"], 0, "{reply}");

    let job = json!({
        "inputDatasets": [a, c], "outputDatasets": [b],
        "inputDatasetFields": [column(&a), column(&c)], "outputDatasetFields": [column(&b)],
        "fineGrainedLineages": [entry(json!([column(&a), column(&c)]), json!([column(&b)]))],
    });
    app.ingest(JOB, "dataJobInputOutput", &job).await;
    update(&app, &[], &[edge(JOB, &a)]).await;
    let stored = app.aspect(JOB, "dataJobInputOutput").await.unwrap();
    assert_eq!(stored["inputDatasetFields"], json!([column(&c)]));
    assert_eq!(
        stored["fineGrainedLineages"][0]["upstreams"],
        json!([column(&c)])
    );
    update(&app, &[], &[edge(&b, JOB)]).await;
    let stored = app.aspect(JOB, "dataJobInputOutput").await.unwrap();
    assert_eq!(stored["outputDatasetFields"], json!([]));
    assert_eq!(stored["fineGrainedLineages"], json!([]));

    let fields =
        json!({"fields": [{"schemaFieldUrn": column(&a)}, {"schemaFieldUrn": column(&c)}]});
    app.ingest(CHART, "inputFields", &fields).await;
    update(&app, &[edge(CHART, &a)], &[]).await;
    update(&app, &[], &[edge(CHART, &a)]).await;
    let stored = app.aspect(CHART, "inputFields").await.unwrap();
    assert_eq!(stored["fields"], json!([{"schemaFieldUrn": column(&c)}]));
}

#[tokio::test]
async fn edges_to_deleted_entities_are_removed() {
    let app = warehouse().await;
    let (a, b, missing) = (table("a"), table("b"), table("missing"));
    let upstream = |dataset: &str| json!({"dataset": dataset, "type": "TRANSFORMED", "auditStamp": {"time": 1, "actor": USER}});
    let lineage = json!({"upstreams": [upstream(&missing), upstream(&a)]});
    app.ingest(&b, "upstreamLineage", &lineage).await;
    update(&app, &[], &[edge(&b, &missing)]).await;
    let upstreams = app.aspect(&b, "upstreamLineage").await.unwrap();
    assert_eq!(upstreams["upstreams"], json!([upstream(&a)]));
    // The end that stores the edge must exist, and both ends of a new one.
    for (added, removed) in [
        (vec![], vec![edge(&missing, &a)]),
        (vec![edge(&b, &missing)], vec![]),
        (vec![edge(&b, &missing)], vec![edge(&b, &missing)]),
    ] {
        let input = json!({"edgesToAdd": added, "edgesToRemove": removed});
        let (code, message) = app
            .mutate_error("updateLineage", "UpdateLineageInput", input)
            .await;
        assert_eq!(code, 400, "{message}");
        assert!(message.contains("does not exist"), "{message}");
    }
}

#[tokio::test]
async fn invalid_edges_are_rejected_and_change_nothing() {
    let app = warehouse().await;
    let (a, b, missing) = (table("a"), table("b"), table("missing"));
    let chart = "urn:li:chart:(looker,plain)";
    app.ingest(chart, "status", &json!({"removed": false}))
        .await;
    for (wrong, expected) in [
        (edge(&missing, &a), "does not exist"),
        (edge(&a, &missing), "does not exist"),
        (edge(&a, &a), "cannot be upstream of itself"),
        (edge(&a, CHART), "cannot be upstream of"),
        (edge("urn:li:domain:d", &a), "cannot be upstream of"),
        (edge("b", &a), "URN"),
        (edge(chart, &a), "has no chartInfo"),
    ] {
        let input = json!({"edgesToAdd": [edge(&b, &a), wrong], "edgesToRemove": []});
        let (code, message) = app
            .mutate_error("updateLineage", "UpdateLineageInput", input)
            .await;
        assert_eq!(code, 400, "{wrong}: {message}");
        assert!(message.contains(expected), "{wrong}: {message}");
        assert_eq!(app.aspect(&b, "upstreamLineage").await, None);
    }
}
