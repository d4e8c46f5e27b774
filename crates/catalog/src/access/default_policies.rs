//! The roles and policies of a new catalog, which are DataHub's.
//!
//! Policies that are not editable are restored at every start, so that no change of data locks
//! everybody out. The others are written once, with the first start: administrators may change or
//! delete them. A start that finds everything as it should be writes nothing: a write would wait
//! for the locks of others, and so for transactions of a server that was killed.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::proposal::Proposal;
use crate::stored::aspect_value;
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
        let mut expected = Vec::new();
        for (urn, Item { members, .. }) in roles.iter().zip(defaults.roles) {
            let mut value = members;
            value.insert("editable".to_owned(), Value::Bool(false));
            let key = AspectKey::new(urn, AspectName::ROLE_INFO);
            expected.push((key, Value::Object(value)));
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
            let key = AspectKey::new(&urn, AspectName::POLICY_INFO);
            expected.push((key, Value::Object(value)));
        }
        let proposals = self.changed(expected).await?;
        self.apply(&Caller::system(), proposals).await?;
        Ok(())
    }

    /// Proposals for the values that are not stored as they are.
    async fn changed(&self, expected: Vec<(AspectKey, Value)>) -> Result<Vec<Proposal>, Error> {
        let keys: Vec<AspectKey> = expected.iter().map(|(key, _)| key.clone()).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let expected = expected.into_iter().zip(rows);
        Ok(expected
            .filter(|((_, value), row)| aspect_value(row).as_ref() != Some(value))
            .map(|((key, value), _)| Proposal::upsert(key.urn, key.aspect, value.to_string()))
            .collect())
    }
}
