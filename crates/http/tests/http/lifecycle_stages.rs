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
    let mut any = stage("Any");
    any["entityTypes"] = json!([]);
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
    for stage in [None, Some("")] {
        let reply = set(&app, DATASET, stage).await;
        assert_eq!(reply["data"]["setLifecycleStage"], true, "{reply}");
        let status = stage_of(&app).await;
        assert_eq!(status["lifecycleStage"], Value::Null, "{status}");
        assert_eq!(status["removed"], true, "{status}");
    }
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
