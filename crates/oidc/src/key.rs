//! Public keys, and the algorithms that use them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// A signature algorithm with a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// The name in the header of a token.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) id: Option<String>,
    /// The only algorithm that the issuer uses it with.
    algorithm: Option<String>,
    pub(crate) material: KeyMaterial,
}

#[derive(Debug, Clone)]
pub(crate) enum KeyMaterial {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl Key {
    pub(crate) fn fits(&self, algorithm: Algorithm) -> bool {
        let is_kind = match (&self.material, algorithm) {
            (KeyMaterial::Rsa { .. }, algorithm) => !matches!(
                algorithm,
                Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa
            ),
            (KeyMaterial::P256(_), Algorithm::Es256)
            | (KeyMaterial::P384(_), Algorithm::Es384)
            | (KeyMaterial::Ed25519(_), Algorithm::EdDsa) => true,
            _ => false,
        };
        let own = self.algorithm.as_deref();
        is_kind && own.is_none_or(|own| own == algorithm.name())
    }

    /// A key of a JSON Web Key Set; `None` if it is of an unknown type or for encryption.
    pub(crate) fn parse(key: &Value) -> Option<Self> {
        let text = |name: &str| key[name].as_str().map(str::to_owned);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str()?).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let point = |size: usize| {
            let mut point = vec![4];
            for name in ["x", "y"] {
                let coordinate = bytes(name)?;
                let missing = size.checked_sub(coordinate.len())?;
                point.extend(std::iter::repeat_n(0, missing));
                point.extend(coordinate);
            }
            Some(point)
        };
        let material = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => KeyMaterial::Rsa {
                n: bytes("n")?,
                e: bytes("e")?,
            },
            ("EC", Some("P-256")) => KeyMaterial::P256(point(32)?),
            ("EC", Some("P-384")) => KeyMaterial::P384(point(48)?),
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self {
            id: text("kid"),
            algorithm: text("alg"),
            material,
        })
    }
}
