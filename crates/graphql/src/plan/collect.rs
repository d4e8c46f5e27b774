//! Field collection: the fields of an object in the order of the reply.

use std::collections::{HashMap, HashSet};

use apollo_compiler::executable::{Field, Selection, SelectionSet};
use apollo_compiler::{Name, Node};

use super::Compiler;
use crate::document::OperationVariant;
use crate::schema::ObjectType;

/// Selections by response name, in the order in which the names first occur.
type FieldGroups<'d> = Vec<(&'d str, Vec<&'d Node<Field>>)>;

impl<'c> Compiler<'c> {
    /// Collects the fields of all selection sets that apply to a type, merged by response name.
    pub(super) fn collect<'d>(&self, ty: &ObjectType, sets: &[&'d SelectionSet]) -> FieldGroups<'d>
    where
        'c: 'd,
    {
        let mut collector = Collector {
            variant: self.variant,
            ty,
            groups: Vec::new(),
            indexes: HashMap::new(),
            fragments: HashSet::new(),
        };
        for set in sets {
            collector.add(set);
        }
        collector.groups
    }
}

struct Collector<'d, 't> {
    variant: OperationVariant<'d>,
    ty: &'t ObjectType,
    groups: FieldGroups<'d>,
    indexes: HashMap<&'d str, usize>,
    /// Fragments that were added; a second spread adds nothing.
    fragments: HashSet<&'d str>,
}

impl<'d> Collector<'d, '_> {
    fn add(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            if !self.variant.includes(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let name = field.response_key().as_str();
                    let index = *self.indexes.entry(name).or_insert_with(|| {
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
                    let fragment = self.variant.fragments().get(&spread.fragment_name);
                    if let Some(fragment) = fragment
                        && self.fragments.insert(spread.fragment_name.as_str())
                        && self.applies(fragment.type_condition())
                    {
                        self.add(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn applies(&self, condition: &Name) -> bool {
        let schema = &self.variant.schema.valid;
        *condition == self.ty.name || schema.is_subtype(condition, &self.ty.name)
    }
}
