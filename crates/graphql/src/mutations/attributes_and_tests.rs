//! Business attributes and metadata tests.

use docent_catalog::business_attributes::AttributeDetails;
use docent_catalog::metadata_tests::TestDetails;
use docent_catalog::{Error, Target};
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ResourceInput, targets, urn};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createBusinessAttribute", create_business_attribute)
        .mutation("updateBusinessAttribute", update_business_attribute)
        .mutation("deleteBusinessAttribute", delete_business_attribute)
        .mutation("addBusinessAttribute", add_business_attribute)
        .mutation("removeBusinessAttribute", remove_business_attribute)
        .mutation("createTest", create_test)
        .mutation("updateTest", update_test)
        .mutation("deleteTest", delete_test)
}

/// `CreateBusinessAttributeInput` and `UpdateBusinessAttributeInput`.
#[derive(Deserialize)]
struct AttributeInput {
    id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    #[serde(rename = "type")]
    data_type: Option<String>,
}

impl AttributeInput {
    fn details(self) -> AttributeDetails {
        AttributeDetails {
            name: self.name,
            description: self.description,
            data_type: self.data_type.as_deref().map(record_of),
        }
    }
}

/// The record of a value of `SchemaFieldDataType`.
pub(super) fn record_of(name: &str) -> &'static str {
    match name {
        "BOOLEAN" => "BooleanType",
        "FIXED" => "FixedType",
        "BYTES" => "BytesType",
        "NUMBER" => "NumberType",
        "DATE" => "DateType",
        "TIME" => "TimeType",
        "ENUM" => "EnumType",
        "NULL" => "NullType",
        "MAP" => "MapType",
        "ARRAY" => "ArrayType",
        "UNION" => "UnionType",
        "STRUCT" => "RecordType",
        _ => "StringType",
    }
}

async fn create_business_attribute(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input: AttributeInput = arguments.input()?;
    let id = input.id.take();
    let attribute = context
        .catalog
        .create_business_attribute(&context.caller, id.as_deref(), input.details())
        .await?;
    Ok(json!(attribute))
}

async fn update_business_attribute(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let attribute = arguments.urn("urn")?;
    let input: AttributeInput = arguments.input()?;
    context
        .catalog
        .update_business_attribute(&context.caller, &attribute, input.details())
        .await?;
    Ok(json!(attribute))
}

async fn delete_business_attribute(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let attribute = arguments.urn("urn")?;
    context
        .catalog
        .delete_business_attribute(&context.caller, &attribute)
        .await?;
    Ok(json!(true))
}

/// The attribute and the columns of `AddBusinessAttributeInput`.
fn columns(arguments: &Args<'_>) -> Result<(Urn, Vec<Target>), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        business_attribute_urn: String,
        resource_urn: Vec<ResourceInput>,
    }
    let input: Input = arguments.input()?;
    let columns = targets(input.resource_urn, ResourceInput::target)?;
    Ok((urn(&input.business_attribute_urn)?, columns))
}

async fn add_business_attribute(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (attribute, columns) = columns(&arguments)?;
    context
        .catalog
        .add_business_attribute(&context.caller, &attribute, &columns)
        .await?;
    Ok(json!(true))
}

async fn remove_business_attribute(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (attribute, columns) = columns(&arguments)?;
    context
        .catalog
        .remove_business_attribute(&context.caller, &attribute, &columns)
        .await?;
    Ok(json!(true))
}

/// `CreateTestInput` and `UpdateTestInput`.
#[derive(Deserialize)]
struct TestInput {
    id: Option<String>,
    name: String,
    category: String,
    description: Option<String>,
    definition: DefinitionInput,
}

#[derive(Deserialize)]
struct DefinitionInput {
    json: Option<String>,
}

impl TestInput {
    fn details(self) -> TestDetails {
        TestDetails {
            name: self.name,
            category: self.category,
            description: self.description,
            definition: self.definition.json,
        }
    }
}

async fn create_test(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input: TestInput = arguments.input()?;
    let id = input.id.take();
    let test = context
        .catalog
        .create_test(&context.caller, id.as_deref(), input.details())
        .await?;
    Ok(json!(test))
}

async fn update_test(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let test = arguments.urn("urn")?;
    let input: TestInput = arguments.input()?;
    context
        .catalog
        .update_test(&context.caller, &test, input.details())
        .await?;
    Ok(json!(test))
}

async fn delete_test(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let test = arguments.urn("urn")?;
    context.catalog.delete_test(&context.caller, &test).await?;
    Ok(json!(true))
}
