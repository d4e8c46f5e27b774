//! The audit log: what every API leaves in it, and who reads it.

use std::net::IpAddr;

use axum::http::{Method, StatusCode, header};
use docent_catalog::{AuditEvent, AuditKey, AuditOutcome, AuditRecord, Caller};
use docent_http::server::Peer;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::sign_in::{ADA, PASSWORD, add, log_in, session, with_header};
use crate::support::{App, DATASET, NOW_MS, USER, encoded, role, token_of};

pub(crate) const RITA: &str = "urn:li:corpuser:rita";
const EVENTS: &str = "query ($input: AuditLogInput!) { auditLog(input: $input) { nextScroll events {
    id time actorUrn actor { ... on CorpUser { username } } address credential operation outcome policies reason dropped entityCount
    entities { urn changes { aspectName before after } } } } }";

/// The events of a query.
pub(crate) async fn events(app: &App, input: Value) -> Vec<Value> {
    let reply = app.graphql_with(EVENTS, json!({"input": input})).await;
    let events = reply["data"]["auditLog"]["events"].as_array().cloned();
    events.unwrap_or_else(|| panic!("{reply}"))
}

/// The newest event.
pub(crate) async fn newest(app: &App) -> Value {
    events(app, json!({"count": 1})).await.remove(0)
}

/// A reader's token.
pub(crate) async fn reader(app: &App, user: &str) -> String {
    let token = token_of(&app.catalog, user, None).await;
    let urn = Urn::parse(user).unwrap();
    let assigned = app
        .catalog
        .assign_role(&Caller::system(), &[urn], Some(&role("Reader")))
        .await;
    assigned.unwrap();
    token
}

pub(crate) fn describe(text: &str) -> String {
    format!(
        r#"mutation {{ updateDescription(input: {{ resourceUrn: "{DATASET}", description: "{text}" }}) }}"#
    )
}

#[tokio::test]
async fn a_change_says_who_when_from_where_what_and_by_which_policy() {
    let app = App::with_dataset().await;
    for (text, before, after) in [("one", json!(null), 1), ("two", json!(1), 2)] {
        let body = json!({"query": describe(text)}).to_string();
        let mut request = app.request(Method::POST, "/api/graphql", body);
        request
            .extensions_mut()
            .insert(Peer::at(IpAddr::from([192, 0, 2, 7])));
        app.send(request).await;
        let event = newest(&app).await;
        assert_eq!(event["time"], NOW_MS);
        assert_eq!(event["actorUrn"], USER);
        assert_eq!(event["actor"]["username"], "datahub");
        assert_eq!(event["address"], "192.0.2.7");
        let credential = event["credential"].as_str().unwrap();
        let id = credential.strip_prefix("token ").unwrap();
        assert_eq!(id.len(), 12);
        assert_eq!(event["operation"], "updateDescription");
        assert_eq!(event["outcome"], "ALLOWED");
        let policies = json!(["urn:li:dataHubPolicy:editor-metadata-policy"]);
        assert_eq!(event["policies"], policies, "{event}");
        assert_eq!(event["entityCount"], 1);
        assert_eq!(
            event["entities"],
            json!([{"urn": DATASET, "changes": [
                {"aspectName": "editableDatasetProperties", "before": before, "after": after},
            ]}])
        );
    }
    // The id is that of the token list.
    let tokens = "{ listAccessTokens(input: {}) { tokens { id } } }";
    let tokens = app.graphql(tokens).await;
    let id = tokens["data"]["listAccessTokens"]["tokens"][0]["id"].as_str();
    let event = newest(&app).await;
    let credential = event["credential"].as_str().unwrap();
    assert_eq!(credential, format!("token {}", &id.unwrap()[..12]));
    // Nothing has changed.
    let id = event["id"].clone();
    app.graphql(&describe("two")).await;
    assert_eq!(newest(&app).await["id"], id);
}

