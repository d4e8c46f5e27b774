//! Gathering results: the total, one page and the facets in one pass over the documents that match.

mod facets;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::bits::Bits;
use crate::column::{first_ordinal_behind, text_of};
use crate::document::MAX_RANK;
use crate::kept::{Columns, Counts, Kept};
use crate::matching::{Matches, Node, Segment, Set};
use crate::schema::{URN, WHOLE_NAMES, column_path};
use crate::work::Work;

/// How much of a score the rank may be: less than any difference between two ways to match.
const RANK_SHARE: f32 = 0.1;

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
    /// How many values of each.
    pub(crate) most_values: usize,
}

/// What a gathering came to.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) total: usize,
    pub(crate) hits: Vec<Candidate>,
    /// For each facet its most frequent values, with how many results have each.
    pub(crate) facets: Vec<Vec<(String, u64)>>,
}

/// A result that may be on the page.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) urn: String,
    pub(crate) score: f32,
}

#[derive(Debug, Clone, PartialEq)]
enum Key {
    Missing,
    Number(f64),
    Text(String),
    /// The beginning of a name; see [`crate::schema::Fields::order`].
    Order(u64),
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
            (Self::Order(one), Self::Order(other)) => one.cmp(other),
            (Self::Number(_), _) | (Self::Text(_), Self::Order(_)) => Ordering::Less,
            (_, Self::Number(_)) | (Self::Order(_), Self::Text(_)) => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }
}

/// What is looked for.
pub(crate) struct Question {
    pub(crate) text: Node,
    /// Terms of which a document has one, under a name to remember them by; `None` if that does not matter.
    pub(crate) types: Option<(String, Vec<Term>)>,
    /// A term that documents must not have.
    pub(crate) without: Option<Term>,
    /// Documents must be in all of these.
    pub(crate) conditions: Vec<Set>,
    pub(crate) work: Work,
}

impl Gather {
    /// Gathers the results of all segments.
    pub(crate) fn results(
        &self,
        searcher: &Searcher,
        kept: &Kept,
        question: &Question,
    ) -> tantivy::Result<Gathered> {
        kept.forget_others(searcher);
        let mut total = 0;
        let mut hits = Vec::new();
        let mut counts: Vec<(Counts, HashMap<String, u64>)> = Vec::new();
        counts.resize_with(self.facets.len(), Default::default);
        for (ordinal, reader) in searcher.segment_readers().iter().enumerate() {
            let segment = SegmentGather {
                gather: self,
                reader,
                columns: kept.columns(reader)?,
                matches: self.matches(searcher, reader, kept, question)?,
                work: &question.work,
            };
            let found = segment.matches.documents.count();
            if found == 0 {
                continue;
            }
            total += found;
            hits.extend(
                segment
                    .hits()?
                    .into_iter()
                    .map(|hit| Hit { ordinal, ..hit }),
            );
            segment.count_facets(found, kept, &mut counts)?;
        }
        let facets = self
            .facets
            .iter()
            .zip(counts)
            .map(|(field, (counts, more))| kept.name(field, &counts, self.most_values, more))
            .collect();
        Ok(Gathered {
            total,
            hits: self.page(searcher, kept, hits)?,
            facets,
        })
    }

    pub(crate) fn matches(
        &self,
        searcher: &Searcher,
        reader: &SegmentReader,
        kept: &Kept,
        question: &Question,
    ) -> tantivy::Result<Matches> {
        let segment = Segment {
            searcher,
            reader,
            kept,
            work: &question.work,
            scored: matches!(self.order, Order::Score) && self.keep > 0,
        };
        let mut matches = segment.matches(&question.text)?;
        if let Some(visible) = question.visible(&segment, kept)? {
            matches.documents.keep(&visible);
        }
        for condition in &question.conditions {
            matches.documents.keep(&segment.set(condition)?);
        }
        if let Some(alive) = Bits::alive(reader) {
            matches.documents.keep(&alive);
        }
        Ok(matches)
    }

