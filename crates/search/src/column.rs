//! Documents by what stands in a column.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::index::SegmentId;
use tantivy::query::{
    BitSetDocSet, ConstScorer, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use crate::bits::Bits;

/// How many documents are read together.
const BLOCK: usize = 1024;

/// Documents that have any of some texts in a column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnQuery {
    path: String,
    /// For each segment the places of the texts in the order of its column.
    wanted: Arc<HashMap<SegmentId, Bits>>,
}

impl ColumnQuery {
    pub(crate) fn new(path: &str, wanted: HashMap<SegmentId, Bits>) -> Self {
        Self {
            path: path.to_owned(),
            wanted: Arc::new(wanted),
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
        let wanted = self.wanted.get(&reader.segment_id());
        let found = wanted.and_then(|it| documents(&column, it, reader.max_doc()));
        let Some(found) = found else {
            return Ok(Box::new(EmptyScorer));
        };
        let found = BitSetDocSet::from(found);
        Ok(Box::new(ConstScorer::new(found, boost)))
    }

    fn explain(&self, _: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!(
            "nobody asks why document {document} was found in a column"
        )))
    }
}

/// The documents that have any of these values; `None` if there are no values.
fn documents(column: &StrColumn, wanted: &Bits, len: DocId) -> Option<BitSet> {
    let mut bounds = None;
    wanted.each(|ordinal| {
        let (first, _) = bounds.unwrap_or((ordinal, ordinal));
        bounds = Some((first, ordinal));
    });
    let (first, last) = bounds?;
    let mut found = BitSet::with_max_value(len);
    // One value, and all that begin so, stand side by side, which is looked for many at a time.
    if (last - first) as usize + 1 == wanted.count() {
        let mut documents = Vec::new();
        let ordinals = u64::from(first)..=u64::from(last);
        let column = column.ords();
        column.get_docids_for_value_range(ordinals, 0..len, &mut documents);
        for document in documents {
            found.insert(document);
        }
        return Some(found);
    }
    each_value(column, len, |document, value| {
        if wanted.contains(value as DocId) {
            found.insert(document);
        }
    });
    Some(found)
}

/// Calls `found` with each document and each of its values, in the order of documents.
pub(crate) fn each_value(column: &StrColumn, len: DocId, mut found: impl FnMut(DocId, usize)) {
    let all: Vec<DocId> = (0..len).collect();
    for block in all.chunks(BLOCK) {
        each_value_of_block(column, block, &mut found);
    }
}

/// The same for some documents.
pub(crate) fn each_value_of(
    column: &StrColumn,
    documents: &Bits,
    mut found: impl FnMut(DocId, usize),
) {
    let mut listed = Vec::new();
    documents.each(|document| listed.push(document));
    for block in listed.chunks(BLOCK) {
        each_value_of_block(column, block, &mut found);
    }
}

fn each_value_of_block(column: &StrColumn, block: &[DocId], found: &mut impl FnMut(DocId, usize)) {
    let (mut documents, mut rows) = (Vec::new(), Vec::new());
    let ordinals = column.ords();
    ordinals.row_ids_for_docs(block, &mut documents, &mut rows);
    let mut values = vec![0; rows.len()];
    ordinals.values.get_vals(&rows, &mut values);
    for (document, value) in documents.iter().zip(&values) {
        if (*value as usize) < column.num_terms() {
            found(*document, *value as usize);
        }
    }
}

/// The first text that a document has in a column.
pub(crate) fn text_of(column: &StrColumn, document: DocId) -> tantivy::Result<Option<String>> {
    let Some(ordinal) = column.ords().first(document) else {
        return Ok(None);
    };
    let mut text = String::new();
    column.ord_to_str(ordinal, &mut text)?;
    Ok(Some(text))
}

/// The first ordinal whose text is greater.
pub(crate) fn first_ordinal_behind(column: &StrColumn, text: &str) -> tantivy::Result<u64> {
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
