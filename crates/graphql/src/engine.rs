//! The way from a request to a reply.

use std::sync::Arc;

use apollo_compiler::ast::OperationType;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use serde_json::{Map, Value};

use crate::document::{Document, Operation};
use crate::error::{self, Classification, RequestError};
use crate::execute::{self, Budget, Scope};
use crate::input;
use crate::introspect::Answers;
use crate::limits::Limits;
use crate::plan::Compiler;
use crate::resolve::{Context, Resolvers};
use crate::schema::{Schema, SchemaError};
use crate::sdl::SDL;
use crate::{mutations, resolvers};

/// How much memory kept documents may take, with their plans.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many documents that is.
const CACHE_DOCUMENTS: usize = 2000;
/// The cache is divided into so many parts, and one must have room for the largest document that is executed: 20,000
/// selected fields with some 350 bytes each.
const CACHE_PARTS: usize = 4;

/// A GraphQL request.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    pub query: &'a str,
    pub operation_name: Option<&'a str>,
    pub variables: Map<String, Value>,
}

/// Executes requests against a schema. One engine serves all requests of a process.
#[derive(Debug)]
pub struct Engine {
    schema: Schema,
    limits: Limits,
    documents: Cache<Box<str>, Kept, DocumentWeight>,
    answers: Answers,
}

/// A document in the cache.
#[derive(Debug, Clone)]
struct Kept {
    document: Arc<Document>,
    /// What it took when it was put there. It grows with every plan that is made, and is put there again then.
    bytes: usize,
}

#[derive(Debug, Clone)]
struct DocumentWeight;

impl Weighter<Box<str>, Kept> for DocumentWeight {
    fn weight(&self, _: &Box<str>, kept: &Kept) -> u64 {
        kept.bytes as u64
    }
}

/// An operation being executed. Whatever becomes of the execution, the plans that were made for it are weighed.
struct Executed<'e> {
    engine: &'e Engine,
    document: &'e Arc<Document>,
    operation: &'e Operation,
}

impl Drop for Executed<'_> {
    fn drop(&mut self) {
        if self.operation.take_growth() {
            self.engine.keep(self.document);
        }
    }
}

impl Engine {
    /// The engine over Docent's own schema and resolvers.
    pub fn docent() -> Result<Self, SchemaError> {
        let resolvers = mutations::register(resolvers::register(Resolvers::new()));
        Ok(Self::new(Schema::load(SDL, resolvers)?))
    }

    pub fn new(schema: Schema) -> Self {
        Self::with_limits(schema, Limits::default())
    }

