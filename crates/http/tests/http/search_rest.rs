//! Search over REST, as DataHub's clients use it.

use crate::support::{App, DATASET, NOW_MS};
use axum::http::StatusCode;
use serde_json::{Value, json};

async fn with_domains() -> App {
    let app = App::with_dataset().await;
    for (id, name) in [("marketing", "Marketing"), ("market", "Market")] {
        app.ingest(
            &format!("urn:li:domain:{id}"),
            "domainProperties",
            &json!({"name": name}),
        )
        .await;
    }
    app
}

async fn post(app: &App, path: &str, body: Value) -> Value {
    let (status, reply) = app.post(path, &body).await;
    assert_eq!(status, StatusCode::OK, "{path}: {reply}");
    reply
}

#[tokio::test]
async fn rest_searches_in_an_empty_catalog_return_empty_pages() {
    let app = App::empty().await;
    let search = json!({"input": "*", "entity": "tag", "start": 0, "count": 10});
    let reply = post(&app, "/entities?action=search", search).await["value"].clone();
    assert_eq!(reply["from"], 0);
    assert_eq!(reply["pageSize"], 10);
    assert_eq!(reply["numEntities"], 0);
    assert_eq!(reply["entities"], json!([]));
    assert!(reply["metadata"]["aggregations"].is_array(), "{reply}");
    assert_eq!(
        post(
            &app,
            "/entities?action=autocomplete",
            json!({"entity": "tag", "query": "p"})
        )
        .await,
        json!({"value": {"query": "p", "suggestions": [], "entities": []}})
    );
    let browse = post(
        &app,
        "/entities?action=browse",
        json!({"entity": "dataset", "path": "/a/b", "start": 0, "limit": 5}),
    )
    .await["value"]
        .clone();
    assert_eq!(browse["entities"], json!([]));
    assert_eq!(
        browse["metadata"],
        json!({"path": "/a/b", "totalNumEntities": 0, "groups": []})
    );
    assert_eq!(
        post(
            &app,
            "/openapi/v3/entity/scroll",
            json!({"entities": ["tag"]})
        )
        .await,
        json!({"entities": [], "facets": [], "totalCount": 0})
    );
}

#[tokio::test]
async fn a_domain_is_looked_up_by_its_exact_name() {
    let app = with_domains().await;
    let lookup = json!({
        "input": "*", "entity": "domain", "start": 0, "count": 10,
        "filter": {"or": [{"and": [{"field": "name", "values": ["Marketing"], "condition": "EQUAL"}]}]},
    });
    let reply = post(&app, "/entities?action=search", lookup).await["value"].clone();
    assert_eq!(reply["numEntities"], 1, "{reply}");
    assert_eq!(
        reply["entities"][0]["entity"], "urn:li:domain:marketing",
        "{reply}"
    );
    assert!(reply["entities"][0]["matchedFields"].is_array());
}

#[tokio::test]
async fn entities_of_several_types_are_searched_together() {
    let app = with_domains().await;
    let urns = |reply: &Value| -> Vec<String> {
        let found = reply["entities"].as_array().unwrap().iter();
        found
            .map(|hit| hit["entity"].as_str().unwrap().to_owned())
            .collect()
    };
    let across = "/entities?action=searchAcrossEntities";
    let sort = json!([{"field": "urn", "order": "ASCENDING"}]);
    let search = async |entities: Value| {
        let body = json!({
            "entities": entities, "input": "*", "start": 0, "count": 10, "sortCriteria": sort,
        });
        post(&app, across, body).await["value"].clone()
    };
    let reply = search(json!(["dataset", "domain"])).await;
    let all = [DATASET, "urn:li:domain:market", "urn:li:domain:marketing"];
    assert_eq!(urns(&reply), all, "{reply}");
    assert_eq!(
        (&reply["from"], &reply["pageSize"], &reply["numEntities"]),
        (&json!(0), &json!(10), &json!(3))
    );
    assert_eq!(urns(&search(json!(["dataset"])).await), [DATASET]);
    for everything in [Value::Null, json!([])] {
        let found = urns(&search(everything).await);
        assert!(all.iter().all(|urn| found.contains(&(*urn).to_owned())));
    }
    let filtered = json!({
        "input": "*", "start": 0, "count": 10, "searchFlags": null,
        "filter": {"or": [{"and": [{"field": "name", "values": ["Marketing"], "condition": "EQUAL"}]}]},
    });
    let reply = post(&app, across, filtered).await["value"].clone();
    assert_eq!(urns(&reply), ["urn:li:domain:marketing"]);
    let (status, reply) = app
        .post(across, &json!({"entities": ["nothing"], "input": "*"}))
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    let (status, reply) = app
        .post("/entities?action=search", &json!({"input": "*"}))
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");

    let mut scrolled = Vec::new();
    let mut scroll = Value::Null;
    loop {
        let body = json!({
            "entities": ["dataset", "domain"], "input": "*", "count": 2, "scrollId": scroll,
        });
        let path = "/entities?action=scrollAcrossEntities";
        let reply = post(&app, path, body).await["value"].clone();
        assert_eq!(reply["numEntities"], 3);
        assert_eq!(reply["from"], Value::Null);
        scrolled.extend(urns(&reply));
        scroll = reply["scrollId"].clone();
        if scroll.is_null() {
            break;
        }
    }
    scrolled.sort();
    assert_eq!(scrolled, all);
}

