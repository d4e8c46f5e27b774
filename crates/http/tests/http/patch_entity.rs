//! Patches over GraphQL. The semantics of patches are tested in `patches`, over REST.

use crate::support::{App, DATASET, USER};
use serde_json::{Value, json};

async fn patch(app: &App, input: Value) -> Value {
    let query = "mutation ($input: PatchEntityInput!) { patchEntity(input: $input) { urn name success error } }";
    app.graphql_with(query, json!({"input": input})).await
}

fn tags(tag: &str) -> Value {
    json!([{"op": "ADD", "path": format!("/tags/{tag}"), "value": json!({"tag": tag}).to_string()}])
}

#[tokio::test]
async fn a_patch_changes_only_its_path() {
    let app = App::with_dataset().await;
    for tag in ["urn:li:tag:a", "urn:li:tag:b"] {
        let input = json!({"urn": DATASET, "aspectName": "globalTags", "patch": tags(tag)});
        let reply = patch(&app, input).await;
        let done = json!({"urn": DATASET, "name": null, "success": true, "error": null});
        assert_eq!(reply["data"]["patchEntity"], done, "{reply}");
    }
    assert_eq!(
        app.aspect(DATASET, "globalTags").await,
        Some(json!({"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]}))
    );
    // A value that is not JSON is taken as text.
    let text = json!([{"op": "REPLACE", "path": "/description", "value": "all users, deleted"}]);
    let system_metadata =
        json!({"runId": "patching", "lastObserved": 5, "properties": [{"key": "k", "value": "v"}]});
    let input = json!({"urn": DATASET, "aspectName": "datasetProperties", "patch": text, "systemMetadata": system_metadata});
    patch(&app, input).await;
    let properties = app.aspect(DATASET, "datasetProperties").await.unwrap();
    assert_eq!(properties["description"], "all users, deleted");
    let owner = json!({"owner": USER, "type": "NONE"}).to_string();
    let keyed = json!({
        "urn": DATASET, "entityType": "dataset", "aspectName": "ownership",
        "arrayPrimaryKeys": [{"arrayField": "owners", "keys": ["owner", "type"]}],
        "patch": [{"op": "ADD", "path": format!("/owners/{USER}/NONE"), "value": owner}],
    });
    let reply = patch(&app, keyed).await;
    assert_eq!(reply["data"]["patchEntity"]["success"], true, "{reply}");
    let ownership = app.aspect(DATASET, "ownership").await.unwrap();
    assert_eq!(
        ownership["owners"],
        json!([{"owner": USER, "type": "NONE"}])
    );
}

#[tokio::test]
async fn a_patch_without_a_urn_creates_an_entity() {
    let app = App::empty().await;
    let input = json!({"entityType": "tag", "aspectName": "tagProperties",
        "patch": [{"op": "ADD", "path": "/name", "value": "\"PII\""}]});
    let reply = patch(&app, input).await;
    let urn = reply["data"]["patchEntity"]["urn"].as_str().unwrap();
    assert!(urn.starts_with("urn:li:tag:"), "{reply}");
    assert_eq!(reply["data"]["patchEntity"]["name"], "PII");
    assert_eq!(
        app.aspect(urn, "tagProperties").await,
        Some(json!({"name": "PII"}))
    );
}

#[tokio::test]
async fn several_patches_are_atomic() {
    let app = App::with_dataset().await;
    let query =
        "mutation ($input: [PatchEntityInput!]!) { patchEntities(input: $input) { urn success } }";
    let good = json!({"urn": DATASET, "aspectName": "globalTags", "patch": tags("urn:li:tag:a")});
    let bad = json!({"urn": DATASET, "aspectName": "globalTags",
        "patch": [{"op": "ADD", "path": "/tags/x", "value": "{\"tag\": 5}"}]});
    let reply = app.graphql_with(query, json!({"input": [good, bad]})).await;
    assert_eq!(reply["data"], Value::Null, "{reply}");
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400);
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("item 1 "), "{message}");
    let unknown = json!({"urn": DATASET, "aspectName": "none", "patch": []});
    let input = json!({"input": [good, unknown]});
    let reply = app.graphql_with(query, input).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("item 1 ({DATASET} none): ")),
        "{message}"
    );
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
    let reply = app
        .graphql_with(query, json!({"input": [good, good]}))
        .await;
    let done = json!({"urn": DATASET, "success": true});
    assert_eq!(reply["data"]["patchEntities"], json!([done, done]));
}

#[tokio::test]
async fn invalid_patches_are_rejected() {
    let app = App::with_dataset().await;
    let tag = tags("urn:li:tag:a");
    for input in [
        json!({"aspectName": "globalTags", "patch": tag}),
        json!({"entityType": "dataset", "aspectName": "globalTags", "patch": tag}),
        json!({"urn": DATASET, "entityType": "chart", "aspectName": "globalTags", "patch": tag}),
        json!({"urn": DATASET, "aspectName": "nothing", "patch": tag}),
        json!({"urn": DATASET, "aspectName": "domainProperties", "patch": tag}),
        json!({"urn": DATASET, "aspectName": "globalTags", "patch": [{"op": "ADD", "path": "tags"}]}),
        json!({"urn": DATASET, "aspectName": "globalTags", "patch": tag, "headers": [{"key": "If-Version-Match", "value": "x"}]}),
        json!({"urn": "urn:li:dataHubAccessToken:x", "aspectName": "dataHubAccessTokenInfo",
            "patch": [{"op": "ADD", "path": "/name", "value": "x"}]}),
    ] {
        let reply = patch(&app, input.clone()).await;
        let code = reply["errors"][0]["extensions"]["code"]
            .as_u64()
            .unwrap_or_default();
        assert!((400..500).contains(&code), "{input}: {reply}");
    }
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
}

#[tokio::test]
async fn patches_check_the_preconditions_in_their_headers() {
    let app = App::with_dataset().await;
    let conditional = |tag: &str, header: &str, value: &str| {
        let headers = json!([{"key": "X-Other", "value": "x"}, {"key": header, "value": value}]);
        json!({"urn": DATASET, "aspectName": "globalTags", "patch": tags(tag), "headers": headers})
    };
    let first = conditional("urn:li:tag:a", "if-none-match", "*");
    let reply = patch(&app, first.clone()).await;
    assert_eq!(reply["data"]["patchEntity"]["success"], true, "{reply}");
    for input in [first, conditional("urn:li:tag:b", "If-Version-Match", "2")] {
        let reply = patch(&app, input).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 412, "{reply}");
        let message = reply["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains("actual version 1"), "{message}");
    }
    let reply = patch(&app, conditional("urn:li:tag:b", "If-Version-Match", "1")).await;
    assert_eq!(reply["data"]["patchEntity"]["success"], true, "{reply}");
    let stored = app.aspect(DATASET, "globalTags").await.unwrap();
    assert_eq!(stored["tags"].as_array().unwrap().len(), 2, "{stored}");
}
