//! Bearer tokens of issuers that the operator trusts.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use docent_model::{Clock, EpochMillis};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::cached::Cached;
use crate::client::{ProviderClient, check_url};
use crate::jwt::{Expected, MAX_TOKEN_BYTES, UnverifiedToken, check_claims};
use crate::key::Algorithm;
use crate::keys::KeySet;
use crate::metadata::Metadata;
use crate::{ClaimNames, Identity, OidcError, SettingsError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// Exactly as in the tokens.
    pub issuer: String,
    pub audience: String,
    /// `None` finds it by discovery.
    pub keys_url: Option<String>,
    pub claims: ClaimNames,
    pub algorithms: Vec<Algorithm>,
    pub skew_ms: EpochMillis,
    /// Whether unknown users are created.
    pub create_users: bool,
}

/// An issuer whose tokens authenticate callers.
#[derive(Debug)]
pub struct TrustedIssuer {
    settings: IssuerSettings,
    keys_url: Option<Url>,
    client: ProviderClient,
    clock: Arc<dyn Clock>,
    metadata: Cached<Metadata>,
    keys: KeySet,
}

impl TrustedIssuer {
    pub fn new(settings: IssuerSettings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        let keys_url = settings.keys_url.as_deref();
        let keys_url = keys_url
            .map(|url| check_url("the JWKS URL", url))
            .transpose()?;
        if keys_url.is_none() {
            check_url("the issuer", &settings.issuer)?;
        }
        if settings.audience.trim().is_empty() {
            return Err(SettingsError(format!(
                "the audience of {} is empty: without one, tokens for other services would work here",
                settings.issuer
            )));
        }
        Ok(Self {
            settings,
            keys_url,
            client: ProviderClient::default(),
            clock,
            metadata: Cached::default(),
            keys: KeySet::default(),
        })
    }

    pub fn settings(&self) -> &IssuerSettings {
        &self.settings
    }

    /// The issuer that a token names, before anything is checked; `None` if it is no such token.
    pub fn unverified_issuer(token: &str) -> Option<String> {
        #[derive(Deserialize)]
        struct Claims {
            iss: String,
        }
        if token.len() > MAX_TOKEN_BYTES {
            return None;
        }
        let mut parts = token.split('.');
        let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
        let claims = URL_SAFE_NO_PAD.decode(claims).ok()?;
        let claims: Claims = serde_json::from_slice(&claims).ok()?;
        parts.next().is_none().then_some(claims.iss)
    }

    /// The user of a token, and when it expires.
    pub async fn verify(&self, token: &str) -> Result<(Identity, EpochMillis), OidcError> {
        let settings = &self.settings;
        let token = UnverifiedToken::parse(token, &settings.algorithms)?;
        let now_ms = self.clock.now_ms();
        let claims = self.keys.verify(&token, now_ms, || self.fetch_keys(now_ms));
        let claims = claims.await?;
        let expected = Expected {
            issuer: &settings.issuer,
            audience: &settings.audience,
            nonce: None,
            skew_ms: settings.skew_ms,
        };
        let until_ms = check_claims(&claims, &expected, now_ms)?;
        Ok((Identity::from_claims(&claims, &settings.claims)?, until_ms))
    }

    /// Fetches the keys, in the background if necessary.
    fn fetch_keys(
        &self,
        now_ms: EpochMillis,
    ) -> impl Future<Output = Result<Value, OidcError>> + Send + use<> {
        let (client, metadata) = (self.client.clone(), self.metadata.clone());
        let (issuer, keys_url) = (self.settings.issuer.clone(), self.keys_url.clone());
        async move {
            if let Some(url) = keys_url {
                return client.get(&url, None).await;
            }
            let fetch = || Metadata::fetch(client.clone(), issuer);
            let metadata = metadata.get(now_ms, |_| true, fetch).await?;
            client.get(&metadata.keys, None).await
        }
    }
}
