//! Who may decide a request: those who may make its changes.
//!
//! The decision is that of the write itself ([`crate::apply`]), on the stored data for an entity
//! that exists, and on the proposed data for one that the request creates or moves. Summaries have
//! no proposed data, so lists read the texts of the requests that summaries alone do not decide.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest, RowVersion, StoredAspect};
use serde_json::Value;

use super::{Info, MAX_LISTED, ProposedChange, Summary};
use crate::access::demand::may_move;
use crate::access::resource::{Fields, Resource};
use crate::access::scope::{self, CallerRights};
use crate::access::{
    AspectSource, Prefetched, decisive_part, read_move, read_parent, read_resource,
};
use crate::privilege::{CREATE_ENTITY, Privilege};
use crate::request_demands::{Demand, Demands};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

/// A demand that the caller does not meet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unmet<'d> {
    pub(crate) demand: &'d Demand,
    /// Whether the entity does not exist, so that the proposed data decides.
    is_new: bool,
}

impl Demands {
    pub(super) fn of(changes: &[ProposedChange]) -> Self {
        let aspect_of = |change: &ProposedChange| Registry::get().aspect(&change.aspect);
        let is_move = |change: &ProposedChange| aspect_of(change).is_some_and(may_move);
        let mut demands: Vec<Demand> = changes
            .iter()
            .map(|change| Demand::new(&change.urn, &change.privileges, is_move(change)))
            .collect();
        demands.dedup();
        let placed = changes.iter().filter(|it| it.is_new || is_move(it));
        let placed: HashSet<&Urn> = placed.map(|change| &change.urn).collect();
        let part = |change: &ProposedChange| {
            let aspect = aspect_of(change)?;
            let key = AspectKey::new(&change.urn, aspect);
            let Some(after) = &change.after else {
                return Some((key, None));
            };
            let value: Value = serde_json::from_str(after).ok()?;
            let row = StoredAspect {
                version: RowVersion::LATEST,
                metadata: decisive_part(aspect, &value)?.to_string(),
                system_metadata: None,
                created_on_ms: 0,
                created_by: String::new(),
                created_for: None,
            };
            Some((key, Some(Arc::new(row))))
        };
        let proposed = changes.iter().filter(|it| placed.contains(&it.urn));
        Self {
            demands,
            proposed: proposed.filter_map(part).collect(),
        }
    }

    /// Those of a summary, which say nothing about what is proposed.
    fn of_summary(summary: &Summary) -> Self {
        let demands = summary.demands.iter();
        let demands = demands.map(|it| Demand::new(&it.urn, &it.privileges, false));
        Self {
            demands: demands.collect(),
            proposed: HashMap::new(),
        }
    }

    /// The entities that the request changes.
    pub(crate) fn urns(&self) -> BTreeSet<&Urn> {
        self.demands.iter().map(|demand| &demand.urn).collect()
    }

    /// The first demand that the rights do not meet. `existing` are those of the entities that
    /// exist, and `fields` what decides about them.
    pub(crate) async fn unmet(
        &self,
        rights: &CallerRights,
        source: &mut impl AspectSource,
        existing: &HashSet<Urn>,
        fields: Fields,
    ) -> Result<Option<Unmet<'_>>, Error> {
        for demand in &self.demands {
            let is_new = !existing.contains(&demand.urn);
            let is_met = demand.is_met(rights, source, self, is_new, fields);
            if !is_met.await? {
                return Ok(Some(Unmet { demand, is_new }));
            }
        }
        Ok(None)
    }
}

/// The fields that decide whether the rights meet the demands.
pub(crate) fn fields_of(rights: &CallerRights, requests: &[Demands]) -> Fields {
    let demands = requests.iter().flat_map(|request| &request.demands);
    let mut privileges: Vec<Privilege> = demands
        .flat_map(|it| &it.privileges_if_new)
        .copied()
        .collect();
    privileges.sort_unstable_by_key(|privilege| privilege.name());
    privileges.dedup();
    rights.fields_of(&privileges).unwrap_or_default()
}

/// The stored data, as a request would change it.
struct AsProposed<'p, S> {
    stored: &'p mut S,
    proposed: &'p HashMap<AspectKey, AspectRow>,
}

