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
    /// In all of these sets.
    Every(Vec<Set>),
    Query(Box<dyn Query>),
}

/// A part of a query.
pub(crate) enum Node {
    All,
    /// Found in any of these ways, and worth the best of them.
    Best(Vec<(Set, f32)>),
    /// Worth the sum of its parts.
    Group(Vec<(Occur, Node)>),
}

impl Node {
    /// Finds nothing.
    pub(crate) fn nothing() -> Self {
        Self::Best(Vec::new())
    }

    pub(crate) fn one(set: Set, worth: f32) -> Self {
        Self::Best(vec![(set, worth)])
    }
}

/// The documents of a segment that a query finds.
#[derive(Debug)]
pub(crate) struct Matches {
    pub(crate) documents: Bits,
    /// For each part of the query that found something, by which way it found each document.
    found: Vec<Ways>,
    /// Whether parts may have found documents that the whole has not.
    is_narrowed: bool,
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
            is_narrowed: false,
        }
    }

    /// Makes documents that parts have found but not the whole worth nothing.
    fn forget_others(&mut self) {
        if !self.is_narrowed {
            return;
        }
        for ways in &mut self.found {
            for (document, by) in (0..).zip(&mut ways.by) {
                if *by > 0 && !self.documents.contains(document) {
                    *by = 0;
                }
            }
        }
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
            Node::Group(parts) => self.group(parts),
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
                is_narrowed: false,
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
        Ok(Matches {
            documents,
            found,
            is_narrowed: false,
        })
    }

    fn group(&self, parts: &[(Occur, Node)]) -> tantivy::Result<Matches> {
        let mut required: Option<Bits> = None;
        let mut optional = Bits::none(self.len());
        let mut forbidden: Option<Bits> = None;
        let mut found = Vec::new();
        for (occur, node) in parts {
            let mut matches = self.matches(node)?;
            matches.forget_others();
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
        let is_narrowed = required.is_some() || forbidden.is_some();
        let mut documents = required.unwrap_or(optional);
        if let Some(forbidden) = forbidden {
            documents.remove(&forbidden);
        }
        Ok(Matches {
            documents,
            found,
            is_narrowed,
        })
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
        match set {
            Set::Terms(terms) => {
                for term in terms {
                    let inverted = self.reader.inverted_index(term.field())?;
                    let postings = inverted.read_block_postings(term, IndexRecordOption::Basic)?;
                    if let Some(mut postings) = postings {
                        each_block(&mut postings, found);
                    }
                }
                Ok(())
            }
            Set::Prefix(field, start) => self.each_of_prefix(*field, start, None, found),
            Set::PrefixUpTo(field, start, last) => {
                self.each_of_prefix(*field, start, Some(last), found)
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
            Set::Query(query) => {
                let scoring = EnableScoring::disabled_from_searcher(self.searcher);
                query.weight(scoring)?.for_each_no_score(self.reader, found)
            }
        }
    }

    fn each_of_prefix(
        &self,
        field: Field,
        start: &str,
        last: Option<&String>,
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
