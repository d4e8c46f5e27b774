//! A bit set over the documents of one segment, or over the ordinals of one column.
//!
//! Search results are often large parts of a segment. Bit sets combine and count 64 documents at a
//! time.

use tantivy::{BitSet, DocId, SegmentReader};

/// Documents per word.
const WIDTH: usize = u64::BITS as usize;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    /// Number of documents in the segment.
    len: usize,
}

impl Bits {
    pub(crate) fn empty(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(WIDTH)],
            len,
        }
    }

    pub(crate) fn full(len: usize) -> Self {
        let mut all = Self {
            words: vec![u64::MAX; len.div_ceil(WIDTH)],
            len,
        };
        if let Some(last) = all.words.last_mut()
            && !len.is_multiple_of(WIDTH)
        {
            *last = (1 << (len % WIDTH)) - 1;
        }
        all
    }

    /// The documents of the segment that are not deleted; `None` if no document is.
    pub(crate) fn alive(reader: &SegmentReader) -> Option<Self> {
        let deleted = reader.alive_bitset()?;
        let mut alive = BitSet::with_max_value_and_full(reader.max_doc());
        alive.intersect_update(deleted.bitset());
        let mut bits = Self::empty(reader.max_doc() as usize);
        for (bucket, word) in (0..).zip(&mut bits.words) {
            *word = u64::from_le_bytes(alive.tinyset(bucket).into_bytes());
        }
        Some(bits)
    }

    /// Number of documents in the segment.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, document: DocId) {
        self.insert_index(document as usize);
    }

    pub(crate) fn insert_index(&mut self, at: usize) {
        // A damaged index may name documents that do not exist.
        if let Some(word) = self.words.get_mut(at / WIDTH) {
            *word |= 1 << (at % WIDTH);
        }
    }

    pub(crate) fn contains(&self, document: DocId) -> bool {
        self.contains_index(document as usize)
    }

    pub(crate) fn contains_index(&self, at: usize) -> bool {
        let word = self.words.get(at / WIDTH).copied().unwrap_or_default();
        word & (1 << (at % WIDTH)) != 0
    }

    pub(crate) fn union_with(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub(crate) fn intersect_with(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    pub(crate) fn complement(&self) -> Self {
        let mut others = Self::full(self.len);
        others.subtract(self);
        others
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub(crate) fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    pub(crate) fn intersection_count(&self, other: &Self) -> usize {
        self.words
            .iter()
            .zip(&other.words)
            .map(|(word, other)| (word & other).count_ones() as usize)
            .sum()
    }

    /// The members in ascending order.
    pub(crate) fn to_vec(&self) -> Vec<DocId> {
        let mut members = Vec::with_capacity(self.count());
        self.for_each(|document| members.push(document));
        members
    }

    /// Visits the members in ascending order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(DocId)) {
        let mut first: DocId = 0;
        for word in &self.words {
            let mut rest = *word;
            while rest != 0 {
                visit(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
            first += u64::BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(len: usize, documents: &[DocId]) -> Bits {
        let mut bits = Bits::empty(len);
        for document in documents {
            bits.insert(*document);
        }
        bits
    }

    fn documents(bits: &Bits) -> Vec<DocId> {
        let mut documents = Vec::new();
        bits.for_each(|document| documents.push(document));
        documents
    }

    proptest! {
        #[test]
        fn set_operations_agree_with_those_of_the_standard_library(one in prop::collection::btree_set(0_u32..200, 0..60), other in prop::collection::btree_set(0_u32..200, 0..60)) {
            let list = |set: &std::collections::BTreeSet<u32>| set.iter().copied().collect::<Vec<_>>();
            let (first, second) = (bits(200, &list(&one)), bits(200, &list(&other)));
            prop_assert_eq!(documents(&first), list(&one));
            prop_assert_eq!(first.count(), one.len());
            prop_assert_eq!(first.intersection_count(&second), one.intersection(&other).count());
            prop_assert_eq!(first.complement().count(), 200 - one.len());
            prop_assert!((0..200).all(|it| first.contains(it) == one.contains(&it)));
            let mut joined = first.clone();
            joined.union_with(&second);
            prop_assert_eq!(documents(&joined), list(&one.union(&other).copied().collect()));
            let mut crossed = first.clone();
            crossed.intersect_with(&second);
            prop_assert_eq!(documents(&crossed), list(&one.intersection(&other).copied().collect()));
            let mut rest = first.clone();
            rest.subtract(&second);
            prop_assert_eq!(documents(&rest), list(&one.difference(&other).copied().collect()));
        }
    }

    #[test]
    fn a_full_set_has_every_document() {
        for len in [0, 1, 63, 64, 65, 128] {
            assert_eq!(Bits::full(len).count(), len);
        }
    }
}
