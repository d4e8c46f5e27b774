//! Search requests and their limits.
//!
//! [`SearchRequest::check`] enforces the limits for every caller.

use std::sync::Arc;

use crate::error::SearchError;
use crate::field::canonical;
use crate::schema::URN;

/// Joins two fields, and two values, to count or filter pairs.
pub const PAIR_SEPARATOR: char = '␞';

/// The largest page by offset.
pub const MAX_COUNT: usize = 1000;
/// The largest page of a scroll, for clients that read everything.
pub const MAX_SCROLL_COUNT: usize = 10_000;
/// How far pages by offset reach. The index has to rank all results before the page.
pub const MAX_RESULT_WINDOW: usize = 10_000;
pub const MAX_FACET_VALUES: usize = 10_000;
/// Long enough for 64 URNs, as many as a query has clauses.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// Each facet is counted over all results, and each sort field is read for all of them.
const MAX_FACETS: usize = 50;
const MAX_SORTS: usize = 5;
/// Caches hold the names of fields.
const MAX_FIELD_BYTES: usize = 1024;

/// A search. Every text is a valid query.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own, which requests set by name"
)]
pub struct SearchRequest {
    /// Entity types by their names in the registry; empty means [`crate::DEFAULT_TYPES`].
    pub types: Vec<String>,
    /// In the language of [`crate::language`]. Empty and `*` match everything.
    pub query: String,
    pub filter: Filter,
    /// What the caller may see; `None` for everything. Other documents are as if they did not
    /// exist.
    pub view: Option<Arc<Filter>>,
    /// Includes soft-deleted entities.
    pub include_removed: bool,
    /// Includes entities in lifecycle stages that hide them, and documents that are shown with
    /// their assets only.
    pub include_hidden_stages: bool,
    /// Includes versions of assets that are not the latest one.
    pub include_older_versions: bool,
    /// Empty means that the best match comes first.
    pub sort: Vec<Sort>,
    pub page: SearchPage,
    pub facets: Facets,
    /// Whether to report which fields matched, and where.
    pub explain_matches: bool,
}

impl SearchRequest {
    /// Whether entities of every type are searched: no types are given, and the filter names URNs.
    pub fn finds_all_types(&self) -> bool {
        let names_urn = |it: &Criterion| canonical(&it.field) == URN && !it.negated;
        self.types.is_empty() && self.filter.any.iter().flatten().any(names_urn)
    }

    /// Rejects requests that exceed a limit.
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        self.page.check()?;
        let reject = |message: String| Err(SearchError::Invalid(message));
        let bytes = self.query.len();
        if bytes > MAX_QUERY_BYTES {
            return reject(format!(
                "the query has {bytes} bytes: at most {MAX_QUERY_BYTES} are allowed, use fewer words"
            ));
        }
        let facets: &[String] = match &self.facets {
            Facets::Named { fields, .. } => fields,
            Facets::None | Facets::Default { .. } => &[],
        };
        if facets.len() > MAX_FACETS {
            return reject(format!(
                "{} facets are requested: at most {MAX_FACETS} are allowed",
                facets.len()
            ));
        }
        if self.sort.len() > MAX_SORTS {
            return reject(format!(
                "{} sort fields are requested: at most {MAX_SORTS} are allowed",
                self.sort.len()
            ));
        }
        let sorts = self.sort.iter().map(|sort| &sort.field);
        if let Some(long) = facets
            .iter()
            .chain(sorts)
            .find(|field| field.len() > MAX_FIELD_BYTES)
        {
            return reject(format!(
                "no field has a name of {} bytes, starting with '{}'",
                long.len(),
                long.chars().take(50).collect::<String>()
            ));
        }
        Ok(())
    }
}

/// The part of the results to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPage {
    /// By offset.
    Offset { start: usize, count: usize },
    /// In the order of URNs or of `sort`, after the cursor of the previous page. An entity that
    /// exists throughout is returned exactly once, despite concurrent writes.
    Cursor {
        cursor: Option<String>,
        count: usize,
    },
}

impl Default for SearchPage {
    fn default() -> Self {
        Self::Offset {
            start: 0,
            count: 10,
        }
    }
}

impl SearchPage {
    fn check(&self) -> Result<(), SearchError> {
        let (count, limit, advice) = match self {
            Self::Offset { count, .. } => (*count, MAX_COUNT, "start for the next page"),
            Self::Cursor { count, .. } => {
                (*count, MAX_SCROLL_COUNT, "the scroll id for the next page")
            }
        };
        if count > limit {
            return Err(SearchError::Invalid(format!(
                "count is {count}: at most {limit} are allowed, use {advice}"
            )));
        }
        if let Self::Offset { start, count } = self
            && start.saturating_add(*count) > MAX_RESULT_WINDOW
        {
            return Err(SearchError::Invalid(format!(
                "start {start} and count {count} reach beyond the first {MAX_RESULT_WINDOW} results: \
                 use scrollAcrossEntities to read them all"
            )));
        }
        Ok(())
    }
}

