//! References to an entity, and their removal.

use docent_model::{Registry, Urn};
use docent_store::RelatedEntity;

use crate::access::{demand, parent_aspect};
use crate::people::USER_MANAGERS;
use crate::{Caller, Catalog, Change, Error, Proposal};

/// How many references one transaction removes.
const CHUNK: usize = 1000;
/// How many references the summary lists.
const MAX_LISTED: usize = 100;

/// References to an entity.
#[derive(Debug)]
pub struct References {
    pub total: usize,
    /// The first of them.
    pub listed: Vec<RelatedEntity>,
}

impl Catalog {
    /// Removes the references to an entity from all aspects, or only counts them. References in the
    /// URNs of other entities stay.
    ///
    /// The right to delete the entity suffices, with two exceptions. Its children in a hierarchy
    /// are at the root without their parent, so they need the right to move them there. Where
    /// rights depend on the reference, such as that of the owner of a group, the caller needs the
    /// right to change it. What the caller may not do as a whole is not done in part. After another
    /// failure half-way, the same call continues.
    pub async fn delete_references(
        &self,
        caller: &Caller,
        urn: &Urn,
        dry_run: bool,
    ) -> Result<References, Error> {
        Registry::get().check_urn(urn)?;
        let found = self.references(urn, 0, MAX_LISTED).await?;
        if dry_run {
            return Ok(found);
        }
        let privileges = if self.is_account(urn).await? {
            USER_MANAGERS.to_vec()
        } else {
            demand::of_change(urn, &Change::DeleteEntity)
        };
        self.authorize(caller, &privileges, Some(urn)).await?;
        self.rehearse_own(caller, urn, found.total).await?;
        // Skips references that stay.
        let mut left = 0;
        loop {
            let chunk = self.references(urn, left, CHUNK).await?;
            if chunk.listed.is_empty() {
                break;
            }
            let before = chunk.total;
            let read = chunk.listed.len();
            let others = chunk.listed.into_iter().filter(|it| !is_part_of_urn(it));
            let (own, others): (Vec<_>, Vec<_>) = others.partition(needs_own_right);
            let removals = |all: Vec<RelatedEntity>| {
                let all = all.into_iter();
                all.map(|related| removal(related, urn)).collect()
            };
            self.apply(caller, removals(own)).await?;
            let removals = removals(others);
            self.apply_with_right_on(caller, &privileges, [urn.clone()], removals)
                .await?;
            let now = self.references(urn, 0, 0).await?.total;
            left += read.saturating_sub(before.saturating_sub(now));
        }
        Ok(found)
    }

    /// Fails if the caller may not remove one of the references that need a right of their own. The
    /// first chunk decides for itself: those come before everything else.
    async fn rehearse_own(
        &self,
        caller: &Caller,
        target: &Urn,
        references: usize,
    ) -> Result<(), Error> {
        if references <= CHUNK {
            return Ok(());
        }
        let mut start = 0;
        loop {
            let chunk = self.references(target, start, CHUNK).await?.listed;
            if chunk.is_empty() {
                return Ok(());
            }
            start += chunk.len();
            let own = chunk.into_iter().filter(needs_own_right);
            let removals = own.map(|related| removal(related, target)).collect();
            self.rehearse(caller, removals).await?;
        }
    }

    async fn references(&self, urn: &Urn, start: usize, limit: usize) -> Result<References, Error> {
        let mut pages = self
            .public_edges(std::slice::from_ref(urn), false, &[], start, limit)
            .await?;
        let page = pages.pop();
        Ok(page.map_or(
            References {
                total: 0,
                listed: Vec::new(),
            },
            |page| References {
                total: page.total,
                listed: page.items,
            },
        ))
    }
}

fn removal(related: RelatedEntity, target: &Urn) -> Proposal {
    let (aspect, target) = (related.aspect, target.clone());
    Proposal::new(related.urn, Change::RemoveReferences { aspect, target })
}

/// Whether the reference is that of a child to its parent, or rights depend on it.
fn needs_own_right(related: &RelatedEntity) -> bool {
    let entity_type = related.urn.entity_type();
    parent_aspect(entity_type) == Some(related.aspect)
        || demand::is_managed(entity_type, Some(related.aspect))
}

fn is_part_of_urn(related: &RelatedEntity) -> bool {
    Registry::get().is_key_aspect(&related.urn, related.aspect)
}
