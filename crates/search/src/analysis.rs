//! Text to words: what the index keeps, and what a query and an explanation are compared with.
//!
//! Two ways to divide a text, which agree on how a word is written:
//!
//! - [`name_words`], for identifiers: divided at everything that is no letter or digit, where the case changes
//!   (`customerOrders`, `HTTPServer`) and between letters and digits (`orders2024`).
//! - [`text_words`], for prose: the same, but a word is divided inside only if it looks like an identifier, that is, has an
//!   underscore or a change of case. `q3` and `2nd` stay whole.
//!
//! What was divided is also told undivided, at the position of its first word ([`Token::joined`]): each run of letters and
//! digits (`orders2024`) and each run of them joined by underscores and dashes (`customer_orders` as `customerorders`).
//! The index keeps those of two parts ([`pair`]), so typing `customerorders` finds `customer_orders`, and `email` finds
//! `e-mail`. Longer ones are hardly ever typed and nearly all different; a query divides them ([`crate::query`]).
//!
//! A word is written in lower case, without accents, at most [`LONGEST_WORD_BYTES`] long, and without the `s` of an English
//! plural ([`without_plural`]). Ideographs and kana are words of their own, since nothing divides them.
//!
//! This module must not know the index's fields nor the query language. Every change of what it answers makes indexes
//! that were built before wrong: raise the index's format with it. One more letter to fold is a line of [`fold_special`].

use std::ops::Range;

use tantivy::tokenizer::{Token as IndexToken, TokenStream, Tokenizer};
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Longer words are cut. Nobody types them; encoded data in a description would only swell the dictionary.
pub(crate) const LONGEST_WORD_BYTES: usize = 100;

/// No word begins with it.
const PAIR_MARK: char = '\u{1}';
/// Of how many words a joined one is made that the index keeps.
const PARTS_OF_PAIR: usize = 2;

/// A word of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Where it stands in the text, in bytes.
    pub(crate) range: Range<usize>,
    pub(crate) position: usize,
    /// It is made of several words that are there too, from the same position on. A phrase is compared without these.
    pub(crate) joined: bool,
}

/// The words of an identifier.
pub(crate) fn name_words(text: &str) -> Vec<Token> {
    tokens(text, Style::Name)
}

/// The words of prose.
pub(crate) fn text_words(text: &str) -> Vec<Token> {
    tokens(text, Style::Prose)
}

/// The text in lower case and without accents; everything else, plurals too, stays. For patterns and whole values.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_alphanumeric() || is_mark(character) {
            fold_character(character, &mut |letter| folded.push(letter));
        } else {
            folded.push(character);
        }
    }
    folded
}

/// Divides identifiers for the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameTokenizer {
    words: Words,
    token: IndexToken,
}

/// Divides prose for the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextTokenizer {
    words: Words,
    token: IndexToken,
}

impl Tokenizer for NameTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream::start(&mut self.words, &mut self.token, text, Style::Name)
    }
}

impl Tokenizer for TextTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream::start(&mut self.words, &mut self.token, text, Style::Prose)
    }
}

/// Hands the words of one text to the index.
#[derive(Debug)]
pub(crate) struct WordStream<'a> {
    words: &'a Words,
    next: usize,
    token: &'a mut IndexToken,
}

impl<'a> WordStream<'a> {
    fn start(
        words: &'a mut Words,
        token: &'a mut IndexToken,
        text: &str,
        style: Style,
    ) -> WordStream<'a> {
        words.read(text, style, PARTS_OF_PAIR);
        token.reset();
        WordStream {
            words,
            next: 0,
            token,
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.found.get(self.next) else {
            return false;
        };
        self.next += 1;
        self.token.text.clear();
        if word.parts == PARTS_OF_PAIR {
            self.token.text.push(PAIR_MARK);
        }
        self.token
            .text
            .push_str(&self.words.letters[word.letters.clone()]);
        self.token.offset_from = word.range.start;
        self.token.offset_to = word.range.end;
        self.token.position = word.position;
        true
    }

