//! Preconditions that a client sets on a write. Their format on the wire is a matter of the APIs.
//!
//! `apply/batch/conditions.rs` checks them inside the transaction.

use std::collections::HashSet;

use docent_model::{EpochMillis, Registry, Urn};
use docent_store::LogicalVersion;

use crate::proposal::{Change, MISSING_VERSION, Proposal, Requirement};

/// The preconditions of a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    /// The expected logical version; [`MISSING_VERSION`] for an aspect that must not exist.
    pub version: Option<i64>,
    pub modified_since: Option<EpochMillis>,
    pub unmodified_since: Option<EpochMillis>,
    /// The aspect must not exist.
    pub none_match: bool,
}

impl Conditions {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds the requirements to a proposal.
    pub fn apply_to(&self, mut proposal: Proposal) -> Proposal {
        if let Some(version) = self.version {
            proposal = proposal.requires(Requirement::Version {
                expected: (version != MISSING_VERSION).then(|| LogicalVersion::new(version)),
            });
        }
        if let Some(time_ms) = self.modified_since {
            proposal = proposal.requires(Requirement::ModifiedSince { time_ms });
        }
        if let Some(time_ms) = self.unmodified_since {
            proposal = proposal.requires(Requirement::UnmodifiedSince { time_ms });
        }
        if self.none_match {
            match proposal.change {
                Change::Create { .. } | Change::CreateEntity { .. } => {
                    proposal.skip_existing = true;
                }
                _ => proposal = proposal.requires(Requirement::Version { expected: None }),
            }
        }
        proposal
    }
}

/// Removes preconditions from key aspects that are written together with other aspects of their
/// entity. A key exists as soon as any other aspect does, so the preconditions are about those.
pub(crate) fn free_keys(proposals: &mut [Proposal]) {
    let is_key = |proposal: &Proposal| match &proposal.change {
        Change::Upsert { aspect, .. }
        | Change::Create { aspect, .. }
        | Change::CreateEntity { aspect, .. } => {
            Registry::get().is_key_aspect(&proposal.urn, *aspect)
        }
        _ => false,
    };
    let is_bound = |proposal: &Proposal| {
        let mut requirements = proposal.requirements.iter();
        requirements.any(Requirement::is_condition) && is_key(proposal)
    };
    if !proposals.iter().any(is_bound) {
        return;
    }
    let others = proposals.iter().filter(|proposal| !is_key(proposal));
    let others: HashSet<Urn> = others.map(|proposal| proposal.urn.clone()).collect();
    for proposal in proposals {
        if is_bound(proposal) && others.contains(&proposal.urn) {
            let own = |requirement: &Requirement| !requirement.is_condition();
            proposal.requirements.retain(own);
        }
    }
}