    /// The first of all, in the order.
    fn page(
        &self,
        searcher: &Searcher,
        kept: &Kept,
        mut hits: Vec<Hit>,
    ) -> tantivy::Result<Vec<Candidate>> {
        // The URNs of those that cannot come in need not be read.
        if hits.len() > self.keep && self.keep > 0 {
            let (_, last, _) = hits.select_nth_unstable_by(self.keep - 1, |one, other| {
                one.compare(other, &self.order)
            });
            let last = last.clone();
            hits.retain(|hit| hit.compare(&last, &self.order).is_le());
        }
        let mut named = hits
            .into_iter()
            .map(|hit| {
                let reader = searcher.segment_reader(hit.ordinal as u32);
                Ok((hit.urn(&kept.columns(reader)?.urns)?, hit))
            })
            .collect::<tantivy::Result<Vec<_>>>()?;
        named.sort_by(|(urn, hit), (other_urn, other)| {
            hit.compare(other, &self.order)
                .then_with(|| urn.cmp(other_urn))
        });
        named.truncate(self.keep);
        let candidate = |(urn, hit): (String, Hit)| Candidate {
            urn,
            score: hit.score,
        };
        Ok(named.into_iter().map(candidate).collect())
    }
}

impl Question {
    /// The documents of the right types that are not removed; `None` if all are.
    fn visible(&self, segment: &Segment<'_>, kept: &Kept) -> tantivy::Result<Option<Arc<Bits>>> {
        if self.types.is_none() && self.without.is_none() {
            return Ok(None);
        }
        let name = self.types.as_ref().map_or("", |(name, _)| name);
        let name = format!("{name} {}", self.without.is_some());
        let bits = kept.set(segment.reader, &name, || {
            let mut bits = match &self.types {
                Some((_, terms)) => segment.set(&Set::Terms(terms.clone()))?,
                None => Bits::all(segment.len()),
            };
            if let Some(without) = &self.without {
                bits.remove(&segment.set(&Set::Terms(vec![without.clone()]))?);
            }
            Ok(bits)
        })?;
        Ok(Some(bits))
    }
}

/// A document that may be on the page.
#[derive(Debug, Clone)]
struct Hit {
    /// Of its segment.
    ordinal: usize,
    score: f32,
    keys: Vec<Key>,
    /// Its URN's place among those of its segment.
    urn: u64,
}

impl Hit {
    /// As far as that can be said without reading the URNs.
    fn compare(&self, other: &Self, order: &Order) -> Ordering {
        match order {
            Order::Score => other
                .score
                .total_cmp(&self.score)
                .then_with(|| compare_keys(&self.keys, &other.keys, &[])),
            Order::Urn { .. } => Ordering::Equal,
            Order::Fields(fields) => compare_keys(&self.keys, &other.keys, fields),
        }
    }

    fn urn(&self, urns: &StrColumn) -> tantivy::Result<String> {
        let mut urn = String::new();
        urns.ord_to_str(self.urn, &mut urn)?;
        Ok(urn)
    }
}

fn compare_keys(one: &[Key], other: &[Key], fields: &[(String, bool)]) -> Ordering {
    for (at, (one, other)) in one.iter().zip(other).enumerate() {
        let descending = fields.get(at).is_some_and(|(_, descending)| *descending);
        let order = one.compare(other, descending);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

struct SegmentGather<'g> {
    gather: &'g Gather,
    reader: &'g SegmentReader,
    columns: Arc<Columns>,
    matches: Matches,
    work: &'g Work,
}

/// A document in a heap whose top is the worst: it goes first.
struct Ranked {
    score: f32,
    order: u64,
    urn: u64,
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
        let by_score = other.score.total_cmp(&self.score);
        by_score
            .then(self.order.cmp(&other.order))
            .then(self.urn.cmp(&other.urn))
    }
}

