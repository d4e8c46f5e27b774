//! Signing people in at a provider: the authorization code flow with PKCE.
//!
//! What one sign-in needs between the redirect and the callback (state, nonce, PKCE verifier and
//! the page to return to) is in a signed cookie of the browser, valid for ten minutes. So any
//! server can handle the callback, and nothing is stored for those who never come back.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use docent_model::{Clock, EpochMillis};
use http::StatusCode;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use url::Url;

use crate::cached::Cached;
use crate::client::{ProviderClient, check_url};
use crate::identity::{ClaimNames, Identity};
use crate::jwt::{Claims, Expected, UnverifiedToken, check_claims};
use crate::key::Algorithm;
use crate::keys::KeySet;
use crate::metadata::Metadata;
use crate::seal::Seal;
use crate::{OidcError, SettingsError};

/// How long a user may take at the provider.
pub const SIGN_IN_MS: EpochMillis = 10 * 60 * 1000;
/// The most callbacks of one provider at a time.
const MAX_CALLBACKS: usize = 32;
/// Longer ones would not fit into a cookie.
const MAX_RETURN_BYTES: usize = 1024;

#[derive(Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// A part of URLs: lower-case letters, digits and hyphens.
    pub id: String,
    /// The text of the button.
    pub name: String,
    /// Exactly as in the discovery document.
    pub issuer: String,
    pub client_id: String,
    /// `None` for a public client.
    pub client_secret: Option<String>,
    pub scopes: String,
    pub claims: ClaimNames,
    pub algorithms: Vec<Algorithm>,
    pub skew_ms: EpochMillis,
    /// Whether unknown users are created.
    pub create_users: bool,
    /// The address of this server in browsers.
    pub public_url: String,
}

impl std::fmt::Debug for ProviderSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ProviderSettings")
            .field("id", &self.id)
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// A provider that signs people in.
#[derive(Debug)]
pub struct Provider {
    settings: ProviderSettings,
    redirect_uri: String,
    client: ProviderClient,
    clock: Arc<dyn Clock>,
    metadata: Cached<Metadata>,
    keys: KeySet,
    seal: Seal,
    callbacks: Semaphore,
}

/// The redirect to a provider.
#[derive(Debug)]
pub struct Start {
    pub location: String,
    /// For the browser to keep until the callback.
    pub cookie: String,
}

/// A sign-in that has succeeded.
#[derive(Debug)]
pub struct Finish {
    pub identity: Identity,
    /// The path to return to.
    pub return_to: String,
    /// The ID token, for [`Provider::end_session`].
    pub id_token: IdToken,
}

/// An ID token that was checked. It says who somebody is, so that it belongs in no log.
pub struct IdToken(pub String);

impl std::fmt::Debug for IdToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("IdToken")
    }
}

/// The parameters of a callback.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Callback {
    pub code: Option<String>,
    pub state: Option<String>,
    pub iss: Option<String>,
    pub error: Option<String>,
}

/// One sign-in, in the cookie.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    provider: String,
    state: String,
    nonce: String,
    verifier: String,
    return_to: String,
    until_ms: EpochMillis,
}

impl Provider {
    pub fn new(settings: ProviderSettings, clock: Arc<dyn Clock>) -> Result<Self, SettingsError> {
        let is_allowed =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if settings.id.is_empty() || !settings.id.chars().all(is_allowed) {
            return Err(SettingsError(format!(
                "the id of a provider is '{}': use lower-case letters, digits and hyphens",
                settings.id
            )));
        }
        check_url("the issuer", &settings.issuer)?;
        let public = check_url("the public URL", &settings.public_url)?;
        if public.path() != "/" || public.query().is_some() || public.fragment().is_some() {
            return Err(SettingsError(format!(
                "the public URL '{}' must end after the host and port",
                settings.public_url
            )));
        }
        if !settings
            .scopes
            .split_whitespace()
            .any(|scope| scope == "openid")
        {
            return Err(SettingsError(format!(
                "the scopes of {} are '{}': they must include openid",
                settings.id, settings.scopes
            )));
        }
        let redirect_uri = format!("{}callback/{}", public, settings.id);
        let seal = match &settings.client_secret {
            Some(secret) => Seal::derived_from(secret.as_bytes()),
            None => Seal::derived_from(random()?.as_bytes()),
        };
        Ok(Self {
            settings,
            redirect_uri,
            client: ProviderClient::default(),
            clock,
            metadata: Cached::default(),
            keys: KeySet::default(),
            seal,
            callbacks: Semaphore::new(MAX_CALLBACKS),
        })
    }

