//! The public keys of an issuer (JSON Web Key Set).

use docent_model::EpochMillis;
use serde_json::Value;

use crate::OidcError;
use crate::cached::Cached;
use crate::jwt::{Claims, UnverifiedToken};
use crate::key::Key;

/// Issuers have a few keys.
const MAX_KEYS: usize = 100;

/// The keys of an issuer, fetched again for tokens with unknown key ids.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Cached<Vec<Key>>);

impl KeySet {
    /// The claims of a token that one of the keys signed.
    pub(crate) async fn verify<F>(
        &self,
        token: &UnverifiedToken<'_>,
        now_ms: EpochMillis,
        fetch: impl FnOnce() -> F,
    ) -> Result<Claims, OidcError>
    where
        F: Future<Output = Result<Value, OidcError>> + Send + 'static,
    {
        let Self(cached) = self;
        let fetch = || {
            let fetched = fetch();
            async move { parse(&fetched.await?) }
        };
        let has_key = |keys: &Vec<Key>| select(keys, token).is_some();
        let keys = cached.get(now_ms, has_key, fetch).await?;
        let key = select(&keys, token).ok_or_else(|| {
            OidcError::Invalid(
                "the token is signed with a key that the issuer does not publish".to_owned(),
            )
        })?;
        token.verify(key)
    }
}

/// The key of the token: the one with its id, or the only one that fits.
fn select<'k>(keys: &'k [Key], token: &UnverifiedToken<'_>) -> Option<&'k Key> {
    let mut fitting = keys.iter().filter(|key| {
        key.fits(token.algorithm)
            && token
                .key_id
                .as_ref()
                .is_none_or(|id| key.id.as_ref() == Some(id))
    });
    let first = fitting.next();
    first.filter(|_| fitting.next().is_none())
}

/// Keys of unknown types, and keys for encryption, are left out.
fn parse(document: &Value) -> Result<Vec<Key>, OidcError> {
    let keys = document["keys"].as_array().ok_or_else(|| {
        OidcError::Provider("the issuer's key set has no member 'keys'".to_owned())
    })?;
    Ok(keys.iter().take(MAX_KEYS).filter_map(Key::parse).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::{Cell, RefCell};

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    };
    use serde_json::json;

    use super::*;
    use crate::key::Algorithm;

    /// An issuer with one key.
    pub(crate) struct Signer {
        pair: EcdsaKeyPair,
        id: String,
    }

    impl Signer {
        pub(crate) fn new(id: &str) -> Self {
            let random = SystemRandom::new();
            let key =
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
            let pair =
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
            Self {
                pair: pair.unwrap(),
                id: id.to_owned(),
            }
        }

        pub(crate) fn key(&self) -> Value {
            let point = self.pair.public_key().as_ref();
            let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            json!({"kty": "EC", "crv": "P-256", "kid": self.id, "use": "sig", "alg": "ES256",
                   "x": part(&point[1..33]), "y": part(&point[33..])})
        }

        pub(crate) fn sign(&self, claims: &Value) -> String {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let header = json!({"alg": "ES256", "kid": self.id});
            let message = format!("{}.{}", part(&header), part(claims));
            let signature = self
                .pair
                .sign(&SystemRandom::new(), message.as_bytes())
                .unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
        }
    }

    #[tokio::test]
    async fn rotated_keys_are_fetched_and_forged_tokens_rejected() {
        let (old, new, forger) = (Signer::new("old"), Signer::new("new"), Signer::new("new"));
        let published = RefCell::new(json!({"keys": [old.key()]}));
        let fetches = Cell::new(0);
        let keys = KeySet::default();
        let verify = async |token: String, now_ms: i64| {
            let fetch = || {
                fetches.set(fetches.get() + 1);
                std::future::ready(Ok(published.borrow().clone()))
            };
            let token = UnverifiedToken::parse(&token, &Algorithm::ALL)?;
            keys.verify(&token, now_ms, fetch).await
        };
        let claims = json!({"sub": "ada"});
        assert_eq!(verify(old.sign(&claims), 0).await.unwrap()["sub"], "ada");
        assert!(
            verify(new.sign(&claims), 1).await.is_err(),
            "within the interval"
        );
        published.replace(json!({"keys": [old.key(), new.key()]}));
        assert!(verify(new.sign(&claims), 10_000).await.is_ok());
        assert!(verify(old.sign(&claims), 10_001).await.is_ok());
        assert_eq!(fetches.get(), 2);
        let error = verify(forger.sign(&claims), 10_002).await.unwrap_err();
        assert!(error.to_string().contains("wrong signature"), "{error}");
        let signed = new.sign(&claims);
        let (message, signature) = signed.rsplit_once('.').unwrap();
        let (header, _) = message.split_once('.').unwrap();
        let other = URL_SAFE_NO_PAD.encode(json!({"sub": "eve"}).to_string());
        assert!(
            verify(format!("{header}.{other}.{signature}"), 10_003)
                .await
                .is_err()
        );
        published.replace(json!({"keys": [new.key()]}));
        assert!(
            verify(old.sign(&claims), 4_000_000).await.is_err(),
            "the key was retired"
        );
    }

    #[test]
    fn keys_that_cannot_check_signatures_are_left_out() {
        let good = Signer::new("a").key();
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let ed = URL_SAFE_NO_PAD.encode(pair.public_key());
        let with = |name: &str, value: &str| {
            let mut key = good.clone();
            key[name] = json!(value);
            key
        };
        let document = json!({"keys": [
            good, with("use", "enc"), with("crv", "P-521"), with("kty", "oct"), with("x", "!"),
            {"kty": "OKP", "crv": "Ed25519", "x": ed}, {"kty": "RSA", "n": "AQAB"}, 7,
        ]});
        let keys = parse(&document).unwrap();
        assert_eq!(keys.len(), 2);
        assert!(keys[0].fits(Algorithm::Es256) && !keys[0].fits(Algorithm::Rs256));
        assert!(keys[1].fits(Algorithm::EdDsa) && !keys[1].fits(Algorithm::Es256));
        assert!(parse(&json!({"key": []})).is_err());
    }
}
