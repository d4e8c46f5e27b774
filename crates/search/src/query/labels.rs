//! Finds the labels (tags, terms, domains and so on) that a word names, and the entities that have
//! them.
//!
//! A label is found by its name if it is an entity, and by its id: many platforms and tags have
//! nothing else.

use std::collections::HashSet;

use tantivy::Term;

use super::{QueryTranslator, all_parts, fuzzy_parts, in_order};
use crate::analysis::{Token, name_words};
use crate::column::first_text;
use crate::error::SearchError;
use crate::label::{LABELS, PLATFORM, fields_of};
use crate::matching::{DocumentSet, SegmentSearcher};
use crate::phrase::parts;
use crate::schema::write_term;
use crate::walk::DictionaryWalk;

/// How many labels a word may match.
const MAX_LABELS: usize = 50;
/// How many platforms to compare with a misspelled word.
const MAX_PLATFORMS: usize = 500;

/// The terms of documents that have certain labels.
pub(super) struct LabelTerms {
    pub(super) terms: Vec<Term>,
    /// The document frequency of the most common term.
    pub(super) documents: u64,
}

impl QueryTranslator<'_> {
    /// Labels with this name.
    pub(super) fn labels_named(
        &self,
        word: &str,
        tokens: &[Token],
    ) -> Result<LabelTerms, SearchError> {
        let mut urns = self.labels_in(&all_parts(self.fields.label, tokens))?;
        urns.extend(ids(word));
        let mut terms = Vec::new();
        let mut documents = 0;
        for term in self.carried(urns)? {
            let frequency = self.searcher.doc_freq(&term)?;
            if frequency > 0 {
                documents = documents.max(frequency);
                terms.push(term);
            }
        }
        Ok(LabelTerms { terms, documents })
    }

    /// Labels whose names contain the phrase.
    pub(super) fn labels_with_phrase(&self, phrase: &str) -> Result<Vec<Term>, SearchError> {
        let in_order = in_order(self.fields.label, &name_words(phrase));
        let mut urns = self.labels_in(&[in_order])?;
        urns.extend(ids(phrase));
        self.carried(urns)
    }

    /// Labels with a name that has this prefix.
    pub(super) fn labels_with_prefix(
        &self,
        word: &str,
        tokens: &[Token],
    ) -> Result<Vec<Term>, SearchError> {
        let begins = self.with_last_as_prefix(self.fields.label, tokens)?;
        let mut urns = self.labels_in(begins.as_slice())?;
        for (kind, fields) in LABELS {
            for field in fields {
                let mut start = String::new();
                let lower = word.to_lowercase();
                write_term(&mut start, field, &format!("urn:li:{kind}:{lower}"));
                let value_at = field.len() + 1;
                let terms_field = self.fields.terms;
                let walk = DictionaryWalk {
                    limit: MAX_LABELS,
                    ..self.walk()
                };
                walk.each_term(terms_field, &start, |text| {
                    if urns.len() < MAX_LABELS {
                        urns.insert(text[value_at..].to_owned());
                    }
                })?;
            }
        }
        self.carried(urns)
    }

    /// Labels whose names match the word when typos are allowed.
    pub(super) fn labels_with_typos(
        &self,
        tokens: &[Token],
        suspects: &[(&str, u8)],
    ) -> Result<Vec<Term>, SearchError> {
        let mut urns = self.labels_in(&[fuzzy_parts(self.fields.label, tokens, suspects)])?;
        let mut parts = parts(tokens);
        if let (Some(word), None) = (parts.next(), parts.next())
            && let Some((_, typos)) = suspects.iter().find(|(text, _)| *text == word.text)
        {
            let id_of = format!("urn:li:{PLATFORM}:");
            for field in fields_of(PLATFORM) {
                let mut start = String::new();
                write_term(&mut start, field, &id_of);
                let terms_field = self.fields.terms;
                let walk = DictionaryWalk {
                    limit: MAX_PLATFORMS,
                    ..self.walk()
                };
                walk.each_term(terms_field, &start, |text| {
                    let id = &text[start.len()..];
                    if strsim::damerau_levenshtein(id, &word.text) <= usize::from(*typos) {
                        urns.insert(format!("{id_of}{id}"));
                    }
                })?;
            }
        }
        self.carried(urns)
    }

    /// The terms of documents that have one of these labels, without labels that are hidden from
    /// the caller: a label can be found by its id, and not only among the documents.
    fn carried(&self, mut urns: HashSet<String>) -> Result<Vec<Term>, SearchError> {
        if let Some(view) = self.view_lookup() {
            let mut visible = HashSet::with_capacity(urns.len());
            for urn in urns {
                if view.shows(&urn)? {
                    visible.insert(urn);
                }
            }
            urns = visible;
        }
        let mut terms = Vec::new();
        for urn in &urns {
            let kind = urn.split(':').nth(2).unwrap_or_default();
            for field in fields_of(kind) {
                terms.push(self.fields.term(field, urn));
            }
        }
        self.labels.borrow_mut().extend(urns);
        Ok(terms)
    }

    /// The URNs of the labels in these sets.
    fn labels_in(&self, sets: &[DocumentSet]) -> Result<HashSet<String>, SearchError> {
        let mut urns = HashSet::new();
        for reader in self.searcher.segment_readers() {
            let segment = SegmentSearcher::unscored(self.searcher, reader, self.cache, self.budget);
            for set in sets {
                let mut documents = Vec::new();
                let mut labels = segment.set(set)?;
                if let Some(view) = &self.view {
                    let seen = view.documents(&segment)?;
                    labels.intersect_with(&seen);
                }
                labels.for_each(|document| documents.push(document));
                for document in documents {
                    let is_alive = reader.alive_bitset().is_none_or(|it| it.is_alive(document));
                    if is_alive && urns.len() < MAX_LABELS {
                        urns.extend(first_text(&self.cache.columns(reader)?.urns, document)?);
                    }
                }
            }
        }
        Ok(urns)
    }
}

/// URNs of all label types with this id.
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
