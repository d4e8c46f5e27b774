//! A checked list of proposals, or a part of one, that transactions share.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::prepare::Prepared;

#[derive(Debug, Clone)]
pub(super) struct PreparedList {
    all: Arc<[Prepared]>,
    range: Range<usize>,
}

impl PreparedList {
    pub(super) fn new(all: Vec<Prepared>) -> Self {
        let range = 0..all.len();
        Self {
            all: all.into(),
            range,
        }
    }

    /// A part of the whole list; indexes beyond its end are left out.
    pub(super) fn part(&self, range: Range<usize>) -> Self {
        let end = range.end.min(self.all.len());
        Self {
            all: Arc::clone(&self.all),
            range: range.start.min(end)..end,
        }
    }
}

impl Deref for PreparedList {
    type Target = [Prepared];

    fn deref(&self) -> &[Prepared] {
        &self.all[self.range.clone()]
    }
}
