//! JSON Web Tokens: signatures and claims.
//!
//! The signature is checked with a public key and an algorithm from the operator's list; the token
//! chooses only among them. There is no `none` and no HMAC: with HMAC, the public key would be the
//! secret.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use docent_model::EpochMillis;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::OidcError;
use crate::key::{Algorithm, Key, KeyMaterial};

/// Tokens with many groups have a few kilobytes.
pub(crate) const MAX_TOKEN_BYTES: usize = 64 * 1024;

pub(crate) type Claims = Map<String, Value>;

/// The header and the parts of a token whose signature is not checked yet.
#[derive(Debug)]
pub(crate) struct UnverifiedToken<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) key_id: Option<String>,
    message: &'a str,
    claims: &'a str,
    signature: Vec<u8>,
}

impl<'a> UnverifiedToken<'a> {
    pub(crate) fn parse(token: &'a str, allowed: &[Algorithm]) -> Result<Self, OidcError> {
        #[derive(Deserialize)]
        struct Header {
            alg: String,
            kid: Option<String>,
            crit: Option<Value>,
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(invalid("is too long"));
        }
        let parts = || {
            let (message, signature) = token.rsplit_once('.')?;
            let (header, claims) = message.split_once('.')?;
            let is_whole = !claims.contains('.');
            is_whole.then_some((message, header, claims, signature))
        };
        let (message, header, claims, signature) =
            parts().ok_or_else(|| invalid("does not have three parts"))?;
        let header: Header = decode(header).ok_or_else(|| invalid("has an invalid header"))?;
        if header.crit.is_some() {
            return Err(invalid("has critical extensions, which are not supported"));
        }
        let algorithm = Algorithm::parse(&header.alg).filter(|it| allowed.contains(it));
        let algorithm = algorithm.ok_or_else(|| {
            invalid(&format!(
                "is signed with the algorithm '{}', which is not allowed",
                header.alg.escape_debug()
            ))
        })?;
        let signature = URL_SAFE_NO_PAD.decode(signature);
        Ok(Self {
            algorithm,
            key_id: header.kid,
            message,
            claims,
            signature: signature.map_err(|_| invalid("has an invalid signature"))?,
        })
    }

    /// The claims, if the key's owner signed them.
    pub(crate) fn verify(&self, key: &Key) -> Result<Claims, OidcError> {
        if !self.is_signed_by(key) {
            return Err(invalid("has a wrong signature"));
        }
        decode(self.claims).ok_or_else(|| invalid("has invalid claims"))
    }

    fn is_signed_by(&self, key: &Key) -> bool {
        let (message, signature) = (self.message.as_bytes(), self.signature.as_slice());
        match (&key.material, self.algorithm) {
            (KeyMaterial::Rsa { n, e }, algorithm) => {
                let parameters = match algorithm {
                    Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                    Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
                    Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => return false,
                };
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).is_ok()
            }
            (KeyMaterial::P256(point), Algorithm::Es256) => is_valid(
                &signature::ECDSA_P256_SHA256_FIXED,
                point,
                message,
                signature,
            ),
            (KeyMaterial::P384(point), Algorithm::Es384) => is_valid(
                &signature::ECDSA_P384_SHA384_FIXED,
                point,
                message,
                signature,
            ),
            (KeyMaterial::Ed25519(point), Algorithm::EdDsa) => {
                is_valid(&signature::ED25519, point, message, signature)
            }
            _ => false,
        }
    }
}

fn is_valid(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    let key = UnparsedPublicKey::new(algorithm, key);
    key.verify(message, signature).is_ok()
}

fn decode<T: serde::de::DeserializeOwned>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

/// What the claims must say.
#[derive(Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a str,
    /// For ID tokens: the value of this sign-in. Their other audiences must not matter.
    pub(crate) nonce: Option<&'a str>,
    pub(crate) skew_ms: EpochMillis,
}

/// Checks issuer, audience and times. Returns when the token expires.
pub(crate) fn check_claims(
    claims: &Claims,
    expected: &Expected<'_>,
    now_ms: EpochMillis,
) -> Result<EpochMillis, OidcError> {
    if claims.get("iss").and_then(Value::as_str) != Some(expected.issuer) {
        return Err(invalid(&format!("is not from {}", expected.issuer)));
    }
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(audience)) => vec![audience],
        Some(Value::Array(audiences)) => audiences.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !audiences.contains(&expected.audience) {
        return Err(invalid(&format!(
            "is not for the audience {}",
            expected.audience
        )));
    }
    if let Some(nonce) = expected.nonce {
        if claims.get("nonce").and_then(Value::as_str) != Some(nonce) {
            return Err(invalid("belongs to another sign-in (nonce)"));
        }
        let party = claims.get("azp").and_then(Value::as_str);
        if party.map_or(audiences.len() > 1, |party| party != expected.audience) {
            return Err(invalid("was issued to another client (azp)"));
        }
    }
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => match time_of(value) {
            Some(time) => Ok(Some(time)),
            None => Err(invalid(&format!("has an invalid time ({name})"))),
        },
    };
    let until = time("exp")?.ok_or_else(|| invalid("does not expire (exp)"))?;
    let until = until.saturating_add(expected.skew_ms);
    if now_ms >= until {
        return Err(invalid("has expired (exp)"));
    }
    for name in ["nbf", "iat"] {
        let from = time(name)?;
        if from.is_some_and(|from| now_ms < from.saturating_sub(expected.skew_ms)) {
            return Err(invalid(&format!("is not valid yet ({name})")));
        }
    }
    Ok(until)
}

