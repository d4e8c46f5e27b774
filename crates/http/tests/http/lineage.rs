//! Lineage queries.

use serde_json::{Value, json};

use crate::support::{App, MISSING, encoded};

pub(crate) fn table(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

pub(crate) fn job(name: &str) -> String {
    format!("urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),{name})")
}

pub(crate) fn column(name: &str, path: &str) -> String {
    format!("urn:li:schemaField:({},{path})", table(name))
}

/// Sets the upstreams of a table.
async fn flow(app: &App, from: &[&str], to: &str) {
    let upstreams: Vec<Value> = from
        .iter()
        .map(|name| json!({"dataset": table(name), "type": "TRANSFORMED"}))
        .collect();
    let value = json!({ "upstreams": upstreams });
    app.ingest(&table(to), "upstreamLineage", &value).await;
}

pub(crate) async fn status(app: &App, name: &str, removed: bool) {
    app.ingest(&table(name), "status", &json!({ "removed": removed }))
        .await;
}

/// `a -> b -> c -> (job) -> d`, and `c -> e`.
async fn warehouse() -> App {
    let app = App::empty().await;
    for name in ["a", "d"] {
        status(&app, name, false).await;
    }
    flow(&app, &["a"], "b").await;
    flow(&app, &["b"], "c").await;
    flow(&app, &["c"], "e").await;
    let value = json!({"inputDatasets": [table("c")], "outputDatasets": [table("d")]});
    app.ingest(&job("load"), "dataJobInputOutput", &value).await;
    app
}

/// The query that the Python client sends.
const SCROLL: &str = "query scrollAcrossLineage($input: ScrollAcrossLineageInput!) {
    scrollAcrossLineage(input: $input) {
        nextScrollId
        searchResults {
            degree
            entity {
                urn
                type
                ... on Dataset { name platform { name } properties { description } }
                ... on DataJob { jobId dataPlatformInstance { platform { name } } properties { name description } }
            }
            paths { path { urn type } }
        }
    }
}";

const SEARCH: &str = "query($input: SearchAcrossLineageInput!) {
    searchAcrossLineage(input: $input) {
        start count total isPartial freshness { cached } lineageSearchPath
        searchResults {
            degree degrees explored truncatedChildren ignoredAsHop
            matchedFields { name } insights { text }
            entity { urn } paths { path { urn } }
        }
        facets { field displayName aggregations { value count } }
    }
}";

/// The results of a search: URN and degree.
fn found(page: &Value) -> Vec<(&str, u64)> {
    let results = page["searchResults"].as_array();
    let results = results.unwrap_or_else(|| panic!("{page}"));
    let one = |result: &'_ Value| result["degree"].as_u64().unwrap();
    results
        .iter()
        .map(|result| (result["entity"]["urn"].as_str().unwrap(), one(result)))
        .collect()
}

async fn search(app: &App, input: Value) -> Value {
    let mut reply = app.graphql_with(SEARCH, json!({ "input": input })).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    reply["data"]["searchAcrossLineage"].take()
}

async fn rejection(app: &App, input: Value) -> (u64, String) {
    let reply = app.graphql_with(SEARCH, json!({ "input": input })).await;
    let error = &reply["errors"][0];
    (
        error["extensions"]["code"].as_u64().unwrap_or_default(),
        error["message"].as_str().unwrap_or_default().to_owned(),
    )
}

fn degrees(values: &[&str]) -> Value {
    // As the Python client sends it, with its default parameters.
    json!([{"and": [
        {"field": "degree", "condition": "EQUAL", "values": values},
        {"field": "removed", "condition": "EQUAL", "values": ["true"], "negated": true},
    ]}])
}

#[tokio::test]
async fn downstream_lineage_is_ordered_by_degree_through_tables_and_jobs() {
    let app = warehouse().await;
    let page = search(&app, json!({"urn": table("a"), "direction": "DOWNSTREAM"})).await;
    let expected = [
        (&*table("b"), 1),
        (&*table("c"), 2),
        (&*job("load"), 3),
        (&*table("e"), 3),
        (&*table("d"), 4),
    ];
    assert_eq!(found(&page), expected);
    assert_eq!(
        (&page["start"], &page["count"], &page["total"]),
        (&json!(0), &json!(10), &json!(5))
    );
    assert_eq!(
        page["searchResults"][4],
        json!({
            "degree": 4, "degrees": [4], "explored": true, "truncatedChildren": false, "ignoredAsHop": false,
            "matchedFields": [], "insights": null, "entity": {"urn": table("d")},
            "paths": [{"path": [
                {"urn": table("a")}, {"urn": table("b")}, {"urn": table("c")}, {"urn": job("load")}, {"urn": table("d")},
            ]}],
        })
    );
    let facets = page["facets"].as_array().unwrap();
    assert_eq!(
        facets[..2],
        [
            json!({"field": "_entityType", "displayName": "Type", "aggregations": [
                {"value": "DATASET", "count": 4}, {"value": "DATA_JOB", "count": 1},
            ]}),
            json!({"field": "degree", "displayName": "Degree of Dependencies", "aggregations": [
                {"value": "1", "count": 1}, {"value": "2", "count": 1}, {"value": "3+", "count": 3},
            ]}),
        ]
    );
    assert_eq!(page["isPartial"], false);
    assert_eq!(
        (&page["freshness"], &page["lineageSearchPath"]),
        (&json!(null), &json!(null))
    );
}

