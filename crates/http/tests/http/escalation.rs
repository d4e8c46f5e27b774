//! Ways by which somebody with the right to edit metadata could gain other rights, or take them
//! from others.

use axum::http::StatusCode;
use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::hidden::world::assign;
use crate::support::{App, DATASET, USER, encoded, proposal, role, token_of};

const EDITOR: &str = "urn:li:corpuser:ed";
const ADA: &str = "urn:li:corpuser:ada";
const GROUP: &str = "urn:li:corpGroup:admins";
const INGEST: &str = "/aspects?action=ingestProposal";

async fn editor(app: &App) -> String {
    token_of(&app.catalog, EDITOR, None).await
}

/// The status of a write as somebody else.
async fn write(app: &App, token: &str, urn: &str, aspect: &str, value: &Value) -> StatusCode {
    let body = json!({"proposal": proposal("UPSERT", urn, aspect, value)});
    app.send_as(token, "POST", INGEST, &body).await.0
}

/// Writes an aspect in an ingestion run.
async fn write_in_run(app: &App, run: &str, urn: &str, aspect: &str, value: &Value) {
    let mut wire = proposal("UPSERT", urn, aspect, value);
    wire["systemMetadata"] = json!({"runId": run, "lastObserved": 1});
    let (status, reply) = app.post(INGEST, &json!({"proposal": wire})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

async fn roll_back(app: &App, token: &str, run: &str, hard: bool) -> (StatusCode, Value) {
    let body = json!({"runId": run, "dryRun": false, "hardDelete": hard, "safe": !hard});
    let path = "/runs?action=rollback";
    app.send_as(token, "POST", path, &body).await
}

fn owned_by(owner: &str) -> Value {
    json!({"owners": [{"owner": owner, "type": "TECHNICAL_OWNER"}], "lastModified": {"time": 0, "actor": owner}})
}

#[tokio::test]
async fn editors_do_not_become_owners_or_members_of_groups() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    app.ingest(
        GROUP,
        "corpGroupInfo",
        &json!({"admins": [], "members": [], "groups": []}),
    )
    .await;
    let status = write(&app, &editors, GROUP, "ownership", &owned_by(EDITOR)).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let add_owner = format!(
        r#"mutation {{ addOwner(input: {{ ownerUrn: "{EDITOR}", resourceUrn: "{GROUP}", ownerEntityType: CORP_USER,
            type: TECHNICAL_OWNER }}) }}"#
    );
    let reply = app.graphql_as(&editors, &add_owner).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let join = format!(
        r#"mutation {{ addGroupMembers(input: {{ groupUrn: "{GROUP}", userUrns: ["{EDITOR}"] }}) }}"#
    );
    let reply = app.graphql_as(&editors, &join).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    assert_eq!(app.aspect(GROUP, "ownership").await, None);
    // An owner whom an administrator named chooses other members: joining would give the owner the
    // roles of the group.
    app.ingest(GROUP, "ownership", &owned_by(EDITOR)).await;
    let reply = app.graphql_as(&editors, &join).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let reply = app.graphql_as(&editors, &join.replace(EDITOR, USER)).await;
    assert_eq!(reply["data"]["addGroupMembers"], true, "{reply}");
}

#[tokio::test]
async fn a_rollback_restores_no_membership_and_deletes_no_group() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    let member = json!({"groups": [GROUP]});
    write_in_run(&app, "one", EDITOR, "groupMembership", &member).await;
    write_in_run(
        &app,
        "two",
        EDITOR,
        "groupMembership",
        &json!({"groups": []}),
    )
    .await;
    let info = json!({"admins": [], "members": [], "groups": []});
    write_in_run(&app, "groups", GROUP, "corpGroupInfo", &info).await;
    for (run, hard) in [
        ("two", false),
        ("two", true),
        ("groups", false),
        ("groups", true),
    ] {
        let (status, reply) = roll_back(&app, &editors, run, hard).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{run} {reply}");
    }
    let groups = app.aspect(EDITOR, "groupMembership").await.unwrap();
    assert_eq!(groups["groups"], json!([]));
    assert!(app.aspect(GROUP, "corpGroupInfo").await.is_some());
    // Profiles of people come and go with runs of editors.
    let person = "urn:li:corpuser:person";
    write_in_run(
        &app,
        "people",
        person,
        "corpUserInfo",
        &json!({"active": true}),
    )
    .await;
    let (status, reply) = roll_back(&app, &editors, "people", false).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, reply) = roll_back(&app, &app.token, "two", false).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let groups = app.aspect(EDITOR, "groupMembership").await.unwrap();
    assert_eq!(groups, member);
}

