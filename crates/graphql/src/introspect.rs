//! Questions about the schema itself.

mod weight;

use std::sync::Arc;

use apollo_compiler::introspection;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::document::Document;
use crate::error::{Classification, RequestError};
use crate::input::VariableValues;
use crate::limits::{Exceeded, Limits};
use crate::plan::Compiler;

/// How much memory kept answers may take. The answer to what tools ask has half a megabyte.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// About how many answers that is; so few that the cache is not divided further.
const CACHE_ANSWERS: usize = 16;

/// The answer to the introspection part of an operation: JSON by the name in the reply.
pub(crate) type Answer = Vec<(Box<str>, Box<str>)>;

/// What an operation asks about the schema.
#[derive(Debug)]
pub(crate) struct Introspection {
    questions: u64,
    values: u64,
}

impl Introspection {
    /// Looks at an operation with so many root fields about the schema.
    pub(crate) fn new(compiler: &Compiler<'_>, questions: usize) -> Self {
        Self {
            questions: questions as u64,
            values: weight::values(compiler),
        }
    }

    pub(crate) fn check(&self, limits: Limits) -> Result<(), Exceeded> {
        Exceeded::check(
            "number of __schema and __type fields",
            self.questions,
            limits.schema_questions,
        )?;
        Exceeded::check(
            "number of values about the schema",
            self.values,
            limits.schema_values,
        )
    }
}

/// Keeps the answers to operations without variables: they never change.
#[derive(Debug)]
pub(crate) struct Answers {
    known: Cache<Question, Arc<Answer>, AnswerWeight>,
}

/// The name of an operation, and the document it stands in.
type Question = (Box<str>, Box<str>);

#[derive(Debug, Clone)]
struct AnswerWeight;

impl Weighter<Question, Arc<Answer>> for AnswerWeight {
    fn weight(&self, (name, document): &Question, answer: &Arc<Answer>) -> u64 {
        let texts = answer.iter().map(|(name, text)| name.len() + text.len());
        (name.len() + document.len() + texts.sum::<usize>()) as u64
    }
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            known: Cache::with_weighter(CACHE_ANSWERS, CACHE_BYTES, AnswerWeight),
        }
    }
}

impl Answers {
    /// Answers, or looks up the former answer.
    pub(crate) fn answer(
        &self,
        compiler: &Compiler<'_>,
        document: &Document,
        values: &VariableValues,
    ) -> Result<Arc<Answer>, RequestError> {
        if !compiler.variables().is_empty() {
            return execute(compiler, document, values).map(Arc::new);
        }
        let name = compiler.operation.node.name.as_ref();
        let question: Question = (
            name.map_or("", |name| name.as_str()).into(),
            document.text().into(),
        );
        if let Some(known) = self.known.get(&question) {
            return Ok(known);
        }
        let answer = Arc::new(execute(compiler, document, values)?);
        self.known.insert(question, Arc::clone(&answer));
        Ok(answer)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_answers_take_no_more_than_their_share() {
        let answers = Answers::default();
        for number in 0..100 {
            let question = ("".into(), format!("document {number}").into());
            let answer = vec![("a".into(), "x".repeat(1024 * 1024).into())];
            answers.known.insert(question, Arc::new(answer));
        }
        assert!(answers.known.len() > 3, "{}", answers.known.len());
        assert!(answers.known.weight() <= CACHE_BYTES);
        let huge = vec![("a".into(), "x".repeat(20 * 1024 * 1024).into())];
        let question: Question = ("".into(), "huge".into());
        answers.known.insert(question.clone(), Arc::new(huge));
        assert!(answers.known.get(&question).is_none());
    }
}
