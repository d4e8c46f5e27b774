//! Explains why an entity matched: which of its values contain the terms of the query, and where.
//!
//! The index only reports that an entity matched. This module reads the values of the entities on a
//! page again and lists every value that contains a word, prefix, pattern, phrase or `field:value`
//! of the query, columns one by one. It compares words in the form that the analysis gives them.
//!
//! This module must not know the index. Its caller supplies the words that matched a misspelled or
//! incomplete word. To add a kind of query term, add a case to [`collect_term`], and usually a
//! variant of [`Needle`].

mod fragment;

use std::collections::HashSet;
use std::ops::Range;

use crate::FieldMatch;
use crate::analysis::{self, Token, name_words, without_plural};
use crate::field::{TextClass, canonical, class_of_name};
use crate::language::{Occur, Query, Term, is_urn};
use crate::pattern;

/// Enough for every matching column of all but the widest tables.
const MAX_MATCHES: usize = 1000;

/// Returns the values that match, in the given order.
///
/// `values` are pairs of a field and one of its values. `expanded` takes a word of the query, in
/// the form of the analysis, and whether it may be a prefix; it returns the other words that the
/// word matched.
pub(crate) fn explain(
    query: &Query,
    values: &[(&str, &str)],
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
) -> Vec<FieldMatch> {
    let matches = explain_each(query, values, expanded).into_iter();
    matches.map(|(_, matched)| matched).collect()
}

/// [`explain`], each match with the index of its value.
pub(crate) fn explain_each(
    query: &Query,
    values: &[(&str, &str)],
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
) -> Vec<(usize, FieldMatch)> {
    let mut needles = Vec::new();
    collect(query, None, expanded, &mut needles);
    if needles.is_empty() {
        return Vec::new();
    }
    let values = values.iter().enumerate();
    values
        .filter_map(|(at, (field, value))| Some((at, explain_value(&needles, field, value)?)))
        .take(MAX_MATCHES)
        .collect()
}

fn explain_value(needles: &[FieldNeedle<'_>], field: &str, value: &str) -> Option<FieldMatch> {
    let mut needles = needles
        .iter()
        .filter(|needle| needle.is_in(field))
        .peekable();
    needles.peek()?;
    let text = AnalyzedValue::read(value);
    let mut ranges = Vec::new();
    let mut matches = false;
    for FieldNeedle { needle, .. } in needles {
        matches |= needle.find(&text, &mut ranges);
    }
    if !matches {
        return None;
    }
    let ranges = without_overlaps(ranges);
    // A part of a URN would name nothing.
    let (value, ranges) = if is_urn(value) {
        (value.to_owned(), ranges)
    } else {
        fragment::cut(value, ranges)
    };
    Some(FieldMatch {
        field: field.to_owned(),
        value,
        ranges,
        columns: Vec::new(),
    })
}

/// A term of the query to look for in values.
struct FieldNeedle<'a> {
    /// Restricts the search to this field.
    field: Option<&'a str>,
    needle: Needle<'a>,
}

impl FieldNeedle<'_> {
    fn is_in(&self, field: &str) -> bool {
        self.field.is_none_or(|requested| {
            let requested = canonical(requested);
            // All names are searched as one field, and so are all columns and all descriptions.
            let is_same_class = class_of_name(&requested)
                .filter(|class| *class != TextClass::Other)
                .is_some_and(|class| class_of_name(field) == Some(class));
            requested == field || is_same_class
        })
    }
}

enum Needle<'a> {
    /// Any value.
    Anything,
    /// This exact substring.
    Exact(&'a str),
    Word(WordNeedle),
    /// These words in this order.
    Phrase(Vec<HashSet<String>>),
    /// Words in this order, then a word with this prefix.
    Prefix {
        before: Vec<HashSet<String>>,
        start: String,
        /// The whole prefix without separators, to match joined words.
        joined: String,
    },
    /// Folded, with its `*` and `?`.
    Wildcard(String),
}

/// A word as typed, which the analysis may have split.
struct WordNeedle {
    /// Its parts in order, each with the words that it matched.
    parts: Vec<HashSet<String>>,
    /// The joined words of its parts.
    joined: HashSet<String>,
    /// The whole word without separators, to match a sequence of words.
    whole: String,
}

