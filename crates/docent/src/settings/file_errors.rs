//! Explains errors in the settings file, without repeating a password from it.

/// In place of the name of a key.
const NO_KEY: &str = "the key";
/// How errors about the type of a value begin.
const WRONG_TYPES: [&str; 3] = ["invalid type", "invalid value", "wanted "];

/// The location and the cause of an error, as the end of a sentence.
pub(super) fn explain(error: &toml::de::Error, text: &str) -> String {
    let start = error.span().map(|span| span.start);
    let location = start.map(|start| location(text, start));
    let key = start.map_or(NO_KEY, |start| key_of_line(text, start));
    let message = explain_message(error.message(), key);
    format!("{}: {message}", location.unwrap_or_default())
}

/// Line and column of a byte offset.
fn location(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let (line, column) = match before.rsplit_once('\n') {
        Some((lines, rest)) => (lines.matches('\n').count() + 2, rest),
        None => (1, before),
    };
    format!(" at line {line}, column {}", column.chars().count() + 1)
}

/// The key of the line of a byte offset.
fn key_of_line(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    match line.split_once('=') {
        Some((key, _)) if has_no_secret(key) => key.trim(),
        _ => NO_KEY,
    }
}

/// Explains a message of the parser, without text from the file that may be a password.
fn explain_message(message: &str, key: &str) -> String {
    let name_and_expected = |prefix: &str| {
        let (name, expected) = message.strip_prefix(prefix)?.rsplit_once("`, expected ")?;
        let expected = expected.trim_start_matches("one of ").replace('`', "");
        Some((has_no_secret(name).then_some(name), expected))
    };
    match name_and_expected("unknown field `") {
        Some((Some(name), keys)) => return format!("unknown key '{name}'; the keys are {keys}"),
        Some((None, keys)) => return format!("unknown key; the keys are {keys}"),
        None => {}
    }
    match name_and_expected("unknown variant `") {
        Some((Some(value), values)) => {
            return format!("'{value}' is not a value of {key}; use {values}");
        }
        Some((None, values)) => return format!("the value of {key} is invalid; use {values}"),
        None => {}
    }
    if message.starts_with("data did not match") {
        return format!("the value of {key} has a wrong type");
    }
    let explained = if has_no_secret(message) {
        message.to_owned()
    } else {
        match message.rsplit_once(", expected ") {
            Some((_, expected)) if has_no_secret(expected) => format!("expected {expected}"),
            _ => return "this is not valid TOML; check quotes and brackets".to_owned(),
        }
    };
    let is_of_value = WRONG_TYPES.iter().any(|start| message.starts_with(start));
    match key {
        NO_KEY => explained,
        key if is_of_value => format!("the value of {key} has a wrong type, {explained}"),
        _ => explained,
    }
}

/// Whether a text cannot be part of a URL or a quoted value.
fn has_no_secret(text: &str) -> bool {
    !text.contains(['"', '@', '/', ':'])
}
