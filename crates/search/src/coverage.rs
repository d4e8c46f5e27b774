//! Documentation coverage: how many datasets and columns have a description, in total, by domain
//! and outside of domains.
//!
//! The index holds two numbers for each dataset: its columns, and how many of them are described.
//! This module adds them up for all datasets that searches find. A million datasets take some
//! tens of milliseconds.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::bits::Bits;
use crate::budget::SearchBudget;
use crate::collect::{PreparedQuery, ResultCollector, ResultOrder};
use crate::column::for_each_value_in;
use crate::document::{COLUMNS, DESCRIBED_COLUMNS};
use crate::error::SearchError;
use crate::excluded::ExcludedTerms;
use crate::field::{ENTITY_TYPE, HAS_DESCRIPTION};
use crate::filter::Filters;
use crate::matching::{DocumentSet, QueryNode, SegmentSearcher};
use crate::request::{Filter, SearchRequest};
use crate::schema::{Fields, column_path};
use crate::segment_cache::SegmentCache;

const DATASET: &str = "dataset";
const DOMAINS: &str = "domains";
/// Only the largest domains are reported.
const MAX_DOMAINS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    pub all: DescriptionCounts,
    /// The datasets directly in each domain, by the domain's URN; the domain with the most datasets
    /// comes first.
    pub domains: Vec<(String, DescriptionCounts)>,
    pub without_domain: DescriptionCounts,
}

/// How many datasets and columns there are, and how many of them have a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DescriptionCounts {
    pub datasets: u64,
    pub described_datasets: u64,
    pub columns: u64,
    pub described_columns: u64,
}

impl AddAssign for DescriptionCounts {
    fn add_assign(&mut self, other: Self) {
        self.datasets += other.datasets;
        self.described_datasets += other.described_datasets;
        self.columns += other.columns;
        self.described_columns += other.described_columns;
    }
}

pub(crate) fn coverage(
    searcher: &Searcher,
    fields: &Fields,
    cache: &SegmentCache,
    budget: &SearchBudget,
    view: Option<&Arc<Filter>>,
) -> Result<Coverage, SearchError> {
    let filters = Filters::unrestricted(searcher, fields, budget);
    let prepared = PreparedQuery {
        text: QueryNode::All,
        types: Some((DATASET.to_owned(), vec![fields.term(ENTITY_TYPE, DATASET)])),
        excluded: ExcludedTerms::of(&filters, &SearchRequest::default())?,
        view: filters.view_of(view)?,
        references: None,
        after: None,
        conditions: Vec::new(),
        budget: budget.clone(),
    };
    let all = ResultCollector {
        order: ResultOrder::Urn { after: None },
        limit: 0,
        facets: Vec::new(),
        facet_values: 0,
    };
    cache.retain_segments_of(searcher);
    let mut coverage = Coverage::default();
    let mut domains: HashMap<String, DescriptionCounts> = HashMap::new();
    for reader in searcher.segment_readers() {
        let documents = all.matches(searcher, reader, cache, &prepared)?.documents;
        let segment = SegmentSearcher::unscored(searcher, reader, cache, budget);
        let counts = SegmentCounts {
            described: described(&segment, cache, fields.term(HAS_DESCRIPTION, "true"))?,
            columns: number_column(reader, COLUMNS)?,
            described_columns: number_column(reader, DESCRIBED_COLUMNS)?,
        };
        documents.for_each(|document| coverage.all += counts.of(document));
        let mut outside = documents;
        add_domains(reader, &mut outside, &counts, &mut domains)?;
        outside.for_each(|document| coverage.without_domain += counts.of(document));
    }
    coverage.domains = domains.into_iter().collect();
    coverage.domains.sort_unstable_by(|one, other| {
        let by_size = other.1.datasets.cmp(&one.1.datasets);
        by_size.then_with(|| one.0.cmp(&other.0))
    });
    coverage.domains.truncate(MAX_DOMAINS);
    Ok(coverage)
}

/// The documents with a description.
fn described(
    segment: &SegmentSearcher<'_>,
    cache: &SegmentCache,
    term: Term,
) -> tantivy::Result<Bits> {
    let bits = cache.document_set(segment.reader, HAS_DESCRIPTION, || {
        segment.set(&DocumentSet::Terms(vec![term]))
    })?;
    Ok(Bits::clone(&bits))
}

fn number_column(reader: &SegmentReader, field: &str) -> tantivy::Result<Option<Column<i64>>> {
    reader.fast_fields().column_opt::<i64>(&column_path(field))
}

/// What a segment records about its documents.
struct SegmentCounts {
    described: Bits,
    columns: Option<Column<i64>>,
    described_columns: Option<Column<i64>>,
}

impl SegmentCounts {
    fn of(&self, document: DocId) -> DescriptionCounts {
        let number = |column: &Option<Column<i64>>| {
            let number = column.as_ref().and_then(|column| column.first(document));
            number.and_then(|it| it.try_into().ok()).unwrap_or_default()
        };
        DescriptionCounts {
            datasets: 1,
            described_datasets: u64::from(self.described.contains(document)),
            columns: number(&self.columns),
            described_columns: number(&self.described_columns),
        }
    }
}

/// Adds documents to the sums of their domains, and leaves those without one.
fn add_domains(
    reader: &SegmentReader,
    documents: &mut Bits,
    counts: &SegmentCounts,
    domains: &mut HashMap<String, DescriptionCounts>,
) -> tantivy::Result<()> {
    let Some(column) = reader.fast_fields().str(&column_path(DOMAINS))? else {
        return Ok(());
    };
    let mut sums = vec![DescriptionCounts::default(); column.num_terms()];
    let mut inside = Bits::empty(documents.len());
    for_each_value_in(&column, documents, |document, domain| {
        sums[domain] += counts.of(document);
        inside.insert(document);
    });
    documents.subtract(&inside);
    let mut name = String::new();
    for (ordinal, sum) in sums.into_iter().enumerate() {
        if sum.datasets > 0 {
            name.clear();
            column.ord_to_str(ordinal as u64, &mut name)?;
            *domains.entry(name.clone()).or_default() += sum;
        }
    }
    Ok(())
}
