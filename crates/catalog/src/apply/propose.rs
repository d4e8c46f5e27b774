//! Turns a list into a proposal: one that was denied, if the caller may propose changes, and every
//! list of a caller that only proposes.
//!
//! The list runs as usual, with all its checks, but nothing of it is stored. What it would have
//! changed is stored as an action request, which somebody who may make the change accepts.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest, transact};

use super::Applied;
use super::authorization::{self, Visibility};
use super::batch::Batch;
use super::list::PreparedList;
use super::prepare::{Prepared, about_proposal};
use crate::access::{Grant, denied};
use crate::action_requests::{self, MAX_CHANGES, ProposedChange, is_proposable_type};
use crate::privilege::{PROPOSE_CHANGES, Privilege};
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Caller, Catalog, Error, ErrorKind};

impl Catalog {
    /// Proposes a list that was denied. Returns the denial if the caller may not propose either.
    pub(super) async fn propose(
        &self,
        caller: &Caller,
        prepared: PreparedList,
        denial: Error,
    ) -> Result<Applied, Error> {
        if check_proposable(&prepared).is_err() {
            return Err(denial);
        }
        for item in prepared.iter() {
            let urn = &item.proposal.urn;
            if let Grant::Missing(scope) = self.grant(caller, &[PROPOSE_CHANGES], Some(urn)).await?
            {
                // The user could propose it: the privilege that the scope lacks is this one.
                return Err(scope.map_or(denial, |scope| {
                    let error = denied(caller.actor(), Some(&scope), &[PROPOSE_CHANGES], Some(urn));
                    about_proposal(error, &item.proposal)
                }));
            }
        }
        let visibility = self.visibility_of(&prepared, true).await?;
        if self.changes_stored(&prepared, &visibility.hidden).await? {
            return Err(denial);
        }
        self.store_proposed(caller, prepared, visibility).await
    }

    /// Proposes a list of a caller that only proposes, who needs the right to make the changes or
    /// to propose them.
    pub(super) async fn propose_instead(
        &self,
        caller: &Caller,
        prepared: PreparedList,
    ) -> Result<Applied, Error> {
        check_proposable(&prepared)?;
        match self.rehearse_prepared(caller, &prepared).await {
            Ok(()) => {}
            Err(denial) if denial.kind() == ErrorKind::Forbidden => {
                return self.propose(caller, prepared, denial).await;
            }
            Err(error) => return Err(error),
        }
        let visibility = self.visibility_of(&prepared, true).await?;
        self.store_proposed(caller, prepared, visibility).await
    }

    /// Stores what the list would change as an action request, unless it would change nothing.
    async fn store_proposed(
        &self,
        caller: &Caller,
        prepared: PreparedList,
        visibility: Arc<Visibility>,
    ) -> Result<Applied, Error> {
        let request = self.new_action_request()?;
        let stamp = AuditStamp::new(caller.actor(), self.now_ms());
        let stored = request.clone();
        let event = self.audit_event(caller, stamp.time, &[]);
        let is_change = transact(self.store(), move |tx| {
            let (prepared, stamp) = (prepared.clone(), stamp.clone());
            let (request, event) = (stored.clone(), event.clone());
            let visibility = Arc::clone(&visibility);
            Box::pin(async move {
                // The limits hold for all proposals together, so they are made one by one.
                tx.lock(action_requests::ENTITY).await?;
                let changes = Batch::dry_run(tx, &prepared, &visibility, &stamp).await?;
                if changes.is_empty() {
                    return Ok(false);
                }
                action_requests::check_limits(tx, &stamp.actor).await?;
                let proposals = action_requests::new_request(&request, &stamp, changes)?;
                let items: Vec<Prepared> = proposals
                    .into_iter()
                    .map(Prepared::check)
                    .collect::<Result<_, Error>>()?;
                Batch::run(tx, &items, None, stamp, event, Arc::default()).await?;
                Ok::<_, Error>(true)
            })
        })
        .await?;
        if is_change {
            caller.add_proposal(request);
        }
        Ok(Applied::default())
    }

