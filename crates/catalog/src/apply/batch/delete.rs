//! Deletes aspects and entities.

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectWrite, Effect, version};

use super::{Batch, Prepared};
use crate::access::child_aspects;
use crate::access::demand::{is_managed, use_case_of};
use crate::labels::LabelKind;
use crate::proposal::Change;
use crate::versions::OF_ASSET;
use crate::{Catalog, Error};

impl Batch<'_> {
    pub(super) async fn delete_aspect(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<(), Error> {
        self.flush().await?;
        if self.count_deleted(urn, Some(aspect)).await? == 0 {
            return Ok(());
        }
        if aspect == AspectName::DOMAIN_PROPERTIES {
            // The properties define the domain's parent: without them its children would dangle.
            self.check_childless(urn).await?;
        }
        // A new password follows, with the next version.
        let retire = aspect == AspectName::CORP_USER_CREDENTIALS;
        self.delete_aspects(urn, &[aspect], retire).await
    }

    /// The aspects that [`Change::Clear`] deletes. Secrets and aspects that rights depend on have
    /// their own use cases, and profiles belong to their users.
    pub(super) async fn cleared(&mut self, item: &Prepared) -> Result<Vec<AspectName>, Error> {
        self.flush().await?;
        let mut names = self.tx.aspect_names(&item.proposal.urn).await?;
        let urn = &item.proposal.urn;
        names.retain(|name| {
            *name != item.entity.key_aspect
                && !Catalog::is_secret(*name)
                && use_case_of(urn, Some(*name)).is_none()
                && !is_managed(urn.entity_type(), Some(*name))
                && Catalog::reserved(urn, Some(*name)).is_none()
        });
        Ok(names)
    }

    /// The aspects that the preconditions of an item refer to.
    pub(super) async fn subjects(&mut self, item: &Prepared) -> Result<Vec<AspectName>, Error> {
        let change = &item.proposal.change;
        if !matches!(change, Change::Clear) {
            return Ok(vec![change.aspect().unwrap_or(item.entity.key_aspect)]);
        }
        let mut names = self.cleared(item).await?;
        names.retain(|name| !Registry::get().is_timeseries(*name));
        Ok(names)
    }

    /// Deletes stored aspects; pending writes are flushed before. Retired aspects continue their
    /// version numbers if they are created again.
    pub(super) async fn delete_aspects(
        &mut self,
        urn: &Urn,
        aspects: &[AspectName],
        retire: bool,
    ) -> Result<(), Error> {
        if aspects.contains(&OF_ASSET) {
            self.unsettle_set_of(urn, OF_ASSET).await?;
        }
        if aspects.contains(&AspectName::INCIDENT_INFO) {
            let info = self.value(urn, AspectName::INCIDENT_INFO).await?;
            self.follow_incident(urn, info.as_ref(), None).await?;
        }
        let is_listed = Registry::get().entity(urn.entity_type()).is_some();
        // Rows that are retired are read anyway.
        let versions = if is_listed && !retire {
            self.tx.latest_versions(urn).await?
        } else {
            Vec::new()
        };
        for aspect in aspects {
            let key = AspectKey::new(urn, *aspect);
            let row = if retire {
                self.get(urn, *aspect).await?
            } else {
                None
            };
            let known = versions.iter().find(|(name, _)| name == aspect);
            let known = known.map(|(_, version)| *version);
            let deleted = row.as_deref().map(version::logical_version_of).or(known);
            let write = version::delete(key, row.as_deref(), &self.stamp);
            self.forget(&write);
            self.push_deletion(write, deleted).await?;
        }
        Ok(())
    }

    /// Records that an aspect is deleted.
    pub(super) fn forget(&mut self, deletion: &AspectWrite) {
        match deletion.effect {
            Effect::Delete {
                retired_version: Some(version),
                ..
            } => {
                self.retired.insert(deletion.key.clone(), version);
            }
            _ => {
                self.retired.remove(&deletion.key);
            }
        }
        self.known.insert(deletion.key.clone(), None);
    }

    pub(super) async fn count_deleted(
        &mut self,
        urn: &Urn,
        aspect: Option<AspectName>,
    ) -> Result<u64, Error> {
        let (rows, timeseries_rows) = self.tx.rows_count(urn, aspect).await?;
        self.applied.deleted_rows += rows;
        self.applied.deleted_timeseries_rows += timeseries_rows;
        Ok(rows + timeseries_rows)
    }

    /// Deletes an entity and the references to it that we know how to remove. Returns whether it is
    /// done: thousands of references take several transactions.
    pub(super) async fn delete_entity(&mut self, urn: &Urn, retire: bool) -> Result<bool, Error> {
        self.flush().await?;
        let is_released = if urn.entity_type() == "domain" {
            self.release_domain(urn).await?
        } else if let Some(kind) = LabelKind::of(urn) {
            self.release_label(urn, kind).await?
        } else if urn.entity_type() == "corpuser" {
            self.revoke_access(urn).await? && self.release_owner(urn).await?
        } else if urn.entity_type() == "corpGroup" {
            self.release_group(urn).await?
        } else if urn.entity_type() == "ownershipType" {
            self.release_ownership_type(urn).await?
        } else {
            self.release_from(urn, released_aspects(urn.entity_type()))
                .await?
        };
        if !is_released {
            self.deleted_later.insert(urn.clone());
            return self.continue_later(urn);
        }
        self.deleted.add(urn);
        self.flush().await?;
        if self.count_deleted(urn, None).await? == 0 {
            // What another caller creates from here on was not to be deleted.
            self.created.remove(urn);
            return Ok(true);
        }
        let names = self.tx.aspect_names(urn).await?;
        self.delete_aspects(urn, &names, retire).await?;
        self.created.remove(urn);
        Ok(true)
    }
}

/// The aspects that references to an entity of this type are removed from before it is deleted.
fn released_aspects(entity_type: &str) -> &'static [AspectName] {
    match entity_type {
        "application" => &[AspectName::APPLICATIONS, AspectName::APPLICATION_PROPERTIES],
        "assertion" => &[AspectName::DATA_CONTRACT_PROPERTIES],
        "businessAttribute" => &[AspectName::BUSINESS_ATTRIBUTES],
        "dataProduct" => &[AspectName::DATA_PRODUCT_PROPERTIES],
        "test" => &[AspectName::TEST_RESULTS],
        _ => child_aspects(entity_type),
    }
}
