//! The recipes of ingestion, for those who edit or run them.

use docent_catalog::Error;
use docent_model::{AspectName, Urn};
use serde_json::Value;

use crate::{Args, BatchResult, Context, EntityView};

/// How sources are run.
pub(super) async fn source_config(
    context: &Context,
    sources: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let infos = with_recipes(context, AspectName::INGESTION_SOURCE_INFO, sources).await?;
    let config = |mut info: Value| Ok(info["config"].take());
    Ok(infos.into_iter().map(config).collect())
}

/// The inputs of execution requests.
pub(super) async fn execution_input(
    context: &Context,
    requests: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let inputs = with_recipes(context, AspectName::EXECUTION_REQUEST_INPUT, requests).await?;
    Ok(inputs.into_iter().map(Ok).collect())
}

async fn with_recipes(
    context: &Context,
    aspect: AspectName,
    entities: &[EntityView<'_>],
) -> Result<Vec<Value>, Error> {
    let urns: Vec<Urn> = entities.iter().map(|it| it.urn().clone()).collect();
    context
        .catalog
        .with_recipes(&context.caller, aspect, &urns)
        .await
}
