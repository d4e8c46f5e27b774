//! Splits a compound word that no document has into known words: `stgcustomerorders` is `stg
//! customer orders`.

use std::collections::HashMap;

use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::without_plural;

/// How many splits to return, and how many parts each may have.
const MAX_SPLITS: usize = 4;
const MAX_PARTS: usize = 8;
/// How many parts to look up: all that a word of twenty letters has.
const MAX_LOOK_UPS: usize = 200;
/// How many combinations of parts to try.
const MAX_STEPS: usize = 2000;

/// Almost any word can be split into shorter parts.
const SHORTEST_PART: usize = 2;

/// The sequences of known words that make up the text, those with the fewest parts first: short
/// words are common, and can make up almost anything.
pub(super) fn splits(
    searcher: &Searcher,
    field: Field,
    text: &str,
) -> tantivy::Result<Vec<Vec<Term>>> {
    let mut splits = CompoundSplitter {
        searcher,
        field,
        text,
        known: HashMap::new(),
        steps: 0,
        found: Vec::new(),
    };
    for parts in 2..=MAX_PARTS {
        splits.find(0, parts, &mut Vec::new())?;
    }
    Ok(splits.found)
}

struct CompoundSplitter<'s> {
    searcher: &'s Searcher,
    field: Field,
    text: &'s str,
    /// The parts that were looked up, by start and end; `None` if no document has them.
    known: HashMap<(usize, usize), Option<Term>>,
    steps: usize,
    found: Vec<Vec<Term>>,
}

impl CompoundSplitter<'_> {
    /// Splits the text from `start` into `parts` parts, and appends them to those before.
    fn find(&mut self, start: usize, parts: usize, before: &mut Vec<Term>) -> tantivy::Result<()> {
        let text = self.text;
        let ends = text[start..].char_indices().map(|(at, _)| start + at);
        let ends = ends.chain([text.len()]).skip(SHORTEST_PART);
        for end in ends.filter(|end| (*end == text.len()) == (parts == 1)) {
            self.steps += 1;
            if self.steps > MAX_STEPS || self.found.len() == MAX_SPLITS {
                break;
            }
            let Some(part) = self.part(start, end)? else {
                continue;
            };
            before.push(part);
            if parts == 1 {
                self.found.push(before.clone());
            } else {
                self.find(end, parts - 1, before)?;
            }
            before.pop();
        }
        Ok(())
    }

    fn part(&mut self, start: usize, end: usize) -> tantivy::Result<Option<Term>> {
        if let Some(known) = self.known.get(&(start, end)) {
            return Ok(known.clone());
        }
        if self.known.len() == MAX_LOOK_UPS {
            return Ok(None);
        }
        let term = Term::from_field_text(self.field, without_plural(&self.text[start..end]));
        let known = (self.searcher.doc_freq(&term)? > 0).then_some(term);
        self.known.insert((start, end), known.clone());
        Ok(known)
    }
}
