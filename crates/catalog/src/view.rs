//! What a caller may see, with view policies.
//!
//! An entity that no policy lets the caller view does not exist for the caller: it is not found,
//! listed, counted or suggested. [`Catalog::seen_by`] returns the catalog of a caller, and every
//! API reads through it. Its reads go through a [`Reader`], and its searches have one more filter
//! ([`filter`]). Only lineage shows that something is there, under another URN ([`restricted`]).
//!
//! Shared vocabulary and accounts ([`UNRESTRICTED_TYPES`]) can be seen by everyone. What describes
//! an asset, such as an assertion, is seen with the asset. Policies, secrets and the like are seen
//! by those who manage them alone, also without view policies ([`managed`]); statistics of datasets
//! by those who have the privileges for them ([`statistics`]).
//!
//! To read from the store for a caller, use [`Catalog::reader`]; `Catalog::store` is for decisions
//! and for what is not about entities that can be hidden.

mod filter;
mod managed;
mod reader;
mod restricted;
mod statistics;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use docent_model::{Registry, Urn};
use docent_store::Store;

use crate::access::cache::UserRights;
use crate::access::domain_paths::DomainPaths;
use crate::access::rights::Preliminary;
use crate::access::{AspectSource, Prefetched, holder_of, read_resource};
use crate::privilege::{
    DELETE_ENTITY, EDIT_ENTITY, GET_ENTITY_PRIVILEGE, Privilege, VIEW_ENTITY_PAGE,
};
use crate::{Caller, Catalog, Error};
pub(crate) use managed::is_managed_type;
pub(crate) use reader::Reader;
pub use restricted::{RESTRICTED, stand_in};

/// The privileges of which one is enough to see an entity, as in DataHub.
pub(crate) const VIEW_PRIVILEGES: &[Privilege] = &[
    VIEW_ENTITY_PAGE,
    GET_ENTITY_PRIVILEGE,
    EDIT_ENTITY,
    DELETE_ENTITY,
];

/// The entity types that view policies do not restrict: vocabulary, accounts and what the server
/// itself stores. Secrets among them are never readable, and [`managed`] restricts some of them.
pub(crate) const UNRESTRICTED_TYPES: [&str; 37] = [
    "businessAttribute",
    "corpGroup",
    "corpuser",
    "dataHubAccessToken",
    "dataHubAction",
    "dataHubConnection",
    "dataHubExecutionRequest",
    "dataHubFile",
    "dataHubIngestionSource",
    "dataHubOpenAPISchema",
    "dataHubPageModule",
    "dataHubPageTemplate",
    "dataHubPersona",
    "dataHubPolicy",
    "dataHubRetention",
    "dataHubRole",
    "dataHubSecret",
    "dataHubStepState",
    "dataHubUpgrade",
    "dataHubView",
    "dataPlatform",
    "dataPlatformInstance",
    "dataType",
    "entityType",
    "form",
    "globalSettings",
    "inviteToken",
    "lifecycleStageType",
    "ownershipType",
    "post",
    "role",
    "searchTemplate",
    "structuredProperty",
    "tag",
    "telemetry",
    "test",
    "versionSet",
];

/// The types of entities that describe assets, and the relationship to those.
const DESCRIPTIVE_TYPES: [(&str, &str); 4] = [
    ("assertion", "Asserts"),
    ("dataContract", "ContractFor"),
    ("dataProcessInstance", "InstanceOf"),
    ("incident", "IncidentOn"),
];
/// What describes more assets is decided by its own policies alone.
const MAX_DESCRIBED: usize = 100;

/// What one caller sees.
#[derive(Debug)]
pub(crate) struct View {
    store: Arc<dyn Store>,
    user: UserRights,
}

impl Catalog {
    /// Turns view policies on: from here on callers see what policies grant.
    pub fn enforce_view_policies(&self) {
        self.inner.has_view_policies.store(true, Ordering::Relaxed);
    }

    /// The catalog as a caller sees it. The same catalog if the caller sees everything.
    pub async fn seen_by(&self, caller: &Caller) -> Result<Self, Error> {
        let mut catalog = Self {
            inner: Arc::clone(&self.inner),
            options: Arc::clone(&self.options),
            view: None,
            reading_caller: None,
        };
        let Some(access) = self.inner.access.get().filter(|_| !caller.is_system()) else {
            return Ok(catalog);
        };
        catalog.reading_caller = Some(caller.clone());
        if !self.inner.has_view_policies.load(Ordering::Relaxed) {
            return Ok(catalog);
        }
        let user = access.rights(self.store(), caller.actor()).await?;
        if user.rights.preliminary(VIEW_PRIVILEGES) != Preliminary::Allowed {
            let store = Arc::clone(&self.inner.store);
            catalog.view = Some(Arc::new(View { store, user }));
        }
        Ok(catalog)
    }

