//! Resolvers: the functions behind fields, their arguments and their registration.
//!
//! A resolver returns JSON, which the executor reads like a stored aspect: members by name or by
//! `@path`, and a string in a field of an entity type is the URN of an entity to load. So a
//! resolver does not need to know the selection.
//!
//! To add one: write an `async fn` with the signature of [`Resolvers::query`] or
//! [`Resolvers::entity_field`], or a plain function for [`Resolvers::computed`], and register it
//! under the name in the schema.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use docent_catalog::{Caller, Catalog, Error, StoredAspect};
use docent_model::{AspectName, Registry, Urn};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

/// The context of a resolver: the catalog and the caller.
#[derive(Debug, Clone)]
pub struct Context {
    pub catalog: Catalog,
    pub caller: Caller,
}

impl Context {
    pub fn new(catalog: Catalog, caller: Caller) -> Self {
        Self { catalog, caller }
    }

    /// The context of a root field, which the audit log names.
    pub(crate) fn in_operation(&self, field: &str) -> Self {
        Self {
            catalog: self.catalog.clone(),
            caller: self.caller.clone().in_operation(field.to_owned()),
        }
    }
}

/// The arguments of a field, checked against the schema, with defaults. An argument without value
/// and default is absent; an explicit `null` is null.
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    items: Vec<(&'a str, Cow<'a, Value>)>,
    selection: Option<&'a dyn SelectedFields>,
}

/// The fields that a query selects of the result of a resolver.
pub(crate) trait SelectedFields: fmt::Debug + Sync {
    /// Whether a field is selected, by its path from the outside in.
    fn contains(&self, path: &[&str]) -> bool;
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

    pub(crate) fn with_selection(mut self, selection: &'a dyn SelectedFields) -> Self {
        self.selection = Some(selection);
        self
    }

    /// Whether the query selects a field of the result, by its path from the outside in; true if
    /// that is not known yet. For fields that are expensive to compute and rarely selected; all
    /// others are simply returned.
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

    /// Deserializes an argument. An absent argument is null.
    pub fn member<'b, T: Deserialize<'b>>(&'b self, name: &str) -> Result<T, Error> {
        T::deserialize(self.get(name).unwrap_or(&Value::Null)).map_err(invalid_arguments)
    }

    /// Deserializes the argument `input`.
    pub fn input<'b, T: Deserialize<'b>>(&'b self) -> Result<T, Error> {
        self.member("input")
    }

    /// A required string argument.
    pub fn text(&self, name: &str) -> Result<&str, Error> {
        self.get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| Error::invalid(format!("the argument '{name}' must be a string")))
    }

    /// A required URN argument of a registered entity type.
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
fn invalid_arguments(error: serde_json::Error) -> Error {
    Error::invalid(format!("invalid arguments: {error}"))
}

/// The object whose field a resolver computes.
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

    /// The URNs of entities.
    pub(crate) fn urns(entities: &[Self]) -> Vec<Urn> {
        entities.iter().map(|entity| entity.urn.clone()).collect()
    }

    /// The URN of the entity; for a field of a plain type, of the entity that owns the object.
    pub fn urn(&self) -> &'a Urn {
        self.urn
    }

    /// The JSON of the object, for a field of a plain type; null for a field of an entity type.
    pub fn value(&self) -> &'a Value {
        self.value
    }

    /// The latest row of an aspect in `needs`; `None` if the entity does not have it.
    pub fn aspect(&self, aspect: AspectName) -> Option<&'a StoredAspect> {
        self.rows
            .iter()
            .find(|(name, _)| *name == aspect)
            .map(|(_, row)| *row)
    }

    /// The rows of the aspects in `needs`; with `needs: ["*"]` the latest rows of all aspects.
    pub fn aspects(&self) -> &'a [(AspectName, &'a StoredAspect)] {
        self.rows
    }
}

/// The result of a batch resolver: one result per entity, in order, or one error for all.
pub type BatchResult = Result<Vec<Result<Value, Error>>, Error>;

/// A function behind a root field. Implemented by every `async fn(&Context, Args<'_>) ->
/// Result<Value, Error>`.
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
    /// The value is the argument `urn`, after validation.
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

/// The resolvers of a schema, by name. Unused and missing resolvers are errors when the schema is
/// loaded.
#[derive(Debug, Default)]
pub struct Resolvers {
    pub(crate) queries: BTreeMap<&'static str, RootResolver>,
    pub(crate) mutations: BTreeMap<&'static str, RootResolver>,
    pub(crate) entity_fields: BTreeMap<&'static str, BatchResolver>,
    /// Names registered twice; reported when the schema is loaded.
    pub(crate) repeated: Vec<&'static str>,
}

impl Resolvers {
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers the function of a field of `Query`.
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

    /// Registers a field of `Query` that returns the entity of its argument `urn`. The URN must be
    /// valid and have the entity type of the field. `@mustExist` decides whether the entity must
    /// exist.
    #[must_use]
    pub fn query_by_urn(mut self, name: &'static str) -> Self {
        if self.queries.insert(name, RootResolver::ByUrn).is_some() {
            self.repeated.push(name);
        }
        self
    }

    /// Registers the function of a field of `Mutation`. The mutations of a request run one after
    /// another.
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

    /// Registers the function of every `@resolve(by: name)`. It is called once per level of the
    /// query, with all objects.
    #[must_use]
    pub fn entity_field<F>(self, name: &'static str, function: F) -> Self
    where
        F: for<'a> BatchFunction<'a> + 'static,
    {
        self.batch(name, Box::new(Adapter(function)))
    }

    /// Like [`Resolvers::entity_field`], for a field that is computed from its object alone,
    /// without arguments, the catalog or errors.
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

/// A function of one object.
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
    fn arguments_deserialize_into_structs_that_borrow() {
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
    fn a_urn_argument_must_have_a_registered_entity_type() {
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
    fn names_registered_twice_are_reported() {
        let resolvers = Resolvers::new()
            .query("dataset", root)
            .query_by_urn("dataset")
            .mutation("dataset", root)
            .entity_field("parentDomains", batch);
        assert_eq!(resolvers.repeated, ["dataset"]);
    }
}
