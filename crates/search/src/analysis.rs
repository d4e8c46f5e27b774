//! Text analysis: splits texts into the words that the index holds and that queries and
//! explanations compare.
//!
//! There are two ways to split a text. Both write a word in the same way:
//!
//! - [`name_words`], for identifiers, splits at every character that is not a letter or digit, at
//!   changes of case (`customerOrders`, `HTTPServer`) and between letters and digits
//!   (`orders2024`).
//! - [`text_words`], for prose, does the same, but splits inside a word only if it looks like an
//!   identifier, that is, has an underscore or a change of case. `q3` and `2nd` stay whole.
//!
//! A text that was split also yields joined words, at the position of their first part
//! ([`Token::joined`]): each run of letters and digits (`orders2024`), and runs linked by
//! underscores and dashes (`customer_orders` as `customerorders`). The index stores joined words of
//! two parts ([`pair`]), so that `customerorders` finds `customer_orders` and `email` finds
//! `e-mail`. Longer ones are rarely typed and nearly all distinct; a query splits them instead
//! ([`crate::query`]).
//!
//! Words are lower case, without accents, at max [`MAX_WORD_BYTES`] long and without the `s` of an
//! English plural ([`without_plural`]). Every ideograph and kana is a word, because nothing
//! separates them.
//!
//! This module must not know the index's fields or the query language. Any change to its output
//! invalidates existing indexes: raise the index format with it. To fold one more letter, add a
//! line to [`fold_special`].

use std::ops::Range;

use tantivy::tokenizer::{Token as IndexToken, TokenStream, Tokenizer};
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Longer words are truncated. Nobody types them, and encoded data in a description would only
/// bloat the dictionary.
pub(crate) const MAX_WORD_BYTES: usize = 100;

/// Prefix of joined words in the index. No other word starts with it.
const PAIR_MARK: char = '\u{1}';
/// The index stores joined words of this many parts.
const PARTS_OF_PAIR: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// Byte range in the text.
    pub(crate) range: Range<usize>,
    pub(crate) position: usize,
    /// Consists of several words that are also in the list, starting at the same position. Phrases
    /// ignore joined words.
    pub(crate) joined: bool,
}

/// Splits an identifier.
pub(crate) fn name_words(text: &str) -> Vec<Token> {
    tokens(text, TextKind::Name)
}

/// Splits prose.
pub(crate) fn text_words(text: &str) -> Vec<Token> {
    tokens(text, TextKind::Prose)
}

/// Converts to lower case and removes accents, for patterns and whole values. Plurals and
/// punctuation stay.
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

/// Splits identifiers for the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameTokenizer {
    words: WordSplitter,
    token: IndexToken,
}

/// Splits prose for the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextTokenizer {
    words: WordSplitter,
    token: IndexToken,
}

impl Tokenizer for NameTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream::start(&mut self.words, &mut self.token, text, TextKind::Name)
    }
}

impl Tokenizer for TextTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream::start(&mut self.words, &mut self.token, text, TextKind::Prose)
    }
}

/// The words of one text, in the form that tantivy reads.
#[derive(Debug)]
pub(crate) struct WordStream<'a> {
    words: &'a WordSplitter,
    next: usize,
    token: &'a mut IndexToken,
}

