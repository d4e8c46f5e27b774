//! Questions about the schema itself.

use std::sync::OnceLock;

use apollo_compiler::introspection;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;

use crate::document::Document;
use crate::error::{Classification, RequestError};
use crate::input::VariableValues;
use crate::plan::Compiler;

/// The answer to the introspection part of an operation: JSON by the name in the reply.
pub(crate) type Answer = Vec<(Box<str>, Box<str>)>;

/// Keeps the answer of an operation without variables: it never changes.
#[derive(Debug, Default)]
pub(crate) struct Introspection {
    answer: OnceLock<Answer>,
}

impl Introspection {
    /// Answers, or looks up the former answer. `scratch` holds an answer that is not kept.
    pub(crate) fn answer<'a>(
        &'a self,
        compiler: &Compiler<'_>,
        document: &Document,
        values: &VariableValues,
        scratch: &'a mut Answer,
    ) -> Result<&'a Answer, RequestError> {
        if let Some(known) = self.answer.get() {
            return Ok(known);
        }
        let answer = execute(compiler, document, values)?;
        if compiler.variables().is_empty() {
            return Ok(self.answer.get_or_init(|| answer));
        }
        *scratch = answer;
        Ok(scratch)
    }
}

fn execute(
    compiler: &Compiler<'_>,
    document: &Document,
    values: &VariableValues,
) -> Result<Answer, RequestError> {
    let refuse = |error: &apollo_compiler::request::RequestError| RequestError {
        message: error.message().to_string(),
        positions: error
            .location()
            .map(|span| document.position(span.offset()))
            .into_iter()
            .collect(),
        classification: Classification::ValidationError,
    };
    let operation = &compiler.operation.node;
    introspection::check_max_depth(&document.executable, operation)
        .map_err(|error| refuse(&error))?;
    let values: JsonMap = compiler
        .variables()
        .iter()
        .zip(values)
        .filter_map(|(variable, value)| {
            let value = JsonValue::from(value.clone()?);
            Some((variable.name.as_ref().into(), value))
        })
        .collect();
    let response = introspection::partial_execute(
        &compiler.schema.valid,
        &compiler.schema.implementers,
        &document.executable,
        operation,
        &Valid::assume_valid(values),
    )
    .map_err(|error| refuse(&error))?;
    let answer = response.data.unwrap_or_default();
    Ok(answer
        .iter()
        .filter_map(|(name, value)| {
            let text = serde_json::to_string(value).ok()?;
            Some((name.as_str().into(), text.into()))
        })
        .collect())
}
