//! Updates of several parts of a dataset at once. Parts that an update does not name stay
//! unchanged.

use std::collections::HashMap;

use docent_model::aspects::{
    AuditStamp, EditableDatasetProperties, EditableSchemaMetadata, InstitutionalMemory, Link, Other,
};
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use serde_json::{Value, json};

use crate::owners::{self, NewOwner};
use crate::proposal::{Proposal, Requirement, missing_target};
use crate::{Caller, Catalog, Error};

/// The parts of a dataset to change.
#[derive(Debug, Clone, Default)]
pub struct DatasetUpdate {
    pub properties: Option<PropertiesUpdate>,
    pub links: Vec<LinkUpdate>,
    pub columns: Vec<ColumnUpdate>,
    /// Replaces all owners.
    pub owners: Option<Vec<NewOwner>>,
    pub deprecation: Option<DeprecationUpdate>,
    /// Replaces all tags.
    pub tags: Option<Vec<Urn>>,
}

#[derive(Debug, Clone)]
pub struct PropertiesUpdate {
    pub description: String,
    pub name: Option<String>,
}

#[derive(Debug, Clone)]
pub struct LinkUpdate {
    pub url: String,
    pub description: Option<String>,
    pub author: Urn,
    pub created_at: Option<EpochMillis>,
}

#[derive(Debug, Clone)]
pub struct ColumnUpdate {
    pub field_path: String,
    pub description: Option<String>,
    pub tags: Option<Vec<Urn>>,
}

#[derive(Debug, Clone)]
pub struct DeprecationUpdate {
    pub deprecated: bool,
    pub decommission_time: Option<EpochMillis>,
    pub note: String,
}

impl Catalog {
    /// Updates datasets that must exist; all of them or none.
    pub async fn update_datasets(
        &self,
        caller: &Caller,
        updates: Vec<(Urn, DatasetUpdate)>,
    ) -> Result<(), Error> {
        let mut proposals = Vec::new();
        for (urn, update) in updates {
            urn.expect_type("dataset")?;
            Registry::get().check_urn(&urn)?;
            let parts = update_proposals(&urn, update)?;
            if parts.is_empty() {
                self.expect_existing(&urn, missing_target(&urn)).await?;
            }
            proposals.extend(parts.into_iter().map(Proposal::requires_target));
        }
        self.apply(caller, proposals).await?;
        Ok(())
    }
}

fn update_proposals(urn: &Urn, update: DatasetUpdate) -> Result<Vec<Proposal>, Error> {
    let mut proposals = Vec::new();
    if let Some(properties) = update.properties {
        proposals.push(properties_proposal(urn, properties));
    }
    if !update.links.is_empty() {
        proposals.push(links_proposal(urn, update.links)?);
    }
    if !update.columns.is_empty() {
        proposals.push(columns_proposal(urn, update.columns)?);
    }
    if let Some(owners) = update.owners {
        proposals.push(owners_proposal(urn, owners)?);
    }
    if let Some(deprecation) = update.deprecation {
        proposals.push(replace(
            urn,
            AspectName::DATASET_DEPRECATION,
            move |stamp| {
                let mut value = json!({
                    "deprecated": deprecation.deprecated,
                    "note": deprecation.note,
                    "actor": stamp.actor,
                });
                if let Some(time) = deprecation.decommission_time {
                    value["decommissionTime"] = json!(time);
                }
                value
            },
        ));
    }
    if let Some(tags) = update.tags {
        proposals.push(tags_proposal(urn, &tags)?);
    }
    Ok(proposals)
}

fn properties_proposal(urn: &Urn, update: PropertiesUpdate) -> Proposal {
    Proposal::edit_stamped::<EditableDatasetProperties, _>(
        urn.clone(),
        AspectName::EDITABLE_DATASET_PROPERTIES,
        move |properties, _| {
            properties.description = Some(update.description.clone());
            if update.name.is_some() {
                properties.name.clone_from(&update.name);
            }
            Ok(())
        },
    )
}

