//! Plans: operations compiled for execution, so that execution looks nothing up.
//!
//! Every object of a query has an [`ObjectPlan`]: its fields in the order of the reply and, for an
//! entity, the aspects to load and the members to read of each. An interface or union has one plan
//! per type that occurs, compiled at the first occurrence: compiling all in advance would grow
//! exponentially with the depth.

mod arguments;
mod collect;
mod needs;
mod size;
mod weight;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use apollo_compiler::Node;
use apollo_compiler::executable::{Field as Selected, SelectionSet};
use docent_model::AspectName;

use crate::cost::{self, Cost};
use crate::document::OperationVariant;
use crate::introspect::IntrospectionCost;
use crate::json::Projection;
use crate::limits::{LimitExceeded, Limits};
use crate::path::Path;
use crate::resolve::{BatchResolver, SelectedFields};
use crate::schema::source::{Origin, Source};
use crate::schema::{AbstractType, Field, ObjectType, OutputKind};

pub(crate) use arguments::ArgumentPlan;
pub(crate) use size::PlanSize;

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) cost: Cost,
    pub(crate) size: Arc<PlanSize>,
    /// `None` if the operation exceeds a limit: fragments can make plans very large.
    pub(crate) root: Option<ObjectPlan>,
    /// `None` if the operation selects no introspection field.
    pub(crate) introspection: Option<IntrospectionCost>,
}

#[derive(Debug)]
pub(crate) struct ObjectPlan {
    pub(crate) ty: Arc<ObjectType>,
    pub(crate) fields: Vec<FieldPlan>,
    /// For an entity: the aspects to load. For a plain object: the aspects of the owner that its
    /// resolvers need.
    pub(crate) needs: Vec<Need>,
    /// Whether all aspects are needed.
    pub(crate) needs_all: bool,
    /// The index of the key aspect in `needs`, if the existence of the entity is checked.
    pub(crate) key: Option<usize>,
    /// Whether `exists` is selected: then a missing entity is not an error.
    pub(crate) selects_exists: bool,
    /// The resolver calls, by the index of the first field that reads their result.
    pub(crate) calls: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Need {
    pub(crate) aspect: AspectName,
    /// The members that fields read; `None` if only a resolver needs the row.
    pub(crate) projection: Option<Projection>,
    /// Whether only the existence of the row is checked.
    pub(crate) exists_only: bool,
}

#[derive(Debug)]
pub(crate) struct FieldPlan {
    /// `"name":`, ready to write.
    pub(crate) key: Box<str>,
    /// Offset in the document.
    pub(crate) offset: usize,
    pub(crate) kind: FieldKind,
}

#[derive(Debug)]
pub(crate) enum FieldKind {
    /// `__typename`.
    TypeName,
    /// `__schema` or `__type`.
    Introspection,
    Value(Box<ValuePlan>),
}

/// A field of the schema.
#[derive(Debug)]
pub(crate) struct ValuePlan {
    pub(crate) field: Arc<Field>,
    pub(crate) arguments: Vec<ArgumentPlan>,
    pub(crate) selection: Selection,
    /// The index in `needs` per origin.
    pub(crate) cells: Vec<usize>,
    /// The index in the `calls` of its object.
    pub(crate) call: Option<usize>,
    /// Whether there may be entities to load, resolvers to call or references to hide below it.
    pub(crate) has_nested_entities: bool,
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
    /// The fields whose selection sets are merged.
    selected: Vec<Node<Selected>>,
    must_exist: bool,
    /// By the index of the possible type.
    plans: Box<[OnceLock<ObjectPlan>]>,
    /// That of the whole plan.
    size: Arc<PlanSize>,
}

impl FieldPlan {
    /// The response name.
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

impl FieldPlan {
    fn value_mut(&mut self) -> Option<&mut ValuePlan> {
        match &mut self.kind {
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

    /// The resolver of the field, and where the value is in its result.
    pub(crate) fn resolver(&self) -> Option<(&Arc<BatchResolver>, &[Path])> {
        self.origins().iter().find_map(|origin| match origin {
            Origin::Resolve {
                resolver, paths, ..
            } => Some((resolver, paths.as_slice())),
            _ => None,
        })
    }

    pub(crate) fn entries(&self) -> bool {
        matches!(self.field.source, Source::Origins { entries: true, .. })
    }
}

impl AbstractPlan {
    /// The plan for one of the possible types.
    pub(crate) fn plan<'p>(
        &'p self,
        index: usize,
        compiler: &Compiler<'_>,
    ) -> Result<&'p ObjectPlan, LimitExceeded> {
        if let Some(plan) = self.compiled_plan(index) {
            self.size.check()?;
            return Ok(plan);
        }
        let plan = self.plans[index].get_or_init(|| {
            let sets: Vec<_> = self
                .selected
                .iter()
                .map(|field| &field.selection_set)
                .collect();
            compiler.object(&self.ty.possible[index], &sets, self.must_exist, &self.size)
        });
        compiler.growth.set();
        self.size.check()?;
        Ok(plan)
    }

