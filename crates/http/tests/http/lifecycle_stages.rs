//! Lifecycle stages, and the stages of entities.

use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};

const ANY: &str = "urn:li:lifecycleStageType:any";
const DRAFT: &str = "urn:li:lifecycleStageType:draft";
const REVIEW: &str = "urn:li:lifecycleStageType:review";
const TERMS: &str = "urn:li:lifecycleStageType:terms";

async fn app() -> App {
    let app = App::with_dataset().await;
    let stamp = json!({"time": 1, "actor": USER});
    let stage = |name: &str| json!({"name": name, "settings": {"hideInSearch": true}, "created": stamp, "lastModified": stamp});
    let mut draft = stage("Draft");
    draft["transitionPolicy"] =
        json!({"allowedPreviousStages": ["urn:li:lifecycleStageType:__NONE__"]});
    let mut review = stage("In review");
    review["transitionPolicy"] = json!({ "allowedPreviousStages": [DRAFT] });
    let any = stage("Any");
    let mut terms = stage("Terms");
    terms["entityTypes"] = json!(["glossaryTerm"]);
    for (urn, info) in [(ANY, any), (DRAFT, draft), (REVIEW, review), (TERMS, terms)] {
        app.ingest(urn, "lifecycleStageTypeInfo", &info).await;
    }
    app
}

async fn set(app: &App, urn: &str, stage: Option<&str>) -> Value {
    let text = "mutation ($urn: String!, $stage: String) { setLifecycleStage(urn: $urn, lifecycleStageUrn: $stage) }";
    app.graphql_with(text, json!({"urn": urn, "stage": stage}))
        .await
}

/// Makes [`ANY`] a stage for no entity types.
async fn disable_any(app: &App) {
    let stamp = json!({"time": 1, "actor": USER});
    let disabled = json!({"name": "Any", "settings": {"hideInSearch": true}, "created": stamp,
        "lastModified": stamp, "entityTypes": []});
    app.ingest(ANY, "lifecycleStageTypeInfo", &disabled).await;
}

async fn stage_of(app: &App) -> Value {
    let status =
        "status { removed lifecycleStage { urn name } lifecycleLastUpdated { time actor } }";
    let dataset = app.read_dataset(status).await;
    dataset["status"].clone()
}

#[tokio::test]
async fn a_stage_is_set_if_the_present_one_may_precede_it_and_removed() {
    let app = app().await;
    let reply = app
        .graphql(
            "{ listLifecycleStages { urn name hideInSearch entityTypes allowedPreviousStages } }",
        )
        .await;
    let stages = reply["data"]["listLifecycleStages"].as_array().unwrap();
    assert_eq!(
        stages.iter().map(|it| &it["name"]).collect::<Vec<_>>(),
        ["Any", "Draft", "In review", "Terms"],
        "{reply}"
    );
    assert_eq!(stages[2]["allowedPreviousStages"], json!([DRAFT]));

    let early = set(&app, DATASET, Some(REVIEW)).await;
    let message = early["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("does not allow"), "{message}");
    assert_eq!(app.aspect(DATASET, "status").await, None);
    for (stage, name) in [
        (DRAFT, "Draft"),
        (REVIEW, "In review"),
        (REVIEW, "In review"),
    ] {
        let reply = set(&app, DATASET, Some(stage)).await;
        assert_eq!(reply["data"]["setLifecycleStage"], true, "{reply}");
        assert_eq!(
            stage_of(&app).await,
            json!({"removed": false, "lifecycleStage": {"urn": stage, "name": name},
                "lifecycleLastUpdated": {"time": NOW_MS, "actor": USER}})
        );
    }
    app.ingest(
        DATASET,
        "status",
        &json!({"removed": true, "lifecycleStage": REVIEW}),
    )
    .await;
    for blank in ["", " "] {
        let reply = set(&app, DATASET, Some(blank)).await;
        let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("lifecycleStageUrn is empty"), "{reply}");
        assert_eq!(stage_of(&app).await["lifecycleStage"]["urn"], REVIEW);
    }
    let reply = set(&app, DATASET, None).await;
    assert_eq!(reply["data"]["setLifecycleStage"], true, "{reply}");
    let status = stage_of(&app).await;
    assert_eq!(status["lifecycleStage"], Value::Null, "{status}");
    assert_eq!(status["removed"], true, "{status}");
}

#[tokio::test]
async fn a_stage_must_exist_and_be_for_the_type_of_the_entity() {
    let app = app().await;
    for (urn, stage, expected) in [
        (
            DATASET,
            Some("urn:li:lifecycleStageType:none"),
            "does not exist",
        ),
        (DATASET, Some(TERMS), "of the types glossaryTerm"),
        (DATASET, Some(USER), "lifecycleStageType"),
        (MISSING, Some(DRAFT), "does not exist"),
        (MISSING, None, "does not exist"),
        (
            "urn:li:dataHubPolicy:p",
            Some(DRAFT),
            "cannot have a lifecycle stage",
        ),
    ] {
        let reply = set(&app, urn, stage).await;
        let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{reply}");
    }
    assert_eq!(app.aspect(DATASET, "status").await, None);
    assert_eq!(app.aspect(MISSING, "status").await, None);
}

