//! Sets of documents by their whole names.

use tantivy::Term;

use crate::matching::Set;
use crate::named::{START_LETTERS, TextRange, start_of, written};
use crate::schema::Fields;

/// Documents with a name, or a last part of one, that is so.
pub(super) fn named(fields: &Fields, name: &str) -> Set {
    let among = start_terms(fields, name);
    if name.chars().count() < START_LETTERS {
        return among;
    }
    let texts = written(name).map(|name| TextRange::one(&name));
    Set::Among(Box::new(among), texts.into())
}

/// Documents with a name, or a last part of one, that begins so.
pub(super) fn begins_name(fields: &Fields, start: &str) -> Set {
    if is_in_terms(start) {
        return Set::Prefix(fields.name_start, start.to_owned());
    }
    let texts = written(start).map(|start| TextRange::beginning_with(&start));
    Set::Among(Box::new(start_terms(fields, start)), texts.into())
}

/// Whether the terms alone tell which names begin so.
pub(super) fn is_in_terms(start: &str) -> bool {
    start.chars().count() <= START_LETTERS
}

fn start_terms(fields: &Fields, name: &str) -> Set {
    let start = Term::from_field_text(fields.name_start, start_of(name));
    Set::Terms(vec![start])
}
