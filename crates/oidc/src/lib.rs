//! OIDC, as a client: signing people in at identity providers ([`Provider`]), and
//! checking the bearer tokens of issuers that the operator trusts ([`TrustedIssuer`]).
//!
//! - [`client`]: requests to providers
//! - [`metadata`]: the discovery document
//! - [`key`]: public keys, and the algorithms that use them
//! - [`keys`]: the public keys of an issuer, and their rotation
//! - [`jwt`]: signatures and claims
//! - [`flow`]: the authorization code flow with PKCE
//! - [`cached`]: documents of providers, and how often they are fetched
//! - [`seal`]: signed values in cookies
//!
//! This crate must not know users, sessions or the store: it returns [`Identity`], what a provider
//! says about somebody.

mod cached;
mod client;
mod flow;
mod identity;
mod issuer;
mod jwt;
mod key;
mod keys;
mod metadata;
mod seal;

pub use flow::{
    Callback, Finish, IdToken, Provider, ProviderSettings, SIGN_IN_MS, Start, local_path,
};
pub use identity::{ClaimNames, Identity};
pub use issuer::{IssuerSettings, TrustedIssuer};
pub use key::Algorithm;

/// Why somebody is not signed in. Messages are for the log: they may name hosts and claims, never
/// secrets or tokens.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider cannot be reached, or sent something invalid.
    #[error("{0}")]
    Provider(String),
    /// The provider, or the user there, refused.
    #[error("{0}")]
    Denied(String),
    /// The token, the callback or its cookie is not valid, or too old.
    #[error("{0}")]
    Invalid(String),
    /// The provider does not say who the user is.
    #[error("{0}")]
    NoUser(String),
}

/// The server's configuration contains something that cannot work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(crate) String);
