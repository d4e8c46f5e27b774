//! The base of a part: the value that the files are known to have had.
//!
//! Two things tell it: an export, whose versions are in the lock, and an apply, which marks the
//! versions that it writes. An apply writes whole aspects, also with parts that it leaves alone, so
//! a marked version tells only about the parts that it changed.

use docent_model::Urn;
use serde_json::Value;

use crate::entity::{Aspect, PartId, PartValues};
use crate::kinds::Kind;
use crate::lock::{LockedAspect, digest};
use crate::values::values_in;

/// Versions of an aspect before this many are not kept.
const RETAINED_VERSIONS: i64 = 20;

/// The versions to read before the bases of an aspect are known, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub urn: Urn,
    pub aspect: &'static str,
    pub versions: Vec<i64>,
}

/// What the last export knew about an aspect.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Locked<'a> {
    Version(&'a LockedAspect),
    /// It found the entity without the aspect.
    Missing,
    /// It found another entity with the same URN, which was deleted since.
    Replaced,
    /// It did not have the entity.
    Never,
}

/// The base of a part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Base {
    /// The files had this value.
    Known(Option<Value>),
    /// The files may have had any value.
    Unknown,
    /// The files were never compared with the part.
    Never,
}

/// The oldest version that tells about bases; a newer one may be enough.
fn oldest_version(latest: i64, locked: Locked<'_>) -> i64 {
    let locked = match locked {
        Locked::Version(locked) => locked.version,
        Locked::Missing | Locked::Replaced | Locked::Never => 1,
    };
    (latest - RETAINED_VERSIONS + 1).max(locked).max(1)
}

/// The versions before the latest that tell about bases, newest first.
pub(crate) fn needed_versions(latest: i64, locked: Locked<'_>) -> Vec<i64> {
    (oldest_version(latest, locked)..latest).rev().collect()
}

/// The versions of an aspect, newest first.
pub(crate) struct Versions<'a> {
    versions: Vec<Version>,
    /// Whether these are all that the aspect ever had, without those that were rolled back.
    is_complete: bool,
    locked: Locked<'a>,
}

struct Version {
    number: i64,
    is_own: bool,
    values: PartValues,
}

impl<'a> Versions<'a> {
    /// `older` has the existing ones of [`needed_versions`]. Without `latest`, the catalog does not
    /// have the aspect.
    pub(crate) fn new(
        kind: &Kind,
        aspect: &str,
        latest: Option<&Aspect>,
        older: &[Aspect],
        locked: Locked<'a>,
        project: &str,
    ) -> Self {
        let versions = latest.into_iter().chain(older).map(|version| Version {
            number: version.version,
            is_own: version.project.as_deref() == Some(project),
            values: values_in(kind, aspect, &version.value),
        });
        Self {
            versions: versions.collect(),
            is_complete: latest.is_none_or(|latest| oldest_version(latest.version, locked) == 1),
            locked,
        }
    }

    pub(crate) fn base(&self, id: &PartId) -> Base {
        for (at, version) in self.versions.iter().enumerate() {
            let value = version.values.get(id);
            if let Locked::Version(locked) = self.locked
                && version.number <= locked.version
            {
                // The version is another one if the catalog was restored from a backup, if the
                // aspect was deleted and starts again, or if a run was rolled back.
                let is_same =
                    version.number == locked.version && digest(&version.values) == locked.digest;
                return if is_same {
                    Base::Known(value.cloned())
                } else {
                    Base::Unknown
                };
            }
            // Gaps between versions come from rollbacks, which restore the older one.
            let is_changed = match self.versions.get(at + 1) {
                Some(older) => older.values.get(id) != value,
                None => self.is_complete && value.is_some(),
            };
            if version.is_own && is_changed {
                return Base::Known(value.cloned());
            }
        }
        match self.locked {
            Locked::Missing if self.is_complete => Base::Known(None),
            Locked::Never if self.is_complete => Base::Never,
            _ => Base::Unknown,
        }
    }
}
