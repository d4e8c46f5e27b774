//! Rows about the glossary.

use serde_json::{Value, json};

use super::{EDITORS, PROPOSERS, Row, TERM};

pub(crate) const NODE: &str = "urn:li:glossaryNode:money";
const OTHER_TERM: &str = "urn:li:glossaryTerm:other";
const FORMER_NODE: &str = "urn:li:glossaryNode:former";

/// What the rows name.
pub(super) fn entities() -> Vec<(&'static str, &'static str, Value)> {
    let term = json!({"definition": "", "termSource": "INTERNAL"});
    vec![
        (NODE, "glossaryNodeInfo", json!({"definition": ""})),
        (FORMER_NODE, "glossaryNodeInfo", json!({"definition": ""})),
        (OTHER_TERM, "glossaryTermInfo", term),
    ]
}

pub(super) fn rows() -> Vec<Row> {
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
