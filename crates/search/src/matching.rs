//! Evaluates a query on a segment: which documents match, and with what score.
//!
//! A query is a tree of [`QueryNode`]s whose leaves are sets of documents, each with a score. The
//! sets of a leaf are written in ascending order of score into an array with one byte for each
//! document, which ends up with the best score of each. That takes a few nanoseconds per posting,
//! whatever the number of words and fields. A union that advances document by document takes ten
//! times as long.
//!
//! This module must not know what the sets mean or how results are ordered.

use tantivy::query::{EnableScoring, Occur, Query};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::bits::Bits;
use crate::budget::SearchBudget;
use crate::pattern;
use crate::segment_cache::SegmentCache;
use crate::whole_name::{RangeTest, TextRange};

/// How many scores one byte can select, besides none.
const MAX_SCORES: usize = 255;

/// A set of documents.
pub(crate) enum DocumentSet {
    /// With any of the terms.
    Terms(Vec<Term>),
    /// With any term of the field that has this prefix.
    Prefix(Field, String),
    /// The same, with terms up to the last one given.
    PrefixUpTo(Field, String, String),
    /// With any term of the field that has the prefix `start` and matches one of the patterns.
    Pattern {
        field: Field,
        start: String,
        patterns: Vec<String>,
    },
    /// In all of these sets.
    Intersection(Vec<DocumentSet>),
    /// The documents of the set that have a whole name in one of the ranges.
    WithName(Box<DocumentSet>, Vec<TextRange>),
    Query(Box<dyn Query>),
}

/// A part of a query.
pub(crate) enum QueryNode {
    All,
    /// Matches any of the sets, with the highest score among them.
    BestOf(Vec<(DocumentSet, f32)>),
    /// Scores the sum of its parts.
    Group(Vec<(Occur, QueryNode)>),
    /// The same, with a bonus that ranks documents matching all positive parts above the others.
    Words(Vec<(Occur, QueryNode)>),
}

impl QueryNode {
    /// Matches nothing.
    pub(crate) fn nothing() -> Self {
        Self::BestOf(Vec::new())
    }

    pub(crate) fn single(set: DocumentSet, score: f32) -> Self {
        Self::BestOf(vec![(set, score)])
    }

    /// The highest score that a document can have.
    pub(crate) fn max_score(&self) -> f32 {
        let sum = |parts: &[(Occur, QueryNode)]| -> f32 {
            let positive = parts.iter().filter(|(occur, _)| *occur != Occur::MustNot);
            positive.map(|(_, node)| node.max_score()).sum()
        };
        match self {
            Self::All => 0.0,
            Self::BestOf(ways) => ways.iter().fold(0.0, |max, (_, score)| max.max(*score)),
            Self::Group(parts) => sum(parts),
            Self::Words(parts) => 2.0 * sum(parts),
        }
    }

    /// Whether its parts may match documents that it does not match.
    fn may_exclude(&self) -> bool {
        match self {
            Self::All | Self::BestOf(_) => false,
            Self::Group(parts) | Self::Words(parts) => {
                parts.iter().any(|(occur, _)| *occur != Occur::Should)
            }
        }
    }

    /// The bonus for matching all parts: the highest score that all parts together can give.
    fn all_terms_bonus(&self) -> f32 {
        match self {
            Self::Words(_) => self.max_score() / 2.0,
            Self::All | Self::BestOf(_) | Self::Group(_) => 0.0,
        }
    }
}

/// The matching documents of a segment.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) documents: Bits,
    /// The scores of each leaf that matched.
    found: Vec<BestScores>,
}

#[derive(Debug)]
struct BestScores {
    /// For each document, an index into `scores`.
    choice: Vec<u8>,
    /// The first is 0, for documents that do not match.
    scores: Vec<f32>,
}

impl Matches {
    pub(crate) fn all(len: usize) -> Self {
        Self {
            documents: Bits::full(len),
            found: Vec::new(),
        }
    }

    /// Resets the scores of documents that parts match but the whole does not.
    fn clear_excluded(&mut self) {
        for ways in &mut self.found {
            for (document, choice) in (0..).zip(&mut ways.choice) {
                if *choice > 0 && !self.documents.contains(document) {
                    *choice = 0;
                }
            }
        }
    }