#[tokio::test]
async fn upstream_lineage_follows_the_edges_backwards() {
    let app = warehouse().await;
    let input = json!({"urn": table("d"), "direction": "UPSTREAM", "query": "*"});
    let expected = [
        (&*job("load"), 1),
        (&*table("c"), 2),
        (&*table("b"), 3),
        (&*table("a"), 4),
    ];
    assert_eq!(found(&search(&app, input).await), expected);
}

#[tokio::test]
async fn degrees_types_and_flags_filter_lineage() {
    let app = warehouse().await;
    let names = async |more: Value| {
        let mut input = json!({"urn": table("a"), "direction": "DOWNSTREAM"});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        let page = search(&app, input).await;
        let urns = found(&page).into_iter().map(|(urn, _)| urn.to_owned());
        urns.collect::<Vec<_>>()
    };
    assert_eq!(
        names(json!({"orFilters": degrees(&["1"])})).await,
        [table("b")]
    );
    assert_eq!(
        names(json!({"orFilters": degrees(&["1", "2"])})).await,
        [table("b"), table("c")]
    );
    assert_eq!(
        names(json!({"orFilters": degrees(&["3+"])})).await,
        [job("load"), table("e"), table("d")]
    );
    assert_eq!(names(json!({"types": ["DATA_JOB"]})).await, [job("load")]);
    assert_eq!(
        names(json!({"types": [], "filters": [{"field": "degree", "values": ["2"]}]})).await,
        [table("c")]
    );
    let kind = json!([{"and": [{"field": "_entityType", "values": ["DATASET"], "negated": true}]}]);
    assert_eq!(names(json!({ "orFilters": kind })).await, [job("load")]);
    let either = json!([
        {"and": [{"field": "urn", "values": [table("c")]}]},
        {"and": [{"field": "degree", "values": ["4"]}]},
    ]);
    assert_eq!(
        names(json!({ "orFilters": either })).await,
        [table("c"), table("d")]
    );
    let page = search(
        &app,
        json!({"urn": table("a"), "direction": "DOWNSTREAM", "searchFlags": {"skipAggregates": true}}),
    )
    .await;
    assert_eq!(page["facets"], json!(null));
}

#[tokio::test]
async fn a_query_and_filters_restrict_lineage_to_search_results() {
    let app = warehouse().await;
    let input = |more: &[(&str, Value)]| {
        let mut input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "query": "*"});
        for (name, value) in more {
            input[name] = value.clone();
        }
        input
    };
    let of_platform = |platform: &str| {
        let urn = format!("urn:li:dataPlatform:{platform}");
        json!([{"and": [{"field": "platform", "values": [urn]}]}])
    };
    for (more, expected) in [
        (vec![("query", json!("c"))], vec![(table("c"), 2)]),
        (vec![("query", json!("nothing has this"))], vec![]),
        (
            vec![("orFilters", of_platform("hive")), ("query", json!("b"))],
            vec![(table("b"), 1)],
        ),
        (vec![("orFilters", of_platform("snowflake"))], vec![]),
    ] {
        let page = search(&app, input(&more)).await;
        let expected: Vec<(&str, u64)> = expected
            .iter()
            .map(|(urn, degree)| (urn.as_str(), *degree))
            .collect();
        assert_eq!(found(&page), expected, "{more:?}");
    }
}

#[tokio::test]
async fn pages_by_number_have_the_total_of_all() {
    let app = warehouse().await;
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "start": 1, "count": 2});
    let page = search(&app, input).await;
    assert_eq!(found(&page), [(&*table("c"), 2), (&*job("load"), 3)]);
    assert_eq!((&page["start"], &page["total"]), (&json!(1), &json!(5)));
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "start": 50});
    let page = search(&app, input).await;
    assert_eq!((found(&page), &page["total"]), (vec![], &json!(5)));
}

