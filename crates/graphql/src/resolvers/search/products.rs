//! The assets of data products and applications.

use std::collections::{BTreeSet, HashSet};

use docent_catalog::products::{ProductAsset, product_assets};
use docent_catalog::search::{Criterion, Operator, SearchResults, page};
use docent_catalog::{AspectKey, Error, ReadRequest};
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use super::input::SearchInput;
use super::{DEFAULT_COUNT, facets, results, search_where};
use crate::{Args, BatchResult, Context, EntityView};

/// The condition on output ports, and the mark of those in the reply.
const OUTPUT_PORT: &str = "isOutputPort";

pub(in super::super) async fn list_data_product_assets(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let product = arguments.urn("urn")?;
    product.expect_type("dataProduct")?;
    let key = AspectKey::new(&product, AspectName::DATA_PRODUCT_PROPERTIES);
    let row = context.catalog.read(ReadRequest::row(&key)).await?;
    let text = row.into_row().map(|row| row.metadata.clone());
    search_assets(context, &arguments, &assets_in(text.as_deref())).await
}

pub(in super::super) async fn product_entities(
    context: &Context,
    products: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let mut replies = Vec::with_capacity(products.len());
    for product in products {
        let row = product.aspect(AspectName::DATA_PRODUCT_PROPERTIES);
        let assets = assets_in(row.map(|row| row.metadata.as_str()));
        replies.push(search_assets(context, &arguments, &assets).await);
    }
    Ok(replies)
}

fn assets_in(text: Option<&str>) -> Vec<ProductAsset> {
    let value = text.and_then(|text| serde_json::from_str(text).ok());
    value.as_ref().map(product_assets).unwrap_or_default()
}

/// The assets that match the input.
async fn search_assets(
    context: &Context,
    arguments: &Args<'_>,
    assets: &[ProductAsset],
) -> Result<Value, Error> {
    let mut input = SearchInput::of(arguments)?;
    let output_port = input.take_filter(OUTPUT_PORT);
    let only_ports = output_port.map(|filter| {
        let mut values = filter.values.iter().flatten();
        values.next().is_some_and(|value| value == "true")
    });
    let is_requested =
        |asset: &&ProductAsset| only_ports.is_none_or(|it| it == asset.is_output_port);
    let requested: Vec<&ProductAsset> = assets.iter().filter(is_requested).collect();
    let types: BTreeSet<&str> = requested.iter().map(|it| it.urn.entity_type()).collect();
    let types: Vec<&str> = types.into_iter().collect();
    let mut request = input.request(context, &types).await?;
    request.page = page(input.start, input.count, DEFAULT_COUNT)?;
    if requested.is_empty() {
        return Ok(results(&request.page, &SearchResults::default()));
    }
    request.facets = facets(&input, arguments)?;
    request.explain_matches &= arguments.selects(&["searchResults", "matchedFields"]);
    request.filter = request.filter.and(Criterion {
        field: "urn".to_owned(),
        values: requested
            .iter()
            .map(|asset| asset.urn.to_string())
            .collect(),
        operator: Operator::Equal,
        negated: false,
    });
    let found = context.catalog.search(&request).await?;
    let mut reply = results(&request.page, &found);
    let ports = assets.iter().filter(|asset| asset.is_output_port);
    let ports: HashSet<&Urn> = ports.map(|asset| &asset.urn).collect();
    for (index, hit) in found.hits.iter().enumerate() {
        if ports.contains(&hit.urn) {
            let mark = json!([{"name": OUTPUT_PORT, "value": "true"}]);
            reply["searchResults"][index]["extraProperties"] = mark;
        }
    }
    Ok(reply)
}

pub(in super::super) async fn list_application_assets(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let application = arguments.urn("urn")?;
    application.expect_type("application")?;
    let member = Criterion::equal("applications", application.as_str());
    let input = SearchInput::of(&arguments)?;
    search_where(context, &arguments, input, vec![member]).await
}
