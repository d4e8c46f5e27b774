//! `GET /openapi/v2/timeline/v1/{urn}` and `getTimeline`: the change history of an entity, and the
//! versions of a schema.

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
    assert_eq!(last["semVer"], "0.3.0-computed");
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
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    assert_eq!(on_column["entityUrn"], column.as_str());
    assert_eq!(
        on_column["parameters"],
        json!({
            "tagUrn": "urn:li:tag:c",
            "context": "{}",
            "sourceDetails": "{}",
            "fieldPath": "user_name",
            "parentUrn": DATASET,
        })
    );
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
    assert_eq!(moments[0]["semVer"], "0.0.0-computed");
    assert_eq!(
        (&moments[1]["semVer"], &moments[1]["semVerChange"]),
        (&json!("1.0.0-computed"), &json!("MAJOR"))
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

const GET_TIMELINE: &str = "query ($input: GetTimelineInput!) { getTimeline(input: $input) {
    skippedVersionCount changeTransactions {
        timestampMillis lastSemanticVersion versionStamp changeType actor
        changes { urn category operation modifier description
            parameters { key value } auditStamp { time actor } } } } }";

async fn get_timeline(app: &App, input: Value) -> Value {
    let variables = json!({"input": input});
    let reply = app.graphql_with(GET_TIMELINE, variables).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"]["getTimeline"].clone()
}

#[tokio::test]
async fn graphql_returns_the_timeline_with_versions_and_parameters() {
    let app = App::with_dataset().await;
    for text in ["one", "two"] {
        app.clock.advance(1000);
        let value = json!({"description": text});
        app.ingest(DATASET, "editableDatasetProperties", &value)
            .await;
    }
    app.clock.advance(1000);
    let owners = json!({"owners": [{"owner": USER, "type": "DATAOWNER"}]});
    app.ingest(DATASET, "ownership", &owners).await;
    let found = get_timeline(&app, json!({"urn": DATASET})).await;
    assert_eq!(found["skippedVersionCount"], 0);
    let transactions = found["changeTransactions"].as_array().unwrap();
    let versions: Vec<&Value> = transactions
        .iter()
        .map(|it| &it["lastSemanticVersion"])
        .collect();
    let expected = ["0.0.0", "0.1.0", "0.2.0", "0.3.0"].map(|it| json!(format!("{it}-computed")));
    assert_eq!(versions, expected.iter().collect::<Vec<_>>());
    let change = &transactions[2]["changes"][0];
    assert_eq!(
        *change,
        json!({
            "urn": DATASET,
            "category": "DOCUMENTATION",
            "operation": "MODIFY",
            "modifier": null,
            "description": "The documentation was changed.",
            "parameters": [
                {"key": "description", "value": "two"},
                {"key": "previousDescription", "value": "one"},
            ],
            "auditStamp": {"time": NOW_MS + 2000, "actor": USER},
        })
    );
    assert_eq!(transactions[2]["changeType"], "MODIFY");
    assert_eq!(transactions[2]["actor"], USER);
    let stamp = transactions[1]["versionStamp"].as_str().unwrap();
    assert!(stamp.contains("editableDatasetProperties:1;"), "{stamp}");
    let stamp = transactions[2]["versionStamp"].as_str().unwrap();
    assert!(stamp.contains("editableDatasetProperties:0;"), "{stamp}");
    assert!(!stamp.contains("ownership"), "{stamp}");

    let some = json!({"urn": DATASET, "changeCategories": ["OWNERSHIP"]});
    let some = get_timeline(&app, some).await;
    let changes = &some["changeTransactions"][0]["changes"];
    assert_eq!(changes.as_array().unwrap().len(), 1, "{some}");
    assert_eq!(changes[0]["modifier"], USER);
    assert_eq!(
        changes[0]["parameters"],
        json!([
            {"key": "ownerUrn", "value": USER},
            {"key": "ownerType", "value": "DATAOWNER"},
            {"key": "sourceDetails", "value": "{}"},
        ])
    );
    let missing = json!({"urn": "urn:li:domain:nowhere"});
    let missing = get_timeline(&app, missing).await;
    assert_eq!(missing["changeTransactions"], json!([]));
}

