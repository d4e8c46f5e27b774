//! Translates a parsed query to a scored query on the index.
//!
//! A score depends on where a document matches, not on how often. Each matching word adds a base
//! score and a bonus for its field, so that a name ranks above a column and a column above a
//! description. Rare words weigh more, and documents with all words rank above those with some
//! ([`QueryNode::Words`]). The document's rank decides between equal scores ([`crate::collect`]).

mod compound;
mod field_term;
mod labels;
mod names;
mod unknown_fields;
mod wildcard;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, PhraseQuery, Query};
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::{Token, fold, name_words, pair, text_words};
use crate::budget::SearchBudget;
use crate::error::SearchError;
use crate::language::{self, Clause};
use crate::matching::{DocumentSet, QueryNode};
use crate::phrase::{parts, phrase_query, term_query};
use crate::schema::Fields;
use crate::segment_cache::SegmentCache;
use crate::view::{View, ViewLookup};
use crate::walk::DictionaryWalk;
use names::{has_name, has_prefix_terms, name_starts_with};

pub(crate) use unknown_fields::parse_known_fields;

/// The base score of a matching word, and the bonus for its field.
const WORD_SCORE: f32 = 20.0;
const NAME_BONUS: f32 = 8.0;
const NAME_PREFIX_BONUS: f32 = 6.0;
const LABEL_BONUS: f32 = 5.0;
const LABEL_PREFIX_BONUS: f32 = 3.0;
const COLUMN_BONUS: f32 = 4.0;
const COLUMN_PREFIX_BONUS: f32 = 2.5;
const DESCRIPTION_BONUS: f32 = 1.0;
const DESCRIPTION_PREFIX_BONUS: f32 = 0.75;
const OTHER_BONUS: f32 = 0.5;
/// Subtracted if the parts of a word are not adjacent, and if the word has typos. Documents with
/// the word as typed rank first, whatever the field.
const SCATTERED_PENALTY: f32 = 9.0;
const TYPO_PENALTY: f32 = 9.0;

/// Added to the highest score that the words can give.
const EXACT_NAME_SCORE: f32 = 1000.0;
const NAME_PREFIX_SCORE: f32 = 100.0;
const EXACT_URN_SCORE: f32 = 2000.0;

/// The weight of the most common words.
const MIN_WEIGHT: f32 = 0.5;
/// Shorter prefixes are not searched, because they match too much.
const MIN_NAME_PREFIX: usize = 3;
const MIN_WORD_PREFIX: usize = 2;
/// Typos are allowed in the first words of a query only, because each takes a walk over the
/// dictionaries.
const MAX_FUZZY_WORDS: usize = 16;
/// A word in at most one part in this many of all documents, or in at most this many documents, may
/// be a typo in the data.
const RARE_SHARE: u64 = 100_000;
const RARE: u64 = 3;
/// Adjacency is checked only if the rarest word has at most this many documents, because it reads
/// all positions.
const MAX_PHRASE_CANDIDATES: u64 = 10_000;

/// How to match a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordMode {
    Exact,
    /// Allows typos.
    Fuzzy,
    /// Allows typos, and the word may be incomplete.
    FuzzyPrefix,
}

pub(crate) struct QueryTranslator<'s> {
    searcher: &'s Searcher,
    fields: &'s Fields,
    cache: &'s SegmentCache,
    budget: &'s SearchBudget,
    /// URNs of the labels (tags, terms, domains and so on) that words of the query matched.
    labels: RefCell<HashSet<String>>,
    /// What the caller may see; `None` for everything.
    view: Option<Rc<View>>,
    /// Whether there are more names to complete than were visited.
    truncated: Cell<bool>,
    /// How many terms were translated.
    terms: Cell<usize>,
}

/// What the index knows about a word of the query.
struct WordStats<'t> {
    /// From 1 for the rarest word to about 0 for one in every document.
    weight: f32,
    /// The parts that may be misspelled, and how many typos to allow in each.
    suspects: Vec<(&'t str, u8)>,
}

/// Documents with all parts of a word.
enum WordMatch {
    Adjacent(DocumentSet),
    Scattered(DocumentSet),
}

