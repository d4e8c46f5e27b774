//! Rows about documents, announcements and views.

use serde_json::{Value, json};

use super::{ADMINISTRATORS, EDITORS, PROPOSERS, Row};

const DOCUMENT: &str = "urn:li:document:guide";
const POST: &str = "urn:li:post:news";
const VIEW: &str = "urn:li:dataHubView:tables";

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
        ("deleteDocument", format!(r#"(urn: "{DOCUMENT}")"#), EDITORS),
        ("deletePost", format!(r#"(urn: "{POST}")"#), EDITORS),
        ("deleteView", format!(r#"(urn: "{VIEW}")"#), ADMINISTRATORS),
    ]
}
