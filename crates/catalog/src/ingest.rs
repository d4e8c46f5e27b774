//! Direct writes of clients.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use docent_store::version;

use crate::access::use_case_of;
use crate::apply::{about_proposal, may_change_account_status};
use crate::conditions::free_keys;
use crate::people::USER_MANAGERS;
use crate::proposal::Requirement;
use crate::{Applied, AppliedItems, Caller, Catalog, Error, Proposal, invitations, tokens};

impl Catalog {
    /// Applies proposals that came from outside, all or none. Rejects aspects that only our own use
    /// cases write, and changes of an account's status by callers that do not manage users.
    pub async fn ingest(
        &self,
        caller: &Caller,
        mut proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let accounts = self.account_guard(caller, &mut proposals).await?;
        for proposal in &mut proposals {
            if let Err(error) = accounts.check(caller, proposal) {
                return self.audited(caller, Err(error)).await;
            }
        }
        free_keys(&mut proposals);
        self.apply(caller, proposals).await
    }

    /// Like [`Catalog::ingest`], but rejects only the proposals that fail.
    pub async fn ingest_each(
        &self,
        caller: &Caller,
        mut proposals: Vec<Proposal>,
    ) -> Result<AppliedItems, Error> {
        let accounts = self.account_guard(caller, &mut proposals).await?;
        let mut accepted = Vec::with_capacity(proposals.len());
        let mut rejected = Vec::new();
        for mut proposal in proposals {
            match accounts.check(caller, &mut proposal) {
                Ok(()) => accepted.push(proposal),
                Err(error) => {
                    let denied = self.audited::<Applied>(caller, Err(error)).await;
                    rejected.extend(denied.err());
                }
            }
        }
        free_keys(&mut accepted);
        let mut items = self.apply_each(caller, accepted).await?;
        items.rejected.append(&mut rejected);
        items.rejected.sort_by_key(|it| it.subject().position);
        Ok(items)
    }

    /// Numbers and traces the proposals of a list, and reads what [`AccountGuard::check`] needs.
    async fn account_guard(
        &self,
        caller: &Caller,
        proposals: &mut [Proposal],
    ) -> Result<AccountGuard, Error> {
        let many = proposals.len() > 1;
        for (at, proposal) in proposals.iter_mut().enumerate() {
            proposal.position = proposal.position.or(many.then_some(at));
            if let (Some(metadata), Some(trace)) = (&mut proposal.system_metadata, caller.trace()) {
                version::set_trace(metadata, trace);
            }
        }
        let manages_users = self.is_allowed(caller, USER_MANAGERS, None).await?;
        let granted = if manages_users {
            HashSet::new()
        } else {
            let changes = proposals.iter().filter(|it| may_change_account_status(it));
            let users: Vec<Urn> = changes.map(|it| it.urn.clone()).collect();
            self.granted_by_others(&users).await?
        };
        Ok(AccountGuard {
            manages_users,
            granted,
        })
    }

    /// The reason why clients cannot write an aspect of an entity, if there is one. Only our own
    /// use cases write passwords and tokens: a client that could write a token's entity could forge
    /// a token.
    pub fn reserved(urn: &Urn, aspect: Option<AspectName>) -> Option<String> {
        if aspect == Some(AspectName::CORP_USER_CREDENTIALS) {
            return Some(format!(
                "the {} of {urn} cannot be written directly: people set their own, with a sign-in, an invite link or a reset link",
                AspectName::CORP_USER_CREDENTIALS
            ));
        }
        if urn.entity_type() == invitations::ENTITY {
            return Some(format!(
                "{urn} cannot be written directly: use createInviteToken instead"
            ));
        }
        if urn.entity_type() == "corpuser" && aspect == Some(AspectName::SUB_TYPES) {
            return Some(format!(
                "the {} of {urn} cannot be written directly: use createServiceAccount instead",
                AspectName::SUB_TYPES
            ));
        }
        if urn.entity_type() == tokens::ENTITY {
            return Some(format!(
                "{urn} cannot be written directly: create or revoke an access token instead"
            ));
        }
        let (registry, entity_type) = (Registry::get(), urn.entity_type());
        let is_internal =
            registry.entity(entity_type).is_none() && registry.stored_entity(entity_type).is_some();
        is_internal.then(|| format!("{urn} cannot be written directly"))
    }
}

/// Whether a client's proposals may change the status of accounts.
struct AccountGuard {
    manages_users: bool,
    /// Users who have rights through others.
    granted: HashSet<Urn>,
}

impl AccountGuard {
    /// Rejects a proposal for a reserved aspect, and forbids one to change an account's status
    /// where the caller may not.
    fn check(&self, caller: &Caller, proposal: &mut Proposal) -> Result<(), Error> {
        check_not_reserved(caller, proposal).map_err(|error| about_proposal(error, proposal))?;
        if !self.manages_users && may_change_account_status(proposal) {
            let has_grants = self.granted.contains(&proposal.urn);
            let unchanged = Requirement::AccountStatusUnchanged { has_grants };
            proposal.requirements.push(unchanged);
        }
        Ok(())
    }
}

fn check_not_reserved(caller: &Caller, proposal: &Proposal) -> Result<(), Error> {
    let (urn, aspect) = (&proposal.urn, proposal.change.aspect());
    let use_case = use_case_of(urn, aspect).filter(|_| !caller.is_system());
    let reason = Catalog::reserved(urn, aspect).or_else(|| {
        let aspect = aspect.map(|aspect| format!("the {aspect} of "));
        let aspect = aspect.unwrap_or_default();
        use_case.map(|it| format!("{aspect}{urn} cannot be written directly: use {it} instead"))
    });
    match reason {
        Some(reason) => Err(Error::forbidden(reason).naming(urn)),
        None => Ok(()),
    }
}
