//! Parsed and validated documents.
//!
//! A [`Document`] is immutable: it depends on the schema and the text alone. Plans compiled from it
//! are in [`crate::plan_cache`].

mod expansion;
mod literals;
mod repair;
mod source;

use std::collections::{HashMap, HashSet};

use apollo_compiler::ast::OperationType;
use apollo_compiler::executable::{self, DirectiveList, FragmentMap, Selection, SelectionSet};
use apollo_compiler::parser::Parser;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Node};

use crate::error::{Classification, Position, RequestError};
use crate::input::{Variable, VariableValues};
use crate::measurements::RootField;
use crate::schema::Schema;
use crate::validation_errors;
use source::SourceText;

pub(crate) use literals::Literals;

/// Longer documents are rejected without parsing. DataHub's largest query has 28 KB; long texts
/// belong in variables.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;
/// The parser needs about a millisecond for this many bytes.
const LONG_DOCUMENT_BYTES: usize = 4096;
/// A query of 28 KB has about 5,000 tokens.
const MAX_TOKENS: usize = 100_000;
/// Protects the parser's stack; execution allows far less depth.
const MAX_NESTING: usize = 200;
/// A parsed and validated text takes about thirty times its length, measured with DataHub's
/// queries.
const PARSED_BYTES_PER_BYTE: usize = 30;
/// Size of a document with an empty text.
const DOCUMENT_BYTES: usize = 4096;
/// [`OperationVariant`] has one bit per variable in conditions.
const MAX_CONDITION_VARIABLES: usize = 64;

#[derive(Debug)]
pub(crate) struct Document {
    source: SourceText,
    pub(crate) executable: Valid<ExecutableDocument>,
    operations: Vec<Operation>,
    /// The strings that were replaced by variables.
    literals: Option<Literals>,
}

/// The text of a request.
#[derive(Debug)]
pub(crate) struct RequestText<'q> {
    pub(crate) text: &'q str,
    /// Those of the text, if its document has variables for them.
    pub(crate) literals: Option<Literals>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    /// Index among the operations of the document.
    pub(crate) index: usize,
    pub(crate) node: Node<executable::Operation>,
    pub(crate) variables: Vec<Variable>,
    /// The indexes of the variables by name.
    variable_indexes: HashMap<Box<str>, usize>,
    /// The field that the operation is counted by.
    pub(crate) root_field: RootField,
    /// Indexes of the variables that `@skip` and `@include` use.
    conditions: Vec<usize>,
}

/// What logs call an operation. Cloning shares the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationName(Name);

impl OperationName {
    /// Letters, digits and underscores, as many as the client has sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An operation with its `@skip` and `@include` conditions decided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationVariant<'d> {
    pub(crate) schema: &'d Schema,
    pub(crate) document: &'d Document,
    pub(crate) operation: &'d Operation,
    /// The values of the condition variables, one bit each.
    pub(crate) bits: u64,
}

