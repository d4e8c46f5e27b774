//! Columns in lineage: grouped by their tables, and counted.

use serde_json::{Value, json};

use crate::support::App;

fn table(platform: &str, name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)")
}

fn column(table: &str, path: &str) -> String {
    format!("urn:li:schemaField:({table},{path})")
}

/// `source.id -> model.id -> target.id`, where the model is of dbt, `source.old -> target.id`, and
/// `nowhere.id -> target.id`. Only `source.id` is an entity of its own, and `source.old` is not in
/// the schema.
async fn warehouse() -> App {
    let app = App::empty().await;
    let [source, model, target, nowhere] = tables();
    for table in [&source, &model, &target] {
        app.add_dataset(table).await;
        let schema = app.aspect(table, "schemaMetadata").await.unwrap();
        let mut with_id = schema.clone();
        with_id["fields"][0]["fieldPath"] = json!("id");
        app.ingest(table, "schemaMetadata", &with_id).await;
    }
    app.ingest(&column(&source, "id"), "status", &json!({"removed": false}))
        .await;
    let flow = |from: &str, to: &str| {
        json!({
            "upstreamType": "FIELD_SET", "downstreamType": "FIELD",
            "upstreams": [from], "downstreams": [to],
        })
    };
    let upstream = |table: &str| json!({"dataset": table, "type": "TRANSFORMED"});
    let to_model = flow(&column(&source, "id"), &column(&model, "id"));
    let lineage = json!({"upstreams": [upstream(&source)], "fineGrainedLineages": [to_model]});
    app.ingest(&model, "upstreamLineage", &lineage).await;
    let into = [
        column(&model, "id"),
        column(&source, "old"),
        column(&nowhere, "id"),
    ];
    let into = into.map(|from| flow(&from, &column(&target, "id")));
    let lineage = json!({"upstreams": [upstream(&model)], "fineGrainedLineages": into});
    app.ingest(&target, "upstreamLineage", &lineage).await;
    app
}

fn tables() -> [String; 4] {
    [
        table("hive", "source"),
        table("dbt", "model"),
        table("hive", "target"),
        table("hive", "nowhere"),
    ]
}

async fn count(app: &App, more: Value) -> Result<Value, String> {
    let [_, _, target, _] = tables();
    let mut input = json!({
        "urn": column(&target, "id"), "direction": "UPSTREAM", "types": ["SCHEMA_FIELD"],
    });
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    let query = "query ($input: SearchAcrossLineageCountsInput!) {
        searchAcrossLineageCounts(input: $input) { total } }";
    let reply = app.graphql_with(query, json!({"input": input})).await;
    match reply.get("errors") {
        None => Ok(reply["data"]["searchAcrossLineageCounts"]["total"].clone()),
        Some(errors) => Err(errors[0]["message"].as_str().unwrap().to_owned()),
    }
}

#[tokio::test]
async fn columns_are_counted_that_are_stored_declared_or_only_in_lineage() {
    let app = warehouse().await;
    // model.id, source.old, nowhere.id and, behind the model, source.id
    let all = json!({"includeGhostEntities": true, "validateSchemaFields": "NONE"});
    assert_eq!(count(&app, all).await.unwrap(), 4);
    for validation in ["AUTO", "ALWAYS"] {
        let declared = json!({"includeGhostEntities": true, "validateSchemaFields": validation});
        assert_eq!(count(&app, declared).await.unwrap(), 2);
    }
    assert_eq!(count(&app, json!({})).await.unwrap(), 1);
}

