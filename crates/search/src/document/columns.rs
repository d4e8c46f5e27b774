//! How many columns an entity has, and how many of them are described.

use std::borrow::Cow;
use std::collections::HashSet;

use docent_model::AspectName;
use serde::Deserialize;

/// The columns of the index that hold the two numbers.
pub(crate) const COLUMNS: &str = "_columns";
pub(crate) const DESCRIBED_COLUMNS: &str = "_describedColumns";

#[derive(Debug, Default)]
pub(super) struct ColumnCounts<'r> {
    all: i64,
    /// By ingestion.
    described: i64,
    schema: Option<&'r str>,
    /// What people said about columns.
    edited: Option<&'r str>,
}

#[derive(Deserialize)]
struct Schema<'a> {
    #[serde(borrow, default)]
    fields: Vec<Described<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edited<'a> {
    #[serde(borrow, default)]
    editable_schema_field_info: Vec<Described<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described<'a> {
    #[serde(borrow)]
    field_path: Cow<'a, str>,
    #[serde(borrow)]
    description: Option<Cow<'a, str>>,
}

impl Described<'_> {
    fn is_described(&self) -> bool {
        self.description.as_ref().is_some_and(|it| !it.is_empty())
    }
}

impl<'r> ColumnCounts<'r> {
    pub(super) fn see_aspect(&mut self, aspect: AspectName, text: &'r str) {
        match aspect {
            AspectName::SCHEMA_METADATA => self.schema = Some(text),
            AspectName::EDITABLE_SCHEMA_METADATA => self.edited = Some(text),
            _ => {}
        }
    }

    /// A value of a search field, which is read anyway.
    pub(super) fn see_value(&mut self, field: &str, is_empty: bool) {
        match field {
            "fieldPaths" => self.all += 1,
            "fieldDescriptions" if !is_empty => self.described += 1,
            _ => {}
        }
    }

    pub(super) fn counts(&self) -> [(&'static str, i64); 2] {
        let described = self.described_by_anybody().unwrap_or(self.described);
        [(COLUMNS, self.all), (DESCRIBED_COLUMNS, described)]
    }

    /// Columns may be described by ingestion, by people or by both; which ones is read only where people said something.
    fn described_by_anybody(&self) -> Option<i64> {
        let edited: Edited<'_> = serde_json::from_str(self.edited?).ok()?;
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
        let described = |it: &&Described<'_>| it.is_described() || edited.contains(&*it.field_path);
        Some(schema.fields.iter().filter(described).count() as i64)
    }
}
