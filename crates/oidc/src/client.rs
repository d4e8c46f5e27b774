//! Requests to identity providers: JSON in every response, and plain HTTP on this machine only.

use bytes::Bytes;
use docent_client::HttpClient;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Request, StatusCode, request};
use serde_json::Value;
use url::Url;

use crate::{OidcError, SettingsError};

/// A client of identity providers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderClient(HttpClient);

impl ProviderClient {
    pub(crate) async fn get(&self, url: &Url, bearer: Option<&str>) -> Result<Value, OidcError> {
        let authorization = bearer.map(|token| format!("Bearer {token}"));
        let request = Request::get(url.as_str());
        let (status, body) = self.send(url, request, authorization, Bytes::new()).await?;
        if status != StatusCode::OK {
            return Err(OidcError::Provider(format!("{url} returned {status}")));
        }
        Ok(body)
    }

    pub(crate) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        authorization: Option<String>,
    ) -> Result<(StatusCode, Value), OidcError> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let request = Request::post(url.as_str());
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(url, request, authorization, body.into()).await
    }

    async fn send(
        &self,
        url: &Url,
        mut request: request::Builder,
        authorization: Option<String>,
        body: Bytes,
    ) -> Result<(StatusCode, Value), OidcError> {
        let failed = |reason: String| OidcError::Provider(format!("{url} {reason}"));
        request = request.header(ACCEPT, "application/json");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(body);
        let request = request.map_err(|error| failed(format!("cannot be reached: {error}")))?;
        let sent = self.0.send(request).await;
        let response = sent.map_err(|error| failed(error.to_string()))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(failed(format!(
                "redirects ({status}), which is not allowed"
            )));
        }
        let body = serde_json::from_slice(response.body());
        let body = body.map_err(|_| failed(format!("returned {status} without JSON")))?;
        Ok((status, body))
    }
}

/// Accepts HTTPS, and plain HTTP on this machine, where nobody can listen.
pub(crate) fn check_url(what: &str, text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text).map_err(|_| {
        SettingsError(format!(
            "{what} '{text}' is not a URL: use for example https://login.example.com"
        ))
    })?;
    let is_local = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let has_password = url.password().is_some() || !url.username().is_empty();
    match url.scheme() {
        _ if has_password => Err(SettingsError(format!(
            "{what} must not have a username or a password"
        ))),
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        _ => Err(SettingsError(format!(
            "{what} '{text}' must begin with https://; http:// is for servers on this machine"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine() {
        for url in [
            "https://login.example.com/realms/a",
            "http://localhost:3000",
            "http://127.0.0.1:3000/x",
            "http://[::1]:3000",
            "http://idp.localhost",
        ] {
            check_url("the issuer", url).unwrap();
        }
        for (url, says) in [
            ("http://login.example.com", "must begin with https://"),
            ("http://localhost.example.com", "must begin with https://"),
            ("ftp://localhost", "must begin with https://"),
            ("login.example.com", "is not a URL"),
            (
                "https://ada:SECRET@login.example.com",
                "must not have a username",
            ),
        ] {
            let error = check_url("the issuer", url).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
