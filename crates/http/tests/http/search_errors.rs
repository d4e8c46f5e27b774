//! Empty search results and invalid searches.

use crate::support::App;
use axum::http::StatusCode;
use serde_json::{Value, json};

async fn data(app: &App, query: &str) -> Value {
    let reply = app.graphql(query).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    reply["data"].clone()
}

#[tokio::test]
async fn every_api_accepts_both_filter_formats() {
    let app = App::empty().await;
    for (number, platform) in ["kafka", "kafka", "hive"].iter().enumerate() {
        let urn = format!("urn:li:dataset:(urn:li:dataPlatform:{platform},t{number},PROD)");
        app.add_dataset(&urn).await;
    }
    let condition = json!([{"field": "platform", "condition": "EQUAL", "values": ["urn:li:dataPlatform:kafka"]}]);
    let mut totals = Vec::new();
    for filter in [
        json!({"or": [{"and": condition}]}),
        json!({"and": [{"criteria": condition}]}),
        json!({"criteria": condition}),
    ] {
        let body =
            json!({"entity": "dataset", "input": "*", "start": 0, "count": 1, "filter": filter});
        let (status, reply) = app.post("/entities?action=search", &body).await;
        assert_eq!(status, 200, "{reply}");
        totals.push(reply["value"]["numEntities"].clone());
        let body = json!({"entities": ["dataset"], "aspects": [], "filter": filter});
        let (status, reply) = app.post("/openapi/v3/entity/scroll?count=1", &body).await;
        assert_eq!(status, 200, "{reply}");
        totals.push(reply["totalCount"].clone());
    }
    assert_eq!(totals, vec![json!(2); 6]);
}

#[tokio::test]
async fn searches_in_an_empty_catalog_return_empty_pages() {
    let app = App::empty().await;
    let across = r#"{ searchAcrossEntities(input: {
            types: [], query: "nothing", start: 5, count: 7,
            filters: [{field: "platform.keyword", values: ["urn:li:dataPlatform:hive"]}],
            orFilters: [{and: [{field: "removed", values: ["true"], negated: true}, {field: "domains", condition: EXISTS}]}],
            searchFlags: {skipCache: true, fulltext: true, maxAggValues: 3, getSuggestions: true, skipHighlighting: false},
            sortInput: {sortCriteria: [{field: "lastModifiedAt", sortOrder: DESCENDING}]}
        }) {
            start count total
            searchResults { entity { urn type } insights { text icon } matchedFields { name value entity { urn } } extraProperties { name value } }
            suggestions { text score frequency }
        } }"#;
    assert_eq!(
        data(&app, across).await["searchAcrossEntities"],
        json!({"start": 5, "count": 7, "total": 0, "searchResults": [], "suggestions": []})
    );
    let one = r#"{ search(input: {type: TAG, query: "*"}) { start count total searchResults { entity { urn } } } }"#;
    assert_eq!(
        data(&app, one).await["search"],
        json!({"start": 0, "count": 10, "total": 0, "searchResults": []})
    );
    let scroll = r#"{ scrollAcrossEntities(input: {query: "*", scrollId: "", types: [TAG], count: 5000}) { nextScrollId count total searchResults { entity { urn } } } }"#;
    assert_eq!(
        data(&app, scroll).await["scrollAcrossEntities"],
        json!({"nextScrollId": null, "count": 5000, "total": 0, "searchResults": []})
    );
    let complete = r#"{
        autoComplete(input: {type: TAG, query: "p", limit: 3}) { query suggestions entities { urn } }
        autoCompleteForMultiple(input: {query: "p", types: [TAG, DATASET]}) { query suggestions { type suggestions entities { urn } } }
    }"#;
    assert_eq!(
        data(&app, complete).await,
        json!({
            "autoComplete": {"query": "p", "suggestions": [], "entities": []},
            "autoCompleteForMultiple": {"query": "p", "suggestions": []},
        })
    );
    let browse = r#"{ browseV2(input: {path: ["no", "such"], query: "*"}) { groups { name entity { urn } count hasSubGroups } start count total metadata { path totalNumEntities } } }"#;
    assert_eq!(
        data(&app, browse).await["browseV2"],
        json!({"groups": [], "start": 0, "count": 10, "total": 0, "metadata": {"path": ["no", "such"], "totalNumEntities": 0}})
    );
}

