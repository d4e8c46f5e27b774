//! Gathering results: the total, one page and the facets in one pass over the documents that match.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::StrColumn;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use crate::document::MAX_RANK;
use crate::schema::{ORDER, RANK, URN, column_path};

/// How much of a score the rank may be: less than any difference between two ways to match.
const RANK_SHARE: f32 = 0.1;

/// How many documents are looked at together.
const BLOCK: usize = 1024;

/// Joins two fields that are counted together, and their values.
pub(crate) const PAIR: char = '␞';

/// The order of a page.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    /// Best first.
    Score,
    /// By URN, behind this one.
    Urn { after: Option<String> },
    /// By the values of these fields, whether the largest comes first, then by URN.
    Fields(Vec<(String, bool)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Gather {
    pub(crate) order: Order,
    /// How many results to keep, in the order.
    pub(crate) keep: usize,
    /// Fields to count.
    pub(crate) facets: Vec<String>,
}

/// What a gathering came to.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) total: usize,
    pub(crate) hits: Vec<Candidate>,
    /// For each facet the count of each value.
    pub(crate) facets: Vec<HashMap<String, u64>>,
}

/// A result that may be on the page.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) urn: String,
    pub(crate) score: f32,
    keys: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Missing,
    Number(f64),
    Text(String),
}

impl Key {
    /// What is missing comes last, whatever the direction.
    fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Missing, Self::Missing) => return Ordering::Equal,
            (Self::Missing, _) => return Ordering::Greater,
            (_, Self::Missing) => return Ordering::Less,
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }
}

impl Collector for Gather {
    type Fruit = Gathered;
    type Child = SegmentGather;

    fn for_segment(
        &self,
        _: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<SegmentGather> {
        Ok(SegmentGather {
            gather: self.clone(),
            segment: segment.clone(),
            documents: Vec::new(),
            scores: Vec::new(),
        })
    }

    fn requires_scoring(&self) -> bool {
        matches!(self.order, Order::Score) && self.keep > 0
    }

    fn merge_fruits(&self, fruits: Vec<tantivy::Result<Gathered>>) -> tantivy::Result<Gathered> {
        let mut all = Gathered {
            facets: vec![HashMap::new(); self.facets.len()],
            ..Gathered::default()
        };
        for fruit in fruits {
            let fruit = fruit?;
            all.total += fruit.total;
            all.hits.extend(fruit.hits);
            for (counts, more) in all.facets.iter_mut().zip(fruit.facets) {
                for (value, count) in more {
                    *counts.entry(value).or_default() += count;
                }
            }
        }
        match &self.order {
            Order::Score => all.hits.sort_by(|one, other| {
                other
                    .score
                    .total_cmp(&one.score)
                    .then_with(|| compare_keys(one, other, &[]))
                    .then_with(|| one.urn.cmp(&other.urn))
            }),
            Order::Urn { .. } => all.hits.sort_by(|one, other| one.urn.cmp(&other.urn)),
            Order::Fields(fields) => all.hits.sort_by(|one, other| {
                compare_keys(one, other, fields).then_with(|| one.urn.cmp(&other.urn))
            }),
        }
        all.hits.truncate(self.keep);
        Ok(all)
    }
}

fn compare_keys(one: &Candidate, other: &Candidate, fields: &[(String, bool)]) -> Ordering {
    for (at, (one, other)) in one.keys.iter().zip(&other.keys).enumerate() {
        let descending = fields.get(at).is_some_and(|(_, descending)| *descending);
        let order = one.compare(other, descending);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

pub(crate) struct SegmentGather {
    gather: Gather,
    segment: SegmentReader,
    documents: Vec<DocId>,
    scores: Vec<Score>,
}

impl SegmentCollector for SegmentGather {
    type Fruit = tantivy::Result<Gathered>;

    fn collect(&mut self, document: DocId, score: Score) {
        self.documents.push(document);
        if matches!(self.gather.order, Order::Score) {
            self.scores.push(score);
        }
    }

    fn harvest(self) -> tantivy::Result<Gathered> {
        let hits = match &self.gather.order {
            _ if self.gather.keep == 0 => Vec::new(),
            Order::Score => self.best()?,
            Order::Urn { after } => self.first_by_urn(after.as_deref())?,
            Order::Fields(fields) => self.first_by_fields(fields)?,
        };
        let facets = self
            .gather
            .facets
            .iter()
            .map(|field| self.count(field))
            .collect::<tantivy::Result<_>>()?;
        Ok(Gathered {
            total: self.documents.len(),
            hits,
            facets,
        })
    }
}

/// A document in a heap whose top is the worst: it goes first.
struct Ranked {
    score: f32,
    order: u64,
    document: DocId,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.order.cmp(&other.order))
    }
}

impl SegmentGather {
    fn best(&self) -> tantivy::Result<Vec<Candidate>> {
        let fast = self.segment.fast_fields();
        let (ranks, orders) = (fast.u64(RANK)?, fast.u64(ORDER)?);
        let mut heap: BinaryHeap<Ranked> = BinaryHeap::with_capacity(self.gather.keep + 1);
        for (document, score) in self.documents.iter().zip(&self.scores) {
            // Most documents cannot come in, whatever their rank.
            if heap.len() == self.gather.keep
                && heap
                    .peek()
                    .is_some_and(|worst| score + RANK_SHARE < worst.score)
            {
                continue;
            }
            let rank = ranks.first(*document).unwrap_or_default();
            heap.push(Ranked {
                score: score + rank as f32 / MAX_RANK as f32 * RANK_SHARE,
                order: orders.first(*document).unwrap_or_default(),
                document: *document,
            });
            if heap.len() > self.gather.keep {
                heap.pop();
            }
        }
        let urns = self.urns()?;
        heap.into_iter()
            .map(|ranked| {
                Ok(Candidate {
                    urn: text_of(&urns, ranked.document)?,
                    score: ranked.score,
                    keys: vec![Key::Number(ranked.order as f64)],
                })
            })
            .collect()
    }

