//! Columns are entities of their own, and hidden together with their dataset.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::send;
use super::world::{self, BEHIND, COLUMN, TABLE, TAG, WORD, grant};
use crate::support::{App, DATASET, encoded, proposal};

/// A tag of columns that no dataset has.
const OPEN: &str = "urn:li:tag:open";

/// The catalog of `world.rs`, whose caller also sees every entity with the tag [`OPEN`].
async fn app(has_hidden: bool) -> (App, String) {
    let (app, vera) = world::app(has_hidden).await;
    app.ingest(OPEN, "tagProperties", &json!({"name": "open"}))
        .await;
    let tagged = json!({"filter": {"criteria": [{"field": "TAG", "values": [OPEN]}]}});
    let user = "urn:li:corpuser:vera";
    grant(&app, "open", user, &["VIEW_ENTITY_PAGE"], &tagged).await;
    (app, vera)
}

/// Stores what only a column has.
async fn describe(app: &App, column: &str) {
    let tags = json!({"tags": [{"tag": TAG}, {"tag": OPEN}]});
    app.ingest(column, "globalTags", &tags).await;
    let audit = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let text = json!({"documentations": [{"documentation": "hush",
        "attribution": {"time": 0, "actor": audit["actor"], "source": "urn:li:dataHubAction:a"}}]});
    app.ingest(column, "documentation", &text).await;
}

fn column_of(dataset: &str) -> String {
    format!("urn:li:schemaField:({dataset},user_name)")
}

