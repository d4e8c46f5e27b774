//! What an executor needs to run ingestion.

use docent_model::Urn;

use crate::{Args, BatchResult, Context, EntityView};

/// The inputs of execution requests, with the recipe for those who run them.
pub(super) async fn execution_input(
    context: &Context,
    requests: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns: Vec<Urn> = requests.iter().map(|it| it.urn().clone()).collect();
    let inputs = context
        .catalog
        .execution_inputs(&context.caller, &urns)
        .await?;
    Ok(inputs.into_iter().map(Ok).collect())
}