impl Document {
    /// Parses and validates a text. If `literals` are given, the document gets variables for them,
    /// where that is possible.
    pub(crate) fn parse(
        schema: &Schema,
        text: &str,
        literals: Option<&Literals>,
    ) -> Result<Self, Vec<RequestError>> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(vec![RequestError::new(
                Classification::ExecutionAborted,
                format!(
                    "the document has {} bytes, at most {MAX_DOCUMENT_BYTES} are allowed; use variables for long texts",
                    text.len()
                ),
            )]);
        }
        let mut inserted = Vec::new();
        let mut parsed = parser().parse_ast(text, "document");
        // Published examples contain raw line breaks in quoted strings, so a text that does not
        // parse is retried with those escaped. If that fails too, the errors of the original text
        // are reported.
        if parsed.is_err()
            && let Some((repaired, offsets)) = repair::escape_line_breaks(text)
            && let Ok(ast) = parser().parse_ast(repaired, "document")
        {
            parsed = Ok(ast);
            inserted = offsets;
        }
        let ast = parsed.map_err(|error| validation_errors::syntax(text, &error.errors))?;
        expansion::check(&ast).map_err(|exceeded| vec![exceeded.into()])?;
        let source = SourceText::new(text, inserted);
        let position = |offset| source.position(source.offset(offset));
        let executable = ast
            .to_executable_validate(&schema.valid)
            .map_err(|error| validation_errors::validation(&ast, &error.errors, &position))?;
        // apollo-compiler does not check this rule of the specification.
        if let Some(error) = validation_errors::repeated_input_field(&ast, &position) {
            return Err(vec![error]);
        }
        let extracted = literals.and_then(|literals| {
            let extracted = literals::extract(&schema.valid, &executable, literals, &source)?;
            Some((extracted, literals.clone()))
        });
        let (executable, literals) = match extracted {
            // The strings were valid where the variables are.
            Some((extracted, literals)) => (Valid::assume_valid(extracted), Some(literals)),
            None => (executable, None),
        };
        let values = literals.as_ref().map_or(0, Literals::count);
        let condition_names = condition_names(&executable);
        let operations = executable
            .operations
            .iter()
            .enumerate()
            .map(|(index, node)| {
                let mut operation = Operation::new(schema, index, node, &condition_names, values)?;
                let first = first_field(&executable, &node.selection_set);
                let first = first.map(Name::as_str);
                operation.root_field = schema.root_fields.find(operation.kind(), first);
                Ok(operation)
            })
            .collect::<Result<_, _>>()
            .map_err(|error| vec![error])?;
        Ok(Self {
            source,
            executable,
            operations,
            literals,
        })
    }

    /// The shape of the texts that share the document, if there are others.
    pub(crate) fn shape(&self) -> Option<&[u8]> {
        self.literals.as_ref().map(Literals::shape)
    }

    /// The operation to execute: the named one, or the only one.
    pub(crate) fn operation(&self, name: Option<&str>) -> Result<&Operation, RequestError> {
        let reject = |message: String| RequestError::new(Classification::ValidationError, message);
        match name.filter(|name| !name.is_empty()) {
            Some(name) => self
                .operations
                .iter()
                .find(|operation| {
                    operation
                        .node
                        .name
                        .as_ref()
                        .is_some_and(|known| known == name)
                })
                .ok_or_else(|| reject(format!("Unknown operation named '{name}'."))),
            None => match self.operations.as_slice() {
                [only] => Ok(only),
                [] => Err(reject(
                    "The document has no operation to execute.".to_owned(),
                )),
                _ => Err(reject(
                    "The document has several operations: set operationName.".to_owned(),
                )),
            },
        }
    }

    /// Whether parsing or planning the text may take milliseconds. Fragments can make a long plan
    /// of a short text.
    pub(crate) fn is_long(text: &str) -> bool {
        text.len() > LONG_DOCUMENT_BYTES || text.contains("fragment")
    }

    pub(crate) fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Approximate size in memory.
    pub(crate) fn bytes(&self) -> usize {
        Self::parsed_bytes(self.text())
    }

    /// Approximate size in memory of a text once it is parsed. Too long ones are not parsed.
    pub(crate) fn parsed_bytes(text: &str) -> usize {
        if text.len() > MAX_DOCUMENT_BYTES {
            return 0;
        }
        DOCUMENT_BYTES + text.len() * PARSED_BYTES_PER_BYTE
    }

    /// The text as the first client sent it.
    pub(crate) fn text(&self) -> &str {
        self.source.text()
    }

    /// Converts an offset in the parsed text to a position in the text as the first client sent it.
    pub(crate) fn position(&self, offset: usize) -> Position {
        self.source.position(self.source.offset(offset))
    }

    /// Converts an offset in the parsed text to a position in the text of a request.
    pub(crate) fn position_in(&self, request: &RequestText<'_>, offset: usize) -> Position {
        match (&self.literals, &request.literals) {
            (Some(parsed), Some(requested)) => {
                let offset = parsed.offset_in(requested, self.source.offset(offset));
                SourceText::new(request.text, Vec::new()).position(offset)
            }
            _ => self.position(offset),
        }
    }
}

impl Operation {
    fn new(
        schema: &Schema,
        index: usize,
        node: &Node<executable::Operation>,
        condition_names: &HashSet<&str>,
        literals: usize,
    ) -> Result<Self, RequestError> {
        let reject = |message| RequestError::new(Classification::ValidationError, message);
        let variables = node
            .variables
            .iter()
            .map(|definition| Variable::declare(&schema.valid, definition))
            .collect::<Result<Vec<_>, _>>()
            .map_err(reject)?;
        let conditions: Vec<_> = variables
            .iter()
            .enumerate()
            .filter(|(_, variable)| condition_names.contains(&*variable.name))
            .map(|(index, _)| index)
            .collect();
        if conditions.len() > MAX_CONDITION_VARIABLES {
            return Err(reject(format!(
                "the operation has {} variables in @skip and @include, at most {MAX_CONDITION_VARIABLES} are allowed",
                conditions.len()
            )));
        }
        let names = variables.iter().map(|variable| variable.name.clone());
        // The values of literals follow those of the declared variables.
        let literal_names = (0..literals).map(|value| literals::variable_name(value).into());
        Ok(Self {
            index,
            node: node.clone(),
            variable_indexes: names.chain(literal_names).zip(0..).collect(),
            variables,
            root_field: RootField::UNKNOWN,
            conditions,
        })
    }

