//! Documents: parsed and validated once per text, and kept with their plans.
//!
//! A plan is made for one operation and one answer to its `@skip` and `@include` conditions, so it is a constant:
//! executing a known text parses, validates and decides nothing.
//!
//! Plans are made as requests need them, so a document grows while it is kept; [`Document::bytes`] says what it takes now.

mod repair;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use apollo_compiler::ast::OperationType;
use apollo_compiler::executable::{self, DirectiveList, Selection, SelectionSet};
use apollo_compiler::parser::Parser;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Node};

use crate::error::{Classification, Position, RequestError};
use crate::input::{Variable, VariableValues};
use crate::limits::Limits;
use crate::plan::{Compiler, Plan};
use crate::schema::Schema;
use crate::validation_errors;

/// Longer documents are refused unread. DataHub's largest own query has 28 KB; long texts belong into variables.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;
/// More tokens are refused: 28 KB of query are about 5,000.
const MAX_TOKENS: usize = 100_000;
/// Deeper nesting is refused before it can exhaust the stack; execution allows far less.
const MAX_NESTING: usize = 200;
/// Plans kept per operation, when conditions make several of one text.
const MAX_VARIANTS: usize = 32;
/// How much memory those may take, unless the latest one alone takes more.
const MAX_VARIANT_BYTES: usize = 4 * 1024 * 1024;
/// A parsed and validated text takes some thirty times itself, measured with DataHub's own queries.
const PARSED_BYTES_PER_BYTE: usize = 30;
/// What a document takes however short it is.
const DOCUMENT_BYTES: usize = 4096;
/// One bit per variable in conditions.
const MAX_CONDITION_VARIABLES: usize = 64;

#[derive(Debug)]
pub(crate) struct Document {
    /// The text as it was sent.
    text: Box<str>,
    /// Where bytes were added before parsing, in terms of the parsed text.
    added: Vec<usize>,
    pub(crate) executable: Valid<ExecutableDocument>,
    operations: Vec<Operation>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) node: Node<executable::Operation>,
    pub(crate) variables: Vec<Variable>,
    /// Variables that decide `@skip` and `@include`, by their number.
    conditions: Vec<usize>,
    /// The plan of an operation without conditions.
    fixed: OnceLock<Plan>,
    /// Plans by the values of the conditions, the latest made last.
    variants: RwLock<Vec<(u64, Arc<Plan>)>>,
    /// Something was planned since the document was weighed.
    has_grown: AtomicBool,
}

/// The values of an operation's conditions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions<'d> {
    operation: &'d Operation,
    bits: u64,
}

/// A plan that is kept by its document, or was taken from its variants.
#[derive(Debug)]
pub(crate) enum PlanRef<'d> {
    Fixed(&'d Plan),
    Variant(Arc<Plan>),
}

impl std::ops::Deref for PlanRef<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        match self {
            Self::Fixed(plan) => plan,
            Self::Variant(plan) => plan,
        }
    }
}

