//! What a person types into the search box, as a tree.
//!
//! Everything is a valid query. What cannot be understood is taken as words, and what says nothing (lone punctuation,
//! an operator without an operand) is left out. The language:
//!
//! | typed | meaning |
//! | --- | --- |
//! | `pet orders` | either word; both is better |
//! | `"pet orders"` | the words in this order |
//! | `+pet -orders`, `pet AND NOT orders` | must be there, must not |
//! | `pet OR orders`, `(…)` | alternatives, groups; `AND` binds more tightly than `OR` |
//! | `ord*`, `o*r`, `o?r` | any letters, one letter |
//! | `name:orders`, `name:"pet orders"`, `name:(a OR b)` | in this field |
//! | `name:*` | the field has a value |
//! | `urn:li:tag:x` | this URN, anywhere in the text and with its parentheses, commas and colons |
//! | `/q …` | the same language; the sign is what DataHub's clients send |
//!
//! The same clause twice in one place counts once. A backslash takes the meaning from the sign behind it. Letters are kept as typed: folding them is the work of
//! the analysis. This module must not know which fields exist, nor the index: `mailto:someone` is a field here. A new kind
//! of term is a variant of [`Term`] and a case in `Parser::term`.

mod parser;

/// The tree never has more clauses, groups included. What was said twice counts once, and of a longer text what must or
/// must not be there comes before what may.
pub const MOST_CLAUSES: usize = 64;

/// What comes behind so many words, phrases and the like is not read at all.
pub const MOST_READ: usize = 1024;

/// Groups are never nested more deeply, the query itself being the first level; what lies deeper is ignored.
pub const DEEPEST_LEVEL: usize = 8;

/// Words, phrases and patterns are cut there, in letters; URNs are not. Nobody types more without a space.
pub const LONGEST_TERM: usize = 256;

/// What was asked. Without any clause it asks for everything: nothing was typed, or stars alone. Other texts without a letter
/// or digit are one word, as typed.
///
/// An entity matches if all `Must` clauses match, no `MustNot` clause does, and, when there are `Should` clauses
/// but no `Must` clause, at least one of them does. So only `MustNot` clauses ask for everything except those.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Query {
    pub clauses: Vec<Clause>,
    /// The text as typed, trimmed, if it is nothing but words: to compare with whole names. Groups have none.
    pub plain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    pub occur: Occur,
    pub term: Term,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Occur {
    Should,
    Must,
    MustNot,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Term {
    /// May be more than one word to the analysis, such as `customer_orders`. A URN is exact (see [`is_urn`]).
    Word(String),
    /// What stood before the `*`. Empty only inside of a [`Term::Field`]: any value.
    Prefix(String),
    /// With its `*` and `?`.
    Wildcard(String),
    Phrase(String),
    Field {
        field: String,
        term: Box<Term>,
    },
    Group(Query),
}

/// Understands what was typed.
pub fn parse(text: &str) -> Query {
    parser::parse(text)
}

/// Whether a word is a URN, to be compared as it is instead of by its words.
pub fn is_urn(word: &str) -> bool {
    word.starts_with(URN_START)
}

const URN_START: &str = "urn:li:";

#[cfg(test)]
mod tests;
