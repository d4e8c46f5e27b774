//! Input coercion: converts variables and literals to JSON values of the types in the schema, by
//! the rules of the GraphQL specification. `Long` also accepts strings, because clients send them.

use apollo_compiler::Node;
use apollo_compiler::ast::{Type, Value as Literal, VariableDefinition};
use apollo_compiler::schema::ExtendedType;
use serde_json::{Map, Number, Value};

/// A variable of an operation, with its default coerced.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Box<str>,
    pub(crate) ty: Type,
    pub(crate) default: Option<Value>,
    /// Offset of the declaration in the document.
    pub(crate) offset: Option<usize>,
}

impl Variable {
    /// Fails only for invalid defaults of custom scalars; validation rejects all others.
    pub(crate) fn declare(
        schema: &apollo_compiler::Schema,
        definition: &Node<VariableDefinition>,
    ) -> Result<Self, String> {
        let default = definition
            .default_value
            .as_ref()
            .map(|value| literal(schema, &definition.ty, value, None))
            .transpose()?;
        Ok(Self {
            name: definition.name.as_str().into(),
            ty: (*definition.ty).clone(),
            default,
            offset: definition.location().map(|span| span.offset()),
        })
    }
}

/// The values of an operation's variables in declaration order; `None` if absent.
pub(crate) type VariableValues = Vec<Option<Value>>;

/// Finds the value of a variable by its name.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// An invalid value of a variable.
#[derive(Debug)]
pub(crate) struct VariableError {
    pub(crate) message: String,
    pub(crate) offset: Option<usize>,
}

/// Coerces the variables of a request. Undeclared variables are ignored.
pub(crate) fn variables(
    schema: &apollo_compiler::Schema,
    declared: &[Variable],
    mut provided: Map<String, Value>,
) -> Result<VariableValues, VariableError> {
    declared
        .iter()
        .map(|variable| {
            let failure = |message: String| VariableError {
                message: format!(
                    "Variable '{}' has an invalid value: {message}",
                    variable.name
                ),
                offset: variable.offset,
            };
            match provided.get_mut(&*variable.name) {
                Some(value) => json(schema, &variable.ty, value.take())
                    .map(Some)
                    .map_err(failure),
                None => match &variable.default {
                    Some(default) => Ok(Some(default.clone())),
                    None if variable.ty.is_non_null() => Err(failure(format!(
                        "a value of type '{}' is required",
                        variable.ty
                    ))),
                    None => Ok(None),
                },
            }
        })
        .collect()
}

/// Coerces a JSON value.
fn json(schema: &apollo_compiler::Schema, ty: &Type, value: Value) -> Result<Value, String> {
    if value.is_null() {
        return null(ty);
    }
    let name = match ty {
        Type::List(inner) | Type::NonNullList(inner) => {
            // A single value is a list of one.
            let items = match value {
                Value::Array(items) => items,
                single => vec![single],
            };
            return items
                .into_iter()
                .map(|item| json(schema, inner, item))
                .collect();
        }
        Type::Named(name) | Type::NonNullNamed(name) => name,
    };
    if name == "String" && value.is_string() {
        return Ok(value);
    }
    match schema.types.get(name) {
        Some(ExtendedType::InputObject(ty)) => {
            let Value::Object(mut provided) = value else {
                return Err(mismatch(&value, name));
            };
            if let Some(unknown) = provided
                .keys()
                .find(|key| !ty.fields.contains_key(key.as_str()))
            {
                return Err(format!("'{name}' has no field '{unknown}'"));
            }
            let mut object = Map::with_capacity(provided.len());
            for (field, definition) in &ty.fields {
                match provided.get_mut(field.as_str()) {
                    Some(value) => {
                        let value = json(schema, &definition.ty, value.take())
                            .map_err(|message| format!("field '{field}': {message}"))?;
                        object.insert(field.to_string(), value);
                    }
                    None => input_default(schema, name, definition, &mut object)?,
                }
            }
            Ok(Value::Object(object))
        }
        Some(ExtendedType::Enum(ty)) => match &value {
            Value::String(text) if ty.values.contains_key(text.as_str()) => Ok(value),
            _ => Err(mismatch(&value, name)),
        },
        _ => scalar(name, value),
    }
}

