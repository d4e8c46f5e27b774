//! The roles and policies of a new catalog, which are DataHub's.
//!
//! Policies that are not editable are written at every start, so that no change of data locks
//! everybody out. The others are written once, with the first start: administrators may change or
//! delete them.

use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::{Caller, Catalog, Error};

const DEFAULTS: &str = include_str!("default_policies.json");

#[derive(Debug, Deserialize)]
struct Defaults {
    roles: Vec<Item>,
    policies: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    id: String,
    #[serde(flatten)]
    members: Map<String, Value>,
}

impl Catalog {
    /// Writes the default roles and policies that are missing. Called at every start.
    pub async fn ensure_policies(&self) -> Result<(), Error> {
        let defaults: Defaults = serde_json::from_str(DEFAULTS)
            .map_err(|error| Error::internal(docent_store::StoreError::other(error.to_string())))?;
        // Only an operator can delete these.
        let root = [
            Urn::new("dataHubPolicy", "0")?,
            Urn::new("dataHubPolicy", "1")?,
        ];
        let is_first = !self.exists(&root).await?.contains(&true);
        let roles = defaults
            .roles
            .iter()
            .map(|role| Urn::new("dataHubRole", &role.id));
        let roles: Vec<Urn> = roles.collect::<Result<_, _>>()?;
        let known = self.exists(&roles).await?;
        let new_roles: Vec<&Urn> = roles
            .iter()
            .zip(known)
            .filter_map(|(role, is_known)| (!is_known).then_some(role))
            .collect();
        let mut proposals = Vec::new();
        for (urn, Item { members, .. }) in roles.iter().zip(defaults.roles) {
            let mut value = members;
            value.insert("editable".to_owned(), Value::Bool(false));
            let aspect = AspectName::ROLE_INFO;
            proposals.push(Proposal::upsert(
                urn.clone(),
                aspect,
                Value::Object(value).to_string(),
            ));
        }
        for Item { id, members } in defaults.policies {
            // A role that a later version added comes with its policies.
            let actors = members["actors"]["roles"].as_array();
            let is_new = actors
                .into_iter()
                .flatten()
                .any(|role| new_roles.iter().any(|urn| role == urn.as_str()));
            if !is_first && !is_new && members["editable"] == json!(true) {
                continue;
            }
            let urn = Urn::new("dataHubPolicy", &id)?;
            let mut value = members;
            value.insert("state".to_owned(), json!("ACTIVE"));
            let aspect = AspectName::POLICY_INFO;
            proposals.push(Proposal::upsert(
                urn,
                aspect,
                Value::Object(value).to_string(),
            ));
        }
        self.apply(&Caller::system(), proposals).await?;
        Ok(())
    }
}
