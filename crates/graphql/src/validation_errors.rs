//! What is wrong with a document, in the words that clients of DataHub's API know:
//! `Validation error (FieldUndefined@[dataset/foo]) : Field 'foo' in type 'Dataset' is undefined`.

use apollo_compiler::ast::{Definition, Document, Selection};
use apollo_compiler::diagnostic::ToCliReport;
use apollo_compiler::validation::DiagnosticList;

use crate::error::{Classification, Position, RequestError};

/// A document with more mistakes than this has one that matters.
const MAX_ERRORS: usize = 100;

/// The mistakes in a text that is not GraphQL. Only the first is told: the others mostly follow from it.
pub(crate) fn syntax(text: &str, errors: &DiagnosticList) -> Vec<RequestError> {
    let Some(first) = errors.iter().next() else {
        return vec![RequestError::new(Classification::InvalidSyntax, "Invalid syntax")];
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
    let place = position.map_or_else(String::new, |position| {
        format!(" at line {} column {}", position.line, position.column)
    });
    vec![RequestError {
        message: format!("Invalid syntax{place}: {message}"),
        positions: position.into_iter().collect(),
        classification: Classification::InvalidSyntax,
    }]
}

/// The mistakes in a document that the schema does not allow.
pub(crate) fn validation(
    document: &Document,
    errors: &DiagnosticList,
    position: &dyn Fn(usize) -> Position,
) -> Vec<RequestError> {
    errors
        .iter()
        .take(MAX_ERRORS)
        .map(|diagnostic| {
            let error = diagnostic.error;
            let text = error.to_string();
            let offset = error.location().map(|span| span.offset());
            let path = offset.map_or_else(Vec::new, |offset| path_to(document, offset));
            let (kind, message) = describe(error.unstable_error_name(), &text, &path);
            let place = if path.is_empty() {
                String::new()
            } else {
                format!("@[{}]", path.join("/"))
            };
            RequestError {
                message: format!("Validation error ({kind}{place}) : {message}"),
                positions: offset.map(position).into_iter().collect(),
                classification: Classification::ValidationError,
            }
        })
        .collect()
}

/// The kind of a mistake, as graphql-java names it, and a sentence about it. `text` is what apollo-compiler
/// says, with the names in backticks.
fn describe(name: Option<&str>, text: &str, path: &[&str]) -> (&'static str, String) {
    let mut quoted = text.split('`').skip(1).step_by(2);
    let first = quoted.next().unwrap_or_default();
    let second = quoted.next().unwrap_or_default();
    let field = path.last().copied().unwrap_or_default();
    let plain = || {
        let mut text = text.replace('`', "'");
        if let Some(initial) = text.get_mut(..1) {
            initial.make_ascii_uppercase();
        }
        text
    };
    match name.unwrap_or_default() {
        "UndefinedField" => (
            "FieldUndefined",
            format!("Field '{second}' in type '{first}' is undefined"),
        ),
        "UndefinedArgument" if second.starts_with('@') => (
            "UnknownDirective",
            format!("Unknown directive argument '{first}'"),
        ),
        "UndefinedArgument" => ("UnknownArgument", format!("Unknown field argument '{first}'")),
        "RequiredArgument" => {
            let argument = first
                .rsplit_once('(')
                .map_or(first, |(_, rest)| rest.trim_end_matches([')', ':']));
            if first.starts_with('@') {
                (
                    "MissingDirectiveArgument",
                    format!("Missing directive argument '{argument}'"),
                )
            } else {
                (
                    "MissingFieldArgument",
                    format!("Missing field argument '{argument}'"),
                )
            }
        }
        "UnsupportedValueType" | "UndefinedEnumValue" | "UndefinedInputValue" | "RequiredField"
        | "IntCoercionError" | "FloatCoercionError" => ("WrongType", plain()),
        "MissingSubselection" => (
            "SubselectionRequired",
            format!("Subselection required for field '{field}'"),
        ),
        "SubselectionOnScalarType" | "SubselectionOnEnumType" => (
            "SubselectionNotAllowed",
            format!("Subselection not allowed on leaf type '{first}' of field '{field}'"),
        ),
        "UndefinedDefinition"
        | "UndefinedTypeInNamedFragmentTypeCondition"
        | "UndefinedTypeInInlineFragmentTypeCondition" => {
            ("UnknownType", format!("Unknown type '{first}'"))
        }
        "UndefinedDirective" => (
            "UnknownDirective",
            format!("Unknown directive '{}'", first.trim_start_matches('@')),
        ),
        "UnsupportedLocation" => ("MisplacedDirective", plain()),
        "UniqueDirective" => ("DuplicateDirectiveName", plain()),
        "UndefinedVariable" => (
            "UndefinedVariable",
            format!("Undefined variable '{}'", first.trim_start_matches('$')),
        ),
        "UnusedVariable" => (
            "UnusedVariable",
            format!("Unused variable '{}'", first.trim_start_matches('$')),
        ),
        "UniqueVariable" => (
            "DuplicateVariableName",
            format!("There can be only one variable named '{}'", first.trim_start_matches('$')),
        ),
        "VariableInputType" => ("NonInputTypeOnVariable", plain()),
        "DisallowedVariableUsage" => ("VariableTypeMismatch", plain()),
        "UniqueArgument" => (
            "DuplicateArgumentNames",
            format!("There can be only one argument named '{first}'"),
        ),
        "UniqueInputValue" => ("UniqueObjectFieldName", plain()),
        "UnusedFragment" => ("UnusedFragment", format!("Unused fragment '{first}'")),
        "UndefinedFragment" => ("UndefinedFragment", format!("Undefined fragment '{first}'")),
        "RecursiveFragmentDefinition" => (
            "FragmentCycle",
            format!("Fragment '{first}' must not spread itself"),
        ),
        "InvalidFragmentTarget" => ("FragmentTypeConditionInvalid", plain()),
        "InvalidFragmentSpread" => ("InvalidFragmentType", plain()),
        "FragmentNameCollision" => (
            "DuplicateFragmentName",
            format!("There can be only one fragment named '{first}'"),
        ),
        "AmbiguousAnonymousOperation" => (
            "LoneAnonymousOperationViolation",
            "An anonymous operation must be the only operation of the document".to_owned(),
        ),
        "OperationNameCollision" => (
            "DuplicateOperationName",
            format!("There can be only one operation named '{first}'"),
        ),
        "UndefinedRootOperation" => (
            "UnknownOperation",
            format!("The schema does not support the operation '{first}'"),
        ),
        "TypeSystemDefinition" => ("NonExecutableDefinition", plain()),
        "ConflictingFieldType" | "ConflictingFieldName" | "ConflictingFieldArgument" => {
            ("FieldsConflict", plain())
        }
        "SubscriptionUsesMultipleFields" => ("SubscriptionMultipleRootFields", plain()),
        "SubscriptionUsesIntrospection" => ("SubscriptionIntrospectionRootField", plain()),
        _ => ("InvalidDocument", plain()),
    }
}

/// The names of the fields around an offset, from the outermost. Inside of a fragment its name is the first.
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
