//! From what was typed to a query of the index, with its scores.
//!
//! A score says how a document matches and nothing about how often: each word that matches is worth a base, so that all
//! words beat some words, plus a step for where it matches, so that a name beats a column and a column a description. Words
//! that few documents have are worth more. What is left equal is decided by the document's rank ([`crate::collect`]).

mod divided;

use std::cell::RefCell;
use std::collections::HashSet;

use tantivy::query::{
    BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query, RegexQuery, TermSetQuery,
};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::{Token, fold, name_words, pair, text_words};
use crate::document::ENTITY_TYPE;
use crate::error::SearchError;
use crate::filter::{Filters, canonical, each_term, term_query};
use crate::kept::{Kept, text_of};
use crate::language::{self, Clause};
use crate::matching::{Node, Segment, Set};
use crate::request::{Criterion, Operator};
use crate::schema::{Fields, write_term};

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

/// How many terms are looked at to complete a name.
const MAX_COMPLETIONS: usize = 200;

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
const LABEL_FIELDS: [&str; 11] = [
    "domains",
    "tags",
    "glossaryTerms",
    "owners",
    "platform",
    "fieldTags",
    "fieldGlossaryTerms",
    "editedFieldTags",
    "editedFieldGlossaryTerms",
    "dataProducts",
    "container",
];

pub(crate) struct Translator<'s> {
    searcher: &'s Searcher,
    fields: &'s Fields,
    kept: &'s Kept,
    /// The tags, terms, domains … that words of the query stand for.
    labels: RefCell<HashSet<String>>,
}

impl<'s> Translator<'s> {
    pub(crate) fn new(searcher: &'s Searcher, fields: &'s Fields, kept: &'s Kept) -> Self {
        Self {
            searcher,
            fields,
            kept,
            labels: RefCell::default(),
        }
    }

    /// The tags, terms, domains … that words of the query stand for.
    pub(crate) fn into_labels(self) -> HashSet<String> {
        self.labels.into_inner()
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
        let exact = term_set(self.fields.whole_name, &typed);
        let mut parts = vec![
            (Occur::Must, words),
            (Occur::Should, Node::one(exact, EXACT_NAME)),
        ];
        if typed.chars().count() >= MIN_NAME_PREFIX {
            let begins = Set::Prefix(self.fields.whole_name, typed);
            parts.push((Occur::Should, Node::one(begins, BEGINS_NAME)));
        }
        Ok(Some(Node::Group(parts)))
    }