    /// Its name, or the first field of one without a name; `None` if that is in a fragment.
    pub(crate) fn name(&self) -> Option<OperationName> {
        let name = self.node.name.as_ref();
        let first = || match self.node.selection_set.selections.first()? {
            Selection::Field(field) => Some(&field.name),
            Selection::FragmentSpread(_) | Selection::InlineFragment(_) => None,
        };
        name.or_else(first).cloned().map(OperationName)
    }

    pub(crate) fn kind(&self) -> OperationType {
        self.node.operation_type
    }

    /// Whether variables decide which fields are selected.
    pub(crate) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    fn condition_bits(&self, values: &VariableValues) -> u64 {
        let mut bits = 0;
        for (bit, variable) in self.conditions.iter().enumerate() {
            let value = values.get(*variable).and_then(Option::as_ref);
            if value.and_then(serde_json::Value::as_bool) == Some(true) {
                bits |= 1 << bit;
            }
        }
        bits
    }
}

impl<'d> OperationVariant<'d> {
    pub(crate) fn new(
        schema: &'d Schema,
        document: &'d Document,
        operation: &'d Operation,
        values: &VariableValues,
    ) -> Self {
        Self {
            schema,
            document,
            operation,
            bits: operation.condition_bits(values),
        }
    }

    pub(crate) fn variables(&self) -> &'d [Variable] {
        &self.operation.variables
    }

    /// The index of a variable of the operation.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.operation.variable_indexes.get(name).copied()
    }

    pub(crate) fn selection_set(&self) -> &'d SelectionSet {
        &self.operation.node.selection_set
    }

    pub(crate) fn fragments(&self) -> &'d FragmentMap {
        &self.document.executable.fragments
    }

    /// Whether a selection with these directives is part of the query.
    pub(crate) fn includes(&self, directives: &DirectiveList) -> bool {
        if directives.is_empty() {
            return true;
        }
        self.condition(directives, "skip") != Some(true)
            && self.condition(directives, "include") != Some(false)
    }

    fn condition(&self, directives: &DirectiveList, name: &str) -> Option<bool> {
        let value = directives.get(name)?.specified_argument_by_name("if")?;
        if let Some(variable) = value.as_variable() {
            let declared = &self.operation.variables;
            let bit = self
                .operation
                .conditions
                .iter()
                .position(|index| *declared[*index].name == **variable)?;
            return Some(self.bits & (1 << bit) != 0);
        }
        value.to_bool()
    }
}

/// The first field that is not for introspection. The document is valid and not too large, so its
/// fragments end.
fn first_field<'d>(document: &'d ExecutableDocument, set: &'d SelectionSet) -> Option<&'d Name> {
    set.selections.iter().find_map(|selection| match selection {
        Selection::Field(field) => Some(&field.name).filter(|name| !name.starts_with("__")),
        Selection::InlineFragment(fragment) => first_field(document, &fragment.selection_set),
        Selection::FragmentSpread(spread) => {
            let fragment = document.fragments.get(&spread.fragment_name)?;
            first_field(document, &fragment.selection_set)
        }
    })
}

fn parser() -> Parser {
    Parser::new()
        .recursion_limit(MAX_NESTING)
        .token_limit(MAX_TOKENS)
}

/// The names of the variables in `@skip` and `@include` anywhere in the document.
fn condition_names(document: &ExecutableDocument) -> HashSet<&str> {
    fn add<'d>(directives: &'d DirectiveList, names: &mut HashSet<&'d str>) {
        for directive in directives {
            if (directive.name == "skip" || directive.name == "include")
                && let Some(value) = directive.specified_argument_by_name("if")
                && let Some(name) = value.as_variable()
            {
                names.insert(name);
            }
        }
    }
    fn walk<'d>(set: &'d SelectionSet, names: &mut HashSet<&'d str>) {
        for selection in &set.selections {
            add(selection.directives(), names);
            match selection {
                Selection::Field(field) => walk(&field.selection_set, names),
                Selection::InlineFragment(fragment) => walk(&fragment.selection_set, names),
                Selection::FragmentSpread(_) => {}
            }
        }
    }
    let mut names = HashSet::new();
    for operation in document.operations.iter() {
        walk(&operation.selection_set, &mut names);
    }
    for fragment in document.fragments.values() {
        walk(&fragment.selection_set, &mut names);
    }
    names
}