#[tokio::test]
async fn counts_are_filtered_by_degree_table_and_platform() {
    let app = warehouse().await;
    let [source, _, _, nowhere] = tables();
    let filtered = async |filters: Value| {
        let input = json!({
            "includeGhostEntities": true,
            "validateSchemaFields": "NONE",
            "orFilters": [{"and": filters}],
        });
        count(&app, input).await
    };
    let cases = [
        (json!([{"field": "degree", "values": ["1"]}]), 3),
        (json!([{"field": "parent", "values": [source]}]), 2),
        (
            json!([{"field": "parent", "values": [source, nowhere], "negated": true}]),
            1,
        ),
        (
            json!([{"field": "parent", "condition": "CONTAIN", "values": ["dataPlatform:dbt"], "negated": true}]),
            3,
        ),
        (
            json!([{"field": "platform", "values": ["urn:li:dataPlatform:dbt"]}]),
            1,
        ),
    ];
    for (filters, expected) in cases {
        assert_eq!(
            filtered(filters.clone()).await.unwrap(),
            expected,
            "{filters}"
        );
    }
    let text = json!([{"field": "description", "condition": "CONTAIN", "values": ["x"]}]);
    let error = filtered(text).await.unwrap_err();
    assert!(error.contains("includeGhostEntities"), "{error}");
}

#[tokio::test]
async fn what_is_behind_an_ignored_hop_has_its_degree() {
    let app = warehouse().await;
    let [source, model, target, _] = tables();
    let dbt = "urn:li:dataPlatform:dbt";
    let first = json!([{"and": [
        {"field": "degree", "values": ["1"]},
        {"field": "parent", "condition": "CONTAIN", "values": [dbt], "negated": true},
    ]}]);
    let ignored = json!({"ignoreAsHops": [{"entityType": "SCHEMA_FIELD", "platforms": [dbt]}]});
    let near = json!({"orFilters": first, "includeGhostEntities": true, "lineageFlags": ignored});
    assert_eq!(count(&app, near).await.unwrap(), 1);
    let other = json!({"ignoreAsHops": [{"entityType": "SCHEMA_FIELD", "platforms": ["urn:li:dataPlatform:hive"]}]});
    let far = json!({"orFilters": first, "includeGhostEntities": true, "lineageFlags": other});
    assert_eq!(count(&app, far).await.unwrap(), 0);

    let query = "query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
        searchResults { degree ignoredAsHop entity { urn } paths { path { urn } } } } }";
    let input = json!({
        "urn": target, "direction": "UPSTREAM",
        "lineageFlags": {"ignoreAsHops": [{"entityType": "DATASET", "platforms": [dbt]}]},
    });
    let reply = app.graphql_with(query, json!({"input": input})).await;
    let results = &reply["data"]["searchAcrossLineage"]["searchResults"];
    let result = |urn: &str, ignored: bool, path: &[&str]| {
        let path: Vec<Value> = path.iter().map(|urn| json!({"urn": urn})).collect();
        json!({
            "degree": 1, "ignoredAsHop": ignored, "entity": {"urn": urn},
            "paths": [{"path": path}],
        })
    };
    assert_eq!(
        *results,
        json!([
            result(&model, true, &[&target, &model]),
            result(&source, false, &[&target, &model, &source]),
        ]),
        "{reply}"
    );
}

#[tokio::test]
async fn column_lineage_returns_the_tables_of_columns() {
    let app = warehouse().await;
    let [source, model, target, _] = tables();
    let query = "query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
        total searchResults { degree entity { urn } paths { path { urn } } } } }";
    let search = async |flags: Value| {
        let input = json!({
            "urn": column(&target, "id"), "direction": "UPSTREAM", "searchFlags": flags,
        });
        let reply = app.graphql_with(query, json!({"input": input})).await;
        reply["data"]["searchAcrossLineage"].clone()
    };
    let spec = json!({"groupingSpec": {"groupingCriteria": [
        {"baseEntityType": "SCHEMA_FIELD", "groupingEntityType": "DATASET"},
    ]}});
    for flags in [spec, json!({}), json!(null)] {
        let found = search(flags.clone()).await;
        assert_eq!(found["total"], 2, "{flags}: {found}");
        let results = found["searchResults"].as_array().unwrap();
        assert_eq!(results[0]["entity"]["urn"], model.as_str());
        assert_eq!(results[1]["entity"]["urn"], source.as_str());
        // The paths lead to the columns: one to `old`, and one through the model.
        assert_eq!(results[1]["degree"], 1);
        let paths = results[1]["paths"].as_array().unwrap();
        let end = |path: &Value| path["path"].as_array().unwrap().last().unwrap()["urn"].clone();
        let ends: Vec<Value> = paths.iter().map(end).collect();
        assert_eq!(
            ends,
            [column(&source, "old"), column(&source, "id")].map(Value::from)
        );
    }
    let columns = search(json!({"groupingSpec": {"groupingCriteria": []}})).await;
    assert_eq!(columns["total"], 3, "{columns}");
}

