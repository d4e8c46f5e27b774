//! Root fields of `Query` other than lookups by URN and searches.

use docent_catalog::tokens::TokenFilter;
use docent_catalog::{Error, long_work};
use docent_model::{Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::privileges;
use crate::{Args, Context};

const DEFAULT_COUNT: usize = 20;
/// The maximum page size of lists.
const MAX_COUNT: usize = 1000;

/// `start` and `count` of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Window {
    start: Option<i64>,
    count: Option<i64>,
}

/// `start`, `count` and `query` of a list.
#[derive(Debug, Deserialize)]
pub(super) struct QueryWindow {
    #[serde(flatten)]
    pub(super) window: Window,
    query: Option<String>,
}

impl QueryWindow {
    /// The query; everything by default.
    pub(super) fn query(&self) -> &str {
        let query = self.query.as_deref().filter(|query| !query.is_empty());
        query.unwrap_or("*")
    }
}

impl Window {
    pub(super) fn checked(&self) -> Result<(usize, usize), Error> {
        self.checked_up_to(MAX_COUNT)
    }

    /// For lists with large items, of which a page has fewer.
    pub(super) fn checked_up_to(&self, max_count: usize) -> Result<(usize, usize), Error> {
        let number = |name: &str, value: Option<i64>, default: usize| {
            value.map_or(Ok(default), |value| {
                usize::try_from(value)
                    .map_err(|_| Error::invalid(format!("{name} must not be negative: {value}")))
            })
        };
        let start = number("start", self.start, 0)?;
        let count = number("count", self.count, DEFAULT_COUNT)?;
        if count > max_count {
            return Err(Error::invalid(format!(
                "count is {count}, at most {max_count} are allowed; use start for the next page"
            )));
        }
        Ok((start, count))
    }
}

/// Parsing this many URNs takes a millisecond.
const MANY_URNS: usize = 5_000;

pub(super) async fn entities(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let texts: Vec<String> = arguments.member("urns")?;
    let parse = || {
        let urns = texts.iter().map(|text| Registry::get().parse_urn(text));
        urns.collect::<Result<Vec<Urn>, _>>()
    };
    let mut urns = long_work::run(texts.len() > MANY_URNS, parse).await?;
    if arguments.member::<Option<bool>>("checkForExistence")? == Some(true) {
        let exists = context.catalog.exists(&urns).await?;
        let mut exists = exists.into_iter();
        urns.retain(|_| exists.next() == Some(true));
    }
    Ok(json!(urns))
}

pub(super) async fn entity_exists(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    let exists = context.catalog.exists(&[urn]).await?;
    Ok(json!(exists.first()))
}

pub(super) async fn list_domains(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        #[serde(flatten)]
        window: Window,
        query: Option<String>,
        parent_domain: Option<String>,
    }
    let input: Input = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let parent = input
        .parent_domain
        .map(|text| Registry::get().parse_urn(&text))
        .transpose()?;
    let page = context
        .catalog
        .list_domains(parent.as_ref(), input.query.as_deref(), start, count)
        .await?;
    Ok(json!({"start": start, "count": count, "total": page.total, "domains": page.items}))
}

pub(super) async fn global_views_settings(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let settings = context.catalog.global_settings().await?;
    Ok(json!({"defaultView": settings["views"]["defaultView"]}))
}

pub(super) async fn doc_propagation_settings(
    context: &Context,
    _: Args<'_>,
) -> Result<Value, Error> {
    let settings = context.catalog.global_settings().await?;
    let is_on = &settings["docPropagation"]["columnPropagationEnabled"];
    Ok(json!({"docColumnPropagation": is_on.as_bool().unwrap_or(false)}))
}

pub(super) async fn me(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    Ok(json!({
        "corpUser": context.caller.actor(),
        "platformPrivileges": privileges::platform(context).await?,
    }))
}

pub(super) async fn list_access_tokens(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        #[serde(flatten)]
        window: Window,
        filters: Option<Vec<Filter>>,
    }
    #[derive(Deserialize)]
    struct Filter {
        field: String,
        values: Option<Vec<String>>,
    }
    let input: Input = arguments.input()?;
    let (start, count) = input.window.checked()?;
    let mut filter = TokenFilter::default();
    for Filter { field, values } in input.filters.unwrap_or_default() {
        let [value] = values.as_deref().unwrap_or_default() else {
            return Err(Error::invalid(format!(
                "the filter on {field} needs exactly one value"
            )));
        };
        let urn = || Registry::get().parse_urn(value);
        match field.as_str() {
            "actorUrn" => filter.actor = Some(urn()?),
            "ownerUrn" => filter.owner = Some(urn()?),
            "name" => filter.name = Some(value.clone()),
            other => {
                return Err(Error::invalid(format!(
                    "tokens cannot be filtered by '{other}': use actorUrn, ownerUrn or name"
                )));
            }
        }
    }
    let page = context
        .catalog
        .list_tokens(&context.caller, &filter, start, count)
        .await?;
    let tokens = page
        .items
        .iter()
        .map(docent_catalog::tokens::Token::urn)
        .collect::<Result<Vec<Urn>, Error>>()?;
    Ok(json!({"start": start, "count": count, "total": page.total, "tokens": tokens}))
}

pub(super) async fn get_access_token_metadata(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let token = context
        .catalog
        .find_token(arguments.text("token")?)
        .await?
        .ok_or_else(|| Error::not_found("token not found"))?;
    Ok(json!(token.urn()?))
}

pub(super) async fn list_lifecycle_stages(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    Ok(json!(context.catalog.lifecycle_stages().await?))
}
