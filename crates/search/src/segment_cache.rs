//! Caches per segment what every search needs.
//!
//! A segment never changes, except for its deleted documents. So the documents of certain types,
//! and the values of facets, are read once and cached in the form that is fastest to count: about
//! twenty bytes per entity. The next search drops the entries of segments that no longer exist.
//!
//! Reading the facets of a large segment takes longer than a search should. The first search after
//! a start or a merge lets a background thread read them; until then, facets are counted without
//! the cache.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::columnar::{Column, StrColumn};
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use crate::bits::Bits;
use crate::column::for_each_value;
use crate::field::{IndexForm, form_of};
use crate::schema::{ORDER, RANK, URN, WHOLE_NAMES, column_path};

/// A facet with at most this many values has a set of documents for each.
const MAX_FACET_SETS: usize = 16;
/// A facet with more values in a segment is not cached.
const MAX_CACHED_VALUES: usize = u16::MAX as usize;
/// How many sets by type, and how many facets, to cache per segment.
const MAX_SETS: usize = 16;
const MAX_FACETS: usize = 32;
/// Facets of segments with more documents are read in the background.
const LARGE_SEGMENT: DocId = 20_000;
/// After this many distinct facet values, most of them are probably obsolete.
const MAX_VALUE_IDS: usize = 1_000_000;

/// Per-segment cache, shared by clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentCache(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    segments: HashMap<SegmentId, CachedSegment>,
    /// By field.
    values: HashMap<String, ValueIds>,
    /// Facets of large segments to read.
    queued: VecDeque<(SegmentReader, String)>,
    /// Whether a thread is reading them.
    has_reader_thread: bool,
}

#[derive(Default)]
struct CachedSegment {
    columns: Option<Arc<Columns>>,
    sets: HashMap<String, Arc<Bits>>,
    facets: HashMap<String, FacetState>,
}

#[derive(Debug, Clone)]
enum FacetState {
    Queued,
    /// It has too many values or cannot be read.
    Uncacheable,
    Cached(Arc<FacetColumn>),
}

impl FacetState {
    fn column(self) -> Option<Arc<FacetColumn>> {
        match self {
            Self::Cached(column) => Some(column),
            Self::Queued | Self::Uncacheable => None,
        }
    }
}

impl std::fmt::Debug for CachedSegment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CachedSegment")
            .field("facets", &self.facets)
            .finish_non_exhaustive()
    }
}

/// The columns that every page needs. Opening one reads metadata for every few hundred documents.
pub(crate) struct Columns {
    pub(crate) urns: StrColumn,
    /// The whole names, if any document has one.
    pub(crate) names: Option<StrColumn>,
    pub(crate) ranks: Column<u64>,
    pub(crate) orders: Column<u64>,
}

/// Assigns ids to the values of one facet, across segments.
#[derive(Debug, Default)]
struct ValueIds {
    ids: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl ValueIds {
    fn id_of(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let (id, text) = (to_u32(self.texts.len()), Arc::<str>::from(text));
        self.ids.insert(Arc::clone(&text), id);
        self.texts.push(text);
        id
    }
}

/// The values of a facet in one segment.
#[derive(Debug)]
pub(crate) struct FacetColumn {
    documents: FacetDocuments,
    /// The number of documents with each value, including deleted ones.
    totals: Vec<u32>,
    /// The id of each value in [`ValueIds`].
    ids: Vec<u32>,
}

#[derive(Debug)]
enum FacetDocuments {
    /// For each value, its documents.
    Sets(Vec<Bits>),
    /// For each document, its value; the number of values if it has none.
    Single(Vec<u16>),
    /// For each document, where its values start. The next start is their end.
    Multi { starts: Vec<u32>, values: Vec<u16> },
}

/// Counts of the values of one facet over all segments, by their ids in [`ValueIds`].
#[derive(Debug, Default)]
pub(crate) struct FacetCounts(Vec<u64>);

impl SegmentCache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the entries of other segments.
    pub(crate) fn retain_segments_of(&self, searcher: &Searcher) {
        let mut state = self.state();
        let readers = searcher.segment_readers();
        state
            .segments
            .retain(|id, _| readers.iter().any(|reader| reader.segment_id() == *id));
    }