#[tokio::test]
async fn a_stage_without_types_is_for_all() {
    let app = app().await;
    let reply = set(&app, DATASET, Some(ANY)).await;
    assert_eq!(reply["data"]["setLifecycleStage"], true, "{reply}");
}

#[tokio::test]
async fn a_stage_for_no_entity_types_is_disabled() {
    let app = app().await;
    disable_any(&app).await;
    let reply = set(&app, DATASET, Some(ANY)).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("is disabled"), "{message}");
}

#[tokio::test]
async fn stages_have_a_name_and_are_for_entities_with_a_status() {
    let app = app().await;
    let stamp = json!({"time": 1, "actor": USER});
    let stage = json!({"name": "New", "settings": {"hideInSearch": true}, "created": stamp,
        "lastModified": stamp});
    let new = "urn:li:lifecycleStageType:new";
    for (member, value, expected) in [
        ("name", json!(" "), "needs a name"),
        ("entityTypes", json!(["dataset", "datasets"]), "'datasets'"),
        ("entityTypes", json!(["dataHubPolicy"]), "'dataHubPolicy'"),
        (
            "transitionPolicy",
            json!({"allowedPreviousStages": [USER]}),
            USER,
        ),
    ] {
        let mut stage = stage.clone();
        stage[member] = value;
        let (code, reply) = app
            .propose("UPSERT", new, "lifecycleStageTypeInfo", &stage)
            .await;
        assert!(code.is_client_error(), "{member}: {reply}");
        assert!(reply.to_string().contains(expected), "{reply}");
    }
    assert_eq!(app.aspect(new, "lifecycleStageTypeInfo").await, None);
}

#[tokio::test]
async fn a_status_that_names_no_stage_keeps_it() {
    let app = app().await;
    set(&app, DATASET, Some(DRAFT)).await;
    let before = app.aspect(DATASET, "status").await.unwrap();
    let removed = json!({"removed": true});
    app.ingest(DATASET, "status", &removed).await;
    let mut kept = before.clone();
    kept["removed"] = json!(true);
    assert_eq!(app.aspect(DATASET, "status").await, Some(kept));
    let delta = json!([{"op": "remove", "path": "/lifecycleStage"}]);
    app.propose("PATCH", DATASET, "status", &delta).await;
    assert_eq!(stage_of(&app).await["lifecycleStage"], Value::Null);
    // `null` names none.
    set(&app, DATASET, Some(DRAFT)).await;
    let none = json!({"removed": false, "lifecycleStage": null});
    app.ingest(DATASET, "status", &none).await;
    assert_eq!(stage_of(&app).await["lifecycleStage"], Value::Null);
}

#[tokio::test]
async fn the_rules_of_stages_hold_for_every_write() {
    let app = app().await;
    let status = |stage: &str| json!({"removed": false, "lifecycleStage": stage});
    for (stage, expected) in [
        ("urn:li:lifecycleStageType:none", "does not exist"),
        (TERMS, "of the types glossaryTerm"),
        (REVIEW, "does not allow"),
        (USER, "lifecycleStageType"),
    ] {
        let delta = json!([{"op": "add", "path": "/lifecycleStage", "value": stage}]);
        for (change, value) in [("UPSERT", status(stage)), ("PATCH", delta)] {
            let (code, reply) = app.propose(change, DATASET, "status", &value).await;
            assert!(code.is_client_error(), "{change} {stage}: {reply}");
            assert!(reply.to_string().contains(expected), "{change}: {reply}");
        }
        let body = json!([{"urn": DATASET, "status": {"value": status(stage)}}]);
        let path = "/openapi/v3/entity/dataset?async=false";
        let (code, reply) = app.post(path, &body).await;
        assert!(code.is_client_error(), "{stage}: {reply}");
        assert!(reply.to_string().contains(expected), "{reply}");
    }
    assert_eq!(app.aspect(DATASET, "status").await, None);
    for stage in [DRAFT, REVIEW, REVIEW] {
        app.ingest(DATASET, "status", &status(stage)).await;
    }
    assert_eq!(app.aspect(DATASET, "status").await, Some(status(REVIEW)));
}

