//! The columns of datasets.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use docent_model::Urn;
use docent_store::StoredAspect;

use crate::Error;

/// Schemas read so far. A schema with thousands of columns is parsed once.
#[derive(Default)]
pub(super) struct KnownColumns(HashMap<Urn, (Arc<StoredAspect>, HashSet<String>)>);

impl KnownColumns {
    /// Fails at the first column that the dataset does not have, by its exact path.
    pub(super) fn check(
        &mut self,
        dataset: &Urn,
        schema: Option<&Arc<StoredAspect>>,
        field_paths: &[String],
    ) -> Result<(), Error> {
        let Some(first) = field_paths.first() else {
            return Ok(());
        };
        let failed = |field_path: &str| format!("Failed to update {dataset} & field {field_path}.");
        let Some(schema) = schema else {
            let message = format!("{} {dataset} has no schema.", failed(first));
            return Err(Error::no_column(dataset, first, message));
        };
        let columns = self.of(dataset, schema);
        match field_paths.iter().find(|path| !columns.contains(*path)) {
            None => Ok(()),
            Some(missing) => {
                let message = format!(
                    "{} Field {missing} does not exist in the datasets schema.",
                    failed(missing)
                );
                Err(Error::no_column(dataset, missing, message))
            }
        }
    }

    fn of(&mut self, dataset: &Urn, schema: &Arc<StoredAspect>) -> &HashSet<String> {
        let parse = || (Arc::clone(schema), parse(&schema.metadata));
        let (known, columns) = self.0.entry(dataset.clone()).or_insert_with(parse);
        // An earlier item of the list may have changed the schema.
        if !Arc::ptr_eq(known, schema) {
            (*known, *columns) = parse();
        }
        columns
    }
}

fn parse(schema: &str) -> HashSet<String> {
    #[derive(serde::Deserialize)]
    struct Schema<'a> {
        #[serde(borrow, default)]
        fields: Vec<Field<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Field<'a> {
        #[serde(borrow, rename = "fieldPath", default)]
        path: Cow<'a, str>,
    }
    let fields = serde_json::from_str::<Schema<'_>>(schema).map(|schema| schema.fields);
    fields
        .unwrap_or_default()
        .into_iter()
        .map(|field| field.path.into_owned())
        .collect()
}
