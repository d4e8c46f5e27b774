//! Structured properties of entities.

use docent_catalog::Error;
use docent_catalog::structured_properties::{PropertyValue, PropertyValues};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{urn, urns};
use crate::{Args, Context};

pub(super) async fn upsert(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        asset_urn: String,
        structured_property_input_params: Vec<PropertyInput>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PropertyInput {
        structured_property_urn: String,
        values: Vec<ValueInput>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ValueInput {
        string_value: Option<String>,
        number_value: Option<f64>,
    }
    let input: Input = arguments.input()?;
    let entity = urn(&input.asset_urn)?;
    let value = |input: ValueInput| match (input.string_value, input.number_value) {
        (Some(text), None) => Ok(PropertyValue::Text(text)),
        (None, Some(number)) => Ok(PropertyValue::Number(number)),
        _ => Err(Error::invalid(
            "a value of a structured property must be either a stringValue or a numberValue",
        )),
    };
    let properties = input
        .structured_property_input_params
        .into_iter()
        .map(|property| {
            Ok(PropertyValues {
                property: urn(&property.structured_property_urn)?,
                values: property
                    .values
                    .into_iter()
                    .map(value)
                    .collect::<Result<_, Error>>()?,
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let stored = context
        .catalog
        .upsert_structured_properties(&context.caller, &entity, properties)
        .await?;
    Ok(reply(stored, &entity))
}

pub(super) async fn remove(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        asset_urn: String,
        structured_property_urns: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let entity = urn(&input.asset_urn)?;
    let properties = urns(&input.structured_property_urns)?;
    let stored = context
        .catalog
        .remove_structured_properties(&context.caller, &entity, properties)
        .await?;
    Ok(reply(stored, &entity))
}

/// The aspect with the URN of the entity in each entry, since the result of a mutation has no
/// owner.
fn reply(mut stored: Value, entity: &Urn) -> Value {
    let entries = stored["properties"].as_array_mut().into_iter().flatten();
    for entry in entries {
        entry["associatedUrn"] = json!(entity);
    }
    stored
}
