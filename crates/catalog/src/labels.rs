//! Tags and glossary terms of entities and of dataset columns.
//!
//! Both are lists of associations in an aspect of the entity; those of a column are in
//! `editableSchemaMetadata`, next to its description. Adding a label that the list already has
//! writes nothing, whoever attached it.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::aspects::{AuditStamp, EditableSchemaFieldInfo, EditableSchemaMetadata};
use docent_model::{AspectName, Urn};
use serde_json::{Map, Value, json};

use crate::privilege::{EDIT_DATASET_COL_GLOSSARY_TERMS, EDIT_DATASET_COL_TAGS, Privilege};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::{Target, edit_column, expect_few};
use crate::{Caller, Catalog, Error};

/// The two kinds of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelKind {
    Tag,
    Term,
}

impl LabelKind {
    fn entity_type(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Term => "glossaryTerm",
        }
    }

    /// The aspect of an entity that lists its labels; a column has a member of the same name.
    pub(crate) fn aspect(self) -> AspectName {
        match self {
            Self::Tag => AspectName::GLOBAL_TAGS,
            Self::Term => AspectName::GLOSSARY_TERMS,
        }
    }

    /// The member of the aspect that is the list; also the plural in messages.
    fn list(self) -> &'static str {
        match self {
            Self::Tag => "tags",
            Self::Term => "terms",
        }
    }

    /// The member of an association that names the label.
    fn member(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Term => "urn",
        }
    }

    /// The kind of label that an entity is, if it is one.
    pub(crate) fn of(urn: &Urn) -> Option<Self> {
        [Self::Tag, Self::Term]
            .into_iter()
            .find(|kind| kind.entity_type() == urn.entity_type())
    }

    /// The privileges for this kind of label alone, on columns.
    fn column_privileges(self) -> &'static [Privilege] {
        match self {
            Self::Tag => &[EDIT_DATASET_COL_TAGS],
            Self::Term => &[EDIT_DATASET_COL_GLOSSARY_TERMS],
        }
    }

    fn check(self, label: &Urn) -> Result<(), Error> {
        if label.entity_type() == self.entity_type() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "Failed to validate label with urn {label}. Urn type does not match entity type {}.",
            self.entity_type()
        )))
    }
}

impl Catalog {
    /// Adds existing labels to existing targets; to all of them or to none.
    pub async fn add_labels(
        &self,
        caller: &Caller,
        kind: LabelKind,
        labels: &[Urn],
        targets: &[Target],
    ) -> Result<(), Error> {
        self.change_labels(caller, kind, labels, targets, true)
            .await
    }

    /// Removes labels from existing targets. Missing labels are no error: dangling references must
    /// be removable.
    pub async fn remove_labels(
        &self,
        caller: &Caller,
        kind: LabelKind,
        labels: &[Urn],
        targets: &[Target],
    ) -> Result<(), Error> {
        self.change_labels(caller, kind, labels, targets, false)
            .await
    }

