//! Browsing the tree of browse paths, group by group.
//!
//! The index has the whole path of each entity as one text, `␟prod␟hive`; the groups below a path
//! are counted from the paths that begin with it.

use std::collections::BTreeMap;

use docent_search::BROWSE_PATH as FIELD;
pub use docent_search::BROWSE_PATH_SEPARATOR as STEP;

use super::{Criterion, FacetValue, Facets, Filter, Operator, SearchPage, SearchRequest};
use crate::{Catalog, Error};

/// The most distinct paths below one that are counted.
const MAX_PATHS: usize = 50_000;

/// The entity types to browse by default.
pub const DEFAULT_TYPES: &[&str] = &[
    "dataset",
    "dashboard",
    "chart",
    "container",
    "mlModel",
    "mlModelGroup",
    "mlFeatureTable",
    "dataFlow",
    "dataJob",
    "notebook",
    "document",
];

/// The groups below a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Below {
    /// Largest first.
    pub groups: Vec<Group>,
    /// Entities in any of the groups.
    pub entities: u64,
}

/// A group directly below a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name, or the URN of a container.
    pub name: String,
    /// Entities below it, at any depth.
    pub entities: u64,
    /// Whether it has subgroups.
    pub leads_on: bool,
}

impl Catalog {
    /// The groups directly below a path among the entities that `request` matches; its page and
    /// facets are ignored.
    pub async fn browse(&self, path: &[String], request: &SearchRequest) -> Result<Below, Error> {
        let prefix = format!("{}{STEP}", text(path)?);
        let request = SearchRequest {
            types: types(&request.types),
            filter: request.filter.clone().and(Criterion {
                field: FIELD.to_owned(),
                values: vec![prefix.clone()],
                operator: Operator::StartsWith,
                negated: false,
            }),
            page: SearchPage::Offset { start: 0, count: 0 },
            facets: Facets::Named {
                fields: vec![FIELD.to_owned()],
                values: MAX_PATHS,
            },
            sort: Vec::new(),
            explain_matches: false,
            ..request.clone()
        };
        let found = self.search(&request).await?;
        let paths = found.facets.into_iter().flat_map(|facet| facet.values);
        Ok(grouped(&prefix, paths))
    }

    /// The condition that an entity is at a path itself, not below it.
    pub fn at_path(filter: Filter, path: &[String]) -> Result<Filter, Error> {
        let mut filter = filter.and(Criterion::equal(FIELD, text(path)?));
        filter = filter.and(Criterion {
            field: FIELD.to_owned(),
            values: vec![format!("{}{STEP}", text(path)?)],
            operator: Operator::StartsWith,
            negated: true,
        });
        Ok(filter)
    }
}

fn types(requested: &[String]) -> Vec<String> {
    if requested.is_empty() {
        DEFAULT_TYPES
            .iter()
            .map(|name| (*name).to_owned())
            .collect()
    } else {
        requested.to_vec()
    }
}

/// A path in the notation of the index.
fn text(path: &[String]) -> Result<String, Error> {
    if let Some(step) = path
        .iter()
        .find(|step| step.is_empty() || step.contains(STEP))
    {
        return Err(Error::invalid(format!(
            "'{step}' is not a step of a path: send the names of the groups one by one"
        )));
    }
    Ok(path
        .iter()
        .flat_map(|step| [&STEP.to_string(), step].map(String::clone))
        .collect())
}

fn grouped(prefix: &str, paths: impl Iterator<Item = FacetValue>) -> Below {
    let mut groups: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    let mut entities = 0;
    for path in paths {
        let Some(rest) = path.value.strip_prefix(prefix) else {
            continue;
        };
        let (name, leads_on) = match rest.split_once(STEP) {
            Some((name, _)) => (name, true),
            None => (rest, false),
        };
        let group = groups.entry(name.to_owned()).or_default();
        group.0 += path.count;
        group.1 |= leads_on;
        entities += path.count;
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(name, (entities, leads_on))| Group {
            name,
            entities,
            leads_on,
        })
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.entities));
    Below { groups, entities }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(value: &str, count: u64) -> FacetValue {
        FacetValue {
            value: value.to_owned(),
            count,
        }
    }

    #[test]
    fn groups_are_counted_at_any_depth_and_say_whether_they_lead_on() {
        let paths = [
            counted("␟prod␟hive", 2),
            counted("␟prod␟kafka␟topics", 3),
            counted("␟prod␟kafka", 1),
            counted("␟production␟x", 9),
            counted("␟prod", 5),
        ];
        let below = grouped("␟prod␟", paths.into_iter());
        assert_eq!(below.entities, 6);
        let groups: Vec<_> = below
            .groups
            .iter()
            .map(|group| (group.name.as_str(), group.entities, group.leads_on))
            .collect();
        assert_eq!(groups, [("kafka", 4, true), ("hive", 2, false)]);
    }

    #[test]
    fn a_step_that_is_a_whole_path_is_rejected() {
        assert_eq!(text(&[]).unwrap(), "");
        assert_eq!(
            text(&["prod".to_owned(), "hive".to_owned()]).unwrap(),
            "␟prod␟hive"
        );
        assert!(text(&["␟prod␟hive".to_owned()]).is_err());
        assert!(text(&[String::new()]).is_err());
    }
}
