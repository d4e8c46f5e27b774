//! Layouts of pages, and the settings that users change for themselves.

use serde_json::{Value, json};

use crate::hidden::world::assign;
use crate::support::{App, USER, token_of};

const PIA: &str = "urn:li:corpuser:pia";
const HOME: &str = "urn:li:dataHubPageTemplate:home_default_1";
const PLATFORMS: &str = "urn:li:dataHubPageModule:platforms";

/// A store after the first start, and the token of a user without privileges.
async fn app() -> (App, String) {
    let app = App::empty().await;
    app.catalog.ensure_home_page().await.unwrap();
    let token = token_of(&app.catalog, PIA, None).await;
    assign(&app, PIA, "Reader").await;
    (app, token)
}

fn module(urn: Option<&str>, scope: &str) -> String {
    let urn = urn.map_or_else(|| "null".to_owned(), |urn| format!(r#""{urn}""#));
    format!(
        r#"mutation {{ upsertPageModule(input: {{ urn: {urn}, name: "News", type: RICH_TEXT, scope: {scope},
            params: {{ richTextParams: {{ content: "Hi" }}, linkParams: null }} }}) {{ urn properties {{ name type
            visibility {{ scope }} params {{ richTextParams {{ content }} }} created {{ actor {{ urn }} }} }} }} }}"#
    )
}

fn template(urn: Option<&str>, modules: &[&str], scope: &str) -> String {
    let urn = urn.map_or_else(|| "null".to_owned(), |urn| format!(r#""{urn}""#));
    format!(
        "mutation {{ upsertPageTemplate(input: {{ urn: {urn}, rows: [{{ modules: {modules:?} }}], scope: {scope},
            surfaceType: HOME_PAGE }}) {{ urn properties {{ rows {{ modules {{ urn }} }} visibility {{ scope }} }} }} }}"
    )
}

fn data<'a>(reply: &'a Value, field: &str) -> &'a Value {
    assert!(reply.get("errors").is_none(), "{reply}");
    &reply["data"][field]
}

fn code(reply: &Value) -> Option<u64> {
    reply["errors"][0]["extensions"]["code"].as_u64()
}

