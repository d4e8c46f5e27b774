//! What search answers.

use docent_model::Urn;

/// A page of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// How many entities match, exactly.
    pub total: usize,
    pub hits: Vec<Hit>,
    pub facets: Vec<Facet>,
    /// Where the next page begins; `None` after the last. Only for [`crate::Page::After`].
    pub next: Option<String>,
}

/// One entity that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub urn: Urn,
    pub score: f32,
    /// Every field that matched, columns one by one.
    pub matched: Vec<Match>,
}

/// A field that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The search field of the registry, such as `name`, `fieldPaths` or `editedDescription`.
    pub field: String,
    /// The value as it is stored; of a long text the part around the first match.
    pub value: String,
    /// Where the matching words stand in `value`, in bytes.
    pub places: Vec<std::ops::Range<usize>>,
}

/// The values of a field among all results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facet {
    pub field: String,
    /// For people: "Platform", "Owned By".
    pub label: String,
    /// Most frequent first.
    pub values: Vec<FacetValue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetValue {
    pub value: String,
    pub count: u64,
}

/// Names that begin with what was typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completions {
    pub suggestions: Vec<String>,
    pub entities: Vec<Urn>,
}