#[tokio::test]
async fn facets_count_the_results_of_a_search() {
    let app = warehouse().await;
    let [source, model, target, outside] = tables();
    for table in [&source, &model, &outside] {
        let tags = json!({"tags": [{"tag": "urn:li:tag:gold"}]});
        app.ingest(table, "globalTags", &tags).await;
    }
    let counts = async |field: &str, filters: Value| {
        let query =
            "query ($input: SearchAcrossLineageInput!) { searchAcrossLineage(input: $input) {
            facets { field aggregations { value count } } } }";
        let input = json!({"urn": target, "direction": "UPSTREAM", "query": "*", "count": 0,
            "orFilters": filters});
        let reply = app.graphql_with(query, json!({"input": input})).await;
        let facets = reply["data"]["searchAcrossLineage"]["facets"].as_array();
        let mut facets = facets.unwrap_or_else(|| panic!("{reply}")).iter();
        let facet = facets.find(|facet| facet["field"] == field);
        facet.unwrap_or_else(|| panic!("{reply}"))["aggregations"].clone()
    };
    let counted = |value: &str, count: u64| json!({"value": value, "count": count});
    assert_eq!(
        counts("platform", json!([])).await,
        json!([
            counted("urn:li:dataPlatform:dbt", 1),
            counted("urn:li:dataPlatform:hive", 1)
        ])
    );
    let tags = counts("tags", json!([])).await;
    assert_eq!(tags, json!([counted("urn:li:tag:gold", 2)]));
    let near = json!([{"and": [{"field": "degree", "values": ["1"]}]}]);
    let tags = counts("tags", near).await;
    assert_eq!(tags, json!([counted("urn:li:tag:gold", 1)]));
}

/// Counts the columns of this many tables, of which all flow into one column. The first ones have
/// a schema of 14 MiB.
async fn count_all(tables: usize, long: usize, validation: &str) -> Result<Value, String> {
    let app = App::empty().await;
    let [_, _, target, _] = self::tables();
    let number = |number: usize| table("hive", &format!("t{number}"));
    app.add_dataset(&target).await;
    let schema = app.aspect(&target, "schemaMetadata").await.unwrap();
    for at in 0..long {
        let mut schema = schema.clone();
        schema["fields"][0]["fieldPath"] = json!("id");
        schema["fields"][0]["description"] = json!("x".repeat(14 * 1024 * 1024));
        app.ingest(&number(at), "schemaMetadata", &schema).await;
    }
    let columns: Vec<String> = (0..tables).map(|at| column(&number(at), "id")).collect();
    let flow = json!({
        "upstreamType": "FIELD_SET", "downstreamType": "FIELD",
        "upstreams": columns, "downstreams": [column(&target, "id")],
    });
    let lineage = json!({"upstreams": [], "fineGrainedLineages": [flow]});
    app.ingest(&target, "upstreamLineage", &lineage).await;
    let input = json!({"includeGhostEntities": true, "validateSchemaFields": validation});
    count(&app, input).await
}

#[tokio::test]
async fn only_so_many_schemas_are_compared() {
    assert_eq!(count_all(1_000, 0, "ALWAYS").await.unwrap(), 0);
    let error = count_all(1_001, 0, "ALWAYS").await.unwrap_err();
    assert!(error.contains("1001 tables, at most 1000"), "{error}");
    assert_eq!(count_all(1_001, 0, "AUTO").await.unwrap(), 1_001);
}

#[tokio::test]
async fn only_so_many_bytes_of_schemas_are_compared() {
    assert_eq!(count_all(6, 4, "ALWAYS").await.unwrap(), 4);
    let error = count_all(6, 5, "ALWAYS").await.unwrap_err();
    assert!(error.contains("more than 64 MiB"), "{error}");
    assert_eq!(count_all(6, 5, "AUTO").await.unwrap(), 6);
}
