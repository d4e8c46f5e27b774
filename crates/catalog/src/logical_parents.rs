//! Links of physical datasets and columns with the logical ones that they implement.

use std::collections::BTreeSet;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::target::{Target, column_of, column_urn};
use crate::{Caller, Catalog, Error};

const DATASET: &str = "dataset";
/// The platforms that every DataHub has for logical models.
const BUILT_IN: [&str; 2] = ["logical", "odcs"];

/// A column of a logical model and the physical one that implements it.
#[derive(Debug, Clone)]
pub struct ColumnMapping {
    pub parent: String,
    pub child: String,
}

impl Catalog {
    /// Links a physical dataset with the logical model that it implements, and its columns with
    /// those of the model.
    pub async fn link_physical_child(
        &self,
        caller: &Caller,
        parent: &Urn,
        child: &Urn,
        mappings: &[ColumnMapping],
    ) -> Result<(), Error> {
        let distinct = |column: fn(&ColumnMapping) -> &String| {
            let mut seen = BTreeSet::new();
            for mapping in mappings {
                if !seen.insert(column(mapping)) {
                    return Err(Error::invalid(format!(
                        "the column {} is mapped twice",
                        column(mapping)
                    )));
                }
            }
            Ok(())
        };
        for dataset in [parent, child] {
            dataset.expect_type(DATASET)?;
        }
        distinct(|it| &it.parent)?;
        distinct(|it| &it.child)?;
        let mut proposals = vec![link(child, parent)?];
        for mapping in mappings {
            let parent = column_urn(parent, &mapping.parent)?;
            let child = column_urn(child, &mapping.child)?;
            proposals.push(link(&child, &parent)?);
        }
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Removes the link of a physical dataset with its logical model, and those of its columns.
    pub async fn unlink_physical_child(&self, caller: &Caller, child: &Urn) -> Result<(), Error> {
        child.expect_type(DATASET)?;
        Registry::get().check_urn(child)?;
        let missing = format!("the dataset {child} does not exist");
        self.expect_existing(child, missing.clone()).await?;
        let key = AspectKey::new(child, AspectName::SCHEMA_METADATA);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let schema: Value = aspect_value(&row).unwrap_or_default();
        let columns = columns_in(&schema)
            .map(|(path, _)| {
                Ok(AspectKey::new(
                    &column_urn(child, path)?,
                    AspectName::LOGICAL_PARENT,
                ))
            })
            .collect::<Result<Vec<AspectKey>, Error>>()?;
        let are_linked = self.are_stored(&columns).await?;
        let linked = columns
            .iter()
            .zip(are_linked)
            .filter(|(_, is_linked)| *is_linked);
        let mut proposals = vec![unlink(child, None).requires_existing(child, missing)];
        proposals.extend(linked.map(|(key, _)| unlink(&key.urn, None)));
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Sets the logical dataset or column that a physical one implements, or removes it.
    pub async fn set_logical_parent(
        &self,
        caller: &Caller,
        resource: &Urn,
        parent: Option<&Urn>,
    ) -> Result<(), Error> {
        let proposal = match parent {
            Some(parent) => link(resource, parent)?,
            None => require_asset(unlink(resource, None), resource)?,
        };
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

/// The columns of a schema, each with its type.
pub(crate) fn columns_in(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = schema["fields"].as_array().into_iter().flatten();
    fields.filter_map(|field| Some((field["fieldPath"].as_str()?, &field["type"])))
}

/// Fails unless the platform with this information holds logical models. Those of DataHub do, even
/// if nothing is stored about them.
pub(crate) fn expect_logical(platform: &Urn, info: Option<&Value>) -> Result<(), Error> {
    match info {
        Some(info) if info["logical"] == true => Ok(()),
        None if BUILT_IN.contains(&platform.key()) => Ok(()),
        _ => Err(Error::invalid(not_logical(platform))),
    }
}

pub(crate) fn not_logical(platform: &Urn) -> String {
    format!("{platform} is not a logical platform: it cannot have logical models")
}

/// Links a physical dataset or column with a logical one of the same kind. The batch checks the
/// platform of the parent and the right on it, as for every write of the aspect.
fn link(child: &Urn, parent: &Urn) -> Result<Proposal, Error> {
    parent.expect_type(child.entity_type())?;
    if child == parent {
        return Err(Error::invalid(format!(
            "{child} cannot be its own logical parent"
        )));
    }
    let to = parent.clone();
    let edit = move |current: Option<Value>, stamp: &AuditStamp| {
        let is_same = current.as_ref().and_then(parent_in) == Some(to.as_str());
        let edge = json!({"destinationUrn": to, "created": stamp, "lastModified": stamp});
        Ok((!is_same).then(|| json!({ "parent": edge })))
    };
    let proposal = Proposal::edit_if(child.clone(), AspectName::LOGICAL_PARENT, edit);
    require_asset(require_asset(proposal, child)?, parent)
}

/// Removes the link with a logical parent, or with any.
pub(crate) fn unlink(child: &Urn, parent: Option<Urn>) -> Proposal {
    let edit = move |current: Option<Value>, _: &AuditStamp| {
        let linked = current.as_ref().and_then(parent_in);
        let is_meant = match &parent {
            Some(parent) => linked == Some(parent.as_str()),
            None => linked.is_some(),
        };
        Ok(is_meant.then(|| json!({})))
    };
    Proposal::edit_if(child.clone(), AspectName::LOGICAL_PARENT, edit)
}

/// The parent in the aspect of a link.
pub(crate) fn parent_in(aspect: &Value) -> Option<&str> {
    aspect["parent"]["destinationUrn"].as_str()
}

/// Requires that a dataset or column exists.
fn require_asset(proposal: Proposal, asset: &Urn) -> Result<Proposal, Error> {
    let target = if let Some((dataset, path)) = column_of(asset) {
        Target::new(dataset, Some(path))
    } else {
        asset.expect_type(DATASET)?;
        Target::entity(asset.clone())
    };
    Registry::get().check_urn(&target.urn)?;
    let missing = format!("the dataset {} does not exist", target.urn);
    Ok(target.required_by(proposal, missing))
}
