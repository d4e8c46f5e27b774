//! A set of documents of one segment, a bit for each.
//!
//! Sets of a large part of all documents are what a search is about, and these are joined, crossed and counted 64
//! documents at a time. It must not know what the documents are.

use tantivy::{BitSet, DocId, SegmentReader};

const WIDTH: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    /// How many documents the segment has.
    len: usize,
}

impl Bits {
    pub(crate) fn none(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(WIDTH)],
            len,
        }
    }

    pub(crate) fn all(len: usize) -> Self {
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

    /// Documents of the segment that were not deleted; `None` if none was.
    pub(crate) fn alive(reader: &SegmentReader) -> Option<Self> {
        let deleted = reader.alive_bitset()?;
        let mut alive = BitSet::with_max_value_and_full(reader.max_doc());
        alive.intersect_update(deleted.bitset());
        let mut bits = Self::none(reader.max_doc() as usize);
        for (bucket, word) in (0..).zip(&mut bits.words) {
            *word = u64::from_le_bytes(alive.tinyset(bucket).into_bytes());
        }
        Some(bits)
    }

    /// How many documents the segment has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, document: DocId) {
        let at = document as usize;
        // A damaged index may name documents that there are none of.
        if let Some(word) = self.words.get_mut(at / WIDTH) {
            *word |= 1 << (at % WIDTH);
        }
    }

    pub(crate) fn contains(&self, document: DocId) -> bool {
        let at = document as usize;
        let word = self.words.get(at / WIDTH).copied().unwrap_or_default();
        word & (1 << (at % WIDTH)) != 0
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    pub(crate) fn keep(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    pub(crate) fn remove(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// Those that are not in it.
    pub(crate) fn others(&self) -> Self {
        let mut others = Self::all(self.len);
        others.remove(self);
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

    /// How many are in both.
    pub(crate) fn count_common(&self, other: &Self) -> usize {
        self.words
            .iter()
            .zip(&other.words)
            .map(|(word, other)| (word & other).count_ones() as usize)
            .sum()
    }

    /// In ascending order.
    pub(crate) fn each(&self, mut found: impl FnMut(DocId)) {
        for (at, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                found((at * WIDTH) as DocId + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(len: usize, documents: &[DocId]) -> Bits {
        let mut bits = Bits::none(len);
        for document in documents {
            bits.insert(*document);
        }
        bits
    }

    fn documents(bits: &Bits) -> Vec<DocId> {
        let mut documents = Vec::new();
        bits.each(|document| documents.push(document));
        documents
    }

    proptest! {
        #[test]
        fn sets_are_what_sets_are(one in prop::collection::btree_set(0_u32..200, 0..60), other in prop::collection::btree_set(0_u32..200, 0..60)) {
            let list = |set: &std::collections::BTreeSet<u32>| set.iter().copied().collect::<Vec<_>>();
            let (first, second) = (bits(200, &list(&one)), bits(200, &list(&other)));
            prop_assert_eq!(documents(&first), list(&one));
            prop_assert_eq!(first.count(), one.len());
            prop_assert_eq!(first.count_common(&second), one.intersection(&other).count());
            prop_assert_eq!(first.others().count(), 200 - one.len());
            prop_assert!((0..200).all(|it| first.contains(it) == one.contains(&it)));
            let mut joined = first.clone();
            joined.add(&second);
            prop_assert_eq!(documents(&joined), list(&one.union(&other).copied().collect()));
            let mut crossed = first.clone();
            crossed.keep(&second);
            prop_assert_eq!(documents(&crossed), list(&one.intersection(&other).copied().collect()));
            let mut rest = first.clone();
            rest.remove(&second);
            prop_assert_eq!(documents(&rest), list(&one.difference(&other).copied().collect()));
        }
    }

    #[test]
    fn all_are_as_many_as_there_are() {
        for len in [0, 1, 63, 64, 65, 128] {
            assert_eq!(Bits::all(len).count(), len);
        }
    }
}
