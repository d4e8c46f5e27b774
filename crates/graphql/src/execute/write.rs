//! Writing the reply: depth first, in the order of the selection.
//!
//! A value that may not be null but is takes its parent with it, up to the nearest one that may be: what was
//! written since then is cut off again. The error is recorded once, where the value is missing.

use std::fmt::Write as _;

use docent_catalog::Error;
use docent_model::{Registry, Urn};

use super::budget::Budget;
use super::loaded::Loaded;
use super::value::{self, Place, Target, Unavailable};
use super::{RootValue, Scope, scalar};
use crate::error::{Classification, Failure, FieldError};
use crate::json::View;
use crate::limits::Exceeded;
use crate::plan::{FieldKind, FieldPlan, ObjectPlan, ValuePlan};
use crate::schema::{ObjectType, OutputKind, OutputType};

/// About what an error takes in the reply besides its message and its path.
const ERROR_BYTES: usize = 150;

/// Why a value was not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// There is none, and the error about it has been recorded.
    Nothing,
    /// The whole reply ends here.
    Exceeded(Exceeded),
}

impl From<Exceeded> for Unwritten {
    fn from(exceeded: Exceeded) -> Self {
        Self::Exceeded(exceeded)
    }
}

pub(crate) struct Writer<'w, 'p> {
    scope: Scope<'p>,
    loaded: &'w Loaded<'p>,
    out: &'w mut Vec<u8>,
    errors: &'w mut Vec<FieldError>,
    budget: &'w mut Budget,
    /// Where in the reply we are.
    path: Vec<Part<'p>>,
}

#[derive(Debug, Clone, Copy)]
enum Part<'p> {
    Name(&'p str),
    Index(usize),
}

/// The field whose value is being written.
#[derive(Clone, Copy)]
struct Current<'p> {
    plan: &'p ValuePlan,
    offset: usize,
}

