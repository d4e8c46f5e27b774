//! Who may do what: the only place that decides.
//!
//! Policies grant privileges to users, groups, roles and owners, on all resources or on those that
//! meet criteria ([`policy`]); there is nothing that denies. The rights of a caller are compiled
//! once per change of policies, groups or roles ([`rights`], [`cache`]).
//!
//! A change needs a privilege that follows from its entity and aspect ([`demand`]), unless the use
//! case names another one. [`Catalog::apply`] decides before its transaction where the policies
//! alone suffice, and inside it where the owners, the domain or other stored data of the entity
//! count ([`crate::apply`]). Everything else calls [`Catalog::authorize`].
//!
//! To add a privilege: add its name to [`crate::privilege`], and demand it where it is needed.

pub(crate) mod cache;
mod default_policies;
pub(crate) mod demand;
pub(crate) mod domain_paths;
mod explanation;
mod grants;
mod hierarchy;
pub(crate) mod policy;
pub(crate) mod resource;
mod resource_reader;
pub(crate) mod rights;
pub(crate) mod scope;

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use docent_model::Urn;
use docent_model::aspects::TokenScope;
use docent_store::AuditItem;

use crate::audit::MAX_ITEMS;
use crate::privilege::{self, Privilege};
use crate::{Caller, Catalog, Error};
pub(crate) use cache::{read_identity, read_policies};
pub(crate) use demand::use_case_of;
pub use demand::{is_managed as is_managed_aspect, managers as type_managers};
pub use explanation::AccessExplanation;
pub(crate) use grants::DeletedGrantees;
pub(crate) use hierarchy::{
    Place, child_aspects, member_aspects, parent_aspect, parent_in, parent_key, read_move,
    read_parent,
};
pub(crate) use policy::{Policy, has_criteria};
pub(crate) use resource::Field as PolicyField;
use resource::Resource;
pub(crate) use resource_reader::{
    AspectSource, Prefetched, decisive_part, holder_of, read_resource, resource_keys,
};
use scope::CallerRights;

/// The most privileges that an error message lists.
const LISTED_PRIVILEGES: usize = 4;

/// What gives a caller a privilege.
pub(crate) enum Grant {
    /// The caller may do everything.
    Unrestricted,
    Policy(Urn),
    /// No policy does, or the scope of the caller's token does not allow it.
    Missing(Option<Arc<TokenScope>>),
}

impl Catalog {
    /// Turns access control on: from here on callers may do what policies grant. `default_role` is
    /// the role of users that have none. A second call has no effect.
    pub fn enforce_policies(&self, default_role: Option<&Urn>) {
        let default_role = default_role.map(|role| role.as_str().to_owned());
        let enforced = cache::AccessCache::new(default_role);
        self.inner.access.get_or_init(|| enforced);
    }

    /// Fails unless the caller has one of the privileges, on the entity if there is one.
    pub async fn authorize(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urn: Option<&Urn>,
    ) -> Result<(), Error> {
        let denied = self.denial(caller, privileges, urn).await?;
        self.audited(caller, denied.map_or(Ok(()), Err)).await
    }

    /// Fails unless the caller has one of the privileges on each of the entities.
    pub(crate) async fn authorize_each(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urns: &[Urn],
    ) -> Result<(), Error> {
        let granted = self.granted(caller, privileges, urns).await?;
        for (urn, granted) in urns.iter().zip(granted) {
            if granted.is_empty() {
                self.authorize(caller, privileges, Some(urn)).await?;
            }
        }
        Ok(())
    }

    /// Fails unless the caller has one of the privileges on the platform. The audit log then names
    /// the entities that the request is about.
    pub(crate) async fn authorize_about(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        entities: &[Urn],
    ) -> Result<(), Error> {
        let Some(denied) = self.denial(caller, privileges, None).await? else {
            return Ok(());
        };
        let item = |urn: &Urn| AuditItem {
            urn: urn.to_string(),
            changes: Vec::new(),
        };
        let distinct: BTreeSet<&Urn> = entities.iter().collect();
        let items = distinct.into_iter().take(MAX_ITEMS).map(item).collect();
        self.record_denial(
            Some(caller.actor()),
            caller.origin(),
            denied.message(),
            items,
        )
        .await;
        Err(denied)
    }

