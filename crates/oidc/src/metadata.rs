//! What a provider says about itself (the discovery document).

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::OidcError;
use crate::client::{ProviderClient, check_url};

/// The endpoints of a provider.
#[derive(Debug, Clone)]
pub(crate) struct Metadata {
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Option<Url>,
    pub(crate) user_info: Option<Url>,
    pub(crate) keys: Url,
    pub(crate) end_session: Option<Url>,
    /// Whether the client secret is sent in the body, because the header is not supported.
    pub(crate) secret_in_body: bool,
    /// Whether callbacks name the issuer (RFC 9207).
    pub(crate) callbacks_name_issuer: bool,
}

impl Metadata {
    pub(crate) async fn fetch(client: ProviderClient, issuer: String) -> Result<Self, OidcError> {
        let url = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let url = check_url("the issuer", &url).map_err(|error| OidcError::Provider(error.0))?;
        Self::parse(client.get(&url, None).await?, &issuer)
    }

    fn parse(document: Value, issuer: &str) -> Result<Self, OidcError> {
        #[derive(Deserialize)]
        struct Document {
            issuer: String,
            authorization_endpoint: Option<String>,
            token_endpoint: Option<String>,
            userinfo_endpoint: Option<String>,
            jwks_uri: String,
            end_session_endpoint: Option<String>,
            token_endpoint_auth_methods_supported: Option<Vec<String>>,
            #[serde(default)]
            authorization_response_iss_parameter_supported: bool,
        }
        let document: Document = serde_json::from_value(document).map_err(|error| {
            OidcError::Provider(format!(
                "the discovery document of {issuer} is invalid: {error}"
            ))
        })?;
        // Otherwise one provider could speak for another.
        if document.issuer != issuer {
            return Err(OidcError::Provider(format!(
                "the discovery document of {issuer} names another issuer, {}: configure exactly that, with or without a \
                 slash at the end",
                document.issuer.escape_debug()
            )));
        }
        let endpoint = |name: &str, url: Option<String>| {
            let checked = url.map(|url| check_url(name, &url)).transpose();
            checked.map_err(|error| OidcError::Provider(error.0))
        };
        let methods = document.token_endpoint_auth_methods_supported;
        let supports = |name: &str| {
            let methods = methods.as_ref();
            methods.is_some_and(|methods| methods.iter().any(|method| method == name))
        };
        Ok(Self {
            authorization: endpoint("authorization_endpoint", document.authorization_endpoint)?,
            token: endpoint("token_endpoint", document.token_endpoint)?,
            user_info: endpoint("userinfo_endpoint", document.userinfo_endpoint)?,
            keys: check_url("jwks_uri", &document.jwks_uri)
                .map_err(|error| OidcError::Provider(error.0))?,
            end_session: endpoint("end_session_endpoint", document.end_session_endpoint)?,
            secret_in_body: !supports("client_secret_basic") && supports("client_secret_post"),
            callbacks_name_issuer: document.authorization_response_iss_parameter_supported,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_document_must_be_the_issuers_own() {
        let document = json!({
            "issuer": "https://idp.example", "jwks_uri": "https://idp.example/keys",
            "token_endpoint": "https://idp.example/token",
        });
        let metadata = Metadata::parse(document.clone(), "https://idp.example").unwrap();
        assert!(metadata.end_session.is_none() && !metadata.secret_in_body);
        for issuer in ["https://idp.example/", "https://other.example"] {
            let error = Metadata::parse(document.clone(), issuer).unwrap_err();
            assert!(
                error.to_string().contains("names another issuer"),
                "{error}"
            );
        }
        for (member, value) in [
            ("jwks_uri", json!("http://idp.example/keys")),
            ("token_endpoint", json!("http://idp.example/token")),
            ("jwks_uri", json!(null)),
        ] {
            let mut changed = document.clone();
            changed[member] = value;
            assert!(
                Metadata::parse(changed, "https://idp.example").is_err(),
                "{member}"
            );
        }
    }
}
