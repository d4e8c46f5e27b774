//! Syntax and validation errors, in the format of DataHub's API:
//! `Validation error (FieldUndefined@[dataset/foo]) : Field 'foo' in type 'Dataset' is undefined`.

mod usage;

use apollo_compiler::ast::{Definition, Document, Selection};
use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::validation::{DiagnosticData, DiagnosticList};

use crate::error::{Classification, MAX_ERRORS, Position, RequestError};
use usage::Usage;

/// The syntax errors of a text. Only the first is reported; the others are usually consequences of
/// it.
pub(crate) fn syntax(text: &str, errors: &DiagnosticList) -> Vec<RequestError> {
    let Some(first) = errors.iter().next() else {
        return vec![RequestError::new(
            Classification::InvalidSyntax,
            "Invalid syntax",
        )];
    };
    let message = first.error.to_string();
    let message = message.strip_prefix("syntax error: ").unwrap_or(&message);
    let position = first.error.location().map(|span| {
        let before = text.get(..span.offset()).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    });
    let location = position.map_or_else(String::new, |position| {
        format!(" at line {} column {}", position.line, position.column)
    });
    vec![RequestError {
        message: format!("Invalid syntax{location}: {message}"),
        positions: position.into_iter().collect(),
        classification: Classification::InvalidSyntax,
    }]
}

/// The validation errors of a document.
pub(crate) fn validation(
    document: &Document,
    errors: &DiagnosticList,
    position: &dyn Fn(usize) -> Position,
) -> Vec<RequestError> {
    // Only unknown fields and types have consequences, so at least one error remains.
    let has_unknown = errors.iter().any(|diagnostic| {
        let name = diagnostic.error.unstable_error_name();
        name.is_some_and(|name| {
            name.starts_with("UndefinedField") || name.starts_with("UndefinedType")
        })
    });
    let usage = has_unknown.then(|| Usage::of(document));
    let is_reported = |error: &DiagnosticData| {
        let usage = usage.as_ref();
        !usage.is_some_and(|usage| is_consequence(usage, error))
    };
    let count = errors.iter().filter(|it| is_reported(it.error)).count();
    let listed = if count > MAX_ERRORS {
        MAX_ERRORS - 1
    } else {
        count
    };
    let mut reported: Vec<_> = errors
        .iter()
        .filter(|diagnostic| is_reported(diagnostic.error))
        .take(listed)
        .map(|diagnostic| {
            let error = diagnostic.error;
            let text = error.to_string();
            let offset = error.location().map(|span| span.offset());
            let path = offset.map_or_else(Vec::new, |offset| path_to(document, offset));
            let (kind, message) = describe(error.unstable_error_name(), &text, &path);
            let location = if path.is_empty() {
                String::new()
            } else {
                format!("@[{}]", path.join("/"))
            };
            RequestError {
                message: format!("Validation error ({kind}{location}) : {message}"),
                positions: offset.map(position).into_iter().collect(),
                classification: Classification::ValidationError,
            }
        })
        .collect();
    if count > listed {
        reported.push(RequestError::new(
            Classification::ValidationError,
            format!(
                "Validation error : {} more errors are left out",
                count - listed
            ),
        ));
    }
    reported
}

/// The error of an input object with a repeated field.
pub(crate) fn repeated_input_field(
    document: &Document,
    position: &dyn Fn(usize) -> Position,
) -> Option<RequestError> {
    let (name, offset) = usage::repeated_member(document)?;
    let path = offset.map_or_else(Vec::new, |offset| path_to(document, offset));
    Some(RequestError {
        message: format!(
            "Validation error (UniqueInputFieldNames@[{}]) : There can be only one input field named '{name}'",
            path.join("/")
        ),
        positions: offset.map(position).into_iter().collect(),
        classification: Classification::ValidationError,
    })
}

