//! Incidents that users raise, change and resolve.

use serde_json::{Value, json};

use crate::escalation::reader_with;
use crate::support::{App, DATASET, MISSING, NOW_MS, USER};

const INCIDENT: &str = "urn:li:incident:late";
const CHART: &str = "urn:li:chart:(looker,c)";

async fn app() -> App {
    let app = App::with_dataset().await;
    let user = json!({"active": true, "displayName": "DataHub"});
    app.ingest(USER, "corpUserInfo", &user).await;
    app.ingest(CHART, "status", &json!({"removed": false}))
        .await;
    app
}

async fn raise(app: &App) {
    let input = json!({
        "id": "late", "type": "FRESHNESS", "title": "Late", "description": "No rows today",
        "resourceUrn": DATASET, "resourceUrns": [CHART], "startedAt": 7, "priority": "HIGH",
        "assigneeUrns": [USER], "status": {"state": "ACTIVE", "stage": "TRIAGE", "message": "Looking"},
    });
    let raised = app.mutate("raiseIncident", "RaiseIncidentInput", input);
    assert_eq!(raised.await, INCIDENT);
}

/// Runs a mutation of [`INCIDENT`], and returns its errors.
async fn change(app: &App, field: &str, kind: &str, input: Value) -> Value {
    let query =
        format!("mutation ($input: {kind}!) {{ {field}(urn: \"{INCIDENT}\", input: $input) }}");
    let reply = app.graphql_with(&query, json!({"input": input})).await;
    if reply.get("errors").is_none() {
        assert_eq!(reply["data"][field], true, "{reply}");
    }
    reply["errors"].clone()
}

/// The number of active incidents, and the state of health, of an asset.
async fn health(app: &App, root: &str, urn: &str) -> (Value, Value) {
    let read = format!(
        r#"{{ {root}(urn: "{urn}") {{ health {{ type status }} incidents(state: ACTIVE) {{ total }} }} }}"#
    );
    let reply = app.graphql(&read).await;
    let asset = &reply["data"][root];
    assert_eq!(asset["health"][0]["type"], "INCIDENTS", "{reply}");
    (
        asset["incidents"]["total"].clone(),
        asset["health"][0]["status"].clone(),
    )
}

#[tokio::test]
async fn a_raised_incident_shows_at_once_until_it_is_resolved() {
    let app = app().await;
    assert_eq!(
        health(&app, "dataset", DATASET).await,
        (json!(0), json!("PASS"))
    );
    raise(&app).await;
    for (root, urn) in [("dataset", DATASET), ("chart", CHART)] {
        assert_eq!(health(&app, root, urn).await, (json!(1), json!("FAIL")));
    }
    let read = format!(
        r#"{{ chart(urn: "{CHART}") {{ incidents {{ start count total incidents {{ urn incidentType title description priority
            startedAt created {{ time actor }} source {{ type }} assignees {{ ... on CorpUser {{ urn }} }}
            incidentStatus {{ state stage message lastUpdated {{ time actor }} }} }} }} }} }}"#
    );
    let stamp = json!({"time": NOW_MS, "actor": USER});
    assert_eq!(
        app.graphql(&read).await["data"]["chart"]["incidents"],
        json!({"start": 0, "count": 20, "total": 1, "incidents": [{
            "urn": INCIDENT, "incidentType": "FRESHNESS", "title": "Late", "description": "No rows today",
            "priority": "HIGH", "startedAt": 7, "created": stamp, "source": {"type": "MANUAL"},
            "assignees": [{"urn": USER}],
            "incidentStatus": {"state": "ACTIVE", "stage": "TRIAGE", "message": "Looking", "lastUpdated": stamp},
        }]})
    );
    let resolved = json!({"state": "RESOLVED", "stage": "FIXED"});
    let errors = change(
        &app,
        "updateIncidentStatus",
        "IncidentStatusInput",
        resolved,
    );
    assert_eq!(errors.await, Value::Null);
    for (root, urn) in [("dataset", DATASET), ("chart", CHART)] {
        assert_eq!(health(&app, root, urn).await, (json!(0), json!("PASS")));
    }
    let info = app.aspect(INCIDENT, "incidentInfo").await.unwrap();
    assert_eq!(info["status"].get("message"), None);
    assert_eq!(info["title"], "Late");
}

