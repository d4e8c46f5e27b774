//! Applications: creation, changes and deletion, and the assets that belong to them.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::domains::assignment;
use crate::limits::check_name;
use crate::owners;
use crate::privilege::EDIT_ENTITY;
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::{Target, edit_list, edit_members, expect_few};
use crate::{Caller, Catalog, Change, Error};

const ENTITY: &str = "application";

/// An application to create.
#[derive(Debug, Clone)]
pub struct NewApplication {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub domain: Option<Urn>,
    /// Whether the creator becomes its owner.
    pub is_owned: bool,
}

/// Changes of an application; `None` leaves a member unchanged.
#[derive(Debug, Clone, Default)]
pub struct ApplicationUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
}

impl Catalog {
    /// Creates an application and returns its URN.
    pub async fn create_application(
        &self,
        caller: &Caller,
        new: NewApplication,
    ) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, new.id.as_deref())?;
        check_name("an application", &new.name)?;
        let mut value = json!({"name": new.name});
        if let Some(description) = &new.description {
            value["description"] = json!(description);
        }
        let aspect = AspectName::APPLICATION_PROPERTIES;
        let properties =
            Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, _| Ok(value.clone()));
        let properties = properties.requires(Requirement::IsNew {
            otherwise: "This Application already exists!".to_owned(),
        });
        let mut proposals = vec![properties];
        if let Some(domain) = &new.domain {
            domain.expect_type("domain")?;
            let in_domain = assignment(&Target::entity(urn.clone()), Some(domain))?;
            let missing = "The Domain provided does not exist";
            proposals.push(in_domain.requires_existing(domain, missing));
        }
        if new.is_owned {
            proposals.push(owners::created_by(&urn, caller)?);
        }
        self.apply(caller, proposals).await?;
        Ok(urn)
    }

    /// Changes the name or the description of an application.
    pub async fn update_application(
        &self,
        caller: &Caller,
        application: &Urn,
        update: ApplicationUpdate,
    ) -> Result<(), Error> {
        application.expect_type(ENTITY)?;
        let mut members = Vec::new();
        if let Some(name) = &update.name {
            check_name("an application", name)?;
            members.push(("name", Some(json!(name))));
        }
        if let Some(description) = &update.description {
            members.push(("description", Some(json!(description))));
        }
        let proposal = edit_members(application, AspectName::APPLICATION_PROPERTIES, members);
        self.apply(caller, vec![existing(proposal, application)])
            .await?;
        Ok(())
    }

    /// Deletes an application and removes it from its assets.
    pub async fn delete_application(
        &self,
        caller: &Caller,
        application: &Urn,
    ) -> Result<(), Error> {
        application.expect_type(ENTITY)?;
        let proposal = Proposal::new(application.clone(), Change::DeleteEntity)
            .also_allowed_by(&[EDIT_ENTITY]);
        self.apply(caller, vec![existing(proposal, application)])
            .await?;
        Ok(())
    }

    /// Adds assets to an application; to those that they are in already, too.
    pub async fn add_to_application(
        &self,
        caller: &Caller,
        application: &Urn,
        assets: &[Target],
    ) -> Result<(), Error> {
        let new = json!(application);
        let edit = move |applications: &mut Vec<Value>| {
            if !applications.contains(&new) {
                applications.push(new.clone());
            }
        };
        self.change_applications(caller, Some(application), assets, edit)
            .await
    }

    /// Removes assets from an application. An asset that is not in it is no error.
    pub async fn remove_from_application(
        &self,
        caller: &Caller,
        application: &Urn,
        assets: &[Target],
    ) -> Result<(), Error> {
        let unwanted = json!(application);
        let edit = move |applications: &mut Vec<Value>| applications.retain(|it| *it != unwanted);
        self.change_applications(caller, Some(application), assets, edit)
            .await
    }

    /// Removes assets from all applications.
    pub async fn remove_from_all_applications(
        &self,
        caller: &Caller,
        assets: &[Target],
    ) -> Result<(), Error> {
        self.change_applications(caller, None, assets, Vec::clear)
            .await
    }

    async fn change_applications<F>(
        &self,
        caller: &Caller,
        application: Option<&Urn>,
        assets: &[Target],
        edit: F,
    ) -> Result<(), Error>
    where
        F: Fn(&mut Vec<Value>) + Clone + Send + Sync + 'static,
    {
        expect_few("assets", assets.len())?;
        let missing = |application: &Urn| {
            format!("Failed to update applications, Application urn {application} does not exist")
        };
        if let Some(application) = application {
            application.expect_type(ENTITY)?;
            if assets.is_empty() {
                self.expect_existing(application, missing(application))
                    .await?;
            }
        }
        let proposals = assets.iter().map(|asset| {
            let proposal = edit_applications(asset, edit.clone())?;
            let missing = format!(
                "Failed to update applications, {} in resources does not exist",
                asset.urn
            );
            Ok(asset.required_by(proposal, missing))
        });
        let mut proposals = proposals.collect::<Result<Vec<_>, Error>>()?;
        let exists = |urn: &Urn| Requirement::exists(urn, missing(urn));
        require_all(&mut proposals, application.map(exists));
        self.apply(caller, proposals).await?;
        Ok(())
    }
}

fn existing(proposal: Proposal, application: &Urn) -> Proposal {
    let missing = format!("Failed to update {application}. The Application does not exist.");
    proposal.requires_existing(application, missing)
}

/// An edit of the applications of an asset.
fn edit_applications<F>(asset: &Target, edit: F) -> Result<Proposal, Error>
where
    F: Fn(&mut Vec<Value>) + Send + Sync + 'static,
{
    let aspect = AspectName::APPLICATIONS;
    asset.expect_aspect(aspect, "applications")?;
    let edit = move |applications: &mut Vec<Value>, _: &AuditStamp| edit(applications);
    Ok(edit_list(&asset.urn, aspect, "applications", edit))
}