#[tokio::test]
async fn invalid_pages_are_rejected_with_advice() {
    let app = App::empty().await;
    let ask = |page: &str| {
        format!(r#"{{ searchAcrossEntities(input: {{query: "*", {page}}}) {{ total }} }}"#)
    };
    for (page, said) in [
        ("start: -1", "start must not be negative"),
        ("count: -2", "count must not be negative"),
        ("count: 1001", "at most 1000"),
        ("start: 9995, count: 10", "scrollAcrossEntities"),
        (r#"viewUrn: "urn:li:tag:a""#, "dataHubView"),
        ("types: [RESTRICTED]", "RESTRICTED"),
    ] {
        let (code, message) = app.graphql_error(&ask(page)).await;
        assert_eq!(code, 400, "{page}");
        assert!(message.contains(said), "{page}: {message}");
    }
    let blank = r#"{ autoComplete(input: {type: TAG, query: "  "}) { query } }"#;
    let (code, message) = app.graphql_error(blank).await;
    assert_eq!(code, 400);
    assert!(
        message.contains("'query' parameter can not be null or empty"),
        "{message}"
    );
    let step = r#"{ browseV2(input: {path: ["␟a"]}) { total } }"#;
    assert_eq!(app.graphql_error(step).await.0, 400);
}

#[tokio::test]
async fn invalid_rest_searches_are_rejected_with_a_message() {
    let app = App::empty().await;
    for (path, body, said) in [
        ("/entities?action=find", json!({}), "it has search,"),
        ("/entities?action=search", json!([]), "an object with input"),
        (
            "/entities?action=search",
            json!({"entity": "nonsense", "input": "*"}),
            "no entity type called 'nonsense'",
        ),
        (
            "/entities?action=search",
            json!({"entity": "dataset", "input": "*", "count": -1}),
            "must not be negative",
        ),
        (
            "/entities?action=search",
            json!({"entity": "dataset", "input": "*", "filter": {"or": [{"and": [{"field": "name", "condition": "LIKE"}]}]}}),
            "'LIKE'",
        ),
        (
            "/openapi/v3/entity/scroll",
            json!({"filter": {"nonsense": 1}}),
            "nonsense",
        ),
        (
            "/openapi/v3/entity/scroll",
            json!({"filter": {"and": [{"field": "platform", "values": ["hive"]}]}}),
            "criteria",
        ),
        (
            "/openapi/v3/relationship/scroll",
            json!({"relationshipTypes": ["OwnedBy"]}),
            "relationshipTypes",
        ),
        (
            "/entities?action=autocomplete",
            json!({"entity": "dataset", "query": ""}),
            "can not be null or empty",
        ),
        (
            "/openapi/v3/entity/scroll?count=many",
            json!({}),
            "not a number",
        ),
        (
            "/openapi/v3/entity/scroll?sliceMax=2&sliceId=2",
            json!({}),
            "with ids from 0 to sliceMax - 1",
        ),
        (
            "/openapi/v3/entity/scroll",
            json!({"aspects": ["nonsense"]}),
            "nonsense",
        ),
        (
            "/openapi/v3/entity/scroll?scrollId=x",
            json!({}),
            "over REST, the scrollId",
        ),
        (
            "/openapi/v3/entity/scroll",
            json!({"sortCriteria": [{"field": "nonsense", "order": "ASCENDING"}]}),
            "'nonsense' cannot be sorted by: use _score, name",
        ),
        (
            "/openapi/v3/entity/scroll",
            json!({"sortCriteria": [{"field": "urn", "order": "SIDEWAYS"}]}),
            "the order SIDEWAYS for urn",
        ),
        (
            "/openapi/v3/lineage/scroll?direction=INCOMING",
            json!({}),
            "use UPSTREAM or DOWNSTREAM",
        ),
        (
            "/openapi/v3/relationship/scroll?scrollId=x",
            json!({"sourceFilter": {"and": []}}),
            "scrollId",
        ),
        (
            "/openapi/v3/relationship/scroll",
            json!({"sourceFilter": {"and": [{"criteria": [{"field": "platform", "values": ["a"]}]}]}}),
            "sourceFilter can only filter by urn",
        ),
        (
            "/openapi/v3/relationship/scroll",
            json!({"edgeFilter": {"and": [{"criteria": [{"field": "createdOn", "values": ["1"]}]}]}}),
            "edgeFilter can only filter by relationshipType",
        ),
    ] {
        let (status, reply) = app.post(path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {body}: {reply}");
        let message = reply["message"].as_str().unwrap_or_default();
        assert!(message.contains(said), "{path} {body}: {message}");
    }
    for field in ["nonsense", "description"] {
        let refused = app
            .graphql(&format!(
                "{{ searchAcrossEntities(input: {{query: \"*\", sortInput: {{sortCriterion: {{field: \"{field}\", sortOrder: ASCENDING}}}}}}) {{ total }} }}"
            ))
            .await;
        let error = &refused["errors"][0];
        assert_eq!(error["extensions"]["code"], 400, "{refused}");
        let said = error["message"].as_str().unwrap_or_default();
        assert!(said.contains("cannot be sorted by"), "{said}");
    }
    let (status, _) = app.get("/openapi/v3/entity/nonsense").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_cost_of_a_large_fragment_is_linear_in_the_results() {
    let app = App::empty().await;
    let fragment = "fragment searchResultFields on Entity { urn }";
    let literal = |count: u64| {
        format!(
            r#"{{ searchAcrossEntities(input: {{query: "*", count: {count}}}) {{ searchResults {{ entity {{ ...searchResultFields }} }} }} }} {fragment}"#
        )
    };
    // Four fields besides.
    assert_eq!(app.graphql(&literal(998)).await["errors"], Value::Null);
    let reply = app.graphql(&literal(999)).await;
    assert_eq!(
        reply["errors"][0]["message"], "maximum query complexity exceeded 2002 > 2000",
        "{reply}"
    );
    let variable = format!(
        "query($input: SearchAcrossEntitiesInput!) {{ searchAcrossEntities(input: $input) {{ ...results }} }} \
         fragment results on SearchResults {{ searchResults {{ entity {{ ...searchResultFields }} }} }} {fragment}"
    );
    let counted = format!(
        "query($count: Int) {{ searchAcrossEntities(input: {{query: \"*\", count: $count}}) \
         {{ searchResults {{ entity {{ ... {{ ...searchResultFields }} }} }} }} }} {fragment}"
    );
    for (query, variables) in [
        (&variable, json!({"input": {"query": "*", "count": 999}})),
        (&counted, json!({"count": 999})),
    ] {
        let reply = app.graphql_with(query, variables).await;
        assert_eq!(
            reply["errors"][0]["message"],
            "maximum query complexity exceeded 2002 > 2000"
        );
    }
    let plain = r#"{ searchAcrossEntities(input: {query: "*", count: 1000}) { searchResults { entity { urn } } } }"#;
    assert_eq!(app.graphql(plain).await["errors"], Value::Null);
}