    fn token(&self) -> &IndexToken {
        self.token
    }

    fn token_mut(&mut self) -> &mut IndexToken {
        self.token
    }
}

fn tokens(text: &str, style: Style) -> Vec<Token> {
    let mut words = Words::default();
    words.read(text, style, usize::MAX);
    let Words { letters, found, .. } = words;
    found
        .into_iter()
        .map(|word| Token {
            text: letters[word.letters].to_owned(),
            range: word.range,
            position: word.position,
            joined: word.parts > 1,
        })
        .collect()
}

/// How the index writes a word that is made of two: marked, so that none is taken for a word that somebody wrote so.
pub(crate) fn pair(text: &str) -> String {
    format!("{PAIR_MARK}{text}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Name,
    Prose,
}

/// The words of one text. Used again for the next text, so that indexing does not allocate for each word.
#[derive(Debug, Clone, Default)]
struct Words {
    /// The letters of all words, one word behind the other.
    letters: String,
    found: Vec<Word>,
    /// Scratch: the parts of the segment that is being divided.
    parts: Vec<Part>,
    position: usize,
}

#[derive(Debug, Clone)]
struct Word {
    letters: Range<usize>,
    range: Range<usize>,
    position: usize,
    /// Of how many words that are there too it is made, from the same position on.
    parts: usize,
}

/// A part of a segment that becomes a word.
#[derive(Debug, Clone)]
struct Part {
    range: Range<usize>,
    /// Which run of letters and digits of the segment it belongs to.
    run: usize,
}

/// What a character is to the division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    /// Also letters of scripts without case.
    Lower,
    Digit,
    /// Belongs to the letter before it.
    Mark,
    /// Holds the runs of a segment together.
    Link,
    Ideograph,
    Other,
}

impl Words {
    /// Finds the words of a text, joined ones if they are made of at most so many.
    fn read(&mut self, text: &str, style: Style, most_parts: usize) {
        self.letters.clear();
        self.found.clear();
        self.position = 0;
        let mut at = 0;
        while let Some((class, end)) = class_at(text, at) {
            at = match class {
                Class::Upper | Class::Lower | Class::Digit => match end_of_plain_word(text, at) {
                    Some(end) => self.whole(text, at..end),
                    None => self.segment(text, at, style, most_parts),
                },
                Class::Ideograph => self.whole(text, at..end),
                Class::Mark | Class::Link | Class::Other => end,
            };
        }
    }

    /// Adds what is one word for itself; answers where it ends.
    fn whole(&mut self, text: &str, range: Range<usize>) -> usize {
        let end = range.end;
        let run = 0;
        self.push(text, &[Part { range, run }]);
        self.position += 1;
        end
    }

    /// Divides the run of letters, digits and links that begins at `start`; answers where it ends.
    fn segment(&mut self, text: &str, start: usize, style: Style, most_parts: usize) -> usize {
        let mut parts = std::mem::take(&mut self.parts);
        let (end, looks_like_identifier) = find_parts(text, start, &mut parts);
        if style == Style::Prose && !looks_like_identifier {
            parts.dedup_by(|later, earlier| {
                let same_run = later.run == earlier.run;
                if same_run {
                    earlier.range.end = later.range.end;
                }
                same_run
            });
        }
        let runs = parts.last().map_or(0, |part| part.run + 1);
        let is_kept = |joined: &[Part]| (2..=most_parts).contains(&joined.len());
        for (index, part) in parts.iter().enumerate() {
            self.push(text, &parts[index..=index]);
            let run_begins = index == 0 || parts[index - 1].run != part.run;
            if run_begins {
                let later = &parts[index..];
                let count = later.iter().take_while(|it| it.run == part.run).count();
                if is_kept(&later[..count]) {
                    self.push(text, &later[..count]);
                }
            }
            if index == 0 && runs > 1 && is_kept(&parts) {
                self.push(text, &parts);
            }
            self.position += 1;
        }
        parts.clear();
        self.parts = parts;
        end
    }