/// Whether an error is a consequence of an unknown field: the parser drops unknown fields, so the
/// selection around them may be empty, and the variables and fragments in them unused.
fn is_consequence(usage: &Usage<'_>, error: &DiagnosticData) -> bool {
    let text = || error.to_string();
    let name = |text: &str| text.split('`').nth(1).unwrap_or_default().to_owned();
    match error.unstable_error_name() {
        Some("MissingSubselection") => error
            .location()
            .is_some_and(|span| usage.has_selection_set(span.offset())),
        Some("UnusedVariable") => usage.uses_variable(name(&text()).trim_start_matches('$')),
        Some("UnusedFragment") => usage.spreads_fragment(&name(&text())),
        _ => false,
    }
}

/// Error names of apollo-compiler and graphql-java, and a message. `{1}` and `{2}` are the names in
/// apollo-compiler's message, `{field}` is the field with the error. If the message is empty,
/// apollo-compiler's message is used.
const KINDS: &[(&str, &str, &str)] = &[
    (
        "UndefinedField",
        "FieldUndefined",
        "Field '{2}' in type '{1}' is undefined",
    ),
    (
        "UndefinedArgument",
        "UnknownArgument",
        "Unknown field argument '{1}'",
    ),
    (
        "RequiredArgument",
        "MissingFieldArgument",
        "Missing field argument '{1}'",
    ),
    ("UnsupportedValueType", "WrongType", ""),
    ("UndefinedEnumValue", "WrongType", ""),
    ("UndefinedInputValue", "WrongType", ""),
    ("RequiredField", "WrongType", ""),
    ("IntCoercionError", "WrongType", ""),
    ("FloatCoercionError", "WrongType", ""),
    (
        "MissingSubselection",
        "SubselectionRequired",
        "Subselection required for field '{field}'",
    ),
    (
        "SubselectionOnScalarType",
        "SubselectionNotAllowed",
        "Subselection not allowed on leaf type '{1}' of field '{field}'",
    ),
    (
        "SubselectionOnEnumType",
        "SubselectionNotAllowed",
        "Subselection not allowed on leaf type '{1}' of field '{field}'",
    ),
    ("UndefinedDefinition", "UnknownType", "Unknown type '{1}'"),
    (
        "UndefinedTypeInNamedFragmentTypeCondition",
        "UnknownType",
        "Unknown type '{1}'",
    ),
    (
        "UndefinedTypeInInlineFragmentTypeCondition",
        "UnknownType",
        "Unknown type '{1}'",
    ),
    (
        "UndefinedDirective",
        "UnknownDirective",
        "Unknown directive '{1}'",
    ),
    ("UnsupportedLocation", "MisplacedDirective", ""),
    ("UniqueDirective", "DuplicateDirectiveName", ""),
    (
        "UndefinedVariable",
        "UndefinedVariable",
        "Undefined variable '{1}'",
    ),
    ("UnusedVariable", "UnusedVariable", "Unused variable '{1}'"),
    (
        "UniqueVariable",
        "DuplicateVariableName",
        "There can be only one variable named '{1}'",
    ),
    ("VariableInputType", "NonInputTypeOnVariable", ""),
    ("DisallowedVariableUsage", "VariableTypeMismatch", ""),
    (
        "UniqueArgument",
        "DuplicateArgumentNames",
        "There can be only one argument named '{1}'",
    ),
    ("UniqueInputValue", "UniqueObjectFieldName", ""),
    ("UnusedFragment", "UnusedFragment", "Unused fragment '{1}'"),
    (
        "UndefinedFragment",
        "UndefinedFragment",
        "Undefined fragment '{1}'",
    ),
    (
        "RecursiveFragmentDefinition",
        "FragmentCycle",
        "Fragment '{1}' must not spread itself",
    ),
    ("InvalidFragmentTarget", "FragmentTypeConditionInvalid", ""),
    ("InvalidFragmentSpread", "InvalidFragmentType", ""),
    (
        "FragmentNameCollision",
        "DuplicateFragmentName",
        "There can be only one fragment named '{1}'",
    ),
    (
        "AmbiguousAnonymousOperation",
        "LoneAnonymousOperationViolation",
        "An anonymous operation must be the only operation of the document",
    ),
    (
        "OperationNameCollision",
        "DuplicateOperationName",
        "There can be only one operation named '{1}'",
    ),
    (
        "UndefinedRootOperation",
        "UnknownOperation",
        "The schema does not support the operation '{1}'",
    ),
    ("TypeSystemDefinition", "NonExecutableDefinition", ""),
    ("ConflictingFieldType", "FieldsConflict", ""),
    ("ConflictingFieldName", "FieldsConflict", ""),
    ("ConflictingFieldArgument", "FieldsConflict", ""),
    (
        "SubscriptionUsesMultipleFields",
        "SubscriptionMultipleRootFields",
        "",
    ),
    (
        "SubscriptionUsesIntrospection",
        "SubscriptionIntrospectionRootField",
        "",
    ),
];

