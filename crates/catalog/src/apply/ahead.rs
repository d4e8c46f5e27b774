//! Changes of long values, computed before the transaction that stores them.
//!
//! Parsing, patching and checking a value of 16 MiB takes most of a second, and other writers wait
//! for a transaction. So a list that changes long values ends its first transaction where it meets
//! them, without effect. It then computes these changes outside, from the stored values, and runs
//! again. If a value is another one by then, the transaction computes that change itself.
//!
//! The same holds for all values of a list that changes many short ones, or one very often. Several
//! changes of one value are computed one after the other. Each expects the value that the one
//! before it leaves; if a hook has changed that, the transaction computes the next one.
//!
//! Lists with long values run one at a time ([`LANE`]): they wait for each other, not others for
//! them, and their parsed values, which take several times the memory of their texts, exist once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use docent_model::aspects::AuditStamp;
use docent_model::patch::PatchBudget;
use docent_store::{AspectKey, AspectRow, ReadRequest, StoredAspect};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::batch::{Current, too_large};
use super::prepare::{Payload, Prepared};
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::proposal::Change;
use crate::{Catalog, Error};

/// All values of a list that are parsed outside its transaction, together, before the last one: a
/// little more than the largest one.
const MAX_BYTES: usize = 20 * 1024 * 1024;

static LANE: Semaphore = Semaphore::const_new(1);

/// What was computed ahead of a transaction, and what should have been.
#[derive(Default)]
pub(super) struct Ahead {
    /// `None` if the transaction has to compute everything that is not here.
    requested: Option<Mutex<Vec<LongChange>>>,
    /// By the index of the item.
    computed: HashMap<usize, Computed>,
}

/// A change of a long value, by its index in the list.
pub(super) struct LongChange {
    pub(super) index: usize,
    pub(super) key: AspectKey,
}

struct Computed {
    key: AspectKey,
    current: Current,
    change: ComputedChange,
}

pub(super) enum ComputedChange {
    /// Only the stored value was parsed, for the comparison with the new one.
    None,
    Unchanged,
    Changed(Arc<Payload>),
    /// Returned once; a retry of the transaction finds the error itself.
    Failed(Mutex<Option<Error>>),
}

impl Ahead {
    /// For a first transaction.
    pub(super) fn on_request() -> Self {
        Self {
            requested: Some(Mutex::default()),
            computed: HashMap::new(),
        }
    }

    pub(super) fn is_on_request(&self) -> bool {
        self.requested.is_some()
    }

    /// Ends the transaction.
    pub(super) fn request(&self, changes: Vec<LongChange>) -> Error {
        if let Some(requested) = &self.requested {
            *requested.lock().unwrap_or_else(PoisonError::into_inner) = changes;
        }
        Error::unavailable("the changes of long values were not computed")
    }