/// The time of a claim, which has seconds.
pub(crate) fn time_of(value: &Value) -> Option<EpochMillis> {
    Some(seconds(value)?.saturating_mul(1000))
}

/// Whole seconds; some issuers send fractions.
fn seconds(value: &Value) -> Option<i64> {
    if let Some(seconds) = value.as_i64() {
        return Some(seconds);
    }
    let seconds = value
        .as_f64()
        .filter(|it| it.is_finite() && it.abs() < 1e12)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is small, and fractions do not count"
    )]
    Some(seconds as i64)
}

fn invalid(reason: &str) -> OidcError {
    OidcError::Invalid(format!("the token {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW_MS: i64 = 1_790_000_000_000;

    fn claims() -> Claims {
        let Value::Object(claims) = json!({
            "iss": "https://idp.example", "aud": "docent", "nonce": "n", "sub": "ada",
            "iat": NOW_MS / 1000, "exp": NOW_MS / 1000 + 60,
        }) else {
            unreachable!()
        };
        claims
    }

    fn check(change: Value, nonce: Option<&str>) -> Result<i64, String> {
        let mut claims = claims();
        if let Value::Object(change) = change {
            for (name, value) in change {
                match value {
                    Value::Null => claims.remove(&name),
                    value => claims.insert(name, value),
                };
            }
        }
        let expected = Expected {
            issuer: "https://idp.example",
            audience: "docent",
            nonce,
            skew_ms: 30_000,
        };
        check_claims(&claims, &expected, NOW_MS).map_err(|error| error.to_string())
    }

    #[test]
    fn claims_must_be_for_us_and_now() {
        let now = NOW_MS / 1000;
        assert_eq!(check(json!({}), None), Ok(NOW_MS + 90_000));
        assert_eq!(check(json!({}), Some("n")), Ok(NOW_MS + 90_000));
        for accepted in [
            json!({"aud": ["other", "docent"], "azp": "docent"}),
            json!({"exp": now - 29}),
            json!({"nbf": now + 29}),
            json!({"exp": 1_790_000_060.5}),
            json!({"iat": null}),
        ] {
            assert!(check(accepted.clone(), Some("n")).is_ok(), "{accepted}");
        }
        for (change, says) in [
            (json!({"iss": "https://idp.example/"}), "is not from"),
            (json!({"iss": null}), "is not from"),
            (json!({"aud": "other"}), "audience"),
            (json!({"aud": ["other"]}), "audience"),
            (json!({"aud": null}), "audience"),
            (json!({"aud": ["other", "docent"]}), "azp"),
            (json!({"azp": "other"}), "azp"),
            (json!({"nonce": "m"}), "nonce"),
            (json!({"nonce": null}), "nonce"),
            (json!({"exp": now - 30}), "expired"),
            (json!({"exp": null}), "does not expire"),
            (json!({"exp": "tomorrow"}), "invalid time (exp)"),
            (json!({"nbf": now + 31}), "not valid yet (nbf)"),
            (json!({"nbf": "now"}), "invalid time (nbf)"),
            (json!({"iat": now + 31}), "not valid yet (iat)"),
        ] {
            let error = check(change.clone(), Some("n")).unwrap_err();
            assert!(error.contains(says), "{change}: {error}");
        }
    }

    #[test]
    fn the_header_cannot_choose_another_algorithm() {
        let token = |header: Value| {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            format!("{}.{}.AA", part(&header), part(&json!({})))
        };
        let parse = |header: Value, allowed: &[Algorithm]| {
            let token = token(header);
            let parsed = UnverifiedToken::parse(&token, allowed);
            parsed
                .map(|it| it.algorithm)
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            parse(json!({"alg": "RS256"}), &Algorithm::ALL),
            Ok(Algorithm::Rs256)
        );
        for name in ["none", "HS256", "HS512", "rs256", "None", "", "ES512"] {
            let error = parse(json!({"alg": name}), &Algorithm::ALL).unwrap_err();
            assert!(error.contains("not allowed"), "{name}: {error}");
        }
        let error = parse(json!({"alg": "RS256"}), &[Algorithm::Es256]).unwrap_err();
        assert!(error.contains("not allowed"), "{error}");
        let error = parse(json!({"alg": "RS256", "crit": ["b64"]}), &Algorithm::ALL).unwrap_err();
        assert!(error.contains("critical"), "{error}");
        for text in ["", "a", "a.b", "a.b.c.d", "a.b.c", "!.!.!"] {
            assert!(
                UnverifiedToken::parse(text, &Algorithm::ALL).is_err(),
                "{text}"
            );
        }
        let long = "a".repeat(MAX_TOKEN_BYTES + 1);
        let error = UnverifiedToken::parse(&long, &Algorithm::ALL).unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
