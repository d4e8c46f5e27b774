//! Collects results: the total, one page and the facets, in one pass over the matching documents.

mod facets;

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use tantivy::columnar::StrColumn;
use tantivy::{DocId, Searcher, SegmentOrdinal, SegmentReader, Term};

use crate::bits::Bits;
use crate::budget::SearchBudget;
use crate::column::first_ordinal_after;
use crate::cursor::AfterCursor;
use crate::document::MAX_RANK;
use crate::excluded::ExcludedTerms;
use crate::matching::{DocumentSet, Matches, QueryNode, SegmentSearcher};
use crate::segment_cache::{Columns, FacetCounts, SegmentCache};
use crate::sort_column::SortColumn;
use crate::view::{View, ViewLookup};

/// The largest part of a score that the rank contributes: less than the difference between any two
/// kinds of match.
const RANK_SHARE: f32 = 0.1;

/// The order of a page.
#[derive(Debug, Clone)]
pub(crate) enum ResultOrder {
    /// Best match first.
    Score,
    /// By URN, starting after the given one.
    Urn { after: Option<String> },
    /// By the values of fields, each with whether it is descending, then by URN.
    Fields(Vec<(String, bool)>),
}

#[derive(Debug, Clone)]
pub(crate) struct ResultCollector {
    pub(crate) order: ResultOrder,
    /// How many results to return.
    pub(crate) limit: usize,
    /// Fields to count the values of.
    pub(crate) facets: Vec<String>,
    /// How many values to return for each facet.
    pub(crate) facet_values: usize,
}

#[derive(Debug, Default)]
pub(crate) struct CollectedResults {
    pub(crate) total: usize,
    pub(crate) hits: Vec<Candidate>,
    /// For each facet, its most frequent values and their counts.
    pub(crate) facets: Vec<Vec<(String, u64)>>,
}

/// A result that may be on the page.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) urn: String,
    pub(crate) score: f32,
}

#[derive(Debug, Clone, PartialEq)]
enum SortKey {
    Missing,
    Number(f64),
    Text(String),
    /// The first bytes of a name; see [`crate::schema::Fields::order`].
    NamePrefix(u64),
}

impl SortKey {
    /// Missing values come last in both directions.
    fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let order = match (self, other) {
            (Self::Missing, Self::Missing) => return Ordering::Equal,
            (Self::Missing, _) => return Ordering::Greater,
            (_, Self::Missing) => return Ordering::Less,
            (Self::Number(one), Self::Number(other)) => one.total_cmp(other),
            (Self::Text(one), Self::Text(other)) => one.cmp(other),
            (Self::NamePrefix(one), Self::NamePrefix(other)) => one.cmp(other),
            (Self::Number(_), _) | (Self::Text(_), Self::NamePrefix(_)) => Ordering::Less,
            (_, Self::Number(_)) | (Self::NamePrefix(_), Self::Text(_)) => Ordering::Greater,
        };
        if descending { order.reverse() } else { order }
    }
}

/// A query with its filters, ready to run on a segment.
pub(crate) struct PreparedQuery<'s> {
    pub(crate) text: QueryNode,
    /// Documents must have one of these terms. The name is the key under which their documents are
    /// cached.
    pub(crate) types: Option<(String, Vec<Term>)>,
    /// Documents must have none of these terms.
    pub(crate) excluded: ExcludedTerms,
    /// What the caller may see; `None` for everything.
    pub(crate) view: Option<Rc<View>>,
    /// Decides which references order the results; `None` for all.
    pub(crate) references: Option<ViewLookup<'s>>,
    /// Documents must be behind this cursor.
    pub(crate) after: Option<AfterCursor>,
    /// Documents must be in all of these sets.
    pub(crate) conditions: Vec<DocumentSet>,
    pub(crate) budget: SearchBudget,
}

impl ResultCollector {
    /// Collects the results of all segments.
    pub(crate) fn collect(
        &self,
        searcher: &Searcher,
        cache: &SegmentCache,
        prepared: &PreparedQuery<'_>,
    ) -> tantivy::Result<CollectedResults> {
        cache.retain_segments_of(searcher);
        let mut total = 0;
        let mut hits = Vec::new();
        let mut counts: Vec<(FacetCounts, HashMap<String, u64>)> = Vec::new();
        counts.resize_with(self.facets.len(), Default::default);
        for (ordinal, reader) in (0..).zip(searcher.segment_readers()) {
            let segment = SegmentCollector {
                collector: self,
                reader,
                columns: cache.columns(reader)?,
                matches: self.matches(searcher, reader, cache, prepared)?,
                references: prepared.references.as_ref(),
                budget: &prepared.budget,
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
                    .map(|hit| SegmentHit { ordinal, ..hit }),
            );
            segment.count_facets(found, cache, &mut counts)?;
        }
        let facets = self
            .facets
            .iter()
            .zip(counts)
            .map(|(field, (counts, more))| {
                cache.top_values(field, &counts, self.facet_values, more)
            })
            .collect();
        Ok(CollectedResults {
            total,
            hits: self.page(searcher, cache, hits)?,
            facets,
        })
    }

