//! Executes requests: parse, check limits, plan, execute.

use std::sync::Arc;

use apollo_compiler::ast::OperationType;
use serde_json::{Map, Value};

use crate::document::{Document, OperationVariant};
use crate::error::{self, Classification, RequestError};
use crate::execute::{self, Budget, Scope};
use crate::input;
use crate::introspect::IntrospectionCache;
use crate::limits::{LimitExceeded, Limits};
use crate::long_work::LongWork;
use crate::plan::Compiler;
use crate::plan_cache::{CachedDocument, PlanCache};
use crate::resolve::{Context, Resolvers};
use crate::schema::{Schema, SchemaError};
use crate::sdl::SDL;
use crate::{mutations, resolvers};

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
    plans: PlanCache,
    introspection: IntrospectionCache,
    long_work: LongWork,
}

impl Engine {
    /// The engine with Docent's schema and resolvers.
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
            plans: PlanCache::new(),
            introspection: IntrospectionCache::default(),
            long_work: LongWork::default(),
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Changes with Docent's schema; clients cache introspection results by it.
    pub fn schema_hash(&self) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        SDL.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Executes a request. Returns a complete response body in every case.
    pub async fn execute(&self, context: &Context, request: Request<'_>) -> Vec<u8> {
        match self.try_execute(context, request).await {
            Ok(reply) => reply,
            Err(errors) => error::reject(&errors),
        }
    }

    /// Where requests run long computations.
    pub fn long_work(&self) -> &LongWork {
        &self.long_work
    }

    /// The variables that the operation of a request declares; none if it is invalid.
    pub async fn variable_names(&self, request: &Request<'_>) -> Vec<String> {
        let Ok(cached) = self.document(request.query).await else {
            return Vec::new();
        };
        let Ok(operation) = cached.document.operation(request.operation_name) else {
            return Vec::new();
        };
        let variables = operation.variables.iter();
        variables
            .map(|variable| variable.name.to_string())
            .collect()
    }

    /// Whether a request is a valid mutation.
    pub async fn is_mutation(&self, request: &Request<'_>) -> bool {
        self.document(request.query).await.is_ok_and(|cached| {
            let operation = cached.document.operation(request.operation_name);
            operation.is_ok_and(|operation| operation.kind() == OperationType::Mutation)
        })
    }

    async fn try_execute(
        &self,
        context: &Context,
        request: Request<'_>,
    ) -> Result<Vec<u8>, Vec<RequestError>> {
        let cached = self.document(request.query).await?;
        let document = &cached.document;
        let operation = document
            .operation(request.operation_name)
            .map_err(|error| vec![error])?;
        let _reweigh = self.plans.reweigh_on_drop(&cached, operation);
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
            variant: OperationVariant::new(&self.schema, document, operation, &values),
            growth: cached.growth(operation),
        };
        let is_long = !cached.has_plan(&compiler) && Document::is_long(document.text());
        let compile = || cached.plan(&compiler, self.limits);
        let plan = self.long_work.run(is_long, compile).await;
        plan.cost
            .check(self.limits, &values)
            .map_err(|exceeded| vec![exceeded.into()])?;
        let Some(root) = &plan.root else {
            return Err(vec![RequestError::new(
                Classification::ExecutionAborted,
                "The operation cannot be executed.",
            )]);
        };
        if operation.kind() == OperationType::Query {
            let calls = execute::root_calls(root);
            LimitExceeded::check("number of root fields", calls, self.limits.root_calls)
                .map_err(|exceeded| vec![exceeded.into()])?;
        }
        let introspection = match &plan.introspection {
            Some(cost) => {
                cost.check(self.limits)
                    .map_err(|exceeded| vec![exceeded.into()])?;
                let introspect = || self.introspection.result(compiler.variant, &values);
                let result = self.long_work.run(true, introspect).await;
                result.map_err(|error| vec![error])?
            }
            None => Arc::default(),
        };
        let scope = Scope {
            context,
            compiler: &compiler,
            values: &values,
            introspection: &introspection,
            long_work: &self.long_work,
        };
        let budget = Budget::new(self.limits);
        Ok(execute::execute(scope, root, budget).await)
    }

    async fn document(&self, text: &str) -> Result<Arc<CachedDocument>, Vec<RequestError>> {
        if let Some(cached) = self.plans.cached(text) {
            return Ok(cached);
        }
        let parse = || self.plans.document(&self.schema, text);
        self.long_work.run(Document::is_long(text), parse).await
    }
}
