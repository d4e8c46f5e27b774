//! `updateChart` and the like, `updateEmbed`, the profiles of users and groups, and counts.

use serde_json::{Value, json};

use crate::hidden::world::{assign, grant};
use crate::support::{App, DATASET, MISSING, NOW_MS, USER, token_of};

const TAG: &str = "urn:li:tag:pii";
const ADA: &str = "urn:li:corpuser:ada";
const GROUP: &str = "urn:li:corpGroup:team";

/// The mutation of a type, its input, the field that reads it, an entity, and the aspect with its
/// description.
const ASSETS: [(&str, &str, &str, &str, &str); 5] = [
    (
        "updateChart",
        "ChartUpdateInput",
        "chart",
        "urn:li:chart:(looker,c)",
        "editableChartProperties",
    ),
    (
        "updateDashboard",
        "DashboardUpdateInput",
        "dashboard",
        "urn:li:dashboard:(looker,d)",
        "editableDashboardProperties",
    ),
    (
        "updateNotebook",
        "NotebookUpdateInput",
        "notebook",
        "urn:li:notebook:(querybook,n)",
        "editableNotebookProperties",
    ),
    (
        "updateDataFlow",
        "DataFlowUpdateInput",
        "dataFlow",
        "urn:li:dataFlow:(airflow,f,PROD)",
        "editableDataFlowProperties",
    ),
    (
        "updateDataJob",
        "DataJobUpdateInput",
        "dataJob",
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)",
        "editableDataJobProperties",
    ),
];

async fn app() -> App {
    let app = App::with_dataset().await;
    for (.., urn, _) in ASSETS {
        app.ingest(urn, "status", &json!({"removed": false})).await;
    }
    app.ingest(TAG, "tagProperties", &json!({"name": "PII"}))
        .await;
    app.ingest(ADA, "corpUserInfo", &json!({"active": true}))
        .await;
    let group = json!({"members": [], "groups": [], "admins": []});
    app.ingest(GROUP, "corpGroupInfo", &group).await;
    app
}

fn without_errors(reply: &Value) -> &Value {
    assert!(reply.get("errors").is_none(), "{reply}");
    &reply["data"]
}

#[tokio::test]
async fn parts_of_assets_are_replaced_and_the_others_stay() {
    let app = app().await;
    for (mutation, kind, field, urn, aspect) in ASSETS {
        let update = format!(
            "mutation ($urn: String!, $input: {kind}!) {{ {mutation}(urn: $urn, input: $input) {{
                urn editableProperties {{ description }} tags {{ tags {{ tag {{ urn }} }} }}
                ownership {{ owners {{ owner {{ ... on CorpUser {{ urn }} }} }} }} }} }}"
        );
        let send = async |input: Value| {
            let variables = json!({"urn": urn, "input": input});
            let reply = app.graphql_with(&update, variables).await;
            without_errors(&reply)[mutation].clone()
        };
        let both = json!({"editableProperties": {"description": "One"}, "tags": {"tags": [{"tag": {"urn": TAG, "name": "PII"}}]}});
        let found = send(both).await;
        assert_eq!(found["editableProperties"], json!({"description": "One"}));
        assert_eq!(found["tags"]["tags"], json!([{"tag": {"urn": TAG}}]));
        let stored = app.aspect(urn, aspect).await.unwrap();
        assert_eq!(stored["created"], json!({"time": NOW_MS, "actor": USER}));
        let owner = json!({"ownership": {"owners": [{"owner": ADA, "type": "DATAOWNER"}]}, "tags": {"tags": []}});
        let found = send(owner).await;
        assert_eq!(
            found["editableProperties"]["description"], "One",
            "{mutation}"
        );
        assert_eq!(found["tags"]["tags"], json!([]));
        assert_eq!(found["ownership"]["owners"][0]["owner"]["urn"], ADA);
        let query =
            format!(r#"{{ {field}(urn: "{urn}") {{ editableProperties {{ description }} }} }}"#);
        let read = app.graphql(&query).await;
        assert_eq!(
            without_errors(&read)[field]["editableProperties"]["description"],
            "One"
        );
        // Of another type, and missing.
        for wrong in [DATASET, "urn:li:tag:none"] {
            let variables =
                json!({"urn": wrong, "input": {"editableProperties": {"description": "x"}}});
            let reply = app.graphql_with(&update, variables).await;
            assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
        }
    }
    let missing =
        r#"mutation { updateChart(urn: "urn:li:chart:(looker,none)", input: {}) { urn } }"#;
    let (code, message) = app.graphql_error(missing).await;
    assert_eq!(code, 400, "{message}");
}

#[tokio::test]
async fn the_embedded_page_of_an_asset_is_set_and_removed() {
    let app = app().await;
    let set = async |urn: &str, url: Value| {
        let mutation = "mutation ($input: UpdateEmbedInput!) { updateEmbed(input: $input) }";
        app.graphql_with(mutation, json!({"input": {"urn": urn, "renderUrl": url}}))
            .await
    };
    let embedded = async || app.read_dataset("embed { renderUrl }").await["embed"].clone();
    let reply = set(DATASET, json!("https://example.com/e")).await;
    assert_eq!(without_errors(&reply)["updateEmbed"], true);
    assert_eq!(
        embedded().await,
        json!({"renderUrl": "https://example.com/e"})
    );
    for (urn, url) in [
        (DATASET, "javascript:alert(1)"),
        (MISSING, "https://example.com"),
        (TAG, "https://example.com"),
    ] {
        let reply = set(urn, json!(url)).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
    }
    assert_eq!(
        embedded().await,
        json!({"renderUrl": "https://example.com/e"})
    );
    without_errors(&set(DATASET, Value::Null).await);
    assert_eq!(embedded().await, json!({"renderUrl": null}));
}

