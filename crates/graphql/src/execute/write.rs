//! Writes the reply depth first, in the order of the selection.
//!
//! Null in a non-null field propagates to the nearest nullable parent: the output is truncated to
//! where that parent started. The error is recorded once, at the field.

use std::fmt::Write as _;

use docent_catalog::Error;
use docent_model::{Registry, Urn};

use super::budget::Budget;
use super::loaded::Loaded;
use super::value::{self, Parent, Target, Unavailable};
use super::{RootValue, Scope, scalar};
use crate::error::{Classification, Failure, FieldError, FieldErrors};
use crate::json::View;
use crate::limits::LimitExceeded;
use crate::plan::{FieldKind, FieldPlan, ObjectPlan, ValuePlan};
use crate::schema::{ObjectType, OutputKind, OutputType};

/// Approximate size of an error in the reply, without its message and path.
const ERROR_BYTES: usize = 150;

/// Why a value was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// Null propagates to the parent. The error is recorded.
    Null,
    /// The reply is too long for a thread of the runtime.
    Long,
    /// Ends the whole reply.
    Limit(LimitExceeded),
}

impl From<LimitExceeded> for WriteError {
    fn from(exceeded: LimitExceeded) -> Self {
        Self::Limit(exceeded)
    }
}

pub(crate) struct Writer<'w, 'p> {
    scope: Scope<'p>,
    loaded: &'w Loaded<'p>,
    out: &'w mut Vec<u8>,
    errors: &'w mut FieldErrors,
    budget: &'w mut Budget,
    /// The path of the current field in the reply.
    path: Vec<PathSegment<'p>>,
}

#[derive(Debug, Clone, Copy)]
enum PathSegment<'p> {
    Name(&'p str),
    Index(usize),
}

/// The field whose value is being written.
#[derive(Clone, Copy)]
struct CurrentField<'p> {
    plan: &'p ValuePlan,
    offset: usize,
}

impl<'w, 'p> Writer<'w, 'p> {
    pub(crate) fn new(
        scope: Scope<'p>,
        loaded: &'w Loaded<'p>,
        out: &'w mut Vec<u8>,
        errors: &'w mut FieldErrors,
        budget: &'w mut Budget,
    ) -> Self {
        Self {
            scope,
            loaded,
            out,
            errors,
            budget,
            path: Vec::new(),
        }
    }

