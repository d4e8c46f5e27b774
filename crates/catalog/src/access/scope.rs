//! The rights of a caller: those of the user, narrowed by the scope of the token.
//!
//! A change must be allowed by the policies and lie within the scope. So must reading what needs a
//! privilege of the platform, such as policies and the audit log; reading metadata is not narrowed.
//! A token that is read-only fails in [`Catalog::apply`](crate::Catalog), through which every
//! change goes.

use std::sync::Arc;

use docent_model::Urn;
use docent_model::aspects::TokenScope;

use super::cache::UserRights;
use super::domain_paths::DomainPaths;
use super::policy::Policy;
use super::resource::{Field, Fields, Resource};
use super::rights::{Preliminary, Rights};
use crate::privilege::Privilege;
use crate::{Caller, Error};

/// The most privileges of a scope.
const MAX_PRIVILEGES: usize = 100;

/// What a caller may do.
#[derive(Debug, Clone)]
pub(crate) struct CallerRights {
    rights: Arc<Rights>,
    domains: Arc<DomainPaths>,
    scope: Option<Arc<TokenScope>>,
}

impl CallerRights {
    pub(crate) fn new(user: UserRights, caller: &Caller) -> Self {
        Self {
            rights: user.rights,
            domains: user.domains,
            scope: caller.scope().cloned(),
        }
    }

    /// The paths of domains, for decisions outside of transactions.
    pub(crate) fn domains(&self) -> &Arc<DomainPaths> {
        &self.domains
    }

    /// Whether the caller has fewer rights than the user.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.scope.is_some()
    }

    /// Decides as far as possible without the resource: allowed if one of the privileges is.
    pub(crate) fn preliminary(&self, privileges: &[Privilege]) -> Preliminary {
        if !self.is_named(privileges) {
            return Preliminary::Denied;
        }
        match (self.rights.preliminary(privileges), self.domain(privileges)) {
            (decision, None) => decision,
            (Preliminary::Denied, Some(_)) => Preliminary::Denied,
            (Preliminary::Allowed, Some(_)) => Preliminary::Depends(with_domain(Fields::default())),
            (Preliminary::Depends(fields), Some(_)) => Preliminary::Depends(with_domain(fields)),
        }
    }

    /// The fields that decide about the privileges on a resource; `None` if nothing about a
    /// resource would grant one.
    pub(crate) fn fields_of(&self, privileges: &[Privilege]) -> Option<Fields> {
        let fields = self.rights.fields_of(privileges);
        match self.domain(privileges) {
            None => fields,
            Some(_) => Some(with_domain(fields.unwrap_or_default())),
        }
    }

    /// The policy that allows one of the privileges on everything.
    pub(crate) fn everywhere(&self, privileges: &[Privilege]) -> Option<&Policy> {
        if !self.is_named(privileges) || self.domain(privileges).is_some() {
            return None;
        }
        self.rights.everywhere(privileges)
    }

    /// The policy that grants one of the privileges on the resource.
    pub(crate) fn granted_by(
        &self,
        privileges: &[Privilege],
        resource: &Resource,
        references: Option<&[Resource]>,
    ) -> Option<&Policy> {
        let is_inside = |domain: &Urn| {
            let domains = resource.values(Field::Domain);
            domains.iter().any(|found| found == domain.as_str())
        };
        if !self.is_named(privileges) || !self.domain(privileges).is_none_or(is_inside) {
            return None;
        }
        self.rights.granted_by(privileges, resource, references)
    }

    /// The scope, if it is the reason why the caller has none of the privileges on the resource,
    /// or on everything: the user may have one.
    pub(crate) fn limiting_scope(
        &self,
        privileges: &[Privilege],
        resource: Option<&Resource>,
    ) -> Option<Arc<TokenScope>> {
        let scope = self.scope.as_ref()?;
        let user_may_have_one = match resource {
            Some(resource) => {
                let policy = self.rights.granted_by(privileges, resource, Some(&[]));
                policy.is_some()
            }
            None => self.rights.preliminary(privileges) != Preliminary::Denied,
        };
        user_may_have_one.then(|| Arc::clone(scope))
    }

    /// Whether the scope names one of the privileges.
    fn is_named(&self, privileges: &[Privilege]) -> bool {
        let named = self.scope.as_ref().and_then(|it| it.privileges.as_ref());
        named.is_none_or(|named| {
            privileges.iter().any(|it| {
                it.is_for_reading_metadata() || named.iter().any(|name| name == it.name())
            })
        })
    }

    /// The domain to which the scope limits what needs one of the privileges.
    fn domain(&self, privileges: &[Privilege]) -> Option<&Urn> {
        if privileges.iter().all(|it| it.is_for_reading_metadata()) {
            return None;
        }
        self.scope.as_ref()?.domain.as_ref()
    }
}

fn with_domain(mut fields: Fields) -> Fields {
    fields.add(Field::Domain);
    fields
}

/// Fails for a caller with a token that changes nothing.
pub(crate) fn check_writer(caller: &Caller) -> Result<(), Error> {
    if caller.scope().is_some_and(|scope| scope.read_only) {
        return Err(Error::forbidden(
            "Unauthorized to perform this action: the access token is read-only. Use a token without this scope.",
        ));
    }
    Ok(())
}

/// Fails for a caller whose token has a scope: for what users may do for themselves, without a
/// privilege that a scope could name.
pub(crate) fn check_unscoped(caller: &Caller) -> Result<(), Error> {
    check_writer(caller)?;
    if caller.scope().is_some() {
        return Err(Error::forbidden(
            "Unauthorized to perform this action: the access token has a scope. Sign in, or use a token without a scope.",
        ));
    }
    Ok(())
}

/// Whether to list a privilege as one of the caller.
pub(crate) fn is_shown(caller: &Caller, privilege: Privilege) -> bool {
    privilege.is_for_reading() || check_writer(caller).is_ok()
}

/// Fails for a scope that narrows nothing, or that can allow nothing by mistake.
pub(crate) fn check(scope: &TokenScope) -> Result<(), Error> {
    if *scope == TokenScope::default() {
        return Err(Error::invalid(
            "the scope is empty: make it read-only, name privileges or a domain, or leave the scope out",
        ));
    }
    if scope.read_only && (scope.privileges.is_some() || scope.domain.is_some()) {
        return Err(Error::invalid(
            "the scope is read-only, so privileges and a domain have no effect: choose one or the other",
        ));
    }
    if let Some(domain) = &scope.domain {
        domain.expect_type("domain")?;
    }
    let Some(privileges) = &scope.privileges else {
        return Ok(());
    };
    if privileges.is_empty() || privileges.len() > MAX_PRIVILEGES {
        return Err(Error::invalid(format!(
            "a scope names 1 to {MAX_PRIVILEGES} privileges, and this one {}",
            privileges.len()
        )));
    }
    let is_unknown = |name: &&String| Privilege::parse(name).is_none();
    match privileges.iter().find(is_unknown) {
        Some(name) => Err(Error::invalid(format!(
            "there is no privilege '{name}': use names like EDIT_ENTITY_DOCS, as in policies"
        ))),
        None => Ok(()),
    }
}