impl<'w, 'p> Writer<'w, 'p> {
    pub(crate) fn new(
        scope: Scope<'p>,
        loaded: &'w Loaded<'p>,
        out: &'w mut Vec<u8>,
        errors: &'w mut Vec<FieldError>,
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

    /// Writes a root field with its name.
    pub(crate) fn root_field(
        &mut self,
        ty: &ObjectType,
        field: &'p FieldPlan,
        value: &RootValue,
    ) -> Result<(), Unwritten> {
        self.out.extend_from_slice(field.key.as_bytes());
        let plan = match &field.kind {
            FieldKind::TypeName => {
                self.type_name(ty);
                return Ok(());
            }
            FieldKind::Introspection => {
                let answer = self
                    .scope
                    .answer
                    .iter()
                    .find(|(name, _)| **name == *field.name());
                let text = answer.map_or("null", |(_, text)| text);
                self.out.extend_from_slice(text.as_bytes());
                return Ok(());
            }
            FieldKind::Value(plan) => plan,
        };
        let current = Current {
            plan,
            offset: field.offset,
        };
        self.path.push(Part::Name(field.name()));
        let written = match value {
            RootValue::Json(value) => {
                self.value(current, &plan.field.output, View::Value(value), None)
            }
            RootValue::Entity(urn) => {
                self.value(current, &plan.field.output, View::Text(urn.as_str()), None)
            }
            RootValue::Failed(failure) => {
                self.record(current, failure.clone());
                self.nothing(&plan.field.output)
            }
            RootValue::None => self.nothing(&plan.field.output),
        };
        self.path.pop();
        written
    }

    fn object(&mut self, plan: &'p ObjectPlan, place: Place<'_>) -> Result<(), Unwritten> {
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
            let current = Current {
                plan: value_plan,
                offset: field.offset,
            };
            self.path.push(Part::Name(field.name()));
            let written = match value::read(self.loaded, self.scope.compiler, place, value_plan) {
                Ok(found) => {
                    self.value(current, &value_plan.field.output, found.view(), place.owner)
                }
                Err(unavailable) => {
                    let failure = match unavailable {
                        Unavailable::Failed(failure) => failure.into_owned(),
                        Unavailable::NotYet(_) => Failure::server(
                            "an internal error occurred: a resolver was not called".to_owned(),
                        ),
                    };
                    self.record(current, failure);
                    self.nothing(&value_plan.field.output)
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

    /// Writes a value, or null in its place; fails if there is no value and null is not allowed.
    fn value(
        &mut self,
        current: Current<'p>,
        output: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), Unwritten> {
        self.budget.value()?;
        self.budget.reply(self.out.len())?;
        if view.is_null() {
            return self.missing(current, output);
        }
        let start = self.out.len();
        let written = match &output.kind {
            OutputKind::List(inner) => self.list(current, inner, view, owner),
            OutputKind::Scalar(scalar) => {
                if scalar::write(self.out, *scalar, view) {
                    Ok(())
                } else {
                    self.unfit(current);
                    Err(Unwritten::Nothing)
                }
            }
            OutputKind::Enum(ty) => {
                if !scalar::write_enum(self.out, ty, view) {
                    // A stored value that the enum does not have reads null.
                    return self.missing(current, output);
                }
                Ok(())
            }
            OutputKind::Composite(_) => {
                match value::target(current.plan, view, self.scope.compiler) {
                    Some(Target::Entity(plan, urn)) => match self.find(plan, &urn) {
                        Some(slot) => self.entity(current, plan, slot),
                        None => return self.missing(current, output),
                    },
                    Some(Target::Plain(plan, view)) => self.object(
                        plan,
                        Place {
                            owner,
                            current: view,
                        },
                    ),
                    None => return self.missing(current, output),
                }
            }
        };
        if let Err(Unwritten::Nothing) = written {
            self.out.truncate(start);
            return self.nothing(output);
        }
        written
    }

    fn list(
        &mut self,
        current: Current<'p>,
        inner: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
    ) -> Result<(), Unwritten> {
        self.out.push(b'[');
        if current.plan.entries() {
            let Some(entries) = view.entries() else {
                self.unfit(current);
                return Err(Unwritten::Nothing);
            };
            for (index, (name, value)) in entries.iter().enumerate() {
                self.element(current, inner, View::Entry { name, value }, owner, index)?;
            }
        } else {
            let Some(elements) = view.elements() else {
                self.unfit(current);
                return Err(Unwritten::Nothing);
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
        current: Current<'p>,
        inner: &OutputType,
        view: View<'_>,
        owner: Option<usize>,
        index: usize,
    ) -> Result<(), Unwritten> {
        if index > 0 {
            self.out.push(b',');
        }
        self.path.push(Part::Index(index));
        let written = self.value(current, inner, view, owner);
        self.path.pop();
        written
    }

    fn find(&self, plan: &ObjectPlan, urn: &str) -> Option<usize> {
        self.loaded.find(plan, urn).or_else(|| {
            // The text may be another spelling of the same name.
            let urn = Urn::parse(urn).ok()?;
            self.loaded.find(plan, urn.as_str())
        })
    }

    fn entity(
        &mut self,
        current: Current<'p>,
        plan: &'p ObjectPlan,
        slot: usize,
    ) -> Result<(), Unwritten> {
        let loaded = &self.loaded.slots[slot];
        if let Some(failure) = &loaded.failure {
            self.record(current, failure.clone());
            return Err(Unwritten::Nothing);
        }
        if current.plan.field.must_exist && !plan.asks_existence && !self.loaded.exists(slot) {
            let error = match Registry::get().check_urn(&loaded.urn) {
                Ok(_) => {
                    Error::not_found(format!("{} {} does not exist", plan.ty.name, loaded.urn))
                }
                Err(unfit) => unfit.into(),
            };
            self.record(current, Failure::of(&error));
            return Err(Unwritten::Nothing);
        }
        let place = Place {
            owner: Some(slot),
            current: View::Missing,
        };
        self.object(plan, place)
    }

    /// Null where a value is absent; that it may not be is an error.
    fn missing(&mut self, current: Current<'p>, output: &OutputType) -> Result<(), Unwritten> {
        if output.non_null {
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
        self.nothing(output)
    }

    /// Null where an error has been recorded.
    fn nothing(&mut self, output: &OutputType) -> Result<(), Unwritten> {
        if output.non_null {
            return Err(Unwritten::Nothing);
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn unfit(&mut self, current: Current<'p>) {
        let field = &current.plan.field;
        let message = format!(
            "the value of the field '{}' of type '{}' cannot be represented in its type",
            field.name, field.parent
        );
        self.record(current, Failure::server(message));
    }

    fn record(&mut self, current: Current<'p>, failure: Failure) {
        let mut path = String::from("[");
        for (index, part) in self.path.iter().enumerate() {
            if index > 0 {
                path.push(',');
            }
            // Names need no escaping; writing into a text does not fail.
            let _ = match part {
                Part::Name(name) => write!(path, "\"{name}\""),
                Part::Index(index) => write!(path, "{index}"),
            };
        }
        path.push(']');
        self.budget
            .error(ERROR_BYTES + failure.message.len() + path.len());
        self.errors.push(FieldError {
            failure,
            offset: current.offset,
            path,
        });
    }
}