#[tokio::test]
async fn the_default_home_page_is_there_from_the_first_start() {
    let (app, token) = app().await;
    let query = "{ globalHomePageSettings { defaultTemplate { urn properties { rows { modules { urn properties {
        name type } } } surface { surfaceType } visibility { scope } } } } }";
    let reply = app.graphql_as(&token, query).await;
    let found = &data(&reply, "globalHomePageSettings")["defaultTemplate"];
    assert_eq!(found["urn"], HOME);
    assert_eq!(
        found["properties"]["surface"],
        json!({"surfaceType": "HOME_PAGE"})
    );
    assert_eq!(
        found["properties"]["rows"][1]["modules"][1],
        json!({"urn": PLATFORMS, "properties": {"name": "Platforms", "type": "PLATFORMS"}})
    );
    // What administrators have changed stays.
    let changed = app
        .graphql(&template(Some(HOME), &[PLATFORMS], "GLOBAL"))
        .await;
    data(&changed, "upsertPageTemplate");
    let before = app.aspect(HOME, "dataHubPageTemplateProperties").await;
    app.catalog.ensure_home_page().await.unwrap();
    assert_eq!(
        app.aspect(HOME, "dataHubPageTemplateProperties").await,
        before
    );
    for delete in [
        format!(r#"mutation {{ deletePageTemplate(input: {{ urn: "{HOME}" }}) }}"#),
        format!(r#"mutation {{ deletePageModule(input: {{ urn: "{PLATFORMS}" }}) }}"#),
    ] {
        let reply = app.graphql(&delete).await;
        assert_eq!(code(&reply), Some(400), "{reply}");
    }
}

#[tokio::test]
async fn personal_pages_belong_to_their_creator_and_global_ones_need_a_privilege() {
    let (app, token) = app().await;
    let created = app.graphql_as(&token, &module(None, "PERSONAL")).await;
    let created = data(&created, "upsertPageModule");
    assert_eq!(
        created["properties"],
        json!({"name": "News", "type": "RICH_TEXT", "visibility": {"scope": "PERSONAL"},
            "params": {"richTextParams": {"content": "Hi"}}, "created": {"actor": {"urn": PIA}}})
    );
    let own = created["urn"].as_str().unwrap();
    let layout = app
        .graphql_as(&token, &template(None, &[own, PLATFORMS], "PERSONAL"))
        .await;
    let layout = data(&layout, "upsertPageTemplate");
    assert_eq!(
        layout["properties"]["rows"][0]["modules"],
        json!([{"urn": own}, {"urn": PLATFORMS}])
    );
    let layout = layout["urn"].as_str().unwrap();
    // A Reader creates nothing for everybody, and changes neither what is everybody's nor gives
    // it another scope.
    for mutation in [
        module(None, "GLOBAL"),
        module(Some(PLATFORMS), "PERSONAL"),
        template(None, &[], "GLOBAL"),
        template(Some(HOME), &[], "PERSONAL"),
        module(Some(own), "GLOBAL"),
    ] {
        let reply = app.graphql_as(&token, &mutation).await;
        assert_eq!(code(&reply), Some(403), "{reply}");
    }
    // Nobody changes the personal ones of others, not even administrators.
    for mutation in [
        module(Some(own), "PERSONAL"),
        template(Some(layout), &[], "PERSONAL"),
        format!(r#"mutation {{ deletePageModule(input: {{ urn: "{own}" }}) }}"#),
        format!(r#"mutation {{ deletePageTemplate(input: {{ urn: "{layout}" }}) }}"#),
    ] {
        let reply = app.graphql(&mutation).await;
        assert_eq!(code(&reply), Some(403), "{reply}");
    }
    let choose = format!(
        r#"mutation {{ updateUserHomePageSettings(input: {{ pageTemplate: "{layout}" }}) }}"#
    );
    data(
        &app.graphql_as(&token, &choose).await,
        "updateUserHomePageSettings",
    );
    // The template loses a deleted module, and the settings a deleted template.
    let delete = format!(r#"mutation {{ deletePageModule(input: {{ urn: "{own}" }}) }}"#);
    assert_eq!(
        data(&app.graphql_as(&token, &delete).await, "deletePageModule"),
        true
    );
    let stored = app
        .aspect(layout, "dataHubPageTemplateProperties")
        .await
        .unwrap();
    assert_eq!(stored["rows"], json!([{"modules": [PLATFORMS]}]));
    let delete = format!(r#"mutation {{ deletePageTemplate(input: {{ urn: "{layout}" }}) }}"#);
    assert_eq!(
        data(&app.graphql_as(&token, &delete).await, "deletePageTemplate"),
        true
    );
    let settings = app.aspect(PIA, "corpUserSettings").await.unwrap();
    assert!(
        settings["homePage"].get("pageTemplate").is_none(),
        "{settings}"
    );
}

#[tokio::test]
async fn invalid_pages_are_rejected() {
    let (app, _) = app().await;
    for input in [
        r#"{ name: "x", type: LINK, scope: PERSONAL, params: {} }"#,
        r#"{ name: "x", type: LINK, scope: PERSONAL, params: { linkParams: { linkUrl: "javascript:alert(1)" } } }"#,
        r#"{ name: " ", type: RICH_TEXT, scope: PERSONAL, params: { richTextParams: { content: "" } } }"#,
        r#"{ name: "x", type: DOMAINS, scope: PERSONAL, params: {} }"#,
        r#"{ name: "x", type: ASSET_COLLECTION, scope: PERSONAL, params: { assetCollectionParams: { assetUrns: ["x"] } } }"#,
        r#"{ urn: "urn:li:tag:a", name: "x", type: RICH_TEXT, scope: PERSONAL, params: { richTextParams: { content: "" } } }"#,
    ] {
        let mutation = format!("mutation {{ upsertPageModule(input: {input}) {{ urn }} }}");
        let reply = app.graphql(&mutation).await;
        assert_eq!(code(&reply), Some(400), "{input}: {reply}");
    }
    for mutation in [
        template(None, &["urn:li:dataHubPageModule:none"], "PERSONAL"),
        template(None, &["urn:li:tag:none"], "PERSONAL"),
        r#"mutation { deletePageModule(input: { urn: "urn:li:dataHubPageModule:none" }) }"#
            .to_owned(),
    ] {
        let reply = app.graphql(&mutation).await;
        assert_eq!(code(&reply), Some(400), "{reply}");
    }
}

#[tokio::test]
async fn users_change_their_own_settings_one_by_one() {
    let app = App::empty().await;
    for mutation in [
        "updateUserSetting(input: { name: SHOW_THEME_V2, value: true })",
        "updateUserSetting(input: { name: SHOW_SIMPLIFIED_HOMEPAGE, value: false })",
        r#"updateCorpUserLocaleSettings(input: { language: "pt-BR" })"#,
        r#"updateUserHomePageSettings(input: { newDismissedAnnouncements: ["urn:li:post:a"] })"#,
        r#"updateUserHomePageSettings(input: { newDismissedAnnouncements: ["urn:li:post:b", "urn:li:post:a"] })"#,
    ] {
        let reply = app.graphql(&format!("mutation {{ {mutation} }}")).await;
        assert!(reply.get("errors").is_none(), "{reply}");
    }
    let query = format!(
        r#"{{ corpUser(urn: "{USER}") {{ settings {{ appearance {{ showThemeV2 showSimplifiedHomepage }}
            locale {{ language }} homePage {{ dismissedAnnouncementUrns pageTemplate {{ urn }} }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        data(&reply, "corpUser")["settings"],
        json!({
            "appearance": {"showThemeV2": true, "showSimplifiedHomepage": false},
            "locale": {"language": "pt-BR"},
            "homePage": {"dismissedAnnouncementUrns": ["urn:li:post:a", "urn:li:post:b"], "pageTemplate": null},
        })
    );
    for mutation in [
        r#"updateCorpUserLocaleSettings(input: { language: "not a language" })"#,
        r#"updateUserHomePageSettings(input: { pageTemplate: "urn:li:dataHubPageTemplate:none" })"#,
        r#"updateUserHomePageSettings(input: { pageTemplate: "urn:li:tag:a" })"#,
        r#"updateUserHomePageSettings(input: { pageTemplate: "urn:li:dataHubPageTemplate:a", removePageTemplate: true })"#,
    ] {
        let reply = app.graphql(&format!("mutation {{ {mutation} }}")).await;
        assert_eq!(code(&reply), Some(400), "{reply}");
    }
}

#[tokio::test]
async fn steps_of_introductions_are_stored_by_the_user_who_takes_them() {
    let (app, token) = app().await;
    let mutation = format!(
        r#"mutation {{ batchUpdateStepStates(input: {{ states: [
            {{ id: "{PIA}-tour", properties: [{{ key: "done", value: "1" }}] }},
            {{ id: "shared", properties: [] }},
            {{ id: "{USER}-tour", properties: [] }}] }}) {{ results {{ id succeeded }} }} }}"#
    );
    let reply = app.graphql_as(&token, &mutation).await;
    assert_eq!(
        data(&reply, "batchUpdateStepStates")["results"],
        json!([{"id": format!("{PIA}-tour"), "succeeded": true}, {"id": "shared", "succeeded": true},
            {"id": format!("{USER}-tour"), "succeeded": false}])
    );
    let query = format!(
        r#"{{ batchGetStepStates(input: {{ ids: ["{PIA}-tour", "{USER}-tour", "shared"] }}) {{
            results {{ id properties {{ key value }} }} }} }}"#
    );
    let reply = app.graphql_as(&token, &query).await;
    assert_eq!(
        data(&reply, "batchGetStepStates")["results"],
        json!([{"id": format!("{PIA}-tour"), "properties": [{"key": "done", "value": "1"}]},
            {"id": "shared", "properties": []}])
    );
}