#[tokio::test]
async fn clearing_an_account_leaves_what_it_is_and_may() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    let create = r#"mutation { createServiceAccount(input: { displayName: "loader" }) { urn } }"#;
    let reply = app.graphql(create).await;
    let account = reply["data"]["createServiceAccount"]["urn"]
        .as_str()
        .unwrap()
        .to_owned();
    let kept = [
        ("groupMembership", json!({"groups": [GROUP]})),
        ("corpUserEditableInfo", json!({"aboutMe": "x"})),
    ];
    for (aspect, value) in &kept {
        app.ingest(&account, aspect, value).await;
    }
    app.ingest(&account, "globalTags", &json!({"tags": []}))
        .await;
    let path = format!(
        "/openapi/v3/entity/corpuser/{}?clear=true",
        encoded(&account)
    );
    let (status, reply) = app.send_as(&editors, "DELETE", &path, &Value::Null).await;
    assert!(status.is_success(), "{status} {reply}");
    assert_eq!(app.aspect(&account, "globalTags").await, None);
    for aspect in ["subTypes", "groupMembership", "corpUserEditableInfo"] {
        assert!(app.aspect(&account, aspect).await.is_some(), "{aspect}");
    }
}

#[tokio::test]
async fn editors_do_not_delete_people_with_roles_or_groups() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    let info = json!({"active": true});
    let (member, nobody) = ("urn:li:corpuser:member", "urn:li:corpuser:nobody");
    for urn in [ADA, member, nobody] {
        app.ingest(urn, "corpUserInfo", &info).await;
    }
    let ada = [Urn::parse(ADA).unwrap()];
    let admin = role("Admin");
    let system = Caller::system();
    let assigned = app.catalog.assign_role(&system, &ada, Some(&admin));
    assigned.await.unwrap();
    app.ingest(member, "groupMembership", &json!({"groups": [GROUP]}))
        .await;
    for (urn, expected) in [
        (ADA, StatusCode::FORBIDDEN),
        (member, StatusCode::FORBIDDEN),
        (nobody, StatusCode::OK),
    ] {
        let (status, reply) = app
            .send_as(
                &editors,
                "POST",
                "/entities?action=delete",
                &json!({"urn": urn}),
            )
            .await;
        assert_eq!(status, expected, "{urn} {reply}");
    }
    assert!(app.aspect(ADA, "roleMembership").await.is_some());
}