impl<'s> QueryTranslator<'s> {
    pub(crate) fn new(
        searcher: &'s Searcher,
        fields: &'s Fields,
        cache: &'s SegmentCache,
        budget: &'s SearchBudget,
    ) -> Self {
        Self {
            searcher,
            fields,
            cache,
            budget,
            labels: RefCell::default(),
            view: None,
            truncated: Cell::default(),
            terms: Cell::default(),
        }
    }

    /// The same, with labels that are among these documents only.
    pub(crate) fn with_view(mut self, view: Option<&Rc<View>>) -> Self {
        self.view = view.cloned();
        self
    }

    /// Decides which references the caller may use; `None` for all.
    pub(crate) fn view_lookup(&self) -> Option<ViewLookup<'s>> {
        self.view.as_ref().map(|view| ViewLookup {
            view: Rc::clone(view),
            searcher: self.searcher,
            fields: self.fields,
            cache: self.cache,
            budget: self.budget,
        })
    }

    /// URNs of the labels that words of the query matched.
    pub(crate) fn into_labels(self) -> HashSet<String> {
        self.labels.into_inner()
    }

    pub(crate) fn was_truncated(&self) -> bool {
        self.truncated.get()
    }

    /// `None` if the query matches everything.
    pub(crate) fn translate(
        &self,
        query: &language::Query,
    ) -> Result<Option<QueryNode>, SearchError> {
        if query.clauses.is_empty() {
            return Ok(None);
        }
        let words = self.group(query, true)?;
        let Some(plain) = query.plain.as_deref() else {
            return Ok(Some(words));
        };
        let typed = fold(plain.trim());
        let max_score = words.max_score();
        let exact = has_name(self.fields, &typed);
        let mut parts = vec![
            (Occur::Must, words),
            (
                Occur::Should,
                QueryNode::single(exact, max_score + EXACT_NAME_SCORE),
            ),
        ];
        if typed.chars().count() >= MIN_NAME_PREFIX {
            let begins = name_starts_with(self.fields, &typed);
            parts.push((
                Occur::Should,
                QueryNode::single(begins, max_score + NAME_PREFIX_SCORE),
            ));
        }
        Ok(Some(QueryNode::Group(parts)))
    }

    fn group(&self, query: &language::Query, outermost: bool) -> Result<QueryNode, SearchError> {
        let mut parts = Vec::new();
        let count = query.clauses.len();
        for (at, Clause { occur, term }) in query.clauses.iter().enumerate() {
            // The user may still be typing the last word.
            let unfinished = outermost && at + 1 == count && query.plain.is_some();
            let occur = occur_of(*occur);
            let mode = match occur {
                // Excluded words are not expanded.
                Occur::MustNot => WordMode::Exact,
                Occur::Should | Occur::Must => self.word_mode(unfinished),
            };
            parts.push((occur, self.term(term, mode)?));
        }
        Ok(QueryNode::Words(with_implied_all(parts)))
    }

    /// How to match the next term, if it is a word.
    fn word_mode(&self, unfinished: bool) -> WordMode {
        let before = self.terms.get();
        self.terms.set(before + 1);
        if before >= MAX_FUZZY_WORDS {
            WordMode::Exact
        } else if unfinished {
            WordMode::FuzzyPrefix
        } else {
            WordMode::Fuzzy
        }
    }

    fn term(&self, term: &language::Term, mode: WordMode) -> Result<QueryNode, SearchError> {
        match term {
            language::Term::Word(word) => self.word(word, mode),
            language::Term::Prefix(prefix) => self.prefix(prefix),
            language::Term::Wildcard(pattern) => self.wildcard(pattern),
            language::Term::Phrase(phrase) => self.phrase(phrase),
            language::Term::Field { field, term } => self.field(field, term),
            language::Term::Group(query) => self.group(query, false),
        }
    }

    fn word(&self, word: &str, mode: WordMode) -> Result<QueryNode, SearchError> {
        if language::is_urn(word) {
            let urn = DocumentSet::Terms(vec![self.fields.urn_term(word)]);
            return Ok(QueryNode::single(urn, EXACT_URN_SCORE));
        }
        let tokens = name_words(word);
        if tokens.is_empty() {
            // Some names consist of punctuation only.
            return Ok(QueryNode::single(
                has_name(self.fields, &fold(word)),
                WORD_SCORE,
            ));
        }
        let text_fields = [
            (self.fields.name, NAME_BONUS),
            (self.fields.column, COLUMN_BONUS),
            (self.fields.description, DESCRIPTION_BONUS),
            (self.fields.other, OTHER_BONUS),
        ];
        let labels = self.labels_named(word, &tokens)?;
        let WordStats { weight, suspects } =
            self.word_stats(&tokens, &text_fields, labels.documents)?;
        let score_of = |bonus: f32| weight.max(MIN_WEIGHT) * (WORD_SCORE + bonus);
        let mut alternatives: Vec<(DocumentSet, f32)> = Vec::new();
        for (field, bonus) in text_fields {
            alternatives.extend(self.as_typed(field, &tokens)?.into_iter().map(
                |found| match found {
                    WordMatch::Adjacent(set) => (set, score_of(bonus)),
                    WordMatch::Scattered(set) => (set, score_of(bonus - SCATTERED_PENALTY)),
                },
            ));
        }
        alternatives.push((DocumentSet::Terms(labels.terms), score_of(LABEL_BONUS)));
        if mode == WordMode::FuzzyPrefix && word.chars().count() >= MIN_WORD_PREFIX {
            for (field, bonus) in [
                (self.fields.name, NAME_PREFIX_BONUS),
                (self.fields.column, COLUMN_PREFIX_BONUS),
                (self.fields.description, DESCRIPTION_PREFIX_BONUS),
            ] {
                let is_one = parts(&tokens).nth(1).is_none();
                let begins = self.with_last_as_prefix(field, &tokens)?;
                let penalty = if is_one { 0.0 } else { SCATTERED_PENALTY };
                alternatives.extend(begins.map(|set| (set, score_of(bonus - penalty))));
                for term in undivided(field, &tokens).into_iter().filter(|_| !is_one) {
                    let start = term.value().as_str().unwrap_or_default().to_owned();
                    alternatives.push((DocumentSet::Prefix(field, start), score_of(bonus)));
                }
            }
            let labels = self.labels_with_prefix(word, &tokens)?;
            alternatives.push((DocumentSet::Terms(labels), score_of(LABEL_PREFIX_BONUS)));
        }
        if mode != WordMode::Exact && !suspects.is_empty() {
            for (field, bonus) in text_fields {
                alternatives.push((
                    fuzzy_parts(field, &tokens, &suspects),
                    score_of(bonus - TYPO_PENALTY),
                ));
            }
            let labels = self.labels_with_typos(&tokens, &suspects)?;
            alternatives.push((
                DocumentSet::Terms(labels),
                score_of(LABEL_BONUS - TYPO_PENALTY),
            ));
            for (field, bonus) in &text_fields[..2] {
                let divided = self.compound(*field, word, &tokens)?.into_iter();
                alternatives.extend(divided.map(|set| (set, score_of(*bonus))));
            }
        }
        Ok(QueryNode::BestOf(alternatives))
    }

    /// Looks up a word. `labelled` is the number of documents that have it as a label.
    fn word_stats<'t>(
        &self,
        tokens: &'t [Token],
        text_fields: &[(Field, f32)],
        labelled: u64,
    ) -> Result<WordStats<'t>, SearchError> {
        let documents = self.searcher.num_docs().max(1);
        let total = documents as f32;
        let rare = RARE.max(documents / RARE_SHARE);
        let mut rarest: Option<f32> = None;
        let mut suspects = Vec::new();
        for token in parts(tokens) {
            let mut frequency = labelled;
            for (field, _) in text_fields {
                for text in [&token.text, &pair(&token.text)] {
                    frequency = self.frequency(*field, text)?.max(frequency);
                }
            }
            let letters = token.text.as_str();
            // Numbers are rarely misspelled, and a similar number is something else.
            let is_number = letters.contains(|letter: char| letter.is_ascii_digit());
            if frequency == 0 {
                suspects.push((letters, allowed_typos(letters)));
            } else if frequency <= rare && !is_number && allowed_typos(letters) > 0 {
                suspects.push((letters, 1));
            }
            let weight = (1.0 + total / (frequency as f32 + 1.0)).ln() / (1.0 + total).ln();
            rarest = Some(rarest.map_or(weight, |rarest| rarest.max(weight)));
        }
        Ok(WordStats {
            weight: rarest.unwrap_or(0.0).clamp(0.01, 1.0),
            suspects,
        })
    }

    fn frequency(&self, field: Field, text: &str) -> tantivy::Result<u64> {
        self.searcher.doc_freq(&Term::from_field_text(field, text))
    }

    /// Documents with the word as typed.
    fn as_typed(&self, field: Field, tokens: &[Token]) -> Result<Vec<WordMatch>, SearchError> {
        let parts: Vec<&Token> = parts(tokens).collect();
        let mut adjacent = vec![DocumentSet::Terms(undivided(field, tokens))];
        if parts.len() < 2 {
            return Ok(adjacent.into_iter().map(WordMatch::Adjacent).collect());
        }
        let mut rarest = u64::MAX;
        for part in &parts {
            rarest = self.frequency(field, &part.text)?.min(rarest);
        }
        if rarest <= MAX_PHRASE_CANDIDATES {
            adjacent.push(in_order(field, tokens));
        }
        let mut alternatives: Vec<WordMatch> =
            adjacent.into_iter().map(WordMatch::Adjacent).collect();
        alternatives.push(WordMatch::Scattered(every(field, &parts)));
        Ok(alternatives)
    }

    /// Documents with all parts, where the last part may be a prefix.
    fn with_last_as_prefix(
        &self,
        field: Field,
        tokens: &[Token],
    ) -> Result<Option<DocumentSet>, SearchError> {
        let parts: Vec<&Token> = parts(tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(None);
        };
        if complete.is_empty() {
            let mut found = false;
            let walk = DictionaryWalk {
                limit: 1,
                ..self.walk()
            };
            walk.each_term(field, &last.text, |_| found = true)?;
            // Joined words are found by their first part if any word has this prefix.
            let start = if found {
                last.text.clone()
            } else {
                pair(&last.text)
            };
            return Ok(Some(DocumentSet::Prefix(field, start)));
        }
        let mut sets: Vec<DocumentSet> = complete
            .iter()
            .map(|token| term_set(field, &token.text))
            .collect();
        sets.push(DocumentSet::Prefix(field, last.text.clone()));
        Ok(Some(DocumentSet::Intersection(sets)))
    }

    /// Splits a word that no document has into adjacent words: `stgcustomerorders`.
    fn compound(
        &self,
        field: Field,
        word: &str,
        tokens: &[Token],
    ) -> Result<Vec<DocumentSet>, SearchError> {
        let [token] = tokens else {
            return Ok(Vec::new());
        };
        // The splitter removes the plural of the last part itself.
        let written = fold(&word[token.range.clone()]);
        let splits = compound::splits(self.searcher, field, &written)?;
        let phrase = |terms| DocumentSet::Query(Box::new(PhraseQuery::new(terms)));
        Ok(splits.into_iter().map(phrase).collect())
    }

    /// Names with a prefix: the first `limit` of them, and of names with a word that has the
    /// prefix.
    pub(crate) fn name_prefix(&self, typed: &str, limit: usize) -> Result<QueryNode, SearchError> {
        let tokens = name_words(typed);
        let parts: Vec<&Token> = parts(&tokens).collect();
        let Some((last, complete)) = parts.split_last() else {
            return Ok(QueryNode::All);
        };
        let whole = fold(typed);
        let name = self.fields.name;
        let mut words: Vec<DocumentSet> = complete
            .iter()
            .map(|token| term_set(name, &token.text))
            .collect();
        words.push(self.first_terms(name, &last.text, limit)?);
        let begins = if has_prefix_terms(&whole) {
            self.first_terms(self.fields.name_start, &whole, limit)?
        } else {
            name_starts_with(self.fields, &whole)
        };
        Ok(QueryNode::BestOf(vec![
            (has_name(self.fields, &whole), EXACT_NAME_SCORE),
            (DocumentSet::Intersection(words), WORD_SCORE),
            (begins, NAME_PREFIX_SCORE),
        ]))
    }

    fn walk(&self) -> DictionaryWalk<'s> {
        DictionaryWalk::over_all(self.searcher, self.budget)
    }

    /// The first terms of a field with a prefix.
    fn first_terms(
        &self,
        field: Field,
        start: &str,
        limit: usize,
    ) -> Result<DocumentSet, SearchError> {
        let start = start.to_owned();
        if limit == usize::MAX {
            return Ok(DocumentSet::Prefix(field, start));
        }
        let walk = DictionaryWalk {
            limit,
            ..self.walk()
        };
        let last = walk.last_of_first_terms(field, &start)?;
        self.truncated.set(self.truncated.get() || last.is_some());
        Ok(match last {
            Some(last) => DocumentSet::PrefixUpTo(field, start, last),
            None => DocumentSet::Prefix(field, start),
        })
    }

    fn prefix(&self, prefix: &str) -> Result<QueryNode, SearchError> {
        let tokens = name_words(prefix);
        if tokens.is_empty() {
            return Ok(QueryNode::All);
        }
        let whole = name_starts_with(self.fields, &fold(prefix));
        let mut alternatives = vec![(whole, WORD_SCORE + NAME_BONUS)];
        for (field, bonus) in [
            (self.fields.name, NAME_PREFIX_BONUS),
            (self.fields.column, COLUMN_PREFIX_BONUS),
            (self.fields.description, DESCRIPTION_BONUS),
            (self.fields.other, OTHER_BONUS),
        ] {
            let begins = self.with_last_as_prefix(field, &tokens)?;
            alternatives.extend(begins.map(|set| (set, WORD_SCORE + bonus)));
        }
        Ok(QueryNode::BestOf(alternatives))
    }

    fn phrase(&self, phrase: &str) -> Result<QueryNode, SearchError> {
        let mut alternatives: Vec<(DocumentSet, f32)> = [
            (self.fields.name, NAME_BONUS, name_words(phrase)),
            (self.fields.column, COLUMN_BONUS, name_words(phrase)),
            (
                self.fields.description,
                DESCRIPTION_BONUS,
                text_words(phrase),
            ),
            (self.fields.other, OTHER_BONUS, text_words(phrase)),
        ]
        .into_iter()
        .map(|(field, bonus, tokens)| (in_order(field, &tokens), WORD_SCORE + bonus))
        .collect();
        let labels = self.labels_with_phrase(phrase)?;
        alternatives.push((DocumentSet::Terms(labels), WORD_SCORE + LABEL_BONUS));
        Ok(QueryNode::BestOf(alternatives))
    }
}

