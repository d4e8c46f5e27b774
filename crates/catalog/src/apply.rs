//! The write path.
//!
//! [`Catalog::apply`] first checks each proposal on its own ([`prepare`]) and whether the caller
//! may do it ([`authorization`]), outside any transaction. Then one transaction reads the aspects
//! that the list touches in one call, applies the list in order ([`batch`]), and hands the writes
//! to the store: at the end, or earlier where an item needs a query that only the store can answer.
//! An error rolls everything back.

mod authorization;
mod batch;
mod json;
mod prepare;
mod propose;

use std::sync::Arc;

use docent_model::Urn;
use docent_model::aspects::AuditStamp;
use docent_store::transact;

use crate::access::is_grantable;
use crate::access::scope;
use crate::proposal::{Change, Proposal, Requirement};
use crate::runs::EntityRollback;
use crate::view::is_managed_type;
use crate::{Caller, Catalog, Error, ErrorKind};
use authorization::{Authorization, Visibility};
use batch::Batch;
pub(crate) use batch::account_status::may_change as may_change_account_status;
use prepare::Prepared;
pub(crate) use prepare::about_proposal;

/// A list is one transaction, and other writers wait for it.
pub(crate) const MAX_PROPOSALS: usize = 10_000;
/// The limit for lists that may take several transactions: [`Batch::is_resumable`].
const MAX_TRANSACTIONS: usize = 10_000;

/// The result of a list of proposals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Rows of deleted entities and aspects, history included.
    pub deleted_rows: u64,
    /// Points of deleted time series.
    pub deleted_timeseries_rows: u64,
    /// The entities that [`crate::Change::RollbackRun`] changed.
    pub rolled_back: Vec<EntityRollback>,
    /// One transaction was not enough. What it did is committed.
    unfinished: bool,
}

impl Applied {
    fn add(&mut self, part: Self) {
        self.deleted_rows += part.deleted_rows;
        self.deleted_timeseries_rows += part.deleted_timeseries_rows;
        self.rolled_back.extend(part.rolled_back);
    }
}

impl Catalog {
    /// Applies proposals for a use case that has decided itself whether the caller may.
    pub(crate) async fn apply_authorized(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let proposals = proposals.into_iter().map(Proposal::authorized).collect();
        self.apply(caller, proposals).await
    }

    /// Applies all proposals in order, or none of them, whatever they write, if the caller may;
    /// clients go through [`Catalog::ingest`]. When it returns, the changes are durable and visible
    /// to every read.
    ///
    /// Only the deletion of an entity with thousands of references takes several transactions: they
    /// remove the references in chunks, and the last one deletes the entity. After a failure
    /// half-way, the same call continues.
    pub(crate) async fn apply(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let applied = self.apply_all(caller, proposals).await;
        self.audited(caller, applied).await
    }

    async fn apply_all(&self, caller: &Caller, proposals: Vec<Proposal>) -> Result<Applied, Error> {
        scope::check_writer(caller)?;
        if proposals.is_empty() {
            return Ok(Applied::default());
        }
        if proposals.len() > MAX_PROPOSALS {
            return Err(Error::invalid(format!(
                "a list may have at most {MAX_PROPOSALS} changes, and this one has {}: send it in parts",
                proposals.len()
            )));
        }
        let prepared: Arc<[Prepared]> = proposals
            .into_iter()
            .map(Prepared::check)
            .collect::<Result<_, _>>()?;
        match self.apply_prepared(caller, &prepared).await {
            Err(denial) if denial.kind() == ErrorKind::Forbidden => {
                self.propose(caller, prepared, denial).await
            }
            applied => applied,
        }
    }

