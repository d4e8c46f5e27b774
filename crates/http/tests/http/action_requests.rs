//! Writes of callers that may only propose changes.

use axum::http::{Method, StatusCode};
use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, DATASET, proposal, role, token_of};

const PAULA: &str = "urn:li:corpuser:paula";
const FINANCE: &str = "urn:li:domain:finance";

/// [`DATASET`], and the tokens of a Proposer, an Editor and a Reader.
async fn app() -> (App, [String; 3]) {
    let app = App::with_dataset().await;
    let domain = json!({"name": "Finance", "description": ""});
    app.ingest(FINANCE, "domainProperties", &domain).await;
    let mut tokens = Vec::new();
    for (name, role_name) in [
        ("paula", "Proposer"),
        ("eddie", "Editor"),
        ("rita", "Reader"),
    ] {
        let urn = format!("urn:li:corpuser:{name}");
        tokens.push(token_of(&app.catalog, &urn, None).await);
        let user = Urn::parse(&urn).unwrap();
        let role = role(role_name);
        let system = Caller::system();
        let assigned = app.catalog.assign_role(&system, &[user], Some(&role)).await;
        assigned.unwrap();
    }
    (app, tokens.try_into().unwrap())
}

fn describe(text: &str) -> String {
    format!(
        r#"mutation {{ updateDescription(input: {{ resourceUrn: "{DATASET}", description: "{text}" }}) }}"#
    )
}

fn describe_domain(text: &str) -> String {
    format!(
        r#"mutation {{ updateDescription(input: {{ resourceUrn: "{FINANCE}", description: "{text}" }}) }}"#
    )
}

fn describe_column(column: &str, text: &str) -> String {
    format!(
        r#"mutation {{ updateDescription(input: {{
            resourceUrn: "{DATASET}", description: "{text}",
            subResourceType: DATASET_FIELD, subResource: "{column}" }}) }}"#
    )
}

/// Sends a mutation that becomes a proposal, and returns its URN.
async fn propose(app: &App, token: &str, mutation: &str) -> String {
    // Lists have the newest first.
    app.clock.advance(1);
    let reply = app.graphql_as(token, mutation).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    let proposals = reply["extensions"]["proposals"].as_array();
    let [urn] = proposals.map_or(&[][..], Vec::as_slice) else {
        panic!("one proposal is expected: {reply}");
    };
    urn.as_str().unwrap().to_owned()
}

async fn decide(app: &App, token: &str, field: &str, urn: &str) -> Value {
    decide_all(app, token, field, &[urn]).await
}

async fn decide_all(app: &App, token: &str, field: &str, urns: &[&str]) -> Value {
    let urns = json!(urns);
    let mutation = format!(r#"mutation {{ {field}(proposalUrns: {urns}, note: "because") }}"#);
    app.graphql_as(token, &mutation).await
}

async fn listed(app: &App, input: &str) -> Value {
    let query = format!(
        "{{ listActionRequests(input: {{ {input} }}) {{
            total actionRequests {{
                urn status result resultNote proposer {{ username }} decidedBy {{ username }}
                changes {{ urn aspectName before after entity {{ urn }} }}
            }}
        }} }}"
    );
    let mut reply = app.graphql(&query).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    reply["data"]["listActionRequests"].take()
}

/// The URNs of a list, in its order.
fn urns(listed: &Value) -> Vec<&str> {
    let requests = listed["actionRequests"].as_array().unwrap().iter();
    requests.map(|it| it["urn"].as_str().unwrap()).collect()
}

async fn description(app: &App) -> Option<Value> {
    let aspect = app.aspect(DATASET, "editableDatasetProperties").await;
    aspect.map(|mut aspect| aspect["description"].take())
}

