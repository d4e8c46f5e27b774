//! Ingestion sources, and requests to run them.

use docent_catalog::Error;
use docent_catalog::ingestion_sources::{NewSource, Schedule, SourceConfig};
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createIngestionSource", create_source)
        .mutation("updateIngestionSource", update_source)
        .mutation("deleteIngestionSource", delete_source)
        .mutation("createIngestionExecutionRequest", create_request)
        .mutation("cancelIngestionExecutionRequest", cancel_request)
        .mutation("createTestConnectionRequest", create_test)
        .mutation("rollbackIngestion", roll_back)
}

/// `UpdateIngestionSourceInput`.
#[derive(Deserialize)]
struct SourceInput {
    name: String,
    r#type: String,
    schedule: Option<ScheduleInput>,
    config: ConfigInput,
    source: Option<OriginInput>,
}

#[derive(Deserialize)]
struct ScheduleInput {
    interval: String,
    timezone: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigInput {
    recipe: String,
    version: Option<String>,
    executor_id: String,
    debug_mode: Option<bool>,
    extra_args: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    key: String,
    value: Option<String>,
}

#[derive(Deserialize)]
struct OriginInput {
    r#type: String,
}

impl SourceInput {
    fn source(self) -> NewSource {
        let config = self.config;
        let entry = |it: Entry| (it.key, json!(it.value.unwrap_or_default()));
        NewSource {
            name: self.name,
            r#type: self.r#type,
            schedule: self.schedule.map(|it| Schedule {
                interval: it.interval,
                timezone: it.timezone,
            }),
            config: SourceConfig {
                recipe: config.recipe,
                version: config.version,
                executor_id: config.executor_id,
                debug_mode: config.debug_mode,
                extra_args: config
                    .extra_args
                    .map(|entries| entries.into_iter().map(entry).collect()),
            },
            origin: self.source.map(|it| it.r#type),
        }
    }
}

async fn create_source(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: SourceInput = arguments.input()?;
    let created = context
        .catalog
        .create_ingestion_source(&context.caller, input.source())
        .await?;
    Ok(json!(created))
}

async fn update_source(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let source = arguments.urn("urn")?;
    let input: SourceInput = arguments.input()?;
    context
        .catalog
        .update_ingestion_source(&context.caller, &source, input.source())
        .await?;
    Ok(json!(source))
}

async fn delete_source(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let source = arguments.urn("urn")?;
    context
        .catalog
        .delete_ingestion_source(&context.caller, &source)
        .await?;
    Ok(json!(source))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestInput {
    ingestion_source_urn: String,
    execution_request_urn: Option<String>,
}

async fn create_request(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: RequestInput = arguments.input()?;
    let source = urn(&input.ingestion_source_urn)?;
    let request = context
        .catalog
        .request_ingestion(&context.caller, &source)
        .await?;
    Ok(json!(request))
}

async fn cancel_request(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: RequestInput = arguments.input()?;
    let source = urn(&input.ingestion_source_urn)?;
    let request = urn(input.execution_request_urn.as_deref().unwrap_or_default())?;
    context
        .catalog
        .cancel_ingestion(&context.caller, &source, &request)
        .await?;
    Ok(json!(request))
}

async fn create_test(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        recipe: String,
        version: Option<String>,
    }
    let input: Input = arguments.input()?;
    let request = context
        .catalog
        .request_connection_test(&context.caller, &input.recipe, input.version.as_deref())
        .await?;
    Ok(json!(request))
}

async fn roll_back(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        run_id: String,
    }
    let input: Input = arguments.input()?;
    context
        .catalog
        .roll_back_ingestion(&context.caller, &input.run_id)
        .await?;
    Ok(json!("true"))
}
