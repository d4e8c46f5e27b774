//! What a caller may see, as a filter of the search index.
//!
//! Each policy that lets the caller view something becomes an alternative of the filter, and its
//! criteria become conditions on the fields of the index. The filter must accept exactly what
//! [`super::View::hidden`] does not hide, except that it knows nothing about what is seen with its
//! asset.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use docent_search::{
    Criterion, ENTITY_TYPE, Filter, OWNER_OF_TYPE, Operator, SearchRequest, owner_of_type,
};

use super::managed::reached_types;
use super::{UNRESTRICTED_TYPES, VIEW_PRIVILEGES};
use crate::access::policy::{Condition, Criterion as PolicyCriterion, Policy};
use crate::access::resource::Field;
use crate::access::rights::Rights;
use crate::{Catalog, Error};

const URN: &str = "urn";
const OWNERS: &str = "owners";
const COLUMN: &str = "schemaField";
/// How many values the conditions have together, and how many alternatives there are. A search with
/// more would take seconds; searches leave out what is beyond.
const MAX_VALUES: usize = 100_000;
const MAX_ALTERNATIVES: usize = 1_000;

/// Conditions that must all hold.
type Alternative = Vec<Criterion>;

impl Catalog {
    /// What the caller of this catalog finds with a request; `None` for everything.
    pub(crate) async fn search_view(
        &self,
        request: &SearchRequest,
    ) -> Result<Option<Arc<Filter>>, Error> {
        if let Some(view) = &self.view {
            // Conditions may refer to every type.
            let unmanaged = self.unmanaged_types(|_| true).await?;
            let rights = &view.user.rights;
            let filter = rights.search_filter(&unmanaged, || view_filter(rights, &unmanaged));
            return Ok(Some(filter));
        }
        let reached = reached_types(request);
        let unmanaged = self.unmanaged_types(|it| reached.contains(&it)).await?;
        if unmanaged.is_empty() {
            return Ok(None);
        }
        let others = Criterion {
            negated: true,
            ..one_of(ENTITY_TYPE, owned(&unmanaged))
        };
        Ok(Some(Arc::new(Filter::all(vec![others]))))
    }
}

/// What policies let the caller view, and the unrestricted types, but no entities of the unmanaged
/// ones.
fn view_filter(rights: &Rights, unmanaged: &[&str]) -> Filter {
    // Columns have the rights of their datasets, which the index does not know.
    let excluded = [unmanaged, &[COLUMN]].concat();
    let excluded = Criterion {
        negated: true,
        ..one_of(ENTITY_TYPE, owned(&excluded))
    };
    let mut alternatives = Vec::new();
    for (policy, is_actor) in rights.granting(VIEW_PRIVILEGES) {
        let is_owner = (!is_actor).then(|| ownership(rights, policy));
        if let Some(mut alternative) = of_policy(policy, is_owner) {
            alternative.push(excluded.clone());
            alternatives.push(alternative);
        }
    }
    let (mut any, left_out) = limited(merged(alternatives), MAX_VALUES, MAX_ALTERNATIVES);
    if left_out > 0 {
        tracing::warn!(
            user = rights.user(),
            left_out,
            "the policies that let a user view entities have more than {MAX_VALUES} values or \
             {MAX_ALTERNATIVES} different combinations of criteria: searches of the user leave out the rest. Use \
             fewer policies, or policies for domains, containers or tags"
        );
    }
    let mut unrestricted = UNRESTRICTED_TYPES.to_vec();
    unrestricted.retain(|name| !unmanaged.contains(name));
    any.push(vec![one_of(ENTITY_TYPE, owned(&unrestricted))]);
    Filter { any }
}

/// The condition that the caller is an owner for whom the policy is.
fn ownership(rights: &Rights, policy: &Policy) -> Criterion {
    let owners = rights.possible_owners();
    match &policy.actors.resource_owners_types {
        None => one_of(OWNERS, owners.map(str::to_owned).collect()),
        Some(types) => {
            let of_types = |owner| types.iter().map(move |it| owner_of_type(owner, it));
            one_of(OWNER_OF_TYPE, owners.flat_map(of_types).collect())
        }
    }
}

/// The conditions under which a policy covers an entity; `None` if it covers none.
fn of_policy(policy: &Policy, owned: Option<Criterion>) -> Option<Alternative> {
    // Constraints are about references, and viewing refers to nothing.
    let mut alternative: Alternative = owned.into_iter().collect();
    for criterion in &policy.criteria {
        alternative.push(condition(criterion)?);
    }
    Some(alternative)
}