    /// Writes a root field and its name.
    pub(crate) fn root_field(
        &mut self,
        ty: &ObjectType,
        field: &'p FieldPlan,
        value: &RootValue,
    ) -> Result<(), WriteError> {
        self.out.extend_from_slice(field.key.as_bytes());
        let plan = match &field.kind {
            FieldKind::TypeName => {
                self.type_name(ty);
                return Ok(());
            }
            FieldKind::Introspection => {
                let result = self
                    .scope
                    .introspection
                    .iter()
                    .find(|(name, _)| **name == *field.name());
                let text = result.map_or("null", |(_, text)| text);
                self.out.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            FieldKind::Value(plan) => plan,
        };
        let current = CurrentField {
            plan,
            offset: field.offset,
        };
        self.path.push(PathSegment::Name(field.name()));
        let written = match value {
            RootValue::Json(value) => {
                self.value(current, &plan.field.output, View::Value(value), None)
            }
            RootValue::Entity(urn) => {
                self.value(current, &plan.field.output, View::Text(urn.as_str()), None)
            }
            RootValue::Failed(failure) => {
                self.record(current, failure.clone());
                self.null_or_propagate(&plan.field.output)
            }
            RootValue::None => self.null_or_propagate(&plan.field.output),
        };
        self.path.pop();
        written
    }

    fn object(&mut self, plan: &'p ObjectPlan, parent: Parent<'_>) -> Result<(), WriteError> {
        self.out.push(b'{');
        for (index, field) in plan.fields.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.out.extend_from_slice(field.key.as_bytes());
            let value_plan = match &field.kind {
                FieldKind::TypeName | FieldKind::Introspection => {
                    self.type_name(&plan.ty);
                    continue;
                }
                FieldKind::Value(plan) => plan,
            };
            let current = CurrentField {
                plan: value_plan,
                offset: field.offset,
            };
            self.path.push(PathSegment::Name(field.name()));
            let written = match value::read(self.loaded, self.scope.compiler, parent, value_plan) {
                Ok(found) => self.value(
                    current,
                    &value_plan.field.output,
                    found.view(),
                    parent.owner,
                ),
                Err(unavailable) => {
                    let failure = match unavailable {
                        Unavailable::Failed(failure) => failure.into_owned(),
                        Unavailable::Pending(_) => Failure::server(
                            "an internal error occurred: a resolver was not called".to_owned(),
                        ),
                    };
                    self.record(current, failure);
                    self.null_or_propagate(&value_plan.field.output)
                }
            };
            self.path.pop();
            written?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn type_name(&mut self, ty: &ObjectType) {
        self.out.push(b'"');
        self.out.extend_from_slice(ty.name.as_bytes());
        self.out.push(b'"');
    }

    /// Writes a value or null; fails if there is no value and null is not allowed.
    fn value(
        &mut self,
        current: CurrentField<'p>,
        output: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), WriteError> {
        self.budget.add_value()?;
        self.budget.check_reply(self.out.len())?;
        if self.budget.is_long(self.out.len()) {
            return Err(WriteError::Long);
        }
        if view.is_null() {
            return self.missing(current, output, owner);
        }
        let start = self.out.len();
        let written = match &output.kind {
            OutputKind::List(inner) => self.list(current, inner, view, owner),
            OutputKind::Scalar(scalar) => {
                let view = self.shown(current, view);
                if scalar::write(self.out, *scalar, view) {
                    Ok(())
                } else {
                    self.record_type_mismatch(current);
                    Err(WriteError::Null)
                }
            }
            OutputKind::Enum(ty) => {
                if !scalar::write_enum(self.out, ty, view) {
                    // A stored value that is missing in the enum is null.
                    return self.missing(current, output, owner);
                }
                Ok(())
            }
            OutputKind::Composite(_) => {
                match value::target(current.plan, view, self.scope.compiler)? {
                    Some(Target::Entity(plan, urn)) => match self.find(plan, &urn) {
                        Some(slot) => self.entity(current, plan, slot),
                        None => return self.missing(current, output, owner),
                    },
                    Some(Target::Plain(plan, view)) => {
                        self.object(plan, Parent { owner, value: view })
                    }
                    None => return self.missing(current, output, owner),
                }
            }
        };
        if let Err(WriteError::Null) = written {
            self.out.truncate(start);
            return self.null_or_propagate(output);
        }
        written
    }

    fn list(
        &mut self,
        current: CurrentField<'p>,
        inner: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), WriteError> {
        self.out.push(b'[');
        if current.plan.entries() {
            let Some(entries) = view.entries() else {
                self.record_type_mismatch(current);
                return Err(WriteError::Null);
            };
            for (index, (name, value)) in entries.iter().enumerate() {
                self.element(current, inner, View::Entry { name, value }, owner, index)?;
            }
        } else {
            let Some(elements) = view.elements() else {
                self.record_type_mismatch(current);
                return Err(WriteError::Null);
            };
            for (index, element) in elements.enumerate() {
                self.element(current, inner, element, owner, index)?;
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn element(
        &mut self,
        current: CurrentField<'p>,
        inner: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
        index: usize,
    ) -> Result<(), WriteError> {
        if index > 0 {
            self.out.push(b',');
        }
        self.path.push(PathSegment::Index(index));
        let written = self.value(current, inner, view, owner);
        self.path.pop();
        written
    }

    fn find(&self, plan: &ObjectPlan, urn: &str) -> Option<usize> {
        self.loaded.find(plan, urn).or_else(|| {
            // The text may be another spelling of the same URN.
            let urn = Urn::parse(urn).ok()?;
            self.loaded.find(plan, urn.as_str())
        })
    }

    fn entity(
        &mut self,
        current: CurrentField<'p>,
        plan: &'p ObjectPlan,
        slot: usize,
    ) -> Result<(), WriteError> {
        let loaded = &self.loaded.slots[slot];
        if let Some(failure) = &loaded.failure {
            self.record(current, failure.clone());
            return Err(WriteError::Null);
        }
        if current.plan.field.must_exist && !plan.selects_exists && !self.loaded.exists(slot) {
            let error = match Registry::get().check_urn(&loaded.urn) {
                Ok(_) => {
                    Error::not_found(format!("{} {} does not exist", plan.ty.name, loaded.urn))
                }
                Err(unfit) => unfit.into(),
            };
            self.record(current, Failure::of(&error));
            return Err(WriteError::Null);
        }
        let parent = Parent {
            owner: Some(slot),
            value: View::Missing,
        };
        self.object(plan, parent)
    }

    /// The value of a field, or the URN that stands for it if the caller may not see the entity.
    fn shown<'v>(&self, current: CurrentField<'p>, view: View<'v>) -> View<'v>
    where
        'w: 'v,
    {
        let loaded = self.loaded;
        let text = view.text().filter(|_| current.plan.field.is_reference);
        let stand_in = text.and_then(|text| loaded.stand_in(&text));
        stand_in.map_or(view, |urn| View::Text(urn.as_str()))
    }

    /// Writes null for a missing value; records an error if null is not allowed. What stands for a
    /// hidden entity has no values, and is null itself where it needs one.
    fn missing(
        &mut self,
        current: CurrentField<'p>,
        output: &OutputType,
        owner: Option<usize>,
    ) -> Result<(), WriteError> {
        let is_stand_in = owner.is_some_and(|slot| self.loaded.slots[slot].is_stand_in());
        if output.non_null && !is_stand_in {
            let field = &current.plan.field;
            self.record(
                current,
                Failure {
                    message: format!(
                        "the field '{}' of type '{}' must not be null, but there is no value for it",
                        field.name, field.parent
                    ),
                    classification: Classification::NullValueInNonNullableField,
                    code: None,
                },
            );
        }
        self.null_or_propagate(output)
    }

    /// Writes null, or propagates it if it is not allowed. The error is recorded.
    fn null_or_propagate(&mut self, output: &OutputType) -> Result<(), WriteError> {
        if output.non_null {
            return Err(WriteError::Null);
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn record_type_mismatch(&mut self, current: CurrentField<'p>) {
        let field = &current.plan.field;
        let message = format!(
            "the value of the field '{}' of type '{}' cannot be represented in its type",
            field.name, field.parent
        );
        self.record(current, Failure::server(message));
    }

    fn record(&mut self, current: CurrentField<'p>, failure: Failure) {
        if !self.errors.has_room() {
            return;
        }
        let mut path = String::from("[");
        for (index, part) in self.path.iter().enumerate() {
            if index > 0 {
                path.push(',');
            }
            // Names need no escaping; writing to a string does not fail.
            let _ = match part {
                PathSegment::Name(name) => write!(path, "\"{name}\""),
                PathSegment::Index(index) => write!(path, "{index}"),
            };
        }
        path.push(']');
        self.budget
            .add_error(ERROR_BYTES + failure.message.len() + path.len());
        self.errors.push(FieldError {
            failure,
            offset: current.offset,
            path,
        });
    }
}
