//! Walks over the dictionaries of an index.

use std::collections::HashMap;

use tantivy::columnar::StrColumn;
use tantivy::query::{EnableScoring, Query};
use tantivy::schema::Field;
use tantivy::{Searcher, SegmentReader, TERMINATED};

use crate::bits::Bits;
use crate::budget::SearchBudget;
use crate::column::{ColumnQuery, index_of};

/// How many texts to read between two checks of the budget.
const TEXTS_PER_CHECK: usize = 1000;

/// Walks over the dictionaries of all segments, within the budget of a search.
pub(crate) struct DictionaryWalk<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) budget: &'s SearchBudget,
    /// How many terms of each segment to visit.
    pub(crate) limit: usize,
}

impl<'s> DictionaryWalk<'s> {
    pub(crate) fn over_all(searcher: &'s Searcher, budget: &'s SearchBudget) -> Self {
        Self {
            searcher,
            budget,
            limit: usize::MAX,
        }
    }

    /// Visits the terms of a field that have a prefix.
    pub(crate) fn each_term(
        &self,
        field: Field,
        start: &str,
        mut visit: impl FnMut(&str),
    ) -> tantivy::Result<()> {
        for segment in self.searcher.segment_readers() {
            self.each_term_of(segment, field, start, &mut visit)?;
        }
        Ok(())
    }

    /// The last term that is among the visited ones of every segment; `None` if no segment has more
    /// terms with the prefix.
    pub(crate) fn last_of_first_terms(
        &self,
        field: Field,
        start: &str,
    ) -> tantivy::Result<Option<String>> {
        let one_more = DictionaryWalk {
            limit: self.limit.saturating_add(1),
            ..*self
        };
        let mut seen: Option<String> = None;
        for segment in self.searcher.segment_readers() {
            let (mut count, mut last) = (0, String::new());
            one_more.each_term_of(segment, field, start, &mut |text| {
                count += 1;
                if count == self.limit {
                    last.push_str(text);
                }
            })?;
            if count > self.limit && seen.as_ref().is_none_or(|seen| last < *seen) {
                seen = Some(last);
            }
        }
        Ok(seen)
    }

    fn each_term_of(
        &self,
        segment: &SegmentReader,
        field: Field,
        start: &str,
        visit: &mut impl FnMut(&str),
    ) -> tantivy::Result<()> {
        let inverted = segment.inverted_index(field)?;
        let range = inverted.terms().range().ge(start.as_bytes());
        let mut stream = range.into_stream()?;
        let mut count = 0;
        while count < self.limit && stream.advance() {
            self.budget.step()?;
            let Ok(text) = std::str::from_utf8(stream.key()) else {
                continue;
            };
            if !text.starts_with(start) {
                break;
            }
            visit(text);
            count += 1;
        }
        Ok(())
    }

    /// Documents with a text in a column that has one of the prefixes and passes the test.
    pub(crate) fn matching_texts<S: AsRef<str>>(
        &self,
        path: &str,
        starts: &[S],
        test: impl Fn(&str) -> tantivy::Result<bool>,
    ) -> tantivy::Result<ColumnQuery> {
        let mut ordinals_by_segment = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let Some(column) = segment.fast_fields().str(path)? else {
                continue;
            };
            let mut ordinals = Bits::empty(column.num_terms());
            for start in starts {
                let start = start.as_ref().as_bytes();
                let mut texts = column.dictionary().prefix_range(start).into_stream()?;
                while texts.advance() {
                    self.budget.step()?;
                    if let Ok(text) = std::str::from_utf8(texts.key())
                        && test(text)?
                    {
                        ordinals.insert_index(index_of(texts.term_ord()));
                    }
                }
            }
            ordinals_by_segment.insert(segment.segment_id(), ordinals);
        }
        Ok(ColumnQuery::new(path, ordinals_by_segment))
    }

    /// Documents with a text in a column that passes the test, where only the texts of some
    /// documents are tested.
    pub(crate) fn matching_texts_of(
        &self,
        candidates: &dyn Query,
        path: &str,
        test: impl Fn(&str) -> tantivy::Result<bool>,
    ) -> tantivy::Result<ColumnQuery> {
        let weight = candidates.weight(EnableScoring::disabled_from_searcher(self.searcher))?;
        let mut ordinals_by_segment = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let Some(column) = segment.fast_fields().str(path)? else {
                continue;
            };
            let mut seen = Vec::new();
            let mut documents = weight.scorer(segment, 1.0)?;
            while documents.doc() != TERMINATED {
                self.budget.step()?;
                seen.extend(column.ords().values_for_doc(documents.doc()));
                documents.advance();
            }
            seen.sort_unstable();
            seen.dedup();
            let mut ordinals = Bits::empty(column.num_terms());
            for_each_text_at(&column, &seen, self.budget, |ordinal, text| {
                if test(text)? {
                    ordinals.insert_index(index_of(ordinal));
                }
                Ok(())
            })?;
            ordinals_by_segment.insert(segment.segment_id(), ordinals);
        }
        Ok(ColumnQuery::new(path, ordinals_by_segment))
    }
}

/// Calls `visit` with each of some sorted ordinals of a column and its text.
pub(crate) fn for_each_text_at(
    column: &StrColumn,
    ordinals: &[u64],
    budget: &SearchBudget,
    mut visit: impl FnMut(u64, &str) -> tantivy::Result<()>,
) -> tantivy::Result<()> {
    for chunk in ordinals.chunks(TEXTS_PER_CHECK) {
        budget.check()?;
        let mut rest = chunk.iter();
        let mut result = Ok(());
        column.dictionary().sorted_ords_to_term_cb(chunk, |text| {
            if let Some(ordinal) = rest.next()
                && result.is_ok()
            {
                result = visit(*ordinal, &String::from_utf8_lossy(text));
            }
        })?;
        result?;
    }
    Ok(())
}
