//! The parser: recursive descent over the text.
//!
//! Every function consumes what it can use and leaves the rest, so parsing never fails. Each step
//! advances in the text, and nesting is limited, so parsing always ends and the stack cannot
//! overflow.

use std::collections::HashSet;

use super::{
    Clause, MAX_CLAUSES, MAX_NESTING, MAX_TERM_CHARS, MAX_TERMS_READ, Occur, Query, Term,
    URN_START, is_urn,
};

pub(super) fn parse(text: &str) -> Query {
    let text = without_q_prefix(text.trim());
    let mut parser = Parser {
        text,
        at: 0,
        terms_left: MAX_TERMS_READ,
        operators: false,
    };
    let mut clauses = parser.clauses(1);
    drop_repeated(&mut clauses);
    let mut budget = MAX_CLAUSES;
    prune(&mut clauses, 1, &mut budget);
    let mut is_plain = !parser.operators && clauses.iter().all(is_plain_clause);
    if clauses.is_empty() {
        // Only operators, such as `OR` alone, which may be meant as a word.
        clauses = text
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(MAX_CLAUSES)
            .map(|word| should(Term::Word(word.to_owned())))
            .collect();
        let is_punctuation = clauses.is_empty() && !text.is_empty() && !text.contains('*');
        if is_punctuation {
            // Few entities have such a name, but matching everything would be wrong.
            clauses.push(should(Term::Word(text.to_owned())));
        }
        is_plain = !clauses.is_empty();
    }
    Query {
        clauses,
        plain: is_plain.then(|| text.to_owned()),
    }
}

fn without_q_prefix(text: &str) -> &str {
    match text.strip_prefix("/q") {
        Some("") => "",
        Some(rest) if rest.starts_with(char::is_whitespace) => rest.trim_start(),
        _ => text,
    }
}

/// Parentheses alone do not change the meaning of words, and names may contain them.
fn is_plain_clause(clause: &Clause) -> bool {
    clause.occur == Occur::Should
        && match &clause.term {
            Term::Word(_) => true,
            Term::Group(group) => group.clauses.iter().all(is_plain_clause),
            Term::Prefix(_) | Term::Wildcard(_) | Term::Phrase(_) | Term::Field { .. } => false,
        }
}

/// Enforces the limits of the tree. The parser cannot count clauses on the way, because `a AND b OR
/// c` makes a group without parentheses.
fn prune(clauses: &mut Vec<Clause>, level: usize, budget: &mut usize) {
    if clauses.len() > *budget {
        choose(clauses, *budget);
    }
    clauses.retain_mut(|clause| {
        if *budget == 0 {
            return false;
        }
        *budget -= 1;
        let Some(group) = group_of(&mut clause.term) else {
            return true;
        };
        if level == MAX_NESTING {
            return false;
        }
        prune(&mut group.clauses, level + 1, budget);
        !group.clauses.is_empty()
    });
}

/// Selects `max` clauses, in their order, preferring required and excluded ones.
fn choose(clauses: &mut Vec<Clause>, max: usize) {
    let is_optional = |clause: &Clause| clause.occur == Occur::Should;
    let signed = clauses.iter().filter(|clause| !is_optional(clause)).count();
    let mut signed_left = signed.min(max);
    let mut optional_left = max - signed_left;
    clauses.retain(|clause| {
        let remaining = if is_optional(clause) {
            &mut optional_left
        } else {
            &mut signed_left
        };
        let is_selected = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        is_selected
    });
}

/// Keeps the first of equal clauses. The last clause stays at the end: it may be a word that is
/// still being typed.
fn drop_repeated(clauses: &mut Vec<Clause>) {
    for clause in &mut *clauses {
        if let Some(group) = group_of(&mut clause.term) {
            drop_repeated(&mut group.clauses);
        }
    }
    let Some(last) = clauses.pop() else {
        return;
    };
    let mut seen = HashSet::from([last.clone()]);
    clauses.retain(|clause| seen.insert(clause.clone()));
    clauses.push(last);
}