    /// Whether the list would change hidden entities that exist: the proposal would contain what is
    /// stored. Changes that require their entity to exist fail by themselves.
    async fn changes_stored(
        &self,
        prepared: &[Prepared],
        hidden: &HashSet<Urn>,
    ) -> Result<bool, Error> {
        let changed = prepared.iter().filter(|item| {
            let urn = &item.proposal.urn;
            hidden.contains(urn) && !item.proposal.requires_entity(urn)
        });
        let keys: Vec<AspectKey> = changed
            .map(|item| AspectKey::new(&item.proposal.urn, item.entity.key_aspect))
            .collect();
        if keys.is_empty() {
            return Ok(false);
        }
        let reply = self.store().read(ReadRequest::exists(&keys)).await?;
        Ok(reply.exists.contains(&true))
    }
}

/// Fails if a list cannot be proposed, whoever asks.
fn check_proposable(prepared: &[Prepared]) -> Result<(), Error> {
    if prepared.len() > MAX_CHANGES {
        return Err(Error::invalid(format!(
            "a proposal may have at most {MAX_CHANGES} changes, and this one has {}",
            prepared.len()
        )));
    }
    match prepared.iter().find(|item| !is_proposable(item)) {
        None => Ok(()),
        Some(item) => Err(Error::invalid(format!(
            "this change of {} cannot be proposed: only descriptions, labels, owners, domains and other aspects of \
             assets can",
            item.proposal.urn
        ))),
    }
}

/// Whether the change is one of an aspect that people describe entities with.
fn is_proposable(item: &Prepared) -> bool {
    let Proposal { urn, change, .. } = &item.proposal;
    let is_kind = matches!(
        change,
        Change::Upsert { .. }
            | Change::Create { .. }
            | Change::CreateEntity { .. }
            | Change::Patch { .. }
            | Change::Edit { .. }
            | Change::DeleteAspect { .. }
    );
    let is_aspect = |aspect: AspectName| {
        let is_deleted_key =
            matches!(change, Change::DeleteAspect { .. }) && aspect == item.entity.key_aspect;
        !Registry::get().is_timeseries(aspect) && !Catalog::is_secret(aspect) && !is_deleted_key
    };
    is_kind && is_proposable_type(urn.entity_type()) && change.aspect().is_some_and(is_aspect)
}

impl Batch<'_> {
    /// What the list would change, aspect by aspect. Stores nothing.
    async fn dry_run(
        tx: &mut dyn docent_store::Transaction,
        prepared: &[Prepared],
        visibility: &Arc<Visibility>,
        stamp: &AuditStamp,
    ) -> Result<Vec<ProposedChange>, Error> {
        let mut keys: Vec<(AspectKey, &Prepared, Vec<Privilege>)> = Vec::new();
        for item in prepared {
            let Some(aspect) = item.proposal.change.aspect() else {
                continue;
            };
            let key = AspectKey::new(&item.proposal.urn, aspect);
            let needed = authorization::privileges_if_new(&item.proposal);
            match keys.iter_mut().find(|(known, ..)| *known == key) {
                // They are accepted as one, so only a privilege that allows them all suffices.
                Some((.., privileges)) => privileges.retain(|it| needed.contains(it)),
                None => keys.push((key, item, needed)),
            }
        }
        let mut batch = Batch::new(tx, prepared, stamp.clone());
        batch.discard_writes();
        batch.hide(visibility);
        batch.sign_links();
        let before = batch.values(keys.iter().map(|(key, ..)| key)).await?;
        let mut is_new = Vec::with_capacity(keys.len());
        for (key, item, _) in &keys {
            is_new.push(!batch.exists(&key.urn, item.entity).await?);
        }
        batch.items(prepared, None).await?;
        let after = batch.values(keys.iter().map(|(key, ..)| key)).await?;
        let mut changes = Vec::new();
        for (((key, item, privileges), is_new), (before, after)) in keys
            .into_iter()
            .zip(is_new)
            .zip(before.into_iter().zip(after))
        {
            if before == after || (key.aspect == item.entity.key_aspect && !is_new) {
                continue;
            }
            let requirements: Vec<&Requirement> = requirements_of(prepared, &key).collect();
            let requires = requirements.iter().flat_map(|it| it.entities());
            let is_unique = |it: &&Requirement| matches!(it, Requirement::UniqueSiblingName { .. });
            changes.push(ProposedChange {
                requires: requires.cloned().collect(),
                unique_name: requirements.iter().any(is_unique),
                urn: key.urn,
                aspect: key.aspect.to_string(),
                privileges: privileges.iter().map(|it| it.name().to_owned()).collect(),
                is_new,
                before,
                after,
            });
        }
        Ok(changes)
    }
}

