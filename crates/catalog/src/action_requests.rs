//! Proposed changes: stored as action requests, accepted or rejected by those who may make them.
//!
//! A caller that may not make a change, but has the privilege `PROPOSE_CHANGES`, proposes it with
//! the same request ([`crate::apply`]). A request is an internal entity; it has the aspect
//! [`AspectName::ACTION_REQUEST_PENDING`] until it is decided, and then
//! [`AspectName::ACTION_REQUEST_RESULT`]. Accepting it applies the changes with the rights of the
//! one who accepts, merged into what is stored by then ([`mod@merge`]).

mod decide;
mod demands;
mod merge;

use std::collections::BTreeSet;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest, Transaction};
use serde::{Deserialize, Serialize};

use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::proposal::Proposal;
use crate::request_demands::Demands;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};
use demands::ProposedPart;
pub(crate) use demands::fields_of;

pub(crate) const ENTITY: &str = "actionRequest";
/// The most changes of one request.
pub(crate) const MAX_CHANGES: usize = 100;
/// The most bytes of one request, texts before and after the changes included.
const MAX_BYTES: usize = 1024 * 1024;
/// The most bytes of what a summary has of the changes: lists read up to [`MAX_PENDING`] of them.
const MAX_DECISIVE_BYTES: usize = 32 * 1024;
/// The most requests that wait for a decision, of one user and of all.
const MAX_PENDING_OF_USER: usize = 100;
const MAX_PENDING: usize = 1_000;
/// The most decided requests that are listed.
const MAX_DECIDED: usize = 1_000;
/// The most requests of one page of a list, or of one decision: each may have [`MAX_BYTES`].
pub const MAX_LISTED: usize = 20;

/// A proposed change of one aspect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedChange {
    pub urn: Urn,
    pub aspect: String,
    /// The names of the privileges of which the one who accepts needs one; `CREATE_ENTITY` is one
    /// for an entity that does not exist.
    pub privileges: Vec<String>,
    /// Whether the change creates the entity.
    pub is_new: bool,
    /// The other entities that must still exist when it is accepted, such as a domain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Urn>,
    /// Whether no sibling may have the proposed name then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unique_name: bool,
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
    demands: Vec<SummaryDemand>,
    /// What policies compare of the entities that the request creates or moves; `None` in requests
    /// of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposed: Option<Vec<ProposedPart>>,
}

/// The entities that a proposal is about, if the written aspect lists them: when it is made, and
/// when it is decided.
pub(crate) fn subjects(key: &AspectKey, text: &str) -> Vec<Urn> {
    let aspects = [
        AspectName::ACTION_REQUEST_PENDING,
        AspectName::ACTION_REQUEST_RESULT,
    ];
    if key.urn.entity_type() != ENTITY || !aspects.contains(&key.aspect) {
        return Vec::new();
    }
    let summary: Option<Summary> = serde_json::from_str(text).ok();
    summary.map_or_else(Vec::new, |summary| summary.urns)
}

/// What the one who decides needs: one of the named privileges on the entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SummaryDemand {
    urn: Urn,
    privileges: Vec<String>,
    /// Whether the change may move the entity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    moves: bool,
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
    /// Empty for a request of the caller's own about something that the caller may not see any
    /// more.
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
    /// Only waiting ones that the caller may decide, or has proposed.
    pub concerns_caller: bool,
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
            proposed: Some(ProposedPart::of(changes)),
        }
    }

    fn is_of(&self, caller: &Caller) -> bool {
        self.proposer.as_ref() == Some(caller.actor())
    }
}

/// Whether changes of entities of this type can be proposed: not those of accounts and settings.
pub fn is_proposable_type(entity_type: &str) -> bool {
    !entity_type.starts_with("dataHub")
        && !["corpuser", "corpGroup", "globalSettings", ENTITY].contains(&entity_type)
}

impl Catalog {
    /// Lists action requests, the newest first, with the number of all that the filter selects; at
    /// most [`MAX_LISTED`] at once.
    pub async fn list_action_requests(
        &self,
        caller: &Caller,
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
        let mut are_hidden = self.are_hidden(&selected).await?.into_iter();
        // One's own can be withdrawn, whatever they are about.
        let lists_own = !filter.decided && filter.entity.is_none();
        selected.retain(|(_, summary)| {
            are_hidden.next() == Some(false) || (lists_own && summary.is_of(caller))
        });
        if filter.concerns_caller {
            let mut decidable = self.are_decidable(caller, &selected).await?.into_iter();
            selected.retain(|(_, summary)| decidable.next() == Some(true) || summary.is_of(caller));
        }
        let total = selected.len();
        let page = selected.into_iter().skip(start);
        let page: Vec<Urn> = page.take(count.min(MAX_LISTED)).map(|it| it.0).collect();
        let read = self.read_requests(caller, &page).await?.into_iter();
        let shown = read.map(|(mut request, is_hidden)| {
            if is_hidden {
                request.changes.clear();
            }
            request
        });
        Ok((shown.collect(), total))
    }

    /// Which of the requests the caller may accept or reject: those that wait, and of which the
    /// caller may make every change.
    pub async fn may_decide(
        &self,
        caller: &Caller,
        requests: &[ActionRequest],
    ) -> Result<Vec<bool>, Error> {
        let changes = requests.iter().flat_map(|it| &it.changes);
        let bytes = changes.map(|it| it.after.as_ref().map_or(0, String::len));
        let is_long = bytes.sum::<usize>() > LONG_TEXT_BYTES;
        let demands = || requests.iter().map(|it| Demands::of(&it.changes)).collect();
        let demands: Vec<Demands> = long_work::run(is_long, demands).await;
        let decisions = requests.iter().zip(self.unmet(caller, &demands).await?);
        let may_decide = |(request, unmet): (&ActionRequest, Option<_>)| {
            request.decision.is_none() && !request.changes.is_empty() && unmet.is_none()
        };
        Ok(decisions.map(may_decide).collect())
    }

