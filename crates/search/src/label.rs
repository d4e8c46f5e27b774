//! Labels: entities that are attached to others, and by whose names these are found.
//!
//! The names of labels have a field of their own in the index, so that looking up a prefix or a
//! misspelled word does not go through all names. This module must not know how queries are made.
//! To add a kind of label, add a line to [`LABELS`] and raise the index format.

/// Entity types of labels, and the fields that refer to them.
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

/// Most platforms are not entities of their own; only the entities on them refer to their URNs.
pub(crate) const PLATFORM: &str = "dataPlatform";

/// The fields that refer to entities of a type; none if they are not labels.
pub(crate) fn fields_of(kind: &str) -> &'static [&'static str] {
    LABELS
        .iter()
        .find(|(label, _)| *label == kind)
        .map_or(&[], |(_, fields)| fields)
}
