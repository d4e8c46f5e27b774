//! The interface between the executor and the Rust functions behind fields: what a resolver is given, what it
//! returns, and how it is registered.
//!
//! A resolver returns JSON. It is projected by the schema like a stored aspect: members by name or by `@path`,
//! and a string in a field of an entity type is a URN that the executor follows. So a resolver never loads what
//! its caller did not select, and never asks what was selected.
//!
//! To add one: write an `async fn` with the signature of [`Resolvers::query`] or [`Resolvers::entity_field`], or a
//! plain function for [`Resolvers::computed`], and register it under the name that the schema uses.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use docent_catalog::{Caller, Catalog, Error, StoredAspect};
use docent_model::{AspectName, Registry, Urn};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use crate::plan::Selection;

/// What every resolver may use: the catalog, and who asks.
#[derive(Debug, Clone)]
pub struct Context {
    pub catalog: Catalog,
    pub caller: Caller,
}

impl Context {
    pub fn new(catalog: Catalog, caller: Caller) -> Self {
        Self { catalog, caller }
    }
}

/// The arguments of one field: checked against the schema, with defaults filled in. An argument that was
/// neither given nor has a default is absent; one that was given as `null` is null.
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    items: Vec<(&'a str, Cow<'a, Value>)>,
    selection: Option<&'a Selection>,
}

impl<'a> Args<'a> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            items: Vec::with_capacity(capacity),
            selection: None,
        }
    }

    pub(crate) fn push(&mut self, name: &'a str, value: Cow<'a, Value>) {
        self.items.push((name, value));
    }

    pub(crate) fn with_selection(mut self, selection: &'a Selection) -> Self {
        self.selection = Some(selection);
        self
    }

    /// Whether the reply has this field of the result, by its names from the outside in. For what is dear to compute
    /// and rarely wanted; everything else is simply returned. Where it cannot be told, the answer is yes.
    pub fn selects(&self, path: &[&str]) -> bool {
        self.selection
            .is_none_or(|selection| selection.contains(path))
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.items
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| &**value)
    }

    /// Reads one argument; an absent one reads like null. Texts may be borrowed.
    pub fn member<'b, T: Deserialize<'b>>(&'b self, name: &str) -> Result<T, Error> {
        T::deserialize(self.get(name).unwrap_or(&Value::Null)).map_err(unusable)
    }

    /// Reads the argument `input`, which most mutations and lists have as their only one.
    pub fn input<'b, T: Deserialize<'b>>(&'b self) -> Result<T, Error> {
        self.member("input")
    }

    /// A text argument that the schema requires.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        self.get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| Error::invalid(format!("the argument '{name}' must be a text")))
    }

    /// A text argument that must be the URN of a known kind of entity.
    pub fn urn(&self, name: &str) -> Result<Urn, Error> {
        let text = self.text(name)?;
        let parsed = Registry::get().parse_urn(text);
        parsed.map_err(|error| Error::invalid(format!("{name}: {error}")))
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is the argument of map_err"
)]
fn unusable(error: serde_json::Error) -> Error {
    Error::invalid(format!("the arguments cannot be used: {error}"))
}

/// An object whose field a batch resolver is asked for.
#[derive(Debug, Clone, Copy)]
pub struct EntityView<'a> {
    urn: &'a Urn,
    value: &'a Value,
    rows: &'a [(AspectName, &'a StoredAspect)],
}

impl<'a> EntityView<'a> {
    pub(crate) fn new(
        urn: &'a Urn,
        value: &'a Value,
        rows: &'a [(AspectName, &'a StoredAspect)],
    ) -> Self {
        Self { urn, value, rows }
    }

    /// The entity; for a field of a plain type the entity whose metadata the object is part of.
    pub fn urn(&self) -> &'a Urn {
        self.urn
    }

    /// The JSON value of the object, for a field of a plain type; null for a field of an entity type.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The latest row of an aspect that the schema's `needs` name; `None` if the entity does not have it.
    pub fn aspect(&self, aspect: AspectName) -> Option<&'a StoredAspect> {
        self.rows
            .iter()
            .find(|(name, _)| *name == aspect)
            .map(|(_, row)| *row)
    }

    /// All rows that were loaded for `needs`, with `needs: ["*"]` all latest aspects of the entity.
    pub fn aspects(&self) -> &'a [(AspectName, &'a StoredAspect)] {
        self.rows
    }
}

