//! What can be said about a proposal by looking at it alone.

use docent_model::{AspectName, Derived, EntitySpec, Registry, Urn, derive};
use serde_json::Value;

use super::json;
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Catalog, Error, ErrorSubject};

/// A proposal whose URN, aspect and payload are right in themselves.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) proposal: Proposal,
    pub(super) entity: &'static EntitySpec,
    /// The payload of a direct write.
    pub(super) payload: Option<Payload>,
}

/// A valid value of an aspect, with what follows from it.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) text: String,
    pub(super) value: Value,
    pub(super) derived: Derived,
}

impl Payload {
    /// A value that we made ourselves.
    pub(super) fn of(urn: &Urn, aspect: AspectName, value: Value) -> Self {
        Self {
            text: value.to_string(),
            derived: derive(urn, aspect, &value),
            value,
        }
    }

    /// Checks a JSON text against the registry. The text is kept as it is unless members that the registry
    /// does not know had to be removed, or members stand in it several times: only the last is checked and may be read.
    pub(super) fn parse(
        proposal: &Proposal,
        entity: &EntitySpec,
        aspect: AspectName,
        text: &str,
    ) -> Result<Self, Error> {
        let (value, repeated) = json::parse(text).map_err(|error| {
            Error::invalid_aspect(format!("the value of {aspect} is not JSON: {error}"))
        })?;
        let text = (!repeated).then_some(text);
        Self::check(proposal, entity, aspect, value, text)
    }

    /// Checks a value against the registry. `text` is what it was parsed from, if it came as a text that says the same.
    pub(super) fn check(
        proposal: &Proposal,
        entity: &EntitySpec,
        aspect: AspectName,
        mut value: Value,
        text: Option<&str>,
    ) -> Result<Self, Error> {
        let trimmed = Registry::get().validate(entity, aspect, &mut value)?;
        let text = match text {
            Some(text) if !trimmed => text.to_owned(),
            _ => value.to_string(),
        };
        Ok(Self {
            derived: derive(&proposal.urn, aspect, &value),
            text,
            value,
        })
    }
}

impl Prepared {
    pub(super) fn check(proposal: Proposal) -> Result<Self, Error> {
        let checked = Self::parts(&proposal);
        let (entity, payload) = checked.map_err(|error| about_proposal(error, &proposal))?;
        Ok(Self {
            proposal,
            entity,
            payload,
        })
    }

    fn parts(proposal: &Proposal) -> Result<(&'static EntitySpec, Option<Payload>), Error> {
        let registry = Registry::get();
        let entity = registry.check_urn(&proposal.urn)?;
        if let Some(aspect) = proposal.change.aspect() {
            entity.check_aspect(aspect)?;
        }
        let payload = match &proposal.change {
            Change::Upsert { aspect, text }
            | Change::Create { aspect, text }
            | Change::CreateEntity { aspect, text } => {
                let payload = Payload::parse(proposal, entity, *aspect, text)?;
                if *aspect == entity.key_aspect
                    && registry.key_aspect_value(&proposal.urn).as_ref() != Some(&payload.value)
                {
                    let message = format!(
                        "the {aspect} aspect does not say the same as the URN {}",
                        proposal.urn
                    );
                    return Err(Error::invalid_aspect(message).naming(&proposal.urn));
                }
                Some(payload)
            }
            Change::Patch { aspect, .. } => {
                check_patchable(*aspect, entity)?;
                None
            }
            Change::Edit { .. }
            | Change::TakeBack { .. }
            | Change::TakeOut { .. }
            | Change::Note { .. }
            | Change::DeletePoints { .. }
            | Change::DeleteAspect { .. }
            | Change::Clear
            | Change::DeleteEntity => None,
        };
        check_versioned(proposal)?;
        Ok((entity, payload))
    }
}

fn check_patchable(aspect: AspectName, entity: &EntitySpec) -> Result<(), Error> {
    if Catalog::is_secret(aspect) {
        // A patch can test what is stored.
        return Err(Error::invalid_aspect(format!(
            "{aspect} holds secrets, so it can only be written whole"
        )));
    }
    if aspect == entity.key_aspect {
        return Err(Error::invalid_aspect(format!(
            "{aspect} follows from the URN, so it cannot be patched"
        )));
    }
    if Registry::get().is_timeseries(aspect) {
        return Err(Error::invalid_aspect(format!(
            "{aspect} is a time series: its points are added, and cannot be patched"
        )));
    }
    Ok(())
}

/// Conditions on versions and times need an aspect that has them.
fn check_versioned(proposal: &Proposal) -> Result<(), Error> {
    let aspect = proposal.change.aspect();
    match aspect.filter(|aspect| Registry::get().is_timeseries(*aspect)) {
        Some(aspect) if proposal.requirements.iter().any(Requirement::is_condition) => {
            Err(Error::invalid_aspect(format!(
                "{aspect} is a time series, which has no versions: write it without conditions"
            )))
        }
        _ => Ok(()),
    }
}

/// Makes the proposal the subject of an error, unless the error already has the position of an item. An edit
/// has no position: the client did not send it as an item.
pub(crate) fn about_proposal(error: Error, proposal: &Proposal) -> Error {
    if error.subject().position.is_some() {
        return error;
    }
    let is_edit = matches!(proposal.change, Change::Edit { .. });
    let subject = ErrorSubject::entity(&proposal.urn)
        .with_aspect(proposal.change.aspect())
        .at(proposal.position.filter(|_| !is_edit));
    error.about(subject)
}
