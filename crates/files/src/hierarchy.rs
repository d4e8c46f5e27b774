//! Which entity is inside which after an apply, to find cycles before the catalog does.

use std::collections::HashMap;

use docent_model::{Urn, shorten};
use serde_json::Value;

use crate::compare::{EntityPlan, Outcome};
use crate::entity::{Entity, PartId};
use crate::kinds::Kind;
use crate::values::part_values;
use crate::yaml::Problem;

/// The parents of entities; `None` at the top level, or if there is no such entity.
#[derive(Debug, Default)]
pub struct Hierarchy {
    parents: HashMap<Urn, Option<Urn>>,
}

/// An entity that a plan moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub urn: Urn,
    pub line: usize,
}

impl Hierarchy {
    /// Adds an entity as the catalog has it, unless a plan changes it.
    pub fn add(&mut self, kind: &Kind, urn: &Urn, entity: Option<&Entity>) {
        if self.parents.contains_key(urn) {
            return;
        }
        let values = entity.map(|entity| part_values(kind, entity));
        let id = kind.parent.map(|key| PartId { column: None, key });
        let parent = id.and_then(|id| values?.remove(&id));
        let parent = parent.and_then(|parent| Urn::parse(parent.as_str()?).ok());
        self.parents.insert(urn.clone(), parent);
    }

    /// Adds the parent of a plan; returns it if the entity moves into another one.
    pub fn add_plan(&mut self, plan: &EntityPlan) -> Option<Move> {
        let key = plan.kind.parent?;
        let mut differences = plan.differences.iter();
        let change = differences.find(|it| it.part.key == key && it.outcome == Outcome::Change)?;
        let parent = change.file.as_ref().and_then(Value::as_str);
        let parent = parent.and_then(|parent| Urn::parse(parent).ok());
        let is_inside = parent.is_some();
        self.parents.insert(plan.urn.clone(), parent);
        is_inside.then(|| Move {
            urn: plan.urn.clone(),
            line: change.line,
        })
    }

    /// The next ancestor of a move that was not added yet.
    pub fn unknown<'h>(&'h self, of: &'h Move) -> Option<&'h Urn> {
        let last = self.path(&of.urn).pop()?;
        (!self.parents.contains_key(last)).then_some(last)
    }

    /// The error of a move into what is inside the moved entity.
    pub fn problem(&self, of: &Move) -> Option<Problem> {
        let path = self.path(&of.urn);
        let last = path
            .last()
            .filter(|last| path.len() > 1 && **last == &of.urn)?;
        let path = path.iter().map(|urn| shorten(urn.as_str()));
        let message = format!(
            "{last} cannot be inside itself ({}): choose another parent",
            path.collect::<Vec<_>>().join(" in ")
        );
        Some(Problem::new(of.line, message))
    }

    /// The entity and its ancestors, until one is not known or occurs again.
    fn path<'h>(&'h self, urn: &'h Urn) -> Vec<&'h Urn> {
        let mut path = vec![urn];
        while let Some(Some(parent)) = path.last().and_then(|last| self.parents.get(*last)) {
            let is_cycle = path.contains(&parent);
            path.push(parent);
            if is_cycle {
                break;
            }
        }
        path
    }
}
