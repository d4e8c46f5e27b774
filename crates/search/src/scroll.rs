//! Scrolling in an order of fields.
//!
//! Without one, a scroll is in the order of URNs, and the mark between two pages is a URN. With one, the mark is what the
//! last result of a page had in these fields, and its URN, which decides between equals. So what is there throughout, and keeps its
//! values, comes exactly once. This module must not know what is looked for, nor how a page is gathered.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tantivy::query::{
    BitSetDocSet, ConstScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, Searcher, SegmentReader, TantivyError};

use crate::collect::{Gather, Gathered, Question, SortColumn};
use crate::column::{first_ordinal_behind, text_of};
use crate::error::SearchError;
use crate::kept::Kept;
use crate::matching::Set;
use crate::phrase::term_query;
use crate::schema::{Fields, URN};

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// One for each field.
    values: Vec<Option<MarkValue>>,
    urn: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum MarkValue {
    Number(i64),
    Text(String),
}

/// A scroll in the order of these fields, and whether the largest value comes first.
#[derive(Debug, Clone)]
pub(crate) struct Scroll {
    pub(crate) fields: Vec<(String, bool)>,
    pub(crate) after: Option<Mark>,
    /// How long a page is.
    pub(crate) count: usize,
}

impl Mark {
    /// `None` if the text is no mark of a scroll by so many fields.
    pub(crate) fn read(text: &str, fields: usize) -> Option<Self> {
        let mark: Self = serde_json::from_str(text).ok()?;
        (mark.values.len() == fields).then_some(mark)
    }

    fn written(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

impl Scroll {
    /// One page, and the mark at its end if there are more.
    pub(crate) fn results(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        kept: &Kept,
        gather: &Gather,
        mut question: Question,
    ) -> Result<(Gathered, Option<String>), SearchError> {
        let mut gathered = match &self.after {
            None => gather.results(searcher, kept, &question)?,
            Some(mark) => {
                // The pages before count, too.
                let count = Gather {
                    keep: 0,
                    ..gather.clone()
                };
                let counted = count.results(searcher, kept, &question)?;
                let behind = Behind {
                    fields: self.fields.clone(),
                    mark: mark.clone(),
                };
                question.conditions.push(Set::Query(Box::new(behind)));
                let page = Gather {
                    facets: Vec::new(),
                    ..gather.clone()
                };
                Gathered {
                    hits: page.results(searcher, kept, &question)?.hits,
                    ..counted
                }
            }
        };
        if gathered.hits.len() <= self.count {
            return Ok((gathered, None));
        }
        gathered.hits.truncate(self.count);
        let last = gathered.hits.last().map(|last| last.urn.clone());
        let mark = match last {
            Some(urn) => self.mark(searcher, fields, urn)?,
            None => None,
        };
        Ok((gathered, mark.and_then(|mark| mark.written())))
    }

    /// The mark behind an entity.
    fn mark(
        &self,
        searcher: &Searcher,
        fields: &Fields,
        urn: String,
    ) -> Result<Option<Mark>, SearchError> {
        let query = term_query(fields.urn_term(&urn));
        let found = searcher.search(&*query, &tantivy::collector::DocSetCollector)?;
        let Some(address) = found.into_iter().next() else {
            return Ok(None);
        };
        let reader = searcher.segment_reader(address.segment_ord);
        let mut values = Vec::with_capacity(self.fields.len());
        for (field, _) in &self.fields {
            values.push(match SortColumn::open(reader, field)? {
                SortColumn::Text(column) => text_of(&column, address.doc_id)?.map(MarkValue::Text),
                SortColumn::Number(column) => column.first(address.doc_id).map(MarkValue::Number),
                SortColumn::Missing => None,
            });
        }
        Ok(Some(Mark { values, urn }))
    }
}

/// Documents behind a mark.
#[derive(Debug, Clone)]
struct Behind {
    fields: Vec<(String, bool)>,
    mark: Mark,
}

/// What a value is compared with in one segment.
struct Border<'m> {
    column: SortColumn,
    descending: bool,
    value: Option<&'m MarkValue>,
    /// The texts before the mark's, and those up to it.
    texts: (u64, u64),
}

impl Query for Behind {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for Behind {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let mut borders = Vec::with_capacity(self.fields.len());
        for ((field, descending), value) in self.fields.iter().zip(&self.mark.values) {
            borders.push(Border::new(reader, field, *descending, value.as_ref())?);
        }
        let urns = reader.fast_fields().str(URN)?.ok_or_else(|| {
            TantivyError::InternalError("a segment has no column of URNs".to_owned())
        })?;
        let first = first_ordinal_behind(&urns, &self.mark.urn)?;
        let mut behind = BitSet::with_max_value(reader.max_doc());
        for document in 0..reader.max_doc() {
            let order = borders
                .iter()
                .map(|border| border.compare(document))
                .find(|order| order.is_ne());
            let is_behind = order.map_or_else(
                || urns.ords().first(document).is_some_and(|urn| urn >= first),
                Ordering::is_gt,
            );
            if is_behind {
                behind.insert(document);
            }
        }
        let behind = BitSetDocSet::from(behind);
        Ok(Box::new(ConstScorer::new(behind, boost)))
    }

    fn explain(&self, _: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!(
            "nobody asks why document {document} is behind a mark"
        )))
    }
}

impl<'m> Border<'m> {
    fn new(
        reader: &SegmentReader,
        field: &str,
        descending: bool,
        value: Option<&'m MarkValue>,
    ) -> tantivy::Result<Self> {
        let column = SortColumn::open(reader, field)?;
        let texts = match (&column, value) {
            (SortColumn::Text(column), Some(MarkValue::Text(text))) => {
                let behind = first_ordinal_behind(column, text)?;
                let is_there = column.dictionary().term_ord(text)?.is_some();
                (behind - u64::from(is_there), behind)
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

    /// How a document stands to the mark. What is missing comes last, whatever the direction, and numbers before texts.
    fn compare(&self, document: DocId) -> Ordering {
        let order = match (&self.column, self.value) {
            (SortColumn::Text(column), value) => match (column.ords().first(document), value) {
                (None, value) => return missing(value),
                (Some(_), None) => return Ordering::Less,
                (Some(text), Some(MarkValue::Text(_))) if text < self.texts.0 => Ordering::Less,
                (Some(text), Some(MarkValue::Text(_))) if text < self.texts.1 => Ordering::Equal,
                (Some(_), Some(_)) => Ordering::Greater,
            },
            (SortColumn::Number(column), value) => match (column.first(document), value) {
                (None, value) => return missing(value),
                (Some(_), None) => return Ordering::Less,
                (Some(number), Some(MarkValue::Number(mark))) => number.cmp(mark),
                (Some(_), Some(MarkValue::Text(_))) => Ordering::Less,
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

/// How a document without a value stands to the mark.
fn missing(mark: Option<&MarkValue>) -> Ordering {
    if mark.is_some() {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}