#[tokio::test]
async fn editors_report_ingestion_and_change_nothing_else_that_managers_alone_see() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    let secret = "urn:li:dataHubSecret:prod";
    let connection = "urn:li:dataHubConnection:prod";
    let source = "urn:li:dataHubIngestionSource:prod";
    let value = json!({"name": "prod", "value": "x"});
    app.add_secret("prod", "x").await;
    let details = json!({"type": "JSON", "name": "c", "json": {"encryptedBlob": "x"}});
    app.add_connection("prod").await;
    let info =
        json!({"name": "s", "type": "hive", "config": {"recipe": "{}", "executorId": "default"}});
    app.ingest(source, "dataHubIngestionSourceInfo", &info)
        .await;
    let status = write(&app, &editors, secret, "dataHubSecretValue", &value).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let status = write(
        &app,
        &editors,
        connection,
        "dataHubConnectionDetails",
        &details,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    for urn in [secret, connection, source] {
        let body = json!({"urn": urn});
        let path = "/entities?action=delete";
        let (status, reply) = app.send_as(&editors, "POST", path, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{urn} {reply}");
    }
    // Pipelines report about themselves; the recipes of others are for those who manage them.
    for (source, expected) in [
        (source, StatusCode::FORBIDDEN),
        ("urn:li:dataHubIngestionSource:new", StatusCode::FORBIDDEN),
        ("urn:li:dataHubIngestionSource:cli-1f", StatusCode::OK),
    ] {
        let status = write(&app, &editors, source, "dataHubIngestionSourceInfo", &info).await;
        assert_eq!(status, expected, "{source}");
    }
}

/// Somebody who may do everything with the entities of one domain.
#[tokio::test]
async fn a_rollback_needs_the_right_to_delete_and_that_on_both_sides_of_a_move() {
    let app = App::with_dataset().await;
    let (finance, hr) = ("urn:li:domain:finance", "urn:li:domain:hr");
    for (urn, name) in [(finance, "Finance"), (hr, "HR")] {
        app.ingest(urn, "domainProperties", &json!({"name": name}))
            .await;
    }
    let adas = token_of(&app.catalog, ADA, None).await;
    let ada = [Urn::parse(ADA).unwrap()];
    let reader = role("Reader");
    let system = Caller::system();
    let assigned = app.catalog.assign_role(&system, &ada, Some(&reader));
    assigned.await.unwrap();
    write_in_run(&app, "one", DATASET, "domains", &json!({"domains": [hr]})).await;
    write_in_run(
        &app,
        "two",
        DATASET,
        "domains",
        &json!({"domains": [finance]}),
    )
    .await;
    for (privileges, expected) in [
        (vec!["EDIT_ENTITY"], "DELETE_ENTITY"),
        (vec!["EDIT_ENTITY", "DELETE_ENTITY"], "DELETE_ENTITY"),
    ] {
        let policy = json!({
            "type": "METADATA", "state": "ACTIVE", "name": "finance", "privileges": privileges,
            "actors": {"users": [ADA], "resourceOwners": false, "allUsers": false, "allGroups": false},
            "resources": {"filter": {"criteria": [
                {"field": "DOMAIN", "values": [finance], "condition": "EQUALS"},
            ]}},
        });
        app.mutate("createPolicy", "PolicyUpdateInput", policy)
            .await;
        let (status, reply) = roll_back(&app, &adas, "two", false).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
        let message = reply["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{message}");
        let domains = app.aspect(DATASET, "domains").await.unwrap();
        assert_eq!(domains["domains"], json!([finance]));
    }
    // Inside of the domain it may.
    let description = json!({"description": "x"});
    write_in_run(
        &app,
        "three",
        DATASET,
        "editableDatasetProperties",
        &description,
    )
    .await;
    let (status, reply) = roll_back(&app, &adas, "three", false).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn editors_do_not_remove_groups_from_lists() {
    let app = App::empty().await;
    let editors = editor(&app).await;
    let info = json!({"admins": [], "members": [], "groups": []});
    app.ingest(GROUP, "corpGroupInfo", &info).await;
    let removed = json!({"removed": true});
    let status = write(&app, &editors, GROUP, "status", &removed).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let remove = format!(
        r#"mutation {{ batchUpdateSoftDeleted(input: {{ urns: ["{GROUP}"], deleted: true }}) }}"#
    );
    let reply = app.graphql_as(&editors, &remove).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    assert_eq!(app.aspect(GROUP, "status").await, None);
}

/// Another administrator neither blocks the user `datahub` nor acts as it.
#[tokio::test]
async fn the_user_who_may_do_everything_belongs_to_itself() {
    let app = App::empty().await;
    let admins = token_of(&app.catalog, ADA, None).await;
    let (system, ada, admin) = (Caller::system(), [Urn::parse(ADA).unwrap()], role("Admin"));
    let assigned = app.catalog.assign_role(&system, &ada, Some(&admin)).await;
    assigned.unwrap();
    let user = encoded(USER);
    let removed = json!({"removed": true});
    let suspended = json!({"status": "SUSPENDED", "lastModified": {"time": 0, "actor": ADA}});
    let proposed =
        |aspect: &str, value: &Value| json!({"proposal": proposal("UPSERT", USER, aspect, value)});
    for (method, path, body) in [
        ("POST", INGEST.to_owned(), proposed("status", &removed)),
        (
            "POST",
            INGEST.to_owned(),
            proposed("corpUserStatus", &suspended),
        ),
        (
            "POST",
            "/openapi/v3/entity/corpuser?async=false".to_owned(),
            json!([{"urn": USER, "status": {"value": removed}}]),
        ),
        (
            "POST",
            "/entities?action=delete".to_owned(),
            json!({"urn": USER}),
        ),
        (
            "DELETE",
            format!("/openapi/v3/entity/corpuser/{user}"),
            Value::Null,
        ),
        (
            "DELETE",
            format!("/openapi/v3/entity/corpuser/{user}/corpUserKey"),
            Value::Null,
        ),
    ] {
        let (status, reply) = app.send_as(&admins, method, &path, &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path} {reply}");
        let message = reply["message"].as_str().unwrap_or_default();
        assert!(message.contains("over the network"), "{message}");
    }
    for mutation in [
        format!(
            r#"mutation {{ batchUpdateSoftDeleted(input: {{ urns: ["{USER}"], deleted: true }}) }}"#
        ),
        format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", duration: ONE_DAY, name: "t" }})
                {{ accessToken }} }}"#
        ),
    ] {
        let reply = app.graphql_as(&admins, &mutation).await;
        assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    }
    assert_eq!(app.aspect(USER, "status").await, None);
}

