//! Why an entity matched: which of its values contain what was asked for, and where.
//!
//! The index only says that an entity matched. Its values are read again here, for the few entities of a page, and every
//! one that contains a word, a prefix, a pattern, a phrase or a `field:value` of the query is named, each column by itself.
//! Words are compared as the analysis writes them. This module must not know the index; what stood for a mistyped or half-typed
//! word, its caller tells. A new kind of query term is a case in [`collect`], and usually a variant of [`Needle`].

mod fragment;

use std::collections::HashSet;
use std::ops::Range;

use crate::Match;
use crate::analysis::{self, Token, name_words, without_plural};
use crate::field::{Class, canonical, class_of_name};
use crate::language::{Occur, Query, Term, is_urn};
use crate::pattern;

/// Every column that matches is named, but for those of tables that nobody reads.
const MOST_MATCHES: usize = 1000;

/// The values that match, in the order given.
///
/// `values` are pairs of a field's name and one of its values. `expanded` gives, for a word of the query as the analysis
/// writes it, and whether it may go on, the words of the index that stood for it besides itself.
pub(crate) fn explain(
    query: &Query,
    values: &[(&str, &str)],
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
) -> Vec<Match> {
    let mut wanted = Vec::new();
    collect(query, None, expanded, &mut wanted);
    if wanted.is_empty() {
        return Vec::new();
    }
    values
        .iter()
        .filter_map(|(field, value)| explain_value(&wanted, field, value))
        .take(MOST_MATCHES)
        .collect()
}

fn explain_value(wanted: &[Wanted<'_>], field: &str, value: &str) -> Option<Match> {
    let mut wanted = wanted
        .iter()
        .filter(|wanted| wanted.is_in(field))
        .peekable();
    wanted.peek()?;
    let text = Text::read(value);
    let mut places = Vec::new();
    let mut matches = false;
    for wanted in wanted {
        matches |= wanted.needle.find(&text, &mut places);
    }
    if !matches {
        return None;
    }
    let (value, places) = fragment::cut(value, without_overlaps(places));
    Some(Match {
        field: field.to_owned(),
        value,
        places,
    })
}

/// A term of the query that a value may contain.
struct Wanted<'a> {
    /// Only in this field.
    field: Option<&'a str>,
    needle: Needle<'a>,
}

impl Wanted<'_> {
    fn is_in(&self, field: &str) -> bool {
        self.field.is_none_or(|wanted| {
            let wanted = canonical(wanted);
            // The words of all names are searched as one, and so are those of columns and of descriptions.
            let is_searched_alike = class_of_name(&wanted)
                .filter(|class| *class != Class::Other)
                .is_some_and(|class| class_of_name(field) == Some(class));
            wanted == field || is_searched_alike
        })
    }
}

enum Needle<'a> {
    /// The field has a value at all.
    Anything,
    /// Exactly this text, somewhere.
    Exact(&'a str),
    Word(WordNeedle),
    /// These words in this order.
    Phrase(Vec<HashSet<String>>),
    /// Words in this order, then one that begins so.
    Prefix {
        before: Vec<HashSet<String>>,
        start: String,
        /// All of it without what divides it, for words that are written together.
        joined: String,
    },
    /// Folded, with its `*` and `?`.
    Wildcard(String),
}

/// What was typed as one word.
struct WordNeedle {
    /// Its parts in order; each is a word and what stands for it.
    parts: Vec<HashSet<String>>,
    /// The words that it makes when its parts are joined.
    joined: HashSet<String>,
    /// All of it without what divides it: it may be several words elsewhere.
    whole: String,
}

/// Lists what a query looks for. What must not be there cannot be the reason of a match.
fn collect<'a>(
    query: &'a Query,
    field: Option<&'a str>,
    expanded: &dyn Fn(&str, bool) -> Vec<String>,
    wanted: &mut Vec<Wanted<'a>>,
) {
    for (at, clause) in query.clauses.iter().enumerate() {
        if clause.occur != Occur::MustNot {
            // As it was searched for: the last word may go on where nothing but words was typed.
            let unfinished = query.plain.is_some() && at + 1 == query.clauses.len();
            let expanded = |word: &str| expanded(word, unfinished);
            collect_term(&clause.term, field, &expanded, wanted);
        }
    }
}

fn collect_term<'a>(
    term: &'a Term,
    field: Option<&'a str>,
    expanded: &dyn Fn(&str) -> Vec<String>,
    wanted: &mut Vec<Wanted<'a>>,
) {
    let needle = match term {
        Term::Group(group) => {
            return collect(group, field, &|word, _| expanded(word), wanted);
        }
        Term::Field { field, term } => return collect_term(term, Some(field), expanded, wanted),
        Term::Word(word) if is_urn(word) => Needle::Exact(word),
        Term::Word(word) => Needle::Word(word_needle(word, expanded)),
        Term::Phrase(phrase) => Needle::Phrase(sequence(&name_words(phrase))),
        Term::Prefix(prefix) if prefix.is_empty() => Needle::Anything,
        Term::Prefix(prefix) => prefix_needle(prefix),
        Term::Wildcard(pattern) => Needle::Wildcard(analysis::fold(pattern)),
    };
    wanted.push(Wanted { field, needle });
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
    // Begun words are no plurals yet: what was typed counts, not the word of the analysis.
    let start = words.pop().map(|last| analysis::fold(&prefix[last.range]));
    Needle::Prefix {
        before: sequence(&words),
        start: start.unwrap_or_default(),
        joined: letters(prefix),
    }
}

