//! Forms, their assignment and their answers.

use serde_json::{Value, json};

use crate::support::{App, DATASET, MISSING, NOW_MS, USER, error_of};

const FORM: &str = "urn:li:form:initiative";
const DAYS: &str = "urn:li:structuredProperty:days";
const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:snowflake,other,PROD)";

/// A catalog with a property for datasets and columns.
async fn app() -> App {
    let app = App::with_dataset().await;
    let definition = json!({
        "qualifiedName": "days", "valueType": "urn:li:dataType:datahub.number",
        "entityTypes": ["urn:li:entityType:datahub.dataset", "urn:li:entityType:datahub.schemaField"],
    });
    app.ingest(DAYS, "propertyDefinition", &definition).await;
    app
}

fn prompt(id: &str, kind: &str, required: bool) -> Value {
    json!({"id": id, "title": id, "type": kind, "structuredPropertyParams": {"urn": DAYS}, "required": required})
}

async fn create(app: &App, input: Value) -> Value {
    let text = "mutation ($input: CreateFormInput!) { createForm(input: $input) { urn info { name description type
        prompts { id title type required formUrn structuredPropertyParams { structuredProperty { urn } } }
        actors { owners isAssignedToMe users { urn } groups { urn } ownershipTypes { urn } } } } }";
    app.graphql_with(text, json!({"input": input})).await
}

/// A form that the caller is assigned to, with two prompts, one of them required.
async fn form(app: &App) {
    let kind = "STRUCTURED_PROPERTY";
    let prompts = json!([prompt("first", kind, true), prompt("second", kind, false)]);
    let input = json!({
        "id": "initiative", "name": "Initiative", "type": "VERIFICATION", "prompts": prompts,
        "actors": {"users": [USER], "owners": false},
    });
    let reply = create(app, input).await;
    assert_eq!(reply["data"]["createForm"]["urn"], FORM, "{reply}");
}

async fn assign(app: &App, assets: &[&str]) -> Value {
    let input = json!({"formUrn": FORM, "entityUrns": assets});
    app.mutate("batchAssignForm", "BatchAssignFormInput", input)
        .await
}

async fn submit(app: &App, prompt: &str, kind: &str, column: Option<&str>) -> Value {
    let text = "mutation ($urn: String!, $input: SubmitFormPromptInput!) { submitFormPrompt(urn: $urn, input: $input) }";
    let values = json!({"structuredPropertyUrn": DAYS, "values": [{"numberValue": 30}]});
    let input = json!({"promptId": prompt, "formUrn": FORM, "type": kind, "fieldPath": column, "structuredPropertyParams": values});
    app.graphql_with(text, json!({"urn": DATASET, "input": input}))
        .await
}

async fn forms_of(app: &App, asset: &str) -> Value {
    let text = "query ($urn: String!) { dataset(urn: $urn) { forms {
        incompleteForms { form { urn } associatedUrn incompletePrompts { id } completedPrompts { id } }
        completedForms { form { urn } incompletePrompts { id }
            completedPrompts { id lastModified { time actor { urn } } fieldAssociations { completedFieldPrompts { fieldPath } } } }
        verifications { form { urn } lastModified { time actor { urn } } } } } }";
    let reply = app.graphql_with(text, json!({ "urn": asset })).await;
    reply["data"]["dataset"]["forms"].clone()
}

#[tokio::test]
async fn an_assignment_names_every_missing_asset_and_assigns_none() {
    let app = app().await;
    form(&app).await;
    let other = "urn:li:chart:(looker,none)";
    let input = json!({"formUrn": FORM, "entityUrns": [DATASET, MISSING, other]});
    let (_, message) = app
        .mutate_error("batchAssignForm", "BatchAssignFormInput", input)
        .await;
    for missing in [MISSING, other] {
        assert!(message.contains(missing), "{message}");
    }
    assert_eq!(app.aspect(DATASET, "forms").await, None);
}

