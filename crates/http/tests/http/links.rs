//! Links, identified by URL and label together.

use crate::support::{App, DATASET, MISSING, NOW_MS, USER};
use serde_json::{Value, json};

async fn mutate(app: &App, field: &str, kind: &str, input: Value) -> Value {
    let query = format!("mutation ($input: {kind}!) {{ {field}(input: $input) }}");
    app.graphql_with(&query, json!({"input": input})).await
}

async fn add(app: &App, url: &str, label: &str) -> Value {
    let input = json!({"linkUrl": url, "label": label, "resourceUrn": DATASET});
    mutate(app, "addLink", "AddLinkInput", input).await
}

async fn links(app: &App) -> Vec<(String, String)> {
    let stored = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    let text = |link: &Value, name: &str| link[name].as_str().unwrap().to_owned();
    stored["elements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| (text(link, "url"), text(link, "description")))
        .collect()
}

fn pair(url: &str, label: &str) -> (String, String) {
    (url.to_owned(), label.to_owned())
}

fn message(reply: &Value) -> (u64, &str) {
    let error = &reply["errors"][0];
    (
        error["extensions"]["code"].as_u64().unwrap_or_default(),
        error["message"].as_str().unwrap_or_default(),
    )
}

#[tokio::test]
async fn a_link_is_added_once_per_url_and_label() {
    let app = App::with_dataset().await;
    let done = json!({"data": {"addLink": true}, "extensions": {}});
    assert_eq!(add(&app, "https://a.example", "A").await, done);
    assert_eq!(add(&app, "https://a.example", "B").await, done);
    assert_eq!(
        message(&add(&app, "https://a.example", "A").await),
        (
            400,
            "The link 'https://a.example' with label 'A' already exists"
        )
    );
    assert_eq!(
        links(&app).await,
        [
            pair("https://a.example", "A"),
            pair("https://a.example", "B")
        ]
    );
    let stored = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    assert_eq!(
        stored["elements"][0]["createStamp"],
        json!({"time": NOW_MS, "actor": USER})
    );
}

#[tokio::test]
async fn updating_a_link_keeps_its_position() {
    let app = App::with_dataset().await;
    add(&app, "https://a.example", "A").await;
    add(&app, "https://b.example", "B").await;
    app.clock.advance(5);
    let update = |label: &str, new_url: &str, new_label: &str| {
        json!({"currentUrl": "https://a.example", "currentLabel": label, "linkUrl": new_url, "label": new_label,
               "resourceUrn": DATASET, "settings": {"showInAssetPreview": true}})
    };
    let reply = mutate(
        &app,
        "updateLink",
        "UpdateLinkInput",
        update("Z", "https://c.example", "C"),
    )
    .await;
    assert_eq!(
        message(&reply),
        (
            400,
            "Failed to update the link 'https://a.example' with label 'Z'. The link does not exist"
        )
    );
    let reply = mutate(
        &app,
        "updateLink",
        "UpdateLinkInput",
        update("A", "https://b.example", "B"),
    )
    .await;
    assert_eq!(message(&reply).0, 400, "the new pair is another link's");
    let reply = mutate(
        &app,
        "updateLink",
        "UpdateLinkInput",
        update("A", "https://c.example", "C"),
    )
    .await;
    assert_eq!(reply["data"]["updateLink"], true, "{reply}");
    assert_eq!(
        links(&app).await,
        [
            pair("https://c.example", "C"),
            pair("https://b.example", "B")
        ]
    );
    let read = format!(
        r#"{{ dataset(urn: "{DATASET}") {{ institutionalMemory {{ elements {{
            label created {{ time actor }} updated {{ time }} associatedUrn settings {{ showInAssetPreview }}
            actor {{ ... on CorpUser {{ username }} }}
        }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["dataset"]["institutionalMemory"]["elements"][0],
        json!({
            "label": "C", "created": {"time": NOW_MS, "actor": USER}, "updated": {"time": NOW_MS + 5},
            "associatedUrn": DATASET, "settings": {"showInAssetPreview": true}, "actor": {"username": "datahub"}
        })
    );
}

#[tokio::test]
async fn links_are_upserted_and_removed() {
    let app = App::with_dataset().await;
    let input = json!({"linkUrl": "https://a.example", "label": "A", "resourceUrn": DATASET});
    for _ in 0..2 {
        let reply = mutate(&app, "upsertLink", "UpsertLinkInput", input.clone()).await;
        assert_eq!(reply["data"]["upsertLink"], true, "{reply}");
    }
    assert_eq!(links(&app).await, [pair("https://a.example", "A")]);
    add(&app, "https://a.example", "B").await;
    let remove = |label: Option<&str>| json!({"linkUrl": "https://a.example", "label": label, "resourceUrn": DATASET});
    for _ in 0..2 {
        let reply = mutate(&app, "removeLink", "RemoveLinkInput", remove(Some("A"))).await;
        assert_eq!(reply["data"]["removeLink"], true, "{reply}");
        assert_eq!(links(&app).await, [pair("https://a.example", "B")]);
    }
    mutate(&app, "removeLink", "RemoveLinkInput", remove(None)).await;
    assert_eq!(links(&app).await, []);
}

