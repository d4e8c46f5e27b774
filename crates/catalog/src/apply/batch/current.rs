//! The stored value that an item changes.

use std::sync::{Arc, OnceLock};

use docent_model::AspectName;
use docent_store::StoredAspect;
use serde_json::Value;

use super::Payload;
use crate::Error;
use crate::apply::json;
use crate::proposal::unreadable;

/// The latest version of an aspect, parsed at most once: the edit, the hooks and the comparison
/// share the value. It lives as long as its item, because parsed values are several times larger
/// than their texts.
pub(super) struct Current {
    row: Option<Arc<StoredAspect>>,
    value: OnceLock<Result<Value, serde_json::Error>>,
}

impl Current {
    pub(super) fn new(row: Option<Arc<StoredAspect>>) -> Self {
        Self {
            row,
            value: OnceLock::new(),
        }
    }

    pub(super) fn row(&self) -> Option<&Arc<StoredAspect>> {
        self.row.as_ref()
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
    pub(super) fn readable(&self) -> Option<&Value> {
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
