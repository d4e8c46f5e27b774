//! Views: saved filters of searches; and announcements.

use serde_json::{Value, json};

use crate::access::{app, tokens};
use crate::support::{App, DATASET};

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:kafka,clicks,PROD)";

fn definition(types: &[&str], operator: &str, filters: &Value) -> Value {
    json!({"entityTypes": types, "filter": {"operator": operator, "filters": filters}})
}

async fn create(app: &App, name: &str, definition: Value) -> String {
    let query = "mutation ($input: CreateViewInput!) { createView(input: $input) { urn } }";
    let input = json!({"viewType": "PERSONAL", "name": name, "definition": definition});
    let reply = app.graphql_with(query, json!({"input": input})).await;
    let urn = reply["data"]["createView"]["urn"].as_str();
    urn.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

/// The URNs that a search in the view finds.
async fn found(app: &App, view: &str, more: &str) -> Value {
    let query = format!(
        r#"{{ searchAcrossEntities(input: {{ query: "*", viewUrn: "{view}" {more} }}) {{
            searchResults {{ entity {{ urn }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    let hits = reply["data"]["searchAcrossEntities"]["searchResults"].as_array();
    let hits = hits.unwrap_or_else(|| panic!("{reply}"));
    hits.iter()
        .map(|hit| hit["entity"]["urn"].clone())
        .collect()
}

async fn with_two_datasets() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let tag = json!({"name": "clicks"});
    app.ingest("urn:li:tag:clicks", "tagProperties", &tag).await;
    app
}

#[tokio::test]
async fn a_view_restricts_searches_scrolls_counts_and_completions() {
    let app = with_two_datasets().await;
    let kafka = json!([{"field": "platform", "values": ["urn:li:dataPlatform:kafka"]}]);
    let view = create(&app, "Kafka", definition(&["DATASET"], "AND", &kafka)).await;
    assert_eq!(found(&app, &view, "").await, json!([OTHER]));
    // The filter of the search and that of the view must both hold.
    let hive =
        r#", orFilters: [{ and: [{ field: "platform", values: ["urn:li:dataPlatform:hive"] }] }]"#;
    assert_eq!(found(&app, &view, hive).await, json!([]));
    assert_eq!(found(&app, &view, ", types: [TAG]").await, json!([]));
    assert_eq!(
        found(&app, &view, ", types: [DATASET, TAG]").await,
        json!([OTHER])
    );
    let either = json!([
        {"field": "platform", "values": ["urn:li:dataPlatform:kafka"]},
        {"field": "urn", "values": [DATASET]},
        {"field": "platform", "values": ["urn:li:dataPlatform:none"]},
    ]);
    let any = create(&app, "Either", definition(&[], "OR", &either)).await;
    let both = found(&app, &any, "").await;
    assert_eq!(both.as_array().unwrap().len(), 2, "{both}");
    let tags = create(&app, "Tags", definition(&["TAG"], "AND", &json!([]))).await;
    assert_eq!(found(&app, &tags, "").await, json!(["urn:li:tag:clicks"]));
    let query = format!(
        r#"{{
            scrollAcrossEntities(input: {{ query: "*", viewUrn: "{view}" }}) {{ total }}
            aggregateAcrossEntities(input: {{ query: "*", viewUrn: "{view}", facets: ["platform"] }}) {{
                facets {{ aggregations {{ value count }} }} }}
            autoCompleteForMultiple(input: {{ query: "clicks", viewUrn: "{view}" }}) {{
                suggestions {{ type }} }}
            browseV2(input: {{ type: DATASET, path: [], start: 0, count: 10, query: "*", viewUrn: "{view}" }}) {{
                metadata {{ totalNumEntities }} }}
            getQuickFilters(input: {{ viewUrn: "{view}" }}) {{ quickFilters {{ field value }} }}
        }}"#
    );
    let reply = app.graphql(&query).await;
    let data = &reply["data"];
    assert_eq!(data["scrollAcrossEntities"]["total"], 1, "{reply}");
    assert_eq!(
        data["aggregateAcrossEntities"]["facets"][0]["aggregations"],
        json!([{"value": "urn:li:dataPlatform:kafka", "count": 1}])
    );
    assert_eq!(
        data["autoCompleteForMultiple"]["suggestions"],
        json!([{"type": "DATASET"}])
    );
    let platforms = data["getQuickFilters"]["quickFilters"].as_array().unwrap();
    let hive = json!({"field": "platform", "value": "urn:li:dataPlatform:hive"});
    assert!(!platforms.contains(&hive), "{reply}");
}

#[tokio::test]
async fn a_view_restricts_the_assets_of_products_and_applications() {
    let app = with_two_datasets().await;
    let kafka = json!([{"field": "platform", "values": ["urn:li:dataPlatform:kafka"]}]);
    let view = create(&app, "Kafka", definition(&[], "AND", &kafka)).await;
    let assets = json!([{"destinationUrn": DATASET}, {"destinationUrn": OTHER}]);
    let product = json!({"name": "p", "assets": assets});
    app.ingest("urn:li:dataProduct:p", "dataProductProperties", &product)
        .await;
    app.ingest(
        "urn:li:application:a",
        "applicationProperties",
        &json!({"name": "a"}),
    )
    .await;
    for asset in [DATASET, OTHER] {
        let applications = json!({"applications": ["urn:li:application:a"]});
        app.ingest(asset, "applications", &applications).await;
    }
    let search = format!(
        r#"input: {{ query: "*", viewUrn: "{view}" }}) {{ searchResults {{ entity {{ urn }} }} }}"#
    );
    let query = format!(
        r#"{{ products: listDataProductAssets(urn: "urn:li:dataProduct:p", {search}
            applications: listApplicationAssets(urn: "urn:li:application:a", {search} }}"#
    );
    let reply = app.graphql(&query).await;
    let found = json!({"searchResults": [{"entity": {"urn": OTHER}}]});
    assert_eq!(
        reply["data"],
        json!({"products": found, "applications": found}),
        "{reply}"
    );
}

#[tokio::test]
async fn a_view_is_listed_changed_chosen_and_deleted() {
    let app = with_two_datasets().await;
    let condition = json!([{"field": "platform", "values": ["urn:li:dataPlatform:kafka"],
        "condition": "EQUAL", "negated": true}]);
    let view = create(
        &app,
        "Not Kafka",
        definition(&["DATASET"], "AND", &condition),
    )
    .await;
    let fields = "name viewType definition { entityTypes filter { operator
        filters { field values condition negated } } }";
    let list = format!(
        "{{ listMyViews(input: {{}}) {{ total views {{ {fields} }} }}
        listGlobalViews(input: {{}}) {{ total }} }}"
    );
    let reply = app.graphql(&list).await;
    assert_eq!(
        reply["data"],
        json!({"listMyViews": {"total": 1, "views": [{
            "name": "Not Kafka", "viewType": "PERSONAL",
            "definition": {"entityTypes": ["DATASET"], "filter": {"operator": "AND", "filters": [{
                "field": "platform", "values": ["urn:li:dataPlatform:kafka"], "condition": "EQUAL",
                "negated": true}]}},
        }]}, "listGlobalViews": {"total": 0}}),
        "{reply}"
    );
    let global = json!({"viewType": "GLOBAL", "name": "All", "definition": definition(&[], "AND", &json!([]))});
    let create = "mutation ($input: CreateViewInput!) { createView(input: $input) { urn } }";
    app.graphql_with(create, json!({"input": global})).await;
    let lists = "{ mine: listMyViews(input: { viewType: PERSONAL }) { views { name } }
        shared: listMyViews(input: { viewType: GLOBAL }) { views { name } }
        all: listGlobalViews(input: { query: \"all\" }) { views { name } } }";
    let reply = app.graphql(lists).await;
    assert_eq!(
        reply["data"],
        json!({"mine": {"views": [{"name": "Not Kafka"}]}, "shared": {"views": [{"name": "All"}]},
            "all": {"views": [{"name": "All"}]}}),
        "{reply}"
    );
    let change = format!(
        r#"mutation {{
            updateView(urn: "{view}", input: {{ name: "Mine" }}) {{ name }}
            updateCorpUserViewsSettings(input: {{ defaultView: "{view}" }})
            updateGlobalViewsSettings(input: {{ defaultView: "{view}" }})
        }}"#
    );
    let reply = app.graphql(&change).await;
    assert_eq!(reply["data"]["updateView"]["name"], "Mine", "{reply}");
    let settings = "{ globalViewsSettings { defaultView }
        me { corpUser { settings { views { defaultView { name } } } } } }";
    let reply = app.graphql(settings).await;
    assert_eq!(
        reply["data"],
        json!({"globalViewsSettings": {"defaultView": view},
            "me": {"corpUser": {"settings": {"views": {"defaultView": {"name": "Mine"}}}}}}),
        "{reply}"
    );
    let delete = format!(r#"mutation {{ deleteView(urn: "{view}") }}"#);
    assert_eq!(app.graphql(&delete).await["data"]["deleteView"], true);
    let reply = app.graphql(settings).await;
    assert_eq!(
        reply["data"]["globalViewsSettings"]["defaultView"],
        Value::Null,
        "{reply}"
    );
    // The page of the user whose default it was still sends it.
    let search = |view: &str| {
        format!(
            r#"{{ searchAcrossEntities(input: {{ query: "*", types: [DATASET], viewUrn: "{view}" }}) {{ total }} }}"#
        )
    };
    let reply = app.graphql(&search(&view)).await;
    assert_ne!(
        reply["data"]["searchAcrossEntities"]["total"],
        Value::Null,
        "{reply}"
    );
    let (code, _) = app.graphql_error(&search("urn:li:dataHubView:none")).await;
    assert_eq!(code, 404);
    let (code, message) = app.graphql_error(&delete).await;
    assert_eq!(
        (code, message.contains("does not exist")),
        (404, true),
        "{message}"
    );
}

