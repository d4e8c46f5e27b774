//! Plans: operations compiled to what execution does, with nothing left to look up.
//!
//! Every object that a query reads has an [`ObjectPlan`]: its fields in the order of the reply, and, for an
//! entity, the aspects to load and the members wanted of each. An interface or union has one plan per type that
//! actually turns up, compiled when it first does: compiling all in advance would grow with the number of types
//! to the power of the depth.

mod arguments;
mod collect;
mod needs;
mod weight;

use std::sync::{Arc, OnceLock};

use apollo_compiler::Node;
use apollo_compiler::executable::{ExecutableDocument, Field as Selected, SelectionSet};
use docent_model::AspectName;

use crate::document::{Conditions, Operation};
use crate::input::Variable;
use crate::introspect::Introspection;
use crate::json::Shape;
use crate::limits::{Cost, Counter, Limits};
use crate::schema::source::{Origin, Source};
use crate::schema::{AbstractType, Field, ObjectType, OutputKind, Schema};

pub(crate) use arguments::ArgumentPlan;
pub(crate) use weight::ALLOCATION_BYTES;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) cost: Cost,
    /// `None` if the operation costs too much to be compiled: plans grow with what fragments add up to.
    pub(crate) root: Option<ObjectPlan>,
    /// Set if the operation asks about the schema.
    pub(crate) introspection: Option<Introspection>,
}

#[derive(Debug)]
pub(crate) struct ObjectPlan {
    pub(crate) ty: Arc<ObjectType>,
    pub(crate) fields: Vec<FieldPlan>,
    /// For an entity: what to load of it. For a plain object: what its resolvers need of the owner.
    pub(crate) needs: Vec<Need>,
    /// All aspects are needed.
    pub(crate) needs_all: bool,
    /// The number of the key aspect among the needs, if the existence of the entity matters.
    pub(crate) key: Option<usize>,
    /// The selection asks whether the entity exists, so it must not fail because it does not.
    pub(crate) asks_existence: bool,
    /// The numbers of the fields that have a resolver.
    pub(crate) calls: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) aspect: AspectName,
    /// What fields read of it; `None` if only a resolver needs the row.
    pub(crate) shape: Option<Shape>,
    /// Nobody needs the row: only whether it is there matters.
    pub(crate) witness: bool,
}

#[derive(Debug)]
pub(crate) struct FieldPlan {
    /// `"name":`, ready to be written.
    pub(crate) key: Box<str>,
    /// Where it is selected in the document.
    pub(crate) offset: usize,
    pub(crate) kind: FieldKind,
}

#[derive(Debug)]
pub(crate) enum FieldKind {
    /// `__typename`.
    TypeName,
    /// `__schema` or `__type`; the reply is made elsewhere.
    Introspection,
    Value(Box<ValuePlan>),
}

/// A field with a value.
#[derive(Debug)]
pub(crate) struct ValuePlan {
    pub(crate) field: Arc<Field>,
    pub(crate) arguments: Vec<ArgumentPlan>,
    pub(crate) selection: Selection,
    /// The need that each origin reads, by the number of the origin.
    pub(crate) cells: Vec<usize>,
    /// The number of the field among the calls of its object.
    pub(crate) call: Option<usize>,
    /// Below it there may be entities to follow or resolvers to call.
    pub(crate) reaches: bool,
}

#[derive(Debug)]
pub(crate) enum Selection {
    /// A scalar or an enum.
    Leaf,
    Object(ObjectPlan),
    Abstract(AbstractPlan),
}

#[derive(Debug)]
pub(crate) struct AbstractPlan {
    pub(crate) ty: Arc<AbstractType>,
    /// The fields whose selections together are the selection on each type.
    selected: Vec<Node<Selected>>,
    must_exist: bool,
    /// By the number of the possible type.
    plans: Box<[OnceLock<ObjectPlan>]>,
}

impl FieldPlan {
    /// The name in the reply.
    pub(crate) fn name(&self) -> &str {
        &self.key[1..self.key.len() - 2]
    }

    pub(crate) fn value(&self) -> Option<&ValuePlan> {
        match &self.kind {
            FieldKind::Value(value) => Some(value),
            FieldKind::TypeName | FieldKind::Introspection => None,
        }
    }
}

impl ValuePlan {
    pub(crate) fn origins(&self) -> &[Origin] {
        match &self.field.source {
            Source::Origins { origins, .. } => origins,
            Source::Root(_) => &[],
        }
    }

    pub(crate) fn entries(&self) -> bool {
        matches!(self.field.source, Source::Origins { entries: true, .. })
    }
}

impl AbstractPlan {
    /// The plan for one of the possible types.
    pub(crate) fn plan<'p>(&'p self, index: usize, compiler: &Compiler<'_>) -> &'p ObjectPlan {
        if let Some(plan) = self.known_plan(index) {
            return plan;
        }
        let plan = self.plans[index].get_or_init(|| {
            let sets: Vec<_> = self
                .selected
                .iter()
                .map(|field| &field.selection_set)
                .collect();
            compiler.object(&self.ty.possible[index], &sets, self.must_exist)
        });
        compiler.operation.note_growth();
        plan
    }

