use serde_json::json;

use super::*;

fn validate(entity: &str, aspect: &str, value: &mut Value) -> Result<bool, String> {
    let registry = Registry::get();
    let (entity, aspect) = (registry.entity(entity), registry.aspect(aspect));
    registry
        .validate(entity.unwrap(), aspect.unwrap(), value)
        .map_err(|error| error.to_string())
}

/// The result for an aspect of a dataset.
fn dataset(aspect: &str, mut value: Value) -> Result<bool, String> {
    validate("dataset", aspect, &mut value)
}

fn schema_metadata(field_paths: &[&str]) -> Value {
    let fields: Vec<Value> = field_paths
        .iter()
        .map(|path| {
            json!({
                "fieldPath": path,
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                "nativeDataType": "int",
                "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]},
                "glossaryTerms": {
                    "terms": [{"urn": "urn:li:glossaryTerm:Classification.Sensitive"}],
                    "auditStamp": {"time": 0, "actor": "urn:li:corpuser:etl"},
                },
            })
        })
        .collect();
    json!({
        "schemaName": "t", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table t"}},
        "fields": fields,
    })
}

#[test]
fn a_union_needs_no_discriminator() {
    for member in [json!({"costId": 0.5}), json!({"costCode": "CC-1"})] {
        let mut value = json!({"costType": "ORG_COST_TYPE", "cost": member});
        assert_eq!(validate("mlModel", "cost", &mut value), Ok(false));
    }
}

#[test]
fn real_aspects_are_accepted() {
    let stamp =
        json!({"time": 1_700_000_000_000_i64, "actor": "urn:li:corpuser:datahub", "message": null});
    let upstream = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)";
    let column = format!("urn:li:schemaField:({upstream},id)");
    for (aspect, value) in [
        ("schemaMetadata", schema_metadata(&["a", "b"])),
        (
            "domains",
            json!({"domains": ["urn:li:domain:marketing"], "domainAssociations": null}),
        ),
        ("container", json!({"container": "urn:li:container:0f4c"})),
        (
            "ownership",
            json!({
                "owners": [{"owner": "urn:li:corpuser:jdoe", "type": "DATAOWNER", "typeUrn": "urn:li:ownershipType:__system__technical_owner"}],
                "ownerTypes": {"urn:li:ownershipType:a": ["urn:li:corpuser:jdoe"]},
                "lastModified": stamp,
            }),
        ),
        (
            "upstreamLineage",
            json!({
                "upstreams": [{"auditStamp": stamp, "dataset": upstream, "type": "TRANSFORMED"}],
                "fineGrainedLineages": [{
                    "upstreamType": "FIELD_SET", "upstreams": [column],
                    "downstreamType": "FIELD", "downstreams": [column], "confidenceScore": 1,
                }],
            }),
        ),
        (
            "institutionalMemory",
            json!({"elements": [{"url": "https://example.com", "description": "docs", "createStamp": stamp}]}),
        ),
        ("status", json!({})),
        (
            "datasetProperties",
            json!({"customProperties": {"x": "1"}, "tags": []}),
        ),
    ] {
        assert_eq!(dataset(aspect, value), Ok(false), "{aspect}");
    }
}

#[test]
fn valid_values_are_not_changed() {
    let sent = json!({"description": null, "created": {"time": 1, "actor": "urn:li:corpUser:(x)"}});
    let mut value = sent.clone();
    assert_eq!(
        validate("dataset", "editableDatasetProperties", &mut value),
        Ok(false)
    );
    assert_eq!(value, sent);
}

#[test]
fn violations_have_a_path_and_the_expected_type() {
    let long = "x".repeat(300);
    for (aspect, value, sentence) in [
        (
            "datasetProperties",
            json!({"customProperties": {"x": 3}}),
            "datasetProperties: /customProperties/x must be a string, found 3".to_owned(),
        ),
        (
            "datasetProperties",
            json!({"customProperties": {"a/b~": null}}),
            "datasetProperties: /customProperties/a~1b~0 must be a string, found null".to_owned(),
        ),
        (
            "datasetProperties",
            json!({"name": {}}),
            "datasetProperties: /name must be a string, found an empty object".to_owned(),
        ),
        (
            "datasetProperties",
            json!({"tags": long}),
            format!("datasetProperties: /tags must be an array, found \"{}…", "x".repeat(199)),
        ),
        (
            "datasetProperties",
            json!("x"),
            "datasetProperties: the value must be an object, found \"x\"".to_owned(),
        ),
        (
            "status",
            json!({"removed": null}),
            "status: /removed must be true or false, found null".to_owned(),
        ),
        (
            "ownership",
            json!({"owners": [{"owner": "urn:li:corpuser:x"}]}),
            "ownership: required member /owners/0/type is missing".to_owned(),
        ),
        (
            "schemaMetadata",
            json!({"schemaName": "t", "platform": "urn:li:dataPlatform:hive", "version": 1.0}),
            "schemaMetadata: /version must be a 64-bit integer, found 1.0".to_owned(),
        ),
        (
            "domains",
            json!({"domains": ["marketing"]}),
            "domains: /domains/0 must be a URN: 'marketing' is not a URN: expected urn:li:<entityType>:<key>".to_owned(),
        ),
        (
            "domains",
            json!({"domains": ["urn:li:tag:x"]}),
            "domains: /domains/0: 'urn:li:tag:x' is not a valid destination: expected domain".to_owned(),
        ),
        (
            "container",
            json!({"container": "urn:li:noSuchType:x"}),
            "container: /container must be a URN: 'urn:li:noSuchType:x' names an unknown entity type 'noSuchType'".to_owned(),
        ),
        (
            "domainProperties",
            json!({"name": "x"}),
            "Unknown aspect domainProperties for entity dataset".to_owned(),
        ),
    ] {
        assert_eq!(dataset(aspect, value), Err(sentence));
    }
}

