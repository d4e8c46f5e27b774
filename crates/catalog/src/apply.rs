//! The one write path.
//!
//! [`Catalog::apply`] checks each proposal by itself first ([`prepare`]), outside of any transaction. Then, in
//! one transaction, it reads what the list touches in one go, works through the list in order against that
//! state and what the list has changed so far ([`batch`]), and hands its writes to the store: at the end, or
//! earlier where an item asks what only the store can answer. An error anywhere leaves nothing behind.

mod batch;
mod json;
mod prepare;

use std::sync::Arc;

use docent_model::aspects::AuditStamp;
use docent_store::transact;

use crate::proposal::Proposal;
use crate::runs::TakenBack;
use crate::{Caller, Catalog, Error};
use batch::Batch;
use prepare::Prepared;
pub(crate) use prepare::about_proposal;

/// How many changes one list may hold: a list is one transaction, and others wait for it.
pub(crate) const MAX_PROPOSALS: usize = 10_000;
/// How many transactions one list may take, where it may take several: [`Batch::is_resumable`].
const MAX_PIECES: usize = 10_000;

/// What a list of proposals did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Rows of deleted entities and aspects, history included.
    pub deleted_rows: u64,
    /// Points of deleted time series.
    pub deleted_timeseries_rows: u64,
    /// What became of the entities that [`crate::Change::TakeBack`] is about.
    pub taken_back: Vec<TakenBack>,
    /// There is more to do than one transaction should; what is done stays done.
    unfinished: bool,
}

impl Applied {
    fn add(&mut self, piece: Self) {
        self.deleted_rows += piece.deleted_rows;
        self.deleted_timeseries_rows += piece.deleted_timeseries_rows;
        self.taken_back.extend(piece.taken_back);
    }
}

impl Catalog {
    /// Carries out all proposals, in order, or none of them, whatever they write: what comes from outside goes
    /// through [`Catalog::ingest`]. When it returns, the changes are durable and
    /// every read sees them.
    ///
    /// One thing takes several transactions: deleting what thousands refer to. They lose their references piece by
    /// piece, and it goes with the last of them; should it stop half-way, doing it again goes on.
    pub async fn apply(&self, caller: &Caller, proposals: Vec<Proposal>) -> Result<Applied, Error> {
        if proposals.is_empty() {
            return Ok(Applied::default());
        }
        if proposals.len() > MAX_PROPOSALS {
            return Err(Error::invalid(format!(
                "a list can hold {MAX_PROPOSALS} changes at most, and this one has {}: send it in parts",
                proposals.len()
            )));
        }
        let prepared: Arc<[Prepared]> = proposals
            .into_iter()
            .map(Prepared::check)
            .collect::<Result<_, _>>()?;
        let stamp = AuditStamp::new(caller.actor(), self.now_ms());
        let mut applied = Applied::default();
        for _ in 0..MAX_PIECES {
            let (prepared, stamp) = (Arc::clone(&prepared), stamp.clone());
            let piece: Applied = transact(self.store(), move |tx| {
                let prepared = Arc::clone(&prepared);
                let stamp = stamp.clone();
                Box::pin(async move { Batch::run(tx, &prepared, stamp).await })
            })
            .await?;
            let unfinished = piece.unfinished;
            applied.add(piece);
            if !unfinished {
                return Ok(applied);
            }
        }
        Err(Error::unavailable(format!(
            "it is not finished after {MAX_PIECES} transactions; what is done stays done, and trying again goes on"
        )))
    }
}
