//! The query language: parses the text of the search box into a tree.
//!
//! Every text is a valid query. Text that cannot be interpreted is read as words, and lone
//! punctuation or an operator without an operand is ignored. The language:
//!
//! | text | meaning |
//! | --- | --- |
//! | `pet orders` | either word; both is better |
//! | `"pet orders"` | the words in this order |
//! | `+pet -orders`, `pet AND NOT orders` | required, excluded |
//! | `pet OR orders`, `(…)` | alternatives, groups; `AND` binds more tightly than `OR` |
//! | `ord*`, `o*r`, `o?r` | any characters, one character |
//! | `name:orders`, `name:"pet orders"`, `name:(a OR b)` | in this field |
//! | `name:*` | the field has a value |
//! | `days:>45` | a greater value; also `>=`, `<` and `<=`, which are part of the word |
//! | `urn:li:tag:x` | this URN, anywhere in the text and with its parentheses, commas and colons |
//! | `/q …` | the same language; DataHub's clients send this prefix |
//!
//! A clause that is repeated within a group counts once. A backslash escapes the next character.
//! Text keeps its case; the analysis folds it. This module must not know the index or which fields
//! exist: `mailto:someone` is a field here. To add a kind of term, add a variant to [`Term`] and a
//! case to `Parser::term`.

mod parser;

/// The limit of clauses in the tree, including groups. Repeated clauses count once, and required
/// and excluded clauses are preferred to optional ones.
pub const MAX_CLAUSES: usize = 64;

/// The parser stops after this many words, phrases and the like.
pub const MAX_TERMS_READ: usize = 1024;

/// The limit of nested groups, where the query itself is the first level. Deeper groups are
/// ignored.
pub const MAX_NESTING: usize = 8;

/// Longer words, phrases and patterns are truncated; URNs are not.
pub const MAX_TERM_CHARS: usize = 256;

/// A parsed query. Without clauses, it matches everything: the text was empty or only asterisks.
/// Other texts without a letter or digit are one word, as typed.
///
/// An entity matches if all `Must` clauses match, no `MustNot` clause does, and, if there are
/// `Should` clauses but no `Must` clause, at least one of them does. So a query of only `MustNot`
/// clauses matches everything else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Query {
    pub clauses: Vec<Clause>,
    /// The trimmed text if it consists of words only, to compare with whole names. Groups have
    /// none.
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
    /// May be several words to the analysis, such as `customer_orders`. URNs are compared exactly
    /// (see [`is_urn`]).
    Word(String),
    /// The text before the `*`. Empty only inside a [`Term::Field`], where it means any value.
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

/// Parses a text. Never fails.
pub fn parse(text: &str) -> Query {
    parser::parse(text)
}

/// Whether a word is a URN, which is compared exactly and not by its words.
pub fn is_urn(word: &str) -> bool {
    word.starts_with(URN_START)
}

const URN_START: &str = "urn:li:";

#[cfg(test)]
mod tests;
