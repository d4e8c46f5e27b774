//! How a word that nothing has can be written as several that are known: `stgcustomerorders` is `stg customer orders`.

use std::collections::HashMap;

use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::without_plural;

/// In how many ways a word is divided, and into how many parts.
const MAX_DIVISIONS: usize = 4;
const MAX_PARTS: usize = 8;
/// How many parts are looked up for that: all there are in twenty letters.
const MAX_LOOK_UPS: usize = 200;
/// How often a part is put behind others.
const MAX_STEPS: usize = 2000;

/// Shorter parts are not looked for: almost any word could be made of them.
const SHORTEST_PART: usize = 2;

/// The words of a field, one behind the other, that make up the text. What has fewer parts comes first: short words are
/// nearly everywhere, and make up nearly everything.
pub(super) fn divisions(
    searcher: &Searcher,
    field: Field,
    text: &str,
) -> tantivy::Result<Vec<Vec<Term>>> {
    let mut divisions = Divisions {
        searcher,
        field,
        text,
        known: HashMap::new(),
        steps: 0,
        found: Vec::new(),
    };
    for parts in 2..=MAX_PARTS {
        divisions.find(0, parts, &mut Vec::new())?;
    }
    Ok(divisions.found)
}

struct Divisions<'s> {
    searcher: &'s Searcher,
    field: Field,
    text: &'s str,
    /// The parts that were looked up, by where they begin and end; `None` if nothing has them.
    known: HashMap<(usize, usize), Option<Term>>,
    steps: usize,
    found: Vec<Vec<Term>>,
}

impl Divisions<'_> {
    /// Divides what begins at `start` into so many parts, and puts them behind those before.
    fn find(&mut self, start: usize, parts: usize, before: &mut Vec<Term>) -> tantivy::Result<()> {
        let text = self.text;
        let ends = text[start..].char_indices().map(|(at, _)| start + at);
        let ends = ends.chain([text.len()]).skip(SHORTEST_PART);
        for end in ends.filter(|end| (*end == text.len()) == (parts == 1)) {
            self.steps += 1;
            if self.steps > MAX_STEPS || self.found.len() == MAX_DIVISIONS {
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
