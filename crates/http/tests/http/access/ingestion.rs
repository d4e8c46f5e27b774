//! Rows about secrets of ingestion.

use super::{ADMINISTRATORS, Row};

const SECRET: &str = "urn:li:dataHubSecret:warehouse";

pub(super) fn rows() -> Vec<Row> {
    let input = |members: String| format!("(input: {{ {members} }})");
    vec![
        (
            "createSecret",
            input(r#"name: "new", value: "x""#.to_owned()),
            ADMINISTRATORS,
        ),
        (
            "updateSecret",
            input(format!(r#"urn: "{SECRET}", name: "warehouse", value: "x""#)),
            ADMINISTRATORS,
        ),
        (
            "deleteSecret",
            format!(r#"(urn: "{SECRET}")"#),
            ADMINISTRATORS,
        ),
    ]
}
