//! How a word can be written as several that are known: `stgcustomerorders` is `stg customer orders`.

use tantivy::Term;
use tantivy::schema::Field;

use crate::analysis::without_plural;
use crate::walk::Walk;

/// In how many ways a word is divided, and how many words are looked up for that.
const MAX_DIVISIONS: usize = 4;
const MAX_LOOK_UPS: usize = 200;

/// Shorter parts are not looked for: almost any word could be made of them.
const SHORTEST_PART: usize = 2;

/// The words of a field, one behind the other, that make up the text.
pub(super) fn divisions(
    walk: Walk<'_>,
    field: Field,
    text: &str,
) -> tantivy::Result<Vec<Vec<Term>>> {
    let mut divisions = Divisions {
        walk,
        field,
        looked_up: 0,
        found: Vec::new(),
    };
    divisions.find(text, &mut Vec::new())?;
    Ok(divisions.found)
}

/// Two words of a field that make up the text, the second of which goes on: that one as far as it is there.
pub(super) fn unfinished<'t>(
    walk: &Walk<'_>,
    field: Field,
    text: &'t str,
) -> tantivy::Result<Vec<(Term, &'t str)>> {
    let mut found = Vec::new();
    for (first, second) in text.char_indices().map(|(at, _)| text.split_at(at)) {
        let is_short = |part: &str| part.chars().count() < SHORTEST_PART;
        if is_short(first) || is_short(second) || found.len() == MAX_DIVISIONS {
            continue;
        }
        let first = Term::from_field_text(field, without_plural(first));
        if walk.has_term(&first)? && walk.has_beginning(field, second)? {
            found.push((first, second));
        }
    }
    Ok(found)
}

struct Divisions<'s> {
    walk: Walk<'s>,
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
            if self.walk.has_term(&part)? {
                before.push(part);
                self.find(&text[end..], before)?;
                before.pop();
            }
        }
        Ok(())
    }
}