    pub(crate) fn matches(
        &self,
        searcher: &Searcher,
        reader: &SegmentReader,
        cache: &SegmentCache,
        prepared: &PreparedQuery<'_>,
    ) -> tantivy::Result<Matches> {
        let segment = SegmentSearcher {
            searcher,
            reader,
            cache,
            budget: &prepared.budget,
            scored: matches!(self.order, ResultOrder::Score) && self.limit > 0,
        };
        let mut matches = segment.matches(&prepared.text)?;
        if let Some(visible) = prepared.visible(&segment, cache)? {
            matches.documents.intersect_with(&visible);
        }
        if let Some(view) = &prepared.view {
            let seen = view.documents(&segment)?;
            matches.documents.intersect_with(&seen);
        }
        for condition in &prepared.conditions {
            matches.documents.intersect_with(&segment.set(condition)?);
        }
        if let Some(alive) = Bits::alive(reader) {
            matches.documents.intersect_with(&alive);
        }
        if let Some(after) = &prepared.after {
            let references = prepared.references.as_ref();
            matches.documents = after.among(reader, references, &matches.documents)?;
        }
        Ok(matches)
    }

    /// Merges the hits of all segments into the page.
    fn page(
        &self,
        searcher: &Searcher,
        cache: &SegmentCache,
        mut hits: Vec<SegmentHit>,
    ) -> tantivy::Result<Vec<Candidate>> {
        // Avoids reading the URNs of hits that cannot be on the page.
        if hits.len() > self.limit && self.limit > 0 {
            let (_, last, _) = hits.select_nth_unstable_by(self.limit - 1, |one, other| {
                one.compare(other, &self.order)
            });
            let last = last.clone();
            hits.retain(|hit| hit.compare(&last, &self.order).is_le());
        }
        let mut named = hits
            .into_iter()
            .map(|hit| {
                let reader = searcher.segment_reader(hit.ordinal);
                Ok((hit.urn(&cache.columns(reader)?.urns)?, hit))
            })
            .collect::<tantivy::Result<Vec<_>>>()?;
        named.sort_by(|(urn, hit), (other_urn, other)| {
            hit.compare(other, &self.order)
                .then_with(|| urn.cmp(other_urn))
        });
        named.truncate(self.limit);
        let candidate = |(urn, hit): (String, SegmentHit)| Candidate {
            urn,
            score: hit.score,
        };
        Ok(named.into_iter().map(candidate).collect())
    }
}

impl PreparedQuery<'_> {
    /// The documents of the requested types that are not left out; `None` if that does not restrict
    /// anything.
    fn visible(
        &self,
        segment: &SegmentSearcher<'_>,
        cache: &SegmentCache,
    ) -> tantivy::Result<Option<Arc<Bits>>> {
        if self.types.is_none() && self.excluded.terms.is_empty() {
            return Ok(None);
        }
        let name = self.types.as_ref().map_or("", |(name, _)| name);
        let name = format!("{name}\n{}", self.excluded.name);
        let bits = cache.document_set(segment.reader, &name, || {
            let mut bits = match &self.types {
                Some((_, terms)) => segment.set(&DocumentSet::Terms(terms.clone()))?,
                None => Bits::full(segment.len()),
            };
            if !self.excluded.terms.is_empty() {
                let excluded = DocumentSet::Terms(self.excluded.terms.clone());
                bits.subtract(&segment.set(&excluded)?);
            }
            Ok(bits)
        })?;
        Ok(Some(bits))
    }
}

/// A document that may be on the page.
#[derive(Debug, Clone)]
struct SegmentHit {
    /// Ordinal of its segment.
    ordinal: SegmentOrdinal,
    score: f32,
    keys: Vec<SortKey>,
    /// Ordinal of its URN within the segment.
    urn: u64,
}

impl SegmentHit {
    /// Compares as far as possible without reading the URNs.
    fn compare(&self, other: &Self, order: &ResultOrder) -> Ordering {
        match order {
            ResultOrder::Score => other
                .score
                .total_cmp(&self.score)
                .then_with(|| compare_keys(&self.keys, &other.keys, &[])),
            ResultOrder::Urn { .. } => Ordering::Equal,
            ResultOrder::Fields(fields) => compare_keys(&self.keys, &other.keys, fields),
        }
    }

    fn urn(&self, urns: &StrColumn) -> tantivy::Result<String> {
        let mut urn = String::new();
        urns.ord_to_str(self.urn, &mut urn)?;
        Ok(urn)
    }
}

fn compare_keys(one: &[SortKey], other: &[SortKey], fields: &[(String, bool)]) -> Ordering {
    for (at, (one, other)) in one.iter().zip(other).enumerate() {
        let descending = fields.get(at).is_some_and(|(_, descending)| *descending);
        let order = one.compare(other, descending);
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

struct SegmentCollector<'g> {
    collector: &'g ResultCollector,
    reader: &'g SegmentReader,
    columns: Arc<Columns>,
    matches: Matches,
    references: Option<&'g ViewLookup<'g>>,
    budget: &'g SearchBudget,
}

/// An entry of a heap with the worst hit on top.
struct HeapEntry {
    score: f32,
    order: u64,
    urn: u64,
}

impl PartialEq for HeapEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for HeapEntry {}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score
            .then(self.order.cmp(&other.order))
            .then(self.urn.cmp(&other.urn))
    }
}

