//! The fields of the search index. The registry declares them; [`crate::searchable`] reads their
//! values.

/// The type of a search field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchKind {
    /// Full text.
    Text,
    /// An exact value.
    Keyword,
    /// The URN of an entity.
    Urn,
    Boolean,
    /// An integer, or the length of a list.
    Count,
    /// Milliseconds since the epoch.
    DateTime,
    /// A floating-point number.
    Double,
    /// Texts of the form `key=value`.
    Map,
}

/// A field of the search index. Records that annotate the same name share one field, with the
/// combined options.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchField {
    pub name: &'static str,
    pub kind: SearchKind,
    /// Other names of the field. Several fields may share one, such as `_entityName`.
    pub aliases: Vec<&'static str>,
    /// The weight of a match; 1 is the default.
    pub boost: f32,
    /// Whether queries without a field name search it.
    pub query_by_default: bool,
    pub autocomplete: bool,
    /// The label of its facet, if it has one.
    pub filter_label: Option<&'static str>,
    /// The boolean field that tells whether there is any value, such as `hasDescription`. Several
    /// fields may share one.
    pub has_values: Option<&'static str>,
    /// Whether the text is Markdown or HTML.
    pub rich_text: bool,
}
