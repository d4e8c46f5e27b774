//! A list of proposals inside its transaction.
//!
//! Each item sees the changes of the items before it. Aspects come from the batch's own state;
//! queries that only the store can answer (children, members, names, counts) run after
//! [`Batch::flush`].

mod access;
pub(super) mod account_status;
mod assertion_summaries;
mod authorize;
mod budget;
mod columns;
mod conditions;
mod create;
mod current;
mod delete;
mod domains;
mod follow_up;
mod grants;
mod groups;
mod incident_summaries;
mod labels;
mod load;
mod long_values;
mod new_references;
mod places;
mod points;
mod property_values;
mod release;
mod requirements;
mod revert;
mod rollback;
mod siblings;
mod system_properties;
mod trail;
mod versions;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

pub(super) use budget::too_large;
pub(super) use current::Current;

use authorize::Decision;
use budget::Budget;
use columns::KnownColumns;
use docent_model::aspects::AuditStamp;
use docent_model::patch::Patch;
use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn};
use docent_store::version::{self, NewAspect};
use docent_store::{
    AspectKey, AspectWrite, AuditEvent, Effect, LogicalVersion, RowVersion, StoredAspect,
    Transaction,
};

use points::timeseries_row;
use release::is_resumable;
use trail::Trail;

use super::Applied;
use super::ahead::Ahead;
use super::authorization::{Authorization, Visibility};
use super::prepare::{Payload, Prepared, about_proposal};
use crate::access::DeletedGrantees;
use crate::lifecycle_stages::with_stage;
use crate::proposal::{Change, Edit, Proposal};
use crate::{ConflictReason, Error, Warning, hooks, long_work};

pub(super) struct Batch<'t> {
    tx: &'t mut dyn Transaction,
    /// Aspects as the list has left them so far, read from the store on first use.
    known: HashMap<AspectKey, Option<Arc<StoredAspect>>>,
    /// The last versions of aspects that a rollback deleted, earlier or in this list.
    retired: HashMap<AspectKey, LogicalVersion>,
    /// Aspects that the list itself writes; they get no defaults.
    proposed: HashSet<AspectKey>,
    /// Entities that did not exist before the list.
    created: HashSet<Urn>,
    columns: KnownColumns,
    /// The datasets and columns to which the list has given a logical parent, with it.
    logical_parents: BTreeMap<Urn, Urn>,
    /// Other entities that the list needs a right on: logical parents and version sets.
    other_targets: BTreeSet<Urn>,
    /// Version sets whose latest version may be another one after the list.
    unsettled_sets: BTreeSet<Urn>,
    /// What the last used platform says about the names of its datasets.
    delimiter: Option<(Arc<StoredAspect>, Option<String>)>,
    /// Not yet handed to the store.
    writes: Vec<AspectWrite>,
    budget: Budget,
    ahead: Arc<Ahead>,
    /// The index of the current item.
    index: usize,
    is_resumable: bool,
    /// How many references to deleted entities were removed.
    released: usize,
    /// The parents that domains, containers, glossary nodes and terms had before the list.
    places: HashMap<Urn, Option<Urn>>,
    /// Those that did not exist before the list, but that stored entities are inside.
    adopting: HashSet<Urn>,
    /// Deleted entities that policies may name.
    deleted: DeletedGrantees,
    /// Entities that a later transaction of the list deletes.
    deleted_later: HashSet<Urn>,
    /// Entities that a dry run would delete.
    would_delete: HashSet<Urn>,
    stamp: AuditStamp,
    /// The ingestion run of the current item; at the end of the list, that of the last one.
    run: Option<String>,
    /// Whether the caller is the author of the links that the current item writes.
    signs_links: bool,
    trail: Trail,
    applied: Applied,
    /// Whether the writes are only computed.
    discards_writes: bool,
    visibility: Arc<Visibility>,
}

