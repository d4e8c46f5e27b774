//! What gives a user rights: groups, roles and policies.

use std::collections::BTreeSet;

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::Value;

use super::read_identity;
use crate::privilege::MANAGE_POLICIES;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

/// What gives a user rights. Everything but the privileges is a URN.
#[derive(Debug, Clone, Default)]
pub struct AccessExplanation {
    /// Assigned to the user.
    pub roles: BTreeSet<String>,
    pub groups: BTreeSet<String>,
    pub groups_with_roles: BTreeSet<String>,
    pub roles_via_groups: BTreeSet<String>,
    /// The roles of the user and of the groups, or the default role if there are none.
    pub all_roles: BTreeSet<String>,
    /// The active policies that name the user, a group or a role.
    pub policies: BTreeSet<String>,
    /// What these policies grant, on some resources at least.
    pub privileges: BTreeSet<String>,
}

impl Catalog {
    /// The groups, roles, policies and privileges of a user, for callers that manage policies:
    /// nobody else sees those.
    /// Policies for owners count only if they name the user, too.
    pub async fn explain_access(
        &self,
        caller: &Caller,
        user: &Urn,
    ) -> Result<AccessExplanation, Error> {
        user.expect_type("corpuser")?;
        self.authorize(caller, &[MANAGE_POLICIES], None).await?;
        let missing = format!("the user {user} does not exist: listUsers lists them");
        self.expect_existing(user, missing).await?;
        let identity = match self.inner.access.get() {
            Some(access) => access.identity(self.store(), user).await?,
            None => read_identity(self.store(), user).await?,
        };
        let mut found = AccessExplanation {
            groups: identity.groups.iter().cloned().collect(),
            all_roles: identity.roles.iter().cloned().collect(),
            ..AccessExplanation::default()
        };
        let groups = found.groups.iter().map(|group| Urn::parse(group));
        let groups = groups.collect::<Result<Vec<Urn>, _>>()?;
        let mut actors = vec![user.clone()];
        actors.extend(groups);
        for (actor, roles) in actors.iter().zip(self.assigned_roles(&actors).await?) {
            if actor == user {
                found.roles = roles;
            } else if !roles.is_empty() {
                found.groups_with_roles.insert(actor.to_string());
                found.roles_via_groups.extend(roles);
            }
        }
        for policy in self.active_policies().await?.iter() {
            if identity.is_among(&policy.actors) {
                found.policies.insert(policy.urn.to_string());
                found.privileges.extend(policy.privileges.iter().cloned());
            }
        }
        Ok(found)
    }

    /// The roles that each of these users and groups is assigned.
    async fn assigned_roles(&self, actors: &[Urn]) -> Result<Vec<BTreeSet<String>>, Error> {
        let key = |actor: &Urn| AspectKey::new(actor, AspectName::ROLE_MEMBERSHIP);
        let keys: Vec<AspectKey> = actors.iter().map(key).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let roles = |row| {
            let membership: Value = aspect_value(row).unwrap_or_default();
            let roles = membership["roles"].as_array().into_iter().flatten();
            roles.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Ok(rows.iter().map(roles).collect())
    }
}