    /// Raises the score of these documents.
    fn add_score(&mut self, documents: &Bits, bonus: f32) {
        // Doubles an existing list of scores instead of adding a leaf, so that a score stays a sum
        // of few numbers.
        let max_len = MAX_SCORES.div_ceil(2);
        let at = self.found.iter().position(|it| it.scores.len() <= max_len);
        let at = at.unwrap_or_else(|| {
            self.found.push(BestScores {
                choice: vec![0; documents.len()],
                scores: vec![0.0],
            });
            self.found.len() - 1
        });
        let ways = &mut self.found[at];
        let step = to_choice(ways.scores.len());
        let raised: Vec<f32> = ways.scores.iter().map(|score| score + bonus).collect();
        ways.scores.extend(raised);
        documents.for_each(|document| {
            if let Some(choice) = ways.choice.get_mut(document as usize) {
                *choice += step;
            }
        });
    }

    pub(crate) fn score(&self, document: DocId) -> f32 {
        self.found
            .iter()
            .map(|ways| ways.scores[usize::from(ways.choice[document as usize])])
            .sum()
    }
}

/// Evaluates queries on one segment.
pub(crate) struct SegmentSearcher<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) reader: &'s SegmentReader,
    pub(crate) cache: &'s SegmentCache,
    pub(crate) budget: &'s SearchBudget,
    /// Whether scores are needed.
    pub(crate) scored: bool,
}