    /// Whether to start with an empty cache. Running searches keep theirs, because their value ids
    /// are valid only there.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.state();
        let texts = state.values.values().map(|it| it.texts.len());
        texts.sum::<usize>() > MAX_VALUE_IDS
    }

    pub(crate) fn columns(&self, reader: &SegmentReader) -> tantivy::Result<Arc<Columns>> {
        let id = reader.segment_id();
        let cached = |state: &State| state.segments.get(&id)?.columns.clone();
        if let Some(columns) = cached(&self.state()) {
            return Ok(columns);
        }
        let fast = reader.fast_fields();
        let urns = fast.str(URN)?.ok_or_else(|| {
            tantivy::TantivyError::InternalError("a segment has no URN column".to_owned())
        })?;
        let columns = Arc::new(Columns {
            urns,
            names: fast.str(WHOLE_NAMES)?,
            ranks: fast.u64(RANK)?,
            orders: fast.u64(ORDER)?,
        });
        let mut state = self.state();
        state.segments.entry(id).or_default().columns = Some(Arc::clone(&columns));
        Ok(columns)
    }

    /// Returns the cached documents under this name, or reads and caches them.
    pub(crate) fn document_set(
        &self,
        reader: &SegmentReader,
        name: &str,
        read: impl FnOnce() -> tantivy::Result<Bits>,
    ) -> tantivy::Result<Arc<Bits>> {
        let id = reader.segment_id();
        let cached = |state: &State| state.segments.get(&id)?.sets.get(name).cloned();
        if let Some(bits) = cached(&self.state()) {
            return Ok(bits);
        }
        let bits = Arc::new(read()?);
        let mut state = self.state();
        let sets = &mut state.segments.entry(id).or_default().sets;
        if sets.len() >= MAX_SETS {
            sets.clear();
        }
        sets.insert(name.to_owned(), Arc::clone(&bits));
        Ok(bits)
    }

    /// Returns a facet in the form to count; `None` if it is not cached yet, or cannot be.
    pub(crate) fn facet(
        &self,
        reader: &SegmentReader,
        field: &str,
    ) -> tantivy::Result<Option<Arc<FacetColumn>>> {
        if form_of(field) == IndexForm::Lists {
            return Ok(None);
        }
        let id = reader.segment_id();
        let mut state = self.state();
        let known = |state: &State| state.segments.get(&id)?.facets.get(field).cloned();
        if let Some(facet) = known(&state) {
            return Ok(facet.column());
        }
        if reader.max_doc() <= LARGE_SEGMENT {
            drop(state);
            let facet = self.read_facet(reader, field)?;
            self.state().store_facet(id, field, facet.clone());
            return Ok(facet.column());
        }
        state.store_facet(id, field, FacetState::Queued);
        state.queued.push_back((reader.clone(), field.to_owned()));
        if !state.has_reader_thread {
            let cache = self.clone();
            let thread = std::thread::Builder::new().name("facets".to_owned());
            state.has_reader_thread = thread.spawn(move || cache.read_queued()).is_ok();
        }
        Ok(None)
    }

    fn read_queued(&self) {
        loop {
            let mut state = self.state();
            let Some((reader, field)) = state.queued.pop_front() else {
                state.has_reader_thread = false;
                return;
            };
            if !state.segments.contains_key(&reader.segment_id()) {
                continue;
            }
            drop(state);
            // tantivy may panic on a damaged file. Searches detect the damage, too.
            let read = catch_unwind(AssertUnwindSafe(|| self.read_facet(&reader, &field)));
            let facet = read.ok().and_then(Result::ok);
            let facet = facet.unwrap_or(FacetState::Uncacheable);
            self.state().store_facet(reader.segment_id(), &field, facet);
        }
    }

    fn read_facet(&self, reader: &SegmentReader, field: &str) -> tantivy::Result<FacetState> {
        let Some(column) = reader.fast_fields().str(&column_path(field))? else {
            return Ok(FacetState::Cached(Arc::new(FacetColumn::empty())));
        };
        let read = read_column(&column, reader.max_doc());
        let (Some((documents, totals)), Some(texts)) = (read, texts_of(&column)?) else {
            return Ok(FacetState::Uncacheable);
        };
        let mut state = self.state();
        let known = state.values.entry(field.to_owned()).or_default();
        Ok(FacetState::Cached(Arc::new(FacetColumn {
            documents,
            totals,
            ids: texts.iter().map(|text| known.id_of(text)).collect(),
        })))
    }

    /// The most frequent values. `more` has counts of values that were not cached.
    pub(crate) fn top_values(
        &self,
        field: &str,
        counts: &FacetCounts,
        limit: usize,
        more: HashMap<String, u64>,
    ) -> Vec<(String, u64)> {
        let state = self.state();
        let texts = state.values.get(field).map_or(&[][..], |it| &it.texts);
        let mut more = more;
        let mut counted: Vec<(&str, u64)> = Vec::new();
        for (text, count) in texts.iter().zip(&counts.0) {
            let others = if more.is_empty() {
                0
            } else {
                more.remove(&**text).unwrap_or_default()
            };
            if count + others > 0 {
                counted.push((text, count + others));
            }
        }
        counted.extend(more.iter().map(|(text, count)| (text.as_str(), *count)));
        let first = |one: &(&str, u64), other: &(&str, u64)| {
            other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0))
        };
        if counted.len() > limit {
            counted.select_nth_unstable_by(limit, first);
            counted.truncate(limit);
        }
        counted.sort_unstable_by(first);
        counted
            .into_iter()
            .map(|(text, count)| (text.to_owned(), count))
            .collect()
    }
}