#[tokio::test]
async fn every_api_names_its_operation() {
    let app = App::with_dataset().await;
    assert_eq!(
        newest(&app).await["operation"],
        "POST /aspects?action=ingestProposal"
    );
    let status = json!({"removed": false});
    let list = vec![crate::support::proposal(
        "UPSERT", DATASET, "status", &status,
    )];
    app.propose_all(list).await;
    assert_eq!(
        newest(&app).await["operation"],
        "POST /aspects?action=ingestProposalBatch"
    );
    let entity = json!([{"urn": DATASET, "status": {"value": {"removed": true}}}]);
    let path = "/api/gms/openapi/v3/entity/dataset?async=false";
    let (code, _) = app.post(path, &entity).await;
    assert_eq!(code, StatusCode::OK);
    assert_eq!(
        newest(&app).await["operation"],
        "POST /openapi/v3/entity/{type}"
    );
    let path = format!("/openapi/v3/entity/dataset/{}", encoded(DATASET));
    let request = app.request(Method::DELETE, &path, String::new());
    assert_eq!(app.send(request).await.0, StatusCode::OK);
    let event = newest(&app).await;
    assert_eq!(
        event["operation"],
        "DELETE /openapi/v3/entity/{type}/{*urn}"
    );
    let changes = event["entities"][0]["changes"].as_array().unwrap();
    let change = |name: &str| changes.iter().find(|it| it["aspectName"] == name);
    assert_eq!(
        change("status").unwrap(),
        &json!({"aspectName": "status", "before": 2, "after": null})
    );
    assert_eq!(change("datasetKey").unwrap()["before"], 1);
}

#[tokio::test]
async fn the_entities_of_a_request_are_one_event_and_each_finds_it() {
    let app = App::empty().await;
    let urn = |number: usize| format!("urn:li:tag:t{number:03}");
    let properties = |name: usize| json!({"name": name.to_string()});
    let list = (0..150).map(|number| {
        crate::support::proposal("UPSERT", &urn(number), "tagProperties", &properties(number))
    });
    let (code, body) = app.propose_all(list.collect()).await;
    assert_eq!(code, StatusCode::OK, "{body}");
    let event = newest(&app).await;
    assert_eq!(event["entityCount"], 150);
    assert_eq!(event["entities"].as_array().unwrap().len(), 100);
    let short = events(&app, json!({"count": 1, "maxEntities": 2})).await;
    assert_eq!(short[0]["entityCount"], 150);
    assert_eq!(short[0]["entities"].as_array().unwrap().len(), 2);
    app.ingest(&urn(149), "status", &json!({"removed": true}))
        .await;
    let of_last = events(&app, json!({"entity": urn(149)})).await;
    assert_eq!(of_last.len(), 2);
    assert_eq!(of_last[1]["id"], event["id"]);
    let entities = of_last[1]["entities"].as_array().unwrap();
    assert_eq!(entities.len(), 1);
    assert_eq!(entities[0]["urn"], urn(149));
}

#[tokio::test]
async fn a_flood_of_denials_is_counted_and_not_stored() {
    let app = App::with_dataset().await;
    let rita = reader(&app, RITA).await;
    for _ in 0..100 {
        app.graphql_as(&rita, &describe("x")).await;
    }
    let input = json!({"outcome": "DENIED", "count": 1000});
    assert_eq!(events(&app, input.clone()).await.len(), 20);
    app.clock.advance(60_000);
    app.catalog.store_dropped_denials().await;
    let denied = events(&app, input).await;
    assert_eq!(denied.len(), 21);
    assert_eq!(denied[0]["dropped"], 80);
    assert_eq!(denied[0]["actorUrn"], RITA);
    assert_eq!(denied[0]["operation"], "updateDescription");
    let reason = denied[0]["reason"].as_str().unwrap();
    assert_eq!(reason, "80 more requests were denied within a minute");
}

