//! The encryption of stored secrets: AES-256-GCM, with a key from the settings.
//!
//! A stored text names its format and its key. The URN of the secret is authenticated with it, so
//! a text that was copied to another secret cannot be decrypted.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use docent_model::{Urn, hex};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::secret::random;

const FORMAT: &str = "docent1";
/// The length of a key.
const KEY_BYTES: usize = 32;
/// Enough of a hash to tell keys apart.
const ID_BYTES: usize = 8;

/// A key of 256 bits.
#[derive(Clone)]
pub struct SecretKey {
    /// The start of the hash of the key.
    id: String,
    key: LessSafeKey,
}

impl SecretKey {
    /// Reads a key in base64; `None` if it has another form or length.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        let bytes: [u8; KEY_BYTES] = bytes.try_into().ok()?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).ok()?;
        Some(Self {
            id: hex(&Sha256::digest(bytes)[..ID_BYTES]),
            key: LessSafeKey::new(key),
        })
    }

    /// Tells keys apart without revealing them.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn encrypt(&self, urn: &Urn, value: &str) -> Result<String, Error> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut sealed = value.as_bytes().to_vec();
        let aad = Aad::from(urn.as_str().as_bytes());
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| Error::invalid("the value is too long to be encrypted"))?;
        let text = STANDARD.encode([&nonce[..], &sealed].concat());
        Ok(format!("{FORMAT}.{}.{text}", self.id))
    }

    fn decrypt(&self, urn: &Urn, text: &str) -> Option<String> {
        let sealed = STANDARD.decode(text).ok()?;
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let aad = Aad::from(urn.as_str().as_bytes());
        let value = self.key.open_in_place(nonce, aad, &mut sealed).ok()?;
        String::from_utf8(value.to_vec()).ok()
    }
}

/// Without the key.
impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SecretKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The keys of a server.
#[derive(Debug, Clone)]
pub struct SecretKeys {
    /// Encrypts what is written.
    pub current: SecretKey,
    /// Decrypts what was written before the key was replaced.
    pub previous: Option<SecretKey>,
}

/// Why a stored text cannot be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It was not encrypted here.
    OtherFormat,
    /// It was encrypted with a key that the server does not have.
    OtherKey,
    /// It was changed after it was encrypted.
    Damaged,
}

impl Unreadable {
    /// The error about a stored value; `mutation` sets it again.
    pub(crate) fn error(self, urn: &Urn, mutation: &str) -> Error {
        let why = match self {
            Self::OtherFormat => {
                format!("was not encrypted by this server: set it with {mutation}")
            }
            Self::OtherKey => format!(
                "was encrypted with another key: set --previous-secret-key-file to the file with that key, or set \
                 the value with {mutation}"
            ),
            Self::Damaged => format!("is damaged: set it with {mutation}"),
        };
        Error::invalid(format!("the value of {urn} {why}")).naming(urn)
    }
}

impl SecretKeys {
    pub(crate) fn encrypt(&self, urn: &Urn, value: &str) -> Result<String, Error> {
        self.current.encrypt(urn, value)
    }

    pub(crate) fn decrypt(&self, urn: &Urn, stored: &str) -> Result<String, Unreadable> {
        let (id, text) = parts(stored).ok_or(Unreadable::OtherFormat)?;
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let key = keys.find(|key| key.id == id).ok_or(Unreadable::OtherKey)?;
        key.decrypt(urn, text).ok_or(Unreadable::Damaged)
    }

    /// Whether a stored text is to be encrypted again, because its key was replaced.
    pub(crate) fn is_outdated(&self, stored: &str) -> bool {
        let is_previous = |id: &str| self.previous.as_ref().is_some_and(|key| key.id == id);
        parts(stored).is_some_and(|(id, _)| is_previous(id) && id != self.current.id)
    }
}

/// The id of the key and the encrypted value of a stored text.
fn parts(stored: &str) -> Option<(&str, &str)> {
    stored
        .strip_prefix(FORMAT)?
        .strip_prefix('.')?
        .split_once('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> SecretKey {
        SecretKey::parse(&STANDARD.encode([byte; KEY_BYTES])).unwrap()
    }

    fn urn(id: &str) -> Urn {
        Urn::new("dataHubSecret", id).unwrap()
    }

    #[test]
    fn a_secret_is_read_with_its_key_and_urn_only() {
        let keys = SecretKeys {
            current: key(1),
            previous: None,
        };
        let stored = keys.encrypt(&urn("a"), "hunter2").unwrap();
        assert!(!stored.contains("hunter2"));
        assert_eq!(keys.decrypt(&urn("a"), &stored).unwrap(), "hunter2");
        let of_other = keys.decrypt(&urn("b"), &stored);
        assert_eq!(of_other, Err(Unreadable::Damaged));
        assert_eq!(
            keys.decrypt(&urn("a"), "hunter2"),
            Err(Unreadable::OtherFormat)
        );
        assert_ne!(keys.encrypt(&urn("a"), "hunter2").unwrap(), stored);
    }

    #[test]
    fn a_replaced_key_decrypts_and_the_new_one_encrypts() {
        let old = SecretKeys {
            current: key(1),
            previous: None,
        };
        let stored = old.encrypt(&urn("a"), "hunter2").unwrap();
        let alone = SecretKeys {
            current: key(2),
            previous: None,
        };
        let of_alone = alone.decrypt(&urn("a"), &stored);
        assert_eq!(of_alone, Err(Unreadable::OtherKey));
        assert!(!alone.is_outdated(&stored));
        let rotated = SecretKeys {
            current: key(2),
            previous: Some(key(1)),
        };
        assert_eq!(rotated.decrypt(&urn("a"), &stored).unwrap(), "hunter2");
        assert!(rotated.is_outdated(&stored));
        let again = rotated.encrypt(&urn("a"), "hunter2").unwrap();
        assert!(!rotated.is_outdated(&again));
        assert_eq!(alone.decrypt(&urn("a"), &again).unwrap(), "hunter2");
    }

    #[test]
    fn keys_have_32_bytes() {
        assert!(SecretKey::parse("c2hvcnQ=").is_none());
        assert!(SecretKey::parse("not base64").is_none());
        assert!(SecretKey::parse(&STANDARD.encode([7; 33])).is_none());
        let line = format!("{}\n", STANDARD.encode([7; KEY_BYTES]));
        assert!(SecretKey::parse(&line).is_some());
        let text = format!("{:?}", key(7));
        assert!(!text.contains(&STANDARD.encode([7; KEY_BYTES])), "{text}");
    }
}
