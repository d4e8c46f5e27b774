//! Search over GraphQL.

use crate::support::{App, DATASET, USER};
use serde_json::{Value, json};

const HIVE: &str = "urn:li:dataPlatform:hive";

fn dataset(name: &str) -> String {
    format!("urn:li:dataset:({HIVE},{name},PROD)")
}

/// Two datasets about users and one about orders; one is in the domain `sales`, a subdomain of
/// `company`.
async fn catalog() -> App {
    let app = App::with_dataset().await;
    for (name, description) in [
        (
            "warehouse.sales.orders",
            "every order that a customer placed",
        ),
        ("warehouse.sales.users", "people who buy"),
    ] {
        let properties = json!({"name": name.rsplit('.').next(), "description": description, "customProperties": {}});
        app.ingest(&dataset(name), "datasetProperties", &properties)
            .await;
    }
    app.ingest(
        "urn:li:domain:company",
        "domainProperties",
        &json!({"name": "Company"}),
    )
    .await;
    app.ingest(
        "urn:li:domain:sales",
        "domainProperties",
        &json!({"name": "Sales", "parentDomain": "urn:li:domain:company"}),
    )
    .await;
    app.ingest(
        &dataset("warehouse.sales.orders"),
        "domains",
        &json!({"domains": ["urn:li:domain:sales"]}),
    )
    .await;
    app
}

async fn data(app: &App, query: &str) -> Value {
    let reply = app.graphql(query).await;
    assert_eq!(reply["errors"], Value::Null, "{reply}");
    reply["data"].clone()
}

/// The URNs that a search finds, sorted.
async fn found(app: &App, input: &str) -> Vec<String> {
    let query = format!(
        "{{ searchAcrossEntities(input: {{ {input} }}) {{ total searchResults {{ entity {{ urn }} }} }} }}"
    );
    let reply = data(app, &query).await["searchAcrossEntities"].clone();
    let mut urns = urns(&reply);
    assert_eq!(reply["total"], urns.len(), "{reply}");
    urns.sort();
    urns
}

fn urns(results: &Value) -> Vec<String> {
    results["searchResults"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["entity"]["urn"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_write_is_found_by_the_next_search() {
    let app = catalog().await;
    let orders = dataset("warehouse.sales.orders");
    let before = found(&app, r#"query: "orders", types: [DATASET]"#).await;
    assert_eq!(before, std::slice::from_ref(&orders));
    let fresh = dataset("fresh_orders");
    app.ingest(
        &fresh,
        "datasetProperties",
        &json!({"name": "fresh_orders", "customProperties": {}}),
    )
    .await;
    assert_eq!(
        found(&app, r#"query: "orders", types: [DATASET]"#).await,
        [fresh, orders]
    );
}

#[tokio::test]
async fn search_results_are_entities_with_selectable_fields() {
    let app = catalog().await;
    let query = r#"{ search(input: {type: DATASET, query: "orders", start: 0, count: 1}) {
        start count total
        searchResults { entity { urn type ... on Dataset { name properties { description } domain { domain { properties { name } } } } } matchedFields { name value } }
    } }"#;
    let reply = data(&app, query).await["search"].clone();
    assert_eq!(reply["total"], 1);
    let result = &reply["searchResults"][0];
    assert_eq!(result["entity"]["type"], "DATASET");
    assert_eq!(
        result["entity"]["properties"]["description"],
        "every order that a customer placed"
    );
    assert_eq!(
        result["entity"]["domain"]["domain"]["properties"]["name"],
        "Sales"
    );
    let matched = result["matchedFields"].as_array().unwrap();
    assert!(
        matched
            .iter()
            .any(|field| field["name"] == "name" && field["value"] == "orders"),
        "{matched:?}"
    );
}

#[tokio::test]
async fn matched_columns_are_listed_and_highlighted() {
    let app = App::empty().await;
    let urn = "urn:li:dataset:(urn:li:dataPlatform:hive,wide,PROD)";
    let field = |path: &str| {
        json!({"fieldPath": path, "nativeDataType": "text",
               "type": {"type": {"com.linkedin.schema.StringType": {}}}})
    };
    let schema = json!({
        "schemaName": "wide", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [field("customer_id"), field("total"), field("customer_name")],
    });
    app.ingest(urn, "schemaMetadata", &schema).await;
    let query = r#"{ searchAcrossEntities(input: {query: "customer"}) { searchResults {
        matchedFields { name value pieces { text matched } } } } }"#;
    let reply = data(&app, query).await;
    let matched = &reply["searchAcrossEntities"]["searchResults"][0]["matchedFields"];
    let piece = |text: &str, matched: bool| json!({"text": text, "matched": matched});
    assert_eq!(
        *matched,
        json!([
            {"name": "fieldPaths", "value": "customer_id",
             "pieces": [piece("customer", true), piece("_id", false)]},
            {"name": "fieldPaths", "value": "customer_name",
             "pieces": [piece("customer", true), piece("_name", false)]},
        ])
    );
}

