//! What is asked of one field: `tags:pii`.

use tantivy::query::{BooleanQuery, Query, TermSetQuery};

use super::{Translator, WORD, all_parts, in_order, occur_of, with_all_but};
use crate::analysis::name_words;
use crate::error::SearchError;
use crate::explain::pattern;
use crate::filter::{FIELD_PATHS, Filters, canonical};
use crate::language;
use crate::matching::{Node, Set};
use crate::request::{Criterion, Operator};
use crate::schema::write_term;

impl Translator<'_> {
    pub(super) fn field(&self, field: &str, term: &language::Term) -> Result<Node, SearchError> {
        let filters = Filters {
            searcher: self.searcher,
            fields: self.fields,
            work: self.work,
        };
        let criterion = |operator, values: Vec<String>| Criterion {
            field: field.to_owned(),
            values,
            operator,
            negated: false,
        };
        let name = canonical(field);
        let text_field = match name.as_str() {
            "name" | "displayName" | "title" => Some(self.fields.name),
            FIELD_PATHS => Some(self.fields.column),
            "description"
            | "editedDescription"
            | "fieldDescriptions"
            | "editedFieldDescriptions" => Some(self.fields.description),
            _ => None,
        };
        let set = match (text_field, term) {
            (_, language::Term::Group(group)) => {
                let mut parts = Vec::new();
                for clause in &group.clauses {
                    parts.push((occur_of(clause.occur), self.field(field, &clause.term)?));
                }
                return Ok(Node::Group(with_all_but(parts)));
            }
            // The inner one is meant.
            (_, language::Term::Field { field, term }) => return self.field(field, term),
            (_, language::Term::Prefix(prefix)) if prefix.is_empty() => {
                Set::Query(filters.criterion(&criterion(Operator::Exists, Vec::new()))?)
            }
            (Some(text), language::Term::Word(word)) => {
                let sets = all_parts(text, &name_words(word)).into_iter();
                return Ok(Node::Best(sets.map(|set| (set, WORD)).collect()));
            }
            (Some(text), language::Term::Phrase(phrase)) => in_order(text, &name_words(phrase)),
            (Some(text), language::Term::Prefix(prefix)) => {
                let begins = self.begins(text, &name_words(prefix))?;
                return Ok(begins.map_or_else(Node::nothing, |set| Node::one(set, WORD)));
            }
            (None, language::Term::Word(value) | language::Term::Phrase(value)) => {
                Set::Query(self.keyword(&filters, &name, value)?)
            }
            (None, language::Term::Prefix(value)) => {
                let start = value.to_lowercase();
                Set::Query(filters.matching(&name, |value| {
                    said_as(value, |said| said.starts_with(&start))
                })?)
            }
            (Some(text), language::Term::Wildcard(pattern)) => {
                let place = if text == self.fields.name {
                    self.fields.whole_name
                } else {
                    text
                };
                let sets = self.like(place, pattern).into_iter();
                return Ok(Node::Best(sets.map(|set| (set, WORD)).collect()));
            }
            (None, language::Term::Wildcard(pattern)) => {
                let pattern = pattern.to_lowercase();
                Set::Query(filters.matching(&name, |value| {
                    said_as(value, |said| pattern::matches(&pattern, said))
                })?)
            }
        };
        Ok(Node::one(set, WORD))
    }

    /// A value as people say it: whatever its case, a URN by its last part or by its entity's name.
    fn keyword(
        &self,
        filters: &Filters<'_>,
        field: &str,
        value: &str,
    ) -> Result<Box<dyn Query>, SearchError> {
        let wanted = value.to_lowercase();
        let by_value = filters.matching(field, |value| said_as(value, |said| said == wanted))?;
        let mut start = String::new();
        write_term(&mut start, field, "");
        let labels = self.labels(value)?.into_iter().filter(|term| {
            term.value()
                .as_str()
                .is_some_and(|text| text.starts_with(&start))
        });
        Ok(Box::new(BooleanQuery::union(vec![
            by_value,
            Box::new(TermSetQuery::new(labels)),
        ])))
    }
}

/// Whether a value is one that people may mean: in lower case, and a URN also by its last part.
fn said_as(value: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let value = value.to_lowercase();
    let last = value.rsplit(':').next().unwrap_or_default();
    is_meant(&value) || (value.starts_with("urn:") && is_meant(last))
}