#[tokio::test]
async fn assets_are_found_by_their_incidents() {
    let app = app().await;
    let found = async |field: &str| {
        let filter = format!(r#"[{{ and: [{{ field: "{field}", values: ["true"] }}] }}]"#);
        let reply = app
            .graphql(&format!(
                r#"{{ searchAcrossEntities(input: {{ query: "*", orFilters: {filter} }}) {{ searchResults {{ entity {{ urn }} }} }} }}"#
            ))
            .await;
        let hits = reply["data"]["searchAcrossEntities"]["searchResults"].as_array();
        let mut urns: Vec<String> = hits
            .unwrap()
            .iter()
            .map(|hit| hit["entity"]["urn"].as_str().unwrap().to_owned())
            .collect();
        urns.sort();
        urns
    };
    raise(&app).await;
    assert_eq!(found("hasActiveIncidents").await, [CHART, DATASET]);
    let active = json!({"urn": INCIDENT, "type": "FRESHNESS", "createdAt": NOW_MS, "priority": 1});
    assert_eq!(
        app.aspect(DATASET, "incidentsSummary").await,
        Some(json!({ "activeIncidentDetails": [active] }))
    );
    let resolved = json!({"state": "RESOLVED"});
    change(
        &app,
        "updateIncidentStatus",
        "IncidentStatusInput",
        resolved,
    )
    .await;
    assert!(found("hasActiveIncidents").await.is_empty());
    assert_eq!(found("hasResolvedIncidents").await, [CHART, DATASET]);

    let mut info = app.aspect(INCIDENT, "incidentInfo").await.unwrap();
    info["entities"] = json!([CHART]);
    app.ingest(INCIDENT, "incidentInfo", &info).await;
    assert_eq!(found("hasResolvedIncidents").await, [CHART]);
    let body = json!({ "urn": INCIDENT });
    let (status, reply) = app.post("/entities?action=delete", &body).await;
    assert!(status.is_success(), "{reply}");
    assert!(found("hasResolvedIncidents").await.is_empty());
}

#[tokio::test]
async fn updates_keep_what_they_do_not_name_and_upserts_do_not() {
    let app = app().await;
    raise(&app).await;
    let update = json!({"priority": "LOW", "resourceUrns": [DATASET]});
    let errors = change(&app, "updateIncident", "UpdateIncidentInput", update);
    assert_eq!(errors.await, Value::Null);
    let info = app.aspect(INCIDENT, "incidentInfo").await.unwrap();
    assert_eq!(info["priority"], 3);
    assert_eq!(info["entities"], json!([DATASET]));
    assert_eq!(info["title"], "Late");
    assert_eq!(info["status"]["stage"], "TRIAGE");
    assert_eq!(info["assignees"][0]["actor"], USER);
    assert_eq!(health(&app, "chart", CHART).await.0, 0);

    let upsert = json!({"title": "Very late", "status": {"state": "ACTIVE"}, "resourceUrns": [CHART], "assigneeUrns": []});
    let errors = change(&app, "upsertIncident", "UpsertIncidentInput", upsert);
    assert_eq!(errors.await, Value::Null);
    let info = app.aspect(INCIDENT, "incidentInfo").await.unwrap();
    assert_eq!(info["title"], "Very late");
    assert_eq!(info["entities"], json!([CHART]));
    assert_eq!(info["assignees"], json!([]));
    for removed in ["description", "priority"] {
        assert_eq!(info.get(removed), None, "{removed}");
    }
    assert_eq!(info["type"], "FRESHNESS");
    assert_eq!(info["startedAt"], 7);
}

#[tokio::test]
async fn invalid_incidents_are_rejected_and_change_nothing() {
    let app = app().await;
    let kind = "RaiseIncidentInput";
    for (input, message) in [
        (
            json!({"type": "VOLUME"}),
            "At least 1 resource urn must be defined to raise an incident.".to_owned(),
        ),
        (
            json!({"type": "CUSTOM", "resourceUrn": DATASET}),
            "Failed to raise incident: customType is required when type is CUSTOM".to_owned(),
        ),
        (
            json!({"id": "late", "type": "VOLUME", "resourceUrns": [DATASET, MISSING]}),
            format!("Provided entity with urn {MISSING} does not exist!"),
        ),
        (
            json!({"id": "late", "type": "VOLUME", "resourceUrn": DATASET, "assigneeUrns": ["urn:li:corpuser:none"]}),
            "Failed to update incident. urn:li:corpuser:none does not exist.".to_owned(),
        ),
    ] {
        assert_eq!(
            app.mutate_error("raiseIncident", kind, input).await,
            (400, message)
        );
    }
    let status = json!({"state": "RESOLVED"});
    let missing = change(&app, "updateIncidentStatus", "IncidentStatusInput", status).await;
    assert_eq!(
        missing[0]["message"],
        "Failed to update incident. Incident does not exist."
    );
    assert_eq!(app.aspect(INCIDENT, "incidentInfo").await, None);
    raise(&app).await;
    let again = json!({"id": "late", "type": "VOLUME", "resourceUrn": DATASET});
    assert_eq!(
        app.mutate_error("raiseIncident", kind, again).await,
        (409, "Incident with id late already exists.".to_owned())
    );
    let nowhere = change(
        &app,
        "updateIncident",
        "UpdateIncidentInput",
        json!({"resourceUrns": []}),
    )
    .await;
    assert_eq!(
        nowhere[0]["message"],
        "resourceUrns cannot be empty if provided"
    );
}

#[tokio::test]
async fn the_right_on_every_asset_is_needed() {
    let app = app().await;
    let resources = json!({"resources": [DATASET]});
    let ada = reader_with(&app, "METADATA", &["EDIT_ENTITY_INCIDENTS"], resources).await;
    let code = async |mutation: String| {
        let reply = app
            .graphql_as(&ada, &format!("mutation {{ {mutation} }}"))
            .await;
        reply["errors"][0]["extensions"]["code"].clone()
    };
    let raised = |asset: &str| {
        format!(r#"raiseIncident(input: {{ id: "own", type: SQL, resourceUrn: "{asset}" }})"#)
    };
    assert_eq!(code(raised(CHART)).await, 403);
    assert_eq!(code(raised(DATASET)).await, Value::Null);
    let resolve = |id: &str| {
        format!(
            r#"updateIncidentStatus(urn: "urn:li:incident:{id}", input: {{ state: RESOLVED }})"#
        )
    };
    assert_eq!(code(resolve("own")).await, Value::Null);
    let to_chart = format!(
        r#"updateIncident(urn: "urn:li:incident:own", input: {{ resourceUrns: ["{CHART}"] }})"#
    );
    assert_eq!(code(to_chart).await, 403);
    raise(&app).await;
    assert_eq!(code(resolve("late")).await, 403);
}
