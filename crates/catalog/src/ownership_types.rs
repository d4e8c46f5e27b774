//! Ownership types that users define. [`crate::owners`] has the built-in ones, and assigns them.

use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::limits::{check_name, check_note};
use crate::proposal::{Proposal, Requirement};
use crate::{Caller, Catalog, Change, Error};

const ENTITY: &str = "ownershipType";

/// Changes of an ownership type; `None` leaves a member unchanged.
#[derive(Debug, Clone, Default)]
pub struct OwnershipTypeUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
}

impl Catalog {
    /// Creates an ownership type and returns its URN.
    pub async fn create_ownership_type(
        &self,
        caller: &Caller,
        name: String,
        description: String,
    ) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, None)?;
        check(Some(&name), Some(&description))?;
        let aspect = AspectName::OWNERSHIP_TYPE_INFO;
        let proposal = Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, stamp| {
            Ok(json!({
                "name": name, "description": description, "created": stamp, "lastModified": stamp,
            }))
        })
        .requires(Requirement::IsNew {
            otherwise: "This Ownership Type already exists!".to_owned(),
        });
        self.apply(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Changes the name or the description of an ownership type.
    pub async fn update_ownership_type(
        &self,
        caller: &Caller,
        ownership_type: &Urn,
        update: OwnershipTypeUpdate,
    ) -> Result<(), Error> {
        ownership_type.expect_type(ENTITY)?;
        check(update.name.as_deref(), update.description.as_deref())?;
        let missing = missing(ownership_type);
        let aspect = AspectName::OWNERSHIP_TYPE_INFO;
        let proposal = Proposal::edit::<Value, _>(ownership_type.clone(), aspect, {
            let missing = missing.clone();
            move |current, stamp| {
                let mut info = current.ok_or_else(|| Error::no_entity(missing.clone()))?;
                if let Some(name) = &update.name {
                    info["name"] = json!(name);
                }
                if let Some(description) = &update.description {
                    info["description"] = json!(description);
                }
                info["lastModified"] = json!(stamp);
                Ok(info)
            }
        })
        .requires_existing(ownership_type, missing);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes an ownership type. Owners of this type stay owners, without it.
    pub async fn delete_ownership_type(
        &self,
        caller: &Caller,
        ownership_type: &Urn,
    ) -> Result<(), Error> {
        ownership_type.expect_type(ENTITY)?;
        let proposal = Proposal::new(ownership_type.clone(), Change::DeleteEntity)
            .requires_existing(ownership_type, missing(ownership_type));
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn check(name: Option<&str>, description: Option<&str>) -> Result<(), Error> {
    if let Some(name) = name {
        check_name("an ownership type", name)?;
    }
    check_note("the description", description)
}

fn missing(ownership_type: &Urn) -> String {
    format!("Failed to update {ownership_type}. The Ownership Type does not exist.")
}
