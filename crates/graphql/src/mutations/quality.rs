//! Data contracts, and operations on the data of datasets.

use docent_catalog::Error;
use docent_catalog::contracts::NewContract;
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::assertions::{MapEntryInput, map};
use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("upsertDataContract", upsert_data_contract)
        .mutation("reportOperation", report_operation)
}

/// `FreshnessContractInput` and the other guarantees of a contract.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Guarantee {
    assertion_urn: String,
}

fn assertions(guarantees: Option<Vec<Guarantee>>) -> Result<Option<Vec<Urn>>, Error> {
    let urns = guarantees.map(|guarantees| {
        let urns = guarantees.iter().map(|it| urn(&it.assertion_urn));
        urns.collect::<Result<Vec<Urn>, Error>>()
    });
    urns.transpose()
}

async fn upsert_data_contract(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        entity_urn: String,
        freshness: Option<Vec<Guarantee>>,
        schema: Option<Vec<Guarantee>>,
        data_quality: Option<Vec<Guarantee>>,
        state: Option<String>,
        id: Option<String>,
    }
    let input: Input = arguments.input()?;
    let new = NewContract {
        dataset: urn(&input.entity_urn)?,
        id: input.id,
        freshness: assertions(input.freshness)?,
        schema: assertions(input.schema)?,
        data_quality: assertions(input.data_quality)?,
        state: input.state,
    };
    let contract = context
        .catalog
        .upsert_contract(&context.caller, new)
        .await?;
    Ok(json!(contract))
}

async fn report_operation(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        partition: Option<String>,
        custom_properties: Option<Vec<MapEntryInput>>,
        /// Members with the same names in the aspect.
        #[serde(flatten)]
        operation: Map<String, Value>,
    }
    let mut input: Input = arguments.input()?;
    input.operation.retain(|_, value| !value.is_null());
    let mut set = |name: &str, value: Value| drop(input.operation.insert(name.to_owned(), value));
    if let Some(partition) = input.partition {
        set(
            "partitionSpec",
            json!({"type": "PARTITION", "partition": partition}),
        );
    }
    if let Some(entries) = input.custom_properties {
        set("customProperties", map(entries));
    }
    context
        .catalog
        .report_operation(&context.caller, &urn(&input.urn)?, input.operation)
        .await?;
    // The type of the field is a text.
    Ok(json!("true"))
}
