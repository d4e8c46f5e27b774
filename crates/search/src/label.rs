//! Labels: entities that are put on others, and by whose names these are found.
//!
//! The names of labels have a field of their own in the index, so that looking one up, begun or mistyped, does not go
//! through the names of everything. This module must not know how a query is made. To add one more kind of label, add a line to
//! [`LABELS`] and raise the format.

/// Kinds of labels, and the fields by which entities point at them.
pub(crate) const LABELS: [(&str, &[&str]); 7] = [
    ("domain", &["domains"]),
    ("tag", &["tags", "fieldTags", "editedFieldTags"]),
    (
        "glossaryTerm",
        &[
            "glossaryTerms",
            "fieldGlossaryTerms",
            "editedFieldGlossaryTerms",
        ],
    ),
    ("corpuser", &["owners"]),
    ("corpGroup", &["owners"]),
    (PLATFORM, &["platform"]),
    ("dataProduct", &["dataProduct"]),
];

/// Platforms are hardly ever described: most are known only by the entities that have them.
pub(crate) const PLATFORM: &str = "dataPlatform";

/// The fields that point at entities of a kind; none if they are no labels.
pub(crate) fn fields_of(kind: &str) -> &'static [&'static str] {
    LABELS
        .iter()
        .find(|(label, _)| *label == kind)
        .map_or(&[], |(_, fields)| fields)
}
