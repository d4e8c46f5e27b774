//! Entities that only those who manage them see, with and without view policies: for everybody else
//! they do not exist. Their names tell what the administrators alone should know, such as the
//! domains that policies hide.
//!
//! To add a type: a line in [`MANAGED_TYPES`].

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use docent_search::{DEFAULT_TYPES, SearchRequest};

use crate::access::scope::CallerRights;
use crate::privilege::{self as p, Privilege};
use crate::{Caller, Catalog, Error, invitations, tokens};

/// The entity types, and the privileges of which one is enough to see them. Scopes of tokens do not
/// narrow reading, so those of the user count. Users see their own access tokens, too; no search
/// finds tokens.
const MANAGED_TYPES: [(&str, &[Privilege]); 7] = [
    (tokens::ENTITY, &[p::MANAGE_ACCESS_TOKENS]),
    // DataHub's default policies grant the first to nobody.
    (
        "dataHubConnection",
        &[p::MANAGE_CONNECTIONS, p::MANAGE_INGESTION],
    ),
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
    let names = MANAGED_TYPES.iter().map(|(name, _)| *name);
    names.filter(|name| is_reached(name)).collect()
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

    /// Whether the caller of this catalog would have to manage all entities with an aspect to see
    /// them.
    pub(crate) async fn is_unmanaged_aspect(&self, aspect: AspectName) -> Result<bool, Error> {
        let entities = Registry::get().entities();
        let names = entities.filter(|entity| entity.has_aspect(aspect));
        let names: Vec<&str> = names.map(|entity| entity.name).collect();
        if names.is_empty() || !names.iter().all(|name| is_managed_type(name)) {
            return Ok(false);
        }
        let unmanaged = self.unmanaged_types(|name| names.contains(&name)).await?;
        Ok(unmanaged.len() == names.len())
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
