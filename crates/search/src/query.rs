//! From what was typed to a query of the index, with its scores.
//!
//! A score says how a document matches and nothing about how often: each word that matches is worth a base, plus a step for
//! where it matches, so that a name beats a column and a column a description. Words that few documents have are worth more,
//! and all words more than any of them ([`Node::Words`]). What is left equal is decided by the document's rank
//! ([`crate::collect`]).

mod divided;
mod field_term;
mod labels;
mod names;
mod unknown;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::{Token, fold, name_words, pair, text_words};
use crate::error::SearchError;
use crate::kept::Kept;
use crate::language::{self, Clause};
use crate::matching::{Node, Set};
use crate::named::written;
use crate::pattern;
use crate::phrase::{parts, phrase_query, term_query};
use crate::schema::{Fields, LAST_PART_MARK, WHOLE_NAMES};
use crate::walk::Walk;
use crate::work::Work;

/// What a word is worth that matches at all, and what is added for where it matches.
const WORD: f32 = 20.0;
const IN_NAME: f32 = 8.0;
const BEGINS_NAME_WORD: f32 = 6.0;
const IN_LABEL: f32 = 5.0;
const BEGINS_LABEL_WORD: f32 = 3.0;
const IN_COLUMN: f32 = 4.0;
const BEGINS_COLUMN_WORD: f32 = 2.5;
const IN_DESCRIPTION: f32 = 1.0;
const BEGINS_DESCRIPTION_WORD: f32 = 0.75;
const IN_OTHER: f32 = 0.5;
/// What a word loses whose parts do not stand together, and one that was not typed quite right: whatever has the
/// word as it was typed comes first, wherever that has it.
const APART: f32 = 9.0;
const TYPO: f32 = 9.0;

/// Added to what words can be worth at most.
const EXACT_NAME: f32 = 1000.0;
const BEGINS_NAME: f32 = 100.0;
const EXACT_URN: f32 = 2000.0;

/// Words get this share of their worth however common they are.
const LEAST_WEIGHT: f32 = 0.5;
/// Shorter beginnings say too little.
const MIN_NAME_PREFIX: usize = 3;
const MIN_WORD_PREFIX: usize = 2;
/// Typos are forgiven in so many words of a query. Who pastes a text does not expect more, and each takes a walk
/// through the dictionaries.
const FORGIVEN_WORDS: usize = 16;
/// A word that is in so few of all documents, or in so few at all, may be a typo that somebody else made, too.
const RARE_SHARE: u64 = 100_000;
const RARE: u64 = 3;
/// Whether words stand together is looked up only where one of them has no more documents: it means reading the
/// positions of all.
const MOST_IN_ORDER: u64 = 10_000;

/// How a word is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Exact,
    /// Typos are forgiven.
    Forgiving,
    /// And it may go on.
    Unfinished,
}

use names::{begins_name, is_in_terms, named};
pub(crate) use unknown::known_fields;

pub(crate) struct Translator<'s> {
    searcher: &'s Searcher,
    fields: &'s Fields,
    kept: &'s Kept,
    work: &'s Work,
    /// The tags, terms, domains … that words of the query stand for.
    labels: RefCell<HashSet<String>>,
    /// Whether there were more names to complete than were looked at.
    cut: Cell<bool>,
    /// How many terms were read.
    terms: Cell<usize>,
}

/// What the index has of a word that was typed.
struct Known<'t> {
    /// How much the word says, from 1 for the rarest to about 0 for one that everything has.
    weight: f32,
    /// Those of its parts that may be typos, and how many letters of them may be wrong.
    doubtful: Vec<(&'t str, u8)>,
}

/// Documents that have all parts of a word.
enum Written {
    Together(Set),
    Apart(Set),
}

impl<'s> Translator<'s> {
    pub(crate) fn new(
        searcher: &'s Searcher,
        fields: &'s Fields,
        kept: &'s Kept,
        work: &'s Work,
    ) -> Self {
        Self {
            searcher,
            fields,
            kept,
            work,
            labels: RefCell::default(),
            cut: Cell::default(),
            terms: Cell::default(),
        }
    }