    /// The URN of a new request; later ones come first.
    pub(crate) fn new_action_request(&self) -> Result<Urn, Error> {
        let id = self.options.ids.next_id();
        let id = format!("{}-{id}", id_before(self.now_ms()));
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
        // One that has no row was decided or deleted since the list was read.
        let parse = || {
            let found = urns.into_iter().zip(&rows);
            let summaries = found.filter_map(|(urn, row)| Some((urn, aspect_value(row)?)));
            summaries.collect()
        };
        Ok(long_work::run(is_long(&rows), parse).await)
    }

    /// Reads requests, without those about entities that the caller may not see: they contain what
    /// is stored. Reads the caller's own, and says whether they are about such an entity.
    async fn read_requests(
        &self,
        caller: &Caller,
        urns: &[Urn],
    ) -> Result<Vec<(ActionRequest, bool)>, Error> {
        const ASPECTS: [AspectName; 3] = [
            AspectName::ACTION_REQUEST_INFO,
            AspectName::ACTION_REQUEST_RESULT,
            AspectName::ACTION_REQUEST_PENDING,
        ];
        let keys: Vec<AspectKey> = urns
            .iter()
            .flat_map(|urn| ASPECTS.map(|aspect| AspectKey::new(urn, aspect)))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let parse = || {
            let found = urns.iter().zip(rows.chunks(ASPECTS.len()));
            let found = found.filter_map(|(urn, rows)| read_request(urn, rows));
            found.unzip()
        };
        let (requests, summaries): (Vec<ActionRequest>, Vec<(Urn, Summary)>) =
            long_work::run(is_long(&rows), parse).await;
        let are_hidden = self.are_hidden(&summaries).await?;
        let requests = requests.into_iter().zip(are_hidden);
        Ok(requests
            .filter(|(request, is_hidden)| !is_hidden || request.proposer == *caller.actor())
            .collect())
    }
}

/// Whether parsing the rows takes long.
fn is_long(rows: &[AspectRow]) -> bool {
    let bytes = rows.iter().flatten().map(|row| row.metadata.len());
    bytes.sum::<usize>() > LONG_TEXT_BYTES
}

/// A request and its summary, from the rows that it has of its aspects, result and summary last.
fn read_request(urn: &Urn, rows: &[AspectRow]) -> Option<(ActionRequest, (Urn, Summary))> {
    let [info, result, pending] = rows else {
        return None;
    };
    let info: Info = aspect_value(info)?;
    let summary: Option<Summary> = aspect_value(pending).or_else(|| aspect_value(result));
    // That of an older version does not have all.
    let summary = summary.filter(|it| it.proposed.is_some());
    let summary = summary.unwrap_or_else(|| Summary::new(&info.proposer, &info.changes));
    let request = ActionRequest {
        urn: urn.clone(),
        proposer: info.proposer,
        created_at: info.created_at,
        changes: info.changes,
        decision: aspect_value(result),
    };
    Some((request, (urn.clone(), summary)))
}

/// The beginning of the ids of this time: those of later times sort before it.
fn id_before(time_ms: EpochMillis) -> String {
    format!("{:019}", EpochMillis::MAX.saturating_sub(time_ms.max(0)))
}

/// Fails if too many requests wait already. Others may add some, unless all take the lock of
/// [`ENTITY`] first.
pub(crate) async fn check_limits(tx: &mut dyn Transaction, proposer: &Urn) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Pending {
        proposer: Option<String>,
    }
    let aspect = AspectName::ACTION_REQUEST_PENDING;
    let pending = tx.texts_list(ENTITY, aspect, None, MAX_PENDING).await?;
    let is_own = |text: &str| {
        let pending: Option<Pending> = serde_json::from_str(text).ok();
        pending.and_then(|it| it.proposer).as_deref() == Some(proposer.as_str())
    };
    let own = pending.iter().filter(|(_, text)| is_own(text));
    let (whose, limit) = if own.count() >= MAX_PENDING_OF_USER {
        ("of yours", MAX_PENDING_OF_USER)
    } else if pending.len() >= MAX_PENDING {
        ("of all users", MAX_PENDING)
    } else {
        return Ok(());
    };
    Err(Error::conflict(
        ConflictReason::TooManyProposals,
        format!(
            "{limit} proposals {whose} wait for a decision, which is the limit: withdraw some, or wait until some are \
             decided"
        ),
    ))
}

/// The proposals that store a request.
pub(crate) fn new_request(
    urn: &Urn,
    stamp: &AuditStamp,
    changes: Vec<ProposedChange>,
) -> Result<Vec<Proposal>, Error> {
    let mut pending = Summary::new(&stamp.actor, &changes);
    pending.demands = SummaryDemand::of(&changes);
    let decisive = pending.proposed.iter().flatten();
    let decisive: usize = decisive.map(ProposedPart::bytes).sum();
    if decisive > MAX_DECISIVE_BYTES {
        return Err(Error::invalid(format!(
            "the new and moved entities of the proposed change have {decisive} bytes of owners, labels, domains and \
             containers: at most {MAX_DECISIVE_BYTES} can be proposed at once"
        )));
    }
    let pending = text(&pending)?;
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
        Proposal::upsert(urn.clone(), AspectName::ACTION_REQUEST_PENDING, pending),
    ])
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
