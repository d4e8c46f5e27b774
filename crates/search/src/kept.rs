//! What is remembered of each segment, because every search needs it.
//!
//! A segment never changes; only which of its documents are deleted does. So which of them are of some types and not removed,
//! and which values of a facet each has, is read once and kept in the form in which it is counted fastest: some twenty
//! bytes for each entity. What is kept of segments that are gone is forgotten with the next search.
//!
//! Reading the facets of a large segment takes longer than a search may, so a thread reads them that the first search after
//! a start, or after a merge, sets off; until it is done they are counted without it.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::columnar::{Column, StrColumn};
use tantivy::index::SegmentId;
use tantivy::{DocId, Searcher, SegmentReader};

use crate::bits::Bits;
use crate::column::each_value;
use crate::field::{Form, form_of};
use crate::schema::{ORDER, RANK, URN, WHOLE_NAMES, column_path};

/// A facet with so few values has a set of documents for each of them.
const FEW: usize = 16;
/// A facet with more values than this in a segment is counted without being kept.
const MOST_VALUES: usize = u16::MAX as usize;
/// How many sets by type, and how many facets, are kept of a segment.
const MOST_SETS: usize = 16;
const MOST_FACETS: usize = 32;
/// Facets of segments with more documents are read in the background.
const LARGE_SEGMENT: DocId = 20_000;
/// When so many different values of facets were seen, most of them are not there any more.
const MOST_TEXTS: usize = 1_000_000;

/// Of all segments. Cloning it is cheap and gives the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    segments: HashMap<SegmentId, OfSegment>,
    texts: HashMap<String, Texts>,
    /// Facets of large segments that are to be read.
    wanted: VecDeque<(SegmentReader, String)>,
    /// Whether a thread is reading them.
    is_reading: bool,
}

#[derive(Default)]
struct OfSegment {
    columns: Option<Arc<Columns>>,
    sets: HashMap<String, Arc<Bits>>,
    facets: HashMap<String, FacetState>,
}

#[derive(Debug, Clone)]
enum FacetState {
    Wanted,
    /// It has too many values, or cannot be read.
    NotKept,
    Kept(Arc<FacetColumn>),
}

impl FacetState {
    fn column(self) -> Option<Arc<FacetColumn>> {
        match self {
            Self::Kept(column) => Some(column),
            Self::Wanted | Self::NotKept => None,
        }
    }
}

impl std::fmt::Debug for OfSegment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OfSegment")
            .field("facets", &self.facets)
            .finish_non_exhaustive()
    }
}

/// The columns that every page needs. Opening one reads something for every few hundred documents.
pub(crate) struct Columns {
    pub(crate) urns: StrColumn,
    /// The whole names, if anything has one.
    pub(crate) names: Option<StrColumn>,
    pub(crate) ranks: Column<u64>,
    pub(crate) orders: Column<u64>,
}

/// The values of one facet in any segment, each with a number.
#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (number, text) = (self.texts.len() as u32, Arc::<str>::from(text));
        self.numbers.insert(Arc::clone(&text), number);
        self.texts.push(text);
        number
    }
}

/// Which values of a facet the documents of a segment have.
#[derive(Debug)]
pub(crate) struct FacetColumn {
    documents: Documents,
    /// How many documents have each value, deleted ones too.
    totals: Vec<u32>,
    /// For each value its number in [`Texts`].
    numbers: Vec<u32>,
}

#[derive(Debug)]
enum Documents {
    /// For each value those that have it.
    Sets(Vec<Bits>),
    /// For each document its value; one more than there are values if it has none.
    One(Vec<u16>),
    /// For each document where its values begin; the last ones end with the list.
    Many { starts: Vec<u32>, values: Vec<u16> },
}