/// What the changes of an aspect require, except that its entity exists.
fn requirements_of<'p>(
    prepared: &'p [Prepared],
    key: &AspectKey,
) -> impl Iterator<Item = &'p Requirement> {
    let is_of_key = |item: &&Prepared| {
        let Proposal { urn, change, .. } = &item.proposal;
        *urn == key.urn && change.aspect() == Some(key.aspect)
    };
    let items = prepared.iter().filter(is_of_key);
    items
        .flat_map(|item| &item.proposal.requirements)
        .filter(|it| !it.entities().contains(&key.urn))
}

#[cfg(test)]
mod tests {
    use docent_model::FixedClock;
    use docent_test_store::TestStore;
    use serde_json::{Value, json};

    use super::*;
    use crate::action_requests::{ActionRequestFilter, Verdict};
    use crate::privilege::{EDIT_DATASET_COL_DESCRIPTION, EDIT_DATASET_COL_TAGS, EDIT_ENTITY};

    fn urn(text: &str) -> Urn {
        Urn::parse(text).unwrap()
    }

    fn policy(id: &str, user: &Urn, privilege: Privilege) -> Proposal {
        let value = json!({
            "displayName": id, "description": "", "type": "METADATA", "state": "ACTIVE",
            "privileges": [privilege.name()], "actors": {"users": [user]},
        });
        let urn = urn(&format!("urn:li:dataHubPolicy:{id}"));
        Proposal::upsert(urn, AspectName::POLICY_INFO, value.to_string())
    }