    /// Adds the letters and digits of some parts, one behind the other, as one word at the current position.
    fn push(&mut self, text: &str, parts: &[Part]) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return;
        };
        let from = self.letters.len();
        let letters = &mut self.letters;
        for part in parts {
            write_letters(
                letters,
                &text[part.range.clone()],
                LONGEST_WORD_BYTES + from,
            );
        }
        let length = without_plural(&letters[from..]).len();
        letters.truncate(from + length);
        let repeats_word_before = parts.len() > 1
            && self.found.last().is_some_and(|word| {
                // Cutting may make a joined word equal to its first part.
                word.position == self.position && letters[word.letters.clone()] == letters[from..]
            });
        if length == 0 || repeats_word_before {
            letters.truncate(from);
            return;
        }
        self.found.push(Word {
            letters: from..from + length,
            range: first.range.start..last.range.end,
            position: self.position,
            parts: parts.len(),
        });
    }
}

/// Where the word ends that begins at `start`, if it is one as most are: Latin letters, none but the first a capital, and
/// nothing behind them that could belong to it.
fn end_of_plain_word(text: &str, start: usize) -> Option<usize> {
    let (first, others) = text.as_bytes()[start..].split_first()?;
    let lower = others.iter().take_while(|byte| byte.is_ascii_lowercase());
    let count = lower.count();
    let behind = others.get(count).map_or(b' ', |byte| *byte);
    let ends = ASCII_CLASSES.get(usize::from(behind)) == Some(&Class::Other);
    (first.is_ascii_alphabetic() && ends).then_some(start + 1 + count)
}

/// Writes a text of letters, digits and marks behind the others, as they are compared; not beyond `most` bytes in all.
fn write_letters(letters: &mut String, text: &str, most: usize) {
    let from = letters.len();
    let is_small = |byte| {
        let class = ASCII_CLASSES.get(usize::from(byte));
        matches!(class, Some(Class::Lower | Class::Digit))
    };
    // Most words.
    if text.len() <= most - from && text.bytes().all(is_small) {
        letters.push_str(text);
        return;
    }
    if text.is_ascii() {
        letters.push_str(&text[..text.len().min(most - from)]);
        letters[from..].make_ascii_lowercase();
        return;
    }
    for character in text.chars() {
        fold_character(character, &mut |letter| {
            if letters.len() + letter.len_utf8() <= most {
                letters.push(letter);
            }
        });
    }
}

/// Divides a segment at links, changes of case, and between letters and digits. Answers where it ends, and whether it looks
/// like an identifier.
fn find_parts(text: &str, start: usize, parts: &mut Vec<Part>) -> (usize, bool) {
    let mut looks_like_identifier = false;
    // Not at the end: `_q3_` is a word with emphasis.
    let mut underscore = false;
    let mut run = 0;
    // Where the open part begins, and its last character that is no mark, with its place.
    let mut open: Option<usize> = None;
    let mut before = (Class::Link, start);
    let mut uppers = 0;
    let mut next = start;
    while let Some((class, end)) = class_at(text, next) {
        let at = next;
        match class {
            Class::Ideograph | Class::Other => break,
            Class::Mark => {
                next = end;
                continue;
            }
            Class::Link => {
                underscore |= &text[at..end] == "_";
                if let Some(start) = open.take() {
                    let range = start..at;
                    parts.push(Part { range, run });
                    run += 1;
                }
            }
            Class::Upper | Class::Lower | Class::Digit => {
                looks_like_identifier |= underscore;
                let border = match (before.0, class) {
                    _ if open.is_none() => None,
                    (Class::Lower, Class::Upper) => Some((at, true)),
                    (Class::Upper, Class::Lower) if uppers > 1 => {
                        // `HTTPServer` is two words, the plural `URLs` is one.
                        let is_last = class_at(text, end).is_none_or(|(it, _)| it != Class::Lower);
                        let plural = &text[at..end] == "s" && is_last;
                        (!plural).then_some((before.1, true))
                    }
                    (Class::Digit, Class::Upper | Class::Lower)
                    | (Class::Upper | Class::Lower, Class::Digit) => Some((at, false)),
                    _ => None,
                };
                if let (Some((border, of_case)), Some(start)) = (border, open) {
                    looks_like_identifier |= of_case;
                    let range = start..border;
                    parts.push(Part { range, run });
                    open = Some(border);
                }
                open = open.or(Some(at));
            }
        }
        uppers = if class == Class::Upper { uppers + 1 } else { 0 };
        next = end;
        if class == Class::Lower {
            // Nothing changes between small letters.
            let others = text.as_bytes()[end..].iter();
            next += others.take_while(|byte| byte.is_ascii_lowercase()).count();
        }
        before = (class, if next > end { next - 1 } else { at });
    }
    if let Some(start) = open {
        let range = start..next;
        parts.push(Part { range, run });
    }
    (next, looks_like_identifier)
}

