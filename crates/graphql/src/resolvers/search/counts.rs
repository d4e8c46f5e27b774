//! Users for administrators, and the numbers of entities.

use docent_catalog::Error;
use docent_catalog::privilege::MANAGE_USERS_AND_GROUPS;
use docent_catalog::search::{Criterion, Facets, SearchPage};
use serde_json::{Value, json};

use super::input::SearchInput;
use super::search_where;
use crate::entity_types;
use crate::{Args, Context};

/// The subtype of users that are programs.
const SERVICE_ACCOUNT: &str = "SERVICE_ACCOUNT";
/// More than there are types of entities.
const MAX_TYPES: usize = 200;

pub(super) async fn search_users(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    context
        .catalog
        .authorize(&context.caller, &[MANAGE_USERS_AND_GROUPS], None)
        .await?;
    let mut input = SearchInput::of(&arguments)?;
    (input.r#type, input.types) = (None, Some(vec!["CORP_USER".to_owned()]));
    let is_person = Criterion {
        negated: true,
        ..Criterion::equal("typeNames", SERVICE_ACCOUNT)
    };
    search_where(context, &arguments, input, vec![is_person]).await
}

/// The number of entities of each requested type, or of those that have any.
pub(super) async fn entity_counts(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let mut request = input.request(context, &[]).await?;
    let requested = input.entity_types()?;
    request.page = SearchPage::Offset { start: 0, count: 0 };
    request.explain_matches = false;
    request.facets = Facets::Named {
        fields: vec!["_entityType".to_owned()],
        values: MAX_TYPES,
    };
    let found = context.catalog.search(&request).await?;
    let counted: Vec<(&str, u64)> = found
        .facets
        .iter()
        .flat_map(|facet| &facet.values)
        .map(|value| (value.value.as_str(), value.count))
        .collect();
    let count = |name: &str| {
        let of_type = counted.iter().find(|(counted, _)| *counted == name);
        of_type.map_or(0, |(_, count)| *count)
    };
    let names: Vec<&str> = if requested.is_empty() {
        counted.iter().map(|(name, _)| *name).collect()
    } else {
        requested.iter().map(String::as_str).collect()
    };
    let result =
        |name: &&str| json!({"entityType": entity_types::schema_name(name), "count": count(name)});
    Ok(json!({"counts": names.iter().map(result).collect::<Vec<_>>()}))
}
