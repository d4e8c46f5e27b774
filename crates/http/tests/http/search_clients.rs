//! The filters of DataHub's client and command line, each with a match and a non-match.

use crate::support::{App, USER};
use serde_json::{Value, json};

const TABLE: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,Sales.Orders,PROD)";
const VIEW: &str = "urn:li:dataset:(urn:li:dataPlatform:mysql,one.sales.report,DEV)";
const CONTAINER: &str = "urn:li:container:c1";
const INSTANCE: &str = "urn:li:dataPlatformInstance:(urn:li:dataPlatform:mysql,one)";

async fn app() -> App {
    let app = App::empty().await;
    let stamp = json!({"time": 1, "actor": USER});
    let aspects = [
        (
            TABLE,
            "datasetProperties",
            json!({"name": "Orders", "customProperties": {"env": "PROD"}}),
        ),
        (TABLE, "subTypes", json!({"typeNames": ["Table"]})),
        (TABLE, "domains", json!({"domains": ["urn:li:domain:d"]})),
        (
            TABLE,
            "ownership",
            json!({"owners": [{"owner": USER, "type": "NONE"}]}),
        ),
        (
            TABLE,
            "globalTags",
            json!({"tags": [{"tag": "urn:li:tag:t"}]}),
        ),
        (
            TABLE,
            "glossaryTerms",
            json!({"terms": [{"urn": "urn:li:glossaryTerm:g"}], "auditStamp": stamp}),
        ),
        (TABLE, "status", json!({"removed": false})),
        (
            VIEW,
            "datasetProperties",
            json!({"name": "Report", "customProperties": {}}),
        ),
        (
            VIEW,
            "dataPlatformInstance",
            json!({"platform": "urn:li:dataPlatform:mysql", "instance": INSTANCE}),
        ),
        (
            VIEW,
            "browsePathsV2",
            json!({"path": [{"id": "one"}, {"id": CONTAINER, "urn": CONTAINER}]}),
        ),
        (VIEW, "subTypes", json!({"typeNames": ["View"]})),
        (
            CONTAINER,
            "containerProperties",
            json!({"name": "sales", "env": "DEV"}),
        ),
        (
            "urn:li:corpuser:ann",
            "corpUserInfo",
            json!({"active": true, "displayName": "Ann", "fullName": "Ann Lee", "email": "ann@example.com"}),
        ),
        (
            "urn:li:corpuser:bob",
            "corpUserInfo",
            json!({"active": true, "displayName": "Bob", "fullName": "Bob Ray", "email": "bob@example.com"}),
        ),
        (
            "urn:li:glossaryTerm:g",
            "glossaryTermInfo",
            json!({"name": "Gross", "definition": "d", "termSource": "INTERNAL"}),
        ),
    ];
    for (urn, aspect, value) in aspects {
        app.ingest(urn, aspect, &value).await;
    }
    app
}

async fn urns(app: &App, types: Value, filters: Value) -> Vec<String> {
    let query = "query ($types: [EntityType!], $orFilters: [AndFilterInput!], $scrollId: String) {
        scrollAcrossEntities(input: { query: \"*\", count: 1, scrollId: $scrollId, types: $types, orFilters: $orFilters,
            searchFlags: { skipHighlighting: true, skipAggregates: true } }) {
            nextScrollId searchResults { entity { urn } extraProperties { name value } } } }";
    let (mut found, mut mark) = (Vec::new(), Value::Null);
    loop {
        let variables = json!({"types": types, "orFilters": [{"and": filters}], "scrollId": mark});
        let reply = app.graphql_with(query, variables).await;
        let page = reply["data"]["scrollAcrossEntities"]
            .as_object()
            .unwrap_or_else(|| panic!("{filters}: {reply}"));
        for hit in page["searchResults"].as_array().unwrap() {
            found.push(hit["entity"]["urn"].as_str().unwrap().to_owned());
            assert_eq!(hit["extraProperties"], json!([]));
        }
        // The client fails without the key, so the last page has it, too.
        mark = page["nextScrollId"].clone();
        if mark.is_null() {
            found.sort();
            return found;
        }
    }
}

