//! Changes by somebody who has no say in who may act.

use docent_model::{AspectName, Urn};

use super::{Batch, Prepared};
use crate::Error;
use crate::lifecycle::is_removed;
use crate::people::{ADMINISTRATOR, is_suspended};

/// What keeps a user out, each by itself: who is both removed and suspended stays out when one of them is lifted.
#[derive(PartialEq, Eq)]
struct Marks {
    exists: bool,
    removed: bool,
    suspended: bool,
}

impl Batch<'_> {
    /// Carries out a change that leaves it as it is whether a user may act. Users whom nobody signs in as, and who have
    /// no tokens, come and go as ingestion finds them.
    pub(super) async fn change_but_standing(
        &mut self,
        item: &Prepared,
        has_tokens: bool,
    ) -> Result<(), Error> {
        let urn = &item.proposal.urn;
        let before = self.marks(item).await?;
        let is_let_in = has_tokens
            || urn.key() == ADMINISTRATOR
            || self.has(urn, AspectName::CORP_USER_CREDENTIALS).await?;
        self.change(item).await?;
        let after = self.marks(item).await?;
        let is_kept = before.suspended == after.suspended
            && (before == after || !before.exists || !is_let_in);
        if is_kept {
            return Ok(());
        }
        let message = format!(
            "only {ADMINISTRATOR} suspends, removes or brings back {urn}, or an operator with 'docent user suspend' and \
             'docent user resume'"
        );
        Err(Error::forbidden(message).naming(urn))
    }

    async fn marks(&mut self, item: &Prepared) -> Result<Marks, Error> {
        let urn = &item.proposal.urn;
        Ok(Marks {
            exists: self.exists(urn, item.entity).await?,
            removed: is_removed(&self.get(urn, AspectName::STATUS).await?),
            suspended: is_suspended(&self.get(urn, AspectName::CORP_USER_STATUS).await?),
        })
    }

    async fn has(&mut self, urn: &Urn, aspect: AspectName) -> Result<bool, Error> {
        Ok(self.get(urn, aspect).await?.is_some())
    }
}
