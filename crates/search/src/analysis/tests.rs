//! Words as the index stores them.

use proptest::prelude::*;
use tantivy::tokenizer::{TokenStream, Tokenizer};

use super::*;

/// The words with their positions; `+` marks joined ones.
fn shown(tokens: &[Token]) -> String {
    let words: Vec<String> = tokens
        .iter()
        .map(|token| {
            let mark = if token.joined { "+" } else { "" };
            format!("{}{mark}@{}", token.text, token.position)
        })
        .collect();
    words.join(" ")
}

fn name(text: &str) -> String {
    shown(&name_words(text))
}

fn prose(text: &str) -> String {
    shown(&text_words(text))
}

#[test]
fn names_are_split_at_punctuation() {
    assert_eq!(
        name("prod.sales/eu west:raw"),
        "prod@0 sale@1 eu@2 west@3 raw@4"
    );
}

#[test]
fn names_with_underscores_and_dashes_are_also_one_word() {
    assert_eq!(
        name("customer_orders"),
        "customer@0 customerorder+@0 order@1"
    );
    assert_eq!(name("dbo.pet-food"), "dbo@0 pet@1 petfood+@1 food@2");
    assert_eq!(name("customerorders"), "customerorder@0");
}

#[test]
fn underscores_at_the_ends_of_a_name_are_ignored() {
    assert_eq!(name("__init__"), "init@0");
    assert_eq!(name("a - b"), "a@0 b@1");
    assert_eq!(name("a__b"), "a@0 ab+@0 b@1");
}

#[test]
fn names_are_split_at_changes_of_case() {
    assert_eq!(name("camelCase"), "camel@0 camelcase+@0 case@1");
    assert_eq!(name("HTTPServer"), "http@0 httpserver+@0 server@1");
    assert_eq!(name("CUSTOMER"), "customer@0");
    assert_eq!(name("userIDs"), "user@0 userid+@0 ids@1");
    assert_eq!(name("URLSet"), "url@0 urlset+@0 set@1");
}

#[test]
fn names_are_split_between_letters_and_digits_and_also_one_word() {
    assert_eq!(name("orders2024"), "order@0 orders2024+@0 2024@1");
    assert_eq!(
        name("orders2024_final"),
        "order@0 orders2024+@0 orders2024final+@0 2024@1 final@2"
    );
    assert_eq!(
        name("customerOrders_v2"),
        "customer@0 customerorder+@0 customerordersv2+@0 order@1 v@2 v2+@2 2@3"
    );
}

#[test]
fn prose_keeps_words_with_digits_whole() {
    assert_eq!(prose("The 2nd quarter, Q3."), "the@0 2nd@1 quarter@2 q3@3");
    assert_eq!(prose("covid-19"), "covid@0 covid19+@0 19@1");
}

#[test]
fn prose_splits_words_that_look_like_identifiers() {
    assert_eq!(
        prose("see customer_orders2024 or orderId!"),
        "see@0 customer@1 customerorders2024+@1 order@2 orders2024+@2 2024@3 or@4 order@5 orderid+@5 id@6"
    );
}

#[test]
fn a_capitalized_word_is_not_an_identifier() {
    assert_eq!(prose("Orders of ACME"), "order@0 of@1 acme@2");
}

#[test]
fn plurals_of_at_least_five_letters_lose_their_s() {
    assert_eq!(
        name("orders order users cats address bus"),
        "order@0 order@1 user@2 cats@3 address@4 bus@5"
    );
    assert_eq!(prose("Orders"), "order@0");
}

#[test]
fn accents_and_case_are_folded() {
    assert_eq!(
        name("Émile STRASSE Straße Ærø İzmir Łódź"),
        "emile@0 strasse@1 strasse@2 aero@3 izmir@4 lodz@5"
    );
    assert_eq!(name("cafe\u{301}"), "cafe@0");
    assert_eq!(name("Ǣ ǿre"), "ae@0 ore@1");
    assert_eq!(name("ΟΔΟΣ οδος"), "οδοσ@0 οδοσ@1");
    assert_eq!(name("ｆｕｌｌ ﬁne x²"), "full@0 fine@1 x@2 x2+@2 2@3");
}

#[test]
fn combining_marks_of_other_scripts_stay() {
    assert_eq!(name("हिन्दी"), "हिन्दी@0");
    assert_eq!(name("한국어"), "한국어@0");
}

#[test]
fn each_ideograph_is_a_word() {
    assert_eq!(name("顧客orders"), "顧@0 客@1 order@2");
    assert_eq!(prose("ひらカタ"), "ひ@0 ら@1 カ@2 タ@3");
}

#[test]
fn words_have_their_byte_ranges_in_the_text() {
    let text = "Élan_vital über";
    let tokens = name_words(text);
    let places: Vec<(&str, &str)> = tokens
        .iter()
        .map(|token| (token.text.as_str(), &text[token.range.clone()]))
        .collect();
    assert_eq!(
        places,
        [
            ("elan", "Élan"),
            ("elanvital", "Élan_vital"),
            ("vital", "vital"),
            ("uber", "über")
        ]
    );
}