#[tokio::test]
async fn autocomplete_and_browse_work_over_rest() {
    let app = with_domains().await;
    let reply = post(
        &app,
        "/entities?action=autocomplete",
        json!({"entity": "domain", "query": "marketi", "limit": 10}),
    )
    .await;
    assert_eq!(reply["value"]["suggestions"], json!(["Marketing"]));
    assert_eq!(
        reply["value"]["entities"],
        json!([{"urn": "urn:li:domain:marketing"}])
    );
    let top = post(
        &app,
        "/entities?action=browse",
        json!({"entity": "dataset", "path": ""}),
    )
    .await["value"]
        .clone();
    assert_eq!(
        top["metadata"]["groups"],
        json!([{"name": "Default", "count": 1}])
    );
    let there = post(
        &app,
        "/entities?action=browse",
        json!({"entity": "dataset", "path": "/Default"}),
    )
    .await["value"]
        .clone();
    assert_eq!(
        there["entities"],
        json!([{"name": DATASET, "urn": DATASET}])
    );
    assert_eq!(there["numEntities"], 1);
}

#[tokio::test]
async fn scrolls_return_the_requested_aspects_without_secrets() {
    let app = with_domains().await;
    let scroll = |body: Value| {
        let app = &app;
        async move {
            let path = "/openapi/v3/entity/scroll?count=1&systemMetadata=true";
            let (mut entities, mut mark) = (Vec::new(), String::new());
            for page in 0.. {
                assert!(page < 10, "the scroll does not end");
                let reply = post(app, &format!("{path}{mark}"), body.clone()).await;
                entities.extend(reply["entities"].as_array().unwrap().clone());
                match reply["scrollId"].as_str() {
                    Some(next) => mark = format!("&scrollId={}", crate::support::encoded(next)),
                    None => return (entities, reply["totalCount"].clone()),
                }
            }
            unreachable!()
        }
    };
    let (entities, total) =
        scroll(json!({"entities": ["domain"], "aspects": ["domainProperties"]})).await;
    assert_eq!(total, 2);
    let names: Vec<&Value> = entities
        .iter()
        .map(|entity| &entity["domainProperties"]["value"]["name"])
        .collect();
    assert_eq!(names, ["Market", "Marketing"]);
    assert_eq!(
        entities[0]["domainProperties"]["systemMetadata"]["lastObserved"],
        NOW_MS
    );
    assert_eq!(entities[0].get("domainKey"), None);

    let (bare, _) = scroll(json!({"entities": ["domain"]})).await;
    assert_eq!(bare[0], json!({"urn": "urn:li:domain:market"}));

    let filter = json!({"and": [{"criteria": [{"field": "urn", "values": [DATASET], "condition": "EQUAL"}]}]});
    let (all, total) = scroll(json!({"aspects": [], "filter": filter})).await;
    assert_eq!(total, 1);
    assert!(all[0]["datasetKey"]["value"].is_object(), "{all:?}");
    assert!(all[0]["schemaMetadata"]["value"].is_object());

    let (tokens, _) = scroll(json!({"entities": ["dataHubAccessToken"], "aspects": []})).await;
    for token in &tokens {
        assert_eq!(token.get("dataHubAccessTokenInfo"), None, "{token}");
    }

    let (status, list) = app
        .get("/openapi/v3/entity/domain?count=10&aspects=domainKey,domainProperties")
        .await;
    assert_eq!(status, StatusCode::OK, "{list}");
    assert_eq!(list["entities"].as_array().unwrap().len(), 2);
    assert_eq!(list["entities"][0]["domainKey"]["value"]["id"], "market");
}

#[tokio::test]
async fn the_slices_of_a_scroll_are_disjoint_and_complete() {
    let app = App::empty().await;
    for number in 0..20 {
        let urn = format!("urn:li:domain:d{number:02}");
        app.ingest(&urn, "domainProperties", &json!({"name": "d"}))
            .await;
    }
    let slice = async |id: usize| {
        let (mut urns, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/openapi/v3/entity/scroll?count=7&sliceMax=3&sliceId={id}{cursor}");
            let reply = post(&app, &path, json!({"entities": ["domain"]})).await;
            let found = reply["entities"].as_array().unwrap().iter();
            urns.extend(found.map(|it| it["urn"].as_str().unwrap().to_owned()));
            match reply["scrollId"].as_str() {
                Some(next) => cursor = format!("&scrollId={next}"),
                None => return urns,
            }
        }
    };
    let slices = [slice(0).await, slice(1).await, slice(2).await];
    assert!(slices.iter().all(|urns| !urns.is_empty()), "{slices:?}");
    let mut all = slices.concat();
    all.sort();
    let expected: Vec<String> = (0..20)
        .map(|it| format!("urn:li:domain:d{it:02}"))
        .collect();
    assert_eq!(all, expected);
}