#[tokio::test]
async fn lineage_results_on_every_page_have_matched_fields() {
    let app = warehouse().await;
    let mut seen = 0;
    for start in [0, 2] {
        let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "query": "hive", "start": start, "count": 2});
        let page = search(&app, input).await;
        assert_eq!(page["total"], 4);
        for result in page["searchResults"].as_array().unwrap() {
            seen += 1;
            assert_eq!(
                result["matchedFields"],
                json!([{"name": "platform"}]),
                "{page}"
            );
        }
    }
    assert_eq!(seen, 4);
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "query": "*"});
    let page = search(&app, input).await;
    assert_eq!(page["searchResults"][0]["matchedFields"], json!([]));
}

#[tokio::test]
async fn the_scroll_of_the_python_client_returns_everything_once() {
    let app = warehouse().await;
    let mut input = json!({
        "urn": table("a"), "direction": "DOWNSTREAM", "count": 2, "types": null,
        "orFilters": degrees(&["1", "2", "3+"]),
    });
    let mut urns = Vec::new();
    for pages in 1.. {
        let reply = app.graphql_with(SCROLL, json!({ "input": input })).await;
        assert_eq!(reply.get("errors"), None, "{reply}");
        let page = &reply["data"]["scrollAcrossLineage"];
        urns.extend(found(page).into_iter().map(|(urn, _)| urn.to_owned()));
        let next = page.as_object().unwrap().get("nextScrollId").unwrap();
        if next.is_null() {
            assert_eq!(pages, 3);
            break;
        }
        input["scrollId"] = next.clone();
    }
    assert_eq!(
        urns,
        [job("load"), table("b"), table("c"), table("d"), table("e")]
    );
}

#[tokio::test]
async fn an_entity_whose_degree_changes_during_a_scroll_is_returned_once() {
    let app = warehouse().await;
    let page = async |mark: Value| {
        let input =
            json!({"urn": table("a"), "direction": "DOWNSTREAM", "count": 3, "scrollId": mark});
        let mut reply = app.graphql_with(SCROLL, json!({ "input": input })).await;
        reply["data"]["scrollAcrossLineage"].take()
    };
    let first = page(json!("")).await;
    // The last one moves closer, the first one moves away.
    flow(&app, &["a"], "e").await;
    flow(&app, &["e"], "b").await;
    let second = page(first["nextScrollId"].clone()).await;
    let mut urns: Vec<_> = found(&first)
        .into_iter()
        .chain(found(&second))
        .map(|(urn, _)| urn)
        .collect();
    urns.sort_unstable();
    assert_eq!(
        urns,
        [job("load"), table("b"), table("c"), table("d"), table("e")]
    );
    assert_eq!(second["nextScrollId"], json!(null));
}

#[tokio::test]
async fn scrolled_column_lineage_has_tables_with_the_paths_of_columns() {
    let app = App::empty().await;
    status(&app, "a", false).await;
    app.ingest(
        &table("b"),
        "upstreamLineage",
        &json!({
            "upstreams": [{"dataset": table("a"), "type": "VIEW"}],
            "fineGrainedLineages": [{
                "upstreamType": "FIELD_SET", "downstreamType": "FIELD",
                "upstreams": [column("a", "id")], "downstreams": [column("b", "key")],
            }],
        }),
    )
    .await;
    // The query of the client for a column.
    let input = json!({
        "urn": column("b", "key"), "direction": "UPSTREAM", "count": 500, "types": null,
        "orFilters": degrees(&["1"]),
        "searchFlags": {"groupingSpec": {"groupingCriteria": {
            "baseEntityType": "SCHEMA_FIELD", "groupingEntityType": "SCHEMA_FIELD",
        }}},
    });
    let reply = app.graphql_with(SCROLL, json!({ "input": input })).await;
    assert_eq!(
        reply["data"]["scrollAcrossLineage"],
        json!({"nextScrollId": null, "searchResults": [{
            "degree": 1,
            "entity": {
                "urn": table("a"), "type": "DATASET",
                "name": "a", "platform": {"name": "hive"}, "properties": null,
            },
            "paths": [{"path": [
                {"urn": column("b", "key"), "type": "SCHEMA_FIELD"}, {"urn": column("a", "id"), "type": "SCHEMA_FIELD"},
            ]}],
        }]}),
        "{reply}"
    );
}

