//! Logical models: datasets on a platform of their own, with columns that users define, and links
//! to the physical datasets that implement them.

use std::collections::{BTreeSet, HashMap};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Map, Value, json};

use crate::limits::{check_length, check_name, check_one_line};
use crate::privilege::{CREATE_LOGICAL_MODELS, EDIT_ENTITY};
use crate::proposal::{Proposal, Requirement};
use crate::stored::aspect_value;
use crate::target::{Target, column_of, column_urn};
use crate::{Caller, Catalog, ConflictReason, Error, MAX_PROPOSALS};

const DATASET: &str = "dataset";
/// The relationship of a physical dataset or column with the logical one.
const INSTANCE_OF: &str = "PhysicalInstanceOf";
const DEFAULT_PLATFORM: &str = "urn:li:dataPlatform:logical";
/// As DataHub's model has it.
const MAX_PLATFORM_NAME: usize = 15;
const MAX_COLUMNS: usize = 5_000;
const MAX_COLUMN_NAME: usize = 1_000;
/// How many links one read returns.
const PAGE: usize = 1_000;

/// A logical model to create.
#[derive(Debug, Clone)]
pub struct NewLogicalModel {
    /// Part of its URN.
    pub name: String,
    pub display_name: Option<String>,
    /// A value of `FabricType`, such as `PROD`.
    pub env: String,
    /// A logical platform. One that does not exist is created.
    pub platform: Option<Urn>,
    pub columns: Vec<LogicalColumn>,
}

/// A column of a logical model.
#[derive(Debug, Clone)]
pub struct LogicalColumn {
    pub field_path: String,
    /// The name of the type, such as `NUMBER`.
    pub type_name: String,
    /// The record of the type, such as `NumberType`.
    pub type_record: &'static str,
}

/// A column of a logical model and the physical one that implements it.
#[derive(Debug, Clone)]
pub struct ColumnMapping {
    pub parent: String,
    pub child: String,
}

impl Catalog {
    /// Creates a logical model, and its platform if there is none. Returns the URN of the dataset.
    pub async fn create_logical_model(
        &self,
        caller: &Caller,
        new: NewLogicalModel,
    ) -> Result<Urn, Error> {
        self.authorize(caller, &[CREATE_LOGICAL_MODELS], None)
            .await?;
        check_name("a logical model", &new.name)?;
        if let Some(name) = &new.display_name {
            check_name("a logical model", name)?;
        }
        check_columns(&new.columns)?;
        let platform = match new.platform {
            Some(platform) => platform,
            None => Urn::parse(DEFAULT_PLATFORM)?,
        };
        platform.expect_type("dataPlatform")?;
        Registry::get().check_urn(&platform)?;
        let dataset = Urn::new(DATASET, &format!("({platform},{},{})", new.name, new.env))?;
        Registry::get().check_urn(&dataset)?;
        let name = new.display_name.unwrap_or_else(|| new.name.clone());
        let edit = move |_: Option<Value>, _: &AuditStamp| Ok(json!({ "name": name }));
        let is_new = Requirement::IsNew {
            otherwise: format!("A logical model already exists at {dataset}."),
        };
        let aspect = AspectName::DATASET_PROPERTIES;
        let properties = Proposal::edit(dataset.clone(), aspect, edit).requires(is_new);
        let schema = schema_of(&new.name, &json!(platform), &new.columns);
        let edit = move |_: Option<Value>, _: &AuditStamp| Ok(schema.clone());
        let schema = Proposal::edit(dataset.clone(), AspectName::SCHEMA_METADATA, edit);
        let proposals = vec![platform_proposal(&platform), properties, schema];
        self.apply_authorized(caller, proposals).await?;
        Ok(dataset)
    }

