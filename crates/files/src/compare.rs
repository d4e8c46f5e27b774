//! Compares what files say with the catalog, and with the base: the value that the files are known
//! to have had.

use std::collections::{BTreeMap, BTreeSet};

use docent_model::{Registry, Urn, shorten};
use serde_json::{Map, Value};

pub use crate::base::History;
use crate::base::{Base, Locked, Versions, needed_versions};
use crate::codec::Stamp;
use crate::document::FileEntity;
use crate::entity::{Aspect, COLUMNS_LIST, Entity, PartId, PartValues};
use crate::kinds::{self, COLUMN_PARTS, Kind, Part};
use crate::lock::LockEntry;
use crate::values::part_values;
use crate::yaml::Problem;

/// What would be done with a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The file's value is written.
    Change,
    /// The catalog has a newer value, and the file has not changed: left alone.
    Newer,
    /// Both have changed.
    Conflict,
}

/// A part that differs between file and catalog.
#[derive(Debug, Clone)]
pub struct Difference {
    pub part: PartId,
    pub line: usize,
    pub outcome: Outcome,
    /// The value of the catalog.
    pub catalog: Option<Value>,
    /// The value of the file.
    pub file: Option<Value>,
}

/// An entity of the last export that the catalog does not have any more: a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    pub line: usize,
    /// Whether the file has changed since the export.
    pub is_file_changed: bool,
}

/// The differences of an entity.
#[derive(Debug, Clone)]
pub struct EntityPlan {
    pub urn: Urn,
    pub kind: &'static Kind,
    pub is_new: bool,
    /// Then there are no differences.
    pub deletion: Option<Deletion>,
    pub differences: Vec<Difference>,
    /// The parts whose values the files had, which the catalog still has, and which the file no
    /// longer mentions.
    pub unmentioned: Vec<PartId>,
}

/// A new value of an aspect, and the version that it replaces; `None` if there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct AspectWrite {
    pub urn: Urn,
    pub aspect: &'static str,
    pub value: Value,
    pub replaces: Option<i64>,
}

/// Compares one entity of a file.
#[derive(Debug)]
pub struct Comparison<'a> {
    pub file: &'a FileEntity,
    pub catalog: Option<&'a Entity>,
    /// What the last export from this catalog knew.
    pub lock: Option<&'a LockEntry>,
    /// What the last export knew, also from another catalog.
    pub exported: Option<&'a LockEntry>,
    /// The id of the directory, which marks the versions that its applies write.
    pub project: &'a str,
}

