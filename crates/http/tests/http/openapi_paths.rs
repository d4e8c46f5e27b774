//! Paths of DataHub's OpenAPI besides those of entities in version 3.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{App, DATASET, encoded};

const LOGICAL: &str = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)";
const SET: &str = "urn:li:versionSet:(reports,dataset)";
const DOMAIN: &str = "urn:li:domain:finance";

async fn get(app: &App, path: &str) -> Value {
    let (status, reply) = app.get(path).await;
    assert_eq!(status, StatusCode::OK, "{path}: {reply}");
    reply
}

async fn send(app: &App, method: Method, path: &str, body: &Value) -> Value {
    let request = app.request(method, path, body.to_string());
    let (status, reply) = app.send(request).await;
    assert!(status.is_success(), "{path}: {status} {reply}");
    reply
}

async fn in_domain() -> App {
    let app = App::with_dataset().await;
    app.ingest(DOMAIN, "domainProperties", &json!({"name": "Finance"}))
        .await;
    let domains = json!({"domains": [DOMAIN]});
    app.ingest(DATASET, "domains", &domains).await;
    app
}

#[tokio::test]
async fn relationships_are_scrolled_by_type_and_by_entity() {
    let app = in_domain().await;
    let edge = json!({
        "relationshipType": "AssociatedWith",
        "source": {"urn": DATASET, "entityType": "dataset"},
        "destination": {"urn": DOMAIN, "entityType": "domain"},
    });
    let dataset = encoded(DATASET);
    for base in ["/openapi/v2/relationship", "/openapi/v3/relationship"] {
        for path in [
            "/AssociatedWith".to_owned(),
            format!("/dataset/{dataset}?relationshipType[]=AssociatedWith"),
            format!("/domain/{DOMAIN}?direction=INCOMING"),
        ] {
            let found = get(&app, &format!("{base}{path}")).await;
            assert_eq!(found["results"], json!([edge]), "{base}{path}");
        }
        for path in [
            "/NoSuchType".to_owned(),
            "/OwnedBy".to_owned(),
            format!("/domain/{DOMAIN}"),
        ] {
            let found = get(&app, &format!("{base}{path}")).await;
            assert_eq!(found["results"], json!([]), "{base}{path}");
        }
        let all = send(
            &app,
            Method::POST,
            &format!("{base}/scroll?count=1000"),
            &json!({}),
        )
        .await;
        assert!(all["results"].as_array().unwrap().contains(&edge), "{all}");
    }
    for path in [
        format!("dataset/{dataset}?direction=SIDEWAYS"),
        format!("chart/{dataset}"),
    ] {
        let (status, reply) = app.get(&format!("/openapi/v3/relationship/{path}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    }
}

#[tokio::test]
async fn an_entity_is_linked_to_a_version_set_and_unlinked() {
    let app = App::with_dataset().await;
    let path = format!(
        "/openapi/v3/entity/versioning/{}/relationship/versionOf/{}",
        encoded(SET),
        encoded(DATASET)
    );
    let body = json!({"version": "one", "comment": "c", "sourceCreationTimestamp": 5, "sourceCreator": "ann"});
    let linked = send(&app, Method::POST, &path, &body).await;
    assert_eq!(linked[0]["urn"], DATASET, "{linked}");
    let properties = &linked[0]["versionProperties"]["value"];
    assert_eq!(properties["versionSet"], SET);
    assert_eq!(properties["version"]["versionTag"], "one");
    assert_eq!(properties["sourceCreatedTimestamp"]["time"], 5);
    let latest = app.aspect(SET, "versionSetProperties").await.unwrap();
    assert_eq!(latest["latest"], DATASET);
    let unlinked = send(&app, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(unlinked, json!([DATASET]));
    assert_eq!(app.aspect(DATASET, "versionProperties").await, None);
    let again = send(&app, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(again, json!([]));
}

#[tokio::test]
async fn a_physical_dataset_is_linked_with_a_logical_one_and_unlinked() {
    let app = App::with_dataset().await;
    app.add_dataset(LOGICAL).await;
    let path = format!(
        "/openapi/v3/logical/{}/relationship/physicalInstanceOf",
        encoded(DATASET)
    );
    let link = format!("{path}/{}", encoded(LOGICAL));
    let linked = send(
        &app,
        Method::POST,
        &link,
        &json!({"timestamp": "user_name"}),
    )
    .await;
    let parent = &linked[0]["logicalParent"]["value"]["parent"];
    assert_eq!(parent["destinationUrn"], LOGICAL, "{linked}");
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    let parent = app.aspect(&column, "logicalParent").await.unwrap();
    let of_model = format!("urn:li:schemaField:({LOGICAL},timestamp)");
    assert_eq!(parent["parent"]["destinationUrn"], of_model);
    send(&app, Method::DELETE, &path, &Value::Null).await;
    for urn in [DATASET, &column] {
        let left = app.aspect(urn, "logicalParent").await.unwrap_or_default();
        assert!(left["parent"].is_null(), "{left}");
    }
}

#[tokio::test]
async fn entities_are_counted_by_type() {
    let app = in_domain().await;
    for (name, removed) in [("a", true), ("b", false)] {
        let urn = format!("urn:li:tag:{name}");
        app.ingest(&urn, "status", &json!({"removed": removed}))
            .await;
    }
    let found = get(&app, "/openapi/v1/entities/tag/count?includeTotal=true").await;
    for (name, value) in [
        ("entityType", json!("tag")),
        ("keyAspect", json!("tagKey")),
        ("activeCount", json!(1)),
        ("softDeletedCount", json!(1)),
        ("totalCount", json!(2)),
    ] {
        assert_eq!(found[name], value, "{name} in {found}");
    }
    let found = get(&app, "/openapi/v1/entities/counts?types=tag,domain").await;
    assert_eq!(found["requestedTypes"], json!(["tag", "domain"]));
    assert_eq!(found["counts"][1]["activeCount"], 1, "{found}");
    assert_eq!(found["counts"][1]["totalCount"], Value::Null);
    assert_eq!(found["totalCount"], Value::Null);
    let found = get(&app, "/openapi/v1/entities/counts?includeTotal=true").await;
    assert!(found["counts"].as_array().unwrap().len() > 50);
    assert_eq!(found["softDeletedTotal"], 1);
    let (status, _) = app.get("/openapi/v1/entities/nothing/count").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_registry_describes_entity_types_and_aspects() {
    let app = App::empty().await;
    let base = "/openapi/v1/registry/models";
    let dataset = get(&app, &format!("{base}/entity/specifications/dataset")).await;
    assert_eq!(dataset["keyAspectName"], "datasetKey");
    let aspects = get(
        &app,
        &format!("{base}/entity/specifications/dataset/aspects"),
    )
    .await;
    let all = aspects.as_object().unwrap();
    assert_eq!(all.len(), dataset["aspectSpecs"].as_array().unwrap().len());
    assert_eq!(
        aspects["datasetProfile"]["aspectAnnotation"]["timeseries"],
        true
    );
    let status = get(&app, &format!("{base}/aspect/specifications/status")).await;
    assert_eq!(status["aspectAnnotation"]["name"], "status");
    let page = get(
        &app,
        &format!("{base}/aspect/specifications?start=1&count=2"),
    )
    .await;
    assert_eq!(page["elements"].as_array().unwrap().len(), 2);
    assert!(page["total"].as_u64().unwrap() > 100, "{page}");
    for missing in ["entity", "aspect"] {
        let path = format!("{base}/{missing}/specifications/nothing");
        assert_eq!(app.get(&path).await.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn the_first_format_has_types_as_members() {
    let app = App::empty().await;
    let schema = json!({
        "__type": "SchemaMetadata", "schemaName": "s", "version": 0, "hash": "",
        "platform": "urn:li:dataPlatform:hive",
        "platformSchema": {"__type": "MySqlDDL", "tableSchema": "t"},
        "fields": [{
            "fieldPath": "c", "nativeDataType": "text",
            "type": {"type": {"__type": "StringType"}},
        }],
    });
    let upsert =
        |aspect: &Value| json!([{"entityType": "dataset", "entityUrn": DATASET, "aspect": aspect}]);
    let base = "/openapi/entities/v1";
    let (status, reply) = app.post(&format!("{base}/"), &upsert(&schema)).await;
    assert_eq!(status, StatusCode::CREATED, "{reply}");
    assert_eq!(reply, json!([DATASET]));
    let stored = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    let column = &stored["fields"][0]["type"]["type"];
    assert_eq!(column, &json!({"com.linkedin.schema.StringType": {}}));
    assert_eq!(stored["__type"], Value::Null);

    let urns = format!("urns={}", encoded(DATASET));
    let path = format!("{base}/latest?{urns}&aspectNames=schemaMetadata");
    let found = get(&app, &path).await;
    let entity = &found["responses"][DATASET];
    assert_eq!(entity["entityName"], "dataset");
    let aspect = &entity["aspects"]["schemaMetadata"];
    assert_eq!(aspect["value"], schema, "{found}");
    assert_eq!(aspect["type"], "VERSIONED");
    assert!(entity["aspects"]["status"].is_null());
    let all = get(&app, &format!("{base}/latest?{urns}&urns=urn:li:tag:none")).await;
    let all = all["responses"].as_object().unwrap();
    assert_eq!(all.len(), 1);
    assert!(all[DATASET]["aspects"]["datasetKey"].is_object());

    let exists = format!("{base}?createEntityIfNotExists=true");
    let (status, _) = app.post(&exists, &upsert(&schema)).await;
    assert_eq!(status, StatusCode::CONFLICT);
    for (wrong, expected) in [
        (json!({"__type": "Nothing"}), "Nothing"),
        (json!({"removed": true}), "__type"),
        (
            json!({"__type": "SchemaMetadata", "fields": [{"type": {"type": {"__type": "X"}}}]}),
            "StringType",
        ),
    ] {
        let (status, reply) = app.post(base, &upsert(&wrong)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(
            message.contains(expected) && message.contains("item 0"),
            "{message}"
        );
    }

    let path = format!("{base}?{urns}");
    let deleted = send(&app, Method::DELETE, &path, &Value::Null).await;
    assert_eq!(
        deleted,
        json!([{"rowsRolledBack": [{"urn": DATASET}], "rowsDeletedFromEntityDeletion": 1}])
    );
    let status = app.aspect(DATASET, "status").await;
    assert_eq!(status.unwrap()["removed"], true);
    send(
        &app,
        Method::DELETE,
        &format!("{path}&soft=false"),
        &Value::Null,
    )
    .await;
    assert_eq!(app.aspect(DATASET, "datasetKey").await, None);
    for path in [base.to_owned(), format!("{path}&sotf=false")] {
        let request = app.request(Method::DELETE, &path, String::new());
        let (status, reply) = app.send(request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    }
}

#[tokio::test]
async fn the_latest_aspects_of_many_entities_are_found() {
    let app = App::empty().await;
    let tag = |number: usize| format!("urn:li:tag:t{number:02}");
    for number in 0..20 {
        let value = json!({"name": format!("T{number}")});
        app.ingest(&tag(number), "tagProperties", &value).await;
    }
    // Some are missing, and one is there twice.
    let numbers = (0..25).rev().chain([3]);
    let urns: Vec<String> = numbers.map(|it| format!("urns={}", tag(it))).collect();
    for names in ["", "&aspectNames=tagProperties&aspectNames=tagProperties"] {
        let path = format!("/openapi/entities/v1/latest?{}{names}", urns.join("&"));
        let found = get(&app, &path).await;
        let found = found["responses"].as_object().unwrap();
        assert_eq!(found.len(), 20);
        for number in 0..20 {
            let entity = &found[&tag(number)];
            assert_eq!(entity["urn"], tag(number));
            let name = &entity["aspects"]["tagProperties"]["value"]["name"];
            assert_eq!(name, &format!("T{number}"));
        }
    }
}

#[tokio::test]
async fn scrolls_count_the_types_of_the_page_as_in_datahub() {
    let app = App::with_dataset().await;
    let tag = json!({"name": "a"});
    app.ingest("urn:li:tag:a", "tagProperties", &tag).await;
    let body = json!({"entities": ["dataset", "tag"]});
    let (_, reply) = app.post("/openapi/v3/entity/scroll", &body).await;
    let types = json!([{"field": "entity", "aggregations": {"dataset": 1, "tag": 1}}]);
    assert_eq!(reply["facets"], types, "{reply}");
    let (_, reply) = app.get("/openapi/v3/entity/dataset").await;
    assert_eq!(reply["facets"], json!([]), "{reply}");
}

#[tokio::test]
async fn the_first_format_takes_change_proposals_too() {
    let app = App::with_dataset().await;
    let path = "/openapi/v2/platform/entities/v1";
    let proposal = |change: &str| {
        let value = json!({"__type": "Status", "removed": true});
        json!([{
            "entityType": "dataset", "entityUrn": DATASET, "changeType": change,
            "aspectName": "status", "aspect": {"value": value, "contentType": "application/json"},
        }])
    };
    let (status, reply) = app.post(path, &proposal("UPSERT")).await;
    assert_eq!((status, reply), (StatusCode::CREATED, json!([DATASET])));
    let stored = app.aspect(DATASET, "status").await;
    assert_eq!(stored, Some(json!({"removed": true})));
    let (status, _) = app.post(path, &proposal("CREATE")).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, reply) = app.post(path, &proposal("DELETE")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(reply["message"].as_str().unwrap().contains("CREATE_ENTITY"));
}

#[tokio::test]
async fn the_events_of_a_run_become_a_task_with_lineage() {
    let app = App::with_dataset().await;
    let path = "/openapi/openlineage/api/v1/lineage";
    let event = |kind: &str, more: Value| {
        let mut event = json!({
            "eventType": kind,
            "eventTime": "2026-01-31T13:00:00.001+01:00",
            "run": {"runId": "r1", "facets": {"processing_engine": {"name": "Spark", "version": "3.5"}}},
            "job": {"namespace": "etl", "name": "nightly.load", "facets": {"documentation": {"description": "d"}}},
            "producer": "https://example.com",
            "schemaURL": "ignored",
        });
        for (member, value) in more.as_object().unwrap() {
            event[member] = value.clone();
        }
        event
    };
    let input = json!({"namespace": "postgres://db:5432", "name": "shop.orders"});
    let from = json!({"namespace": "postgres://db:5432", "name": "shop.orders", "field": "id",
        "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}]});
    let output = json!({"namespace": "bigquery", "name": "p.dwh.orders", "facets": {
        "columnLineage": {"fields": {"order_id": {"inputFields": [from]}}},
    }});
    for event in [
        event("START", json!({"inputs": [input]})),
        event("COMPLETE", json!({"outputs": [output]})),
    ] {
        let (status, reply) = app.post(path, &event).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
    let flow = "urn:li:dataFlow:(spark,nightly,etl)";
    let job = format!("urn:li:dataJob:({flow},nightly.load)");
    let info = app.aspect(&job, "dataJobInfo").await.unwrap();
    assert_eq!(
        info,
        json!({
            "name": "load", "type": {"string": "spark"}, "flowUrn": flow, "description": "d",
            "created": {"time": 1_769_860_800_001_i64},
            "customProperties": {"processingEngine": "Spark", "processingEngineVersion": "3.5"},
        })
    );
    assert_eq!(
        app.aspect(flow, "dataFlowInfo").await.unwrap()["name"],
        "nightly"
    );
    let dataset = |platform: &str, name: &str| {
        format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)")
    };
    for urn in [
        dataset("postgres", "shop.orders"),
        dataset("bigquery", "p.dwh.orders"),
    ] {
        assert!(app.aspect(&urn, "datasetKey").await.is_some(), "{urn}");
    }
    let (read, written) = (
        dataset("postgres", "shop.orders"),
        dataset("bigquery", "p.dwh.orders"),
    );
    let lineage = app.aspect(&job, "dataJobInputOutput").await.unwrap();
    assert_eq!(
        lineage["inputDatasetEdges"][0]["destinationUrn"], read,
        "{lineage}"
    );
    assert_eq!(
        lineage["outputDatasetEdges"][0]["destinationUrn"], written,
        "{lineage}"
    );
    let columns = &lineage["fineGrainedLineages"][0];
    assert_eq!(
        columns["upstreams"],
        json!([format!("urn:li:schemaField:({read},id)")])
    );
    assert_eq!(
        columns["downstreams"],
        json!([format!("urn:li:schemaField:({written},order_id)")])
    );
    assert_eq!(columns["transformOperation"], "DIRECT:IDENTITY");
    let run = "urn:li:dataProcessInstance:r1";
    let parent = app
        .aspect(run, "dataProcessInstanceRelationships")
        .await
        .unwrap();
    assert_eq!(parent["parentTemplate"], job);
    let state = app.aspect(run, "dataProcessInstanceOutput").await.unwrap();
    assert_eq!(state["outputs"], json!([written]));
    let path_of_state =
        format!("/openapi/v3/entity/dataProcessInstance/{run}/dataProcessInstanceRunEvent");
    let state = get(&app, &path_of_state).await;
    assert_eq!(state["value"]["result"]["type"], "SUCCESS", "{state}");
    for (member, value, says) in [
        ("eventTime", json!("yesterday"), "eventTime"),
        ("eventType", json!("PAUSE"), "PAUSE"),
        ("run", json!({"runId": "r1"}), "processing_engine"),
        ("job", json!({"namespace": "a(", "name": "b"}), "URN"),
        ("job", json!({"name": "b"}), "namespace"),
    ] {
        let (status, reply) = app
            .post(path, &event("START", json!({ member: value })))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{member}: {reply}");
        assert!(reply["message"].as_str().unwrap().contains(says), "{reply}");
    }
}
