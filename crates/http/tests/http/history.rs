//! `history`, `recentChanges`, `changesByWeek`, and edits with the previous text.

use serde_json::{Value, json};

use crate::support::{App, DATASET, NOW_MS, USER, new_token};

const HISTORY: &str = "query ($input: HistoryInput!) { history(input: $input) {
    isComplete changes { version time actor { ... on CorpUser { urn } } text domain { urn exists } } } }";

const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;

async fn history(app: &App, input: Value) -> Value {
    let reply = app.graphql_with(HISTORY, json!({"input": input})).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["history"].clone()
}

/// The values of the subject, latest first.
fn values(history: &Value, member: &str) -> Vec<Value> {
    let changes = history["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|change| change[member].clone())
        .collect()
}

async fn describe(app: &App, input: Value) -> Value {
    app.mutate("updateDescription", "DescriptionUpdateInput", input)
        .await
}

#[tokio::test]
async fn the_history_of_a_description_has_actors_and_times() {
    let app = App::with_dataset().await;
    for text in ["one", "two", "two", ""] {
        app.clock.advance(1000);
        describe(&app, json!({"resourceUrn": DATASET, "description": text})).await;
    }
    // A new name is a version of the same aspect, but not of the description.
    app.clock.advance(1000);
    app.mutate(
        "updateName",
        "UpdateNameInput",
        json!({"urn": DATASET, "name": "Users"}),
    )
    .await;
    let found = history(&app, json!({"urn": DATASET, "subject": "DESCRIPTION"})).await;
    assert_eq!(found["isComplete"], true);
    assert_eq!(
        values(&found, "text"),
        [json!(null), json!("two"), json!("one")]
    );
    assert_eq!(
        values(&found, "time")[1..],
        [json!(NOW_MS + 2000), json!(NOW_MS + 1000)]
    );
    assert_eq!(found["changes"][0]["actor"]["urn"], USER);

    let ingested = json!({"urn": DATASET, "subject": "INGESTED_DESCRIPTION"});
    let found = history(&app, ingested).await;
    assert_eq!(values(&found, "text").len(), 1, "{found}");
}

#[tokio::test]
async fn a_column_has_its_own_history() {
    let app = App::with_dataset().await;
    for (column, text) in [
        ("user_name", "who"),
        ("timestamp", "when"),
        ("user_name", "whom"),
    ] {
        describe(
            &app,
            json!({"resourceUrn": DATASET, "description": text, "subResource": column, "subResourceType": "DATASET_FIELD"}),
        )
        .await;
    }
    let input = |subject: &str, column: &str| json!({"urn": DATASET, "subject": subject, "subResource": column, "subResourceType": "DATASET_FIELD"});
    let found = history(&app, input("DESCRIPTION", "user_name")).await;
    assert_eq!(values(&found, "text"), [json!("whom"), json!("who")]);
    let found = history(&app, input("INGESTED_DESCRIPTION", "user_name")).await;
    assert_eq!(
        values(&found, "text"),
        [json!("Name of the user who was deleted")]
    );
    let found = history(&app, input("DESCRIPTION", "no_such_column")).await;
    assert_eq!(values(&found, "text"), [] as [Value; 0]);
}

#[tokio::test]
async fn the_domain_of_an_asset_has_a_history() {
    let app = App::with_dataset().await;
    for name in ["a", "b"] {
        app.mutate(
            "createDomain",
            "CreateDomainInput",
            json!({"id": name, "name": name}),
        )
        .await;
    }
    for step in [
        "setDomain(entityUrn: $urn, domainUrn: \"urn:li:domain:a\")",
        "setDomain(entityUrn: $urn, domainUrn: \"urn:li:domain:b\")",
        "unsetDomain(entityUrn: $urn) deleteDomain(urn: \"urn:li:domain:a\")",
    ] {
        let query = format!("mutation ($urn: String!) {{ {step} }}");
        let reply = app.graphql_with(&query, json!({"urn": DATASET})).await;
        assert!(reply.get("errors").is_none(), "{reply}");
    }
    let found = history(&app, json!({"urn": DATASET, "subject": "DOMAIN"})).await;
    let domain =
        |id: &str, exists: bool| json!({"urn": format!("urn:li:domain:{id}"), "exists": exists});
    assert_eq!(
        values(&found, "domain"),
        [json!(null), domain("b", true), domain("a", false)]
    );
    assert_eq!(
        values(&found, "text"),
        [json!(null), json!(null), json!(null)]
    );
}

#[tokio::test]
async fn a_truncated_history_is_marked_incomplete() {
    let app = App::with_dataset().await;
    for number in 0..25 {
        describe(
            &app,
            json!({"resourceUrn": DATASET, "description": format!("text {number}")}),
        )
        .await;
    }
    let found = history(&app, json!({"urn": DATASET, "subject": "DESCRIPTION"})).await;
    assert_eq!(found["isComplete"], false);
    assert_eq!(values(&found, "text").len(), 20);
    assert_eq!(found["changes"][0]["text"], "text 24");
}

#[tokio::test]
async fn dashboards_and_pipelines_have_a_history_of_both_descriptions() {
    let app = App::empty().await;
    for (urn, aspect) in [
        ("urn:li:dataFlow:(airflow,nightly,PROD)", "dataFlowInfo"),
        (
            "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)",
            "dataJobInfo",
        ),
    ] {
        let imported = json!({
            "name": "Load", "type": {"string": "SQL"}, "description": "imported", "customProperties": {},
        });
        app.ingest(urn, aspect, &imported).await;
        describe(&app, json!({"resourceUrn": urn, "description": "edited"})).await;
        let edited = history(&app, json!({"urn": urn, "subject": "DESCRIPTION"})).await;
        assert_eq!(values(&edited, "text"), ["edited"]);
        let ingested = history(&app, json!({"urn": urn, "subject": "INGESTED_DESCRIPTION"})).await;
        assert_eq!(values(&ingested, "text"), ["imported"]);
    }
}

#[tokio::test]
async fn entities_without_a_history_are_rejected_with_a_message() {
    let app = App::with_dataset().await;
    for (input, expected) in [
        (
            r#"urn: "urn:li:domain:a", subject: INGESTED_DESCRIPTION"#,
            "nothing",
        ),
        (r#"urn: "urn:li:corpuser:a", subject: DOMAIN"#, "nothing"),
        (
            r#"urn: "urn:li:domain:a", subject: DOMAIN, subResource: "c", subResourceType: DATASET_FIELD"#,
            "columns",
        ),
        (r#"urn: "not a urn", subject: DOMAIN"#, "urn"),
    ] {
        let query = format!("{{ history(input: {{{input}}}) {{ isComplete }} }}");
        let (code, message) = app.graphql_error(&query).await;
        assert_eq!(code, 400, "{message}");
        let expected = if expected == "nothing" {
            "no such history"
        } else {
            expected
        };
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn an_edit_with_the_previous_text_never_overwrites_a_newer_one() {
    let app = App::with_dataset().await;
    app.mutate(
        "createDomain",
        "CreateDomainInput",
        json!({"id": "a", "name": "A"}),
    )
    .await;
    let container = "urn:li:container:c";
    app.ingest(container, "containerProperties", &json!({"name": "C"}))
        .await;
    let column = json!({"resourceUrn": DATASET, "subResource": "user_name", "subResourceType": "DATASET_FIELD"});
    for target in [
        json!({"resourceUrn": DATASET}),
        json!({"resourceUrn": "urn:li:domain:a"}),
        json!({"resourceUrn": container}),
        column,
    ] {
        let write = |text: &str, previous: Option<&str>| {
            let mut input = target.clone();
            input["description"] = json!(text);
            if let Some(previous) = previous {
                input["previousDescription"] = json!(previous);
            }
            input
        };
        // No description is the empty text.
        describe(&app, write("first", Some(""))).await;
        for seen in ["", "something else"] {
            let (code, message) = app
                .mutate_error(
                    "updateDescription",
                    "DescriptionUpdateInput",
                    write("mine", Some(seen)),
                )
                .await;
            assert_eq!(code, 409, "{target}: {message}");
            assert!(message.contains("changed meanwhile"), "{message}");
        }
        describe(&app, write("second", Some("first"))).await;
        describe(&app, write("third", None)).await;
        let mut input = target.clone();
        input["urn"] = input["resourceUrn"].take();
        input.as_object_mut().unwrap().remove("resourceUrn");
        input["subject"] = json!("DESCRIPTION");
        let found = history(&app, input).await;
        let texts = values(&found, "text");
        assert_eq!(
            texts,
            [json!("third"), json!("second"), json!("first")],
            "{target}"
        );
    }
}

#[tokio::test]
async fn recent_changes_list_each_entity_once_and_omit_deleted_ones() {
    let app = App::with_dataset().await;
    let other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";
    app.add_dataset(other).await;
    for name in ["a", "b"] {
        app.mutate(
            "createDomain",
            "CreateDomainInput",
            json!({"id": name, "name": name}),
        )
        .await;
    }
    app.clock.advance(5000);
    describe(&app, json!({"resourceUrn": DATASET, "description": "new"})).await;
    app.graphql(r#"mutation { deleteDomain(urn: "urn:li:domain:b") }"#)
        .await;
    let ask = "query ($input: RecentChangesInput!) { recentChanges(input: $input) {
        entity { urn } aspectName time actor { ... on CorpUser { urn } } } }";
    let changes = |input: Value| {
        let app = &app;
        async move {
            app.graphql_with(ask, json!({"input": input})).await["data"]["recentChanges"].clone()
        }
    };
    let found = changes(json!({})).await;
    let urns: Vec<&str> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["entity"]["urn"].as_str().unwrap())
        .collect();
    assert_eq!(urns, [DATASET, "urn:li:domain:a", other]);
    assert_eq!(
        found[0],
        json!({"entity": {"urn": DATASET}, "aspectName": "editableDatasetProperties", "time": NOW_MS + 5000, "actor": {"urn": USER}})
    );
    let found = changes(json!({"types": ["DOMAIN"], "count": 1})).await;
    assert_eq!(found.as_array().unwrap().len(), 1);
    for count in [0, -1, 101] {
        let query = format!("{{ recentChanges(input: {{count: {count}}}) {{ time }} }}");
        let (code, message) = app.graphql_error(&query).await;
        assert_eq!(
            (code, message.contains("from 1 to 100")),
            (400, true),
            "{message}"
        );
    }
}

#[tokio::test]
async fn token_changes_are_not_listed() {
    let app = App::with_dataset().await;
    let query = "{ recentChanges(input: {types: [ACCESS_TOKEN, CORP_USER]}) { entity { urn } aspectName } }";
    let reply = app.graphql(query).await;
    assert!(
        !reply.to_string().contains("dataHubAccessTokenInfo"),
        "{reply}"
    );
}

#[tokio::test]
async fn changes_are_counted_by_week() {
    let mut app = App::with_dataset().await;
    app.token = new_token(&app.catalog, None).await;
    let app = app;
    let weeks = |count: i64| {
        let app = &app;
        async move {
            let query = format!("{{ changesByWeek(weeks: {count}) {{ time changes }} }}");
            let reply = app.graphql(&query).await;
            let weeks = reply["data"]["changesByWeek"].as_array().unwrap().clone();
            let counts: Vec<i64> = weeks
                .iter()
                .map(|week| week["changes"].as_i64().unwrap())
                .collect();
            (weeks, counts)
        }
    };
    let (_, counts) = weeks(1).await;
    let before = counts[0];
    assert!(before > 0);
    app.clock.advance(2 * WEEK_MS);
    for text in ["one", "two", "three"] {
        describe(&app, json!({"resourceUrn": DATASET, "description": text})).await;
    }
    let (found, counts) = weeks(4).await;
    assert_eq!(counts, [0, before, 0, 3]);
    let begins: Vec<i64> = found
        .iter()
        .map(|week| week["time"].as_i64().unwrap())
        .collect();
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == WEEK_MS));
    // A Monday, at midnight.
    assert_eq!((begins[0] / (24 * 60 * 60 * 1000) + 3) % 7, 0);
    assert_eq!(begins[0] % (24 * 60 * 60 * 1000), 0);
    let (code, _) = app
        .graphql_error("{ changesByWeek(weeks: 0) { time } }")
        .await;
    assert_eq!(code, 400);
}
