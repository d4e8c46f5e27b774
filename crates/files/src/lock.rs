//! `docent.lock`: the versions on which the files are based, one line for each entity, so that Git
//! merges exports.
//!
//! A version has a digest of its values. It tells a version from another one with the same number,
//! in a catalog that was restored from a backup. It also tells whether a file has changed whose
//! entity was deleted, with all its versions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use docent_model::{Urn, hex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::document::FileEntity;
use crate::entity::{Entity, PartValues};
use crate::kinds::{self, Kind};
use crate::values::values_in;
use crate::yaml::Problem;

const HEADER: &str =
    "# The versions of the catalog on which these files are based. Written by 'docent export'.";

/// Enough to tell versions apart by chance, not by intent.
const DIGEST_BYTES: usize = 6;

/// The versions of all exported entities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    pub entities: BTreeMap<Urn, LockEntry>,
}

/// The versions of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockEntry {
    /// When the entity was created.
    pub created: i64,
    pub aspects: BTreeMap<String, LockedAspect>,
}

/// The version of an aspect, and the digest of what files have of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedAspect {
    pub version: i64,
    pub digest: String,
}

impl LockEntry {
    pub fn of(kind: &Kind, entity: &Entity) -> Self {
        let aspects = kind.written_aspects().into_iter().filter_map(|name| {
            let aspect = entity.aspects.get(name)?;
            let locked = LockedAspect {
                version: aspect.version,
                digest: digest(&values_in(kind, name, &aspect.value)),
            };
            Some((name.to_owned(), locked))
        });
        Self {
            created: entity.created,
            aspects: aspects.collect(),
        }
    }

    /// Whether a file says what the export wrote.
    pub(crate) fn is_of(&self, file: &FileEntity) -> bool {
        let mut aspects = file.kind.written_aspects().into_iter();
        aspects.all(|aspect| self.has_values(file, aspect))
    }

    /// Whether a file says of an aspect what the export wrote.
    pub(crate) fn has_values(&self, file: &FileEntity, aspect: &str) -> bool {
        let parts = file.parts.iter().filter_map(|(id, mention)| {
            let part = kinds::part_of(file.kind, id)?;
            let value = mention.value.clone().filter(|_| part.aspect == aspect)?;
            Some((id.clone(), value))
        });
        let values: PartValues = parts.collect();
        match self.aspects.get(aspect) {
            Some(locked) => locked.digest == digest(&values),
            None => values.is_empty(),
        }
    }
}

/// A digest of values, whatever the order of their members.
pub(crate) fn digest(values: &PartValues) -> String {
    let mut digest = Sha256::new();
    for (id, value) in values {
        let mut value = value.clone();
        value.sort_all_objects();
        digest.update(Value::from([Value::from(id.to_string()), value]).to_string());
    }
    hex(&digest.finalize()[..DIGEST_BYTES])
}

impl Lock {
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (urn, entry) in &self.entities {
            let _ = write!(text, "{urn}\t{}", entry.created);
            for (aspect, locked) in &entry.aspects {
                let LockedAspect { version, digest } = locked;
                let _ = write!(text, "\t{aspect}={version}:{digest}");
            }
            text.push('\n');
        }
        text
    }

    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut lock = Self::default();
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (urn, entry) = read_line(line).ok_or_else(|| {
                let message = "the line is damaged: restore the file from Git, or export again";
                Problem::new(at + 1, message)
            })?;
            lock.entities.insert(urn, entry);
        }
        Ok(lock)
    }
}

fn read_line(line: &str) -> Option<(Urn, LockEntry)> {
    let mut cells = line.split('\t');
    let urn = Urn::parse(cells.next()?).ok()?;
    let created = cells.next()?.parse().ok()?;
    let aspects = cells.map(|cell| {
        let (aspect, locked) = cell.split_once('=')?;
        let (version, digest) = locked.split_once(':')?;
        let locked = LockedAspect {
            version: version.parse().ok()?,
            digest: digest.to_owned(),
        };
        Some((aspect.to_owned(), locked))
    });
    let aspects = aspects.collect::<Option<_>>()?;
    Some((urn, LockEntry { created, aspects }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock::default();
        for (urn, version) in [("urn:li:tag:a b", 3), ("urn:li:tag:c", 1)] {
            let locked = LockedAspect {
                version,
                digest: digest(&PartValues::new()),
            };
            let entry = LockEntry {
                created: 1_700_000_000_000,
                aspects: BTreeMap::from([("tagProperties".to_owned(), locked)]),
            };
            lock.entities.insert(Urn::parse(urn).unwrap(), entry);
        }
        let text = lock.to_text();
        assert_eq!(text.lines().count(), 3);
        assert_eq!(Lock::parse(&text), Ok(lock));
        let problem = Lock::parse("# x\n<<<<<<< HEAD\n").unwrap_err();
        assert_eq!(problem.line, 2);
    }
}