/// Coerces a literal of a document or of a default in the schema. `values` looks up variables,
/// where they are allowed.
pub(crate) fn literal(
    schema: &apollo_compiler::Schema,
    ty: &Type,
    value: &Literal,
    values: Option<Lookup<'_>>,
) -> Result<Value, String> {
    match value {
        Literal::Null => return null(ty),
        Literal::Variable(name) => {
            // The value was coerced to the type of the variable, which validation found compatible.
            return match values.and_then(|values| values(name)) {
                Some(Value::Null) | None => null(ty),
                Some(value) => Ok(value),
            };
        }
        _ => {}
    }
    let name = match ty {
        Type::List(inner) | Type::NonNullList(inner) => {
            let items = match value {
                Literal::List(items) => items.as_slice(),
                _ => return Ok(Value::Array(vec![literal(schema, inner, value, values)?])),
            };
            return items
                .iter()
                .map(|item| literal(schema, inner, item, values))
                .collect();
        }
        Type::Named(name) | Type::NonNullNamed(name) => name,
    };
    match (schema.types.get(name), value) {
        (Some(ExtendedType::InputObject(ty)), Literal::Object(provided)) => {
            if let Some((unknown, _)) = provided
                .iter()
                .find(|(key, _)| !ty.fields.contains_key(key))
            {
                return Err(format!("'{name}' has no field '{unknown}'"));
            }
            let mut object = Map::with_capacity(provided.len());
            for (field, definition) in &ty.fields {
                let value = provided.iter().find(|(key, _)| key == field);
                // A field with an absent variable is absent.
                let value = value.map(|(_, value)| value).filter(|value| {
                    value.as_variable().is_none_or(|variable| {
                        values.is_some_and(|values| values(variable).is_some())
                    })
                });
                match value {
                    Some(value) => {
                        let value = literal(schema, &definition.ty, value, values)
                            .map_err(|message| format!("field '{field}': {message}"))?;
                        object.insert(field.to_string(), value);
                    }
                    None => input_default(schema, name, definition, &mut object)?,
                }
            }
            Ok(Value::Object(object))
        }
        (Some(ExtendedType::Enum(ty)), Literal::Enum(text)) if ty.values.contains_key(text) => {
            Ok(Value::from(text.as_str()))
        }
        (Some(ExtendedType::InputObject(_) | ExtendedType::Enum(_)), _) => {
            Err(mismatch(&plain(value, values)?, name))
        }
        _ => scalar(name, plain(value, values)?),
    }
}

fn input_default(
    schema: &apollo_compiler::Schema,
    parent: &str,
    definition: &apollo_compiler::ast::InputValueDefinition,
    object: &mut Map<String, Value>,
) -> Result<(), String> {
    if let Some(default) = &definition.default_value {
        let value = literal(schema, &definition.ty, default, None)?;
        object.insert(definition.name.to_string(), value);
    } else if definition.ty.is_non_null() {
        return Err(format!(
            "the field '{}' of '{parent}' is required",
            definition.name
        ));
    }
    Ok(())
}

/// Converts a literal to JSON, for scalars.
fn plain(value: &Literal, values: Option<Lookup<'_>>) -> Result<Value, String> {
    let number = |text: &str| {
        text.parse::<Number>()
            .map(Value::Number)
            .map_err(|_| format!("the number {text} is too large"))
    };
    match value {
        Literal::Null => Ok(Value::Null),
        Literal::Variable(name) => Ok(values.and_then(|values| values(name)).unwrap_or_default()),
        Literal::Enum(name) => Ok(Value::from(name.as_str())),
        Literal::String(text) => Ok(Value::from(text.as_str())),
        Literal::Boolean(flag) => Ok(Value::from(*flag)),
        Literal::Int(digits) => number(digits.as_str()),
        Literal::Float(digits) => number(digits.as_str()),
        Literal::List(items) => items.iter().map(|item| plain(item, values)).collect(),
        Literal::Object(members) => members
            .iter()
            .map(|(name, value)| Ok((name.to_string(), plain(value, values)?)))
            .collect::<Result<Map<_, _>, String>>()
            .map(Value::Object),
    }
}