    fn first_by_urn(&self, after: Option<&str>) -> tantivy::Result<Vec<Candidate>> {
        let urns = self.urns()?;
        let start = match after {
            Some(after) => first_ordinal_behind(&urns, after)?,
            None => 0,
        };
        // The largest ordinal is on top of the heap and goes first.
        let mut heap: BinaryHeap<u64> = BinaryHeap::with_capacity(self.gather.keep + 1);
        for document in &self.documents {
            let Some(ordinal) = urns.ords().first(*document) else {
                continue;
            };
            if ordinal < start {
                continue;
            }
            if heap.len() < self.gather.keep {
                heap.push(ordinal);
            } else if heap.peek().is_some_and(|largest| ordinal < *largest) {
                heap.pop();
                heap.push(ordinal);
            }
        }
        heap.into_iter()
            .map(|ordinal| {
                let mut urn = String::new();
                urns.ord_to_str(ordinal, &mut urn)?;
                Ok(Candidate {
                    urn,
                    score: 0.0,
                    keys: Vec::new(),
                })
            })
            .collect()
    }

    fn first_by_fields(&self, fields: &[(String, bool)]) -> tantivy::Result<Vec<Candidate>> {
        let urns = self.urns()?;
        let columns = fields
            .iter()
            .map(|(field, _)| self.sort_column(field))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let mut candidates = Vec::with_capacity(self.documents.len());
        for document in &self.documents {
            let ordinals: Vec<Option<f64>> = columns
                .iter()
                .map(|column| column.ordinal(*document))
                .collect();
            candidates.push((ordinals, *document));
        }
        let compare = |one: &(Vec<Option<f64>>, DocId), other: &(Vec<Option<f64>>, DocId)| {
            for (at, (one, other)) in one.0.iter().zip(&other.0).enumerate() {
                let order = match (one, other) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Greater,
                    (_, None) => Ordering::Less,
                    (Some(one), Some(other)) if fields[at].1 => other.total_cmp(one),
                    (Some(one), Some(other)) => one.total_cmp(other),
                };
                if order.is_ne() {
                    return order;
                }
            }
            urns.ords().first(one.1).cmp(&urns.ords().first(other.1))
        };
        if candidates.len() > self.gather.keep {
            candidates.select_nth_unstable_by(self.gather.keep, compare);
            candidates.truncate(self.gather.keep);
        }
        candidates
            .into_iter()
            .map(|(_, document)| {
                Ok(Candidate {
                    urn: text_of(&urns, document)?,
                    score: 0.0,
                    keys: columns
                        .iter()
                        .map(|column| column.key(document))
                        .collect::<tantivy::Result<_>>()?,
                })
            })
            .collect()
    }

