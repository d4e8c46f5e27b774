//! The documents that a caller may see.
//!
//! What a caller may not see is missing for conditions and queries, too: a value that refers to a
//! hidden entity matches nothing ([`ViewLookup`]). Otherwise, filtering by a hidden domain would
//! tell who its members are.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use docent_model::Urn;
use tantivy::index::SegmentId;
use tantivy::query::Query;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher, TERMINATED, Term};

use crate::bits::Bits;
use crate::budget::SearchBudget;
use crate::field::{BROWSE_PATH_SEPARATOR, ENTITY_TYPE, canonical};
use crate::matching::{DocumentSet, SegmentSearcher};
use crate::request::{Criterion, Filter, Operator};
use crate::schema::{Fields, URN};
use crate::segment_cache::SegmentCache;

/// The entity type of columns, which are seen with their datasets.
const COLUMN: &str = "schemaField";

/// What a caller may see, for one search. The labels of the query and the results need the same
/// documents, so they are found once.
pub(crate) struct View {
    filter: Arc<Filter>,
    set: DocumentSet,
    /// The documents of each segment, once they were needed.
    seen: RefCell<HashMap<SegmentId, Rc<Bits>>>,
}

impl View {
    /// What passes the filter: the documents of the query.
    pub(crate) fn new(filter: Arc<Filter>, query: Box<dyn Query>) -> Self {
        Self {
            filter,
            set: DocumentSet::Query(query),
            seen: RefCell::default(),
        }
    }

    /// The documents of a segment.
    pub(crate) fn documents(&self, segment: &SegmentSearcher<'_>) -> tantivy::Result<Rc<Bits>> {
        let id = segment.reader.segment_id();
        if let Some(seen) = self.seen.borrow().get(&id) {
            return Ok(Rc::clone(seen));
        }
        let seen = Rc::new(segment.set(&self.set)?);
        self.seen.borrow_mut().insert(id, Rc::clone(&seen));
        Ok(seen)
    }
}

/// Decides which references a caller may use in conditions and queries.
#[derive(Clone)]
pub(crate) struct ViewLookup<'s> {
    pub(crate) view: Rc<View>,
    pub(crate) searcher: &'s Searcher,
    pub(crate) fields: &'s Fields,
    pub(crate) cache: &'s SegmentCache,
    pub(crate) budget: &'s SearchBudget,
}

impl ViewLookup<'_> {
    /// Whether the caller may see everything that a value refers to. Values that are not URNs, and
    /// not paths with URNs, refer to nothing.
    pub(crate) fn shows(&self, value: &str) -> tantivy::Result<bool> {
        for step in value.split(BROWSE_PATH_SEPARATOR) {
            if let Ok(urn) = Urn::parse(step)
                && !self.shows_entity(&urn)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn shows_entity(&self, urn: &Urn) -> tantivy::Result<bool> {
        self.budget.step()?;
        let parts = urn.key_parts();
        let dataset = parts.first().filter(|_| urn.entity_type() == COLUMN);
        let dataset = dataset.and_then(|text| Urn::parse(text).ok());
        let urn = dataset.as_ref().unwrap_or(urn);
        // Most references are to vocabulary that everyone sees.
        let is_certain = |criterion: &Criterion| by_urn(criterion, urn) == Some(!criterion.negated);
        if self.any_alternative(is_certain) {
            return Ok(true);
        }
        let term = self.fields.urn_term(urn.as_str());
        let seen = self.is_seen(&term)?;
        // What is referred to need not be stored.
        let holds_if_missing = |criterion: &Criterion| {
            let holds = by_urn(criterion, urn).unwrap_or_else(|| is_in_tree(criterion, urn));
            holds != criterion.negated
        };
        Ok(seen.unwrap_or_else(|| self.any_alternative(holds_if_missing)))
    }

    fn any_alternative(&self, holds: impl Fn(&Criterion) -> bool) -> bool {
        let mut alternatives = self.view.filter.any.iter();
        alternatives.any(|criteria| criteria.iter().all(&holds))
    }

    /// Whether the document with this URN is in the view; `None` if there is no document.
    fn is_seen(&self, urn: &Term) -> tantivy::Result<Option<bool>> {
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(urn.field())?;
            let Some(mut postings) = index.read_postings(urn, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut document = postings.doc();
            while document != TERMINATED {
                if reader.alive_bitset().is_none_or(|it| it.is_alive(document)) {
                    let segment =
                        SegmentSearcher::unscored(self.searcher, reader, self.cache, self.budget);
                    return Ok(Some(self.view.documents(&segment)?.contains(document)));
                }
                document = postings.advance();
            }
        }
        Ok(None)
    }
}

/// Whether the values of a condition match an entity, as far as its URN tells; `None` if that
/// depends on the entity's data.
fn by_urn(criterion: &Criterion, urn: &Urn) -> Option<bool> {
    let field = canonical(&criterion.field);
    let value = match field.as_str() {
        URN => urn.as_str(),
        ENTITY_TYPE => urn.entity_type(),
        _ => return None,
    };
    let mut values = criterion.values.iter();
    match criterion.operator {
        Operator::Equal => Some(values.any(|it| it == value)),
        Operator::Prefix => Some(values.any(|it| value.starts_with(it.as_str()))),
        Operator::Exists => Some(true),
        _ => None,
    }
}

/// Whether a condition on a tree matches an entity that is not stored, and so is nowhere in a tree
/// but where the condition names it.
fn is_in_tree(criterion: &Criterion, urn: &Urn) -> bool {
    let mut values = criterion.values.iter();
    match criterion.operator {
        Operator::InTree => values.any(|it| it == urn.as_str()),
        Operator::InTreeOfPrefix => values.any(|it| urn.as_str().starts_with(it.as_str())),
        _ => false,
    }
}
