//! Shortens long values to the part around the first match.

use std::ops::Range;

/// Longer values are shortened to this many characters.
const MAX_CHARS: usize = 200;

/// How many of them to show before the first match, as context.
const BEFORE_MATCH: usize = 60;

const ELLIPSIS: &str = "…";

/// Shortens a long value to the part around the first range, and shifts the ranges accordingly. The
/// ranges must be sorted.
pub(super) fn cut(value: &str, ranges: Vec<Range<usize>>) -> (String, Vec<Range<usize>>) {
    if value.len() <= MAX_CHARS || value.chars().nth(MAX_CHARS).is_none() {
        return (value.to_owned(), ranges);
    }
    let first = ranges.first().cloned().unwrap_or(0..0);
    let window = window(value, &first);
    let opening = if window.start > 0 { ELLIPSIS } else { "" };
    let closing = if window.end < value.len() {
        ELLIPSIS
    } else {
        ""
    };
    let moved = ranges
        .into_iter()
        .map(|range| range.start.max(window.start)..range.end.min(window.end))
        .filter(|range| range.start < range.end)
        .map(|range| {
            let moved = |at: usize| at - window.start + opening.len();
            moved(range.start)..moved(range.end)
        })
        .collect();
    let shortened = [opening, &value[window], closing].concat();
    (shortened, moved)
}

/// Cuts between words where possible, and never inside the first match unless that is too long.
fn window(value: &str, first: &Range<usize>) -> Range<usize> {
    let earliest_for_rest = back(value, value.len(), MAX_CHARS);
    let mut start = back(value, first.start, BEFORE_MATCH).min(earliest_for_rest);
    if start > 0 {
        start = word_start(value, start, first.start);
    }
    let mut end = forward(value, start, MAX_CHARS);
    if end < value.len() && first.end < end {
        end = word_end(value, first.end, end);
    }
    start..end
}

/// The offset `count` characters before `at`.
fn back(value: &str, at: usize, count: usize) -> usize {
    let mut starts = value[..at].char_indices().rev().map(|(start, _)| start);
    starts.nth(count - 1).unwrap_or(0)
}

/// The offset `count` characters after `at`.
fn forward(value: &str, at: usize, count: usize) -> usize {
    let mut starts = value[at..].char_indices().map(|(start, _)| at + start);
    starts.nth(count).unwrap_or(value.len())
}

/// The first word start between `at` and `limit`, or `at` if there is none.
fn word_start(value: &str, at: usize, limit: usize) -> usize {
    if value[..at].ends_with(char::is_whitespace) && !value[at..].starts_with(char::is_whitespace) {
        return at;
    }
    let Some(space) = value[at..limit].find(char::is_whitespace) else {
        return at;
    };
    let rest = &value[at + space..limit];
    limit - rest.trim_start().len()
}

/// The last word end between `limit` and `at`, or `at` if there is none.
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
