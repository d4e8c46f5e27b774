//! What can be asked of search, and how much at once.
//!
//! The limits stand here for every caller; [`Request::check`] holds requests to them.

use crate::error::SearchError;

/// Between two names of a field, and between two values: a pair that is filtered by or counted as one.
pub const PAIR: char = '␞';

/// The largest page by number.
pub const MAX_COUNT: usize = 1000;
/// The largest page of a scroll: what clients that read everything ask for.
pub const MAX_SCROLL_COUNT: usize = 10_000;
/// How deep a page by number may lie: the index has to look at all results before it.
pub const MAX_DEPTH: usize = 10_000;
/// The most values that a facet lists.
pub const MAX_FACET_VALUES: usize = 10_000;
/// A longer text was not typed by a person; all 64 clauses of a query fit in as URNs.
pub const MAX_QUERY_BYTES: usize = 16 * 1024;
/// Each facet is counted over all results, and each field to sort by is read of them.
const MAX_FACETS: usize = 50;
const MAX_SORTS: usize = 5;
/// Names of fields are remembered.
const MAX_FIELD_BYTES: usize = 1024;

/// A search. Everything that a person can type is a valid query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Entity types by their names in the registry; none means those that people look for ([`crate::DEFAULT_TYPES`]).
    pub types: Vec<String>,
    /// In the language of [`crate::language`]. Empty and `*` match everything.
    pub query: String,
    pub filter: Filter,
    /// Also entities whose status says that they are removed.
    pub include_removed: bool,
    /// Without a field to sort by, the best match comes first.
    pub sort: Vec<Sort>,
    pub page: Page,
    pub facets: Facets,
    /// Say which fields matched, and where.
    pub explain_matches: bool,
}

impl Request {
    /// Refuses what is more than a search may ask for.
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        self.page.check()?;
        let refuse = |message: String| Err(SearchError::Invalid(message));
        let bytes = self.query.len();
        if bytes > MAX_QUERY_BYTES {
            return refuse(format!(
                "the text to search for has {bytes} bytes: at most {MAX_QUERY_BYTES} are read, send fewer words"
            ));
        }
        let facets: &[String] = match &self.facets {
            Facets::Named { fields, .. } => fields,
            Facets::None | Facets::Usual { .. } => &[],
        };
        if facets.len() > MAX_FACETS {
            return refuse(format!(
                "{} facets are asked for: at most {MAX_FACETS} are counted at once",
                facets.len()
            ));
        }
        if self.sort.len() > MAX_SORTS {
            return refuse(format!(
                "the results are to be sorted by {} fields: at most {MAX_SORTS} are compared",
                self.sort.len()
            ));
        }
        let sorts = self.sort.iter().map(|sort| &sort.field);
        if let Some(long) = facets
            .iter()
            .chain(sorts)
            .find(|field| field.len() > MAX_FIELD_BYTES)
        {
            return refuse(format!(
                "no field has a name of {} bytes: it begins with '{}'",
                long.len(),
                long.chars().take(50).collect::<String>()
            ));
        }
        Ok(())
    }
}

/// Which part of the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Page {
    /// By number.
    From { start: usize, count: usize },
    /// In the order of URNs, behind the mark that the page before gave: every entity that is there throughout
    /// comes exactly once, whatever is written meanwhile.
    After { mark: Option<String>, count: usize },
}

impl Default for Page {
    fn default() -> Self {
        Self::From {
            start: 0,
            count: 10,
        }
    }
}

impl Page {
    fn check(&self) -> Result<(), SearchError> {
        let (count, most, more) = match self {
            Self::From { count, .. } => (*count, MAX_COUNT, "start for the next page"),
            Self::After { count, .. } => {
                (*count, MAX_SCROLL_COUNT, "the scroll id for the next page")
            }
        };
        if count > most {
            return Err(SearchError::Invalid(format!(
                "count is {count}: at most {most} are given at once, use {more}"
            )));
        }
        if let Self::From { start, count } = self
            && start.saturating_add(*count) > MAX_DEPTH
        {
            return Err(SearchError::Invalid(format!(
                "start {start} and count {count} reach behind the first {MAX_DEPTH} results: \
                 use scrollAcrossEntities to read them all"
            )));
        }
        Ok(())
    }
}

/// Alternatives, each a list of conditions that must all hold. No alternative at all means no condition.
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

    /// Adds a condition that must hold in any case.
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
    /// A search field of the registry, with or without `.keyword`, or one of our own: `urn`, `_entityType`, ….
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// One of the values, exactly.
    Equal,
    /// One of the values, whatever the case of its letters.
    EqualIgnoringCase,
    Contains,
    StartsWith,
    EndsWith,
    /// The field has any value.
    Exists,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// The value or something below it: domains and containers.
    DescendantsIncluded,
    /// The value or something above it.
    AncestorsIncluded,
    /// The value, something below it or something above it.
    RelatedIncluded,
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
    /// Those that a person narrows a search by, at most so many values each.
    Usual { values: usize },
    /// These fields; a name may be two joined by `␞` to count pairs.
    Named { fields: Vec<String>, values: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(request: &Request) -> String {
        request.check().unwrap_err().to_string()
    }

    #[test]
    fn pages_that_are_too_large_or_too_deep_are_refused_with_what_to_do() {
        let page = |page| Request {
            page,
            ..Request::default()
        };
        let from = |start, count| page(Page::From { start, count });
        let after = |count| page(Page::After { mark: None, count });
        assert!(refused(&from(0, 1001)).contains("at most 1000"));
        assert!(refused(&from(9_991, 10)).contains("scrollAcrossEntities"));
        assert!(refused(&from(usize::MAX, 10)).contains("scrollAcrossEntities"));
        assert!(refused(&after(10_001)).contains("at most 10000"));
        for fits in [from(9_990, 10), from(0, 0), from(0, 1000), after(10_000)] {
            fits.check().unwrap();
        }
    }

    #[test]
    fn more_than_anybody_types_counts_or_sorts_by_is_refused() {
        let long = Request {
            query: "x".repeat(MAX_QUERY_BYTES + 1),
            ..Request::default()
        };
        assert!(refused(&long).contains("fewer words"));
        let facets = |fields| Request {
            facets: Facets::Named { fields, values: 1 },
            ..Request::default()
        };
        let many = vec!["platform".to_owned(); MAX_FACETS + 1];
        assert!(refused(&facets(many)).contains("51 facets"));
        let named = facets(vec!["é".repeat(MAX_FIELD_BYTES)]);
        assert!(refused(&named).contains("2048 bytes"));
        let by = Sort {
            field: "name".to_owned(),
            descending: false,
        };
        let sorted = Request {
            sort: vec![by; MAX_SORTS + 1],
            ..Request::default()
        };
        assert!(refused(&sorted).contains("6 fields"));
    }
}
