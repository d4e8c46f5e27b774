//! Long values: their changes are computed outside the transaction ([`crate::apply::ahead`]).

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use docent_model::patch::PatchBudget;
use docent_model::{AspectName, Urn};
use docent_store::AspectKey;

use super::{Batch, Current, Payload, Prepared};
use crate::Error;
use crate::apply::ahead::{ComputedChange, LongChange, is_long};
use crate::proposal::Change;

impl Batch<'_> {
    /// Ends the transaction if the next item changes a long value, and names all such items that
    /// follow.
    pub(super) fn request_long_changes(
        &self,
        prepared: &[Prepared],
        next: usize,
    ) -> Result<(), Error> {
        if !self.budget.has_long_values()
            || !self.ahead.is_on_request()
            || self.long_value_of(&prepared[next]).is_none()
        {
            return Ok(());
        }
        let mut seen = HashSet::new();
        let items = prepared.iter().enumerate().skip(next);
        let changes = items.filter_map(|(index, item)| {
            let key = self.long_value_of(item)?;
            seen.insert(key.clone())
                .then_some(LongChange { index, key })
        });
        Err(self.ahead.request(changes.collect()))
    }

    /// The long value that an item changes or replaces by a different text.
    fn long_value_of(&self, item: &Prepared) -> Option<AspectKey> {
        let aspect = match &item.proposal.change {
            Change::Upsert { aspect, .. }
            | Change::Create { aspect, .. }
            | Change::CreateEntity { aspect, .. }
            | Change::Patch { aspect, .. }
            | Change::Edit { aspect, .. } => *aspect,
            _ => return None,
        };
        let key = AspectKey::new(&item.proposal.urn, aspect);
        let row = self.known.get(&key)?.as_ref()?;
        let is_same = |payload: &Payload| payload.has_text(&row.metadata);
        (is_long(row) && !item.payload.as_ref().is_some_and(is_same)).then_some(key)
    }

    /// The stored value of an aspect.
    pub(super) async fn current(
        &mut self,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<Arc<Current>, Error> {
        let row = self.get(urn, aspect).await?;
        Ok(self.ahead.current(&AspectKey::new(urn, aspect), row))
    }

    /// The new value of the current item, if it changes anything: from outside the transaction, or
    /// from `compute`.
    pub(super) fn new_value(
        &mut self,
        key: &AspectKey,
        current: &Arc<Current>,
        compute: impl FnOnce(&PatchBudget) -> Result<Option<Payload>, Error>,
    ) -> Result<Option<Arc<Payload>>, Error> {
        match self.ahead.change(self.index, key, current) {
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