impl<'t> Batch<'t> {
    pub(super) async fn run(
        tx: &'t mut dyn Transaction,
        prepared: &[Prepared],
        authorization: Option<&Authorization>,
        stamp: AuditStamp,
        event: Option<AuditEvent>,
        ahead: Arc<Ahead>,
    ) -> Result<Applied, Error> {
        let mut batch = Self::new(tx, prepared, stamp);
        batch.ahead = ahead;
        batch.items(prepared, authorization).await?;
        batch.remove_grants().await?;
        batch.flush().await?;
        let Self {
            tx, trail, applied, ..
        } = batch;
        if let Some(record) = event.and_then(|event| trail.record(event)) {
            tx.audit(&record).await?;
        }
        Ok(applied)
    }

    /// Fails like [`Batch::run`] would, and stores nothing.
    pub(super) async fn rehearse(
        tx: &'t mut dyn Transaction,
        prepared: &[Prepared],
        authorization: &Authorization,
        stamp: AuditStamp,
    ) -> Result<(), Error> {
        let mut batch = Self::new(tx, prepared, stamp);
        batch.discard_writes();
        batch.items(prepared, Some(authorization)).await
    }

    pub(super) fn new(
        tx: &'t mut dyn Transaction,
        prepared: &[Prepared],
        stamp: AuditStamp,
    ) -> Self {
        Self {
            tx,
            known: HashMap::with_capacity(prepared.len() * 2),
            retired: HashMap::new(),
            proposed: prepared
                .iter()
                .filter_map(|item| {
                    let aspect = item.proposal.change.aspect()?;
                    Some(AspectKey::new(&item.proposal.urn, aspect))
                })
                .collect(),
            created: HashSet::new(),
            columns: KnownColumns::default(),
            logical_parents: BTreeMap::new(),
            other_targets: BTreeSet::new(),
            unsettled_sets: BTreeSet::new(),
            delimiter: None,
            writes: Vec::with_capacity(prepared.len() * 2),
            budget: Budget::default(),
            ahead: Arc::default(),
            index: 0,
            is_resumable: is_resumable(prepared),
            released: 0,
            places: HashMap::new(),
            adopting: HashSet::new(),
            deleted: DeletedGrantees::default(),
            deleted_later: HashSet::new(),
            would_delete: HashSet::new(),
            stamp,
            run: None,
            signs_links: false,
            trail: Trail::default(),
            applied: Applied::default(),
            discards_writes: false,
            visibility: Arc::default(),
        }
    }

    /// For the caller, what is hidden does not exist, unless the list creates it.
    pub(super) fn hide(&mut self, visibility: &Arc<Visibility>) {
        self.visibility = Arc::clone(visibility);
    }

    /// From here on, nothing is stored: the batch alone knows what the list has changed.
    pub(super) fn discard_writes(&mut self) {
        self.discards_writes = true;
    }

    /// Makes the caller the author of all links that the list writes.
    pub(super) fn sign_links(&mut self) {
        self.signs_links = true;
    }

    /// The texts of aspects as the list has left them so far.
    pub(super) async fn values(
        &mut self,
        keys: impl Iterator<Item = &AspectKey>,
    ) -> Result<Vec<Option<String>>, Error> {
        let mut values = Vec::new();
        for key in keys {
            let row = self.get(&key.urn, key.aspect).await?;
            values.push(row.map(|row| row.metadata.clone()));
        }
        Ok(values)
    }

