//! The part of a long value that is worth showing.

use std::ops::Range;

/// Longer values are cut to this many characters.
const LONGEST: usize = 200;

/// So many of them stand before the first match, to show what it is about.
const BEFORE_MATCH: usize = 60;

const CUT: &str = "…";

/// Shortens a long value to the part around the first place, and moves the places with it. Places must be sorted.
pub(super) fn cut(value: &str, places: Vec<Range<usize>>) -> (String, Vec<Range<usize>>) {
    if value.len() <= LONGEST || value.chars().nth(LONGEST).is_none() {
        return (value.to_owned(), places);
    }
    let first = places.first().cloned().unwrap_or(0..0);
    let window = window(value, &first);
    let opening = if window.start > 0 { CUT } else { "" };
    let closing = if window.end < value.len() { CUT } else { "" };
    let moved = places
        .into_iter()
        .map(|place| place.start.max(window.start)..place.end.min(window.end))
        .filter(|place| place.start < place.end)
        .map(|place| {
            let moved = |at: usize| at - window.start + opening.len();
            moved(place.start)..moved(place.end)
        })
        .collect();
    let shortened = [opening, &value[window], closing].concat();
    (shortened, moved)
}

/// Cuts between words where there are any, and never into the first match unless it is too long by itself.
fn window(value: &str, first: &Range<usize>) -> Range<usize> {
    let earliest_for_rest = back(value, value.len(), LONGEST);
    let mut start = back(value, first.start, BEFORE_MATCH).min(earliest_for_rest);
    if start > 0 {
        start = word_start(value, start, first.start);
    }
    let mut end = forward(value, start, LONGEST);
    if end < value.len() && first.end < end {
        end = word_end(value, first.end, end);
    }
    start..end
}

/// The place so many characters before.
fn back(value: &str, at: usize, count: usize) -> usize {
    let mut starts = value[..at].char_indices().rev().map(|(start, _)| start);
    starts.nth(count - 1).unwrap_or(0)
}

/// The place so many characters behind.
fn forward(value: &str, at: usize, count: usize) -> usize {
    let mut starts = value[at..].char_indices().map(|(start, _)| at + start);
    starts.nth(count).unwrap_or(value.len())
}

/// The first beginning of a word from `at` on, up to `limit`; `at` itself if there is none.
fn word_start(value: &str, at: usize, limit: usize) -> usize {
    if value[..at].ends_with(char::is_whitespace) && !value[at..].starts_with(char::is_whitespace) {
        return at;
    }
    let Some(space) = value[at..limit].find(char::is_whitespace) else {
        return at;
    };
    let behind = &value[at + space..limit];
    limit - behind.trim_start().len()
}

/// The last end of a word up to `at`, not before `limit`; `at` itself if there is none.
fn word_end(value: &str, limit: usize, at: usize) -> usize {
    let ends_here = value[at..].starts_with(char::is_whitespace);
    let text = &value[limit..at];
    if ends_here {
        return limit + text.trim_end().len();
    }
    match text.rfind(char::is_whitespace) {
        Some(space) => limit + text[..space].trim_end().len(),
        None => at,
    }
}