#[tokio::test]
async fn links_with_unsafe_schemes_are_rejected() {
    let app = App::with_dataset().await;
    for (url, scheme) in [
        ("javascript:alert(1)", "javascript"),
        ("no-scheme", "null"),
        ("data:x", "data"),
    ] {
        let reply = add(&app, url, "x").await;
        let expected = format!(
            "Failed to change institutional memory for resource {DATASET}. URL scheme '{scheme}' is not allowed."
        );
        assert_eq!(message(&reply).0, 400);
        assert!(message(&reply).1.starts_with(&expected), "{reply}");
    }
    for url in [
        "https://",
        "http:",
        "https:///?a",
        "https://:80/a",
        "mailto:",
    ] {
        let reply = add(&app, url, "x").await;
        let expected = format!("'{url}' is not a whole URL");
        assert_eq!(message(&reply).0, 400, "{reply}");
        assert!(message(&reply).1.contains(&expected), "{reply}");
    }
    for url in [
        "HTTPS://a.example",
        "mailto:a@a.example",
        "ftp://me@a.example:21/b",
    ] {
        assert_eq!(add(&app, url, "x").await["data"]["addLink"], true, "{url}");
    }
    let update = format!(
        r#"mutation {{ updateDataset(urn: "{DATASET}", input: {{ institutionalMemory: {{ elements: {{
            author: "{USER}", url: "javascript:alert(1)", description: "x" }} }} }}) {{ urn }} }}"#
    );
    assert_eq!(app.graphql_error(&update).await.0, 400);
}

#[tokio::test]
async fn links_need_an_existing_entity() {
    let app = App::with_dataset().await;
    let input =
        |urn: &str| json!({"linkUrl": "https://a.example", "label": "A", "resourceUrn": urn});
    let reply = mutate(&app, "addLink", "AddLinkInput", input(MISSING)).await;
    assert_eq!(
        message(&reply),
        (
            400,
            &*format!(
                "Failed to change institutional memory for resource {MISSING}. Resource does not exist."
            )
        )
    );
    let reply = mutate(&app, "addLink", "AddLinkInput", input(USER)).await;
    assert_eq!(message(&reply).0, 400, "users have no links: {reply}");
}

#[tokio::test]
async fn writing_another_link_directly_keeps_what_was_stored_under_two_labels() {
    let app = App::with_dataset().await;
    add(&app, "https://a.example", "one").await;
    add(&app, "https://a.example", "two").await;
    let link = |url: &str, label: &str| {
        let stamp = json!({"time": NOW_MS, "actor": USER});
        json!({"url": url, "description": label, "createStamp": stamp})
    };
    let patches = [
        json!([{"op": "add", "path": "/elements/-", "value": link("https://b.example", "b")}]),
        json!({
            "patch": [{"op": "add", "path": "/elements/https:~1~1c.example", "value": link("https://c.example", "c")}],
            "arrayPrimaryKeys": {"elements": ["url"]},
        }),
        json!([{"op": "add", "path": "/elements/-", "value": link("https://a.example", "third")}]),
    ];
    for patch in patches {
        let (status, body) = app
            .propose("PATCH", DATASET, "institutionalMemory", &patch)
            .await;
        assert_eq!(status, 200, "{body}");
    }
    let mut expected = vec![
        pair("https://a.example", "one"),
        pair("https://a.example", "two"),
        pair("https://b.example", "b"),
        pair("https://c.example", "c"),
    ];
    assert_eq!(links(&app).await, expected);
    let mut whole = app.aspect(DATASET, "institutionalMemory").await.unwrap();
    let elements = whole["elements"].as_array_mut().unwrap();
    elements.push(link("https://d.example", "d"));
    app.ingest(DATASET, "institutionalMemory", &whole).await;
    expected.push(pair("https://d.example", "d"));
    assert_eq!(links(&app).await, expected);
}

#[tokio::test]
async fn links_added_by_groups_or_services_do_not_hide_others() {
    let app = App::with_dataset().await;
    let link = |url: &str, actor: &str| json!({"url": url, "description": url, "createStamp": {"time": 1, "actor": actor}});
    let actors = [
        USER,
        "urn:li:corpGroup:eng",
        "urn:li:dataHubIngestionSource:nightly",
    ];
    let links: Vec<_> = actors.iter().map(|actor| link(actor, actor)).collect();
    app.ingest(DATASET, "institutionalMemory", &json!({"elements": links}))
        .await;
    let reply = app
        .graphql(&format!(
            r#"{{ dataset(urn: "{DATASET}") {{ institutionalMemory {{ elements {{
                author {{ urn username info {{ email }} }}
                actor {{ __typename ... on CorpUser {{ urn username }} ... on CorpGroup {{ urn name }} }}
            }} }} }} }}"#
        ))
        .await;
    let author = |at: usize, name: &str| json!({"urn": actors[at], "username": name, "info": null});
    assert_eq!(
        reply,
        json!({"data": {"dataset": {"institutionalMemory": {"elements": [
            {"author": author(0, "datahub"), "actor": {"__typename": "CorpUser", "urn": USER, "username": "datahub"}},
            {"author": author(1, "eng"), "actor": {"__typename": "CorpGroup", "urn": actors[1], "name": "eng"}},
            {"author": author(2, "nightly"), "actor": {"__typename": "CorpUser", "urn": actors[2], "username": "nightly"}},
        ]}}}, "extensions": {}})
    );
}