#[tokio::test]
async fn the_timelines_of_a_version_set_are_merged() {
    let app = App::empty().await;
    let set = "urn:li:versionSet:(set,dataset)";
    let urn = |name: &str| format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
    for name in ["v1", "v2"] {
        app.clock.advance(1);
        let properties = json!({"description": name});
        app.ingest(&urn(name), "datasetProperties", &properties)
            .await;
        let version = json!({"versionSet": set, "version": {"versionTag": name}, "sortId": name});
        app.ingest(&urn(name), "versionProperties", &version).await;
    }
    let input = |all: bool| json!({"urn": urn("v2"), "includeVersionSet": all});
    let alone = get_timeline(&app, input(false)).await;
    assert_eq!(alone["changeTransactions"].as_array().unwrap().len(), 1);
    let merged = get_timeline(&app, input(true)).await;
    let transactions = merged["changeTransactions"].as_array().unwrap();
    let entities: Vec<&Value> = transactions
        .iter()
        .map(|it| &it["changes"][0]["urn"])
        .collect();
    assert_eq!(entities, [&json!(urn("v1")), &json!(urn("v2"))]);
    assert_eq!(merged["skippedVersionCount"], 0);
    let version = &transactions[0]["changes"][1];
    assert_eq!(version["category"], "VERSIONING");
    let tag = json!({"key": "versionTag", "value": "v1"});
    let parameters = version["parameters"].as_array().unwrap();
    assert!(parameters.contains(&tag), "{version}");

    let path = format!(
        "/openapi/v2/timeline/v1/{}?categories=DOCUMENTATION&startTime=-1&endTime=0&includeVersionSet=true",
        encoded(&urn("v1"))
    );
    let (_, merged) = app.get(&path).await;
    assert_eq!(merged.as_array().unwrap().len(), 2);
}

/// The schema of the dataset without its first column, and with another type of the second.
async fn change_schema(app: &App) {
    let mut schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    schema["fields"].as_array_mut().unwrap().remove(0);
    schema["fields"][0]["nativeDataType"] = json!("bigint");
    app.clock.advance(1000);
    app.ingest(DATASET, "schemaMetadata", &schema).await;
}

#[tokio::test]
async fn blame_names_the_version_that_last_changed_each_column() {
    let app = App::with_dataset().await;
    change_schema(&app).await;
    let blame = async |version: Option<&str>| {
        let query = "query ($input: GetSchemaBlameInput!) { getSchemaBlame(input: $input) {
            version { semanticVersion semanticVersionTimestamp versionStamp }
            schemaFieldBlameList { fieldPath schemaFieldChange {
                timestampMillis lastSemanticVersion lastSchemaFieldChange changeType versionStamp } } } }";
        let input = json!({"datasetUrn": DATASET, "version": version});
        let reply = app.graphql_with(query, json!({"input": input})).await;
        assert!(reply.get("errors").is_none(), "{reply}");
        reply["data"]["getSchemaBlame"].clone()
    };
    let columns = |blame: &Value| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let columns = blame["schemaFieldBlameList"].as_array().unwrap();
        let column = |it: &Value| {
            let change = &it["schemaFieldChange"]["lastSchemaFieldChange"];
            (text(&it["fieldPath"]), text(change))
        };
        columns.iter().map(column).collect()
    };
    let pair = |path: &str, change: &str| (path.to_owned(), change.to_owned());
    let latest = blame(None).await;
    assert_eq!(latest["version"]["semanticVersion"], "1.0.0");
    assert_eq!(latest["version"]["semanticVersionTimestamp"], NOW_MS + 1000);
    assert_eq!(columns(&latest), [pair("timestamp", "Modified in v1.0.0")]);
    let first = blame(Some("0.0.0")).await;
    assert_eq!(first["version"]["semanticVersion"], "0.0.0");
    assert_eq!(
        columns(&first),
        [
            pair("timestamp", "Added in v0.0.0"),
            pair("user_name", "Added in v0.0.0")
        ]
    );
    let query = format!(
        r#"{{ getSchemaBlame(input: {{ datasetUrn: "{DATASET}", version: "x" }}) {{ version {{ versionStamp }} }} }}"#
    );
    let (code, message) = app.graphql_error(&query).await;
    assert_eq!(code, 400);
    assert!(message.contains("getSchemaVersionList"), "{message}");
}

