//! How many selections a document has with its fragments expanded.
//!
//! Validation and planning visit a fragment at every spread, so a text of some kilobytes can take
//! gigabytes and minutes. The number is known before: each fragment is visited once here.

use std::collections::HashMap;

use apollo_compiler::ast::{Definition, Document, Selection};

use crate::limits::LimitExceeded;

/// The largest document of DataHub's web page has 690,000, with the `__typename` that it adds.
const MAX_SELECTIONS: u64 = 1_000_000;
/// How deep fields and fragments may be nested. Execution allows far less; this protects the stack.
const MAX_DEPTH: usize = 500;

/// Fails if the operations of a document have too many selections.
pub(super) fn check(document: &Document) -> Result<(), LimitExceeded> {
    let mut expansion = Expansion::default();
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            let selections = fragment.selection_set.as_slice();
            let known = expansion.fragments.entry(fragment.name.as_str());
            // A second one of the same name is a validation error.
            known.or_insert(Fragment::New(selections));
        }
    }
    let mut total = 0_u64;
    for definition in &document.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            total = total.saturating_add(expansion.count(&operation.selection_set, 0));
        }
    }
    LimitExceeded::check("number of selections", total, MAX_SELECTIONS)
}

#[derive(Default)]
struct Expansion<'d> {
    fragments: HashMap<&'d str, Fragment<'d>>,
}

#[derive(Clone, Copy)]
enum Fragment<'d> {
    New(&'d [Selection]),
    Counted(u64),
}

impl<'d> Expansion<'d> {
    fn count(&mut self, selections: &'d [Selection], depth: usize) -> u64 {
        if depth > MAX_DEPTH {
            return u64::MAX;
        }
        let mut total = 0_u64;
        for selection in selections {
            let nested = match selection {
                Selection::Field(field) => self.count(&field.selection_set, depth + 1),
                Selection::InlineFragment(fragment) => {
                    self.count(&fragment.selection_set, depth + 1)
                }
                Selection::FragmentSpread(spread) => self.spread(&spread.fragment_name, depth + 1),
            };
            total = total.saturating_add(nested).saturating_add(1);
        }
        total
    }

    /// Counts nothing for a fragment that is missing or spreads itself: a validation error.
    fn spread(&mut self, name: &str, depth: usize) -> u64 {
        let Some(fragment) = self.fragments.get_mut(name) else {
            return 0;
        };
        match *fragment {
            Fragment::Counted(count) => count,
            Fragment::New(selections) => {
                *fragment = Fragment::Counted(0);
                let count = self.count(selections, depth);
                if let Some(fragment) = self.fragments.get_mut(name) {
                    *fragment = Fragment::Counted(count);
                }
                count
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn is_allowed(text: &str) -> bool {
        check(&Document::parse(text, "document").unwrap()).is_ok()
    }

    #[test]
    fn fragments_count_at_every_spread() {
        let wide = |spreads: usize, fields: usize| {
            let mut text = String::from("{");
            for number in 0..spreads {
                let _ = write!(text, "a{number}: me {{ ...F }} ");
            }
            let fields = "__typename ".repeat(fields);
            format!("{text}}} fragment F on User {{ {fields}}}")
        };
        assert!(is_allowed(&wide(990, 1_000)));
        assert!(!is_allowed(&wide(1_010, 1_000)));
        assert!(is_allowed(&wide(1, 90_000)));
    }

    #[test]
    fn doubling_fragments_are_counted_in_no_time() {
        let doubling = |levels: usize| {
            let mut text = String::from("{ ...F0 } ");
            for level in 0..levels {
                let next = level + 1;
                let _ = write!(
                    text,
                    "fragment F{level} on Query {{ ...F{next} ...F{next} }} "
                );
            }
            format!("{text}fragment F{levels} on Query {{ me }}")
        };
        assert!(is_allowed(&doubling(17)));
        assert!(!is_allowed(&doubling(19)));
        assert!(!is_allowed(&doubling(400)));
        // Deeper than the stack.
        assert!(!is_allowed(&doubling(20_000)));
    }

    #[test]
    fn cycles_end() {
        assert!(is_allowed(
            "{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }"
        ));
        assert!(is_allowed(
            "{ ...F } fragment F on Query { ...F ...Missing }"
        ));
    }
}