    #[tokio::test]
    async fn several_changes_of_one_aspect_need_one_privilege_that_allows_all() {
        let test_store = TestStore::open().await.unwrap();
        let catalog = Catalog::new(
            test_store.store(),
            Arc::new(FixedClock::at(1_700_000_000_000)),
        );
        catalog.enforce_policies(None);
        let dataset = urn("urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)");
        let aspect = AspectName::EDITABLE_SCHEMA_METADATA;
        let [proposer, describer, editor] =
            ["paula", "dora", "eddie"].map(|name| urn(&format!("urn:li:corpuser:{name}")));
        let status = Proposal::upsert(
            dataset.clone(),
            AspectName::STATUS,
            json!({"removed": false}).to_string(),
        );
        let setup = vec![
            status,
            policy("propose", &proposer, PROPOSE_CHANGES),
            policy("describe", &describer, EDIT_DATASET_COL_DESCRIPTION),
            policy("edit", &editor, EDIT_ENTITY),
        ];
        catalog.apply(&Caller::system(), setup).await.unwrap();
        let column = |path: &'static str| {
            Proposal::edit_if(dataset.clone(), aspect, move |current: Option<Value>, _| {
                let mut value = current.unwrap_or_else(|| json!({"editableSchemaFieldInfo": []}));
                let column = json!({"fieldPath": path, "description": "d"});
                let columns = value["editableSchemaFieldInfo"].as_array_mut();
                columns.unwrap().push(column);
                Ok(Some(value))
            })
        };
        let list = vec![
            column("a").also_allowed_by(&[EDIT_DATASET_COL_DESCRIPTION]),
            column("b").also_allowed_by(&[EDIT_DATASET_COL_TAGS]),
        ];
        let caller = Caller::new(proposer);
        catalog.apply(&caller, list).await.unwrap();
        let all = ActionRequestFilter::default();
        let (requests, _) = catalog
            .list_action_requests(&caller, &all, 0, 10)
            .await
            .unwrap();
        assert_eq!(requests[0].changes[0].privileges, ["EDIT_ENTITY"]);
        let accept = async |user: Urn| {
            let request = std::slice::from_ref(&requests[0].urn);
            let caller = Caller::new(user);
            catalog
                .decide_action_requests(&caller, request, Verdict::Accept, None)
                .await
        };
        let denied = accept(describer).await.unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
        accept(editor).await.unwrap();
    }

    #[tokio::test]
    async fn a_caller_that_only_proposes_needs_the_right_to_change_or_to_propose() {
        let test_store = TestStore::open().await.unwrap();
        let clock = Arc::new(FixedClock::at(1_700_000_000_000));
        let catalog = Catalog::new(test_store.store(), clock);
        catalog.enforce_policies(None);
        let [proposer, editor, reader] =
            ["paula", "eddie", "rita"].map(|name| urn(&format!("urn:li:corpuser:{name}")));
        let tag = urn("urn:li:tag:t");
        let write = |description: &str| {
            let value = json!({"name": "t", "description": description});
            Proposal::upsert(tag.clone(), AspectName::TAG_PROPERTIES, value.to_string())
        };
        let setup = vec![
            write("stored"),
            policy("propose", &proposer, PROPOSE_CHANGES),
            policy("edit", &editor, EDIT_ENTITY),
        ];
        catalog.apply(&Caller::system(), setup).await.unwrap();
        let propose = async |user: &Urn, text: &str| {
            let caller = Caller::new(user.clone()).proposing();
            let applied = catalog.apply(&caller, vec![write(text)]).await;
            applied.map(|_| caller.proposals().len())
        };
        assert_eq!(propose(&proposer, "one").await.unwrap(), 1);
        assert_eq!(propose(&editor, "two").await.unwrap(), 1);
        assert_eq!(propose(&editor, "stored").await.unwrap(), 0);
        let denied = propose(&reader, "three").await.unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
        let key = AspectKey::new(&tag, AspectName::TAG_PROPERTIES);
        let row = catalog.read(ReadRequest::row(&key)).await.unwrap();
        let text = &row.into_row().unwrap().metadata;
        assert!(text.contains("stored"), "{text}");

        let right = policy("more", &editor, EDIT_ENTITY);
        let caller = Caller::system().proposing();
        let error = catalog.apply(&caller, vec![right]).await.unwrap_err();
        assert!(error.message().contains("cannot be proposed"), "{error}");
    }

    #[tokio::test]
    async fn an_accepted_version_becomes_the_latest_of_its_set() {
        let test_store = TestStore::open().await.unwrap();
        let clock = Arc::new(FixedClock::at(1_700_000_000_000));
        let catalog = Catalog::new(test_store.store(), clock);
        catalog.enforce_policies(None);
        let [proposer, editor] =
            ["paula", "eddie"].map(|name| urn(&format!("urn:li:corpuser:{name}")));
        let set = urn("urn:li:versionSet:(s,dataset)");
        let version = |name: &str| {
            let dataset = urn(&format!(
                "urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
            ));
            let value = json!({
                "versionSet": set, "version": {"versionTag": name}, "sortId": name,
                "versioningScheme": "LEXICOGRAPHIC_STRING",
            });
            Proposal::upsert(dataset, AspectName::VERSION_PROPERTIES, value.to_string())
        };
        let setup = vec![
            version("a"),
            Proposal::upsert(version("b").urn, AspectName::STATUS, "{}".to_owned()),
            policy("propose", &proposer, PROPOSE_CHANGES),
            policy("edit", &editor, EDIT_ENTITY),
        ];
        catalog.apply(&Caller::system(), setup).await.unwrap();
        let value = async |urn: &Urn, aspect| {
            let key = AspectKey::new(urn, aspect);
            let read = test_store.store();
            let row = read.read(ReadRequest::row(&key)).await.unwrap().into_row();
            crate::stored::aspect_value::<Value>(&row).unwrap()
        };
        let caller = Caller::new(proposer);
        catalog.ingest(&caller, vec![version("b")]).await.unwrap();
        let latest = value(&set, AspectName::VERSION_SET_PROPERTIES).await;
        assert_eq!(latest["latest"], json!(version("a").urn));

        let all = ActionRequestFilter::default();
        let (requests, _) = catalog
            .list_action_requests(&caller, &all, 0, 10)
            .await
            .unwrap();
        catalog
            .decide_action_requests(
                &Caller::new(editor),
                std::slice::from_ref(&requests[0].urn),
                Verdict::Accept,
                None,
            )
            .await
            .unwrap();
        let latest = value(&set, AspectName::VERSION_SET_PROPERTIES).await;
        assert_eq!(latest["latest"], json!(version("b").urn));
        let before = value(&version("a").urn, AspectName::VERSION_PROPERTIES).await;
        assert_eq!(before["isLatest"], false);
    }
}
