//! Invariants of domains: a tree of limited depth without dangling references.

use std::sync::Arc;

use docent_model::aspects::{DomainProperties, Domains};
use docent_model::{AspectName, Urn};
use docent_store::AspectKey;
use serde::Deserialize;
use serde_json::Value;

use super::Batch;
use crate::domains::MAX_DEPTH;
use crate::proposal::{Proposal, Requirement};
use crate::{ConflictReason, Error};

/// How many children are examined to name one that the caller sees.
const MAX_EXAMINED: usize = 100;

impl Batch<'_> {
    /// Checks that a domain is not its own ancestor and not too deep, and where its creator
    /// requires it, that its name is unique.
    pub(super) async fn check_domain(
        &mut self,
        proposal: &Proposal,
        stored: Option<&Value>,
        value: &Value,
    ) -> Result<(), Error> {
        let new = DomainProperties::deserialize(value)
            .map_err(|error| Error::invalid_aspect(error.to_string()))?;
        let old = stored.and_then(|value| DomainProperties::deserialize(value).ok());
        let moved = old
            .as_ref()
            .is_none_or(|old| old.parent_domain != new.parent_domain);
        if let Some(parent) = new.parent_domain.as_ref().filter(|_| moved) {
            let above = self.count_above(&proposal.urn, parent).await?;
            self.check_below(&proposal.urn, above).await?;
        }
        let renamed = old.as_ref().is_none_or(|old| old.name != new.name);
        for requirement in &proposal.requirements {
            if let Requirement::UniqueSiblingName { otherwise } = requirement
                && (moved || renamed)
            {
                self.flush().await?;
                let parent = new.parent_domain.as_ref();
                let namesakes = self
                    .tx
                    .placements_named("domain", parent, &new.name)
                    .await?;
                if namesakes.iter().any(|other| *other != proposal.urn) {
                    let message = otherwise(&new.name);
                    return Err(Error::conflict(ConflictReason::AlreadyExists, message));
                }
            }
        }
        Ok(())
    }

    /// Counts the ancestors from `parent` up; `urn` among them would be a cycle.
    async fn count_above(&mut self, urn: &Urn, parent: &Urn) -> Result<usize, Error> {
        let mut next = Some(parent.clone());
        for above in 0..MAX_DEPTH {
            let Some(current) = next else {
                return Ok(above);
            };
            if current == *urn {
                return Err(Error::invalid(
                    "Cannot move a domain under one of its own descendants.".to_owned(),
                ));
            }
            let key = AspectKey::new(&current, AspectName::DOMAIN_PROPERTIES);
            next = match self.known.get(&key) {
                Some(Some(row)) => serde_json::from_str::<DomainProperties>(&row.metadata)
                    .ok()
                    .and_then(|properties| properties.parent_domain),
                Some(None) => None,
                None => self.tx.placement_parent(&current).await?.flatten(),
            };
        }
        Err(too_deep())
    }

    /// Walks down level by level from a domain that gets `above` ancestors: its subtree moves with
    /// it.
    async fn check_below(&mut self, urn: &Urn, above: usize) -> Result<(), Error> {
        self.flush().await?;
        let mut level = vec![urn.clone()];
        for _ in above..MAX_DEPTH {
            level = self
                .tx
                .placement_children("domain", &level, usize::MAX)
                .await?;
            if level.is_empty() {
                return Ok(());
            }
        }
        Err(too_deep())
    }

    pub(super) async fn check_childless(&mut self, domain: &Urn) -> Result<(), Error> {
        let domains = std::slice::from_ref(domain);
        let children = self.tx.placement_children("domain", domains, MAX_EXAMINED);
        let children = children.await?;
        if children.is_empty() {
            return Ok(());
        }
        let what_to_do = match self.first_visible(children).await? {
            Some(child) => format!(", {child} for one: move or delete them first"),
            None => " that you may not see: ask an administrator to move or delete them".to_owned(),
        };
        let message = format!("Cannot delete domain {domain} which has child domains{what_to_do}");
        Err(Error::conflict(ConflictReason::InUse, message).naming(domain))
    }

    /// The first of the entities that the caller may see.
    pub(super) async fn first_visible(&mut self, urns: Vec<Urn>) -> Result<Option<Urn>, Error> {
        let visibility = Arc::clone(&self.visibility);
        for urn in urns {
            let is_visible = match &visibility.view {
                Some(view) => view.grants(self, &urn).await?,
                None => true,
            };
            if is_visible {
                return Ok(Some(urn));
            }
        }
        Ok(None)
    }

    /// Fails for a domain with children, and removes its members from it. Returns whether it has no
    /// members left.
    pub(super) async fn release_domain(&mut self, domain: &Urn) -> Result<bool, Error> {
        self.check_childless(domain).await?;
        let edit = |member: &Urn| {
            let domain = domain.clone();
            Proposal::edit_present::<Domains, _>(
                member.clone(),
                AspectName::DOMAINS,
                move |current, _| Ok(crate::domains::without(current, &domain)),
            )
        };
        self.release(domain, AspectName::DOMAINS, edit).await
    }
}

fn too_deep() -> Error {
    Error::invalid(format!(
        "domains can be nested {MAX_DEPTH} deep at most: choose a parent nearer to the root"
    ))
}
