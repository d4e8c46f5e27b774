//! Connections with other platforms. Their details are secret, so that only the catalog reads them.

use docent_catalog::Error;
use docent_catalog::connections::ConnectionDetails;
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("connection", connection)
        .entity_field("connectionDetails", connection_details)
        .entity_field("connectionJson", connection_json)
}

async fn connection(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    urn.expect_type("dataHubConnection")?;
    let details = context
        .catalog
        .connections(std::slice::from_ref(&urn))
        .await?;
    let is_there = details.iter().any(Option::is_some);
    Ok(json!(is_there.then_some(urn)))
}

async fn connection_details(
    context: &Context,
    connections: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns = EntityView::urns(connections);
    let details = context.catalog.connections(&urns).await?;
    let value = |it: &ConnectionDetails| json!({"type": it.kind, "name": it.name});
    let values = details.iter().map(|it| Ok(json!(it.as_ref().map(value))));
    Ok(values.collect())
}

async fn connection_json(
    context: &Context,
    connections: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let urns = EntityView::urns(connections);
    // The audit log names what was read, in whatever query.
    let context = context.in_operation("connection");
    let blobs = context
        .catalog
        .connection_blobs(&context.caller, &urns)
        .await?;
    let value = |blob: String| json!({ "blob": blob });
    let values = blobs
        .into_iter()
        .map(|it| it.map(|blob| json!(blob.map(value))));
    Ok(values.collect())
}
