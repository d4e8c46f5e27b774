//! The facets of a search across lineage.
//!
//! Entity types and degrees are counted from the traversal; search counts the others, as those of
//! all searches.

use docent_catalog::Error;
use docent_catalog::lineage::Reached;
use docent_catalog::search::{ENTITY_TYPE, Facets, SearchPage, SearchRequest};
use serde_json::{Value, json};

use super::narrow;
use crate::resolvers::search::facet;
use crate::{Context, entity_types};

/// Counts the results, with at most so many values of each facet.
pub(super) async fn of(context: &Context, hits: &[Reached], values: usize) -> Result<Value, Error> {
    let mut facets = vec![
        counted(ENTITY_TYPE, "Type", hits.iter().map(entity_type).collect()),
        counted(
            "degree",
            "Degree of Dependencies",
            hits.iter().map(degree).collect(),
        ),
    ];
    if !hits.is_empty() {
        let request = SearchRequest {
            page: SearchPage::Offset { start: 0, count: 0 },
            facets: Facets::Default { values },
            ..narrow::request_of(hits)?
        };
        let found = context.catalog.search(&request).await?;
        let others = found.facets.iter().filter(|it| it.field != ENTITY_TYPE);
        facets.extend(others.map(facet));
    }
    Ok(Value::Array(facets))
}

fn entity_type(hit: &Reached) -> String {
    entity_types::schema_name(hit.urn.entity_type()).to_owned()
}

fn degree(hit: &Reached) -> String {
    match hit.degree {
        near @ (0..=2) => near.to_string(),
        _ => "3+".to_owned(),
    }
}

fn counted(field: &str, label: &str, mut values: Vec<String>) -> Value {
    values.sort_unstable();
    let aggregations: Vec<Value> = values
        .chunk_by(|one, other| one == other)
        .map(|same| json!({"value": same[0], "count": same.len()}))
        .collect();
    json!({"field": field, "displayName": label, "aggregations": aggregations})
}
