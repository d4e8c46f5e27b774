//! Rules for usernames and e-mail addresses.
//!
//! They reject obvious mistakes only: names may have any printable characters.

use crate::Error;
use crate::limits::{MAX_NAME_CHARACTERS, check_length};

/// The longest valid address (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// The name to sign in with.
pub(super) fn check_sign_in_name(name: &str) -> Result<(), Error> {
    check_name("the name to sign in with", name)
}

/// The display name.
pub(crate) fn check_display_name(name: &str) -> Result<(), Error> {
    check_name("the display name", name)
}

fn check_name(what: &str, name: &str) -> Result<(), Error> {
    check_text(what, name)?;
    check_length(what, name, MAX_NAME_CHARACTERS)
}

/// Requires one `@` between a name and a host. Only a message can tell whether the address works.
pub(super) fn check_email(address: &str) -> Result<(), Error> {
    let what = "the e-mail address";
    check_text(what, address)?;
    if address.len() > MAX_EMAIL_BYTES {
        return Err(Error::invalid(format!(
            "{what} has {} bytes: at most {MAX_EMAIL_BYTES} are allowed",
            address.len()
        )));
    }
    let is_host = |host: &str| !host.contains('@') && host.split('.').all(|part| !part.is_empty());
    match address.split_once('@') {
        Some((person, host))
            if !person.is_empty() && is_host(host) && !address.contains(char::is_whitespace) =>
        {
            Ok(())
        }
        _ => Err(Error::invalid(format!(
            "'{address}' is not an e-mail address: write it like ada@example.com"
        ))),
    }
}

fn check_text(what: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!(
            "{what} is empty: send one or omit it"
        )));
    }
    if text.trim() != text {
        return Err(Error::invalid(format!(
            "{what} '{}' must not begin or end with white space",
            text.escape_debug()
        )));
    }
    if text.contains(char::is_control) {
        return Err(Error::invalid(format!(
            "{what} '{}' must not have line breaks or other control characters",
            text.escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_any_characters_that_can_be_seen() {
        for name in ["ada", "zoë o'hara; x=y@example.com", "李", "a b"] {
            check_sign_in_name(name).unwrap();
            check_display_name(name).unwrap();
        }
        for (name, says) in [
            ("", "empty"),
            (" \t", "empty"),
            (" ada", "white space"),
            ("ada\n", "white space"),
            ("a\nb", "line breaks"),
            ("a\u{1b}[31mb", "control"),
            (&"x".repeat(201), "201 characters"),
        ] {
            let error = check_sign_in_name(name).unwrap_err().to_string();
            assert!(error.contains(says), "{name:?}: {error}");
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn an_address_has_a_person_and_a_host() {
        for address in ["ada@example.com", "a.b+c@sub.example.org", "root@localhost"] {
            check_email(address).unwrap();
        }
        for (address, says) in [
            ("", "empty"),
            ("ada", "ada@example.com"),
            ("@example.com", "ada@example.com"),
            ("ada@", "ada@example.com"),
            ("ada@example..com", "ada@example.com"),
            ("ada@.com", "ada@example.com"),
            ("a@b@example.com", "ada@example.com"),
            ("ada l@example.com", "ada@example.com"),
            (" ada@example.com", "white space"),
            ("ada@exam\nple.com", "line breaks"),
            (&format!("{}@example.com", "x".repeat(250)), "262 bytes"),
        ] {
            let error = check_email(address).unwrap_err().to_string();
            assert!(error.contains(says), "{address:?}: {error}");
        }
    }
}
