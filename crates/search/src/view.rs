//! The documents that a caller may see.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tantivy::index::SegmentId;

use crate::bits::Bits;
use crate::error::SearchError;
use crate::filter::Filters;
use crate::matching::{DocumentSet, SegmentSearcher};
use crate::request::Filter;

/// What a caller may see, for one search. The labels of the query and the results need the same
/// documents, so they are found once.
pub(crate) struct View {
    set: DocumentSet,
    /// The documents of each segment, once they were needed.
    seen: RefCell<HashMap<SegmentId, Rc<Bits>>>,
}

impl View {
    /// What passes the filter; `None` for everything.
    pub(crate) fn new(
        filters: &Filters<'_>,
        filter: Option<&Filter>,
    ) -> Result<Option<Rc<Self>>, SearchError> {
        let Some(filter) = filter else {
            return Ok(None);
        };
        let view = |query| Self {
            set: DocumentSet::Query(query),
            seen: RefCell::default(),
        };
        Ok(filters.query(filter)?.map(view).map(Rc::new))
    }

    /// The documents of a segment.
    pub(crate) fn documents(&self, segment: &SegmentSearcher<'_>) -> tantivy::Result<Rc<Bits>> {
        let id = segment.reader.segment_id();
        if let Some(seen) = self.seen.borrow().get(&id) {
            return Ok(Rc::clone(seen));
        }
        let seen = Rc::new(segment.set(&self.set)?);
        self.seen.borrow_mut().insert(id, Rc::clone(&seen));
        Ok(seen)
    }
}