    /// Replaces the columns of a logical model. Links of physical columns to those that are gone or
    /// have another type are removed, and physical datasets without a linked column are unlinked.
    pub async fn update_logical_model_schema(
        &self,
        caller: &Caller,
        model: &Urn,
        columns: &[LogicalColumn],
    ) -> Result<(), Error> {
        self.authorize(caller, &[CREATE_LOGICAL_MODELS], None)
            .await?;
        model.expect_type(DATASET)?;
        Registry::get().check_urn(model)?;
        // A platform without information becomes logical with its first model, and its datasets
        // are not the caller's to change.
        self.authorize(caller, &[EDIT_ENTITY], Some(model)).await?;
        check_columns(columns)?;
        let missing = format!("the logical model {model} does not exist");
        self.expect_existing(model, missing.clone()).await?;
        let aspect = AspectName::SCHEMA_METADATA;
        let key = AspectKey::new(model, aspect);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let before: Value = aspect_value(&row).ok_or_else(|| {
            Error::invalid(format!("Logical model {model} has no schema to update."))
        })?;
        let name = before["schemaName"].as_str().unwrap_or_default();
        let after = schema_of(name, &before["platform"], columns);
        let mut proposals = self.unlink_changed(model, &before, &after).await?;
        let edit = move |_: Option<Value>, _: &AuditStamp| Ok(after.clone());
        let unchanged = move |current: Option<Value>| {
            let is_same = current.is_some_and(|it| it["fields"] == before["fields"]);
            is_same.then_some(()).ok_or_else(|| {
                let message = "the columns were changed meanwhile: send the request again";
                Error::conflict(ConflictReason::ChangedMeanwhile, message)
            })
        };
        let write = Proposal::edit(model.clone(), aspect, edit)
            .requires_existing(model, missing)
            .requires_value(model, aspect, unchanged);
        proposals.push(require_logical(write, model)?);
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Removes the links that a change of columns breaks.
    async fn unlink_changed(
        &self,
        model: &Urn,
        before: &Value,
        after: &Value,
    ) -> Result<Vec<Proposal>, Error> {
        let types_after: HashMap<&str, &Value> = columns_in(after).collect();
        let mut kept = Vec::new();
        let mut broken = Vec::new();
        for (path, data_type) in columns_in(before) {
            let column = column_urn(model, path)?;
            if types_after.get(path) == Some(&data_type) {
                kept.push(column);
            } else {
                broken.push(column);
            }
        }
        if broken.is_empty() {
            return Ok(Vec::new());
        }
        let broken_links = self.instances_of(&broken).await?;
        let datasets_of = |links: &[(Urn, Urn)]| -> BTreeSet<Urn> {
            let columns = links.iter().filter_map(|(child, _)| column_of(child));
            columns.map(|(dataset, _)| dataset).collect()
        };
        let still_linked = datasets_of(&self.instances_of(&kept).await?);
        let children = self.instances_of(std::slice::from_ref(model)).await?;
        let unlinked = children
            .into_iter()
            .filter(|(child, _)| !still_linked.contains(child));
        let links = broken_links.into_iter().chain(unlinked);
        Ok(links
            .map(|(child, parent)| unlink(&child, Some(parent)))
            .collect())
    }

    /// The physical datasets or columns of each logical one, with it. The caller need not see them.
    async fn instances_of(&self, parents: &[Urn]) -> Result<Vec<(Urn, Urn)>, Error> {
        let mut links = Vec::new();
        let mut start = 0;
        let mut parents: Vec<Urn> = parents.to_vec();
        while !parents.is_empty() {
            let names = &[INSTANCE_OF];
            let pages = self
                .store()
                .edges_list(&parents, false, names, &[], start, PAGE)
                .await?;
            let mut more = Vec::new();
            for (parent, page) in parents.into_iter().zip(pages) {
                let is_full = page.items.len() == PAGE;
                let link = |it: docent_store::RelatedEntity| (it.urn, parent.clone());
                links.extend(page.items.into_iter().map(link));
                if is_full {
                    more.push(parent);
                }
            }
            if links.len() > MAX_PROPOSALS {
                return Err(Error::too_large(format!(
                    "the model has more than {MAX_PROPOSALS} links to physical columns: unlink some first"
                )));
            }
            start += PAGE;
            parents = more;
        }
        Ok(links)
    }

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
fn columns_in(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = schema["fields"].as_array().into_iter().flatten();
    fields.filter_map(|field| Some((field["fieldPath"].as_str()?, &field["type"])))
}

fn check_columns(columns: &[LogicalColumn]) -> Result<(), Error> {
    if columns.is_empty() {
        return Err(Error::invalid(
            "A logical model must have at least one column.",
        ));
    }
    if columns.len() > MAX_COLUMNS {
        return Err(Error::invalid(format!(
            "{} columns are given: at most {MAX_COLUMNS} are allowed",
            columns.len()
        )));
    }
    let mut seen = BTreeSet::new();
    for LogicalColumn { field_path, .. } in columns {
        if field_path.trim().is_empty() {
            return Err(Error::invalid("a column has no fieldPath: it needs one"));
        }
        check_one_line("the fieldPath", field_path)?;
        check_length("the fieldPath", field_path, MAX_COLUMN_NAME)?;
        if !seen.insert(field_path) {
            let message = format!("Duplicate column field path: {field_path}");
            return Err(Error::invalid(message));
        }
    }
    Ok(())
}

/// The aspect with the columns.
fn schema_of(name: &str, platform: &Value, columns: &[LogicalColumn]) -> Value {
    let field = |column: &LogicalColumn| {
        let record = format!("com.linkedin.schema.{}", column.type_record);
        json!({
            "fieldPath": column.field_path,
            "type": {"type": {record: {}}},
            "nativeDataType": column.type_name,
        })
    };
    let fields: Vec<Value> = columns.iter().map(field).collect();
    json!({
        "schemaName": name, "platform": platform, "version": 0, "hash": "",
        "platformSchema": {"com.linkedin.schema.Schemaless": {}}, "fields": fields,
    })
}

/// Creates the platform of a logical model; fails if it exists and is not logical.
fn platform_proposal(platform: &Urn) -> Proposal {
    let name = platform.key().to_owned();
    let otherwise = not_logical(platform);
    let is_long = check_length("the name of the platform", &name, MAX_PLATFORM_NAME).err();
    let is_long = is_long.map(|error| error.message().to_owned());
    let edit = move |current: Option<Value>, _: &AuditStamp| match current {
        Some(info) if info["logical"] == true => Ok(None),
        Some(_) => Err(Error::invalid(otherwise.clone())),
        None => match &is_long {
            Some(message) => Err(Error::invalid(message.clone())),
            None => Ok(Some(json!({
                "name": name, "displayName": name, "type": "OTHERS",
                "datasetNameDelimiter": ".", "logical": true,
            }))),
        },
    };
    let aspect = AspectName::DATA_PLATFORM_INFO;
    Proposal::edit_if(platform.clone(), aspect, edit)
}

/// Requires that the platform of a dataset holds logical models: the columns of others are
/// ingested.
fn require_logical(proposal: Proposal, model: &Urn) -> Result<Proposal, Error> {
    let parts = model.key_parts();
    let platform = Urn::parse(parts.first().copied().unwrap_or_default())?;
    let otherwise = not_logical(&platform);
    let aspect = AspectName::DATA_PLATFORM_INFO;
    let is_logical = move |current: Option<Value>| match current {
        Some(info) if info["logical"] == true => Ok(()),
        _ => Err(Error::invalid(otherwise.clone())),
    };
    Ok(proposal.requires_value(&platform, aspect, is_logical))
}

fn not_logical(platform: &Urn) -> String {
    format!("{platform} is not a logical platform: it cannot have logical models")
}

/// Links a physical dataset or column with a logical one of the same kind.
fn link(child: &Urn, parent: &Urn) -> Result<Proposal, Error> {
    parent.expect_type(child.entity_type())?;
    if child == parent {
        return Err(Error::invalid(format!(
            "{child} cannot be its own logical parent"
        )));
    }
    let to = parent.clone();
    let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
        let is_same = |it: &Map<String, Value>| parent_in(it) == Some(to.as_str());
        let edge = json!({"destinationUrn": to, "created": stamp, "lastModified": stamp});
        let next = || [("parent".to_owned(), edge)].into_iter().collect();
        Ok((!current.as_ref().is_some_and(is_same)).then(next))
    };
    let proposal = Proposal::edit_if(child.clone(), AspectName::LOGICAL_PARENT, edit);
    require_asset(require_asset(proposal, child)?, parent)
}

/// Removes the link with a logical parent, or with any.
fn unlink(child: &Urn, parent: Option<Urn>) -> Proposal {
    let edit = move |current: Option<Map<String, Value>>, _: &AuditStamp| {
        let linked = current.as_ref().and_then(parent_in);
        let is_meant = match &parent {
            Some(parent) => linked == Some(parent.as_str()),
            None => linked.is_some(),
        };
        Ok(is_meant.then(Map::new))
    };
    Proposal::edit_if(child.clone(), AspectName::LOGICAL_PARENT, edit)
}

/// The parent in the aspect of a link.
fn parent_in(aspect: &Map<String, Value>) -> Option<&str> {
    aspect.get("parent")?.get("destinationUrn")?.as_str()
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