/// Lists the terms of a query, except those of `MustNot` clauses, which never explain a match.
fn collect<'a>(
    query: &'a Query,
    field: Option<&'a str>,
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
    needles: &mut Vec<FieldNeedle<'a>>,
) {
    for (at, clause) in query.clauses.iter().enumerate() {
        if clause.occur != Occur::MustNot {
            // As in the search itself: the last word may be a prefix if the query is nothing but
            // words.
            let unfinished = query.plain.is_some() && at + 1 == query.clauses.len();
            let expanded = |word: &str| expanded(word, unfinished);
            collect_term(&clause.term, field, &expanded, needles);
        }
    }
}

fn collect_term<'a>(
    term: &'a Term,
    field: Option<&'a str>,
    expanded: &dyn Fn(&str) -> Vec<String>,
    needles: &mut Vec<FieldNeedle<'a>>,
) {
    let needle = match term {
        Term::Group(group) => {
            return collect(group, field, &|word, _| expanded(word), needles);
        }
        Term::Field { field, term } => return collect_term(term, Some(field), expanded, needles),
        Term::Word(word) if is_urn(word) => Needle::Exact(word),
        Term::Word(word) => Needle::Word(word_needle(word, expanded)),
        Term::Phrase(phrase) => Needle::Phrase(sequence(&name_words(phrase))),
        Term::Prefix(prefix) if prefix.is_empty() => Needle::Anything,
        Term::Prefix(prefix) => prefix_needle(prefix),
        Term::Wildcard(pattern) => Needle::Wildcard(analysis::fold(pattern)),
    };
    needles.push(FieldNeedle { field, needle });
}

fn word_needle(word: &str, expanded: &dyn Fn(&str) -> Vec<String>) -> WordNeedle {
    let mut parts = Vec::new();
    let mut joined = HashSet::new();
    for token in name_words(word) {
        let mut alternatives: HashSet<String> = expanded(&token.text).into_iter().collect();
        alternatives.insert(token.text);
        if token.joined {
            joined.extend(alternatives);
        } else {
            parts.push(alternatives);
        }
    }
    WordNeedle {
        parts,
        joined,
        whole: letters(word),
    }
}

fn prefix_needle(prefix: &str) -> Needle<'_> {
    let mut words = name_words(prefix);
    words.retain(|word| !word.joined);
    // A prefix is not a plural yet, so the typed text counts and not the word of the analysis.
    let start = words.pop().map(|last| analysis::fold(&prefix[last.range]));
    Needle::Prefix {
        before: sequence(&words),
        start: start.unwrap_or_default(),
        joined: letters(prefix),
    }
}

/// Removes separators and folds the text.
fn letters(text: &str) -> String {
    let mut letters = analysis::fold(text);
    letters.retain(char::is_alphanumeric);
    letters
}

fn sequence(words: &[Token]) -> Vec<HashSet<String>> {
    let single = words.iter().filter(|word| !word.joined);
    single
        .map(|word| HashSet::from([word.text.clone()]))
        .collect()
}

/// A value and its words.
struct AnalyzedValue<'a> {
    value: &'a str,
    /// One per position.
    words: Vec<Token>,
    joined: Vec<Token>,
}

impl<'a> AnalyzedValue<'a> {
    fn read(value: &'a str) -> Self {
        // Every word of prose is also a word of the text read as a name (tested in the analysis).
        let mut all = name_words(value);
        if is_urn(value) {
            let frames = urn_frames(value);
            all.retain(|word| !frames.iter().any(|frame| frame.contains(&word.range.start)));
        }
        let (joined, words) = all.into_iter().partition(|word| word.joined);
        Self {
            value,
            words,
            joined,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Token> {
        self.words.iter().chain(&self.joined)
    }

    /// Whether the condition holds for the word as written. The analysis removes plurals, patterns
    /// do not.
    fn is_as_written(&self, word: &Token, condition: impl Fn(&str) -> bool) -> bool {
        let plural_was_cut =
            self.value[word.range.clone()].ends_with(['s', 'S']) && !word.text.ends_with('s');
        condition(&word.text) || (plural_was_cut && condition(&format!("{}s", word.text)))
    }

    /// Sequences of adjacent words for which `holds` is true.
    fn sequences<'t>(
        &'t self,
        length: usize,
        holds: impl Fn(usize, &Token) -> bool + 't,
    ) -> impl Iterator<Item = &'t [Token]> {
        // `windows` panics on zero.
        self.words.windows(length.max(1)).filter(move |window| {
            length > 0
                && window.iter().enumerate().all(|(index, word)| {
                    word.position == window[0].position + index && holds(index, word)
                })
        })
    }
}

