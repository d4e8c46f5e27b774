//! Aspects that become what they were before a run, or lose what they say about an entity; and points of time series
//! that go.

use std::sync::Arc;

use docent_model::{AspectName, Registry, RemovalResult, Urn, remove_references};
use docent_store::{AspectKey, AspectWrite, Effect, PointRange, version};
use serde_json::Value;

use super::{Batch, Payload, Prepared};
use crate::Error;
use crate::proposal::Proposal;

impl Batch<'_> {
    /// The aspect becomes again what it was before a run wrote it, or goes if the run made it. Nothing happens if the
    /// latest version is not of that run.
    pub(super) async fn revert(
        &mut self,
        proposal: &Proposal,
        aspect: AspectName,
        run: &str,
    ) -> Result<(), Error> {
        let urn = &proposal.urn;
        let Some(latest) = self.get(urn, aspect).await? else {
            return Ok(());
        };
        // The history must be the one that goes with the latest version.
        self.flush().await?;
        let key = AspectKey::new(urn, aspect);
        let history = self.tx.aspect_history(&key).await?;
        let Some(write) = version::revert(key.clone(), &latest, history, run, &self.stamp) else {
            return Ok(());
        };
        let is_domain = aspect == AspectName::DOMAIN_PROPERTIES;
        if let Effect::Revert { row, .. } = &write.effect {
            if is_domain {
                let value: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
                self.check_domain(proposal, Some(&latest.metadata), &value)
                    .await?;
            }
            self.known.insert(key, Some(Arc::new(row.clone())));
        } else {
            if is_domain {
                self.check_childless(urn).await?;
            }
            self.count_deleted(urn, Some(aspect)).await?;
            self.forget(&write);
        }
        self.push(write).await
    }

    pub(super) async fn take_out(
        &mut self,
        item: &Prepared,
        aspect: AspectName,
        target: &Urn,
    ) -> Result<(), Error> {
        let urn = &item.proposal.urn;
        let Some(row) = self.get(urn, aspect).await? else {
            return Ok(());
        };
        self.budget.parse(Some(&row))?;
        let Ok(mut value) = serde_json::from_str::<Value>(&row.metadata) else {
            return Ok(());
        };
        match remove_references(aspect, &mut value, target.as_str()) {
            RemovalResult::Unchanged => Ok(()),
            RemovalResult::Changed => {
                let payload = Payload::of(urn, aspect, value);
                self.store(&item.proposal, aspect, &payload, false).await
            }
            RemovalResult::Invalid => {
                self.flush().await?;
                if aspect == AspectName::DOMAIN_PROPERTIES {
                    self.check_childless(urn).await?;
                }
                self.count_deleted(urn, Some(aspect)).await?;
                self.delete_aspects(urn, &[aspect], false).await
            }
        }
    }

    pub(super) async fn delete_points(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
        range: &PointRange,
    ) -> Result<(), Error> {
        if !Registry::get().is_timeseries(aspect) {
            return Err(Error::invalid(format!(
                "{aspect} is no time series, so it has no points to delete between two times: leave the times out to \
                 delete the aspect"
            )));
        }
        self.flush().await?;
        let key = AspectKey::new(urn, aspect);
        self.applied.deleted_timeseries_rows += self.tx.points_count(&key, range).await?;
        let effect = Effect::DeletePoints(range.clone());
        self.push(AspectWrite { key, effect }).await
    }
}
