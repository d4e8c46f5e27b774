//! Where data comes from and where it goes: the neighbours of entities, and searching through all that can be reached.
//!
//! The catalog walks; here the input is read ([`conditions`]), and what was found is narrowed and put into pages. What can
//! be told from the walk alone (the degree, the kind, whether it is removed) is decided here; a query and all other
//! conditions are the business of search (`narrow`).

mod conditions;
mod narrow;

use std::collections::HashMap;

use docent_catalog::Error;
use docent_catalog::lineage::{
    MAX_ENTITIES, NeighbourQuery, Neighbours, Reached, Walk, WalkLimits,
};
use docent_model::{LineageDirection, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::resolvers::search::input::{AndFilter, FacetFilter};
use crate::resolvers::search::kinds;
use crate::{Args, BatchResult, Context, EntityView};
use conditions::Alternatives;

const DEFAULT_NEIGHBOURS: i64 = 100;
const DEFAULT_COUNT: i64 = 10;
/// The largest page of anything.
const MAX_COUNT: usize = 1000;
/// How many neighbours the pages of all entities of a level may have together.
const MAX_TOTAL: usize = 200_000;
/// How many ways to one entity are shown.
const MAX_PATHS: usize = 10;
/// How many ways a page shows; each result has at least one.
const PATHS_PER_PAGE: usize = 2000;
/// Kinds in the lineage graph that this schema has no type for: they are passed through and never shown.
const WITHOUT_TYPE: [&str; 5] = ["aiAgent", "api", "dataProcess", "repository", "service"];

pub(super) async fn neighbours(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        direction: String,
        start: Option<i64>,
        count: Option<i64>,
        separate_siblings: Option<bool>,
        include_ghost_entities: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let query = NeighbourQuery {
        direction: direction(&input.direction),
        separate_siblings: input.separate_siblings == Some(true),
        include_ghosts: input.include_ghost_entities == Some(true),
        start: number("start", input.start, 0)?,
        count: at_most(number("count", input.count, DEFAULT_NEIGHBOURS)?)?,
    };
    if entities.len().saturating_mul(query.count) > MAX_TOTAL {
        return Err(Error::invalid(format!(
            "{} neighbours of each of {} entities are too many at once, at most {MAX_TOTAL} are given: \
             make count smaller or ask for fewer entities",
            query.count,
            entities.len()
        )));
    }
    let urns: Vec<Urn> = entities.iter().map(|entity| entity.urn().clone()).collect();
    let pages = context
        .catalog
        .lineage(&context.caller, &urns, query)
        .await?;
    let reply = |page: Neighbours| {
        let relationships: Vec<Value> = page
            .items
            .iter()
            .map(|item| json!({"type": item.relationship, "entity": item.urn, "degree": 1}))
            .collect();
        json!({
            "start": query.start,
            "count": relationships.len(),
            "total": page.total,
            "filtered": page.filtered,
            "relationships": relationships,
        })
    };
    Ok(pages.into_iter().map(|page| Ok(reply(page))).collect())
}

/// What `searchAcrossLineage` and `scrollAcrossLineage` have in common.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    urn: Option<String>,
    direction: String,
    types: Option<Vec<String>>,
    query: Option<String>,
    start: Option<i64>,
    scroll_id: Option<String>,
    count: Option<i64>,
    filters: Option<Vec<FacetFilter>>,
    or_filters: Option<Vec<AndFilter>>,
    search_flags: Option<SearchFlags>,
    lineage_flags: Option<LineageFlags>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchFlags {
    include_soft_deleted: Option<bool>,
    skip_aggregates: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineageFlags {
    entities_explored_per_hop_limit: Option<i64>,
    ignore_as_hops: Option<Vec<Value>>,
}

impl Input {
    fn start_urn(&self) -> Result<Urn, Error> {
        let text = self
            .urn
            .as_deref()
            .ok_or_else(|| Error::invalid("urn is required: say whose lineage to search"))?;
        let parsed = Registry::get().parse_urn(text);
        parsed.map_err(|error| Error::invalid(format!("urn: {error}")))
    }

    fn limits(&self, alternatives: &Alternatives) -> Result<WalkLimits, Error> {
        let flags = self.lineage_flags.as_ref();
        let ignored = flags.and_then(|flags| flags.ignore_as_hops.as_ref());
        if ignored.is_some_and(|ignored| !ignored.is_empty()) {
            return Err(Error::invalid(
                "ignoreAsHops cannot be followed: every entity on the way counts as a step; leave it out",
            ));
        }
        let explored = flags.and_then(|flags| flags.entities_explored_per_hop_limit);
        Ok(WalkLimits {
            hops: alternatives.hops(),
            explored_per_hop: number("entitiesExploredPerHopLimit", explored, MAX_ENTITIES as i64)?,
            // Whether they are wanted may differ from one alternative to the next.
            include_removed: true,
            ..WalkLimits::default()
        })
    }

    fn includes_removed(&self) -> bool {
        let flags = self.search_flags.as_ref();
        flags.and_then(|flags| flags.include_soft_deleted) == Some(true)
    }

    fn wants_facets(&self) -> bool {
        let flags = self.search_flags.as_ref();
        flags.and_then(|flags| flags.skip_aggregates) != Some(true)
    }

    fn wants_kind(&self, kind: &str) -> bool {
        let types = self.types.as_deref().unwrap_or_default();
        types.is_empty()
            || types
                .iter()
                .any(|name| kinds::by_either_name(name) == Some(kind))
    }
}

/// A walk, and what of it was asked for, by degree and URN.
struct Searched {
    walk: Walk,
    hits: Vec<Reached>,
    facets: Option<Value>,
}

async fn search(context: &Context, input: &Input) -> Result<Searched, Error> {
    let start = input.start_urn()?;
    let alternatives = Alternatives::read(
        input.filters.as_deref().unwrap_or_default(),
        input.or_filters.as_deref().unwrap_or_default(),
        input.includes_removed(),
    )?;
    let limits = input.limits(&alternatives)?;
    let walk = context
        .catalog
        .lineage_walk(&context.caller, &start, direction(&input.direction), limits)
        .await?;
    let candidates: Vec<&Reached> = walk
        .reached()
        .iter()
        .filter(|reached| is_shown(&reached.urn) && input.wants_kind(reached.urn.entity_type()))
        .collect();
    let query = input.query.as_deref().unwrap_or_default();
    let hits = narrow::narrow(context, query, &alternatives, &candidates).await?;
    let facets = input.wants_facets().then(|| facets(&hits));
    Ok(Searched { walk, hits, facets })
}

pub(super) async fn search_across_lineage(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let start = number("start", input.start, 0)?;
    let count = at_most(number("count", input.count, DEFAULT_COUNT)?)?;
    let Searched { walk, hits, facets } = search(context, &input).await?;
    let page: Vec<&Reached> = hits.iter().skip(start).take(count).collect();
    let matched = matched(context, &arguments, &input, &page).await?;
    Ok(json!({
        "start": start,
        "count": count,
        "total": hits.len(),
        "searchResults": results(&walk, &page, &matched),
        "facets": facets,
        "isPartial": walk.is_partial(),
    }))
}

/// Pages in the order of URNs: whatever is written between two of them, an entity that is there throughout comes
/// exactly once, also when its degree changes.
pub(super) async fn scroll_across_lineage(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let count = number("count", input.count, DEFAULT_COUNT)?;
    // Empty marks are sent by clients that keep one in a text.
    let after = input
        .scroll_id
        .as_deref()
        .filter(|mark| !mark.is_empty())
        .map(|mark| {
            Urn::parse(mark).map_err(|_| {
                Error::invalid("scrollId must be the nextScrollId of the page before, or null for the first page")
            })
        })
        .transpose()?;
    let Searched {
        walk,
        mut hits,
        facets,
    } = search(context, &input).await?;
    let total = hits.len();
    hits.retain(|hit| after.as_ref().is_none_or(|after| hit.urn > *after));
    hits.sort_by(|one, other| one.urn.cmp(&other.urn));
    let has_more = hits.len() > count;
    let page: Vec<&Reached> = hits.iter().take(count).collect();
    let matched = matched(context, &arguments, &input, &page).await?;
    // A page of nothing has no mark to go on from.
    let next = page.last().filter(|_| has_more).map(|hit| &hit.urn);
    Ok(json!({
        "nextScrollId": next,
        "count": count,
        "total": total,
        "searchResults": results(&walk, &page, &matched),
        "facets": facets,
        "isPartial": walk.is_partial(),
    }))
}

/// Why each entity of the page was found, if anybody asks.
async fn matched(
    context: &Context,
    arguments: &Args<'_>,
    input: &Input,
    page: &[&Reached],
) -> Result<HashMap<Urn, Vec<Value>>, Error> {
    if !arguments.selects(&["searchResults", "matchedFields"]) {
        return Ok(HashMap::new());
    }
    narrow::explained(context, input.query.as_deref().unwrap_or_default(), page).await
}

fn results(walk: &Walk, page: &[&Reached], matched: &HashMap<Urn, Vec<Value>>) -> Vec<Value> {
    let paths_each = (PATHS_PER_PAGE / page.len().max(1)).clamp(1, MAX_PATHS);
    page.iter()
        .map(|reached| {
            let paths: Vec<Value> = walk
                .paths(reached, paths_each)
                .into_iter()
                .map(|path| {
                    let path: Vec<Urn> = path.into_iter().filter(is_shown).collect();
                    json!({ "path": path })
                })
                .collect();
            json!({
                "entity": reached.urn,
                "degree": reached.degree,
                "degrees": [reached.degree],
                "paths": paths,
                "explored": reached.is_explored,
                "truncatedChildren": reached.is_cut,
                "ignoredAsHop": false,
                "matchedFields": matched.get(&reached.urn).map_or(&[][..], Vec::as_slice),
            })
        })
        .collect()
}

/// How many of the results have which degree and are of which kind.
fn facets(hits: &[Reached]) -> Value {
    let facet = |field: &str, label: &str, values: Vec<String>| {
        let mut values = values;
        values.sort_unstable();
        let aggregations: Vec<Value> = values
            .chunk_by(|one, other| one == other)
            .map(|same| json!({"value": same[0], "count": same.len()}))
            .collect();
        json!({"field": field, "displayName": label, "aggregations": aggregations})
    };
    let degree = |hit: &Reached| match hit.degree {
        near @ (0..=2) => near.to_string(),
        _ => "3+".to_owned(),
    };
    let kind = |hit: &Reached| kinds::in_schema(hit.urn.entity_type()).to_owned();
    json!([
        facet("_entityType", "Type", hits.iter().map(kind).collect()),
        facet(
            "degree",
            "Degree of Dependencies",
            hits.iter().map(degree).collect()
        ),
    ])
}

fn is_shown(urn: &Urn) -> bool {
    !WITHOUT_TYPE.contains(&urn.entity_type())
}

fn direction(name: &str) -> LineageDirection {
    if name == "UPSTREAM" {
        LineageDirection::Upstream
    } else {
        LineageDirection::Downstream
    }
}

fn number(name: &str, value: Option<i64>, default: i64) -> Result<usize, Error> {
    let value = value.unwrap_or(default);
    usize::try_from(value)
        .map_err(|_| Error::invalid(format!("{name} must not be negative: {value}")))
}

fn at_most(count: usize) -> Result<usize, Error> {
    if count > MAX_COUNT {
        return Err(Error::invalid(format!(
            "count is {count}: at most {MAX_COUNT} are given at once, use start for the next page"
        )));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_are_never_shown_are_those_that_the_schema_has_no_type_for() {
        let sdl: String = crate::sdl::SDL.iter().map(|(_, text)| *text).collect();
        for kind in WITHOUT_TYPE {
            assert!(Registry::get().entity(kind).is_some(), "{kind}");
            assert!(
                !sdl.contains(&format!("@entity(type: \"{kind}\")")),
                "{kind}"
            );
        }
    }
}