#[tokio::test]
async fn a_form_is_created_and_changed() {
    let app = app().await;
    let input = json!({
        "id": "initiative", "name": "Initiative", "description": "Why", "prompts": [prompt("first", "STRUCTURED_PROPERTY", true)],
        "actors": {"users": [USER], "groups": ["urn:li:corpGroup:team"], "ownershipTypes": ["urn:li:ownershipType:__system__data_steward"]},
    });
    let reply = create(&app, input.clone()).await;
    assert_eq!(
        reply["data"]["createForm"]["info"],
        json!({
            "name": "Initiative", "description": "Why", "type": "COMPLETION",
            "prompts": [{"id": "first", "title": "first", "type": "STRUCTURED_PROPERTY", "required": true, "formUrn": FORM,
                "structuredPropertyParams": {"structuredProperty": {"urn": DAYS}}}],
            "actors": {"owners": true, "isAssignedToMe": true, "users": [{"urn": USER}],
                "groups": [{"urn": "urn:li:corpGroup:team"}],
                "ownershipTypes": [{"urn": "urn:li:ownershipType:__system__data_steward"}]},
        }),
        "{reply}"
    );
    let (code, _) = error_of(&create(&app, input).await);
    assert_eq!(code, 409);
    let text = "mutation ($input: UpdateFormInput!) { updateForm(input: $input) { info { name type description
        prompts { id } actors { owners users { urn } groups { urn } } } } }";
    let update = json!({
        "urn": FORM, "name": "New", "type": "VERIFICATION", "promptsToAdd": [prompt("second", "STRUCTURED_PROPERTY", false)],
        "promptsToRemove": ["first"], "actors": {"owners": false, "usersToRemove": [USER], "usersToAdd": ["urn:li:corpuser:b"],
            "groupsToAdd": ["urn:li:corpGroup:team"]},
    });
    let reply = app.graphql_with(text, json!({"input": update})).await;
    assert_eq!(
        reply["data"]["updateForm"]["info"],
        json!({
            "name": "New", "type": "VERIFICATION", "description": "Why", "prompts": [{"id": "second"}],
            "actors": {"owners": false, "users": [{"urn": "urn:li:corpuser:b"}], "groups": [{"urn": "urn:li:corpGroup:team"}]},
        }),
        "{reply}"
    );
    let missing = json!({"input": {"urn": "urn:li:form:none", "name": "x"}});
    let (_, message) = error_of(&app.graphql_with(text, missing).await);
    assert!(message.contains("does not exist"), "{message}");
}

