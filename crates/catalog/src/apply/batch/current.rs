//! The stored value that an item changes.

use std::sync::{Arc, OnceLock};

use docent_model::aspects::AuditStamp;
use docent_model::patch::{Patch, PatchBudget};
use docent_model::{AspectName, EntitySpec};
use docent_store::StoredAspect;
use serde_json::Value;

use super::Payload;
use crate::Error;
use crate::apply::json;
use crate::proposal::{Edit, unreadable};

/// The limit of a request body. Patches need it too, because they add to the stored value.
const MAX_PATCHED_BYTES: usize = 16 * 1024 * 1024;

/// The latest version of an aspect, parsed at most once: the edit, the hooks and the comparison
/// share the value. It lives as long as its item, because parsed values are several times larger
/// than their texts.
#[derive(Clone)]
pub(in crate::apply) struct Current {
    row: Option<Arc<StoredAspect>>,
    value: Arc<OnceLock<Result<Value, serde_json::Error>>>,
}

impl Current {
    pub(in crate::apply) fn new(row: Option<Arc<StoredAspect>>) -> Self {
        Self {
            row,
            value: Arc::default(),
        }
    }

    /// A row whose text was parsed already, in another version.
    pub(in crate::apply) fn with_value_of(row: Option<Arc<StoredAspect>>, other: &Self) -> Self {
        Self {
            row,
            value: Arc::clone(&other.value),
        }
    }

    pub(in crate::apply) fn has_value_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value)
    }

    pub(in crate::apply) fn text(&self) -> Option<&str> {
        self.row.as_ref().map(|row| row.metadata.as_str())
    }

    pub(in crate::apply) fn row(&self) -> Option<&Arc<StoredAspect>> {
        self.row.as_ref()
    }

    /// The row, unless its value was parsed outside the transaction.
    pub(super) fn unparsed_row(&self) -> Option<&Arc<StoredAspect>> {
        self.row.as_ref().filter(|_| self.value.get().is_none())
    }

    /// The value after a patch.
    pub(in crate::apply) fn patched(
        &self,
        entity: &EntitySpec,
        aspect: AspectName,
        patch: &Patch,
        stamp: &AuditStamp,
        work: &PatchBudget,
    ) -> Result<Payload, Error> {
        let value = patch.apply(aspect, self.value(aspect)?.cloned(), stamp, work)?;
        let payload = Payload::check(entity, aspect, value, None)?;
        let bytes = payload.text().len();
        if bytes > MAX_PATCHED_BYTES {
            return Err(Error::invalid_aspect(format!(
                "{aspect} would have {bytes} bytes after the patch: at most {MAX_PATCHED_BYTES} are allowed"
            )));
        }
        Ok(payload)
    }

    /// The value after an edit, if it changes anything.
    pub(in crate::apply) fn edited(
        &self,
        entity: &EntitySpec,
        aspect: AspectName,
        edit: &Edit,
        stamp: &AuditStamp,
    ) -> Result<Option<Payload>, Error> {
        let value = edit.run(self.value(aspect)?, stamp)?;
        let check = |value| Payload::check(entity, aspect, value, None);
        value.map(check).transpose()
    }

    /// The value, if there is one; an error if it is not JSON.
    pub(super) fn value(&self, aspect: AspectName) -> Result<Option<&Value>, Error> {
        match self.parsed() {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(error)) => Err(unreadable(aspect, error)),
        }
    }

    /// The value; `None` also if it is not JSON.
    pub(in crate::apply) fn readable(&self) -> Option<&Value> {
        self.parsed()?.as_ref().ok()
    }

    /// Whether the payload says the same, in whatever order and spacing.
    pub(super) fn is_same(&self, payload: &Payload) -> bool {
        let Some(row) = &self.row else {
            return false;
        };
        payload.has_text(&row.metadata) || self.readable() == Some(&payload.value)
    }

    fn parsed(&self) -> Option<&Result<Value, serde_json::Error>> {
        let row = self.row.as_ref()?;
        Some(self.value.get_or_init(|| json::parse_stored(&row.metadata)))
    }
}
