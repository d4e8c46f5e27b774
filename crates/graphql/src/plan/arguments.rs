//! Arguments of fields: literals are coerced when the plan is compiled, variables when it is
//! executed.

use std::borrow::Cow;

use apollo_compiler::Node;
use apollo_compiler::ast::{Type, Value as Literal};
use apollo_compiler::executable::Field as Selected;
use serde_json::Value;

use super::{Compiler, ValuePlan};
use crate::input::{self, VariableValues};
use crate::memory::json_bytes;
use crate::resolve::Args;
use crate::schema::Field;

#[derive(Debug)]
pub(crate) struct ArgumentPlan {
    name: Box<str>,
    value: ArgumentValue,
}

#[derive(Debug)]
enum ArgumentValue {
    Constant(Value),
    Variable {
        index: usize,
        /// Used when the variable has no value.
        default: Option<Value>,
        required: bool,
    },
    /// A list or an object that contains variables.
    Template {
        value: Node<Literal>,
        ty: Type,
    },
    /// An invalid literal of a custom scalar, which validation accepts.
    Invalid(String),
}

impl ArgumentPlan {
    /// Approximate size.
    pub(super) fn bytes(&self) -> usize {
        let value = match &self.value {
            ArgumentValue::Constant(value) => json_bytes(value),
            ArgumentValue::Variable { default, .. } => default.as_ref().map_or(0, json_bytes),
            // Counted with the document.
            ArgumentValue::Template { .. } => 0,
            ArgumentValue::Invalid(message) => message.len(),
        };
        size_of::<Self>() + self.name.len() + value
    }
}

impl Compiler<'_> {
    pub(super) fn arguments(&self, field: &Field, selected: &Selected) -> Vec<ArgumentPlan> {
        let mut plans = Vec::with_capacity(field.arguments.len());
        for definition in &field.arguments {
            let given = selected.specified_argument_by_name(&definition.name);
            let default = || {
                let literal = definition.default_value.as_ref()?;
                Some(self.constant(&definition.ty, literal))
            };
            let value = match given {
                None => match default() {
                    Some(value) => value,
                    None => continue,
                },
                Some(given) => match given.as_variable() {
                    Some(name) => {
                        let Some(index) = self.variant.variable(name) else {
                            continue;
                        };
                        ArgumentValue::Variable {
                            index,
                            default: match default() {
                                Some(ArgumentValue::Constant(value)) => Some(value),
                                _ => None,
                            },
                            required: definition.ty.is_non_null(),
                        }
                    }
                    None if has_variables(given) => ArgumentValue::Template {
                        value: given.clone(),
                        ty: (*definition.ty).clone(),
                    },
                    None => self.constant(&definition.ty, given),
                },
            };
            plans.push(ArgumentPlan {
                name: definition.name.as_str().into(),
                value,
            });
        }
        plans
    }

    fn constant(&self, ty: &Type, literal: &Literal) -> ArgumentValue {
        match input::literal(&self.variant.schema.valid, ty, literal, None) {
            Ok(value) => ArgumentValue::Constant(value),
            Err(message) => ArgumentValue::Invalid(message),
        }
    }

    /// Evaluates the arguments of a field; an error names the argument.
    pub(crate) fn evaluate<'a>(
        &self,
        plan: &'a ValuePlan,
        values: &'a VariableValues,
    ) -> Result<Args<'a>, String> {
        let mut arguments =
            Args::with_capacity(plan.arguments.len()).with_selection(&plan.selection);
        for ArgumentPlan { name, value } in &plan.arguments {
            let fail = |message: &str| format!("argument '{name}': {message}");
            let value = match value {
                ArgumentValue::Constant(value) => Cow::Borrowed(value),
                ArgumentValue::Variable {
                    index,
                    default,
                    required,
                } => match (values.get(*index), default) {
                    (Some(Some(Value::Null)), _) if *required => {
                        return Err(fail("a value is required, not null"));
                    }
                    (Some(Some(value)), _) | (_, Some(value)) => Cow::Borrowed(value),
                    (_, None) if *required => return Err(fail("a value is required")),
                    (_, None) => continue,
                },
                ArgumentValue::Template { value, ty } => {
                    let by_name = |name: &str| {
                        let index = self.variant.variable(name)?;
                        values.get(index)?.clone()
                    };
                    let value =
                        input::literal(&self.variant.schema.valid, ty, value, Some(&by_name))
                            .map_err(|message| fail(&message))?;
                    Cow::Owned(value)
                }
                ArgumentValue::Invalid(message) => return Err(fail(message)),
            };
            arguments.push(name, value);
        }
        Ok(arguments)
    }
}

fn has_variables(literal: &Literal) -> bool {
    match literal {
        Literal::Variable(_) => true,
        Literal::List(items) => items.iter().any(|item| has_variables(item)),
        Literal::Object(members) => members.iter().any(|(_, value)| has_variables(value)),
        _ => false,
    }
}
