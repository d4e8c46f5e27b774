//! Compares the output shown in a document with a command's actual output.
//!
//! - If both are JSON, they are compared as JSON, so the document can format it freely. The string
//!   `"…"` matches any value; as a member name, all further members; as the last element, all
//!   further elements.
//! - Otherwise line by line: `…` in a line matches any text, and a line with only `…` any lines.

use std::fmt::Write as _;

use serde_json::Value;

/// The wildcard.
const ANYTHING: &str = "…";

/// Returns `None` if the output is as expected, otherwise a text that shows the difference.
pub fn difference(expected: &str, actual: &str) -> Option<String> {
    if let (Ok(expected), Ok(actual)) = (
        serde_json::from_str::<Value>(expected),
        serde_json::from_str::<Value>(actual),
    ) {
        let mut path = Vec::new();
        if json_matches(&expected, &actual, &mut path) {
            return None;
        }
        let location = if path.is_empty() {
            "the root".to_owned()
        } else {
            path.join(".")
        };
        return Some(format!(
            "differs as JSON at {location}\n{}",
            line_difference(&format!("{expected:#}"), &format!("{actual:#}"))
        ));
    }
    let expected_lines: Vec<&str> = expected.trim_end().lines().collect();
    let actual_lines: Vec<&str> = actual.trim_end().lines().collect();
    if lines_match(&expected_lines, &actual_lines) {
        return None;
    }
    Some(line_difference(expected.trim_end(), actual.trim_end()))
}

/// Whether two JSON values are equal except for wildcards. If not, `path` is the path of the first
/// difference.
fn json_matches(expected: &Value, actual: &Value, path: &mut Vec<String>) -> bool {
    match (expected, actual) {
        (Value::String(text), _) if text == ANYTHING => true,
        (Value::String(expected), Value::String(actual)) => text_matches(expected, actual),
        (Value::Object(expected), Value::Object(actual)) => {
            let open = expected.contains_key(ANYTHING);
            for (name, value) in expected.iter().filter(|(name, _)| *name != ANYTHING) {
                path.push(name.clone());
                if !actual
                    .get(name)
                    .is_some_and(|actual| json_matches(value, actual, path))
                {
                    return false;
                }
                path.pop();
            }
            if let Some(name) = actual
                .keys()
                .find(|name| !open && !expected.contains_key(*name))
            {
                path.push(name.clone());
                return false;
            }
            true
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let open = expected.last().is_some_and(|last| last == ANYTHING);
            let named = expected.len() - usize::from(open);
            if actual.len() < named || (actual.len() > named && !open) {
                path.push(format!("(length {})", actual.len()));
                return false;
            }
            for (index, (expected, actual)) in expected[..named].iter().zip(actual).enumerate() {
                path.push(index.to_string());
                if !json_matches(expected, actual, path) {
                    return false;
                }
                path.pop();
            }
            true
        }
        _ => expected == actual,
    }
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first.trim() == ANYTHING => {
            (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..]))
        }
        Some((first, rest)) => actual
            .split_first()
            .is_some_and(|(line, others)| text_matches(first, line) && lines_match(rest, others)),
    }
}

/// Whether a text matches the expected one, in which the wildcard matches any part.
fn text_matches(expected: &str, actual: &str) -> bool {
    let Some((first, marked)) = expected.split_once(ANYTHING) else {
        return expected == actual;
    };
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = marked.rsplit_once(ANYTHING).unwrap_or(("", marked));
    for part in middle.split(ANYTHING) {
        match rest.find(part) {
            Some(position) => rest = &rest[position + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Shows both texts: common lines at the start and the end once, the lines between as `-` expected,
/// `+` printed.
fn line_difference(expected: &str, actual: &str) -> String {
    let expected: Vec<&str> = expected.lines().collect();
    let actual: Vec<&str> = actual.lines().collect();
    let same = |pair: &(&&str, &&str)| text_matches(pair.0, pair.1);
    let before = expected.iter().zip(&actual).take_while(same).count();
    let after = expected[before..]
        .iter()
        .rev()
        .zip(actual[before..].iter().rev())
        .take_while(same)
        .count();
    let mut text = String::new();
    let mut show = |sign: char, lines: &[&str]| {
        for line in lines {
            // Writing to a string cannot fail.
            writeln!(text, "{sign} {line}").ok();
        }
    };
    show(' ', &actual[..before]);
    show('-', &expected[before..expected.len() - after]);
    show('+', &actual[before..actual.len() - after]);
    show(' ', &actual[actual.len() - after..]);
    text
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn json_is_compared_as_json_whatever_its_layout() {
        assert_eq!(
            difference("{\n  \"a\": 1,\n  \"b\": [2]\n}", "{\"b\":[2],\"a\":1}"),
            None
        );
        assert!(difference("{\"a\": 1}", "{\"a\": 2}").is_some());
        assert!(difference("{\"a\": 1}", "{\"a\": 1, \"b\": 2}").is_some());
        assert!(difference("{\"a\": 1, \"b\": null}", "{\"a\": 1}").is_some());
    }

    #[test]
    fn the_wildcard_matches_any_json_value() {
        assert_eq!(difference("{\"time\": \"…\"}", "{\"time\": 17}"), None);
        assert_eq!(
            difference(
                "{\"urn\": \"urn:li:domain:…\"}",
                "{\"urn\": \"urn:li:domain:x\"}"
            ),
            None
        );
        assert!(
            difference(
                "{\"urn\": \"urn:li:domain:…\"}",
                "{\"urn\": \"urn:li:dataset:x\"}"
            )
            .is_some()
        );
    }

    #[test]
    fn the_wildcard_matches_further_members_and_elements() {
        assert_eq!(
            difference("{\"a\": 1, \"…\": \"…\"}", "{\"a\": 1, \"b\": 2}"),
            None
        );
        assert_eq!(difference("[1, \"…\"]", "[1, 2, 3]"), None);
        assert!(difference("[1]", "[1, 2]").is_some());
        assert!(difference("[1, 2, \"…\"]", "[1]").is_some());
    }

    #[test]
    fn the_wildcard_matches_any_part_of_a_line() {
        assert_eq!(
            difference("id … created … here", "id 7 created today here\n"),
            None
        );
        assert!(difference("id … here", "id 7 there, not").is_some());
        assert!(difference("id 7", "id 77").is_some());
    }

    #[test]
    fn a_line_with_only_the_wildcard_matches_any_lines() {
        assert_eq!(difference("first\n…\nlast", "first\na\nb\nlast"), None);
        assert_eq!(difference("first\n…\nlast", "first\nlast"), None);
        assert!(difference("first\n…\nlast", "first\na").is_some());
    }

    #[test]
    fn a_difference_shows_its_path_and_both_sides() {
        let shown = difference("{\"a\": {\"b\": 1}}", "{\"a\": {\"b\": 2}}").unwrap();
        assert!(shown.contains("at a.b"), "{shown}");
        assert!(shown.contains("-     \"b\": 1"), "{shown}");
        assert!(shown.contains("+     \"b\": 2"), "{shown}");
    }
}
