//! Why the entities of a page matched.
//!
//! Their aspects are read from the store and compared with the query: a table may have thousands of columns and a query
//! many words, so that is done beside the threads that answer requests, some entities at a time, within the limits of a search.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use docent_model::{AspectName, Urn};
use docent_store::{ReadRequest, StoredAspect};

use super::Search;
use crate::analysis;
use crate::document::Entity;
use crate::error::SearchError;
use crate::explain::explain;
use crate::found::{Hit, Match};
use crate::language;
use crate::query::allowed_typos;
use crate::work::{Limits, Work};

/// So many entities are held at once: one may have megabytes of aspects.
const ENTITIES: usize = 50;

impl Search {
    /// Says of each hit which of its fields matched.
    pub(super) async fn explain(
        &self,
        query: language::Query,
        labels: HashSet<String>,
        hits: &mut [Hit],
    ) -> Result<(), SearchError> {
        let began = Instant::now();
        let wanted = Arc::new((query, labels));
        for hits in hits.chunks_mut(ENTITIES) {
            let urns: Vec<Urn> = hits.iter().map(|hit| hit.urn.clone()).collect();
            let entities = self
                .live
                .store()
                .read(ReadRequest::entities(&urns))
                .await?
                .entities;
            let wanted = Arc::clone(&wanted);
            let limits = Limits {
                time: self.limits.time.saturating_sub(began.elapsed()),
                ..self.limits
            };
            let matched = self.in_turn(move || {
                let (work, (query, labels)) = (Work::begin(limits), &*wanted);
                let matched = entities.iter().map(|rows| {
                    // The error says no more than that it is over.
                    let spent = |error| work.over().unwrap_or(SearchError::Index(error));
                    work.check().map_err(spent)?;
                    Ok(matches_of(rows, query, labels))
                });
                matched.collect::<Result<Vec<_>, SearchError>>()
            });
            for (hit, matched) in hits.iter_mut().zip(matched.await?) {
                hit.matched = matched;
            }
        }
        Ok(())
    }
}

/// The fields of one entity that matched.
fn matches_of(
    rows: &[(AspectName, StoredAspect)],
    query: &language::Query,
    labels: &HashSet<String>,
) -> Vec<Match> {
    let entity = Entity::of_rows(rows);
    let values: Vec<(&str, &str)> = entity
        .texts
        .iter()
        .map(|(field, _, text)| (*field, &**text))
        .collect();
    let words = EntityWords::of(values.iter().map(|(_, text)| *text));
    let expanded = |word: &str, unfinished| words.similar(word, unfinished);
    let mut matched = explain(query, &values, &expanded);
    for (field, urn) in entity.labels() {
        if labels.contains(urn) {
            // Its name is elsewhere, and its id often says the same.
            let words = EntityWords::of(std::iter::once(urn));
            let expanded = |word: &str, unfinished| words.similar(word, unfinished);
            let in_id = explain(query, &[(field, urn)], &expanded).pop();
            matched.push(in_id.unwrap_or_else(|| Match {
                field: field.to_owned(),
                value: urn.to_owned(),
                places: Vec::new(),
            }));
        }
    }
    matched
}

/// The words of an entity.
#[derive(Default)]
struct EntityWords {
    single: HashSet<String>,
    /// Those that are made of several.
    joined: HashSet<String>,
}

impl EntityWords {
    fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut words = Self::default();
        for token in texts.flat_map(analysis::name_words) {
            if token.joined {
                words.joined.insert(token.text);
            } else {
                words.single.insert(token.text);
            }
        }
        words
    }

    /// Those that were found for a word that was typed: those that begin with it, if it may go on, or else, if none is
    /// the word itself, those that differ in as many letters as are forgiven. A part says it better than what it is a part of.
    fn similar(&self, word: &str, unfinished: bool) -> Vec<String> {
        let mut similar: Vec<String> = Vec::new();
        for typed in analysis::name_words(word) {
            let typed = typed.text;
            let all = [&self.single, &self.joined];
            let allowed = usize::from(allowed_typos(&typed));
            let begins = |token: &&String| unfinished && token.starts_with(&typed);
            let is_near = |token: &&String| {
                token.len().abs_diff(typed.len()) <= 2 * allowed
                    && strsim::damerau_levenshtein(token, &typed) <= allowed
            };
            let found_before = similar.len();
            for words in all {
                if similar.len() == found_before {
                    similar.extend(words.iter().filter(begins).cloned());
                }
            }
            if similar.len() > found_before || all.iter().any(|words| words.contains(&typed)) {
                continue;
            }
            for words in all {
                if similar.len() == found_before {
                    similar.extend(words.iter().filter(is_near).cloned());
                }
            }
        }
        similar.sort_unstable();
        similar.dedup();
        similar
    }
}