    /// What the transaction has requested; empty if it has not ended for that.
    pub(super) fn requested(&self) -> Vec<LongChange> {
        self.requested.as_ref().map_or_else(Vec::new, |requested| {
            std::mem::take(&mut *requested.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// The value that an item changes, parsed already if this text was.
    pub(super) fn current(
        &self,
        index: usize,
        key: &AspectKey,
        row: Option<Arc<StoredAspect>>,
    ) -> Current {
        let current = Current::new(row);
        match self.computed.get(&index) {
            Some(computed) if computed.key == *key && computed.current.text() == current.text() => {
                Current::with_value_of(current.row().cloned(), &computed.current)
            }
            _ => current,
        }
    }

    /// The result of an item for this value, if it was computed.
    pub(super) fn change(&self, index: usize, current: &Current) -> Option<&ComputedChange> {
        let computed = self.computed.get(&index)?;
        let is_same = current.has_value_of(&computed.current);
        is_same.then_some(&computed.change)
    }
}

/// Waits for other lists with long values. The turn ends when the permit is dropped, which is after
/// the list was stored.
pub(super) async fn take_turn() -> Result<SemaphorePermit<'static>, Error> {
    LANE.acquire().await.map_err(Error::internal)
}

impl Catalog {
    /// Computes the changes of long values of a list.
    pub(super) async fn compute_ahead(
        &self,
        prepared: &[Prepared],
        changes: Vec<LongChange>,
        stamp: &AuditStamp,
    ) -> Result<Ahead, Error> {
        // Lists before this one may have changed the values.
        let keys: HashSet<&AspectKey> = changes.iter().map(|change| &change.key).collect();
        let keys: Vec<AspectKey> = keys.into_iter().cloned().collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut rows: HashMap<AspectKey, AspectRow> = keys.into_iter().zip(rows).collect();
        let compute = || {
            let work = PatchBudget::default();
            let mut bytes = 0;
            let mut computed = HashMap::with_capacity(changes.len());
            for LongChange { index, key } in changes {
                let (item, row) = (&prepared[index], rows.get(&key).cloned().flatten());
                // Counted before each change, so that two of the largest values can be changed.
                let is_too_much = bytes > MAX_BYTES;
                bytes += row.as_ref().map_or(0, |row| row.metadata.len());
                if bytes > MAX_BYTES && !computes_value(&item.proposal.change) {
                    break;
                }
                let current = Current::new(row.clone());
                let change = if is_too_much {
                    ComputedChange::Failed(Mutex::new(Some(too_large(
                        "changes values of",
                        MAX_BYTES,
                    ))))
                } else {
                    compute(item, &key, &current, stamp, &work)
                };
                let ends = matches!(change, ComputedChange::Failed(_));
                if let (Some(row), Some(text)) = (row, change.text(item)) {
                    let after = StoredAspect {
                        metadata: text.to_owned(),
                        ..StoredAspect::clone(&row)
                    };
                    rows.insert(key.clone(), Some(Arc::new(after)));
                }
                let entry = Computed {
                    key,
                    current,
                    change,
                };
                computed.insert(index, entry);
                if ends {
                    break;
                }
            }
            Ahead {
                requested: None,
                computed,
            }
        };
        Ok(long_work::run(true, compute).await)
    }
}

impl ComputedChange {
    /// The text that the item leaves, if it is another one.
    fn text<'a>(&'a self, item: &'a Prepared) -> Option<&'a str> {
        match self {
            Self::None => item.payload.as_ref().map(Payload::text),
            Self::Changed(payload) => Some(payload.text()),
            Self::Unchanged | Self::Failed(_) => None,
        }
    }
}

fn compute(
    item: &Prepared,
    key: &AspectKey,
    current: &Current,
    stamp: &AuditStamp,
    work: &PatchBudget,
) -> ComputedChange {
    let (entity, aspect) = (item.entity, key.aspect);
    let changed = match &item.proposal.change {
        Change::Patch { patch, .. } => current
            .patched(entity, aspect, patch, stamp, work)
            .map(Some),
        Change::Edit { edit, .. } => current.edited(entity, aspect, edit, stamp),
        _ => {
            current.readable();
            return ComputedChange::None;
        }
    };
    match changed {
        Ok(None) => ComputedChange::Unchanged,
        Ok(Some(payload)) => {
            payload.text();
            payload.derived(key);
            ComputedChange::Changed(Arc::new(payload))
        }
        Err(error) => ComputedChange::Failed(Mutex::new(Some(error))),
    }
}

/// Whether the new value depends on the stored one. Others are only compared with it.
pub(super) fn computes_value(change: &Change) -> bool {
    matches!(change, Change::Patch { .. } | Change::Edit { .. })
}

/// Whether a text is long enough to be parsed outside the transaction.
pub(super) fn is_long(row: &StoredAspect) -> bool {
    row.metadata.len() > LONG_TEXT_BYTES
}

#[cfg(test)]
mod tests;
