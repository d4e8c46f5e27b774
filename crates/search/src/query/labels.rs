//! The tags, terms, domains … that a word stands for, and the terms of the entities that carry them.
//!
//! A label is found by its name, if it is an entity, or by its id, which is all that is known of many a platform or tag.

use std::collections::HashSet;

use tantivy::Term;

use super::{Translator, all_parts, in_order, nearly};
use crate::analysis::{Token, name_words};
use crate::column::text_of;
use crate::error::SearchError;
use crate::label::{LABELS, PLATFORM, fields_of};
use crate::matching::{Segment, Set};
use crate::phrase::parts;
use crate::schema::write_term;
use crate::walk::Walk;

/// How many labels a word may stand for.
const MOST_LABELS: usize = 50;
/// How many platforms are compared with a word that may be a typo.
const MOST_PLATFORMS: usize = 500;

/// What carries the labels of a name.
pub(super) struct Labelled {
    pub(super) terms: Vec<Term>,
    /// How many documents have the most frequent of them.
    pub(super) documents: u64,
}

impl Translator<'_> {
    /// Labels that are called so.
    pub(super) fn labels_named(
        &self,
        word: &str,
        tokens: &[Token],
    ) -> Result<Labelled, SearchError> {
        let mut urns = self.labels_in(&all_parts(self.fields.label, tokens))?;
        urns.extend(ids(word));
        let mut terms = Vec::new();
        let mut documents = 0;
        for term in self.carried(urns) {
            let frequency = self.searcher.doc_freq(&term)?;
            if frequency > 0 {
                documents = documents.max(frequency);
                terms.push(term);
            }
        }
        Ok(Labelled { terms, documents })
    }

    /// Labels in whose names these words stand one behind the other.
    pub(super) fn labels_with_phrase(&self, phrase: &str) -> Result<Vec<Term>, SearchError> {
        let in_order = in_order(self.fields.label, &name_words(phrase));
        let mut urns = self.labels_in(&[in_order])?;
        urns.extend(ids(phrase));
        Ok(self.carried(urns))
    }

    /// Labels that are called something that begins so.
    pub(super) fn labels_that_begin(
        &self,
        word: &str,
        tokens: &[Token],
    ) -> Result<Vec<Term>, SearchError> {
        let begins = self.begins(self.fields.label, tokens)?;
        let mut urns = self.labels_in(begins.as_slice())?;
        for (kind, fields) in LABELS {
            for field in fields {
                let mut start = String::new();
                let lower = word.to_lowercase();
                write_term(&mut start, field, &format!("urn:li:{kind}:{lower}"));
                let value_at = field.len() + 1;
                let place = self.fields.terms;
                let walk = Walk {
                    most: MOST_LABELS,
                    ..self.walk()
                };
                walk.each_term(place, &start, |text| {
                    if urns.len() < MOST_LABELS {
                        urns.insert(text[value_at..].to_owned());
                    }
                })?;
            }
        }
        Ok(self.carried(urns))
    }

    /// Labels whose names differ from the word in no more letters than are forgiven.
    pub(super) fn labels_nearly_named(
        &self,
        tokens: &[Token],
        doubtful: &[(&str, u8)],
    ) -> Result<Vec<Term>, SearchError> {
        let mut urns = self.labels_in(&[nearly(self.fields.label, tokens, doubtful)])?;
        let mut parts = parts(tokens);
        if let (Some(word), None) = (parts.next(), parts.next())
            && let Some((_, typos)) = doubtful.iter().find(|(text, _)| *text == word.text)
        {
            let id_of = format!("urn:li:{PLATFORM}:");
            for field in fields_of(PLATFORM) {
                let mut start = String::new();
                write_term(&mut start, field, &id_of);
                let place = self.fields.terms;
                let walk = Walk {
                    most: MOST_PLATFORMS,
                    ..self.walk()
                };
                walk.each_term(place, &start, |text| {
                    let id = &text[start.len()..];
                    if strsim::damerau_levenshtein(id, &word.text) <= usize::from(*typos) {
                        urns.insert(format!("{id_of}{id}"));
                    }
                })?;
            }
        }
        Ok(self.carried(urns))
    }

    /// The terms of everything that carries one of these labels.
    fn carried(&self, urns: HashSet<String>) -> Vec<Term> {
        let mut terms = Vec::new();
        for urn in &urns {
            let kind = urn.split(':').nth(2).unwrap_or_default();
            for field in fields_of(kind) {
                terms.push(self.fields.term(field, urn));
            }
        }
        self.labels.borrow_mut().extend(urns);
        terms
    }

    /// The URNs of the labels in these sets.
    fn labels_in(&self, sets: &[Set]) -> Result<HashSet<String>, SearchError> {
        let mut urns = HashSet::new();
        for reader in self.searcher.segment_readers() {
            let segment = Segment {
                searcher: self.searcher,
                reader,
                kept: self.kept,
                work: self.work,
                scored: false,
            };
            for set in sets {
                let mut documents = Vec::new();
                segment.set(set)?.each(|document| documents.push(document));
                for document in documents {
                    let is_alive = reader.alive_bitset().is_none_or(|it| it.is_alive(document));
                    if is_alive && urns.len() < MOST_LABELS {
                        urns.extend(text_of(&self.kept.columns(reader)?.urns, document)?);
                    }
                }
            }
        }
        Ok(urns)
    }
}

/// What the URNs of labels would be whose ids are what was typed.
fn ids(typed: &str) -> impl Iterator<Item = String> {
    let lower = typed.to_lowercase();
    let mut written = vec![typed.to_owned()];
    if lower != typed {
        written.push(lower);
    }
    written.into_iter().flat_map(|id| {
        let kinds = LABELS.into_iter();
        kinds.map(move |(kind, _)| format!("urn:li:{kind}:{id}"))
    })
}
