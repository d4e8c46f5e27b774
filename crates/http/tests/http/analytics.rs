//! Recommendations, figures about the catalog, and the older way to browse.

use serde_json::{Value, json};

use crate::support::{App, DATASET, USER};

const FINANCE: &str = "urn:li:domain:finance";
const TAG: &str = "urn:li:tag:pii";
const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";

async fn app() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let domain = json!({"name": "Finance", "description": ""});
    app.ingest(FINANCE, "domainProperties", &domain).await;
    app.ingest(TAG, "tagProperties", &json!({"name": "PII"}))
        .await;
    app.ingest(DATASET, "domains", &json!({"domains": [FINANCE]}))
        .await;
    for dataset in [DATASET, OTHER] {
        let tags = json!({"tags": [{"tag": TAG}]});
        app.ingest(dataset, "globalTags", &tags).await;
    }
    for (dataset, path) in [
        (DATASET, vec!["prod", "hive"]),
        (OTHER, vec!["prod", "hive", "x"]),
    ] {
        let path: Vec<Value> = path.iter().map(|id| json!({"id": id})).collect();
        app.ingest(dataset, "browsePathsV2", &json!({"path": path}))
            .await;
    }
    app
}

async fn read(app: &App, field: &str, text: &str) -> Value {
    let reply = app.graphql(&format!("{{ {field}{text} }}")).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"][field].clone()
}

#[tokio::test]
async fn recommendations_are_what_is_frequent_and_what_the_caller_has_edited() {
    let app = app().await;
    let text = |context: &str| {
        format!(
            r#"(input: {{ userUrn: "{USER}", {context} }}) {{ modules {{ title moduleId renderType content {{
                value entity {{ urn }} params {{ searchParams {{ filters {{ field values }} }} contentParams {{ count }} }}
            }} }} }}"#
        )
    };
    let all = read(&app, "listRecommendations", &text("")).await;
    let ids = |found: &Value| -> Vec<String> {
        let modules = found["modules"].as_array().unwrap();
        let ids = modules.iter().filter_map(|it| it["moduleId"].as_str());
        ids.map(str::to_owned).collect()
    };
    // There are no terms.
    assert_eq!(
        ids(&all),
        ["RecentlyEditedEntities", "Domains", "Platforms", "TopTags"]
    );
    let content = |index: usize| all["modules"][index]["content"].clone();
    assert_eq!(
        content(3),
        json!([{"value": TAG, "entity": {"urn": TAG}, "params": {
            "searchParams": {"filters": [{"field": "tags", "values": [TAG]}]}, "contentParams": {"count": 2}}}])
    );
    assert_eq!(content(1)[0]["params"]["contentParams"]["count"], 1);
    assert_eq!(content(0)[0]["value"], OTHER);
    let some = "requestContext: { scenario: HOME, modules: [DOMAINS, RECENT_SEARCHES] }";
    let some = read(&app, "listRecommendations", &text(some)).await;
    assert_eq!(ids(&some), ["Domains"]);
    let elsewhere = "requestContext: { scenario: SEARCH_RESULTS }";
    let elsewhere = read(&app, "listRecommendations", &text(elsewhere)).await;
    assert_eq!(elsewhere["modules"], json!([]));
}