/// A policy for Ada, who has the role Reader and these privileges on these resources.
pub(crate) async fn reader_with(
    app: &App,
    kind: &str,
    privileges: &[&str],
    resources: Value,
) -> String {
    let token = token_of(&app.catalog, ADA, None).await;
    let (system, users) = (Caller::system(), [Urn::parse(ADA).unwrap()]);
    let reader = role("Reader");
    let assigned = app.catalog.assign_role(&system, &users, Some(&reader));
    assigned.await.unwrap();
    let mut policy = json!({
        "type": kind, "state": "ACTIVE", "name": "Ada", "privileges": privileges,
        "actors": {"users": [ADA], "resourceOwners": false, "allUsers": false, "allGroups": false},
    });
    if !resources.is_null() {
        policy["resources"] = resources;
    }
    app.mutate("createPolicy", "PolicyUpdateInput", policy)
        .await;
    token
}

#[tokio::test]
async fn nobody_acts_as_a_user_who_may_do_everything() {
    let app = App::empty().await;
    let privileges = [
        "MANAGE_USER_CREDENTIALS",
        "MANAGE_ACCESS_TOKENS",
        "CREATE_USERS",
    ];
    let ada = reader_with(&app, "PLATFORM", &privileges, Value::Null).await;
    for user in [
        "urn:li:corpuser:__datahub_system",
        "urn:li:corpuser:datahub",
    ] {
        app.ingest(user, "corpUserInfo", &json!({"active": true}))
            .await;
        for mutation in [
            format!(
                r#"createNativeUserResetToken(input: {{ userUrn: "{user}" }}) {{ resetToken }}"#
            ),
            format!(
                r#"createAccessToken(input: {{ type: PERSONAL, actorUrn: "{user}", duration: ONE_HOUR, name: "t" }}) {{ accessToken }}"#
            ),
        ] {
            let reply = app
                .graphql_as(&ada, &format!("mutation {{ {mutation} }}"))
                .await;
            assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
            let message = reply["errors"][0]["message"].as_str().unwrap();
            assert!(
                message.contains("because it may do everything"),
                "{message}"
            );
        }
    }
    let other = "urn:li:corpuser:other";
    app.ingest(other, "corpUserInfo", &json!({"active": true}))
        .await;
    let reset = format!(
        r#"mutation {{ createNativeUserResetToken(input: {{ userUrn: "{other}" }}) {{ resetToken }} }}"#
    );
    let reply = app.graphql_as(&ada, &reset).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
}

#[tokio::test]
async fn tokens_of_others_are_revoked_by_those_who_manage_tokens() {
    let app = App::empty().await;
    let ada = reader_with(&app, "PLATFORM", &["UPDATE_USERS"], Value::Null).await;
    let bob = "urn:li:corpuser:bob";
    token_of(&app.catalog, bob, None).await;
    let sign_out = |tokens: bool| {
        format!(
            r#"mutation {{ signOutEverywhere(input: {{userUrn: "{bob}", revokeTokens: {tokens}}}) }}"#
        )
    };
    let reply = app.graphql_as(&ada, &sign_out(true)).await;
    assert_eq!(reply["errors"][0]["extensions"]["code"], 403, "{reply}");
    let reply = app.graphql_as(&ada, &sign_out(false)).await;
    assert_eq!(reply["data"]["signOutEverywhere"], true, "{reply}");
}

#[tokio::test]
async fn deleting_what_is_not_stored_needs_the_right_too() {
    let app = App::with_dataset().await;
    let tags = json!({"tags": [{"tag": "urn:li:tag:pii"}]});
    app.ingest(DATASET, "globalTags", &tags).await;
    let domain = "urn:li:domain:finance";
    app.ingest(domain, "domainProperties", &json!({"name": "Finance"}))
        .await;
    let finance = json!({"filter": {"criteria": [
        {"field": "DOMAIN", "values": [domain], "condition": "EQUALS"},
    ]}});
    let ada = reader_with(&app, "METADATA", &["DELETE_ENTITY"], finance).await;
    let path = "/entities?action=delete";
    for urn in [
        "urn:li:tag:pii",
        "urn:li:corpuser:nobody",
        "urn:li:glossaryTerm:t",
    ] {
        let (status, reply) = app
            .send_as(&ada, "POST", path, &json!({ "urn": urn }))
            .await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{urn}: {reply}");
    }
    assert_eq!(
        app.aspect(DATASET, "globalTags").await.unwrap()["tags"],
        tags["tags"]
    );
    let (status, reply) = app.post(path, &json!({"urn": "urn:li:tag:pii"})).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(
        app.aspect(DATASET, "globalTags").await.unwrap()["tags"],
        json!([])
    );
}