/// Reads that find a column, by its name or by what it refers to.
fn reads(column: &str) -> Vec<(&'static str, String, Value)> {
    let graphql = |query: String| ("POST", "/api/graphql".to_owned(), json!({"query": query}));
    let get = |path: String| ("GET", path, Value::Null);
    let post = |path: &str, body: Value| ("POST", path.to_owned(), body);
    let edges = "relationships(input: { types: [], direction: INCOMING, start: 0, count: 100 }) {
        total relationships { entity { urn } } }";
    let urn = encoded(column);
    vec![
        graphql(format!(
            r#"{{ entity(urn: "{column}") {{ ... on SchemaFieldEntity {{ urn fieldPath parent {{ urn }} tags {{ tags {{ tag {{ urn }} }} }} }} }} }}"#
        )),
        graphql(format!(
            r#"{{ entities(urns: ["{column}"], checkForExistence: true) {{ urn }} }}"#
        )),
        graphql(format!(r#"{{ tag(urn: "{TAG}") {{ {edges} }} }}"#)),
        graphql(
            "{ recentChanges(input: { types: [SCHEMA_FIELD], count: 20 }) { entity { urn } } }"
                .to_owned(),
        ),
        get(format!("/entitiesV2/{urn}")),
        get(format!("/entities/{urn}")),
        get(format!("/aspects/{urn}?aspect=globalTags&version=0")),
        get(format!("/openapi/v3/entity/schemafield/{urn}")),
        get(format!("/openapi/v3/entity/schemafield/{urn}/globalTags")),
        get(format!(
            "/relationships?urn={}&direction=INCOMING&types=List(TaggedWith)",
            encoded(TAG)
        )),
        get(format!(
            "/openapi/relationships/v1?urn={}&direction=INCOMING&relationshipTypes=TaggedWith",
            encoded(TAG)
        )),
        post(
            "/openapi/v3/entity/schemafield/batchGet",
            json!([{"urn": column, "globalTags": {}}]),
        ),
        post(
            "/openapi/v3/relationship/scroll?count=1000&relationshipTypes=TaggedWith",
            json!({}),
        ),
        post(
            "/entities?action=listUrns",
            json!({"entity": "schemaField", "start": 0, "count": 10}),
        ),
    ]
}

#[tokio::test]
async fn a_hidden_dataset_does_not_show_through_its_columns() {
    let (with, vera) = app(true).await;
    let (without, other) = app(false).await;
    let seen = column_of(DATASET);
    describe(&with, COLUMN).await;
    for app in [&with, &without] {
        describe(app, &seen).await;
    }
    for (method, path, body) in reads(COLUMN) {
        let name = format!("{method} {path} {body}");
        let found = send(&with, &vera, method, &path, &body).await;
        let expected = send(&without, &other, method, &path, &body).await;
        assert_eq!(found, expected, "{name}");
        assert_ne!(found.0, StatusCode::BAD_REQUEST, "{name}: {}", found.1);
        let everything = send(&with, &with.token, method, &path, &body).await;
        assert_ne!(everything.1, found.1, "{name}");
    }
    for (method, path, body) in reads(&seen) {
        let found = send(&with, &vera, method, &path, &body).await;
        assert_eq!(found.0, StatusCode::OK, "{method} {path}: {}", found.1);
        assert!(
            found.1.contains(&seen) || found.1.contains(TAG),
            "{method} {path} {body}: {}",
            found.1
        );
    }
}

/// The index does not know the datasets of columns, so searches with view policies find none.
#[tokio::test]
async fn searches_find_no_column_of_a_hidden_dataset() {
    let (app, vera) = app(true).await;
    describe(&app, COLUMN).await;
    for query in ["*", "user_name", WORD, "tags:shared"] {
        for text in [
            format!(
                r#"searchAcrossEntities(input: {{ types: [SCHEMA_FIELD], query: "{query}" }}) {{ total searchResults {{ entity {{ urn }} }} }}"#
            ),
            format!(
                r#"scrollAcrossEntities(input: {{ types: [SCHEMA_FIELD], query: "{query}" }}) {{ total searchResults {{ entity {{ urn }} }} }}"#
            ),
        ] {
            let reply = app.graphql_as(&vera, &format!("{{ {text} }}")).await;
            assert_eq!(reply.get("errors"), None, "{text}: {reply}");
            assert!(
                reply.to_string().contains(r#""total":0"#),
                "{text}: {reply}"
            );
        }
    }
    let all = r#"{ searchAcrossEntities(input: { types: [SCHEMA_FIELD], query: "*" }) { total } }"#;
    let reply = app.graphql(all).await;
    assert_eq!(reply["data"]["searchAcrossEntities"]["total"], 1, "{reply}");
}

#[tokio::test]
async fn writes_do_not_find_columns_of_a_hidden_dataset() {
    let (with, vera) = app(true).await;
    let (without, other) = app(false).await;
    describe(&with, COLUMN).await;
    for name in ["user_name", "not_stored"] {
        compare_writes(&with, &vera, &without, &other, name).await;
    }
    let stored = with.aspect(COLUMN, "globalTags").await.unwrap();
    assert_eq!(stored["tags"][0]["tag"], TAG);
    // It may be written where the dataset may.
    let own = column_of(BEHIND);
    let body = json!({"proposal": proposal("UPSERT", &own, "globalTags", &json!({"tags": []}))});
    let path = "/aspects?action=ingestProposal";
    let (status, reply) = with.send_as(&vera, "POST", path, &body).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    // The right to tag the hidden dataset does not help, because it is not to be seen.
    let column = format!("urn:li:schemaField:({TABLE},not_stored)");
    let hidden = json!({"filter": {"criteria": [{"field": "DOMAIN", "values": [world::DOMAIN]}]}});
    let user = "urn:li:corpuser:vera";
    grant(&with, "tag", user, &["EDIT_ENTITY_TAGS"], &hidden).await;
    let body = json!({"proposal": proposal("UPSERT", &column, "globalTags", &json!({"tags": []}))});
    let (status, reply) = with.send_as(&vera, "POST", path, &body).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    assert_eq!(with.aspect(&column, "globalTags").await, None);
}

/// Writes to a column of [`TABLE`] have the same result on both servers.
async fn compare_writes(with: &App, vera: &str, without: &App, other: &str, name: &str) {
    let column = format!("urn:li:schemaField:({TABLE},{name})");
    let tags = json!({"tags": []});
    let described = json!({"documentations": []});
    let resource =
        format!(r#"resourceUrn: "{TABLE}", subResourceType: DATASET_FIELD, subResource: "{name}""#);
    let graphql = |mutation: String| {
        let query = json!({"query": format!("mutation {{ {mutation} }}")});
        ("POST", "/api/graphql".to_owned(), query)
    };
    let ingest = |aspect: &str, value: &Value| {
        let body = json!({"proposal": proposal("UPSERT", &column, aspect, value)});
        ("POST", "/aspects?action=ingestProposal".to_owned(), body)
    };
    let one = format!("/openapi/v3/entity/schemafield/{}", encoded(&column));
    for (method, path, body) in [
        graphql(format!(
            r#"addTag(input: {{ tagUrn: "{TAG}", resourceUrn: "{column}" }})"#
        )),
        graphql(format!(
            r#"removeTag(input: {{ tagUrn: "{TAG}", resourceUrn: "{column}" }})"#
        )),
        graphql(format!(
            r#"addTag(input: {{ tagUrn: "{TAG}", {resource} }})"#
        )),
        graphql(format!(
            r#"updateDescription(input: {{ description: "d", {resource} }})"#
        )),
        graphql(format!(
            r#"patchEntity(input: {{ urn: "{column}", aspectName: "globalTags", patch: [{{ op: REMOVE, path: "/tags" }}] }}) {{ urn }}"#
        )),
        ingest("globalTags", &tags),
        ingest("documentation", &described),
        ("DELETE", format!("{one}/globalTags"), Value::Null),
        ("DELETE", one.clone(), Value::Null),
        (
            "POST",
            "/entities?action=delete".to_owned(),
            json!({"urn": column}),
        ),
    ] {
        let found = send(with, vera, method, &path, &body).await;
        let expected = send(without, other, method, &path, &body).await;
        assert_eq!(found, expected, "{method} {path} {body}");
    }
}