#[tokio::test]
async fn a_match_in_the_description_of_a_column_names_the_column() {
    let app = App::empty().await;
    app.add_dataset(DATASET).await;
    let edited = json!({"editableSchemaFieldInfo": [{"fieldPath": "timestamp", "description": "Zeitpunkt"}]});
    app.ingest(DATASET, "editableSchemaMetadata", &edited).await;
    for (word, expected) in [
        (
            "who",
            [
                ("fieldDescriptions", "Name of the user who was deleted"),
                ("fieldPaths", "user_name"),
            ],
        ),
        (
            "zeitpunkt",
            [
                ("editedFieldDescriptions", "Zeitpunkt"),
                ("fieldPaths", "timestamp"),
            ],
        ),
    ] {
        let query = format!(
            r#"{{ searchAcrossEntities(input: {{query: "{word}"}}) {{ searchResults {{ matchedFields {{ name value }} }} }} }}"#
        );
        let reply = data(&app, &query).await;
        let matched = &reply["searchAcrossEntities"]["searchResults"][0]["matchedFields"];
        let expected = expected.map(|(name, value)| json!({"name": name, "value": value}));
        assert_eq!(*matched, json!(expected), "{word}");
    }

    // The column matches, too, and stands elsewhere in the list.
    let query = r#"{ searchAcrossEntities(input: {query: "user who"}) { searchResults { matchedFields { name value columns } } } }"#;
    let reply = data(&app, query).await;
    let matched = &reply["searchAcrossEntities"]["searchResults"][0]["matchedFields"];
    let columns = |name: &str| {
        let mut matched = matched.as_array().unwrap().iter();
        let found = matched.find(|it| it["name"] == name).unwrap();
        found["columns"].clone()
    };
    assert_eq!(columns("fieldDescriptions"), json!(["user_name"]));
    assert_eq!(columns("fieldPaths"), json!([]));
}

#[tokio::test]
async fn filters_are_a_disjunction_of_conjunctions() {
    let app = catalog().await;
    let (orders, users) = (
        dataset("warehouse.sales.orders"),
        dataset("warehouse.sales.users"),
    );
    let or = r#"query: "*", types: [DATASET], orFilters: [
        {and: [{field: "domains", values: ["urn:li:domain:sales"]}]},
        {and: [{field: "name", values: ["users"]}]}
    ]"#;
    assert_eq!(found(&app, or).await, [orders.clone(), users.clone()]);
    // The older list applies in addition to every alternative.
    let both = format!(r#"{or}, filters: [{{field: "urn", values: ["{users}"]}}]"#);
    assert_eq!(found(&app, &both).await, [users]);
    let below = r#"query: "*", types: [DATASET], orFilters: [{and: [{field: "domains", condition: DESCENDANTS_INCL, values: ["urn:li:domain:company"]}]}]"#;
    assert_eq!(found(&app, below).await, [orders]);
    let without = r#"query: "*", types: [DATASET], orFilters: [{and: [{field: "domains", condition: EXISTS, negated: true}]}]"#;
    assert_eq!(found(&app, without).await.len(), 2);
}

