//! What is asked of one field: `tags:pii`.

use docent_model::Registry;
use docent_model::searchable::SearchKind;
use tantivy::query::{BooleanQuery, Query, TermSetQuery};

use super::{Translator, WORD, all_parts, in_order, like, occur_of, with_all_but};
use crate::analysis::{name_words, text_words};
use crate::error::SearchError;
use crate::field::{Class, canonical, class_of_name};
use crate::filter::Filters;
use crate::language;
use crate::matching::{Node, Set};
use crate::pattern;
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
        let text_field = match class_of_name(&name) {
            Some(Class::Name) => Some(self.fields.name),
            Some(Class::Column) => Some(self.fields.column),
            Some(Class::Description) => Some(self.fields.description),
            Some(Class::Other) | None => None,
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
            (Some(text), language::Term::Phrase(phrase)) if text == self.fields.description => {
                in_order(text, &text_words(phrase))
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
                    said_as(&name, value, |said| said.starts_with(&start))
                })?)
            }
            (Some(text), language::Term::Wildcard(pattern)) => {
                if text == self.fields.name {
                    self.names_like(pattern)?
                } else {
                    like(text, pattern)
                }
            }
            (None, language::Term::Wildcard(pattern)) => {
                let pattern = pattern.to_lowercase();
                Set::Query(filters.matching(&name, |value| {
                    said_as(&name, value, |said| pattern::matches(&pattern, said))
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
        let by_value =
            filters.matching(field, |value| said_as(field, value, |said| said == wanted))?;
        let mut start = String::new();
        write_term(&mut start, field, "");
        let labels = self.labels_named(value, &name_words(value))?;
        let labels = labels.terms.into_iter().filter(|term| {
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

/// Whether a value in lower case is one that people may mean: a URN also by its last part, and an entry of a map, such as
/// `team=sales`, also by its key or its value.
fn said_as(field: &str, value: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    if is_meant(value) {
        return true;
    }
    if let Some((key, entry)) = value.split_once('=')
        && is_map(field)
    {
        return is_meant(key) || is_meant(entry);
    }
    let last = value.rsplit(':').next().unwrap_or_default();
    value.starts_with("urn:") && is_meant(last)
}

fn is_map(field: &str) -> bool {
    let known = Registry::get().search_field(field);
    known.is_some_and(|known| known.kind == SearchKind::Map)
}
