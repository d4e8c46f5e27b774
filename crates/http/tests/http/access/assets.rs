//! Rows about charts, dashboards, notebooks and pipelines.

use serde_json::{Value, json};

use super::{DATASET_EDITORS, EDITORS, GROUP, PROPOSERS, Row};
use crate::support::DATASET;

/// The mutation of a type, an entity of it, and an aspect.
const ASSETS: [(&str, &str, &str); 5] = [
    ("updateChart", "urn:li:chart:(looker,c)", "chartInfo"),
    (
        "updateDashboard",
        "urn:li:dashboard:(looker,d)",
        "dashboardInfo",
    ),
    ("updateNotebook", "urn:li:notebook:(querybook,n)", "status"),
    (
        "updateDataFlow",
        "urn:li:dataFlow:(airflow,f,PROD)",
        "status",
    ),
    (
        "updateDataJob",
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)",
        "status",
    ),
];

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let info = json!({"title": "t", "description": "", "lastModified": {
        "created": {"time": 0, "actor": "urn:li:corpuser:datahub"},
        "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}}});
    let value = |aspect: &str| match aspect {
        "status" => json!({"removed": false}),
        _ => info.clone(),
    };
    let entity = |(_, urn, aspect): (_, &'static str, &'static str)| (urn, aspect, value(aspect));
    ASSETS.map(entity).into()
}

pub(super) fn rows() -> Vec<Row> {
    let update = r#"editableProperties: { description: "d" }, tags: { tags: [] }"#;
    let asset = |(field, urn, _): (&'static str, &str, &str)| {
        let arguments = format!(r#"(urn: "{urn}", input: {{ {update} }}) {{ urn }}"#);
        (field, arguments, PROPOSERS)
    };
    let mut rows: Vec<Row> = ASSETS.map(asset).into();
    rows.extend([
        (
            "updateEmbed",
            format!(r#"(input: {{ urn: "{DATASET}", renderUrl: "https://example.com/e" }})"#),
            DATASET_EDITORS,
        ),
        (
            "updateCorpGroupProperties",
            format!(r##"(urn: "{GROUP}", input: {{ slack: "#team" }}) {{ urn }}"##),
            EDITORS,
        ),
    ]);
    rows
}
