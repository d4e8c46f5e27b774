//! Policies, secrets, invite links and what ingestion uses exist for those who manage them alone,
//! over every API, with and without view policies.

use axum::http::StatusCode;
use docent_catalog::{Caller, Proposal};
use docent_model::{Registry, Urn};
use serde_json::{Value, json};

use crate::hidden::world::{assign, hide_by_default};
use crate::support::{App, proposal, token_of};
use crate::token_scopes::{scoped, scoped_for};

/// What administrators manage: the id, if it is known, the type, and the privilege to see it.
const MANAGED: [(&str, &str, &str); 6] = [
    ("hush", "dataHubPolicy", "MANAGE_POLICIES"),
    ("hush", "dataHubSecret", "MANAGE_SECRETS"),
    ("hush", "dataHubIngestionSource", "MANAGE_INGESTION"),
    ("hush", "dataHubExecutionRequest", "MANAGE_INGESTION"),
    ("hush", "dataHubConnection", "MANAGE_CONNECTIONS"),
    ("", "inviteToken", "MANAGE_USER_CREDENTIALS"),
];

/// The id of an entity that nobody stored.
const MISSING: &str = "missing";

/// Returns the id of the invite token.
async fn add_managed(app: &App) -> String {
    let policy = json!({
        "displayName": "hush", "description": "", "type": "METADATA", "state": "INACTIVE",
        "privileges": ["EDIT_ENTITY"],
        "actors": {"users": [], "roles": ["urn:li:dataHubRole:Editor"]},
    });
    app.write_policy("urn:li:dataHubPolicy:hush", &policy).await;
    let system = Caller::system();
    let audit = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let source = "urn:li:dataHubIngestionSource:hush";
    // Policies let owners view and edit what they own.
    let owner =
        |name: &str| json!({"owner": format!("urn:li:corpuser:{name}"), "type": "TECHNICAL_OWNER"});
    let owners = json!({"owners": [owner("datahub"), owner("ada")], "lastModified": audit});
    for (urn, aspect, value) in [
        (
            "urn:li:dataHubSecret:hush",
            "dataHubSecretValue",
            json!({"name": "hush", "value": "x"}),
        ),
        (
            source,
            "dataHubIngestionSourceInfo",
            json!({"name": "hush", "type": "hive", "config": {"recipe": "{}"}}),
        ),
        (source, "ownership", owners),
        (
            "urn:li:dataHubExecutionRequest:hush",
            "dataHubExecutionRequestInput",
            json!({"task": "RUN_INGEST", "args": {}, "executorId": "default", "requestedAt": 0,
                "source": {"type": "MANUAL_INGESTION_SOURCE", "ingestionSource": source}}),
        ),
        (
            "urn:li:dataHubConnection:hush",
            "dataPlatformInstance",
            json!({"platform": "urn:li:dataPlatform:hive"}),
        ),
    ] {
        let urn = Urn::parse(urn).unwrap();
        let aspect = Registry::get().stored_aspect(aspect).unwrap();
        let write = Proposal::upsert(urn, aspect, value.to_string());
        app.catalog.ingest(&system, vec![write]).await.unwrap();
    }
    let info = json!({"name": "hush", "type": "kafka", "config": {"recipe": "{}"}});
    let mut write = proposal("UPSERT", source, "dataHubIngestionSourceInfo", &info);
    write["systemMetadata"] = json!({"runId": "run", "lastObserved": 0});
    let (status, reply) = app.propose_all(vec![write]).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let created = app.catalog.create_invite_token(&system, None, false).await;
    created.unwrap();
    let listed = app.catalog.list_urns("inviteToken", 0, 1).await.unwrap();
    listed.items[0].key().to_owned()
}

