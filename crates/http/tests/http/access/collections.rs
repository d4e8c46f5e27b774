//! Rows about the glossary, data products, applications and incidents.

use serde_json::{Value, json};

use super::{ASSERTION_EDITORS, DATASET_EDITORS, EDITORS, FINANCE, PROPOSERS, Row, TERM};
use crate::support::DATASET;

const VERSIONS: &str = "urn:li:versionSet:(versions,dataset)";
pub(crate) const NODE: &str = "urn:li:glossaryNode:money";
pub(crate) const PRODUCT: &str = "urn:li:dataProduct:p";
pub(crate) const APPLICATION: &str = "urn:li:application:a";
const OTHER_TERM: &str = "urn:li:glossaryTerm:other";
const FORMER_NODE: &str = "urn:li:glossaryNode:former";
const INCIDENT: &str = "urn:li:incident:late";

/// Those who may manage the products of [`FINANCE`], or propose it.
const PRODUCT_MANAGERS: &str = "EASDP";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let term = json!({"definition": "", "termSource": "INTERNAL"});
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let status = json!({"state": "ACTIVE", "lastUpdated": stamp});
    let incident =
        json!({"type": "SQL", "entities": [DATASET], "status": status, "created": stamp});
    vec![
        (NODE, "glossaryNodeInfo", json!({"definition": ""})),
        (FORMER_NODE, "glossaryNodeInfo", json!({"definition": ""})),
        (OTHER_TERM, "glossaryTermInfo", term),
        (PRODUCT, "dataProductProperties", json!({"name": "p"})),
        (PRODUCT, "domains", json!({"domains": [FINANCE]})),
        (APPLICATION, "applicationProperties", json!({"name": "a"})),
        (INCIDENT, "incidentInfo", incident),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    [glossary(), products(), applications(), incidents()].concat()
}

fn glossary() -> Vec<Row> {
    let related = format!(
        r#"(input: {{ urn: "{TERM}", termUrns: ["{OTHER_TERM}"], relationshipType: isA }})"#
    );
    let new = r#"(input: { name: "New" })"#.to_owned();
    vec![
        ("createGlossaryTerm", new.clone(), PROPOSERS),
        ("createGlossaryNode", new, PROPOSERS),
        (
            "updateParentNode",
            format!(r#"(input: {{ resourceUrn: "{TERM}", parentNode: "{NODE}" }})"#),
            PROPOSERS,
        ),
        ("addRelatedTerms", related.clone(), PROPOSERS),
        ("removeRelatedTerms", related, PROPOSERS),
        (
            "deleteGlossaryEntity",
            format!(r#"(urn: "{FORMER_NODE}")"#),
            EDITORS,
        ),
    ]
}

fn products() -> Vec<Row> {
    let assets = format!(r#"resourceUrns: ["{DATASET}"]"#);
    vec![
        (
            "createDataProduct",
            format!(
                r#"(input: {{ domainUrn: "{FINANCE}", properties: {{ name: "New" }} }}) {{ urn }}"#
            ),
            PRODUCT_MANAGERS,
        ),
        (
            "updateDataProduct",
            format!(r#"(urn: "{PRODUCT}", input: {{ description: "d" }}) {{ urn }}"#),
            PRODUCT_MANAGERS,
        ),
        (
            "moveDataProduct",
            format!(r#"(input: {{ resourceUrn: "{PRODUCT}" }})"#),
            PRODUCT_MANAGERS,
        ),
        (
            "batchSetDataProduct",
            format!(r#"(input: {{ dataProductUrn: "{PRODUCT}", {assets} }})"#),
            PRODUCT_MANAGERS,
        ),
        (
            "batchAddToDataProducts",
            format!(r#"(input: {{ dataProductUrns: ["{PRODUCT}"], {assets} }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "batchRemoveFromDataProducts",
            format!(r#"(input: {{ dataProductUrns: ["{PRODUCT}"], {assets} }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "deleteDataProduct",
            format!(r#"(urn: "{PRODUCT}")"#),
            "EASD",
        ),
    ]
}

fn applications() -> Vec<Row> {
    let assets =
        format!(r#"(input: {{ applicationUrn: "{APPLICATION}", resourceUrns: ["{DATASET}"] }})"#);
    vec![
        (
            "createApplication",
            r#"(input: { properties: { name: "New" } }) { urn }"#.to_owned(),
            PROPOSERS,
        ),
        (
            "updateApplication",
            format!(r#"(urn: "{APPLICATION}", input: {{ description: "d" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        ("batchSetApplication", assets.clone(), DATASET_EDITORS),
        ("batchUnsetApplication", assets, DATASET_EDITORS),
        (
            "deleteApplication",
            format!(r#"(urn: "{APPLICATION}")"#),
            EDITORS,
        ),
    ]
}

fn incidents() -> Vec<Row> {
    let status = "status: { state: ACTIVE }";
    vec![
        (
            "updateLineage",
            format!(
                r#"(input: {{ edgesToAdd: [], edgesToRemove: [{{ downstreamUrn: "{DATASET}", upstreamUrn: "{DATASET}" }}] }})"#
            ),
            ASSERTION_EDITORS,
        ),
        (
            "linkAssetVersion",
            format!(
                r#"(input: {{ versionSet: "{VERSIONS}", linkedEntity: "{DATASET}", version: "one" }}) {{ urn }}"#
            ),
            EDITORS,
        ),
        (
            "unlinkAssetVersion",
            format!(
                r#"(input: {{ versionSet: "{VERSIONS}", unlinkedEntity: "{DATASET}" }}) {{ urn }}"#
            ),
            EDITORS,
        ),
        (
            "raiseIncident",
            format!(r#"(input: {{ type: SQL, resourceUrn: "{DATASET}" }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "updateIncident",
            format!(r#"(urn: "{INCIDENT}", input: {{ title: "t" }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "updateIncidentStatus",
            format!(r#"(urn: "{INCIDENT}", input: {{ state: ACTIVE }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "upsertIncident",
            format!(
                r#"(urn: "{INCIDENT}", input: {{ {status}, resourceUrns: ["{DATASET}"], assigneeUrns: [] }})"#
            ),
            ASSERTION_EDITORS,
        ),
    ]
}