impl<S: AspectSource> AspectSource for AsProposed<'_, S> {
    async fn rows(&mut self, keys: Vec<AspectKey>) -> Result<Vec<AspectRow>, Error> {
        let mut rows = self.stored.rows(keys.clone()).await?;
        for (key, row) in keys.iter().zip(&mut rows) {
            if let Some(proposed) = self.proposed.get(key) {
                row.clone_from(proposed);
            }
        }
        Ok(rows)
    }
}

impl Catalog {
    /// The first demand of each request that the caller does not meet.
    pub(super) async fn unmet<'d>(
        &self,
        caller: &Caller,
        requests: &'d [Demands],
    ) -> Result<Vec<Option<Unmet<'d>>>, Error> {
        if scope::check_writer(caller).is_err() {
            let is_new = false;
            let first = requests.iter().map(|it| it.demands.first());
            let unmet = first.map(|it| it.map(|demand| Unmet { demand, is_new }));
            return Ok(unmet.collect());
        }
        let Some(rights) = self.rights(caller).await? else {
            return Ok(requests.iter().map(|_| None).collect());
        };
        let urns: BTreeSet<&Urn> = requests.iter().flat_map(Demands::urns).collect();
        let urns: Vec<Urn> = urns.into_iter().cloned().collect();
        let fields = fields_of(&rights, requests);
        let existing = self.existing(&urns).await?;
        let mut stored = Prefetched::new(self.store(), rights.domains(), &urns, fields).await?;
        let mut unmet = Vec::with_capacity(requests.len());
        for request in requests {
            let first = request.unmet(&rights, &mut stored, &existing, fields);
            unmet.push(first.await?);
        }
        Ok(unmet)
    }

    /// Which of the waiting requests the caller may decide.
    pub(super) async fn are_decidable(
        &self,
        caller: &Caller,
        requests: &[(Urn, Summary)],
    ) -> Result<Vec<bool>, Error> {
        let Some(rights) = self.rights(caller).await? else {
            return Ok(vec![true; requests.len()]);
        };
        let demands: Vec<Demands> = requests
            .iter()
            .map(|(_, summary)| Demands::of_summary(summary))
            .collect();
        let unmet = self.unmet(caller, &demands).await?;
        let mut decidable = Vec::with_capacity(requests.len());
        let mut undecided = Vec::new();
        for (index, (demands, unmet)) in demands.iter().zip(unmet).enumerate() {
            let is_clear = |it: &Demand| rights.everywhere(it.names(false)).is_some();
            let is_clear = demands.demands.iter().all(is_clear);
            let is_denied = unmet.is_some_and(|it| !it.is_new);
            decidable.push(is_clear && unmet.is_none());
            if !is_clear && !is_denied {
                undecided.push(index);
            }
        }
        for some in undecided.chunks(MAX_LISTED) {
            let urns: Vec<&Urn> = some.iter().map(|index| &requests[*index].0).collect();
            let demands = self.proposed_demands(&urns).await?;
            for (index, unmet) in some.iter().zip(self.unmet(caller, &demands).await?) {
                decidable[*index] = unmet.is_none();
            }
        }
        Ok(decidable)
    }

    /// Which of the requests are about something that the caller may not see. What a request
    /// creates is seen as the request describes it.
    pub(super) async fn are_hidden(&self, requests: &[(Urn, &[Urn])]) -> Result<Vec<bool>, Error> {
        let urns = requests.iter().flat_map(|(_, urns)| *urns);
        let hidden = self.hidden_among(urns).await?;
        let mut are_hidden = vec![false; requests.len()];
        let Some(view) = self.view.as_ref().filter(|_| !hidden.is_empty()) else {
            return Ok(are_hidden);
        };
        let hidden_urns: Vec<Urn> = hidden.iter().cloned().collect();
        let existing = self.existing(&hidden_urns).await?;
        let mut undecided = Vec::new();
        for (index, (_, urns)) in requests.iter().enumerate() {
            if urns.iter().any(|urn| hidden.contains(urn)) {
                are_hidden[index] = true;
                if !urns.iter().any(|urn| existing.contains(urn)) {
                    undecided.push(index);
                }
            }
        }
        let mut stored =
            Prefetched::new(self.store(), view.domains(), &[], Fields::default()).await?;
        for some in undecided.chunks(MAX_LISTED) {
            let urns: Vec<&Urn> = some.iter().map(|index| &requests[*index].0).collect();
            for (index, demands) in some.iter().zip(self.proposed_demands(&urns).await?) {
                let mut source = AsProposed {
                    stored: &mut stored,
                    proposed: &demands.proposed,
                };
                let mut is_hidden = false;
                for urn in requests[*index].1.iter().filter(|it| hidden.contains(*it)) {
                    is_hidden |= !view.grants(&mut source, urn).await?;
                }
                are_hidden[*index] = is_hidden;
            }
        }
        Ok(are_hidden)
    }

    /// The demands of stored requests, with what they propose.
    async fn proposed_demands(&self, requests: &[&Urn]) -> Result<Vec<Demands>, Error> {
        let aspect = AspectName::ACTION_REQUEST_INFO;
        let keys: Vec<AspectKey> = requests
            .iter()
            .map(|urn| AspectKey::new(urn, aspect))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let demands = |row: &AspectRow| {
            let info: Option<Info> = aspect_value(row);
            info.map_or_else(Demands::default, |info| Demands::of(&info.changes))
        };
        Ok(rows.iter().map(demands).collect())
    }

    /// Those of the entities that exist, whether the caller sees them or not.
    async fn existing(&self, urns: &[Urn]) -> Result<HashSet<Urn>, Error> {
        let keys: Vec<AspectKey> = urns.iter().filter_map(AspectKey::of_entity).collect();
        let exist = self.store().read(ReadRequest::exists(&keys)).await?.exists;
        let found = keys.into_iter().zip(exist).filter(|(_, exists)| *exists);
        Ok(found.map(|(key, _)| key.urn).collect())
    }
}

