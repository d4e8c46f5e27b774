//! Data lineage.
//!
//! [`Catalog::lineage`] returns the neighbors of entities, [`Catalog::lineage_walk`] everything
//! reachable from one. Both follow the edges that the registry marks as lineage, whichever end
//! stores them: a job stores that it produces a table, which makes the job upstream of the table.
//! Columns are followed through the column lineage of tables and jobs ([`columns`]).
//!
//! Missing and soft-deleted entities are traversed, because data flows through them all the same,
//! but left out of the result unless requested. So are entities that the caller may not see; where
//! they are shown, another URN stands for them ([`crate::view`]).
//!
//! To add a lineage relationship, annotate it in the registry.

mod columns;
mod edit;
mod existence;
mod facts;
mod queries;
mod step;
mod walk;

use std::collections::HashSet;

use docent_model::{LineageDirection, Urn};
use docent_store::RelatedEntity;

use crate::view::stand_in;
use crate::{Catalog, Error};

pub use edit::LineageEdge;
pub use facts::{EdgeFacts, TimeWindow};
pub use queries::Queries;
pub use walk::{IgnoredHops, Reached, Walk, WalkLimits, platform_of};

/// The most entities that one walk finds.
pub const MAX_ENTITIES: usize = 10_000;
/// The most steps of one walk.
pub const MAX_HOPS: usize = 20;
/// The most neighbors of one entity that are read: a walk cannot return more.
const MAX_NEIGHBOURS: usize = MAX_ENTITIES;
/// The batch size, so that at most some hundred thousand edges are in memory.
const ENTITIES_AT_ONCE: usize = 50;
/// Siblings are the few tables that represent one table to users.
const MAX_SIBLINGS: usize = 100;

/// Which neighbors to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighborQuery {
    pub direction: LineageDirection,
    /// Leaves out the neighbors of the entity's siblings, which otherwise count as its own.
    pub separate_siblings: bool,
    /// Includes missing and soft-deleted neighbors.
    pub include_ghosts: bool,
    /// Leaves out edges that did not exist in this period.
    pub window: Option<TimeWindow>,
    /// Reads what is known about each edge.
    pub with_facts: bool,
    pub start: usize,
    pub count: usize,
}

/// A page of the neighbors of one entity, by URN.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neighbors {
    pub total: usize,
    /// How many were left out as missing or soft-deleted.
    pub filtered: usize,
    pub items: Vec<Neighbor>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Neighbor {
    pub urn: Urn,
    /// The relationship of the edge, such as `DownstreamOf`; of several the first by name.
    pub relationship: String,
    /// Nothing unless requested, and of hidden neighbors.
    pub facts: EdgeFacts,
}

impl Catalog {
    /// The neighbors of each entity, one step upstream or downstream. Totals are exact up to ten
    /// thousand.
    pub async fn lineage(
        &self,
        urns: &[Urn],
        query: NeighborQuery,
    ) -> Result<Vec<Neighbors>, Error> {
        let mut pages = Vec::with_capacity(urns.len());
        for urns in urns.chunks(ENTITIES_AT_ONCE) {
            pages.append(&mut self.lineage_of_some(urns, query).await?);
        }
        Ok(pages)
    }

    async fn lineage_of_some(
        &self,
        urns: &[Urn],
        query: NeighborQuery,
    ) -> Result<Vec<Neighbors>, Error> {
        let groups = if query.separate_siblings {
            urns.iter().map(|urn| vec![urn.clone()]).collect()
        } else {
            self.with_siblings(urns).await?
        };
        let mut members: Vec<Urn> = groups.iter().flatten().cloned().collect();
        members.sort_unstable();
        members.dedup();
        let adjacent = self
            .lineage_step(&members, query.direction, query.window)
            .await?;
        let lists: Vec<Vec<RelatedEntity>> = groups
            .iter()
            .map(|group| {
                let mut list: Vec<RelatedEntity> = group
                    .iter()
                    .filter_map(|member| members.binary_search(member).ok())
                    .flat_map(|at| adjacent[at].neighbors.iter().cloned())
                    .filter(|related| !group.contains(&related.urn))
                    .collect();
                step::once_each(&mut list);
                list
            })
            .collect();
        let neighbors = lists.iter().flatten().map(|related| &related.urn);
        let hidden = self.hidden_among(neighbors.clone().chain(urns)).await?;
        let existence = self.existence_of(neighbors).await?;
        // Whether a hidden one exists must not be told either.
        let is_shown =
            |urn: &Urn| query.include_ghosts || hidden.contains(urn) || existence.is_live(urn);
        let mut pages = Vec::with_capacity(urns.len());
        let mut edges = Vec::new();
        for ((urn, group), list) in urns.iter().zip(&groups).zip(lists) {
            let mut page = Neighbors::default();
            if !hidden.contains(urn) {
                let all = list.len();
                let shown = list.into_iter().filter(|it| is_shown(&it.urn));
                let mut shown: Vec<(Urn, RelatedEntity)> = shown
                    .map(|related| Ok((shown_as(related.urn.clone(), &hidden)?, related)))
                    .collect::<Result<_, Error>>()?;
                shown.sort_by(|(one, _), (other, _)| one.cmp(other));
                page.total = shown.len();
                page.filtered = all - shown.len();
                for (urn, related) in shown.into_iter().skip(query.start).take(query.count) {
                    page.items.push(Neighbor {
                        urn,
                        relationship: related.relationship.clone(),
                        facts: EdgeFacts::default(),
                    });
                    if query.with_facts && !hidden.contains(&related.urn) {
                        let at = (pages.len(), page.items.len() - 1);
                        edges.push((at, group.as_slice(), related));
                    }
                }
            }
            pages.push(page);
        }
        self.add_facts(&mut pages, &edges).await?;
        Ok(pages)
    }

    /// Adds what is known about edges, each given by the index of its page and the one in the page,
    /// the entity with its siblings, and the neighbor.
    async fn add_facts(
        &self,
        pages: &mut [Neighbors],
        edges: &[((usize, usize), &[Urn], RelatedEntity)],
    ) -> Result<(), Error> {
        let pairs: Vec<(&Urn, &RelatedEntity)> = edges
            .iter()
            .flat_map(|(_, group, related)| group.iter().map(move |member| (member, related)))
            .collect();
        let mut facts = self.edge_facts(&pairs).await?.into_iter();
        for ((page, item), group, _) in edges {
            // Usually there is one member; of several, the first with such an edge counts.
            let known: Vec<EdgeFacts> = facts.by_ref().take(group.len()).collect();
            let known = known.into_iter().find(|it| *it != EdgeFacts::default());
            pages[*page].items[*item].facts = known.unwrap_or_default();
        }
        Ok(())
    }

    /// Each entity, followed by its siblings.
    async fn with_siblings(&self, urns: &[Urn]) -> Result<Vec<Vec<Urn>>, Error> {
        let pages = self
            .reader()
            .edges_list(urns, true, &["SiblingOf"], 0, MAX_SIBLINGS)
            .await?;
        Ok(urns
            .iter()
            .zip(pages)
            .map(|(urn, page)| {
                let siblings = page.items.into_iter().map(|related| related.urn);
                std::iter::once(urn.clone()).chain(siblings).collect()
            })
            .collect())
    }
}

/// The URN of an entity, or the one that stands for it if it is hidden.
fn shown_as(urn: Urn, hidden: &HashSet<Urn>) -> Result<Urn, Error> {
    if hidden.contains(&urn) {
        stand_in(&urn)
    } else {
        Ok(urn)
    }
}