    async fn apply_prepared(
        &self,
        caller: &Caller,
        prepared: &Arc<[Prepared]>,
    ) -> Result<Applied, Error> {
        let authorization = match self.rights(caller).await? {
            Some(rights) => {
                let visibility = self.visibility_of(prepared).await?;
                let actor = caller.actor();
                Some(Authorization::prepare(actor, rights, prepared, visibility)?)
            }
            None => None,
        };
        let authorization = authorization.map(Arc::new);
        let mut deleted = deleted_entities(prepared);
        let is_dry_run = prepared.iter().any(|item| {
            let change = &item.proposal.change;
            matches!(change, Change::RollbackRun { dry_run: true, .. })
        });
        let stamp = AuditStamp::new(caller.actor(), self.now_ms());
        let mut applied = Applied::default();
        for _ in 0..MAX_TRANSACTIONS {
            let (prepared, stamp) = (Arc::clone(prepared), stamp.clone());
            let authorization = authorization.clone();
            let policies = authorization.as_ref().map(|it| it.policies.as_slice());
            let event = self.audit_event(caller, stamp.time, policies.unwrap_or_default());
            let part: Applied = transact(self.store(), move |tx| {
                let prepared = Arc::clone(&prepared);
                let authorization = authorization.clone();
                let (stamp, event) = (stamp.clone(), event.clone());
                Box::pin(async move {
                    Batch::run(tx, &prepared, authorization.as_deref(), stamp, event).await
                })
            })
            .await?;
            let unfinished = part.unfinished;
            applied.add(part);
            if !unfinished {
                if !is_dry_run {
                    deleted.extend(rolled_back_entities(&applied));
                }
                self.remove_grants_to(caller, &deleted).await?;
                return Ok(applied);
            }
        }
        Err(Error::unavailable(format!(
            "not finished after {MAX_TRANSACTIONS} transactions; they are committed, and repeating the request continues"
        )))
    }

    /// What view policies hide of a list from the caller of this catalog. Entities that only those
    /// who manage them see are not hidden: clients without that privilege report their ingestion.
    async fn visibility_of(&self, prepared: &[Prepared]) -> Result<Arc<Visibility>, Error> {
        let named = named_entities(prepared).filter(|urn| !is_managed_type(urn.entity_type()));
        Ok(Arc::new(Visibility {
            hidden: self.hidden_among(named).await?,
            view: self.view.clone(),
        }))
    }
}

/// The entities that the list changes or requires to exist.
fn named_entities(prepared: &[Prepared]) -> impl Iterator<Item = &Urn> + Send {
    let changed = prepared.iter().map(|item| &item.proposal.urn);
    let requirements = prepared.iter().flat_map(|item| &item.proposal.requirements);
    changed.chain(requirements.filter_map(Requirement::entity))
}

/// The entities that a rollback deleted and that policies may refer to.
fn rolled_back_entities(applied: &Applied) -> impl Iterator<Item = Urn> {
    let deleted = applied.rolled_back.iter().filter(|it| it.deleted);
    deleted.map(|it| it.urn.clone()).filter(is_grantable)
}

/// The entities that the list deletes and that policies may refer to.
fn deleted_entities(prepared: &[Prepared]) -> Vec<Urn> {
    let is_deletion = |item: &&Prepared| match &item.proposal.change {
        Change::DeleteEntity => true,
        Change::DeleteAspect { aspect } => *aspect == item.entity.key_aspect,
        _ => false,
    };
    let deleted = prepared.iter().filter(is_deletion);
    deleted
        .map(|item| item.proposal.urn.clone())
        .filter(is_grantable)
        .collect()
}

#[cfg(test)]
mod tests {
    use docent_model::{AspectName, FixedClock, Urn};
    use docent_store::{AspectKey, ReadRequest};
    use docent_test_store::TestStore;
    use serde_json::{Value, json};

    use super::json::conversions;
    use super::*;

    /// The aspect with the most steps: a hook compares it with what is stored, and edges are
    /// derived from it.
    #[tokio::test]
    async fn an_edit_parses_the_stored_text_once_and_writes_the_new_text_once() {
        let test_store = TestStore::open().await.unwrap();
        let catalog = Catalog::new(test_store.store(), Arc::new(FixedClock::at(1)));
        let (caller, aspect) = (Caller::system(), AspectName::DOMAINS);
        let urn = Urn::parse("urn:li:container:parsed-once").unwrap();
        let stored = r#"{"domains":["urn:li:domain:first"],"domainAssociations":[{"domain":"urn:li:domain:first"}]}"#;
        let write = Proposal::upsert(urn.clone(), aspect, stored.to_owned());
        catalog.apply(&caller, vec![write]).await.unwrap();
        let before = conversions::of(stored);
        let edit = Proposal::edit(urn.clone(), aspect, |current: Option<Value>, _| {
            assert!(current.is_some());
            Ok(json!({"domains": ["urn:li:domain:second"]}))
        });
        catalog.apply(&caller, vec![edit]).await.unwrap();
        assert_eq!(conversions::of(stored) - before, 1);
        let key = AspectKey::new(&urn, aspect);
        let row = catalog
            .read(ReadRequest::row(&key))
            .await
            .unwrap()
            .into_row();
        let text = row.as_ref().unwrap().metadata.as_str();
        assert!(text.contains("domainAssociations"), "{text}");
        assert_eq!(conversions::of(text), 1);
    }
}
