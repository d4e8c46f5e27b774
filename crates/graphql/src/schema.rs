//! The schema for execution: SDL, parsed and validated at startup, with the directives of every
//! field compiled into a [`source::Source`].
//!
//! Errors in the schema are found at startup, not by a request: unknown aspects, missing resolvers,
//! fields of entities without a source.
//!
//! To add a directive: define it in `schema/directives.graphql`, add a [`source::Origin`], read the
//! directive in `schema/source.rs`, and read the value in `execute/value.rs`.

pub(crate) mod source;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use apollo_compiler::ast::{self, OperationType, Type};
use apollo_compiler::collections::HashMap as ApolloMap;
use apollo_compiler::schema::{ExtendedType, Implementers};
use apollo_compiler::validation::Valid;
use apollo_compiler::{Name, Node};
use docent_model::{EntitySpec, Registry};

use crate::measurements::RootFields;
use crate::resolve::{BatchResolver, Resolvers, RootResolver};
use source::Source;

/// Why a schema cannot be used, with all problems.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("invalid GraphQL schema:\n{0}")]
    Invalid(String),
    #[error("the GraphQL schema does not match the registry or the resolvers:\n{}", .0.join("\n"))]
    Unusable(Vec<String>),
}

/// A schema with its resolvers, ready to execute requests.
#[derive(Debug)]
pub struct Schema {
    pub(crate) valid: Valid<apollo_compiler::Schema>,
    pub(crate) implementers: ApolloMap<Name, Implementers>,
    objects: HashMap<Name, Arc<ObjectType>>,
    abstracts: HashMap<Name, Arc<AbstractType>>,
    /// Values of the enum of `@entityType` fields, by the registry name of the entity type.
    entity_type_values: HashMap<&'static str, Box<str>>,
    pub(crate) root_fields: RootFields,
}

#[derive(Debug)]
pub(crate) struct ObjectType {
    pub(crate) name: Name,
    pub(crate) kind: ObjectKind,
    /// The members of a stored union that this type represents.
    pub(crate) variants: Vec<Box<str>>,
    pub(crate) fields: HashMap<Name, Arc<Field>>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ObjectKind {
    Root,
    Entity(&'static EntitySpec),
    Plain,
}

impl ObjectType {
    pub(crate) fn entity(&self) -> Option<&'static EntitySpec> {
        match self.kind {
            ObjectKind::Entity(spec) => Some(spec),
            ObjectKind::Root | ObjectKind::Plain => None,
        }
    }
}

/// An interface or a union.
#[derive(Debug)]
pub(crate) struct AbstractType {
    pub(crate) possible: Vec<Arc<ObjectType>>,
    /// The type of a stub for a URN of another type, if null is not allowed: the first entity type
    /// of a union.
    pub(crate) stub: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) parent: Name,
    pub(crate) output: OutputType,
    pub(crate) source: Source,
    pub(crate) arguments: Vec<Node<ast::InputValueDefinition>>,
    /// A missing entity is an error.
    pub(crate) must_exist: bool,
    /// The text may be the URN of an entity.
    pub(crate) is_reference: bool,
    /// Whether the resolvers of the returned entity get the arguments.
    pub(crate) passes_arguments: bool,
}

/// The type of a field, for writing its value.
#[derive(Debug)]
pub(crate) struct OutputType {
    pub(crate) non_null: bool,
    pub(crate) kind: OutputKind,
}

#[derive(Debug)]
pub(crate) enum OutputKind {
    List(Box<OutputType>),
    Scalar(Scalar),
    Enum(Arc<EnumType>),
    /// An object, an interface or a union. The plan has the selection.
    Composite(Name),
}

impl OutputType {
    /// The type inside of all lists.
    pub(crate) fn innermost(&self) -> &OutputKind {
        match &self.kind {
            OutputKind::List(inner) => inner.innermost(),
            kind => kind,
        }
    }

