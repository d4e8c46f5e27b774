//! Which fields an object of a given type has in the reply, and in which order.

use std::collections::{HashMap, HashSet};

use apollo_compiler::executable::{Field, Selection, SelectionSet};
use apollo_compiler::{Name, Node};

use super::Compiler;
use crate::schema::ObjectType;

/// Selections of the same name in the reply, in the order in which the names first occur.
type Groups<'d> = Vec<(&'d str, Vec<&'d Node<Field>>)>;

impl Compiler<'_> {
    /// Fields of all sets that apply to the type. Selections of the same name are one field: what they select
    /// is merged.
    pub(super) fn collect<'d>(&'d self, ty: &ObjectType, sets: &[&'d SelectionSet]) -> Groups<'d> {
        let mut collector = Collector {
            compiler: self,
            ty,
            groups: Vec::new(),
            positions: HashMap::new(),
            spread: HashSet::new(),
        };
        for set in sets {
            collector.add(set);
        }
        collector.groups
    }
}

struct Collector<'c, 'd, 't> {
    compiler: &'d Compiler<'c>,
    ty: &'t ObjectType,
    groups: Groups<'d>,
    positions: HashMap<&'d str, usize>,
    /// Fragments that were added already: adding them again would change nothing.
    spread: HashSet<&'d str>,
}

impl<'d> Collector<'_, 'd, '_> {
    fn add(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            if !self.compiler.conditions.include(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let name = field.response_key().as_str();
                    let index = *self.positions.entry(name).or_insert_with(|| {
                        self.groups.push((name, Vec::new()));
                        self.groups.len() - 1
                    });
                    self.groups[index].1.push(field);
                }
                Selection::InlineFragment(fragment) => {
                    let applies = fragment
                        .type_condition
                        .as_ref()
                        .is_none_or(|condition| self.applies(condition));
                    if applies {
                        self.add(&fragment.selection_set);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = self.compiler.document.fragments.get(&spread.fragment_name);
                    if let Some(fragment) = fragment
                        && self.spread.insert(spread.fragment_name.as_str())
                        && self.applies(fragment.type_condition())
                    {
                        self.add(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn applies(&self, condition: &Name) -> bool {
        *condition == self.ty.name
            || self
                .compiler
                .schema
                .valid
                .is_subtype(condition, &self.ty.name)
    }
}
