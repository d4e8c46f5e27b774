//! Scrolling in the order of fields.
//!
//! A scroll without sort fields is in the order of URNs, and its cursor is a URN. With sort fields,
//! the cursor holds the values of the last result of the page, and its URN to break ties. So an
//! entity that exists throughout and keeps its values is returned exactly once. This module must
//! not know what is searched or how a page is collected.

use tantivy::Searcher;

use crate::collect::{CollectedResults, PreparedQuery, ResultCollector};
use crate::cursor::{AfterCursor, CursorValue, ScrollCursor};
use crate::error::SearchError;
use crate::phrase::term_query;
use crate::schema::Fields;
use crate::segment_cache::SegmentCache;
use crate::sort_column::SortColumn;
use crate::view::ViewLookup;

/// A scroll by fields, each with whether it is descending.
#[derive(Debug, Clone)]
pub(crate) struct SortedScroll {
    pub(crate) fields: Vec<(String, bool)>,
    pub(crate) after: Option<ScrollCursor>,
    /// The page size.
    pub(crate) count: usize,
}

impl SortedScroll {
    /// Returns one page, and the cursor at its end if there are more.
    pub(crate) fn collect(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        cache: &SegmentCache,
        collector: &ResultCollector,
        mut prepared: PreparedQuery<'_>,
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
                prepared.after = Some(AfterCursor {
                    fields: self.fields.clone(),
                    cursor: cursor.clone(),
                });
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
            Some(urn) => self.cursor(searcher, fields, prepared.references.as_ref(), urn)?,
            None => None,
        };
        Ok((collected, cursor.and_then(|cursor| cursor.written())))
    }

    /// The cursor after an entity. It has no references that the caller may not see.
    fn cursor(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        references: Option<&ViewLookup<'_>>,
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
            values.push(match SortColumn::open(reader, field, references)? {
                SortColumn::Text(column) => column.text(address.doc_id)?.map(CursorValue::Text),
                SortColumn::Number(column) => column.first(address.doc_id).map(CursorValue::Number),
                SortColumn::Missing => None,
            });
        }
        Ok(Some(ScrollCursor { values, urn }))
    }
}
