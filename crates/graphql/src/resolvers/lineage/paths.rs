//! The paths to the entities of a page, with the queries by which data flows along them.

use std::collections::{HashMap, HashSet};

use docent_catalog::Error;
use docent_catalog::lineage::{Queries, Reached, Walk};
use docent_model::{LineageDirection, Urn};
use serde_json::{Value, json};

use super::has_type_in_schema;
use crate::Context;

/// Limit on the paths to one entity.
const MAX_PATHS: usize = 10;
/// Limit on the paths in a page; each result has at least one.
const PATHS_PER_PAGE: usize = 2000;

/// The paths to each entity. A table in place of its columns has the paths to these.
pub(super) async fn of_page(
    context: &Context,
    walk: &Walk,
    direction: LineageDirection,
    page: &[&Reached],
    columns: &HashMap<Urn, Vec<Reached>>,
) -> Result<Vec<Vec<Value>>, Error> {
    let paths_each = (PATHS_PER_PAGE / page.len().max(1)).clamp(1, MAX_PATHS);
    let paths: Vec<Vec<Vec<Urn>>> = page
        .iter()
        .map(|reached| {
            let ends = columns.get(&reached.urn).map(Vec::as_slice);
            let ends = ends.unwrap_or(std::slice::from_ref(*reached));
            ends.iter()
                .flat_map(|end| walk.paths(end, paths_each))
                .take(paths_each)
                .collect()
        })
        .collect();
    let steps = paths.iter().flatten().flat_map(|path| path.windows(2));
    let ends: HashSet<(Urn, Urn)> = steps.map(|step| ends_of(step, direction)).collect();
    let queries = context.catalog.lineage_queries(&ends).await?;
    let shown = |path: &Vec<Urn>| {
        let path = with_queries(path, direction, &queries);
        let path: Vec<&Urn> = path
            .into_iter()
            .filter(|urn| has_type_in_schema(urn))
            .collect();
        json!({ "path": path })
    };
    Ok(paths
        .iter()
        .map(|paths| paths.iter().map(shown).collect())
        .collect())
}

/// The upstream and the downstream end of a step along a path.
fn ends_of(step: &[Urn], direction: LineageDirection) -> (Urn, Urn) {
    let (first, last) = (step[0].clone(), step[1].clone());
    match direction {
        LineageDirection::Upstream => (last, first),
        LineageDirection::Downstream => (first, last),
    }
}

fn with_queries<'p>(
    path: &'p [Urn],
    direction: LineageDirection,
    queries: &'p Queries,
) -> Vec<&'p Urn> {
    let mut urns: Vec<&Urn> = path.first().into_iter().collect();
    for step in path.windows(2) {
        urns.extend(queries.get(&ends_of(step, direction)));
        urns.extend(step.last());
    }
    urns
}