#[tokio::test]
async fn a_column_counts_as_its_dataset_also_before_it_is_stored() {
    let app = App::with_dataset().await;
    let all = json!({"type": "dataset", "allResources": true});
    let ada = reader_with(&app, "METADATA", &["CREATE_ENTITY"], all).await;
    let column = format!("urn:li:schemaField:({DATASET},id)");
    let tags = json!({"tags": [{"tag": "urn:li:tag:pii"}]});
    let status = write(&app, &ada, &column, "globalTags", &tags).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    // Owners may edit what they own.
    app.ingest(DATASET, "ownership", &owned_by(ADA)).await;
    let status = write(&app, &ada, &column, "globalTags", &tags).await;
    assert_eq!(status, StatusCode::OK);
}

/// A criterion about a dataset holds for its columns, whichever condition it has.
#[tokio::test]
async fn a_policy_includes_and_excludes_columns_with_their_dataset() {
    let app = App::with_dataset().await;
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    let tags = json!({"tags": []});
    app.ingest(&column, "globalTags", &tags).await;
    for (field, condition, value, expected) in [
        ("URN", "NOT_EQUALS", DATASET, StatusCode::FORBIDDEN),
        ("TYPE", "NOT_EQUALS", "dataset", StatusCode::FORBIDDEN),
        ("URN", "EQUALS", DATASET, StatusCode::OK),
        ("TYPE", "EQUALS", "dataset", StatusCode::OK),
        ("TYPE", "EQUALS", "schemaField", StatusCode::OK),
    ] {
        let criteria = json!([{"field": field, "values": [value], "condition": condition}]);
        let policy = json!({
            "displayName": "Ada", "description": "", "type": "METADATA", "state": "ACTIVE",
            "privileges": ["EDIT_ENTITY_TAGS"], "actors": {"users": [ADA]},
            "resources": {"filter": {"criteria": criteria}},
        });
        app.write_policy("urn:li:dataHubPolicy:ada", &policy).await;
        let ada = token_of(&app.catalog, ADA, None).await;
        assign(&app, ADA, "Reader").await;
        let status = write(&app, &ada, &column, "globalTags", &tags).await;
        assert_eq!(status, expected, "{criteria}");
    }
}

#[tokio::test]
async fn a_rollback_that_is_denied_in_part_changes_nothing() {
    let app = App::empty().await;
    let domain = "urn:li:domain:finance";
    app.ingest(domain, "domainProperties", &json!({"name": "Finance"}))
        .await;
    // More than one transaction rolls back; the last one may not be.
    let dataset =
        |number: usize| format!("urn:li:dataset:(urn:li:dataPlatform:hive,{number:05},PROD)");
    let count = 1_100;
    let mut proposals = Vec::new();
    for number in 0..count {
        let urn = dataset(number);
        let mut wire = proposal(
            "UPSERT",
            &urn,
            "datasetProperties",
            &json!({"description": "d"}),
        );
        wire["systemMetadata"] = json!({"runId": "run", "lastObserved": 1});
        proposals.push(wire);
        if number + 1 < count {
            let domains = json!({"domains": [domain]});
            proposals.push(proposal("UPSERT", &urn, "domains", &domains));
        }
    }
    let (status, reply) = app.propose_all(proposals).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let finance = json!({"filter": {"criteria": [
        {"field": "DOMAIN", "values": [domain], "condition": "EQUALS"},
    ]}});
    let ada = reader_with(&app, "METADATA", &["DELETE_ENTITY"], finance).await;
    let (status, reply) = roll_back(&app, &ada, "run", false).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{reply}");
    for number in [0, count - 1] {
        let stored = app.aspect(&dataset(number), "datasetProperties").await;
        assert!(stored.is_some(), "{number}");
    }
    let domains = json!({"domains": [domain]});
    app.ingest(&dataset(count - 1), "domains", &domains).await;
    let (status, reply) = roll_back(&app, &ada, "run", false).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(app.aspect(&dataset(0), "datasetProperties").await, None);
}
