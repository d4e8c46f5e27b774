//! Who refers to an entity, and taking those references out.

use docent_model::{Registry, Urn};
use docent_store::RelatedEntity;

use crate::{Caller, Catalog, Change, Error, Proposal};

/// How many references are looked at in one go; a piece of the work is one transaction.
const PIECE: usize = 1000;
/// How many of them the summary names.
const MAX_NAMED: usize = 100;

/// References to an entity.
#[derive(Debug)]
pub struct References {
    pub total: usize,
    /// The first of them.
    pub named: Vec<RelatedEntity>,
}

impl Catalog {
    /// Takes an entity out of all aspects that refer to it, unless it is only asked how many there are. The URN of an
    /// entity cannot change, so what it says stays.
    pub async fn delete_references(
        &self,
        caller: &Caller,
        urn: &Urn,
        dry_run: bool,
    ) -> Result<References, Error> {
        Registry::get().check_urn(urn)?;
        let found = self.references(urn, 0, MAX_NAMED).await?;
        if dry_run {
            return Ok(found);
        }
        // Those that stay are passed over.
        let mut left = 0;
        loop {
            let piece = self.references(urn, left, PIECE).await?;
            if piece.named.is_empty() {
                break;
            }
            let before = piece.total;
            let looked_at = piece.named.len();
            let others = piece.named.into_iter().filter(|it| !is_part_of_the_urn(it));
            let proposals = others.map(|related| {
                let (aspect, target) = (related.aspect, urn.clone());
                Proposal::new(related.urn, Change::TakeOut { aspect, target })
            });
            self.ingest(caller, proposals.collect()).await?;
            let now = self.references(urn, 0, 0).await?.total;
            left += looked_at.saturating_sub(before.saturating_sub(now));
        }
        Ok(found)
    }

    async fn references(&self, urn: &Urn, start: usize, limit: usize) -> Result<References, Error> {
        let mut pages = self
            .store()
            .edges_list(std::slice::from_ref(urn), false, &[], start, limit)
            .await?;
        let page = pages.pop();
        Ok(page.map_or(
            References {
                total: 0,
                named: Vec::new(),
            },
            |page| References {
                total: page.total,
                named: page.items,
            },
        ))
    }
}

fn is_part_of_the_urn(related: &RelatedEntity) -> bool {
    Registry::get().is_key_aspect(&related.urn, related.aspect)
}