/// What a batch resolver returns: one result per entity, in their order; or one error for all of them.
pub type BatchResult = Result<Vec<Result<Value, Error>>, Error>;

/// A function behind a root field. Implemented by every `async fn(&Context, Args<'_>) -> Result<Value, Error>`.
pub trait RootFunction<'a>: Send + Sync {
    type Output: Future<Output = Result<Value, Error>> + Send + 'a;

    fn call(&self, context: &'a Context, arguments: Args<'a>) -> Self::Output;
}

impl<'a, F, O> RootFunction<'a> for F
where
    F: Fn(&'a Context, Args<'a>) -> O + Send + Sync,
    O: Future<Output = Result<Value, Error>> + Send + 'a,
{
    type Output = O;

    fn call(&self, context: &'a Context, arguments: Args<'a>) -> O {
        self(context, arguments)
    }
}

/// A function behind a `@resolve` field. Implemented by every
/// `async fn(&Context, &[EntityView<'_>], Args<'_>) -> BatchResult`.
pub trait BatchFunction<'a>: Send + Sync {
    type Output: Future<Output = BatchResult> + Send + 'a;

    fn call(
        &self,
        context: &'a Context,
        entities: &'a [EntityView<'a>],
        arguments: Args<'a>,
    ) -> Self::Output;
}

impl<'a, F, O> BatchFunction<'a> for F
where
    F: Fn(&'a Context, &'a [EntityView<'a>], Args<'a>) -> O + Send + Sync,
    O: Future<Output = BatchResult> + Send + 'a,
{
    type Output = O;

    fn call(&self, context: &'a Context, entities: &'a [EntityView<'a>], arguments: Args<'a>) -> O {
        self(context, entities, arguments)
    }
}

pub(crate) trait DynRoot: Send + Sync {
    fn resolve<'a>(
        &'a self,
        context: &'a Context,
        arguments: Args<'a>,
    ) -> BoxFuture<'a, Result<Value, Error>>;
}

pub(crate) trait DynBatch: Send + Sync {
    fn resolve<'a>(
        &'a self,
        context: &'a Context,
        entities: &'a [EntityView<'a>],
        arguments: Args<'a>,
    ) -> BoxFuture<'a, BatchResult>;
}

struct Adapter<F>(F);

impl<F> DynRoot for Adapter<F>
where
    F: for<'a> RootFunction<'a>,
{
    fn resolve<'a>(
        &'a self,
        context: &'a Context,
        arguments: Args<'a>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(self.0.call(context, arguments))
    }
}

impl<F> DynBatch for Adapter<F>
where
    F: for<'a> BatchFunction<'a>,
{
    fn resolve<'a>(
        &'a self,
        context: &'a Context,
        entities: &'a [EntityView<'a>],
        arguments: Args<'a>,
    ) -> BoxFuture<'a, BatchResult> {
        Box::pin(self.0.call(context, entities, arguments))
    }
}

/// How a root field gets its value.
pub(crate) enum RootResolver {
    Function(Box<dyn DynRoot>),
    /// The argument `urn` is the value, once it is checked.
    ByUrn,
}

impl fmt::Debug for RootResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Function(_) => "Function",
            Self::ByUrn => "ByUrn",
        })
    }
}

pub(crate) struct BatchResolver(pub(crate) Box<dyn DynBatch>);

impl fmt::Debug for BatchResolver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BatchResolver")
    }
}

/// All resolvers of a schema by name. Names that the schema does not use, and names it uses that are not here,
/// are errors when the schema is loaded.
#[derive(Debug, Default)]
pub struct Resolvers {
    pub(crate) queries: BTreeMap<&'static str, RootResolver>,
    pub(crate) mutations: BTreeMap<&'static str, RootResolver>,
    pub(crate) entity_fields: BTreeMap<&'static str, BatchResolver>,
    /// Names that were registered twice; reported when the schema is loaded.
    pub(crate) repeated: Vec<&'static str>,
}

impl Resolvers {
    pub fn new() -> Self {
        Self::default()
    }

