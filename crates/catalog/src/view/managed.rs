//! Entities that only those who manage them see, with and without view policies: for everybody else
//! they do not exist. Their names tell what the administrators alone should know, such as the
//! domains that policies hide.
//!
//! To add a type: its name in [`MANAGED_TYPES`], and who manages it in
//! [`crate::access::type_managers`].

use std::collections::HashSet;

use docent_model::Urn;
use docent_search::{DEFAULT_TYPES, SearchRequest};

use crate::access::scope::CallerRights;
use crate::access::type_managers;
use crate::privilege::{self as p, Privilege};
use crate::{Catalog, Error, invitations, tokens};

/// The entity types. Users see their own access tokens, too; no search finds tokens.
const MANAGED_TYPES: [&str; 7] = [
    tokens::ENTITY,
    "dataHubConnection",
    "dataHubExecutionRequest",
    "dataHubIngestionSource",
    "dataHubPolicy",
    "dataHubSecret",
    invitations::ENTITY,
];

/// The privileges of which one is enough to see the entities of a managed type, within the scope of
/// the token. Tokens and invite links are written by their use cases alone, which have their own.
fn viewers(entity_type: &str) -> &'static [Privilege] {
    match entity_type {
        tokens::ENTITY => &[p::MANAGE_ACCESS_TOKENS],
        invitations::ENTITY => &[
            p::MANAGE_POLICIES,
            p::MANAGE_USER_CREDENTIALS,
            p::MANAGE_USERS_AND_GROUPS,
        ],
        other => type_managers(other),
    }
}

/// Whether entities of a type are seen by those who manage them only.
pub(crate) fn is_managed_type(entity_type: &str) -> bool {
    MANAGED_TYPES.contains(&entity_type)
}

/// The managed types that a search can find.
pub(super) fn reached_types(request: &SearchRequest) -> Vec<&'static str> {
    let finds_all = request.finds_all_types();
    let is_reached = |name: &str| {
        if request.types.is_empty() {
            finds_all || DEFAULT_TYPES.contains(&name)
        } else {
            request.types.iter().any(|it| it == name)
        }
    };
    let mut names = MANAGED_TYPES.to_vec();
    names.retain(|name| is_reached(name));
    names
}

impl Catalog {
    /// The types among these that the caller of this catalog does not manage.
    pub(crate) async fn unmanaged_types(
        &self,
        is_relevant: impl Fn(&str) -> bool,
    ) -> Result<Vec<&'static str>, Error> {
        let mut types = MANAGED_TYPES.to_vec();
        types.retain(|name| is_relevant(name));
        if types.is_empty() {
            return Ok(Vec::new());
        }
        let rights = self.reading_rights().await?;
        types.retain(|name| {
            let rights = rights.as_ref();
            rights.is_some_and(|rights| rights.everywhere(viewers(name)).is_none())
        });
        Ok(types)
    }

    /// The entities among these that the caller of this catalog would have to manage to see them.
    pub(super) async fn unmanaged(&self, urns: Vec<&Urn>) -> Result<HashSet<Urn>, Error> {
        if urns.is_empty() || self.reading_caller.is_none() {
            return Ok(HashSet::new());
        }
        let is_relevant = |name: &str| urns.iter().any(|urn| urn.entity_type() == name);
        let types = self.unmanaged_types(is_relevant).await?;
        let is_unmanaged = |urn: &&Urn| types.contains(&urn.entity_type());
        let unmanaged = urns.into_iter().filter(is_unmanaged);
        let (tokens, mut hidden): (Vec<Urn>, HashSet<Urn>) = {
            let (tokens, others): (Vec<&Urn>, Vec<&Urn>) =
                unmanaged.partition(|urn| urn.entity_type() == tokens::ENTITY);
            (
                tokens.into_iter().cloned().collect(),
                others.into_iter().cloned().collect(),
            )
        };
        if !tokens.is_empty() {
            hidden.extend(self.foreign_tokens(tokens).await?);
        }
        Ok(hidden)
    }

    /// The entities of a managed type behind `after` that the caller of this catalog sees; `None`
    /// if those are all.
    pub(super) async fn managed_urns(
        &self,
        entity_type: &str,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Option<Vec<Urn>>, Error> {
        let is_relevant = |name: &str| name == entity_type;
        if self.unmanaged_types(is_relevant).await?.is_empty() {
            return Ok(None);
        }
        let mut own = match &self.reading_caller {
            Some(caller) if entity_type == tokens::ENTITY => self.tokens_of(caller.actor()).await?,
            _ => Vec::new(),
        };
        own.sort_unstable();
        own.retain(|urn| after.is_none_or(|after| urn > after));
        own.truncate(limit);
        Ok(Some(own))
    }

    /// What the caller of this catalog may do; `None` for everything.
    pub(crate) async fn reading_rights(&self) -> Result<Option<CallerRights>, Error> {
        match (&self.reading_caller, &self.view) {
            (Some(caller), Some(view)) => Ok(Some(CallerRights::new(view.user.clone(), caller))),
            (Some(caller), None) => self.rights(caller).await,
            (None, _) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use docent_model::Registry;

    use super::*;
    use crate::view::UNRESTRICTED_TYPES;

    #[test]
    fn every_managed_type_is_known_and_decided_by_nothing_else() {
        for name in MANAGED_TYPES {
            assert!(Registry::get().entity(name).is_some(), "{name}");
            assert!(UNRESTRICTED_TYPES.contains(&name), "{name}");
            assert!(!viewers(name).is_empty(), "{name}");
        }
    }
}
