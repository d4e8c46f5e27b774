//! Patterns with `*` and `?`.

/// Whether the whole text has the form of the pattern.
///
/// Walks through both at once and goes back only to the last `*`: an earlier one can always end where it first did.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut text = text.chars();
    // Behind the last star: what is left of the pattern, and of the text if the star stands for one letter more.
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
            (Some(wanted), Some(letter)) => wanted == letter,
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
    fn a_star_stands_for_any_letters_and_a_question_mark_for_one() {
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
    fn many_stars_take_no_exponential_time() {
        assert!(!matches(&"a*".repeat(30), &format!("{}b", "a".repeat(20))));
        assert!(!matches(
            &format!("{}b", "*a".repeat(30)),
            &"a".repeat(5000)
        ));
    }
}