fn scalar(name: &str, value: Value) -> Result<Value, String> {
    let fits = match name {
        "String" => value.is_string(),
        "Boolean" => value.is_boolean(),
        "Int" => match integer(&value) {
            Some(number) if i32::try_from(number).is_ok() => return Ok(Value::from(number)),
            _ => false,
        },
        "Long" => {
            let number = match &value {
                Value::String(text) => text.parse().ok(),
                value => integer(value),
            };
            match number {
                Some(number) => return Ok(Value::from(number)),
                None => false,
            }
        }
        "Float" => value.is_number(),
        "ID" => match &value {
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                return Ok(Value::from(number.to_string()));
            }
            value => value.is_string(),
        },
        // Other scalars accept any JSON.
        _ => true,
    };
    if fits {
        Ok(value)
    } else {
        Err(mismatch(&value, name))
    }
}

/// The integer value of a JSON number, including `5.0`.
fn integer(value: &Value) -> Option<i64> {
    let float = || value.as_f64().filter(|_| value.is_f64());
    value.as_i64().or_else(|| exact_integer(float()?))
}

/// The integer value of a float, if it has one.
pub(crate) fn exact_integer(number: f64) -> Option<i64> {
    /// Larger floats do not represent every integer.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number has no fraction and less than 64 bits"
    )]
    let integer = number as i64;
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT).then_some(integer)
}

fn null(ty: &Type) -> Result<Value, String> {
    if ty.is_non_null() {
        Err(format!("a value of type '{ty}' is required, not null"))
    } else {
        Ok(Value::Null)
    }
}

