//! Descriptions and names of entities other than datasets and domains.

use crate::support::{App, USER};
use serde_json::{Value, json};

/// One entity of each type, with the required members of its aspects.
struct Kind {
    urn: &'static str,
    /// The ingested aspects.
    ingested: (&'static str, Value),
    /// The aspect with the description, and the path to it.
    described: (&'static str, &'static str),
    /// The same for the name, if it is editable.
    named: Option<(&'static str, &'static str)>,
}

fn kinds() -> Vec<Kind> {
    let stamp = json!({"time": 1, "actor": USER});
    vec![
        Kind {
            urn: "urn:li:glossaryTerm:revenue",
            ingested: (
                "glossaryTermInfo",
                json!({"name": "before", "definition": "before", "termSource": "INTERNAL"}),
            ),
            described: ("glossaryTermInfo", "/definition"),
            named: Some(("glossaryTermInfo", "/name")),
        },
        Kind {
            urn: "urn:li:glossaryNode:finance",
            ingested: ("glossaryNodeInfo", json!({"definition": "before"})),
            described: ("glossaryNodeInfo", "/definition"),
            named: Some(("glossaryNodeInfo", "/name")),
        },
        Kind {
            urn: "urn:li:tag:Pii",
            ingested: ("tagProperties", json!({"name": "Pii"})),
            described: ("tagProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:corpGroup:bi",
            ingested: (
                "corpGroupInfo",
                json!({"displayName": "before", "admins": [], "members": [], "groups": []}),
            ),
            described: ("corpGroupEditableInfo", "/description"),
            named: Some(("corpGroupInfo", "/displayName")),
        },
        Kind {
            urn: "urn:li:dataProduct:churn",
            ingested: ("dataProductProperties", json!({"name": "before"})),
            described: ("dataProductProperties", "/description"),
            named: Some(("dataProductProperties", "/name")),
        },
        Kind {
            urn: "urn:li:mlModel:(urn:li:dataPlatform:science,churn,PROD)",
            ingested: ("status", json!({"removed": false})),
            described: ("editableMlModelProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:dashboard:(looker,sales)",
            ingested: (
                "dashboardInfo",
                json!({
                    "title": "Sales", "description": "imported", "charts": [], "datasets": [],
                    "lastModified": {"created": stamp, "lastModified": stamp},
                }),
            ),
            described: ("editableDashboardProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:chart:(looker,orders)",
            ingested: (
                "chartInfo",
                json!({
                    "title": "Orders", "description": "imported",
                    "lastModified": {"created": stamp, "lastModified": stamp},
                }),
            ),
            described: ("editableChartProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:dataFlow:(airflow,nightly,PROD)",
            ingested: (
                "dataFlowInfo",
                json!({"name": "Nightly", "customProperties": {}}),
            ),
            described: ("editableDataFlowProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)",
            ingested: (
                "dataJobInfo",
                json!({"name": "Load", "type": {"string": "SQL"}, "customProperties": {}}),
            ),
            described: ("editableDataJobProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:notebook:(querybook,1234)",
            ingested: (
                "notebookInfo",
                json!({"title": "Notebook", "changeAuditStamps": {"created": stamp, "lastModified": stamp}}),
            ),
            described: ("editableNotebookProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:application:shop",
            ingested: ("applicationProperties", json!({"name": "Shop"})),
            described: ("applicationProperties", "/description"),
            named: None,
        },
        Kind {
            urn: "urn:li:businessAttribute:email",
            ingested: (
                "businessAttributeInfo",
                json!({"fieldPath": "email", "name": "before"}),
            ),
            described: ("businessAttributeInfo", "/description"),
            named: Some(("businessAttributeInfo", "/name")),
        },
        Kind {
            urn: "urn:li:document:handbook",
            ingested: (
                "documentInfo",
                json!({
                    "title": "Handbook", "status": {"state": "PUBLISHED"},
                    "contents": {"text": "before"}, "created": stamp, "lastModified": stamp,
                }),
            ),
            described: ("documentInfo", "/contents/text"),
            named: None,
        },
    ]
}

async fn describe(app: &App, urn: &str) -> Value {
    app.graphql_with(
        "mutation ($input: DescriptionUpdateInput!) { updateDescription(input: $input) }",
        json!({"input": {"resourceUrn": urn, "description": "*after*"}}),
    )
    .await
}

async fn rename(app: &App, urn: &str) -> Value {
    app.graphql_with(
        "mutation ($input: UpdateNameInput!) { updateName(input: $input) }",
        json!({"input": {"urn": urn, "name": "after"}}),
    )
    .await
}

/// The value with a different text at one path.
fn changed(value: Option<Value>, pointer: &str, text: &str) -> Value {
    let mut value = value.unwrap_or_else(|| json!({}));
    match value.pointer_mut(pointer) {
        Some(place) => *place = json!(text),
        None => value[&pointer[1..]] = json!(text),
    }
    value
}

#[tokio::test]
async fn descriptions_are_set_for_every_type_and_keep_other_members() {
    let app = App::empty().await;
    for kind in kinds() {
        let (urn, (aspect, pointer)) = (kind.urn, kind.described);
        let reply = describe(&app, urn).await;
        assert_eq!(
            reply["errors"][0]["message"],
            format!("Failed to update {urn}. {urn} does not exist."),
            "{reply}"
        );
        app.ingest(urn, kind.ingested.0, &kind.ingested.1).await;
        let expected = changed(app.aspect(urn, aspect).await, pointer, "*after*");
        let reply = describe(&app, urn).await;
        assert_eq!(reply["data"]["updateDescription"], true, "{urn} {reply}");
        assert_eq!(app.aspect(urn, aspect).await, Some(expected), "{urn}");
    }
}

#[tokio::test]
async fn types_with_a_name_are_renamed_and_others_are_rejected() {
    let app = App::empty().await;
    for kind in kinds() {
        let urn = kind.urn;
        app.ingest(urn, kind.ingested.0, &kind.ingested.1).await;
        let reply = rename(&app, urn).await;
        let Some((aspect, pointer)) = kind.named else {
            assert_eq!(reply["errors"][0]["extensions"]["code"], 400, "{reply}");
            assert_eq!(
                reply["errors"][0]["message"],
                format!("Failed to update name. Unsupported resource type {urn} provided.")
            );
            continue;
        };
        assert_eq!(reply["data"]["updateName"], true, "{urn} {reply}");
        let expected = changed(Some(kind.ingested.1), pointer, "after");
        assert_eq!(app.aspect(urn, aspect).await, Some(expected), "{urn}");
    }
}

#[tokio::test]
async fn aspects_from_ingestion_are_not_created_for_a_description_or_name() {
    let app = App::empty().await;
    for (urn, key_aspect, aspect) in [
        (
            "urn:li:glossaryTerm:revenue",
            "glossaryTermKey",
            "glossaryTermInfo",
        ),
        (
            "urn:li:dataProduct:churn",
            "dataProductKey",
            "dataProductProperties",
        ),
    ] {
        let status = json!({"removed": false});
        app.ingest(urn, "status", &status).await;
        assert!(app.aspect(urn, key_aspect).await.is_some());
        for reply in [describe(&app, urn).await, rename(&app, urn).await] {
            assert_eq!(
                reply["errors"][0]["message"],
                format!(
                    "Failed to update {urn}. It has no {aspect} aspect yet: ingest that first."
                ),
                "{reply}"
            );
        }
        assert_eq!(app.aspect(urn, aspect).await, None);
    }
}
