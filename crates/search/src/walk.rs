//! Going through the texts that an index has, in the order of its dictionaries.

use std::collections::HashMap;

use tantivy::columnar::StrColumn;
use tantivy::query::{EnableScoring, Query};
use tantivy::schema::Field;
use tantivy::{DocId, Searcher, SegmentReader, TERMINATED};

use crate::bits::Bits;
use crate::column::ColumnQuery;
use crate::work::Work;

/// How many texts are read between two looks at the clock.
const TEXTS: usize = 1000;

/// Walks over what the segments of an index have, as long as the search may.
pub(crate) struct Walk<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) work: &'s Work,
    /// How many terms of each segment are looked at.
    pub(crate) most: usize,
}

impl<'s> Walk<'s> {
    pub(crate) fn over_all(searcher: &'s Searcher, work: &'s Work) -> Self {
        Self {
            searcher,
            work,
            most: usize::MAX,
        }
    }

    /// The terms of a field that begin so.
    pub(crate) fn each_term(
        &self,
        field: Field,
        start: &str,
        mut found: impl FnMut(&str),
    ) -> tantivy::Result<()> {
        for segment in self.searcher.segment_readers() {
            self.each_term_of(segment, field, start, &mut found)?;
        }
        Ok(())
    }

    /// The term up to which all segments were looked at; `None` if there are no more that begin so.
    pub(crate) fn last_of_first_terms(
        &self,
        field: Field,
        start: &str,
    ) -> tantivy::Result<Option<String>> {
        let one_more = Walk {
            most: self.most.saturating_add(1),
            ..*self
        };
        let mut seen: Option<String> = None;
        for segment in self.searcher.segment_readers() {
            let (mut count, mut last) = (0, String::new());
            one_more.each_term_of(segment, field, start, &mut |text| {
                count += 1;
                if count == self.most {
                    last.push_str(text);
                }
            })?;
            if count > self.most && seen.as_ref().is_none_or(|seen| last < *seen) {
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
        found: &mut impl FnMut(&str),
    ) -> tantivy::Result<()> {
        let inverted = segment.inverted_index(field)?;
        let range = inverted.terms().range().ge(start.as_bytes());
        let mut stream = range.into_stream()?;
        let mut count = 0;
        while count < self.most && stream.advance() {
            self.work.looked()?;
            let Ok(text) = std::str::from_utf8(stream.key()) else {
                continue;
            };
            if !text.starts_with(start) {
                break;
            }
            found(text);
            count += 1;
        }
        Ok(())
    }

    /// Documents with a text in a column that begins in one of these ways and passes the test.
    pub(crate) fn column_texts<S: AsRef<str>>(
        &self,
        path: &str,
        starts: &[S],
        test: impl Fn(&str) -> tantivy::Result<bool>,
    ) -> tantivy::Result<ColumnQuery> {
        let mut of_segments = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let Some(column) = segment.fast_fields().str(path)? else {
                continue;
            };
            let mut wanted = Bits::none(column.num_terms());
            for start in starts {
                let start = start.as_ref().as_bytes();
                let mut texts = column.dictionary().prefix_range(start).into_stream()?;
                while texts.advance() {
                    self.work.looked()?;
                    if let Ok(text) = std::str::from_utf8(texts.key())
                        && test(text)?
                    {
                        wanted.insert(texts.term_ord() as DocId);
                    }
                }
            }
            of_segments.insert(segment.segment_id(), wanted);
        }
        Ok(ColumnQuery::new(path, of_segments))
    }

    /// Documents with a text in a column that passes the test and that one of some documents has.
    pub(crate) fn column_texts_of(
        &self,
        documents: &dyn Query,
        path: &str,
        test: impl Fn(&str) -> tantivy::Result<bool>,
    ) -> tantivy::Result<ColumnQuery> {
        let weight = documents.weight(EnableScoring::disabled_from_searcher(self.searcher))?;
        let mut of_segments = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let Some(column) = segment.fast_fields().str(path)? else {
                continue;
            };
            let mut seen = Vec::new();
            let mut found = weight.scorer(segment, 1.0)?;
            while found.doc() != TERMINATED {
                self.work.looked()?;
                seen.extend(column.ords().values_for_doc(found.doc()));
                found.advance();
            }
            seen.sort_unstable();
            seen.dedup();
            let mut wanted = Bits::none(column.num_terms());
            texts_at(&column, &seen, self.work, |place, text| {
                if test(text)? {
                    wanted.insert(place as DocId);
                }
                Ok(())
            })?;
            of_segments.insert(segment.segment_id(), wanted);
        }
        Ok(ColumnQuery::new(path, of_segments))
    }
}

/// Calls `found` with the text at each of some places in the order of a column, which are in order themselves.
pub(crate) fn texts_at(
    column: &StrColumn,
    places: &[u64],
    work: &Work,
    mut found: impl FnMut(u64, &str) -> tantivy::Result<()>,
) -> tantivy::Result<()> {
    for some in places.chunks(TEXTS) {
        work.check()?;
        let mut left = some.iter();
        let mut ended = Ok(());
        column.dictionary().sorted_ords_to_term_cb(some, |text| {
            if let Some(place) = left.next()
                && ended.is_ok()
            {
                ended = found(*place, &String::from_utf8_lossy(text));
            }
        })?;
        ended?;
    }
    Ok(())
}
