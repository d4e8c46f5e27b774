//! Aspects that clients write directly.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};

use crate::apply::{MAX_PROPOSALS, about_proposal};
use crate::conditions::free_keys;
use crate::proposal::{Change, Requirement};
use crate::{Applied, Caller, Catalog, Error, Proposal, tokens};

const USER: &str = "corpuser";

impl Catalog {
    /// Carries out proposals that came from outside, all or none. What is ours alone to write is refused, and so is a
    /// change of who may act unless the administrator asks for it. With a user go the user's tokens: they must not
    /// work again when somebody else gets the name.
    pub async fn ingest(
        &self,
        caller: &Caller,
        mut proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let many = proposals.len() > 1;
        for (at, proposal) in proposals.iter_mut().enumerate() {
            proposal.position = proposal.position.or(many.then_some(at));
            check_ours(proposal).map_err(|error| about_proposal(error, proposal))?;
        }
        if !Self::is_administrator(caller) {
            self.guard_standing(&mut proposals).await?;
        }
        free_keys(&mut proposals);
        let mut leaving: Vec<Urn> = proposals.iter().filter_map(leaving_user).collect();
        let is_rollback = proposals.iter().any(takes_back);
        let mut removals = self.token_removals(&leaving).await?;
        let room = MAX_PROPOSALS.saturating_sub(proposals.len());
        proposals.extend(removals.drain(..room.min(removals.len())));
        let applied = self.apply(caller, proposals).await?;
        // Who goes with a run is known only now.
        if is_rollback {
            let taken_back = applied.taken_back.iter();
            let gone = taken_back.filter(|it| it.gone && it.urn.entity_type() == USER);
            leaving.extend(gone.map(|it| it.urn.clone()));
        }
        // Those for which there was no room, and those that were made between the look and the change.
        removals = self.token_removals(&leaving).await?;
        while !removals.is_empty() {
            let rest = removals.split_off(MAX_PROPOSALS.min(removals.len()));
            self.apply(caller, std::mem::replace(&mut removals, rest))
                .await?;
        }
        Ok(applied)
    }

    /// Lets no proposal change whether somebody may act.
    async fn guard_standing(&self, proposals: &mut [Proposal]) -> Result<(), Error> {
        let mut guarded: Vec<&mut Proposal> = proposals
            .iter_mut()
            .filter(|proposal| may_change_standing(proposal))
            .collect();
        let users: Vec<Urn> = guarded.iter().map(|it| it.urn.clone()).collect();
        let tokens = self.tokens_of(&users).await?;
        let holders: HashSet<Urn> = tokens.into_iter().map(|token| token.user).collect();
        for proposal in &mut guarded {
            let has_tokens = holders.contains(&proposal.urn);
            let same = Requirement::SameStanding { has_tokens };
            proposal.requirements.push(same);
        }
        Ok(())
    }

    /// Why an aspect of an entity cannot come from outside, if it cannot. Passwords and tokens are written by our own use
    /// cases only: whoever could write a token's entity could make a token up.
    pub fn reserved(urn: &Urn, aspect: Option<AspectName>) -> Option<String> {
        if aspect == Some(AspectName::CORP_USER_CREDENTIALS) {
            return Some(format!(
                "the {} of {urn} cannot be written directly: 'docent user add' and 'docent user passwd' set a password",
                AspectName::CORP_USER_CREDENTIALS
            ));
        }
        (urn.entity_type() == tokens::ENTITY).then(|| {
            format!(
                "{urn} cannot be written directly: access tokens are made and revoked by 'docent token', or by \
                 createAccessToken and revokeAccessToken over GraphQL"
            )
        })
    }
}

fn check_ours(proposal: &Proposal) -> Result<(), Error> {
    match Catalog::reserved(&proposal.urn, proposal.change.aspect()) {
        Some(reason) => Err(Error::forbidden(reason).naming(&proposal.urn)),
        None => Ok(()),
    }
}

fn may_change_standing(proposal: &Proposal) -> bool {
    let says_who_may_act =
        |aspect| [AspectName::STATUS, AspectName::CORP_USER_STATUS].contains(&aspect);
    proposal.urn.entity_type() == USER
        && (proposal.change.aspect().is_some_and(says_who_may_act)
            || leaving_user(proposal).is_some()
            || takes_back(proposal)
            || matches!(proposal.change, Change::Clear))
}

/// Whether a proposal takes back what a run wrote, and not only says what would be done.
fn takes_back(proposal: &Proposal) -> bool {
    matches!(proposal.change, Change::TakeBack { dry_run: false, .. })
}

/// The user whom a proposal deletes.
fn leaving_user(proposal: &Proposal) -> Option<Urn> {
    let urn = &proposal.urn;
    let leaves = match &proposal.change {
        Change::DeleteEntity => urn.entity_type() == USER,
        Change::DeleteAspect { aspect } => {
            urn.entity_type() == USER && Registry::get().is_key_aspect(urn, *aspect)
        }
        _ => false,
    };
    leaves.then(|| urn.clone())
}
