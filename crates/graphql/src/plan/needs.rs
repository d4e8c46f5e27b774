//! The aspects to load for an object, and the members to read of each.

use std::sync::Arc;

use docent_model::AspectName;

use super::{FieldPlan, Need, ObjectPlan, Selection, ValuePlan};
use crate::json::Projection;
use crate::resolve::BatchResolver;
use crate::schema::source::{Origin, TemplatePart};
use crate::schema::{OutputKind, Scalar};

/// Numbers the resolver calls of an object, and collects the aspects that its fields need.
pub(super) fn complete(mut plan: ObjectPlan, must_exist: bool) -> ObjectPlan {
    let mut needs = Needs::default();
    let mut calls = Vec::new();
    // The calls whose result several fields read.
    let mut shared: Vec<(Arc<BatchResolver>, usize)> = Vec::new();
    let key_aspect = plan.ty.entity().map(|spec| spec.key_aspect);
    for (index, field) in plan.fields.iter_mut().enumerate() {
        let super::FieldKind::Value(value) = &mut field.kind else {
            continue;
        };
        let mut numbers = Vec::new();
        for origin in value.origins() {
            numbers.push(match origin {
                Origin::Aspect { aspect, paths } => {
                    let read = value_projection(value);
                    let cell = needs.cell(*aspect);
                    let projection = needs.list[cell].projection.get_or_insert_default();
                    if paths.is_empty() {
                        projection.merge(read);
                    } else {
                        for path in paths {
                            projection.add(path, read.clone());
                        }
                    }
                    cell
                }
                Origin::Resolve {
                    needs: aspects,
                    needs_all,
                    ..
                } => {
                    needs.all |= needs_all;
                    for aspect in aspects {
                        needs.cell(*aspect);
                    }
                    0
                }
                Origin::Exists => {
                    plan.selects_exists = true;
                    0
                }
                _ => 0,
            });
        }
        let resolver = value
            .resolver()
            .map(|(resolver, paths)| (Arc::clone(resolver), !paths.is_empty()));
        if let Some((resolver, shares)) = resolver {
            let earlier = shared
                .iter()
                .find(|(other, _)| shares && Arc::ptr_eq(other, &resolver));
            let call = earlier.map_or(calls.len(), |(_, call)| *call);
            if call == calls.len() {
                calls.push(index);
                if shares {
                    shared.push((resolver, call));
                }
            }
            value.call = Some(call);
        }
        value.cells = numbers;
        // Plain objects in an entity also read its rows.
        for inner in plain_objects(&value.selection) {
            needs.all |= inner.needs_all;
            for need in &inner.needs {
                needs.cell(need.aspect);
            }
        }
    }
    if must_exist || plan.selects_exists {
        plan.key = key_aspect.map(|aspect| needs.existence(aspect));
    }
    plan.calls = calls;
    plan.needs = needs.list;
    plan.needs_all = needs.all;
    plan
}

#[derive(Default)]
struct Needs {
    list: Vec<Need>,
    all: bool,
}

impl Needs {
    /// The cell of an aspect for an existence check.
    fn existence(&mut self, aspect: AspectName) -> usize {
        let known = self.list.len();
        let cell = self.cell(aspect);
        self.list[cell].exists_only = cell == known;
        cell
    }

    fn cell(&mut self, aspect: AspectName) -> usize {
        let known = self.list.iter().position(|need| need.aspect == aspect);
        known.unwrap_or_else(|| {
            self.list.push(Need {
                aspect,
                projection: None,
                exists_only: false,
            });
            self.list.len() - 1
        })
    }
}

/// The plans of objects in the owner's JSON.
fn plain_objects(selection: &Selection) -> Vec<&ObjectPlan> {
    match selection {
        Selection::Leaf => Vec::new(),
        Selection::Object(plan) if plan.ty.entity().is_some() => Vec::new(),
        Selection::Object(plan) => vec![plan],
        Selection::Abstract(plan) => (0..plan.ty.possible.len())
            .filter(|index| plan.ty.possible[*index].entity().is_none())
            .filter_map(|index| plan.compiled_plan(index))
            .collect(),
    }
}

/// The projection of a field's value.
fn value_projection(value: &ValuePlan) -> Projection {
    if value.entries() {
        return Projection::whole();
    }
    match &value.selection {
        Selection::Leaf => Projection::whole(),
        Selection::Object(plan) => object_projection(plan),
        Selection::Abstract(plan) => {
            let mut projection = Projection::default();
            for (index, possible) in plan.ty.possible.iter().enumerate() {
                match plan.compiled_plan(index) {
                    Some(plan) if !possible.variants.is_empty() => {
                        projection.merge(object_projection(plan));
                    }
                    // A URN, or an object whose type is only known during execution.
                    _ => return Projection::whole(),
                }
            }
            projection
        }
    }
}

fn object_projection(plan: &ObjectPlan) -> Projection {
    // An entity is a URN here; a resolver gets the whole object.
    if plan.ty.entity().is_some() || !plan.calls.is_empty() {
        return Projection::whole();
    }
    let mut projection = Projection::default();
    for value in plan.fields.iter().filter_map(FieldPlan::value) {
        for origin in value.origins() {
            match origin {
                Origin::Path(paths) => {
                    for path in paths {
                        if path.steps.is_empty() && is_plain_scalar(value) {
                            // Scalars are always included, and an object is no value of a scalar
                            // field.
                            continue;
                        }
                        projection.add(path, value_projection(value));
                    }
                }
                Origin::Compose(parts) => {
                    for part in parts {
                        if let TemplatePart::Member(name) = part {
                            projection.add(&crate::path::Path::member(name), Projection::whole());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if plan.ty.variants.is_empty() {
        return projection;
    }
    let mut union = Projection::default();
    for variant in &plan.ty.variants {
        // The dots in names of union members do not separate path steps.
        union.add(&crate::path::Path::member(variant), projection.clone());
    }
    union
}

/// Whether a field reads only scalars: a built-in scalar, or the URN of an entity.
fn is_plain_scalar(value: &ValuePlan) -> bool {
    if value.entries() || value.field.output.is_list() {
        return false;
    }
    match (&value.field.output.kind, &value.selection) {
        (OutputKind::Scalar(scalar), _) => *scalar != Scalar::Any,
        (OutputKind::Composite(_), Selection::Object(plan)) => plan.ty.entity().is_some(),
        (OutputKind::Composite(_), Selection::Abstract(plan)) => plan
            .ty
            .possible
            .iter()
            .all(|possible| possible.entity().is_some()),
        (OutputKind::Enum(_) | OutputKind::List(_) | OutputKind::Composite(_), _) => false,
    }
}
