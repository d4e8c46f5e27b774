//! Which documents a query finds, and what each of them is worth.
//!
//! A query is a tree of [`Node`]s whose leaves are sets of documents, each with what it is worth. The sets of a
//! segment are written one after the other, the worst first, into an array with a byte for each document; what stands there
//! in the end is the best way in which the document was found. That is a few nanoseconds for each posting, whatever
//! the number of words and fields, where a union that goes from document to document takes ten times as long.
//!
//! This module must not know what the sets mean, nor how results are ordered.

use tantivy::query::{EnableScoring, Occur, Query};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::bits::Bits;
use crate::kept::Kept;
use crate::named::{RangeTest, TextRange};
use crate::pattern;
use crate::work::Work;

/// So many ways to be found in have a byte's worth of numbers.
const MAX_WAYS: usize = 255;

/// A set of documents.
pub(crate) enum Set {
    /// With any of the terms.
    Terms(Vec<Term>),
    /// With any term of the field that begins so.
    Prefix(Field, String),
    /// The same, with terms up to this one.
    PrefixUpTo(Field, String, String),
    /// With any term of the field that begins with `start` and is like one of the patterns.
    Like {
        field: Field,
        start: String,
        patterns: Vec<String>,
    },
    /// In all of these sets.
    Every(Vec<Set>),
    /// Those of the set that have a name in one of the ranges.
    Among(Box<Set>, Vec<TextRange>),
    Query(Box<dyn Query>),
}

/// A part of a query.
pub(crate) enum Node {
    All,
    /// Found in any of these ways, and worth the best of them.
    Best(Vec<(Set, f32)>),
    /// Worth the sum of its parts.
    Group(Vec<(Occur, Node)>),
    /// The same; what all parts find, but for those that must not, comes before what only some of them find.
    Words(Vec<(Occur, Node)>),
}

impl Node {
    /// Finds nothing.
    pub(crate) fn nothing() -> Self {
        Self::Best(Vec::new())
    }

    pub(crate) fn one(set: Set, worth: f32) -> Self {
        Self::Best(vec![(set, worth)])
    }

    /// What no document can be worth more than.
    pub(crate) fn most(&self) -> f32 {
        let sum = |parts: &[(Occur, Node)]| -> f32 {
            let wanted = parts.iter().filter(|(occur, _)| *occur != Occur::MustNot);
            wanted.map(|(_, node)| node.most()).sum()
        };
        match self {
            Self::All => 0.0,
            Self::Best(ways) => ways.iter().fold(0.0, |most, (_, worth)| most.max(*worth)),
            Self::Group(parts) => sum(parts),
            Self::Words(parts) => 2.0 * sum(parts),
        }
    }

    /// Whether its parts may find documents that it does not find.
    fn may_forget(&self) -> bool {
        match self {
            Self::All | Self::Best(_) => false,
            Self::Group(parts) | Self::Words(parts) => {
                parts.iter().any(|(occur, _)| *occur != Occur::Should)
            }
        }
    }

    /// What its documents are worth more for being found by all parts: as much as all parts but one may be worth.
    fn for_all_parts(&self) -> f32 {
        match self {
            Self::Words(_) => self.most() / 2.0,
            Self::All | Self::Best(_) | Self::Group(_) => 0.0,
        }
    }
}

/// The documents of a segment that a query finds.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) documents: Bits,
    /// For each part of the query that found something, by which way it found each document.
    found: Vec<Ways>,
}

#[derive(Debug)]
struct Ways {
    /// For each document a place in `worth`.
    by: Vec<u8>,
    /// What is found in no way is worth nothing.
    worth: Vec<f32>,
}

impl Matches {
    pub(crate) fn all(len: usize) -> Self {
        Self {
            documents: Bits::all(len),
            found: Vec::new(),
        }
    }

    /// Makes documents that parts have found but not the whole worth nothing.
    fn forget_others(&mut self) {
        for ways in &mut self.found {
            for (document, by) in (0..).zip(&mut ways.by) {
                if *by > 0 && !self.documents.contains(document) {
                    *by = 0;
                }
            }
        }
    }