    /// Reads what the caller of this catalog may see.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader::new(self, reader::MAX_READ)
    }

    /// The entities among these that the caller of this catalog may not see.
    pub async fn hidden_among<'u>(
        &self,
        urns: impl IntoIterator<Item = &'u Urn> + Send,
    ) -> Result<HashSet<Urn>, Error> {
        let (mut managed, mut restricted) = (Vec::new(), Vec::new());
        for urn in urns {
            if is_managed_type(urn.entity_type()) {
                managed.push(urn);
            } else if self.view.is_some() && is_restricted(urn) {
                restricted.push(urn);
            }
        }
        let mut hidden = HashSet::new();
        if !managed.is_empty() {
            hidden.extend(self.unmanaged(managed).await?);
        }
        if let Some(view) = self.view.as_ref().filter(|_| !restricted.is_empty()) {
            hidden.extend(view.hidden(restricted.into_iter().collect()).await?);
        }
        Ok(hidden)
    }

    /// Whether view policies may hide something from the caller of this catalog.
    pub fn has_view(&self) -> bool {
        self.view.is_some()
    }

    /// Fails if there is something that the caller of this catalog does not see: for totals that
    /// would include it.
    pub(crate) async fn check_sees_everything(&self, what: &str) -> Result<(), Error> {
        if self.view.is_none() {
            return Ok(());
        }
        let denied = Err(Error::forbidden(format!(
            "Unauthorized to perform this action: {what} needs the privilege VIEW_ENTITY_PAGE on all \
             entities. An administrator can grant it with a policy or a role."
        )));
        match &self.reading_caller {
            Some(caller) => self.audited(caller, denied).await,
            None => denied,
        }
    }
}

impl View {
    /// The entities among these that the caller may not see, of types that policies restrict.
    async fn hidden(&self, restricted: HashSet<&Urn>) -> Result<HashSet<Urn>, Error> {
        let restricted: Vec<Urn> = restricted.into_iter().cloned().collect();
        let mut hidden = self.not_granted(&restricted).await?;
        for (entity_type, relationship) in DESCRIPTIVE_TYPES {
            let of_type = |urn: &&Urn| urn.entity_type() == entity_type;
            let descriptive: Vec<Urn> = hidden.iter().filter(of_type).cloned().collect();
            if !descriptive.is_empty() {
                for urn in self.seen_with_assets(descriptive, relationship).await? {
                    hidden.remove(&urn);
                }
            }
        }
        Ok(hidden)
    }

    /// The paths of domains, for decisions outside of transactions.
    pub(crate) fn domains(&self) -> &Arc<DomainPaths> {
        &self.user.domains
    }

    /// Those that no policy lets the caller view, by their own data.
    async fn not_granted(&self, urns: &[Urn]) -> Result<HashSet<Urn>, Error> {
        let UserRights { rights, domains } = &self.user;
        let Some(fields) = rights.fields_of(VIEW_PRIVILEGES) else {
            return Ok(urns.iter().cloned().collect());
        };
        // A column is seen with its dataset.
        let holders: Vec<Urn> = urns.iter().map(holder_of).collect();
        let mut source = Prefetched::new(&*self.store, domains, &holders, fields).await?;
        let mut hidden = HashSet::new();
        for urn in urns {
            if !self.grants(&mut source, urn).await? {
                hidden.insert(urn.clone());
            }
        }
        Ok(hidden)
    }

    /// Whether a policy lets the caller view an entity, by the data that the source has about it.
    pub(crate) async fn grants(
        &self,
        source: &mut impl AspectSource,
        urn: &Urn,
    ) -> Result<bool, Error> {
        let Some(fields) = self.user.rights.fields_of(VIEW_PRIVILEGES) else {
            return Ok(false);
        };
        let resource = read_resource(source, &holder_of(urn), fields).await?;
        let policy = self
            .user
            .rights
            .granted_by(VIEW_PRIVILEGES, &resource, Some(&[]));
        Ok(policy.is_some())
    }

    /// Those that describe assets of which the caller sees all.
    async fn seen_with_assets(
        &self,
        urns: Vec<Urn>,
        relationship: &str,
    ) -> Result<Vec<Urn>, Error> {
        let relationships = [relationship];
        let pages = self
            .store
            .edges_list(&urns, true, &relationships, &[], 0, MAX_DESCRIBED);
        let pages = pages.await?;
        let assets = pages.iter().flat_map(|page| &page.items);
        let assets: HashSet<&Urn> = assets.map(|edge| &edge.urn).collect();
        let assets: Vec<Urn> = assets
            .into_iter()
            .filter(|urn| is_restricted(urn))
            .cloned()
            .collect();
        let hidden = self.not_granted(&assets).await?;
        let seen = urns.into_iter().zip(pages).filter(|(_, page)| {
            let is_whole = (1..=MAX_DESCRIBED).contains(&page.total);
            is_whole && !page.items.iter().any(|edge| hidden.contains(&edge.urn))
        });
        Ok(seen.map(|(urn, _)| urn).collect())
    }
}

/// Whether policies decide who sees the entity. Records of our own are not entities to callers.
fn is_restricted(urn: &Urn) -> bool {
    let entity_type = urn.entity_type();
    !UNRESTRICTED_TYPES.contains(&entity_type) && Registry::get().entity(entity_type).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_type_is_in_the_registry() {
        for name in UNRESTRICTED_TYPES {
            assert!(Registry::get().entity(name).is_some(), "{name}");
        }
        for (name, relationship) in DESCRIPTIVE_TYPES {
            assert!(Registry::get().entity(name).is_some(), "{name}");
            assert_eq!(
                Registry::get().relationship(relationship),
                Some(relationship)
            );
        }
    }
}
