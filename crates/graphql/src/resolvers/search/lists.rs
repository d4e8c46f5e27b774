//! Lists of all entities of one type.
//!
//! To add one, add a function that calls [`list`] with the entity type and the name of the list in
//! the reply.

use docent_catalog::Error;
use docent_catalog::ingestion_secrets::{ENTITY, SecretInfo};
use docent_catalog::privilege::{MANAGE_POLICIES, MANAGE_SECRETS, MANAGE_TESTS, VIEW_TESTS};
use docent_catalog::search::{Criterion, SearchPage, SearchRequest, SearchResults, Sort, page};
use docent_model::Urn;
use serde_json::{Value, json};

use super::input::SearchInput;
use crate::{Args, Context};

const DEFAULT_COUNT: usize = 20;

pub(in super::super) async fn queries(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let mut conditions = Vec::new();
    if let Some(source) = &input.source {
        conditions.push(Criterion::equal("source", source));
    }
    if let Some(dataset) = &input.dataset_urn {
        conditions.push(Criterion::equal("entities", dataset));
    }
    let newest = Sort {
        field: "lastModifiedAt".to_owned(),
        descending: true,
    };
    list(context, &mut input, "query", conditions, newest, "queries").await
}

pub(in super::super) async fn ownership_types(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    list_by_name(context, &arguments, "ownershipType", "ownershipTypes").await
}

pub(in super::super) async fn business_attributes(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    list_by_name(
        context,
        &arguments,
        "businessAttribute",
        "businessAttributes",
    )
    .await
}

pub(in super::super) async fn tests(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    context
        .catalog
        .authorize(&context.caller, &[MANAGE_TESTS, VIEW_TESTS], None)
        .await?;
    list_by_name(context, &arguments, "test", "tests").await
}

pub(in super::super) async fn policies(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    context
        .catalog
        .authorize(&context.caller, &[MANAGE_POLICIES], None)
        .await?;
    list_by_name(context, &arguments, "dataHubPolicy", "policies").await
}

pub(in super::super) async fn roles(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    list_by_name(context, &arguments, "dataHubRole", "roles").await
}

/// Secrets without their values, newest first.
pub(in super::super) async fn secrets(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let (catalog, caller) = (&context.catalog, &context.caller);
    catalog.authorize(caller, &[MANAGE_SECRETS], None).await?;
    let mut input = SearchInput::of(&arguments)?;
    let newest = Sort {
        field: "createdTime".to_owned(),
        descending: true,
    };
    let (page, found) = search(context, &mut input, ENTITY, Vec::new(), newest).await?;
    let urns: Vec<Urn> = found.hits.iter().map(|hit| hit.urn.clone()).collect();
    let secrets = catalog.secrets(caller, &urns).await?;
    let secret =
        |it: &SecretInfo| json!({"urn": it.urn, "name": it.name, "description": it.description});
    let mut reply = urn_page(&page, &found, "secrets");
    reply["secrets"] = secrets.iter().map(secret).collect();
    Ok(reply)
}

/// Announcements, newest first; those about an entity if one is named.
pub(in super::super) async fn posts(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let about = input.resource_urn.take();
    let about = about.map(|urn| Criterion::equal("target", urn));
    let newest = Sort {
        field: "lastModified".to_owned(),
        descending: true,
    };
    let conditions = about.into_iter().collect();
    list(context, &mut input, "post", conditions, newest, "posts").await
}

/// The views that the caller created.
pub(in super::super) async fn my_views(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let me = context.caller.actor().as_str();
    let mut conditions = vec![Criterion::equal("createdBy", me)];
    if let Some(kind) = input.view_type.take() {
        conditions.push(Criterion::equal("viewType", kind));
    }
    views(context, &mut input, conditions).await
}

pub(in super::super) async fn global_views(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let conditions = vec![Criterion::equal("viewType", "GLOBAL")];
    views(context, &mut input, conditions).await
}

async fn views(
    context: &Context,
    input: &mut SearchInput,
    conditions: Vec<Criterion>,
) -> Result<Value, Error> {
    let order = by_name();
    list(context, input, "dataHubView", conditions, order, "views").await
}

pub(in super::super) async fn groups(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    list_by_name(context, &arguments, "corpGroup", "groups").await
}

pub(in super::super) async fn users(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    list_by_name(context, &arguments, "corpuser", "users").await
}

async fn list_by_name(
    context: &Context,
    arguments: &Args<'_>,
    entity_type: &str,
    name: &str,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(arguments)?;
    let order = by_name();
    list(context, &mut input, entity_type, Vec::new(), order, name).await
}

pub(super) fn by_name() -> Sort {
    Sort {
        field: "name".to_owned(),
        descending: false,
    }
}

pub(super) async fn list(
    context: &Context,
    input: &mut SearchInput,
    entity_type: &str,
    conditions: Vec<Criterion>,
    order: Sort,
    name: &str,
) -> Result<Value, Error> {
    let (page, found) = search(context, input, entity_type, conditions, order).await?;
    Ok(urn_page(&page, &found, name))
}

async fn search(
    context: &Context,
    input: &mut SearchInput,
    entity_type: &str,
    conditions: Vec<Criterion>,
    order: Sort,
) -> Result<(SearchPage, SearchResults), Error> {
    let request = request(context, input, entity_type, conditions, order).await?;
    let found = context.catalog.search(&request).await?;
    Ok((request.page, found))
}

/// The request for a page of the entities of one type.
pub(super) async fn request(
    context: &Context,
    input: &mut SearchInput,
    entity_type: &str,
    conditions: Vec<Criterion>,
    order: Sort,
) -> Result<SearchRequest, Error> {
    let mut request = input.request(context, &[]).await?;
    request.types = vec![entity_type.to_owned()];
    request.explain_matches = false;
    request.page = page(input.start, input.count, DEFAULT_COUNT)?;
    if request.query.trim().is_empty() {
        "*".clone_into(&mut request.query);
    }
    if request.sort.is_empty() {
        request.sort.push(order);
    }
    for condition in conditions {
        request.filter = request.filter.and(condition);
    }
    Ok(request)
}

/// A page of URNs. `count` is the requested page size, not the number of results.
pub(super) fn urn_page(page: &SearchPage, found: &SearchResults, name: &str) -> Value {
    let (start, count) = match page {
        SearchPage::Offset { start, count } => (*start, *count),
        SearchPage::Cursor { count, .. } => (0, *count),
    };
    let urns: Vec<&Urn> = found.hits.iter().map(|hit| &hit.urn).collect();
    json!({"start": start, "count": count, "total": found.total, name: urns})
}
