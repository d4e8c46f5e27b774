//! Removes deleted entities from policies, in the transaction that deletes them.

use docent_model::{AspectName, Urn};
use docent_store::AspectKey;

use super::current::Current;
use super::{Batch, Payload};
use crate::Error;

/// How many policies one call reads: they may be large.
const PAGE: usize = 100;

impl Batch<'_> {
    /// Removes the entities that the list has deleted from all policies.
    pub(super) async fn remove_grants(&mut self) -> Result<(), Error> {
        if self.deleted.is_empty() {
            return Ok(());
        }
        // Behind the deletions: a policy that names one of the entities was stored before, or
        // cannot be stored.
        self.flush().await?;
        let (entity_type, aspect) = ("dataHubPolicy", AspectName::POLICY_INFO);
        let mut after: Option<Urn> = None;
        loop {
            let listed = self
                .tx
                .texts_list(entity_type, aspect, after.as_ref(), PAGE);
            let policies = listed.await?;
            for (urn, text) in &policies {
                if self.deleted.are_in(text) {
                    self.remove_grants_of(urn).await?;
                }
            }
            if policies.len() < PAGE {
                return Ok(());
            }
            after = policies.into_iter().last().map(|(urn, _)| urn);
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
