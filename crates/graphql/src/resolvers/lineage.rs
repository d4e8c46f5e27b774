//! Lineage: neighbors of entities, and searches over all upstream or downstream entities.
//!
//! The catalog traverses the graph; this module parses the input ([`conditions`]), filters the
//! entities and pages them. Conditions on the degree, the entity type and soft deletion are decided
//! from the traversal; queries and all other conditions are delegated to search (`narrow`), and so
//! are most facets (`facets`).

mod conditions;
mod counts;
mod facets;
mod narrow;
mod paths;

pub(super) use counts::search_across_lineage_counts;

use std::collections::{HashMap, HashSet};

use docent_catalog::Error;
use docent_catalog::lineage::{
    EdgeFacts, IgnoredHops, MAX_ENTITIES, NeighborQuery, Neighbors, Reached, TimeWindow, Walk,
    WalkLimits,
};
use docent_catalog::search::MAX_FACET_VALUES;
use docent_model::{LineageDirection, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::entity_types;
use crate::resolvers::search::input::{AndFilter, DEFAULT_FACET_VALUES, FacetFilter};
use crate::{Args, BatchResult, Context, EntityView};
use conditions::Alternatives;

const DEFAULT_NEIGHBOURS: usize = 100;
const DEFAULT_COUNT: usize = 10;
/// The maximum page size of neighbors.
const MAX_NEIGHBOURS: usize = 1000;
/// The maximum page size of searches; DataHub's page requests whole graphs.
const MAX_FOUND: usize = 10_000;
/// The most entries of `ignoreAsHops`.
const MAX_IGNORED: usize = 100;
/// Limit on the neighbors in the pages of all entities of a level.
const MAX_TOTAL: usize = 200_000;
/// Entity types in the lineage graph that the schema has no type for. They are traversed but not
/// returned.
const WITHOUT_TYPE: [&str; 5] = ["aiAgent", "api", "dataProcess", "repository", "service"];

/// Fields of a relationship that need reads of their own.
const EDGE_FACTS: [&str; 5] = [
    "createdOn",
    "createdActor",
    "updatedOn",
    "updatedActor",
    "isManual",
];

/// The period of a request; one that names neither end has none.
fn window(start: Option<i64>, end: Option<i64>) -> Option<TimeWindow> {
    (start.is_some() || end.is_some()).then(|| TimeWindow {
        start: start.unwrap_or(0),
        end: end.unwrap_or(i64::MAX),
    })
}

pub(super) async fn neighbors(
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
        start_time_millis: Option<i64>,
        end_time_millis: Option<i64>,
    }
    let input: Input = arguments.input()?;
    let query = NeighborQuery {
        direction: direction(&input.direction),
        separate_siblings: input.separate_siblings == Some(true),
        include_ghosts: input.include_ghost_entities == Some(true),
        window: window(input.start_time_millis, input.end_time_millis),
        with_facts: EDGE_FACTS
            .iter()
            .any(|field| arguments.selects(&["relationships", field])),
        start: number("start", input.start, 0)?,
        count: at_most(
            MAX_NEIGHBOURS,
            number("count", input.count, DEFAULT_NEIGHBOURS)?,
        )?,
    };
    if entities.len().saturating_mul(query.count) > MAX_TOTAL {
        return Err(Error::invalid(format!(
            "{} neighbors of each of {} entities are too many, at most {MAX_TOTAL} are allowed in total: \
             reduce count or the number of entities",
            query.count,
            entities.len()
        )));
    }
    let urns = EntityView::urns(entities);
    let pages = context.catalog.lineage(&urns, query).await?;
    let reply = |page: Neighbors| {
        let relationships: Vec<Value> = page
            .items
            .iter()
            .map(|item| {
                let EdgeFacts {
                    created,
                    updated,
                    is_manual,
                } = &item.facts;
                let (created, updated) = (created.as_ref(), updated.as_ref());
                json!({
                    "type": item.relationship,
                    "entity": item.urn,
                    "degree": 1,
                    "createdOn": created.map(|stamp| stamp.time),
                    "createdActor": created.map(|stamp| &stamp.actor),
                    "updatedOn": updated.map(|stamp| stamp.time),
                    "updatedActor": updated.map(|stamp| &stamp.actor),
                    "isManual": query.with_facts.then_some(is_manual),
                })
            })
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

/// The input of `searchAcrossLineage` and `scrollAcrossLineage`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineageSearchInput {
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
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchFlags {
    include_soft_deleted: Option<bool>,
    skip_aggregates: Option<bool>,
    max_agg_values: Option<i64>,
    grouping_spec: Option<GroupingSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupingSpec {
    grouping_criteria: Option<Vec<GroupingCriterion>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupingCriterion {
    base_entity_type: Option<String>,
    grouping_entity_type: String,
}

impl GroupingCriterion {
    fn is_about_columns(&self) -> bool {
        self.base_entity_type
            .as_deref()
            .is_none_or(|it| it == "SCHEMA_FIELD")
            && self.grouping_entity_type == "DATASET"
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineageFlags {
    entities_explored_per_hop_limit: Option<i64>,
    ignore_as_hops: Option<Vec<IgnoredInput>>,
    start_time_millis: Option<i64>,
    end_time_millis: Option<i64>,
}

/// `EntityTypeToPlatforms`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IgnoredInput {
    entity_type: String,
    platforms: Option<Vec<String>>,
}

impl LineageFlags {
    fn window(&self) -> Option<TimeWindow> {
        window(self.start_time_millis, self.end_time_millis)
    }

    fn ignored_hops(flags: Option<&Self>) -> Result<Vec<IgnoredHops>, Error> {
        let ignored = flags.and_then(|flags| flags.ignore_as_hops.as_deref());
        let ignored = ignored.unwrap_or_default();
        if ignored.len() > MAX_IGNORED {
            return Err(Error::invalid(format!(
                "ignoreAsHops has {} entries, at most {MAX_IGNORED} are allowed",
                ignored.len()
            )));
        }
        let one = |ignored: &IgnoredInput| {
            Some(IgnoredHops {
                entity_type: entity_types::from_any_name(&ignored.entity_type)?.to_owned(),
                platforms: ignored.platforms.clone().unwrap_or_default(),
            })
        };
        Ok(ignored.iter().filter_map(one).collect())
    }
}

impl LineageSearchInput {
    fn start_urn(&self) -> Result<Urn, Error> {
        let text = self
            .urn
            .as_deref()
            .ok_or_else(|| Error::invalid("urn is required: the entity whose lineage to search"))?;
        let parsed = Registry::get().parse_urn(text);
        parsed.map_err(|error| Error::invalid(format!("urn: {error}")))
    }

    fn limits(&self, alternatives: &Alternatives) -> Result<WalkLimits, Error> {
        let flags = self.lineage_flags.as_ref();
        let explored = flags.and_then(|flags| flags.entities_explored_per_hop_limit);
        Ok(WalkLimits {
            hops: alternatives.hops(),
            explored_per_hop: number("entitiesExploredPerHopLimit", explored, MAX_ENTITIES)?,
            // Filtered later: the alternatives may differ in it.
            include_removed: true,
            // As in DataHub, the flags win.
            window: flags
                .and_then(LineageFlags::window)
                .or_else(|| window(self.start_time_millis, self.end_time_millis)),
            ..WalkLimits::default()
        })
    }

    fn includes_removed(&self) -> bool {
        let flags = self.search_flags.as_ref();
        flags.and_then(|flags| flags.include_soft_deleted) == Some(true)
    }

    fn includes_facets(&self) -> bool {
        let flags = self.search_flags.as_ref();
        flags.and_then(|flags| flags.skip_aggregates) != Some(true)
    }

    /// The most values of each facet.
    fn facet_values(&self) -> Result<usize, Error> {
        let flags = self.search_flags.as_ref();
        let requested = flags.and_then(|flags| flags.max_agg_values);
        let values = number("maxAggValues", requested, DEFAULT_FACET_VALUES)?;
        Ok(values.min(MAX_FACET_VALUES))
    }

    /// Whether columns are returned as their tables: by default, unless columns are requested.
    fn groups_columns(&self) -> bool {
        let flags = self.search_flags.as_ref();
        if let Some(spec) = flags.and_then(|flags| flags.grouping_spec.as_ref()) {
            let mut criteria = spec.grouping_criteria.iter().flatten();
            return criteria.any(GroupingCriterion::is_about_columns);
        }
        let types = self.types.as_deref().unwrap_or_default();
        !types.iter().any(|name| name == "SCHEMA_FIELD")
    }

    /// The paths to each entity of a page, if they are selected.
    async fn paths(
        &self,
        context: &Context,
        arguments: &Args<'_>,
        walk: &Walk,
        page: &[&Reached],
        columns: &HashMap<Urn, Vec<Reached>>,
    ) -> Result<Vec<Vec<Value>>, Error> {
        if !arguments.selects(&["searchResults", "paths"]) {
            return Ok(vec![Vec::new(); page.len()]);
        }
        paths::of_page(context, walk, direction(&self.direction), page, columns).await
    }

    fn includes_type(&self, entity_type: &str) -> bool {
        let types = self.types.as_deref().unwrap_or_default();
        types.is_empty()
            || types
                .iter()
                .any(|name| entity_types::from_any_name(name) == Some(entity_type))
    }
}

/// A traversal and its matches, by degree and URN.
struct LineageMatches {
    walk: Walk,
    hits: Vec<Reached>,
    /// The columns of each table that is returned in place of them.
    columns: HashMap<Urn, Vec<Reached>>,
    facets: Option<Value>,
}

async fn search(
    context: &Context,
    arguments: &Args<'_>,
    input: &LineageSearchInput,
    groups_columns: bool,
) -> Result<LineageMatches, Error> {
    let start = input.start_urn()?;
    let alternatives = Alternatives::read(
        input.filters.as_deref().unwrap_or_default(),
        input.or_filters.as_deref().unwrap_or_default(),
        input.includes_removed(),
    )?;
    let limits = input.limits(&alternatives)?;
    let walk = context
        .catalog
        .lineage_walk(
            &start,
            direction(&input.direction),
            limits,
            &LineageFlags::ignored_hops(input.lineage_flags.as_ref())?,
        )
        .await?;
    let (reached, columns) = if groups_columns {
        group_columns(walk.reached(), &start)
    } else {
        (walk.reached().to_vec(), HashMap::new())
    };
    let candidates: Vec<&Reached> = reached
        .iter()
        .filter(|reached| {
            has_type_in_schema(&reached.urn) && input.includes_type(reached.urn.entity_type())
        })
        .collect();
    let query = input.query.as_deref().unwrap_or_default();
    let hits = narrow::narrow(context, query, &alternatives, &candidates).await?;
    let facets = if input.includes_facets() && arguments.selects(&["facets"]) {
        Some(facets::of(context, &hits, input.facet_values()?).await?)
    } else {
        None
    };
    Ok(LineageMatches {
        walk,
        hits,
        columns,
        facets,
    })
}

/// Replaces columns by their tables, each once with its smallest degree, and returns the columns of
/// each.
fn group_columns(reached: &[Reached], start: &Urn) -> (Vec<Reached>, HashMap<Urn, Vec<Reached>>) {
    let mut grouped: Vec<Reached> = Vec::new();
    let mut columns: HashMap<Urn, Vec<Reached>> = HashMap::new();
    let mut seen: HashSet<Urn> = HashSet::new();
    for found in reached {
        let table = match found.urn.entity_type() {
            "schemaField" => found
                .urn
                .key_parts()
                .first()
                .and_then(|it| Urn::parse(it).ok()),
            _ => None,
        };
        let Some(table) = table else {
            if seen.insert(found.urn.clone()) {
                grouped.push(found.clone());
            }
            continue;
        };
        if table == *start {
            continue;
        }
        if seen.insert(table.clone()) {
            grouped.push(found.renamed(table.clone()));
        }
        columns.entry(table).or_default().push(found.clone());
    }
    grouped.sort_by(|one, other| (one.degree, &one.urn).cmp(&(other.degree, &other.urn)));
    (grouped, columns)
}

pub(super) async fn search_across_lineage(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: LineageSearchInput = arguments.input()?;
    let start = number("start", input.start, 0)?;
    let count = at_most(MAX_FOUND, number("count", input.count, DEFAULT_COUNT)?)?;
    let LineageMatches {
        walk,
        hits,
        columns,
        facets,
    } = search(context, &arguments, &input, input.groups_columns()).await?;
    let page: Vec<&Reached> = hits.iter().skip(start).take(count).collect();
    let matched = matched(context, &arguments, &input, &page).await?;
    let paths = input
        .paths(context, &arguments, &walk, &page, &columns)
        .await?;
    Ok(json!({
        "start": start,
        "count": count,
        "total": hits.len(),
        "searchResults": results(&walk, &page, paths, &matched),
        "facets": facets,
        "isPartial": walk.is_partial(),
    }))
}

/// Pages in URN order, so that an entity that matches throughout is returned exactly once, even if
/// its degree changes. Tables stand for their columns, whatever the grouping, as in DataHub.
pub(super) async fn scroll_across_lineage(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: LineageSearchInput = arguments.input()?;
    let count = number("count", input.count, DEFAULT_COUNT)?;
    // Some clients send an empty cursor for the first page.
    let after = input
        .scroll_id
        .as_deref()
        .filter(|cursor| !cursor.is_empty())
        .map(|cursor| {
            Urn::parse(cursor).map_err(|_| {
                Error::invalid("scrollId must be the nextScrollId of the previous page, or null for the first page")
            })
        })
        .transpose()?;
    let LineageMatches {
        walk,
        mut hits,
        columns,
        facets,
    } = search(context, &arguments, &input, true).await?;
    let total = hits.len();
    hits.retain(|hit| after.as_ref().is_none_or(|after| hit.urn > *after));
    hits.sort_by(|one, other| one.urn.cmp(&other.urn));
    let has_more = hits.len() > count;
    let page: Vec<&Reached> = hits.iter().take(count).collect();
    let matched = matched(context, &arguments, &input, &page).await?;
    let paths = input
        .paths(context, &arguments, &walk, &page, &columns)
        .await?;
    // An empty page has no cursor.
    let next = page.last().filter(|_| has_more).map(|hit| &hit.urn);
    Ok(json!({
        "nextScrollId": next,
        "count": count,
        "total": total,
        "searchResults": results(&walk, &page, paths, &matched),
        "facets": facets,
        "isPartial": walk.is_partial(),
    }))
}

/// The matched fields of each entity of the page, if they are selected.
async fn matched(
    context: &Context,
    arguments: &Args<'_>,
    input: &LineageSearchInput,
    page: &[&Reached],
) -> Result<HashMap<Urn, Vec<Value>>, Error> {
    if !arguments.selects(&["searchResults", "matchedFields"]) {
        return Ok(HashMap::new());
    }
    narrow::explained(context, input.query.as_deref().unwrap_or_default(), page).await
}

fn results(
    walk: &Walk,
    page: &[&Reached],
    paths: Vec<Vec<Value>>,
    matched: &HashMap<Urn, Vec<Value>>,
) -> Vec<Value> {
    page.iter()
        .zip(paths)
        .map(|(reached, paths)| {
            json!({
                "entity": reached.urn,
                "degree": reached.degree,
                "degrees": [reached.degree],
                "paths": paths,
                "explored": reached.is_explored,
                "truncatedChildren": reached.is_cut,
                "ignoredAsHop": walk.is_ignored(reached),
                "matchedFields": matched.get(&reached.urn).map_or(&[][..], Vec::as_slice),
            })
        })
        .collect()
}

fn has_type_in_schema(urn: &Urn) -> bool {
    !WITHOUT_TYPE.contains(&urn.entity_type())
}

fn direction(name: &str) -> LineageDirection {
    if name == "UPSTREAM" {
        LineageDirection::Upstream
    } else {
        LineageDirection::Downstream
    }
}

fn number(name: &str, value: Option<i64>, default: usize) -> Result<usize, Error> {
    let Some(value) = value else {
        return Ok(default);
    };
    usize::try_from(value)
        .map_err(|_| Error::invalid(format!("{name} must not be negative: {value}")))
}

fn at_most(max_count: usize, count: usize) -> Result<usize, Error> {
    if count > max_count {
        return Err(Error::invalid(format!(
            "count is {count}, at most {max_count} are allowed; use start for the next page"
        )));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use docent_model::EntitySpec;

    use super::*;
    use crate::Engine;

    /// Whether entities of a type have lineage, or are the destination of another type's lineage.
    fn is_in_lineage(destination: &EntitySpec) -> bool {
        let registry = Registry::get();
        let directions = [LineageDirection::Upstream, LineageDirection::Downstream];
        let names = directions.map(|direction| registry.lineage_relationships(direction));
        let is_destination = |source: &EntitySpec| {
            source.aspects.iter().any(|aspect| {
                let mut names = names.iter().copied().flatten();
                names.any(|name| registry.lineage(*aspect, name, destination.name).is_some())
            })
        };
        registry.has_lineage(destination) || registry.entities().any(is_destination)
    }

    #[test]
    fn exactly_the_types_in_lineage_that_the_schema_lacks_are_hidden() {
        let engine = Engine::docent().unwrap();
        let schema = engine.schema();
        let in_schema: HashSet<&str> = schema
            .valid
            .types
            .keys()
            .filter_map(|name| Some(schema.object(name)?.entity()?.name))
            .collect();
        let mut hidden: Vec<&str> = Registry::get()
            .entities()
            .filter(|spec| is_in_lineage(spec) && !in_schema.contains(spec.name))
            .map(|spec| spec.name)
            .collect();
        hidden.sort_unstable();
        assert_eq!(hidden, WITHOUT_TYPE);
    }
}
