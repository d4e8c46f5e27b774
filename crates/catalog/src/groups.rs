//! Groups of users that are managed here, not by an identity provider.
//!
//! Membership is stored with the user (`nativeGroupMembership`), so that one read has all groups
//! of a caller.

use std::collections::HashSet;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::access::read_identity;
use crate::limits::{check_name, check_note};
use crate::privilege::{self as p, Privilege};
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Caller, Catalog, Error};

/// A group to create.
#[derive(Debug, Clone)]
pub struct NewGroup {
    /// `None` generates one.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    Add,
    Remove,
}

impl MemberChange {
    /// Changes a list of URNs, and returns whether that had an effect.
    pub(crate) fn apply(self, list: &mut Vec<Value>, member: &Urn) -> bool {
        let before = list.len();
        let is_member = |item: &Value| item.as_str() == Some(member.as_str());
        match self {
            Self::Remove => list.retain(|item| !is_member(item)),
            Self::Add if list.iter().any(is_member) => {}
            Self::Add => list.push(json!(member)),
        }
        list.len() != before
    }
}

/// The most users that one call adds or removes.
const MAX_MEMBERS: usize = 1_000;

const GROUP_CREATORS: &[Privilege] = &[
    p::MANAGE_USERS_AND_GROUPS,
    p::CREATE_USERS_AND_GROUPS,
    p::CREATE_GROUPS,
    p::UPDATE_GROUPS,
];
const GROUP_MANAGERS: &[Privilege] = &[
    p::MANAGE_USERS_AND_GROUPS,
    p::UPDATE_USERS_AND_GROUPS,
    p::UPDATE_GROUPS,
];
const MEMBER_EDITORS: &[Privilege] = &[
    p::EDIT_GROUP_MEMBERS,
    p::MANAGE_USERS_AND_GROUPS,
    p::UPDATE_USERS_AND_GROUPS,
    p::UPDATE_GROUPS,
];

impl Catalog {
    /// Creates a group, and returns its URN.
    pub async fn create_group(&self, caller: &Caller, new: NewGroup) -> Result<Urn, Error> {
        self.authorize(caller, GROUP_CREATORS, None).await?;
        check_name("a group", &new.name)?;
        check_note("the description", new.description.as_deref())?;
        let urn = self.new_urn("corpGroup", new.id.as_deref())?;
        let info = move |_: Option<Value>, stamp: &AuditStamp| {
            Ok(json!({
                "displayName": new.name,
                "description": new.description.clone().unwrap_or_default(),
                "admins": [], "members": [], "groups": [],
                "created": stamp,
            }))
        };
        let info = Proposal::edit(urn.clone(), AspectName::CORP_GROUP_INFO, info).requires(
            Requirement::IsNew {
                otherwise: "This Group already exists!".to_owned(),
            },
        );
        let origin = json!({"type": "NATIVE"}).to_string();
        let origin = Proposal::upsert(urn.clone(), AspectName::ORIGIN, origin);
        self.apply_authorized(caller, vec![info, origin]).await?;
        Ok(urn)
    }

    /// Adds existing users to a group or removes users from it, all of them or none. Those who are
    /// members already, or are not, are no error.
    pub async fn change_group_members(
        &self,
        caller: &Caller,
        group: &Urn,
        users: &[Urn],
        change: MemberChange,
    ) -> Result<(), Error> {
        group.expect_type("corpGroup")?;
        // Owners who join their group would give themselves its roles.
        let joins = change == MemberChange::Add && users.contains(caller.actor());
        let privileges = if joins {
            GROUP_MANAGERS
        } else {
            MEMBER_EDITORS
        };
        self.authorize(caller, privileges, Some(group)).await?;
        if users.len() > MAX_MEMBERS {
            return Err(Error::invalid(format!(
                "{} users are too many for one request: send at most {MAX_MEMBERS}",
                users.len()
            )));
        }
        let mut proposals = Vec::with_capacity(users.len());
        for user in users {
            user.expect_type("corpuser")?;
            let mut proposal = membership(user, group, change);
            if change == MemberChange::Add {
                let missing =
                    format!("Failed to change the members of {group}. {user} does not exist.");
                proposal = proposal.requires_existing(user, missing);
            }
            proposals.push(proposal);
        }
        if let Some(first) = proposals.first_mut() {
            let missing = format!("Failed to change the members of {group}. It does not exist.");
            first
                .requirements
                .insert(0, Requirement::exists(group, missing));
        }
        self.apply_with_right_on(caller, privileges, [group.clone()], proposals)
            .await?;
        Ok(())
    }

    /// Deletes a group, and removes it from its members, from owners and from policies.
    /// Memberships that begin meanwhile end with the deletion.
    pub async fn remove_group(&self, caller: &Caller, group: &Urn) -> Result<(), Error> {
        group.expect_type("corpGroup")?;
        self.authorize(caller, GROUP_MANAGERS, Some(group)).await?;
        let missing = format!("Failed to delete {group}. It does not exist.");
        self.expect_existing(group, missing).await?;
        self.delete_references(&caller.as_system(), group, false)
            .await?;
        let delete = Proposal::new(group.clone(), Change::DeleteEntity);
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    /// The URNs of a user and of the user's groups, without soft-deleted ones.
    pub async fn identities_of(&self, user: &Urn) -> Result<HashSet<String>, Error> {
        let identity = read_identity(self.store(), user).await?;
        let mut urns = identity.groups;
        urns.insert(identity.user);
        Ok(urns)
    }
}

fn membership(user: &Urn, group: &Urn, change: MemberChange) -> Proposal {
    let group = group.clone();
    Proposal::edit_if::<Value, _>(
        user.clone(),
        AspectName::NATIVE_GROUP_MEMBERSHIP,
        move |current, _| {
            let mut groups = match current.map(|mut it| it["nativeGroups"].take()) {
                Some(Value::Array(groups)) => groups,
                _ => Vec::new(),
            };
            let is_changed = change.apply(&mut groups, &group);
            Ok(is_changed.then(|| json!({"nativeGroups": groups})))
        },
    )
}
