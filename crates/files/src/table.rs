//! Rows of CSV files, for reading.

use serde_json::Value;

use crate::document::list_texts;
use crate::entity::{Entity, PartId};
use crate::kinds::Kind;
use crate::names::Names;
use crate::values::part_values;

/// The columns of the file with one row for each dataset.
pub const DATASET_HEADER: [&str; 11] = [
    "urn",
    "platform",
    "name",
    "description",
    "imported_description",
    "domain",
    "owners",
    "tags",
    "terms",
    "deprecated",
    "columns",
];
/// The columns of the file with one row for each column of a dataset.
pub const COLUMN_HEADER: [&str; 8] = [
    "urn",
    "dataset",
    "column",
    "type",
    "description",
    "imported_description",
    "tags",
    "terms",
];
const PLATFORM: &str = "urn:li:dataPlatform:";
/// What starts a formula in a spreadsheet.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A line of a CSV file.
pub fn line<'c>(cells: impl IntoIterator<Item = &'c str>) -> String {
    let cells = cells.into_iter().map(cell);
    let mut line = cells.collect::<Vec<_>>().join(",");
    line.push_str("\r\n");
    line
}

/// A cell. Spreadsheets must not execute what users wrote.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(FORMULA) { "'" } else { "" };
    if text.contains(['"', ',', '\n', '\r', ';']) || !guard.is_empty() {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The row of a dataset.
pub fn dataset(kind: &'static Kind, entity: &Entity, names: &Names) -> Vec<String> {
    let values = part_values(kind, entity);
    let texts = |key: &'static str| {
        let id = PartId { column: None, key };
        let texts = values
            .get(&id)
            .map(|value| list_texts(kind, &id, value, names));
        texts.unwrap_or_default().join("; ")
    };
    let note = values.get(&PartId {
        column: None,
        key: "deprecated",
    });
    let deprecated = match note.and_then(|note| note["note"].as_str()) {
        None => "",
        Some("") => "yes",
        Some(note) => note,
    };
    let (platform, name) = platform_and_name(entity);
    vec![
        entity.urn.to_string(),
        platform,
        name,
        texts("description"),
        imported(entity.value("datasetProperties")),
        texts("domain"),
        texts("owners"),
        texts("tags"),
        texts("terms"),
        deprecated.to_owned(),
        entity.columns().len().to_string(),
    ]
}

/// The rows of the columns of a dataset.
pub fn columns(kind: &'static Kind, entity: &Entity, names: &Names) -> Vec<Vec<String>> {
    let values = part_values(kind, entity);
    let fields = entity.value("schemaMetadata").map(|it| &it["fields"]);
    let fields = fields
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let (_, name) = platform_and_name(entity);
    let rows = entity.columns().into_iter().map(|column| {
        let field = fields.iter().find(|field| field["fieldPath"] == column);
        let texts = |key: &'static str| {
            let id = PartId {
                column: Some(column.to_owned()),
                key,
            };
            let texts = values
                .get(&id)
                .map(|value| list_texts(kind, &id, value, names));
            texts.unwrap_or_default().join("; ")
        };
        let native = field.and_then(|field| field["nativeDataType"].as_str());
        vec![
            entity.urn.to_string(),
            name.clone(),
            column.to_owned(),
            native.unwrap_or_default().to_owned(),
            texts("description"),
            imported(field),
            texts("tags"),
            texts("terms"),
        ]
    });
    rows.collect()
}

fn platform_and_name(entity: &Entity) -> (String, String) {
    match entity.urn.key_parts()[..] {
        [platform, name, ..] => {
            let platform = platform.strip_prefix(PLATFORM).unwrap_or(platform);
            (platform.to_owned(), name.to_owned())
        }
        _ => (String::new(), entity.urn.key().to_owned()),
    }
}

fn imported(record: Option<&Value>) -> String {
    let description = record.and_then(|record| record["description"].as_str());
    description.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_run_no_formulas() {
        let cells = ["plain", "a,b", "say \"x\"", "=1+1", "two\nlines", ""];
        let expected = "plain,\"a,b\",\"say \"\"x\"\"\",\"'=1+1\",\"two\nlines\",\r\n";
        assert_eq!(line(cells), expected);
    }
}
