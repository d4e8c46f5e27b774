//! Paths of lineage: what data flows through on its way.

use serde_json::{Value, json};

use crate::lineage::{column, job, status, table};
use crate::support::App;

#[tokio::test]
async fn paths_lead_through_the_queries_and_jobs_between_tables_and_columns() {
    let app = App::empty().await;
    status(&app, "a", false).await;
    let query = "urn:li:query:fill";
    let columns = |from: &str, to: &str| {
        json!({
            "upstreamType": "FIELD_SET", "downstreamType": "FIELD",
            "upstreams": [column(from, "id")], "downstreams": [column(to, "key")],
        })
    };
    let mut by_query = columns("a", "b");
    by_query["query"] = json!(query);
    let lineage = json!({
        "upstreams": [{"dataset": table("a"), "type": "TRANSFORMED", "query": query}],
        "fineGrainedLineages": [by_query],
    });
    app.ingest(&table("b"), "upstreamLineage", &lineage).await;
    status(&app, "c", false).await;
    let by_job = json!({
        "inputDatasets": [table("a")], "outputDatasets": [table("c")],
        "fineGrainedLineages": [columns("a", "c")],
    });
    app.ingest(&job("load"), "dataJobInputOutput", &by_job)
        .await;

    let text = "query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
        searchResults { degree entity { urn } paths { path { urn } } } } }";
    let found = async |start: String, direction: &str| {
        let input = json!({"urn": start, "direction": direction, "query": "*",
            "types": ["SCHEMA_FIELD", "DATASET", "DATA_JOB"]});
        let reply = app.graphql_with(text, json!({ "input": input })).await;
        reply["data"]["searchAcrossLineage"]["searchResults"].clone()
    };
    let result = |degree: u64, path: &[&str]| {
        let path: Vec<Value> = path.iter().map(|urn| json!({ "urn": urn })).collect();
        json!({"degree": degree, "entity": path.last(), "paths": [{"path": path}]})
    };
    let (from, by_query, by_job) = (column("a", "id"), column("b", "key"), column("c", "key"));
    let load = job("load");
    assert_eq!(
        found(from.clone(), "DOWNSTREAM").await,
        json!([
            result(1, &[&from, &load]),
            result(1, &[&from, query, &by_query]),
            result(1, &[&from, &load, &by_job]),
        ])
    );
    assert_eq!(
        found(by_query.clone(), "UPSTREAM").await,
        json!([result(1, &[&by_query, query, &from])])
    );
    assert_eq!(
        found(table("b"), "UPSTREAM").await,
        json!([result(1, &[&table("b"), query, &table("a")])])
    );
}
