//! Who may decide a request: those who may make its changes.
//!
//! The decision is that of the write itself ([`crate::apply`]), on the stored data for an entity
//! that exists, and on the proposed data for one that the request creates or moves. Summaries have
//! what decides of the proposed data, so that lists read no texts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest, RowVersion, StoredAspect};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Info, MAX_LISTED, ProposedChange, Summary, SummaryDemand, is_long};
use crate::access::demand::may_move;
use crate::access::resource::{Fields, Resource};
use crate::access::scope::{self, CallerRights};
use crate::access::{
    AspectSource, Prefetched, decisive_part, read_move, read_parent, read_resource,
};
use crate::long_work;
use crate::privilege::{CREATE_ENTITY, Privilege};
use crate::request_demands::{Demand, Demands};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

/// What policies compare of a proposed aspect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProposedPart {
    urn: Urn,
    aspect: String,
    /// The JSON text; `None` if the aspect is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl ProposedPart {
    /// Those of the entities that the changes create or move.
    pub(super) fn of(changes: &[ProposedChange]) -> Vec<Self> {
        let placed = changes.iter().filter(|it| it.is_new || it.may_move());
        let placed: HashSet<&Urn> = placed.map(|change| &change.urn).collect();
        let part = |change: &ProposedChange| {
            let aspect = change.aspect()?;
            // The text is parsed only if a part of it counts.
            decisive_part(aspect, &Value::Null)?;
            let value = match &change.after {
                Some(after) => decisive_part(aspect, &serde_json::from_str(after).ok()?),
                None => None,
            };
            Some(Self {
                urn: change.urn.clone(),
                aspect: change.aspect.clone(),
                value: value.map(|value| value.to_string()),
            })
        };
        let changes = changes.iter().filter(|it| placed.contains(&it.urn));
        changes.filter_map(part).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.urn.as_str().len() + self.value.as_ref().map_or(0, String::len)
    }

    /// The aspect as if it were stored.
    fn row(&self) -> Option<(AspectKey, AspectRow)> {
        let key = AspectKey::new(&self.urn, Registry::get().aspect(&self.aspect)?);
        let row = self.value.as_ref().map(|value| StoredAspect {
            version: RowVersion::LATEST,
            metadata: value.clone(),
            system_metadata: None,
            created_on_ms: 0,
            created_by: String::new(),
            created_for: None,
        });
        Some((key, row.map(Arc::new)))
    }
}

impl ProposedChange {
    fn aspect(&self) -> Option<AspectName> {
        Registry::get().aspect(&self.aspect)
    }

    fn may_move(&self) -> bool {
        self.aspect().is_some_and(may_move)
    }
}

impl SummaryDemand {
    pub(super) fn of(changes: &[ProposedChange]) -> Vec<Self> {
        let demand = |change: &ProposedChange| Self {
            urn: change.urn.clone(),
            privileges: change.privileges.clone(),
            moves: change.may_move(),
        };
        let mut demands: Vec<Self> = changes.iter().map(demand).collect();
        demands.dedup();
        demands
    }
}

impl Demands {
    pub(super) fn of(changes: &[ProposedChange]) -> Self {
        Self::new(&SummaryDemand::of(changes), &ProposedPart::of(changes))
    }

    /// Those of a summary, unless an older version wrote it.
    fn of_summary(summary: &Summary) -> Option<Self> {
        let proposed = summary.proposed.as_ref()?;
        Some(Self::new(&summary.demands, proposed))
    }