#[tokio::test]
async fn steps_are_those_of_one_user_although_ids_are_ambiguous() {
    let (app, pia) = app().await;
    let other = format!("{PIA}-b");
    app.ingest(&other, "corpUserInfo", &json!({"active": true}))
        .await;
    let other = token_of(&app.catalog, &other, None).await;
    let id = format!("{PIA}-b-tour");
    let read = format!(
        r#"{{ batchGetStepStates(input: {{ ids: ["{id}"] }}) {{ results {{ properties {{ value }} }} }} }}"#
    );
    let taken = |value: &str| json!([{"properties": [{"value": value}]}]);
    for (token, value) in [(&pia, "of pia"), (&other, "of the other")] {
        let reply = app.graphql_as(token, &read).await;
        assert_eq!(data(&reply, "batchGetStepStates")["results"], json!([]));
        let write = format!(
            r#"mutation {{ batchUpdateStepStates(input: {{ states: [{{ id: "{id}",
                properties: [{{ key: "k", value: "{value}" }}] }}] }}) {{ results {{ succeeded }} }} }}"#
        );
        let reply = app.graphql_as(token, &write).await;
        let results = &data(&reply, "batchUpdateStepStates")["results"];
        assert_eq!(*results, json!([{"succeeded": true}]));
        let reply = app.graphql_as(token, &read).await;
        assert_eq!(data(&reply, "batchGetStepStates")["results"], taken(value));
    }
    let reply = app.graphql_as(&pia, &read).await;
    assert_eq!(
        data(&reply, "batchGetStepStates")["results"],
        taken("of pia")
    );
    // The id under which a step is stored leads nobody to it.
    let stored = format!("{}:{PIA}-b-tour", PIA.len());
    let read_stored = read.replace(&id, &stored);
    let reply = app.graphql_as(&other, &read_stored).await;
    assert!(!reply.to_string().contains("of pia"), "{reply}");
    let write = format!(
        r#"mutation {{ batchUpdateStepStates(input: {{ states: [{{ id: "{stored}",
            properties: [{{ key: "k", value: "forged" }}] }}] }}) {{ results {{ succeeded }} }} }}"#
    );
    let reply = app.graphql_as(&other, &write).await;
    assert!(!reply.to_string().contains("true"), "{reply}");
    let reply = app.graphql_as(&pia, &read).await;
    assert_eq!(
        data(&reply, "batchGetStepStates")["results"],
        taken("of pia")
    );
    // Those of a DataHub database stay valid, for the user who took them.
    let id = format!("{PIA}-old");
    let state = json!({"properties": {"k": "old"}, "lastModified": {"time": 1, "actor": PIA}});
    let urn = format!("urn:li:dataHubStepState:{id}");
    app.ingest(&urn, "dataHubStepStateProperties", &state).await;
    let read = read.replace("-b-tour", "-old");
    let reply = app.graphql_as(&pia, &read).await;
    assert_eq!(data(&reply, "batchGetStepStates")["results"], taken("old"));
}