    pub fn with_limits(schema: Schema, limits: Limits) -> Self {
        Self {
            schema,
            limits,
            documents: documents(),
            answers: Answers::default(),
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Differs whenever Docent's schema does: clients keep what they learned about it under this name.
    pub fn schema_hash(&self) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        SDL.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Executes a request. The reply is a complete response body, whatever happens.
    pub async fn execute(&self, context: &Context, request: Request<'_>) -> Vec<u8> {
        match self.try_execute(context, request).await {
            Ok(reply) => reply,
            Err(errors) => error::refuse(&errors),
        }
    }

    /// Whether a request would change something. One that is not valid changes nothing.
    pub fn is_mutation(&self, request: &Request<'_>) -> bool {
        let document = self.document(request.query);
        document.is_ok_and(|document| {
            let operation = document.operation(request.operation_name);
            operation.is_ok_and(|operation| operation.kind() == OperationType::Mutation)
        })
    }

    async fn try_execute(
        &self,
        context: &Context,
        request: Request<'_>,
    ) -> Result<Vec<u8>, Vec<RequestError>> {
        let document = self.document(request.query)?;
        let operation = document
            .operation(request.operation_name)
            .map_err(|error| vec![error])?;
        let _executed = Executed {
            engine: self,
            document: &document,
            operation,
        };
        if operation.kind() == OperationType::Subscription {
            return Err(vec![RequestError::new(
                Classification::ValidationError,
                "Subscriptions are not supported.",
            )]);
        }
        let values = input::variables(&self.schema.valid, &operation.variables, request.variables)
            .map_err(|error| {
                vec![RequestError {
                    message: error.message,
                    positions: error
                        .offset
                        .map(|offset| document.position(offset))
                        .into_iter()
                        .collect(),
                    classification: Classification::ValidationError,
                }]
            })?;
        let compiler = Compiler {
            schema: &self.schema,
            document: &document.executable,
            operation,
            conditions: operation.conditions(&values),
        };
        let plan = operation.plan(&compiler, self.limits);
        plan.cost
            .check(self.limits, &values)
            .map_err(|exceeded| vec![exceeded.into()])?;
        let Some(root) = &plan.root else {
            return Err(vec![RequestError::new(
                Classification::ExecutionAborted,
                "The operation cannot be executed.",
            )]);
        };
        let answer = match &plan.introspection {
            Some(introspection) => {
                introspection
                    .check(self.limits)
                    .map_err(|exceeded| vec![exceeded.into()])?;
                self.answers
                    .answer(&compiler, &document, &values)
                    .map_err(|error| vec![error])?
            }
            None => Arc::default(),
        };
        let scope = Scope {
            context,
            document: &document,
            compiler: &compiler,
            values: &values,
            answer: &answer,
        };
        let budget = Budget::new(self.limits);
        Ok(execute::execute(scope, root, budget).await)
    }

    /// The parsed document of a text. Texts that are not valid are not kept.
    fn document(&self, text: &str) -> Result<Arc<Document>, Vec<RequestError>> {
        if let Some(kept) = self.documents.get(text) {
            return Ok(kept.document);
        }
        let document = Arc::new(Document::parse(&self.schema, text)?);
        self.keep(&document);
        Ok(document)
    }

    fn keep(&self, document: &Arc<Document>) {
        let kept = Kept {
            document: Arc::clone(document),
            bytes: document.bytes(),
        };
        self.documents.insert(document.text().into(), kept);
    }
}

fn documents() -> Cache<Box<str>, Kept, DocumentWeight> {
    let options = OptionsBuilder::new()
        .estimated_items_capacity(CACHE_DOCUMENTS)
        .weight_capacity(CACHE_BYTES)
        .shards(CACHE_PARTS)
        .build();
    match options {
        Ok(options) => Cache::with_options(
            options,
            DocumentWeight,
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        ),
        // Only missing options are errors.
        Err(_) => Cache::with_weighter(CACHE_DOCUMENTS, CACHE_BYTES, DocumentWeight),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// Selects a few hundred fields by fragments that are spread twice each; different for each number.
    fn text(number: usize) -> String {
        let mut text =
            format!("# {number}\n{{ container(urn: \"urn:li:container:c\") {{ ...f6 }} }}");
        for level in 1..=6 {
            let inner = format!("container {{ ...f{} }}", level - 1);
            let _ = write!(
                text,
                " fragment f{level} on Container {{ a: {inner} b: {inner} }}"
            );
        }
        text + " fragment f0 on Container { urn type exists platform { name } }"
    }

    /// Makes the plan of a text, as executing it does.
    fn plan(engine: &Engine, text: &str) -> Arc<Document> {
        let document = engine.document(text).unwrap();
        let operation = document.operation(None).unwrap();
        let values = Vec::new();
        let compiler = Compiler {
            schema: &engine.schema,
            document: &document.executable,
            operation,
            conditions: operation.conditions(&values),
        };
        let _executed = Executed {
            engine,
            document: &document,
            operation,
        };
        assert!(operation.plan(&compiler, engine.limits).root.is_some());
        Arc::clone(&document)
    }

    #[test]
    fn a_kept_document_weighs_what_its_plans_take() {
        let engine = Engine::docent().unwrap();
        let text = text(0);
        engine.document(&text).unwrap();
        let parsed = engine.documents.weight();
        let document = plan(&engine, &text);
        let kept = engine.documents.get(text.as_str()).unwrap();
        assert!(Arc::ptr_eq(&kept.document, &document));
        assert_eq!(kept.bytes, document.bytes());
        let planned = engine.documents.weight();
        assert_eq!(planned, kept.bytes as u64);
        assert!(planned > parsed + 50_000, "{parsed}, then {planned}");
    }

    #[test]
    fn documents_go_when_their_plans_fill_the_cache() {
        let engine = Engine::docent().unwrap();
        let count = 2 * CACHE_BYTES as usize / plan(&engine, &text(0)).bytes();
        for number in 1..count {
            plan(&engine, &text(number));
        }
        let weight = engine.documents.weight();
        assert!(weight <= CACHE_BYTES, "{weight}");
        assert!(weight > CACHE_BYTES / 2, "{weight}");
        assert!(engine.documents.len() < count);
    }
}