    /// The plan for one of the possible types, if it is compiled.
    pub(crate) fn compiled_plan(&self, index: usize) -> Option<&ObjectPlan> {
        self.plans[index].get()
    }
}

/// Set when a plan is compiled, so that the cache of plans weighs it.
#[derive(Debug, Default)]
pub(crate) struct GrowthFlag(AtomicBool);

impl GrowthFlag {
    /// Must follow the compilation, so that a thread that sees the flag also sees the plan.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether plans were compiled since the last call.
    pub(crate) fn take(&self) -> bool {
        // Reading first avoids contention when many threads execute the same operation.
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Acquire)
    }
}

/// Compiles the plans of one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiler<'c> {
    pub(crate) variant: OperationVariant<'c>,
    pub(crate) growth: &'c GrowthFlag,
}

impl Compiler<'_> {
    pub(crate) fn plan(&self, limits: Limits) -> Plan {
        let variant = self.variant;
        let cost = cost::cost(variant);
        let size = Arc::new(PlanSize::new(limits));
        let root = match variant.schema.root(variant.operation.kind()) {
            Some(root) if cost.check(limits, &Vec::new()).is_ok() => {
                Some(self.object(root, &[variant.selection_set()], false, &size))
            }
            _ => None,
        };
        let introspection_fields = root
            .iter()
            .flat_map(|root| &root.fields)
            .filter(|field| matches!(field.kind, FieldKind::Introspection))
            .count();
        Plan {
            cost,
            size,
            introspection: (introspection_fields > 0)
                .then(|| IntrospectionCost::new(variant, introspection_fields)),
            root,
        }
    }

    /// Without fields if the plan is too large: then it is not executed.
    fn object(
        &self,
        ty: &Arc<ObjectType>,
        sets: &[&SelectionSet],
        must_exist: bool,
        size: &Arc<PlanSize>,
    ) -> ObjectPlan {
        let mut collected = Vec::new();
        if size.check().is_ok() {
            collected = self.collect(ty, sets);
        }
        if !size.add(collected.len()) {
            collected.clear();
        }
        let mut fields = Vec::new();
        for (name, selected) in collected {
            let Some(first) = selected.first() else {
                continue;
            };
            let kind = match first.name.as_str() {
                "__typename" => FieldKind::TypeName,
                "__schema" | "__type" => FieldKind::Introspection,
                field => match ty.fields.get(field) {
                    Some(field) => {
                        FieldKind::Value(Box::new(self.value(field, selected.as_slice(), size)))
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
                selects_exists: false,
                calls: Vec::new(),
            },
            must_exist,
        )
    }

    fn value(
        &self,
        field: &Arc<Field>,
        selected: &[&Node<Selected>],
        size: &Arc<PlanSize>,
    ) -> ValuePlan {
        let mut selection = match field.output.innermost() {
            OutputKind::Composite(name) => self.selection(name, selected, field.must_exist, size),
            _ => Selection::Leaf,
        };
        if field.passes_arguments
            && let Selection::Object(plan) = &mut selection
        {
            for inner in plan.fields.iter_mut().filter_map(FieldPlan::value_mut) {
                if inner.resolver().is_some() && inner.field.arguments.is_empty() {
                    inner.arguments = self.arguments(field, selected[0]);
                }
            }
        }
        let has_nested_entities = field.is_reference || selection.has_nested_entities();
        ValuePlan {
            field: Arc::clone(field),
            arguments: self.arguments(field, selected[0]),
            selection,
            cells: Vec::new(),
            call: None,
            has_nested_entities,
        }
    }

    fn selection(
        &self,
        name: &str,
        selected: &[&Node<Selected>],
        must_exist: bool,
        size: &Arc<PlanSize>,
    ) -> Selection {
        if let Some(ty) = self.variant.schema.object(name) {
            let sets: Vec<_> = selected.iter().map(|field| &field.selection_set).collect();
            return Selection::Object(self.object(ty, &sets, must_exist, size));
        }
        let Some(ty) = self.variant.schema.abstract_type(name) else {
            return Selection::Leaf;
        };
        if !size.add(ty.possible.len()) {
            return Selection::Leaf;
        }
        let plan = AbstractPlan {
            ty: Arc::clone(ty),
            selected: selected.iter().map(|field| (*field).clone()).collect(),
            must_exist,
            plans: ty.possible.iter().map(|_| OnceLock::new()).collect(),
            size: Arc::clone(size),
        };
        // The members of a stored union are part of the owner's aspect, so their projection must be
        // known before the aspect is parsed.
        for (index, possible) in ty.possible.iter().enumerate() {
            if !possible.variants.is_empty() && plan.plan(index, self).is_err() {
                return Selection::Leaf;
            }
        }
        Selection::Abstract(plan)
    }
}

impl SelectedFields for Selection {
    /// The type of an interface or union is not known before execution, so there the answer is yes.
    fn contains(&self, path: &[&str]) -> bool {
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
}

impl Selection {
    fn has_nested_entities(&self) -> bool {
        match self {
            Self::Leaf => false,
            Self::Object(plan) => {
                plan.ty.entity().is_some()
                    || !plan.calls.is_empty()
                    || plan
                        .fields
                        .iter()
                        .filter_map(FieldPlan::value)
                        .any(|value| value.has_nested_entities)
            }
            Self::Abstract(_) => true,
        }
    }
}