    /// Why the caller may not do it; `None` if a policy grants it, which the audit log then names.
    async fn denial(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urn: Option<&Urn>,
    ) -> Result<Option<Error>, Error> {
        match self.grant(caller, privileges, urn).await? {
            Grant::Unrestricted => Ok(None),
            Grant::Policy(policy) => {
                caller.origin().allowed_by(&policy);
                Ok(None)
            }
            Grant::Missing(scope) => {
                let scope = scope.as_deref();
                Ok(Some(denied(caller.actor(), scope, privileges, urn)))
            }
        }
    }

    /// Whether the caller has one of the privileges, on the entity if there is one.
    pub async fn is_allowed(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urn: Option<&Urn>,
    ) -> Result<bool, Error> {
        let grant = self.grant(caller, privileges, urn).await?;
        Ok(!matches!(grant, Grant::Missing(_)))
    }

    /// What gives the caller one of the privileges, on the entity if there is one.
    pub(crate) async fn grant(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urn: Option<&Urn>,
    ) -> Result<Grant, Error> {
        let Some(rights) = self.rights(caller).await? else {
            return Ok(Grant::Unrestricted);
        };
        if let Some(policy) = rights.everywhere(privileges) {
            return Ok(Grant::Policy(policy.urn.clone()));
        }
        let (Some(fields), Some(urn)) = (rights.fields_of(privileges), urn) else {
            return Ok(Grant::Missing(rights.limiting_scope(privileges, None)));
        };
        let resource = if self.hidden_among([urn]).await?.is_empty() {
            let mut source = resource_reader::Stored {
                store: self.store(),
                domains: Arc::clone(rights.domains()),
            };
            read_resource(&mut source, urn, fields).await?
        } else {
            Resource::new(urn)
        };
        let policy = rights.granted_by(privileges, &resource, Some(&[]));
        Ok(match policy {
            Some(policy) => Grant::Policy(policy.urn.clone()),
            None => Grant::Missing(rights.limiting_scope(privileges, Some(&resource))),
        })
    }

    /// Which of the privileges the caller has on each of the entities, with the stored data that
    /// decides. One read for all entities, if any is needed. Nothing stored counts of an entity
    /// that the caller of this catalog may not see.
    pub async fn granted(
        &self,
        caller: &Caller,
        privileges: &[Privilege],
        urns: &[Urn],
    ) -> Result<Vec<Vec<Privilege>>, Error> {
        let hidden = self.hidden_among(urns).await?;
        self.granted_beside(&hidden, caller, privileges, urns).await
    }

    /// Like [`Catalog::granted`], where it is known what the caller of this catalog may not see.
    pub(crate) async fn granted_beside(
        &self,
        hidden: &HashSet<Urn>,
        caller: &Caller,
        privileges: &[Privilege],
        urns: &[Urn],
    ) -> Result<Vec<Vec<Privilege>>, Error> {
        let Some(rights) = self.rights(caller).await? else {
            return Ok(urns.iter().map(|_| privileges.to_vec()).collect());
        };
        let fields = rights.fields_of(privileges).unwrap_or_default();
        let mut source = Prefetched::new(self.store(), rights.domains(), urns, fields).await?;
        let mut granted = Vec::with_capacity(urns.len());
        for urn in urns {
            let resource = if hidden.contains(urn) {
                Resource::new(urn)
            } else {
                read_resource(&mut source, urn, fields).await?
            };
            let has = |privilege: &&Privilege| {
                scope::is_shown(caller, **privilege)
                    && rights
                        .granted_by(std::slice::from_ref(*privilege), &resource, Some(&[]))
                        .is_some()
            };
            granted.push(privileges.iter().filter(has).copied().collect());
        }
        Ok(granted)
    }

