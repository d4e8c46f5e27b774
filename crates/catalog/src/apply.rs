//! The write path.
//!
//! [`Catalog::apply`] first checks each proposal on its own ([`prepare`]) and whether the caller
//! may do it ([`authorization`]), outside any transaction. Then one transaction reads the aspects
//! that the list touches in one call, applies the list in order ([`batch`]), and hands the writes
//! to the store: at the end, or earlier where an item needs a query that only the store can answer.
//! An error rolls everything back. Changes of long values are computed outside ([`ahead`]). Lists
//! whose items are independent are applied in parts ([`each`]).

mod ahead;
mod authorization;
mod batch;
mod each;
mod json;
mod list;
mod prepare;
mod propose;

use std::sync::Arc;

use docent_model::Urn;
use docent_model::aspects::AuditStamp;
use docent_store::transact;

use crate::access::scope::check_writer;
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::privilege::{CREATE_ENTITY, EDIT_ENTITY, Privilege};
use crate::proposal::{Privileges, Proposal, Requirement};
use crate::request_demands::Demands;
use crate::runs::EntityRollback;
use crate::view::is_managed_type;
use crate::{Caller, Catalog, Error, ErrorKind, Warning, consequences};
use ahead::Ahead;
use authorization::{Authorization, Visibility};
use batch::Batch;
pub(crate) use batch::account_status::may_change as may_change_account_status;
pub use each::AppliedItems;
use list::PreparedList;
use prepare::Prepared;
pub(crate) use prepare::about_proposal;

/// A list is one transaction, and other writers wait for it.
pub const MAX_PROPOSALS: usize = 10_000;
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
    /// What the client should know about changes that were applied.
    pub warnings: Vec<Warning>,
    /// One transaction was not enough. What it did is committed.
    unfinished: bool,
}