/// An existing URL gets the new label; other links are appended.
fn links_proposal(urn: &Urn, updates: Vec<LinkUpdate>) -> Result<Proposal, Error> {
    for update in &updates {
        crate::links::check_url(urn, &update.url)?;
        update.author.expect_type("corpuser")?;
    }
    let proposal = Proposal::edit::<InstitutionalMemory, _>(
        urn.clone(),
        AspectName::INSTITUTIONAL_MEMORY,
        move |current, stamp| {
            let mut links = current.unwrap_or_default();
            let mut at_url = HashMap::new();
            for (at, link) in links.elements.iter().enumerate() {
                at_url.entry(link.url.clone()).or_insert(at);
            }
            for update in &updates {
                if let Some(at) = at_url.get(&update.url) {
                    let link = &mut links.elements[*at];
                    if let Some(description) = &update.description
                        && link.description != *description
                    {
                        link.description.clone_from(description);
                        link.update_stamp = Some(AuditStamp::new(&update.author, stamp.time));
                    }
                    continue;
                }
                at_url.insert(update.url.clone(), links.elements.len());
                links.elements.push(Link {
                    url: update.url.clone(),
                    // A link without a label is shown by its URL.
                    description: update
                        .description
                        .clone()
                        .unwrap_or_else(|| update.url.clone()),
                    create_stamp: AuditStamp::new(
                        &update.author,
                        update.created_at.unwrap_or(stamp.time),
                    ),
                    update_stamp: None,
                    settings: None,
                    other: Other::new(),
                });
            }
            Ok(links)
        },
    );
    Ok(proposal.naming_authors())
}

fn columns_proposal(urn: &Urn, updates: Vec<ColumnUpdate>) -> Result<Proposal, Error> {
    let field_paths = updates
        .iter()
        .map(|update| update.field_path.clone())
        .collect();
    let updates = updates
        .into_iter()
        .map(|update| {
            let tags = update.tags.as_deref().map(tag_list).transpose()?;
            Ok((update.field_path, update.description, tags))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let proposal = Proposal::edit_stamped::<EditableSchemaMetadata, _>(
        urn.clone(),
        AspectName::EDITABLE_SCHEMA_METADATA,
        move |columns, _| {
            let paths = updates.iter().map(|(field_path, ..)| field_path.as_str());
            for (at, (_, description, tags)) in columns.positions(paths).into_iter().zip(&updates) {
                let column = &mut columns.editable_schema_field_info[at];
                if description.is_some() {
                    column.description.clone_from(description);
                }
                if let Some(tags) = tags {
                    column.other.insert("globalTags".to_owned(), tags.clone());
                }
            }
            Ok(())
        },
    );
    Ok(proposal.requires(Requirement::HasColumns {
        dataset: urn.clone(),
        field_paths,
    }))
}

/// Replaces all owners. One without a type gets the type `NONE`.
pub(crate) fn owners_proposal(urn: &Urn, mut owners: Vec<NewOwner>) -> Result<Proposal, Error> {
    for owner in &mut owners {
        owner.kind.get_or_insert_with(|| "CUSTOM".to_owned());
    }
    owners::replace(urn, &owners, "SERVICE")
}

/// Replaces all tags.
pub(crate) fn tags_proposal(urn: &Urn, tags: &[Urn]) -> Result<Proposal, Error> {
    let tags = tag_list(tags)?;
    Ok(replace(urn, AspectName::GLOBAL_TAGS, move |_| tags.clone()))
}

fn tag_list(tags: &[Urn]) -> Result<Value, Error> {
    let tags = tags
        .iter()
        .map(|tag| {
            tag.expect_type("tag")?;
            Ok(json!({"tag": tag}))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(json!({"tags": tags}))
}

fn replace<F>(urn: &Urn, aspect: AspectName, value: F) -> Proposal
where
    F: Fn(&AuditStamp) -> Value + Send + Sync + 'static,
{
    Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, stamp| Ok(value(stamp)))
}
