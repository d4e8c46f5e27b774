//! Executes plans.
//!
//! A query is executed level by level: the root resolvers return the first entities, one store call
//! reads everything these need, and the rows refer to the entities of the next level. So the number
//! of store calls is the number of levels, not of entities. When all levels are loaded, the reply
//! is written depth first, in the order of the selection.

mod budget;
mod level_request;
mod levels;
mod loaded;
mod scalar;
mod value;
mod write;

use apollo_compiler::ast::OperationType;
use docent_catalog::spent::Step;
use docent_catalog::{Error, long_work};
use docent_model::{Registry, Urn};
use serde_json::Value;

use crate::document::RequestText;
use crate::error::{self, Failure, FieldErrors};
use crate::input::VariableValues;
use crate::introspect::IntrospectionResult;
use crate::plan::{Compiler, FieldKind, FieldPlan, ObjectPlan, Selection, ValuePlan};
use crate::resolve::{Context, RootResolver};
use crate::schema::source::Source;
use levels::Levels;
use loaded::Loaded;
use write::{WriteError, Writer};

pub(crate) use budget::Budget;

/// The request being executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'r> {
    pub(crate) context: &'r Context,
    pub(crate) compiler: &'r Compiler<'r>,
    pub(crate) values: &'r VariableValues,
    pub(crate) text: &'r RequestText<'r>,
    pub(crate) introspection: &'r IntrospectionResult,
}

/// The number of root fields that a resolver computes one after another.
pub(crate) fn root_calls(root: &ObjectPlan) -> u64 {
    let fields = root.fields.iter().filter_map(FieldPlan::value);
    let is_call = |plan: &&ValuePlan| {
        let source = &plan.field.source;
        matches!(source, Source::Root(RootResolver::Function(_)))
    };
    fields.filter(is_call).count() as u64
}

/// The result of a root resolver.
#[derive(Debug)]
enum RootValue {
    Json(Value),
    Entity(Urn),
    Failed(Failure),
    /// A field without a resolver: `__typename` and introspection.
    None,
}

/// Initial capacity; most replies are shorter.
const REPLY_BYTES: usize = 4096;

/// Executes a plan and returns the whole reply.
pub(crate) async fn execute<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    mut budget: Budget,
) -> Vec<u8> {
    // Most replies have no errors, so `data` is written first. Errors, which precede it, are rare
    // enough to copy.
    const HEAD: &[u8] = b"{\"data\":";
    let mut out = Vec::with_capacity(REPLY_BYTES);
    out.extend_from_slice(HEAD);
    let mut errors = FieldErrors::default();
    let budget = &mut budget;
    let is_mutation = scope.compiler.variant.operation.kind() == OperationType::Mutation;
    let written = if is_mutation {
        mutate(scope, root, &mut out, &mut errors, budget).await
    } else {
        query(scope, root, &mut out, &mut errors, budget).await
    };
    match written {
        Ok(()) => {}
        // `write_fields` handles long replies.
        Err(WriteError::Null | WriteError::Long) => {
            out.truncate(HEAD.len());
            out.extend_from_slice(b"null");
        }
        Err(WriteError::Limit(exceeded)) => return error::abort(exceeded.into()),
    }
    if errors.is_empty() {
        out.extend_from_slice(b",\"extensions\":");
        if is_mutation {
            write_extensions(&mut out, scope.context);
        } else {
            out.extend_from_slice(b"{}");
        }
        out.push(b'}');
        return out;
    }
    let document = scope.compiler.variant.document;
    error::reply_with(&errors, &out[HEAD.len()..], |offset| {
        document.position_in(scope.text, offset)
    })
}

/// Tells the caller which changes were only proposed.
fn write_extensions(out: &mut Vec<u8>, context: &Context) {
    let proposals = context.caller.proposals();
    if proposals.is_empty() {
        out.extend_from_slice(b"{}");
    } else {
        let extensions = serde_json::json!({"proposals": proposals});
        out.extend_from_slice(extensions.to_string().as_bytes());
    }
}

