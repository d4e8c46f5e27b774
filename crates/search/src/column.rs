//! Documents by what stands in a column.
//!
//! The names of columns are nearly all different, and every dataset has many: a term for each made a third of the work of
//! indexing, for a condition that hardly anybody sets. They have a column already, for the operators that look into
//! texts, so equality is read from there too: some milliseconds for each million of values.

use std::collections::BTreeSet;

use tantivy::columnar::StrColumn;
use tantivy::query::{
    BitSetDocSet, ConstScorer, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

/// Documents that have any of the texts in a column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnQuery {
    pub(crate) path: String,
    pub(crate) texts: BTreeSet<String>,
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
        let Some(found) = self.documents(&column, reader.max_doc())? else {
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

impl ColumnQuery {
    /// `None` if the column has none of the texts.
    fn documents(&self, column: &StrColumn, len: DocId) -> tantivy::Result<Option<BitSet>> {
        let mut wanted = BTreeSet::new();
        for text in &self.texts {
            wanted.extend(column.dictionary().term_ord(text)?);
        }
        let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else {
            return Ok(None);
        };
        let ordinals = column.ords();
        let mut found = BitSet::with_max_value(len);
        // One value, and all that begin so, stand side by side, which is looked for many at a time.
        if last - first + 1 == wanted.len() as u64 {
            let mut documents = Vec::new();
            ordinals.get_docids_for_value_range(*first..=*last, 0..len, &mut documents);
            for document in documents {
                found.insert(document);
            }
            return Ok(Some(found));
        }
        for document in 0..len {
            let mut values = ordinals.values_for_doc(document);
            if values.any(|ordinal| wanted.contains(&ordinal)) {
                found.insert(document);
            }
        }
        Ok(Some(found))
    }
}
