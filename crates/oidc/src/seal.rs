//! Values that a browser keeps for us in a cookie, signed so that it cannot change them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Signs and checks values.
#[derive(Clone)]
pub(crate) struct Seal(hmac::Key);

impl std::fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Seal")
    }
}

impl Seal {
    /// A key that every server with the same secret has.
    pub(crate) fn derived_from(secret: &[u8]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let derived = hmac::sign(&key, b"docent: state of a sign-in");
        Self(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    pub(crate) fn sign(&self, value: &impl Serialize) -> Option<String> {
        let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(value).ok()?);
        let signature = hmac::sign(&self.0, body.as_bytes());
        Some(format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The value, if this server signed it.
    pub(crate) fn open<T: DeserializeOwned>(&self, text: &str) -> Option<T> {
        let (body, signature) = text.split_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.0, body.as_bytes(), &signature).ok()?;
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_signer_can_make_a_value() {
        let seal = Seal::derived_from(b"secret");
        let sealed = seal.sign(&("a", 1)).unwrap();
        assert_eq!(
            seal.open::<(String, i64)>(&sealed),
            Some(("a".to_owned(), 1))
        );
        assert_eq!(
            Seal::derived_from(b"other").open::<(String, i64)>(&sealed),
            None
        );
        let forged = Seal::derived_from(b"other").sign(&("b", 1)).unwrap();
        let (body, _) = forged.split_once('.').unwrap();
        let (_, signature) = sealed.split_once('.').unwrap();
        for text in [
            format!("{body}.{signature}"),
            format!("{sealed}A"),
            body.to_owned(),
            String::new(),
        ] {
            assert_eq!(seal.open::<(String, i64)>(&text), None, "{text}");
        }
    }
}