fn group_of(term: &mut Term) -> Option<&mut Query> {
    match term {
        Term::Group(group) => Some(group),
        Term::Field { term, .. } => group_of(term),
        Term::Word(_) | Term::Prefix(_) | Term::Wildcard(_) | Term::Phrase(_) => None,
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// How many more terms to read. At zero, the rest of the text is ignored.
    terms_left: usize,
    /// Whether `AND`, `OR` or `NOT` occurred.
    operators: bool,
}

impl<'a> Parser<'a> {
    /// Parses up to the closing parenthesis of this level, or to the end.
    fn clauses(&mut self, level: usize) -> Vec<Clause> {
        let mut clauses = Vec::new();
        loop {
            clauses.extend(self.alternatives(level));
            self.skip_space();
            match self.peek() {
                None => return clauses,
                Some(')') => {
                    self.at += 1;
                    if level > 1 {
                        return clauses;
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// `a OR b OR c`
    fn alternatives(&mut self, level: usize) -> Vec<Clause> {
        let first = self.all_of(level);
        let mut alternatives = vec![first];
        while self.keyword("OR") {
            alternatives.push(self.all_of(level));
        }
        alternatives.retain(|clauses| !clauses.is_empty());
        if alternatives.len() > 1 {
            let terms = alternatives.into_iter().filter_map(group);
            terms.map(should).collect()
        } else {
            alternatives.pop().unwrap_or_default()
        }
    }

    /// `a AND b AND c`
    fn all_of(&mut self, level: usize) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = self.operand(level).into_iter().collect();
        while self.keyword("AND") {
            clauses.extend(self.operand(level));
        }
        if clauses.len() > 1 {
            for clause in &mut clauses {
                if clause.occur == Occur::Should {
                    clause.occur = Occur::Must;
                }
            }
        }
        clauses
    }

    /// Parses a term with its signs. Skips text without meaning.
    fn operand(&mut self, level: usize) -> Option<Clause> {
        let mut occur = Occur::Should;
        loop {
            self.skip_space();
            if self.keyword("AND") || self.keyword("OR") {
                continue;
            }
            if self.keyword("NOT") {
                occur = opposite(occur);
                continue;
            }
            match self.peek()? {
                ')' => return None,
                '+' | '-' => match self.signs() {
                    Some(Occur::MustNot) => occur = opposite(occur),
                    Some(sign) if occur == Occur::Should => occur = sign,
                    _ => {}
                },
                _ => match self.term(level, false) {
                    Some(term) => return Some(Clause { occur, term }),
                    None => occur = Occur::Should,
                },
            }
        }
    }

    /// Consumes a run of `+` and `-`, which has a meaning only directly before a term.
    fn signs(&mut self) -> Option<Occur> {
        let rest = self.rest();
        let length = rest
            .find(|character| !matches!(character, '+' | '-'))
            .unwrap_or(rest.len());
        let signs = &rest[..length];
        let is_separate = matches!(rest[length..].chars().next(), None | Some(')'))
            || rest[length..].starts_with(is_space);
        self.at += length;
        if is_separate {
            return None;
        }
        let negated = signs.matches('-').count() % 2 == 1;
        Some(if negated {
            Occur::MustNot
        } else if signs.contains('+') {
            Occur::Must
        } else {
            Occur::Should
        })
    }

    /// Consumes at least one character; `None` if the text has no meaning.
    fn term(&mut self, level: usize, in_field: bool) -> Option<Term> {
        if self.peek()? == '(' {
            self.at += 1;
            if level == MAX_NESTING {
                self.skip_group();
                return None;
            }
            return group(self.clauses(level + 1));
        }
        if let Some(end) = closing_quote(self.rest()) {
            let phrase = unescaped(&self.rest()[end.inside.clone()]);
            self.at += end.after;
            return self.leaf(phrase_term(phrase.trim()));
        }
        if self.rest().starts_with(URN_START) {
            let urn = self.urn();
            return self.leaf(Some(Term::Word(urn)));
        }
        self.word(level, in_field)
    }

    /// Parses a word, a pattern, or a field with its value.
    fn word(&mut self, level: usize, in_field: bool) -> Option<Term> {
        let mut word = String::new();
        while let Some(character) = self.peek() {
            let rest = self.rest();
            let after = &rest[character.len_utf8()..];
            let urn_begins = !word.is_empty()
                && !word.ends_with(char::is_alphanumeric)
                && rest.starts_with(URN_START);
            let ends = is_space(character)
                || matches!(character, '(' | ')')
                || urn_begins
                || closing_quote(rest).is_some();
            if ends {
                break;
            }
            self.at += character.len_utf8();
            if character == ':' && !in_field && is_field_name(&word) && is_value(after) {
                return self.field(word, level);
            }
            match after.chars().next() {
                Some(escaped) if character == '\\' && can_be_escaped(escaped) => {
                    self.at += escaped.len_utf8();
                    // Later stages would read them as wildcards; the analysis drops them anyway.
                    if !matches!(escaped, '*' | '?') {
                        word.push(escaped);
                    }
                }
                _ => word.push(character),
            }
        }
        self.leaf(word_term(&word, in_field))
    }

    fn field(&mut self, field: String, level: usize) -> Option<Term> {
        match self.term(level, true) {
            // In `a:(b:c)` the inner field counts.
            Some(term @ Term::Field { .. }) => Some(term),
            Some(term) => Some(Term::Field {
                field,
                term: Box::new(term),
            }),
            // The value has no meaning, as in `name:[`.
            None => self.leaf(word_term(&field, false)),
        }
    }

    /// A URN ends at the next space outside its parentheses, or at the parenthesis that closes a
    /// group around it.
    fn urn(&mut self) -> String {
        let rest = self.rest();
        let mut open = 0_usize;
        let mut first_space = None;
        let mut end = rest.len();
        for (offset, character) in rest.char_indices() {
            match character {
                '(' => open += 1,
                ')' if open == 0 => {
                    end = offset;
                    break;
                }
                ')' => open -= 1,
                _ if is_space(character) => {
                    first_space = first_space.or(Some(offset));
                    if open == 0 {
                        end = offset;
                        break;
                    }
                }
                _ if is_quote(character) && open == 0 => {
                    end = offset;
                    break;
                }
                _ => {}
            }
        }
        if open > 0 {
            // Unbalanced parentheses do not tell where the URN ends.
            end = first_space.unwrap_or(rest.len());
        }
        let urn = rest[..end].trim_end_matches([',', ';']).to_owned();
        self.at += end;
        urn
    }

    fn leaf(&mut self, term: Option<Term>) -> Option<Term> {
        if term.is_some() {
            self.terms_left = self.terms_left.saturating_sub(1);
        }
        term.map(shortened)
    }

    /// Skips a group that is nested too deeply.
    fn skip_group(&mut self) {
        let mut open = 1;
        while let Some(character) = self.peek() {
            self.at += character.len_utf8();
            match character {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    /// Consumes the operator if it is next, as a whole word.
    fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_space();
        let Some(after) = self.rest().strip_prefix(keyword) else {
            return false;
        };
        let is_separate = after
            .chars()
            .next()
            .is_none_or(|next| is_space(next) || is_quote(next) || matches!(next, '(' | ')'));
        if is_separate {
            self.at += keyword.len();
            self.operators = true;
        }
        is_separate
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        if self.terms_left == 0 {
            return "";
        }
        &self.text[self.at..]
    }
}

fn shortened(mut term: Term) -> Term {
    let is_of_whole_words = matches!(term, Term::Word(_) | Term::Phrase(_));
    if let Term::Word(text) | Term::Prefix(text) | Term::Wildcard(text) | Term::Phrase(text) =
        &mut term
        && !is_urn(text)
        && text.chars().nth(MAX_TERM_CHARS).is_some()
    {
        // The shortened text must not be only punctuation.
        let mut letters = text.chars().skip_while(|it| !it.is_alphanumeric());
        let mut shortened: String = letters.by_ref().take(MAX_TERM_CHARS).collect();
        let divides_a_word = letters.next().is_some_and(char::is_alphanumeric);
        let before = shortened.trim_end_matches(char::is_alphanumeric);
        if is_of_whole_words && divides_a_word && !before.is_empty() {
            shortened.truncate(before.len());
        }
        *text = shortened;
    }
    term
}

fn should(term: Term) -> Clause {
    Clause {
        occur: Occur::Should,
        term,
    }
}

fn opposite(occur: Occur) -> Occur {
    match occur {
        Occur::Should | Occur::Must => Occur::MustNot,
        Occur::MustNot => Occur::Should,
    }
}

/// Makes one term of several clauses. Parentheses around a single clause have no meaning.
fn group(mut clauses: Vec<Clause>) -> Option<Term> {
    if clauses.len() == 1 && clauses[0].occur != Occur::MustNot {
        return clauses.pop().map(|clause| clause.term);
    }
    (!clauses.is_empty()).then_some(Term::Group(Query {
        clauses,
        plain: None,
    }))
}

/// Control characters separate words, too: pasted text may contain them.
fn is_space(character: char) -> bool {
    character.is_whitespace() || character.is_control()
}

/// Includes typographic quotes.
fn is_quote(character: char) -> bool {
    matches!(character, '"' | '“' | '”' | '„')
}

fn can_be_escaped(character: char) -> bool {
    character.is_ascii_punctuation() || is_quote(character)
}

/// Parts of a quoted text, as offsets from its opening quote.
struct Quoted {
    inside: std::ops::Range<usize>,
    after: usize,
}

/// `None` if the text does not start with a quote or nothing closes it. The quote is ordinary text
/// then.
fn closing_quote(text: &str) -> Option<Quoted> {
    let mut characters = text.char_indices();
    let (_, opening) = characters.next().filter(|(_, first)| is_quote(*first))?;
    while let Some((offset, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if is_quote(character) {
            return Some(Quoted {
                inside: opening.len_utf8()..offset,
                after: offset + character.len_utf8(),
            });
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let escapes = character == '\\' && characters.peek().copied().is_some_and(can_be_escaped);
        if !escapes {
            plain.push(character);
        } else if let Some(escaped) = characters.next() {
            plain.push(escaped);
        }
    }
    plain
}

fn phrase_term(phrase: &str) -> Option<Term> {
    if is_urn(phrase) {
        // Quoted because of its colons: `domains:"urn:li:domain:x"`.
        return Some(Term::Word(phrase.to_owned()));
    }
    has_letters(phrase).then(|| Term::Phrase(phrase.to_owned()))
}

fn word_term(word: &str, in_field: bool) -> Option<Term> {
    if is_urn(word) {
        return Some(Term::Word(word.to_owned()));
    }
    let word = without_modifier(word);
    if !has_letters(word) {
        let anything = in_field && word.contains('*');
        return anything.then(|| Term::Prefix(String::new()));
    }
    let sign = if in_field { comparison_sign(word) } else { "" };
    // A question mark at the end is punctuation.
    let word = word.trim_matches(is_ignored_at_the_ends);
    let stem = word.trim_end_matches('*');
    Some(if stem.contains(['*', '?']) {
        Term::Wildcard(word.to_owned())
    } else if stem.len() < word.len() {
        Term::Prefix(stem.to_owned())
    } else {
        Term::Word(format!("{sign}{word}"))
    })
}

/// The sign of a comparison, as in `days:>45`, which belongs to the value.
fn comparison_sign(value: &str) -> &str {
    let signs = [">=", "<=", ">", "<"];
    let sign = signs.into_iter().find(|sign| value.starts_with(sign));
    sign.unwrap_or_default()
}

/// Removes the boost or fuzziness of other query languages: `word^2`, `word~1`.
fn without_modifier(word: &str) -> &str {
    let stem =
        word.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    stem.strip_suffix(['^', '~'])
        .filter(|stem| !stem.is_empty())
        .unwrap_or(word)
}

fn has_letters(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn is_ignored_at_the_ends(character: char) -> bool {
    is_quote(character) || "[]{}<>()+-=&|!?~^:;,.'`".contains(character)
}

fn is_field_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && word
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "_.-".contains(character))
}

/// Whether the text after a colon can be the value of a field; in `http://x` and `std::string` it
/// cannot.
fn is_value(text: &str) -> bool {
    !text.starts_with("//")
        && text
            .chars()
            .next()
            .is_some_and(|first| !is_space(first) && !matches!(first, ':' | ')'))
}