    fn count(&self, field: &str) -> tantivy::Result<HashMap<String, u64>> {
        if let Some((one, other)) = field.split_once(PAIR) {
            return self.count_pairs(one, other);
        }
        let path = column_path(field);
        let Some(column) = self.segment.fast_fields().str(&path)? else {
            return Ok(HashMap::new());
        };
        let mut counts = vec![0_u64; column.num_terms()];
        let (mut rows, mut of_documents, mut ordinals) = (Vec::new(), Vec::new(), Vec::new());
        for block in self.documents.chunks(BLOCK) {
            rows.clear();
            of_documents.clear();
            let ords = column.ords();
            ords.row_ids_for_docs(block, &mut of_documents, &mut rows);
            ordinals.resize(rows.len(), 0);
            ords.values.get_vals(&rows, &mut ordinals);
            for ordinal in &ordinals {
                if let Some(count) = counts.get_mut(*ordinal as usize) {
                    *count += 1;
                }
            }
        }
        let present: Vec<u64> = (0..counts.len() as u64)
            .filter(|ordinal| counts[*ordinal as usize] > 0)
            .collect();
        let mut named = HashMap::with_capacity(present.len());
        let mut ordinals = present.iter();
        // Their texts are read in one pass; each by itself would begin at the start of its block.
        column
            .dictionary()
            .sorted_ords_to_term_cb(&present, |text| {
                if let Some(ordinal) = ordinals.next() {
                    let text = String::from_utf8_lossy(text).into_owned();
                    named.insert(text, counts[*ordinal as usize]);
                }
            })?;
        Ok(named)
    }

    fn count_pairs(&self, one: &str, other: &str) -> tantivy::Result<HashMap<String, u64>> {
        let fast = self.segment.fast_fields();
        let (Some(one), Some(other)) =
            (fast.str(&column_path(one))?, fast.str(&column_path(other))?)
        else {
            return Ok(HashMap::new());
        };
        let mut counts: HashMap<(u64, u64), u64> = HashMap::new();
        for document in &self.documents {
            for first in one.ords().values_for_doc(*document) {
                for second in other.ords().values_for_doc(*document) {
                    *counts.entry((first, second)).or_default() += 1;
                }
            }
        }
        let mut named = HashMap::new();
        for ((first, second), count) in counts {
            let (mut value, mut rest) = (String::new(), String::new());
            one.ord_to_str(first, &mut value)?;
            other.ord_to_str(second, &mut rest)?;
            value.push(PAIR);
            value.push_str(&rest);
            named.insert(value, count);
        }
        Ok(named)
    }

    fn urns(&self) -> tantivy::Result<StrColumn> {
        self.segment.fast_fields().str(URN)?.ok_or_else(|| {
            tantivy::TantivyError::InternalError("a segment has no column of URNs".to_owned())
        })
    }

    fn sort_column(&self, field: &str) -> tantivy::Result<SortColumn> {
        if field == URN {
            return Ok(SortColumn::Text(self.urns()?));
        }
        let path = column_path(field);
        let fast = self.segment.fast_fields();
        if let Some(column) = fast.str(&path)? {
            return Ok(SortColumn::Text(column));
        }
        if let Some(column) = fast.column_opt::<i64>(&path)? {
            return Ok(SortColumn::Number(column));
        }
        Ok(SortColumn::Missing)
    }
}

enum SortColumn {
    Text(StrColumn),
    Number(tantivy::columnar::Column<i64>),
    Missing,
}

impl SortColumn {
    /// A number with the order of the values, within the segment.
    fn ordinal(&self, document: DocId) -> Option<f64> {
        match self {
            Self::Text(column) => column.ords().first(document).map(|ordinal| ordinal as f64),
            Self::Number(column) => column.first(document).map(|number| number as f64),
            Self::Missing => None,
        }
    }

    fn key(&self, document: DocId) -> tantivy::Result<Key> {
        Ok(match self {
            Self::Text(column) if column.ords().first(document).is_some() => {
                Key::Text(text_of(column, document)?)
            }
            Self::Number(column) => column
                .first(document)
                .map_or(Key::Missing, |number| Key::Number(number as f64)),
            Self::Text(_) | Self::Missing => Key::Missing,
        })
    }
}

fn text_of(column: &StrColumn, document: DocId) -> tantivy::Result<String> {
    let mut text = String::new();
    if let Some(ordinal) = column.ords().first(document) {
        column.ord_to_str(ordinal, &mut text)?;
    }
    Ok(text)
}

/// The first ordinal whose text is greater.
fn first_ordinal_behind(column: &StrColumn, text: &str) -> tantivy::Result<u64> {
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
