//! The versions of the schema of a dataset, and which version last changed each column.

use std::collections::BTreeMap;
use std::sync::Arc;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, RowVersion};
use serde_json::Value;

use super::{Category, Moment, Operation, SemanticVersion};
use crate::{AspectRow, Catalog, Error, ReadRequest};

/// A version of the schema.
#[derive(Debug, Clone)]
pub struct SchemaVersion {
    pub version: SemanticVersion,
    pub time_ms: EpochMillis,
    pub version_stamp: String,
}

/// The last change of each column up to a version.
#[derive(Debug)]
pub struct SchemaBlame {
    pub version: SchemaVersion,
    pub columns: Vec<ColumnChange>,
}

/// The last change of a column.
#[derive(Debug)]
pub struct ColumnChange {
    pub path: String,
    pub operation: Operation,
    pub version: SchemaVersion,
}

impl Catalog {
    /// The versions of the schema of a dataset, oldest first.
    pub async fn schema_versions(&self, dataset: &Urn) -> Result<Vec<SchemaVersion>, Error> {
        let moments = self.schema_timeline(dataset).await?;
        Ok(moments.iter().map(schema_version).collect())
    }

    /// The last change of each column up to a version, by default the latest. `None` if the dataset
    /// has no schema, or none that is so old.
    pub async fn schema_blame(
        &self,
        dataset: &Urn,
        up_to: Option<SemanticVersion>,
    ) -> Result<Option<SchemaBlame>, Error> {
        let mut moments = self.schema_timeline(dataset).await?;
        moments.retain(|moment| up_to.is_none_or(|limit| moment.version <= limit));
        let Some(last) = moments.last() else {
            return Ok(None);
        };
        let mut columns: BTreeMap<&str, ColumnChange> = BTreeMap::new();
        for moment in &moments {
            // A column that is added as part of the key has two changes: the first one counts.
            for event in moment.events.iter().rev() {
                let Some(path) = event.column.as_deref() else {
                    continue;
                };
                // A renamed column continues under its new path.
                let former = event.parameters.get("fieldPath").and_then(Value::as_str);
                if let Some(former) = former.filter(|former| *former != path) {
                    columns.remove(former);
                }
                let change = ColumnChange {
                    path: path.to_owned(),
                    operation: event.operation,
                    version: schema_version(moment),
                };
                columns.insert(path, change);
            }
        }
        let columns = columns.into_values();
        Ok(Some(SchemaBlame {
            version: schema_version(last),
            columns: columns
                .filter(|change| change.operation != Operation::Remove)
                .collect(),
        }))
    }

    async fn schema_timeline(&self, dataset: &Urn) -> Result<Vec<Moment>, Error> {
        dataset.expect_type("dataset")?;
        self.timeline(dataset, &[Category::TechnicalSchema], None, None)
            .await
    }

    /// The rows of aspects in the versions of a stamp, without those that it does not name. An
    /// empty stamp is about the latest versions.
    pub async fn aspects_at(
        &self,
        urn: &Urn,
        aspects: &[AspectName],
        version_stamp: &str,
    ) -> Result<Vec<(AspectName, AspectRow)>, Error> {
        let stamp = parse_stamp(version_stamp)?;
        let mut latest = Vec::new();
        let mut rows = Vec::new();
        for aspect in aspects {
            let key = AspectKey::new(urn, *aspect);
            match stamp.get(aspect) {
                Some(version) if !version.is_latest() => {
                    let row = self.read_version(&key, *version).await?;
                    rows.push((*aspect, row.map(Arc::new)));
                }
                None if !stamp.is_empty() => {}
                _ => latest.push(key),
            }
        }
        let found = self.read(ReadRequest::rows(&latest)).await?.rows;
        rows.extend(latest.iter().map(|key| key.aspect).zip(found));
        Ok(rows)
    }
}

fn schema_version(moment: &Moment) -> SchemaVersion {
    SchemaVersion {
        version: moment.version,
        time_ms: moment.time_ms,
        version_stamp: moment.version_stamp.clone(),
    }
}

/// Reads `name:version;name:version`. Aspects that the registry does not know do not matter.
fn parse_stamp(stamp: &str) -> Result<BTreeMap<AspectName, RowVersion>, Error> {
    let mut versions = BTreeMap::new();
    for part in stamp.split(';').filter(|part| !part.is_empty()) {
        let version = part
            .split_once(':')
            .and_then(|(name, version)| Some((name, version.parse().ok()?)));
        let Some((name, version)) = version else {
            return Err(Error::invalid(format!(
                "'{part}' in the version stamp is not of the form aspect:version: use a stamp of \
                 getSchemaVersionList"
            )));
        };
        if let Some(aspect) = Registry::get().aspect(name) {
            versions.insert(aspect, RowVersion::new(version));
        }
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_name_aspects_and_their_versions() {
        let stamp = parse_stamp("schemaMetadata:2;unknown:1;status:0").unwrap();
        let versions: Vec<i64> = stamp.values().map(|version| version.get()).collect();
        assert_eq!(versions, [2, 0]);
        assert!(parse_stamp("none").is_err());
        assert!(parse_stamp("schemaMetadata:x").is_err());
        assert!(parse_stamp("").unwrap().is_empty());
    }
}