    fn new(demands: &[SummaryDemand], proposed: &[ProposedPart]) -> Self {
        Self {
            demands: demands.iter().map(Demand::new).collect(),
            proposed: proposed.iter().filter_map(ProposedPart::row).collect(),
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
    ) -> Result<Option<&Demand>, Error> {
        for demand in &self.demands {
            let is_new = !existing.contains(&demand.urn);
            let is_met = demand.is_met(rights, source, self, is_new, fields);
            if !is_met.await? {
                return Ok(Some(demand));
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
    ) -> Result<Vec<Option<&'d Demand>>, Error> {
        if scope::check_writer(caller).is_err() {
            return Ok(requests.iter().map(|it| it.demands.first()).collect());
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
        if self.rights(caller).await?.is_none() {
            return Ok(vec![true; requests.len()]);
        }
        let requests: Vec<&(Urn, Summary)> = requests.iter().collect();
        let demands = self.demands_of(&requests).await?;
        let unmet = self.unmet(caller, &demands).await?;
        Ok(unmet.iter().map(Option::is_none).collect())
    }

    /// Which of the requests are about something that the caller may not see. What a request
    /// creates is seen as the request describes it.
    pub(super) async fn are_hidden(&self, requests: &[(Urn, Summary)]) -> Result<Vec<bool>, Error> {
        let urns = requests.iter().flat_map(|(_, summary)| &summary.urns);
        let hidden = self.hidden_among(urns).await?;
        let mut are_hidden = vec![false; requests.len()];
        let Some(view) = self.view.as_ref().filter(|_| !hidden.is_empty()) else {
            return Ok(are_hidden);
        };
        let hidden_urns: Vec<Urn> = hidden.iter().cloned().collect();
        let existing = self.existing(&hidden_urns).await?;
        let mut undecided = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            let urns = &request.1.urns;
            if urns.iter().any(|urn| hidden.contains(urn)) {
                are_hidden[index] = true;
                if !urns.iter().any(|urn| existing.contains(urn)) {
                    undecided.push((index, request));
                }
            }
        }
        let mut stored =
            Prefetched::new(self.store(), view.domains(), &[], Fields::default()).await?;
        let new: Vec<&(Urn, Summary)> = undecided.iter().map(|(_, request)| *request).collect();
        let demands = self.demands_of(&new).await?;
        for ((index, (_, summary)), demands) in undecided.into_iter().zip(demands) {
            let mut source = AsProposed {
                stored: &mut stored,
                proposed: &demands.proposed,
            };
            let mut is_hidden = false;
            for urn in summary.urns.iter().filter(|it| hidden.contains(*it)) {
                is_hidden |= !view.grants(&mut source, urn).await?;
            }
            are_hidden[index] = is_hidden;
        }
        Ok(are_hidden)
    }

    /// The demands of requests, with what they propose. Only those of older versions are read.
    async fn demands_of(&self, requests: &[&(Urn, Summary)]) -> Result<Vec<Demands>, Error> {
        let demands = requests.iter().map(|it| Demands::of_summary(&it.1));
        let mut demands: Vec<Option<Demands>> = demands.collect();
        let is_old = |index: &usize| demands[*index].is_none();
        let old: Vec<usize> = (0..requests.len()).filter(is_old).collect();
        for some in old.chunks(MAX_LISTED) {
            let urns = some.iter().map(|index| &requests[*index].0);
            let read = self.read_demands(urns).await?;
            for (index, read) in some.iter().zip(read) {
                demands[*index] = Some(read);
            }
        }
        Ok(demands.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The demands of stored requests, from their texts.
    async fn read_demands(
        &self,
        requests: impl Iterator<Item = &Urn>,
    ) -> Result<Vec<Demands>, Error> {
        let aspect = AspectName::ACTION_REQUEST_INFO;
        let keys: Vec<AspectKey> = requests.map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let demands = |row: &AspectRow| {
            let info: Option<Info> = aspect_value(row);
            info.map_or_else(Demands::default, |info| Demands::of(&info.changes))
        };
        let parse = || rows.iter().map(demands).collect();
        Ok(long_work::run(is_long(&rows), parse).await)
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
    fn new(demand: &SummaryDemand) -> Self {
        let (privileges, privileges_if_new) = by_existence(&demand.privileges);
        Self {
            urn: demand.urn.clone(),
            privileges,
            privileges_if_new,
            moves: demand.moves,
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