impl Applied {
    fn add(&mut self, part: Self) {
        self.deleted_rows += part.deleted_rows;
        self.deleted_timeseries_rows += part.deleted_timeseries_rows;
        self.rolled_back.extend(part.rolled_back);
        self.warnings.extend(part.warnings);
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

    /// Applies proposals for a use case whose right is one on other entities. The use case has
    /// checked it; the transaction decides, because those may have moved, or have other owners.
    pub(crate) async fn apply_with_right_on(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        entities: impl IntoIterator<Item = Urn>,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let authorized = proposals.into_iter().map(Proposal::authorized);
        let mut proposals: Vec<Proposal> = authorized.collect();
        if let Some(first) = proposals.first_mut() {
            let demands = Demands::on(entities, privileges);
            first.privileges = Privileges::OfOthers(Arc::new(demands));
        }
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
        let causes = consequences::causes(&proposals);
        let applied = self.apply_all(caller, proposals).await;
        let applied = self.audited(caller, applied).await?;
        self.follow_up(caller, &causes).await?;
        Ok(applied)
    }

    /// Fails like [`Catalog::apply`] would, and stores nothing: for changes in several lists, of
    /// which a caller who may not apply all applies none.
    pub(crate) async fn rehearse(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<(), Error> {
        let rehearsed = self.rehearse_all(caller, proposals).await;
        self.audited(caller, rehearsed).await
    }

    async fn rehearse_all(&self, caller: &Caller, proposals: Vec<Proposal>) -> Result<(), Error> {
        let prepared = prepare_all(caller, proposals).await?;
        self.rehearse_prepared(caller, &prepared).await
    }

    async fn rehearse_prepared(
        &self,
        caller: &Caller,
        prepared: &PreparedList,
    ) -> Result<(), Error> {
        let Some(authorization) = self.authorization_of(caller, prepared).await? else {
            return Ok(());
        };
        let prepared = prepared.clone();
        let stamp = AuditStamp::new(caller.actor(), self.now_ms());
        transact(self.store(), move |tx| {
            let (prepared, stamp) = (prepared.clone(), stamp.clone());
            let authorization = Arc::clone(&authorization);
            Box::pin(async move { Batch::rehearse(tx, &prepared, &authorization, stamp).await })
        })
        .await
    }

    pub(crate) async fn apply_all(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        let prepared = prepare_all(caller, proposals).await?;
        self.apply_list(caller, prepared).await
    }

    async fn apply_list(&self, caller: &Caller, prepared: PreparedList) -> Result<Applied, Error> {
        if prepared.is_empty() {
            return Ok(Applied::default());
        }
        let warnings = prepared.iter().filter_map(|item| item.warning.clone());
        let warnings: Vec<Warning> = warnings.collect();
        let mut applied = if caller.only_proposes() {
            self.propose_instead(caller, prepared).await?
        } else {
            match self.apply_prepared(caller, &prepared).await {
                Err(denial) if denial.kind() == ErrorKind::Forbidden => {
                    self.propose(caller, prepared, denial).await?
                }
                applied => applied?,
            }
        };
        applied.warnings.extend(warnings);
        Ok(applied)
    }

    /// What is left to decide in the transaction; `None` if the caller may do everything.
    async fn authorization_of(
        &self,
        caller: &Caller,
        prepared: &[Prepared],
    ) -> Result<Option<Arc<Authorization>>, Error> {
        let Some(rights) = self.rights(caller).await? else {
            return Ok(None);
        };
        let may_create = rights.everywhere(&[CREATE_ENTITY, EDIT_ENTITY]).is_some();
        let visibility = self.visibility_of(prepared, !may_create).await?;
        let actor = caller.actor();
        let authorization = Authorization::prepare(actor, rights, prepared, visibility)?;
        Ok(Some(Arc::new(authorization)))
    }

    async fn apply_prepared(
        &self,
        caller: &Caller,
        prepared: &PreparedList,
    ) -> Result<Applied, Error> {
        let mut stamp = AuditStamp::new(caller.actor(), self.now_ms());
        let mut ahead = Arc::new(Ahead::on_request());
        let mut turn = None;
        let mut applied = Applied::default();
        for _ in 0..MAX_TRANSACTIONS {
            // Policies may have changed while the list waited for its turn, or between two of its
            // transactions.
            let authorization = self.authorization_of(caller, prepared).await?;
            let policies = authorization.as_ref().map(|it| it.policies.as_slice());
            let event = self.audit_event(caller, stamp.time, policies.unwrap_or_default());
            let part: Result<Applied, Error> = transact(self.store(), {
                let (prepared, stamp) = (prepared.clone(), stamp.clone());
                let ahead = Arc::clone(&ahead);
                move |tx| {
                    let (prepared, ahead) = (prepared.clone(), Arc::clone(&ahead));
                    let authorization = authorization.clone();
                    let (stamp, event) = (stamp.clone(), event.clone());
                    Box::pin(async move {
                        let authorization = authorization.as_deref();
                        Batch::run(tx, &prepared, authorization, stamp, event, ahead).await
                    })
                }
            })
            .await;
            let requested = ahead.requested();
            if !requested.is_empty() {
                turn = Some(ahead::take_turn().await?);
                stamp = AuditStamp::new(caller.actor(), self.now_ms());
                ahead = Arc::new(self.compute_ahead(prepared, requested, &stamp).await?);
                continue;
            }
            let part = part?;
            let unfinished = part.unfinished;
            applied.add(part);
            if !unfinished {
                drop(turn);
                return Ok(applied);
            }
        }
        Err(Error::unavailable(format!(
            "not finished after {MAX_TRANSACTIONS} transactions; they are committed, and repeating the request continues"
        )))
    }

    /// What view policies hide of a list from the caller of this catalog. Entities that only those
    /// who manage them see are not hidden: clients without that privilege report their ingestion.
    async fn visibility_of(
        &self,
        prepared: &[Prepared],
        is_creation_limited: bool,
    ) -> Result<Arc<Visibility>, Error> {
        let named = named_entities(prepared).filter(|urn| !is_managed_type(urn.entity_type()));
        Ok(Arc::new(Visibility {
            hidden: self.hidden_among(named).await?,
            view: self.view.clone(),
            is_creation_limited,
        }))
    }
}

/// Checks each proposal on its own.
async fn prepare_all(caller: &Caller, proposals: Vec<Proposal>) -> Result<PreparedList, Error> {
    check_writer(caller)?;
    check_length(&proposals)?;
    let bytes: usize = proposals.iter().map(Proposal::text_bytes).sum();
    let check = || {
        let prepared = proposals.into_iter().map(Prepared::check);
        prepared
            .collect::<Result<_, Error>>()
            .map(PreparedList::new)
    };
    long_work::run(bytes > LONG_TEXT_BYTES, check).await
}

fn check_length(proposals: &[Proposal]) -> Result<(), Error> {
    if proposals.len() > MAX_PROPOSALS {
        return Err(Error::invalid(format!(
            "a list may have at most {MAX_PROPOSALS} changes, and this one has {}: send it in parts",
            proposals.len()
        )));
    }
    Ok(())
}

/// The entities that the list changes or requires to exist.
fn named_entities(prepared: &[Prepared]) -> impl Iterator<Item = &Urn> + Send {
    let changed = prepared.iter().map(|item| &item.proposal.urn);
    let requirements = prepared.iter().flat_map(|item| &item.proposal.requirements);
    changed.chain(requirements.flat_map(Requirement::entities))
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

    /// What the use case has checked before may be different now.
    #[tokio::test]
    async fn rights_on_other_entities_are_decided_in_the_transaction() {
        let test_store = TestStore::open().await.unwrap();
        let catalog = Catalog::new(test_store.store(), Arc::new(FixedClock::at(1)));
        let dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)";
        let dataset = Urn::parse(dataset).unwrap();
        let ada = Caller::new(Urn::parse("urn:li:corpuser:ada").unwrap());
        let assertion = Urn::parse("urn:li:assertion:a").unwrap();
        let stored = async || {
            let text = r#"{"removed":false}"#.to_owned();
            let write = Proposal::upsert(assertion.clone(), AspectName::STATUS, text);
            let privileges = [crate::privilege::EDIT_ENTITY_ASSERTIONS];
            let (assets, writes) = ([dataset.clone()], vec![write]);
            let applied = catalog.apply_with_right_on(&ada, &privileges, assets, writes);
            applied.await.map_err(|error| error.kind())
        };
        catalog.enforce_policies(None);
        assert_eq!(stored().await.unwrap_err(), ErrorKind::Forbidden);
        let key = AspectKey::new(&assertion, AspectName::STATUS);
        let row = catalog.read(ReadRequest::row(&key)).await.unwrap();
        assert!(row.into_row().is_none());
        let policy = json!({
            "displayName": "assertions", "description": "", "type": "METADATA", "state": "ACTIVE",
            "privileges": ["EDIT_ENTITY_ASSERTIONS"], "editable": true,
            "actors": {"users": [ada.actor()], "resourceOwners": false, "allUsers": false, "allGroups": false},
        });
        let urn = Urn::parse("urn:li:dataHubPolicy:p").unwrap();
        let policy = Proposal::upsert(urn, AspectName::POLICY_INFO, policy.to_string());
        catalog
            .apply(&Caller::system(), vec![policy])
            .await
            .unwrap();
        stored().await.unwrap();
        let row = catalog.read(ReadRequest::row(&key)).await.unwrap();
        assert!(row.into_row().is_some());
    }
}