/// Every way to find the dataset by a search, with how many datasets are found.
async fn found(app: &App) -> Vec<(&'static str, Value)> {
    let input = r#"types: [DATASET], query: "*""#;
    let searches = [
        (
            "search",
            r#"search(input: { type: DATASET, query: "*" }) { total }"#.to_owned(),
            "/total",
        ),
        (
            "searchAcrossEntities",
            format!("searchAcrossEntities(input: {{ {input} }}) {{ total }}"),
            "/total",
        ),
        (
            "scrollAcrossEntities",
            format!("scrollAcrossEntities(input: {{ {input} }}) {{ total }}"),
            "/total",
        ),
        (
            "aggregateAcrossEntities",
            format!(
                r#"aggregateAcrossEntities(input: {{ {input}, facets: ["_entityType"] }})
                    {{ facets {{ aggregations {{ count }} }} }}"#
            ),
            "/facets/0/aggregations/0/count",
        ),
        (
            "autoComplete",
            r#"autoComplete(input: { type: DATASET, query: "fct_us" }) { entities { urn } }"#
                .to_owned(),
            "/entities/0/urn",
        ),
        (
            "browseV2",
            "browseV2(input: { types: [DATASET], path: [] }) { metadata { totalNumEntities } }"
                .to_owned(),
            "/metadata/totalNumEntities",
        ),
        (
            "documentationCoverage",
            "documentationCoverage { all { datasets } }".to_owned(),
            "/all/datasets",
        ),
    ];
    let mut found = Vec::new();
    for (name, text, pointer) in searches {
        let reply = app.graphql(&format!("{{ {text} }}")).await;
        assert_eq!(reply["errors"], Value::Null, "{reply}");
        let value = reply["data"][name].pointer(pointer);
        found.push((name, value.cloned().unwrap_or_default()));
    }
    let body = json!({"input": "*", "entity": "dataset", "start": 0, "count": 10});
    let (_, reply) = app.post("/entities?action=search", &body).await;
    found.push(("restli", reply["value"]["numEntities"].clone()));
    found
}

/// How many datasets a search with these flags and conditions finds.
async fn total(app: &App, input: &str) -> Value {
    let query = format!(
        r#"{{ searchAcrossEntities(input: {{ types: [DATASET], query: "*", {input} }}) {{ total }} }}"#
    );
    let reply = app.graphql(&query).await;
    reply["data"]["searchAcrossEntities"]["total"].clone()
}

#[tokio::test]
async fn searches_leave_out_entities_in_stages_that_hide_them_unless_requested() {
    let app = app().await;
    let before = found(&app).await;
    assert!(
        before.iter().all(|(_, it)| *it == 1 || *it == DATASET),
        "{before:?}"
    );
    set(&app, DATASET, Some(DRAFT)).await;
    let hidden = found(&app).await;
    assert!(
        hidden.iter().all(|(_, it)| *it == 0 || it.is_null()),
        "{hidden:?}"
    );
    for input in [
        "searchFlags: { includeHiddenLifecycleStages: true }".to_owned(),
        format!(r#"orFilters: [{{ and: [{{ field: "lifecycleStage", values: ["{DRAFT}"] }}] }}]"#),
    ] {
        assert_eq!(total(&app, &input).await, 1, "{input}");
    }
    let other =
        format!(r#"orFilters: [{{ and: [{{ field: "lifecycleStage", values: ["{ANY}"] }}] }}]"#);
    assert_eq!(total(&app, &other).await, 0);
    let body = json!({"input": "*", "entity": "dataset", "start": 0, "count": 10,
        "searchFlags": {"includeHiddenLifecycleStages": true}});
    let (_, reply) = app.post("/entities?action=search", &body).await;
    assert_eq!(reply["value"]["numEntities"], 1, "{reply}");
    // Listings return everything, and lineage has no gaps.
    let (_, reply) = app.get("/openapi/v3/entity/dataset?aspects=status").await;
    assert_eq!(reply["entities"][0]["urn"], DATASET, "{reply}");
    // The definition of the stage decides, also after the fact.
    let stamp = json!({"time": 1, "actor": USER});
    let mut stage = json!({"name": "Draft", "settings": {"hideInSearch": false}, "created": stamp,
        "lastModified": stamp});
    app.ingest(DRAFT, "lifecycleStageTypeInfo", &stage).await;
    assert_eq!(found(&app).await, before);
    stage["settings"]["hideInSearch"] = json!(true);
    app.ingest(DRAFT, "lifecycleStageTypeInfo", &stage).await;
    assert_eq!(total(&app, "").await, 0);
    app.ingest(DRAFT, "status", &json!({"removed": true})).await;
    assert_eq!(found(&app).await, before);
}

#[tokio::test]
async fn a_stage_for_no_types_hides_nothing() {
    let app = app().await;
    set(&app, DATASET, Some(ANY)).await;
    assert_eq!(total(&app, "").await, 0);
    disable_any(&app).await;
    assert_eq!(total(&app, "").await, 1);
}