#[tokio::test]
async fn charts_and_highlights_count_what_is_stored() {
    let app = app().await;
    let charts = "{ title charts { __typename ... on BarChart { title bars { name segments { label value } } }
        ... on TimeSeriesChart { title interval lines { name data { y } } } } }";
    let found = read(&app, "getAnalyticsCharts", charts).await;
    assert_eq!(
        found[0]["charts"][0],
        json!({"__typename": "BarChart", "title": "Entities per Domain", "bars": [
            {"name": "Finance", "segments": [{"label": "#Entities", "value": 1}]}]})
    );
    let platforms = &found[0]["charts"][1];
    assert_eq!(platforms["title"], "Entities per Platform");
    assert_eq!(platforms["bars"][0]["segments"][0]["value"], 2);
    let weeks = &found[1]["charts"][0];
    assert_eq!(weeks["__typename"], "TimeSeriesChart");
    assert_eq!(weeks["interval"], "WEEK");
    let points = weeks["lines"][0]["data"].as_array().unwrap();
    assert!(points.last().unwrap()["y"].as_u64().unwrap() > 0);
    let narrow = format!(r#"(input: {{ domain: "{FINANCE}", entityType: DATASET }}) {charts}"#);
    let narrow = read(&app, "getMetadataAnalyticsCharts", &narrow).await;
    assert_eq!(narrow[0]["charts"][1]["bars"][0]["segments"][0]["value"], 1);
    let highlights = read(&app, "getHighlights", "{ value title body }").await;
    assert_eq!(
        highlights[0],
        json!({"value": 2, "title": "Datasets",
            "body": "0% have owners, 100% have tags, 50% have a domain."})
    );
    assert_eq!(highlights[1]["title"], "Changes This Week");
    assert_eq!(
        read(&app, "latestProductUpdate", "{ id }").await,
        Value::Null
    );
    assert_eq!(read(&app, "isAnalyticsEnabled", "").await, true);
}

#[tokio::test]
async fn browsing_lists_groups_and_then_the_entities_at_a_path() {
    let app = app().await;
    let level = async |input: &str| {
        let text = format!(
            "(input: {{ type: DATASET, {input} }}) {{ start count total groups {{ name count }} entities {{ urn }}
                metadata {{ path totalNumEntities }} }}"
        );
        read(&app, "browse", &text).await
    };
    assert_eq!(
        level("path: []").await,
        json!({"start": 0, "count": 10, "total": 1, "groups": [{"name": "prod", "count": 2}], "entities": [],
            "metadata": {"path": [], "totalNumEntities": 2}})
    );
    assert_eq!(
        level(r#"path: ["prod", "hive"]"#).await,
        json!({"start": 0, "count": 10, "total": 2, "groups": [{"name": "x", "count": 1}],
            "entities": [{"urn": DATASET}], "metadata": {"path": ["prod", "hive"], "totalNumEntities": 1}})
    );
    let second = level(r#"path: ["prod", "hive"], start: 1, count: 1"#).await;
    assert_eq!(second["groups"], json!([]));
    assert_eq!(second["entities"], json!([{"urn": DATASET}]));
    let text = format!(r#"(input: {{ type: DATASET, urn: "{DATASET}" }}) {{ path }}"#);
    assert_eq!(
        read(&app, "browsePaths", &text).await,
        json!([{"path": ["prod", "hive"]}])
    );
    let older = json!({"paths": ["/prod/old"]});
    app.ingest(DATASET, "browsePaths", &older).await;
    assert_eq!(
        read(&app, "browsePaths", &text).await,
        json!([{"path": ["prod", "old"]}])
    );
    // The older path replaces the other one in this tree.
    assert_eq!(
        level(r#"path: ["prod"]"#).await["groups"],
        json!([{"name": "hive", "count": 1}, {"name": "old", "count": 1}])
    );
    let old = level(r#"path: ["prod", "old"]"#).await;
    assert_eq!(old["entities"], json!([{"urn": DATASET}]));
    let hive = level(r#"path: ["prod", "hive"]"#).await;
    assert_eq!(hive["entities"], json!([]));
    assert_eq!(hive["groups"], json!([{"name": "x", "count": 1}]));
}

#[tokio::test]
async fn semantic_search_says_what_is_missing() {
    let app = App::empty().await;
    for query in [
        r#"{ semanticSearch(input: { type: DATASET, query: "a" }) { total } }"#,
        r#"{ semanticSearchAcrossEntities(input: { query: "a" }) { total } }"#,
    ] {
        let (code, message) = app.graphql_error(query).await;
        assert_eq!(code, 400);
        assert!(message.contains("embedding model"), "{message}");
    }
}