    /// Makes these documents worth so much more.
    fn add_worth(&mut self, documents: &Bits, more: f32) {
        // Each way once more with what is added, so that a score stays a sum of as few numbers.
        let most = MAX_WAYS.div_ceil(2);
        let at = self.found.iter().position(|it| it.worth.len() <= most);
        let at = at.unwrap_or_else(|| {
            self.found.push(Ways {
                by: vec![0; documents.len()],
                worth: vec![0.0],
            });
            self.found.len() - 1
        });
        let ways = &mut self.found[at];
        let step = ways.worth.len() as u8;
        let dearer: Vec<f32> = ways.worth.iter().map(|worth| worth + more).collect();
        ways.worth.extend(dearer);
        documents.each(|document| {
            if let Some(by) = ways.by.get_mut(document as usize) {
                *by += step;
            }
        });
    }

    /// What a document is worth.
    pub(crate) fn score(&self, document: DocId) -> f32 {
        self.found
            .iter()
            .map(|ways| ways.worth[usize::from(ways.by[document as usize])])
            .sum()
    }
}

/// Looks for documents in one segment.
pub(crate) struct Segment<'s> {
    pub(crate) searcher: &'s Searcher,
    pub(crate) reader: &'s SegmentReader,
    pub(crate) kept: &'s Kept,
    /// What the search may use.
    pub(crate) work: &'s Work,
    /// Whether anybody wants to know what the documents are worth.
    pub(crate) scored: bool,
}