#[tokio::test]
async fn profiles_keep_what_an_update_does_not_name() {
    let app = app().await;
    let update = async |input: Value| {
        let mutation = "mutation ($urn: String!, $input: CorpUserUpdateInput!) {
            updateCorpUserProperties(urn: $urn, input: $input) { editableProperties {
                displayName title aboutMe teams skills slack phone email } } }";
        app.graphql_with(mutation, json!({"urn": ADA, "input": input}))
            .await
    };
    let first = json!({"displayName": "Ada", "teams": ["data"], "skills": ["sql"], "phone": "1",
        "platformUrns": ["urn:li:dataPlatform:hive"], "personaUrn": "urn:li:dataHubPersona:dataSteward"});
    without_errors(&update(first).await);
    let reply = update(json!({"title": "Engineer", "slack": "@ada"})).await;
    assert_eq!(
        without_errors(&reply)["updateCorpUserProperties"]["editableProperties"],
        json!({"displayName": "Ada", "title": "Engineer", "aboutMe": null, "teams": ["data"], "skills": ["sql"],
            "slack": "@ada", "phone": "1", "email": null})
    );
    let stored = app.aspect(ADA, "corpUserEditableInfo").await.unwrap();
    assert_eq!(stored["persona"], "urn:li:dataHubPersona:dataSteward");
    assert_eq!(stored["platforms"], json!(["urn:li:dataPlatform:hive"]));
    for (input, code) in [
        (json!({"personaUrn": "urn:li:dataHubPersona:wizard"}), 404),
        (json!({"platformUrns": [DATASET]}), 400),
        (json!({"aboutMe": "x".repeat(10_001)}), 400),
    ] {
        let reply = update(input).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], code, "{reply}");
    }
    let again = app.aspect(ADA, "corpUserEditableInfo").await.unwrap();
    assert_eq!(again, stored);
    let mutation = format!(
        r##"mutation {{ updateCorpGroupProperties(urn: "{GROUP}", input: {{ slack: "#team", description: "d" }}) {{
            editableProperties {{ slack email description }} }} }}"##
    );
    assert_eq!(
        without_errors(&app.graphql(&mutation).await)["updateCorpGroupProperties"]["editableProperties"],
        json!({"slack": "#team", "email": null, "description": "d"})
    );
}

#[tokio::test]
async fn a_privilege_for_contact_details_allows_nothing_else() {
    let app = app().await;
    let token = token_of(&app.catalog, "urn:li:corpuser:pia", None).await;
    assign(&app, "urn:li:corpuser:pia", "Reader").await;
    let codes = async || {
        let mut codes = Vec::new();
        for update in [
            format!(r#"updateCorpUserProperties(urn: "{ADA}", input: {{ phone: "1" }}) {{ urn }}"#),
            format!(
                r#"updateCorpUserProperties(urn: "{ADA}", input: {{ phone: "1", title: "t" }}) {{ urn }}"#
            ),
            format!(
                r##"updateCorpGroupProperties(urn: "{GROUP}", input: {{ slack: "#a" }}) {{ urn }}"##
            ),
            format!(
                r#"updateCorpGroupProperties(urn: "{GROUP}", input: {{ description: "d" }}) {{ urn }}"#
            ),
        ] {
            let reply = app
                .graphql_as(&token, &format!("mutation {{ {update} }}"))
                .await;
            codes.push(reply["errors"][0]["extensions"]["code"].as_u64());
        }
        codes
    };
    assert_eq!(codes().await, [Some(403); 4]);
    let user = "urn:li:corpuser:pia";
    grant(
        &app,
        "contacts",
        user,
        &["EDIT_CONTACT_INFO"],
        &json!({"allResources": true}),
    )
    .await;
    assert_eq!(codes().await, [None, Some(403), None, Some(403)]);
}

#[tokio::test]
async fn entities_are_counted_by_type_and_users_are_searched_by_administrators() {
    let app = app().await;
    let counts = app
        .graphql("{ getEntityCounts(input: { types: [DATASET, CHART, DOMAIN] }) { counts { entityType count } } }")
        .await;
    assert_eq!(
        without_errors(&counts)["getEntityCounts"]["counts"],
        json!([{"entityType": "DATASET", "count": 1}, {"entityType": "CHART", "count": 1},
            {"entityType": "DOMAIN", "count": 0}])
    );
    let all = app
        .graphql("{ getEntityCounts { counts { entityType count } } }")
        .await;
    let all = without_errors(&all)["getEntityCounts"]["counts"].clone();
    let chart = json!({"entityType": "CHART", "count": 1});
    assert!(all.as_array().unwrap().contains(&chart), "{all}");
    let service = r#"mutation { createServiceAccount(input: { displayName: "Loader" }) { urn } }"#;
    without_errors(&app.graphql(service).await);
    let search = r#"{ searchUsers(input: { types: [DATASET], query: "ada" }) { total searchResults { entity { urn } } } }"#;
    let found = app.graphql(search).await;
    assert_eq!(
        without_errors(&found)["searchUsers"],
        json!({"total": 1, "searchResults": [{"entity": {"urn": ADA}}]})
    );
    let service = r#"{ searchUsers(input: { query: "*" }) { searchResults { entity { ... on CorpUser { urn
        properties { displayName } } } } } }"#;
    let found = app.graphql(service).await.to_string();
    assert!(found.contains(ADA) && !found.contains("Loader"), "{found}");
    let token = token_of(&app.catalog, "urn:li:corpuser:pia", None).await;
    assign(&app, "urn:li:corpuser:pia", "Reader").await;
    let denied = app.graphql_as(&token, search).await;
    assert_eq!(denied["errors"][0]["extensions"]["code"], 403, "{denied}");
}