    /// Applies the list in order, if the caller may.
    pub(super) async fn items(
        &mut self,
        prepared: &[Prepared],
        authorization: Option<&Authorization>,
    ) -> Result<(), Error> {
        let decisive = authorization.map(|it| it.keys(prepared));
        self.load_touched(prepared, decisive.into_iter().flatten())
            .await?;
        self.budget.is_long_list = self.is_long_list(prepared);
        if let Some(authorization) = authorization {
            self.hide(&authorization.visibility);
            self.note_adoptions(authorization, prepared).await?;
        }
        let mut deferred = Vec::new();
        let mut denial = None;
        for (index, item) in prepared.iter().enumerate() {
            let about = |error| about_proposal(error, &item.proposal);
            let is_hidden = self.changes_hidden(item).await.map_err(about)?;
            if let Some(authorization) = authorization {
                let check = authorization.checks[index].as_ref();
                if is_hidden {
                    // Left out, like that of a missing entity. If it would create one, the list
                    // fails at its end.
                    if self.would_create(item).map_err(about)? && denial.is_none() {
                        let error = authorization.denied_hidden(&item.proposal.urn, check);
                        denial = Some(about(error));
                    }
                    continue;
                }
                if let Some(check) = check {
                    let decision = self.authorize(authorization, item, check).await;
                    match decision.map_err(about)? {
                        Decision::Allowed => {}
                        Decision::Waits(decision) => deferred.push(decision),
                    }
                }
                self.signs_links = self.signs_links(authorization, item).await?;
            }
            self.index = index;
            self.note_run(&item.proposal);
            self.request_long_changes(prepared, index)?;
            let is_long = self.is_long_item(item);
            let applied = long_work::poll(is_long, self.item(item)).await;
            applied.map_err(about)?;
            if self.budget.is_pause_due() {
                long_work::pause().await;
            }
        }
        self.settle_version_sets().await?;
        if let Some(authorization) = authorization {
            self.authorize_deferred(authorization, deferred).await?;
        }
        self.check_parent_cycles().await?;
        denial.map_or(Ok(()), Err)
    }

    /// Hands the pending writes to the store, so that the transaction's own reads see them.
    async fn flush(&mut self) -> Result<(), Error> {
        if !self.writes.is_empty() {
            if !self.discards_writes {
                let is_long = self.budget.is_pending_long();
                long_work::poll(is_long, self.tx.write(&self.writes)).await?;
            }
            self.writes.clear();
            self.budget.flushed();
        }
        Ok(())
    }

    /// Adds a write to the pending ones, and flushes them if they have become large.
    async fn push(&mut self, write: AspectWrite) -> Result<(), Error> {
        self.trail.push(&write, None);
        self.send(write).await
    }

    /// Adds a deletion of this version, like [`Batch::push`].
    async fn push_deletion(
        &mut self,
        write: AspectWrite,
        version: Option<LogicalVersion>,
    ) -> Result<(), Error> {
        self.trail.push(&write, version);
        self.send(write).await
    }

    async fn send(&mut self, write: AspectWrite) -> Result<(), Error> {
        let is_full = self.budget.produce(&write)?;
        self.writes.push(write);
        if is_full {
            self.flush().await?;
        }
        Ok(())
    }

    async fn item(&mut self, item: &Prepared) -> Result<(), Error> {
        let requirements = &item.proposal.requirements;
        for requirement in requirements {
            self.require(item, requirement).await?;
        }
        if item.proposal.keeps_account_status()
            || account_status::is_of_protected(&item.proposal, self.stamp.actor.as_str())
        {
            self.change_keeping_status(item).await?;
        } else {
            self.change(item).await?;
        }
        if account_status::may_change(&item.proposal) {
            self.end_sessions_of_blocked(item).await?;
        }
        Ok(())
    }