/// The levels of all root fields are loaded together.
async fn query<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    out: &mut Vec<u8>,
    errors: &mut FieldErrors,
    budget: &mut Budget,
) -> Result<(), WriteError> {
    let mut values = Vec::with_capacity(root.fields.len());
    for field in &root.fields {
        values.push(resolve(scope, field).await);
    }
    let mut levels = Levels::new(scope);
    for (field, value) in root.fields.iter().zip(&values) {
        levels.start(field, value, budget)?;
    }
    levels.load(budget).await?;
    let loaded = levels.into_loaded();
    out.push(b'{');
    let fields: Vec<_> = root.fields.iter().zip(&values).collect();
    write_fields(
        scope,
        root,
        &fields,
        &loaded,
        (&mut *out, errors, &mut *budget),
    )
    .await?;
    out.push(b'}');
    Ok(budget.check_reply(out.len())?)
}

/// The root fields are executed one after another with all their levels, so that each reads the
/// writes of the previous ones.
async fn mutate<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    out: &mut Vec<u8>,
    errors: &mut FieldErrors,
    budget: &mut Budget,
) -> Result<(), WriteError> {
    out.push(b'{');
    for (index, field) in root.fields.iter().enumerate() {
        let value = resolve(scope, field).await;
        let mut levels = Levels::new(scope);
        levels.start(field, &value, budget)?;
        levels.load(budget).await?;
        let loaded = levels.into_loaded();
        if index > 0 {
            out.push(b',');
        }
        let fields = [(field, &value)];
        let output = (&mut *out, &mut *errors, &mut *budget);
        write_fields(scope, root, &fields, &loaded, output).await?;
    }
    out.push(b'}');
    Ok(budget.check_reply(out.len())?)
}

/// Writes root fields. How long that takes is not known before: an entity is written wherever it
/// occurs. So a reply that turns out to be long is written again, beside the runtime.
async fn write_fields<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    fields: &[(&'r FieldPlan, &RootValue)],
    loaded: &Loaded<'r>,
    (out, errors, budget): (&mut Vec<u8>, &mut FieldErrors, &mut Budget),
) -> Result<(), WriteError> {
    let _step = Step::begin("writing the response");
    let write = |out: &mut Vec<u8>, errors: &mut FieldErrors, budget: &mut Budget| {
        for (index, (field, value)) in fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let mut writer = Writer::new(scope, loaded, out, errors, budget);
            writer.root_field(&root.ty, field, value)?;
        }
        Ok(())
    };
    let (start, first_error, mut short) = (out.len(), errors.mark(), budget.short());
    match write(out, errors, &mut short) {
        Err(WriteError::Long) => {}
        written => {
            *budget = short.full();
            return written;
        }
    }
    out.truncate(start);
    errors.reset(first_error);
    let rewrite = || write(out, errors, budget);
    long_work::run(true, rewrite).await
}

async fn resolve(scope: Scope<'_>, field: &FieldPlan) -> RootValue {
    let FieldKind::Value(plan) = &field.kind else {
        return RootValue::None;
    };
    let Source::Root(resolver) = &plan.field.source else {
        return RootValue::None;
    };
    let arguments = match scope.compiler.evaluate(plan, scope.values) {
        Ok(arguments) => arguments,
        Err(message) => return RootValue::Failed(Failure::of(&Error::invalid(message))),
    };
    let value = match resolver {
        RootResolver::Function(function) => {
            let _step = Step::begin(&plan.field.name);
            let context = scope.context.in_operation(&plan.field.name);
            let value = function.resolve(&context, arguments).await;
            value.map(RootValue::Json)
        }
        RootResolver::ByUrn => arguments
            .text("urn")
            .and_then(|text| named_entity(plan, text))
            .map(RootValue::Entity),
    };
    value.unwrap_or_else(|error| RootValue::Failed(Failure::of(&error)))
}

/// Parses a URN and checks that it has the entity type of the field.
///
/// If the entity must exist, [`Writer`] checks the URN against the registry only if it is missing:
/// stored URNs were checked when they were written.
fn named_entity(plan: &ValuePlan, text: &str) -> Result<Urn, Error> {
    let Selection::Object(object) = &plan.selection else {
        return Ok(Registry::get().parse_urn(text)?);
    };
    let urn = if plan.field.must_exist && !object.selects_exists {
        Urn::parse(text)?
    } else {
        Registry::get().parse_urn(text)?
    };
    if let Some(spec) = object.ty.entity() {
        urn.expect_type(spec.name)?;
    }
    Ok(urn)
}
