//! Patterns with `*` and `?`.

/// Whether the whole text matches the pattern.
///
/// Backtracks only to the last `*`, because an earlier one can always keep its first match.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut text = text.chars();
    // After the last `*`: the rest of the pattern, and of the text if the `*` matches one more
    // character.
    let mut retry = None;
    loop {
        let text_before = text.clone();
        let fits = match (pattern.next(), text.next()) {
            (Some('*'), _) => {
                text = text_before;
                retry = Some((pattern.clone(), text.clone()));
                continue;
            }
            (None, None) => return true,
            (Some('?'), Some(_)) => true,
            (Some(expected), Some(letter)) => expected == letter,
            (None, Some(_)) | (Some(_), None) => false,
        };
        if fits {
            continue;
        }
        let Some((behind_star, mut longer)) = retry.take() else {
            return false;
        };
        if longer.next().is_none() {
            return false;
        }
        pattern = behind_star.clone();
        text = longer.clone();
        retry = Some((behind_star, longer));
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn asterisks_match_any_characters_and_question_marks_one() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("a", "a"),
            ("a*c", "ac"),
            ("a*c", "abbc"),
            ("a?c", "aéc"),
            ("*b*", "abc"),
            ("a*b*c", "a1b2b3c"),
            ("*ab", "aab"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("a", "b"),
            ("a?c", "ac"),
            ("a*c", "abcd"),
            ("*b*", "ac"),
            ("a*b*c", "a1c2b"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn many_asterisks_take_no_exponential_time() {
        assert!(!matches(&"a*".repeat(30), &format!("{}b", "a".repeat(20))));
        assert!(!matches(
            &format!("{}b", "*a".repeat(30)),
            &"a".repeat(5000)
        ));
    }
}