    /// The plan for one of the possible types, if anything has asked for it before.
    pub(crate) fn known_plan(&self, index: usize) -> Option<&ObjectPlan> {
        self.plans[index].get()
    }
}

/// Makes the plans of one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiler<'c> {
    pub(crate) schema: &'c Schema,
    pub(crate) document: &'c ExecutableDocument,
    pub(crate) operation: &'c Operation,
    pub(crate) conditions: Conditions<'c>,
}

impl<'c> Compiler<'c> {
    pub(crate) fn variables(&self) -> &'c [Variable] {
        &self.operation.variables
    }

    pub(crate) fn cost(&self) -> Cost {
        let fragments = &self.document.fragments;
        Counter::new(self.schema, fragments, self.conditions, self.variables())
            .cost(&self.operation.node.selection_set)
    }

    pub(crate) fn plan(&self, limits: Limits) -> Plan {
        let cost = self.cost();
        let root = match self.schema.root(self.operation.kind()) {
            Some(root) if cost.check(limits, &Vec::new()).is_ok() => {
                Some(self.object(root, &[&self.operation.node.selection_set], false))
            }
            _ => None,
        };
        let questions = root
            .iter()
            .flat_map(|root| &root.fields)
            .filter(|field| matches!(field.kind, FieldKind::Introspection))
            .count();
        Plan {
            cost,
            introspection: (questions > 0).then(|| Introspection::new(self, questions)),
            root,
        }
    }

    fn object(&self, ty: &Arc<ObjectType>, sets: &[&SelectionSet], must_exist: bool) -> ObjectPlan {
        let mut fields = Vec::new();
        for (name, selected) in self.collect(ty, sets) {
            let Some(first) = selected.first() else {
                continue;
            };
            let kind = match first.name.as_str() {
                "__typename" => FieldKind::TypeName,
                "__schema" | "__type" => FieldKind::Introspection,
                field => match ty.fields.get(field) {
                    Some(field) => {
                        FieldKind::Value(Box::new(self.value(field, selected.as_slice())))
                    }
                    None => continue,
                },
            };
            fields.push(FieldPlan {
                key: format!("\"{name}\":").into(),
                offset: first.location().map_or(0, |span| span.offset()),
                kind,
            });
        }
        needs::complete(
            ObjectPlan {
                ty: Arc::clone(ty),
                fields,
                needs: Vec::new(),
                needs_all: false,
                key: None,
                asks_existence: false,
                calls: Vec::new(),
            },
            must_exist,
        )
    }

    fn value(&self, field: &Arc<Field>, selected: &[&Node<Selected>]) -> ValuePlan {
        let selection = match field.output.innermost() {
            OutputKind::Composite(name) => self.selection(name, selected, field.must_exist),
            _ => Selection::Leaf,
        };
        let reaches = selection.reaches();
        ValuePlan {
            field: Arc::clone(field),
            arguments: self.arguments(field, selected[0]),
            selection,
            cells: Vec::new(),
            call: None,
            reaches,
        }
    }

    fn selection(&self, name: &str, selected: &[&Node<Selected>], must_exist: bool) -> Selection {
        if let Some(ty) = self.schema.object(name) {
            let sets: Vec<_> = selected.iter().map(|field| &field.selection_set).collect();
            return Selection::Object(self.object(ty, &sets, must_exist));
        }
        let Some(ty) = self.schema.abstract_type(name) else {
            return Selection::Leaf;
        };
        let plan = AbstractPlan {
            ty: Arc::clone(ty),
            selected: selected.iter().map(|field| (*field).clone()).collect(),
            must_exist,
            plans: ty.possible.iter().map(|_| OnceLock::new()).collect(),
        };
        // The members of a stored union are parts of the owner's aspect: what is wanted of them must be known
        // before the aspect is parsed.
        for (index, possible) in ty.possible.iter().enumerate() {
            if !possible.variants.is_empty() {
                plan.plan(index, self);
            }
        }
        Selection::Abstract(plan)
    }
}

impl Selection {
    /// Whether a field is selected, by its names from the outside in. What an interface or union turns out to be is
    /// not known yet, so there the answer is yes.
    pub(crate) fn contains(&self, path: &[&str]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return true;
        };
        match self {
            Self::Leaf => false,
            Self::Abstract(_) => true,
            Self::Object(plan) => plan
                .fields
                .iter()
                .filter_map(FieldPlan::value)
                .any(|value| value.field.name == *first && value.selection.contains(rest)),
        }
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Leaf => false,
            Self::Object(plan) => {
                plan.ty.entity().is_some()
                    || !plan.calls.is_empty()
                    || plan
                        .fields
                        .iter()
                        .filter_map(FieldPlan::value)
                        .any(|value| value.reaches)
            }
            Self::Abstract(_) => true,
        }
    }
}
