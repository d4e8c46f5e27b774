//! `linkAssetVersion` and `unlinkAssetVersion`, and versions from ingestion.

use serde_json::{Value, json};

use crate::support::App;

const SET: &str = "urn:li:versionSet:(reports,dataset)";

fn table(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

async fn app() -> App {
    let app = App::empty().await;
    for name in ["one", "two"] {
        let status = json!({"removed": false});
        app.ingest(&table(name), "status", &status).await;
    }
    app
}

async fn send(app: &App, mutation: &str) -> Value {
    app.graphql(&format!("mutation {{ {mutation} {{ urn }} }}"))
        .await
}

fn link(name: &str) -> String {
    let table = table(name);
    format!(
        r#"linkAssetVersion(input: {{ versionSet: "{SET}", linkedEntity: "{table}", version: "v-{name}",
            comment: "c", sourceTimestamp: 5, sourceCreator: "ada" }})"#
    )
}

fn unlink(name: &str) -> String {
    let table = table(name);
    format!(r#"unlinkAssetVersion(input: {{ versionSet: "{SET}", unlinkedEntity: "{table}" }})"#)
}

/// The versions of the set from the latest to the first, with `isLatest`.
async fn versions(app: &App) -> Value {
    let query = format!(
        r#"{{ versionSet(urn: "{SET}") {{
            latestVersion {{ urn }}
            versionsSearch(input: {{ query: "*" }}) {{ searchResults {{ entity {{ ... on Dataset {{
                name versionProperties {{ isLatest comment version {{ versionTag }} createdInSource {{ time actor {{ urn }} }} }}
            }} }} }} }} }} }}"#
    );
    app.graphql(&query).await["data"]["versionSet"].clone()
}

fn version(name: &str, is_latest: bool) -> Value {
    json!({"entity": {"name": name, "versionProperties": {
        "isLatest": is_latest, "comment": "c", "version": {"versionTag": format!("v-{name}")},
        "createdInSource": {"time": 5, "actor": {"urn": "urn:li:corpuser:ada"}},
    }}})
}

#[tokio::test]
async fn the_linked_version_is_the_latest() {
    let app = app().await;
    for name in ["one", "two"] {
        let reply = send(&app, &link(name)).await;
        assert_eq!(
            reply["data"]["linkAssetVersion"],
            json!({"urn": SET}),
            "{reply}"
        );
    }
    assert_eq!(
        versions(&app).await,
        json!({
            "latestVersion": {"urn": table("two")},
            "versionsSearch": {"searchResults": [version("two", true), version("one", false)]},
        })
    );
    let reply = send(&app, &link("one")).await;
    let error = &reply["errors"][0];
    assert_eq!(error["extensions"]["code"], 409, "{reply}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("unlink it first"), "{message}");
    assert_eq!(versions(&app).await["latestVersion"]["urn"], table("two"));
}

#[tokio::test]
async fn unlinking_makes_the_version_before_it_the_latest() {
    let app = app().await;
    for name in ["one", "two"] {
        send(&app, &link(name)).await;
    }
    let reply = send(&app, &unlink("two")).await;
    assert_eq!(
        reply["data"]["unlinkAssetVersion"],
        json!({"urn": SET}),
        "{reply}"
    );
    assert_eq!(app.aspect(&table("two"), "versionProperties").await, None);
    assert_eq!(
        versions(&app).await,
        json!({
            "latestVersion": {"urn": table("one")},
            "versionsSearch": {"searchResults": [version("one", true)]},
        })
    );
    let reply = send(&app, &unlink("two")).await;
    assert_eq!(
        reply["data"],
        json!({"unlinkAssetVersion": null}),
        "{reply}"
    );
    // The set goes with its last version.
    send(&app, &unlink("one")).await;
    assert_eq!(app.aspect(SET, "versionSetKey").await, None);
}

#[tokio::test]
async fn what_cannot_be_a_version_is_rejected() {
    let app = app().await;
    send(&app, &link("one")).await;
    let other = link("one").replace("(reports,", "(others,");
    let wrong_type = link("two").replace(",dataset)", ",chart)");
    let not_in_it = unlink("one").replace("(reports,", "(others,");
    let unnamed = link("two").replace("v-two", " ");
    for (mutation, code) in [
        (other, 409),
        (wrong_type, 400),
        (not_in_it, 400),
        (unnamed, 400),
        (link("missing"), 400),
        (unlink("missing"), 400),
    ] {
        let reply = send(&app, &mutation).await;
        assert_eq!(
            reply["errors"][0]["extensions"]["code"], code,
            "{mutation}: {reply}"
        );
    }
}

#[tokio::test]
async fn searches_leave_out_older_versions_unless_requested() {
    let app = app().await;
    for name in ["one", "two"] {
        send(&app, &link(name)).await;
    }
    let plain = table("three");
    let status = json!({"removed": false});
    app.ingest(&plain, "status", &status).await;
    let (latest, all) = (vec![plain.clone(), table("two")], {
        vec![table("one"), plain, table("two")]
    });
    for (input, expected) in [
        ("", &latest),
        ("searchFlags: { filterNonLatestVersions: true }", &latest),
        ("searchFlags: { filterNonLatestVersions: false }", &all),
        (
            r#"orFilters: [{ and: [{ field: "isLatest", values: ["false"] }, { field: "versionSet", condition: EXISTS }] }]"#,
            &vec![table("one")],
        ),
    ] {
        let query = format!(
            r#"{{ searchAcrossEntities(input: {{ types: [DATASET], query: "*", {input} }})
                {{ total searchResults {{ entity {{ urn }} }} }} }}"#
        );
        let reply = app.graphql(&query).await;
        let found = reply["data"]["searchAcrossEntities"].clone();
        let hits = found["searchResults"].as_array().unwrap().iter();
        let mut urns: Vec<&str> = hits.filter_map(|it| it["entity"]["urn"].as_str()).collect();
        urns.sort_unstable();
        assert_eq!(urns, *expected, "{input}");
        assert_eq!(found["total"], urns.len(), "{input}");
    }
    let body = json!({"input": "*", "entity": "dataset", "start": 0, "count": 10,
        "searchFlags": {"filterNonLatestVersions": false}});
    let (_, reply) = app.post("/entities?action=search", &body).await;
    assert_eq!(reply["value"]["numEntities"], 3, "{reply}");
}