#[tokio::test]
async fn invalid_forms_are_rejected() {
    let app = app().await;
    form(&app).await;
    let kind = "STRUCTURED_PROPERTY";
    for (input, code, expected) in [
        (json!({"name": ""}), 400, "the name is empty"),
        (
            json!({"name": "x", "prompts": [{"title": "t", "type": kind}]}),
            400,
            "needs structuredPropertyParams",
        ),
        (
            json!({"name": "x", "prompts": [prompt("a", kind, true), prompt("a", kind, true)]}),
            400,
            "two prompts",
        ),
        (
            json!({"name": "x", "prompts": [prompt("first", kind, true)]}),
            409,
            "unique among all forms",
        ),
        (
            json!({"name": "x", "actors": {"users": ["urn:li:corpGroup:g"]}}),
            400,
            "corpuser",
        ),
    ] {
        let (found, message) = error_of(&create(&app, input).await);
        assert_eq!(found, code, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let twice = json!({"name": "x", "prompts": [prompt("a", kind, true), prompt("a", kind, true)]});
    let (status, body) = app.propose("UPSERT", FORM, "formInfo", &twice).await;
    assert!(status.is_client_error(), "{body}");
}

#[tokio::test]
async fn a_form_is_assigned_answered_and_verified() {
    let app = app().await;
    form(&app).await;
    assert_eq!(assign(&app, &[DATASET]).await, true);
    let incomplete = json!({
        "form": {"urn": FORM}, "associatedUrn": DATASET, "incompletePrompts": [{"id": "first"}, {"id": "second"}], "completedPrompts": [],
    });
    assert_eq!(
        forms_of(&app, DATASET).await,
        json!({"incompleteForms": [incomplete], "completedForms": [], "verifications": []})
    );
    let verify = json!({"formUrn": FORM, "entityUrn": DATASET});
    let (code, message) = app
        .mutate_error("verifyForm", "VerifyFormInput", verify.clone())
        .await;
    assert_eq!(code, 400);
    assert!(message.contains("completed forms"), "{message}");
    // An optional answer does not complete the form, the required one does.
    let reply = submit(&app, "second", "STRUCTURED_PROPERTY", None).await;
    assert_eq!(reply["data"]["submitFormPrompt"], true, "{reply}");
    let forms = forms_of(&app, DATASET).await;
    assert_eq!(
        forms["incompleteForms"][0]["completedPrompts"],
        json!([{"id": "second"}])
    );
    app.clock.advance(5);
    submit(&app, "first", "STRUCTURED_PROPERTY", None).await;
    let reply = app.mutate("verifyForm", "VerifyFormInput", verify).await;
    assert_eq!(reply, true, "{reply}");
    let by = |time: i64| json!({"time": time, "actor": {"urn": USER}});
    let answered = |id: &str, time: i64| json!({"id": id, "lastModified": by(time), "fieldAssociations": null});
    let completed = json!({
        "form": {"urn": FORM}, "incompletePrompts": [],
        "completedPrompts": [answered("second", NOW_MS), answered("first", NOW_MS + 5)],
    });
    assert_eq!(
        forms_of(&app, DATASET).await,
        json!({"incompleteForms": [], "completedForms": [completed],
            "verifications": [{"form": {"urn": FORM}, "lastModified": by(NOW_MS + 5)}]})
    );
    let values = app.aspect(DATASET, "structuredProperties").await.unwrap();
    assert_eq!(values["properties"][0]["values"], json!([{"double": 30.0}]));
    // Assigning it again keeps the answers.
    assign(&app, &[DATASET]).await;
    assert_eq!(forms_of(&app, DATASET).await["incompleteForms"], json!([]));
    let remove = json!({"formUrn": FORM, "entityUrns": [DATASET]});
    let reply = app
        .mutate("batchRemoveForm", "BatchRemoveFormInput", remove)
        .await;
    assert_eq!(reply, true, "{reply}");
    assert_eq!(forms_of(&app, DATASET).await["completedForms"], json!([]));
}

#[tokio::test]
async fn a_prompt_of_columns_is_complete_with_all_columns() {
    let app = app().await;
    let kind = "FIELDS_STRUCTURED_PROPERTY";
    let input =
        json!({"id": "initiative", "name": "Columns", "prompts": [prompt("first", kind, true)]});
    create(&app, input).await;
    assign(&app, &[DATASET]).await;
    let schema = app.aspect(DATASET, "schemaMetadata").await.unwrap();
    let fields = schema["fields"].as_array().unwrap();
    let paths: Vec<&str> = fields
        .iter()
        .map(|it| it["fieldPath"].as_str().unwrap())
        .collect();
    let (code, _) = error_of(&submit(&app, "first", kind, None).await);
    assert_eq!(code, 400);
    let (code, _) = error_of(&submit(&app, "first", kind, Some("none")).await);
    assert!(code == 400 || code == 404);
    for (index, path) in paths.iter().enumerate() {
        let reply = submit(&app, "first", kind, Some(path)).await;
        assert_eq!(reply["data"]["submitFormPrompt"], true, "{reply}");
        let forms = forms_of(&app, DATASET).await;
        let is_last = index + 1 == paths.len();
        assert_eq!(
            forms["completedForms"].as_array().unwrap().is_empty(),
            !is_last,
            "{forms}"
        );
        let column = format!("urn:li:schemaField:({DATASET},{path})");
        let values = app.aspect(&column, "structuredProperties").await.unwrap();
        assert_eq!(values["properties"][0]["propertyUrn"], DAYS);
    }
    let forms = forms_of(&app, DATASET).await;
    let done = &forms["completedForms"][0]["completedPrompts"][0]["fieldAssociations"]["completedFieldPrompts"];
    assert_eq!(done.as_array().unwrap().len(), paths.len());
}

#[tokio::test]
async fn answers_that_do_not_fit_the_form_are_rejected() {
    let app = app().await;
    form(&app).await;
    let kind = "STRUCTURED_PROPERTY";
    let (_, message) = error_of(&submit(&app, "first", kind, None).await);
    assert!(message.contains("has not been assigned"), "{message}");
    assign(&app, &[DATASET]).await;
    for (id, kind, expected) in [
        ("third", kind, "no prompt 'third'"),
        ("first", "FIELDS_STRUCTURED_PROPERTY", "is of type"),
    ] {
        let (code, message) = error_of(&submit(&app, id, kind, None).await);
        assert_eq!(code, 400);
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(app.aspect(DATASET, "structuredProperties").await, None);
    let both = json!({"formUrn": FORM, "entityUrns": [DATASET, MISSING]});
    let kind = "BatchAssignFormInput";
    let (_, message) = app.mutate_error("batchAssignForm", kind, both).await;
    assert!(message.contains("does not exist"), "{message}");
    // Only assignees verify.
    let mine = json!({"urn": FORM, "actors": {"usersToRemove": [USER]}});
    let text = "mutation ($input: UpdateFormInput!) { updateForm(input: $input) { urn } }";
    app.graphql_with(text, json!({"input": mine})).await;
    let verify = json!({"formUrn": FORM, "entityUrn": DATASET});
    let (code, message) = app
        .mutate_error("verifyForm", "VerifyFormInput", verify)
        .await;
    assert_eq!(code, 403, "{message}");
}

#[tokio::test]
async fn an_asset_tells_whether_the_caller_is_an_assignee() {
    let app = app().await;
    let prompts = json!([prompt("first", "STRUCTURED_PROPERTY", true)]);
    let kind = "urn:li:ownershipType:__system__data_steward";
    let input = json!({
        "id": "initiative", "name": "Initiative", "prompts": prompts,
        "actors": {"owners": true, "ownershipTypes": [kind]},
    });
    create(&app, input).await;
    assign(&app, &[DATASET]).await;
    let is_assigned = async || {
        let text = "query ($urn: String!) { dataset(urn: $urn) { forms { incompleteForms { isAssignedToMe } } } }";
        let reply = app.graphql_with(text, json!({ "urn": DATASET })).await;
        reply["data"]["dataset"]["forms"]["incompleteForms"][0]["isAssignedToMe"].clone()
    };
    assert_eq!(is_assigned().await, json!(false));
    let owners =
        |kind: &str| json!({"owners": [{"owner": USER, "type": "CUSTOM", "typeUrn": kind}]});
    let other = owners("urn:li:ownershipType:__system__technical_owner");
    app.ingest(DATASET, "ownership", &other).await;
    assert_eq!(is_assigned().await, json!(false));
    app.ingest(DATASET, "ownership", &owners(kind)).await;
    assert_eq!(is_assigned().await, json!(true));
    let nobody = json!({"urn": FORM, "actors": {"owners": false}});
    let text = "mutation ($input: UpdateFormInput!) { updateForm(input: $input) { urn } }";
    app.graphql_with(text, json!({"input": nobody})).await;
    assert_eq!(is_assigned().await, json!(false));
    let me = json!({"urn": FORM, "actors": {"usersToAdd": [USER]}});
    app.graphql_with(text, json!({"input": me})).await;
    assert_eq!(is_assigned().await, json!(true));
}

#[tokio::test]
async fn a_filter_assigns_a_form_to_what_matches() {
    let app = app().await;
    form(&app).await;
    app.add_dataset(OTHER).await;
    let filter = |platform: &str| json!([{"and": [{"field": "platform", "values": [platform]}]}]);
    let dynamic = |filters: Value| json!({"formUrn": FORM, "orFilters": filters});
    let kind = "CreateDynamicFormAssignmentInput";
    let field = "createDynamicFormAssignment";
    let snowflake = dynamic(filter("urn:li:dataPlatform:snowflake"));
    let reply = app.mutate(field, kind, snowflake).await;
    assert_eq!(reply, true, "{reply}");
    let assigned = forms_of(&app, OTHER).await;
    assert_eq!(assigned["incompleteForms"][0]["form"]["urn"], FORM);
    assert_eq!(forms_of(&app, DATASET).await, Value::Null);
    // The same over REST.
    let hive = json!({"filter": {"or": [{"and": [{"field": "platform", "values": ["urn:li:dataPlatform:hive"]}]}]}});
    app.ingest(FORM, "dynamicFormAssignment", &hive).await;
    assert_eq!(
        forms_of(&app, DATASET).await["incompleteForms"][0]["form"]["urn"],
        FORM
    );
    for filters in [json!([]), json!([{"and": []}])] {
        let (code, _) = app.mutate_error(field, kind, dynamic(filters)).await;
        assert_eq!(code, 400);
    }
    // A deleted form is removed from assets, a deleted property from forms.
    let forms = app.aspect(FORM, "formInfo").await.unwrap();
    assert_eq!(forms["prompts"].as_array().unwrap().len(), 2);
    let text = "mutation ($urn: String!) { deleteStructuredProperty(input: { urn: $urn }) }";
    app.graphql_with(text, json!({ "urn": DAYS })).await;
    let forms = app.aspect(FORM, "formInfo").await.unwrap();
    assert_eq!(forms["prompts"], json!([]));
    let reply = app
        .mutate("deleteForm", "DeleteFormInput", json!({ "urn": FORM }))
        .await;
    assert_eq!(reply, true, "{reply}");
    assert_eq!(forms_of(&app, DATASET).await["incompleteForms"], json!([]));
    assert_eq!(forms_of(&app, OTHER).await["incompleteForms"], json!([]));
}
