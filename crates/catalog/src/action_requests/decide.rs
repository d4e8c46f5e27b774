//! Accepts, rejects and withdraws requests.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, AspectRow, ReadRequest};
use serde::Serialize;
use serde_json::Value;

use super::demands;
use super::merge::{Conflict, merge};
use super::{
    ActionRequest, Decision, ENTITY, MAX_LISTED, Outcome, ProposedChange, Summary, Verdict,
    id_before, text,
};
use crate::access::{Grant, denied};
use crate::domains::name_taken;
use crate::limits::check_note;
use crate::privilege::PROPOSE_CHANGES;
use crate::proposal::{Change, Privileges, Proposal, Requirement, unreadable};
use crate::request_demands::Demands;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorSubject};

/// How long a decided request is kept.
const KEPT_MS: EpochMillis = 90 * 24 * 60 * 60 * 1000;
/// How many outdated requests each decision deletes.
const DELETED_AT_ONCE: usize = 10;

#[derive(Debug, Serialize)]
struct StoredResult<'a> {
    #[serde(flatten)]
    decision: &'a Decision,
    #[serde(flatten)]
    summary: &'a Summary,
}

impl Catalog {
    /// Accepts requests, which applies their changes with the rights of the caller, or rejects
    /// them: all or none, at most [`MAX_LISTED`]. The proposer may withdraw a request; anybody else
    /// must be allowed to make its changes.
    pub async fn decide_action_requests(
        &self,
        caller: &Caller,
        urns: &[Urn],
        verdict: Verdict,
        note: Option<&str>,
    ) -> Result<(), Error> {
        check_note("the note", note)?;
        if urns.len() > MAX_LISTED {
            return Err(Error::invalid(format!(
                "{} proposals are too many for one request: send at most {MAX_LISTED}",
                urns.len()
            )));
        }
        let mut found: HashMap<Urn, (ActionRequest, bool)> = self
            .read_requests(caller, urns)
            .await?
            .into_iter()
            .map(|it| (it.0.urn.clone(), it))
            .collect();
        let mut seen = HashSet::new();
        let mut proposals = Vec::new();
        for (index, urn) in urns.iter().enumerate().filter(|(_, urn)| seen.insert(*urn)) {
            let position = (urns.len() > 1).then_some(index);
            let decided = self.decided(caller, urn, found.remove(urn), verdict, note);
            let decided = decided.await.map_err(|error| match position {
                Some(_) => error.about(ErrorSubject::entity(urn).at(position)),
                None => error,
            })?;
            proposals.extend(decided.into_iter().map(|mut proposal| {
                proposal.position = position;
                proposal
            }));
        }
        self.apply(caller, proposals).await?;
        if let Err(error) = self.delete_outdated().await {
            tracing::warn!(%error, "outdated proposals could not be deleted");
        }
        Ok(())
    }

    /// What decides a request that was read: its result, and the changes of one that is accepted.
    async fn decided(
        &self,
        caller: &Caller,
        urn: &Urn,
        request: Option<(ActionRequest, bool)>,
        verdict: Verdict,
        note: Option<&str>,
    ) -> Result<Vec<Proposal>, Error> {
        urn.expect_type(ENTITY)?;
        let (request, is_hidden) = request.ok_or_else(|| missing(urn))?;
        if request.decision.is_some() {
            return Err(decided_already(urn));
        }
        let result = match verdict {
            Verdict::Accept if is_hidden => return Err(missing(urn)),
            Verdict::Accept => Outcome::Accepted,
            Verdict::Reject if request.proposer == *caller.actor() => Outcome::Withdrawn,
            Verdict::Reject => Outcome::Rejected,
        };
        if result == Outcome::Withdrawn {
            self.check_withdrawal(caller, &request).await?;
        }
        let decision = Decision {
            result,
            note: note.map(str::to_owned),
            actor: caller.actor().clone(),
            decided_at: self.now_ms(),
        };
        let mut proposals = recorded(&request, &decision)?;
        if result == Outcome::Accepted {
            for change in request.changes {
                proposals.push(accepted(change)?);
            }
        }
        Ok(proposals)
    }

    /// Users may always withdraw their own; their tokens may if the scope allows to propose it.
    async fn check_withdrawal(
        &self,
        caller: &Caller,
        request: &ActionRequest,
    ) -> Result<(), Error> {
        let Some(scope) = caller.scope() else {
            return Ok(());
        };
        let urns: BTreeSet<&Urn> = request.changes.iter().map(|change| &change.urn).collect();
        let privileges = &[PROPOSE_CHANGES];
        for urn in urns {
            if let Grant::Missing(_) = self.grant(caller, privileges, Some(urn)).await? {
                let denied = denied(caller.actor(), Some(scope), privileges, Some(urn));
                return self.audited(caller, Err(denied)).await;
            }
        }
        Ok(())
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

/// The proposals that record a decision. They fail if there is one already. A rejection needs the
/// privileges for all changes; those of accepted changes are checked with each.
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
    let mut proposals = [
        Proposal::new(urn.clone(), Change::DeleteAspect { aspect })
            .requires_value(urn, aspect, waits),
        Proposal::upsert(
            urn.clone(),
            AspectName::ACTION_REQUEST_RESULT,
            text(&result)?,
        ),
    ]
    .map(Proposal::authorized);
    if decision.result == Outcome::Rejected {
        let demands = Arc::new(Demands::of(&request.changes));
        proposals[0].privileges = Privileges::OfOthers(demands);
    }
    Ok(proposals.into())
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
    let (privileges, privileges_if_new) = demands::by_existence(&change.privileges);
    let privileges = Privileges::AnyOf {
        privileges: privileges.into(),
        if_new: privileges_if_new.into(),
    };
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
            let (before, current) = (before.as_ref(), current.as_ref());
            let is_changed = current != before && current != Some(&after);
            // Users give an entity one domain, so two of them do not merge.
            if aspect == AspectName::DOMAINS && is_changed {
                return Err(conflict());
            }
            merge(before, Some(&after), current).map_err(|Conflict| conflict())
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
    for urn in change.requires {
        let message = format!("{urn} does not exist any more: reject the proposal");
        proposal = proposal.requires_existing(&urn, message);
    }
    if change.unique_name {
        let otherwise = name_taken;
        proposal = proposal.requires(Requirement::UniqueSiblingName { otherwise });
    }
    proposal.privileges = privileges;
    Ok(if is_new {
        proposal
    } else {
        proposal.requires_target()
    })
}

fn missing(urn: &Urn) -> Error {
    Error::not_found(format!("{urn} does not exist")).naming(urn)
}

fn decided_already(urn: &Urn) -> Error {
    let message = format!("{urn} has been decided already");
    Error::conflict(ConflictReason::ChangedMeanwhile, message).naming(urn)
}
