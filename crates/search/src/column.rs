//! Documents by what stands in a column.
//!
//! URNs and names are nearly all different: a term for each would be much of the work of indexing. Their texts may be in a
//! column as well, but looking many of them up there takes longer than going through a column of numbers once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::index::SegmentId;
use tantivy::query::{
    BitSetDocSet, ConstScorer, EmptyScorer, EnableScoring, Explanation, Query, Scorer, Weight,
};
use tantivy::{BitSet, DocId, Score, SegmentReader, TantivyError};

use crate::bits::Bits;
use crate::kept::each_value;
use crate::schema::{NAME_NUMBERS, URN, URN_NUMBER, number_of};

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

/// How many of the last bits of a number are looked at first.
const LAST_BITS: u32 = 16;
/// How many numbers are read together.
const BLOCK: usize = 1024;

/// Documents that have any of the numbers in a column.
#[derive(Debug, Clone)]
pub(crate) struct NumberQuery {
    column: &'static str,
    numbers: Arc<Numbers>,
}

impl NumberQuery {
    /// Documents that have any of the values in a field of URNs or of names.
    pub(crate) fn any<V: AsRef<str>>(field: &str, values: impl IntoIterator<Item = V>) -> Self {
        let numbers = values.into_iter().map(|it| number_of(field, it.as_ref()));
        Self {
            column: if field == URN {
                URN_NUMBER
            } else {
                NAME_NUMBERS
            },
            numbers: Arc::new(numbers.collect()),
        }
    }
}

impl Query for NumberQuery {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for NumberQuery {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let Some(column) = reader.fast_fields().column_opt::<u64>(self.column)? else {
            return Ok(Box::new(EmptyScorer));
        };
        let mut places = Vec::new();
        let mut block = [0; BLOCK];
        for start in (0..column.values.num_vals()).step_by(BLOCK) {
            let len = BLOCK.min((column.values.num_vals() - start) as usize);
            let numbers = &mut block[..len];
            column.values.get_range(u64::from(start), numbers);
            let found = (start..)
                .zip(numbers)
                .filter(|(_, it)| self.numbers.contains(**it));
            places.extend(found.map(|(place, _)| place));
        }
        column.index.select_batch_in_place(0, &mut places);
        let mut found = BitSet::with_max_value(reader.max_doc());
        for document in places {
            found.insert(document);
        }
        let found = BitSetDocSet::from(found);
        Ok(Box::new(ConstScorer::new(found, boost)))
    }

    fn explain(&self, _: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument(format!(
            "nobody asks why document {document} was found by its number"
        )))
    }
}

/// A set of numbers that tells of most others at a glance that they are not in it.
#[derive(Debug)]
struct Numbers {
    all: BTreeSet<u64>,
    by_last_bits: Vec<bool>,
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let all: BTreeSet<u64> = numbers.into_iter().collect();
        let mut by_last_bits = vec![false; 1 << LAST_BITS];
        for number in &all {
            by_last_bits[last_bits(*number)] = true;
        }
        Self { all, by_last_bits }
    }
}

impl Numbers {
    fn contains(&self, number: u64) -> bool {
        self.by_last_bits[last_bits(number)] && self.all.contains(&number)
    }
}

fn last_bits(number: u64) -> usize {
    (number & ((1 << LAST_BITS) - 1)) as usize
}
