//! Rows about documents, announcements, views and pages.

use serde_json::{Value, json};

use super::{ADMINISTRATORS, DATASET_EDITORS, EDITORS, PROPOSERS, Row};
use crate::support::DATASET;

const DOCUMENT: &str = "urn:li:document:guide";
const POST: &str = "urn:li:post:news";
const VIEW: &str = "urn:li:dataHubView:tables";
const MODULE: &str = "urn:li:dataHubPageModule:text";
const TEMPLATE: &str = "urn:li:dataHubPageTemplate:home";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:nobody"});
    vec![
        (
            DOCUMENT,
            "documentInfo",
            json!({"title": "Guide", "status": {"state": "PUBLISHED"}, "contents": {"text": ""},
                "created": stamp, "lastModified": stamp}),
        ),
        (
            POST,
            "postInfo",
            json!({"type": "HOME_PAGE_ANNOUNCEMENT", "created": 1, "lastModified": 1,
                "content": {"type": "TEXT", "title": "News"}}),
        ),
        (
            MODULE,
            "dataHubPageModuleProperties",
            json!({"name": "Text", "type": "RICH_TEXT", "visibility": {"scope": "GLOBAL"},
                "params": {"richTextParams": {"content": ""}}, "created": stamp, "lastModified": stamp}),
        ),
        (
            TEMPLATE,
            "dataHubPageTemplateProperties",
            json!({"rows": [], "surface": {"surfaceType": "HOME_PAGE"}, "visibility": {"scope": "GLOBAL"},
                "created": stamp, "lastModified": stamp}),
        ),
        (
            VIEW,
            "dataHubViewInfo",
            json!({"type": "GLOBAL", "name": "Tables", "created": stamp, "lastModified": stamp,
                "definition": {"entityTypes": ["dataset"], "filter": {"or": []}}}),
        ),
    ]
}

pub(super) fn rows() -> Vec<Row> {
    let input = |members: String| format!("(input: {{ {members} }})");
    let announcement =
        r#"postType: HOME_PAGE_ANNOUNCEMENT, content: { contentType: TEXT, title: "New" }"#;
    let definition = "definition: { entityTypes: [], filter: { operator: AND, filters: [] } }";
    vec![
        (
            "createDocument",
            input(r#"title: "New", contents: { text: "" }"#.to_owned()),
            PROPOSERS,
        ),
        (
            "updateDocumentContents",
            input(format!(r#"urn: "{DOCUMENT}", title: "Guide""#)),
            PROPOSERS,
        ),
        (
            "updateDocumentRelatedEntities",
            input(format!(r#"urn: "{DOCUMENT}", relatedAssets: []"#)),
            PROPOSERS,
        ),
        (
            "updateDocumentStatus",
            input(format!(r#"urn: "{DOCUMENT}", state: PUBLISHED"#)),
            PROPOSERS,
        ),
        (
            "updateDocumentSubType",
            input(format!(r#"urn: "{DOCUMENT}", subType: "FAQ""#)),
            PROPOSERS,
        ),
        (
            "updateDocumentSettings",
            input(format!(r#"urn: "{DOCUMENT}", showInGlobalContext: true"#)),
            PROPOSERS,
        ),
        (
            "moveDocument",
            input(format!(r#"urn: "{DOCUMENT}""#)),
            PROPOSERS,
        ),
        (
            "upsertPageModule",
            input(format!(
                r#"urn: "{MODULE}", name: "Text", type: RICH_TEXT, scope: GLOBAL,
                    params: {{ richTextParams: {{ content: "" }} }}"#
            )) + " { urn }",
            ADMINISTRATORS,
        ),
        (
            "upsertPageTemplate",
            input(format!(
                r#"urn: "{TEMPLATE}", rows: [{{ modules: [] }}], scope: GLOBAL, surfaceType: HOME_PAGE"#
            )) + " { urn }",
            ADMINISTRATORS,
        ),
        (
            "deletePageModule",
            input(format!(r#"urn: "{MODULE}""#)),
            ADMINISTRATORS,
        ),
        ("createPost", input(announcement.to_owned()), EDITORS),
        (
            "updatePost",
            input(format!(r#"urn: "{POST}", {announcement}"#)),
            EDITORS,
        ),
        (
            "createView",
            input(format!(r#"viewType: GLOBAL, name: "New", {definition}"#)) + " { urn }",
            ADMINISTRATORS,
        ),
        (
            "updateView",
            format!(r#"(urn: "{VIEW}", input: {{ name: "Tables" }}) {{ urn }}"#),
            ADMINISTRATORS,
        ),
        (
            "updateGlobalViewsSettings",
            input(format!(r#"defaultView: "{VIEW}""#)),
            ADMINISTRATORS,
        ),
        (
            "importDocumentsFromFiles",
            input(r#"documents: [{ fileName: "a.md", content: "a" }]"#.to_owned())
                + " { errors documentUrns }",
            EDITORS,
        ),
        (
            "updateDocPropagationSettings",
            input("docColumnPropagation: true".to_owned()),
            EDITORS,
        ),
        (
            "updateApplicationsSettings",
            input("enabled: true".to_owned()),
            EDITORS,
        ),
        (
            "updateAssetSettings",
            input(format!(
                r#"urn: "{DATASET}", summary: {{ template: "{TEMPLATE}" }}"#
            )) + " { assetSummary { templates { template { urn } } } }",
            DATASET_EDITORS,
        ),
        (
            "deletePageTemplate",
            input(format!(r#"urn: "{TEMPLATE}""#)),
            ADMINISTRATORS,
        ),
        ("deleteDocument", format!(r#"(urn: "{DOCUMENT}")"#), EDITORS),
        ("deletePost", format!(r#"(urn: "{POST}")"#), EDITORS),
        ("deleteView", format!(r#"(urn: "{VIEW}")"#), ADMINISTRATORS),
    ]
}
