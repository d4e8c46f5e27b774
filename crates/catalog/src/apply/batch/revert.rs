//! Restores the version before a run, and removes references.

use std::sync::Arc;

use docent_model::{AspectName, RemovalResult, Urn, remove_references};
use docent_store::{AspectKey, Effect, version};
use serde_json::Value;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;
use crate::proposal::Proposal;
use crate::versions::OF_ASSET;

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
        let before = Arc::clone(&latest);
        let key = AspectKey::new(urn, aspect);
        let history = self.tx.aspect_history(&key).await?;
        let Some(write) = version::revert(key.clone(), &latest, history, run, &self.stamp) else {
            return Ok(());
        };
        self.unsettle_set_of(urn, aspect).await?;
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
        self.push_deletion(write, Some(deleted)).await?;
        if aspect == OF_ASSET {
            self.follow_restored_version(urn).await?;
        }
        if aspect == AspectName::INCIDENT_INFO {
            let restored = self.value(urn, aspect).await?;
            let before = serde_json::from_str(&before.metadata).ok();
            self.follow_incident(urn, before.as_ref(), restored.as_ref())
                .await?;
        }
        Ok(())
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
}
