//! Logical models: datasets on a platform of their own, with columns that users define.

use std::collections::{BTreeSet, HashMap};

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::limits::{check_length, check_name, check_one_line};
use crate::logical_parents::{columns_in, expect_logical, not_logical, unlink};
use crate::privilege::{CREATE_LOGICAL_MODELS, EDIT_ENTITY};
use crate::proposal::{Proposal, Requirement};
use crate::stored::aspect_value;
use crate::target::{column_of, column_urn};
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
        let proposals = match self.new_platform(&platform).await? {
            Some(platform) => vec![platform, properties, schema],
            None => vec![require_logical(properties, &dataset)?, schema],
        };
        self.apply_authorized(caller, proposals).await?;
        Ok(dataset)
    }

    /// Creates the platform of a logical model; `None` if it is a logical one. One that exists, or
    /// has datasets, does not become logical: those are not models.
    async fn new_platform(&self, platform: &Urn) -> Result<Option<Proposal>, Error> {
        let aspect = AspectName::DATA_PLATFORM_INFO;
        let key = AspectKey::new(platform, aspect);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let info: Option<Value> = aspect_value(&row);
        let is_logical = expect_logical(platform, info.as_ref()).is_ok();
        let exists = row.is_some() || self.is_in_use(platform).await?;
        if is_logical && exists {
            return Ok(None);
        }
        if exists {
            return Err(Error::invalid(not_logical(platform)));
        }
        let name = platform.key().to_owned();
        check_length("the name of the platform", &name, MAX_PLATFORM_NAME)?;
        let edit = move |_: Option<Value>, _: &AuditStamp| {
            Ok(json!({
                "name": name, "displayName": name, "type": "OTHERS",
                "datasetNameDelimiter": ".", "logical": true,
            }))
        };
        let is_new = Requirement::IsNew {
            otherwise: format!("{platform} was created meanwhile: send the request again"),
        };
        Ok(Some(
            Proposal::edit(platform.clone(), aspect, edit).requires(is_new),
        ))
    }

    /// Whether a platform or a dataset on it is stored, seen by the caller or not.
    async fn is_in_use(&self, platform: &Urn) -> Result<bool, Error> {
        let key = AspectKey::of_entity(platform);
        let keys: Vec<AspectKey> = key.into_iter().collect();
        let exists = self.store().read(ReadRequest::exists(&keys)).await?.exists;
        if exists.contains(&true) {
            return Ok(true);
        }
        // Names of datasets start with a later character than the space.
        let before = Urn::new(DATASET, &format!("({platform}, )"))?;
        let Some(key) = AspectKey::of_entity(&before) else {
            return Ok(false);
        };
        let next = self
            .store()
            .urns_list(DATASET, key.aspect, Some(&before), 1);
        let prefix = format!("({platform},");
        let next = next.await?;
        Ok(next.iter().any(|it| it.key().starts_with(&prefix)))
    }

    /// Replaces the columns of a logical model. Links of physical columns to those that are gone or
    /// have another type are removed, and physical datasets that lose their last linked column are
    /// unlinked: that needs the right on the model alone.
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
        // Who may create models may not change those of others.
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
        let unlinks = self.unlink_changed(model, &before, &after).await?;
        let mut proposals: Vec<Proposal> = unlinks.into_iter().map(Proposal::authorized).collect();
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
        self.apply(caller, proposals).await?;
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
        let had_links = datasets_of(&broken_links);
        let still_linked = datasets_of(&self.instances_of(&kept).await?);
        let children = self.instances_of(std::slice::from_ref(model)).await?;
        let unlinked = children
            .into_iter()
            .filter(|(child, _)| had_links.contains(child) && !still_linked.contains(child));
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

/// Requires that the platform of a dataset holds logical models: the columns of others are
/// ingested.
fn require_logical(proposal: Proposal, model: &Urn) -> Result<Proposal, Error> {
    let parts = model.key_parts();
    let platform = Urn::parse(parts.first().copied().unwrap_or_default())?;
    let of = platform.clone();
    let is_logical = move |info: Option<Value>| expect_logical(&of, info.as_ref());
    let aspect = AspectName::DATA_PLATFORM_INFO;
    Ok(proposal.requires_value(&platform, aspect, is_logical))
}
