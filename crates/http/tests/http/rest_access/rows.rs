//! What writes.

use serde_json::{Value, json};

use super::{
    DATASET_EDITORS, DELETERS, EDITORS, EVERYONE, LOGICAL, OTHER_VERSIONS, Proposable, Row,
    VERSIONS,
};
use crate::access::TAG;
use crate::support::{DATASET, encoded, proposal};

pub(crate) fn rows() -> Vec<Row> {
    use Proposable::{No, Yes};
    let status = json!({"removed": true});
    let description = json!({"description": "d", "created": {"time": 0, "actor": "urn:li:corpuser:datahub"},
        "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}});
    let upsert = proposal("UPSERT", DATASET, "editableDatasetProperties", &description);
    let patch = json!([{"op": "add", "path": "/removed", "value": true}]);
    let profile = json!({"timestampMillis": 1, "rowCount": 1});
    let snapshot = json!({"value": {"com.linkedin.metadata.snapshot.DatasetSnapshot": {
        "urn": DATASET, "aspects": [{"com.linkedin.common.Status": status}],
    }}});
    let bucket = json!({"bucket": 0, "duration": "DAY", "resource": DATASET, "metrics": {"totalSqlQueries": 1}});
    let one = |aspect: &str| format!("/{}/{aspect}", encoded(DATASET));
    let action = |name: &str| format!("?action={name}");
    let version_of =
        |set: &str, urn: &str| format!("/{}/relationship/versionOf/{}", encoded(set), encoded(urn));
    let by_type = "/openapi/v3/entity/{type}";
    let by_urn = "/openapi/v3/entity/{type}/{*urn}";
    vec![
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": upsert}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposalBatch"),
            json!({"proposals": [upsert]}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": proposal("PATCH", DATASET, "status", &patch)}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/aspects",
            action("ingestProposal"),
            json!({"proposal": proposal("UPSERT", DATASET, "datasetProfile", &profile)}),
            DATASET_EDITORS,
            No,
        ),
        (
            "POST",
            "/entities",
            action("ingest"),
            json!({"entity": snapshot}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/entities",
            action("batchIngest"),
            json!({"entities": [snapshot]}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/usageStats",
            action("batchIngest"),
            json!({"buckets": [bucket]}),
            DATASET_EDITORS,
            No,
        ),
        (
            "POST",
            by_type,
            "/dataset".to_owned(),
            json!([{"urn": DATASET, "editableDatasetProperties": {"value": description}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "PATCH",
            by_type,
            "/dataset".to_owned(),
            json!([{"urn": DATASET, "status": {"value": {"patch": patch}}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            by_urn,
            format!(
                "/dataset{}?createIfNotExists=false",
                one("editableDatasetProperties")
            ),
            json!({"value": description}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "PATCH",
            by_urn,
            format!("/dataset{}", one("status")),
            json!({"patch": patch}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/openapi/v2/entity/{type}",
            "/dataset?async=false".to_owned(),
            json!([{"urn": DATASET, "aspects": {"status": {"value": status}}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/openapi/v2/entity/{type}/{*urn}",
            format!("/dataset{}?createIfNotExists=false", one("status")),
            status.clone(),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "PATCH",
            "/openapi/v2/entity/{type}/{*urn}",
            format!("/dataset{}", one("status")),
            json!({"patch": patch}),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/openapi/entities/v1",
            String::new(),
            json!([{"entityUrn": DATASET, "aspect": {"__type": "Status", "removed": true}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/openapi/openlineage/api/v1/lineage",
            String::new(),
            json!({
                "eventType": "START", "eventTime": "2026-01-31T12:00:00Z", "run": {"runId": "r1"},
                "job": {"namespace": "etl", "name": "nightly.load"},
                "producer": "https://github.com/apache/airflow/tree/3",
            }),
            EDITORS,
            No,
        ),
        (
            "POST",
            "/openapi/v2/platform/entities/v1",
            String::new(),
            json!([{"entityUrn": DATASET, "aspect": {"value": {"__type": "Status", "removed": true}}}]),
            DATASET_EDITORS,
            Yes,
        ),
        (
            "DELETE",
            "/openapi/entities/v1",
            format!("?urns={}", encoded(DATASET)),
            Value::Null,
            DATASET_EDITORS,
            Yes,
        ),
        (
            "DELETE",
            "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}",
            version_of(VERSIONS, DATASET),
            Value::Null,
            EDITORS,
            No,
        ),
        (
            "POST",
            "/openapi/v3/entity/versioning/{set}/relationship/versionOf/{urn}",
            version_of(OTHER_VERSIONS, LOGICAL),
            json!({"version": "one"}),
            EDITORS,
            No,
        ),
        (
            "POST",
            "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf/{parent}",
            format!(
                "/{}/relationship/physicalInstanceOf/{}",
                encoded(DATASET),
                encoded(LOGICAL)
            ),
            json!({}),
            EDITORS,
            Yes,
        ),
        (
            "DELETE",
            "/openapi/v3/logical/{urn}/relationship/physicalInstanceOf",
            format!("/{}/relationship/physicalInstanceOf", encoded(DATASET)),
            Value::Null,
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/operations",
            action("restoreIndices"),
            json!({}),
            // It does nothing: the index follows every write.
            EVERYONE,
            No,
        ),
        (
            "POST",
            "/runs",
            action("rollback"),
            json!({"runId": "nightly", "dryRun": false, "hardDelete": true, "safe": false}),
            EDITORS,
            No,
        ),
        (
            "POST",
            "/entities",
            action("deleteReferences"),
            json!({"urn": TAG, "dryRun": false}),
            EDITORS,
            No,
        ),
        (
            "DELETE",
            "/openapi/v2/entity/{type}/{*urn}",
            format!("/dataset{}", one("status")),
            Value::Null,
            DATASET_EDITORS,
            Yes,
        ),
        (
            "DELETE",
            by_urn,
            format!("/dataset{}", one("editableDatasetProperties")),
            Value::Null,
            DATASET_EDITORS,
            Yes,
        ),
        (
            "POST",
            "/entities",
            action("delete"),
            json!({"urn": DATASET}),
            DELETERS,
            No,
        ),
        (
            "DELETE",
            by_urn,
            format!("/dataset/{}", encoded(DATASET)),
            Value::Null,
            DELETERS,
            No,
        ),
    ]
}