/// The text without what divides it.
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
struct Text<'a> {
    value: &'a str,
    /// One per position.
    words: Vec<Token>,
    joined: Vec<Token>,
}

impl<'a> Text<'a> {
    fn read(value: &'a str) -> Self {
        // Prose has no word that a name would not have (a property of the analysis, tested there).
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

    /// Whether the word, as it stands in the value, fulfils the condition. The analysis cuts plurals, patterns do not.
    fn is_as_written(&self, word: &Token, condition: impl Fn(&str) -> bool) -> bool {
        let plural_was_cut =
            self.value[word.range.clone()].ends_with(['s', 'S']) && !word.text.ends_with('s');
        condition(&word.text) || (plural_was_cut && condition(&format!("{}s", word.text)))
    }

    /// Where `conditions` hold for words one behind the other.
    fn sequences<'t>(
        &'t self,
        length: usize,
        holds: impl Fn(usize, &Token) -> bool + 't,
    ) -> impl Iterator<Item = &'t [Token]> {
        // `windows` takes no zero.
        self.words.windows(length.max(1)).filter(move |window| {
            length > 0
                && window.iter().enumerate().all(|(index, word)| {
                    word.position == window[0].position + index && holds(index, word)
                })
        })
    }
}

/// The parts `urn:li:tag:` of a URN: in all of them, so never the reason why one was found.
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
    /// Adds where it stands in the text; answers whether it is there.
    fn find(&self, text: &Text<'_>, places: &mut Vec<Range<usize>>) -> bool {
        let found_before = places.len();
        match self {
            Self::Anything => return !text.value.is_empty(),
            Self::Exact(exact) => places.extend(
                text.value
                    .match_indices(exact)
                    .map(|(start, found)| start..start + found.len()),
            ),
            Self::Word(word) => word.find(text, places),
            Self::Phrase(words) => push_sequences(
                text.sequences(words.len(), |index, word| words[index].contains(&word.text)),
                places,
            ),
            Self::Prefix {
                before,
                start,
                joined,
            } => {
                let begins = |word: &Token, start: &str| {
                    text.is_as_written(word, |written| written.starts_with(start))
                };
                push_sequences(
                    text.sequences(before.len() + 1, |index, word| match before.get(index) {
                        Some(alternatives) => alternatives.contains(&word.text),
                        None => begins(word, start),
                    }),
                    places,
                );
                let written_together = text.all().filter(|word| begins(word, joined));
                places.extend(written_together.map(|word| word.range.clone()));
            }
            Self::Wildcard(wanted) => {
                let of_words = text.all().filter(|word| {
                    text.is_as_written(word, |written| pattern::matches(wanted, written))
                });
                places.extend(of_words.map(|word| word.range.clone()));
                // `sales.*.orders` spans words.
                if places.len() == found_before
                    && pattern::matches(wanted, &analysis::fold(text.value))
                {
                    places.push(0..text.value.len());
                }
            }
        }
        places.len() > found_before
    }
}

impl WordNeedle {
    fn find(&self, text: &Text<'_>, places: &mut Vec<Range<usize>>) {
        let found_before = places.len();
        if let [alternatives] = self.parts.as_slice() {
            let same = text.all().filter(|word| alternatives.contains(&word.text));
            places.extend(same.map(|word| word.range.clone()));
            if places.len() == found_before {
                self.find_divided(text, places);
            }
            return;
        }
        push_sequences(
            text.sequences(self.parts.len(), |index, word| {
                self.parts[index].contains(&word.text)
            }),
            places,
        );
        let written_together = text.all().filter(|word| self.joined.contains(&word.text));
        places.extend(written_together.map(|word| word.range.clone()));
        if places.len() == found_before {
            // `customer_orders` also finds `orders`. A single letter or digit, as in `orders_v2`, explains nothing.
            let of_parts = text.all().filter(|word| {
                let is_single = word.text.len() == 1;
                !is_single && self.parts.iter().any(|part| part.contains(&word.text))
            });
            places.extend(of_parts.map(|word| word.range.clone()));
        }
    }
}

impl WordNeedle {
    /// Adds where words one behind the other make it up: `stgorders` is found as `stg.orders`.
    fn find_divided(&self, text: &Text<'_>, places: &mut Vec<Range<usize>>) {
        let wanted = without_plural(&self.whole);
        for first in 0..text.words.len() {
            let mut made = String::new();
            for (length, word) in text.words[first..].iter().enumerate() {
                let begins_here = word.position == text.words[first].position + length;
                if !begins_here || !wanted.starts_with(&made) {
                    break;
                }
                made.push_str(&letters(&text.value[word.range.clone()]));
                if length > 0 && without_plural(&made) == wanted {
                    let words = &text.words[first..=first + length];
                    places.extend(words.iter().map(|word| word.range.clone()));
                    break;
                }
            }
        }
    }
}

fn push_sequences<'t>(
    sequences: impl Iterator<Item = &'t [Token]>,
    places: &mut Vec<Range<usize>>,
) {
    for words in sequences {
        places.extend(words.iter().map(|word| word.range.clone()));
    }
}

/// Sorted, and those that overlap made one.
fn without_overlaps(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    places.dedup_by(|later, earlier| {
        let overlaps = later.start < earlier.end;
        if overlaps {
            earlier.end = earlier.end.max(later.end);
        }
        overlaps
    });
    places
}

#[cfg(test)]
mod tests;
