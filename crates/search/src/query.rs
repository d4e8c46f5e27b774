//! From what was typed to a query of the index, with its scores.
//!
//! A score says how a document matches and nothing about how often: each word that matches is worth a base, so that all
//! words beat some words, plus a step for where it matches, so that a name beats a column and a column a description. Words
//! that few documents have are worth more. What is left equal is decided by the document's rank ([`crate::collect`]).

use std::collections::HashSet;

use tantivy::collector::TopDocs;
use tantivy::query::{
    AllQuery, BooleanQuery, ConstScoreQuery, DisjunctionMaxQuery, EmptyQuery, FuzzyTermQuery,
    Occur, PhraseQuery, Query, RegexQuery, TermQuery, TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use crate::analysis::{Token, fold, name_words, text_words};
use crate::document::ENTITY_TYPE;
use crate::error::SearchError;
use crate::filter::{Filters, canonical, column_values, each_term};
use crate::language::{self, Clause};
use crate::request::{Criterion, Operator};
use crate::schema::Fields;

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
    pub(crate) searcher: &'s Searcher,
    pub(crate) fields: &'s Fields,
}

type Clauses = Vec<(Occur, Box<dyn Query>)>;

impl Translator<'_> {
    /// `None` if the query matches everything.
    pub(crate) fn translate(
        &self,
        query: &language::Query,
    ) -> Result<Option<Box<dyn Query>>, SearchError> {
        if query.clauses.is_empty() {
            return Ok(None);
        }
        let words = self.group(query, true)?;
        let Some(plain) = query.plain.as_deref() else {
            return Ok(Some(words));
        };
        let typed = fold(plain.trim());
        let exact = Term::from_field_text(self.fields.exact_name, &typed);
        let mut clauses: Clauses = vec![
            (Occur::Must, words),
            (Occur::Should, worth(term_query(exact.clone()), EXACT_NAME)),
        ];
        if typed.chars().count() >= MIN_NAME_PREFIX {
            let begins = FuzzyTermQuery::new_prefix(exact, 0, true);
            clauses.push((Occur::Should, worth(Box::new(begins), BEGINS_NAME)));
        }
        Ok(Some(Box::new(BooleanQuery::new(clauses))))
    }

    fn group(
        &self,
        query: &language::Query,
        outermost: bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let mut clauses: Clauses = Vec::new();
        let count = query.clauses.len();
        for (at, Clause { occur, term }) in query.clauses.iter().enumerate() {
            // The last word may not have been typed to its end.
            let unfinished = outermost && at + 1 == count && query.plain.is_some();
            let occur = match occur {
                language::Occur::Should => Occur::Should,
                language::Occur::Must => Occur::Must,
                language::Occur::MustNot => Occur::MustNot,
            };
            clauses.push((occur, self.term(term, unfinished)?));
        }
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, Box::new(AllQuery)));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    fn term(&self, term: &language::Term, unfinished: bool) -> Result<Box<dyn Query>, SearchError> {
        match term {
            language::Term::Word(word) => self.word(word, unfinished),
            language::Term::Prefix(prefix) => Ok(self.prefix(prefix)),
            language::Term::Wildcard(pattern) => Ok(self.wildcard(pattern)),
            language::Term::Phrase(phrase) => Ok(self.phrase(phrase)),
            language::Term::Field { field, term } => self.field(field, term),
            language::Term::Group(query) => self.group(query, false),
        }
    }

    fn word(&self, word: &str, unfinished: bool) -> Result<Box<dyn Query>, SearchError> {
        if word.starts_with("urn:") {
            let urn = Term::from_field_text(self.fields.urn, word);
            return Ok(worth(term_query(urn), EXACT_URN));
        }
        let tokens = name_words(word);
        if tokens.is_empty() {
            return Ok(Box::new(EmptyQuery));
        }
        let places = [
            (self.fields.name, IN_NAME),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
            (self.fields.other, IN_OTHER),
        ];
        let (weight, unknown) = self.weight(&tokens, &places)?;
        let worth_of = |step: f32| weight.max(LEAST_WEIGHT) * (WORD + step);
        let mut ways: Vec<Box<dyn Query>> = places
            .iter()
            .map(|(field, step)| worth(all_parts(*field, &tokens), worth_of(*step)))
            .collect();
        let labels = self.labels(word)?;
        if !labels.is_empty() {
            ways.push(worth(
                Box::new(TermSetQuery::new(labels)),
                worth_of(IN_LABEL),
            ));
        }
        if unfinished && word.chars().count() >= MIN_WORD_PREFIX {
            for (field, step) in [
                (self.fields.name, BEGINS_NAME_WORD),
                (self.fields.column, BEGINS_COLUMN_WORD),
                (self.fields.description, BEGINS_DESCRIPTION_WORD),
            ] {
                ways.push(worth(begins(field, &tokens), worth_of(step)));
            }
        }
        if !unknown.is_empty() {
            for (field, step) in places {
                ways.push(worth(
                    nearly(field, &tokens, &unknown),
                    worth_of(step - TYPO),
                ));
            }
        }
        Ok(Box::new(DisjunctionMaxQuery::new(ways)))
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
                let term = Term::from_field_text(*field, &token.text);
                frequency = self.searcher.doc_freq(&term)?.max(frequency);
            }
            if frequency == 0 {
                unknown.push(token.text.as_str());
            }
            let weight = (1.0 + total / (frequency as f32 + 1.0)).ln() / (1.0 + total).ln();
            rarest = Some(rarest.map_or(weight, |rarest| rarest.max(weight)));
        }
        Ok((rarest.unwrap_or(0.0).clamp(0.01, 1.0), unknown))
    }

    /// The terms of entities that carry a label of this name.
    fn labels(&self, word: &str) -> Result<Vec<Term>, SearchError> {
        let urns = self.label_urns(word)?;
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
    pub(crate) fn label_urns(&self, word: &str) -> Result<HashSet<String>, SearchError> {
        let tokens = name_words(word);
        let mut urns: HashSet<String> = HashSet::new();
        let lower = word.to_lowercase();
        for kind in LABEL_TYPES {
            urns.insert(format!("urn:li:{kind}:{lower}"));
        }
        let filters = Filters {
            searcher: self.searcher,
            fields: self.fields,
        };
        let kinds: Vec<String> = LABEL_TYPES.iter().map(ToString::to_string).collect();
        let named = BooleanQuery::new(vec![
            (Occur::Must, filters.equal(ENTITY_TYPE, &kinds)),
            (Occur::Must, all_parts(self.fields.name, &tokens)),
        ]);
        let found = self
            .searcher
            .search(&named, &TopDocs::with_limit(MAX_LABELS).order_by_score())?;
        for (_, address) in found {
            urns.extend(column_values(self.searcher, address, crate::schema::URN)?);
        }
        Ok(urns)
    }

    /// Names that begin with what was typed.
    ///
    /// Where more names begin so than anybody reads, the first of them stand for all.
    pub(crate) fn name_prefix(&self, typed: &str) -> Result<Box<dyn Query>, SearchError> {
        let tokens = name_words(typed);
        let parts: Vec<&Token> = parts(&tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(Box::new(AllQuery));
        };
        let whole = fold(typed);
        let mut words: Vec<Box<dyn Query>> = complete
            .iter()
            .map(|token| term_query(Term::from_field_text(self.fields.name, &token.text)))
            .collect();
        words.push(self.first_terms(self.fields.name, &last.text)?);
        Ok(Box::new(DisjunctionMaxQuery::new(vec![
            worth(
                term_query(Term::from_field_text(self.fields.exact_name, &whole)),
                EXACT_NAME,
            ),
            worth(
                self.first_terms(self.fields.exact_name, &whole)?,
                BEGINS_NAME,
            ),
            worth(Box::new(BooleanQuery::intersection(words)), WORD),
        ])))
    }

    /// The first terms of a field that begin so.
    fn first_terms(&self, field: Field, start: &str) -> Result<Box<dyn Query>, SearchError> {
        let mut terms = HashSet::new();
        each_term(self.searcher, field, start, MAX_COMPLETIONS, |text| {
            terms.insert(Term::from_field_text(field, text));
        })?;
        Ok(Box::new(TermSetQuery::new(terms)))
    }

    fn prefix(&self, prefix: &str) -> Box<dyn Query> {
        let tokens = name_words(prefix);
        if tokens.is_empty() {
            return Box::new(AllQuery);
        }
        let whole = Term::from_field_text(self.fields.exact_name, &fold(prefix));
        Box::new(DisjunctionMaxQuery::new(vec![
            worth(
                Box::new(FuzzyTermQuery::new_prefix(whole, 0, true)),
                WORD + IN_NAME,
            ),
            worth(begins(self.fields.name, &tokens), WORD + BEGINS_NAME_WORD),
            worth(
                begins(self.fields.column, &tokens),
                WORD + BEGINS_COLUMN_WORD,
            ),
            worth(
                begins(self.fields.description, &tokens),
                WORD + IN_DESCRIPTION,
            ),
            worth(begins(self.fields.other, &tokens), WORD + IN_OTHER),
        ]))
    }

    fn wildcard(&self, pattern: &str) -> Box<dyn Query> {
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
        let mut ways: Vec<Box<dyn Query>> = Vec::new();
        for (field, step) in [
            (self.fields.exact_name, IN_NAME),
            (self.fields.name, BEGINS_NAME_WORD),
            (self.fields.column, IN_COLUMN),
            (self.fields.description, IN_DESCRIPTION),
        ] {
            // A pattern that the automaton cannot have matches nothing.
            if let Ok(query) = RegexQuery::from_pattern(&regex, field) {
                ways.push(worth(Box::new(query), WORD + step));
            }
        }
        Box::new(DisjunctionMaxQuery::new(ways))
    }

    fn phrase(&self, phrase: &str) -> Box<dyn Query> {
        Box::new(DisjunctionMaxQuery::new(
            [
                (self.fields.name, IN_NAME, name_words(phrase)),
                (self.fields.column, IN_COLUMN, name_words(phrase)),
                (self.fields.description, IN_DESCRIPTION, text_words(phrase)),
                (self.fields.other, IN_OTHER, text_words(phrase)),
            ]
            .into_iter()
            .map(|(field, step, tokens)| worth(in_order(field, &tokens), WORD + step))
            .collect(),
        ))
    }

    fn field(&self, field: &str, term: &language::Term) -> Result<Box<dyn Query>, SearchError> {
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
            "name" | "_entityName" | "displayName" | "title" => Some(self.fields.name),
            "fieldPaths" | "column" | "columns" => Some(self.fields.column),
            "description"
            | "editedDescription"
            | "fieldDescriptions"
            | "editedFieldDescriptions" => Some(self.fields.description),
            _ => None,
        };
        let query = match (text_field, term) {
            (_, language::Term::Group(group)) => {
                let mut clauses: Clauses = Vec::new();
                for clause in &group.clauses {
                    let occur = match clause.occur {
                        language::Occur::Should => Occur::Should,
                        language::Occur::Must => Occur::Must,
                        language::Occur::MustNot => Occur::MustNot,
                    };
                    clauses.push((occur, self.field(field, &clause.term)?));
                }
                return Ok(Box::new(BooleanQuery::new(clauses)));
            }
            (_, language::Term::Field { term, .. }) => return self.field(field, term),
            (_, language::Term::Prefix(prefix)) if prefix.is_empty() => {
                filters.criterion(&criterion(Operator::Exists, Vec::new()))?
            }
            (Some(text), language::Term::Word(word)) => all_parts(text, &name_words(word)),
            (Some(text), language::Term::Phrase(phrase)) => in_order(text, &name_words(phrase)),
            (Some(text), language::Term::Prefix(prefix)) => begins(text, &name_words(prefix)),
            (None, language::Term::Word(value) | language::Term::Phrase(value)) => {
                self.keyword(&filters, &name, value)?
            }
            (None, language::Term::Prefix(value)) => {
                filters.criterion(&criterion(Operator::StartsWith, vec![value.clone()]))?
            }
            (_, language::Term::Wildcard(pattern)) => {
                let pieces: Vec<String> = pattern
                    .split(['*', '?'])
                    .filter(|piece| !piece.is_empty())
                    .map(str::to_owned)
                    .collect();
                filters.criterion(&criterion(Operator::Contains, pieces))?
            }
        };
        Ok(worth(query, WORD))
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
        let start = crate::schema::term_text(field, "");
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

fn worth(query: Box<dyn Query>, score: f32) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(query, score))
}

