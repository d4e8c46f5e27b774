//! Structured properties: their values on entities, and their definitions.

use docent_catalog::Error;
use docent_catalog::property_definitions::{AllowedValue, NewProperty, PropertyDetails};
use docent_catalog::structured_properties::{PropertyValue, PropertyValues};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("upsertStructuredProperties", upsert)
        .mutation("removeStructuredProperties", remove)
        .mutation("createStructuredProperty", create)
        .mutation("updateStructuredProperty", update)
        .mutation("deleteStructuredProperty", delete)
}

/// `PropertyValueInput`, and the value of `AllowedValueInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ValueInput {
    string_value: Option<String>,
    number_value: Option<f64>,
}

impl ValueInput {
    fn value(self) -> Result<PropertyValue, Error> {
        match (self.string_value, self.number_value) {
            (Some(text), None) => Ok(PropertyValue::Text(text)),
            (None, Some(number)) => Ok(PropertyValue::Number(number)),
            _ => Err(Error::invalid(
                "a value of a structured property must be either a stringValue or a numberValue",
            )),
        }
    }
}

/// `StructuredPropertyInputParams`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PropertyInput {
    structured_property_urn: String,
    values: Vec<ValueInput>,
}

impl PropertyInput {
    pub(super) fn values(self) -> Result<PropertyValues, Error> {
        let values = self.values.into_iter().map(ValueInput::value);
        Ok(PropertyValues {
            property: urn(&self.structured_property_urn)?,
            values: values.collect::<Result<_, Error>>()?,
        })
    }
}

async fn upsert(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        asset_urn: String,
        structured_property_input_params: Vec<PropertyInput>,
    }
    let input: Input = arguments.input()?;
    let entity = urn(&input.asset_urn)?;
    let properties = input.structured_property_input_params.into_iter();
    let properties = properties.map(PropertyInput::values);
    let properties = properties.collect::<Result<Vec<_>, Error>>()?;
    let stored = context
        .catalog
        .upsert_structured_properties(&context.caller, &entity, properties)
        .await?;
    Ok(reply(stored, &entity))
}

async fn remove(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
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

/// `AllowedValueInput`.
#[derive(Deserialize)]
struct AllowedInput {
    #[serde(flatten)]
    value: ValueInput,
    description: Option<String>,
}

/// `StructuredPropertySettingsInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SettingsInput {
    is_hidden: Option<bool>,
    show_in_search_filters: Option<bool>,
    show_in_asset_summary: Option<bool>,
    hide_in_asset_summary_when_empty: Option<bool>,
    show_as_asset_badge: Option<bool>,
    show_in_columns_table: Option<bool>,
}

/// The common members of `CreateStructuredPropertyInput` and `UpdateStructuredPropertyInput`; the
/// latter has its lists under other names.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DetailsInput {
    display_name: Option<String>,
    description: Option<String>,
    immutable: Option<bool>,
    type_qualifier: Option<QualifierInput>,
    #[serde(alias = "newAllowedValues")]
    allowed_values: Option<Vec<AllowedInput>>,
    cardinality: Option<String>,
    set_cardinality_as_multiple: Option<bool>,
    #[serde(alias = "newEntityTypes")]
    entity_types: Option<Vec<String>>,
    #[serde(alias = "newAllowedPlatforms")]
    allowed_platforms: Option<Vec<String>>,
    settings: Option<SettingsInput>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QualifierInput {
    #[serde(alias = "newAllowedTypes")]
    allowed_types: Option<Vec<String>>,
}

impl SettingsInput {
    fn members(self) -> Vec<(&'static str, Option<bool>)> {
        vec![
            ("isHidden", self.is_hidden),
            ("showInSearchFilters", self.show_in_search_filters),
            ("showInAssetSummary", self.show_in_asset_summary),
            (
                "hideInAssetSummaryWhenEmpty",
                self.hide_in_asset_summary_when_empty,
            ),
            ("showAsAssetBadge", self.show_as_asset_badge),
            ("showInColumnsTable", self.show_in_columns_table),
        ]
    }
}

impl DetailsInput {
    fn details(self) -> Result<PropertyDetails, Error> {
        let allowed_types = self.type_qualifier.and_then(|it| it.allowed_types);
        let allowed = self.allowed_values.unwrap_or_default().into_iter();
        let allowed = allowed.map(|it| {
            Ok(AllowedValue {
                value: it.value.value()?,
                description: it.description,
            })
        });
        Ok(PropertyDetails {
            display_name: self.display_name,
            description: self.description,
            immutable: self.immutable,
            is_multiple: self.cardinality.as_deref() == Some("MULTIPLE")
                || self.set_cardinality_as_multiple == Some(true),
            entity_types: urns(&self.entity_types.unwrap_or_default())?,
            allowed_types: urns(&allowed_types.unwrap_or_default())?,
            allowed_values: allowed.collect::<Result<_, Error>>()?,
            allowed_platforms: urns(&self.allowed_platforms.unwrap_or_default())?,
            settings: self.settings.map(SettingsInput::members),
        })
    }
}

async fn create(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        id: Option<String>,
        qualified_name: Option<String>,
        value_type: String,
        #[serde(flatten)]
        details: DetailsInput,
    }
    let input: Input = arguments.input()?;
    let new = NewProperty {
        id: input.id,
        qualified_name: input.qualified_name,
        value_type: urn(&input.value_type)?,
        details: input.details.details()?,
    };
    let property = context
        .catalog
        .create_structured_property(&context.caller, new)
        .await?;
    Ok(json!(property))
}

async fn update(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        #[serde(flatten)]
        details: DetailsInput,
    }
    let input: Input = arguments.input()?;
    let property = urn(&input.urn)?;
    context
        .catalog
        .update_structured_property(&context.caller, &property, input.details.details()?)
        .await?;
    Ok(json!(property))
}

async fn delete(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .delete_structured_property(&context.caller, &urn(&input.urn)?)
        .await?;
    Ok(json!(true))
}
