//! Proposed changes: stored as action requests, accepted or rejected by those who may make them.
//!
//! A caller that may not make a change, but has the privilege `PROPOSE_CHANGES`, proposes it with
//! the same request ([`crate::apply`]). A request is an internal entity; it has the aspect
//! [`AspectName::ACTION_REQUEST_PENDING`] until it is decided, and then
//! [`AspectName::ACTION_REQUEST_RESULT`]. Accepting it applies the changes with the rights of the
//! one who accepts, merged into what is stored by then ([`mod@merge`]).

mod merge;

use std::collections::{BTreeSet, HashMap};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::privilege::{self, Privilege};
use crate::proposal::{Change, Privileges, Proposal, unreadable};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};
use merge::{Conflict, merge};

pub(crate) const ENTITY: &str = "actionRequest";
/// The most changes of one request.
pub(crate) const MAX_CHANGES: usize = 100;
/// The most bytes of one request, texts before and after the changes included.
const MAX_BYTES: usize = 1024 * 1024;
/// The most requests that wait for a decision, of one user and of all.
const MAX_PENDING_OF_USER: usize = 100;
const MAX_PENDING: usize = 1_000;
/// The most decided requests that are listed.
const MAX_DECIDED: usize = 1_000;
/// The most requests of one page of a list: each may have [`MAX_BYTES`].
pub const MAX_LISTED: usize = 20;
/// How long a decided request is kept.
const KEPT_MS: EpochMillis = 90 * 24 * 60 * 60 * 1000;
/// How many outdated requests each decision deletes.
const DELETED_AT_ONCE: usize = 10;

/// A proposed change of one aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedChange {
    pub urn: Urn,
    pub aspect: String,
    /// The names of the privileges of which the one who accepts needs one.
    pub privileges: Vec<String>,
    /// Whether the change creates the entity.
    pub is_new: bool,
    /// The JSON text of the aspect when the change was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The proposed JSON text; `None` deletes the aspect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    proposer: Urn,
    created_at: EpochMillis,
    changes: Vec<ProposedChange>,
}

/// What filters of lists compare: a part of [`AspectName::ACTION_REQUEST_PENDING`] and of
/// [`AspectName::ACTION_REQUEST_RESULT`], so that lists read no proposed texts.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Summary {
    /// `None` in results of older versions, which no filter selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposer: Option<Urn>,
    #[serde(default)]
    urns: Vec<Urn>,
    /// Empty in results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    demands: Vec<Demand>,
}

#[derive(Debug, Serialize)]
struct StoredResult<'a> {
    #[serde(flatten)]
    decision: &'a Decision,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// What the one who decides needs: one of the named privileges on the entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Demand {
    urn: Urn,
    privileges: Vec<String>,
}

/// What the one who decides wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Accept,
    /// For the proposer: withdraw.
    Reject,
}

/// How a request was decided.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    pub result: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub actor: Urn,
    pub decided_at: EpochMillis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    Accepted,
    Rejected,
    /// By the proposer.
    Withdrawn,
}

/// A proposal, and how it was decided.
#[derive(Debug, Clone)]
pub struct ActionRequest {
    pub urn: Urn,
    pub proposer: Urn,
    pub created_at: EpochMillis,
    pub changes: Vec<ProposedChange>,
    /// `None` while it waits.
    pub decision: Option<Decision>,
}

/// Which requests to list.
#[derive(Debug, Clone, Default)]
pub struct ActionRequestFilter {
    /// Decided ones instead of those that wait.
    pub decided: bool,
    pub proposer: Option<Urn>,
    /// Only those that change this entity.
    pub entity: Option<Urn>,
    /// Only waiting ones that this caller may decide, or has proposed.
    pub concerning: Option<Caller>,
}

impl ActionRequestFilter {
    fn selects(&self, summary: &Summary) -> bool {
        let is_of_proposer = self.proposer.is_none() || self.proposer == summary.proposer;
        let entity = self.entity.as_ref();
        is_of_proposer && entity.is_none_or(|urn| summary.urns.contains(urn))
    }
}

impl Summary {
    fn new(proposer: &Urn, changes: &[ProposedChange]) -> Self {
        let urns: BTreeSet<&Urn> = changes.iter().map(|change| &change.urn).collect();
        Self {
            proposer: Some(proposer.clone()),
            urns: urns.into_iter().cloned().collect(),
            demands: Vec::new(),
        }
    }
}

/// Whether changes of entities of this type can be proposed: not those of accounts and settings.
pub fn is_proposable_type(entity_type: &str) -> bool {
    !entity_type.starts_with("dataHub")
        && !["corpuser", "corpGroup", "globalSettings", ENTITY].contains(&entity_type)
}