fn term_query(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// The smallest parts of a word.
fn parts(tokens: &[Token]) -> impl Iterator<Item = &Token> {
    tokens.iter().filter(|token| !token.joined)
}

/// All parts of a word, or the whole of it in one piece.
fn all_parts(field: Field, tokens: &[Token]) -> Box<dyn Query> {
    let term = |token: &Token| term_query(Term::from_field_text(field, &token.text));
    let mut parts: Vec<Box<dyn Query>> = parts(tokens).map(term).collect();
    let together = if parts.len() == 1 {
        parts.remove(0)
    } else {
        Box::new(BooleanQuery::intersection(parts))
    };
    let mut ways: Vec<Box<dyn Query>> = tokens
        .iter()
        .filter(|token| token.joined)
        .map(term)
        .collect();
    if ways.is_empty() {
        return together;
    }
    ways.push(together);
    Box::new(BooleanQuery::union(ways))
}

/// All parts, the last of which may go on.
fn begins(field: Field, tokens: &[Token]) -> Box<dyn Query> {
    let parts: Vec<&Token> = parts(tokens).collect();
    let Some((last, complete)) = parts.split_last() else {
        return Box::new(EmptyQuery);
    };
    let mut queries: Vec<Box<dyn Query>> = complete
        .iter()
        .map(|token| term_query(Term::from_field_text(field, &token.text)))
        .collect();
    let last = Term::from_field_text(field, &last.text);
    queries.push(Box::new(FuzzyTermQuery::new_prefix(last, 0, true)));
    if queries.len() == 1 {
        return queries.remove(0);
    }
    Box::new(BooleanQuery::intersection(queries))
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
fn nearly(field: Field, tokens: &[Token], unknown: &[&str]) -> Box<dyn Query> {
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
    Box::new(BooleanQuery::intersection(queries))
}

fn in_order(field: Field, tokens: &[Token]) -> Box<dyn Query> {
    let mut terms: Vec<(usize, Term)> = parts(tokens)
        .map(|token| (token.position, Term::from_field_text(field, &token.text)))
        .collect();
    match terms.len() {
        0 => Box::new(EmptyQuery),
        1 => term_query(terms.remove(0).1),
        _ => Box::new(PhraseQuery::new_with_offset(terms)),
    }
}