/// The parts `urn:li:tag:` of a URN. They are in every URN, so they never explain a match.
fn urn_frames(urn: &str) -> Vec<Range<usize>> {
    urn.match_indices("urn:li:")
        .map(|(start, opening)| {
            let of_type = start + opening.len();
            let length = urn[of_type..].find(':').map_or(0, |colon| colon + 1);
            start..of_type + length
        })
        .collect()
}

impl Needle<'_> {
    /// Adds its occurrences in the text, and returns whether there are any.
    fn find(&self, text: &AnalyzedValue<'_>, ranges: &mut Vec<Range<usize>>) -> bool {
        let count_before = ranges.len();
        match self {
            Self::Anything => return !text.value.is_empty(),
            Self::Exact(exact) => ranges.extend(
                text.value
                    .match_indices(exact)
                    .map(|(start, found)| start..start + found.len()),
            ),
            Self::Word(word) => word.find(text, ranges),
            Self::Phrase(words) => push_sequences(
                text.sequences(words.len(), |index, word| words[index].contains(&word.text)),
                ranges,
            ),
            Self::Prefix {
                before,
                start,
                joined,
            } => {
                let has_prefix = |word: &Token, start: &str| {
                    text.is_as_written(word, |written| written.starts_with(start))
                };
                push_sequences(
                    text.sequences(before.len() + 1, |index, word| match before.get(index) {
                        Some(alternatives) => alternatives.contains(&word.text),
                        None => has_prefix(word, start),
                    }),
                    ranges,
                );
                let joined_words = text.all().filter(|word| has_prefix(word, joined));
                ranges.extend(joined_words.map(|word| word.range.clone()));
            }
            Self::Wildcard(pattern_text) => {
                let of_words = text.all().filter(|word| {
                    text.is_as_written(word, |written| pattern::matches(pattern_text, written))
                });
                ranges.extend(of_words.map(|word| word.range.clone()));
                // A pattern such as `sales.*.orders` spans words.
                if ranges.len() == count_before
                    && pattern::matches(pattern_text, &analysis::fold(text.value))
                {
                    ranges.push(0..text.value.len());
                }
            }
        }
        ranges.len() > count_before
    }
}

impl WordNeedle {
    fn find(&self, text: &AnalyzedValue<'_>, ranges: &mut Vec<Range<usize>>) {
        let count_before = ranges.len();
        if let [alternatives] = self.parts.as_slice() {
            let same = text.all().filter(|word| alternatives.contains(&word.text));
            ranges.extend(same.map(|word| word.range.clone()));
            if ranges.len() == count_before {
                self.find_divided(text, ranges);
            }
            return;
        }
        push_sequences(
            text.sequences(self.parts.len(), |index, word| {
                self.parts[index].contains(&word.text)
            }),
            ranges,
        );
        let joined_words = text.all().filter(|word| self.joined.contains(&word.text));
        ranges.extend(joined_words.map(|word| word.range.clone()));
        if ranges.len() == count_before {
            // `customer_orders` also matches `orders`. A single character, as in `orders_v2`,
            // explains nothing.
            let of_parts = text.all().filter(|word| {
                let is_single = word.text.len() == 1;
                !is_single && self.parts.iter().any(|part| part.contains(&word.text))
            });
            ranges.extend(of_parts.map(|word| word.range.clone()));
        }
    }
}

impl WordNeedle {
    /// Adds sequences of adjacent words that make up the word: `stgorders` matches `stg.orders`.
    fn find_divided(&self, text: &AnalyzedValue<'_>, ranges: &mut Vec<Range<usize>>) {
        let whole = without_plural(&self.whole);
        for first in 0..text.words.len() {
            let mut made = String::new();
            for (length, word) in text.words[first..].iter().enumerate() {
                let is_adjacent = word.position == text.words[first].position + length;
                if !is_adjacent || !whole.starts_with(&made) {
                    break;
                }
                made.push_str(&letters(&text.value[word.range.clone()]));
                if length > 0 && without_plural(&made) == whole {
                    let words = &text.words[first..=first + length];
                    ranges.extend(words.iter().map(|word| word.range.clone()));
                    break;
                }
            }
        }
    }
}

fn push_sequences<'t>(
    sequences: impl Iterator<Item = &'t [Token]>,
    ranges: &mut Vec<Range<usize>>,
) {
    for words in sequences {
        ranges.extend(words.iter().map(|word| word.range.clone()));
    }
}

/// Sorts the ranges and merges those that overlap.
fn without_overlaps(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|later, earlier| {
        let overlaps = later.start < earlier.end;
        if overlaps {
            earlier.end = earlier.end.max(later.end);
        }
        overlaps
    });
    ranges
}

#[cfg(test)]
mod tests;
