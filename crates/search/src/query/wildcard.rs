//! Translates patterns with `*` and `?`.

use tantivy::schema::Field;

use super::{
    COLUMN_BONUS, DESCRIPTION_BONUS, NAME_BONUS, NAME_PREFIX_BONUS, QueryTranslator, WORD_SCORE,
};
use crate::analysis::fold;
use crate::error::SearchError;
use crate::matching::{DocumentSet, QueryNode};
use crate::pattern;
use crate::schema::{LAST_PART_MARK, WHOLE_NAMES};
use crate::whole_name::column_texts;

impl QueryTranslator<'_> {
    pub(super) fn wildcard(&self, pattern: &str) -> Result<QueryNode, SearchError> {
        let text_fields = [
            (self.fields.name, NAME_PREFIX_BONUS),
            (self.fields.column, COLUMN_BONUS),
            (self.fields.description, DESCRIPTION_BONUS),
        ];
        let alternatives =
            text_fields.map(|(field, bonus)| (like(field, pattern), WORD_SCORE + bonus));
        let mut alternatives = Vec::from(alternatives);
        alternatives.push((self.names_like(pattern)?, WORD_SCORE + NAME_BONUS));
        Ok(QueryNode::BestOf(alternatives))
    }

    /// Documents with a whole name, or a last part of one, that matches the pattern.
    pub(super) fn names_like(&self, pattern: &str) -> Result<DocumentSet, SearchError> {
        let pattern = fold(pattern);
        let is_like = |name: &str| {
            let is_like = pattern::matches(&pattern, name.trim_start_matches(LAST_PART_MARK));
            if is_like {
                self.budget.count_term();
            }
            Ok(is_like)
        };
        let starts = column_texts(before_wildcard(&pattern));
        let like = self.walk().matching_texts(WHOLE_NAMES, &starts, is_like)?;
        Ok(DocumentSet::Query(Box::new(like)))
    }
}

/// Documents with a word that matches the pattern.
pub(super) fn like(field: Field, pattern: &str) -> DocumentSet {
    let pattern = fold(pattern);
    // The index has words without the plural `s`, so `o*s` must match `o*`, too.
    let singular = pattern.strip_suffix('s').map(ToOwned::to_owned);
    DocumentSet::Pattern {
        field,
        start: before_wildcard(&pattern).to_owned(),
        patterns: singular.into_iter().chain([pattern]).collect(),
    }
}

/// The prefix that every match of the pattern has.
fn before_wildcard(pattern: &str) -> &str {
    pattern.split(['*', '?']).next().unwrap_or_default()
}