#[tokio::test]
async fn signing_in_and_out_is_recorded_without_the_session() {
    let app = App::empty().await;
    add(&app, ADA).await;
    let cookie = session(&app, "ada").await;
    let event = newest(&app).await;
    assert_eq!(event["operation"], "POST /logIn");
    assert_eq!(event["actorUrn"], ADA);
    assert_eq!(event["address"], "192.0.2.1");
    assert_eq!(event["outcome"], "ALLOWED");
    let credential = event["credential"].clone();
    assert!(credential.as_str().unwrap().starts_with("session "));
    assert_eq!(event["entities"], json!([]));
    // A wrong password, a user who does not exist, and too many attempts.
    app.respond(log_in("ada", "wrong horse")).await;
    let event = newest(&app).await;
    assert_eq!(event["outcome"], "DENIED");
    assert_eq!(event["actorUrn"], ADA);
    app.respond(log_in("hunter2", PASSWORD)).await;
    let event = newest(&app).await;
    assert_eq!(event["actorUrn"], json!(null));
    assert!(!event.to_string().contains("hunter2"), "{event}");
    loop {
        let response = app.respond(log_in("ada", "wrong horse")).await;
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
    }
    let event = newest(&app).await;
    assert_eq!(event["reason"], "too many attempts to sign in");
    assert_eq!(event["actorUrn"], ADA);
    let request = app.request(Method::POST, "/logOut", String::new());
    let mut request = with_header(request, "cookie", &cookie);
    request.headers_mut().remove(header::AUTHORIZATION);
    assert_eq!(app.respond(request).await.status(), StatusCode::OK);
    let event = newest(&app).await;
    assert_eq!(event["operation"], "POST /logOut");
    assert_eq!(event["credential"], credential);
}

