//! Operations on the data of datasets: reported, and counted by type and day.

use std::collections::BTreeMap;

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::AspectKey;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::times::start_of_day;
use crate::usage::Period;
use crate::{Caller, Catalog, Error};

/// How many operations there were, by type.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationCounts {
    pub total_operations: u64,
    pub total_inserts: u64,
    pub total_updates: u64,
    pub total_deletes: u64,
    pub total_creates: u64,
    pub total_alters: u64,
    pub total_drops: u64,
    pub total_customs: u64,
    /// By the name that the source gives them.
    pub custom_operations_map: BTreeMap<String, u64>,
}

/// The operations of a period: by day, oldest first, and together.
#[derive(Debug, Default)]
pub struct DailyOperations {
    pub days: BTreeMap<EpochMillis, OperationCounts>,
    pub all: OperationCounts,
}

impl Catalog {
    /// Stores an operation on the data of a dataset, in the form of the aspect.
    pub async fn report_operation(
        &self,
        caller: &Caller,
        dataset: &Urn,
        mut operation: Map<String, Value>,
    ) -> Result<(), Error> {
        if dataset.entity_type() != "dataset" {
            return Err(Error::invalid(format!(
                "Unable to report operation. Invalid entity type {} provided.",
                dataset.entity_type()
            )));
        }
        let time = operation
            .entry("timestampMillis")
            .or_insert_with(|| json!(self.now_ms()))
            .clone();
        operation.insert("lastUpdatedTimestamp".to_owned(), time);
        operation.insert("actor".to_owned(), json!(caller.actor()));
        let text = Value::Object(operation).to_string();
        let proposal = Proposal::upsert(dataset.clone(), AspectName::OPERATION, text);
        self.apply(caller, vec![proposal.requires_target()]).await?;
        Ok(())
    }

    /// Counts the operations of a period by the day on which they were reported.
    pub async fn daily_operations(
        &self,
        dataset: &Urn,
        period: &Period,
        zone: &TimeZone,
    ) -> Result<DailyOperations, Error> {
        let key = AspectKey::new(dataset, AspectName::OPERATION);
        let mut counted = DailyOperations::default();
        let count = |operation: &Value| {
            let time_ms = operation["timestampMillis"].as_i64().unwrap_or_default();
            let day = start_of_day(time_ms, zone);
            counted.all.count(operation);
            counted.days.entry(day).or_default().count(operation);
        };
        self.visit_points(&key, &period.points(), count).await?;
        Ok(counted)
    }
}

impl OperationCounts {
    fn count(&mut self, operation: &Value) {
        self.total_operations += 1;
        let of_type = match operation["operationType"].as_str() {
            Some("INSERT") => &mut self.total_inserts,
            Some("UPDATE") => &mut self.total_updates,
            Some("DELETE") => &mut self.total_deletes,
            Some("CREATE") => &mut self.total_creates,
            Some("ALTER") => &mut self.total_alters,
            Some("DROP") => &mut self.total_drops,
            Some("CUSTOM") => {
                if let Some(name) = operation["customOperationType"].as_str() {
                    *self
                        .custom_operations_map
                        .entry(name.to_owned())
                        .or_default() += 1;
                }
                &mut self.total_customs
            }
            _ => return,
        };
        *of_type += 1;
    }
}