#[tokio::test]
async fn a_dataset_is_read_as_it_was_at_a_version() {
    let app = App::with_dataset().await;
    change_schema(&app).await;
    app.clock.advance(1000);
    let tags = json!({"tags": [{"tag": "urn:li:tag:late"}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let query = format!(
        r#"{{ getSchemaVersionList(input: {{ datasetUrn: "{DATASET}" }}) {{
            latestVersion {{ semanticVersion }}
            semanticVersionList {{ semanticVersion semanticVersionTimestamp versionStamp }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    let list = &reply["data"]["getSchemaVersionList"];
    assert_eq!(list["latestVersion"]["semanticVersion"], "1.0.0", "{reply}");
    let versions = list["semanticVersionList"].as_array().unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[1]["semanticVersion"], "0.0.0");
    let stamp = |index: usize| versions[index]["versionStamp"].clone();
    let query = "query ($urn: String!, $old: String, $new: String) {
        old: versionedDataset(urn: $urn, versionStamp: $old) { ...fields }
        new: versionedDataset(urn: $urn, versionStamp: $new) { ...fields }
        now: versionedDataset(urn: $urn) { ...fields } }
        fragment fields on VersionedDataset { urn type name platform { urn } origin
            tags { tags { tag { urn } associatedUrn } }
            schema { fields { fieldPath nativeDataType schemaFieldEntity { urn } } lastObserved } }";
    let variables = json!({"urn": DATASET, "old": stamp(1), "new": stamp(0)});
    let reply = app.graphql_with(query, variables).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    let paths = |name: &str| -> Vec<&str> {
        let fields = reply["data"][name]["schema"]["fields"].as_array().unwrap();
        fields
            .iter()
            .filter_map(|field| field["fieldPath"].as_str())
            .collect()
    };
    assert_eq!(paths("old"), ["user_name", "timestamp"]);
    assert_eq!(paths("new"), ["timestamp"]);
    assert_eq!(paths("now"), ["timestamp"]);
    let old = &reply["data"]["old"];
    assert_eq!(old["urn"], DATASET);
    assert_eq!(old["type"], "DATASET");
    let column = &old["schema"]["fields"][0]["schemaFieldEntity"]["urn"];
    assert_eq!(
        *column,
        format!("urn:li:schemaField:({DATASET},user_name)").as_str()
    );
    // The tag was added behind both versions of the schema.
    assert_eq!(old["tags"], json!(null));
    let now = &reply["data"]["now"];
    assert_eq!(now["tags"]["tags"][0]["associatedUrn"], DATASET);
    let observed = |name: &str| reply["data"][name]["schema"]["lastObserved"].as_i64();
    assert_eq!(observed("old"), Some(NOW_MS), "{reply}");

    let query = |urn: &str, stamp: &str| {
        format!(
            r#"{{ versionedDataset(urn: "{urn}", versionStamp: "{stamp}") {{ schema {{ name }} }} }}"#
        )
    };
    let missing = DATASET.replace("PROD", "DEV");
    let (code, _) = app.graphql_error(&query(&missing, "")).await;
    assert_eq!(code, 404);
    let (code, message) = app.graphql_error(&query(DATASET, "latest")).await;
    assert_eq!(code, 400);
    assert!(message.contains("aspect:version"), "{message}");
    let query = format!(r#"{{ entity(urn: "{DATASET}") {{ __typename }} }}"#);
    let reply = app.graphql(&query).await;
    assert_eq!(reply["data"]["entity"]["__typename"], "Dataset");
}

#[tokio::test]
async fn names_deprecation_and_deletion_are_returned_if_they_are_asked_for() {
    let app = App::with_dataset().await;
    let default = get_timeline(&app, json!({"urn": DATASET})).await;
    let deprecation = |deprecated: bool, note: &str| json!({"deprecated": deprecated, "note": note, "actor": USER});
    for (aspect, value) in [
        ("status", json!({"removed": false})),
        ("editableDatasetProperties", json!({"name": "Users"})),
        ("editableDatasetProperties", json!({"name": "People"})),
        ("deprecation", deprecation(false, "")),
        ("deprecation", deprecation(true, "Use b.")),
        ("deprecation", deprecation(true, "Use c.")),
        ("deprecation", deprecation(false, "")),
        ("status", json!({"removed": true})),
    ] {
        app.clock.advance(1000);
        app.ingest(DATASET, aspect, &value).await;
    }
    assert_eq!(get_timeline(&app, json!({"urn": DATASET})).await, default);
    let categories = json!(["NAME", "DEPRECATION", "DELETION"]);
    let input = json!({"urn": DATASET, "changeCategories": categories});
    let found = get_timeline(&app, input).await;
    let transactions = found["changeTransactions"].as_array().unwrap().iter();
    let changes = transactions.flat_map(|it| it["changes"].as_array().unwrap());
    let facts: Vec<String> = changes
        .map(|change| {
            let parameters = change["parameters"].as_array().unwrap().iter();
            let parameters = parameters.map(|it| format!("{}={}", it["key"], it["value"]));
            let parameters = parameters.collect::<Vec<_>>().join(" ");
            format!(
                "{} {} {parameters}",
                change["category"], change["operation"]
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        facts,
        [
            "NAME ADD name=Users",
            "NAME MODIFY name=People previousName=Users",
            "DEPRECATION ADD note=Use b.",
            "DEPRECATION MODIFY note=Use c. previousNote=Use b.",
            "DEPRECATION REMOVE previousNote=Use c.",
            "DELETION ADD ",
        ]
    );
}
