//! Values of which an entity may have many, nearly all different, as lists.
//!
//! The names of the columns of tables are such. A term for each made a third of the work of indexing, a place of its own in
//! a dictionary for each still made a sixth, for conditions that are seldom set. So the values that an entity has in such a field
//! stand in the column of the field as one text, or as several if they are long. Who asks for a value finds the few lists
//! that it can be in by its words ([`crate::filter`]); who asks for a pattern goes through all of them.

use std::borrow::Cow;
use std::ops::Range;

/// Behind each value of a list, and what a value has in its place.
const END: char = '\0';
const INSTEAD: &str = "\u{fffd}";

/// A list that is as long is followed by another one: what the library takes as one text is limited, and so is what results are
/// sorted by.
const LONG_BYTES: usize = 1024;

/// Writes values as lists, and tells where each list stands in the text.
pub(crate) fn write<V: AsRef<str>>(
    values: impl Iterator<Item = V>,
    text: &mut String,
    mut written: impl FnMut(Range<usize>),
) {
    let mut start = text.len();
    for value in values {
        if text.len() - start >= LONG_BYTES {
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

/// A value as it stands in a list.
pub(crate) fn item(value: &str) -> Cow<'_, str> {
    if value.contains(END) {
        Cow::Owned(value.replace(END, INSTEAD))
    } else {
        Cow::Borrowed(value)
    }
}

/// The values of a list.
pub(crate) fn values(list: &str) -> impl Iterator<Item = &str> {
    list.split_terminator(END)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists_of(values: &[&str]) -> Vec<String> {
        let (mut text, mut places) = ("before".to_owned(), Vec::new());
        write(values.iter(), &mut text, |place| places.push(place));
        places
            .into_iter()
            .map(|place| text[place].to_owned())
            .collect()
    }

    #[test]
    fn a_list_has_the_values_that_were_written() {
        for written in [vec![], vec![""], vec!["a"], vec!["", "b", ""]] {
            let lists = lists_of(&written);
            let read: Vec<&str> = lists.iter().flat_map(|list| values(list)).collect();
            assert_eq!(read, written);
        }
    }

    #[test]
    fn no_value_is_taken_for_two() {
        let lists = lists_of(&["a\0b"]);
        assert_eq!(values(&lists[0]).collect::<Vec<_>>(), [item("a\0b")]);
    }

    #[test]
    fn what_is_long_is_several_lists() {
        let long = "x".repeat(LONG_BYTES);
        let lists = lists_of(&["a", &long, "b", "c", &long, &long]);
        let lengths: Vec<usize> = lists.iter().map(|list| values(list).count()).collect();
        assert_eq!(lengths, [2, 3, 1]);
    }
}
