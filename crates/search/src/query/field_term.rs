//! Translates a term on one field: `tags:pii`.

use docent_model::Registry;
use docent_model::searchable::SearchKind;
use tantivy::query::{BooleanQuery, Query, TermSetQuery};

use super::wildcard::like;
use super::{QueryTranslator, WORD_SCORE, all_parts, in_order, occur_of, with_implied_all};
use crate::analysis::{name_words, text_words};
use crate::error::SearchError;
use crate::field::{TextClass, canonical, class_of_name, is_property, number_text};
use crate::filter::Filters;
use crate::language;
use crate::matching::{DocumentSet, QueryNode};
use crate::pattern;
use crate::request::{Criterion, Operator};
use crate::schema::write_term;

impl QueryTranslator<'_> {
    pub(super) fn field(
        &self,
        field: &str,
        term: &language::Term,
    ) -> Result<QueryNode, SearchError> {
        let filters = Filters {
            searcher: self.searcher,
            fields: self.fields,
            budget: self.budget,
            view: self.view_lookup(),
        };
        let criterion = |operator, values: Vec<String>| Criterion {
            field: field.to_owned(),
            values,
            operator,
            negated: false,
        };
        let name = canonical(field);
        let text_field = match class_of_name(&name) {
            Some(TextClass::Name) => Some(self.fields.name),
            Some(TextClass::Column) => Some(self.fields.column),
            Some(TextClass::Description) => Some(self.fields.description),
            Some(TextClass::Other) | None => None,
        };
        let set = match (text_field, term) {
            (_, language::Term::Group(group)) => {
                let mut parts = Vec::new();
                for clause in &group.clauses {
                    parts.push((occur_of(clause.occur), self.field(field, &clause.term)?));
                }
                return Ok(QueryNode::Group(with_implied_all(parts)));
            }
            // The inner field counts.
            (_, language::Term::Field { field, term }) => return self.field(field, term),
            (_, language::Term::Prefix(prefix)) if prefix.is_empty() => {
                DocumentSet::Query(filters.criterion(&criterion(Operator::Exists, Vec::new()))?)
            }
            (Some(text), language::Term::Word(word)) => {
                let sets = all_parts(text, &name_words(word)).into_iter();
                return Ok(QueryNode::BestOf(
                    sets.map(|set| (set, WORD_SCORE)).collect(),
                ));
            }
            (Some(text), language::Term::Phrase(phrase)) if text == self.fields.description => {
                in_order(text, &text_words(phrase))
            }
            (Some(text), language::Term::Phrase(phrase)) => in_order(text, &name_words(phrase)),
            (Some(text), language::Term::Prefix(prefix)) => {
                let begins = self.with_last_as_prefix(text, &name_words(prefix))?;
                return Ok(begins
                    .map_or_else(QueryNode::nothing, |set| QueryNode::single(set, WORD_SCORE)));
            }
            (None, language::Term::Word(value) | language::Term::Phrase(value)) => {
                DocumentSet::Query(match comparison(term) {
                    Some((operator, bound)) => {
                        filters.criterion(&criterion(operator, vec![bound.to_owned()]))?
                    }
                    None => self.keyword(&filters, &name, value)?,
                })
            }
            (None, language::Term::Prefix(value)) => {
                let start = value.to_lowercase();
                DocumentSet::Query(filters.matching(&name, &[], |value| {
                    matches_value(&name, value, |form| form.starts_with(&start))
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
                DocumentSet::Query(filters.matching(&name, &[], |value| {
                    matches_value(&name, value, |form| pattern::matches(&pattern, form))
                })?)
            }
        };
        Ok(QueryNode::single(set, WORD_SCORE))
    }

    /// Matches a value regardless of case, and a URN also by its last part or by the name of its
    /// entity.
    fn keyword(
        &self,
        filters: &Filters<'_>,
        field: &str,
        value: &str,
    ) -> Result<Box<dyn Query>, SearchError> {
        let lower = value.to_lowercase();
        let number = value.parse::<f64>().ok().filter(|_| is_property(field));
        let number = number.map(number_text);
        let by_value = filters.matching(field, &[], |value| {
            number.as_deref() == Some(value) || matches_value(field, value, |form| form == lower)
        })?;
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

/// Reads the value of `days:>45`. Quotes make it a text.
fn comparison(term: &language::Term) -> Option<(Operator, &str)> {
    let language::Term::Word(value) = term else {
        return None;
    };
    let operators = [
        (">=", Operator::GreaterOrEqual),
        ("<=", Operator::LessOrEqual),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ];
    let mut bounds = operators
        .into_iter()
        .filter_map(|(sign, operator)| Some((operator, value.strip_prefix(sign)?)));
    bounds.find(|(_, bound)| !bound.is_empty())
}

/// Whether the test holds for a lower-case value, for the last part of a URN, or for the key or the
/// value of a map entry such as `team=sales`.
fn matches_value(field: &str, value: &str, test: impl Fn(&str) -> bool) -> bool {
    if test(value) {
        return true;
    }
    if let Some((key, entry)) = value.split_once('=')
        && is_map(field)
    {
        return test(key) || test(entry);
    }
    let last = value.rsplit(':').next().unwrap_or_default();
    value.starts_with("urn:") && test(last)
}

fn is_map(field: &str) -> bool {
    let known = Registry::get().search_field(field);
    known.is_some_and(|known| known.kind == SearchKind::Map)
}