impl SegmentGather<'_> {
    fn hits(&self) -> tantivy::Result<Vec<Hit>> {
        match &self.gather.order {
            _ if self.gather.keep == 0 => Ok(Vec::new()),
            Order::Score => Ok(self.best()),
            Order::Urn { after } => self.first_by_urn(after.as_deref()),
            Order::Fields(fields) => self.first_by_fields(fields),
        }
    }

    fn best(&self) -> Vec<Hit> {
        let Columns {
            urns,
            ranks,
            orders,
            ..
        } = &*self.columns;
        let keep = self.gather.keep;
        let mut heap: BinaryHeap<Ranked> = BinaryHeap::with_capacity(keep + 1);
        let mut least = f32::MIN;
        self.matches.documents.each(|document| {
            let score = self.matches.score(document);
            // Most documents cannot come in, whatever their rank.
            if score + RANK_SHARE < least {
                return;
            }
            let rank = ranks.first(document).unwrap_or_default();
            let score = score + rank as f32 / MAX_RANK as f32 * RANK_SHARE;
            if score < least {
                return;
            }
            heap.push(Ranked {
                score,
                order: orders.first(document).unwrap_or_default(),
                urn: urns.ords().first(document).unwrap_or_default(),
            });
            if heap.len() > keep {
                heap.pop();
            }
            if heap.len() == keep {
                least = heap.peek().map_or(f32::MIN, |worst| worst.score);
            }
        });
        let hits = heap.into_iter().map(|ranked| Hit {
            ordinal: 0,
            score: ranked.score,
            keys: vec![Key::Order(ranked.order)],
            urn: ranked.urn,
        });
        hits.collect()
    }

    fn first_by_urn(&self, after: Option<&str>) -> tantivy::Result<Vec<Hit>> {
        let urns = &self.columns.urns;
        let start = match after {
            Some(after) => first_ordinal_behind(urns, after)?,
            None => 0,
        };
        // The largest ordinal is on top of the heap and goes first.
        let mut heap: BinaryHeap<u64> = BinaryHeap::with_capacity(self.gather.keep + 1);
        self.matches.documents.each(|document| {
            let Some(ordinal) = urns.ords().first(document) else {
                return;
            };
            if ordinal < start {
                return;
            }
            if heap.len() < self.gather.keep {
                heap.push(ordinal);
            } else if heap.peek().is_some_and(|largest| ordinal < *largest) {
                heap.pop();
                heap.push(ordinal);
            }
        });
        let hits = heap.into_iter().map(|urn| Hit {
            ordinal: 0,
            score: 0.0,
            keys: Vec::new(),
            urn,
        });
        Ok(hits.collect())
    }

    fn first_by_fields(&self, fields: &[(String, bool)]) -> tantivy::Result<Vec<Hit>> {
        let urns = &self.columns.urns;
        let columns = fields
            .iter()
            .map(|(field, _)| SortColumn::open(self.reader, field))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let mut candidates = Vec::new();
        self.matches.documents.each(|document| {
            let ordinals: Vec<Option<f64>> = columns
                .iter()
                .map(|column| column.ordinal(document))
                .collect();
            candidates.push((ordinals, document));
        });
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
                Ok(Hit {
                    ordinal: 0,
                    score: 0.0,
                    keys: columns
                        .iter()
                        .map(|column| column.key(document))
                        .collect::<tantivy::Result<_>>()?,
                    urn: urns.ords().first(document).unwrap_or_default(),
                })
            })
            .collect()
    }
}

/// The values that results are sorted by.
pub(crate) enum SortColumn {
    Text(StrColumn),
    Number(tantivy::columnar::Column<i64>),
    Missing,
}

impl SortColumn {
    pub(crate) fn open(reader: &SegmentReader, field: &str) -> tantivy::Result<Self> {
        let path = match field {
            URN | WHOLE_NAMES => field.to_owned(),
            _ => column_path(field),
        };
        let fast = reader.fast_fields();
        if let Some(column) = fast.str(&path)? {
            return Ok(Self::Text(column));
        }
        if let Some(column) = fast.column_opt::<i64>(&path)? {
            return Ok(Self::Number(column));
        }
        Ok(Self::Missing)
    }

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
                Key::Text(text_of(column, document)?.unwrap_or_default())
            }
            Self::Number(column) => column
                .first(document)
                .map_or(Key::Missing, |number| Key::Number(number as f64)),
            Self::Text(_) | Self::Missing => Key::Missing,
        })
    }
}