#[test]
fn a_union_must_have_exactly_one_known_member() {
    let mut value = schema_metadata(&["a"]);
    for wrong in [
        json!({}),
        json!({"com.linkedin.schema.MySqlDDL": {"tableSchema": ""}, "com.linkedin.schema.Schemaless": {}}),
        json!({"MySqlDDL": {"tableSchema": ""}}),
        json!("Schemaless"),
    ] {
        value["platformSchema"] = wrong.clone();
        let message = dataset("schemaMetadata", value.clone()).unwrap_err();
        let expected = "schemaMetadata: /platformSchema must be an object with exactly one member of com.linkedin.schema.";
        assert!(message.starts_with(expected), "{wrong}: {message}");
    }
    value["platformSchema"] = json!({"com.linkedin.schema.MySqlDDL": {}});
    assert_eq!(
        dataset("schemaMetadata", value),
        Err("schemaMetadata: required member /platformSchema/com.linkedin.schema.MySqlDDL/tableSchema is missing".to_owned())
    );
}

#[test]
fn unions_of_primitives_use_type_names() {
    let mut inputs = json!({
        "title": "t", "description": "",
        "lastModified": {
            "created": {"time": 0, "actor": "urn:li:corpuser:x"},
            "lastModified": {"time": 0, "actor": "urn:li:corpuser:x"},
        },
        "inputs": [{"string": "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"}],
    });
    assert_eq!(validate("chart", "chartInfo", &mut inputs), Ok(false));
    inputs["inputs"] = json!([{"string": "urn:li:tag:x"}]);
    assert_eq!(
        validate("chart", "chartInfo", &mut inputs),
        Err("chartInfo: /inputs/0/string: 'urn:li:tag:x' is not a valid destination: expected dataset".to_owned())
    );
}

#[test]
fn unknown_members_are_removed_and_the_order_is_kept() {
    let mut value = json!({
        "z": 1,
        "lastModified": {"time": 1, "extra": [], "actor": "urn:li:corpuser:x"},
        "owners": [{"owner": "urn:li:corpuser:x", "type": "NONE", "since": 3}],
    });
    assert_eq!(validate("dataset", "ownership", &mut value), Ok(true));
    assert_eq!(
        value.to_string(),
        r#"{"lastModified":{"time":1,"actor":"urn:li:corpuser:x"},"owners":[{"owner":"urn:li:corpuser:x","type":"NONE"}]}"#
    );
}

#[test]
fn field_paths_must_be_unique() {
    let many: Vec<String> = (0..40).map(|at| format!("column{at}")).collect();
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(dataset("schemaMetadata", schema_metadata(&many)), Ok(false));
    many[39] = "column7";
    for (paths, at, path) in [(many.as_slice(), 39, "column7"), (&["a", "b", "a"], 2, "a")] {
        let expected = format!(
            "SchemaMetadata aspect has duplicated field paths: '{path}' (/fields/{at}/fieldPath)"
        );
        assert_eq!(
            dataset("schemaMetadata", schema_metadata(paths)),
            Err(expected)
        );
    }
    assert_eq!(
        dataset("schemaMetadata", schema_metadata(&["a", ""])),
        Err("SchemaMetadata aspect has empty field path. (/fields/1/fieldPath)".to_owned())
    );
    let editable = json!({"editableSchemaFieldInfo": [{"fieldPath": "a"}, {"fieldPath": "a"}]});
    assert_eq!(
        dataset("editableSchemaMetadata", editable),
        Err("EditableSchemaMetadata aspect has duplicated field paths: 'a' (/editableSchemaFieldInfo/1/fieldPath)".to_owned())
    );
}
