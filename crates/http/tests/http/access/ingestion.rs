//! Rows about ingestion sources, secrets and webhooks.

use serde_json::{Value, json};

use super::{ADMINISTRATORS, Row};

const SECRET: &str = "urn:li:dataHubSecret:warehouse";
const SOURCE: &str = "urn:li:dataHubIngestionSource:warehouse";
const REQUEST: &str = "urn:li:dataHubExecutionRequest:warehouse";

/// They name a webhook that does not exist.
pub(super) const NAME_NO_WEBHOOK: [&str; 5] = [
    "updateWebhook",
    "testWebhook",
    "replayWebhookDeadLetters",
    "discardWebhookDeadLetters",
    "deleteWebhook",
];

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        (
            SOURCE,
            "dataHubIngestionSourceInfo",
            json!({"name": "s", "type": "hive", "config": {"recipe": "{}", "executorId": "default"}}),
        ),
        (
            REQUEST,
            "dataHubExecutionRequestInput",
            json!({"task": "RUN_INGEST", "args": {}, "executorId": "default", "requestedAt": 0,
                "source": {"type": "MANUAL_INGESTION_SOURCE", "ingestionSource": SOURCE}}),
        ),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    let input = |members: String| format!("(input: {{ {members} }})");
    let webhook = r#"urn: "urn:li:docentWebhook:none""#;
    let source =
        r#"input: { name: "s", type: "hive", config: { recipe: "{}", executorId: "default" } }"#;
    vec![
        (
            "createIngestionSource",
            format!("({source})"),
            ADMINISTRATORS,
        ),
        (
            "updateIngestionSource",
            format!(r#"(urn: "{SOURCE}", {source})"#),
            ADMINISTRATORS,
        ),
        (
            "createIngestionExecutionRequest",
            input(format!(r#"ingestionSourceUrn: "{SOURCE}""#)),
            ADMINISTRATORS,
        ),
        (
            "cancelIngestionExecutionRequest",
            input(format!(
                r#"ingestionSourceUrn: "{SOURCE}", executionRequestUrn: "{REQUEST}""#
            )),
            ADMINISTRATORS,
        ),
        (
            "createTestConnectionRequest",
            input(r#"recipe: "{}""#.to_owned()),
            ADMINISTRATORS,
        ),
        (
            "rollbackIngestion",
            input(r#"runId: "none""#.to_owned()),
            ADMINISTRATORS,
        ),
        (
            "deleteIngestionSource",
            format!(r#"(urn: "{SOURCE}")"#),
            ADMINISTRATORS,
        ),
        (
            "createSecret",
            input(r#"name: "new", value: "x""#.to_owned()),
            ADMINISTRATORS,
        ),
        (
            "updateSecret",
            input(format!(r#"urn: "{SECRET}", name: "warehouse", value: "x""#)),
            ADMINISTRATORS,
        ),
        (
            "upsertConnection",
            r#"(input: { type: JSON, platformUrn: "urn:li:dataPlatform:hive", json: { blob: "{}" } }) { urn }"#
                .to_owned(),
            ADMINISTRATORS,
        ),
        (
            "deleteSecret",
            format!(r#"(urn: "{SECRET}")"#),
            ADMINISTRATORS,
        ),
        (
            "createWebhook",
            input(r#"name: "w", url: "https://example.com""#.to_owned()) + " { urn }",
            ADMINISTRATORS,
        ),
        (
            "updateWebhook",
            format!(r#"({webhook}, input: {{ name: "w", url: "https://example.com" }})"#),
            ADMINISTRATORS,
        ),
        (
            "testWebhook",
            format!("({webhook}) {{ accepted }}"),
            ADMINISTRATORS,
        ),
        (
            "replayWebhookDeadLetters",
            format!("({webhook}) {{ delivered }}"),
            ADMINISTRATORS,
        ),
        (
            "discardWebhookDeadLetters",
            format!("({webhook})"),
            ADMINISTRATORS,
        ),
        (
            "deleteWebhook",
            format!("({webhook})"),
            ADMINISTRATORS,
        ),
    ]
}