    /// The tags, terms, domains … that words of the query stand for.
    pub(crate) fn into_labels(self) -> HashSet<String> {
        self.labels.into_inner()
    }

    pub(crate) fn has_cut(&self) -> bool {
        self.cut.get()
    }

    /// `None` if the query matches everything.
    pub(crate) fn translate(&self, query: &language::Query) -> Result<Option<Node>, SearchError> {
        if query.clauses.is_empty() {
            return Ok(None);
        }
        let words = self.group(query, true)?;
        let Some(plain) = query.plain.as_deref() else {
            return Ok(Some(words));
        };
        let typed = fold(plain.trim());
        let most = words.most();
        let exact = named(self.fields, &typed);
        let mut parts = vec![
            (Occur::Must, words),
            (Occur::Should, Node::one(exact, most + EXACT_NAME)),
        ];
        if typed.chars().count() >= MIN_NAME_PREFIX {
            let begins = begins_name(self.fields, &typed);
            parts.push((Occur::Should, Node::one(begins, most + BEGINS_NAME)));
        }
        Ok(Some(Node::Group(parts)))
    }

    fn group(&self, query: &language::Query, outermost: bool) -> Result<Node, SearchError> {
        let mut parts = Vec::new();
        let count = query.clauses.len();
        for (at, Clause { occur, term }) in query.clauses.iter().enumerate() {
            // The last word may not have been typed to its end.
            let unfinished = outermost && at + 1 == count && query.plain.is_some();
            let occur = occur_of(*occur);
            let reading = match occur {
                // What is not wanted is meant as it was typed.
                Occur::MustNot => Reading::Exact,
                Occur::Should | Occur::Must => self.reading(unfinished),
            };
            parts.push((occur, self.term(term, reading)?));
        }
        Ok(Node::Words(with_all_but(parts)))
    }

    /// How the next term is read, if it is a word.
    fn reading(&self, unfinished: bool) -> Reading {
        let before = self.terms.get();
        self.terms.set(before + 1);
        if before >= FORGIVEN_WORDS {
            Reading::Exact
        } else if unfinished {
            Reading::Unfinished
        } else {
            Reading::Forgiving
        }
    }

    fn term(&self, term: &language::Term, reading: Reading) -> Result<Node, SearchError> {
        match term {
            language::Term::Word(word) => self.word(word, reading),
            language::Term::Prefix(prefix) => self.prefix(prefix),
            language::Term::Wildcard(pattern) => self.wildcard(pattern),
            language::Term::Phrase(phrase) => self.phrase(phrase),
            language::Term::Field { field, term } => self.field(field, term),
            language::Term::Group(query) => self.group(query, false),
        }
    }

    fn word(&self, word: &str, reading: Reading) -> Result<Node, SearchError> {
        if language::is_urn(word) {
            let urn = Set::Terms(vec![self.fields.urn_term(word)]);
            return Ok(Node::one(urn, EXACT_URN));
        }
        let tokens = name_words(word);
        if tokens.is_empty() {
            // There are things whose name is a sign.
            return Ok(Node::one(named(self.fields, &fold(word)), WORD));
        }
        let places = [
            (self.fields.name, IN_NAME),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
            (self.fields.other, IN_OTHER),
        ];
        let labels = self.labels_named(word, &tokens)?;
        let Known { weight, doubtful } = self.known(&tokens, &places, labels.documents)?;
        let worth_of = |step: f32| weight.max(LEAST_WEIGHT) * (WORD + step);
        let mut ways: Vec<(Set, f32)> = Vec::new();
        for (field, step) in places {
            ways.extend(
                self.written(field, &tokens)?
                    .into_iter()
                    .map(|way| match way {
                        Written::Together(set) => (set, worth_of(step)),
                        Written::Apart(set) => (set, worth_of(step - APART)),
                    }),
            );
        }
        ways.push((Set::Terms(labels.terms), worth_of(IN_LABEL)));
        if reading == Reading::Unfinished && word.chars().count() >= MIN_WORD_PREFIX {
            for (field, step) in [
                (self.fields.name, BEGINS_NAME_WORD),
                (self.fields.column, BEGINS_COLUMN_WORD),
                (self.fields.description, BEGINS_DESCRIPTION_WORD),
            ] {
                let is_one = parts(&tokens).nth(1).is_none();
                let begins = self.begins(field, &tokens)?;
                let apart = if is_one { 0.0 } else { APART };
                ways.extend(begins.map(|set| (set, worth_of(step - apart))));
                for term in in_one_piece(field, &tokens).into_iter().filter(|_| !is_one) {
                    let start = term.value().as_str().unwrap_or_default().to_owned();
                    ways.push((Set::Prefix(field, start), worth_of(step)));
                }
            }
            let labels = self.labels_that_begin(word, &tokens)?;
            ways.push((Set::Terms(labels), worth_of(BEGINS_LABEL_WORD)));
        }
        if reading != Reading::Exact && !doubtful.is_empty() {
            for (field, step) in places {
                ways.push((nearly(field, &tokens, &doubtful), worth_of(step - TYPO)));
            }
            let labels = self.labels_nearly_named(&tokens, &doubtful)?;
            ways.push((Set::Terms(labels), worth_of(IN_LABEL - TYPO)));
            for (field, step) in &places[..2] {
                let divided = self.divided(*field, word, &tokens)?.into_iter();
                ways.extend(divided.map(|set| (set, worth_of(*step))));
            }
        }
        Ok(Node::Best(ways))
    }