/// The kind and the message of an error. `text` is apollo-compiler's message, with names in
/// backticks.
fn describe(name: Option<&str>, text: &str, path: &[&str]) -> (&'static str, String) {
    let known = KINDS.iter().find(|(apollo, ..)| Some(*apollo) == name);
    let (_, mut kind, sentence) = *known.unwrap_or(&("", "InvalidDocument", ""));
    if sentence.is_empty() {
        let mut text = text.replace('`', "'");
        if let Some(initial) = text.get_mut(..1) {
            initial.make_ascii_uppercase();
        }
        return (kind, text);
    }
    let mut names = text.split('`').skip(1).step_by(2);
    let first = names.next().unwrap_or_default();
    let second = names.next().unwrap_or_default();
    // Arguments include their field or directive: `Query.dataset(urn:)`, `@include(if:)`.
    let argument = first.rsplit_once('(').map_or(first, |(_, rest)| rest);
    let mut sentence = sentence
        .replace("{1}", argument.trim_matches(['@', '$', ':', ')']))
        .replace("{2}", second)
        .replace("{field}", path.last().copied().unwrap_or_default());
    if first.starts_with('@') && kind == "MissingFieldArgument" {
        kind = "MissingDirectiveArgument";
        sentence = sentence.replace("field", "directive");
    }
    if second.starts_with('@') && kind == "UnknownArgument" {
        kind = "UnknownDirective";
        sentence = sentence.replace("field", "directive");
    }
    (kind, sentence)
}

/// The names of the fields around an offset, outermost first. In a fragment, the path starts with
/// its name.
fn path_to(document: &Document, offset: usize) -> Vec<&str> {
    let mut path = Vec::new();
    for definition in &document.definitions {
        let encloses = definition
            .location()
            .is_some_and(|span| (span.offset()..span.end_offset()).contains(&offset));
        if !encloses {
            continue;
        }
        match definition {
            Definition::OperationDefinition(operation) => {
                descend(&operation.selection_set, offset, &mut path);
            }
            Definition::FragmentDefinition(fragment) => {
                path.push(fragment.name.as_str());
                descend(&fragment.selection_set, offset, &mut path);
            }
            _ => {}
        }
        break;
    }
    path
}

fn descend<'d>(selections: &'d [Selection], offset: usize, path: &mut Vec<&'d str>) {
    for selection in selections {
        let encloses = selection
            .location()
            .is_some_and(|span| (span.offset()..span.end_offset()).contains(&offset));
        if !encloses {
            continue;
        }
        match selection {
            Selection::Field(field) => {
                path.push(field.name.as_str());
                descend(&field.selection_set, offset, path);
            }
            Selection::InlineFragment(fragment) => descend(&fragment.selection_set, offset, path),
            Selection::FragmentSpread(_) => {}
        }
        return;
    }
}

#[cfg(test)]
mod tests;