    async fn change(&mut self, item: &Prepared) -> Result<(), Error> {
        let Proposal { urn, change, .. } = &item.proposal;
        match change {
            Change::Upsert { aspect, .. } => self.put(item, *aspect).await,
            Change::Patch { aspect, patch } => self.patch(item, *aspect, patch).await,
            Change::Create { aspect, .. } => {
                if *aspect != item.entity.key_aspect && self.get(urn, *aspect).await?.is_some() {
                    if item.proposal.skip_existing {
                        self.warn(item, "not written, because the aspect already exists");
                        return Ok(());
                    }
                    let message = format!(
                        "Cannot perform CREATE since the aspect already exists. ({urn} {aspect})"
                    );
                    return Err(already_exists(message).naming(urn));
                }
                self.put(item, *aspect).await
            }
            Change::CreateEntity { aspect, .. } => {
                if self.exists(urn, item.entity).await? && !self.created.contains(urn) {
                    if item.proposal.skip_existing {
                        self.warn(item, "not written, because the entity already exists");
                        return Ok(());
                    }
                    let message = format!(
                        "Cannot perform CREATE_ENTITY if not exists since the entity key already exists. ({urn})"
                    );
                    return Err(already_exists(message).naming(urn));
                }
                self.put(item, *aspect).await
            }
            Change::Edit { aspect, edit } => {
                self.edit(&item.proposal, item.entity, *aspect, edit).await
            }
            Change::DeleteAspect { aspect } if *aspect == item.entity.key_aspect => {
                self.delete_entity(urn, false).await.map(drop)
            }
            Change::DeleteAspect { aspect } => self.delete_aspect(urn, *aspect).await,
            Change::Clear => {
                for aspect in self.cleared(item).await? {
                    self.delete_aspect(urn, aspect).await?;
                }
                Ok(())
            }
            Change::RollbackRun {
                run_id,
                hard,
                dry_run,
            } => self.rollback_run(item, run_id, *hard, *dry_run).await,
            Change::RemoveReferences { aspect, target } => {
                self.remove_references(&item.proposal, *aspect, target)
                    .await
            }
            Change::SetSystemProperty { .. }
            | Change::ReplaceSystemProperty { .. }
            | Change::RaiseSystemTime { .. } => self.change_system_property(urn, change).await,
            Change::DeletePoints { aspect, range } => self.delete_points(urn, *aspect, range).await,
            Change::DeleteEntity => self.delete_entity(urn, false).await.map(drop),
            Change::EndSessions { keep } => self.end_sessions(urn, *keep).await,
            Change::LimitTokens { max } => self.check_token_limit(urn, *max).await,
            Change::RevokeAccess => {
                if !self.revoke_access(urn).await? {
                    self.continue_later(urn)?;
                }
                Ok(())
            }
        }
    }

    fn warn(&mut self, item: &Prepared, message: &str) {
        let warning = Warning::about(item.proposal.subject(), message);
        self.applied.warnings.push(warning);
    }

    /// A whole aspect, written directly.
    async fn put(&mut self, item: &Prepared, aspect: AspectName) -> Result<(), Error> {
        let Some(payload) = &item.payload else {
            return Ok(());
        };
        let urn = &item.proposal.urn;
        let system_metadata = item.proposal.system_metadata.as_ref();
        self.ensure_entity(urn, item.entity, system_metadata)
            .await?;
        if aspect == item.entity.key_aspect {
            return Ok(());
        }
        if Registry::get().is_timeseries(aspect) {
            let row = timeseries_row(payload, system_metadata, &self.stamp);
            let write = AspectWrite {
                key: AspectKey::new(urn, aspect),
                effect: Effect::Timeseries(row),
            };
            self.push(write).await?;
            return self.follow_run(urn, aspect, &payload.value).await;
        }
        let current = self.current(urn, aspect).await?;
        if let Some(row) = current.unparsed_row()
            && !payload.has_text(&row.metadata)
        {
            self.budget.compare(row)?;
        }
        let kept = with_stage(aspect, current.readable(), &payload.value).map(Payload::of);
        let payload = kept.as_ref().unwrap_or(payload);
        self.store(&item.proposal, aspect, payload, true, &current)
            .await
    }

    async fn edit(
        &mut self,
        proposal: &Proposal,
        entity: &'static EntitySpec,
        aspect: AspectName,
        edit: &Edit,
    ) -> Result<(), Error> {
        let current = self.current(&proposal.urn, aspect).await?;
        let stamp = self.stamp.clone();
        let payload = self.new_value(&current, |_| current.edited(entity, aspect, edit, &stamp))?;
        let Some(payload) = payload else {
            return Ok(());
        };
        self.ensure_entity(&proposal.urn, entity, proposal.system_metadata.as_ref())
            .await?;
        self.store(proposal, aspect, &payload, false, &current)
            .await
    }

