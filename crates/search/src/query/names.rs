//! Sets of documents by whole name.

use tantivy::Term;

use crate::matching::DocumentSet;
use crate::schema::Fields;
use crate::whole_name::{PREFIX_CHARS, TextRange, column_texts, prefix_of};

/// Documents with this name, or with a name that has it as its last part.
pub(super) fn has_name(fields: &Fields, name: &str) -> DocumentSet {
    let candidates = prefix_terms(fields, name);
    if name.chars().count() < PREFIX_CHARS {
        return candidates;
    }
    let texts = column_texts(name).map(|name| TextRange::one(&name));
    DocumentSet::WithName(Box::new(candidates), texts.into())
}

/// Documents with a name, or a last part of one, that has this prefix.
pub(super) fn name_starts_with(fields: &Fields, start: &str) -> DocumentSet {
    if has_prefix_terms(start) {
        return DocumentSet::Prefix(fields.name_start, start.to_owned());
    }
    let texts = column_texts(start).map(|start| TextRange::beginning_with(&start));
    DocumentSet::WithName(Box::new(prefix_terms(fields, start)), texts.into())
}

/// Whether the terms alone identify the names with this prefix.
pub(super) fn has_prefix_terms(start: &str) -> bool {
    start.chars().count() <= PREFIX_CHARS
}

fn prefix_terms(fields: &Fields, name: &str) -> DocumentSet {
    let start = Term::from_field_text(fields.name_start, prefix_of(name));
    DocumentSet::Terms(vec![start])
}
