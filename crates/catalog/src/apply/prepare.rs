//! Checks of a proposal that need no stored state.

use std::sync::OnceLock;

use docent_model::{AspectName, Derived, EntitySpec, Registry, derive};
use docent_store::AspectKey;
use serde_json::Value;

use super::json;
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Catalog, Error, Warning, redaction};

/// A proposal with a valid URN, aspect and payload.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) proposal: Proposal,
    pub(super) entity: &'static EntitySpec,
    /// The payload of a direct write.
    pub(super) payload: Option<Payload>,
    pub(super) warning: Option<Warning>,
}

/// A valid value of an aspect. Its text and the rows derived from it are made at most once, when
/// they are needed.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) value: Value,
    text: OnceLock<String>,
    derived: OnceLock<Derived>,
}

impl Payload {
    /// A value that the server made.
    pub(super) fn of(value: Value) -> Self {
        Self {
            value,
            text: OnceLock::new(),
            derived: OnceLock::new(),
        }
    }

    /// Checks a JSON text against the registry. The text is stored unchanged, unless it has members
    /// that the registry does not know, or the same member several times: only the last of those is
    /// checked and read.
    fn parse(entity: &EntitySpec, aspect: AspectName, text: String) -> Result<Self, Error> {
        let (value, repeated) = json::parse(&text).map_err(|error| {
            Error::invalid_aspect(format!("the value of {aspect} is not JSON: {error}"))
        })?;
        let text = (!repeated).then_some(text);
        Self::check(entity, aspect, value, text)
    }

    /// Checks a value against the registry. `text` is its exact JSON text, if the client sent one.
    pub(super) fn check(
        entity: &EntitySpec,
        aspect: AspectName,
        mut value: Value,
        text: Option<String>,
    ) -> Result<Self, Error> {
        let trimmed = Registry::get().validate(entity, aspect, &mut value)?;
        let payload = Self::of(value);
        if let Some(text) = text.filter(|_| !trimmed) {
            payload.text.get_or_init(|| text);
        }
        Ok(payload)
    }

    pub(super) fn text(&self) -> &str {
        self.text.get_or_init(|| json::write(&self.value))
    }

    /// Whether the payload has this text. If it has no text yet, compare the values.
    pub(super) fn has_text(&self, text: &str) -> bool {
        self.text.get().is_some_and(|own| own == text)
    }

    pub(super) fn derived(&self, key: &AspectKey) -> &Derived {
        let derive = || derive(&key.urn, key.aspect, &self.value);
        self.derived.get_or_init(derive)
    }
}

impl Prepared {
    /// The payload takes the text out of the change.
    pub(super) fn check(mut proposal: Proposal) -> Result<Self, Error> {
        let checked = Self::parts(&mut proposal);
        let (entity, payload) = checked.map_err(|error| about_proposal(error, &proposal))?;
        let warning = key_warning(&proposal, entity, payload.as_ref());
        Ok(Self {
            proposal,
            entity,
            payload,
            warning,
        })
    }

    fn parts(proposal: &mut Proposal) -> Result<(&'static EntitySpec, Option<Payload>), Error> {
        let registry = Registry::get();
        let entity = registry.check_stored_urn(&proposal.urn)?;
        if let Some(aspect) = proposal.change.aspect() {
            entity.check_aspect(aspect)?;
        }
        let payload = match &mut proposal.change {
            Change::Upsert { aspect, text }
            | Change::Create { aspect, text }
            | Change::CreateEntity { aspect, text } => {
                let payload = Payload::parse(entity, *aspect, std::mem::take(text))?;
                // Derived here, while no other writer waits for the transaction.
                payload.derived(&AspectKey::new(&proposal.urn, *aspect));
                Some(payload)
            }
            Change::Patch { aspect, .. } => {
                check_patchable(*aspect, entity)?;
                None
            }
            Change::Edit { .. }
            | Change::RollbackRun { .. }
            | Change::RemoveReferences { .. }
            | Change::SetSystemProperty { .. }
            | Change::ReplaceSystemProperty { .. }
            | Change::RaiseSystemTime { .. }
            | Change::DeletePoints { .. }
            | Change::DeleteAspect { .. }
            | Change::Clear
            | Change::DeleteEntity
            | Change::EndSessions { .. }
            | Change::LimitTokens { .. }
            | Change::RevokeAccess => None,
        };
        check_versioned(proposal)?;
        Ok((entity, payload))
    }
}

/// Some connectors send a key aspect that says something else than the URN, and DataHub accepts it.
/// What is stored follows from the URN.
fn key_warning(
    proposal: &Proposal,
    entity: &EntitySpec,
    payload: Option<&Payload>,
) -> Option<Warning> {
    let aspect = proposal.change.aspect()?;
    let sent = &payload.filter(|_| aspect == entity.key_aspect)?.value;
    let key = Registry::get().key_aspect_value(&proposal.urn)?;
    let message = format!("the value differs from the URN, so this is stored: {key}");
    (key != *sent).then(|| Warning::about(proposal.subject(), message))
}

fn check_patchable(aspect: AspectName, entity: &EntitySpec) -> Result<(), Error> {
    if Catalog::is_secret(aspect) || redaction::has_secret(aspect) {
        // A patch can test the stored value, and copy it.
        return Err(Error::invalid_aspect(format!(
            "{aspect} holds secrets, so it can only be replaced as a whole"
        )));
    }
    if aspect == entity.key_aspect {
        return Err(Error::invalid_aspect(format!(
            "{aspect} follows from the URN, so it cannot be patched"
        )));
    }
    if Registry::get().is_timeseries(aspect) {
        return Err(Error::invalid_aspect(format!(
            "{aspect} is a time series: points can be added but not patched"
        )));
    }
    Ok(())
}

/// Preconditions on versions and times need a versioned aspect.
fn check_versioned(proposal: &Proposal) -> Result<(), Error> {
    let aspect = proposal.change.aspect();
    match aspect.filter(|aspect| Registry::get().is_timeseries(*aspect)) {
        Some(aspect) if proposal.requirements.iter().any(Requirement::is_condition) => {
            Err(Error::invalid_aspect(format!(
                "{aspect} is a time series, which has no versions: write it without preconditions"
            )))
        }
        _ => Ok(()),
    }
}

/// Makes the proposal the subject of an error, unless the error already has the position of an
/// item.
pub(crate) fn about_proposal(error: Error, proposal: &Proposal) -> Error {
    if error.subject().position.is_some() {
        return error;
    }
    error.about(proposal.subject())
}