#[tokio::test]
async fn lineage_passes_through_soft_deleted_entities_and_lists_them_on_request() {
    let app = warehouse().await;
    status(&app, "b", true).await;
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "types": ["DATASET"], "orFilters": degrees(&["1", "2"])});
    assert_eq!(found(&search(&app, input).await), [(&*table("c"), 2)]);
    let input = json!({
        "urn": table("a"), "direction": "DOWNSTREAM", "searchFlags": {"includeSoftDeleted": true},
        "orFilters": [{"and": [{"field": "degree", "values": ["1"]}]}],
    });
    assert_eq!(found(&search(&app, input).await), [(&*table("b"), 1)]);
    let only = json!([{"and": [{"field": "removed", "values": ["true"]}]}]);
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "orFilters": only});
    assert_eq!(found(&search(&app, input).await), [(&*table("b"), 1)]);
}

#[tokio::test]
async fn cycles_terminate() {
    let app = App::empty().await;
    status(&app, "a", false).await;
    flow(&app, &["a"], "b").await;
    flow(&app, &["b", "a"], "a").await;
    for direction in ["UPSTREAM", "DOWNSTREAM"] {
        let page = search(&app, json!({"urn": table("a"), "direction": direction})).await;
        assert_eq!(found(&page), [(&*table("b"), 1)]);
    }
}

#[tokio::test]
async fn neighbors_are_a_field_of_the_entity() {
    let app = warehouse().await;
    status(&app, "e", true).await;
    let query = |input: &str| {
        format!(
            "{{ dataset(urn: \"{}\") {{ lineage(input: {input}) {{
                start count total filtered relationships {{ type degree entity {{ urn }} paths {{ path {{ urn }} }} }}
            }} }} }}",
            table("c")
        )
    };
    let reply = app.graphql(&query("{direction: DOWNSTREAM}")).await;
    assert_eq!(
        reply["data"]["dataset"]["lineage"],
        json!({
            "start": 0, "count": 1, "total": 1, "filtered": 1,
            "relationships": [{"type": "Consumes", "degree": 1, "entity": {"urn": job("load")}, "paths": null}],
        }),
        "{reply}"
    );
    let ghosts = "{direction: DOWNSTREAM, includeGhostEntities: true, start: 1, count: 5}";
    let reply = app.graphql(&query(ghosts)).await;
    assert_eq!(
        reply["data"]["dataset"]["lineage"],
        json!({
            "start": 1, "count": 1, "total": 2, "filtered": 0,
            "relationships": [{"type": "DownstreamOf", "degree": 1, "entity": {"urn": table("e")}, "paths": null}],
        }),
        "{reply}"
    );
    let (code, message) = app
        .graphql_error(&query("{direction: UPSTREAM, count: 1001}"))
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("at most 1000"), "{message}");
}

#[tokio::test]
async fn the_lineage_of_something_unknown_is_empty_unless_others_refer_to_it() {
    let app = warehouse().await;
    let total = async |urn: String, direction: &str| {
        let query = "query ($input: SearchAcrossLineageInput!) {
            searchAcrossLineage(input: $input) { total searchResults { entity { urn } } } }";
        let input = json!({"urn": urn, "direction": direction});
        let reply = app.graphql_with(query, json!({"input": input})).await;
        assert_eq!(reply.get("errors"), None, "{reply}");
        reply["data"]["searchAcrossLineage"]["total"]
            .as_u64()
            .unwrap()
    };
    for direction in ["UPSTREAM", "DOWNSTREAM"] {
        assert_eq!(total(MISSING.to_owned(), direction).await, 0);
        assert_eq!(total(column("nowhere", "id"), direction).await, 0);
    }
    let upstream = json!({"dataset": MISSING, "type": "TRANSFORMED"});
    let lineage = json!({"upstreams": [upstream]});
    app.ingest(&table("fed"), "upstreamLineage", &lineage).await;
    assert_eq!(total(MISSING.to_owned(), "DOWNSTREAM").await, 1);
}

