//! Data products and applications.

use docent_catalog::Error;
use docent_catalog::products::{ContainingProduct, product_assets};
use docent_catalog::search::SearchRequest;
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::queries::QueryWindow;
use super::{hierarchy, search};
use crate::{Args, BatchResult, Context, EntityView, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("getRootDataProducts", root_data_products)
        .query("bulkEntityDataProducts", bulk_entity_data_products)
        .entity_field("dataProductAssetCount", product_asset_counts)
        .entity_field("applicationAssetCount", application_asset_counts)
        .query(
            "listDataProductAssets",
            search::products::list_data_product_assets,
        )
        .query(
            "listApplicationAssets",
            search::products::list_application_assets,
        )
        .entity_field("dataProductEntities", search::products::product_entities)
        .entity_field("dataProductChildren", search::members::child_products)
        .entity_field("parentDataProducts", hierarchy::parent_data_products)
}

async fn root_data_products(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: QueryWindow = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let query = input.query();
    let page = context.catalog.root_products(query, start, count).await?;
    Ok(json!({"start": start, "count": count, "total": page.total, "dataProducts": page.items}))
}

async fn bulk_entity_data_products(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urns: Vec<String>,
    }
    let input: Input = arguments.input()?;
    let parsed = input
        .urns
        .iter()
        .map(|text| Registry::get().parse_urn(text));
    let urns: Vec<Urn> = parsed.collect::<Result<_, _>>()?;
    let products = context.catalog.products_of(&urns).await?;
    let entities = urns.iter().zip(products).map(|(urn, products)| {
        let association = |it: ContainingProduct| json!({"dataProduct": it.product, "isOutputPort": it.is_output_port});
        let associations: Vec<Value> = products.into_iter().map(association).collect();
        json!({"urn": urn, "dataProductAssociations": associations})
    });
    Ok(json!({"entities": entities.collect::<Vec<Value>>()}))
}

/// The number of assets that the caller sees.
async fn product_asset_counts(
    context: &Context,
    properties: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let assets: Vec<Vec<Urn>> = properties
        .iter()
        .map(|it| product_assets(it.value()))
        .map(|assets| assets.into_iter().map(|asset| asset.urn).collect())
        .collect();
    let hidden = context
        .catalog
        .hidden_among(assets.iter().flatten())
        .await?;
    let count = |assets: &Vec<Urn>| assets.iter().filter(|urn| !hidden.contains(*urn)).count();
    Ok(assets.iter().map(|it| Ok(json!(count(it)))).collect())
}

async fn application_asset_counts(
    context: &Context,
    applications: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let all = SearchRequest {
        query: "*".to_owned(),
        ..SearchRequest::default()
    };
    let urns: Vec<&Urn> = applications.iter().map(EntityView::urn).collect();
    let counts = context.catalog.count_members(&all, "applications", &urns);
    Ok(counts.await?.into_iter().map(|it| Ok(json!(it))).collect())
}