impl Comparison<'_> {
    fn locked(&self, aspect: &str) -> Locked<'_> {
        let created = self.catalog.map(|entity| entity.created);
        match self.lock {
            None => Locked::Never,
            Some(lock) if Some(lock.created) != created => Locked::Replaced,
            Some(lock) => match lock.aspects.get(aspect) {
                Some(locked) => Locked::Version(locked),
                None => Locked::Missing,
            },
        }
    }

    fn catalog_aspect(&self, aspect: &str) -> Option<&Aspect> {
        self.catalog.and_then(|entity| entity.aspects.get(aspect))
    }

    fn catalog_values(&self) -> PartValues {
        let entity = self.catalog;
        entity
            .map(|entity| part_values(self.file.kind, entity))
            .unwrap_or_default()
    }

    /// The values of the catalog that the file does not mention, although the last export had the
    /// entity.
    fn unmentioned<'v>(
        &self,
        values: &'v PartValues,
    ) -> impl Iterator<Item = (&'v PartId, &'v Value)> {
        let is_known = |id: &PartId| {
            let part = kinds::part_of(self.file.kind, id);
            part.is_some_and(|part| {
                matches!(
                    self.locked(part.aspect),
                    Locked::Version(_) | Locked::Missing
                )
            })
        };
        values
            .iter()
            .filter(move |(id, _)| !self.file.mentions(id) && is_known(id))
    }

    /// The aspects whose bases are needed.
    fn differing(&self) -> BTreeSet<&'static str> {
        let values = self.catalog_values();
        let parts = self.file.parts.iter();
        let differing = parts.filter(|(id, mention)| values.get(id) != mention.value.as_ref());
        let differing = differing.map(|(id, _)| id);
        differing
            .chain(self.unmentioned(&values).map(|(id, _)| id))
            .filter_map(|id| Some(kinds::part_of(self.file.kind, id)?.aspect))
            .collect()
    }

    /// The older versions that [`Comparison::plan`] needs.
    pub fn needed_history(&self) -> Vec<History> {
        let lists = self.differing().into_iter().filter_map(|aspect| {
            let latest = self.catalog_aspect(aspect)?;
            let versions = needed_versions(latest.version, self.locked(aspect));
            (!versions.is_empty()).then(|| History {
                urn: self.file.urn.clone(),
                aspect,
                versions,
            })
        });
        lists.collect()
    }

    /// The versions of an aspect. `older` has those that were found, newest first.
    fn versions(&self, aspect: &str, older: &[Aspect]) -> Versions<'_> {
        let latest = self.catalog_aspect(aspect);
        let locked = self.locked(aspect);
        Versions::new(self.file.kind, aspect, latest, older, locked, self.project)
    }

    /// Decides about each part. `history` has the versions that [`Comparison::needed_history`]
    /// asked for and that exist. With `overwrite`, the file wins.
    pub fn plan(
        &self,
        history: &BTreeMap<&'static str, Vec<Aspect>>,
        overwrite: bool,
        problems: &mut Vec<Problem>,
    ) -> EntityPlan {
        let file = self.file;
        let mut entity = EntityPlan {
            urn: file.urn.clone(),
            kind: file.kind,
            is_new: self.catalog.is_none(),
            deletion: None,
            differences: Vec::new(),
            unmentioned: Vec::new(),
        };
        if let (Some(lock), None, false) = (self.lock, self.catalog, overwrite) {
            entity.is_new = false;
            entity.deletion = Some(Deletion {
                line: file.line,
                is_file_changed: !lock.is_of(file),
            });
            return entity;
        }
        self.check(problems);
        let values = self.catalog_values();
        let differing = self.differing().into_iter().map(|aspect| {
            let older = history.get(aspect).map_or(&[][..], Vec::as_slice);
            (aspect, self.versions(aspect, older))
        });
        let versions: BTreeMap<&str, Versions<'_>> = differing.collect();
        for (id, mention) in &file.parts {
            let (now, new) = (values.get(id), mention.value.as_ref());
            let of_part = kinds::part_of(file.kind, id).and_then(|part| versions.get(part.aspect));
            let Some(versions) = of_part.filter(|_| now != new) else {
                continue;
            };
            let outcome = match versions.base(id) {
                _ if overwrite => Outcome::Change,
                Base::Known(old) if now == old.as_ref() => Outcome::Change,
                Base::Known(old) if new == old.as_ref() => Outcome::Newer,
                Base::Never if now.is_none() => Outcome::Change,
                Base::Known(_) | Base::Unknown | Base::Never => Outcome::Conflict,
            };
            entity.differences.push(Difference {
                part: id.clone(),
                line: mention.line,
                outcome,
                catalog: now.cloned(),
                file: new.cloned(),
            });
        }
        for (id, now) in self.unmentioned(&values) {
            let of_part = kinds::part_of(file.kind, id).and_then(|part| versions.get(part.aspect));
            match of_part.map(|versions| versions.base(id)) {
                Some(Base::Known(Some(old))) if old == *now => entity.unmentioned.push(id.clone()),
                // Removing it would undo an edit that the file has never had.
                _ => entity.differences.push(Difference {
                    part: id.clone(),
                    line: file.line,
                    outcome: Outcome::Newer,
                    catalog: Some(now.clone()),
                    file: None,
                }),
            }
        }
        self.check_added(&entity, problems);
        entity
    }

    /// Checks what only the catalog knows.
    fn check(&self, problems: &mut Vec<Problem>) {
        let file = self.file;
        let Some(entity) = self.catalog else {
            if !file.kind.is_defined_in_files {
                let message = format!(
                    "{} is not in the catalog: check the URN, or ingest it first",
                    shorten(file.urn.as_str())
                );
                problems.push(Problem::new(file.line, message));
            }
            for part in file.kind.parts.iter().filter(|part| part.is_required) {
                let id = PartId {
                    column: None,
                    key: part.key,
                };
                if !file.mentions(&id) {
                    let message =
                        format!("{} is new, so it needs the key '{}'", file.urn, part.key);
                    problems.push(Problem::new(file.line, message));
                }
            }
            return;
        };
        if entity.aspects.contains_key("schemaMetadata") {
            let known: BTreeSet<&str> = entity.columns().into_iter().collect();
            for (column, line) in &file.columns {
                if !known.contains(column.as_str()) {
                    let message = format!("the dataset has no column '{}'", shorten(column));
                    problems.push(Problem::new(*line, message));
                }
            }
        }
    }

    /// The aspects that the changes of a plan write. Errors are those of the registry.
    pub fn writes(
        &self,
        plan: &EntityPlan,
        stamp: &Stamp,
        problems: &mut Vec<Problem>,
    ) -> Vec<AspectWrite> {
        let mut aspects: BTreeMap<&'static str, Vec<(&Part, &Difference)>> = BTreeMap::new();
        for difference in &plan.differences {
            if difference.outcome == Outcome::Change
                && let Some(part) = kinds::part_of(plan.kind, &difference.part)
            {
                aspects
                    .entry(part.aspect)
                    .or_default()
                    .push((part, difference));
            }
        }
        let mut writes = Vec::new();
        for (aspect, changes) in aspects {
            let current = self.catalog_aspect(aspect);
            let mut members = match current.map(|current| current.value.clone()) {
                Some(Value::Object(members)) => members,
                _ => kinds::new_aspect(aspect, stamp),
            };
            for (part, change) in &changes {
                match &change.part.column {
                    Some(path) => write_column(&mut members, path, part, change, stamp),
                    None => part.codec.write(&mut members, change.file.as_ref(), stamp),
                }
            }
            if kinds::is_stamped(aspect) {
                members.insert("lastModified".to_owned(), stamp.value());
            }
            let value = Value::Object(members);
            let line = changes
                .first()
                .map_or(self.file.line, |(_, change)| change.line);
            if let Err(message) = validate(&plan.urn, aspect, &value) {
                problems.push(Problem::new(line, message));
                continue;
            }
            writes.push(AspectWrite {
                urn: plan.urn.clone(),
                aspect,
                value,
                replaces: current.map(|current| current.version),
            });
        }
        writes
    }
}