fn mismatch(value: &Value, name: &str) -> String {
    let text = value.to_string();
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}… is not a '{name}'", &text[..end]),
        None => format!("{text} is not a '{name}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apollo_compiler::ExecutableDocument;
    use apollo_compiler::validation::Valid;
    use serde_json::json;

    const SDL: &str = r"
        scalar Long
        scalar Anything
        enum Color { RED GREEN }
        input Point { x: Int! y: Int = 7 label: String color: Color = RED more: [Point!] }
        type Query {
            f(point: Point, points: [Point!], long: Long, color: Color, colors: [[Color]], id: ID, int: Int, any: Anything, float: Float): Int
        }
    ";

    fn schema() -> Valid<apollo_compiler::Schema> {
        apollo_compiler::Schema::parse_and_validate(SDL, "test").unwrap()
    }

    fn coerce_variable(declaration: &str, argument: &str, value: &Value) -> Result<Value, String> {
        let schema = schema();
        let text = format!("query({declaration}) {{ f({argument}: $v) }}");
        let document = ExecutableDocument::parse_and_validate(&schema, text, "q").unwrap();
        let operation = document.operations.get(None).unwrap();
        let declared: Vec<_> = operation
            .variables
            .iter()
            .map(|definition| Variable::declare(&schema, definition).unwrap())
            .collect();
        let Value::Object(map) = value.clone() else {
            panic!()
        };
        variables(&schema, &declared, map)
            .map(|mut values| values.remove(0).unwrap_or_default())
            .map_err(|error| error.message)
    }

    fn coerce_literal(argument: &str, text: &str) -> Result<Value, String> {
        let schema = schema();
        let ty = schema.get_object("Query").unwrap().fields["f"]
            .argument_by_name(argument)
            .unwrap()
            .ty
            .clone();
        let document =
            ExecutableDocument::parse(&schema, format!("{{ f({argument}: {text}) }}"), "q")
                .unwrap();
        let operation = document.operations.get(None).unwrap();
        let field = operation.selection_set.fields().next().unwrap();
        literal(&schema, &ty, &field.arguments[0].value, None)
    }

    #[test]
    fn a_single_value_becomes_a_list_of_one_at_every_depth() {
        let value = coerce_variable("$v: [Point!]", "points", &json!({"v": {"x": 1}})).unwrap();
        assert_eq!(value, json!([{"x": 1, "y": 7, "color": "RED"}]));
        assert_eq!(coerce_literal("colors", "RED").unwrap(), json!([["RED"]]));
        assert_eq!(
            coerce_literal("point", "{x: 1, more: {x: 2}}").unwrap(),
            json!({"x": 1, "y": 7, "color": "RED", "more": [{"x": 2, "y": 7, "color": "RED"}]})
        );
    }

    #[test]
    fn input_fields_are_in_schema_order_with_defaults_and_without_absent_fields() {
        let value =
            coerce_variable("$v: Point", "point", &json!({"v": {"label": null, "x": 3}})).unwrap();
        assert_eq!(
            value.to_string(),
            r#"{"x":3,"y":7,"label":null,"color":"RED"}"#
        );
    }

    #[test]
    fn invalid_values_are_rejected_with_their_path() {
        for (declaration, argument, value, reason) in [
            (
                "$v: Point",
                "point",
                json!({"v": {}}),
                "'x' of 'Point' is required",
            ),
            ("$v: Point", "point", json!({"v": {"x": null}}), "field 'x'"),
            (
                "$v: Point",
                "point",
                json!({"v": {"x": 1, "z": 2}}),
                "no field 'z'",
            ),
            (
                "$v: Point",
                "point",
                json!({"v": {"x": 3_000_000_000_i64}}),
                "is not a 'Int'",
            ),
            (
                "$v: Point",
                "point",
                json!({"v": {"x": "1"}}),
                "is not a 'Int'",
            ),
            ("$v: Point", "point", json!({"v": 5}), "is not a 'Point'"),
            (
                "$v: Color",
                "color",
                json!({"v": "BLUE"}),
                "is not a 'Color'",
            ),
            ("$v: Long!", "long", json!({}), "is required"),
            ("$v: Long!", "long", json!({"v": null}), "not null"),
            ("$v: Long", "long", json!({"v": "x"}), "is not a 'Long'"),
            ("$v: Long", "long", json!({"v": 1.5}), "is not a 'Long'"),
        ] {
            let message = coerce_variable(declaration, argument, &value).unwrap_err();
            assert!(message.contains(reason), "{value}: {message}");
            assert!(
                message.starts_with("Variable 'v' has an invalid value"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_long_may_be_a_string_and_an_id_a_number() {
        let max = i64::MAX;
        assert_eq!(
            coerce_variable("$v: Long", "long", &json!({"v": max})).unwrap(),
            json!(max)
        );
        assert_eq!(
            coerce_variable("$v: Long", "long", &json!({"v": max.to_string()})).unwrap(),
            json!(max)
        );
        assert_eq!(
            coerce_literal("long", "9223372036854775807").unwrap(),
            json!(max)
        );
        assert_eq!(
            coerce_variable("$v: ID", "id", &json!({"v": 7})).unwrap(),
            json!("7")
        );
        assert_eq!(
            coerce_variable("$v: Int", "int", &json!({"v": 5.0})).unwrap(),
            json!(5)
        );
    }

    #[test]
    fn the_default_of_a_variable_applies_only_if_it_is_absent() {
        let declaration = "$v: Int = 4";
        assert_eq!(
            coerce_variable(declaration, "int", &json!({})).unwrap(),
            json!(4)
        );
        assert_eq!(
            coerce_variable(declaration, "int", &json!({"v": null})).unwrap(),
            json!(null)
        );
        assert_eq!(
            coerce_variable(declaration, "int", &json!({"v": 2})).unwrap(),
            json!(2)
        );
    }

    #[test]
    fn custom_scalars_accept_any_json() {
        assert_eq!(
            coerce_literal("any", r#"{a: [1, 2.5, "x", RED, null, true]}"#).unwrap(),
            json!({"a": [1, 2.5, "x", "RED", null, true]})
        );
    }
}
