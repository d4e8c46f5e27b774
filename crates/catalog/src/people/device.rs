//! Known devices: browsers in which a user has signed in before.
//!
//! A sign-in gives the browser a mark for the user, in a cookie. A browser with a valid mark is not
//! delayed by failed sign-ins of others ([`super::throttle`]); the mark authenticates nobody. It is
//! signed with the hash of the user's password, which no API returns: there is no key to manage,
//! every server of a store can check it, and a new password makes all devices unknown.

use docent_model::aspects::CorpUserCredentials;
use docent_model::{EpochMillis, Urn, hex};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Error;
use crate::secret::random;

/// A sign-in renews the mark.
pub(crate) const TTL_MS: EpochMillis = 90 * 24 * 60 * 60 * 1000;
/// How many users one browser has marks for.
const MAX_MARKS: usize = 5;
const SEPARATOR: char = '~';
/// Bytes of the device's id, and of the signature.
const ID_BYTES: usize = 8;
const SIGNATURE_BYTES: usize = 16;

/// One mark in the cookie: `EXPIRY.ID.SIGNATURE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceMark<'c> {
    text: &'c str,
    pub(crate) id: &'c str,
}

/// The mark of the user in a cookie, if there is a valid one.
pub(crate) fn find<'c>(
    cookie: &'c str,
    user: &Urn,
    credentials: &CorpUserCredentials,
    now_ms: EpochMillis,
) -> Option<DeviceMark<'c>> {
    marks(cookie).find_map(|text| {
        let (expires_at, rest) = text.split_once('.')?;
        let (id, signature) = rest.split_once('.')?;
        let is_alive = expires_at.parse::<EpochMillis>().ok()? > now_ms;
        let signature = u128::from_str_radix(signature, 16).ok()?.to_be_bytes();
        let signed = signing(user, credentials, expires_at, id)?;
        let is_valid = is_alive && signed.verify_truncated_left(&signature).is_ok();
        is_valid.then_some(DeviceMark { text, id })
    })
}

/// The cookie after a sign-in: with a new mark for the user, and the marks of other users.
pub(crate) fn renew(
    cookie: Option<&str>,
    known: Option<DeviceMark<'_>>,
    user: &Urn,
    credentials: &CorpUserCredentials,
    now_ms: EpochMillis,
) -> Result<String, Error> {
    let id = match known {
        Some(known) => known.id.to_owned(),
        None => hex(&random::<ID_BYTES>()?),
    };
    let expires_at = now_ms.saturating_add(TTL_MS).to_string();
    let Some(signed) = signing(user, credentials, &expires_at, &id) else {
        return Ok(String::new());
    };
    let signature = hex(&signed.finalize().into_bytes()[..SIGNATURE_BYTES]);
    let mut renewed = format!("{expires_at}.{id}.{signature}");
    let others = marks(cookie.unwrap_or_default())
        .filter(|text| known.is_none_or(|known| known.text != *text))
        .filter(|text| is_plausible(text));
    for other in others.take(MAX_MARKS - 1) {
        renewed.push(SEPARATOR);
        renewed.push_str(other);
    }
    Ok(renewed)
}

fn marks(cookie: &str) -> impl Iterator<Item = &str> {
    cookie.split(SEPARATOR).take(MAX_MARKS)
}

/// Whether a text of the browser can be a mark, so that the cookie stays small.
fn is_plausible(text: &str) -> bool {
    const MAX_BYTES: usize = 20 + 1 + 2 * ID_BYTES + 1 + 2 * SIGNATURE_BYTES;
    let is_part = |byte: u8| byte == b'.' || byte.is_ascii_hexdigit();
    !text.is_empty() && text.len() <= MAX_BYTES && text.bytes().all(is_part)
}

/// The message authentication code of a mark.
fn signing(
    user: &Urn,
    credentials: &CorpUserCredentials,
    expires_at: &str,
    id: &str,
) -> Option<Hmac<Sha256>> {
    let key = credentials.hashed_password.as_bytes();
    // An account without a password has no secret to sign with.
    if key.is_empty() {
        return None;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    mac.update(format!("docent device {expires_at}.{id} {user}").as_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: EpochMillis = 1_790_000_000_000;

    fn user(name: &str) -> Urn {
        Urn::new("corpuser", name).unwrap()
    }

    fn credentials(hash: &str) -> CorpUserCredentials {
        serde_json::from_value(serde_json::json!({"salt": "s", "hashedPassword": hash})).unwrap()
    }

    #[test]
    fn a_mark_is_for_one_user_one_password_and_ninety_days() {
        let (ada, password) = (user("ada"), credentials("$argon2id$a"));
        let cookie = renew(None, None, &ada, &password, NOW_MS).unwrap();
        let end_ms = NOW_MS + TTL_MS;
        assert!(find(&cookie, &ada, &password, NOW_MS).is_some());
        assert!(find(&cookie, &ada, &password, end_ms - 1).is_some());
        assert!(find(&cookie, &ada, &password, end_ms).is_none());
        assert!(find(&cookie, &user("grace"), &password, NOW_MS).is_none());
        assert!(find(&cookie, &ada, &credentials("$argon2id$b"), NOW_MS).is_none());
    }

    #[test]
    fn an_altered_mark_is_invalid() {
        let (ada, password) = (user("ada"), credentials("$argon2id$a"));
        let cookie = renew(None, None, &ada, &password, NOW_MS).unwrap();
        for position in 0..cookie.len() {
            let mut altered = cookie.clone();
            let digit = if &cookie[position..=position] == "1" {
                "2"
            } else {
                "1"
            };
            altered.replace_range(position..=position, digit);
            let found = find(&altered, &ada, &password, NOW_MS);
            assert_eq!(found, None, "{altered}");
        }
        for other in ["", ".", "..", "~~~", "1.2", "a.b.c"] {
            assert_eq!(find(other, &ada, &password, NOW_MS), None, "{other}");
        }
    }

    #[test]
    fn a_browser_has_marks_of_its_last_five_users() {
        let mut cookie = String::new();
        for number in 0..7 {
            let (user, password) = (user(&number.to_string()), credentials("$argon2id$a"));
            cookie = renew(Some(&cookie), None, &user, &password, NOW_MS).unwrap();
        }
        let password = credentials("$argon2id$a");
        let known =
            |number: &i32| find(&cookie, &user(&number.to_string()), &password, NOW_MS).is_some();
        assert_eq!((0..7).filter(known).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
        // Renewal replaces the mark, and the device keeps its id.
        let six = user("6");
        let mark = find(&cookie, &six, &password, NOW_MS).unwrap();
        let again = renew(Some(&cookie), Some(mark), &six, &password, NOW_MS + 1).unwrap();
        assert_eq!(marks(&again).count(), 5);
        assert_eq!(find(&again, &six, &password, NOW_MS).unwrap().id, mark.id);
        // What the browser sends besides marks is dropped.
        let noise = format!("<x>~{}", "1".repeat(4000));
        let clean = renew(Some(&noise), None, &six, &password, NOW_MS).unwrap();
        assert_eq!(marks(&clean).count(), 1);
    }
}