/// The privileges with these names, as far as they still exist.
fn known_privileges(names: &[String]) -> Vec<Privilege> {
    let known = privilege::ALL.iter().copied();
    known
        .filter(|it| names.iter().any(|name| name == it.name()))
        .collect()
}

impl ProposedChange {
    fn privileges(&self) -> Vec<Privilege> {
        known_privileges(&self.privileges)
    }

    fn demand(&self) -> Demand {
        Demand {
            urn: self.urn.clone(),
            privileges: self.privileges.clone(),
        }
    }
}

impl Catalog {
    /// Lists action requests, the newest first, with the number of all that the filter selects; at
    /// most [`MAX_LISTED`] at once.
    pub async fn list_action_requests(
        &self,
        filter: &ActionRequestFilter,
        start: usize,
        count: usize,
    ) -> Result<(Vec<ActionRequest>, usize), Error> {
        let mut selected = if filter.decided {
            let aspect = AspectName::ACTION_REQUEST_RESULT;
            self.summaries(aspect, MAX_DECIDED).await?
        } else {
            self.pending_requests().await?
        };
        selected.retain(|(_, summary)| filter.selects(summary));
        let urns = selected.iter().flat_map(|(_, summary)| &summary.urns);
        let hidden = self.hidden_among(urns).await?;
        selected.retain(|(_, summary)| !summary.urns.iter().any(|urn| hidden.contains(urn)));
        if let Some(caller) = &filter.concerning {
            let demands: Vec<&[Demand]> = selected.iter().map(|(_, it)| &*it.demands).collect();
            let mut decidable = self.all_granted(caller, &demands).await?.into_iter();
            selected.retain(|(_, summary)| {
                decidable.next() == Some(true) || summary.proposer.as_ref() == Some(caller.actor())
            });
        }
        let total = selected.len();
        let page = selected.into_iter().skip(start);
        let page: Vec<Urn> = page.take(count.min(MAX_LISTED)).map(|it| it.0).collect();
        Ok((self.read_requests(&page).await?, total))
    }

    /// Which of the requests the caller may accept or reject: those that wait, and of which the
    /// caller may make every change.
    pub async fn may_decide(
        &self,
        caller: &Caller,
        requests: &[ActionRequest],
    ) -> Result<Vec<bool>, Error> {
        let demands = |request: &ActionRequest| {
            let changes = request.changes.iter();
            let waiting = changes.filter(|_| request.decision.is_none());
            waiting.map(ProposedChange::demand).collect()
        };
        let demands: Vec<Vec<Demand>> = requests.iter().map(demands).collect();
        let demands: Vec<&[Demand]> = demands.iter().map(Vec::as_slice).collect();
        self.all_granted(caller, &demands).await
    }

    /// Whether the caller has what all demands of each list ask for; not for an empty list. One
    /// read for all lists.
    async fn all_granted(&self, caller: &Caller, lists: &[&[Demand]]) -> Result<Vec<bool>, Error> {
        let demands = || lists.iter().copied().flatten();
        let urns: BTreeSet<&Urn> = demands().map(|demand| &demand.urn).collect();
        let urns: Vec<Urn> = urns.into_iter().cloned().collect();
        let names: BTreeSet<&String> = demands().flat_map(|demand| &demand.privileges).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let privileges = known_privileges(&names);
        let granted = self.granted(caller, &privileges, &urns).await?;
        let granted: HashMap<&Urn, Vec<Privilege>> = urns.iter().zip(granted).collect();
        let is_met = |demand: &Demand| {
            let granted = granted.get(&demand.urn).into_iter().flatten();
            granted
                .into_iter()
                .any(|it| demand.privileges.iter().any(|name| name == it.name()))
        };
        let all_met = |list: &&[Demand]| !list.is_empty() && list.iter().all(is_met);
        Ok(lists.iter().map(all_met).collect())
    }

    /// Accepts a request, which applies its changes with the rights of the caller, or rejects it.
    /// The proposer may withdraw it; anybody else must be allowed to make its changes.
    pub async fn decide_action_request(
        &self,
        caller: &Caller,
        urn: &Urn,
        verdict: Verdict,
        note: Option<&str>,
    ) -> Result<(), Error> {
        let request = self.undecided(urn).await?;
        let result = match verdict {
            Verdict::Accept => Outcome::Accepted,
            Verdict::Reject if request.proposer == *caller.actor() => Outcome::Withdrawn,
            Verdict::Reject => Outcome::Rejected,
        };
        let decision = Decision {
            result,
            note: note.map(str::to_owned),
            actor: caller.actor().clone(),
            decided_at: self.now_ms(),
        };
        let mut proposals = recorded(&request, &decision)?;
        for change in request.changes {
            match result {
                Outcome::Accepted => proposals.push(accepted(change)?),
                Outcome::Rejected => {
                    let privileges = change.privileges();
                    self.authorize(caller, &privileges, Some(&change.urn))
                        .await?;
                }
                Outcome::Withdrawn => {}
            }
        }
        self.apply(caller, proposals).await?;
        if let Err(error) = self.delete_outdated().await {
            tracing::warn!(%error, "outdated proposals could not be deleted");
        }
        Ok(())
    }

