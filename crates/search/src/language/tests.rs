//! Queries in a short form: `+` required, `-` excluded, `[…]` a group.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn shown(query: &Query) -> String {
    let clauses: Vec<String> = query
        .clauses
        .iter()
        .map(|clause| {
            let sign = match clause.occur {
                Occur::Should => "",
                Occur::Must => "+",
                Occur::MustNot => "-",
            };
            format!("{sign}{}", shown_term(&clause.term))
        })
        .collect();
    clauses.join(" ")
}

fn shown_term(term: &Term) -> String {
    match term {
        Term::Word(word) => format!("word({word})"),
        Term::Prefix(prefix) => format!("prefix({prefix})"),
        Term::Wildcard(pattern) => format!("wildcard({pattern})"),
        Term::Phrase(phrase) => format!("phrase({phrase})"),
        Term::Field { field, term } => format!("{field}={}", shown_term(term)),
        Term::Group(query) => format!("[{}]", shown(query)),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(&parse(text)), expected, "{text}");
}

#[test]
fn the_sign_of_a_comparison_belongs_to_the_value_of_a_field() {
    let value = |text: &str| match parse(text).clauses.remove(0).term {
        Term::Field { term, .. } => *term,
        other => other,
    };
    for (text, word) in [
        ("days:>45", ">45"),
        ("days:<=4.5", "<=4.5"),
        ("days:>=b!", ">=b"),
        ("days:!45", "45"),
        (">45", "45"),
    ] {
        assert_eq!(value(text), Term::Word(word.to_owned()), "{text}");
    }
}

#[test]
fn words_are_alternatives() {
    check("pet  Orders\tx", "word(pet) word(Orders) word(x)");
}

#[test]
fn empty_queries_match_everything() {
    for text in [
        "", "   ", "*", "**", "* *", "\"*\"", "(*)", "/q", "/q *", "*:*", "-*",
    ] {
        assert_eq!(parse(text), Query::default(), "{text}");
    }
}

#[test]
fn punctuation_alone_is_a_word() {
    for text in [
        "!!!", "\"\"", "\"", "()", "[", "+ - :", "…", "\\", "((", "😀", "?",
    ] {
        check(text, &format!("word({text})"));
        assert_eq!(parse(text).plain.as_deref(), Some(text));
    }
    check("/q !!!", "word(!!!)");
    check("kiln 😀", "word(kiln)");
}

#[test]
fn quotes_make_phrases() {
    check("\"pet orders\" x", "phrase(pet orders) word(x)");
    check("“pet orders”", "phrase(pet orders)");
    check(r#""say \"hi\" now""#, "phrase(say \"hi\" now)");
    check("a\"b c\"", "word(a) phrase(b c)");
}

#[test]
fn an_unbalanced_quote_is_ordinary_text() {
    check("\"pet orders", "word(pet) word(orders)");
    check("5\" disk", "word(5) word(disk)");
    check("\"a b\" \"c", "phrase(a b) word(c)");
}

#[test]
fn a_name_before_a_colon_is_a_field() {
    check("name:orders", "name=word(orders)");
    check("name:\"pet orders\" x", "name=phrase(pet orders) word(x)");
    check("name:(a OR b)", "name=[word(a) word(b)]");
    check("name:(a)", "name=word(a)");
    check("name:ord*", "name=prefix(ord)");
    check("description:*", "description=prefix()");
    check("-description:*", "-description=prefix()");
    check("_entityType:dataset", "_entityType=word(dataset)");
    check("platform.keyword:hive", "platform.keyword=word(hive)");
    check("a:b:c", "a=word(b:c)");
    check("a:(b:c)", "b=word(c)");
    check("path:/prod/hive", "path=word(/prod/hive)");
}

#[test]
fn other_colons_are_ordinary_text() {
    check("http://example.com/x", "word(http://example.com/x)");
    check("12:30", "word(12:30)");
    check("std::string", "word(std::string)");
    check("note: this", "word(note) word(this)");
    check("name:", "word(name)");
    check("name:[", "word(name)");
    check("name:\"\"", "word(name)");
    check("(name:)", "word(name)");
    check("a : b", "word(a) word(b)");
    check(r"name\:orders", "word(name:orders)");
}

const DATASET: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders,PROD)";