#[tokio::test]
async fn tokens_policies_roles_and_groups_are_recorded_without_secrets() {
    let app = App::empty().await;
    let token = app
        .graphql(&format!(
            r#"mutation {{ createAccessToken(input: {{ type: PERSONAL, actorUrn: "{USER}", duration: ONE_DAY, name: "n" }}) {{ accessToken metadata {{ id }} }} }}"#
        ))
        .await;
    let created = &token["data"]["createAccessToken"];
    let (secret, id) = (&created["accessToken"], &created["metadata"]["id"]);
    let event = newest(&app).await;
    assert_eq!(event["operation"], "createAccessToken");
    let text = event.to_string();
    assert!(!text.contains(secret.as_str().unwrap()), "{text}");
    assert!(text.contains(id.as_str().unwrap()), "{text}");
    app.graphql(&format!("mutation {{ revokeAccessToken(tokenId: {id}) }}"))
        .await;
    assert_eq!(newest(&app).await["operation"], "revokeAccessToken");
    app.graphql(r#"mutation { createGroup(input: { id: "g", name: "G" }) }"#)
        .await;
    assert_eq!(newest(&app).await["operation"], "createGroup");
    let members = format!(
        r#"mutation {{ addGroupMembers(input: {{ groupUrn: "urn:li:corpGroup:g", userUrns: ["{USER}"] }}) }}"#
    );
    app.graphql(&members).await;
    let event = newest(&app).await;
    assert_eq!(event["operation"], "addGroupMembers");
    let changes = &event["entities"][0]["changes"];
    assert_eq!(changes[0]["aspectName"], "nativeGroupMembership");
    let assign = format!(
        r#"mutation {{ batchAssignRole(input: {{ roleUrn: "urn:li:dataHubRole:Admin", actors: ["{USER}"] }}) }}"#
    );
    app.graphql(&assign).await;
    let event = newest(&app).await;
    assert_eq!(event["operation"], "batchAssignRole");
    assert_eq!(event["policies"], json!(["urn:li:dataHubPolicy:0"]));
    let policy = json!({
        "type": "PLATFORM", "state": "ACTIVE", "name": "p", "privileges": ["MANAGE_TAGS"],
        "actors": {"groups": ["urn:li:corpGroup:g"], "resourceOwners": false, "allUsers": false, "allGroups": false},
    });
    let policy = app
        .mutate("createPolicy", "PolicyUpdateInput", policy)
        .await;
    assert_eq!(newest(&app).await["entities"][0]["urn"], policy);
    // What follows from a request is part of it.
    app.graphql(r#"mutation { removeGroup(urn: "urn:li:corpGroup:g") }"#)
        .await;
    let removal = events(&app, json!({"operation": "removeGroup"})).await;
    let urns: Vec<&Value> = removal
        .iter()
        .flat_map(|event| event["entities"].as_array().unwrap())
        .map(|entity| &entity["urn"])
        .collect();
    for expected in [json!("urn:li:corpGroup:g"), policy, json!(USER)] {
        assert!(urns.contains(&&expected), "{expected} in {urns:?}");
    }
}

#[tokio::test]
async fn the_log_is_filtered_by_time_and_read_in_pages() {
    let app = App::empty().await;
    for number in 0..5 {
        app.clock.advance(1000);
        let urn = format!("urn:li:tag:t{number}");
        app.ingest(&urn, "tagProperties", &json!({"name": "x"}))
            .await;
    }
    let input = json!({"since": NOW_MS + 2000, "until": NOW_MS + 5000, "count": 2});
    let reply = app.graphql_with(EVENTS, json!({"input": input})).await;
    let page = &reply["data"]["auditLog"];
    let times = |page: &Value| -> Vec<i64> {
        let events = page["events"].as_array().unwrap().iter();
        events
            .map(|it| it["time"].as_i64().unwrap() - NOW_MS)
            .collect()
    };
    assert_eq!(times(page), [4000, 3000]);
    let mut rest = input.clone();
    rest["scroll"] = page["nextScroll"].clone();
    let reply = app.graphql_with(EVENTS, json!({"input": rest})).await;
    let page = &reply["data"]["auditLog"];
    assert_eq!(times(page), [2000]);
    assert_eq!(page["nextScroll"], json!(null));
    for (input, expected) in [
        (r#"{ scroll: "x" }"#, "scroll is 'x'"),
        ("{ count: 0 }", "from 1 to 1000"),
        ("{ count: -1 }", "from 1 to 1000"),
        ("{ maxEntities: 101 }", "maxEntities is 101"),
    ] {
        let query = format!("{{ auditLog(input: {input}) {{ nextScroll }} }}");
        let (code, message) = app.graphql_error(&query).await;
        assert_eq!(code, 400);
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn filters_that_can_match_nothing_are_rejected() {
    let app = App::with_dataset().await;
    for (input, says) in [
        (json!({"count": -1}), "count is -1"),
        (json!({"count": 0}), "count is 0"),
        (json!({"maxEntities": -2}), "maxEntities is -2"),
        (
            json!({"operation": "createPolcy"}),
            "no operation 'createPolcy'",
        ),
        (json!({"actor": "ada"}), "'ada' is not a URN"),
        (json!({"actor": DATASET}), "corpuser is expected"),
        (json!({"entity": "orders"}), "'orders' is not a URN"),
        (
            json!({"since": 2_000, "until": 1_000}),
            "starts at 1970-01-01T00:00:02Z and ends before that",
        ),
    ] {
        let query = "query ($input: AuditLogInput!) { auditLog(input: $input) { nextScroll } }";
        let reply = app.graphql_with(query, json!({ "input": input })).await;
        let error = &reply["errors"][0];
        assert_eq!(error["extensions"]["code"], 400, "{reply}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(says), "{input}: {message}");
    }
    for (query, body, says) in [
        (
            "?startTime=2000&endTime=1000",
            json!({}),
            "ends before that",
        ),
        (
            "?startTime=1&endTime=0",
            json!({}),
            "00.001Z and ends before that, at 1970-01-01T00:00:00Z",
        ),
        ("", json!({"actorUrns": ["ada"]}), "'ada' is not a URN"),
        (
            "",
            json!({"eventTypes": ["CreatePolcyEvent"]}),
            "CreatePolicyEvent",
        ),
        (
            "",
            json!({"entityTypes": ["dataSet"]}),
            "entityTypes has 'dataSet'",
        ),
        (
            "",
            json!({"aspectTypes": ["owner"]}),
            "aspectTypes has 'owner'",
        ),
    ] {
        let path = format!("/openapi/v1/events/audit/search{query}");
        let (status, reply) = app.post(&path, &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        let message = reply["message"].as_str().unwrap();
        assert!(message.contains(says), "{body}: {message}");
    }
}

/// The log outlives what it is about.
#[tokio::test]
async fn deleted_users_and_former_operations_can_be_searched_for() {
    let app = App::with_dataset().await;
    let rita = reader(&app, RITA).await;
    app.graphql_as(&rita, &describe("x")).await;
    let remove = format!(r#"mutation {{ removeUser(urn: "{RITA}") }}"#);
    let reply = app.graphql(&remove).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    let path = "/openapi/v3/entity/corpuser/urn%3Ali%3Acorpuser%3Arita";
    let request = app.request(Method::DELETE, path, String::new());
    assert_eq!(app.send(request).await.0, StatusCode::OK);
    let found = events(&app, json!({"actor": RITA})).await;
    assert_eq!(found[0]["operation"], "updateDescription");
    let found = events(&app, json!({"entity": RITA, "operation": "removeUser"})).await;
    assert_eq!(found.len(), 1);
    // Another version may have had these.
    for operation in ["POST /former", "docent former"] {
        let found = events(&app, json!({"operation": operation})).await;
        assert_eq!(found, Vec::<Value>::new());
    }
    // Members that DataHub does not know are ignored there, too.
    let body = json!({"actorUrns": ["urn:li:corpuser:nobody"], "futureMember": 1});
    let path = "/openapi/v1/events/audit/search";
    let (status, reply) = app.post(path, &body).await;
    assert_eq!((status, &reply["total"]), (StatusCode::OK, &json!(0)));
}

#[tokio::test]
async fn a_new_password_is_one_event_with_its_versions() {
    let app = App::empty().await;
    add(&app, ADA).await;
    let mut current = PASSWORD;
    for (new, before) in [("correct horse battery", 1), ("another horse battery", 2)] {
        let cookie = crate::sign_in::session_with(&app, "ada", current).await;
        let count = events(&app, json!({"actor": ADA})).await.len();
        let body = json!({"currentPassword": current, "newPassword": new}).to_string();
        let request = app.request(Method::POST, "/changePassword", body);
        let mut request = with_header(request, "cookie", &cookie);
        request.headers_mut().remove(header::AUTHORIZATION);
        assert_eq!(app.respond(request).await.status(), StatusCode::OK);
        let all = events(&app, json!({"actor": ADA})).await;
        assert_eq!(all.len(), count + 1);
        assert_eq!(all[0]["operation"], "POST /changePassword");
        let change =
            json!({"aspectName": "corpUserCredentials", "before": before, "after": before + 1});
        assert_eq!(all[0]["entities"][0]["changes"], json!([change]));
        current = new;
    }
}

#[tokio::test]
async fn old_events_are_deleted() {
    let app = App::with_dataset().await;
    let before = events(&app, json!({})).await.len();
    app.clock.advance(1000);
    app.graphql(&describe("x")).await;
    let deleted = app.catalog.prune_audit_log(NOW_MS + 1).await.unwrap();
    assert_eq!(deleted, before as u64);
    assert_eq!(events(&app, json!({})).await.len(), 1);
}

#[tokio::test]
async fn sessions_are_not_counted_as_changes() {
    let app = App::empty().await;
    add(&app, ADA).await;
    let query = "{ changesByWeek(weeks: 1) { changes } }";
    let count = app.graphql(query).await;
    for _ in 0..3 {
        session(&app, "ada").await;
    }
    assert_eq!(app.graphql(query).await, count);
    app.ingest("urn:li:tag:a", "status", &json!({"removed": false}))
        .await;
    assert_ne!(app.graphql(query).await, count);
}

#[tokio::test]
async fn datahubs_form_has_one_event_per_aspect_in_pages() {
    let app = App::with_dataset().await;
    add(&app, ADA).await;
    session(&app, "ada").await;
    app.respond(log_in("ada", "wrong horse")).await;
    let search = async |query: &str, body: Value| {
        let path = format!("/openapi/v1/events/audit/search{query}");
        let (code, reply) = app.post(&path, &body).await;
        assert_eq!(code, StatusCode::OK, "{reply}");
        reply
    };
    let all = search("?size=1000&includeRaw=false", json!({})).await;
    let list = all["usageEvents"].as_array().unwrap();
    assert_eq!(all["count"], list.len());
    assert_eq!(all["total"], list.len());
    assert_eq!(all["nextScrollId"], json!(null));
    assert_eq!(list[0]["eventType"], "FailedLogInEvent");
    assert_eq!(
        list[1],
        json!({
            "eventType": "LogInEvent", "timestamp": NOW_MS, "actorUrn": ADA, "sourceIP": "192.0.2.1",
            "eventSource": "RESTLI", "userAgent": null, "telemetryTraceId": null,
            "loginSource": "PASSWORD_LOGIN",
        })
    );
    let users = json!({"eventTypes": ["CreateUserEvent"], "entityTypes": ["corpuser"]});
    let users = search("", users).await;
    let created: Vec<&Value> = users["usageEvents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["entityUrn"])
        .collect();
    assert!(created.contains(&&json!(ADA)), "{users}");
    assert_eq!(users["usageEvents"][0]["rawUsageEvent"]["versionAfter"], 1);
    let schema = json!({"aspectTypes": ["schemaMetadata"], "actorUrns": [USER]});
    let schema = search("", schema).await;
    assert_eq!(schema["count"], 1);
    assert_eq!(schema["usageEvents"][0]["eventType"], "UpdateAspectEvent");
    assert_eq!(schema["usageEvents"][0]["entityType"], "dataset");
    let (mut pages, mut scroll) = (Vec::new(), String::new());
    loop {
        let page = search(&format!("?size=3&includeRaw=false{scroll}"), json!({})).await;
        pages.extend(page["usageEvents"].as_array().unwrap().clone());
        match page["nextScrollId"].as_str() {
            Some(next) => scroll = format!("&scrollId={}", encoded(next)),
            None => break,
        }
    }
    assert_eq!(&pages, list);
    let rita = reader(&app, RITA).await;
    let path = "/openapi/v1/events/audit/search";
    let mut request = app.request(Method::POST, path, "{}");
    let bearer = format!("Bearer {rita}").parse().unwrap();
    request.headers_mut().insert(header::AUTHORIZATION, bearer);
    assert_eq!(app.send(request).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_search_without_results_ends_a_page_after_its_limit() {
    let app = App::with_dataset().await;
    let first = newest(&app).await;
    let key = AuditKey::parse(first["id"].as_str().unwrap()).unwrap();
    let denials: Vec<AuditRecord> = (1..=12_000)
        .map(|later| AuditRecord {
            event: AuditEvent {
                key: AuditKey {
                    time_ms: key.time_ms + later,
                    ..key
                },
                actor: Some(RITA.to_owned()),
                address: None,
                credential: None,
                operation: "updateDescription".to_owned(),
                outcome: AuditOutcome::Denied,
                policies: Vec::new(),
                reason: None,
                dropped: 0,
                entities: 0,
            },
            items: Vec::new(),
        })
        .collect();
    app.store().audit_import(denials).await.unwrap();
    app.clock.advance(20_000);
    for actors in [json!([]), json!([USER])] {
        let search = async |scroll: &str| {
            let path = format!("/openapi/v1/events/audit/search?size=1&includeRaw=false{scroll}");
            let (code, reply) = app.post(&path, &json!({"actorUrns": actors})).await;
            assert_eq!(code, StatusCode::OK, "{reply}");
            reply
        };
        let page = search("").await;
        assert_eq!(page["count"], 0);
        assert_eq!(page["total"], 0);
        let next = page["nextScrollId"].as_str().unwrap();
        let page = search(&format!("&scrollId={}", encoded(next))).await;
        assert_eq!(page["count"], 1, "{page}");
        assert_eq!(page["usageEvents"][0]["entityUrn"], DATASET);
    }
}