#[tokio::test]
async fn features_are_turned_on_for_everybody() {
    let (app, token) = app().await;
    let query = "{ docPropagationSettings { docColumnPropagation }
        appConfig { visualConfig { application { showApplicationInNavigation showSidebarSectionWhenEmpty } } } }";
    let state = |is_on: bool| {
        json!({
            "docPropagationSettings": {"docColumnPropagation": is_on},
            "appConfig": {"visualConfig": {"application": {
                "showApplicationInNavigation": is_on, "showSidebarSectionWhenEmpty": is_on}}},
        })
    };
    assert_eq!(app.graphql(query).await["data"], state(false));
    for is_on in [true, false] {
        let mutation = format!(
            "mutation {{ updateDocPropagationSettings(input: {{ docColumnPropagation: {is_on} }})
                updateApplicationsSettings(input: {{ enabled: {is_on} }}) }}"
        );
        let reply = app.graphql_as(&token, &mutation).await;
        assert_eq!(code(&reply), Some(403), "{reply}");
        assert!(app.graphql(&mutation).await.get("errors").is_none());
        assert_eq!(app.graphql_as(&token, query).await["data"], state(is_on));
    }
    for field in ["updateDocPropagationSettings", "updateApplicationsSettings"] {
        let reply = app
            .graphql(&format!("mutation {{ {field}(input: {{}}) }}"))
            .await;
        assert_eq!(code(&reply), Some(400), "{reply}");
    }
    // The default home page is in the same aspect.
    let reply = app
        .graphql("{ globalHomePageSettings { defaultTemplate { urn } } }")
        .await;
    assert_eq!(
        reply["data"]["globalHomePageSettings"]["defaultTemplate"]["urn"],
        HOME
    );
}

#[tokio::test]
async fn an_asset_has_a_template_for_its_summary() {
    let (app, _) = app().await;
    app.ingest("urn:li:domain:d", "domainProperties", &json!({"name": "D"}))
        .await;
    let update = async |urn: &str, template: &str| {
        let mutation = format!(
            r#"mutation {{ updateAssetSettings(input: {{ urn: "{urn}", summary: {{ template: {template} }} }}) {{
                assetSummary {{ templates {{ template {{ urn }} }} }} }} }}"#
        );
        app.graphql(&mutation).await
    };
    let reply = update("urn:li:domain:d", &format!(r#""{HOME}""#)).await;
    let settings = json!({"assetSummary": {"templates": [{"template": {"urn": HOME}}]}});
    assert_eq!(data(&reply, "updateAssetSettings"), &settings);
    let query = r#"{ domain(urn: "urn:li:domain:d") {
        settings { assetSummary { templates { template { urn } } } } } }"#;
    let reply = app.graphql(query).await;
    assert_eq!(data(&reply, "domain")["settings"], settings);
    for (urn, template) in [
        ("urn:li:domain:d", r#""urn:li:tag:a""#),
        ("urn:li:domain:d", r#""urn:li:dataHubPageTemplate:none""#),
        ("urn:li:tag:a", &format!(r#""{HOME}""#)),
    ] {
        let reply = update(urn, template).await;
        assert_eq!(code(&reply), Some(400), "{reply}");
    }
    let nothing =
        r#"mutation { updateAssetSettings(input: { urn: "urn:li:domain:d" }) { __typename } }"#;
    assert_eq!(code(&app.graphql(nothing).await), Some(400));
    let reply = update("urn:li:domain:none", &format!(r#""{HOME}""#)).await;
    assert_eq!(code(&reply), Some(400), "{reply}");
}
