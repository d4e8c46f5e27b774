//! Entities as the catalog has them.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use docent_model::Urn;
use serde_json::Value;

/// The aspect with what people write about columns, and the list in it.
pub(crate) const COLUMNS_ASPECT: &str = "editableSchemaMetadata";
pub(crate) const COLUMNS_LIST: &str = "editableSchemaFieldInfo";

/// An entity with the aspects that matter to files.
#[derive(Debug, Clone)]
pub struct Entity {
    pub urn: Urn,
    /// When the entity was created; another time means another entity with the same URN.
    pub created: i64,
    pub aspects: BTreeMap<String, Aspect>,
}

/// A version of an aspect.
#[derive(Debug, Clone)]
pub struct Aspect {
    pub value: Value,
    pub version: i64,
    /// The project of the files from which an apply wrote it.
    pub project: Option<String>,
}

/// Names a part: a key of an entity or of one of its columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    pub column: Option<String>,
    pub key: &'static str,
}

impl fmt::Display for PartId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(formatter, "columns[{column}].{}", self.key),
            None => formatter.write_str(self.key),
        }
    }
}

/// The plain values of parts that are not empty.
pub(crate) type PartValues = BTreeMap<PartId, Value>;

impl Entity {
    pub(crate) fn value(&self, aspect: &str) -> Option<&Value> {
        self.aspects.get(aspect).map(|aspect| &aspect.value)
    }

    /// The columns that the dataset has or people have written about, in order.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let imported = self.value("schemaMetadata").map(|it| &it["fields"]);
        let edited = self.value(COLUMNS_ASPECT).map(|it| &it[COLUMNS_LIST]);
        let lists = [imported, edited].into_iter().flatten();
        let items = lists.filter_map(Value::as_array).flatten();
        let mut columns: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        for path in items.filter_map(|item| item["fieldPath"].as_str()) {
            if seen.insert(path) {
                columns.push(path);
            }
        }
        columns
    }
}
