//! What a list changes, for the audit log.

use std::collections::HashMap;

use docent_model::{AspectName, LogicalVersion, Registry, Urn};
use docent_store::{
    AspectChange, AspectKey, AspectWrite, AuditEvent, AuditItem, AuditRecord, Effect,
};

use crate::action_requests;
use crate::caller::add_policy;

/// The changes of a list so far, by entity.
#[derive(Default)]
pub(super) struct Trail {
    entities: Vec<(Urn, Vec<Step>)>,
    /// The index in `entities`.
    known: HashMap<Urn, usize>,
    policies: Vec<Urn>,
    /// Whether anything has changed; sessions are not listed.
    has_changes: bool,
}

struct Step {
    aspect: AspectName,
    before: Option<LogicalVersion>,
    after: Option<LogicalVersion>,
}

impl Trail {
    /// Records a write. `before` is the version that a deletion deletes.
    pub(super) fn push(&mut self, write: &AspectWrite, before: Option<LogicalVersion>) {
        let AspectKey { urn, aspect } = &write.key;
        let (before, after) = match &write.effect {
            Effect::Put {
                history,
                logical_version,
                ..
            } => {
                let before = history.as_ref().map(|row| row.version.get());
                (before.map(LogicalVersion::new), Some(*logical_version))
            }
            Effect::Revert {
                logical_version, ..
            } => {
                let before = LogicalVersion::new(logical_version.get().saturating_sub(1));
                (Some(before), Some(*logical_version))
            }
            Effect::Delete { .. } => (before, None),
            Effect::Timeseries(_) | Effect::DeletePoints(_) => (None, None),
            // The value stays the same.
            Effect::Touch { .. } => return,
        };
        self.has_changes = true;
        if let Effect::Put { row, .. } = &write.effect {
            for subject in action_requests::subjects(&write.key, &row.metadata) {
                self.steps_of(&subject);
            }
        }
        let Some(steps) = self.steps_of(urn) else {
            return;
        };
        match steps.iter_mut().find(|step| step.aspect == *aspect) {
            Some(step) => step.after = after,
            None => steps.push(Step {
                aspect: *aspect,
                before,
                after,
            }),
        }
    }

    /// Records a policy that allowed a change.
    pub(super) fn allowed_by(&mut self, policy: &Urn) {
        add_policy(&mut self.policies, policy);
    }

    /// The event with everything that was recorded; `None` if nothing has changed.
    pub(super) fn record(self, mut event: AuditEvent) -> Option<AuditRecord> {
        if !self.has_changes {
            return None;
        }
        for policy in self.policies {
            if !event.policies.iter().any(|known| known == policy.as_str()) {
                event.policies.push(policy.to_string());
            }
        }
        let items: Vec<AuditItem> = self.entities.into_iter().map(item).collect();
        event.entities = items.len() as u64;
        Some(AuditRecord { event, items })
    }

    /// The changes of an entity; `None` if its type is internal, except for proposals.
    fn steps_of(&mut self, urn: &Urn) -> Option<&mut Vec<Step>> {
        // Writes to an entity usually follow each other.
        let is_last = self.entities.last().is_some_and(|(last, _)| last == urn);
        let index = if is_last {
            self.entities.len() - 1
        } else if let Some(index) = self.known.get(urn) {
            *index
        } else {
            if urn.entity_type() != action_requests::ENTITY {
                Registry::get().entity(urn.entity_type())?;
            }
            self.known.insert(urn.clone(), self.entities.len());
            self.entities.push((urn.clone(), Vec::new()));
            self.entities.len() - 1
        };
        self.entities.get_mut(index).map(|(_, steps)| steps)
    }
}

fn item((urn, steps): (Urn, Vec<Step>)) -> AuditItem {
    let change = |step: Step| AspectChange {
        aspect: step.aspect.to_string(),
        before: step.before,
        after: step.after,
    };
    AuditItem {
        urn: urn.to_string(),
        changes: steps.into_iter().map(change).collect(),
    }
}
