//! Limits of the texts that users type into forms: names, descriptions and notes; and of the
//! number of items that they request.
//!
//! Descriptions of datasets and other documentation have no limit of their own, only that of a
//! request.

use crate::Error;

/// Longer than real names, and short enough for one line of a list.
pub const MAX_NAME_CHARACTERS: usize = 200;
/// Long enough for a page of text.
pub const MAX_NOTE_CHARACTERS: usize = 5_000;

/// Rejects a number of items, named as in the request, that is zero or too large.
pub(crate) fn check_count(name: &str, count: usize, max: usize) -> Result<(), Error> {
    if (1..=max).contains(&count) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name} is {count}: it must be from 1 to {max}"
    )))
}

/// Rejects a name that is empty, too long or not on one line. `owner` is what has the name, such as
/// "a group".
pub(crate) fn check_name(owner: &str, name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::invalid(format!(
            "the name is empty: {owner} needs one"
        )));
    }
    let what = format!("the name of {owner}");
    check_one_line(&what, name)?;
    check_length(&what, name, MAX_NAME_CHARACTERS)
}

/// Rejects a description or note that is too long.
pub(crate) fn check_note(what: &str, text: Option<&str>) -> Result<(), Error> {
    check_length(what, text.unwrap_or_default(), MAX_NOTE_CHARACTERS)
}

/// Rejects a text that is not shown on one line as it is typed: with line breaks or other control
/// characters.
pub(crate) fn check_one_line(what: &str, text: &str) -> Result<(), Error> {
    reject_character(what, text.chars().find(|it| breaks_line(*it)))
}

/// Rejects control characters, except tabs and line breaks.
pub(crate) fn check_lines(what: &str, text: &str) -> Result<(), Error> {
    let is_rejected = |it: &char| it.is_control() && !['\t', '\n', '\r'].contains(it);
    reject_character(what, text.chars().find(is_rejected))
}

fn reject_character(what: &str, found: Option<char>) -> Result<(), Error> {
    match found {
        Some(character) => Err(Error::invalid(format!(
            "{what} contains the control character U+{:04X}: remove it",
            u32::from(character)
        ))),
        None => Ok(()),
    }
}

/// Whether a character changes how the rest of the line is shown: control characters, separators
/// of lines, and those that embed or override a direction of text, which make a name look like
/// another.
fn breaks_line(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name that the server makes of another: on one line, and cut with an ellipsis if it is too
/// long.
pub(crate) fn fit_name(text: &str) -> String {
    let on_line = |it: char| if breaks_line(it) { ' ' } else { it };
    let name: String = text.chars().map(on_line).collect();
    if name.chars().nth(MAX_NAME_CHARACTERS).is_none() {
        return name;
    }
    let cut: String = name.chars().take(MAX_NAME_CHARACTERS - 1).collect();
    format!("{}…", cut.trim_end())
}

/// Rejects a text with more characters than `max`.
pub(crate) fn check_length(what: &str, text: &str, max: usize) -> Result<(), Error> {
    let count = text.chars().count();
    if count > max {
        return Err(Error::invalid(format!(
            "{what} has {count} characters: at most {max} are allowed"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_notes_are_limited_in_characters() {
        let longest = "é".repeat(MAX_NAME_CHARACTERS);
        check_name("a group", &longest).unwrap();
        let error = check_name("a group", &format!("{longest}x")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the name of a group has 201 characters: at most 200 are allowed"
        );
        let error = check_name("a group", " ").unwrap_err();
        assert_eq!(error.to_string(), "the name is empty: a group needs one");
        check_note("the note", None).unwrap();
        check_note("the note", Some(&"é".repeat(MAX_NOTE_CHARACTERS))).unwrap();
        check_note("the note", Some(&"x".repeat(MAX_NOTE_CHARACTERS + 1))).unwrap_err();
    }

    #[test]
    fn control_characters_are_rejected_in_names_and_mostly_in_texts() {
        for text in ["a\0b", "a\u{7f}b", "a\u{85}b", "a\u{1b}[31mb"] {
            check_one_line("the name", text).unwrap_err();
            check_lines("the text", text).unwrap_err();
        }
        for text in [
            "a\nb",
            "a\tb",
            "a\r\nb",
            "a\u{2028}b",
            "a\u{202e}b",
            "a\u{2066}b",
        ] {
            check_one_line("the name", text).unwrap_err();
            check_lines("the text", text).unwrap();
        }
        check_one_line("the name", "Größe: 100 % 💶").unwrap();
        let error = check_one_line("the name", "a\nb").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the name contains the control character U+000A: remove it"
        );
    }

    #[test]
    fn names_that_the_server_makes_fit() {
        assert_eq!(fit_name("Stewards of A\nB"), "Stewards of A B");
        let longest = "é".repeat(MAX_NAME_CHARACTERS);
        assert_eq!(fit_name(&longest), longest);
        let cut = fit_name(&format!("{longest}é"));
        let expected = format!("{}…", "é".repeat(MAX_NAME_CHARACTERS - 1));
        assert_eq!(cut, expected);
        let spaced = fit_name(&format!(
            "{} {longest}",
            "a".repeat(MAX_NAME_CHARACTERS - 2)
        ));
        let expected = format!("{}…", "a".repeat(MAX_NAME_CHARACTERS - 2));
        assert_eq!(spaced, expected);
    }
}