/// Alternatives, each a list of conditions that must all hold. An empty filter accepts everything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    pub any: Vec<Vec<Criterion>>,
}

impl Filter {
    pub fn all(criteria: Vec<Criterion>) -> Self {
        Self {
            any: vec![criteria],
        }
    }

    /// Adds a condition to every alternative.
    #[must_use]
    pub fn and(mut self, criterion: Criterion) -> Self {
        if self.any.is_empty() {
            self.any.push(Vec::new());
        }
        if let Some((last, others)) = self.any.split_last_mut() {
            for alternative in others {
                alternative.push(criterion.clone());
            }
            last.push(criterion);
        }
        self
    }
}

/// A condition on a field. Several values are alternatives.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion {
    /// A search field of the registry, with or without `.keyword`, or one of our own, such as `urn`
    /// and `_entityType`.
    pub field: String,
    pub values: Vec<String>,
    pub operator: Operator,
    pub negated: bool,
}

impl Criterion {
    pub fn equal(field: &str, value: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            values: vec![value.into()],
            operator: Operator::Equal,
            negated: false,
        }
    }

    /// The field has a value.
    pub fn exists(field: &str) -> Self {
        Self {
            field: field.to_owned(),
            values: Vec::new(),
            operator: Operator::Exists,
            negated: false,
        }
    }

    /// The field has no value.
    pub fn missing(field: &str) -> Self {
        Self {
            negated: true,
            ..Self::exists(field)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// One of the values, exactly.
    Equal,
    /// One of the values, ignoring case.
    EqualIgnoringCase,
    Contains,
    StartsWith,
    EndsWith,
    /// The field has a value.
    Exists,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// The value or a descendant, for domains, containers and glossary nodes.
    DescendantsIncluded,
    /// The value or an ancestor.
    AncestorsIncluded,
    /// The value, a descendant or an ancestor.
    RelatedIncluded,
    /// A value that begins with one of these, in the same case.
    Prefix,
    /// The value or a descendant, or the entity itself is one of them.
    InTree,
    /// The same, for the entities whose URN begins with the value, in the same case.
    InTreeOfPrefix,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sort {
    pub field: String,
    pub descending: bool,
}

/// Which facets to count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Facets {
    #[default]
    None,
    /// The facets of the search page, with at most this many values each.
    Default { values: usize },
    /// These fields. Two fields joined by `␞` are counted as pairs.
    Named { fields: Vec<String>, values: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(request: &SearchRequest) -> String {
        request.check().unwrap_err().to_string()
    }

    #[test]
    fn pages_over_the_limits_are_rejected_with_advice() {
        let page = |page| SearchRequest {
            page,
            ..SearchRequest::default()
        };
        let from = |start, count| page(SearchPage::Offset { start, count });
        let after = |count| {
            page(SearchPage::Cursor {
                cursor: None,
                count,
            })
        };
        assert!(rejection(&from(0, 1001)).contains("at most 1000"));
        assert!(rejection(&from(9_991, 10)).contains("scrollAcrossEntities"));
        assert!(rejection(&from(usize::MAX, 10)).contains("scrollAcrossEntities"));
        assert!(rejection(&after(10_001)).contains("at most 10000"));
        for fits in [from(9_990, 10), from(0, 0), from(0, 1000), after(10_000)] {
            fits.check().unwrap();
        }
    }

    #[test]
    fn requests_over_the_limits_are_rejected() {
        let long = SearchRequest {
            query: "x".repeat(MAX_QUERY_BYTES + 1),
            ..SearchRequest::default()
        };
        assert!(rejection(&long).contains("fewer words"));
        let facets = |fields| SearchRequest {
            facets: Facets::Named { fields, values: 1 },
            ..SearchRequest::default()
        };
        let many = vec!["platform".to_owned(); MAX_FACETS + 1];
        assert!(rejection(&facets(many)).contains("51 facets"));
        let named = facets(vec!["é".repeat(MAX_FIELD_BYTES)]);
        assert!(rejection(&named).contains("2048 bytes"));
        let by = Sort {
            field: "name".to_owned(),
            descending: false,
        };
        let sorted = SearchRequest {
            sort: vec![by; MAX_SORTS + 1],
            ..SearchRequest::default()
        };
        assert!(rejection(&sorted).contains("6 sort fields"));
    }
}
