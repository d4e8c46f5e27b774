//! Creating, changing and deleting tags and glossary terms.

use crate::escalation::reader_with;
use crate::support::{App, DATASET, NOW_MS, USER};
use serde_json::{Value, json};

#[tokio::test]
async fn a_tag_is_created_with_its_creator_as_owner() {
    let app = App::empty().await;
    let input = json!({"id": "pii", "name": "PII", "description": "Personal"});
    let created = app
        .mutate("createTag", "CreateTagInput", input.clone())
        .await;
    assert_eq!(created, "urn:li:tag:pii");
    let read = r#"{ tag(urn: "urn:li:tag:pii") { urn type name properties { name description colorHex }
        ownership { owners { owner { ... on CorpUser { urn } } type } lastModified { time } } } }"#;
    assert_eq!(
        app.graphql(read).await["data"]["tag"],
        json!({
            "urn": "urn:li:tag:pii", "type": "TAG", "name": "pii",
            "properties": {"name": "PII", "description": "Personal", "colorHex": null},
            "ownership": {"owners": [{"owner": {"urn": USER}, "type": "TECHNICAL_OWNER"}], "lastModified": {"time": NOW_MS}},
        })
    );
    assert_eq!(
        app.mutate_error("createTag", "CreateTagInput", input).await,
        (409, "This Tag already exists!".to_owned())
    );
    let random = app
        .mutate("createTag", "CreateTagInput", json!({"name": "Other"}))
        .await;
    assert_eq!(
        random.as_str().map(str::len),
        Some("urn:li:tag:".len() + 36)
    );
    for bad in [
        json!({"name": " "}),
        json!({"name": "x", "id": "urn:li:tag:x"}),
    ] {
        let (code, _) = app.mutate_error("createTag", "CreateTagInput", bad).await;
        assert_eq!(code, 400);
    }
}

#[tokio::test]
async fn a_tag_is_renamed_and_recolored() {
    let app = App::empty().await;
    app.ingest("urn:li:tag:pii", "tagKey", &json!({"name": "pii"}))
        .await;
    let color = r##"mutation { setTagColor(urn: "urn:li:tag:pii", colorHex: "#3366CC") }"##;
    assert_eq!(app.graphql(color).await["data"]["setTagColor"], true);
    let update = r#"mutation { updateTag(urn: "urn:li:tag:pii", input: {urn: "urn:li:tag:pii", name: "PII"}) {
        properties { name description colorHex } } }"#;
    assert_eq!(
        app.graphql(update).await["data"]["updateTag"]["properties"],
        json!({"name": "PII", "description": null, "colorHex": "#3366CC"})
    );
    let missing = r##"mutation { setTagColor(urn: "urn:li:tag:none", colorHex: "#3366CC") }"##;
    assert_eq!(
        app.graphql_error(missing).await,
        (
            400,
            "Failed to set Tag urn:li:tag:none color. Tag does not exist.".to_owned()
        )
    );
    let other = r#"mutation { updateTag(urn: "urn:li:tag:pii", input: {urn: "urn:li:tag:x", name: "PII"}) { urn } }"#;
    assert_eq!(app.graphql_error(other).await.0, 400);
}