impl SegmentCollector<'_> {
    fn hits(&self) -> tantivy::Result<Vec<SegmentHit>> {
        match &self.collector.order {
            _ if self.collector.limit == 0 => Ok(Vec::new()),
            ResultOrder::Score => Ok(self.best()),
            ResultOrder::Urn { after } => self.first_by_urn(after.as_deref()),
            ResultOrder::Fields(fields) => self.first_by_fields(fields),
        }
    }

    fn best(&self) -> Vec<SegmentHit> {
        let Columns {
            urns,
            ranks,
            orders,
            ..
        } = &*self.columns;
        let limit = self.collector.limit;
        let mut heap: BinaryHeap<HeapEntry> = BinaryHeap::with_capacity(limit + 1);
        let mut least = f32::MIN;
        self.matches.documents.for_each(|document| {
            let score = self.matches.score(document);
            // Most documents cannot be on the page, whatever their rank.
            if score + RANK_SHARE < least {
                return;
            }
            let rank = ranks.first(document).unwrap_or_default();
            let score = score + rank as f32 / MAX_RANK as f32 * RANK_SHARE;
            if score < least {
                return;
            }
            heap.push(HeapEntry {
                score,
                order: orders.first(document).unwrap_or_default(),
                urn: urns.ords().first(document).unwrap_or_default(),
            });
            if heap.len() > limit {
                heap.pop();
            }
            if heap.len() == limit {
                least = heap.peek().map_or(f32::MIN, |worst| worst.score);
            }
        });
        let hits = heap.into_iter().map(|entry| SegmentHit {
            ordinal: 0,
            score: entry.score,
            keys: vec![SortKey::NamePrefix(entry.order)],
            urn: entry.urn,
        });
        hits.collect()
    }

    fn first_by_urn(&self, after: Option<&str>) -> tantivy::Result<Vec<SegmentHit>> {
        let urns = &self.columns.urns;
        let start = match after {
            Some(after) => first_ordinal_after(urns, after)?,
            None => 0,
        };
        // A heap with the largest ordinal on top.
        let mut heap: BinaryHeap<u64> = BinaryHeap::with_capacity(self.collector.limit + 1);
        self.matches.documents.for_each(|document| {
            let Some(ordinal) = urns.ords().first(document) else {
                return;
            };
            if ordinal < start {
                return;
            }
            if heap.len() < self.collector.limit {
                heap.push(ordinal);
            } else if heap.peek().is_some_and(|largest| ordinal < *largest) {
                heap.pop();
                heap.push(ordinal);
            }
        });
        let hits = heap.into_iter().map(|urn| SegmentHit {
            ordinal: 0,
            score: 0.0,
            keys: Vec::new(),
            urn,
        });
        Ok(hits.collect())
    }

    fn first_by_fields(&self, fields: &[(String, bool)]) -> tantivy::Result<Vec<SegmentHit>> {
        let urns = &self.columns.urns;
        let columns = fields
            .iter()
            .map(|(field, _)| SortColumn::open(self.reader, field, self.references))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let documents = self.matches.documents.to_vec();
        let mut candidates = Vec::with_capacity(documents.len());
        for document in documents {
            let ordinals: Vec<Option<f64>> = columns
                .iter()
                .map(|column| ordinal(column, document))
                .collect::<tantivy::Result<_>>()?;
            candidates.push((ordinals, document));
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
        if candidates.len() > self.collector.limit {
            candidates.select_nth_unstable_by(self.collector.limit, compare);
            candidates.truncate(self.collector.limit);
        }
        candidates
            .into_iter()
            .map(|(_, document)| {
                Ok(SegmentHit {
                    ordinal: 0,
                    score: 0.0,
                    keys: columns
                        .iter()
                        .map(|column| key(column, document))
                        .collect::<tantivy::Result<_>>()?,
                    urn: urns.ords().first(document).unwrap_or_default(),
                })
            })
            .collect()
    }
}

/// A number that orders the values of a column within the segment.
fn ordinal(column: &SortColumn<'_>, document: DocId) -> tantivy::Result<Option<f64>> {
    Ok(match column {
        SortColumn::Text(column) => column.ordinal(document)?.map(|ordinal| ordinal as f64),
        SortColumn::Number(column) => column.first(document).map(|number| number as f64),
        SortColumn::Missing => None,
    })
}

fn key(column: &SortColumn<'_>, document: DocId) -> tantivy::Result<SortKey> {
    let key = match column {
        SortColumn::Text(column) => column.text(document)?.map(SortKey::Text),
        SortColumn::Number(column) => column
            .first(document)
            .map(|number| SortKey::Number(number as f64)),
        SortColumn::Missing => None,
    };
    Ok(key.unwrap_or(SortKey::Missing))
}