impl Document {
    pub(crate) fn parse(schema: &Schema, text: &str) -> Result<Self, Vec<RequestError>> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(vec![RequestError::new(
                Classification::ExecutionAborted,
                format!(
                    "the document has {} bytes, at most {MAX_DOCUMENT_BYTES} are allowed; put long texts into variables",
                    text.len()
                ),
            )]);
        }
        let mut added = Vec::new();
        let mut parsed = parser().parse_ast(text, "document");
        // Published examples have raw line breaks in quoted strings, so what does not parse is tried again with
        // those escaped. The errors of a second failure would be about a text that nobody wrote.
        if parsed.is_err()
            && let Some((repaired, escapes)) = repair::escape_line_breaks(text)
            && let Ok(ast) = parser().parse_ast(repaired, "document")
        {
            parsed = Ok(ast);
            added = escapes;
        }
        let ast = parsed.map_err(|error| validation_errors::syntax(text, &error.errors))?;
        let position = |offset| position(text, &added, offset);
        let executable = ast
            .to_executable_validate(&schema.valid)
            .map_err(|error| validation_errors::validation(&ast, &error.errors, &position))?;
        // The one rule of the specification that the validation leaves to us.
        if let Some(error) = validation_errors::repeated_input_field(&ast, &position) {
            return Err(vec![error]);
        }
        let condition_names = condition_names(&executable);
        let operations = executable
            .operations
            .iter()
            .map(|node| Operation::new(schema, node, &condition_names))
            .collect::<Result<_, _>>()
            .map_err(|error| vec![error])?;
        Ok(Self {
            text: text.into(),
            added,
            executable,
            operations,
        })
    }

    /// The operation to execute: the named one, or the only one.
    pub(crate) fn operation(&self, name: Option<&str>) -> Result<&Operation, RequestError> {
        let refuse = |message: String| RequestError::new(Classification::ValidationError, message);
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
                .ok_or_else(|| refuse(format!("Unknown operation named '{name}'."))),
            None => match self.operations.as_slice() {
                [only] => Ok(only),
                [] => Err(refuse(
                    "The document has no operation to execute.".to_owned(),
                )),
                _ => Err(refuse(
                    "The document has several operations: say in operationName which to execute."
                        .to_owned(),
                )),
            },
        }
    }

    /// How much memory it takes with its plans; the oldest variants of an operation that has too many go.
    pub(crate) fn bytes(&self) -> usize {
        let plans = self.operations.iter().map(Operation::plan_bytes);
        DOCUMENT_BYTES + self.text.len() * PARSED_BYTES_PER_BYTE + plans.sum::<usize>()
    }

    /// The text as it was sent.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of an offset in the parsed text, in terms of the text as it was sent.
    pub(crate) fn position(&self, offset: usize) -> Position {
        position(&self.text, &self.added, offset)
    }
}

impl Operation {
    fn new(
        schema: &Schema,
        node: &Node<executable::Operation>,
        condition_names: &[&Name],
    ) -> Result<Self, RequestError> {
        let abort = |message| RequestError::new(Classification::ValidationError, message);
        let variables = node
            .variables
            .iter()
            .map(|definition| Variable::declare(&schema.valid, definition))
            .collect::<Result<Vec<_>, _>>()
            .map_err(abort)?;
        let conditions: Vec<_> = variables
            .iter()
            .enumerate()
            .filter(|(_, variable)| condition_names.iter().any(|name| **name == *variable.name))
            .map(|(index, _)| index)
            .collect();
        if conditions.len() > MAX_CONDITION_VARIABLES {
            return Err(abort(format!(
                "the operation has {} variables in @skip and @include, at most {MAX_CONDITION_VARIABLES} are allowed",
                conditions.len()
            )));
        }
        Ok(Self {
            node: node.clone(),
            variables,
            conditions,
            fixed: OnceLock::new(),
            variants: RwLock::default(),
            has_grown: AtomicBool::new(false),
        })
    }

    pub(crate) fn kind(&self) -> OperationType {
        self.node.operation_type
    }