impl Segment<'_> {
    pub(crate) fn len(&self) -> usize {
        self.reader.max_doc() as usize
    }

    pub(crate) fn matches(&self, node: &Node) -> tantivy::Result<Matches> {
        match node {
            Node::All => Ok(Matches::all(self.len())),
            Node::Best(ways) => self.best(ways),
            Node::Group(parts) | Node::Words(parts) => self.group(parts, node.for_all_parts()),
        }
    }

    fn best(&self, sets: &[(Set, f32)]) -> tantivy::Result<Matches> {
        let mut documents = Bits::none(self.len());
        if !self.scored {
            for (set, _) in sets {
                self.each(set, &mut |found| {
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
        let mut sets: Vec<&(Set, f32)> = sets.iter().collect();
        sets.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let mut ways = Ways {
            by: vec![0; self.len()],
            worth: vec![0.0],
        };
        for (set, worth) in sets {
            if ways.worth.len() <= MAX_WAYS {
                ways.worth.push(*worth);
            }
            let way = (ways.worth.len() - 1) as u8;
            self.each(set, &mut |found| {
                for document in found {
                    documents.insert(*document);
                    if let Some(by) = ways.by.get_mut(*document as usize) {
                        *by = way;
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

    fn group(&self, parts: &[(Occur, Node)], for_all: f32) -> tantivy::Result<Matches> {
        let wanted = parts.iter().filter(|(occur, _)| *occur != Occur::MustNot);
        let for_all = if wanted.count() > 1 && self.scored {
            for_all
        } else {
            0.0
        };
        let mut in_all: Option<Bits> = None;
        let mut required: Option<Bits> = None;
        let mut optional = Bits::none(self.len());
        let mut forbidden: Option<Bits> = None;
        let mut found = Vec::new();
        for (occur, node) in parts {
            let mut matches = self.matches(node)?;
            if node.may_forget() {
                matches.forget_others();
            }
            if for_all > 0.0 && *occur != Occur::MustNot {
                match &mut in_all {
                    Some(in_all) => in_all.keep(&matches.documents),
                    None => in_all = Some(matches.documents.clone()),
                }
            }
            match occur {
                Occur::Must => match &mut required {
                    Some(required) => required.keep(&matches.documents),
                    None => required = Some(matches.documents),
                },
                Occur::Should => optional.add(&matches.documents),
                Occur::MustNot => {
                    match &mut forbidden {
                        Some(forbidden) => forbidden.add(&matches.documents),
                        None => forbidden = Some(matches.documents),
                    }
                    continue;
                }
            }
            found.extend(matches.found);
        }
        let mut documents = required.unwrap_or(optional);
        if let Some(forbidden) = forbidden {
            documents.remove(&forbidden);
        }
        let mut matches = Matches { documents, found };
        if let Some(mut in_all) = in_all {
            in_all.keep(&matches.documents);
            matches.add_worth(&in_all, for_all);
        }
        Ok(matches)
    }

    pub(crate) fn set(&self, set: &Set) -> tantivy::Result<Bits> {
        let mut documents = Bits::none(self.len());
        self.each(set, &mut |found| {
            for document in found {
                documents.insert(*document);
            }
        })?;
        Ok(documents)
    }

    /// Calls `found` with the documents of a set, some at a time; one may come more than once.
    fn each(&self, set: &Set, found: &mut dyn FnMut(&[DocId])) -> tantivy::Result<()> {
        self.work.check()?;
        match set {
            Set::Terms(terms) => {
                for term in terms {
                    self.work.looked()?;
                    let inverted = self.reader.inverted_index(term.field())?;
                    let postings = inverted.read_block_postings(term, IndexRecordOption::Basic)?;
                    if let Some(mut postings) = postings {
                        each_block(&mut postings, found);
                    }
                }
                Ok(())
            }
            Set::Prefix(field, start) => self.each_of_terms(*field, start, None, &|_| true, found),
            Set::PrefixUpTo(field, start, last) => {
                self.each_of_terms(*field, start, Some(last), &|_| true, found)
            }
            Set::Like {
                field,
                start,
                patterns,
            } => {
                let is_like = |term: &[u8]| {
                    let term = std::str::from_utf8(term);
                    let like = |term| patterns.iter().any(|it| pattern::matches(it, term));
                    let is_like = term.is_ok_and(like);
                    if is_like {
                        self.work.took();
                    }
                    is_like
                };
                self.each_of_terms(*field, start, None, &is_like, found)
            }
            Set::Every(sets) => {
                let Some((first, others)) = sets.split_first() else {
                    return Ok(());
                };
                let mut common = self.set(first)?;
                for set in others {
                    common.keep(&self.set(set)?);
                }
                common.each(|document| found(&[document]));
                Ok(())
            }
            Set::Among(set, ranges) => {
                let columns = self.kept.columns(self.reader)?;
                let Some(names) = &columns.names else {
                    return Ok(());
                };
                let test = RangeTest::new(names, ranges)?;
                self.set(set)?.each(|document| {
                    if test.passes(document) {
                        found(&[document]);
                    }
                });
                Ok(())
            }
            Set::Query(query) => {
                let scoring = EnableScoring::disabled_from_searcher(self.searcher);
                query.weight(scoring)?.for_each_no_score(self.reader, found)
            }
        }
    }

    /// The documents of all terms that begin so, up to the last one, and pass the test.
    fn each_of_terms(
        &self,
        field: Field,
        start: &str,
        last: Option<&String>,
        test: &dyn Fn(&[u8]) -> bool,
        found: &mut dyn FnMut(&[DocId]),
    ) -> tantivy::Result<()> {
        let inverted = self.reader.inverted_index(field)?;
        let mut range = inverted.terms().range().ge(start.as_bytes());
        if let Some(last) = last {
            range = range.le(last.as_bytes());
        }
        let mut terms = range.into_stream()?;
        let mut postings = None;
        while terms.advance() && terms.key().starts_with(start.as_bytes()) {
            self.work.looked()?;
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
                each_block(postings, found);
            }
        }
        Ok(())
    }
}

fn each_block(
    postings: &mut tantivy::postings::BlockSegmentPostings,
    found: &mut dyn FnMut(&[DocId]),
) {
    while !postings.docs().is_empty() {
        found(postings.docs());
        postings.advance();
    }
}
