//! From what was typed to a query of the index, with its scores.
//!
//! A score says how a document matches and nothing about how often: each word that matches is worth a base, so that all
//! words beat some words, plus a step for where it matches, so that a name beats a column and a column a description. Words
//! that few documents have are worth more. What is left equal is decided by the document's rank ([`crate::collect`]).

mod divided;
mod field;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query, RegexQuery};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::{Token, fold, name_words, pair, text_words};
use crate::document::ENTITY_TYPE;
use crate::error::SearchError;
use crate::filter::{each_term, last_of_first_terms, term_query};
use crate::kept::{Kept, text_of};
use crate::language::{self, Clause};
use crate::matching::{Node, Segment, Set};
use crate::schema::{Fields, LAST_PART_MARK};

/// What a word is worth that matches at all, and what is added for where it matches.
const WORD: f32 = 20.0;
const IN_NAME: f32 = 8.0;
const BEGINS_NAME_WORD: f32 = 6.0;
const IN_LABEL: f32 = 5.0;
const IN_COLUMN: f32 = 4.0;
const BEGINS_COLUMN_WORD: f32 = 2.5;
const IN_DESCRIPTION: f32 = 1.0;
const BEGINS_DESCRIPTION_WORD: f32 = 0.75;
const IN_OTHER: f32 = 0.5;
/// What a word loses that was not typed quite right.
const TYPO: f32 = 4.0;

const EXACT_NAME: f32 = 1000.0;
const BEGINS_NAME: f32 = 100.0;
const EXACT_URN: f32 = 2000.0;

/// Words get this share of their worth however common they are.
const LEAST_WEIGHT: f32 = 0.5;
/// Shorter beginnings say too little.
const MIN_NAME_PREFIX: usize = 3;
const MIN_WORD_PREFIX: usize = 2;
/// How many tags, terms, domains … a word may stand for.
const MAX_LABELS: usize = 50;

/// Entities whose names are searched for on other entities, and the fields that point at them.
const LABEL_TYPES: [&str; 7] = [
    "domain",
    "tag",
    "glossaryTerm",
    "corpuser",
    "corpGroup",
    "dataPlatform",
    "dataProduct",
];
const LABEL_FIELDS: [&str; 10] = [
    "domains",
    "tags",
    "glossaryTerms",
    "owners",
    "platform",
    "fieldTags",
    "fieldGlossaryTerms",
    "editedFieldTags",
    "editedFieldGlossaryTerms",
    "dataProduct",
];

/// How a word is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Exact,
    /// Typos are forgiven.
    Forgiving,
    /// And it may go on.
    Unfinished,
}

pub(crate) struct Translator<'s> {
    searcher: &'s Searcher,
    fields: &'s Fields,
    kept: &'s Kept,
    /// The tags, terms, domains … that words of the query stand for.
    labels: RefCell<HashSet<String>>,
    /// Whether there were more names to complete than were looked at.
    cut: Cell<bool>,
}

