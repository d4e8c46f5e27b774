//! Restores the version before a run, removes references, and deletes points of time series.

use std::sync::Arc;

use docent_model::{AspectName, Registry, RemovalResult, Urn, remove_references};
use docent_store::{AspectKey, AspectWrite, Effect, PointRange, version};
use serde_json::Value;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;
use crate::proposal::Proposal;

impl Batch<'_> {
    /// Restores the version before the run, or deletes the aspect if the run created it. Does
    /// nothing if the run did not write the latest version.
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
        // The history must match the latest version.
        self.flush().await?;
        let key = AspectKey::new(urn, aspect);
        let history = self.tx.aspect_history(&key).await?;
        let Some(write) = version::revert(key.clone(), &latest, history, run, &self.stamp) else {
            return Ok(());
        };
        let is_domain = aspect == AspectName::DOMAIN_PROPERTIES;
        let deleted = version::logical_version_of(&latest);
        if let Effect::Revert { row, .. } = &write.effect {
            if is_domain {
                let value: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
                let latest = Current::new(Some(latest));
                self.check_domain(proposal, latest.readable(), &value)
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
        self.push_deletion(write, Some(deleted)).await
    }

    pub(super) async fn remove_references(
        &mut self,
        proposal: &Proposal,
        aspect: AspectName,
        target: &Urn,
    ) -> Result<(), Error> {
        let urn = &proposal.urn;
        let current = Current::new(self.get(urn, aspect).await?);
        self.budget.parse(current.row())?;
        let (Some(row), Some(mut value)) = (current.row(), current.readable().cloned()) else {
            return Ok(());
        };
        match remove_references(aspect, &mut value, target.as_str()) {
            RemovalResult::Unchanged => Ok(()),
            RemovalResult::Changed => {
                let payload = Payload::of(value);
                self.store(proposal, aspect, &payload, false, &current)
                    .await
            }
            RemovalResult::Invalid => {
                if aspect == AspectName::DOMAIN_PROPERTIES {
                    self.flush().await?;
                    self.check_childless(urn).await?;
                }
                let deleted = version::logical_version_of(row);
                let write = version::delete(AspectKey::new(urn, aspect), None, &self.stamp);
                self.forget(&write);
                self.push_deletion(write, Some(deleted)).await
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
