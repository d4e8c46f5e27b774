//! Changes by callers that do not manage users and would alter an account's status.

use docent_model::aspects::SYSTEM_ACTOR;
use docent_model::{AspectName, Urn};

use super::{Batch, Prepared};
use crate::lifecycle::is_removed;
use crate::people::{
    ADMINISTRATOR, MEMBERSHIPS, USER_MANAGERS, has_member, is_protected, is_suspended,
};
use crate::proposal::{Change, Proposal};
use crate::{Error, external_record};

/// Each of the flags alone blocks a user, so each is compared: a user who is both removed and
/// suspended stays blocked when one of them is lifted.
#[derive(PartialEq, Eq)]
struct AccountStatus {
    exists: bool,
    removed: bool,
    suspended: bool,
    /// The texts of [`MEMBERSHIPS`]: a rollback must not restore them.
    memberships: Vec<Option<String>>,
}

impl Batch<'_> {
    /// Applies a change, and fails if it altered the status of an account, or its groups and roles.
    /// Users without those and other rights, without password, sessions and tokens, and whom no
    /// identity provider has signed in, may come and go with ingestion.
    pub(super) async fn change_keeping_status(&mut self, item: &Prepared) -> Result<(), Error> {
        let urn = &item.proposal.urn;
        let before = self.account_status(item).await?;
        let mut is_account = is_protected(urn)
            || item.proposal.account_grants() == Some(true)
            || before.memberships.iter().flatten().any(|it| has_member(it))
            || self.has_credentials(urn).await?;
        // A deletion takes sessions and tokens along, so only before it they can be counted.
        if before.exists && may_delete(&item.proposal.change) {
            is_account = is_account || self.has_access(urn).await?;
        }
        self.change(item).await?;
        let after = self.account_status(item).await?;
        if before == after {
            return Ok(());
        }
        let is_same = before.suspended == after.suspended
            && before.memberships == after.memberships
            && (!before.exists || !(is_account || self.has_access(urn).await?));
        if is_same {
            return Ok(());
        }
        if !item.proposal.keeps_account_status() {
            let message = format!(
                "{urn} cannot be suspended, removed or deleted over the network, because it may do everything: run \
                 'docent user suspend {ADMINISTRATOR}' on the server"
            );
            return Err(Error::forbidden(message).naming(urn));
        }
        let managers: Vec<&str> = USER_MANAGERS.iter().map(|it| it.name()).collect();
        let message = format!(
            "only somebody with one of the privileges {} suspends, removes or restores {urn}, or changes its groups and \
             roles, or an operator at the server",
            managers.join(", ")
        );
        Err(Error::forbidden(message).naming(urn))
    }

    /// Whether a user has a password, or an identity provider signs in the user.
    async fn has_credentials(&mut self, user: &Urn) -> Result<bool, Error> {
        let credentials = self.get(user, AspectName::CORP_USER_CREDENTIALS).await?;
        if credentials.is_some() {
            return Ok(true);
        }
        let record = external_record::key(user)?;
        let record = self.get(&record.urn, record.aspect).await?;
        Ok(external_record::is_of_user(&record))
    }

    /// Ends the sessions of a user who is suspended or removed now: they must not go on if the user
    /// comes back.
    pub(super) async fn end_sessions_of_blocked(&mut self, item: &Prepared) -> Result<(), Error> {
        let status = self.account_status(item).await?;
        if status.exists && (status.removed || status.suspended) {
            self.end_sessions(&item.proposal.urn, 0).await?;
        }
        Ok(())
    }

    async fn account_status(&mut self, item: &Prepared) -> Result<AccountStatus, Error> {
        let urn = &item.proposal.urn;
        if self.deleted_later.contains(urn) {
            // What this transaction removes is not to be committed for somebody who may not delete.
            return Ok(AccountStatus {
                exists: false,
                removed: false,
                suspended: false,
                memberships: vec![None; MEMBERSHIPS.len()],
            });
        }
        let mut memberships = Vec::with_capacity(MEMBERSHIPS.len());
        for aspect in MEMBERSHIPS {
            let row = self.get(urn, aspect).await?;
            memberships.push(row.map(|row| row.metadata.clone()));
        }
        Ok(AccountStatus {
            exists: self.exists(urn, item.entity).await?,
            removed: is_removed(&self.get(urn, AspectName::STATUS).await?),
            suspended: is_suspended(&self.get(urn, AspectName::CORP_USER_STATUS).await?),
            memberships,
        })
    }
}

fn may_delete(change: &Change) -> bool {
    matches!(
        change,
        Change::DeleteEntity
            | Change::DeleteAspect { .. }
            | Change::Clear
            | Change::RollbackRun { .. }
    )
}

/// Whether a change by somebody else than the operator is one of an account that may always do
/// everything.
pub(super) fn is_of_protected(proposal: &Proposal, actor: &str) -> bool {
    is_protected(&proposal.urn) && may_change(proposal) && actor != SYSTEM_ACTOR
}

/// Whether a change may suspend, resume, remove or restore a user.
pub(crate) fn may_change(proposal: &Proposal) -> bool {
    if proposal.urn.entity_type() != "corpuser" {
        return false;
    }
    match &proposal.change {
        Change::Clear | Change::RollbackRun { dry_run: false, .. } => true,
        change if change.deletes_entity(&proposal.urn) => true,
        change => change.aspect().is_some_and(|aspect| {
            [AspectName::STATUS, AspectName::CORP_USER_STATUS].contains(&aspect)
        }),
    }
}