#[tokio::test]
async fn entity_types_are_filtered_by_either_name() {
    let app = catalog().await;
    for name in ["DOMAIN", "domain"] {
        let input =
            format!(r#"query: "*", filters: [{{field: "_entityType", values: ["{name}"]}}]"#);
        assert_eq!(
            found(&app, &input).await,
            ["urn:li:domain:company", "urn:li:domain:sales"]
        );
    }
}

#[tokio::test]
async fn soft_deleted_entities_are_found_only_on_request() {
    let app = catalog().await;
    let orders = dataset("warehouse.sales.orders");
    app.ingest(&orders, "status", &json!({"removed": true}))
        .await;
    let ask = |more: &str| format!(r#"query: "*", types: [DATASET]{more}"#);
    assert_eq!(found(&app, &ask("")).await.len(), 2);
    assert_eq!(
        found(&app, &ask(", searchFlags: {includeSoftDeleted: true}"))
            .await
            .len(),
        3
    );
    for (filter, count) in [
        (r#"{field: "removed", values: ["true"]}"#, 1),
        (r#"{field: "removed", values: ["true"], negated: true}"#, 2),
        (r#"{field: "removed", values: ["false"]}"#, 2),
        (r#"{field: "removed", values: ["true", "false"]}"#, 3),
    ] {
        let input = ask(&format!(", orFilters: [{{and: [{filter}]}}]"));
        assert_eq!(found(&app, &input).await.len(), count, "{filter}");
    }
}

#[tokio::test]
async fn facets_use_schema_names_of_types_and_resolve_entities() {
    let app = catalog().await;
    let query = r#"{ aggregateAcrossEntities(input: {query: "*", types: [DATASET, DOMAIN], facets: ["_entityType", "platform", "domains", "_entityType␞platform"]}) {
        facets { field displayName aggregations { value count entity { urn } displayName } }
    } }"#;
    let reply = data(&app, query).await["aggregateAcrossEntities"].clone();
    let facet = |name: &str| {
        let facets = reply["facets"].as_array().unwrap();
        let facet = facets.iter().find(|facet| facet["field"] == name);
        let facet = facet.unwrap_or_else(|| panic!("no {name} in {reply}"));
        assert!(facet["displayName"].is_string(), "{facet}");
        facet["aggregations"].clone()
    };
    assert_eq!(
        facet("_entityType"),
        json!([
            {"value": "DATASET", "count": 3, "entity": null, "displayName": null},
            {"value": "DOMAIN", "count": 2, "entity": null, "displayName": null},
        ])
    );
    assert_eq!(facet("entity"), facet("_entityType"), "the former name");
    assert_eq!(
        facet("platform"),
        json!([{"value": HIVE, "count": 3, "entity": {"urn": HIVE}, "displayName": null}])
    );
    assert_eq!(facet("domains")[0]["entity"]["urn"], "urn:li:domain:sales");
    assert_eq!(
        facet("_entityType␞platform")[0]["value"],
        format!("DATASET␞{HIVE}")
    );
    let none = r#"{ searchAcrossEntities(input: {query: "*", searchFlags: {skipAggregates: true}}) { facets { field } } }"#;
    assert_eq!(
        data(&app, none).await["searchAcrossEntities"]["facets"],
        json!([])
    );
}

#[tokio::test]
async fn a_scroll_returns_everything_once_and_ends_without_a_cursor() {
    let app = catalog().await;
    for number in 0..20 {
        app.ingest(
            &format!("urn:li:tag:t{number}"),
            "tagProperties",
            &json!({"name": format!("t{number}")}),
        )
        .await;
    }
    let query = "query($mark: String) { scrollAcrossEntities(input: {query: \"*\", types: [TAG], scrollId: $mark, count: 8}) { nextScrollId count total searchResults { entity { urn } } } }";
    let mut seen = Vec::new();
    let mut mark = Value::Null;
    for page in 0.. {
        assert!(page < 5, "the scroll does not end");
        let reply = app.graphql_with(query, json!({"mark": mark})).await;
        let page = &reply["data"]["scrollAcrossEntities"];
        assert_eq!(page["total"], 20, "{reply}");
        seen.extend(urns(page));
        mark = page["nextScrollId"].clone();
        if mark.is_null() {
            break;
        }
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (20, 20));
    let reply = app.graphql_with(query, json!({"mark": "nonsense"})).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

#[tokio::test]
async fn scrolls_of_every_api_have_the_requested_order() {
    let app = App::empty().await;
    for (number, name) in ["b", "d", "a", "c"].iter().enumerate() {
        let value = json!({ "name": name });
        app.ingest(&format!("urn:li:tag:t{number}"), "tagProperties", &value)
            .await;
    }
    let by_name = ["d", "c", "b", "a"].map(|name| {
        let number = ["b", "d", "a", "c"].iter().position(|it| *it == name);
        format!("urn:li:tag:t{}", number.unwrap())
    });
    let query = "query($mark: String) { scrollAcrossEntities(input: {query: \"*\", types: [TAG], scrollId: $mark, count: 3, sortInput: {sortCriteria: [{field: \"name\", sortOrder: DESCENDING}]}}) { nextScrollId total searchResults { entity { urn } } } }";
    let first = app.graphql_with(query, json!({"mark": null})).await;
    let first = &first["data"]["scrollAcrossEntities"];
    let mark = &first["nextScrollId"];
    let last = app.graphql_with(query, json!({"mark": mark})).await;
    let last = &last["data"]["scrollAcrossEntities"];
    assert_eq!(
        (&last["total"], &last["nextScrollId"]),
        (&json!(4), &Value::Null)
    );
    assert_eq!([urns(first), urns(last)].concat(), by_name);

    let body =
        json!({"entities": ["tag"], "sortCriteria": [{"field": "name", "order": "DESCENDING"}]});
    let (_, first) = app.post("/openapi/v3/entity/scroll?count=3", &body).await;
    let mark = first["scrollId"].as_str().unwrap().bytes();
    let mark: Vec<String> = mark.map(|byte| format!("%{byte:02X}")).collect();
    let mark = mark.concat();
    let path = format!("/openapi/v3/entity/scroll?count=3&scrollId={mark}");
    let (_, last) = app.post(&path, &body).await;
    let entities = [&first, &last].map(|page| page["entities"].as_array().unwrap().clone());
    let found: Vec<Value> = entities
        .concat()
        .iter()
        .map(|it| it["urn"].clone())
        .collect();
    assert_eq!(found, by_name);
    // A page that is too large is cut.
    for reads in ["", "&aspects=tagProperties"] {
        let path = format!("/openapi/v3/entity/scroll?count=99999{reads}");
        let (status, all) = app.post(&path, &body).await;
        assert_eq!(status.as_u16(), 200, "{all}");
        assert_eq!(all["entities"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test]
async fn autocomplete_suggests_names_by_type() {
    let app = catalog().await;
    let query = r#"{
        autoComplete(input: {type: DATASET, query: "ord"}) { suggestions entities { urn } }
        autoCompleteForMultiple(input: {query: "sal"}) { suggestions { type suggestions entities { urn } } }
    }"#;
    let reply = data(&app, query).await;
    assert_eq!(reply["autoComplete"]["suggestions"], json!(["orders"]));
    assert_eq!(
        reply["autoComplete"]["entities"],
        json!([{"urn": dataset("warehouse.sales.orders")}])
    );
    let kinds = reply["autoCompleteForMultiple"]["suggestions"]
        .as_array()
        .unwrap();
    let domains = kinds
        .iter()
        .find(|kind| kind["type"] == "DOMAIN")
        .unwrap_or_else(|| panic!("{reply}"));
    assert_eq!(domains["suggestions"], json!(["Sales"]));
    assert_eq!(domains["entities"], json!([{"urn": "urn:li:domain:sales"}]));
}

#[tokio::test]
async fn browse_paths_are_listed_level_by_level() {
    let app = catalog().await;
    let ask = |path: &str| {
        format!(
            "{{ browseV2(input: {{types: [DATASET], path: [{path}]}}) {{ total groups {{ name count hasSubGroups entity {{ urn }} }} metadata {{ path totalNumEntities }} }} }}"
        )
    };
    let top = data(&app, &ask("")).await["browseV2"].clone();
    // A name without dots has no browse path.
    assert_eq!(
        top["groups"],
        json!([
            {"name": "warehouse", "count": 2, "hasSubGroups": true, "entity": null},
            {"name": "Default", "count": 1, "hasSubGroups": false, "entity": null},
        ])
    );
    assert_eq!(top["total"], 2);
    assert_eq!(top["metadata"], json!({"path": [], "totalNumEntities": 3}));
    let below = data(&app, &ask("\"warehouse\"")).await["browseV2"].clone();
    assert_eq!(
        below["groups"],
        json!([{"name": "sales", "count": 2, "hasSubGroups": false, "entity": null}])
    );
    let end = data(&app, &ask(r#""warehouse", "sales""#)).await["browseV2"].clone();
    assert_eq!(end["groups"], json!([]));
}

#[tokio::test]
async fn quick_filters_list_existing_platforms_and_types() {
    let app = catalog().await;
    let query = "{ getQuickFilters(input: {}) { quickFilters { field value entity { urn } } } }";
    assert_eq!(
        data(&app, query).await["getQuickFilters"]["quickFilters"],
        json!([
            {"field": "platform", "value": HIVE, "entity": {"urn": HIVE}},
            {"field": "_entityType", "value": "DATASET", "entity": null},
            {"field": "_entityType", "value": "DOMAIN", "entity": null},
            // The user of the test's token.
            {"field": "_entityType", "value": "CORP_USER", "entity": null},
        ])
    );
}

#[tokio::test]
async fn domains_list_and_count_their_direct_members() {
    let app = catalog().await;
    let members = r#"{ domain(urn: "urn:li:domain:sales") { entities(input: {query: "*"}) { start count total searchResults { entity { urn } } } } }"#;
    let reply = data(&app, members).await["domain"]["entities"].clone();
    assert_eq!(
        (&reply["start"], &reply["count"], &reply["total"]),
        (&json!(0), &json!(20), &json!(1))
    );
    assert_eq!(urns(&reply), [dataset("warehouse.sales.orders")]);
    let counts = r#"{ entities(urns: ["urn:li:domain:company", "urn:li:domain:sales"]) { ... on Domain {
        id
        all: entities(input: {count: 0}) { count total searchResults { entity { urn } } }
        products: entities(input: {start: 0, count: 0, filters: [{field: "_entityType", values: ["DATA_PRODUCT"]}]}) { total }
    } } }"#;
    assert_eq!(
        data(&app, counts).await["entities"],
        json!([
            {"id": "company", "all": {"count": 0, "total": 0, "searchResults": []}, "products": {"total": 0}},
            {"id": "sales", "all": {"count": 0, "total": 1, "searchResults": []}, "products": {"total": 0}},
        ])
    );
}

#[tokio::test]
async fn containers_list_their_direct_members() {
    let app = App::with_dataset().await;
    let (outer, inner) = ("urn:li:container:outer", "urn:li:container:inner");
    for urn in [outer, inner] {
        app.ingest(urn, "containerProperties", &json!({"name": urn}))
            .await;
    }
    app.ingest(inner, "container", &json!({"container": outer}))
        .await;
    app.ingest(DATASET, "container", &json!({"container": inner}))
        .await;
    let query = format!(
        r#"{{ container(urn: "{outer}") {{ entities {{ total searchResults {{ entity {{ urn }} }} }} }} }}"#
    );
    let reply = data(&app, &query).await["container"]["entities"].clone();
    assert_eq!(urns(&reply), [inner], "{reply}");
}

#[tokio::test]
async fn listing_domains_supports_a_query_among_siblings() {
    let app = catalog().await;
    app.ingest(
        "urn:li:domain:salesforce",
        "domainProperties",
        &json!({"name": "Sales Force"}),
    )
    .await;
    let ask = |input: &str| {
        format!(
            "{{ listDomains(input: {{query: \"sales\"{input}}}) {{ start count total domains {{ id }} }} }}"
        )
    };
    assert_eq!(
        data(&app, &ask("")).await["listDomains"],
        json!({"start": 0, "count": 20, "total": 1, "domains": [{"id": "salesforce"}]})
    );
    let below = ask(r#", parentDomain: "urn:li:domain:company""#);
    assert_eq!(
        data(&app, &below).await["listDomains"]["domains"],
        json!([{"id": "sales"}])
    );
}

#[tokio::test]
async fn a_run_is_found_by_its_id() {
    let app = App::empty().await;
    let run = "urn:li:dataProcessInstance:nightly-load-4711";
    let properties = json!({"name": "Load", "created": {"time": 1, "actor": USER}});
    app.ingest(run, "dataProcessInstanceProperties", &properties)
        .await;
    for query in ["nightly-load-4711", "4711", "Load"] {
        let query = format!(
            r#"{{ scrollAcrossEntities(input: {{ types: [DATA_PROCESS_INSTANCE], query: "{query}" }}) {{ searchResults {{ entity {{ urn }} }} }} }}"#
        );
        let found = app.graphql(&query).await;
        let found = &found["data"]["scrollAcrossEntities"]["searchResults"];
        assert_eq!(found, &json!([{"entity": {"urn": run}}]), "{query}");
    }
}