/// Validates a value as the catalog will.
fn validate(urn: &Urn, aspect: &str, value: &Value) -> Result<(), String> {
    let registry = Registry::get();
    let (Some(entity), Some(name)) = (registry.entity(urn.entity_type()), registry.aspect(aspect))
    else {
        return Err(format!("{urn} cannot have {aspect}"));
    };
    let checked = registry.validate(entity, name, &mut value.clone());
    checked
        .map(|_| ())
        .map_err(|error| format!("{urn}: {error}"))
}

/// Writes a part of a column, and removes the column's record if nothing is left in it.
fn write_column(
    members: &mut Map<String, Value>,
    path: &str,
    part: &Part,
    change: &Difference,
    stamp: &Stamp,
) {
    let list = members
        .entry(COLUMNS_LIST)
        .or_insert_with(|| Value::Array(Vec::new()));
    let Some(columns) = list.as_array_mut() else {
        return;
    };
    let at = columns
        .iter()
        .position(|column| column["fieldPath"] == path);
    let at = at.unwrap_or_else(|| {
        columns.push(serde_json::json!({"fieldPath": path}));
        columns.len() - 1
    });
    if let Some(column) = columns.get_mut(at).and_then(Value::as_object_mut) {
        part.codec.write(column, change.file.as_ref(), stamp);
        let value = Value::Object(column.clone());
        let is_empty = COLUMN_PARTS
            .iter()
            .all(|part| part.codec.read(&value).is_none());
        let known = ["fieldPath", "description", "globalTags", "glossaryTerms"];
        if is_empty && column.keys().all(|key| known.contains(&key.as_str())) {
            columns.remove(at);
        }
    }
}
