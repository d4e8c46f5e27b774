//! Taking back what an ingestion run wrote about an entity. All of it is decided here, inside the transaction: whoever
//! wrote to the entity a moment ago is seen.

use docent_model::{AspectName, EntitySpec, Registry, Urn};
use docent_store::{AspectKey, LogicalVersion, PointRange, version};

use super::{Batch, Prepared};
use crate::Error;
use crate::runs::{RunAspect, TakenBack};

/// One child keeps a domain, so it does not matter how many more there are.
const MAX_CHILDREN: usize = 1000;

impl Batch<'_> {
    pub(super) async fn take_back(
        &mut self,
        item: &Prepared,
        run: &str,
        all: bool,
        dry_run: bool,
    ) -> Result<(), Error> {
        if self.budget.is_half_used() {
            self.applied.unfinished = true;
            return Ok(());
        }
        // What is known of others is of no use here, and may be much.
        self.flush().await?;
        self.known.clear();
        self.retired.clear();
        self.budget.forgotten();
        let urn = &item.proposal.urn;
        let names = self.tx.aspect_names(urn).await?;
        let is_timeseries = |name: &AspectName| Registry::get().is_timeseries(*name);
        let (series, names): (Vec<AspectName>, Vec<AspectName>) =
            names.into_iter().partition(is_timeseries);
        self.load(names.iter().map(|name| AspectKey::new(urn, *name)))
            .await?;
        let mut taken = self.written_by(urn, &names, item.entity, run).await?;
        let children = self.children(urn).await?;
        if taken.made {
            taken.foreign += self.foreign_points(urn, &series, run).await?;
            taken.foreign += children;
            taken.gone = (all || taken.foreign == 0) && children == 0;
        }
        if !taken.gone {
            // The key is all that says that the entity is there, and children stand below the properties of a domain.
            taken.aspects.retain(|row| {
                row.key.aspect != item.entity.key_aspect
                    && (children == 0 || row.key.aspect != AspectName::DOMAIN_PROPERTIES)
            });
        }
        if dry_run {
            if taken.gone {
                self.would_go.insert(urn.clone());
            }
        } else if taken.gone {
            if !self.delete_entity(urn, true).await? {
                return Ok(());
            }
        } else {
            for row in &taken.aspects {
                self.revert(&item.proposal, row.key.aspect, run).await?;
            }
        }
        if taken.made || !taken.aspects.is_empty() {
            self.applied.taken_back.push(taken);
        }
        Ok(())
    }

    /// What the run wrote of an entity, and how much others wrote if the run made the entity.
    async fn written_by(
        &mut self,
        urn: &Urn,
        names: &[AspectName],
        entity: &EntitySpec,
        run: &str,
    ) -> Result<TakenBack, Error> {
        let mut taken = TakenBack {
            urn: urn.clone(),
            aspects: Vec::new(),
            made: false,
            gone: false,
            foreign: 0,
        };
        for name in names {
            let Some(row) = self.get(urn, *name).await? else {
                continue;
            };
            let noted = version::system_metadata_of(&row);
            if !version::was_written_by(&noted, run) {
                // Whether an entity is removed is no information about it that could be lost with it.
                taken.foreign +=
                    u64::from(*name != AspectName::STATUS && *name != entity.key_aspect);
                continue;
            }
            let key = AspectKey::new(urn, *name);
            if *name == entity.key_aspect {
                taken.made = true;
            } else if version::logical_version_of(&row) > LogicalVersion::FIRST {
                let history = self.tx.aspect_history(&key).await?;
                taken.foreign += u64::from(version::latest_before_run(history, run).is_some());
            }
            taken.aspects.push(RunAspect {
                key,
                time_ms: noted.last_observed,
                system_metadata: row.system_metadata.clone().unwrap_or_default(),
            });
        }
        if !taken.made {
            taken.foreign = 0;
        }
        Ok(taken)
    }

    /// How many points of time series an entity has that are not of the run. They would go with the entity.
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

    /// How many domains stand below a domain. Those of the run are taken back before it.
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
            .filter(|child| !self.would_go.contains(child));
        Ok(stay.count() as u64)
    }
}
