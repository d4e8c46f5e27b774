//! `POST /entities?action=deleteReferences`, and relationships.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::escalation::reader_with;
use crate::support::{App, DATASET, NOW_MS, encoded, proposal};

const TERM: &str = "urn:li:glossaryTerm:pii";
const CONTAINER: &str = "urn:li:container:c";

async fn delete_references(app: &App, urn: &str, dry_run: bool) -> Value {
    let body = json!({"urn": urn, "dryRun": dry_run});
    let (status, reply) = app.post("/entities?action=deleteReferences", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    reply["value"].clone()
}

#[tokio::test]
async fn references_are_counted_in_a_dry_run_and_then_removed() {
    let app = App::with_dataset().await;
    let stamp = json!({"time": NOW_MS, "actor": "urn:li:corpuser:datahub"});
    let terms = json!({"terms": [{"urn": TERM}, {"urn": "urn:li:glossaryTerm:other"}], "auditStamp": stamp});
    app.ingest(DATASET, "glossaryTerms", &terms).await;
    let columns = json!({"editableSchemaFieldInfo": [
        {"fieldPath": "user_name", "description": "kept", "glossaryTerms": {"terms": [{"urn": TERM}], "auditStamp": stamp}},
    ]});
    app.ingest(DATASET, "editableSchemaMetadata", &columns)
        .await;
    let counted = delete_references(&app, TERM, true).await;
    assert_eq!(counted["total"], 2, "{counted}");
    let aspects: Vec<&str> = counted["relatedAspects"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|related| related["entity"] == DATASET && related["relationship"].is_string())
        .filter_map(|related| related["aspect"].as_str())
        .collect();
    assert_eq!(aspects.len(), 2, "{counted}");
    assert_eq!(app.aspect(DATASET, "glossaryTerms").await, Some(terms));

    let done = delete_references(&app, TERM, false).await;
    assert_eq!(done["total"], 2, "{done}");
    let terms = app.aspect(DATASET, "glossaryTerms").await.unwrap();
    assert_eq!(
        terms["terms"],
        json!([{"urn": "urn:li:glossaryTerm:other"}])
    );
    let columns = app.aspect(DATASET, "editableSchemaMetadata").await.unwrap();
    let column = &columns["editableSchemaFieldInfo"][0];
    assert_eq!(column["description"], "kept");
    assert_eq!(column["glossaryTerms"]["terms"], json!([]));
    assert_eq!(delete_references(&app, TERM, true).await["total"], 0);
}

#[tokio::test]
async fn an_aspect_that_only_holds_a_reference_is_deleted() {
    let app = App::with_dataset().await;
    app.ingest(DATASET, "container", &json!({"container": CONTAINER}))
        .await;
    assert_eq!(delete_references(&app, CONTAINER, false).await["total"], 1);
    assert_eq!(app.aspect(DATASET, "container").await, None);
    assert!(app.aspect(DATASET, "datasetKey").await.is_some());
}

#[tokio::test]
async fn a_removal_that_is_denied_in_part_changes_nothing() {
    let app = App::empty().await;
    let domain = "urn:li:domain:hr";
    app.ingest(domain, "domainProperties", &json!({"name": "HR"}))
        .await;
    // More than one transaction removes them; the last child may not be moved.
    let child = |number: usize| format!("urn:li:container:child-{number:05}");
    let count = 1_100;
    let place = json!({"container": CONTAINER});
    let mut proposals: Vec<Value> = (0..count)
        .map(|number| proposal("UPSERT", &child(number), "container", &place))
        .collect();
    let domains = json!({"domains": [domain]});
    proposals.push(proposal("UPSERT", &child(count - 1), "domains", &domains));
    let (status, reply) = app.propose_all(proposals).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let elsewhere = json!({"filter": {"criteria": [
        {"field": "DOMAIN", "values": [domain], "condition": "NOT_EQUALS"},
    ]}});
    let privileges = ["DELETE_ENTITY", "EDIT_ENTITY"];
    let ada = reader_with(&app, "METADATA", &privileges, elsewhere).await;
    let remove = async || {
        let (path, body) = (
            "/entities?action=deleteReferences",
            json!({"urn": CONTAINER}),
        );
        app.send_as(&ada, "POST", path, &body).await
    };
    let (status, reply) = remove().await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert!(reply.to_string().contains(&child(count - 1)), "{reply}");
    for number in [0, count - 1] {
        let stored = app.aspect(&child(number), "container").await;
        assert_eq!(stored.as_ref(), Some(&place), "{number}");
    }
    let domains = json!({"domains": []});
    app.ingest(&child(count - 1), "domains", &domains).await;
    let (status, reply) = remove().await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(app.aspect(&child(0), "container").await, None);
    assert_eq!(delete_references(&app, CONTAINER, true).await["total"], 0);
}

async fn delete(app: &App, urn: &str) {
    let body = json!({"urn": urn});
    let (status, reply) = app.post("/entities?action=delete", &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn deleting_a_container_or_glossary_node_moves_its_children_to_the_root() {
    let app = App::with_dataset().await;
    let (below, node) = ("urn:li:container:below", "urn:li:glossaryNode:n");
    let place = json!({"container": CONTAINER});
    let beside = json!({"container": below});
    let nodes = json!({"name": "n", "definition": "d", "parentNode": node});
    let mut terms = nodes.clone();
    terms["termSource"] = json!("INTERNAL");
    let inside = [
        (below, "container", &place),
        (DATASET, "container", &place),
        ("urn:li:glossaryNode:below", "glossaryNodeInfo", &nodes),
        (TERM, "glossaryTermInfo", &terms),
    ];
    let elsewhere = "urn:li:dataset:(urn:li:dataPlatform:hive,elsewhere,PROD)";
    app.ingest(elsewhere, "container", &beside).await;
    for (urn, aspect, value) in inside {
        app.ingest(urn, aspect, value).await;
    }
    for parent in [CONTAINER, node] {
        app.ingest(parent, "status", &json!({"removed": false}))
            .await;
        delete(&app, parent).await;
        assert_eq!(delete_references(&app, parent, true).await["total"], 0);
    }
    for (urn, aspect, value) in inside {
        let mut expected = value.clone();
        expected.as_object_mut().unwrap().remove("parentNode");
        let expected = Some(expected).filter(|_| aspect != "container");
        assert_eq!(app.aspect(urn, aspect).await, expected, "{urn}");
    }
    assert_eq!(app.aspect(elsewhere, "container").await, Some(beside));
    assert!(app.aspect(DATASET, "datasetKey").await.is_some());
}

#[tokio::test]
async fn a_container_with_many_children_is_deleted_in_several_transactions() {
    let app = App::empty().await;
    let place = json!({"container": CONTAINER});
    let child = |number: usize| format!("urn:li:container:child-{number:05}");
    let children = (0..450).map(|number| proposal("UPSERT", &child(number), "container", &place));
    let (status, reply) = app.propose_all(children.collect()).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    delete(&app, CONTAINER).await;
    assert_eq!(delete_references(&app, CONTAINER, true).await["total"], 0);
    assert!(app.aspect(&child(449), "containerKey").await.is_some());
}

#[tokio::test]
async fn a_rollback_of_containers_counts_what_its_dry_run_counts_and_leaves_no_child_behind() {
    let app = App::empty().await;
    let (below, beside) = ("urn:li:container:a", "urn:li:container:z");
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";
    let mut proposals = Vec::new();
    for (urn, place, run) in [
        (CONTAINER, None, "run"),
        (below, Some(CONTAINER), "run"),
        (beside, Some(CONTAINER), "run"),
        (DATASET, Some(below), "run"),
        (other, Some(CONTAINER), "another"),
    ] {
        let status = proposal("UPSERT", urn, "status", &json!({"removed": false}));
        let place =
            place.map(|place| proposal("UPSERT", urn, "container", &json!({ "container": place })));
        for mut wire in [status].into_iter().chain(place) {
            wire["systemMetadata"] = json!({"runId": run, "lastObserved": 1});
            proposals.push(wire);
        }
    }
    let (status, reply) = app.propose_all(proposals).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let roll_back = async |dry_run: bool| {
        let body = json!({"runId": "run", "dryRun": dry_run, "safe": true});
        let (status, reply) = app.post("/runs?action=rollback", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        let value = &reply["value"];
        ["aspectsReverted", "entitiesAffected"].map(|member| value[member].as_u64().unwrap())
    };
    let rehearsed = roll_back(true).await;
    assert_eq!(rehearsed[1], 4);
    assert_eq!(roll_back(false).await, rehearsed);
    assert_eq!(app.aspect(other, "container").await, None);
    assert!(app.aspect(other, "status").await.is_some());
    for urn in [CONTAINER, below, beside] {
        assert_eq!(app.aspect(urn, "containerKey").await, None, "{urn}");
    }
}

#[tokio::test]
async fn references_inside_urns_stay() {
    let app = App::empty().await;
    let flow = "urn:li:dataFlow:(airflow,f,prod)";
    let job = format!("urn:li:dataJob:({flow},j)");
    app.ingest(&job, "status", &json!({"removed": false})).await;
    assert_eq!(delete_references(&app, flow, false).await["total"], 1);
    assert!(app.aspect(&job, "dataJobKey").await.is_some());
    let (status, reply) = app
        .post(
            "/entities?action=deleteReferences",
            &json!({"urn": "urn:li:nothing:x"}),
        )
        .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
}

#[tokio::test]
async fn relationships_are_paged_in_both_formats() {
    let app = App::with_dataset().await;
    let tags = json!({"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let urn = encoded(DATASET);
    let (status, reply) = app
        .get(&format!(
            "/relationships?urn={urn}&direction=OUTGOING&types=List(TaggedWith)&count=1"
        ))
        .await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        reply["relationships"],
        json!([{"type": "TaggedWith", "entity": "urn:li:tag:a"}])
    );
    assert_eq!(
        (&reply["start"], &reply["count"], &reply["total"]),
        (&json!(0), &json!(1), &json!(2))
    );

    let mut start = 0;
    let mut found = Vec::new();
    loop {
        let (_, page) = app
            .get(&format!(
                "/openapi/relationships/v1/?urn={urn}&direction=OUTGOING&relationshipTypes=TaggedWith&start={start}&count=1"
            ))
            .await;
        let count = page["count"].as_i64().unwrap();
        if count == 0 {
            break;
        }
        start += count;
        found.extend(page["entities"].as_array().unwrap().clone());
    }
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[1],
        json!({"urn": "urn:li:tag:b", "relationshipType": "TaggedWith"})
    );
    let tag = encoded("urn:li:tag:a");
    let (_, incoming) = app
        .get(&format!(
            "/openapi/relationships/v1?urn={tag}&direction=INCOMING"
        ))
        .await;
    assert_eq!(incoming["entities"][0]["urn"], DATASET);
    for query in [
        "",
        "?urn=x",
        "?urn=urn:li:tag:a&direction=UP",
        "?urn=urn:li:tag:a&count=1000000",
    ] {
        let (status, reply) = app.get(&format!("/relationships{query}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query} {reply}");
    }
}
