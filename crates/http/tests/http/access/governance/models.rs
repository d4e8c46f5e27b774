//! Rows about relationships of ER models, logical models, lifecycle stages and files.

use serde_json::{Value, json};

use crate::access::{ADMINISTRATORS, ASSERTION_EDITORS, DATASET_EDITORS, EDITORS, PROPOSERS, Row};
use crate::support::DATASET;

const RELATIONSHIP: &str = "urn:li:erModelRelationship:r";
const PLATFORM: &str = "urn:li:dataPlatform:logical";
const STAGE: &str = "urn:li:lifecycleStageType:draft";
const MODEL: &str = "urn:li:dataset:(urn:li:dataPlatform:logical,user,PROD)";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let name_type = json!({"type": {"com.linkedin.schema.StringType": {}}});
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:nobody"});
    vec![
        (
            STAGE,
            "lifecycleStageTypeInfo",
            json!({"name": "Draft", "settings": {}, "created": stamp, "lastModified": stamp}),
        ),
        (
            RELATIONSHIP,
            "erModelRelationshipProperties",
            json!({"name": "r", "source": DATASET, "destination": DATASET, "relationshipFieldMappings": []}),
        ),
        (
            PLATFORM,
            "dataPlatformInfo",
            json!({"name": "logical", "type": "OTHERS", "datasetNameDelimiter": ".", "logical": true}),
        ),
        (
            MODEL,
            "schemaMetadata",
            json!({"schemaName": "user", "platform": PLATFORM, "version": 0, "hash": "",
                "platformSchema": {"com.linkedin.schema.Schemaless": {}},
                "fields": [{"fieldPath": "name", "type": name_type, "nativeDataType": "STRING"}]}),
        ),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    let columns = r#"columns: [{ fieldPath: "name", type: STRING }]"#;
    let ends = format!(r#"name: "n", source: "{DATASET}", destination: "{DATASET}""#);
    vec![
        (
            "createERModelRelationship",
            format!("(input: {{ properties: {{ {ends} }} }}) {{ urn }}"),
            ASSERTION_EDITORS,
        ),
        (
            "updateERModelRelationship",
            format!(
                r#"(urn: "{RELATIONSHIP}", input: {{ properties: {{ {ends} }}, editableProperties: {{ description: "d" }} }})"#
            ),
            PROPOSERS,
        ),
        (
            "deleteERModelRelationship",
            format!(r#"(urn: "{RELATIONSHIP}")"#),
            EDITORS,
        ),
        (
            "createLogicalModel",
            format!(r#"(input: {{ name: "new", {columns} }})"#),
            ADMINISTRATORS,
        ),
        (
            "updateLogicalModelSchema",
            format!(r#"(input: {{ urn: "{MODEL}", {columns} }})"#),
            ADMINISTRATORS,
        ),
        (
            "linkPhysicalChild",
            format!(
                r#"(input: {{ logicalParentUrn: "{MODEL}", childUrn: "{DATASET}",
                    columnMappings: [{{ parentFieldPath: "name", childFieldPath: "user_name" }}] }})"#
            ),
            PROPOSERS,
        ),
        (
            "setLogicalParent",
            format!(
                r#"(input: {{ resourceUrn: "urn:li:schemaField:({DATASET},timestamp)",
                    parentUrn: "urn:li:schemaField:({MODEL},name)" }})"#
            ),
            PROPOSERS,
        ),
        (
            "setLifecycleStage",
            format!(r#"(urn: "{DATASET}", lifecycleStageUrn: "{STAGE}")"#),
            DATASET_EDITORS,
        ),
        (
            "createDataHubFile",
            format!(
                r#"(input: {{ id: "f", storageKey: "k", originalFileName: "f", mimeType: "image/png", sizeInBytes: 1,
                    scenario: ASSET_DOCUMENTATION, referencedByAsset: "{DATASET}" }}) {{ file {{ urn }} }}"#
            ),
            ASSERTION_EDITORS,
        ),
        (
            "unlinkPhysicalChild",
            format!(r#"(input: {{ childUrn: "{DATASET}" }})"#),
            DATASET_EDITORS,
        ),
    ]
}
