//! One step along the lineage of many entities.

use docent_model::{LineageDirection, Registry, Urn};
use docent_store::{ListPage, RelatedEntity};

use super::{ENTITIES_AT_ONCE, MAX_NEIGHBOURS, TimeWindow, columns};
use crate::{Catalog, Error};

/// The neighbors of one entity, each once, by URN.
#[derive(Debug, Default)]
pub(super) struct Adjacent {
    pub(super) neighbors: Vec<RelatedEntity>,
    /// There are more than the limit.
    pub(super) is_cut: bool,
    /// The columns among them that a job leads to, with the job.
    pub(super) jobs: Vec<(Urn, Urn)>,
}

impl Catalog {
    /// The neighbors of each entity, in the order of the URNs: two store calls per
    /// [`ENTITIES_AT_ONCE`], and some more for columns.
    pub(super) async fn lineage_step(
        &self,
        urns: &[Urn],
        direction: LineageDirection,
        window: Option<TimeWindow>,
    ) -> Result<Vec<Adjacent>, Error> {
        let mut steps = Vec::with_capacity(urns.len());
        for urns in urns.chunks(ENTITIES_AT_ONCE) {
            steps.append(&mut self.entity_step(urns, direction).await?);
        }
        let columns: Vec<(usize, &Urn)> = urns
            .iter()
            .enumerate()
            .filter(|(_, urn)| columns::is_column(urn))
            .collect();
        for columns in columns.chunks(ENTITIES_AT_ONCE) {
            let urns: Vec<Urn> = columns.iter().map(|(_, urn)| (*urn).clone()).collect();
            let found = self.column_step(&urns, direction).await?;
            for ((at, _), found) in columns.iter().zip(found) {
                steps[*at].neighbors.extend(found.neighbors);
                steps[*at].jobs.extend(found.jobs);
            }
        }
        if let Some(window) = window {
            self.retain_in_window(urns, &mut steps, window).await?;
        }
        for (urn, step) in urns.iter().zip(&mut steps) {
            // An entity that flows into itself is not its own neighbor.
            step.neighbors.retain(|related| related.urn != *urn);
            once_each(&mut step.neighbors);
        }
        Ok(steps)
    }

    /// Like [`Catalog::lineage_step`] for few entities, without the lineage of columns.
    pub(super) async fn entity_step(
        &self,
        urns: &[Urn],
        direction: LineageDirection,
    ) -> Result<Vec<Adjacent>, Error> {
        let registry = Registry::get();
        let store = self.store();
        let names = registry.lineage_relationships(direction);
        let outgoing = store
            .edges_list(urns, true, names, &[], 0, MAX_NEIGHBOURS)
            .await?;
        let names = registry.lineage_relationships(direction.opposite());
        let incoming = store
            .edges_list(urns, false, names, &[], 0, MAX_NEIGHBOURS)
            .await?;
        let is_cut = |page: &ListPage<RelatedEntity>| page.total > MAX_NEIGHBOURS;
        Ok(urns
            .iter()
            .zip(outgoing.into_iter().zip(incoming))
            .map(|(urn, (mut here, mut there))| {
                let is_cut = is_cut(&here) || is_cut(&there);
                let leads = |edge: &RelatedEntity, end: &Urn| {
                    registry.lineage(edge.aspect, &edge.relationship, end.entity_type())
                };
                here.items
                    .retain(|edge| leads(edge, &edge.urn) == Some(direction));
                there
                    .items
                    .retain(|edge| leads(edge, urn) == Some(direction.opposite()));
                here.items.append(&mut there.items);
                Adjacent {
                    neighbors: here.items,
                    is_cut,
                    jobs: Vec::new(),
                }
            })
            .collect())
    }
}

/// Sorts by URN and keeps the first relationship of each.
pub(super) fn once_each(list: &mut Vec<RelatedEntity>) {
    list.sort_by(|one, other| {
        (&one.urn, &one.relationship).cmp(&(&other.urn, &other.relationship))
    });
    list.dedup_by(|later, earlier| later.urn == earlier.urn);
}
