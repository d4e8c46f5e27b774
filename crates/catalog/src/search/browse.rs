//! Browsing the tree of browse paths, group by group.
//!
//! The index has the whole path of each entity as one text, `␟prod␟hive`; the groups below a path
//! are counted from the paths that begin with it. Older connectors write paths like `/prod/hive`
//! into another aspect; the older API shows those of entities that have them.

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

/// A tree of paths in the index.
struct Tree {
    field: &'static str,
    separator: char,
}

const TREE: Tree = Tree {
    field: FIELD,
    separator: STEP,
};
/// The paths of `browsePaths`.
const OLDER_TREE: Tree = Tree {
    field: "browsePaths",
    separator: '/',
};

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
        let paths = self.paths_below(&TREE, path, request).await?;
        Ok(grouped(&TREE, path, paths))
    }

    /// Like [`Catalog::browse`], with the older paths of the entities that have them.
    pub async fn browse_older(
        &self,
        path: &[String],
        request: &SearchRequest,
    ) -> Result<Below, Error> {
        let mut below = Below::default();
        if OLDER_TREE.has(path) {
            let paths = self.paths_below(&OLDER_TREE, path, request).await?;
            below = grouped(&OLDER_TREE, path, paths);
        }
        let others = SearchRequest {
            filter: request
                .filter
                .clone()
                .and(Criterion::missing(OLDER_TREE.field)),
            ..request.clone()
        };
        below.add(self.browse(path, &others).await?);
        Ok(below)
    }

    async fn paths_below(
        &self,
        tree: &Tree,
        path: &[String],
        request: &SearchRequest,
    ) -> Result<Vec<FacetValue>, Error> {
        let request = SearchRequest {
            types: types(&request.types),
            filter: request.filter.clone().and(tree.below(path, false)?),
            page: SearchPage::Offset { start: 0, count: 0 },
            facets: Facets::Named {
                fields: vec![tree.field.to_owned()],
                values: MAX_PATHS,
            },
            sort: Vec::new(),
            explain_matches: false,
            ..request.clone()
        };
        let found = self.search(&request).await?;
        let values = found.facets.into_iter().flat_map(|facet| facet.values);
        Ok(values.collect())
    }

    /// The condition that an entity is at a path itself, not below it, by its older paths if it has
    /// any.
    pub fn at_older_path(filter: Filter, path: &[String]) -> Result<Filter, Error> {
        let mut at = filter
            .clone()
            .and(Criterion::missing(OLDER_TREE.field))
            .and(Criterion::equal(FIELD, TREE.text(path)?))
            .and(TREE.below(path, true)?);
        if OLDER_TREE.has(path) {
            let older = Criterion::equal(OLDER_TREE.field, OLDER_TREE.text(path)?);
            at.any.extend(filter.and(older).any);
        }
        Ok(at)
    }
}

impl Tree {
    /// Whether the tree can have a path.
    fn has(&self, path: &[String]) -> bool {
        !path.iter().any(|step| step.contains(self.separator))
    }

    /// A path in the notation of the index.
    fn text(&self, path: &[String]) -> Result<String, Error> {
        let is_path = |step: &&String| step.is_empty() || step.contains(self.separator);
        if let Some(step) = path.iter().find(is_path) {
            return Err(Error::invalid(format!(
                "'{step}' is not a step of a path: send the names of the groups one by one"
            )));
        }
        let steps = path.iter().map(|step| format!("{}{step}", self.separator));
        Ok(steps.collect())
    }

    /// The condition that an entity is below a path, or that it is not.
    fn below(&self, path: &[String], negated: bool) -> Result<Criterion, Error> {
        Ok(Criterion {
            field: self.field.to_owned(),
            values: vec![format!("{}{}", self.text(path)?, self.separator)],
            operator: Operator::StartsWith,
            negated,
        })
    }
}

impl Below {
    fn add(&mut self, other: Self) {
        self.entities += other.entities;
        for group in other.groups {
            match self.groups.iter_mut().find(|it| it.name == group.name) {
                Some(known) => {
                    known.entities += group.entities;
                    known.leads_on |= group.leads_on;
                }
                None => self.groups.push(group),
            }
        }
        self.sort();
    }

    /// Largest first, then by name.
    fn sort(&mut self) {
        self.groups
            .sort_by(|one, other| (other.entities, &one.name).cmp(&(one.entities, &other.name)));
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

fn grouped(tree: &Tree, path: &[String], paths: Vec<FacetValue>) -> Below {
    let steps = path.iter().map(|step| format!("{}{step}", tree.separator));
    let prefix = format!("{}{}", steps.collect::<String>(), tree.separator);
    let mut groups: BTreeMap<String, (u64, bool)> = BTreeMap::new();
    let mut entities = 0;
    for path in paths {
        let Some(rest) = path.value.strip_prefix(&prefix) else {
            continue;
        };
        let (name, leads_on) = match rest.split_once(tree.separator) {
            Some((name, _)) => (name, true),
            None => (rest, false),
        };
        let group = groups.entry(name.to_owned()).or_default();
        group.0 += path.count;
        group.1 |= leads_on;
        entities += path.count;
    }
    let groups = groups
        .into_iter()
        .map(|(name, (entities, leads_on))| Group {
            name,
            entities,
            leads_on,
        })
        .collect();
    let mut below = Below { groups, entities };
    below.sort();
    below
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
        let below = grouped(&TREE, &["prod".to_owned()], paths.into());
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
        assert_eq!(TREE.text(&[]).unwrap(), "");
        assert_eq!(
            TREE.text(&["prod".to_owned(), "hive".to_owned()]).unwrap(),
            "␟prod␟hive"
        );
        assert!(TREE.text(&["␟prod␟hive".to_owned()]).is_err());
        assert!(TREE.text(&[String::new()]).is_err());
    }
}
