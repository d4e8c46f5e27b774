//! Siblings, linked when lineage says so.

use serde_json::{Value, json};

use crate::hidden::world::{assign, grant, hide_by_default};
use crate::support::{App, USER, proposal, token_of};

fn dataset(platform: &str, name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)")
}

fn lineage(upstreams: &[&str]) -> Value {
    let upstream = |urn: &&str| json!({"dataset": urn, "type": "TRANSFORMED"});
    json!({"upstreams": upstreams.iter().map(upstream).collect::<Vec<_>>()})
}

async fn siblings(app: &App, urn: &str) -> Value {
    let query = format!(
        r#"{{ dataset(urn: "{urn}") {{
            siblings {{ isPrimary siblings {{ urn }} }}
            siblingsSearch(input: {{ query: "*" }}) {{ total searchResults {{ entity {{ urn }} }} }}
        }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["dataset"].clone()
}

fn linked(sibling: &str, is_primary: bool) -> Value {
    json!({
        "siblings": {"isPrimary": is_primary, "siblings": [{"urn": sibling}]},
        "siblingsSearch": {"total": 1, "searchResults": [{"entity": {"urn": sibling}}]},
    })
}

#[tokio::test]
async fn a_table_and_its_dbt_model_become_siblings() {
    let app = App::empty().await;
    let (model, table) = (dataset("dbt", "orders"), dataset("hive", "orders"));
    let status = json!({"removed": false});
    app.ingest(&model, "status", &status).await;
    app.ingest(
        &table,
        "upstreamLineage",
        &lineage(&[&model, &dataset("hive", "raw")]),
    )
    .await;
    assert_eq!(siblings(&app, &table).await, linked(&model, false));
    assert_eq!(siblings(&app, &model).await, linked(&table, true));
    let row = app.aspect(&model, "siblings").await.unwrap();
    assert_eq!(row, json!({"siblings": [table], "primary": true}));
}

#[tokio::test]
async fn a_dbt_source_and_its_table_become_siblings_in_any_order() {
    for subtypes_first in [true, false] {
        let app = App::empty().await;
        let (source, table) = (dataset("dbt", "raw"), dataset("hive", "raw"));
        let subtypes = json!({"typeNames": ["Source"]});
        if subtypes_first {
            app.ingest(&source, "subTypes", &subtypes).await;
        }
        app.ingest(&source, "upstreamLineage", &lineage(&[&table]))
            .await;
        if !subtypes_first {
            assert_eq!(app.aspect(&source, "siblings").await, None);
            app.ingest(&source, "subTypes", &subtypes).await;
        }
        assert_eq!(siblings(&app, &source).await, linked(&table, true));
        // The table did not exist yet.
        assert_eq!(siblings(&app, &table).await, linked(&source, false));
    }
}

#[tokio::test]
async fn existing_siblings_and_other_lineage_stay_as_they_are() {
    let app = App::empty().await;
    let [one, two] = ["one", "two"].map(|name| dataset("dbt", name));
    let table = dataset("hive", "t");
    let kept = json!({"siblings": [one], "primary": false});
    app.ingest(&table, "siblings", &kept).await;
    app.ingest(&table, "upstreamLineage", &lineage(&[&two]))
        .await;
    assert_eq!(app.aspect(&table, "siblings").await, Some(kept));
    assert_eq!(app.aspect(&two, "siblings").await, None);

    let other = dataset("hive", "u");
    app.ingest(&other, "upstreamLineage", &lineage(&[&one, &two, &table]))
        .await;
    assert_eq!(app.aspect(&other, "siblings").await, None);
    // An edge by hand counts, too.
    app.ingest(&two, "status", &json!({"removed": false})).await;
    let third = dataset("hive", "v");
    app.ingest(
        &third,
        "ownership",
        &json!({"owners": [{"owner": USER, "type": "DATAOWNER"}]}),
    )
    .await;
    let edge = json!({"downstreamUrn": third, "upstreamUrn": two});
    let input = json!({"edgesToAdd": [edge], "edgesToRemove": []});
    app.mutate("updateLineage", "UpdateLineageInput", input)
        .await;
    assert_eq!(siblings(&app, &third).await, linked(&two, false));
}

/// A user who edits one dataset writes its lineage.
async fn write_lineage_as_editor(app: &App, table: &str, model: &str) {
    let user = "urn:li:corpuser:editor";
    let of_table = json!({"filter": {"criteria": [{"field": "URN", "values": [table]}]}});
    grant(app, "editor", user, &["EDIT_ENTITY"], &of_table).await;
    let token = token_of(&app.catalog, user, None).await;
    assign(app, user, "Reader").await;
    let body =
        json!({"proposal": proposal("UPSERT", table, "upstreamLineage", &lineage(&[model]))});
    let path = "/aspects?action=ingestProposal";
    let (status, reply) = app.send_as(&token, "POST", path, &body).await;
    assert!(status.is_success(), "{reply}");
}

#[tokio::test]
async fn a_missing_sibling_is_created_only_by_those_who_may_create_it() {
    let app = App::empty().await;
    let (model, table) = (dataset("dbt", "orders"), dataset("hive", "orders"));
    let status = json!({"removed": false});
    app.ingest(&table, "status", &status).await;
    write_lineage_as_editor(&app, &table, &model).await;
    let row = app.aspect(&table, "siblings").await;
    assert_eq!(row, Some(json!({"siblings": [model], "primary": false})));
    assert_eq!(app.aspect(&model, "datasetKey").await, None);

    let app = App::empty().await;
    app.ingest(&table, "status", &status).await;
    app.ingest(&model, "status", &status).await;
    write_lineage_as_editor(&app, &table, &model).await;
    assert_eq!(siblings(&app, &model).await, linked(&table, true));
}

#[tokio::test]
async fn a_hidden_sibling_is_like_a_missing_one() {
    let app = App::empty().await;
    app.catalog.enforce_view_policies();
    let (model, table) = (dataset("dbt", "orders"), dataset("hive", "orders"));
    app.ingest(&table, "status", &json!({"removed": false}))
        .await;
    let kept = json!({"siblings": [dataset("hive", "other")], "primary": true});
    app.ingest(&model, "siblings", &kept).await;
    hide_by_default(&app).await;
    write_lineage_as_editor(&app, &table, &model).await;
    let row = app.aspect(&table, "siblings").await;
    assert_eq!(row, Some(json!({"siblings": [model], "primary": false})));
    assert_eq!(app.aspect(&model, "siblings").await, Some(kept));
}