    async fn change_labels(
        &self,
        caller: &Caller,
        kind: LabelKind,
        labels: &[Urn],
        targets: &[Target],
        add: bool,
    ) -> Result<(), Error> {
        expect_few(kind.list(), labels.len())?;
        for label in labels {
            kind.check(label)?;
        }
        if labels.is_empty() {
            return Ok(());
        }
        let change: ChangeList = if add { added } else { removed };
        let shared: Arc<[Urn]> = labels.into();
        let mut proposals = targets
            .iter()
            .map(|target| {
                let proposal = edit_labels(target, kind, Arc::clone(&shared), change)?
                    .referring_to(Arc::clone(&shared));
                let urn = &target.urn;
                let missing =
                    format!("Failed to update resource with urn {urn}. Entity does not exist.");
                Ok(target.required_by(proposal, missing))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let existing = |label: &Urn| {
            let message = format!("Failed to validate label with urn {label}. Urn does not exist.");
            Requirement::exists(label, message)
        };
        if add {
            require_all(&mut proposals, labels.iter().map(existing));
        }
        self.apply(caller, proposals).await?;
        Ok(())
    }
}

/// Changes a list of associations; returns whether anything changed.
type ChangeList = fn(&mut Vec<Value>, LabelKind, &[Urn]) -> bool;

fn edit_labels(
    target: &Target,
    kind: LabelKind,
    labels: Arc<[Urn]>,
    change: ChangeList,
) -> Result<Proposal, Error> {
    let Some(column) = &target.column else {
        target.expect_aspect(kind.aspect(), kind.list())?;
        return Ok(Proposal::edit_if::<Map<String, Value>, _>(
            target.urn.clone(),
            kind.aspect(),
            move |current, stamp| {
                let is_there = current.is_some();
                let mut holder = current.unwrap_or_default();
                let changed = edit_list(&mut holder, kind, &labels, change, stamp);
                Ok((changed || is_there).then_some(holder))
            },
        ));
    };
    target.expect_columns()?;
    let edit = edit_column(&target.urn, column, move |field, stamp| {
        Ok(edit_column_list(field, kind, &labels, change, stamp))
    });
    Ok(edit.also_allowed_by(kind.column_privileges()))
}

fn edit_column_list(
    field: &mut EditableSchemaFieldInfo,
    kind: LabelKind,
    labels: &[Urn],
    change: ChangeList,
    stamp: &AuditStamp,
) -> bool {
    let member = kind.aspect().as_str();
    let mut holder = match field.other.get(member) {
        Some(Value::Object(holder)) => holder.clone(),
        _ => Map::new(),
    };
    let changed = edit_list(&mut holder, kind, labels, change, stamp);
    if changed {
        field.other.insert(member.to_owned(), Value::Object(holder));
    }
    changed
}

/// Changes the list in an aspect or in a column's member. Terms record who changed them.
fn edit_list(
    holder: &mut Map<String, Value>,
    kind: LabelKind,
    labels: &[Urn],
    change: ChangeList,
    stamp: &AuditStamp,
) -> bool {
    let list = holder.entry(kind.list()).or_insert_with(|| json!([]));
    let changed = list
        .as_array_mut()
        .is_some_and(|associations| change(associations, kind, labels));
    if kind == LabelKind::Term && (changed || !holder.contains_key("auditStamp")) {
        holder.insert("auditStamp".to_owned(), json!(stamp));
    }
    changed
}

fn added(associations: &mut Vec<Value>, kind: LabelKind, labels: &[Urn]) -> bool {
    let before = associations.len();
    let mut present: HashSet<String> = associations
        .iter()
        .filter_map(|association| association[kind.member()].as_str())
        .map(str::to_owned)
        .collect();
    for label in labels {
        if present.insert(label.to_string()) {
            associations.push(json!({ kind.member(): label }));
        }
    }
    associations.len() != before
}

fn removed(associations: &mut Vec<Value>, kind: LabelKind, labels: &[Urn]) -> bool {
    let before = associations.len();
    let unwanted: HashSet<&str> = labels.iter().map(Urn::as_str).collect();
    associations.retain(|association| {
        let label = association[kind.member()].as_str();
        !label.is_some_and(|label| unwanted.contains(label))
    });
    associations.len() != before
}

/// The edits that remove a label from `aspect` of an entity before the label is deleted.
pub(crate) fn release(holder: &Urn, aspect: AspectName, kind: LabelKind, label: &Urn) -> Proposal {
    let labels = vec![label.clone()];
    if aspect != AspectName::EDITABLE_SCHEMA_METADATA {
        return Proposal::edit_present::<Map<String, Value>, _>(
            holder.clone(),
            aspect,
            move |mut holder, stamp| {
                edit_list(&mut holder, kind, &labels, removed, stamp);
                Ok(holder)
            },
        );
    }
    Proposal::edit_stamped::<EditableSchemaMetadata, _>(
        holder.clone(),
        aspect,
        move |columns, stamp| {
            for field in &mut columns.editable_schema_field_info {
                edit_column_list(field, kind, &labels, removed, stamp);
            }
            Ok(())
        },
    )
}
