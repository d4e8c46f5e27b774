//! Lookup of documents by whole name, regardless of case.
//!
//! Names are nearly all distinct, and terms for their folded forms would take a quarter of the
//! indexing time. Instead, folded names are in a column, and only their prefixes have terms, which
//! many names share. The terms yield a few candidates, whose names are then compared in the column.

use std::ops::{Bound, RangeBounds};

use tantivy::DocId;
use tantivy::columnar::StrColumn;

use crate::schema::LAST_PART_MARK;

/// The length of the prefix that has a term. A shorter one yields more candidates; a longer one is
/// as distinct as the names.
pub(crate) const PREFIX_CHARS: usize = 8;

/// The prefix of a name that has a term.
pub(crate) fn prefix_of(name: &str) -> &str {
    match name.char_indices().nth(PREFIX_CHARS) {
        Some((end, _)) => &name[..end],
        None => name,
    }
}

/// The texts of a name, or of a prefix, in the column: as a name, and as the last part of one.
pub(crate) fn column_texts(name: &str) -> [String; 2] {
    [name.to_owned(), format!("{LAST_PART_MARK}{name}")]
}

/// A range of texts in the order of a column.
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
        let mut end = start.as_bytes().to_vec();
        // No character of UTF-8 ends with byte 255, so adding one does not overflow.
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        Self {
            first: Bound::Included(start.as_bytes().to_vec()),
            last: Bound::Excluded(end),
        }
    }
}

/// Tests whether documents have a text of some ranges in a column.
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
