//! Scrolling in the order of fields.
//!
//! A scroll without sort fields is in the order of URNs, and its cursor is a URN. With sort fields,
//! the cursor holds the values of the last result of the page, and its URN to break ties. So an
//! entity that exists throughout and keeps its values is returned exactly once. This module must
//! not know what is searched or how a page is collected.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tantivy::query::{
    BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, Searcher, SegmentReader, TantivyError};

use crate::collect::{CollectedResults, PreparedQuery, ResultCollector, SortColumn};
use crate::column::{first_ordinal_after, first_text};
use crate::error::SearchError;
use crate::matching::DocumentSet;
use crate::phrase::term_query;
use crate::schema::{Fields, URN};
use crate::segment_cache::SegmentCache;

/// The end of a page. The field names are part of the cursor that clients send back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScrollCursor {
    /// One for each sort field.
    values: Vec<Option<CursorValue>>,
    urn: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CursorValue {
    Number(i64),
    Text(String),
}

/// A scroll by fields, each with whether it is descending.
#[derive(Debug, Clone)]
pub(crate) struct SortedScroll {
    pub(crate) fields: Vec<(String, bool)>,
    pub(crate) after: Option<ScrollCursor>,
    /// The page size.
    pub(crate) count: usize,
}

impl ScrollCursor {
    /// `None` if the text is not a cursor of a scroll by this many fields.
    pub(crate) fn read(text: &str, fields: usize) -> Option<Self> {
        let cursor: Self = serde_json::from_str(text).ok()?;
        (cursor.values.len() == fields).then_some(cursor)
    }

    fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

impl SortedScroll {
    /// Returns one page, and the cursor at its end if there are more.
    pub(crate) fn collect(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        cache: &SegmentCache,
        collector: &ResultCollector,
        mut prepared: PreparedQuery,
    ) -> Result<(CollectedResults, Option<String>), SearchError> {
        let mut collected = match &self.after {
            None => collector.collect(searcher, cache, &prepared)?,
            Some(cursor) => {
                // The total and the facets include earlier pages.
                let count = ResultCollector {
                    limit: 0,
                    ..collector.clone()
                };
                let counted = count.collect(searcher, cache, &prepared)?;
                let after_cursor = AfterCursor {
                    fields: self.fields.clone(),
                    cursor: cursor.clone(),
                };
                prepared
                    .conditions
                    .push(DocumentSet::Query(Box::new(after_cursor)));
                let page = ResultCollector {
                    facets: Vec::new(),
                    ..collector.clone()
                };
                CollectedResults {
                    hits: page.collect(searcher, cache, &prepared)?.hits,
                    ..counted
                }
            }
        };
        if collected.hits.len() <= self.count {
            return Ok((collected, None));
        }
        collected.hits.truncate(self.count);
        let last = collected.hits.last().map(|last| last.urn.clone());
        let cursor = match last {
            Some(urn) => self.cursor(searcher, fields, urn)?,
            None => None,
        };
        Ok((collected, cursor.and_then(|cursor| cursor.written())))
    }

    /// The cursor after an entity.
    fn cursor(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        urn: String,
    ) -> Result<Option<ScrollCursor>, SearchError> {
        let query = term_query(fields.urn_term(&urn));
        let found = searcher.search(&*query, &tantivy::collector::DocSetCollector)?;
        let Some(address) = found.into_iter().next() else {
            return Ok(None);
        };
        let reader = searcher.segment_reader(address.segment_ord);
        let mut values = Vec::with_capacity(self.fields.len());
        for (field, _) in &self.fields {
            values.push(match SortColumn::open(reader, field)? {
                SortColumn::Text(column) => {
                    first_text(&column, address.doc_id)?.map(CursorValue::Text)
                }
                SortColumn::Number(column) => column.first(address.doc_id).map(CursorValue::Number),
                SortColumn::Missing => None,
            });
        }
        Ok(Some(ScrollCursor { values, urn }))
    }
}

/// Matches documents after a cursor.
#[derive(Debug, Clone)]
struct AfterCursor {
    fields: Vec<(String, bool)>,
    cursor: ScrollCursor,
}

/// The value of the cursor in one field, in terms of a segment.
struct CursorBound<'m> {
    column: SortColumn,
    descending: bool,
    value: Option<&'m CursorValue>,
    /// The range of ordinals that are equal to the cursor's text.
    texts: (u64, u64),
}

impl Query for AfterCursor {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for AfterCursor {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut bounds = Vec::with_capacity(self.fields.len());
        for ((field, descending), value) in self.fields.iter().zip(&self.cursor.values) {
            bounds.push(CursorBound::new(
                reader,
                field,
                *descending,
                value.as_ref(),
            )?);
        }
        let urns = reader
            .fast_fields()
            .str(URN)?
            .ok_or_else(|| TantivyError::InternalError("a segment has no URN column".to_owned()))?;
        let first = first_ordinal_after(&urns, &self.cursor.urn)?;
        let mut after_cursor = BitSet::with_max_value(reader.max_doc());
        for document in 0..reader.max_doc() {
            let order = bounds
                .iter()
                .map(|bound| bound.compare(document))
                .find(|order| order.is_ne());
            let is_after = order.map_or_else(
                || urns.ords().first(document).is_some_and(|urn| urn >= first),
                Ordering::is_gt,
            );
            if is_after {
                after_cursor.insert(document);
            }
        }
        let after_cursor = BitSetDocSet::from(after_cursor);
        Ok(Box::new(ConstScorer::new(after_cursor, boost)))
    }

    fn explain(&self, _: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!(
            "scroll queries do not explain document {document}"
        )))
    }
}

impl<'m> CursorBound<'m> {
    fn new(
        reader: &SegmentReader,
        field: &str,
        descending: bool,
        value: Option<&'m CursorValue>,
    ) -> tantivy::Result<Self> {
        let column = SortColumn::open(reader, field)?;
        let texts = match (&column, value) {
            (SortColumn::Text(column), Some(CursorValue::Text(text))) => {
                let after_cursor = first_ordinal_after(column, text)?;
                let is_there = column.dictionary().term_ord(text)?.is_some();
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
    fn compare(&self, document: DocId) -> Ordering {
        let order = match (&self.column, self.value) {
            (SortColumn::Text(column), value) => match (column.ords().first(document), value) {
                (None, value) => return missing(value),
                (Some(_), None) => return Ordering::Less,
                (Some(text), Some(CursorValue::Text(_))) if text < self.texts.0 => Ordering::Less,
                (Some(text), Some(CursorValue::Text(_))) if text < self.texts.1 => Ordering::Equal,
                (Some(_), Some(_)) => Ordering::Greater,
            },
            (SortColumn::Number(column), value) => match (column.first(document), value) {
                (None, value) => return missing(value),
                (Some(_), None) => return Ordering::Less,
                (Some(number), Some(CursorValue::Number(cursor))) => number.cmp(cursor),
                (Some(_), Some(CursorValue::Text(_))) => Ordering::Less,
            },
            (SortColumn::Missing, value) => return missing(value),
        };
        if self.descending {
            order.reverse()
        } else {
            order
        }
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