async fn ingest_version(app: &App, name: &str, sort_id: &str) {
    let value = json!({
        "versionSet": SET, "version": {"versionTag": name}, "sortId": sort_id,
        "versioningScheme": "LEXICOGRAPHIC_STRING",
    });
    app.ingest(&table(name), "versionProperties", &value).await;
}

async fn is_latest(app: &App, name: &str) -> bool {
    let properties = app.aspect(&table(name), "versionProperties").await;
    properties.is_some_and(|properties| properties["isLatest"] == json!(true))
}

#[tokio::test]
async fn the_ingested_version_with_the_highest_sort_id_is_the_latest() {
    let app = app().await;
    let set = async || app.aspect(SET, "versionSetProperties").await;
    let latest =
        |name| Some(json!({"versioningScheme": "LEXICOGRAPHIC_STRING", "latest": table(name)}));
    ingest_version(&app, "one", "b").await;
    assert_eq!(set().await, latest("one"));
    assert!(is_latest(&app, "one").await);
    ingest_version(&app, "two", "a").await;
    assert_eq!(set().await, latest("one"));
    assert!(!is_latest(&app, "two").await);
    ingest_version(&app, "two", "c").await;
    assert_eq!(set().await, latest("two"));
    assert!(is_latest(&app, "two").await);
    assert!(!is_latest(&app, "one").await);
    // Again, it stays the latest.
    ingest_version(&app, "two", "c").await;
    assert!(is_latest(&app, "two").await);
    assert_eq!(
        versions(&app).await["latestVersion"]["urn"],
        json!(table("two"))
    );
}

#[tokio::test]
async fn the_ingested_latest_version_of_a_set_is_marked() {
    let app = app().await;
    ingest_version(&app, "one", "b").await;
    ingest_version(&app, "two", "a").await;
    let value = json!({"versioningScheme": "LEXICOGRAPHIC_STRING", "latest": table("two")});
    app.ingest(SET, "versionSetProperties", &value).await;
    assert!(is_latest(&app, "two").await);
    assert!(!is_latest(&app, "one").await);
}