    /// The URN of a new request; later ones come first. Fails if too many wait.
    pub(crate) async fn new_action_request(&self, caller: &Caller) -> Result<Urn, Error> {
        let pending = self.pending_requests().await?;
        let own = pending
            .iter()
            .filter(|(_, it)| it.proposer.as_ref() == Some(caller.actor()));
        let too_many = |whose: &str, limit: usize| {
            Err(Error::unavailable(format!(
                "{limit} proposals {whose} wait for a decision, which is the limit: withdraw some, or wait until some \
                 are decided"
            )))
        };
        if own.count() >= MAX_PENDING_OF_USER {
            return too_many("of yours", MAX_PENDING_OF_USER);
        }
        if pending.len() >= MAX_PENDING {
            return too_many("of all users", MAX_PENDING);
        }
        let id = format!("{}-{}", id_before(self.now_ms()), self.ids.next_id());
        Ok(Urn::new(ENTITY, &id)?)
    }

    async fn pending_requests(&self) -> Result<Vec<(Urn, Summary)>, Error> {
        self.summaries(AspectName::ACTION_REQUEST_PENDING, MAX_PENDING)
            .await
    }

    /// The newest requests that have the aspect.
    async fn summaries(
        &self,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<(Urn, Summary)>, Error> {
        let urns = self.store().urns_list(ENTITY, aspect, None, limit).await?;
        let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let found = urns.into_iter().zip(&rows);
        // One that has no row was decided or deleted since the list was read.
        Ok(found
            .filter_map(|(urn, row)| Some((urn, aspect_value(row)?)))
            .collect())
    }

    async fn undecided(&self, urn: &Urn) -> Result<ActionRequest, Error> {
        urn.expect_type(ENTITY)?;
        let mut requests = self.read_requests(std::slice::from_ref(urn)).await?;
        match requests.pop() {
            None => Err(Error::not_found(format!("{urn} does not exist")).naming(urn)),
            Some(request) if request.decision.is_some() => Err(decided_already(urn)),
            Some(request) => Ok(request),
        }
    }

    /// Reads requests, without those about entities that the caller may not see: they contain what
    /// is stored.
    async fn read_requests(&self, urns: &[Urn]) -> Result<Vec<ActionRequest>, Error> {
        let aspects = [
            AspectName::ACTION_REQUEST_INFO,
            AspectName::ACTION_REQUEST_RESULT,
        ];
        let keys: Vec<AspectKey> = urns
            .iter()
            .flat_map(|urn| aspects.map(|aspect| AspectKey::new(urn, aspect)))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut requests: Vec<ActionRequest> = Vec::with_capacity(urns.len());
        for (urn, rows) in urns.iter().zip(rows.chunks(aspects.len())) {
            let info: Option<Info> = aspect_value(&rows[0]);
            let Some(info) = info else { continue };
            requests.push(ActionRequest {
                urn: urn.clone(),
                proposer: info.proposer,
                created_at: info.created_at,
                changes: info.changes,
                decision: aspect_value(&rows[1]),
            });
        }
        let changed = requests.iter().flat_map(|request| &request.changes);
        let hidden = self.hidden_among(changed.map(|change| &change.urn)).await?;
        let is_hidden = |change: &ProposedChange| hidden.contains(&change.urn);
        requests.retain(|request| !request.changes.iter().any(is_hidden));
        Ok(requests)
    }

    async fn delete_outdated(&self) -> Result<(), Error> {
        let oldest_kept = Urn::new(ENTITY, &id_before(self.now_ms() - KEPT_MS))?;
        let aspect = AspectName::ACTION_REQUEST_RESULT;
        let outdated = self
            .store()
            .urns_list(ENTITY, aspect, Some(&oldest_kept), DELETED_AT_ONCE);
        let urns = outdated.await?;
        let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        // Those that waited for long were decided later.
        let is_outdated = |row: &AspectRow| {
            let decision: Option<Decision> = aspect_value(row);
            decision.is_some_and(|it| it.decided_at < self.now_ms() - KEPT_MS)
        };
        let outdated = urns.into_iter().zip(&rows);
        let proposals = outdated
            .filter(|(_, row)| is_outdated(row))
            .map(|(urn, _)| Proposal::new(urn, Change::DeleteEntity))
            .collect();
        self.apply(&Caller::system(), proposals).await?;
        Ok(())
    }
}

/// The beginning of the ids of this time: those of later times sort before it.
fn id_before(time_ms: EpochMillis) -> String {
    format!("{:019}", EpochMillis::MAX - time_ms)
}

/// The proposals that store a request.
pub(crate) fn new_request(
    urn: &Urn,
    stamp: &AuditStamp,
    changes: Vec<ProposedChange>,
) -> Result<Vec<Proposal>, Error> {
    let mut pending = Summary::new(&stamp.actor, &changes);
    pending.demands = changes.iter().map(ProposedChange::demand).collect();
    pending.demands.dedup();
    let info = text(&Info {
        proposer: stamp.actor.clone(),
        created_at: stamp.time,
        changes,
    })?;
    if info.len() > MAX_BYTES {
        return Err(Error::invalid(format!(
            "the proposed change has {} bytes: at most {MAX_BYTES} can be proposed at once",
            info.len()
        )));
    }
    Ok(vec![
        Proposal::upsert(urn.clone(), AspectName::ACTION_REQUEST_INFO, info),
        Proposal::upsert(
            urn.clone(),
            AspectName::ACTION_REQUEST_PENDING,
            text(&pending)?,
        ),
    ])
}

/// The proposals that record a decision. They fail if there is one already.
fn recorded(request: &ActionRequest, decision: &Decision) -> Result<Vec<Proposal>, Error> {
    let aspect = AspectName::ACTION_REQUEST_PENDING;
    let urn = &request.urn;
    let waits = {
        let urn = urn.clone();
        move |current: Option<Value>| match current {
            Some(_) => Ok(()),
            None => Err(decided_already(&urn)),
        }
    };
    let result = StoredResult {
        decision,
        summary: &Summary::new(&request.proposer, &request.changes),
    };
    let proposals = [
        Proposal::new(urn.clone(), Change::DeleteAspect { aspect })
            .requires_value(urn, aspect, waits),
        Proposal::upsert(
            urn.clone(),
            AspectName::ACTION_REQUEST_RESULT,
            text(&result)?,
        ),
    ];
    Ok(proposals.map(Proposal::authorized).into())
}

/// Applies a change to what is stored when the request is accepted.
fn accepted(change: ProposedChange) -> Result<Proposal, Error> {
    let aspect = Registry::get()
        .aspect(&change.aspect)
        .ok_or_else(|| Error::invalid(format!("'{}' is not an aspect any more", change.aspect)))?;
    let parse = |text: Option<&str>| -> Result<Option<Value>, Error> {
        let value = text.map(serde_json::from_str).transpose();
        value.map_err(|error| unreadable(aspect, &error))
    };
    let before = parse(change.before.as_deref())?;
    let after = parse(change.after.as_deref())?;
    let privileges = Privileges::AnyOf(change.privileges().into());
    let (urn, is_new) = (change.urn, change.is_new);
    let conflict = {
        let urn = urn.clone();
        move || {
            let message = format!(
                "{aspect} of {urn} has changed since the proposal was made: reject it, and propose the change again"
            );
            Error::conflict(ConflictReason::ChangedMeanwhile, message).naming(&urn)
        }
    };
    let mut proposal = match after {
        Some(after) => Proposal::edit_if(urn.clone(), aspect, move |current: Option<Value>, _| {
            merge(before.as_ref(), Some(&after), current.as_ref()).map_err(|Conflict| conflict())
        }),
        None => Proposal::new(urn.clone(), Change::DeleteAspect { aspect }).requires_value(
            &urn,
            aspect,
            move |current: Option<Value>| {
                let is_same = current.is_none() || current == before;
                is_same.then_some(()).ok_or_else(&conflict)
            },
        ),
    };
    proposal.privileges = privileges;
    Ok(if is_new {
        proposal
    } else {
        proposal.requires_target()
    })
}

fn decided_already(urn: &Urn) -> Error {
    let message = format!("{urn} has been decided already");
    Error::conflict(ConflictReason::ChangedMeanwhile, message).naming(urn)
}

fn text(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal(docent_store::StoreError::other(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_without_proposer_is_listed_unless_a_filter_compares_it() {
        let stored = r#"{"result":"REJECTED","actor":"urn:li:corpuser:a","decidedAt":1}"#;
        let result: Summary = serde_json::from_str(stored).unwrap();
        let actor = Some(Urn::parse("urn:li:corpuser:a").unwrap());
        let all = ActionRequestFilter::default();
        assert!(all.selects(&result));
        let of_proposer = ActionRequestFilter {
            proposer: actor.clone(),
            ..all.clone()
        };
        assert!(!of_proposer.selects(&result));
        let of_entity = ActionRequestFilter {
            entity: actor,
            ..all
        };
        assert!(!of_entity.selects(&result));
    }
}
