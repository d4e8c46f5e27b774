//! Who has which role. What a role may do is written in policies.

use docent_model::{AspectName, Urn};
use serde_json::json;

use crate::privilege::MANAGE_POLICIES;
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::Target;
use crate::{Caller, Catalog, Error};

impl Catalog {
    /// Sets the role of existing users and groups, or removes it; of all of them or of none.
    pub async fn assign_role(
        &self,
        caller: &Caller,
        actors: &[Urn],
        role: Option<&Urn>,
    ) -> Result<(), Error> {
        self.authorize_about(caller, &[MANAGE_POLICIES], actors)
            .await?;
        if let Some(role) = role {
            role.expect_type("dataHubRole")?;
        }
        let mut proposals = actors
            .iter()
            .map(|actor| {
                let target = Target::entity(actor.clone());
                target.expect_aspect(AspectName::ROLE_MEMBERSHIP, "a role")?;
                let missing = format!("Failed to assign a role to {actor}. It does not exist.");
                Ok(target.required_by(with_role(actor, role), missing))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        if let Some(role) = role {
            let missing = format!("Failed to assign the role {role}. It does not exist.");
            require_all(&mut proposals, [Requirement::exists(role, missing)]);
        }
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// The change that gives a user who is just created a role.
    pub(super) async fn first_role(
        &self,
        caller: &Caller,
        user: &Urn,
        role: &Urn,
    ) -> Result<Proposal, Error> {
        self.authorize_about(caller, &[MANAGE_POLICIES], std::slice::from_ref(user))
            .await?;
        role.expect_type("dataHubRole")?;
        let missing = format!(
            "there is no role {}: use Admin, Editor, Proposer, Reader or another existing role",
            role.key()
        );
        Ok(with_role(user, Some(role)).requires_existing(role, missing))
    }
}

pub(crate) fn with_role(actor: &Urn, role: Option<&Urn>) -> Proposal {
    let value = json!({"roles": role.as_slice()}).to_string();
    Proposal::upsert(actor.clone(), AspectName::ROLE_MEMBERSHIP, value)
}