impl<'s> SegmentSearcher<'s> {
    /// For sets of documents.
    pub(crate) fn unscored(
        searcher: &'s Searcher,
        reader: &'s SegmentReader,
        cache: &'s SegmentCache,
        budget: &'s SearchBudget,
    ) -> Self {
        Self {
            searcher,
            reader,
            cache,
            budget,
            scored: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.reader.max_doc() as usize
    }

    pub(crate) fn matches(&self, node: &QueryNode) -> tantivy::Result<Matches> {
        match node {
            QueryNode::All => Ok(Matches::all(self.len())),
            QueryNode::BestOf(ways) => self.best(ways),
            QueryNode::Group(parts) | QueryNode::Words(parts) => {
                self.group(parts, node.all_terms_bonus())
            }
        }
    }

    fn best(&self, sets: &[(DocumentSet, f32)]) -> tantivy::Result<Matches> {
        let mut documents = Bits::empty(self.len());
        if !self.scored {
            for (set, _) in sets {
                self.visit_set(set, &mut |found| {
                    for document in found {
                        documents.insert(*document);
                    }
                })?;
            }
            return Ok(Matches {
                documents,
                found: Vec::new(),
            });
        }
        let mut sets: Vec<&(DocumentSet, f32)> = sets.iter().collect();
        sets.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let mut ways = BestScores {
            choice: vec![0; self.len()],
            scores: vec![0.0],
        };
        for (set, score) in sets {
            if ways.scores.len() <= MAX_SCORES {
                ways.scores.push(*score);
            }
            let way = to_choice(ways.scores.len() - 1);
            self.visit_set(set, &mut |found| {
                for document in found {
                    documents.insert(*document);
                    if let Some(choice) = ways.choice.get_mut(*document as usize) {
                        *choice = way;
                    }
                }
            })?;
        }
        let found = if documents.is_empty() {
            Vec::new()
        } else {
            vec![ways]
        };
        Ok(Matches { documents, found })
    }

    fn group(&self, parts: &[(Occur, QueryNode)], bonus: f32) -> tantivy::Result<Matches> {
        let positive = parts.iter().filter(|(occur, _)| *occur != Occur::MustNot);
        let bonus = if positive.count() > 1 && self.scored {
            bonus
        } else {
            0.0
        };
        let mut in_all: Option<Bits> = None;
        let mut required: Option<Bits> = None;
        let mut optional = Bits::empty(self.len());
        let mut forbidden: Option<Bits> = None;
        let mut found = Vec::new();
        for (occur, node) in parts {
            let mut matches = self.matches(node)?;
            if node.may_exclude() {
                matches.clear_excluded();
            }
            if bonus > 0.0 && *occur != Occur::MustNot {
                match &mut in_all {
                    Some(in_all) => in_all.intersect_with(&matches.documents),
                    None => in_all = Some(matches.documents.clone()),
                }
            }
            match occur {
                Occur::Must => match &mut required {
                    Some(required) => required.intersect_with(&matches.documents),
                    None => required = Some(matches.documents),
                },
                Occur::Should => optional.union_with(&matches.documents),
                Occur::MustNot => {
                    match &mut forbidden {
                        Some(forbidden) => forbidden.union_with(&matches.documents),
                        None => forbidden = Some(matches.documents),
                    }
                    continue;
                }
            }
            found.extend(matches.found);
        }
        let mut documents = required.unwrap_or(optional);
        if let Some(forbidden) = forbidden {
            documents.subtract(&forbidden);
        }
        let mut matches = Matches { documents, found };
        if let Some(mut in_all) = in_all {
            in_all.intersect_with(&matches.documents);
            matches.add_score(&in_all, bonus);
        }
        Ok(matches)
    }

    pub(crate) fn set(&self, set: &DocumentSet) -> tantivy::Result<Bits> {
        let mut documents = Bits::empty(self.len());
        self.visit_set(set, &mut |found| {
            for document in found {
                documents.insert(*document);
            }
        })?;
        Ok(documents)
    }

    /// Calls `visit` with the documents of a set, in blocks. A document may occur more than once.
    fn visit_set(&self, set: &DocumentSet, visit: &mut dyn FnMut(&[DocId])) -> tantivy::Result<()> {
        self.budget.check()?;
        match set {
            DocumentSet::Terms(terms) => {
                for term in terms {
                    self.budget.step()?;
                    let inverted = self.reader.inverted_index(term.field())?;
                    let postings = inverted.read_block_postings(term, IndexRecordOption::Basic)?;
                    if let Some(mut postings) = postings {
                        visit_blocks(&mut postings, visit);
                    }
                }
                Ok(())
            }
            DocumentSet::Prefix(field, start) => {
                self.visit_terms(*field, start, None, &|_| true, visit)
            }
            DocumentSet::PrefixUpTo(field, start, last) => {
                self.visit_terms(*field, start, Some(last), &|_| true, visit)
            }
            DocumentSet::Pattern {
                field,
                start,
                patterns,
            } => {
                let is_like = |term: &[u8]| {
                    let term = std::str::from_utf8(term);
                    let like = |term| patterns.iter().any(|it| pattern::matches(it, term));
                    let is_like = term.is_ok_and(like);
                    if is_like {
                        self.budget.count_term();
                    }
                    is_like
                };
                self.visit_terms(*field, start, None, &is_like, visit)
            }
            DocumentSet::Intersection(sets) => {
                let Some((first, others)) = sets.split_first() else {
                    return Ok(());
                };
                let mut common = self.set(first)?;
                for set in others {
                    common.intersect_with(&self.set(set)?);
                }
                common.for_each(|document| visit(&[document]));
                Ok(())
            }
            DocumentSet::WithName(set, ranges) => {
                let columns = self.cache.columns(self.reader)?;
                let Some(names) = &columns.names else {
                    return Ok(());
                };
                let test = RangeTest::new(names, ranges)?;
                self.set(set)?.for_each(|document| {
                    if test.passes(document) {
                        visit(&[document]);
                    }
                });
                Ok(())
            }
            DocumentSet::Query(query) => {
                let scoring = EnableScoring::disabled_from_searcher(self.searcher);
                query.weight(scoring)?.for_each_no_score(self.reader, visit)
            }
        }
    }

    /// Visits the documents of all terms with a prefix, up to the last one, that pass the test.
    fn visit_terms(
        &self,
        field: Field,
        start: &str,
        last: Option<&String>,
        test: &dyn Fn(&[u8]) -> bool,
        visit: &mut dyn FnMut(&[DocId]),
    ) -> tantivy::Result<()> {
        let inverted = self.reader.inverted_index(field)?;
        let mut range = inverted.terms().range().ge(start.as_bytes());
        if let Some(last) = last {
            range = range.le(last.as_bytes());
        }
        let mut terms = range.into_stream()?;
        let mut postings = None;
        while terms.advance() && terms.key().starts_with(start.as_bytes()) {
            self.budget.step()?;
            if !test(terms.key()) {
                continue;
            }
            match &mut postings {
                Some(postings) => {
                    inverted.reset_block_postings_from_terminfo(terms.value(), postings)?;
                }
                None => {
                    postings = Some(inverted.read_block_postings_from_terminfo(
                        terms.value(),
                        IndexRecordOption::Basic,
                    )?);
                }
            }
            if let Some(postings) = &mut postings {
                visit_blocks(postings, visit);
            }
        }
        Ok(())
    }
}

/// An index into the scores of a leaf, of which there are at most [`MAX_SCORES`] besides the first.
fn to_choice(index: usize) -> u8 {
    u8::try_from(index).unwrap_or(u8::MAX)
}

fn visit_blocks(
    postings: &mut tantivy::postings::BlockSegmentPostings,
    visit: &mut dyn FnMut(&[DocId]),
) {
    while !postings.docs().is_empty() {
        visit(postings.docs());
        postings.advance();
    }
}