#[tokio::test]
async fn deleting_a_tag_removes_it_from_all_entities() {
    let app = App::with_dataset().await;
    for id in ["pii", "kept"] {
        app.mutate("createTag", "CreateTagInput", json!({"id": id, "name": id}))
            .await;
    }
    let tags = json!(["urn:li:tag:pii", "urn:li:tag:kept"]);
    let input = json!({"tagUrns": tags, "resources": [
        {"resourceUrn": DATASET},
        {"resourceUrn": DATASET, "subResourceType": "DATASET_FIELD", "subResource": "user_name"},
    ]});
    app.mutate("batchAddTags", "BatchAddTagsInput", input).await;
    let delete = r#"mutation { deleteTag(urn: "urn:li:tag:pii") }"#;
    assert_eq!(app.graphql(delete).await["data"]["deleteTag"], true);
    let kept = json!([{"tag": "urn:li:tag:kept"}]);
    let stored = |aspect: Option<Value>| aspect.unwrap();
    assert_eq!(
        stored(app.aspect(DATASET, "globalTags").await)["tags"],
        kept
    );
    let columns = stored(app.aspect(DATASET, "editableSchemaMetadata").await);
    assert_eq!(
        columns["editableSchemaFieldInfo"][0]["globalTags"]["tags"],
        kept
    );
    let exists = r#"{ entityExists(urn: "urn:li:tag:pii") }"#;
    assert_eq!(app.graphql(exists).await["data"]["entityExists"], false);
    assert_eq!(
        app.graphql_error(delete).await,
        (
            400,
            "Failed to delete tag urn:li:tag:pii. urn:li:tag:pii does not exist.".to_owned()
        )
    );
}

#[tokio::test]
async fn terms_and_nodes_are_created_under_their_parents() {
    let app = App::empty().await;
    let kind = "CreateGlossaryEntityInput";
    let node = app
        .mutate(
            "createGlossaryNode",
            kind,
            json!({"id": "people", "name": "People"}),
        )
        .await;
    assert_eq!(node, "urn:li:glossaryNode:people");
    let input = json!({"id": "person", "name": "Person", "description": "A natural person", "parentNode": node});
    let term = app.mutate("createGlossaryTerm", kind, input.clone()).await;
    assert_eq!(term, "urn:li:glossaryTerm:person");
    let read = r#"{ glossaryTerm(urn: "urn:li:glossaryTerm:person") {
            properties { name description termSource } parentNodes { count nodes { urn } } ownership { owners { type } } }
        glossaryNode(urn: "urn:li:glossaryNode:people") { properties { name description } parentNodes { count } } }"#;
    assert_eq!(
        app.graphql(read).await["data"],
        json!({
            "glossaryTerm": {
                "properties": {"name": "Person", "description": "A natural person", "termSource": "INTERNAL"},
                "parentNodes": {"count": 1, "nodes": [{"urn": node}]},
                "ownership": {"owners": [{"type": "TECHNICAL_OWNER"}]},
            },
            "glossaryNode": {"properties": {"name": "People", "description": ""}, "parentNodes": {"count": 0}},
        })
    );
    assert_eq!(
        app.mutate_error("createGlossaryTerm", kind, input).await,
        (409, "This Glossary Term already exists!".to_owned())
    );
    let orphan = json!({"name": "x", "parentNode": "urn:li:glossaryNode:none"});
    assert_eq!(
        app.mutate_error("createGlossaryNode", kind, orphan).await,
        (400, "Parent Glossary Node does not exist!".to_owned())
    );
    let wrong = json!({"name": "x", "parentNode": term});
    assert_eq!(
        app.mutate_error("createGlossaryTerm", kind, wrong).await.0,
        400
    );
}

#[tokio::test]
async fn the_color_of_a_tag_has_a_privilege_of_its_own() {
    let app = App::empty().await;
    let tag = "urn:li:tag:pii";
    app.ingest(tag, "tagProperties", &json!({"name": "PII"}))
        .await;
    let resources = json!({"resources": [tag]});
    let ada = reader_with(&app, "METADATA", &["EDIT_TAG_COLOR"], resources).await;
    let color = format!(r##"mutation {{ setTagColor(urn: "{tag}", colorHex: "#3366CC") }}"##);
    let reply = app.graphql_as(&ada, &color).await;
    assert_eq!(reply["data"]["setTagColor"], true, "{reply}");
    let rename = format!(
        r#"mutation {{ updateTag(urn: "{tag}", input: {{ urn: "{tag}", name: "x" }}) {{ urn }} }}"#
    );
    let reply = app.graphql_as(&ada, &rename).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
}
