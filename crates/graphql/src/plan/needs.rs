//! What must be loaded for an object, and which members of it are wanted.

use docent_model::AspectName;

use super::{FieldPlan, Need, ObjectPlan, Selection, ValuePlan};
use crate::json::Shape;
use crate::schema::source::{Origin, Piece};
use crate::schema::{OutputKind, Scalar};

/// Numbers the resolver calls of an object, and lists what is to be loaded for its fields.
pub(super) fn complete(mut plan: ObjectPlan, must_exist: bool) -> ObjectPlan {
    let mut needs = Needs::default();
    let mut calls = Vec::new();
    let key_aspect = plan.ty.entity().map(|spec| spec.key_aspect);
    for (index, field) in plan.fields.iter_mut().enumerate() {
        let super::FieldKind::Value(value) = &mut field.kind else {
            continue;
        };
        let mut numbers = Vec::new();
        for origin in value.origins() {
            numbers.push(match origin {
                Origin::Aspect { aspect, paths } => {
                    let wanted = wanted(value);
                    let cell = needs.cell(*aspect);
                    let shape = needs.list[cell].shape.get_or_insert_default();
                    if paths.is_empty() {
                        shape.merge(wanted);
                    } else {
                        for path in paths {
                            shape.add(path, wanted.clone());
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
                    plan.asks_existence = true;
                    0
                }
                _ => 0,
            });
        }
        if value
            .origins()
            .iter()
            .any(|origin| matches!(origin, Origin::Resolve { .. }))
        {
            value.call = Some(calls.len());
            calls.push(index);
        }
        value.cells = numbers;
        // Plain objects inside of an entity read from its rows too.
        for inner in plain_objects(&value.selection) {
            needs.all |= inner.needs_all;
            for need in &inner.needs {
                needs.cell(need.aspect);
            }
        }
    }
    if must_exist || plan.asks_existence {
        plan.key = key_aspect.map(|aspect| needs.witness(aspect));
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
    /// The cell of an aspect of which nothing is wanted but that it is there.
    fn witness(&mut self, aspect: AspectName) -> usize {
        let known = self.list.len();
        let cell = self.cell(aspect);
        self.list[cell].witness = cell == known;
        cell
    }

    fn cell(&mut self, aspect: AspectName) -> usize {
        let known = self.list.iter().position(|need| need.aspect == aspect);
        known.unwrap_or_else(|| {
            self.list.push(Need {
                aspect,
                shape: None,
                witness: false,
            });
            self.list.len() - 1
        })
    }
}

/// The plans of objects that are part of their owner's JSON.
fn plain_objects(selection: &Selection) -> Vec<&ObjectPlan> {
    match selection {
        Selection::Leaf => Vec::new(),
        Selection::Object(plan) if plan.ty.entity().is_some() => Vec::new(),
        Selection::Object(plan) => vec![plan],
        Selection::Abstract(plan) => (0..plan.ty.possible.len())
            .filter(|index| plan.ty.possible[*index].entity().is_none())
            .filter_map(|index| plan.known_plan(index))
            .collect(),
    }
}

/// What a field wants of the value that it reads.
fn wanted(value: &ValuePlan) -> Shape {
    if value.entries() {
        return Shape::whole();
    }
    match &value.selection {
        Selection::Leaf => Shape::whole(),
        Selection::Object(plan) => object_shape(plan),
        Selection::Abstract(plan) => {
            let mut shape = Shape::default();
            for (index, possible) in plan.ty.possible.iter().enumerate() {
                match plan.known_plan(index) {
                    Some(plan) if !possible.variants.is_empty() => shape.merge(object_shape(plan)),
                    // A URN, or an object of which it is not known yet what it will be.
                    _ => return Shape::whole(),
                }
            }
            shape
        }
    }
}

fn object_shape(plan: &ObjectPlan) -> Shape {
    // An entity is a URN here; a resolver is given the object as it stands.
    if plan.ty.entity().is_some() || !plan.calls.is_empty() {
        return Shape::whole();
    }
    let mut shape = Shape::default();
    for value in plan.fields.iter().filter_map(FieldPlan::value) {
        for origin in value.origins() {
            match origin {
                Origin::Inside(paths) => {
                    for path in paths {
                        if path.steps.is_empty() && is_plain_scalar(value) {
                            // A scalar is kept wherever it stands, and of an object the scalar wants nothing.
                            continue;
                        }
                        shape.add(path, wanted(value));
                    }
                }
                Origin::Compose(pieces) => {
                    for piece in pieces {
                        if let Piece::Member(name) = piece {
                            shape.add(&crate::path::Path::member(name), Shape::whole());
                        }
                    }
                }
                _ => {}
            }
        }
    }
    if plan.ty.variants.is_empty() {
        return shape;
    }
    let mut union = Shape::default();
    for variant in &plan.ty.variants {
        // Names of union members have dots that do not part steps.
        union.add(&crate::path::Path::member(variant), shape.clone());
    }
    union
}

/// Whether a field can only read a scalar: a built-in scalar, or the URN of an entity.
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
