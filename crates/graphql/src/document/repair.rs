//! Escapes raw line breaks in quoted strings.

/// Escapes line breaks and tabs in quoted strings, but not in block strings and comments. Returns
/// the new text and the offsets of the inserted bytes in it; `None` if nothing was escaped.
pub(super) fn escape_line_breaks(text: &str) -> Option<(String, Vec<usize>)> {
    let bytes = text.as_bytes();
    let mut repaired = String::with_capacity(text.len() + 16);
    let mut inserted = Vec::new();
    // End of the text copied so far.
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'#' => at += until(&bytes[at..], |rest| matches!(rest[0], b'\n' | b'\r')),
            b'"' if bytes[at..].starts_with(b"\"\"\"") => {
                at = block_string_end(bytes, at + 3);
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    let escape = match bytes[at] {
                        b'\\' => {
                            at += 2;
                            continue;
                        }
                        b'\n' => "\\n",
                        b'\r' => "\\r",
                        b'\t' => "\\t",
                        _ => {
                            at += 1;
                            continue;
                        }
                    };
                    repaired.push_str(&text[copied..at]);
                    inserted.push(repaired.len());
                    repaired.push_str(escape);
                    at += 1;
                    copied = at;
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    if inserted.is_empty() {
        return None;
    }
    repaired.push_str(&text[copied..]);
    Some((repaired, inserted))
}

fn until(bytes: &[u8], found: impl Fn(&[u8]) -> bool) -> usize {
    (0..bytes.len())
        .find(|at| found(&bytes[*at..]))
        .unwrap_or(bytes.len())
}

fn block_string_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        if bytes[at..].starts_with(b"\\\"\"\"") {
            at += 4;
        } else if bytes[at..].starts_with(b"\"\"\"") {
            return at + 3;
        } else {
            at += 1;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        escape_line_breaks(text).map_or_else(|| "unchanged".to_owned(), |(text, _)| text)
    }

    #[test]
    fn line_breaks_in_quoted_strings_are_escaped() {
        assert_eq!(
            repaired("f(a: \"x\r\n\ty é\n\") { b }\n"),
            "f(a: \"x\\r\\n\\ty é\\n\") { b }\n"
        );
    }

    #[test]
    fn block_strings_comments_and_text_outside_strings_are_unchanged() {
        for text in [
            "{\n a }",
            "f(a: \"\"\"x\ny \\\"\"\" \n\"\"\")\n",
            "# it's \"not\n a string\n{ a }",
            "f(a: \"x \\\" y\")\n",
            "f(a: \"\", b: \"\")\n",
        ] {
            assert_eq!(repaired(text), "unchanged", "{text}");
        }
    }

    #[test]
    fn a_string_after_a_block_string_is_escaped() {
        assert_eq!(
            repaired("(a: \"\"\"\"x\"\"\" b: \"1\n2\")"),
            "(a: \"\"\"\"x\"\"\" b: \"1\\n2\")"
        );
    }

    #[test]
    fn an_unterminated_string_ends_with_the_text() {
        assert_eq!(repaired("(a: \"x\\"), "unchanged");
        assert_eq!(repaired("(a: \"x\n"), "(a: \"x\\n");
    }
}
