//! Points of time series.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, SystemMetadata, Urn, point_id};
use docent_store::{AspectKey, AspectWrite, Effect, PointRange, TimeseriesRow, version};
use serde_json::Value;

use super::{Batch, Payload};
use crate::Error;

impl Batch<'_> {
    pub(super) async fn delete_points(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        range: &PointRange,
    ) -> Result<(), Error> {
        if !Registry::get().is_timeseries(aspect) {
            return Err(Error::invalid(format!(
                "{aspect} is not a time series, so it has no points in a period: omit the times to delete the aspect"
            )));
        }
        self.flush().await?;
        let key = AspectKey::new(urn, aspect);
        self.applied.deleted_timeseries_rows += self.tx.points_count(&key, range).await?;
        let effect = Effect::DeletePoints(range.clone());
        self.push(AspectWrite { key, effect }).await
    }
}

pub(super) fn timeseries_row(
    payload: &Payload,
    system_metadata: Option<&SystemMetadata>,
    stamp: &AuditStamp,
) -> TimeseriesRow {
    let system_metadata =
        system_metadata.map(|metadata| version::with_observation_time(metadata.clone(), stamp));
    let time = payload.value.get("timestampMillis");
    TimeseriesRow {
        time_ms: time.and_then(Value::as_i64).unwrap_or_default(),
        id: point_id(&payload.value),
        metadata: payload.text().to_owned(),
        system_metadata: system_metadata.and_then(|metadata| serde_json::to_string(&metadata).ok()),
    }
}
