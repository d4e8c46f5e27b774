//! Entities that only those who manage them see, with and without view policies: for everybody else
//! they do not exist. Their names tell what the administrators alone should know, such as the
//! domains that policies hide.
//!
//! To add a type: a line in [`MANAGED_TYPES`].

use std::collections::HashSet;

use docent_model::Urn;
use docent_search::{DEFAULT_TYPES, SearchRequest};

use crate::access::scope::CallerRights;
use crate::privilege::{self as p, Privilege};
use crate::{Caller, Catalog, Error, invitations, tokens};

/// The entity types, and the privileges of which one is enough to see them. Scopes of tokens do not
/// narrow reading, so those of the user count. Users see their own access tokens, too.
const MANAGED_TYPES: [(&str, &[Privilege]); 7] = [
    (tokens::ENTITY, &[p::MANAGE_ACCESS_TOKENS]),
    ("dataHubConnection", &[p::MANAGE_CONNECTIONS]),
    ("dataHubExecutionRequest", &[p::MANAGE_INGESTION]),
    ("dataHubIngestionSource", &[p::MANAGE_INGESTION]),
    ("dataHubPolicy", &[p::MANAGE_POLICIES]),
    ("dataHubSecret", &[p::MANAGE_SECRETS]),
    (
        invitations::ENTITY,
        &[
            p::MANAGE_POLICIES,
            p::MANAGE_USER_CREDENTIALS,
            p::MANAGE_USERS_AND_GROUPS,
        ],
    ),
];

/// Whether entities of a type are seen by those who manage them only.
pub(crate) fn is_managed_type(entity_type: &str) -> bool {
    MANAGED_TYPES.iter().any(|(name, _)| *name == entity_type)
}

/// Whether a search can find entities of a type.
pub(super) fn reaches(request: &SearchRequest, entity_type: &str) -> bool {
    let is_listed = |name: &&str| *name == entity_type;
    if !request.types.is_empty() {
        return request.types.iter().any(|name| name == entity_type);
    }
    request.finds_all_types() || DEFAULT_TYPES.iter().any(is_listed)
}

impl Catalog {
    /// The types among these that the caller of this catalog does not manage.
    pub(super) async fn unmanaged_types(
        &self,
        is_relevant: impl Fn(&str) -> bool,
    ) -> Result<Vec<&'static str>, Error> {
        let types = MANAGED_TYPES.iter().filter(|(name, _)| is_relevant(name));
        let types: Vec<_> = types.collect();
        if types.is_empty() {
            return Ok(Vec::new());
        }
        let rights = self.reading_rights().await?;
        let is_unmanaged = |privileges: &[Privilege]| {
            let rights = rights.as_ref();
            rights.is_some_and(|rights| rights.everywhere(privileges).is_none())
        };
        Ok(types
            .into_iter()
            .filter(|(_, privileges)| is_unmanaged(privileges))
            .map(|(name, _)| *name)
            .collect())
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
        let mut own = self.own_managed(entity_type).await?;
        own.sort_unstable();
        own.retain(|urn| after.is_none_or(|after| urn > after));
        own.truncate(limit);
        Ok(Some(own))
    }

    /// What callers see of a type that they do not manage.
    pub(super) async fn own_managed(&self, entity_type: &str) -> Result<Vec<Urn>, Error> {
        match &self.reading_caller {
            Some(caller) if entity_type == tokens::ENTITY => self.tokens_of(caller.actor()).await,
            _ => Ok(Vec::new()),
        }
    }

    /// What the user of this catalog may do, whatever the scope of the token; `None` for
    /// everything.
    pub(crate) async fn reading_rights(&self) -> Result<Option<CallerRights>, Error> {
        match &self.reading_caller {
            Some(caller) => self.rights(&Caller::new(caller.actor().clone())).await,
            None => Ok(None),
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
        for (name, privileges) in MANAGED_TYPES {
            assert!(Registry::get().entity(name).is_some(), "{name}");
            assert!(UNRESTRICTED_TYPES.contains(&name), "{name}");
            assert!(!privileges.is_empty(), "{name}");
        }
    }
}
