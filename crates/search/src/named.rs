//! Documents by their whole names.
//!
//! Nearly every name is another one, and a term for each made a quarter of the work of indexing. So whole names stand in
//! a column, and only how they begin has terms, which many share: these give the few documents among which the column tells
//! those that are meant.

use std::ops::{Bound, RangeBounds};

use tantivy::DocId;
use tantivy::columnar::StrColumn;

use crate::schema::LAST_PART_MARK;

/// So many letters of a name have a term. Fewer leave more documents to look at; more are as different as the names.
pub(crate) const START_LETTERS: usize = 8;

/// The beginning of a name that has a term.
pub(crate) fn start_of(name: &str) -> &str {
    match name.char_indices().nth(START_LETTERS) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

/// How a name, or the beginning of one, stands in the column as a name and as a last part of one.
pub(crate) fn written(name: &str) -> [String; 2] {
    [name.to_owned(), format!("{LAST_PART_MARK}{name}")]
}

/// Texts that stand side by side in the order of a column.
pub(crate) struct TextRange {
    first: Bound<Vec<u8>>,
    last: Bound<Vec<u8>>,
}

impl TextRange {
    pub(crate) fn one(text: &str) -> Self {
        let bound = Bound::Included(text.as_bytes().to_vec());
        Self {
            first: bound.clone(),
            last: bound,
        }
    }

    pub(crate) fn beginning_with(start: &str) -> Self {
        let mut behind = start.as_bytes().to_vec();
        // No character ends with the largest byte, so there is a next one.
        if let Some(last) = behind.last_mut() {
            *last += 1;
        }
        Self {
            first: Bound::Included(start.as_bytes().to_vec()),
            last: Bound::Excluded(behind),
        }
    }
}

/// Tells which documents have a text of some ranges in a column.
pub(crate) struct RangeTest<'c> {
    column: &'c StrColumn,
    ordinals: Vec<(Bound<u64>, Bound<u64>)>,
}

impl<'c> RangeTest<'c> {
    pub(crate) fn new(column: &'c StrColumn, ranges: &[TextRange]) -> tantivy::Result<Self> {
        let dictionary = column.dictionary();
        let mut ordinals = Vec::new();
        for TextRange { first, last } in ranges {
            ordinals.push(dictionary.term_bounds_to_ord(first.as_ref(), last.as_ref())?);
        }
        Ok(Self { column, ordinals })
    }

    pub(crate) fn passes(&self, document: DocId) -> bool {
        let mut values = self.column.term_ords(document);
        values.any(|value| self.ordinals.iter().any(|range| range.contains(&value)))
    }
}
