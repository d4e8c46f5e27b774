//! Removes deleted entities from policies and revokes tokens for them, in the transaction that
//! deletes them.

use docent_model::aspects::AccessTokenInfo;
use docent_model::{AspectName, Urn};
use docent_store::AspectKey;

use super::current::Current;
use super::{Batch, Payload};
use crate::access::DeletedGrantees;
use crate::{Error, tokens};

/// How many policies or tokens one call reads: they may be large.
const PAGE: usize = 100;

impl Batch<'_> {
    /// Removes the entities that the list has deleted from all policies, and revokes the tokens for
    /// domains among them.
    pub(super) async fn remove_grants(&mut self) -> Result<(), Error> {
        if self.deleted.is_empty() {
            return Ok(());
        }
        // Behind the deletions: a policy or token that names one of the entities was stored before,
        // or cannot be stored.
        self.flush().await?;
        let policies = self
            .granting("dataHubPolicy", AspectName::POLICY_INFO, |deleted, text| {
                deleted.are_in(text)
            })
            .await?;
        for policy in &policies {
            self.remove_grants_of(policy).await?;
        }
        if !self.deleted.has_domains() {
            return Ok(());
        }
        let aspect = AspectName::ACCESS_TOKEN_INFO;
        let tokens = self.granting(tokens::ENTITY, aspect, is_for_deleted_domain);
        let tokens = tokens.await?;
        self.delete_access(&tokens).await
    }

    /// The entities of a type whose aspect refers to a deleted entity.
    async fn granting(
        &mut self,
        entity_type: &str,
        aspect: AspectName,
        refers: impl Fn(&DeletedGrantees, &str) -> bool + Send,
    ) -> Result<Vec<Urn>, Error> {
        let mut granting = Vec::new();
        let mut after: Option<Urn> = None;
        loop {
            let listed = self
                .tx
                .texts_list(entity_type, aspect, after.as_ref(), PAGE);
            let listed = listed.await?;
            let is_last = listed.len() < PAGE;
            for (urn, text) in listed {
                if refers(&self.deleted, &text) {
                    granting.push(urn.clone());
                }
                after = Some(urn);
            }
            if is_last {
                return Ok(granting);
            }
        }
    }

    async fn remove_grants_of(&mut self, policy: &Urn) -> Result<(), Error> {
        let key = AspectKey::new(policy, AspectName::POLICY_INFO);
        // Together with the key aspect, so that no other writer changes it meanwhile.
        let keys = [Some(key.clone()), AspectKey::of_entity(policy)];
        self.load(keys.into_iter().flatten()).await?;
        let current = Current::new(self.get(policy, key.aspect).await?);
        self.budget.parse(current.row())?;
        // A policy that cannot be read grants nothing.
        let Some(mut value) = current.readable().cloned() else {
            return Ok(());
        };
        if !self.deleted.remove_from(&mut value) {
            return Ok(());
        }
        self.write(&key, &Payload::of(value), None, &current).await
    }
}

/// Whether the scope of a token is a deleted domain.
fn is_for_deleted_domain(deleted: &DeletedGrantees, token: &str) -> bool {
    let info: Option<AccessTokenInfo> = serde_json::from_str(token).ok();
    let domain = info.and_then(|info| info.scope?.domain);
    domain.is_some_and(|domain| deleted.contains(&domain))
}
