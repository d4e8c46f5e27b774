//! `GET /openapi/v2/timeline/v1/{urn}`: the change history of an entity.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, USER, encoded};

async fn timeline(app: &App, categories: &str) -> Vec<Value> {
    let path = format!(
        "/openapi/v2/timeline/v1/{}?categories={categories}",
        encoded(DATASET)
    );
    let (status, reply) = app.get(&path).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    reply.as_array().unwrap().clone()
}

/// (operation, modifier) of each event of each transaction.
fn events(moments: &[Value]) -> Vec<Vec<(String, Option<String>)>> {
    let event = |event: &Value| {
        (
            event["operation"].as_str().unwrap().to_owned(),
            event["modifier"].as_str().map(str::to_owned),
        )
    };
    moments
        .iter()
        .map(|moment| {
            moment["changeEvents"]
                .as_array()
                .unwrap()
                .iter()
                .map(event)
                .collect()
        })
        .collect()
}

fn one(operation: &str, modifier: Option<&str>) -> Vec<(String, Option<String>)> {
    vec![(operation.to_owned(), modifier.map(str::to_owned))]
}

#[tokio::test]
async fn documentation_is_added_changed_and_removed() {
    let app = App::with_dataset().await;
    for text in [
        json!({"description": "one"}),
        json!({"description": "two"}),
        json!({}),
    ] {
        app.clock.advance(1000);
        app.ingest(DATASET, "editableDatasetProperties", &text)
            .await;
    }
    let moments = timeline(&app, "DOCUMENTATION").await;
    // The first transaction has the descriptions of the dataset and its two columns.
    assert_eq!(events(&moments)[0].len(), 3, "{moments:?}");
    assert_eq!(
        events(&moments)[1..],
        [one("ADD", None), one("MODIFY", None), one("REMOVE", None)]
    );
    let last = &moments[3];
    assert_eq!(last["timestamp"], NOW_MS + 3000);
    assert_eq!(last["actor"], USER);
    assert_eq!(last["semVer"], "0.0.4");
    let event = &last["changeEvents"][0];
    assert_eq!(event["category"], "DOCUMENTATION");
    assert_eq!(event["entityUrn"], DATASET);
    assert_eq!(event["description"], "The documentation was removed.");

    let path = format!(
        "/openapi/v2/timeline/v1/{}?categories=DOCUMENTATION&startTime={}&endTime={}",
        encoded(DATASET),
        NOW_MS + 1000,
        NOW_MS + 2000
    );
    let (_, some) = app.get(&path).await;
    assert_eq!(some.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn tags_terms_owners_and_domains_have_their_own_categories() {
    let app = App::with_dataset().await;
    let stamp = json!({"time": NOW_MS, "actor": USER});
    app.clock.advance(1);
    app.ingest(
        DATASET,
        "globalTags",
        &json!({"tags": [{"tag": "urn:li:tag:a"}]}),
    )
    .await;
    app.ingest(
        DATASET,
        "glossaryTerms",
        &json!({"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": stamp}),
    )
    .await;
    app.ingest(
        DATASET,
        "ownership",
        &json!({"owners": [{"owner": USER, "type": "DATAOWNER"}]}),
    )
    .await;
    app.ingest(DATASET, "domains", &json!({"domains": ["urn:li:domain:d"]}))
        .await;
    app.clock.advance(1);
    app.ingest(
        DATASET,
        "globalTags",
        &json!({"tags": [{"tag": "urn:li:tag:b"}]}),
    )
    .await;
    let columns = json!({"editableSchemaFieldInfo": [
        {"fieldPath": "user_name", "globalTags": {"tags": [{"tag": "urn:li:tag:c"}]}},
    ]});
    app.clock.advance(1);
    app.ingest(DATASET, "editableSchemaMetadata", &columns)
        .await;
    let tags = timeline(&app, "TAG").await;
    assert_eq!(
        events(&tags),
        [
            one("ADD", Some("urn:li:tag:a")),
            [
                one("ADD", Some("urn:li:tag:b")),
                one("REMOVE", Some("urn:li:tag:a"))
            ]
            .concat(),
            one("ADD", Some("urn:li:tag:c")),
        ]
    );
    let on_column = &tags[2]["changeEvents"][0];
    assert_eq!(on_column["parameters"], json!({"fieldPath": "user_name"}));
    for (category, modifier) in [
        ("GLOSSARY_TERM", "urn:li:glossaryTerm:t"),
        ("TERM", "urn:li:glossaryTerm:t"),
        ("OWNER", USER),
        ("ownership", USER),
        ("DOMAIN", "urn:li:domain:d"),
    ] {
        assert_eq!(
            events(&timeline(&app, category).await),
            [one("ADD", Some(modifier))],
            "{category}"
        );
    }
    assert_eq!(timeline(&app, "TAG,DOMAIN").await.len(), 3);
}

#[tokio::test]
async fn removing_a_column_is_a_major_change() {
    let app = App::with_dataset().await;
    let mut schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    schema["fields"].as_array_mut().unwrap().remove(0);
    schema["fields"][0]["nativeDataType"] = json!("bigint");
    app.clock.advance(1);
    app.ingest(DATASET, "schemaMetadata", &schema).await;
    let moments = timeline(&app, "TECHNICAL_SCHEMA").await;
    let column = |name: &str| format!("urn:li:schemaField:({DATASET},{name})");
    assert_eq!(
        events(&moments)[1],
        [
            one("MODIFY", Some(&column("timestamp"))),
            one("REMOVE", Some(&column("user_name"))),
        ]
        .concat()
    );
    assert_eq!(moments[0]["semVer"], "0.1.0");
    assert_eq!(
        (&moments[1]["semVer"], &moments[1]["semVerChange"]),
        (&json!("1.0.0"), &json!("MAJOR"))
    );
}

#[tokio::test]
async fn the_timeline_starts_at_the_oldest_retained_version() {
    let app = App::with_dataset().await;
    for number in 0..30 {
        app.clock.advance(1);
        app.ingest(
            DATASET,
            "globalTags",
            &json!({"tags": [{"tag": format!("urn:li:tag:t{number}")}]}),
        )
        .await;
    }
    let moments = timeline(&app, "TAG").await;
    assert_eq!(moments.len(), 19);
    assert!(events(&moments).iter().all(|events| events.len() == 2));
}

#[tokio::test]
async fn invalid_timeline_requests_are_rejected_with_a_message() {
    let app = App::with_dataset().await;
    for (path, expected) in [
        (
            format!("/openapi/v2/timeline/v1/{}", encoded(DATASET)),
            "categories",
        ),
        (
            format!(
                "/openapi/v2/timeline/v1/{}?categories=WEATHER",
                encoded(DATASET)
            ),
            "TECHNICAL_SCHEMA",
        ),
        (
            "/openapi/v2/timeline/v1/nothing?categories=TAG".to_owned(),
            "URN",
        ),
    ] {
        let (status, reply) = app.get(&path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path} {reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(expected), "{path}: {message}");
    }
}