    /// The function behind a field of `Query`.
    #[must_use]
    pub fn query<F>(mut self, name: &'static str, function: F) -> Self
    where
        F: for<'a> RootFunction<'a> + 'static,
    {
        let resolver = RootResolver::Function(Box::new(Adapter(function)));
        if self.queries.insert(name, resolver).is_some() {
            self.repeated.push(name);
        }
        self
    }

    /// A field of `Query` that returns the entity named by its argument `urn`. The URN is checked: it must be
    /// one, and its entity type must be the one of the field's type. Whether the entity exists is the business
    /// of `@mustExist`.
    #[must_use]
    pub fn query_by_urn(mut self, name: &'static str) -> Self {
        if self.queries.insert(name, RootResolver::ByUrn).is_some() {
            self.repeated.push(name);
        }
        self
    }

    /// The function behind a field of `Mutation`. Mutations of one request run one after another.
    #[must_use]
    pub fn mutation<F>(mut self, name: &'static str, function: F) -> Self
    where
        F: for<'a> RootFunction<'a> + 'static,
    {
        let resolver = RootResolver::Function(Box::new(Adapter(function)));
        if self.mutations.insert(name, resolver).is_some() {
            self.repeated.push(name);
        }
        self
    }

    /// The function behind every `@resolve(by: name)`. It is called once per level of the query with all
    /// objects that need it.
    #[must_use]
    pub fn entity_field<F>(self, name: &'static str, function: F) -> Self
    where
        F: for<'a> BatchFunction<'a> + 'static,
    {
        self.batch(name, Box::new(Adapter(function)))
    }

    /// Like [`Resolvers::entity_field`], for a field that follows from its object alone: no arguments, nothing
    /// to ask the catalog for, and no way to fail.
    #[must_use]
    pub fn computed<F>(self, name: &'static str, function: F) -> Self
    where
        F: Fn(&EntityView<'_>) -> Value + Send + Sync + 'static,
    {
        self.batch(name, Box::new(Computed(function)))
    }

    fn batch(mut self, name: &'static str, resolver: Box<dyn DynBatch>) -> Self {
        let resolver = BatchResolver(resolver);
        if self.entity_fields.insert(name, resolver).is_some() {
            self.repeated.push(name);
        }
        self
    }
}

/// A function of one object alone.
struct Computed<F>(F);

impl<F> DynBatch for Computed<F>
where
    F: Fn(&EntityView<'_>) -> Value + Send + Sync,
{
    fn resolve<'a>(
        &'a self,
        _: &'a Context,
        entities: &'a [EntityView<'a>],
        _: Args<'a>,
    ) -> BoxFuture<'a, BatchResult> {
        let results = entities.iter().map(|entity| Ok(self.0(entity))).collect();
        Box::pin(std::future::ready(Ok(results)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: &Value) -> Args<'_> {
        let mut arguments = Args::default();
        for (name, value) in value.as_object().unwrap() {
            arguments.push(name, Cow::Borrowed(value));
        }
        arguments
    }

    #[test]
    fn arguments_are_read_into_structs_that_may_borrow() {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Move<'a> {
            resource_urn: &'a str,
            parent_domain: Option<&'a str>,
        }
        let value = json!({"input": {"resourceUrn": "urn:li:domain:a"}});
        let arguments = arguments(&value);
        let parsed: Move<'_> = arguments.input().unwrap();
        assert_eq!(parsed.resource_urn, "urn:li:domain:a");
        assert_eq!(parsed.parent_domain, None);
    }

    #[test]
    fn a_urn_argument_must_name_a_known_kind_of_entity() {
        let value = json!({"urn": "urn:li:nonsense:a"});
        let error = arguments(&value).urn("urn").unwrap_err();
        assert_eq!(error.kind(), docent_catalog::ErrorKind::Invalid);
        assert!(error.to_string().contains("nonsense"), "{error}");
    }

    async fn root(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
        Ok(json!(arguments.text("urn")?))
    }

    async fn batch(_: &Context, entities: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
        Ok(entities
            .iter()
            .map(|entity| Ok(json!(entity.urn())))
            .collect())
    }

    #[test]
    fn async_functions_register_as_they_are_and_repeated_names_are_noticed() {
        let resolvers = Resolvers::new()
            .query("dataset", root)
            .query_by_urn("dataset")
            .mutation("dataset", root)
            .entity_field("parentDomains", batch);
        assert_eq!(resolvers.repeated, ["dataset"]);
    }
}