#[test]
fn a_urn_is_one_word_anywhere_in_the_text() {
    check(DATASET, &format!("word({DATASET})"));
    check(
        &format!("a {DATASET} b"),
        &format!("word(a) word({DATASET}) word(b)"),
    );
    check(&format!("({DATASET})"), &format!("word({DATASET})"));
    check(&format!("-{DATASET}"), &format!("-word({DATASET})"));
    check(&format!("urn:{DATASET}"), &format!("urn=word({DATASET})"));
    check(
        &format!("urn:\"{DATASET}\""),
        &format!("urn=word({DATASET})"),
    );
    check(&format!("[{DATASET}"), &format!("word({DATASET})"));
    check("x=urn:li:tag:a", "word(x) word(urn:li:tag:a)");
    check(
        "urn:li:tag:a, urn:li:tag:b",
        "word(urn:li:tag:a) word(urn:li:tag:b)",
    );
    check(
        "tags:(urn:li:tag:a OR urn:li:tag:b)",
        "tags=[word(urn:li:tag:a) word(urn:li:tag:b)]",
    );
    check(r"urn\:li\:tag\:a", "word(urn:li:tag:a)");
}

#[test]
fn a_urn_may_have_spaces_between_its_parentheses() {
    let urn = "urn:li:dataset:(urn:li:dataPlatform:excel,my orders,PROD)";
    check(&format!("{urn} x"), &format!("word({urn}) word(x)"));
    check("urn:li:dataset:(a b", "word(urn:li:dataset:(a) word(b)");
}

#[test]
fn signs_and_operators_require_or_exclude_terms() {
    check("+pet -orders x", "+word(pet) -word(orders) word(x)");
    check("NOT pet", "-word(pet)");
    check("pet NOT orders", "word(pet) -word(orders)");
    check("a AND b", "+word(a) +word(b)");
    check("a AND NOT b c", "+word(a) -word(b) word(c)");
    check("-(a b)", "-[word(a) word(b)]");
    check("NOT NOT a", "word(a)");
    check("NOT -a", "word(a)");
    check("-\"a b\"", "-phrase(a b)");
    check("+name:x", "+name=word(x)");
}

#[test]
fn signs_inside_words_and_on_their_own_are_ignored() {
    check("pet-orders", "word(pet-orders)");
    check("pet - orders", "word(pet) word(orders)");
    check("--- a", "word(a)");
    check("--flag", "word(flag)");
    check("a -> b", "word(a) word(b)");
    check("c++", "word(c)");
}

#[test]
fn or_makes_alternatives_and_binds_less_tightly_than_and() {
    check("a OR b", "word(a) word(b)");
    check("a AND b OR c", "[+word(a) +word(b)] word(c)");
    check("a AND (b OR c)", "+word(a) +[word(b) word(c)]");
    check("a OR -b", "word(a) [-word(b)]");
    check("+(a OR b) +c", "+[word(a) word(b)] +word(c)");
}

#[test]
fn operators_without_operands_are_ignored() {
    check("a OR", "word(a)");
    check("a AND", "word(a)");
    check("OR a", "word(a)");
    check("a OR AND b", "word(a) word(b)");
    check("a NOT", "word(a)");
    check("(a OR ) b", "word(a) word(b)");
}

#[test]
fn an_operator_alone_is_a_word() {
    check("OR", "word(OR)");
    assert_eq!(parse("OR").plain.as_deref(), Some("OR"));
    check("or and not", "word(or) word(and) word(not)");
    check("ORDERS ANDROID", "word(ORDERS) word(ANDROID)");
}

#[test]
fn asterisks_and_question_marks_make_patterns() {
    check("ord*", "prefix(ord)");
    check("ord**", "prefix(ord)");
    check("o*r", "wildcard(o*r)");
    check("o?r", "wildcard(o?r)");
    check("*ord*", "wildcard(*ord*)");
    check("what is this?", "word(what) word(is) word(this)");
    check(r"a\*", "word(a)");
}