    /// What is known of a word, besides in labels that so many documents have.
    fn known<'t>(
        &self,
        tokens: &'t [Token],
        places: &[(Field, f32)],
        labelled: u64,
    ) -> Result<Known<'t>, SearchError> {
        let documents = self.searcher.num_docs().max(1);
        let total = documents as f32;
        let rare = RARE.max(documents / RARE_SHARE);
        let mut rarest: Option<f32> = None;
        let mut doubtful = Vec::new();
        for token in parts(tokens) {
            let mut frequency = labelled;
            for (field, _) in places {
                for text in [&token.text, &pair(&token.text)] {
                    frequency = self.frequency(*field, text)?.max(frequency);
                }
            }
            let letters = token.text.as_str();
            // Numbers are seldom mistyped, and the next one is another thing.
            let is_number = letters.contains(|letter: char| letter.is_ascii_digit());
            if frequency == 0 {
                doubtful.push((letters, allowed_typos(letters)));
            } else if frequency <= rare && !is_number && allowed_typos(letters) > 0 {
                doubtful.push((letters, 1));
            }
            let weight = (1.0 + total / (frequency as f32 + 1.0)).ln() / (1.0 + total).ln();
            rarest = Some(rarest.map_or(weight, |rarest| rarest.max(weight)));
        }
        Ok(Known {
            weight: rarest.unwrap_or(0.0).clamp(0.01, 1.0),
            doubtful,
        })
    }

    fn frequency(&self, field: Field, text: &str) -> tantivy::Result<u64> {
        self.searcher.doc_freq(&Term::from_field_text(field, text))
    }

    /// The documents that have a word as it was typed.
    fn written(&self, field: Field, tokens: &[Token]) -> Result<Vec<Written>, SearchError> {
        let parts: Vec<&Token> = parts(tokens).collect();
        let mut together = vec![Set::Terms(in_one_piece(field, tokens))];
        if parts.len() < 2 {
            return Ok(together.into_iter().map(Written::Together).collect());
        }
        let mut rarest = u64::MAX;
        for part in &parts {
            rarest = self.frequency(field, &part.text)?.min(rarest);
        }
        if rarest <= MOST_IN_ORDER {
            together.push(in_order(field, tokens));
        }
        let mut ways: Vec<Written> = together.into_iter().map(Written::Together).collect();
        ways.push(Written::Apart(every(field, &parts)));
        Ok(ways)
    }

    /// All parts, the last of which may go on.
    fn begins(&self, field: Field, tokens: &[Token]) -> Result<Option<Set>, SearchError> {
        let parts: Vec<&Token> = parts(tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(None);
        };
        if complete.is_empty() {
            let mut found = false;
            let walk = Walk {
                most: 1,
                ..self.walk()
            };
            walk.each_term(field, &last.text, |_| found = true)?;
            // A pair of words whose first one begins so is found by that one.
            let start = if found {
                last.text.clone()
            } else {
                pair(&last.text)
            };
            return Ok(Some(Set::Prefix(field, start)));
        }
        let mut sets: Vec<Set> = complete
            .iter()
            .map(|token| term_set(field, &token.text))
            .collect();
        sets.push(Set::Prefix(field, last.text.clone()));
        Ok(Some(Set::Every(sets)))
    }

    /// A word that nothing has, as words that stand one behind the other: `stgcustomerorders`.
    fn divided(&self, field: Field, word: &str, tokens: &[Token]) -> Result<Vec<Set>, SearchError> {
        let [token] = tokens else {
            return Ok(Vec::new());
        };
        // The plural of the last part is the part's own business.
        let written = fold(&word[token.range.clone()]);
        let divisions = divided::divisions(self.searcher, field, &written)?;
        let phrase = |terms| Set::Query(Box::new(PhraseQuery::new(terms)));
        Ok(divisions.into_iter().map(phrase).collect())
    }

    /// Names that begin with what was typed: the first `most` of them, and of names in which a word begins so.
    pub(crate) fn name_prefix(&self, typed: &str, most: usize) -> Result<Node, SearchError> {
        let tokens = name_words(typed);
        let parts: Vec<&Token> = parts(&tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(Node::All);
        };
        let whole = fold(typed);
        let name = self.fields.name;
        let mut words: Vec<Set> = complete
            .iter()
            .map(|token| term_set(name, &token.text))
            .collect();
        words.push(self.first_terms(name, &last.text, most)?);
        let begins = if is_in_terms(&whole) {
            self.first_terms(self.fields.name_start, &whole, most)?
        } else {
            begins_name(self.fields, &whole)
        };
        Ok(Node::Best(vec![
            (named(self.fields, &whole), EXACT_NAME),
            (Set::Every(words), WORD),
            (begins, BEGINS_NAME),
        ]))
    }

    fn walk(&self) -> Walk<'s> {
        Walk::over_all(self.searcher, self.work)
    }

    /// The first terms of a field that begin so.
    fn first_terms(&self, field: Field, start: &str, most: usize) -> Result<Set, SearchError> {
        let start = start.to_owned();
        if most == usize::MAX {
            return Ok(Set::Prefix(field, start));
        }
        let walk = Walk {
            most,
            ..self.walk()
        };
        let last = walk.last_of_first_terms(field, &start)?;
        self.cut.set(self.cut.get() || last.is_some());
        Ok(match last {
            Some(last) => Set::PrefixUpTo(field, start, last),
            None => Set::Prefix(field, start),
        })
    }

    fn prefix(&self, prefix: &str) -> Result<Node, SearchError> {
        let tokens = name_words(prefix);
        if tokens.is_empty() {
            return Ok(Node::All);
        }
        let whole = begins_name(self.fields, &fold(prefix));
        let mut ways = vec![(whole, WORD + IN_NAME)];
        for (field, step) in [
            (self.fields.name, BEGINS_NAME_WORD),
            (self.fields.column, BEGINS_COLUMN_WORD),
            (self.fields.description, IN_DESCRIPTION),
            (self.fields.other, IN_OTHER),
        ] {
            let begins = self.begins(field, &tokens)?;
            ways.extend(begins.map(|set| (set, WORD + step)));
        }
        Ok(Node::Best(ways))
    }

    fn wildcard(&self, pattern: &str) -> Result<Node, SearchError> {
        let places = [
            (self.fields.name, BEGINS_NAME_WORD),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
        ];
        let ways = places.map(|(field, step)| (like(field, pattern), WORD + step));
        let mut ways = Vec::from(ways);
        ways.push((self.names_like(pattern)?, WORD + IN_NAME));
        Ok(Node::Best(ways))
    }

    /// Documents with a name, or a last part of one, like the pattern.
    fn names_like(&self, pattern: &str) -> Result<Set, SearchError> {
        let pattern = fold(pattern);
        let is_like = |name: &str| {
            let is_like = pattern::matches(&pattern, name.trim_start_matches(LAST_PART_MARK));
            if is_like {
                self.work.took();
            }
            Ok(is_like)
        };
        let starts = written(before_wildcard(&pattern));
        let like = self.walk().column_texts(WHOLE_NAMES, &starts, is_like)?;
        Ok(Set::Query(Box::new(like)))
    }

    fn phrase(&self, phrase: &str) -> Result<Node, SearchError> {
        let mut ways: Vec<(Set, f32)> = [
            (self.fields.name, IN_NAME, name_words(phrase)),
            (self.fields.column, IN_COLUMN, name_words(phrase)),
            (self.fields.description, IN_DESCRIPTION, text_words(phrase)),
            (self.fields.other, IN_OTHER, text_words(phrase)),
        ]
        .into_iter()
        .map(|(field, step, tokens)| (in_order(field, &tokens), WORD + step))
        .collect();
        let labels = self.labels_with_phrase(phrase)?;
        ways.push((Set::Terms(labels), WORD + IN_LABEL));
        Ok(Node::Best(ways))
    }
}

