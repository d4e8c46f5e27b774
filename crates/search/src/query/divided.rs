//! How a word that nothing has can be written as several that are known: `stgcustomerorders` is `stg customer orders`.

use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::analysis::without_plural;

/// In how many ways a word is divided, and how many words are looked up for that.
const MAX_DIVISIONS: usize = 4;
const MAX_LOOK_UPS: usize = 200;

/// Shorter parts are not looked for: almost any word could be made of them.
const SHORTEST_PART: usize = 2;

/// The words of a field, one behind the other, that make up the text.
pub(super) fn divisions(
    searcher: &Searcher,
    field: Field,
    text: &str,
) -> tantivy::Result<Vec<Vec<Term>>> {
    let mut divisions = Divisions {
        searcher,
        field,
        looked_up: 0,
        found: Vec::new(),
    };
    divisions.find(text, &mut Vec::new())?;
    Ok(divisions.found)
}

struct Divisions<'s> {
    searcher: &'s Searcher,
    field: Field,
    looked_up: usize,
    found: Vec<Vec<Term>>,
}

impl Divisions<'_> {
    fn find(&mut self, text: &str, before: &mut Vec<Term>) -> tantivy::Result<()> {
        if text.is_empty() {
            if before.len() > 1 {
                self.found.push(before.clone());
            }
            return Ok(());
        }
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for end in ends.skip(SHORTEST_PART) {
            if self.looked_up == MAX_LOOK_UPS || self.found.len() == MAX_DIVISIONS {
                break;
            }
            self.looked_up += 1;
            let part = Term::from_field_text(self.field, without_plural(&text[..end]));
            if self.searcher.doc_freq(&part)? > 0 {
                before.push(part);
                self.find(&text[end..], before)?;
                before.pop();
            }
        }
        Ok(())
    }
}