/// Counts of the values of one facet over all segments, by their numbers in [`Texts`].
#[derive(Debug, Default)]
pub(crate) struct Counts(Vec<u64>);

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what belongs to other segments than these.
    pub(crate) fn forget_others(&self, searcher: &Searcher) {
        let mut state = self.state();
        let readers = searcher.segment_readers();
        state
            .segments
            .retain(|id, _| readers.iter().any(|reader| reader.segment_id() == *id));
    }

    /// Whether it is time to begin anew. Searches that are under way keep what they began with: the numbers of their
    /// texts mean nothing elsewhere.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.state();
        let texts = state.texts.values().map(|it| it.texts.len());
        texts.sum::<usize>() > MOST_TEXTS
    }

    pub(crate) fn columns(&self, reader: &SegmentReader) -> tantivy::Result<Arc<Columns>> {
        let id = reader.segment_id();
        let kept = |state: &State| state.segments.get(&id)?.columns.clone();
        if let Some(columns) = kept(&self.state()) {
            return Ok(columns);
        }
        let fast = reader.fast_fields();
        let urns = fast.str(URN)?.ok_or_else(|| {
            tantivy::TantivyError::InternalError("a segment has no column of URNs".to_owned())
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

    /// The documents that `read` finds, which is asked only if nobody did before under this name.
    pub(crate) fn set(
        &self,
        reader: &SegmentReader,
        name: &str,
        read: impl FnOnce() -> tantivy::Result<Bits>,
    ) -> tantivy::Result<Arc<Bits>> {
        let id = reader.segment_id();
        let kept = |state: &State| state.segments.get(&id)?.sets.get(name).cloned();
        if let Some(bits) = kept(&self.state()) {
            return Ok(bits);
        }
        let bits = Arc::new(read()?);
        let mut state = self.state();
        let sets = &mut state.segments.entry(id).or_default().sets;
        if sets.len() >= MOST_SETS {
            sets.clear();
        }
        sets.insert(name.to_owned(), Arc::clone(&bits));
        Ok(bits)
    }

    /// A facet as it is counted; `None` if it is not kept, as lists are not, or not yet.
    pub(crate) fn facet(
        &self,
        reader: &SegmentReader,
        field: &str,
    ) -> tantivy::Result<Option<Arc<FacetColumn>>> {
        if form_of(field) == Form::Lists {
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
            self.state().keep_facet(id, field, facet.clone());
            return Ok(facet.column());
        }
        state.keep_facet(id, field, FacetState::Wanted);
        state.wanted.push_back((reader.clone(), field.to_owned()));
        if !state.is_reading {
            let kept = self.clone();
            let thread = std::thread::Builder::new().name("facets".to_owned());
            state.is_reading = thread.spawn(move || kept.read_wanted()).is_ok();
        }
        Ok(None)
    }

    fn read_wanted(&self) {
        loop {
            let mut state = self.state();
            let Some((reader, field)) = state.wanted.pop_front() else {
                state.is_reading = false;
                return;
            };
            if !state.segments.contains_key(&reader.segment_id()) {
                continue;
            }
            drop(state);
            // A file that is not what it should be may lead the library anywhere; the searches find that out, too.
            let read = catch_unwind(AssertUnwindSafe(|| self.read_facet(&reader, &field)));
            let facet = read.ok().and_then(Result::ok);
            let facet = facet.unwrap_or(FacetState::NotKept);
            self.state().keep_facet(reader.segment_id(), &field, facet);
        }
    }

    fn read_facet(&self, reader: &SegmentReader, field: &str) -> tantivy::Result<FacetState> {
        let Some(column) = reader.fast_fields().str(&column_path(field))? else {
            return Ok(FacetState::Kept(Arc::new(FacetColumn::empty())));
        };
        let read = read_column(&column, reader.max_doc());
        let (Some((documents, totals)), Some(texts)) = (read, texts_of(&column)?) else {
            return Ok(FacetState::NotKept);
        };
        let mut state = self.state();
        let known = state.texts.entry(field.to_owned()).or_default();
        Ok(FacetState::Kept(Arc::new(FacetColumn {
            documents,
            totals,
            numbers: texts.iter().map(|text| known.number(text)).collect(),
        })))
    }

    /// The values that were counted, by their texts. Those of one text that were counted in other ways are in `more`.
    pub(crate) fn name(
        &self,
        field: &str,
        counts: &Counts,
        most: usize,
        more: HashMap<String, u64>,
    ) -> Vec<(String, u64)> {
        let state = self.state();
        let texts = state.texts.get(field).map_or(&[][..], |it| &it.texts);
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
        if counted.len() > most {
            counted.select_nth_unstable_by(most, first);
            counted.truncate(most);
        }
        counted.sort_unstable_by(first);
        counted
            .into_iter()
            .map(|(text, count)| (text.to_owned(), count))
            .collect()
    }
}

impl State {
    fn keep_facet(&mut self, segment: SegmentId, field: &str, facet: FacetState) {
        let facets = &mut self.segments.entry(segment).or_default().facets;
        if facets.len() >= MOST_FACETS {
            facets.clear();
        }
        facets.insert(field.to_owned(), facet);
    }
}

impl FacetColumn {
    fn empty() -> Self {
        Self {
            documents: Documents::Sets(Vec::new()),
            totals: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Adds what these documents have. `others` are all other ones; the smaller set is looked at.
    pub(crate) fn count(&self, documents: &Bits, others: Option<&Bits>, counts: &mut Counts) {
        let mut own = vec![0_u32; self.totals.len() + 1];
        match &self.documents {
            Documents::Sets(sets) => {
                for (count, set) in own.iter_mut().zip(sets) {
                    *count = documents.count_common(set) as u32;
                }
            }
            Documents::One(values) => {
                let add = |document: DocId| own[usize::from(values[document as usize])] += 1;
                others.unwrap_or(documents).each(add);
            }
            Documents::Many { starts, values } => {
                let add = |document: DocId| {
                    let at = document as usize;
                    for value in &values[starts[at] as usize..starts[at + 1] as usize] {
                        own[usize::from(*value)] += 1;
                    }
                };
                others.unwrap_or(documents).each(add);
            }
        }
        let inverted = others.is_some() && !matches!(self.documents, Documents::Sets(_));
        for ((own, total), number) in own.iter().zip(&self.totals).zip(&self.numbers) {
            let count = if inverted { total - own } else { *own };
            let at = *number as usize;
            if counts.0.len() <= at {
                counts.0.resize(at + 1, 0);
            }
            counts.0[at] += u64::from(count);
        }
    }
}

fn texts_of(column: &StrColumn) -> tantivy::Result<Option<Vec<String>>> {
    if column.num_terms() > MOST_VALUES {
        return Ok(None);
    }
    let ordinals: Vec<u64> = (0..column.num_terms() as u64).collect();
    let mut texts = Vec::with_capacity(ordinals.len());
    // They are read in one pass; each by itself would begin at the start of its block.
    column
        .dictionary()
        .sorted_ords_to_term_cb(&ordinals, |text| {
            texts.push(String::from_utf8_lossy(text).into_owned());
        })?;
    Ok(Some(texts))
}

fn read_column(column: &StrColumn, len: DocId) -> Option<(Documents, Vec<u32>)> {
    let distinct = column.num_terms();
    if distinct > MOST_VALUES {
        return None;
    }
    let mut totals = vec![0; distinct];
    let mut sets = vec![Bits::none(len as usize); if distinct <= FEW { distinct } else { 0 }];
    let mut starts: Vec<u32> = Vec::new();
    let mut values: Vec<u16> = Vec::new();
    let mut one = true;
    each_value(column, len, |document, value| {
        totals[value] += 1;
        if let Some(set) = sets.get_mut(value) {
            set.insert(document);
            return;
        }
        let before = starts.len();
        starts.resize(document as usize + 1, values.len() as u32);
        one &= starts.len() > before;
        values.push(value as u16);
    });
    if distinct <= FEW {
        return Some((Documents::Sets(sets), totals));
    }
    starts.resize(len as usize + 1, values.len() as u32);
    if !one {
        return Some((Documents::Many { starts, values }, totals));
    }
    let of_document = starts.windows(2).map(|range| {
        let found = values.get(range[0] as usize..range[1] as usize);
        let first = found.and_then(|found| found.first());
        first.copied().unwrap_or(distinct as u16)
    });
    Some((Documents::One(of_document.collect()), totals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_all_facets_together_are_bounded() {
        let kept = Kept::default();
        for field in ["one", "other"] {
            let mut state = kept.state();
            let texts = state.texts.entry(field.to_owned()).or_default();
            assert!(texts.texts.len() < MOST_TEXTS);
            for number in 0..=MOST_TEXTS / 2 {
                texts.number(&number.to_string());
            }
        }
        assert!(kept.is_full());
    }
}