#[test]
fn long_words_are_truncated_between_characters() {
    let tokens = name_words(&"é".repeat(300));
    assert_eq!(tokens[0].text, "e".repeat(100));
    let tokens = name_words(&"я".repeat(51));
    assert_eq!(tokens[0].text, "я".repeat(50));
    let tokens = name_words(&format!("{}_b", "a".repeat(120)));
    assert_eq!(
        tokens.len(),
        2,
        "the joined word is cut to its first part, which is there already"
    );
}

#[test]
fn punctuation_has_no_words() {
    for text in ["", " ", "_", "--", "()[]…", "\u{301}", "🚀"] {
        assert_eq!(name_words(text), [], "{text:?}");
        assert_eq!(text_words(text), [], "{text:?}");
    }
}

#[test]
fn folding_keeps_punctuation() {
    assert_eq!(fold("Café *_Orders?"), "cafe *_orders?");
}

#[test]
fn tokenizers_can_be_reused_and_mark_pairs() {
    let mut names = NameTokenizer::default();
    let mut texts = TextTokenizer::default();
    for text in [
        "customerOrders q3",
        "",
        "b2b",
        "a b c",
        "stg_customer_orders",
    ] {
        assert_eq!(streamed(names.token_stream(text)), plain(&name_words(text)));
        assert_eq!(streamed(texts.token_stream(text)), plain(&text_words(text)));
    }
    assert_ne!(name("b2b"), prose("b2b"));
}

#[test]
fn pairs_are_words_of_two_parts() {
    let marked = |words: Vec<Plain>| -> Vec<String> {
        let texts = words.into_iter().map(|(text, ..)| text);
        texts
            .filter_map(|text| Some(text.strip_prefix(PAIR_MARK)?.to_owned()))
            .collect()
    };
    let of_name = |text| marked(streamed(NameTokenizer::default().token_stream(text)));
    assert_eq!(of_name("db.user_name, e-mail"), ["username", "email"]);
    assert_eq!(of_name("orders2024"), ["orders2024"]);
    assert_eq!(of_name("stg_customer_orders"), [""; 0]);
    assert_eq!(of_name("orders"), [""; 0]);
    let of_text = marked(streamed(
        TextTokenizer::default().token_stream("the q3 user_names"),
    ));
    assert_eq!(of_text, ["username"]);
}

type Plain = (String, Range<usize>, usize);

/// The words that the index stores: of the joined ones only pairs.
fn plain(tokens: &[Token]) -> Vec<Plain> {
    let parts_within = |outer: &Token| {
        let inside = |token: &&Token| {
            !token.joined
                && outer.range.start <= token.range.start
                && token.range.end <= outer.range.end
        };
        tokens.iter().filter(inside).count()
    };
    tokens
        .iter()
        .filter(|token| !token.joined || parts_within(token) == 2)
        .map(|token| {
            let text = if token.joined {
                pair(&token.text)
            } else {
                token.text.clone()
            };
            (text, token.range.clone(), token.position)
        })
        .collect()
}

fn streamed(mut stream: WordStream<'_>) -> Vec<Plain> {
    let mut words = Vec::new();
    stream.process(&mut |token| {
        words.push((
            token.text.clone(),
            token.offset_from..token.offset_to,
            token.position,
        ));
    });
    words
}

/// Letters of several scripts, combining marks and separators, which random strings rarely contain.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,60}",
        "[aBsS1_ .\\-éßİ\u{301}顧カ]{0,40}",
        "[a-zA-Z0-9_]{90,130}"
    ]
}

proptest! {
    #[test]
    fn words_are_in_the_order_of_the_text(text in any_text()) {
        for tokens in [name_words(&text), text_words(&text)] {
            let mut position = 0;
            for token in &tokens {
                prop_assert!(text.is_char_boundary(token.range.start) && text.is_char_boundary(token.range.end));
                prop_assert!(token.range.start < token.range.end);
                prop_assert!(!token.text.is_empty() && token.text.len() <= MAX_WORD_BYTES);
                prop_assert!(token.position == position || token.position == position + 1);
                position = token.position;
            }
            let single: Vec<&Token> = tokens.iter().filter(|token| !token.joined).collect();
            for pair in single.windows(2) {
                prop_assert!(pair[0].range.end <= pair[1].range.start);
                prop_assert!(pair[0].position < pair[1].position);
            }
        }
    }

    /// Explanations compare words of the query with name words only, so they rely on this for
    /// prose.
    #[test]
    fn every_word_of_prose_is_also_a_name_word(text in any_text()) {
        let names: Vec<String> = name_words(&text).into_iter().map(|token| token.text).collect();
        for token in text_words(&text) {
            prop_assert!(names.contains(&token.text), "{:?} is not among {:?}", token.text, names);
        }
    }

    #[test]
    fn splitting_a_word_again_yields_the_word(text in any_text()) {
        for token in name_words(&text) {
            let again = name_words(&token.text);
            let same = again.iter().any(|other| other.text == without_plural(&token.text));
            prop_assert!(same || token.text.len() > MAX_WORD_BYTES - 4, "{:?} gives {:?}", token.text, again);
        }
    }
}
