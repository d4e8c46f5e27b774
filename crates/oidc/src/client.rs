//! HTTP requests to identity providers: few, small and slow, so each has its own connection. Every
//! request is limited in time and size, and redirects are errors, because a redirected secret would
//! reach another host. Plain HTTP is for providers on this machine only. `docent status` asks a
//! server in the same way.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use crate::{OidcError, SettingsError};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Discovery documents and key sets have a few kilobytes.
const MAX_BYTES: usize = 1024 * 1024;

#[derive(Clone)]
pub struct HttpClient {
    tls: TlsConnector,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HttpClient")
    }
}

impl HttpClient {
    /// Trusts the certificate authorities of the system, or those in `SSL_CERT_FILE`.
    pub fn new() -> Result<Self, SettingsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SettingsError(format!("TLS cannot be used: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    /// Gets JSON, whatever the status.
    pub async fn get_any(
        &self,
        url: &Url,
        bearer: Option<&str>,
    ) -> Result<(u16, Value), OidcError> {
        let authorization = bearer.map(|token| format!("Bearer {token}"));
        let sent = self.send(Method::GET, url, authorization, String::new());
        let (status, body) = sent.await?;
        Ok((status.as_u16(), body))
    }

    pub(crate) async fn get(&self, url: &Url, bearer: Option<&str>) -> Result<Value, OidcError> {
        let authorization = bearer.map(|token| format!("Bearer {token}"));
        let (status, body) = self
            .send(Method::GET, url, authorization, String::new())
            .await?;
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
        self.send(Method::POST, url, authorization, body).await
    }

    async fn send(
        &self,
        method: Method,
        url: &Url,
        authorization: Option<String>,
        body: String,
    ) -> Result<(StatusCode, Value), OidcError> {
        // On the heap: a connection with TLS is large, and few requests make one.
        let exchange = Box::pin(self.exchange(method, url, authorization, body));
        let sent = tokio::time::timeout(TIMEOUT, exchange);
        let failed = |reason: String| OidcError::Provider(format!("{url} {reason}"));
        let (status, bytes) = match sent.await {
            Ok(Ok(reply)) => reply,
            Ok(Err(reason)) => return Err(failed(format!("cannot be reached: {reason}"))),
            Err(_) => {
                let seconds = TIMEOUT.as_secs();
                return Err(failed(format!("did not answer within {seconds} seconds")));
            }
        };
        if status.is_redirection() {
            return Err(failed(format!(
                "redirects ({status}), which is not allowed"
            )));
        }
        let body = serde_json::from_slice(&bytes);
        Ok((
            status,
            body.map_err(|_| failed(format!("returned {status} without JSON")))?,
        ))
    }

    async fn exchange(
        &self,
        method: Method,
        url: &Url,
        authorization: Option<String>,
        body: String,
    ) -> Result<(StatusCode, Bytes), String> {
        let host = url.host_str().ok_or("it has no host")?;
        let port = url.port_or_known_default().ok_or("it has no port")?;
        let address = (host.trim_matches(['[', ']']), port);
        let stream = TcpStream::connect(address).await.map_err(text)?;
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, authority)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("docent/", env!("CARGO_PKG_VERSION")));
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(text)?;
        if url.scheme() == "https" {
            let name = ServerName::try_from(address.0.to_owned()).map_err(text)?;
            let stream = self.tls.connect(name, stream).await.map_err(text)?;
            converse(stream, request).await
        } else {
            converse(stream, request).await
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), String> {
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(text)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(text)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_BYTES);
        let body = body.collect().await.map_err(text)?;
        Ok((status, body.to_bytes()))
    };
    // The connection ends with the exchange, also when that is cancelled.
    let connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        reply = exchange => reply,
        ended = connection => Err(ended.err().map_or_else(|| "the connection was closed".to_owned(), text)),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
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
