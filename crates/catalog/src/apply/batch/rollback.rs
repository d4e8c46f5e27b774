//! Rolls back what an ingestion run wrote about an entity. Every decision is made inside the
//! transaction, so it sees the latest writes of others.

use docent_model::{AspectName, EntitySpec, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, PointRange, version};

use super::{Batch, Prepared};
use crate::Error;
use crate::runs::{EntityRollback, RunAspect};

/// One child is enough to keep a domain.
const MAX_CHILDREN: usize = 1000;

impl Batch<'_> {
    pub(super) async fn rollback_run(
        &mut self,
        item: &Prepared,
        run: &str,
        hard: bool,
        dry_run: bool,
    ) -> Result<(), Error> {
        if self.budget.is_chunk_full() {
            self.applied.unfinished = true;
            return Ok(());
        }
        // Aspects of other entities are not needed here, and may be large.
        self.flush().await?;
        self.known.clear();
        self.retired.clear();
        self.budget.dropped();
        let urn = &item.proposal.urn;
        let names = self.tx.aspect_names(urn).await?;
        let is_timeseries = |name: &AspectName| Registry::get().is_timeseries(*name);
        let (series, names): (Vec<AspectName>, Vec<AspectName>) =
            names.into_iter().partition(is_timeseries);
        self.load(names.iter().map(|name| AspectKey::new(urn, *name)))
            .await?;
        let mut result = self.written_by(urn, &names, item.entity, run).await?;
        let children = self.children(urn).await?;
        if result.created {
            result.foreign += self.foreign_points(urn, &series, run).await?;
            result.foreign += children;
            result.deleted = (hard || result.foreign == 0) && children == 0;
        }
        if !result.deleted {
            // The key aspect alone makes the entity exist, and the properties of a domain hold its
            // children.
            result.aspects.retain(|row| {
                row.key.aspect != item.entity.key_aspect
                    && (children == 0 || row.key.aspect != AspectName::DOMAIN_PROPERTIES)
            });
        }
        if dry_run {
            if result.deleted {
                self.would_delete.insert(urn.clone());
            }
        } else if result.deleted {
            if !self.delete_entity(urn, true).await? {
                return Ok(());
            }
        } else {
            for row in &result.aspects {
                self.revert(&item.proposal, row.key.aspect, run).await?;
            }
        }
        if result.created || !result.aspects.is_empty() {
            self.applied.rolled_back.push(result);
        }
        Ok(())
    }

    /// The aspects of an entity that the run wrote, and how many others wrote if the run created
    /// the entity.
    async fn written_by(
        &mut self,
        urn: &Urn,
        names: &[AspectName],
        entity: &EntitySpec,
        run: &str,
    ) -> Result<EntityRollback, Error> {
        let mut result = EntityRollback {
            urn: urn.clone(),
            aspects: Vec::new(),
            created: false,
            deleted: false,
            foreign: 0,
        };
        for name in names {
            let Some(row) = self.get(urn, *name).await? else {
                continue;
            };
            let system_metadata = version::system_metadata_of(&row);
            if !version::was_written_by(&system_metadata, run) {
                // The soft-deletion flag is not information that could be lost.
                result.foreign +=
                    u64::from(*name != AspectName::STATUS && *name != entity.key_aspect);
                continue;
            }
            let key = AspectKey::new(urn, *name);
            if *name == entity.key_aspect {
                result.created = true;
            } else if version::logical_version_of(&row) > LogicalVersion::FIRST {
                let history = self.tx.aspect_history(&key).await?;
                result.foreign += u64::from(version::latest_before_run(history, run).is_some());
            }
            result.aspects.push(RunAspect {
                key,
                time_ms: system_metadata.last_observed,
                system_metadata: row.system_metadata.clone().unwrap_or_default(),
            });
        }
        if !result.created {
            result.foreign = 0;
        }
        Ok(result)
    }

    /// How many points of time series are not of the run. They would be deleted with the entity.
    async fn foreign_points(
        &mut self,
        urn: &Urn,
        series: &[AspectName],
        run: &str,
    ) -> Result<u64, Error> {
        let of_run = PointRange {
            run: Some(run.to_owned()),
            ..PointRange::default()
        };
        let mut foreign = 0;
        for aspect in series {
            let key = AspectKey::new(urn, *aspect);
            let points = self.tx.points_count(&key, &PointRange::default()).await?;
            let own = self.tx.points_count(&key, &of_run).await?;
            foreign += points.saturating_sub(own);
        }
        Ok(foreign)
    }

    /// How many children a domain has. Children that the run created are rolled back before it.
    async fn children(&mut self, urn: &Urn) -> Result<u64, Error> {
        if urn.entity_type() != "domain" {
            return Ok(0);
        }
        let parents = std::slice::from_ref(urn);
        let children = self
            .tx
            .placement_children("domain", parents, MAX_CHILDREN)
            .await?;
        let stay = children
            .iter()
            .filter(|child| !self.would_delete.contains(*child));
        Ok(stay.count() as u64)
    }
}
