//! How much of the datasets is described, in all and by domain.
//!
//! The index has two numbers for each dataset, how many columns it has and how many of them are described; here they are
//! added up, for all that are not removed. A million datasets take some tens of milliseconds.

use std::collections::HashMap;
use std::ops::AddAssign;

use tantivy::columnar::Column;
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::bits::Bits;
use crate::collect::{Gather, Order, Question};
use crate::column::each_value_of;
use crate::document::{COLUMNS, DESCRIBED_COLUMNS};
use crate::error::SearchError;
use crate::field::{ENTITY_TYPE, HAS_DESCRIPTION, REMOVED};
use crate::kept::Kept;
use crate::matching::{Node, Segment, Set};
use crate::schema::{Fields, column_path};
use crate::work::Work;

const DATASET: &str = "dataset";
const DOMAINS: &str = "domains";
/// How many domains are told apart: the largest.
const MOST_DOMAINS: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    pub all: Described,
    /// The datasets that stand directly in each domain, by the domain's URN; the domain with most datasets first.
    pub domains: Vec<(String, Described)>,
}

/// How many there are, and how many of them are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Described {
    pub datasets: u64,
    pub described_datasets: u64,
    pub columns: u64,
    pub described_columns: u64,
}

impl AddAssign for Described {
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
    kept: &Kept,
    work: &Work,
) -> Result<Coverage, SearchError> {
    let question = Question {
        text: Node::All,
        types: Some((DATASET.to_owned(), vec![fields.term(ENTITY_TYPE, DATASET)])),
        without: Some(fields.term(REMOVED, "true")),
        conditions: Vec::new(),
        work: work.clone(),
    };
    let all = Gather {
        order: Order::Urn { after: None },
        keep: 0,
        facets: Vec::new(),
        most_values: 0,
    };
    kept.forget_others(searcher);
    let mut coverage = Coverage::default();
    let mut domains: HashMap<String, Described> = HashMap::new();
    for reader in searcher.segment_readers() {
        let documents = all.matches(searcher, reader, kept, &question)?.documents;
        let segment = Segment {
            searcher,
            reader,
            kept,
            work,
            scored: false,
        };
        let numbers = Numbers {
            described: described(&segment, kept, fields.term(HAS_DESCRIPTION, "true"))?,
            columns: number_column(reader, COLUMNS)?,
            described_columns: number_column(reader, DESCRIBED_COLUMNS)?,
        };
        documents.each(|document| coverage.all += numbers.of(document));
        add_domains(reader, &documents, &numbers, &mut domains)?;
    }
    coverage.domains = domains.into_iter().collect();
    coverage.domains.sort_unstable_by(|one, other| {
        let by_size = other.1.datasets.cmp(&one.1.datasets);
        by_size.then_with(|| one.0.cmp(&other.0))
    });
    coverage.domains.truncate(MOST_DOMAINS);
    Ok(coverage)
}

/// The documents that have a description.
fn described(segment: &Segment<'_>, kept: &Kept, term: Term) -> tantivy::Result<Bits> {
    let bits = kept.set(segment.reader, HAS_DESCRIPTION, || {
        segment.set(&Set::Terms(vec![term]))
    })?;
    Ok(Bits::clone(&bits))
}

fn number_column(reader: &SegmentReader, field: &str) -> tantivy::Result<Option<Column<i64>>> {
    reader.fast_fields().column_opt::<i64>(&column_path(field))
}

/// What a segment knows about its documents.
struct Numbers {
    described: Bits,
    columns: Option<Column<i64>>,
    described_columns: Option<Column<i64>>,
}

impl Numbers {
    fn of(&self, document: DocId) -> Described {
        let number = |column: &Option<Column<i64>>| {
            let number = column.as_ref().and_then(|column| column.first(document));
            number.unwrap_or_default() as u64
        };
        Described {
            datasets: 1,
            described_datasets: u64::from(self.described.contains(document)),
            columns: number(&self.columns),
            described_columns: number(&self.described_columns),
        }
    }
}

fn add_domains(
    reader: &SegmentReader,
    documents: &Bits,
    numbers: &Numbers,
    domains: &mut HashMap<String, Described>,
) -> tantivy::Result<()> {
    let Some(column) = reader.fast_fields().str(&column_path(DOMAINS))? else {
        return Ok(());
    };
    let mut sums = vec![Described::default(); column.num_terms()];
    each_value_of(&column, documents, |document, domain| {
        sums[domain] += numbers.of(document);
    });
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
