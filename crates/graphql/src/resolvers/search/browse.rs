//! The browse tree and suggested filters.

use docent_catalog::search::browse::Group;
use docent_catalog::search::{FacetValue, Facets, SearchPage, SearchRequest, page};
use docent_catalog::{AspectKey, Catalog, Error, ReadRequest};
use docent_model::{AspectName, Registry};
use serde_json::{Value, json};

use super::super::entities::split_paths;
use super::input::SearchInput;
use super::urn;
use crate::entity_types;
use crate::{Args, Context};

const DEFAULT_COUNT: usize = 10;

/// One level of the browse tree: its groups, and after them the entities at it.
pub(super) async fn browse(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let request = input.request(context, &[]).await?;
    let SearchPage::Offset { start, count } = page(input.start, input.count, DEFAULT_COUNT)? else {
        return Ok(Value::Null);
    };
    let path = input.path.unwrap_or_default();
    let below = context.catalog.browse_older(&path, &request).await?;
    let groups = below.groups.iter().skip(start).take(count);
    let groups: Vec<Value> = groups
        .map(|group| json!({"name": group.name, "count": group.entities}))
        .collect();
    let mut total = below.groups.len();
    let mut entities = Vec::new();
    // What is at the root has no path.
    if !path.is_empty() {
        let at_path = SearchRequest {
            filter: Catalog::at_older_path(request.filter.clone(), &path)?,
            page: SearchPage::Offset {
                start: start.saturating_sub(total),
                count: count.saturating_sub(groups.len()),
            },
            explain_matches: false,
            ..request
        };
        let found = context.catalog.search(&at_path).await?;
        total += found.total;
        entities.extend(found.hits.into_iter().map(|hit| hit.urn));
    }
    Ok(json!({
        "entities": entities,
        "groups": groups,
        "start": start,
        "count": count,
        "total": total,
        "metadata": {"path": path, "totalNumEntities": below.entities},
    }))
}

/// Where an entity is in the browse tree.
pub(super) async fn browse_paths(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(serde::Deserialize)]
    struct Input {
        urn: String,
    }
    let input: Input = arguments.input()?;
    let registry = Registry::get();
    let entity = registry.parse_urn(&input.urn)?;
    let older = registry.aspect("browsePaths");
    let aspects = [older, Some(AspectName::BROWSE_PATHS_V2)];
    let keys = aspects.iter().flatten();
    let keys: Vec<AspectKey> = keys
        .map(|aspect| AspectKey::new(&entity, *aspect))
        .collect();
    let rows = context.catalog.read(ReadRequest::rows(&keys)).await?.rows;
    let mut paths = Vec::new();
    for row in rows.into_iter().flatten() {
        if row.metadata.contains("\"paths\"") {
            return Ok(split_paths(&row.metadata));
        }
        let stored: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
        let steps = stored["path"].as_array().into_iter().flatten();
        let steps: Vec<&Value> = steps.map(|step| &step["id"]).collect();
        paths.push(json!({"path": steps}));
    }
    Ok(json!(paths))
}

pub(in super::super) async fn browse_v2(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let mut input = SearchInput::of(&arguments)?;
    let request = input.request(context, &[]).await?;
    let window = page(input.start, input.count, DEFAULT_COUNT)?;
    let SearchPage::Offset { start, count } = window else {
        return Ok(Value::Null);
    };
    let path = input.path.unwrap_or_default();
    let below = context.catalog.browse(&path, &request).await?;
    let group = |group: &Group| {
        json!({
            "name": group.name,
            "entity": urn(&group.name),
            "count": group.entities,
            "hasSubGroups": group.leads_on,
        })
    };
    let groups: Vec<Value> = below
        .groups
        .iter()
        .skip(start)
        .take(count)
        .map(group)
        .collect();
    Ok(json!({
        "groups": groups,
        "start": start,
        "count": count,
        "total": below.groups.len(),
        "metadata": {"path": path, "totalNumEntities": below.entities},
    }))
}

/// The number of suggested platforms.
const PLATFORMS: usize = 5;
/// Ingested entity types in order of priority, and how many are suggested.
const INGESTED_TYPES: (&[&str], usize) = (
    &[
        "dataset",
        "dashboard",
        "dataFlow",
        "dataJob",
        "chart",
        "container",
        "mlModel",
        "mlModelGroup",
        "mlFeature",
        "mlFeatureTable",
        "mlPrimaryKey",
    ],
    3,
);
/// Entity types that users create, in order of priority, and how many are suggested.
const USER_TYPES: (&[&str], usize) = (&["domain", "glossaryTerm", "corpGroup", "corpuser"], 2);

pub(in super::super) async fn get_quick_filters(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input = SearchInput::of(&arguments)?;
    let mut request = SearchRequest {
        page: SearchPage::Offset { start: 0, count: 0 },
        facets: Facets::Named {
            fields: vec!["platform".to_owned(), "_entityType".to_owned()],
            values: 100,
        },
        ..SearchRequest::default()
    };
    input.restrict_to_view(context, &mut request).await?;
    let found = context.catalog.search(&request).await?;
    let values = |field: &str| -> &[FacetValue] {
        let facet = found.facets.iter().find(|facet| facet.field == field);
        facet.map_or(&[], |facet| &facet.values)
    };
    // Facet values are ordered by frequency; the reply is ordered by name.
    let mut platforms: Vec<&str> = values("platform")
        .iter()
        .take(PLATFORMS)
        .map(|counted| counted.value.as_str())
        .collect();
    platforms.sort_unstable();
    let mut filters: Vec<Value> = platforms
        .into_iter()
        .map(|platform| json!({"field": "platform", "value": platform, "entity": urn(platform)}))
        .collect();
    for (names, limit) in [INGESTED_TYPES, USER_TYPES] {
        let has_entities = |name: &&&str| {
            let mut counted = values("_entityType").iter();
            counted.any(|counted| counted.value == **name && counted.count > 0)
        };
        let suggested = names.iter().filter(has_entities).take(limit);
        filters.extend(
            suggested.map(
                |name| json!({"field": "_entityType", "value": entity_types::schema_name(name)}),
            ),
        );
    }
    Ok(json!({"quickFilters": filters}))
}