impl Demand {
    fn new(urn: &Urn, names: &[String], moves: bool) -> Self {
        let (privileges, privileges_if_new) = by_existence(names);
        Self {
            urn: urn.clone(),
            privileges,
            privileges_if_new,
            moves,
        }
    }

    /// Decides as [`crate::apply`] does: an existing entity as it is, and one that is new or moves
    /// as the request leaves it.
    async fn is_met(
        &self,
        rights: &CallerRights,
        stored: &mut impl AspectSource,
        request: &Demands,
        is_new: bool,
        fields: Fields,
    ) -> Result<bool, Error> {
        let is_granted = |resource: &Resource| {
            let policy = rights.granted_by(self.names(is_new), resource, None);
            policy.is_some()
        };
        if !is_new && !is_granted(&read_resource(stored, &self.urn, fields).await?) {
            return Ok(false);
        }
        if !is_new && !self.moves {
            return Ok(true);
        }
        let mut source = AsProposed {
            stored,
            proposed: &request.proposed,
        };
        let mut resource = read_resource(&mut source, &self.urn, fields).await?;
        if is_new {
            // Those whom the proposal names as owners decide nothing by that.
            resource.forget_owners();
        }
        if !is_granted(&resource) {
            return Ok(false);
        }
        if is_new {
            return Ok(true);
        }
        let before = read_parent(&mut *source.stored, &self.urn).await?;
        let places = read_move(&mut source, &self.urn, before, fields).await?;
        Ok(places.iter().all(|place| is_granted(&place.resource)))
    }

    /// The privileges of which one suffices.
    fn names(&self, is_new: bool) -> &[Privilege] {
        if is_new {
            &self.privileges_if_new
        } else {
            &self.privileges
        }
    }
}

/// The privileges of a proposed change, without and with the one that only creates.
pub(super) fn by_existence(names: &[String]) -> (Vec<Privilege>, Vec<Privilege>) {
    // Names of privileges that do not exist any more have no effect.
    let known = names.iter().filter_map(|name| Privilege::parse(name));
    let if_new: Vec<Privilege> = known.collect();
    let mut privileges = if_new.clone();
    privileges.retain(|privilege| *privilege != CREATE_ENTITY);
    (privileges, if_new)
}