    /// Whether the type inside of all lists is non-null.
    pub(crate) fn is_innermost_non_null(&self) -> bool {
        match &self.kind {
            OutputKind::List(inner) => inner.is_innermost_non_null(),
            _ => self.non_null,
        }
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self.kind, OutputKind::List(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    String,
    Int,
    Float,
    Boolean,
    Long,
    /// Any other scalar: any JSON value.
    Any,
}

/// An enum with the stored spellings of its values.
#[derive(Debug)]
pub(crate) struct EnumType {
    values: Vec<(Name, Vec<Box<str>>)>,
}

impl EnumType {
    /// The enum value of a stored text or union member.
    pub(crate) fn read(&self, stored: &str) -> Option<&str> {
        self.values
            .iter()
            .find(|(name, spellings)| {
                name.as_str() == stored || spellings.iter().any(|spelling| &**spelling == stored)
            })
            .map(|(name, _)| name.as_str())
    }
}

impl Schema {
    /// Parses and checks SDL. Each source is a name, for messages, and a text.
    pub fn load(sources: &[(&str, &str)], resolvers: Resolvers) -> Result<Self, SchemaError> {
        let mut builder = apollo_compiler::Schema::builder();
        for (name, text) in sources {
            builder = builder.parse(*text, name);
        }
        let valid = builder
            .build()
            .map_err(|error| SchemaError::Invalid(error.errors.to_string()))?
            .validate()
            .map_err(|error| SchemaError::Invalid(error.errors.to_string()))?;
        Loader::new(valid, resolvers).load()
    }

    /// The schema as SDL, directives included.
    pub fn sdl(&self) -> String {
        self.valid.to_string()
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Arc<ObjectType>> {
        self.objects.get(name)
    }

    pub(crate) fn abstract_type(&self, name: &str) -> Option<&Arc<AbstractType>> {
        self.abstracts.get(name)
    }

    pub(crate) fn root(&self, operation: OperationType) -> Option<&Arc<ObjectType>> {
        self.valid
            .root_operation(operation)
            .and_then(|name| self.objects.get(name))
    }

    /// The enum value for an entity type of the registry.
    pub(crate) fn entity_type_value(&self, entity_type: &str) -> Option<&str> {
        self.entity_type_values
            .get(entity_type)
            .map(|value| &**value)
    }
}

/// Builds a [`Schema`] and collects all problems.
struct Loader {
    valid: Valid<apollo_compiler::Schema>,
    queries: BTreeMap<&'static str, RootResolver>,
    mutations: BTreeMap<&'static str, RootResolver>,
    batches: BTreeMap<&'static str, Arc<BatchResolver>>,
    unused_batches: BTreeSet<&'static str>,
    enums: HashMap<Name, Arc<EnumType>>,
    problems: Vec<String>,
}

impl Loader {
    fn new(valid: Valid<apollo_compiler::Schema>, resolvers: Resolvers) -> Self {
        let unused_batches = resolvers.entity_fields.keys().copied().collect();
        let problems = resolvers
            .repeated
            .iter()
            .map(|name| format!("the resolver '{name}' is registered twice"))
            .collect();
        Self {
            valid,
            queries: resolvers.queries,
            mutations: resolvers.mutations,
            batches: resolvers
                .entity_fields
                .into_iter()
                .map(|(name, resolver)| (name, Arc::new(resolver)))
                .collect(),
            unused_batches,
            enums: HashMap::new(),
            problems,
        }
    }

    fn load(mut self) -> Result<Schema, SchemaError> {
        let types = self.valid.types.clone();
        let mut entity_type_values = HashMap::new();
        for (name, ty) in &types {
            if let ExtendedType::Enum(ty) = ty {
                let values = self.enum_values(ty, &mut entity_type_values);
                self.enums
                    .insert(name.clone(), Arc::new(EnumType { values }));
            }
        }
        let mut objects = HashMap::new();
        for (name, ty) in &types {
            if let ExtendedType::Object(ty) = ty
                && !name.starts_with("__")
            {
                let object = self.object(ty);
                objects.insert(name.clone(), Arc::new(object));
            }
        }
        self.report_unused();
        if !self.problems.is_empty() {
            return Err(SchemaError::Unusable(self.problems));
        }
        let implementers = self.valid.implementers_map();
        let possible = |names: &mut dyn Iterator<Item = &Name>| -> Vec<Arc<ObjectType>> {
            names
                .filter_map(|name| objects.get(name).cloned())
                .collect()
        };
        let mut abstracts = HashMap::new();
        for (name, ty) in &types {
            match ty {
                ExtendedType::Interface(_) => {
                    let empty = Implementers::default();
                    let known = implementers.get(name).unwrap_or(&empty);
                    let ty = AbstractType {
                        possible: possible(&mut known.objects.iter()),
                        stub: None,
                    };
                    abstracts.insert(name.clone(), Arc::new(ty));
                }
                ExtendedType::Union(union) => {
                    let mut members = union.members.iter().map(|member| &member.name);
                    let possible = possible(&mut members);
                    let ty = AbstractType {
                        stub: possible.iter().position(|ty| ty.entity().is_some()),
                        possible,
                    };
                    abstracts.insert(name.clone(), Arc::new(ty));
                }
                _ => {}
            }
        }
        let root_fields = RootFields::new(|kind| {
            let root = self.valid.root_operation(kind);
            let root = root.and_then(|name| objects.get(name));
            root.iter()
                .flat_map(|root| root.fields.keys().map(Name::as_str))
                .collect()
        });
        Ok(Schema {
            root_fields,
            valid: self.valid,
            implementers,
            objects,
            abstracts,
            entity_type_values,
        })
    }

    fn enum_values(
        &mut self,
        ty: &apollo_compiler::schema::EnumType,
        entity_type_values: &mut HashMap<&'static str, Box<str>>,
    ) -> Vec<(Name, Vec<Box<str>>)> {
        let mut values = Vec::with_capacity(ty.values.len());
        for (name, value) in &ty.values {
            let mut spellings = source::texts(value.directives.get("variant"), "of");
            if let Some(entity_type) = source::text(value.directives.get("entity"), "type") {
                match Registry::get().stored_entity(entity_type) {
                    Some(spec) if spec.name == entity_type => {
                        entity_type_values.insert(spec.name, name.as_str().into());
                        spellings.push(entity_type.into());
                    }
                    _ => self.problem(
                        &format!("{}.{name}", ty.name),
                        &format!("the entity type '{entity_type}' is not in the registry"),
                    ),
                }
            }
            values.push((name.clone(), spellings));
        }
        values
    }

    fn object(&mut self, ty: &apollo_compiler::schema::ObjectType) -> ObjectType {
        let kind = self.object_kind(ty);
        let mut fields = HashMap::with_capacity(ty.fields.len());
        for (name, definition) in &ty.fields {
            let path = format!("{}.{name}", ty.name);
            let output = self.output(&definition.ty);
            let source = match kind {
                ObjectKind::Root => self.root_source(ty, name, &path),
                ObjectKind::Entity(_) | ObjectKind::Plain => {
                    self.source(&path, definition, kind, &output)
                }
            };
            let field = Field {
                name: name.clone(),
                parent: ty.name.clone(),
                output,
                source,
                arguments: definition.arguments.clone(),
                must_exist: definition.directives.has("mustExist"),
                is_reference: definition.directives.has("reference"),
                passes_arguments: definition.directives.has("passArguments"),
            };
            fields.insert(name.clone(), Arc::new(field));
        }
        let variant = ty
            .directives
            .get("variant")
            .map(|directive| &directive.node);
        ObjectType {
            name: ty.name.clone(),
            kind,
            variants: source::texts(variant, "of"),
            fields,
        }
    }

    fn object_kind(&mut self, ty: &apollo_compiler::schema::ObjectType) -> ObjectKind {
        let is_root = [
            OperationType::Query,
            OperationType::Mutation,
            OperationType::Subscription,
        ]
        .into_iter()
        .any(|operation| self.valid.root_operation(operation) == Some(&ty.name));
        if is_root {
            return ObjectKind::Root;
        }
        let entity = ty.directives.get("entity").map(|directive| &directive.node);
        let Some(entity_type) = source::text(entity, "type") else {
            return ObjectKind::Plain;
        };
        match Registry::get().stored_entity(entity_type) {
            Some(spec) if spec.name == entity_type => ObjectKind::Entity(spec),
            _ => {
                self.problem(
                    &ty.name,
                    &format!("the entity type '{entity_type}' is not in the registry"),
                );
                ObjectKind::Plain
            }
        }
    }

    fn root_source(
        &mut self,
        ty: &apollo_compiler::schema::ObjectType,
        name: &Name,
        field: &str,
    ) -> Source {
        let is_query = self.valid.root_operation(OperationType::Query) == Some(&ty.name);
        let resolvers = if is_query {
            &mut self.queries
        } else {
            &mut self.mutations
        };
        if let Some(resolver) = resolvers.remove(name.as_str()) {
            return Source::Root(resolver);
        }
        self.problem(field, "no resolver is registered for this root field");
        Source::Origins {
            origins: Vec::new(),
            entries: false,
        }
    }

    fn output(&mut self, ty: &Type) -> OutputType {
        match ty {
            Type::List(inner) | Type::NonNullList(inner) => OutputType {
                non_null: ty.is_non_null(),
                kind: OutputKind::List(Box::new(self.output(inner))),
            },
            Type::Named(name) | Type::NonNullNamed(name) => {
                let kind = match self.valid.types.get(name) {
                    Some(ExtendedType::Scalar(_)) => OutputKind::Scalar(scalar(name)),
                    Some(ExtendedType::Enum(_)) => match self.enums.get(name) {
                        Some(known) => OutputKind::Enum(Arc::clone(known)),
                        None => OutputKind::Scalar(Scalar::String),
                    },
                    _ => OutputKind::Composite(name.clone()),
                };
                OutputType {
                    non_null: ty.is_non_null(),
                    kind,
                }
            }
        }
    }

    fn report_unused(&mut self) {
        for name in self.queries.keys() {
            self.problems.push(format!(
                "the resolver '{name}' has no field in the query type"
            ));
        }
        for name in self.mutations.keys() {
            self.problems.push(format!(
                "the resolver '{name}' has no field in the mutation type"
            ));
        }
        for name in &self.unused_batches {
            self.problems
                .push(format!("the resolver '{name}' is not used by any field"));
        }
    }

    fn problem(&mut self, path: &str, message: &str) {
        self.problems.push(format!("{path}: {message}"));
    }
}

fn scalar(name: &Name) -> Scalar {
    match name.as_str() {
        "String" | "ID" => Scalar::String,
        "Int" => Scalar::Int,
        "Float" => Scalar::Float,
        "Boolean" => Scalar::Boolean,
        "Long" => Scalar::Long,
        _ => Scalar::Any,
    }
}

#[cfg(test)]
mod tests;
