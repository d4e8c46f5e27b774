//! Rows about the definitions of structured properties, forms, business attributes and tests, and
//! about models.

mod models;

use serde_json::{Value, json};

use super::{DATASET_EDITORS, EDITORS, PROPOSERS, Row};
use crate::support::DATASET;

const PROPERTY: &str = "urn:li:structuredProperty:defined";
const FORM: &str = "urn:li:form:f";
const ATTRIBUTE: &str = "urn:li:businessAttribute:a";
const TEST: &str = "urn:li:test:t";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let definition = json!({
        "qualifiedName": "defined", "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    });
    let prompt = json!({
        "id": "p", "title": "p", "type": "STRUCTURED_PROPERTY", "structuredPropertyParams": {"urn": PROPERTY},
    });
    let form = json!({"name": "f", "prompts": [prompt], "actors": {"owners": false}});
    let mut entities = vec![
        (PROPERTY, "propertyDefinition", definition),
        (FORM, "formInfo", form),
        (
            ATTRIBUTE,
            "businessAttributeInfo",
            json!({"fieldPath": "a", "name": "a"}),
        ),
        (
            TEST,
            "testInfo",
            json!({"name": "t", "category": "c", "definition": {"type": "JSON"}}),
        ),
    ];
    entities.extend(models::entities());
    entities
}

pub(super) fn rows() -> Vec<Row> {
    [forms(), properties(), attributes(), tests(), models::rows()].concat()
}

fn forms() -> Vec<Row> {
    let assets = format!(r#"(input: {{ formUrn: "{FORM}", entityUrns: ["{DATASET}"] }})"#);
    let values = format!(
        r#"structuredPropertyParams: {{ structuredPropertyUrn: "{PROPERTY}", values: [{{ stringValue: "x" }}] }}"#
    );
    vec![
        (
            "createForm",
            r#"(input: { name: "New" }) { urn }"#.to_owned(),
            PROPOSERS,
        ),
        (
            "updateForm",
            format!(r#"(input: {{ urn: "{FORM}", name: "n" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        ("batchAssignForm", assets.clone(), DATASET_EDITORS),
        (
            "submitFormPrompt",
            format!(
                r#"(urn: "{DATASET}", input: {{ promptId: "p", formUrn: "{FORM}", type: STRUCTURED_PROPERTY, {values} }})"#
            ),
            DATASET_EDITORS,
        ),
        ("batchRemoveForm", assets, DATASET_EDITORS),
        (
            "createDynamicFormAssignment",
            format!(
                r#"(input: {{ formUrn: "{FORM}", orFilters: [{{ and: [{{ field: "urn", values: ["{DATASET}"] }}] }}] }})"#
            ),
            PROPOSERS,
        ),
        // Assignees alone verify, and nobody is assigned.
        (
            "verifyForm",
            format!(r#"(input: {{ formUrn: "{FORM}", entityUrn: "{DATASET}" }})"#),
            "",
        ),
        (
            "deleteForm",
            format!(r#"(input: {{ urn: "{FORM}" }})"#),
            EDITORS,
        ),
    ]
}

fn properties() -> Vec<Row> {
    let new = r#"valueType: "urn:li:dataType:datahub.string", entityTypes: ["urn:li:entityType:datahub.dataset"]"#;
    vec![
        (
            "createStructuredProperty",
            format!("(input: {{ {new} }}) {{ urn }}"),
            PROPOSERS,
        ),
        (
            "updateStructuredProperty",
            format!(r#"(input: {{ urn: "{PROPERTY}", displayName: "d" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        (
            "deleteStructuredProperty",
            format!(r#"(input: {{ urn: "{PROPERTY}" }})"#),
            EDITORS,
        ),
    ]
}

fn attributes() -> Vec<Row> {
    let column = format!("urn:li:schemaField:({DATASET},user_name)");
    let columns = format!(
        r#"(input: {{ businessAttributeUrn: "{ATTRIBUTE}", resourceUrn: [{{ resourceUrn: "{column}" }}] }})"#
    );
    vec![
        (
            "createBusinessAttribute",
            r#"(input: { name: "New" }) { urn }"#.to_owned(),
            PROPOSERS,
        ),
        (
            "updateBusinessAttribute",
            format!(r#"(urn: "{ATTRIBUTE}", input: {{ description: "d" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        ("addBusinessAttribute", columns.clone(), DATASET_EDITORS),
        ("removeBusinessAttribute", columns, DATASET_EDITORS),
        (
            "deleteBusinessAttribute",
            format!(r#"(urn: "{ATTRIBUTE}")"#),
            EDITORS,
        ),
    ]
}

fn tests() -> Vec<Row> {
    let test = r#"input: { name: "New", category: "c", definition: { json: "{}" } }"#;
    vec![
        ("createTest", format!("({test})"), PROPOSERS),
        (
            "updateTest",
            format!(r#"(urn: "{TEST}", {test})"#),
            PROPOSERS,
        ),
        ("deleteTest", format!(r#"(urn: "{TEST}")"#), EDITORS),
    ]
}
