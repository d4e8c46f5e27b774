//! Queries on datasets.

use docent_catalog::Error;
use docent_catalog::saved_queries::{QueryUpdate, Statement};
use serde::Deserialize;
use serde_json::{Value, json};

use super::urn;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createQuery", create_query)
        .mutation("updateQuery", update_query)
        .mutation("deleteQuery", delete_query)
}

/// `CreateQueryInput` and `UpdateQueryInput`.
#[derive(Deserialize)]
struct QueryInput {
    properties: Option<Properties>,
    subjects: Option<Vec<Subject>>,
}

#[derive(Default, Deserialize)]
struct Properties {
    name: Option<String>,
    description: Option<String>,
    statement: Option<StatementInput>,
}

#[derive(Deserialize)]
struct StatementInput {
    value: String,
    language: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Subject {
    dataset_urn: String,
}

impl QueryInput {
    fn update(self) -> Result<QueryUpdate, Error> {
        let properties = self.properties.unwrap_or_default();
        let datasets = self.subjects.map(|subjects| {
            let urns = subjects.iter().map(|subject| urn(&subject.dataset_urn));
            urns.collect::<Result<Vec<_>, Error>>()
        });
        Ok(QueryUpdate {
            name: properties.name,
            description: properties.description,
            statement: properties.statement.map(|statement| Statement {
                text: statement.value,
                language: statement.language,
            }),
            subjects: datasets.transpose()?,
        })
    }
}

async fn create_query(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let new = arguments.input::<QueryInput>()?.update()?;
    let query = context.catalog.create_query(&context.caller, new).await?;
    Ok(json!(query))
}

async fn update_query(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let query = arguments.urn("urn")?;
    let update = arguments.input::<QueryInput>()?.update()?;
    context
        .catalog
        .update_query(&context.caller, &query, update)
        .await?;
    Ok(json!(query))
}

async fn delete_query(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let query = arguments.urn("urn")?;
    context
        .catalog
        .delete_query(&context.caller, &query)
        .await?;
    Ok(json!(true))
}
