//! Lists: fields with many, mostly distinct values per entity, such as the columns of a table.
//!
//! A term for each value took a third of the indexing time, and a dictionary entry for each still
//! took a sixth, for conditions that are rarely used. Instead, the values of an entity in such a
//! field are one text in the field's column, or several if they are long. A condition on one value
//! first finds candidates by the words of the value ([`crate::filter`]); a pattern is compared with
//! all lists.

use std::borrow::Cow;
use std::ops::Range;

/// Terminates each value of a list, and the replacement for it inside a value.
const END: char = '\0';
const END_REPLACEMENT: &str = "\u{fffd}";

/// After this many bytes, the values continue in another list: tantivy limits the length of a text,
/// and results are sorted by lists.
const MAX_LIST_BYTES: usize = 1024;

/// Appends values as lists to `text`, and calls `written` with the range of each list.
pub(crate) fn write<V: AsRef<str>>(
    values: impl Iterator<Item = V>,
    text: &mut String,
    mut written: impl FnMut(Range<usize>),
) {
    let mut start = text.len();
    for value in values {
        if text.len() - start >= MAX_LIST_BYTES {
            written(start..text.len());
            start = text.len();
        }
        text.push_str(&item(value.as_ref()));
        text.push(END);
    }
    if text.len() > start {
        written(start..text.len());
    }
}

/// Escapes a value for a list.
pub(crate) fn item(value: &str) -> Cow<'_, str> {
    if value.contains(END) {
        Cow::Owned(value.replace(END, END_REPLACEMENT))
    } else {
        Cow::Borrowed(value)
    }
}

/// Splits a list into its values.
pub(crate) fn values(list: &str) -> impl Iterator<Item = &str> {
    list.split_terminator(END)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists_of(values: &[&str]) -> Vec<String> {
        let (mut text, mut ranges) = ("before".to_owned(), Vec::new());
        write(values.iter(), &mut text, |range| ranges.push(range));
        ranges
            .into_iter()
            .map(|range| text[range].to_owned())
            .collect()
    }

    #[test]
    fn lists_round_trip() {
        for written in [vec![], vec![""], vec!["a"], vec!["", "b", ""]] {
            let lists = lists_of(&written);
            let read: Vec<&str> = lists.iter().flat_map(|list| values(list)).collect();
            assert_eq!(read, written);
        }
    }

    #[test]
    fn a_value_with_a_terminator_stays_one_value() {
        let lists = lists_of(&["a\0b"]);
        assert_eq!(values(&lists[0]).collect::<Vec<_>>(), [item("a\0b")]);
    }

    #[test]
    fn long_values_are_split_into_several_lists() {
        let long = "x".repeat(MAX_LIST_BYTES);
        let lists = lists_of(&["a", &long, "b", "c", &long, &long]);
        let lengths: Vec<usize> = lists.iter().map(|list| values(list).count()).collect();
        assert_eq!(lengths, [2, 3, 1]);
    }
}
