//! Deprecation and soft deletion.

use crate::support::{App, DATASET, MISSING, USER};
use serde_json::json;

const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";

async fn app() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    app
}

#[tokio::test]
async fn a_dataset_is_deprecated_and_undeprecated() {
    let app = app().await;
    let input = json!({"urn": DATASET, "deprecated": true, "decommissionTime": 5, "note": "use the other", "replacement": OTHER});
    assert_eq!(
        app.mutate("updateDeprecation", "UpdateDeprecationInput", input)
            .await,
        true
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ deprecation {{ deprecated decommissionTime note actor replacement {{ urn }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["deprecation"],
        json!({"deprecated": true, "decommissionTime": 5, "note": "use the other", "actor": USER, "replacement": {"urn": OTHER}})
    );
    let input = json!({"urn": DATASET, "deprecated": false});
    app.mutate("updateDeprecation", "UpdateDeprecationInput", input)
        .await;
    assert_eq!(
        app.aspect(DATASET, "deprecation").await,
        Some(json!({"deprecated": false, "note": "", "actor": USER}))
    );
}

#[tokio::test]
async fn deprecating_many_targets_and_columns_is_atomic() {
    let app = app().await;
    let input = |last: &str| {
        json!({"deprecated": true, "note": "n", "resources": [
            {"resourceUrn": DATASET},
            {"resourceUrn": DATASET, "subResourceType": "DATASET_FIELD", "subResource": "user_name"},
            {"resourceUrn": last},
        ]})
    };
    let kind = "BatchUpdateDeprecationInput";
    assert_eq!(
        app.mutate_error("batchUpdateDeprecation", kind, input(MISSING))
            .await,
        (
            400,
            format!(
                "item 2 ({MISSING}): Failed to update deprecation for Entity {MISSING}. Entity does not exist."
            )
        )
    );
    assert_eq!(app.aspect(DATASET, "deprecation").await, None);
    app.mutate("batchUpdateDeprecation", kind, input(OTHER))
        .await;
    let deprecated = json!({"deprecated": true, "note": "n", "actor": USER});
    for urn in [
        DATASET,
        OTHER,
        &format!("urn:li:schemaField:({DATASET},user_name)"),
    ] {
        assert_eq!(
            app.aspect(urn, "deprecation").await.as_ref(),
            Some(&deprecated),
            "{urn}"
        );
    }
    let column = json!({"urn": DATASET, "subResourceType": "DATASET_FIELD", "subResource": "none", "deprecated": true});
    let (code, message) = app
        .mutate_error("updateDeprecation", "UpdateDeprecationInput", column)
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("Field none does not exist"), "{message}");
    let lost = json!({"urn": DATASET, "deprecated": true, "replacement": MISSING});
    let (code, message) = app
        .mutate_error("updateDeprecation", "UpdateDeprecationInput", lost)
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("replacement"), "{message}");
}

#[tokio::test]
async fn soft_deleted_entities_are_hidden_until_restored() {
    let app = app().await;
    let kind = "BatchUpdateSoftDeletedInput";
    let found = r#"{ searchAcrossEntities(input: {types: [DATASET], query: "*"}) { total } }"#;
    for (deleted, total) in [(true, 0), (false, 2)] {
        let input = json!({"urns": [DATASET, OTHER], "deleted": deleted});
        assert_eq!(
            app.mutate("batchUpdateSoftDeleted", kind, input).await,
            true
        );
        assert_eq!(
            app.aspect(DATASET, "status").await,
            Some(json!({"removed": deleted}))
        );
        let reply = app.graphql(found).await;
        assert_eq!(reply["data"]["searchAcrossEntities"]["total"], total);
    }
    let input = json!({"urns": [DATASET, MISSING], "deleted": true});
    assert_eq!(
        app.mutate_error("batchUpdateSoftDeleted", kind, input)
            .await,
        (
            400,
            format!(
                "item 1 ({MISSING}): Failed to soft delete entity with urn {MISSING}. Entity does not exist."
            )
        )
    );
    assert_eq!(
        app.aspect(DATASET, "status").await,
        Some(json!({"removed": false}))
    );
    let input = json!({"urns": ["urn:li:domain:d"], "deleted": true});
    let (code, message) = app
        .mutate_error("batchUpdateSoftDeleted", kind, input)
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("cannot be soft-deleted"), "{message}");
}
