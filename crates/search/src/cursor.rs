//! The cursors of scrolls in the order of fields, and the documents behind one.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tantivy::{DocId, SegmentReader, TantivyError};

use crate::bits::Bits;
use crate::column::first_ordinal_after;
use crate::schema::URN;
use crate::sort_column::SortColumn;
use crate::view::ViewLookup;

/// The end of a page. The field names are part of the cursor that clients send back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScrollCursor {
    /// One for each sort field.
    pub(crate) values: Vec<Option<CursorValue>>,
    pub(crate) urn: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CursorValue {
    Number(i64),
    Text(String),
}

impl ScrollCursor {
    /// `None` if the text is not a cursor of a scroll by this many fields.
    pub(crate) fn read(text: &str, fields: usize) -> Option<Self> {
        let cursor: Self = serde_json::from_str(text).ok()?;
        (cursor.values.len() == fields).then_some(cursor)
    }

    pub(crate) fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// The documents behind a cursor.
#[derive(Debug, Clone)]
pub(crate) struct AfterCursor {
    /// The sort fields, each with whether it is descending.
    pub(crate) fields: Vec<(String, bool)>,
    pub(crate) cursor: ScrollCursor,
}

/// The value of the cursor in one field, in terms of a segment.
struct CursorBound<'m> {
    column: SortColumn<'m>,
    descending: bool,
    value: Option<&'m CursorValue>,
    /// The range of ordinals that are equal to the cursor's text.
    texts: (u64, u64),
}

impl AfterCursor {
    /// Those among the documents of a segment.
    pub(crate) fn among(
        &self,
        reader: &SegmentReader,
        references: Option<&ViewLookup<'_>>,
        documents: &Bits,
    ) -> tantivy::Result<Bits> {
        let mut bounds = Vec::with_capacity(self.fields.len());
        for ((field, descending), value) in self.fields.iter().zip(&self.cursor.values) {
            let column = SortColumn::open(reader, field, references)?;
            bounds.push(CursorBound::new(column, *descending, value.as_ref())?);
        }
        let urns = reader
            .fast_fields()
            .str(URN)?
            .ok_or_else(|| TantivyError::InternalError("a segment has no URN column".to_owned()))?;
        let first = first_ordinal_after(&urns, &self.cursor.urn)?;
        let mut after_cursor = Bits::empty(documents.len());
        for document in documents.to_vec() {
            let mut order = Ordering::Equal;
            for bound in &bounds {
                order = bound.compare(document)?;
                if order.is_ne() {
                    break;
                }
            }
            let is_urn_after = || urns.ords().first(document).is_some_and(|urn| urn >= first);
            if order.is_gt() || (order.is_eq() && is_urn_after()) {
                after_cursor.insert(document);
            }
        }
        Ok(after_cursor)
    }
}

impl<'m> CursorBound<'m> {
    fn new(
        column: SortColumn<'m>,
        descending: bool,
        value: Option<&'m CursorValue>,
    ) -> tantivy::Result<Self> {
        let texts = match (&column, value) {
            (SortColumn::Text(column), Some(CursorValue::Text(text))) => {
                let after_cursor = first_ordinal_after(&column.texts, text)?;
                let is_there = column.texts.dictionary().term_ord(text)?.is_some();
                (after_cursor - u64::from(is_there), after_cursor)
            }
            _ => (0, 0),
        };
        Ok(Self {
            column,
            descending,
            value,
            texts,
        })
    }

    /// Compares a document with the cursor. Missing values come last in both directions, and
    /// numbers before texts.
    fn compare(&self, document: DocId) -> tantivy::Result<Ordering> {
        let order = match (&self.column, self.value) {
            (SortColumn::Text(column), value) => match (column.ordinal(document)?, value) {
                (None, value) => return Ok(missing(value)),
                (Some(_), None) => return Ok(Ordering::Less),
                (Some(text), Some(CursorValue::Text(_))) if text < self.texts.0 => Ordering::Less,
                (Some(text), Some(CursorValue::Text(_))) if text < self.texts.1 => Ordering::Equal,
                (Some(_), Some(_)) => Ordering::Greater,
            },
            (SortColumn::Number(column), value) => match (column.first(document), value) {
                (None, value) => return Ok(missing(value)),
                (Some(_), None) => return Ok(Ordering::Less),
                (Some(number), Some(CursorValue::Number(cursor))) => number.cmp(cursor),
                (Some(_), Some(CursorValue::Text(_))) => Ordering::Less,
            },
            (SortColumn::Missing, value) => return Ok(missing(value)),
        };
        Ok(if self.descending {
            order.reverse()
        } else {
            order
        })
    }
}

/// Compares a document without a value with the cursor.
fn missing(cursor: Option<&CursorValue>) -> Ordering {
    if cursor.is_some() {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}
