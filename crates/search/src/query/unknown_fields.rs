//! Reads unknown fields as words: `mailto:me` is two words.

use crate::field::is_field;
use crate::language::{Clause, Occur, Query, Term, parse};

/// `_exists_:field` means `field:*`, as in Lucene, whose language DataHub's clients write.
const EXISTS: &str = "_exists_";

/// Parses a query, reading every unknown field as a word.
pub(crate) fn parse_known_fields(typed: &str) -> Query {
    let query = parse(typed);
    let typed = typed.trim();
    let had_plain = query.plain.is_some();
    let mut query = in_group(query);
    let is_operator = |word: &str| ["AND", "OR", "NOT", "/q"].contains(&word);
    if !had_plain
        && !query.clauses.is_empty()
        && query.clauses.iter().all(is_word)
        && !typed.split_whitespace().any(is_operator)
    {
        // It may be a name, such as `team:orders`.
        query.plain = Some(typed.to_owned());
    }
    query
}

fn in_group(query: Query) -> Query {
    let clauses = query.clauses.into_iter().map(|clause| Clause {
        occur: clause.occur,
        term: known(clause.term),
    });
    Query {
        clauses: clauses.collect(),
        plain: query.plain,
    }
}

fn known(term: Term) -> Term {
    match term {
        Term::Field { field, term } if field == EXISTS => match *term {
            // A field that is unknown exists nowhere.
            Term::Word(field) | Term::Phrase(field) => Term::Field {
                field,
                term: Box::new(Term::Prefix(String::new())),
            },
            other => Term::Group(in_group(Query {
                clauses: vec![Clause {
                    occur: Occur::Should,
                    term: other,
                }],
                plain: None,
            })),
        },
        // Without a field, "any value" has no meaning.
        Term::Field { field, term }
            if !is_field(&field) && *term == Term::Prefix(String::new()) =>
        {
            Term::Word(field)
        }
        Term::Field { field, term } if !is_field(&field) => {
            let should = |term| Clause {
                occur: Occur::Should,
                term,
            };
            Term::Group(Query {
                clauses: vec![should(Term::Word(field)), should(known(*term))],
                plain: None,
            })
        }
        Term::Group(query) => Term::Group(in_group(query)),
        other => other,
    }
}

fn is_word(clause: &Clause) -> bool {
    clause.occur == Occur::Should
        && match &clause.term {
            Term::Word(_) => true,
            Term::Group(group) => group.clauses.iter().all(is_word),
            Term::Prefix(_) | Term::Wildcard(_) | Term::Phrase(_) | Term::Field { .. } => false,
        }
}
