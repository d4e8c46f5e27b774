//! Executing a plan.
//!
//! A query is executed level by level: the root resolvers say which entities come first; everything that those
//! need is read in one call of the store; what is found in it says which entities come next. So the number of
//! store calls is the number of levels, whatever the number of entities. When everything is there, the reply is
//! written depth first, in the order of the selection.

mod budget;
mod levels;
mod loaded;
mod scalar;
mod value;
mod write;

use apollo_compiler::ast::OperationType;
use docent_catalog::Error;
use docent_model::{Registry, Urn};
use serde_json::Value;

use crate::document::Document;
use crate::error::{self, Failure, FieldError};
use crate::input::VariableValues;
use crate::introspect::Answer;
use crate::plan::{Compiler, FieldKind, FieldPlan, ObjectPlan, Selection, ValuePlan};
use crate::resolve::{Context, RootResolver};
use crate::schema::source::Source;
use levels::Levels;
use write::{Unwritten, Writer};

pub(crate) use budget::{Budget, size_bytes};

/// Everything that stays the same while a request is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'r> {
    pub(crate) context: &'r Context,
    pub(crate) document: &'r Document,
    pub(crate) compiler: &'r Compiler<'r>,
    pub(crate) values: &'r VariableValues,
    pub(crate) answer: &'r Answer,
}

/// What a root resolver gave.
#[derive(Debug)]
enum RootValue {
    Json(Value),
    Entity(Urn),
    Failed(Failure),
    /// A field without a resolver: `__typename` and introspection.
    None,
}

/// Most replies are shorter, and need not grow.
const REPLY_BYTES: usize = 4096;

/// Executes a plan and returns the whole reply.
pub(crate) async fn execute<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    mut budget: Budget,
) -> Vec<u8> {
    // The common reply has no errors, so it is written as one; only an error makes us put it together anew.
    const HEAD: &[u8] = b"{\"data\":";
    let mut out = Vec::with_capacity(REPLY_BYTES);
    out.extend_from_slice(HEAD);
    let mut errors = Vec::new();
    let budget = &mut budget;
    let written = if scope.compiler.operation.kind() == OperationType::Mutation {
        mutate(scope, root, &mut out, &mut errors, budget).await
    } else {
        query(scope, root, &mut out, &mut errors, budget).await
    };
    match written {
        Ok(()) => {}
        Err(Unwritten::Nothing) => {
            out.truncate(HEAD.len());
            out.extend_from_slice(b"null");
        }
        Err(Unwritten::Exceeded(exceeded)) => return error::refuse(&[exceeded.into()]),
    }
    if errors.is_empty() {
        out.extend_from_slice(b",\"extensions\":{}}");
        return out;
    }
    error::reply_with(scope.document, &errors, &out[HEAD.len()..])
}

/// The fields of a query may be resolved in any order, so their levels are loaded together.
async fn query<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    out: &mut Vec<u8>,
    errors: &mut Vec<FieldError>,
    budget: &mut Budget,
) -> Result<(), Unwritten> {
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
    for (index, (field, value)) in root.fields.iter().zip(&values).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let mut writer = Writer::new(scope, &loaded, out, errors, budget);
        writer.root_field(&root.ty, field, value)?;
    }
    out.push(b'}');
    Ok(budget.reply(out.len())?)
}

/// The fields of a mutation are executed one after another, each with everything below it: what the second
/// reads is what the first has written.
async fn mutate<'r>(
    scope: Scope<'r>,
    root: &'r ObjectPlan,
    out: &mut Vec<u8>,
    errors: &mut Vec<FieldError>,
    budget: &mut Budget,
) -> Result<(), Unwritten> {
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
        let mut writer = Writer::new(scope, &loaded, out, errors, budget);
        writer.root_field(&root.ty, field, &value)?;
    }
    out.push(b'}');
    Ok(budget.reply(out.len())?)
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
        RootResolver::Function(function) => function
            .resolve(scope.context, arguments)
            .await
            .map(RootValue::Json),
        RootResolver::ByUrn => arguments
            .text("urn")
            .and_then(|text| named_entity(plan, text))
            .map(RootValue::Entity),
    };
    value.unwrap_or_else(|error| RootValue::Failed(Failure::of(&error)))
}

/// The entity that a URN names, which must be of the type that the field has.
///
/// Where an entity has to exist, only one that does not is held against the registry ([`Writer`]): what is stored
/// was checked when it was written.
fn named_entity(plan: &ValuePlan, text: &str) -> Result<Urn, Error> {
    let Selection::Object(object) = &plan.selection else {
        return Ok(Registry::get().parse_urn(text)?);
    };
    let urn = if plan.field.must_exist && !object.asks_existence {
        Urn::parse(text)?
    } else {
        Registry::get().parse_urn(text)?
    };
    if let Some(spec) = object.ty.entity() {
        urn.expect_type(spec.name)?;
    }
    Ok(urn)
}
