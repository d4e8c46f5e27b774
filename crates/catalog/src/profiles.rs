//! What users write about themselves, and what is written about groups.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::check_length;
use crate::privilege::{EDIT_CONTACT_INFO, EDIT_ENTITY_DOCS, Privilege};
use crate::proposal::{Proposal, missing_target};
use crate::{Caller, Catalog, Error};

/// The longest texts are about a page.
const MAX_CHARACTERS: usize = 10_000;
/// The personas that DataHub has.
const PERSONAS: [&str; 4] = ["technicalUser", "businessUser", "dataLeader", "dataSteward"];

const CONTACT: &[Privilege] = &[EDIT_CONTACT_INFO];
const DESCRIPTION: &[Privilege] = &[EDIT_ENTITY_DOCS];

/// Members of a profile, and the privileges of which one suffices to change them.
type Sufficient<'a> = (&'a [&'a str], &'static [Privilege]);

/// The parts of a user's profile to change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UserProfile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about_me: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teams: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture_link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(
        rename(serialize = "platforms"),
        skip_serializing_if = "Option::is_none"
    )]
    pub platform_urns: Option<Vec<String>>,
    #[serde(rename(serialize = "persona"), skip_serializing_if = "Option::is_none")]
    pub persona_urn: Option<String>,
}

/// The parts of a group's profile to change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GroupProfile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture_link: Option<String>,
}

impl Catalog {
    /// Changes the profile of a user: their own, or that of another one.
    pub async fn update_user_profile(
        &self,
        caller: &Caller,
        user: &Urn,
        profile: &UserProfile,
    ) -> Result<(), Error> {
        user.expect_type("corpuser")?;
        for platform in profile.platform_urns.iter().flatten() {
            let platform = Registry::get().parse_urn(platform)?;
            platform.expect_type("dataPlatform")?;
        }
        if let Some(persona) = &profile.persona_urn {
            check_persona(persona)?;
        }
        let contact = ["slack", "phone", "email"];
        let privileges: &[Sufficient<'_>] = &[(&contact, CONTACT)];
        let aspect = AspectName::CORP_USER_EDITABLE_INFO;
        self.update_profile(caller, user, aspect, members(profile)?, privileges)
            .await
    }

    /// Changes the profile of a group.
    pub async fn update_group_profile(
        &self,
        caller: &Caller,
        group: &Urn,
        profile: &GroupProfile,
    ) -> Result<(), Error> {
        group.expect_type("corpGroup")?;
        let privileges: &[Sufficient<'_>] = &[
            (&["description"], DESCRIPTION),
            (&["slack", "email"], CONTACT),
        ];
        let aspect = AspectName::CORP_GROUP_EDITABLE_INFO;
        self.update_profile(caller, group, aspect, members(profile)?, privileges)
            .await
    }

    /// Changes members of a profile. A privilege for some of them suffices if there are no others.
    async fn update_profile(
        &self,
        caller: &Caller,
        urn: &Urn,
        aspect: AspectName,
        changes: Map<String, Value>,
        privileges: &[Sufficient<'_>],
    ) -> Result<(), Error> {
        for (name, value) in &changes {
            let items = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            for text in items.iter().filter_map(Value::as_str) {
                check_length(name, text, MAX_CHARACTERS)?;
            }
        }
        if changes.is_empty() {
            return self.expect_existing(urn, missing_target(urn)).await;
        }
        let suffices = |(known, _): &&Sufficient<'_>| {
            let mut names = changes.keys();
            names.all(|name| known.contains(&name.as_str()))
        };
        let sufficient = privileges.iter().find(suffices);
        let sufficient = sufficient.map(|(_, privileges)| *privileges);
        let edit = move |current: Option<Map<String, Value>>, _: &AuditStamp| {
            let mut profile = current.unwrap_or_default();
            profile.extend(changes.clone());
            Ok(profile)
        };
        let mut proposal = Proposal::edit(urn.clone(), aspect, edit).requires_target();
        if let Some(privileges) = sufficient {
            proposal = proposal.also_allowed_by(privileges);
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn members(profile: &impl Serialize) -> Result<Map<String, Value>, Error> {
    match serde_json::to_value(profile) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Error::invalid("the profile is not an object")),
    }
}

fn check_persona(persona: &str) -> Result<(), Error> {
    let key = persona.strip_prefix("urn:li:dataHubPersona:");
    if key.is_some_and(|key| PERSONAS.contains(&key)) {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "Provided persona urn {persona} does not exist"
    )))
}
