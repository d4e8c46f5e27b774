//! Data products and applications, and their assets.

use docent_catalog::applications::{ApplicationUpdate, NewApplication};
use docent_catalog::products::{NewProduct, ProductUpdate};
use docent_catalog::{Error, Target};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, targets, urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createDataProduct", create_data_product)
        .mutation("updateDataProduct", update_data_product)
        .mutation("moveDataProduct", move_data_product)
        .mutation("deleteDataProduct", delete_data_product)
        .mutation("batchSetDataProduct", batch_set_data_product)
        .mutation("batchAddToDataProducts", batch_add_to_data_products)
        .mutation(
            "batchRemoveFromDataProducts",
            batch_remove_from_data_products,
        )
        .mutation("createApplication", create_application)
        .mutation("updateApplication", update_application)
        .mutation("deleteApplication", delete_application)
        .mutation("batchSetApplication", batch_set_application)
        .mutation("batchUnsetApplication", batch_unset_application)
}

/// The name and the description, in inputs of both nouns.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    name: String,
    description: Option<String>,
    parent_data_product: Option<String>,
}

/// `CreateDataProductInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateProduct {
    id: Option<String>,
    domain_urn: String,
    properties: Properties,
}

async fn create_data_product(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: CreateProduct = arguments.input()?;
    let new = NewProduct {
        id: input.id,
        name: input.properties.name,
        description: input.properties.description,
        parent: optional_urn(input.properties.parent_data_product.as_deref())?,
        domain: urn(&input.domain_urn)?,
    };
    let product = context.catalog.create_product(&context.caller, new).await?;
    Ok(json!(product))
}

/// `UpdateDataProductInput` and `UpdateApplicationInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update {
    name: Option<String>,
    description: Option<String>,
    parent_data_product: Option<String>,
}

async fn update_data_product(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (product, input) = (arguments.urn("urn")?, arguments.input::<Update>()?);
    let update = ProductUpdate {
        name: input.name,
        description: input.description,
        parent: optional_urn(input.parent_data_product.as_deref())?,
    };
    context
        .catalog
        .update_product(&context.caller, &product, update)
        .await?;
    Ok(json!(product))
}

async fn move_data_product(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        resource_urn: String,
        parent_data_product: Option<String>,
    }
    let input: Input = arguments.input()?;
    let parent = optional_urn(input.parent_data_product.as_deref())?;
    context
        .catalog
        .move_product(&context.caller, &urn(&input.resource_urn)?, parent.as_ref())
        .await?;
    Ok(json!(true))
}

async fn delete_data_product(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let product = arguments.urn("urn")?;
    context
        .catalog
        .delete_product(&context.caller, &product)
        .await?;
    Ok(json!(true))
}

async fn batch_set_data_product(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        data_product_urn: Option<String>,
        resource_urns: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    let assets = urns(&input.resource_urns)?;
    match optional_urn(input.data_product_urn.as_deref())? {
        Some(product) => {
            catalog
                .add_product_assets(caller, &product, &assets)
                .await?;
        }
        None => catalog.remove_from_all_products(caller, &assets).await?,
    }
    Ok(json!(true))
}

/// `BatchSetDataProductsInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memberships {
    data_product_urns: Vec<String>,
    resource_urns: Vec<String>,
}

async fn batch_add_to_data_products(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Memberships = arguments.input()?;
    let products = urns(&input.data_product_urns)?;
    let assets = urns(&input.resource_urns)?;
    context
        .catalog
        .add_to_products(&context.caller, &products, &assets)
        .await?;
    Ok(json!(true))
}

async fn batch_remove_from_data_products(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Memberships = arguments.input()?;
    let products = urns(&input.data_product_urns)?;
    let assets = urns(&input.resource_urns)?;
    context
        .catalog
        .remove_from_products(&context.caller, &products, &assets)
        .await?;
    Ok(json!(true))
}

async fn create_application(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        id: Option<String>,
        domain_urn: Option<String>,
        properties: Properties,
        should_add_creator_as_owner: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let new = NewApplication {
        id: input.id,
        name: input.properties.name,
        description: input.properties.description,
        domain: optional_urn(input.domain_urn.as_deref())?,
        is_owned: input.should_add_creator_as_owner.unwrap_or(true),
    };
    let application = context
        .catalog
        .create_application(&context.caller, new)
        .await?;
    Ok(json!(application))
}

async fn update_application(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let (application, input) = (arguments.urn("urn")?, arguments.input::<Update>()?);
    let update = ApplicationUpdate {
        name: input.name,
        description: input.description,
    };
    context
        .catalog
        .update_application(&context.caller, &application, update)
        .await?;
    Ok(json!(application))
}

async fn delete_application(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let application = arguments.urn("urn")?;
    context
        .catalog
        .delete_application(&context.caller, &application)
        .await?;
    Ok(json!(true))
}

/// `BatchSetApplicationInput` and `BatchUnsetApplicationInput`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApplicationAssets {
    application_urn: Option<String>,
    resource_urns: Vec<String>,
}

impl ApplicationAssets {
    fn targets(&mut self) -> Result<Vec<Target>, Error> {
        let texts = std::mem::take(&mut self.resource_urns);
        targets(texts, |text| Ok(Target::entity(urn(&text)?)))
    }
}

async fn batch_set_application(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input: ApplicationAssets = arguments.input()?;
    let (catalog, caller) = (&context.catalog, &context.caller);
    let assets = input.targets()?;
    match optional_urn(input.application_urn.as_deref())? {
        Some(application) => {
            catalog
                .add_to_application(caller, &application, &assets)
                .await?;
        }
        None => {
            catalog
                .remove_from_all_applications(caller, &assets)
                .await?;
        }
    }
    Ok(json!(true))
}

async fn batch_unset_application(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input: ApplicationAssets = arguments.input()?;
    let assets = input.targets()?;
    let application = urn(input.application_urn.as_deref().unwrap_or_default())?;
    context
        .catalog
        .remove_from_application(&context.caller, &application, &assets)
        .await?;
    Ok(json!(true))
}
