//! What a caller may see, as a filter of the search index.
//!
//! Each policy that lets the caller view something becomes an alternative of the filter, and its
//! criteria become conditions on the fields of the index. The filter must accept exactly what
//! [`View::hidden`] does not hide, except that it knows nothing about what is seen with its asset.

use std::collections::BTreeMap;
use std::sync::Arc;

use docent_model::aspects::Ownership;
use docent_model::{AspectName, Urn};
use docent_search::{Criterion, ENTITY_TYPE, Filter, Operator, SearchRequest};
use docent_store::{AspectKey, ReadRequest};

use super::managed::reached_types;
use super::{UNRESTRICTED_TYPES, VIEW_PRIVILEGES, View};
use crate::access::policy::{Condition, Criterion as PolicyCriterion, Policy};
use crate::access::resource::Field;
use crate::stored::aspect_value;
use crate::{Catalog, Error};

const URN: &str = "urn";
const COLUMN: &str = "schemaField";
/// The most entities of an owner that a policy for owners of some types lets the owner find.
const MAX_OWNED: usize = 10_000;

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
            return Ok(Some(Arc::new(view.filter(&unmanaged).await?)));
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

impl View {
    /// What policies let the caller view, and the unrestricted types, but no entities of the
    /// unmanaged ones.
    async fn filter(&self, unmanaged: &[&str]) -> Result<Filter, Error> {
        let mut alternatives = Vec::new();
        for (policy, is_actor) in self.user.rights.granting(VIEW_PRIVILEGES) {
            let owned = if is_actor {
                None
            } else {
                Some(self.owned(policy).await?)
            };
            alternatives.extend(of_policy(policy, owned));
        }
        // Columns have the rights of their datasets, which the index does not know.
        let excluded = [unmanaged, &[COLUMN]].concat();
        let excluded = Criterion {
            negated: true,
            ..one_of(ENTITY_TYPE, owned(&excluded))
        };
        for alternative in &mut alternatives {
            alternative.push(excluded.clone());
        }
        let mut any = merged(alternatives);
        let mut unrestricted = UNRESTRICTED_TYPES.to_vec();
        unrestricted.retain(|name| !unmanaged.contains(name));
        any.push(vec![one_of(ENTITY_TYPE, owned(&unrestricted))]);
        Ok(Filter { any })
    }

    /// The condition that the caller is an owner for whom the policy is.
    async fn owned(&self, policy: &Policy) -> Result<Criterion, Error> {
        let owners: Vec<String> = self
            .user
            .rights
            .possible_owners()
            .map(str::to_owned)
            .collect();
        let Some(types) = &policy.actors.resource_owners_types else {
            return Ok(one_of("owners", owners));
        };
        // The index has no pairs of owners and types.
        let urns: Vec<Urn> = owners
            .iter()
            .filter_map(|urn| Urn::parse(urn).ok())
            .collect();
        let pages = self
            .store
            .edges_list(&urns, false, &["OwnedBy"], 0, MAX_OWNED);
        let edges = pages.await?.into_iter().flat_map(|page| page.items);
        let keys: Vec<AspectKey> = edges
            .map(|edge| AspectKey::new(&edge.urn, AspectName::OWNERSHIP))
            .collect();
        let rows = self.store.read(ReadRequest::rows(&keys)).await?.rows;
        let is_owned = |ownership: &Ownership| {
            ownership.owners.iter().any(|owner| {
                owners.iter().any(|it| it == owner.owner.as_str())
                    && types.contains(&owner.kind_urn())
            })
        };
        let owned = keys.into_iter().zip(&rows).filter(|(_, row)| {
            let ownership: Option<Ownership> = aspect_value(row);
            ownership.is_some_and(|it| is_owned(&it))
        });
        let urns = owned.map(|(key, _)| key.urn.as_str().to_owned());
        Ok(one_of(URN, urns.take(MAX_OWNED).collect()))
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
        Field::Owner => ("owners", false),
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
/// of a steward of many domains.
fn merged(alternatives: Vec<Alternative>) -> Vec<Alternative> {
    let mut merged: Vec<Alternative> = Vec::new();
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    for mut alternative in alternatives {
        let Some(first) = alternative.first_mut() else {
            merged.push(alternative);
            continue;
        };
        if first.negated {
            merged.push(alternative);
            continue;
        }
        let values = std::mem::take(&mut first.values);
        let key = format!("{alternative:?}");
        let index = *at.entry(key).or_insert_with(|| {
            merged.push(alternative);
            merged.len() - 1
        });
        if let Some(first) = merged[index].first_mut() {
            first.values.extend(values);
        }
    }
    merged
}
