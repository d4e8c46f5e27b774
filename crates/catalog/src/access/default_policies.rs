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
        let mut proposals = Vec::new();
        for Item { id, members } in defaults.roles {
            let urn = Urn::new("dataHubRole", &id)?;
            let mut value = members;
            value.insert("editable".to_owned(), Value::Bool(false));
            let aspect = AspectName::ROLE_INFO;
            proposals.push(Proposal::upsert(
                urn,
                aspect,
                Value::Object(value).to_string(),
            ));
        }
        for Item { id, members } in defaults.policies {
            if !is_first && members["editable"] == json!(true) {
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