/// The word without the `s` of an English plural, so that `order` finds `orders`: words of five letters or more that do not
/// end in `ss`. It also cuts `status`, which does no harm: the word is cut wherever it stands, in texts and in queries.
pub(crate) fn without_plural(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') && stem.chars().count() >= 4 => stem,
        _ => word,
    }
}

/// The class of the character that begins at a place, and where it ends; `None` at the end of the text.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(at)?;
    match ASCII_CLASSES.get(usize::from(byte)) {
        Some(class) => Some((*class, at + 1)),
        None => class_beyond_ascii(text, at),
    }
}

/// Looked up, since every character of every text is asked for its class.
static ASCII_CLASSES: [Class; 128] = {
    let mut classes = [Class::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b'_' | b'-' => Class::Link,
            _ => Class::Other,
        };
        byte += 1_u8;
    }
    classes
};

#[inline(never)]
fn class_beyond_ascii(text: &str, at: usize) -> Option<(Class, usize)> {
    let character = text[at..].chars().next()?;
    let class = match character {
        _ if is_ideograph(character) => Class::Ideograph,
        _ if is_mark(character) => Class::Mark,
        _ if character.is_uppercase() => Class::Upper,
        _ if character.is_alphabetic() => Class::Lower,
        _ if character.is_numeric() => Class::Digit,
        _ => Class::Other,
    };
    Some((class, at + character.len_utf8()))
}

/// Chinese characters and the Japanese syllables, which are written without spaces between words.
fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{323af}')
}

fn is_mark(character: char) -> bool {
    character >= '\u{300}' && is_combining_mark(character)
}

/// Whether the letter may be taken apart: scripts whose accents people leave out, and other forms of their letters.
/// Elsewhere the marks are what tells words apart.
fn has_accents_to_drop(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{52f}' | '\u{1d00}'..='\u{218f}' | '\u{2460}'..='\u{249b}' | '\u{fb00}'..='\u{fb06}' | '\u{ff10}'..='\u{ff5a}')
}

/// Gives the lower-case letters without accents that stand for a letter or digit; none for an accent alone.
fn fold_character(character: char, give: &mut impl FnMut(char)) {
    if character.is_ascii() {
        give(character.to_ascii_lowercase());
        return;
    }
    let mut give_folded = |lower: char| match fold_special(lower) {
        Some(letters) => letters.chars().for_each(&mut *give),
        None => give(lower),
    };
    for lower in character.to_lowercase() {
        if has_accents_to_drop(lower) {
            // What is left without its accent may have a special form itself.
            decompose_compatible(lower, |part| {
                if part.is_alphanumeric() {
                    part.to_lowercase().for_each(&mut give_folded);
                }
            });
        } else {
            give_folded(lower);
        }
    }
}

/// Letters that Unicode does not take apart, but people who lack the key do.
fn fold_special(lower: char) -> Option<&'static str> {
    Some(match lower {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ł' => "l",
        'ħ' => "h",
        'ı' => "i",
        'ŧ' => "t",
        'ς' => "σ",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