#[test]
fn syntax_of_other_query_languages_is_ignored() {
    check("orders^2", "word(orders)");
    check("orders~", "word(orders)");
    check("orders~0.8", "word(orders)");
    check("{orders}, [pets];", "word(orders) word(pets)");
    check("v1.5", "word(v1.5)");
    check(r"C\temp", r"word(C\temp)");
}

#[test]
fn the_q_prefix_does_not_change_the_language() {
    check("/q name:orders AND b", "+name=word(orders) +word(b)");
    check("  /q orders", "word(orders)");
    check("/quarter", "word(/quarter)");
}

#[test]
fn parentheses_need_not_be_balanced() {
    check("a) b", "word(a) word(b)");
    check("(a b", "[word(a) word(b)]");
    check("count(distinct x)", "word(count) [word(distinct) word(x)]");
}

#[test]
fn only_queries_of_plain_words_are_compared_with_names() {
    for text in [
        "Pet Orders",
        "pet - orders",
        "Orders (EU)",
        "5\" disk",
        DATASET,
        "what is this?",
    ] {
        assert_eq!(parse(&format!(" {text} ")).plain.as_deref(), Some(text));
    }
    for text in [
        "+a", "-a", "a OR b", "a AND b", "NOT a", "\"a b\"", "name:a", "a*", "a?b", "(a -b)", "*",
        "",
    ] {
        assert_eq!(parse(text).plain, None, "{text}");
    }
}

#[test]
fn the_tree_stays_within_its_limits() {
    let many = |word: &str| -> String {
        (0..900)
            .map(|at| word.replace('#', &at.to_string()))
            .collect()
    };
    assert_eq!(parse(&many("a# ")).clauses.len(), MAX_CLAUSES);
    let pairs = many("(a# b) ");
    assert_eq!(
        measured(&parse(&pairs)).0,
        MAX_CLAUSES / 3 * 3,
        "a group counts too"
    );
    let nested = |levels: usize| {
        format!(
            "{}x y{}",
            "(a b ".repeat(levels - 1),
            ")".repeat(levels - 1)
        )
    };
    assert_eq!(measured(&parse(&nested(8))).1, 8);
    assert_eq!(measured(&parse(&nested(9))).1, 8);
    assert_eq!(measured(&parse(&nested(100_000))).1, 8);
    check(
        &format!("{} z", nested(9)),
        &format!("{} word(z)", shown(&parse(&nested(9)))),
    );
    assert!(measured(&parse(&"(a AND b OR ".repeat(20))).1 <= MAX_NESTING);
}

#[test]
fn long_queries_lose_optional_clauses_first() {
    let words: Vec<String> = (0..200).map(|at| format!("w{at} w{at} ")).collect();
    let words = words.concat();
    let found = parse(&format!("{words}+must -not"));
    let expected: Vec<String> = (0..MAX_CLAUSES - 2)
        .map(|at| format!("word(w{at}) "))
        .collect();
    let expected = expected.concat();
    assert_eq!(shown(&found), format!("{expected}+word(must) -word(not)"));
    check("w w", "word(w)");
    let many = "w ".repeat(MAX_TERMS_READ);
    check(&format!("{many}x"), "word(w)");
}

/// The shortest of several runs, since other processes can only make one slower.
fn shortest_parse(text: &str) -> Duration {
    let times = (0..3).map(|_| {
        let started = Instant::now();
        assert!(measured(&parse(text)).0 <= MAX_CLAUSES);
        started.elapsed()
    });
    times.min().unwrap_or_default()
}

/// Eight times the text takes 8 times as long in linear time, and 64 times in quadratic time. A
/// busy machine may spoil an attempt, but it never makes quadratic time look linear 20 times over.
#[test]
fn parsing_time_is_linear_in_repeated_signs() {
    for sign in [
        "\"\\", "(", ")", "urn:li:(", "-", "a:", "*", "\\", "\"", "NOT ", "“", "()", "a:(", "\\“",
    ] {
        let (short, long) = (sign.repeat(25_000), sign.repeat(200_000));
        let is_linear = || shortest_parse(&long) < 24 * shortest_parse(&short);
        assert!((0..20).any(|_| is_linear()), "{sign}");
    }
}