    fn group(&self, query: &language::Query, outermost: bool) -> Result<Node, SearchError> {
        let mut parts = Vec::new();
        let count = query.clauses.len();
        for (at, Clause { occur, term }) in query.clauses.iter().enumerate() {
            // The last word may not have been typed to its end.
            let unfinished = outermost && at + 1 == count && query.plain.is_some();
            parts.push((occur_of(*occur), self.term(term, unfinished)?));
        }
        if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            parts.push((Occur::Must, Node::All));
        }
        Ok(Node::Group(parts))
    }

    fn term(&self, term: &language::Term, unfinished: bool) -> Result<Node, SearchError> {
        match term {
            language::Term::Word(word) => self.word(word, unfinished),
            language::Term::Prefix(prefix) => self.prefix(prefix),
            language::Term::Wildcard(pattern) => Ok(self.wildcard(pattern)),
            language::Term::Phrase(phrase) => Ok(self.phrase(phrase)),
            language::Term::Field { field, term } => self.field(field, term),
            language::Term::Group(query) => self.group(query, false),
        }
    }

    fn word(&self, word: &str, unfinished: bool) -> Result<Node, SearchError> {
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
        if unfinished && word.chars().count() >= MIN_WORD_PREFIX {
            for (field, step) in [
                (self.fields.name, BEGINS_NAME_WORD),
                (self.fields.column, BEGINS_COLUMN_WORD),
                (self.fields.description, BEGINS_DESCRIPTION_WORD),
            ] {
                let begins = self.begins(field, &tokens)?;
                ways.extend(begins.map(|set| (set, worth_of(step))));
            }
        }
        if !unknown.is_empty() {
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

    /// Names that begin with what was typed.
    ///
    /// Where more names begin so than anybody reads, the first of them stand for all.
    pub(crate) fn name_prefix(&self, typed: &str) -> Result<Node, SearchError> {
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
        words.push(self.first_terms(name, &last.text)?);
        let names = self.fields.whole_name;
        Ok(Node::Best(vec![
            (term_set(names, &whole), EXACT_NAME),
            (self.first_terms(names, &whole)?, BEGINS_NAME),
            (Set::Every(words), WORD),
        ]))
    }

    /// The first terms of a field that begin so.
    fn first_terms(&self, field: Field, start: &str) -> Result<Set, SearchError> {
        let mut terms = HashSet::new();
        each_term(self.searcher, field, start, MAX_COMPLETIONS, |text| {
            terms.insert(Term::from_field_text(field, text));
        })?;
        Ok(Set::Terms(terms.into_iter().collect()))
    }

    fn prefix(&self, prefix: &str) -> Result<Node, SearchError> {
        let tokens = name_words(prefix);
        if tokens.is_empty() {
            return Ok(Node::All);
        }
        let whole = Set::Prefix(self.fields.whole_name, fold(prefix));
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

    fn wildcard(&self, pattern: &str) -> Node {
        let mut regex = String::new();
        for character in fold(pattern).chars() {
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
        let mut ways = Vec::new();
        for (field, step) in [
            (self.fields.whole_name, IN_NAME),
            (self.fields.name, BEGINS_NAME_WORD),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
        ] {
            // A pattern that the automaton cannot have matches nothing.
            if let Ok(query) = RegexQuery::from_pattern(&regex, field) {
                ways.push((Set::Query(Box::new(query)), WORD + step));
            }
        }
        Node::Best(ways)
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

    fn field(&self, field: &str, term: &language::Term) -> Result<Node, SearchError> {
        let filters = Filters {
            searcher: self.searcher,
            fields: self.fields,
        };
        let criterion = |operator, values: Vec<String>| Criterion {
            field: field.to_owned(),
            values,
            operator,
            negated: false,
        };
        let name = canonical(field);
        let text_field = match name.as_str() {
            "name" | "displayName" | "title" => Some(self.fields.name),
            "fieldPaths" | "column" | "columns" => Some(self.fields.column),
            "description"
            | "editedDescription"
            | "fieldDescriptions"
            | "editedFieldDescriptions" => Some(self.fields.description),
            _ => None,
        };
        let set = match (text_field, term) {
            (_, language::Term::Group(group)) => {
                let mut parts = Vec::new();
                for clause in &group.clauses {
                    parts.push((occur_of(clause.occur), self.field(field, &clause.term)?));
                }
                return Ok(Node::Group(parts));
            }
            (_, language::Term::Field { term, .. }) => return self.field(field, term),
            (_, language::Term::Prefix(prefix)) if prefix.is_empty() => {
                Set::Query(filters.criterion(&criterion(Operator::Exists, Vec::new()))?)
            }
            (Some(text), language::Term::Word(word)) => {
                let sets = all_parts(text, &name_words(word)).into_iter();
                return Ok(Node::Best(sets.map(|set| (set, WORD)).collect()));
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
                let starts = criterion(Operator::StartsWith, vec![value.clone()]);
                Set::Query(filters.criterion(&starts)?)
            }
            (_, language::Term::Wildcard(pattern)) => {
                let pieces: Vec<String> = pattern
                    .split(['*', '?'])
                    .filter(|piece| !piece.is_empty())
                    .map(str::to_owned)
                    .collect();
                Set::Query(filters.criterion(&criterion(Operator::Contains, pieces))?)
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
        let by_value = filters.matching(field, |value| {
            let value = value.to_lowercase();
            let last = value.rsplit(':').next().unwrap_or_default();
            value == wanted || (value.starts_with("urn:") && last == wanted)
        })?;
        let mut start = String::new();
        write_term(&mut start, field, "");
        let labels = self.labels(value)?.into_iter().filter(|term| {
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
    let mut terms: Vec<(usize, Term)> = parts(tokens)
        .map(|token| (token.position, Term::from_field_text(field, &token.text)))
        .collect();
    match terms.len() {
        0 => Set::Terms(Vec::new()),
        1 => Set::Terms(vec![terms.remove(0).1]),
        _ => Set::Query(Box::new(PhraseQuery::new_with_offset(terms))),
    }
}
