//! Compares what files say with the catalog, and with the base: the version that the files are
//! known to contain.

use std::collections::{BTreeMap, BTreeSet};

use docent_model::{Registry, Urn, shorten};
use serde_json::{Map, Value};

use crate::codec::Stamp;
use crate::document::FileEntity;
use crate::entity::{Aspect, COLUMNS_LIST, Entity, PartId, PartValues};
use crate::kinds::{self, COLUMN_PARTS, Kind, Part};
use crate::lock::LockEntry;
use crate::manifest::is_run_of;
use crate::values::{part_values, values_in};
use crate::yaml::Problem;

/// Versions of an aspect before this many are not kept.
const RETAINED_VERSIONS: i64 = 20;

/// The base of an aspect.
#[derive(Debug, Clone)]
pub enum Base {
    /// The files contain what the catalog has now.
    Latest,
    /// The files contain this older value.
    Older(Value),
    /// The files contain a version that is no longer known.
    Unknown,
    /// The files were never compared with the aspect.
    Never,
}

/// The versions to look at before the base of an aspect is known, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub urn: Urn,
    pub aspect: &'static str,
    pub versions: Vec<i64>,
    project: String,
}

impl History {
    /// Whether an apply of these files wrote the version, so that older ones do not matter.
    pub fn ends_at(&self, version: &Aspect) -> bool {
        is_run_of(&version.run_id, &self.project)
    }
}

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

/// The differences of an entity.
#[derive(Debug, Clone)]
pub struct EntityPlan {
    pub urn: Urn,
    pub kind: &'static Kind,
    pub is_new: bool,
    pub differences: Vec<Difference>,
    /// The parts of the catalog that an export wrote and the file no longer mentions.
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
    pub lock: Option<&'a LockEntry>,
    /// The id of the directory, in the ids of its runs.
    pub project: &'a str,
}

impl Comparison<'_> {
    /// The entry of the lock, if it is about this entity.
    fn lock(&self) -> Option<&LockEntry> {
        let created = self.catalog.map(|entity| entity.created);
        self.lock.filter(|lock| Some(lock.created) == created)
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

    /// The aspects with differences.
    fn differing(&self) -> BTreeSet<&'static str> {
        let values = self.catalog_values();
        let parts = self.file.parts.iter();
        let differing = parts.filter(|(id, mention)| values.get(id) != mention.value.as_ref());
        differing
            .filter_map(|(id, _)| Some(kinds::part_of(self.file.kind, id)?.aspect))
            .collect()
    }

    /// The older versions that [`Comparison::plan`] needs.
    pub fn needed_history(&self) -> Vec<History> {
        let lists = self.differing().into_iter().filter_map(|aspect| {
            let latest = self.catalog_aspect(aspect)?;
            let locked = self
                .lock()
                .and_then(|lock| lock.versions.get(aspect))
                .copied();
            if locked == Some(latest.version) || is_run_of(&latest.run_id, self.project) {
                return None;
            }
            let oldest = latest.version - RETAINED_VERSIONS + 1;
            let oldest = oldest.max(locked.unwrap_or(1)).max(1);
            let versions: Vec<i64> = (oldest..latest.version).rev().collect();
            (!versions.is_empty()).then(|| History {
                urn: self.file.urn.clone(),
                aspect,
                versions,
                project: self.project.to_owned(),
            })
        });
        lists.collect()
    }

    /// The base of an aspect. `older` has the versions that were found, newest first.
    fn base(&self, aspect: &str, older: &[Aspect]) -> Base {
        let locked = self
            .lock()
            .and_then(|lock| lock.versions.get(aspect))
            .copied();
        let Some(latest) = self.catalog_aspect(aspect) else {
            return if locked.is_some() {
                Base::Unknown
            } else {
                Base::Never
            };
        };
        if locked == Some(latest.version) || is_run_of(&latest.run_id, self.project) {
            return Base::Latest;
        }
        let is_base = |version: &&Aspect| {
            is_run_of(&version.run_id, self.project) || locked == Some(version.version)
        };
        match (older.iter().find(is_base), locked, self.lock()) {
            (Some(found), ..) => Base::Older(found.value.clone()),
            (None, Some(_), _) => Base::Unknown,
            // The export found the entity without the aspect.
            (None, None, Some(_)) => Base::Older(Value::Null),
            (None, None, None) => Base::Never,
        }
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
        self.check(problems);
        let values = self.catalog_values();
        let mut bases: BTreeMap<&str, (Base, PartValues)> = BTreeMap::new();
        for aspect in self.differing() {
            let older = history.get(aspect).map_or(&[][..], Vec::as_slice);
            let base = self.base(aspect, older);
            let old_values = match &base {
                Base::Older(value) => values_in(file.kind, aspect, value),
                _ => PartValues::new(),
            };
            bases.insert(aspect, (base, old_values));
        }
        let mut differences = Vec::new();
        for (id, mention) in &file.parts {
            let (now, new) = (values.get(id), mention.value.as_ref());
            let base = kinds::part_of(file.kind, id).and_then(|part| bases.get(part.aspect));
            let Some((base, old_values)) = base.filter(|_| now != new) else {
                continue;
            };
            let old = old_values.get(id);
            let outcome = match base {
                _ if overwrite => Outcome::Change,
                Base::Latest => Outcome::Change,
                Base::Older(_) if now == old => Outcome::Change,
                Base::Older(_) if new == old => Outcome::Newer,
                Base::Never if now.is_none() => Outcome::Change,
                Base::Older(_) | Base::Unknown | Base::Never => Outcome::Conflict,
            };
            differences.push(Difference {
                part: id.clone(),
                line: mention.line,
                outcome,
                catalog: now.cloned(),
                file: new.cloned(),
            });
        }
        let exported = |id: &&PartId| {
            let part = kinds::part_of(file.kind, id);
            let versions = self.lock().map(|lock| &lock.versions);
            part.is_some_and(|part| versions.is_some_and(|it| it.contains_key(part.aspect)))
        };
        let unmentioned = values.keys().filter(|id| !file.parts.contains_key(*id));
        EntityPlan {
            urn: file.urn.clone(),
            kind: file.kind,
            is_new: self.catalog.is_none(),
            differences,
            unmentioned: unmentioned.filter(exported).cloned().collect(),
        }
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
                if !file.parts.keys().any(|id| id.key == part.key) {
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