/// Parts that only say what is not wanted mean everything else.
fn with_all_but(mut parts: Vec<(Occur, Node)>) -> Vec<(Occur, Node)> {
    if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        parts.push((Occur::Must, Node::All));
    }
    parts
}

/// Documents with a word like the pattern.
fn like(field: Field, pattern: &str) -> Set {
    let pattern = fold(pattern);
    // Words stand without the `s` of their plural, so `o*s` finds more than it says.
    let singular = pattern.strip_suffix('s').map(ToOwned::to_owned);
    Set::Like {
        field,
        start: before_wildcard(&pattern).to_owned(),
        patterns: singular.into_iter().chain([pattern]).collect(),
    }
}

/// The letters that whatever is like the pattern begins with.
fn before_wildcard(pattern: &str) -> &str {
    pattern.split(['*', '?']).next().unwrap_or_default()
}

fn occur_of(occur: language::Occur) -> Occur {
    match occur {
        language::Occur::Should => Occur::Should,
        language::Occur::Must => Occur::Must,
        language::Occur::MustNot => Occur::MustNot,
    }
}

fn term_set(field: Field, text: &str) -> Set {
    Set::Terms(vec![Term::from_field_text(field, text)])
}

/// What was typed as one word, undivided.
fn in_one_piece(field: Field, tokens: &[Token]) -> Vec<Term> {
    let start = tokens.iter().map(|token| token.range.start).min();
    let end = tokens.iter().map(|token| token.range.end).max();
    let is_whole =
        |token: &&Token| Some(token.range.start) == start && Some(token.range.end) == end;
    let whole = tokens.iter().filter(is_whole);
    whole
        .flat_map(|token| [token.text.clone(), pair(&token.text)])
        .map(|text| Term::from_field_text(field, &text))
        .collect()
}

