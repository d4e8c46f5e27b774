//! Business attributes: what columns of several datasets have in common.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_search::{Criterion, Filter, SearchPage, SearchRequest};
use serde_json::{Value, json};

use crate::limits::{check_name, check_note};
use crate::owners;
use crate::privilege::{CREATE_BUSINESS_ATTRIBUTE, EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::{Target, column_of, expect_few};
use crate::{Caller, Catalog, Change, ConflictReason, Error};

const ENTITY: &str = "businessAttribute";

/// Members of a business attribute; `None` leaves one unchanged.
#[derive(Debug, Clone, Default)]
pub struct AttributeDetails {
    pub name: Option<String>,
    pub description: Option<String>,
    /// The type of the columns, by the name of its record, such as `StringType`.
    pub data_type: Option<&'static str>,
}

impl AttributeDetails {
    fn check(&self) -> Result<(), Error> {
        if let Some(name) = &self.name {
            check_name("a business attribute", name)?;
        }
        check_note("the description", self.description.as_deref())
    }

    fn set_in(&self, info: &mut Value, stamp: &AuditStamp) {
        if let Some(name) = &self.name {
            info["name"] = json!(name);
            info["fieldPath"] = json!(name);
        }
        if let Some(description) = &self.description {
            info["description"] = json!(description);
        }
        if let Some(kind) = self.data_type {
            info["type"] = json!({"type": {format!("com.linkedin.schema.{kind}"): {}}});
        }
        info["lastModified"] = json!(stamp);
    }
}

impl Catalog {
    /// Creates a business attribute, owned by its creator, and returns its URN.
    pub async fn create_business_attribute(
        &self,
        caller: &Caller,
        id: Option<&str>,
        details: AttributeDetails,
    ) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, id)?;
        details.check()?;
        self.expect_new_name(&urn, details.name.as_deref()).await?;
        let aspect = AspectName::BUSINESS_ATTRIBUTE_INFO;
        let info = Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, stamp| {
            let mut info = json!({ "created": stamp });
            details.set_in(&mut info, stamp);
            Ok(info)
        })
        .requires(Requirement::IsNew {
            otherwise: "This Business Attribute already exists!".to_owned(),
        });
        let owned = owners::created_by(&urn, caller)?;
        let proposals = [info, owned].map(|it| it.also_allowed_by(&[CREATE_BUSINESS_ATTRIBUTE]));
        self.apply(caller, proposals.into()).await?;
        Ok(urn)
    }

    /// Changes a business attribute.
    pub async fn update_business_attribute(
        &self,
        caller: &Caller,
        attribute: &Urn,
        details: AttributeDetails,
    ) -> Result<(), Error> {
        attribute.expect_type(ENTITY)?;
        details.check()?;
        self.expect_new_name(attribute, details.name.as_deref())
            .await?;
        let otherwise = missing(attribute);
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            let mut info = current.ok_or_else(|| Error::no_entity(otherwise.clone()))?;
            details.set_in(&mut info, stamp);
            Ok(info)
        };
        let aspect = AspectName::BUSINESS_ATTRIBUTE_INFO;
        let proposal = Proposal::edit(attribute.clone(), aspect, edit)
            .requires_existing(attribute, missing(attribute));
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a business attribute, and removes it from all columns.
    pub async fn delete_business_attribute(
        &self,
        caller: &Caller,
        attribute: &Urn,
    ) -> Result<(), Error> {
        attribute.expect_type(ENTITY)?;
        let proposal = Proposal::new(attribute.clone(), Change::DeleteEntity)
            .requires_existing(attribute, missing(attribute));
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Sets the business attribute of columns, replacing the one that they have.
    pub async fn add_business_attribute(
        &self,
        caller: &Caller,
        attribute: &Urn,
        columns: &[Target],
    ) -> Result<(), Error> {
        let value = json!({"businessAttribute": {"businessAttributeUrn": attribute}});
        self.change_columns(caller, attribute, columns, Some(value))
            .await
    }

    /// Removes a business attribute from columns. Not an error if a column does not have it.
    pub async fn remove_business_attribute(
        &self,
        caller: &Caller,
        attribute: &Urn,
        columns: &[Target],
    ) -> Result<(), Error> {
        self.change_columns(caller, attribute, columns, None).await
    }

    async fn change_columns(
        &self,
        caller: &Caller,
        attribute: &Urn,
        columns: &[Target],
        value: Option<Value>,
    ) -> Result<(), Error> {
        attribute.expect_type(ENTITY)?;
        expect_few("columns", columns.len())?;
        let aspect = AspectName::BUSINESS_ATTRIBUTES;
        let mut proposals = Vec::with_capacity(columns.len());
        for column in columns {
            column.expect_aspect(aspect, "business attributes")?;
            let Some((dataset, path)) = column_of(&column.urn) else {
                let message = format!("{} is no column of a dataset", column.urn);
                return Err(Error::invalid(message));
            };
            let (value, unwanted) = (value.clone(), json!(attribute));
            let edit = move |current: Option<Value>, _: &AuditStamp| {
                let is_there = current
                    .as_ref()
                    .and_then(|it| it.pointer("/businessAttribute/businessAttributeUrn"))
                    == Some(&unwanted);
                Ok(match &value {
                    Some(value) => Some(value.clone()),
                    None => is_there.then(|| json!({})),
                })
            };
            let proposal = Proposal::edit_if(column.urn.clone(), aspect, edit);
            // Columns are entities of their own only once somebody wrote about them.
            let missing = format!("{dataset} does not exist");
            let proposal = Target::new(dataset, Some(path)).required_by(proposal, missing);
            let editors = &[EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE];
            proposals.push(proposal.also_allowed_by(editors));
        }
        if proposals.is_empty() {
            return self.expect_existing(attribute, missing(attribute)).await;
        }
        let exists = Requirement::exists(attribute, missing(attribute));
        require_all(&mut proposals, [exists]);
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Fails if another business attribute has the name.
    async fn expect_new_name(&self, attribute: &Urn, name: Option<&str>) -> Result<(), Error> {
        let Some(name) = name else {
            return Ok(());
        };
        let request = SearchRequest {
            types: vec![ENTITY.to_owned()],
            filter: Filter::all(vec![Criterion::equal("name", name)]),
            page: SearchPage::Offset { start: 0, count: 2 },
            ..SearchRequest::default()
        };
        let others = self.search_unrestricted(&request).await?;
        if others.iter().all(|it| it == attribute) {
            return Ok(());
        }
        let message =
            format!("\"{name}\" already exists as Business Attribute. Please pick a unique name.");
        Err(Error::conflict(ConflictReason::AlreadyExists, message))
    }
}

fn missing(attribute: &Urn) -> String {
    format!("This urn does not exist: {attribute}")
}