#[tokio::test]
async fn a_proposed_description_is_stored_only_when_an_editor_accepts_it() {
    let (app, [paula, eddie, rita]) = app().await;
    let reply = app.graphql_as(&eddie, &describe("before")).await;
    assert_eq!(reply["extensions"], json!({}), "{reply}");
    let urn = propose(&app, &paula, &describe("better")).await;
    assert_eq!(description(&app).await, Some(json!("before")));

    let pending = listed(&app, &format!(r#"resourceUrn: "{DATASET}""#)).await;
    assert_eq!(pending["total"], 1, "{pending}");
    let request = &pending["actionRequests"][0];
    assert_eq!(request["urn"], json!(urn));
    assert_eq!(request["status"], "PENDING");
    assert_eq!(request["proposer"]["username"], "paula");
    let change = &request["changes"][0];
    assert_eq!(change["entity"]["urn"], DATASET);
    assert_eq!(change["aspectName"], "editableDatasetProperties");
    for (member, text) in [("before", "before"), ("after", "better")] {
        let aspect: Value = serde_json::from_str(change[member].as_str().unwrap()).unwrap();
        assert_eq!(aspect["description"], text);
    }
    let others = listed(&app, &format!(r#"resourceUrn: "{FINANCE}""#)).await;
    assert_eq!(others["total"], 0);

    for token in [&rita, &paula] {
        let denied = decide(&app, token, "acceptProposals", &urn).await;
        assert_eq!(denied["errors"][0]["extensions"]["code"], 403, "{denied}");
    }
    let denied = decide(&app, &rita, "rejectProposals", &urn).await;
    assert_eq!(denied["errors"][0]["extensions"]["code"], 403, "{denied}");
    assert_eq!(description(&app).await, Some(json!("before")));

    let accepted = decide(&app, &eddie, "acceptProposals", &urn).await;
    assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    assert_eq!(description(&app).await, Some(json!("better")));
    assert_eq!(listed(&app, "").await["total"], 0);
    let decided = listed(
        &app,
        r#"status: COMPLETED, proposer: "urn:li:corpuser:paula""#,
    )
    .await;
    let request = &decided["actionRequests"][0];
    assert_eq!(request["result"], "ACCEPTED", "{decided}");
    assert_eq!(request["resultNote"], "because");
    assert_eq!(request["decidedBy"]["username"], "eddie");

    let again = decide(&app, &eddie, "rejectProposals", &urn).await;
    assert_eq!(again["errors"][0]["extensions"]["code"], 409, "{again}");
    let missing = decide(&app, &eddie, "acceptProposals", "urn:li:actionRequest:none").await;
    assert_eq!(missing["errors"][0]["extensions"]["code"], 404, "{missing}");
}

#[tokio::test]
async fn proposals_for_different_columns_are_accepted_in_any_order() {
    let (app, [paula, eddie, _]) = app().await;
    let first = propose(&app, &paula, &describe_column("timestamp", "one")).await;
    let second = propose(&app, &paula, &describe_column("user_name", "two")).await;
    let other = propose(&app, &paula, &describe_column("timestamp", "other")).await;
    for urn in [&second, &first] {
        let accepted = decide(&app, &eddie, "acceptProposals", urn).await;
        assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    }
    let aspect = app.aspect(DATASET, "editableSchemaMetadata").await.unwrap();
    let columns = aspect["editableSchemaFieldInfo"].as_array().unwrap();
    let texts: Vec<_> = columns
        .iter()
        .map(|column| &column["description"])
        .collect();
    assert_eq!(texts, ["two", "one"]);
    // The same column was described meanwhile.
    let conflict = decide(&app, &eddie, "acceptProposals", &other).await;
    assert_eq!(
        conflict["errors"][0]["extensions"]["code"], 409,
        "{conflict}"
    );
    assert_eq!(
        listed(&app, "").await["total"],
        1,
        "it can still be rejected"
    );
}

#[tokio::test]
async fn a_proposer_withdraws_and_an_editor_rejects() {
    let (app, [paula, eddie, _]) = app().await;
    let own = propose(&app, &paula, &describe("own")).await;
    let others = propose(&app, &paula, &describe("other")).await;
    for (token, urn) in [(&paula, &own), (&eddie, &others)] {
        let rejected = decide(&app, token, "rejectProposals", urn).await;
        assert_eq!(rejected["data"]["rejectProposals"], true, "{rejected}");
    }
    assert_eq!(description(&app).await, None);
    let decided = listed(&app, "status: COMPLETED").await;
    let results = decided["actionRequests"].as_array().unwrap();
    let result_of = |urn: &str| {
        let request = results.iter().find(|request| request["urn"] == *urn);
        &request.unwrap()["result"]
    };
    assert_eq!(
        [result_of(&own), result_of(&others)],
        ["WITHDRAWN", "REJECTED"]
    );
}

#[tokio::test]
async fn several_proposals_are_decided_all_or_none() {
    let (app, [paula, eddie, rita]) = app().await;
    let on_dataset = propose(&app, &paula, &describe("better")).await;
    let other = propose(&app, &paula, &describe("other")).await;
    let on_domain = propose(&app, &paula, &describe_domain("all")).await;
    // Readers may edit what they own.
    let owners = json!({"owners": [{"owner": "urn:li:corpuser:rita", "type": "DATAOWNER"}]});
    app.ingest(DATASET, "ownership", &owners).await;
    let missing = "urn:li:actionRequest:none";
    for (token, field, urns, code, named) in [
        (
            &rita,
            "acceptProposals",
            [&*on_dataset, &*on_domain],
            403,
            FINANCE,
        ),
        (
            &rita,
            "rejectProposals",
            [&*on_dataset, &*on_domain],
            403,
            &*on_domain,
        ),
        (
            &eddie,
            "acceptProposals",
            [&*on_dataset, &*other],
            409,
            DATASET,
        ),
        (
            &eddie,
            "rejectProposals",
            [&*on_dataset, missing],
            404,
            missing,
        ),
    ] {
        let failed = decide_all(&app, token, field, &urns).await;
        let error = &failed["errors"][0];
        assert_eq!(error["extensions"]["code"], code, "{failed}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("item "), "{message}");
        assert!(message.contains(named), "{message}");
        assert_eq!(listed(&app, "").await["total"], 3, "nothing is decided");
        assert_eq!(description(&app).await, None, "nothing is stored");
    }
    let too_many = vec![&*on_dataset; 21];
    let failed = decide_all(&app, &eddie, "acceptProposals", &too_many).await;
    assert_eq!(failed["errors"][0]["extensions"]["code"], 400, "{failed}");

    let twice = [&*on_dataset, &*on_domain, &*on_dataset];
    let accepted = decide_all(&app, &eddie, "acceptProposals", &twice).await;
    assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    assert_eq!(description(&app).await, Some(json!("better")));
    assert_eq!(urns(&listed(&app, "").await), [other]);
}

/// What the direct mutations refuse is not accepted, either.
#[tokio::test]
async fn a_proposal_whose_domain_or_name_is_gone_is_not_accepted() {
    let (app, [paula, eddie, _]) = app().await;
    let create = |id: &str, name: &str| {
        format!(r#"mutation {{ createDomain(input: {{ id: "{id}", name: "{name}" }}) }}"#)
    };
    let set = |id: &str| {
        format!(
            r#"mutation {{ setDomain(entityUrn: "{DATASET}", domainUrn: "urn:li:domain:{id}") }}"#
        )
    };
    for id in ["gone", "first", "second"] {
        app.graphql_as(&eddie, &create(id, id)).await;
    }
    let to_gone = propose(&app, &paula, &set("gone")).await;
    let to_first = propose(&app, &paula, &set("first")).await;
    let to_second = propose(&app, &paula, &set("second")).await;
    let namesakes = [
        propose(&app, &paula, &create("one", "Same")).await,
        propose(&app, &paula, &create("two", "Same")).await,
    ];
    let deleted = r#"mutation { deleteDomain(urn: "urn:li:domain:gone") }"#;
    let deleted = app.graphql_as(&eddie, deleted).await;
    assert_eq!(deleted["data"]["deleteDomain"], true, "{deleted}");
    let fails = async |urn: &str, code: u64, expected: &str| {
        let failed = decide(&app, &eddie, "acceptProposals", urn).await;
        let error = &failed["errors"][0];
        assert_eq!(error["extensions"]["code"], code, "{failed}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    };
    fails(&to_gone, 400, "urn:li:domain:gone does not exist any more").await;
    for urn in [&to_first, &namesakes[0]] {
        let accepted = decide(&app, &eddie, "acceptProposals", urn).await;
        assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    }
    fails(&to_second, 409, "has changed since the proposal").await;
    fails(&namesakes[1], 409, "already exists in this domain").await;
    let stored = app.aspect(DATASET, "domains").await.unwrap();
    assert_eq!(stored["domains"], json!(["urn:li:domain:first"]));
}

/// Who may decide, and whose navigation shows a proposal.
#[tokio::test]
async fn callers_learn_which_proposals_they_may_decide_and_which_concern_them() {
    let (app, [paula, eddie, rita]) = app().await;
    let on_dataset = propose(&app, &paula, &describe("better")).await;
    let on_domain = propose(&app, &paula, &describe_domain("all")).await;
    // Readers may edit what they own.
    let owners = json!({"owners": [{"owner": "urn:li:corpuser:rita", "type": "DATAOWNER"}]});
    app.ingest(DATASET, "ownership", &owners).await;
    let of = async |token: &str, input: &str| {
        let query = format!(
            "{{ listActionRequests(input: {{ {input} }}) {{ total actionRequests {{ urn canDecide }} }} }}"
        );
        let mut reply = app.graphql_as(token, &query).await;
        assert_eq!(reply.get("errors"), None, "{reply}");
        reply["data"]["listActionRequests"].take()
    };
    for (token, decidable, concerning) in [
        (&paula, vec![], 2),
        (&eddie, vec![&on_domain, &on_dataset], 2),
        (&rita, vec![&on_dataset], 1),
    ] {
        let all = of(token, "").await;
        assert_eq!(all["total"], 2);
        let requests = all["actionRequests"].as_array().unwrap().iter();
        let found = requests.filter(|request| request["canDecide"] == true);
        let found: Vec<&str> = found.map(|it| it["urn"].as_str().unwrap()).collect();
        assert_eq!(found, decidable);
        let own = of(token, "concernsMe: true, count: 0").await;
        assert_eq!(own["total"], concerning, "{own}");
    }
    decide(&app, &eddie, "acceptProposals", &on_dataset).await;
    let decided = of(&eddie, "status: COMPLETED").await;
    assert_eq!(decided["actionRequests"][0]["canDecide"], false);
    let query = "{ listActionRequests(input: { status: COMPLETED, concernsMe: true }) { total } }";
    let reply = app.graphql_as(&eddie, query).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
}

#[tokio::test]
async fn decided_proposals_are_listed_by_proposer_and_entity() {
    let (app, [paula, eddie, _]) = app().await;
    let on_dataset = propose(&app, &paula, &describe("better")).await;
    let on_domain = propose(&app, &paula, &describe_domain("all")).await;
    decide(&app, &eddie, "acceptProposals", &on_dataset).await;
    decide(&app, &eddie, "rejectProposals", &on_domain).await;
    let of_paula = format!(r#"status: COMPLETED, proposer: "{PAULA}""#);
    for (input, expected) in [
        (
            "status: COMPLETED".to_owned(),
            vec![&on_domain, &on_dataset],
        ),
        (of_paula.clone(), vec![&on_domain, &on_dataset]),
        (
            r#"status: COMPLETED, proposer: "urn:li:corpuser:eddie""#.to_owned(),
            vec![],
        ),
        (
            format!(r#"{of_paula}, resourceUrn: "{DATASET}""#),
            vec![&on_dataset],
        ),
    ] {
        assert_eq!(urns(&listed(&app, &input).await), expected, "{input}");
    }
}

#[tokio::test]
async fn a_page_of_proposals_is_small() {
    let (app, [paula, ..]) = app().await;
    for number in 0..21 {
        propose(&app, &paula, &describe(&number.to_string())).await;
    }
    let page = listed(&app, "").await;
    assert_eq!((urns(&page).len(), &page["total"]), (20, &json!(21)));
    let next = listed(&app, "start: 20").await;
    assert_eq!(urns(&next).len(), 1);
    let query = "{ listActionRequests(input: { count: 21 }) { total } }";
    let reply = app.graphql(query).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("at most 20 are allowed"), "{reply}");
}

#[tokio::test]
async fn privileges_say_where_a_caller_may_propose_changes() {
    let (app, [paula, eddie, _]) = app().await;
    let query = format!(
        r#"{{
            dataset(urn: "{DATASET}") {{ privileges {{ canEditDescription canProposeChanges }} }}
            corpUser(urn: "{PAULA}") {{ privileges {{ canProposeChanges }} }}
        }}"#
    );
    for (token, can_edit, can_propose) in [(&paula, false, true), (&eddie, true, false)] {
        let reply = app.graphql_as(token, &query).await;
        let privileges = json!({"canEditDescription": can_edit, "canProposeChanges": can_propose});
        assert_eq!(
            reply["data"]["dataset"]["privileges"], privileges,
            "{reply}"
        );
        let of_user = &reply["data"]["corpUser"]["privileges"]["canProposeChanges"];
        assert_eq!(*of_user, Value::Null, "accounts cannot be proposed");
    }
}

#[tokio::test]
async fn writes_over_rest_become_proposals_and_the_reply_names_them() {
    let (app, [paula, eddie, _]) = app().await;
    let tags = json!({"tags": [{"tag": "urn:li:tag:pii"}]});
    let body = json!({"proposal": proposal("UPSERT", DATASET, "globalTags", &tags)});
    let mut request = app.request(
        Method::POST,
        "/aspects?action=ingestProposal",
        body.to_string(),
    );
    let token = format!("Bearer {paula}").parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let response = app.respond(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let urn = response.headers()["x-docent-proposal"].to_str().unwrap();
    assert_eq!(app.aspect(DATASET, "globalTags").await, None);
    let accepted = decide(&app, &eddie, "acceptProposals", urn).await;
    assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    assert_eq!(app.aspect(DATASET, "globalTags").await, Some(tags));
}

#[tokio::test]
async fn some_changes_cannot_be_proposed() {
    let (app, [paula, ..]) = app().await;
    let policy = r#"mutation { createPolicy(input: { type: PLATFORM, name: "p", state: ACTIVE,
        privileges: ["MANAGE_TAGS"], actors: { resourceOwners: false, allUsers: true, allGroups: false } }) }"#;
    let role = format!(
        r#"mutation {{ batchAssignRole(input: {{ roleUrn: "urn:li:dataHubRole:Admin", actors: ["{PAULA}"] }}) }}"#
    );
    let delete = format!(r#"mutation {{ deleteDomain(urn: "{FINANCE}") }}"#);
    for mutation in [policy, &role, &delete] {
        let reply = app.graphql_as(&paula, mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    }
    // Invalid input fails at once, and not when somebody accepts it.
    let missing = describe_column("no_such_column", "text");
    let reply = app.graphql_as(&paula, &missing).await;
    assert!(reply["errors"][0]["message"].is_string(), "{reply}");
    assert_eq!(listed(&app, "").await["total"], 0);
}

#[tokio::test]
async fn the_number_of_pending_proposals_is_limited() {
    let (app, [paula, ..]) = app().await;
    for number in 0..100 {
        propose(&app, &paula, &describe(&format!("text {number}"))).await;
    }
    let reply = app.graphql_as(&paula, &describe("one too many")).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 409, "{reply}");
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("100 proposals of yours"), "{message}");
    assert_eq!(listed(&app, "count: 1").await["total"], 100);
}

/// Sends a list of change proposals over REST that becomes one proposal, and returns its URN.
async fn propose_all(app: &App, token: &str, proposals: &[Value]) -> String {
    app.clock.advance(1);
    let body = json!({"proposals": proposals, "async": "false"}).to_string();
    let mut request = app.request(Method::POST, "/aspects?action=ingestProposalBatch", body);
    let token = format!("Bearer {token}").parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let response = app.respond(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let urn = response.headers()["x-docent-proposal"].to_str().unwrap();
    urn.to_owned()
}

/// Who may do the write may decide about it, wherever the entity is before and after.
#[tokio::test]
async fn stewards_decide_what_is_created_in_their_domain_or_moved() {
    let (app, [paula, eddie, rita]) = app().await;
    let marketing = "urn:li:domain:marketing";
    let domain = json!({"name": "Marketing", "description": ""});
    app.ingest(marketing, "domainProperties", &domain).await;
    let mike = token_of(&app.catalog, "urn:li:corpuser:mike", None).await;
    let user = Urn::parse("urn:li:corpuser:mike").unwrap();
    let (system, reader) = (Caller::system(), role("Reader"));
    let assigned = app
        .catalog
        .assign_role(&system, &[user], Some(&reader))
        .await;
    assigned.unwrap();
    for (domain, user) in [(FINANCE, "rita"), (marketing, "mike")] {
        let steward = format!(
            r#"mutation {{ addDomainSteward(domainUrn: "{domain}", actorUrn: "urn:li:corpuser:{user}") }}"#
        );
        let reply = app.graphql(&steward).await;
        assert_eq!(reply["data"]["addDomainSteward"], true, "{reply}");
    }
    let subdomain = propose(
        &app,
        &paula,
        &format!(r#"mutation {{ createDomain(input: {{ id: "taxes", name: "Taxes", parentDomain: "{FINANCE}" }}) }}"#),
    )
    .await;
    let table = "urn:li:dataset:(urn:li:dataPlatform:hive,new,PROD)";
    let properties = json!({"description": "new", "customProperties": {}});
    let new_table = propose_all(
        &app,
        &paula,
        &[
            proposal("UPSERT", table, "datasetProperties", &properties),
            proposal("UPSERT", table, "domains", &json!({"domains": [FINANCE]})),
            // An owner whom the proposal names decides nothing by that.
            proposal(
                "UPSERT",
                table,
                "ownership",
                &json!({"owners": [{"owner": "urn:li:corpuser:mike", "type": "DATAOWNER"}]}),
            ),
        ],
    )
    .await;
    let in_marketing = json!({"domains": [marketing]});
    app.ingest(DATASET, "domains", &in_marketing).await;
    let set_domain =
        format!(r#"mutation {{ setDomain(entityUrn: "{DATASET}", domainUrn: "{FINANCE}") }}"#);
    let moved = propose(&app, &paula, &set_domain).await;

    let created = [&new_table, &subdomain];
    for (token, expected) in [
        (&eddie, vec![&moved, &new_table, &subdomain]),
        (&rita, created.to_vec()),
        // A move needs the right on both sides.
        (&mike, vec![]),
    ] {
        let query = "{ listActionRequests(input: { concernsMe: true }) { total actionRequests { urn canDecide } } }";
        let mut reply = app.graphql_as(token, query).await;
        let list = reply["data"]["listActionRequests"].take();
        assert_eq!(urns(&list), expected, "{reply}");
        for request in list["actionRequests"].as_array().unwrap() {
            assert_eq!(request["canDecide"], true, "{request}");
        }
    }
    for (token, urn) in [
        (&mike, &subdomain),
        (&mike, &new_table),
        (&rita, &moved),
        (&mike, &moved),
    ] {
        for field in ["rejectProposals", "acceptProposals"] {
            let denied = decide(&app, token, field, urn).await;
            assert_eq!(denied["errors"][0]["extensions"]["code"], 403, "{denied}");
        }
    }
    let accepted = decide(&app, &rita, "acceptProposals", &new_table).await;
    assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    assert_eq!(
        app.aspect(table, "datasetProperties").await,
        Some(properties)
    );
    let rejected = decide(&app, &rita, "rejectProposals", &subdomain).await;
    assert_eq!(rejected["data"]["rejectProposals"], true, "{rejected}");
}

/// Several changes of one aspect are accepted as one.
#[tokio::test]
async fn a_privilege_for_one_of_several_changes_does_not_accept_all() {
    let (app, [paula, _, rita]) = app().await;
    let policy = json!({
        "displayName": "columns", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["EDIT_DATASET_COL_DESCRIPTION"],
        "actors": {"users": ["urn:li:corpuser:rita"]}, "resources": {"filter": {"criteria": []}},
    });
    app.write_policy("urn:li:dataHubPolicy:columns", &policy)
        .await;
    let described = propose(&app, &paula, &describe_column("timestamp", "one")).await;
    let accepted = decide(&app, &rita, "acceptProposals", &described).await;
    assert_eq!(accepted["data"]["acceptProposals"], true, "{accepted}");
    app.ingest("urn:li:tag:pii", "tagProperties", &json!({"name": "pii"}))
        .await;
    let tagged = propose(
        &app,
        &paula,
        &format!(
            r#"mutation {{ addTag(input: {{ tagUrn: "urn:li:tag:pii", resourceUrn: "{DATASET}",
                subResourceType: DATASET_FIELD, subResource: "timestamp" }}) }}"#
        ),
    )
    .await;
    let denied = decide(&app, &rita, "acceptProposals", &tagged).await;
    assert_eq!(denied["errors"][0]["extensions"]["code"], 403, "{denied}");
}
