//! Relationships of ER models, and logical models.

use docent_catalog::Error;
use docent_catalog::er_models::{ColumnPair, ErModelProperties, ErModelTexts};
use docent_catalog::logical_models::{LogicalColumn, NewLogicalModel};
use docent_catalog::logical_parents::ColumnMapping;
use serde::Deserialize;
use serde_json::{Value, json};

use super::attributes_and_tests::record_of;
use super::{optional_urn, urn};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createERModelRelationship", create_relationship)
        .mutation("updateERModelRelationship", update_relationship)
        .mutation("deleteERModelRelationship", delete_relationship)
        .mutation("createLogicalModel", create_logical_model)
        .mutation("updateLogicalModelSchema", update_logical_model_schema)
        .mutation("linkPhysicalChild", link_physical_child)
        .mutation("unlinkPhysicalChild", unlink_physical_child)
        .mutation("setLogicalParent", set_logical_parent)
}

/// `ERModelRelationshipUpdateInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RelationshipInput {
    properties: Option<PropertiesInput>,
    editable_properties: Option<TextsInput>,
}

#[derive(Deserialize)]
struct PropertiesInput {
    name: String,
    source: String,
    destination: String,
    #[serde(rename = "relationshipFieldmappings")]
    mappings: Option<Vec<PairInput>>,
    #[serde(rename = "erModelRelationshipCardinality")]
    cardinality: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PairInput {
    source_field: Option<String>,
    destination_field: Option<String>,
}

#[derive(Deserialize)]
struct TextsInput {
    name: Option<String>,
    description: Option<String>,
}

impl PropertiesInput {
    fn properties(self) -> Result<ErModelProperties, Error> {
        let pair = |it: PairInput| ColumnPair {
            source: it.source_field.unwrap_or_default(),
            destination: it.destination_field.unwrap_or_default(),
        };
        Ok(ErModelProperties {
            name: self.name,
            source: urn(&self.source)?,
            destination: urn(&self.destination)?,
            mappings: self
                .mappings
                .map(|pairs| pairs.into_iter().map(pair).collect()),
            cardinality: self.cardinality,
        })
    }
}

impl TextsInput {
    fn texts(self) -> ErModelTexts {
        ErModelTexts {
            name: self.name,
            description: self.description,
        }
    }
}

async fn create_relationship(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: RelationshipInput = arguments.input()?;
    let properties = input
        .properties
        .ok_or_else(|| Error::invalid("properties are missing: a relationship needs them"))?;
    let texts = input.editable_properties.map(TextsInput::texts);
    let created = context
        .catalog
        .create_er_model_relationship(&context.caller, properties.properties()?, texts)
        .await?;
    Ok(json!(created))
}

async fn update_relationship(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let relationship = arguments.urn("urn")?;
    let input: RelationshipInput = arguments.input()?;
    let properties = input.properties.map(PropertiesInput::properties);
    let texts = input.editable_properties.map(TextsInput::texts);
    context
        .catalog
        .update_er_model_relationship(
            &context.caller,
            &relationship,
            properties.transpose()?,
            texts,
        )
        .await?;
    Ok(json!(true))
}

async fn delete_relationship(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let relationship = arguments.urn("urn")?;
    context
        .catalog
        .delete_er_model_relationship(&context.caller, &relationship)
        .await?;
    Ok(json!(true))
}

/// `EditableSchemaFieldInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ColumnInput {
    field_path: String,
    #[serde(rename = "type")]
    type_name: String,
}

fn columns(inputs: Vec<ColumnInput>) -> Vec<LogicalColumn> {
    let column = |it: ColumnInput| LogicalColumn {
        type_record: record_of(&it.type_name),
        field_path: it.field_path,
        type_name: it.type_name,
    };
    inputs.into_iter().map(column).collect()
}

async fn create_logical_model(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        name: String,
        display_name: Option<String>,
        env: Option<String>,
        platform: Option<String>,
        columns: Vec<ColumnInput>,
    }
    let input: Input = arguments.input()?;
    let new = NewLogicalModel {
        name: input.name,
        display_name: input.display_name,
        env: input.env.unwrap_or_else(|| "PROD".to_owned()),
        platform: optional_urn(input.platform.as_deref())?,
        columns: columns(input.columns),
    };
    let created = context
        .catalog
        .create_logical_model(&context.caller, new)
        .await?;
    Ok(json!(created))
}

async fn update_logical_model_schema(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        columns: Vec<ColumnInput>,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .update_logical_model_schema(&context.caller, &urn(&input.urn)?, &columns(input.columns))
        .await?;
    Ok(json!(true))
}

async fn link_physical_child(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        logical_parent_urn: String,
        child_urn: String,
        column_mappings: Option<Vec<MappingInput>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct MappingInput {
        parent_field_path: String,
        child_field_path: String,
    }
    let input: Input = arguments.input()?;
    let mapping = |it: MappingInput| ColumnMapping {
        parent: it.parent_field_path,
        child: it.child_field_path,
    };
    let mappings = input.column_mappings.into_iter().flatten().map(mapping);
    let mappings: Vec<ColumnMapping> = mappings.collect();
    let (parent, child) = (urn(&input.logical_parent_urn)?, urn(&input.child_urn)?);
    context
        .catalog
        .link_physical_child(&context.caller, &parent, &child, &mappings)
        .await?;
    Ok(json!(true))
}

async fn unlink_physical_child(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        child_urn: String,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .unlink_physical_child(&context.caller, &urn(&input.child_urn)?)
        .await?;
    Ok(json!(true))
}

async fn set_logical_parent(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        resource_urn: String,
        parent_urn: Option<String>,
    }
    let input: Input = arguments.input()?;
    let parent = optional_urn(input.parent_urn.as_deref())?;
    context
        .catalog
        .set_logical_parent(&context.caller, &urn(&input.resource_urn)?, parent.as_ref())
        .await?;
    Ok(json!(true))
}