/// The number of clauses, and the depth.
fn measured(query: &Query) -> (usize, usize) {
    let mut clauses = 0;
    let mut depth = 0;
    for clause in &query.clauses {
        let (below, deeper) = measured_term(&clause.term);
        clauses += 1 + below;
        depth = depth.max(deeper);
    }
    (clauses, depth + 1)
}

fn measured_term(term: &Term) -> (usize, usize) {
    match term {
        Term::Group(query) => measured(query),
        Term::Field { term, .. } => measured_term(term),
        _ => (0, 0),
    }
}

fn is_sound(query: &Query) -> bool {
    query
        .clauses
        .iter()
        .all(|clause| is_sound_term(&clause.term, false))
}

/// No empty words, no empty groups, no field directly in a field.
fn is_sound_term(term: &Term, in_field: bool) -> bool {
    let has_letters = |text: &str| text.contains(char::is_alphanumeric);
    match term {
        Term::Word(text) => is_urn(text) || has_letters(text),
        Term::Prefix(text) => has_letters(text) || (in_field && text.is_empty()),
        Term::Phrase(text) | Term::Wildcard(text) => has_letters(text),
        Term::Field { field, term } => !in_field && !field.is_empty() && is_sound_term(term, true),
        Term::Group(query) => !query.clauses.is_empty() && query.plain.is_none() && is_sound(query),
    }
}

#[test]
fn repeated_clauses_count_once_at_their_last_position() {
    check(&"*o* ".repeat(50), "wildcard(*o*)");
    check("a b a", "word(b) word(a)");
    check("a -a +a a", "-word(a) +word(a) word(a)");
    check("(x OR x) AND name:(y y)", "+[word(x)] +name=[word(y)]");
    check("(a b a) OR (c c)", "[word(b) word(a)] [word(c)]");
}

#[test]
fn long_terms_are_truncated_but_urns_are_not() {
    let long = "é".repeat(MAX_TERM_CHARS);
    check(&format!("{long}x"), &format!("word({long})"));
    check(&format!("{long}x*"), &format!("prefix({long})"));
    check(&format!("{long}*x"), &format!("wildcard({long})"));
    check(&format!("\"{long} x\""), &format!("phrase({long})"));
    check(
        &format!("\"{}\"", "ab ".repeat(MAX_TERM_CHARS)),
        &format!("phrase({})", "ab ".repeat(MAX_TERM_CHARS / 3)),
    );
    let urn = format!("urn:li:tag:{long}x");
    check(&urn, &format!("word({urn})"));
    check(&format!("{}ab", "_".repeat(MAX_TERM_CHARS)), "word(ab)");
}

proptest! {
    #[test]
    fn any_string_parses_into_a_bounded_tree(
        text in prop_oneof![
            ".{0,200}",
            r#"[ab*?:"“()+\-\\/~^\[ 0]{0,200}"#,
            r#"(a|b:|\(|\)| AND | OR | NOT |-|\+|"|urn:li:tag:|\*| ){0,200}"#,
        ]
    ) {
        let query = parse(&text);
        let (clauses, depth) = measured(&query);
        prop_assert!(clauses <= MAX_CLAUSES && depth <= MAX_NESTING);
        let is_sign = query.plain.as_deref().is_some_and(|plain| !plain.contains(char::is_alphanumeric));
        prop_assert!(is_sound(&query) || (is_sign && clauses == 1), "{query:?}");
    }

    #[test]
    fn plain_words_come_back_as_typed(words in prop::collection::vec("[a-zé0-9_]{0,8}[a-z0-9]", 1..10)) {
        let text = words.join(" ");
        let query = parse(&text);
        let found: Vec<Term> = query.clauses.into_iter().map(|clause| clause.term).collect();
        // The first of equal words, and the last of all.
        let (last, before) = words.split_last().unwrap();
        let is_first = |at: &usize| !before[..*at].contains(&before[*at]) && before[*at] != *last;
        let expected: Vec<Term> = (0..before.len())
            .filter(is_first)
            .map(|at| &before[at])
            .chain([last])
            .map(|word| Term::Word(word.clone()))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(query.plain, Some(text));
    }
}