impl<'s> Translator<'s> {
    pub(crate) fn new(searcher: &'s Searcher, fields: &'s Fields, kept: &'s Kept) -> Self {
        Self {
            searcher,
            fields,
            kept,
            labels: RefCell::default(),
            cut: Cell::default(),
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
        let exact = Set::Terms(self.whole_name(&typed));
        let mut parts = vec![
            (Occur::Must, words),
            (Occur::Should, Node::one(exact, EXACT_NAME)),
        ];
        if typed.chars().count() >= MIN_NAME_PREFIX {
            let begins = self.begins_name(&typed).map(|set| (set, BEGINS_NAME));
            parts.push((Occur::Should, Node::Best(begins.into())));
        }
        Ok(Some(Node::Group(parts)))
    }

    /// Names and last parts of names that are so.
    fn whole_name(&self, name: &str) -> Vec<Term> {
        let term = |text: &str| Term::from_field_text(self.fields.whole_name, text);
        written_names(name).map(|text| term(&text)).into()
    }

    /// Names and last parts of names that begin so.
    fn begins_name(&self, start: &str) -> [Set; 2] {
        written_names(start).map(|text| Set::Prefix(self.fields.whole_name, text))
    }

    fn group(&self, query: &language::Query, outermost: bool) -> Result<Node, SearchError> {
        let mut parts = Vec::new();
        let count = query.clauses.len();
        for (at, Clause { occur, term }) in query.clauses.iter().enumerate() {
            // The last word may not have been typed to its end.
            let unfinished = outermost && at + 1 == count && query.plain.is_some();
            let occur = occur_of(*occur);
            let node = match term {
                // What is not wanted is meant as it was typed.
                language::Term::Word(word) if occur == Occur::MustNot => {
                    self.word(word, Reading::Exact)?
                }
                term => self.term(term, unfinished)?,
            };
            parts.push((occur, node));
        }
        Ok(Node::Group(with_all_but(parts)))
    }

    fn term(&self, term: &language::Term, unfinished: bool) -> Result<Node, SearchError> {
        match term {
            language::Term::Word(word) => {
                let reading = if unfinished {
                    Reading::Unfinished
                } else {
                    Reading::Forgiving
                };
                self.word(word, reading)
            }
            language::Term::Prefix(prefix) => self.prefix(prefix),
            language::Term::Wildcard(pattern) => Ok(self.wildcard(pattern)),
            language::Term::Phrase(phrase) => Ok(self.phrase(phrase)),
            language::Term::Field { field, term } => self.field(field, term),
            language::Term::Group(query) => self.group(query, false),
        }
    }

    fn word(&self, word: &str, reading: Reading) -> Result<Node, SearchError> {
        if word.starts_with("urn:") {
            let urn = Set::Terms(vec![self.fields.urn_term(word)]);
            return Ok(Node::one(urn, EXACT_URN));
        }
        let tokens = name_words(word);
        if tokens.is_empty() {
            return Ok(Node::nothing());
        }
        let places = [
            (self.fields.name, IN_NAME),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
            (self.fields.other, IN_OTHER),
        ];
        let (weight, unknown) = self.weight(&tokens, &places)?;
        let worth_of = |step: f32| weight.max(LEAST_WEIGHT) * (WORD + step);
        let mut ways: Vec<(Set, f32)> = Vec::new();
        for (field, step) in places {
            let sets = all_parts(field, &tokens).into_iter();
            ways.extend(sets.map(|set| (set, worth_of(step))));
        }
        let labels = self.labels(word)?;
        if !labels.is_empty() {
            ways.push((Set::Terms(labels), worth_of(IN_LABEL)));
        }
        if reading == Reading::Unfinished && word.chars().count() >= MIN_WORD_PREFIX {
            for (field, step) in [
                (self.fields.name, BEGINS_NAME_WORD),
                (self.fields.column, BEGINS_COLUMN_WORD),
                (self.fields.description, BEGINS_DESCRIPTION_WORD),
            ] {
                let begins = self.begins(field, &tokens)?;
                ways.extend(begins.map(|set| (set, worth_of(step))));
            }
        }
        if reading != Reading::Exact && !unknown.is_empty() {
            for (field, step) in places {
                ways.push((nearly(field, &tokens, &unknown), worth_of(step - TYPO)));
            }
            for (field, step) in &places[..2] {
                let divided = self.divided(*field, word, &tokens)?.into_iter();
                ways.extend(divided.map(|set| (set, worth_of(*step))));
            }
        }
        Ok(Node::Best(ways))
    }

    /// How much a word says, from 1 for the rarest to about 0 for one that everything has, and those of its parts that
    /// nothing has.
    fn weight<'t>(
        &self,
        tokens: &'t [Token],
        places: &[(Field, f32)],
    ) -> Result<(f32, Vec<&'t str>), SearchError> {
        let total = self.searcher.num_docs().max(1) as f32;
        let mut rarest: Option<f32> = None;
        let mut unknown = Vec::new();
        for token in parts(tokens) {
            let mut frequency = 0;
            for (field, _) in places {
                for text in [&token.text, &pair(&token.text)] {
                    frequency = self.frequency(*field, text)?.max(frequency);
                }
            }
            if frequency == 0 {
                unknown.push(token.text.as_str());
            }
            let weight = (1.0 + total / (frequency as f32 + 1.0)).ln() / (1.0 + total).ln();
            rarest = Some(rarest.map_or(weight, |rarest| rarest.max(weight)));
        }
        Ok((rarest.unwrap_or(0.0).clamp(0.01, 1.0), unknown))
    }