impl<'a> WordStream<'a> {
    fn start(
        words: &'a mut WordSplitter,
        token: &'a mut IndexToken,
        text: &str,
        kind: TextKind,
    ) -> WordStream<'a> {
        words.read(text, kind, PARTS_OF_PAIR);
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

fn tokens(text: &str, kind: TextKind) -> Vec<Token> {
    let mut words = WordSplitter::default();
    words.read(text, kind, usize::MAX);
    let WordSplitter { letters, found, .. } = words;
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

/// Writes a joined word of two parts as the index does. The prefix keeps it distinct from a word
/// that was typed joined.
pub(crate) fn pair(text: &str) -> String {
    format!("{PAIR_MARK}{text}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Name,
    Prose,
}

/// Splits one text after another into words. Reused between texts, so that indexing does not
/// allocate per word.
#[derive(Debug, Clone, Default)]
struct WordSplitter {
    /// The letters of all words, concatenated.
    letters: String,
    found: Vec<Word>,
    /// Scratch space: the parts of the current segment.
    parts: Vec<Part>,
    position: usize,
}

#[derive(Debug, Clone)]
struct Word {
    letters: Range<usize>,
    range: Range<usize>,
    position: usize,
    /// Number of words at the same position and after that this one is joined from; 1 if it is not
    /// joined.
    parts: usize,
}

/// A part of a segment that becomes a word.
#[derive(Debug, Clone)]
struct Part {
    range: Range<usize>,
    /// Index of its run of letters and digits within the segment.
    run: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Upper,
    /// Includes letters of scripts without case.
    Lower,
    Digit,
    /// Combining mark of the preceding letter.
    Mark,
    /// Links the runs of a segment: underscore or dash.
    Link,
    Ideograph,
    Other,
}

impl WordSplitter {
    /// Finds the words of a text, and joined words of at max `max_parts` parts.
    fn read(&mut self, text: &str, kind: TextKind, max_parts: usize) {
        self.letters.clear();
        self.found.clear();
        self.position = 0;
        let mut at = 0;
        while let Some((class, end)) = class_at(text, at) {
            at = match class {
                CharClass::Upper | CharClass::Lower | CharClass::Digit => {
                    match end_of_plain_word(text, at) {
                        Some(end) => self.whole(text, at..end),
                        None => self.segment(text, at, kind, max_parts),
                    }
                }
                CharClass::Ideograph => self.whole(text, at..end),
                CharClass::Mark | CharClass::Link | CharClass::Other => end,
            };
        }
    }

    /// Adds an undivided word and returns its end.
    fn whole(&mut self, text: &str, range: Range<usize>) -> usize {
        let end = range.end;
        let run = 0;
        self.push(text, &[Part { range, run }]);
        self.position += 1;
        end
    }

    /// Splits the run of letters, digits and links at `start`, and returns its end.
    fn segment(&mut self, text: &str, start: usize, kind: TextKind, max_parts: usize) -> usize {
        let mut parts = std::mem::take(&mut self.parts);
        let (end, looks_like_identifier) = find_parts(text, start, &mut parts);
        if kind == TextKind::Prose && !looks_like_identifier {
            parts.dedup_by(|later, earlier| {
                let same_run = later.run == earlier.run;
                if same_run {
                    earlier.range.end = later.range.end;
                }
                same_run
            });
        }
        let runs = parts.last().map_or(0, |part| part.run + 1);
        let is_kept = |joined: &[Part]| (2..=max_parts).contains(&joined.len());
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

    /// Adds the concatenated letters and digits of some parts as one word at the current position.
    fn push(&mut self, text: &str, parts: &[Part]) {
        let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
            return;
        };
        let from = self.letters.len();
        let letters = &mut self.letters;
        for part in parts {
            write_letters(letters, &text[part.range.clone()], MAX_WORD_BYTES + from);
        }
        let length = without_plural(&letters[from..]).len();
        letters.truncate(from + length);
        let repeats_word_before = parts.len() > 1
            && self.found.last().is_some_and(|word| {
                // Truncation can make a joined word equal to its first part.
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

/// Fast path for the usual word: ASCII letters, only the first of them a capital, and a separator
/// after them. Returns the end of the word.
fn end_of_plain_word(text: &str, start: usize) -> Option<usize> {
    let (first, others) = text.as_bytes()[start..].split_first()?;
    let lower = others.iter().take_while(|byte| byte.is_ascii_lowercase());
    let count = lower.count();
    let next = others.get(count).map_or(b' ', |byte| *byte);
    let ends = ASCII_CLASSES.get(usize::from(next)) == Some(&CharClass::Other);
    (first.is_ascii_alphabetic() && ends).then_some(start + 1 + count)
}

/// Appends a text of letters, digits and combining marks in folded form, up to `max` bytes in
/// total.
fn write_letters(letters: &mut String, text: &str, max: usize) {
    let from = letters.len();
    let is_small = |byte| {
        let class = ASCII_CLASSES.get(usize::from(byte));
        matches!(class, Some(CharClass::Lower | CharClass::Digit))
    };
    // Most words are already folded.
    if text.len() <= max - from && text.bytes().all(is_small) {
        letters.push_str(text);
        return;
    }
    if text.is_ascii() {
        letters.push_str(&text[..text.len().min(max - from)]);
        letters[from..].make_ascii_lowercase();
        return;
    }
    for character in text.chars() {
        fold_character(character, &mut |letter| {
            if letters.len() + letter.len_utf8() <= max {
                letters.push(letter);
            }
        });
    }
}

/// Splits a segment at links, at changes of case and between letters and digits. Returns its end,
/// and whether it looks like an identifier.
fn find_parts(text: &str, start: usize, parts: &mut Vec<Part>) -> (usize, bool) {
    let mut looks_like_identifier = false;
    // Not at the end: `_q3_` is an emphasised word.
    let mut underscore = false;
    let mut run = 0;
    // Start of the open part; then the class and start of the last character that is not a
    // combining mark.
    let mut open: Option<usize> = None;
    let mut before = (CharClass::Link, start);
    let mut uppers = 0;
    let mut next = start;
    while let Some((class, end)) = class_at(text, next) {
        let at = next;
        match class {
            CharClass::Ideograph | CharClass::Other => break,
            CharClass::Mark => {
                next = end;
                continue;
            }
            CharClass::Link => {
                underscore |= &text[at..end] == "_";
                if let Some(start) = open.take() {
                    let range = start..at;
                    parts.push(Part { range, run });
                    run += 1;
                }
            }
            CharClass::Upper | CharClass::Lower | CharClass::Digit => {
                looks_like_identifier |= underscore;
                let border = match (before.0, class) {
                    _ if open.is_none() => None,
                    (CharClass::Lower, CharClass::Upper) => Some((at, true)),
                    (CharClass::Upper, CharClass::Lower) if uppers > 1 => {
                        // `HTTPServer` is two words, but the plural `URLs` is one.
                        let is_last =
                            class_at(text, end).is_none_or(|(it, _)| it != CharClass::Lower);
                        let plural = &text[at..end] == "s" && is_last;
                        (!plural).then_some((before.1, true))
                    }
                    (CharClass::Digit, CharClass::Upper | CharClass::Lower)
                    | (CharClass::Upper | CharClass::Lower, CharClass::Digit) => Some((at, false)),
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
        uppers = if class == CharClass::Upper {
            uppers + 1
        } else {
            0
        };
        next = end;
        if class == CharClass::Lower {
            // There is no boundary between lower-case letters.
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

/// Removes the `s` of an English plural, so that `order` finds `orders`: from words of at least
/// five letters that do not end in `ss`. It also shortens `status`, which does no harm, because
/// texts and queries are treated alike.
pub(crate) fn without_plural(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with('s') && stem.chars().count() >= 4 => stem,
        _ => word,
    }
}

/// Returns the class and the end of the character at a byte offset; `None` at the end of the text.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(CharClass, usize)> {
    let byte = *text.as_bytes().get(at)?;
    match ASCII_CLASSES.get(usize::from(byte)) {
        Some(class) => Some((*class, at + 1)),
        None => class_beyond_ascii(text, at),
    }
}

/// A table, because the class of every character of every text is needed.
static ASCII_CLASSES: [CharClass; 128] = {
    let mut classes = [CharClass::Other; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => CharClass::Lower,
            b'A'..=b'Z' => CharClass::Upper,
            b'0'..=b'9' => CharClass::Digit,
            b'_' | b'-' => CharClass::Link,
            _ => CharClass::Other,
        };
        byte += 1_u8;
    }
    classes
};

#[inline(never)]
fn class_beyond_ascii(text: &str, at: usize) -> Option<(CharClass, usize)> {
    let character = text[at..].chars().next()?;
    let class = match character {
        _ if is_ideograph(character) => CharClass::Ideograph,
        _ if is_mark(character) => CharClass::Mark,
        _ if character.is_uppercase() => CharClass::Upper,
        _ if character.is_alphabetic() => CharClass::Lower,
        _ if character.is_numeric() => CharClass::Digit,
        _ => CharClass::Other,
    };
    Some((class, at + character.len_utf8()))
}

/// Chinese characters and Japanese syllables, which are written without spaces between words.
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

/// Whether a letter may be decomposed: in scripts where users omit accents. In other scripts
/// combining marks distinguish words.
fn has_accents_to_drop(character: char) -> bool {
    matches!(character,
        '\u{80}'..='\u{52f}' | '\u{1d00}'..='\u{218f}' | '\u{2460}'..='\u{249b}' | '\u{fb00}'..='\u{fb06}' | '\u{ff10}'..='\u{ff5a}')
}

/// Emits the folded form of a letter or digit; nothing for a combining mark.
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
            // The letter without its accent may have a special form, too.
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

/// Letters that Unicode does not decompose, although users do when they lack the key.
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
