//! Conditions on lineage results, split into those decided from the traversal and those delegated
//! to search.

use docent_catalog::Error;
use docent_catalog::lineage::{MAX_HOPS, Reached, platform_of};
use docent_model::searchable::strip_keyword_suffix;

use crate::entity_types;
use crate::resolvers::search::input::{AndFilter, FacetFilter};

/// The alternatives of a filter; at least one.
#[derive(Debug)]
pub(super) struct Alternatives(Vec<Conditions>);

/// Conditions that must all hold.
#[derive(Debug)]
pub(super) struct Conditions {
    /// Decided from the traversal.
    walk: Vec<WalkCondition>,
    /// Delegated to search.
    pub(super) search: Vec<FacetFilter>,
}

#[derive(Debug)]
struct WalkCondition {
    test: Test,
    is_negated: bool,
}

#[derive(Debug)]
enum Test {
    /// One of these ranges, both ends included.
    Degree(Vec<(usize, usize)>),
    Removed(bool),
    EntityType(Vec<String>),
    Urn(Vec<String>),
    /// The table of a column.
    Parent(Vec<String>),
    /// Part of the URN of the table of a column.
    ParentContains(Vec<String>),
    /// The platform in the URN.
    Platform(Vec<String>),
}

impl Alternatives {
    /// `all` must hold in every alternative. Soft-deleted entities are excluded unless a condition
    /// tests for them.
    pub(super) fn read(
        all: &[FacetFilter],
        any: &[AndFilter],
        includes_removed: bool,
    ) -> Result<Self, Error> {
        let everything = [AndFilter { and: None }];
        let any = if any.is_empty() { &everything } else { any };
        any.iter()
            .map(|alternative| {
                let own = alternative.and.as_deref().unwrap_or_default();
                Conditions::read(all.iter().chain(own), includes_removed)
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Decides conditions from URNs where that is possible, for entities that are not in the index.
    /// Others are an error.
    pub(super) fn without_search(mut self) -> Result<Self, Error> {
        for conditions in &mut self.0 {
            for filter in std::mem::take(&mut conditions.search) {
                let is_negated = filter.negated == Some(true);
                let test = urn_test(&filter).ok_or_else(|| {
                    Error::invalid(format!(
                        "the condition on {} cannot be decided for entities that do not exist: use \
                         degree, parent, platform, urn or _entityType, or omit \
                         includeGhostEntities",
                        filter.field
                    ))
                })?;
                conditions.walk.push(WalkCondition { test, is_negated });
            }
        }
        Ok(self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Conditions> {
        self.0.iter()
    }

    /// The hops that a traversal needs to find all matches.
    pub(super) fn hops(&self) -> usize {
        let hops = self.0.iter().map(Conditions::hops);
        hops.max().unwrap_or(MAX_HOPS)
    }
}

impl Conditions {
    fn read<'f>(
        filters: impl Iterator<Item = &'f FacetFilter>,
        includes_removed: bool,
    ) -> Result<Self, Error> {
        let mut conditions = Self {
            walk: Vec::new(),
            search: Vec::new(),
        };
        for filter in filters {
            match walk_test(filter)? {
                Some(test) => conditions.walk.push(WalkCondition {
                    test,
                    is_negated: filter.negated == Some(true),
                }),
                None => conditions.search.push(filter.clone()),
            }
        }
        let tests_removed = |condition: &WalkCondition| matches!(condition.test, Test::Removed(_));
        if !includes_removed && !conditions.walk.iter().any(tests_removed) {
            conditions.walk.push(WalkCondition {
                test: Test::Removed(false),
                is_negated: false,
            });
        }
        Ok(conditions)
    }

    /// Whether the conditions on the traversal hold for an entity.
    pub(super) fn may_match(&self, reached: &Reached) -> bool {
        self.walk.iter().all(|condition| {
            let holds = match &condition.test {
                Test::Degree(ranges) => ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&reached.degree)),
                Test::Removed(removed) => reached.is_removed == *removed,
                Test::EntityType(names) => names.iter().any(|name| {
                    entity_types::from_any_name(name) == Some(reached.urn.entity_type())
                }),
                Test::Urn(urns) => urns.iter().any(|urn| urn == reached.urn.as_str()),
                Test::Parent(urns) => {
                    table_of(reached).is_some_and(|table| urns.iter().any(|urn| urn == table))
                }
                Test::ParentContains(texts) => table_of(reached)
                    .is_some_and(|table| texts.iter().any(|text| table.contains(text))),
                Test::Platform(platforms) => {
                    platform_of(&reached.urn).is_some_and(|platform| platforms.contains(&platform))
                }
            };
            holds != condition.is_negated
        })
    }

    fn hops(&self) -> usize {
        let farthest = |condition: &WalkCondition| match (&condition.test, condition.is_negated) {
            (Test::Degree(ranges), false) => {
                Some(ranges.iter().map(|(_, to)| *to).max().unwrap_or(0))
            }
            _ => None,
        };
        let farthest = self.walk.iter().filter_map(farthest).min();
        farthest.unwrap_or(MAX_HOPS).min(MAX_HOPS)
    }
}

/// The test of a condition that can be decided from the traversal; `None` for all others.
fn walk_test(filter: &FacetFilter) -> Result<Option<Test>, Error> {
    let values = filter.values.clone().unwrap_or_default();
    let is_equality = matches!(
        filter.condition.as_deref(),
        None | Some("EQUAL" | "IN" | "IEQUAL")
    );
    let field = strip_keyword_suffix(&filter.field);
    if field == "degree" {
        if !is_equality {
            return Err(Error::invalid(
                "degree supports only the condition EQUAL: use the values 1, 2 and 3+",
            ));
        }
        let ranges = values.iter().map(|value| degrees(value));
        return Ok(Some(Test::Degree(ranges.collect::<Result<_, _>>()?)));
    }
    let test = match (field, values.as_slice()) {
        _ if !is_equality => None,
        ("removed", [value]) => match value.to_ascii_lowercase().as_str() {
            "true" => Some(Test::Removed(true)),
            "false" => Some(Test::Removed(false)),
            _ => None,
        },
        ("_entityType" | "entityType", _) => Some(Test::EntityType(values)),
        ("urn", _) => Some(Test::Urn(values)),
        _ => None,
    };
    Ok(test)
}

/// The test of a condition that can be decided from a URN; `None` for all others.
fn urn_test(filter: &FacetFilter) -> Option<Test> {
    let values = filter.values.clone().unwrap_or_default();
    let field = strip_keyword_suffix(&filter.field);
    match (field, filter.condition.as_deref().unwrap_or("EQUAL")) {
        ("parent", "EQUAL" | "IN") => Some(Test::Parent(values)),
        ("parent", "CONTAIN") => Some(Test::ParentContains(values)),
        ("platform", "EQUAL" | "IN") => Some(Test::Platform(values)),
        _ => None,
    }
}

/// The table of a column.
fn table_of(reached: &Reached) -> Option<&str> {
    let is_column = reached.urn.entity_type() == "schemaField";
    reached
        .urn
        .key_parts()
        .first()
        .copied()
        .filter(|_| is_column)
}

/// `2` is exactly two hops, `3+` three or more.
fn degrees(text: &str) -> Result<(usize, usize), Error> {
    let (digits, is_open) = match text.strip_suffix('+') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    match digits.parse() {
        Ok(from) if is_open => Ok((from, usize::MAX)),
        Ok(exactly) => Ok((exactly, exactly)),
        Err(_) => Err(Error::invalid(format!(
            "'{text}' is not a degree: use a number of hops such as 1 or 2, or 3+ for three or more"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(any: Value) -> Result<Alternatives, Error> {
        let any: Vec<AndFilter> = serde_json::from_value(any).unwrap();
        Alternatives::read(&[], &any, false)
    }

    fn degree(values: &[&str]) -> Value {
        json!({"and": [{"field": "degree", "values": values, "condition": "EQUAL"}]})
    }

    #[test]
    fn the_farthest_degree_limits_the_hops() {
        for (any, hops) in [
            (json!([]), MAX_HOPS),
            (json!([degree(&["1"])]), 1),
            (json!([degree(&["1", "2"])]), 2),
            (json!([degree(&["1", "2", "3+"])]), MAX_HOPS),
            (json!([degree(&["1"]), degree(&["2"])]), 2),
            (json!([degree(&["1"]), {"and": null}]), MAX_HOPS),
            (
                json!([{"and": [{"field": "degree", "values": ["1"], "negated": true}]}]),
                MAX_HOPS,
            ),
            (
                json!([{"and": [{"field": "degree", "values": ["1"]}, {"field": "degree", "values": ["1", "2"]}]}]),
                1,
            ),
        ] {
            assert_eq!(read(any.clone()).unwrap().hops(), hops, "{any}");
        }
    }

    #[test]
    fn invalid_degrees_are_rejected() {
        for value in ["", "+", "near", "-1", "1.5"] {
            let error = read(json!([degree(&[value])])).unwrap_err();
            assert!(error.to_string().contains("is not a degree"), "{error}");
        }
        let above =
            json!([{"and": [{"field": "degree", "values": ["1"], "condition": "GREATER_THAN"}]}]);
        let error = read(above).unwrap_err();
        assert_eq!(error.kind(), docent_catalog::ErrorKind::Invalid);
    }

    #[test]
    fn other_conditions_are_delegated_to_search() {
        let any = json!([{"and": [
            {"field": "degree", "values": ["1"]},
            {"field": "removed", "values": ["true"], "negated": true},
            {"field": "_entityType", "values": ["DATASET"]},
            {"field": "urn", "values": ["urn:li:tag:x"], "condition": "CONTAIN"},
            {"field": "platform.keyword", "values": ["urn:li:dataPlatform:hive"]},
        ]}]);
        let alternatives = read(any).unwrap();
        let delegated: Vec<_> = alternatives
            .iter()
            .flat_map(|conditions| &conditions.search)
            .map(|filter| filter.field.as_str())
            .collect();
        assert_eq!(delegated, ["urn", "platform.keyword"]);
    }
}
