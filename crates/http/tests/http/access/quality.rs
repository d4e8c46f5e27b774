//! Rows about assertions, contracts, operations, queries and ownership types.

use serde_json::{Value, json};

use super::{ASSERTION_EDITORS, EDITORS, PROPOSERS, Row};
use crate::support::DATASET;

const QUERY: &str = "urn:li:query:q";
const KIND: &str = "urn:li:ownershipType:sponsor";
const FORMER_ASSERTION: &str = "urn:li:assertion:former";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let query = json!({"statement": {"value": "SELECT 1", "language": "SQL"}, "source": "MANUAL",
        "created": stamp, "lastModified": stamp});
    let kind = json!({"name": "Sponsor", "created": stamp, "lastModified": stamp});
    let assertion = json!({"type": "CUSTOM", "customAssertion": {"type": "t", "entity": DATASET}});
    vec![
        (QUERY, "queryProperties", query),
        (
            QUERY,
            "querySubjects",
            json!({"subjects": [{"entity": DATASET}]}),
        ),
        (KIND, "ownershipTypeInfo", kind),
        (FORMER_ASSERTION, "assertionInfo", assertion),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        (
            "upsertDataContract",
            format!(r#"(input: {{ entityUrn: "{DATASET}" }}) {{ urn }}"#),
            ASSERTION_EDITORS,
        ),
        (
            "reportOperation",
            format!(
                r#"(input: {{ urn: "{DATASET}", operationType: INSERT, sourceType: DATA_PROCESS }})"#
            ),
            ASSERTION_EDITORS,
        ),
        (
            "createQuery",
            format!(
                r#"(input: {{ properties: {{ statement: {{ value: "SELECT 1", language: SQL }} }},
                    subjects: [{{ datasetUrn: "{DATASET}" }}] }}) {{ urn }}"#
            ),
            ASSERTION_EDITORS,
        ),
        (
            "updateQuery",
            format!(r#"(urn: "{QUERY}", input: {{ properties: {{ name: "n" }} }}) {{ urn }}"#),
            ASSERTION_EDITORS,
        ),
        (
            "deleteQuery",
            format!(r#"(urn: "{QUERY}")"#),
            ASSERTION_EDITORS,
        ),
        (
            "createOwnershipType",
            r#"(input: { name: "New", description: "" }) { urn }"#.to_owned(),
            PROPOSERS,
        ),
        (
            "updateOwnershipType",
            format!(r#"(urn: "{KIND}", input: {{ name: "n" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        (
            "deleteOwnershipType",
            format!(r#"(urn: "{KIND}")"#),
            EDITORS,
        ),
        (
            "deleteAssertion",
            format!(r#"(urn: "{FORMER_ASSERTION}")"#),
            ASSERTION_EDITORS,
        ),
    ]
}
