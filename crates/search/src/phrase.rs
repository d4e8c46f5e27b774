//! Builds tantivy queries for a term, and for words in order.

use tantivy::Term;
use tantivy::query::{PhraseQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use crate::analysis::Token;

/// Only this many parts of a longer word or phrase are searched.
const MAX_PARTS: usize = 64;

pub(crate) fn term_query(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// The smallest parts of a word, or the words of a phrase, up to the limit.
pub(crate) fn parts(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    let parts = tokens.iter().filter(|token| !token.joined);
    parts.take(MAX_PARTS)
}

/// Matches all parts in order; `None` if there are no parts.
pub(crate) fn phrase_query(field: Field, tokens: &[Token]) -> Option<Box<dyn Query>> {
    let mut terms: Vec<(usize, Term)> = parts(tokens)
        .map(|token| (token.position, Term::from_field_text(field, &token.text)))
        .collect();
    Some(match terms.len() {
        0 | 1 => term_query(terms.pop()?.1),
        _ => Box::new(PhraseQuery::new_with_offset(terms)),
    })
}