#[tokio::test]
async fn a_personal_view_is_changed_by_its_creator_alone() {
    let app = app().await;
    let tokens = tokens(&app).await;
    let of = |letter: char| {
        let found = tokens.iter().find(|(other, _)| *other == letter);
        found.unwrap().1.as_str()
    };
    let create = r#"mutation { createView(input: { viewType: PERSONAL, name: "Mine", definition: {
        entityTypes: [], filter: { operator: AND, filters: [] } } }) { urn } }"#;
    let reply = app.graphql_as(of('R'), create).await;
    let view = reply["data"]["createView"]["urn"]
        .as_str()
        .unwrap()
        .to_owned();
    let rename =
        format!(r#"mutation {{ updateView(urn: "{view}", input: {{ name: "X" }}) {{ name }} }}"#);
    for letter in ['E', 'A', 'V'] {
        let reply = app.graphql_as(of(letter), &rename).await;
        assert_eq!(
            reply["errors"][0]["extensions"]["code"], 403,
            "{letter}: {reply}"
        );
    }
    // A token that only reads creates nothing.
    let reply = app.graphql_as(of('V'), create).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let reply = app.graphql_as(of('R'), &rename).await;
    assert_eq!(reply["data"]["updateView"]["name"], "X", "{reply}");
}

#[tokio::test]
async fn views_that_are_not_valid_are_rejected() {
    let app = App::with_dataset().await;
    let input = |name: &str, condition: &str| {
        json!({"viewType": "PERSONAL", "name": name, "definition": definition(&[], "AND", &json!([
            {"field": "platform", "values": ["x"], "condition": condition}]))})
    };
    let query = "mutation ($input: CreateViewInput!) { createView(input: $input) { urn } }";
    let reply = app
        .graphql_with(query, json!({"input": input(" ", "EQUAL")}))
        .await;
    assert!(reply.to_string().contains("the name is empty"), "{reply}");
    for view in ["urn:li:dataHubView:none", DATASET, "none"] {
        let query = format!(
            r#"{{ searchAcrossEntities(input: {{ query: "*", viewUrn: "{view}" }}) {{ total }} }}"#
        );
        let (code, message) = app.graphql_error(&query).await;
        assert!((400..=404).contains(&code), "{view}: {message}");
    }
    let choose = r#"mutation { updateCorpUserViewsSettings(input: { defaultView: "urn:li:dataHubView:none" }) }"#;
    let (_, message) = app.graphql_error(choose).await;
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn posts_are_listed_changed_and_deleted() {
    let app = App::with_dataset().await;
    let create = |kind: &str, title: &str, more: &str| {
        format!(
            r#"mutation {{ createPost(input: {{ postType: {kind}, content: {{ contentType: LINK,
                title: "{title}", link: "https://example.com" }} {more} }}) }}"#
        )
    };
    let home = create("HOME_PAGE_ANNOUNCEMENT", "Welcome", "");
    assert_eq!(app.graphql(&home).await["data"]["createPost"], true);
    let about = format!(r#", resourceUrn: "{DATASET}""#);
    let note = create("ENTITY_ANNOUNCEMENT", "Late today", &about);
    let reply = app.graphql(&note).await;
    assert_eq!(reply["data"]["createPost"], true, "{reply}");
    let list = |input: &str| {
        format!(
            "{{ listPosts(input: {{ {input} }}) {{ total posts {{ urn postType
            content {{ contentType title link }} lastModified {{ actor }} }} }} }}"
        )
    };
    let reply = app.graphql(&list("")).await;
    assert_eq!(reply["data"]["listPosts"]["total"], 2, "{reply}");
    let reply = app
        .graphql(&list(&format!(r#"resourceUrn: "{DATASET}""#)))
        .await;
    let post = &reply["data"]["listPosts"]["posts"][0];
    assert_eq!(
        post["content"],
        json!({"contentType": "LINK", "title": "Late today", "link": "https://example.com"}),
        "{reply}"
    );
    assert_eq!(post["lastModified"]["actor"], "urn:li:corpuser:datahub");
    let urn = post["urn"].as_str().unwrap();
    let change = format!(
        r#"mutation {{ updatePost(input: {{ urn: "{urn}", postType: ENTITY_ANNOUNCEMENT,
            content: {{ contentType: TEXT, title: "On time" }} }}) }}"#
    );
    assert_eq!(app.graphql(&change).await["data"]["updatePost"], true);
    let reply = app.graphql(&list(r#"query: "time""#)).await;
    assert_eq!(
        reply["data"]["listPosts"]["posts"][0]["content"]["title"], "On time",
        "{reply}"
    );
    let delete = format!(r#"mutation {{ deletePost(urn: "{urn}") }}"#);
    assert_eq!(app.graphql(&delete).await["data"]["deletePost"], true);
    for (mutation, part) in [
        (delete.as_str(), "does not exist"),
        (change.as_str(), "does not exist"),
        (
            &create("ENTITY_ANNOUNCEMENT", "x", ""),
            "needs a resourceUrn",
        ),
        (
            &create(
                "ENTITY_ANNOUNCEMENT",
                "x",
                r#", resourceUrn: "urn:li:tag:none""#,
            ),
            "does not exist",
        ),
        (
            &create("HOME_PAGE_ANNOUNCEMENT", " ", ""),
            "the name is empty",
        ),
    ] {
        let (_, message) = app.graphql_error(mutation).await;
        assert!(message.contains(part), "{mutation}: {message}");
    }
    let reply = app.graphql(&list("")).await;
    assert_eq!(reply["data"]["listPosts"]["total"], 1, "{reply}");
}