    /// The privileges of a user, on an entity or on the platform. Those of others are for callers
    /// that manage policies.
    pub async fn privileges_of(
        &self,
        caller: &Caller,
        actor: &Urn,
        urn: Option<&Urn>,
    ) -> Result<Vec<Privilege>, Error> {
        actor.expect_type("corpuser")?;
        if actor != caller.actor() {
            self.authorize(caller, &[privilege::MANAGE_POLICIES], None)
                .await?;
            let missing = format!("the user {actor} does not exist: listUsers lists them");
            self.expect_existing(actor, missing).await?;
        }
        // The caller's own rights are those of the token.
        let actor = if actor == caller.actor() {
            caller.clone()
        } else {
            Caller::new(actor.clone())
        };
        if let Some(urn) = urn {
            let urns = std::slice::from_ref(urn);
            let mut granted = self.granted(&actor, privilege::ALL, urns).await?;
            return Ok(granted.pop().unwrap_or_default());
        }
        let mut granted = Vec::new();
        for privilege in privilege::ALL {
            if scope::is_shown(&actor, *privilege)
                && self.is_allowed(&actor, &[*privilege], None).await?
            {
                granted.push(*privilege);
            }
        }
        Ok(granted)
    }

    /// All active policies, also without access control.
    pub(crate) async fn active_policies(&self) -> Result<Arc<[Policy]>, Error> {
        match self.inner.access.get() {
            Some(access) => access.policies(self.store()).await,
            None => Ok(read_policies(self.store()).await?.active.into()),
        }
    }

    /// The users whom policies name, also those that are not active.
    pub(crate) async fn users_in_policies(&self) -> Result<Arc<HashSet<String>>, Error> {
        match self.inner.access.get() {
            Some(access) => access.users(self.store()).await,
            None => Ok(Arc::new(read_policies(self.store()).await?.users)),
        }
    }

    /// What the caller may do; `None` if that is everything: for the system, and without access
    /// control.
    pub(crate) async fn rights(&self, caller: &Caller) -> Result<Option<CallerRights>, Error> {
        let Some(access) = self.inner.access.get().filter(|_| !caller.is_system()) else {
            return Ok(None);
        };
        let user = access.rights(self.store(), caller.actor()).await?;
        Ok(Some(CallerRights::new(user, caller)))
    }
}

/// Whether a profile is the caller's own, which needs no privilege. A token with a scope has
/// privileges alone.
pub fn is_own_profile(caller: &Caller, user: &Urn) -> bool {
    user == caller.actor() && caller.scope().is_none()
}

/// The error for a caller without any of the privileges. `scope` is that of the caller's token, if
/// it is the reason.
pub(crate) fn denied(
    actor: &Urn,
    scope: Option<&TokenScope>,
    privileges: &[Privilege],
    urn: Option<&Urn>,
) -> Error {
    let mut names: Vec<&str> = privileges.iter().map(|it| it.name()).collect();
    let more = names.len() > LISTED_PRIVILEGES;
    names.truncate(LISTED_PRIVILEGES);
    let needs = match names.as_slice() {
        [name] => format!("the privilege {name}"),
        names => format!("one of the privileges {}", names.join(", ")),
    };
    let others = if more {
        " (or another that includes it)"
    } else {
        ""
    };
    let target = urn.map(|urn| format!(" on {urn}")).unwrap_or_default();
    let reason = match scope.map(|scope| scope.domain.as_ref()) {
        None => format!(
            "{} needs {needs}{others}{target}. An administrator can grant it with a policy or a role.",
            actor.key()
        ),
        Some(domain) => {
            let limit = domain.map(|domain| format!(", which is limited to {domain},"));
            format!(
                "the scope of the access token{} does not include {needs}{others}{target}. Use a token with another \
                 scope or without one.",
                limit.unwrap_or_default()
            )
        }
    };
    let message = format!("Unauthorized to perform this action: {reason}");
    let error = Error::forbidden(message);
    match urn {
        Some(urn) => error.naming(urn),
        None => error,
    }
}