fn every(field: Field, parts: &[&Token]) -> Set {
    let sets = parts.iter().map(|token| term_set(field, &token.text));
    Set::Every(sets.collect())
}

/// All parts of a word, or the whole of it in one piece.
fn all_parts(field: Field, tokens: &[Token]) -> Vec<Set> {
    let parts: Vec<&Token> = parts(tokens).collect();
    let mut sets = vec![Set::Terms(in_one_piece(field, tokens))];
    if parts.len() > 1 {
        sets.push(every(field, &parts));
    }
    sets
}

/// How many letters of a word may be wrong.
pub(crate) fn allowed_typos(word: &str) -> u8 {
    match word.chars().count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// All parts; so many letters of the doubtful ones may be wrong.
fn nearly(field: Field, tokens: &[Token], doubtful: &[(&str, u8)]) -> Set {
    let queries: Vec<Box<dyn Query>> = parts(tokens)
        .map(|token| {
            let term = Term::from_field_text(field, &token.text);
            match doubtful.iter().find(|(text, _)| *text == token.text) {
                Some((_, typos)) => Box::new(FuzzyTermQuery::new(term, *typos, true)),
                None => term_query(term),
            }
        })
        .collect();
    Set::Query(Box::new(BooleanQuery::intersection(queries)))
}

fn in_order(field: Field, tokens: &[Token]) -> Set {
    phrase_query(field, tokens).map_or_else(|| Set::Terms(Vec::new()), Set::Query)
}
