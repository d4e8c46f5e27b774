//! Long values: their changes are computed outside the transaction ([`crate::apply::ahead`]).

use std::sync::{Arc, PoisonError};

use docent_model::patch::PatchBudget;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, StoredAspect};

use super::budget::COMPARED_PART;
use super::{Batch, Current, Payload, Prepared};
use crate::Error;
use crate::apply::ahead::{ComputedChange, LongChange, computes_value, is_long};
use crate::long_work::LONG_TEXT_BYTES;
use crate::proposal::{Change, Proposal};

/// What the changes of a list may visit inside its transaction: about 40 ms, for which others wait.
const MAX_WORK: usize = 1024 * 1024;

impl Batch<'_> {
    /// Ends the transaction if the next item changes a value that is changed outside, and names all
    /// such items that follow.
    pub(super) fn request_long_changes(
        &self,
        prepared: &[Prepared],
        next: usize,
    ) -> Result<(), Error> {
        if !(self.budget.is_long_list || self.budget.has_long_values())
            || !self.ahead.is_on_request()
            || self.long_value_of(&prepared[next]).is_none()
        {
            return Ok(());
        }
        let items = prepared.iter().enumerate().skip(next);
        let changes = items.filter_map(|(index, item)| {
            let key = self.long_value_of(item)?;
            Some(LongChange { index, key })
        });
        Err(self.ahead.request(changes.collect()))
    }

    /// Whether the changes of a list take long together, although each value is short.
    pub(super) fn is_long_list(&self, prepared: &[Prepared]) -> bool {
        let operations = |item: &Prepared| match &item.proposal.change {
            Change::Patch { patch, .. } => patch.length().max(1),
            _ => 1,
        };
        let most = prepared.iter().map(operations).max().unwrap_or(1);
        // As a rule, nothing has to be added up.
        if self
            .budget
            .loaded()
            .saturating_mul(most.max(prepared.len()))
            <= MAX_WORK
        {
            return false;
        }
        let mut work = 0_usize;
        prepared.iter().any(|item| {
            let row = self.changed_value_of(item).map(|(_, row)| row);
            let bytes = row.map_or(0, |row| row.metadata.len());
            work += if computes_value(&item.proposal.change) {
                bytes.saturating_mul(operations(item))
            } else {
                bytes / COMPARED_PART
            };
            work > MAX_WORK
        })
    }

    /// Whether an item may compute long inside the transaction.
    pub(super) fn is_long_item(&self, item: &Prepared) -> bool {
        let Proposal { urn, change, .. } = &item.proposal;
        let loads_values = matches!(
            change,
            Change::RollbackRun { .. } | Change::RemoveReferences { .. } | Change::Clear
        );
        if loads_values || change.deletes_entity(urn) {
            return true;
        }
        let new_bytes = item.proposal.text_bytes();
        if new_bytes > LONG_TEXT_BYTES {
            return true;
        }
        let is_long = |row: &StoredAspect| new_bytes + row.metadata.len() > LONG_TEXT_BYTES;
        // As a rule, all values together are short.
        new_bytes + self.budget.loaded() > LONG_TEXT_BYTES
            && self
                .changed_value_of(item)
                .is_some_and(|(_, row)| is_long(row))
    }

    /// The value that an item changes or replaces, if that is done outside the transaction.
    fn long_value_of(&self, item: &Prepared) -> Option<AspectKey> {
        let (key, row) = self.changed_value_of(item)?;
        (self.budget.is_long_list || is_long(row)).then_some(key)
    }

    /// The stored value that an item changes or replaces by a different text.
    fn changed_value_of(&self, item: &Prepared) -> Option<(AspectKey, &StoredAspect)> {
        let aspect = match &item.proposal.change {
            Change::Upsert { aspect, .. }
            | Change::Create { aspect, .. }
            | Change::CreateEntity { aspect, .. }
            | Change::Patch { aspect, .. }
            | Change::Edit { aspect, .. } => *aspect,
            _ => return None,
        };
        let key = AspectKey::new(&item.proposal.urn, aspect);
        let row = self.known.get(&key)?.as_deref()?;
        let is_same = |payload: &Payload| payload.has_text(&row.metadata);
        let is_changed = !item.payload.as_ref().is_some_and(is_same);
        is_changed.then_some((key, row))
    }

    /// The stored value of an aspect.
    pub(super) async fn current(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<Current, Error> {
        let row = self.get(urn, aspect).await?;
        let key = AspectKey::new(urn, aspect);
        Ok(self.ahead.current(self.index, &key, row))
    }

    /// The new value of the current item, if it changes anything: from outside the transaction, or
    /// from `compute`.
    pub(super) fn new_value(
        &mut self,
        current: &Current,
        compute: impl FnOnce(&PatchBudget) -> Result<Option<Payload>, Error>,
    ) -> Result<Option<Arc<Payload>>, Error> {
        match self.ahead.change(self.index, current) {
            Some(ComputedChange::Unchanged) => return Ok(None),
            Some(ComputedChange::Changed(payload)) => return Ok(Some(Arc::clone(payload))),
            Some(ComputedChange::Failed(error)) => {
                let mut error = error.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(error) = error.take() {
                    return Err(error);
                }
            }
            Some(ComputedChange::None) | None => {}
        }
        // Also if it is parsed already: the rest takes most of the time.
        self.budget.parse(current.row())?;
        Ok(compute(self.budget.patches())?.map(Arc::new))
    }
}
