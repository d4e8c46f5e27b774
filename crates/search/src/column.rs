//! Readers of text columns, and a query for the documents that have certain texts in a column.
//!
//! A text column maps each document to ordinals of a sorted dictionary.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::index::SegmentId;
use tantivy::query::{
    BitSetDocSet, ConstScorer, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use crate::bits::Bits;

/// How many documents to read at once.
const BLOCK: usize = 1024;

/// Matches documents that have any of some texts in a column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnQuery {
    path: String,
    /// The ordinals of the texts, for each segment.
    ordinals: Arc<HashMap<SegmentId, Bits>>,
}

impl ColumnQuery {
    pub(crate) fn new(path: &str, ordinals: HashMap<SegmentId, Bits>) -> Self {
        Self {
            path: path.to_owned(),
            ordinals: Arc::new(ordinals),
        }
    }
}

impl Query for ColumnQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for ColumnQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(column) = reader.fast_fields().str(&self.path)? else {
            return Ok(Box::new(EmptyScorer));
        };
        let ordinals = self.ordinals.get(&reader.segment_id());
        let found = ordinals.and_then(|it| documents(&column, it, reader.max_doc()));
        let Some(found) = found else {
            return Ok(Box::new(EmptyScorer));
        };
        let found = BitSetDocSet::from(found);
        Ok(Box::new(ConstScorer::new(found, boost)))
    }

    fn explain(&self, _: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!(
            "column queries do not explain document {document}"
        )))
    }
}

/// The documents that have any of these ordinals; `None` if there are no ordinals.
fn documents(column: &StrColumn, ordinals: &Bits, len: DocId) -> Option<BitSet> {
    let mut bounds = None;
    ordinals.for_each(|ordinal| {
        let (first, _) = bounds.unwrap_or((ordinal, ordinal));
        bounds = Some((first, ordinal));
    });
    let (first, last) = bounds?;
    let mut found = BitSet::with_max_value(len);
    // A single text, or all texts with a prefix, are a contiguous range, which tantivy scans in
    // blocks.
    if (last - first) as usize + 1 == ordinals.count() {
        let mut documents = Vec::new();
        let ordinals = u64::from(first)..=u64::from(last);
        let column = column.ords();
        column.get_docids_for_value_range(ordinals, 0..len, &mut documents);
        for document in documents {
            found.insert(document);
        }
        return Some(found);
    }
    for_each_value(column, len, |document, value| {
        if ordinals.contains_index(value) {
            found.insert(document);
        }
    });
    Some(found)
}

/// Calls `visit` with each document and each of its ordinals, in document order.
pub(crate) fn for_each_value(column: &StrColumn, len: DocId, mut visit: impl FnMut(DocId, usize)) {
    let all: Vec<DocId> = (0..len).collect();
    for block in all.chunks(BLOCK) {
        for_each_value_in_block(column, block, &mut visit);
    }
}

/// The same for some of the documents.
pub(crate) fn for_each_value_in(
    column: &StrColumn,
    documents: &Bits,
    mut visit: impl FnMut(DocId, usize),
) {
    for block in documents.to_vec().chunks(BLOCK) {
        for_each_value_in_block(column, block, &mut visit);
    }
}

fn for_each_value_in_block(
    column: &StrColumn,
    block: &[DocId],
    visit: &mut impl FnMut(DocId, usize),
) {
    let (mut documents, mut rows) = (Vec::new(), Vec::new());
    let ordinals = column.ords();
    ordinals.row_ids_for_docs(block, &mut documents, &mut rows);
    let mut values = vec![0; rows.len()];
    ordinals.values.get_vals(&rows, &mut values);
    for (document, value) in documents.iter().zip(&values) {
        // A damaged index may have ordinals that do not exist.
        let ordinal = index_of(*value);
        if ordinal < column.num_terms() {
            visit(*document, ordinal);
        }
    }
}

/// An ordinal of a column as an index into a list.
pub(crate) fn index_of(ordinal: u64) -> usize {
    usize::try_from(ordinal).unwrap_or(usize::MAX)
}

/// The first text of a document in a column.
pub(crate) fn first_text(column: &StrColumn, document: DocId) -> tantivy::Result<Option<String>> {
    let Some(ordinal) = column.ords().first(document) else {
        return Ok(None);
    };
    let mut text = String::new();
    column.ord_to_str(ordinal, &mut text)?;
    Ok(Some(text))
}

/// The first ordinal whose text is greater than `text`.
pub(crate) fn first_ordinal_after(column: &StrColumn, text: &str) -> tantivy::Result<u64> {
    let (mut low, mut high) = (0, column.num_terms() as u64);
    let mut middle_text = String::new();
    while low < high {
        let middle = low + (high - low) / 2;
        middle_text.clear();
        column.ord_to_str(middle, &mut middle_text)?;
        if middle_text.as_str() <= text {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
