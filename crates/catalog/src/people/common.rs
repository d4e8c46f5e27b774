//! Recognizes passwords that attackers try first.
//!
//! Most of those are common words, rows of keys and years, joined and decorated: `Passw0rd2024!`,
//! `qwertyuiop123`. A list of whole passwords would miss the next year. So everything common is
//! removed, and what is left must be long enough.
//!
//! To add a word: add a line to `common_passwords.txt`, in lower case and in order.

const WORDS: &str = include_str!("common_passwords.txt");
/// Rows of keys, in both directions, and the alphabet.
const ROWS: [&str; 7] = [
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "qwertzuiop",
    "asdfghjkl",
    "zxcvbnm",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm",
];
/// The shortest part of a row that counts as one.
const MIN_RUN: usize = 3;
/// So many characters must be left.
const MIN_UNCOMMON: usize = 5;

/// Whether the password consists of common parts. The parts of `name`, the user's own, are common.
pub(super) fn is_common(password: &str, name: Option<&str>) -> bool {
    let plain: Vec<char> = password
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || substitute(*letter) != *letter)
        .collect();
    let plain = without_runs(&plain);
    let spelled: Vec<char> = plain.iter().map(|letter| substitute(*letter)).collect();
    let name = name.unwrap_or_default().to_lowercase();
    let own = name
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|part| part.chars().count() >= MIN_RUN);
    let mut words: Vec<&str> = WORDS.lines().chain(own).collect();
    // The longest first, so that no shorter word breaks one up.
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut is_left = vec![true; plain.len()];
    for word in words {
        let word: Vec<char> = word.chars().collect();
        // As typed, and with digits read as the letters they stand for.
        for text in [&plain, &spelled] {
            mark(text, &word, &mut is_left);
        }
    }
    let uncommon = is_left.iter().filter(|left| **left).count();
    uncommon < MIN_UNCOMMON
}

/// The letter that a digit or sign often stands for.
fn substitute(letter: char) -> char {
    match letter {
        '0' => 'o',
        '1' | '!' | '|' => 'i',
        '3' | '€' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// Removes repeated characters, parts of rows of keys, and years.
fn without_runs(text: &[char]) -> Vec<char> {
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let run = repeated(rest).max(row(rest)).max(year(rest));
        if run >= MIN_RUN {
            at += run;
        } else {
            kept.push(rest[0]);
            at += 1;
        }
    }
    kept
}

fn repeated(text: &[char]) -> usize {
    text.iter().take_while(|letter| **letter == text[0]).count()
}

fn row(text: &[char]) -> usize {
    let longest = |keys: &[char]| {
        let starts = (0..keys.len()).filter(|start| keys[*start] == text[0]);
        let length = |start: usize| {
            let pairs = text.iter().zip(&keys[start..]);
            pairs.take_while(|(letter, key)| letter == key).count()
        };
        starts.map(length).max().unwrap_or(0)
    };
    let rows = ROWS.iter().flat_map(|row| {
        let forward: Vec<char> = row.chars().collect();
        let backward = forward.iter().rev().copied().collect();
        [forward, backward]
    });
    rows.map(|keys| longest(&keys)).max().unwrap_or(0)
}

/// Four digits that begin with 19 or 20.
fn year(text: &[char]) -> usize {
    match text {
        ['1', '9', rest @ ..] | ['2', '0', rest @ ..]
            if rest.len() >= 2 && rest[..2].iter().all(char::is_ascii_digit) =>
        {
            4
        }
        _ => 0,
    }
}

/// Marks the places of a word.
fn mark(text: &[char], word: &[char], is_left: &mut [bool]) {
    let Some(last) = text.len().checked_sub(word.len()) else {
        return;
    };
    for at in 0..=last {
        let place = at..at + word.len();
        if text[place.clone()] == *word && is_left[place.clone()].iter().all(|left| *left) {
            is_left[place].fill(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_and_decorated_common_words_are_common() {
        for password in [
            "password1234",
            "Passw0rd2024!",
            "P@$$w0rd!!!!",
            "qwertyuiop123",
            "1qaz2wsx3edc",
            "aaaaaaaaaaaaaaaa",
            "123456789012",
            "iloveyou-forever",
            "Welcome2026 Welcome",
            "admin.admin.admin",
            "correct horse battery staple",
            "Summer2025??",
            "zyxwvutsrqponml",
            "DatahubDocent1",
        ] {
            assert!(is_common(password, None), "{password}");
        }
    }

    #[test]
    fn other_passwords_are_not_common() {
        for password in [
            "correct horse",
            "a long password",
            "one and the same",
            "password number 7",
            "пароль и соль моря",
            "8f2c-77b1-0a9e-4d31-e5aa-9120-cc4b-1f08",
        ] {
            assert!(!is_common(password, None), "{password}");
        }
    }

    #[test]
    fn the_name_of_the_user_is_common() {
        assert!(!is_common("lovelace42lovelace", None));
        assert!(is_common(
            "lovelace42lovelace",
            Some("ada.lovelace@example.com")
        ));
    }

    #[test]
    fn the_words_are_sorted_and_unique() {
        let words: Vec<&str> = WORDS.lines().collect();
        assert!(words.is_sorted_by(|one, next| one < next));
        assert!(
            words
                .iter()
                .all(|word| word.chars().all(char::is_lowercase))
        );
    }
}
