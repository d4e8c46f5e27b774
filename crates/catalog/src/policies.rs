//! Policies as entities: created, changed and deleted by those who manage policies.
//!
//! What policies mean is decided in [`crate::access`]. What a new policy may contain is checked in
//! [`mod@check`]: stored policies may be older, or come from DataHub.

mod check;

use std::slice::from_ref;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use crate::privilege::MANAGE_POLICIES;
pub use crate::privilege::PolicyKind;
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Caller, Catalog, Error};
pub(crate) use check::MAX_LISTED;

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
        self.authorize_about(caller, &[MANAGE_POLICIES], from_ref(urn))
            .await?;
        let missing = format!("Failed to delete {urn}. It does not exist.");
        let proposal = Proposal::new(urn.clone(), Change::DeleteEntity)
            .requires_existing(urn, missing)
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
        let existing = if must_exist { from_ref(urn) } else { &[] };
        self.authorize_about(caller, &[MANAGE_POLICIES], existing)
            .await?;
        let named = check::check(&new)?;
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            check::check_widening(current.as_ref(), &new)?;
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
        // What a policy names already may stay, even if it was never ingested here.
        let proposal = proposal.requires(Requirement::ExistOrNamed {
            urns: named,
            by: AspectKey::new(urn, AspectName::POLICY_INFO),
            otherwise: |urn| {
                format!(
                    "Failed to save the policy. {urn} does not exist: create it first, or remove it from the policy."
                )
            },
        });
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
        "type": new.kind.name(),
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
    if let Some(resources) = &new.resources
        && new.kind == PolicyKind::Metadata
    {
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