#[tokio::test]
async fn every_filter_of_the_client_matches_and_excludes() {
    let app = app().await;
    let equal = |field: &str, value: &str| json!([{"field": field, "values": [value], "condition": "EQUAL"}]);
    let plain = |field: &str, value: &str| json!([{"field": field, "values": [value]}]);
    for (filter, only) in [
        (equal("platform.keyword", "urn:li:dataPlatform:hive"), TABLE),
        (plain("platform.keyword", "urn:li:dataPlatform:mysql"), VIEW),
        (equal("platformInstance", INSTANCE), VIEW),
        (
            json!([{"field": "browsePathV2", "values": [CONTAINER], "condition": "CONTAIN"}]),
            VIEW,
        ),
        (equal("origin", "PROD"), TABLE),
        (equal("customProperties", "env=PROD"), TABLE),
        (equal("domains", "urn:li:domain:d"), TABLE),
        (equal("owners", USER), TABLE),
        (equal("tags", "urn:li:tag:t"), TABLE),
        (equal("glossaryTerms", "urn:li:glossaryTerm:g"), TABLE),
        (equal("typeNames", "View"), VIEW),
        (equal("name", "Orders"), TABLE),
        (equal("urn", VIEW), VIEW),
        (
            equal(
                "lowercasedUrn",
                &TABLE.replace("Sales.Orders", "sales.orders"),
            ),
            TABLE,
        ),
    ] {
        assert_eq!(
            urns(&app, json!(["DATASET"]), filter.clone()).await,
            [only],
            "{filter}"
        );
    }
    for (types, filter, only) in [
        (
            json!(["CORP_USER"]),
            plain("fullName", "Ann Lee"),
            "urn:li:corpuser:ann",
        ),
        (
            json!(["CORP_USER"]),
            plain("displayName", "Bob"),
            "urn:li:corpuser:bob",
        ),
        (
            json!(["CORP_USER"]),
            plain("email", "ann@example.com"),
            "urn:li:corpuser:ann",
        ),
        (
            json!(["GLOSSARY_TERM"]),
            plain("name", "Gross"),
            "urn:li:glossaryTerm:g",
        ),
        (Value::Null, plain("_entityType", "CONTAINER"), CONTAINER),
        (json!(["CONTAINER"]), plain("env", "DEV"), CONTAINER),
    ] {
        assert_eq!(urns(&app, types, filter.clone()).await, [only], "{filter}");
    }
}

#[tokio::test]
async fn entities_without_a_status_count_as_not_removed() {
    let app = app().await;
    let not_removed =
        json!([{"field": "removed", "values": ["true"], "condition": "EQUAL", "negated": true}]);
    assert_eq!(
        urns(&app, json!(["DATASET"]), not_removed.clone()).await,
        [TABLE, VIEW]
    );
    app.ingest(TABLE, "status", &json!({"removed": true})).await;
    assert_eq!(urns(&app, json!(["DATASET"]), not_removed).await, [VIEW]);
    let removed = json!([{"field": "removed", "values": ["true"], "condition": "EQUAL"}]);
    assert_eq!(urns(&app, json!(["DATASET"]), removed).await, [TABLE]);
    let both = json!([{"field": "removed", "values": ["true", "false"]}]);
    assert!(
        urns(&app, json!(["DATASET"]), both)
            .await
            .contains(&TABLE.to_owned())
    );
}

#[tokio::test]
async fn search_flags_are_accepted() {
    let app = App::empty().await;
    let query = r#"{ __type(name: "SearchFlags") { inputFields { name } } }"#;
    let reply = app.graphql(query).await;
    let fields = reply["data"]["__type"]["inputFields"].as_array().unwrap();
    assert!(fields.contains(&json!({"name": "skipCache"})), "{reply}");
    assert!(
        !fields.contains(&json!({"name": "includeDraft"})),
        "the client would send it then"
    );
}