    /// A part of an aspect, written directly.
    async fn patch(
        &mut self,
        item: &Prepared,
        aspect: AspectName,
        patch: &Patch,
    ) -> Result<(), Error> {
        let Prepared {
            proposal, entity, ..
        } = item;
        let current = self.current(&proposal.urn, aspect).await?;
        if current.row().is_none() && patch.only_removes() {
            return Ok(());
        }
        let stamp = self.stamp.clone();
        let payload = self.new_value(&current, |work| {
            let patched = current.patched(entity, aspect, patch, &stamp, work);
            patched.map(Some)
        })?;
        let Some(payload) = payload else {
            return Ok(());
        };
        self.ensure_entity(&proposal.urn, entity, proposal.system_metadata.as_ref())
            .await?;
        self.store(proposal, aspect, &payload, true, &current).await
    }

    /// The last steps of every value: hooks, checks on the result, versions.
    async fn store(
        &mut self,
        proposal: &Proposal,
        aspect: AspectName,
        payload: &Payload,
        direct: bool,
        current: &Current,
    ) -> Result<(), Error> {
        let urn = &proposal.urn;
        let stored = || current.readable();
        let normalised = hooks::normalise(aspect, direct, stored, &payload.value)?;
        let normalised = normalised.map(Payload::of);
        let payload = normalised.as_ref().unwrap_or(payload);
        let names_authors = direct || proposal.names_authors;
        let is_signed = names_authors && aspect == AspectName::INSTITUTIONAL_MEMORY;
        let signed = if is_signed && self.signs_links {
            hooks::sign_links(current.readable(), &payload.value, &self.stamp)?
        } else {
            None
        };
        let signed = signed.map(Payload::of);
        let payload = signed.as_ref().unwrap_or(payload);
        if aspect == AspectName::DOMAIN_PROPERTIES {
            self.check_domain(proposal, current.readable(), &payload.value)
                .await?;
        }
        let checked = self.check_value(urn, aspect, direct, current.readable(), &payload.value);
        let checked = checked.await?.map(Payload::of);
        let payload = checked.as_ref().unwrap_or(payload);
        let key = AspectKey::new(urn, aspect);
        let system_metadata = proposal.system_metadata.clone();
        self.write(&key, payload, system_metadata, current).await?;
        self.link_siblings(&key, payload, current).await
    }

    async fn write(
        &mut self,
        key: &AspectKey,
        payload: &Payload,
        system_metadata: Option<SystemMetadata>,
        current: &Current,
    ) -> Result<(), Error> {
        let mut previous = current.row().cloned();
        if let Some(row) = &previous
            && !version::has_logical_version(row)
        {
            // A row of another server without a version: its history continues where it ends.
            let history = self.tx.aspect_history(key).await?;
            let newest = history
                .first()
                .map_or(RowVersion::LATEST, |former| former.version);
            previous = Some(Arc::new(version::with_version_after(row, newest)));
        }
        let write = match &previous {
            Some(previous) if current.is_same(payload) => {
                version::confirm(key.clone(), previous, system_metadata, &self.stamp)
            }
            _ => {
                let new = NewAspect {
                    metadata: payload.text().to_owned(),
                    system_metadata,
                    stamp: self.stamp.clone(),
                    derived: payload.derived(key).clone(),
                    retired_version: self.retired.get(key).copied(),
                };
                Some(self.in_run(version::replace(key.clone(), previous.as_deref(), new)))
            }
        };
        if let Some(write) = write {
            if let Some(row) = row_after(previous.as_deref(), &write.effect) {
                self.known.insert(key.clone(), Some(Arc::new(row)));
            }
            self.push(write).await?;
        }
        Ok(())
    }
}

/// Row 0 after a write.
fn row_after(current: Option<&StoredAspect>, effect: &Effect) -> Option<StoredAspect> {
    match effect {
        Effect::Put { row, .. } | Effect::Revert { row, .. } => Some(row.clone()),
        Effect::Touch { system_metadata } => Some(StoredAspect {
            system_metadata: Some(system_metadata.clone()),
            ..current?.clone()
        }),
        Effect::Delete { .. } | Effect::Timeseries(_) | Effect::DeletePoints(_) => None,
    }
}

fn already_exists(message: String) -> Error {
    Error::conflict(ConflictReason::AlreadyExists, message)
}
