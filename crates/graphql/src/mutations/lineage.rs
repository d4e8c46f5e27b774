//! Changes of lineage.

use docent_catalog::Error;
use docent_catalog::lineage::LineageEdge;
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers.mutation("updateLineage", update_lineage)
}

async fn update_lineage(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        edges_to_add: Vec<Option<EdgeInput>>,
        edges_to_remove: Vec<Option<EdgeInput>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct EdgeInput {
        downstream_urn: String,
        upstream_urn: String,
    }
    let edges = |inputs: Vec<Option<EdgeInput>>| {
        let edge = |input: EdgeInput| {
            Ok(LineageEdge {
                downstream: urn(&input.downstream_urn)?,
                upstream: urn(&input.upstream_urn)?,
            })
        };
        let edges = inputs.into_iter().flatten().map(edge);
        edges.collect::<Result<Vec<_>, Error>>()
    };
    let input: Input = arguments.input()?;
    let (added, removed) = (edges(input.edges_to_add)?, edges(input.edges_to_remove)?);
    context
        .catalog
        .update_lineage(&context.caller, &added, &removed)
        .await?;
    Ok(json!(true))
}