/// Everything that lists or reads an entity: paths and bodies over REST, and GraphQL queries.
fn managed_reads(urn: &str, kind: &str) -> Vec<(&'static str, String, Value)> {
    let post = |path: &str, body: Value| ("POST", path.to_owned(), body);
    let get = |path: String| ("GET", path, Value::Null);
    let graphql = |query: &str| post("/api/graphql", json!({"query": query}));
    let key = format!("{kind}Key");
    let mut reads = vec![
        post(
            "/entities?action=listUrns",
            json!({"entity": kind, "start": 0, "count": 100}),
        ),
        post(
            "/entities?action=search",
            json!({"entity": kind, "input": "*", "start": 0, "count": 100}),
        ),
        post("/openapi/v3/entity/scroll?query=*&count=1000", json!({})),
        get(format!("/openapi/v3/entity/{kind}?query=*&count=100")),
        get(format!("/openapi/v3/entity/{kind}/{urn}")),
        get(format!("/openapi/v3/entity/{kind}/{urn}/{key}")),
        get(format!("/entitiesV2/{urn}")),
        post("/aspects?action=getCount", json!({"aspect": key})),
        get(format!("/aspects/{urn}?aspect={key}&version=0")),
    ];
    if kind == "dataHubIngestionSource" {
        let of = "relationships(input: { types: [], direction: INCOMING, start: 0, count: 100 }) { relationships { entity { urn } } }";
        reads.push(graphql(&format!(
            r#"{{ corpUser(urn: "urn:li:corpuser:datahub") {{ {of} }} }}"#
        )));
        let run = json!({"runId": "run", "start": 0, "count": 100, "includeSoft": true});
        reads.push(post("/runs?action=describe", run));
        reads.push(post(
            "/aspects?action=getCount",
            json!({"aspect": "ownership", "urnLike": "%hush"}),
        ));
        let totals = "relationships(input: { types: [\"OwnedBy\"], direction: INCOMING, start: 0, count: 0 }) { total }";
        reads.push(graphql(&format!(
            r#"{{ corpUser(urn: "urn:li:corpuser:datahub") {{ {totals} }} }}"#
        )));
        let path = "/relationships?urn=urn%3Ali%3Acorpuser%3Adatahub&direction=INCOMING&types=List(OwnedBy)&count=0";
        reads.push(get(path.to_owned()));
        reads.push(graphql(
            "{ listIngestionSources(input: {}) { ingestionSources { urn } } }",
        ));
    }
    // GraphQL has no other of these types as an entity.
    if kind == "dataHubPolicy" {
        reads.extend([
            graphql(&format!(r#"{{ entity(urn: "{urn}") {{ urn }} }}"#)),
            graphql(&format!(r#"{{ entities(urns: ["{urn}"]) {{ urn type }} }}"#)),
            graphql("{ recentChanges(input: { types: [DATAHUB_POLICY], count: 100 }) { entity { urn } } }"),
            graphql(r#"{ searchAcrossEntities(input: { types: [DATAHUB_POLICY], query: "*" }) { searchResults { entity { urn } } } }"#),
            graphql(&format!(
                r#"{{ searchAcrossEntities(input: {{ query: "*", orFilters: [{{ and: [{{ field: "urn", values: ["{urn}"] }}] }}] }}) {{
                    searchResults {{ entity {{ urn }} }} }} }}"#
            )),
            graphql(r#"{ autoComplete(input: { type: DATAHUB_POLICY, query: "hush" }) { suggestions entities { urn } } }"#),
        ]);
        reads.push(get("/relationships?urn=urn%3Ali%3AdataHubRole%3AEditor&direction=INCOMING&types=List(IsAssociatedWithRole)".to_owned()));
    }
    reads
}

#[tokio::test]
async fn what_administrators_manage_exists_for_those_who_manage_it_alone() {
    for has_view_policies in [false, true] {
        let app = App::empty().await;
        if has_view_policies {
            app.catalog.enforce_view_policies();
            hide_by_default(&app).await;
        }
        let invite_id = add_managed(&app).await;
        let domain = json!({"name": "Finance"});
        app.ingest("urn:li:domain:finance", "domainProperties", &domain)
            .await;
        // A Reader, and the administrator with tokens whose scope has none of the privileges.
        let readers = [
            token_of(&app.catalog, "urn:li:corpuser:ada", None).await,
            scoped(&app, json!({"privileges": ["EDIT_ENTITY_DOCS"]})).await,
            scoped(&app, json!({"domainUrn": "urn:li:domain:finance"})).await,
        ];
        assign(&app, "urn:li:corpuser:ada", "Reader").await;
        for (number, (id, kind, privilege)) in MANAGED.into_iter().enumerate() {
            let id = if id.is_empty() { &invite_id } else { id };
            let urn = format!("urn:li:{kind}:{id}");
            let user = format!("urn:li:corpuser:manager{number}");
            let policy = json!({
                "displayName": "manager", "description": "", "type": "PLATFORM", "state": "ACTIVE",
                "privileges": [privilege], "actors": {"users": [user]},
            });
            app.write_policy(&format!("urn:li:dataHubPolicy:manager{number}"), &policy)
                .await;
            let manager = token_of(&app.catalog, &user, None).await;
            assign(&app, &user, "Reader").await;
            let scope = json!({"privileges": [privilege]});
            let in_scope = scoped_for(&app, &user, "Reader", scope).await;
            let missing = format!("urn:li:{kind}:{MISSING}");
            let mut reads: Vec<_> = managed_reads(&urn, kind)
                .into_iter()
                .zip(managed_reads(&missing, kind))
                .collect();
            // With view policies, these are for callers who see everything.
            let is_total = |path: &str| path.contains("getCount") || path.contains("describe");
            reads.retain(|((_, path, _), _)| !has_view_policies || !is_total(path));
            for (read, of_missing) in &reads {
                let by_manager = send(&app, &manager, read).await;
                assert_eq!(by_manager, send(&app, &in_scope, read).await, "{read:?}");
                for reader in &readers {
                    let found = send(&app, reader, read).await;
                    if read == of_missing {
                        assert!(!found.contains(id), "{read:?}: {found}");
                    } else {
                        let of_missing = send(&app, reader, of_missing).await;
                        assert_eq!(found, of_missing.replace(MISSING, id), "{read:?}");
                    }
                    assert_ne!(found, by_manager, "{read:?}");
                }
            }
        }
    }
}

/// The one who rolls back a run does not name what it wrote.
#[tokio::test]
async fn a_rollback_names_nothing_that_its_caller_may_not_see() {
    let app = App::empty().await;
    add_managed(&app).await;
    let [reader, editor] = ["ada", "eddie"].map(|name| format!("urn:li:corpuser:{name}"));
    let reader_token = token_of(&app.catalog, &reader, None).await;
    assign(&app, &reader, "Reader").await;
    let editor = token_of(&app.catalog, &editor, None).await;
    let roll_back = async |token: &str, dry_run: bool| {
        let body = json!({"runId": "run", "dryRun": dry_run});
        let request = ("POST", "/runs?action=rollback".to_owned(), body);
        send(&app, token, &request).await
    };
    for token in [&reader_token, &editor] {
        for dry_run in [true, false] {
            let denied = roll_back(token, dry_run).await;
            assert!(denied.starts_with("403"), "{denied}");
            assert!(denied.contains("Ask an administrator"), "{denied}");
            assert!(!denied.contains("hush"), "{denied}");
        }
    }
}

/// DataHub's client does it after every run, with the rights of an Editor.
#[tokio::test]
async fn editors_report_their_ingestion() {
    let app = App::empty().await;
    let editor = token_of(&app.catalog, "urn:li:corpuser:eddie", None).await;
    let source = "urn:li:dataHubIngestionSource:cli-7d2";
    let request = "urn:li:dataHubExecutionRequest:run";
    let info = json!({"name": "cli", "type": "hive", "config": {"recipe": "{}"}});
    let result = json!({"status": "SUCCESS", "report": "fine", "startTimeMs": 0, "durationMs": 1});
    let input = json!({"task": "CLI Ingestion", "args": {}, "executorId": "default", "requestedAt": 0,
        "source": {"type": "CLI_INGESTION_SOURCE", "ingestionSource": source}});
    for _ in 0..2 {
        for (urn, aspect, value) in [
            (source, "dataHubIngestionSourceInfo", &info),
            (request, "dataHubExecutionRequestInput", &input),
            (request, "dataHubExecutionRequestResult", &result),
        ] {
            let body = json!({"proposal": proposal("UPSERT", urn, aspect, value)});
            let write = ("POST", "/aspects?action=ingestProposal".to_owned(), body);
            let reply = send(&app, &editor, &write).await;
            assert!(reply.starts_with("200"), "{aspect}: {reply}");
        }
    }
}

async fn send(app: &App, token: &str, (method, path, body): &(&str, String, Value)) -> String {
    let (status, reply) = app.send_as(token, method, path, body).await;
    format!("{status} {reply}")
}
