//! `docent.lock`: the versions on which the files are based, one line for each entity, so that Git
//! merges exports.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use docent_model::Urn;

use crate::entity::Entity;
use crate::kinds::Kind;
use crate::yaml::Problem;

const HEADER: &str =
    "# The versions of the catalog on which these files are based. Written by 'docent export'.";

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
    pub versions: BTreeMap<String, i64>,
}

impl LockEntry {
    pub fn of(kind: &Kind, entity: &Entity) -> Self {
        let aspects = kind.written_aspects().into_iter().filter_map(|name| {
            let aspect = entity.aspects.get(name)?;
            Some((name.to_owned(), aspect.version))
        });
        Self {
            created: entity.created,
            versions: aspects.collect(),
        }
    }
}

impl Lock {
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (urn, entry) in &self.entities {
            let _ = write!(text, "{urn}\t{}", entry.created);
            for (aspect, version) in &entry.versions {
                let _ = write!(text, "\t{aspect}={version}");
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
    let versions = cells.map(|cell| {
        let (aspect, version) = cell.split_once('=')?;
        Some((aspect.to_owned(), version.parse().ok()?))
    });
    let versions = versions.collect::<Option<_>>()?;
    Some((urn, LockEntry { created, versions }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let mut lock = Lock::default();
        for (urn, version) in [("urn:li:tag:a b", 3), ("urn:li:tag:c", 1)] {
            let entry = LockEntry {
                created: 1_700_000_000_000,
                versions: BTreeMap::from([("tagProperties".to_owned(), version)]),
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