    pub(crate) fn conditions(&self, values: &VariableValues) -> Conditions<'_> {
        let mut bits = 0;
        for (bit, variable) in self.conditions.iter().enumerate() {
            let value = values.get(*variable).and_then(Option::as_ref);
            if value.and_then(serde_json::Value::as_bool) == Some(true) {
                bits |= 1 << bit;
            }
        }
        Conditions {
            operation: self,
            bits,
        }
    }

    /// The plan for these conditions, made if it is not there yet.
    pub(crate) fn plan(&self, compiler: &Compiler<'_>, limits: Limits) -> PlanRef<'_> {
        if self.conditions.is_empty() {
            if let Some(plan) = self.fixed.get() {
                return PlanRef::Fixed(plan);
            }
            let plan = self.fixed.get_or_init(|| compiler.plan(limits));
            self.note_growth();
            return PlanRef::Fixed(plan);
        }
        let bits = compiler.conditions.bits;
        let known = self
            .variants
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .find(|(known, _)| *known == bits)
            .map(|(_, plan)| Arc::clone(plan));
        if let Some(plan) = known {
            return PlanRef::Variant(plan);
        }
        let plan = Arc::new(compiler.plan(limits));
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if variants.len() >= MAX_VARIANTS {
            variants.remove(0);
        }
        variants.push((bits, Arc::clone(&plan)));
        drop(variants);
        self.note_growth();
        PlanRef::Variant(plan)
    }

    /// To be called behind whatever makes a plan, so that whoever sees the note finds the plan, too.
    pub(crate) fn note_growth(&self) {
        self.has_grown.store(true, Ordering::Release);
    }

    /// Whether plans were made since this was asked before.
    pub(crate) fn take_growth(&self) -> bool {
        // Only reading costs nothing when many threads execute the same operation.
        self.has_grown.load(Ordering::Relaxed) && self.has_grown.swap(false, Ordering::Acquire)
    }

    fn plan_bytes(&self) -> usize {
        if self.conditions.is_empty() {
            return self.fixed.get().map_or(0, Plan::bytes);
        }
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let (mut kept, mut kept_bytes) = (0, 0);
        for (_, plan) in variants.iter().rev() {
            let bytes = plan.bytes();
            if kept > 0 && kept_bytes + bytes > MAX_VARIANT_BYTES {
                break;
            }
            kept += 1;
            kept_bytes += bytes;
        }
        let gone = variants.len() - kept;
        variants.drain(..gone);
        kept_bytes
    }
}

impl Conditions<'_> {
    /// Whether a selection with these directives is part of the query.
    pub(crate) fn include(&self, directives: &DirectiveList) -> bool {
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

fn parser() -> Parser {
    Parser::new()
        .recursion_limit(MAX_NESTING)
        .token_limit(MAX_TOKENS)
}

fn position(text: &str, added: &[usize], offset: usize) -> Position {
    let offset = offset - added.iter().take_while(|at| **at < offset).count();
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let breaks = before
        .bytes()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count();
    let pairs = before.matches("\r\n").count();
    Position {
        line: breaks - pairs + 1,
        column: before[start..].chars().count() + 1,
    }
}

/// The names of all variables that decide conditions anywhere in the document.
fn condition_names(document: &ExecutableDocument) -> Vec<&Name> {
    fn note<'d>(directives: &'d DirectiveList, names: &mut Vec<&'d Name>) {
        for directive in directives {
            if (directive.name == "skip" || directive.name == "include")
                && let Some(value) = directive.specified_argument_by_name("if")
                && let Some(name) = value.as_variable()
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
    }
    fn walk<'d>(set: &'d SelectionSet, names: &mut Vec<&'d Name>) {
        for selection in &set.selections {
            note(selection.directives(), names);
            match selection {
                Selection::Field(field) => walk(&field.selection_set, names),
                Selection::InlineFragment(fragment) => walk(&fragment.selection_set, names),
                Selection::FragmentSpread(_) => {}
            }
        }
    }
    let mut names = Vec::new();
    for operation in document.operations.iter() {
        walk(&operation.selection_set, &mut names);
    }
    for fragment in document.fragments.values() {
        walk(&fragment.selection_set, &mut names);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_of_every_kind_and_characters_not_bytes() {
        let text = "a\nb\r\nc\rd é x";
        for (needle, line, column) in [
            ("a", 1, 1),
            ("b", 2, 1),
            ("c", 3, 1),
            ("d", 4, 1),
            ("x", 4, 5),
        ] {
            let offset = text.find(needle).unwrap();
            assert_eq!(
                position(text, &[], offset),
                Position { line, column },
                "{needle}"
            );
        }
    }

    #[test]
    fn positions_behind_an_escaped_line_break_are_those_of_the_text_as_sent() {
        let text = "{ a(b: \"x\ny\") c }";
        let (repaired, added) = repair::escape_line_breaks(text).unwrap();
        let offset = repaired.find('c').unwrap();
        assert_eq!(
            position(text, &added, offset),
            Position { line: 2, column: 5 }
        );
    }
}
