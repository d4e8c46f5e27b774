//! Limits of the texts that users type into forms: names, descriptions and notes.
//!
//! Descriptions of datasets and other documentation have no limit of their own, only that of a
//! request.

use crate::Error;

/// Longer than real names, and short enough for one line of a list.
pub const MAX_NAME_CHARACTERS: usize = 200;
/// Long enough for a page of text.
pub const MAX_NOTE_CHARACTERS: usize = 5_000;

/// Rejects a name that is empty or too long. `owner` is what has the name, such as "a group".
pub(crate) fn check_name(owner: &str, name: &str) -> Result<(), Error> {
    if name.trim().is_empty() {
        return Err(Error::invalid(format!(
            "the name is empty: {owner} needs one"
        )));
    }
    check_length(&format!("the name of {owner}"), name, MAX_NAME_CHARACTERS)
}

/// Rejects a description or note that is too long.
pub(crate) fn check_note(what: &str, text: Option<&str>) -> Result<(), Error> {
    check_length(what, text.unwrap_or_default(), MAX_NOTE_CHARACTERS)
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
}
