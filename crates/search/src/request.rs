//! What can be asked of search.

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
