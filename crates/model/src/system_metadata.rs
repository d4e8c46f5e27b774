//! The system metadata stored with every aspect.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::aspects::AuditStamp;
use crate::{EpochMillis, LogicalVersion};

/// The run id of writes that belong to no ingestion run.
pub const NO_RUN_ID: &str = "no-run-id-provided";

/// Stored as JSON with each aspect. `version` is the logical version as text, because clients
/// expect a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SystemMetadata {
    #[serde(deserialize_with = "null_is_zero")]
    pub last_observed: EpochMillis,
    #[serde(deserialize_with = "null_is_no_run")]
    pub run_id: String,
    #[serde(deserialize_with = "null_is_no_run")]
    pub last_run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aspect_created: Option<AuditStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aspect_modified: Option<AuditStamp>,
}

/// Clients send null for unknown values.
fn null_is_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EpochMillis, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn null_is_no_run<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let run = Option::deserialize(deserializer)?;
    Ok(run.unwrap_or_else(|| NO_RUN_ID.to_owned()))
}

impl Default for SystemMetadata {
    fn default() -> Self {
        Self {
            last_observed: 0,
            run_id: NO_RUN_ID.to_owned(),
            last_run_id: NO_RUN_ID.to_owned(),
            pipeline_name: None,
            registry_name: None,
            registry_version: None,
            properties: None,
            version: None,
            schema_version: None,
            aspect_created: None,
            aspect_modified: None,
        }
    }
}

impl SystemMetadata {
    /// The logical version, 1 for the first write. `None` for rows written by old servers.
    pub fn logical_version(&self) -> Option<LogicalVersion> {
        let number = self.version.as_deref()?.parse().ok()?;
        Some(LogicalVersion::new(number))
    }

    /// The ingestion run that wrote or last confirmed the aspect, if any.
    pub fn run(&self) -> Option<&str> {
        [&self.last_run_id, &self.run_id]
            .into_iter()
            .map(String::as_str)
            .find(|run| !run.is_empty() && *run != NO_RUN_ID)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_members_read_as_defaults() {
        let text =
            r#"{"lastObserved": null, "runId": null, "lastRunId": null, "properties": null}"#;
        let system_metadata: SystemMetadata = serde_json::from_str(text).unwrap();
        assert_eq!(system_metadata, SystemMetadata::default());
    }
}