/// The condition that an entity meets a criterion; `None` if no entity does.
fn condition(criterion: &PolicyCriterion) -> Option<Criterion> {
    let is_negated = criterion.condition == Condition::NotEquals;
    let (name, is_tree) = match criterion.field? {
        Field::Type => (ENTITY_TYPE, false),
        Field::Urn => (URN, false),
        Field::Owner => (OWNERS, false),
        Field::Tag => ("tags", false),
        Field::DataPlatformInstance => ("platformInstance", false),
        Field::Domain => ("domains", true),
        Field::Container => ("container", true),
        Field::Glossary => ("glossaryTerms", true),
        // Only users are in groups, and everyone sees users. All entities have a URN.
        Field::GroupMembership => {
            return is_negated.then(|| Criterion {
                operator: Operator::Exists,
                ..one_of(URN, Vec::new())
            });
        }
    };
    let operator = match (criterion.condition, is_tree) {
        (Condition::StartsWith, true) => Operator::InTreeOfPrefix,
        (Condition::StartsWith, false) => Operator::Prefix,
        (_, true) => Operator::InTree,
        (_, false) => Operator::Equal,
    };
    Some(Criterion {
        field: name.to_owned(),
        values: criterion.values.clone(),
        operator,
        negated: is_negated,
    })
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn one_of(field: &str, values: Vec<String>) -> Criterion {
    Criterion {
        field: field.to_owned(),
        values,
        operator: Operator::Equal,
        negated: false,
    }
}

/// Merges the alternatives that differ in the values of their first condition only, such as those
/// of a steward of many domains. Each value occurs once.
fn merged(alternatives: Vec<Alternative>) -> Vec<Alternative> {
    let mut merged: Vec<(Alternative, BTreeSet<String>)> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    for mut alternative in alternatives {
        // Many policies have the same types and owners, so these are not the first.
        alternative.sort_by_key(|it| {
            let is_shared = [ENTITY_TYPE, OWNERS, OWNER_OF_TYPE].contains(&it.field.as_str());
            (it.negated, is_shared, it.field == ENTITY_TYPE)
        });
        let first = alternative.first_mut().filter(|it| !it.negated);
        let values = first.map(|it| std::mem::take(&mut it.values));
        let key = format!("{alternative:?}");
        let index = *at.entry(key).or_insert_with(|| {
            merged.push((alternative, BTreeSet::new()));
            merged.len() - 1
        });
        merged[index].1.extend(values.unwrap_or_default());
    }
    let with_values = |(mut alternative, values): (Alternative, BTreeSet<String>)| {
        if let Some(first) = alternative.first_mut().filter(|it| !it.negated) {
            first.values = values.into_iter().collect();
        }
        alternative
    };
    merged.into_iter().map(with_values).collect()
}

/// The alternatives up to the limits, and how many values and alternatives are left out. Without
/// some values of its first condition an alternative finds less, and never more.
fn limited(
    alternatives: Vec<Alternative>,
    max_values: usize,
    max_alternatives: usize,
) -> (Vec<Alternative>, usize) {
    let (mut kept, mut left_out, mut room) = (Vec::new(), 0, max_values);
    for mut alternative in alternatives {
        let (first, others) = match alternative.split_first_mut() {
            Some((first, others)) if !first.negated => (Some(first), others),
            _ => (None, &mut alternative[..]),
        };
        let fixed: usize = others.iter().map(|it| it.values.len()).sum();
        let Some(rest) = room
            .checked_sub(fixed)
            .filter(|_| kept.len() < max_alternatives)
        else {
            left_out += 1;
            continue;
        };
        room = rest;
        if let Some(first) = first {
            left_out += first.values.len().saturating_sub(room);
            first.values.truncate(room);
            room -= first.values.len();
        }
        kept.push(alternative);
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(field: &str, values: &[&str]) -> Criterion {
        one_of(field, owned(values))
    }

    fn without(field: &str, values: &[&str]) -> Criterion {
        Criterion {
            negated: true,
            ..condition(field, values)
        }
    }

    #[test]
    fn alternatives_that_differ_in_one_condition_are_one_with_each_value_once() {
        let of_domain = |name: &str| {
            vec![
                condition(ENTITY_TYPE, &["dataset"]),
                condition("domains", &[name, "shared"]),
            ]
        };
        let untagged = vec![without("tags", &["pii"])];
        let all = vec![
            of_domain("a"),
            untagged.clone(),
            of_domain("b"),
            of_domain("a"),
            untagged.clone(),
            vec![condition("domains", &["c"])],
        ];
        let expected = [
            vec![
                condition("domains", &["a", "b", "shared"]),
                condition(ENTITY_TYPE, &["dataset"]),
            ],
            untagged,
            vec![condition("domains", &["c"])],
        ];
        assert_eq!(merged(all), expected);
    }

    #[test]
    fn what_is_beyond_the_limits_is_left_out_and_never_widens() {
        let all = vec![
            vec![condition(URN, &["a", "b", "c"]), without("tags", &["x"])],
            vec![without("tags", &["x", "y"])],
            vec![condition("domains", &["d"])],
        ];
        let (kept, left_out) = limited(all.clone(), 7, 9);
        assert_eq!((kept, left_out), (all.clone(), 0));
        let (kept, left_out) = limited(all.clone(), 3, 9);
        let first = vec![condition(URN, &["a", "b"]), without("tags", &["x"])];
        let last = vec![condition("domains", &[])];
        assert_eq!((kept, left_out), (vec![first, last], 3));
        let (kept, left_out) = limited(all.clone(), 7, 1);
        assert_eq!((kept, left_out), (all[..1].to_vec(), 2));
    }
}
