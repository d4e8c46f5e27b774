//! Explains why the entities of a page matched.
//!
//! Reads their aspects from the store and compares them with the query. A table may have thousands
//! of columns and a query many words, so this runs on blocking threads, for a few entities at a
//! time and within the limits of a search.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use docent_model::{AspectName, Urn};
use docent_store::{ReadRequest, StoredAspect};

use super::Search;
use crate::analysis;
use crate::budget::{SearchBudget, SearchLimits};
use crate::document::Entity;
use crate::error::SearchError;
use crate::explain::{explain, explain_each};
use crate::feed::blocking;
use crate::language;
use crate::query::allowed_typos;
use crate::read_size::fitting;
use crate::results::{FieldMatch, Hit};

/// The fields of columns and of their descriptions.
const COLUMN_PATHS: &str = "fieldPaths";
const COLUMN_DESCRIPTIONS: [&str; 2] = ["fieldDescriptions", "editedFieldDescriptions"];

/// How many entities to read at once, if they are short.
const ENTITIES_PER_READ: usize = 50;

impl Search {
    /// Adds to each hit the fields that matched.
    pub(super) async fn explain(
        &self,
        query: language::Query,
        labels: HashSet<String>,
        hits: &mut [Hit],
    ) -> Result<(), SearchError> {
        let started = Instant::now();
        let query_and_labels = Arc::new((query, labels));
        let store = &**self.live.store();
        let mut rest = hits;
        while !rest.is_empty() {
            let next = rest.iter().take(ENTITIES_PER_READ);
            let urns: Vec<Urn> = next.map(|hit| hit.urn.clone()).collect();
            // What is read takes memory, so it is not read before there is a permit.
            let permit = self.permit().await?;
            let count = fitting(store, &urns).await?;
            let (hits, others) = rest.split_at_mut(count);
            rest = others;
            let request = ReadRequest::entities(&urns[..count]);
            let entities = store.read(request).await?.entities;
            let query_and_labels = Arc::clone(&query_and_labels);
            let limits = SearchLimits {
                time: self.limits.time.saturating_sub(started.elapsed()),
                ..self.limits
            };
            let matched = blocking(move || {
                let _permit = permit;
                let (budget, (query, labels)) = (SearchBudget::start(limits), &*query_and_labels);
                let matched = entities.iter().map(|rows| {
                    // The budget knows the actual error.
                    let to_search_error =
                        |error| budget.exceeded().unwrap_or(SearchError::Index(error));
                    budget.check().map_err(to_search_error)?;
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
) -> Vec<FieldMatch> {
    let entity = Entity::of_rows(rows);
    let values: Vec<(&str, &str)> = entity
        .texts
        .iter()
        .map(|(field, _, text)| (*field, &**text))
        .collect();
    let words = EntityWords::of(values.iter().map(|(_, text)| *text));
    let expanded = |word: &str, unfinished| words.similar(word, unfinished);
    let mut matched = with_columns(&entity, explain_each(query, &values, &expanded));
    for (field, urn) in entity.labels() {
        if labels.contains(urn) {
            // The name of the label is not among the values, but its id often has the same words.
            let words = EntityWords::of(std::iter::once(urn));
            let expanded = |word: &str, unfinished| words.similar(word, unfinished);
            let in_id = explain(query, &[(field, urn)], &expanded).pop();
            matched.push(in_id.unwrap_or_else(|| FieldMatch {
                field: field.to_owned(),
                value: urn.to_owned(),
                ranges: Vec::new(),
                columns: Vec::new(),
            }));
        }
    }
    matched
}

/// After each description of a column that matched, the column as a match of its own: the text
/// alone does not say what it describes.
fn with_columns(entity: &Entity<'_>, matched: Vec<(usize, FieldMatch)>) -> Vec<FieldMatch> {
    let is_path = |it: &FieldMatch| it.field == COLUMN_PATHS;
    let paths = matched.iter().map(|(_, it)| it).filter(|it| is_path(it));
    let mut named: HashSet<String> = paths.map(|it| it.value.clone()).collect();
    let describes_column = |it: &FieldMatch| COLUMN_DESCRIPTIONS.contains(&it.field.as_str());
    let mut columns = if matched.iter().any(|(_, it)| describes_column(it)) {
        entity.columns_by_description()
    } else {
        HashMap::new()
    };
    let mut all = Vec::with_capacity(matched.len());
    for (at, mut one) in matched {
        let text = entity.texts.get(at).filter(|_| describes_column(&one));
        // Once for each text, which thousands of columns may share.
        let paths = text.and_then(|(_, _, text)| columns.remove(&**text));
        let paths = paths.unwrap_or_default();
        let new = paths.iter().filter(|path| named.insert((*path).clone()));
        let new: Vec<FieldMatch> = new
            .map(|path| FieldMatch {
                field: COLUMN_PATHS.to_owned(),
                value: path.clone(),
                ranges: Vec::new(),
                columns: Vec::new(),
            })
            .collect();
        one.columns = paths;
        all.push(one);
        all.extend(new);
    }
    all
}

/// The words of an entity.
#[derive(Default)]
struct EntityWords {
    single: HashSet<String>,
    /// Words that are joined from several.
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

    /// The words that matched a word of the query: those with this prefix, if it may be incomplete;
    /// otherwise, unless the word itself is there, those within the allowed number of typos. Single
    /// words are preferred to joined ones.
    fn similar(&self, word: &str, unfinished: bool) -> Vec<String> {
        let mut similar: Vec<String> = Vec::new();
        for typed in analysis::name_words(word) {
            let typed = typed.text;
            let all = [&self.single, &self.joined];
            let allowed = usize::from(allowed_typos(&typed));
            let has_prefix = |token: &&String| unfinished && token.starts_with(&typed);
            let is_near = |token: &&String| {
                token.len().abs_diff(typed.len()) <= 2 * allowed
                    && strsim::damerau_levenshtein(token, &typed) <= allowed
            };
            let count_before = similar.len();
            for words in all {
                if similar.len() == count_before {
                    similar.extend(words.iter().filter(has_prefix).cloned());
                }
            }
            if similar.len() > count_before || all.iter().any(|words| words.contains(&typed)) {
                continue;
            }
            for words in all {
                if similar.len() == count_before {
                    similar.extend(words.iter().filter(is_near).cloned());
                }
            }
        }
        similar.sort_unstable();
        similar.dedup();
        similar
    }
}
