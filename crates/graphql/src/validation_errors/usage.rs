//! Searches the syntax tree of a document, including unknown fields.

use apollo_compiler::ast::{Definition, DirectiveList, Document, Selection, Value};
use apollo_compiler::{Name, Node};

/// Whether the test is true for any selection, at any depth.
pub(super) fn any_selection(document: &Document, test: &mut dyn FnMut(&Selection) -> bool) -> bool {
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

/// Whether any argument uses the variable.
pub(super) fn uses_variable(document: &Document, name: &str) -> bool {
    any_selection(document, &mut |selection| {
        let (arguments, directives) = match selection {
            Selection::Field(field) => (field.arguments.as_slice(), &field.directives),
            Selection::InlineFragment(fragment) => ([].as_slice(), &fragment.directives),
            Selection::FragmentSpread(spread) => ([].as_slice(), &spread.directives),
        };
        arguments.iter().any(|it| contains(&it.value, name)) || in_directives(directives, name)
    })
}

fn in_directives(directives: &DirectiveList, name: &str) -> bool {
    directives
        .iter()
        .flat_map(|directive| &directive.arguments)
        .any(|argument| contains(&argument.value, name))
}

fn contains(value: &Node<Value>, name: &str) -> bool {
    match &**value {
        Value::Variable(variable) => variable == name,
        Value::List(items) => items.iter().any(|item| contains(item, name)),
        Value::Object(members) => members.iter().any(|(_, value)| contains(value, name)),
        _ => false,
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
        Value::Object(members) => members.iter().enumerate().find_map(|(at, (name, value))| {
            if members[..at].iter().any(|(earlier, _)| earlier == name) {
                let offset = value.location().map(|span| span.offset());
                return Some((name.clone(), offset));
            }
            repeated_in(value)
        }),
        _ => None,
    }
}
