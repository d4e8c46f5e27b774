//! Policies as entities: created, changed and deleted by those who manage policies.
//!
//! What policies mean is decided in [`crate::access`].

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Urn};
use serde_json::{Value, json};

use crate::access::{is_criterion_field, is_entity_type};
use crate::privilege::{self, MANAGE_POLICIES};
use crate::proposal::{Change, Proposal};
use crate::{Caller, Catalog, Error};

/// A policy to store; lists are URNs unless said otherwise.
#[derive(Debug, Clone, Default)]
pub struct NewPolicy {
    pub name: String,
    pub description: Option<String>,
    pub kind: PolicyKind,
    /// `ACTIVE`, `INACTIVE` or `DRAFT`; only the first grants anything.
    pub state: String,
    /// The names of privileges.
    pub privileges: Vec<String>,
    pub actors: PolicyActors,
    /// `None` covers all resources.
    pub resources: Option<Value>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PolicyKind {
    /// Privileges that do not depend on a resource.
    Platform,
    #[default]
    Metadata,
}

#[derive(Debug, Clone, Default)]
pub struct PolicyActors {
    pub users: Vec<Urn>,
    pub groups: Vec<Urn>,
    /// `None` keeps the roles of a policy that is updated.
    pub roles: Option<Vec<Urn>>,
    pub all_users: bool,
    pub all_groups: bool,
    pub resource_owners: bool,
    pub resource_owners_types: Option<Vec<Urn>>,
}

impl Catalog {
    /// Creates a policy, and returns its URN.
    pub async fn create_policy(&self, caller: &Caller, new: NewPolicy) -> Result<Urn, Error> {
        let urn = self.new_urn("dataHubPolicy", None)?;
        self.write_policy(caller, &urn, new, false).await?;
        Ok(urn)
    }

    /// Replaces a policy, except one of the root user.
    pub async fn update_policy(
        &self,
        caller: &Caller,
        urn: &Urn,
        new: NewPolicy,
    ) -> Result<(), Error> {
        urn.expect_type("dataHubPolicy")?;
        self.write_policy(caller, urn, new, true).await
    }

    /// Deletes a policy, except one of the root user.
    pub async fn delete_policy(&self, caller: &Caller, urn: &Urn) -> Result<(), Error> {
        urn.expect_type("dataHubPolicy")?;
        self.authorize(caller, &[MANAGE_POLICIES], None).await?;
        let proposal = Proposal::new(urn.clone(), Change::DeleteEntity)
            .requires_target()
            .requires_value(urn, AspectName::POLICY_INFO, check_editable(urn));
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    async fn write_policy(
        &self,
        caller: &Caller,
        urn: &Urn,
        new: NewPolicy,
        must_exist: bool,
    ) -> Result<(), Error> {
        self.authorize(caller, &[MANAGE_POLICIES], None).await?;
        check(&new)?;
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            let stored_roles = current.as_ref().map(|current| &current["actors"]["roles"]);
            let roles = match &new.actors.roles {
                Some(roles) => json!(roles),
                None => stored_roles.cloned().unwrap_or_else(|| json!([])),
            };
            Ok(policy_value(&new, &roles, stamp.time))
        };
        let mut proposal = Proposal::edit(urn.clone(), AspectName::POLICY_INFO, edit);
        if must_exist {
            proposal = proposal.requires_target().requires_value(
                urn,
                AspectName::POLICY_INFO,
                check_editable(urn),
            );
        }
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }
}

/// The aspect of a policy with these roles.
pub(crate) fn policy_value(new: &NewPolicy, roles: &Value, time_ms: EpochMillis) -> Value {
    let actors = &new.actors;
    let mut value = json!({
        "displayName": new.name,
        "description": new.description.clone().unwrap_or_default(),
        "type": match new.kind {
            PolicyKind::Platform => "PLATFORM",
            PolicyKind::Metadata => "METADATA",
        },
        "state": new.state,
        "privileges": new.privileges,
        "editable": true,
        "lastUpdatedTimestamp": time_ms,
        "actors": {
            "users": actors.users,
            "groups": actors.groups,
            "roles": roles,
            "allUsers": actors.all_users,
            "allGroups": actors.all_groups,
            "resourceOwners": actors.resource_owners,
        },
    });
    if let Some(types) = &actors.resource_owners_types {
        value["actors"]["resourceOwnersTypes"] = json!(types);
    }
    if let Some(resources) = &new.resources {
        value["resources"] = resources.clone();
    }
    value
}

/// Rejects changes of a policy that keeps the root user from being locked out.
pub(crate) fn check_editable(
    urn: &Urn,
) -> impl Fn(Option<Value>) -> Result<(), Error> + Send + Sync + 'static {
    let urn = urn.clone();
    move |current| match current {
        Some(policy) if policy["editable"] == false => {
            let message = format!(
                "{urn} cannot be changed or deleted: it makes sure that an administrator can always sign in and repair \
                 things"
            );
            Err(Error::forbidden(message).naming(&urn))
        }
        _ => Ok(()),
    }
}

/// Rejects what would silently grant nothing.
fn check(new: &NewPolicy) -> Result<(), Error> {
    if new.name.trim().is_empty() {
        return Err(Error::invalid("a policy needs a name"));
    }
    if new.privileges.is_empty() {
        return Err(Error::invalid("a policy needs at least one privilege"));
    }
    let is_known = |name: &&String| privilege::ALL.iter().any(|it| it.name() == name.as_str());
    if let Some(unknown) = new.privileges.iter().find(|name| !is_known(name)) {
        return Err(Error::invalid(format!(
            "'{unknown}' is not a privilege: see docs/ACCESS.md for their names"
        )));
    }
    for (urns, entity_type) in [
        (Some(&new.actors.users), "corpuser"),
        (Some(&new.actors.groups), "corpGroup"),
        (new.actors.roles.as_ref(), "dataHubRole"),
        (new.actors.resource_owners_types.as_ref(), "ownershipType"),
    ] {
        for urn in urns.into_iter().flatten() {
            urn.expect_type(entity_type)?;
        }
    }
    if let (PolicyKind::Platform, Some(_)) = (new.kind, &new.resources) {
        return Err(Error::invalid(
            "a policy of type PLATFORM has no resources: omit them, or choose METADATA",
        ));
    }
    let filter = new.resources.as_ref().map(|it| &it["filter"]["criteria"]);
    for criterion in filter.and_then(Value::as_array).into_iter().flatten() {
        let field = criterion["field"].as_str().unwrap_or_default();
        if !is_criterion_field(field) {
            return Err(Error::invalid(format!(
                "'{field}' is not a field of resources: use TYPE, URN, OWNER, DOMAIN, CONTAINER, TAG, GLOSSARY, \
                 GROUP_MEMBERSHIP or DATA_PLATFORM_INSTANCE"
            )));
        }
        let values = criterion["values"].as_array().into_iter().flatten();
        let unknown = values
            .filter_map(Value::as_str)
            .find(|value| is_entity_type(field) && !is_known_type(value));
        if let Some(unknown) = unknown {
            return Err(Error::invalid(format!(
                "'{unknown}' is not an entity type: use for example dataset"
            )));
        }
    }
    Ok(())
}

fn is_known_type(name: &str) -> bool {
    let spec = docent_model::Registry::get().entity(name);
    // Policies compare exactly, the registry does not.
    spec.is_some_and(|spec| spec.name == name)
}