#[tokio::test]
async fn relationships_of_given_entities_are_scrolled() {
    let app = App::empty().await;
    let dataset = |name: &str| format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    let (first, second) = (dataset("first"), dataset("second"));
    let owners: Vec<Value> = (0..5)
        .map(|number| json!({"owner": format!("urn:li:corpuser:u{number}"), "type": "DATAOWNER"}))
        .collect();
    for urn in [&first, &second] {
        app.ingest(
            urn,
            "ownership",
            &json!({"owners": owners, "lastModified": {"time": 0, "actor": "urn:li:corpuser:a"}}),
        )
        .await;
    }
    let by_urn = |urns: &[&str]| json!({"and": [{"criteria": [{"field": "urn", "values": urns, "condition": "EQUAL"}]}]});
    let read = |parameters: String, body: Value| {
        let app = &app;
        async move {
            let (mut edges, mut mark) = (Vec::new(), String::new());
            for page in 0.. {
                assert!(page < 20, "the scroll does not end");
                let path = format!("/openapi/v3/relationship/scroll?{parameters}&count=3{mark}");
                let reply = post(app, &path, body.clone()).await;
                let results = reply["results"].as_array().unwrap();
                assert!(results.len() <= 3, "{reply}");
                edges.extend(results.iter().map(|edge| {
                    format!(
                        "{} {} {}",
                        edge["source"]["urn"].as_str().unwrap(),
                        edge["relationshipType"].as_str().unwrap(),
                        edge["destination"]["urn"].as_str().unwrap()
                    )
                }));
                match reply["scrollId"].as_str() {
                    Some(next) => mark = format!("&scrollId={next}"),
                    None => return edges,
                }
            }
            unreachable!()
        }
    };
    let types = "relationshipTypes=OwnedBy&relationshipTypes=IsPartOf".to_owned();
    let from = json!({"sourceFilter": by_urn(&[&first, &second])});
    let mut edges = read(types.clone(), from.clone()).await;
    let count = edges.len();
    edges.sort();
    edges.dedup();
    assert_eq!((count, edges.len()), (10, 10), "{edges:?}");
    assert!(edges[0].starts_with(&format!("{first} OwnedBy urn:li:corpuser:u")));

    let to = json!({"destinationFilter": by_urn(&["urn:li:corpuser:u3"])});
    let towards = read(types.clone(), to).await;
    assert_eq!(
        towards,
        [&first, &second].map(|urn| format!("{urn} OwnedBy urn:li:corpuser:u3"))
    );
    // From the owner's side, the datasets are incoming.
    let incoming = read(
        format!("{types}&direction=INCOMING"),
        json!({"sourceFilter": by_urn(&["urn:li:corpuser:u3"])}),
    )
    .await;
    assert_eq!(incoming, towards);
    let both = json!({"sourceFilter": by_urn(&[&first]), "destinationFilter": by_urn(&["urn:li:corpuser:u1"])});
    assert_eq!(read(types.clone(), both).await.len(), 1);
    assert_eq!(
        read(format!("{types}&destinationTypes=corpGroup"), from.clone()).await,
        [""; 0]
    );
    let by_type = |name: &str| {
        let field = json!({"field": "relationshipType", "values": [name], "condition": "EQUAL"});
        json!({"sourceFilter": by_urn(&[&first]), "edgeFilter": {"and": [{"criteria": [field]}]}})
    };
    assert_eq!(read(String::new(), by_type("OwnedBy")).await.len(), 5);
    assert_eq!(read(String::new(), by_type("IsPartOf")).await, [""; 0]);
    let neither = read("relationshipTypes=IsPartOf".to_owned(), by_type("OwnedBy"));
    assert_eq!(neither.await, [""; 0]);

    app.ingest(&second, "status", &json!({"removed": true}))
        .await;
    assert_eq!(read(types.clone(), from.clone()).await.len(), 5);
    let all = read(format!("{types}&includeSoftDelete=true"), from).await;
    assert_eq!(all.len(), 10);

    // Entities are optional.
    let everything = read(format!("{types}&includeSoftDelete=true"), json!({})).await;
    assert_eq!(everything, all);
    let of_tags = read(
        format!("{types}&includeSoftDelete=true&sourceTypes=tag"),
        json!({}),
    );
    assert_eq!(of_tags.await, [""; 0]);
}
