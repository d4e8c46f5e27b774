//! Searches the syntax tree of a document, including unknown fields.

use std::collections::HashSet;

use apollo_compiler::ast::{Definition, DirectiveList, Document, Selection, Value};
use apollo_compiler::{Name, Node};

/// Whether the test is true for any selection, at any depth.
fn any_selection(document: &Document, test: &mut dyn FnMut(&Selection) -> bool) -> bool {
    document
        .definitions
        .iter()
        .any(|definition| match definition {
            Definition::OperationDefinition(operation) => any_in(&operation.selection_set, test),
            Definition::FragmentDefinition(fragment) => any_in(&fragment.selection_set, test),
            _ => false,
        })
}

fn any_in(selections: &[Selection], test: &mut dyn FnMut(&Selection) -> bool) -> bool {
    selections.iter().any(|selection| {
        test(selection)
            || match selection {
                Selection::Field(field) => any_in(&field.selection_set, test),
                Selection::InlineFragment(fragment) => any_in(&fragment.selection_set, test),
                Selection::FragmentSpread(_) => false,
            }
    })
}

/// What a document uses anywhere, collected in one pass: a document may have as many errors as it
/// has tokens, and each is looked up here.
#[derive(Debug, Default)]
pub(super) struct Usage<'d> {
    variables: HashSet<&'d str>,
    fragments: HashSet<&'d str>,
    /// The offsets of fields with a selection set.
    selecting_fields: HashSet<usize>,
}

impl<'d> Usage<'d> {
    pub(super) fn of(document: &'d Document) -> Self {
        let mut usage = Self::default();
        for definition in &document.definitions {
            match definition {
                Definition::OperationDefinition(operation) => usage.add(&operation.selection_set),
                Definition::FragmentDefinition(fragment) => usage.add(&fragment.selection_set),
                _ => {}
            }
        }
        usage
    }

    /// Whether any argument uses the variable.
    pub(super) fn uses_variable(&self, name: &str) -> bool {
        self.variables.contains(name)
    }

    pub(super) fn spreads_fragment(&self, name: &str) -> bool {
        self.fragments.contains(name)
    }

    /// Whether the field at this offset has a selection set.
    pub(super) fn has_selection_set(&self, offset: usize) -> bool {
        self.selecting_fields.contains(&offset)
    }

    fn add(&mut self, selections: &'d [Selection]) {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    for argument in &field.arguments {
                        self.add_value(&argument.value);
                    }
                    self.add_directives(&field.directives);
                    if let Some(span) = selection.location()
                        && !field.selection_set.is_empty()
                    {
                        self.selecting_fields.insert(span.offset());
                    }
                    self.add(&field.selection_set);
                }
                Selection::InlineFragment(fragment) => {
                    self.add_directives(&fragment.directives);
                    self.add(&fragment.selection_set);
                }
                Selection::FragmentSpread(spread) => {
                    self.add_directives(&spread.directives);
                    self.fragments.insert(&spread.fragment_name);
                }
            }
        }
    }

    fn add_directives(&mut self, directives: &'d DirectiveList) {
        for argument in directives.iter().flat_map(|it| &it.arguments) {
            self.add_value(&argument.value);
        }
    }

    fn add_value(&mut self, value: &'d Value) {
        match value {
            Value::Variable(name) => {
                self.variables.insert(name);
            }
            Value::List(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => members.iter().for_each(|(_, value)| self.add_value(value)),
            _ => {}
        }
    }
}

/// The name of a member that an input object repeats, and the offset of its second value.
pub(super) fn repeated_member(document: &Document) -> Option<(Name, Option<usize>)> {
    let mut found = None;
    any_selection(document, &mut |selection| {
        let Selection::Field(field) = selection else {
            return false;
        };
        found = field.arguments.iter().find_map(|it| repeated_in(&it.value));
        found.is_some()
    });
    let mut defaults = document.definitions.iter().filter_map(|definition| {
        let operation = definition.as_operation_definition()?;
        let mut defaults = operation
            .variables
            .iter()
            .filter_map(|it| it.default_value.as_ref());
        defaults.find_map(repeated_in)
    });
    found.or_else(|| defaults.next())
}

fn repeated_in(value: &Node<Value>) -> Option<(Name, Option<usize>)> {
    match &**value {
        Value::List(items) => items.iter().find_map(repeated_in),
        Value::Object(members) => {
            let mut names = HashSet::new();
            members.iter().find_map(|(name, value)| {
                if !names.insert(name) {
                    let offset = value.location().map(|span| span.offset());
                    return Some((name.clone(), offset));
                }
                repeated_in(value)
            })
        }
        _ => None,
    }
}
