//! Search results.

use docent_model::Urn;

/// A page of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchResults {
    /// The exact number of matching entities.
    pub total: usize,
    pub hits: Vec<Hit>,
    pub facets: Vec<Facet>,
    /// The cursor of the next page, for [`crate::SearchPage::Cursor`]; `None` after the last page.
    pub next: Option<String>,
}

/// A matching entity.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub urn: Urn,
    pub score: f32,
    /// Every field that matched, columns one by one.
    pub matched: Vec<FieldMatch>,
}

/// A field that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMatch {
    /// The search field of the registry, such as `name`, `fieldPaths` or `editedDescription`.
    pub field: String,
    /// The stored value; for a long text, the part around the first match.
    pub value: String,
    /// Byte ranges of the matching words in `value`.
    pub ranges: Vec<std::ops::Range<usize>>,
    /// The field paths of the columns that the value describes.
    pub columns: Vec<String>,
}

/// The values of a field among all results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facet {
    pub field: String,
    /// For display: "Platform", "Owned By".
    pub label: String,
    /// Most frequent first.
    pub values: Vec<FacetValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetValue {
    pub value: String,
    pub count: u64,
}

/// Names with a prefix.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completions {
    pub suggestions: Vec<String>,
    pub entities: Vec<Urn>,
}
