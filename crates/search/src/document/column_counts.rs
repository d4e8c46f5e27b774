//! Counts the columns of an entity, and those that have a description.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use docent_model::AspectName;
use serde::Deserialize;

/// The columns of the index that hold the two counts.
pub(crate) const COLUMNS: &str = "_columns";
pub(crate) const DESCRIBED_COLUMNS: &str = "_describedColumns";

#[derive(Debug, Default)]
pub(super) struct ColumnCounts<'r> {
    all: i64,
    /// Columns described by ingestion.
    described: i64,
    schema: Option<&'r str>,
    /// Column descriptions edited by users.
    edited: Option<&'r str>,
}

#[derive(Deserialize)]
struct Schema<'a> {
    #[serde(borrow, default)]
    fields: Vec<FieldDescription<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditedSchema<'a> {
    #[serde(borrow, default)]
    editable_schema_field_info: Vec<FieldDescription<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FieldDescription<'a> {
    #[serde(borrow)]
    field_path: Cow<'a, str>,
    #[serde(borrow)]
    description: Option<Cow<'a, str>>,
}

impl FieldDescription<'_> {
    fn is_described(&self) -> bool {
        self.description.as_ref().is_some_and(|it| !it.is_empty())
    }
}

impl<'r> ColumnCounts<'r> {
    pub(super) fn observe_aspect(&mut self, aspect: AspectName, text: &'r str) {
        match aspect {
            AspectName::SCHEMA_METADATA => self.schema = Some(text),
            AspectName::EDITABLE_SCHEMA_METADATA => self.edited = Some(text),
            _ => {}
        }
    }

    /// Takes note of a value of a search field.
    pub(super) fn observe_value(&mut self, field: &str, is_empty: bool) {
        match field {
            "fieldPaths" => self.all += 1,
            "fieldDescriptions" if !is_empty => self.described += 1,
            _ => {}
        }
    }

    pub(super) fn counts(&self) -> [(&'static str, i64); 2] {
        let described = self.described_by_any_source().unwrap_or(self.described);
        [(COLUMNS, self.all), (DESCRIBED_COLUMNS, described)]
    }

    /// The paths of the columns by their descriptions, from ingestion and from users.
    pub(super) fn by_description(&self) -> HashMap<String, Vec<String>> {
        let schema = |text| serde_json::from_str::<Schema<'_>>(text).ok();
        let edited = |text| serde_json::from_str::<EditedSchema<'_>>(text).ok();
        let schema = self.schema.and_then(schema).map(|it| it.fields);
        let edited = self.edited.and_then(edited);
        let edited = edited.map(|it| it.editable_schema_field_info);
        let mut paths: HashMap<String, Vec<String>> = HashMap::new();
        for column in [schema, edited].into_iter().flatten().flatten() {
            if let Some(description) = column.description {
                let described = paths.entry(description.into_owned()).or_default();
                described.push(column.field_path.into_owned());
            }
        }
        paths
    }

    /// A column may be described by ingestion, by users or by both. The aspects are parsed only if
    /// users edited any description.
    fn described_by_any_source(&self) -> Option<i64> {
        let edited: EditedSchema<'_> = serde_json::from_str(self.edited?).ok()?;
        let edited: HashSet<&str> = edited
            .editable_schema_field_info
            .iter()
            .filter(|it| it.is_described())
            .map(|it| &*it.field_path)
            .collect();
        if edited.is_empty() {
            return None;
        }
        let schema: Schema<'_> = serde_json::from_str(self.schema?).ok()?;
        let described =
            |it: &&FieldDescription<'_>| it.is_described() || edited.contains(&*it.field_path);
        schema
            .fields
            .iter()
            .filter(described)
            .count()
            .try_into()
            .ok()
    }
}
