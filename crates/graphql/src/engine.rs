//! Executes requests: parse, check limits, plan, execute.

use std::sync::Arc;
use std::time::Duration;

use apollo_compiler::ast::OperationType;
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use serde_json::{Map, Value};

use crate::document::{Document, Operation, OperationName, OperationVariant};
use crate::error::{self, Classification, Rejection, RequestError};
use crate::execute::{self, Budget, Scope};
use crate::input;
use crate::introspect::IntrospectionCache;
use crate::limits::{LimitExceeded, Limits};
use crate::measurements::{EngineMeasurements, OperationCounters, Outcome, RootField};
use crate::memory::json_bytes;
use crate::plan::Compiler;
use crate::plan_cache::{CachedRequest, PlanCache};
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

/// A request whose document was parsed and validated.
#[derive(Debug)]
pub struct PreparedRequest<'a> {
    cached: Result<CachedRequest<'a>, Vec<RequestError>>,
    operation_name: Option<&'a str>,
}

/// Executes requests against a schema. One engine serves all requests of a process.
#[derive(Debug)]
pub struct Engine {
    schema: Schema,
    limits: Limits,
    plans: PlanCache,
    introspection: IntrospectionCache,
    operations: OperationCounters,
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
            operations: OperationCounters::new(&schema.root_fields),
            schema,
            limits,
            plans: PlanCache::new(),
            introspection: IntrospectionCache::default(),
        }
    }

    /// What was counted since the start.
    pub fn measurements(&self) -> EngineMeasurements {
        EngineMeasurements {
            operations: self.operations.read(&self.schema.root_fields),
            plan_cache: self.plans.measurements(),
        }
    }

    /// Measures a request with an operation that begins with this field. The caller knows when the
    /// request has arrived.
    pub fn observe(&self, field: RootField, took: Duration) {
        self.operations.observe(field, took);
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
        let prepared = self.prepare(request.query, request.operation_name).await;
        self.execute_prepared(context, prepared, request.variables)
            .await
            .unwrap_or_else(|rejection| rejection.with_null_data())
    }

    /// Finds a request in the cache.
    pub fn prepared<'a>(
        &self,
        query: &'a str,
        operation_name: Option<&'a str>,
    ) -> Option<PreparedRequest<'a>> {
        let cached = Ok(self.plans.cached(query)?);
        Some(PreparedRequest {
            cached,
            operation_name,
        })
    }

    /// Parses and validates a request, or finds it in the cache.
    pub async fn prepare<'a>(
        &self,
        query: &'a str,
        operation_name: Option<&'a str>,
    ) -> PreparedRequest<'a> {
        if let Some(prepared) = self.prepared(query, operation_name) {
            return prepared;
        }
        let parse = || self.plans.document(&self.schema, query);
        let cached = long_work::run(Document::is_long(query), parse).await;
        PreparedRequest {
            cached,
            operation_name,
        }
    }

    /// Approximate memory that a document takes once it is parsed.
    pub fn parsed_bytes(query: &str) -> usize {
        Document::parsed_bytes(query)
    }

    /// Executes a request. Returns a complete response body, also if fields failed.
    pub async fn execute_prepared(
        &self,
        context: &Context,
        request: PreparedRequest<'_>,
        variables: Map<String, Value>,
    ) -> Result<Vec<u8>, Rejection> {
        let field = request.root_field();
        let executed = match request.cached {
            Ok(cached) => {
                self.try_execute(context, cached, request.operation_name, variables)
                    .await
            }
            Err(errors) => Err(errors),
        };
        let outcome = match &executed {
            Ok(reply) if error::has_errors(reply) => Outcome::Failed,
            Ok(_) => Outcome::Succeeded,
            Err(_) => Outcome::Rejected,
        };
        self.operations.count(field, outcome);
        executed.map_err(Rejection)
    }

    async fn try_execute(
        &self,
        context: &Context,
        (cached, mut text): CachedRequest<'_>,
        operation_name: Option<&str>,
        variables: Map<String, Value>,
    ) -> Result<Vec<u8>, Vec<RequestError>> {
        let document = &cached.document;
        let operation = document
            .operation(operation_name)
            .map_err(|error| vec![error])?;
        let _reweigh = self.plans.reweigh_on_drop(&cached, operation);
        if operation.kind() == OperationType::Subscription {
            return Err(vec![RequestError::new(
                Classification::ValidationError,
                "Subscriptions are not supported.",
            )]);
        }
        let is_long = variables.values().map(json_bytes).sum::<usize>() > LONG_TEXT_BYTES;
        let coerce = || input::variables(&self.schema.valid, &operation.variables, variables);
        let mut values = long_work::run(is_long, coerce).await.map_err(|error| {
            vec![RequestError {
                message: error.message,
                positions: error
                    .offset
                    .map(|offset| document.position_in(&text, offset))
                    .into_iter()
                    .collect(),
                classification: Classification::ValidationError,
            }]
        })?;
        if let Some(literals) = &mut text.literals {
            values.extend(literals.take_values().into_iter().map(Some));
        }
        let compiler = Compiler {
            variant: OperationVariant::new(&self.schema, document, operation, &values),
            growth: cached.growth(operation),
        };
        let is_long = !cached.has_plan(&compiler) && Document::is_long(document.text());
        let compile = || cached.plan(&compiler, self.limits);
        let plan = long_work::run(is_long, compile).await;
        plan.cost
            .check(self.limits, &values)
            .and_then(|()| plan.size.check())
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
                let result = long_work::run(true, introspect).await;
                result.map_err(|error| vec![error])?
            }
            None => Arc::default(),
        };
        let scope = Scope {
            context,
            compiler: &compiler,
            values: &values,
            text: &text,
            introspection: &introspection,
        };
        let budget = Budget::new(self.limits);
        Ok(execute::execute(scope, root, budget).await)
    }
}

impl PreparedRequest<'_> {
    /// The variables that the operation declares; none if the request is invalid.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        let variables = self.operation().map_or(&[][..], |found| &found.variables);
        variables.iter().map(|variable| &*variable.name)
    }

    /// What logs call the operation; `None` if the request is invalid.
    pub fn name(&self) -> Option<OperationName> {
        self.operation()?.name()
    }

    /// The field that the operation is counted by.
    pub fn root_field(&self) -> RootField {
        let operation = self.operation();
        operation.map_or(RootField::UNKNOWN, |found| found.root_field)
    }

    /// Whether the request is a valid mutation.
    pub fn is_mutation(&self) -> bool {
        self.operation()
            .is_some_and(|operation| operation.kind() == OperationType::Mutation)
    }

    /// `None` if the request is invalid.
    fn operation(&self) -> Option<&Operation> {
        let (cached, _) = self.cached.as_ref().ok()?;
        cached.document.operation(self.operation_name).ok()
    }
}