/// A group of only excluded parts matches everything else.
fn with_implied_all(mut parts: Vec<(Occur, QueryNode)>) -> Vec<(Occur, QueryNode)> {
    if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
        parts.push((Occur::Must, QueryNode::All));
    }
    parts
}

fn occur_of(occur: language::Occur) -> Occur {
    match occur {
        language::Occur::Should => Occur::Should,
        language::Occur::Must => Occur::Must,
        language::Occur::MustNot => Occur::MustNot,
    }
}

fn term_set(field: Field, text: &str) -> DocumentSet {
    DocumentSet::Terms(vec![Term::from_field_text(field, text)])
}

/// The terms of a typed word as a whole.
fn undivided(field: Field, tokens: &[Token]) -> Vec<Term> {
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

fn every(field: Field, parts: &[&Token]) -> DocumentSet {
    let sets = parts.iter().map(|token| term_set(field, &token.text));
    DocumentSet::Intersection(sets.collect())
}

/// Documents with the word as a whole, or with all of its parts.
fn all_parts(field: Field, tokens: &[Token]) -> Vec<DocumentSet> {
    let parts: Vec<&Token> = parts(tokens).collect();
    let mut sets = vec![DocumentSet::Terms(undivided(field, tokens))];
    if parts.len() > 1 {
        sets.push(every(field, &parts));
    }
    sets
}

/// How many typos a word may have.
pub(crate) fn allowed_typos(word: &str) -> u8 {
    match word.chars().count() {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// Documents with all parts, allowing for typos in the suspects.
fn fuzzy_parts(field: Field, tokens: &[Token], suspects: &[(&str, u8)]) -> DocumentSet {
    let queries: Vec<Box<dyn Query>> = parts(tokens)
        .map(|token| {
            let term = Term::from_field_text(field, &token.text);
            match suspects.iter().find(|(text, _)| *text == token.text) {
                Some((_, typos)) => Box::new(FuzzyTermQuery::new(term, *typos, true)),
                None => term_query(term),
            }
        })
        .collect();
    DocumentSet::Query(Box::new(BooleanQuery::intersection(queries)))
}

fn in_order(field: Field, tokens: &[Token]) -> DocumentSet {
    phrase_query(field, tokens).map_or_else(|| DocumentSet::Terms(Vec::new()), DocumentSet::Query)
}