    pub fn settings(&self) -> &ProviderSettings {
        &self.settings
    }

    /// Begins a sign-in that ends at a path of this server.
    pub async fn start(&self, return_to: &str) -> Result<Start, OidcError> {
        let metadata = self.metadata().await?;
        let mut location = endpoint(metadata.authorization.as_ref(), "authorization_endpoint")?;
        let secret = || random().map_err(|error| OidcError::Provider(error.0));
        let pending = Pending {
            provider: self.settings.id.clone(),
            state: secret()?,
            nonce: secret()?,
            verifier: secret()?,
            return_to: local_path(return_to).to_owned(),
            until_ms: self.clock.now_ms().saturating_add(SIGN_IN_MS),
        };
        let challenge = digest(&SHA256, pending.verifier.as_bytes());
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", &self.settings.scopes)
            .append_pair("state", &pending.state)
            .append_pair("nonce", &pending.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256");
        let cookie = self.seal.sign(&pending);
        Ok(Start {
            location: location.to_string(),
            cookie: cookie.ok_or_else(|| invalid("the sign-in cannot be stored in a cookie"))?,
        })
    }

    /// Ends a sign-in.
    pub async fn finish(
        &self,
        callback: &Callback,
        cookie: Option<&str>,
    ) -> Result<Finish, OidcError> {
        let now_ms = self.clock.now_ms();
        let pending = cookie.and_then(|cookie| self.seal.open::<Pending>(cookie));
        let pending = pending.filter(|pending| {
            pending.provider == self.settings.id
                && now_ms < pending.until_ms
                && callback.state.as_ref() == Some(&pending.state)
        });
        let pending = pending.ok_or_else(|| {
            invalid("the callback belongs to no sign-in of this browser in the last ten minutes")
        })?;
        if let Some(error) = &callback.error {
            let reason = format!("the provider returned the error {}", error.escape_debug());
            return Err(match error.as_str() {
                "access_denied"
                | "login_required"
                | "consent_required"
                | "interaction_required" => OidcError::Denied(reason),
                _ => OidcError::Provider(reason),
            });
        }
        let metadata = self.metadata().await?;
        let is_own = match &callback.iss {
            Some(issuer) => *issuer == self.settings.issuer,
            None => !metadata.callbacks_name_issuer,
        };
        if !is_own {
            return Err(invalid("the callback comes from another issuer (iss)"));
        }
        let code = callback.code.as_deref();
        let code = code.ok_or_else(|| invalid("the callback has no code"))?;
        let _turn = self.callbacks.try_acquire().map_err(|_| {
            OidcError::Provider("too many sign-ins are in progress: try again".to_owned())
        })?;
        let tokens = self.exchange(&metadata, code, &pending.verifier).await?;
        let id_token = tokens["id_token"].as_str().ok_or_else(|| {
            OidcError::Provider("the token endpoint returned no ID token".to_owned())
        })?;
        let claims = self.id_claims(&metadata, id_token, &pending.nonce);
        let mut claims = claims.await?;
        if !Identity::is_complete(&claims, &self.settings.claims) {
            self.add_user_info(&metadata, &tokens, &mut claims).await?;
        }
        Ok(Finish {
            identity: Identity::from_claims(&claims, &self.settings.claims)?,
            return_to: pending.return_to,
            id_token: IdToken(id_token.to_owned()),
        })
    }

    /// Where the browser ends the session at the provider, if that is supported. With the ID token
    /// of the sign-in, providers know which session to end; without it, they ask the user, and some
    /// reject the request or do not lead back.
    pub async fn end_session(&self, id_token: Option<&str>) -> Option<String> {
        let metadata = self.metadata().await.ok()?;
        let mut url = metadata.end_session.clone()?;
        let home = self
            .redirect_uri
            .strip_suffix(&format!("callback/{}", self.settings.id))?;
        url.query_pairs_mut()
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("post_logout_redirect_uri", home);
        if let Some(id_token) = id_token {
            url.query_pairs_mut().append_pair("id_token_hint", id_token);
        }
        Some(url.to_string())
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, OidcError> {
        let fetch = || Metadata::fetch(self.client.clone(), self.settings.issuer.clone());
        self.metadata
            .get(self.clock.now_ms(), |_| true, fetch)
            .await
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        code: &str,
        verifier: &str,
    ) -> Result<Value, OidcError> {
        let url = endpoint(metadata.token.as_ref(), "token_endpoint")?;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", self.redirect_uri.as_str()),
            ("code_verifier", verifier),
        ];
        let id = self.settings.client_id.as_str();
        let authorization = match &self.settings.client_secret {
            Some(secret) if metadata.secret_in_body => {
                form.extend([("client_id", id), ("client_secret", secret)]);
                None
            }
            Some(secret) => {
                let encode = |text: &str| {
                    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", encode(id), encode(secret));
                Some(format!("Basic {}", STANDARD.encode(pair)))
            }
            None => {
                form.push(("client_id", id));
                None
            }
        };
        let (status, reply) = self.client.post_form(&url, &form, authorization).await?;
        if status != StatusCode::OK {
            let error = reply["error"].as_str().unwrap_or("no error code");
            return Err(OidcError::Provider(format!(
                "the token endpoint returned {status}, {}: check the client id and secret",
                error.escape_debug()
            )));
        }
        Ok(reply)
    }

    async fn id_claims(
        &self,
        metadata: &Metadata,
        id_token: &str,
        nonce: &str,
    ) -> Result<Claims, OidcError> {
        let token = UnverifiedToken::parse(id_token, &self.settings.algorithms)?;
        let now_ms = self.clock.now_ms();
        let (client, url) = (self.client.clone(), metadata.keys.clone());
        let fetch = || async move { client.get(&url, None).await };
        let claims = self.keys.verify(&token, now_ms, fetch).await?;
        let expected = Expected {
            issuer: &self.settings.issuer,
            audience: &self.settings.client_id,
            nonce: Some(nonce),
            skew_ms: self.settings.skew_ms,
        };
        check_claims(&claims, &expected, now_ms)?;
        Ok(claims)
    }

    /// Adds the claims that the ID token does not have, from the user info endpoint.
    async fn add_user_info(
        &self,
        metadata: &Metadata,
        tokens: &Value,
        claims: &mut Claims,
    ) -> Result<(), OidcError> {
        let (Some(url), Some(token)) = (&metadata.user_info, tokens["access_token"].as_str())
        else {
            return Ok(());
        };
        let Value::Object(info) = self.client.get(url, Some(token)).await? else {
            return Err(OidcError::Provider(format!("{url} returned no claims")));
        };
        if info.get("sub") != claims.get("sub") {
            return Err(OidcError::Provider(format!(
                "{url} is about another user (sub)"
            )));
        }
        for (name, value) in info {
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }
}

fn endpoint(url: Option<&Url>, name: &str) -> Result<Url, OidcError> {
    url.cloned().ok_or_else(|| {
        OidcError::Provider(format!(
            "the discovery document of the provider has no {name}"
        ))
    })
}

/// A path of this server; the start page in place of anything that could lead elsewhere.
pub fn local_path(text: &str) -> &str {
    let is_local = text.starts_with('/')
        && !text.starts_with("//")
        && text.len() <= MAX_RETURN_BYTES
        && !text.contains(['\\', '\t', '\r', '\n'])
        && text.is_ascii();
    if is_local { text } else { "/" }
}

/// 256 random bits.
fn random() -> Result<String, SettingsError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        SettingsError(format!(
            "the operating system provides no random numbers: {error}"
        ))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn invalid(reason: &str) -> OidcError {
    OidcError::Invalid(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_returns_to_a_path_of_this_server() {
        for path in ["/", "/dataset/urn%3Ali%3A", "/search?query=a#x"] {
            assert_eq!(local_path(path), path);
        }
        for path in [
            "",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "\t//evil.example",
            "/a\nb",
            "/ä",
            &format!("/{}", "x".repeat(MAX_RETURN_BYTES)),
        ] {
            assert_eq!(local_path(path), "/", "{path}");
        }
    }
}
