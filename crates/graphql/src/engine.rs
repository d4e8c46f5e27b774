//! The way from a request to a reply.

use std::sync::Arc;

use apollo_compiler::ast::OperationType;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use serde_json::{Map, Value};

use crate::document::Document;
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

/// How much memory kept documents may take, as [`DocumentWeight`] estimates it.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// About how many documents that is.
const CACHE_DOCUMENTS: usize = 2000;

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
    documents: Cache<Box<str>, Arc<Document>, DocumentWeight>,
    answers: Answers,
}

#[derive(Debug, Clone)]
struct DocumentWeight;

impl Weighter<Box<str>, Arc<Document>> for DocumentWeight {
    /// A parsed document with its plans takes some thirty times its text.
    fn weight(&self, text: &Box<str>, _: &Arc<Document>) -> u64 {
        text.len() as u64 * 30 + 4096
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
            documents: Cache::with_weighter(CACHE_DOCUMENTS, CACHE_BYTES, DocumentWeight),
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
        if let Some(document) = self.documents.get(text) {
            return Ok(document);
        }
        let document = Arc::new(Document::parse(&self.schema, text)?);
        self.documents.insert(text.into(), Arc::clone(&document));
        Ok(document)
    }
}