    fn frequency(&self, field: Field, text: &str) -> tantivy::Result<u64> {
        self.searcher.doc_freq(&Term::from_field_text(field, text))
    }

    /// All parts, the last of which may go on.
    fn begins(&self, field: Field, tokens: &[Token]) -> Result<Option<Set>, SearchError> {
        let parts: Vec<&Token> = parts(tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(None);
        };
        if complete.is_empty() {
            let mut found = false;
            each_term(self.searcher, field, &last.text, 1, |_| found = true)?;
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

    /// The terms of entities that carry a label of this name.
    fn labels(&self, word: &str) -> Result<Vec<Term>, SearchError> {
        let urns = self.label_urns(word)?;
        self.labels.borrow_mut().extend(urns.iter().cloned());
        let mut terms = Vec::with_capacity(urns.len() * LABEL_FIELDS.len());
        for urn in &urns {
            for field in LABEL_FIELDS {
                let term = self.fields.term(field, urn);
                if self.searcher.doc_freq(&term)? > 0 {
                    terms.push(term);
                }
            }
        }
        Ok(terms)
    }

    /// The tags, terms, domains … of this name.
    fn label_urns(&self, word: &str) -> Result<HashSet<String>, SearchError> {
        let tokens = name_words(word);
        let lower = word.to_lowercase();
        let mut urns: HashSet<String> = LABEL_TYPES
            .iter()
            .map(|kind| format!("urn:li:{kind}:{lower}"))
            .collect();
        let kinds = || {
            let terms = LABEL_TYPES
                .iter()
                .map(|kind| self.fields.term(ENTITY_TYPE, kind));
            Set::Terms(terms.collect())
        };
        let mut found = 0;
        for reader in self.searcher.segment_readers() {
            let segment = Segment {
                searcher: self.searcher,
                reader,
                scored: false,
            };
            let labels = self.kept.set(reader, "labels", || segment.set(&kinds()))?;
            let ways = all_parts(self.fields.name, &tokens);
            let ways = ways.into_iter().map(|set| (set, WORD)).collect();
            let mut named = segment.matches(&Node::Best(ways))?.documents;
            named.keep(&labels);
            let mut documents = Vec::new();
            named.each(|document| documents.push(document));
            for document in documents {
                let is_alive = reader.alive_bitset().is_none_or(|it| it.is_alive(document));
                if is_alive && found < MAX_LABELS {
                    found += 1;
                    urns.extend(text_of(&self.kept.columns(reader)?.urns, document)?);
                }
            }
        }
        Ok(urns)
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
        let mut ways = vec![
            (Set::Terms(self.whole_name(&whole)), EXACT_NAME),
            (Set::Every(words), WORD),
        ];
        for start in written_names(&whole) {
            let begins = self.first_terms(self.fields.whole_name, &start, most)?;
            ways.push((begins, BEGINS_NAME));
        }
        Ok(Node::Best(ways))
    }

    /// The first terms of a field that begin so.
    fn first_terms(&self, field: Field, start: &str, most: usize) -> Result<Set, SearchError> {
        let start = start.to_owned();
        if most == usize::MAX {
            return Ok(Set::Prefix(field, start));
        }
        let last = last_of_first_terms(self.searcher, field, &start, most)?;
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
        let whole = self.begins_name(&fold(prefix));
        let mut ways = Vec::from(whole.map(|set| (set, WORD + IN_NAME)));
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

    fn wildcard(&self, pattern: &str) -> Node {
        let places = [
            (self.fields.whole_name, IN_NAME),
            (self.fields.name, BEGINS_NAME_WORD),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
        ];
        let ways = places.iter().flat_map(|(field, step)| {
            let sets = self.like(*field, pattern).into_iter();
            sets.map(|set| (set, WORD + *step))
        });
        Node::Best(ways.collect())
    }

    /// Documents with a term like the pattern. A pattern that the automaton cannot have is like nothing.
    fn like(&self, field: Field, pattern: &str) -> Vec<Set> {
        let pattern = fold(pattern);
        let mut regex = String::new();
        if field == self.fields.whole_name {
            regex.push(LAST_PART_MARK);
            regex.push('?');
        }
        // Words stand without the `s` of their plural, so `o*s` finds more than it says.
        let singular = pattern
            .strip_suffix('s')
            .filter(|_| field != self.fields.whole_name);
        for character in singular.unwrap_or(&pattern).chars() {
            match character {
                '*' => regex.push_str(".*"),
                '?' => regex.push('.'),
                character if character.is_alphanumeric() || character == '_' => {
                    regex.push(character);
                }
                character => {
                    regex.push('\\');
                    regex.push(character);
                }
            }
        }
        if singular.is_some() {
            regex.push_str("s?");
        }
        let query = RegexQuery::from_pattern(&regex, field).ok();
        let set = |query| Set::Query(Box::new(query) as Box<dyn Query>);
        query.into_iter().map(set).collect()
    }

    fn phrase(&self, phrase: &str) -> Node {
        let ways = [
            (self.fields.name, IN_NAME, name_words(phrase)),
            (self.fields.column, IN_COLUMN, name_words(phrase)),
            (self.fields.description, IN_DESCRIPTION, text_words(phrase)),
            (self.fields.other, IN_OTHER, text_words(phrase)),
        ]
        .into_iter()
        .map(|(field, step, tokens)| (in_order(field, &tokens), WORD + step));
        Node::Best(ways.collect())
    }
}

/// Parts that only say what is not wanted mean everything else.
fn with_all_but(mut parts: Vec<(Occur, Node)>) -> Vec<(Occur, Node)> {
    if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        parts.push((Occur::Must, Node::All));
    }
    parts
}

/// How a name, or the beginning of one, stands in the index as a name and as a last part of one.
fn written_names(name: &str) -> [String; 2] {
    [name.to_owned(), format!("{LAST_PART_MARK}{name}")]
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

/// The smallest parts of a word.
fn parts(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    tokens.iter().filter(|token| !token.joined)
}

/// What several parts of a word are together.
fn joined(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    tokens.iter().filter(|token| token.joined)
}

/// All parts of a word, or the whole of it in one piece.
fn all_parts(field: Field, tokens: &[Token]) -> Vec<Set> {
    let mut terms: Vec<Term> = joined(tokens)
        .map(|token| Term::from_field_text(field, &token.text))
        .collect();
    let mut parts: Vec<&Token> = parts(tokens).collect();
    if let [part] = parts[..] {
        terms.push(Term::from_field_text(field, &part.text));
        terms.push(Term::from_field_text(field, &pair(&part.text)));
        parts.clear();
    }
    let mut sets = vec![Set::Terms(terms)];
    if !parts.is_empty() {
        let every = parts.iter().map(|token| term_set(field, &token.text));
        sets.push(Set::Every(every.collect()));
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

/// All parts; those that nothing has may be typed wrong.
fn nearly(field: Field, tokens: &[Token], unknown: &[&str]) -> Set {
    let queries: Vec<Box<dyn Query>> = parts(tokens)
        .map(|token| {
            let term = Term::from_field_text(field, &token.text);
            if !unknown.contains(&token.text.as_str()) {
                return term_query(term);
            }
            let typos = allowed_typos(&token.text);
            Box::new(FuzzyTermQuery::new(term, typos, true)) as Box<dyn Query>
        })
        .collect();
    Set::Query(Box::new(BooleanQuery::intersection(queries)))
}

fn in_order(field: Field, tokens: &[Token]) -> Set {
    phrase_query(field, tokens).map_or_else(|| Set::Terms(Vec::new()), Set::Query)
}

/// All parts, one behind the other; `None` if there is none.
pub(crate) fn phrase_query(field: Field, tokens: &[Token]) -> Option<Box<dyn Query>> {
    let mut terms: Vec<(usize, Term)> = parts(tokens)
        .map(|token| (token.position, Term::from_field_text(field, &token.text)))
        .collect();
    Some(match terms.len() {
        0 | 1 => term_query(terms.pop()?.1),
        _ => Box::new(PhraseQuery::new_with_offset(terms)),
    })
}