impl State {
    fn store_facet(&mut self, segment: SegmentId, field: &str, facet: FacetState) {
        let facets = &mut self.segments.entry(segment).or_default().facets;
        if facets.len() >= MAX_FACETS {
            facets.clear();
        }
        facets.insert(field.to_owned(), facet);
    }
}

impl FacetColumn {
    fn empty() -> Self {
        Self {
            documents: FacetDocuments::Sets(Vec::new()),
            totals: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// Adds the values of `documents` to the counts. If `others`, their complement, is given, it is
    /// the smaller set and is subtracted from the totals.
    pub(crate) fn count(&self, documents: &Bits, others: Option<&Bits>, counts: &mut FacetCounts) {
        let mut own = vec![0_u32; self.totals.len() + 1];
        match &self.documents {
            FacetDocuments::Sets(sets) => {
                for (count, set) in own.iter_mut().zip(sets) {
                    *count = to_u32(documents.intersection_count(set));
                }
            }
            FacetDocuments::Single(values) => {
                let add = |document: DocId| own[usize::from(values[document as usize])] += 1;
                others.unwrap_or(documents).for_each(add);
            }
            FacetDocuments::Multi { starts, values } => {
                let add = |document: DocId| {
                    let at = document as usize;
                    for value in &values[starts[at] as usize..starts[at + 1] as usize] {
                        own[usize::from(*value)] += 1;
                    }
                };
                others.unwrap_or(documents).for_each(add);
            }
        }
        let inverted = others.is_some() && !matches!(self.documents, FacetDocuments::Sets(_));
        for ((own, total), id) in own.iter().zip(&self.totals).zip(&self.ids) {
            let count = if inverted { total - own } else { *own };
            let at = *id as usize;
            if counts.0.len() <= at {
                counts.0.resize(at + 1, 0);
            }
            counts.0[at] += u64::from(count);
        }
    }
}

fn texts_of(column: &StrColumn) -> tantivy::Result<Option<Vec<String>>> {
    if column.num_terms() > MAX_CACHED_VALUES {
        return Ok(None);
    }
    let ordinals: Vec<u64> = (0..column.num_terms() as u64).collect();
    let mut texts = Vec::with_capacity(ordinals.len());
    // One pass over the dictionary; single reads would start at the beginning of each block.
    column
        .dictionary()
        .sorted_ords_to_term_cb(&ordinals, |text| {
            texts.push(String::from_utf8_lossy(text).into_owned());
        })?;
    Ok(Some(texts))
}

/// A count of documents or values of one segment, which tantivy numbers by `u32`.
fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// An ordinal of at most [`MAX_CACHED_VALUES`].
fn to_u16(ordinal: usize) -> u16 {
    u16::try_from(ordinal).unwrap_or(u16::MAX)
}

fn read_column(column: &StrColumn, len: DocId) -> Option<(FacetDocuments, Vec<u32>)> {
    let distinct = column.num_terms();
    if distinct > MAX_CACHED_VALUES {
        return None;
    }
    let mut totals = vec![0; distinct];
    let mut sets = vec![
        Bits::empty(len as usize);
        if distinct <= MAX_FACET_SETS {
            distinct
        } else {
            0
        }
    ];
    let mut starts: Vec<u32> = Vec::new();
    let mut values: Vec<u16> = Vec::new();
    let mut one = true;
    for_each_value(column, len, |document, value| {
        totals[value] += 1;
        if let Some(set) = sets.get_mut(value) {
            set.insert(document);
            return;
        }
        let before = starts.len();
        starts.resize(document as usize + 1, to_u32(values.len()));
        one &= starts.len() > before;
        values.push(to_u16(value));
    });
    if distinct <= MAX_FACET_SETS {
        return Some((FacetDocuments::Sets(sets), totals));
    }
    starts.resize(len as usize + 1, to_u32(values.len()));
    if !one {
        return Some((FacetDocuments::Multi { starts, values }, totals));
    }
    let no_value = to_u16(distinct);
    let of_document = starts.windows(2).map(|range| {
        let found = values.get(range[0] as usize..range[1] as usize);
        let first = found.and_then(|found| found.first());
        first.copied().unwrap_or(no_value)
    });
    Some((FacetDocuments::Single(of_document.collect()), totals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_cached_facet_values_is_limited() {
        let cache = SegmentCache::default();
        for field in ["one", "other"] {
            let mut state = cache.state();
            let values = state.values.entry(field.to_owned()).or_default();
            assert!(values.texts.len() < MAX_VALUE_IDS);
            for number in 0..=MAX_VALUE_IDS / 2 {
                values.id_of(&number.to_string());
            }
        }
        assert!(cache.is_full());
    }
}