#[tokio::test]
async fn unsupported_lineage_queries_are_rejected_with_a_reason() {
    let app = warehouse().await;
    let with = |more: Value| {
        let mut input = json!({"urn": table("a"), "direction": "DOWNSTREAM"});
        for (name, value) in more.as_object().unwrap() {
            input[name] = value.clone();
        }
        input
    };
    let degree = |value: &str| json!([{"and": [{"field": "degree", "values": [value]}]}]);
    for (input, code, reason) in [
        (with(json!({"urn": null})), 400, "urn is required"),
        (with(json!({"urn": "table a"})), 400, "urn: "),
        (
            with(json!({"start": -1})),
            400,
            "start must not be negative",
        ),
        (with(json!({"count": 10_001})), 400, "at most 10000"),
        (
            with(json!({"orFilters": degree("far")})),
            400,
            "'far' is not a degree",
        ),
        (
            with(json!({"lineageFlags": {"ignoreAsHops":
                vec![json!({"entityType": "DATA_JOB"}); 101]}})),
            400,
            "ignoreAsHops",
        ),
    ] {
        let (actual, message) = rejection(&app, input.clone()).await;
        assert_eq!(actual, code, "{input}: {message}");
        assert!(message.contains(reason), "{input}: {message}");
    }
    let nothing = json!({"urn": table("a"), "direction": "UPSTREAM", "query": "orders"});
    assert_eq!(search(&app, nothing).await["total"], 0);
    let input = json!({"urn": table("a"), "direction": "DOWNSTREAM", "scrollId": "page two"});
    let reply = app.graphql_with(SCROLL, json!({ "input": input })).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

#[tokio::test]
async fn a_lineage_query_that_reaches_a_limit_is_marked_partial() {
    let app = App::empty().await;
    status(&app, "t0", false).await;
    for number in 0..21 {
        let (from, to) = (format!("t{number}"), format!("t{}", number + 1));
        flow(&app, &[&from], &to).await;
    }
    let input = json!({"urn": table("t0"), "direction": "DOWNSTREAM", "count": 100});
    let page = search(&app, input).await;
    assert_eq!(
        (&page["total"], &page["isPartial"]),
        (&json!(20), &json!(true))
    );
    assert_eq!(page["searchResults"][19]["explored"], false);
    let flags = json!({"entitiesExploredPerHopLimit": 0});
    let input = json!({"urn": table("t0"), "direction": "DOWNSTREAM", "lineageFlags": flags});
    assert_eq!(search(&app, input).await["total"], 0);
}

/// The edges of `POST /openapi/v3/lineage/scroll`, as `upstream > downstream` with the last part of
/// each name.
async fn scrolled(app: &App, parameters: &str, urns: &[String]) -> Vec<String> {
    let name = |urn: &Value| {
        let parts: Vec<&str> = urn.as_str().unwrap().split([',', '(', ')']).collect();
        let at = if parts[0] == "urn:li:dataset:" { 2 } else { 6 };
        parts[at].to_owned()
    };
    let (mut edges, mut mark) = (Vec::new(), String::new());
    for page in 0.. {
        assert!(page < 20, "the scroll does not end");
        let path = format!("/openapi/v3/lineage/scroll?count=2&scrollId={mark}&{parameters}");
        let (status, reply) = app.post(&path, &json!({ "urns": urns })).await;
        assert_eq!(status, 200, "{reply}");
        let results = reply["results"].as_array().unwrap();
        assert!(results.len() <= 2, "{reply}");
        for edge in results {
            assert!(edge["source"]["entityType"].is_string(), "{edge}");
            edges.push(format!(
                "{} > {}",
                name(&edge["upstream"]),
                name(&edge["downstream"])
            ));
        }
        match reply["scrollId"].as_str() {
            Some(next) => mark = encoded(next),
            None => break,
        }
    }
    edges.sort();
    edges
}

#[tokio::test]
async fn lineage_scrolls_cover_given_entities_or_all() {
    let app = warehouse().await;
    // Ownership is not lineage.
    let owners = json!({"owners": [{"owner": "urn:li:corpuser:a", "type": "DATAOWNER"}], "lastModified": {"time": 0, "actor": "urn:li:corpuser:a"}});
    app.ingest(&table("c"), "ownership", &owners).await;
    let c = [table("c")];
    assert_eq!(scrolled(&app, "", &c).await, ["b > c", "c > e", "c > load"]);
    let upstream = scrolled(&app, "direction=UPSTREAM", &c).await;
    assert_eq!(upstream, ["b > c"]);
    let downstream = scrolled(&app, "direction=DOWNSTREAM", &c).await;
    assert_eq!(downstream, ["c > e", "c > load"]);
    let named = scrolled(&app, "relationshipTypes=Consumes", &c).await;
    assert_eq!(named, ["c > load"]);
    // An edge between two of the entities is returned once.
    let both = scrolled(&app, "", &[table("b"), table("c")]).await;
    assert_eq!(both, ["a > b", "b > c", "c > e", "c > load"]);
    let everywhere = ["a > b", "b > c", "c > e", "c > load", "load > d"];
    assert_eq!(scrolled(&app, "", &[]).await, everywhere);
    status(&app, "e", true).await;
    assert_eq!(scrolled(&app, "", &c).await, ["b > c", "c > load"]);
    let all = scrolled(&app, "includeSoftDelete=true", &c).await;
    assert_eq!(all.len(), 3);
}
