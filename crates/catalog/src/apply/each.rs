//! Applies the items of a list independently of each other.
//!
//! As many items as possible share a transaction. If one fails, those before it are applied without
//! it, and then it is tried alone: only an item that fails alone is rejected. Items keep their
//! order, and each sees the effects of the applied ones before it.

use super::list::PreparedList;
use super::prepare::Prepared;
use super::{Applied, check_length, check_writer};
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::proposal::Proposal;
use crate::{Caller, Catalog, Error, ErrorSubject};

/// After many failures, transactions have as few items as this, so that a list in which most items
/// fail is not read again and again.
const MIN_ITEMS: usize = 8;

/// The result of a list of independent items.
#[derive(Debug, Default)]
pub struct AppliedItems {
    pub applied: Applied,
    /// Why the other items were rejected, in their order.
    pub rejected: Vec<Error>,
}

impl Catalog {
    /// Applies each proposal that can be applied, in order. Fails as a whole only for a reason that
    /// is not in the list, such as a busy store; what it has applied by then stays.
    pub(crate) async fn apply_each(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<AppliedItems, Error> {
        let mut items = prepare_each(caller, proposals).await?;
        let list = PreparedList::new(std::mem::take(&mut items.prepared));
        let (mut from, mut size) = (0, list.len());
        // The item that failed, in a transaction with those before it.
        let mut failed = None;
        while from < list.len() {
            let to = match failed {
                Some(index) if index == from => from + 1,
                Some(index) => index,
                None => from + size,
            };
            let part = list.part(from..to);
            match self.apply_list(caller, part.clone()).await {
                Ok(applied) => {
                    items.applied(applied);
                    if failed == Some(from) {
                        failed = None;
                    }
                    size = size.saturating_mul(2);
                    from += part.len();
                }
                Err(error) if !error.is_correctable() => return Err(error),
                Err(error) if part.len() == 1 => {
                    let error = self.audited::<Applied>(caller, Err(error)).await.err();
                    items.reject(error);
                    failed = None;
                    size = (size / 2).max(MIN_ITEMS);
                    from += 1;
                }
                Err(error) => {
                    let index = error.subject().position;
                    let index = index.filter(|index| (from..from + part.len()).contains(index));
                    failed = Some(index.unwrap_or(from + part.len() / 2));
                }
            }
        }
        Ok(items.into_result())
    }
}

/// Items while they are applied. Their positions are their indexes in the checked list, which
/// errors and warnings are found by; in the result they have those of the client again.
#[derive(Default)]
struct Items {
    prepared: Vec<Prepared>,
    positions: Vec<Option<usize>>,
    result: AppliedItems,
}

impl Items {
    fn applied(&mut self, mut applied: Applied) {
        for warning in &mut applied.warnings {
            self.restore_position(&mut warning.subject);
        }
        self.result.applied.add(applied);
    }

    fn reject(&mut self, error: Option<Error>) {
        self.result.rejected.extend(error.map(|error| {
            let mut subject = error.subject().clone();
            self.restore_position(&mut subject);
            error.about(subject)
        }));
    }

    fn restore_position(&self, subject: &mut ErrorSubject) {
        let index = subject.position;
        subject.position = index.and_then(|index| self.positions.get(index).copied()?);
    }

    fn into_result(self) -> AppliedItems {
        let mut result = self.result;
        result.rejected.sort_by_key(|it| it.subject().position);
        let warnings = &mut result.applied.warnings;
        warnings.sort_by_key(|it| it.subject.position);
        result
    }
}

/// Checks each proposal on its own, and rejects those that are invalid.
async fn prepare_each(caller: &Caller, proposals: Vec<Proposal>) -> Result<Items, Error> {
    check_writer(caller)?;
    check_length(&proposals)?;
    let bytes: usize = proposals.iter().map(Proposal::text_bytes).sum();
    let check = || {
        let mut items = Items::default();
        for proposal in proposals {
            match Prepared::check(proposal) {
                Ok(mut item) => {
                    let index = Some(items.prepared.len());
                    items.positions.push(item.proposal.position);
                    item.proposal.position = index;
                    if let Some(warning) = &mut item.warning {
                        warning.subject.position = index;
                    }
                    items.prepared.push(item);
                }
                Err(error) => items.result.rejected.push(error),
            }
        }
        items
    };
    Ok(long_work::run(bytes > LONG_TEXT_BYTES, check).await)
}
