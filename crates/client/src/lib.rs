//! HTTP requests to other servers: identity providers, a collector of traces, and for
//! `docent status` another Docent.
//!
//! They are few and small, so each has its own connection. Every request is limited in time, and
//! every response in size. Redirects are not followed, because a redirected secret would reach
//! another host.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Request, Response, StatusCode, Uri, request};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long a request may take, and how many bytes the body of its response may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub timeout: Duration,
    pub response_bytes: usize,
}

const DEFAULT_LIMITS: Limits = Limits {
    timeout: Duration::from_secs(10),
    response_bytes: 1024 * 1024,
};
const JSON: &str = "application/json";
const AGENT: &str = concat!("docent/", env!("CARGO_PKG_VERSION"));

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error("did not answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    #[error("returned {0} without JSON")]
    NoJson(StatusCode),
}

/// TLS cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be used: {0}")]
pub struct TlsError(rustls::Error);

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
    pub fn new() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    /// Sends a request with an absolute URI.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ClientError> {
        self.send_within(request, DEFAULT_LIMITS).await
    }

    /// [`Self::send`] with other limits.
    pub async fn send_within(
        &self,
        request: Request<Bytes>,
        limits: Limits,
    ) -> Result<Response<Bytes>, ClientError> {
        // On the heap: a connection with TLS is large, and few requests make one.
        let exchange = Box::pin(self.exchange(request, limits.response_bytes));
        match tokio::time::timeout(limits.timeout, exchange).await {
            Ok(exchanged) => exchanged.map_err(ClientError::Unreachable),
            Err(_) => Err(ClientError::Timeout(limits.timeout)),
        }
    }

    /// Gets JSON, whatever the status.
    pub async fn get_json(
        &self,
        url: &str,
        bearer: Option<&str>,
    ) -> Result<(StatusCode, Value), ClientError> {
        let request = Request::get(url);
        let sent = self.send_json(request, bearer, Bytes::new(), DEFAULT_LIMITS);
        sent.await
    }

    /// Posts JSON and returns JSON, whatever the status.
    pub async fn post_json(
        &self,
        url: &str,
        bearer: Option<&str>,
        body: &Value,
        limits: Limits,
    ) -> Result<(StatusCode, Value), ClientError> {
        let request = Request::post(url).header(CONTENT_TYPE, JSON);
        let body = body.to_string().into();
        self.send_json(request, bearer, body, limits).await
    }

    async fn send_json(
        &self,
        mut request: request::Builder,
        bearer: Option<&str>,
        body: Bytes,
        limits: Limits,
    ) -> Result<(StatusCode, Value), ClientError> {
        request = request.header(ACCEPT, JSON);
        if let Some(token) = bearer {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(body);
        let request = request.map_err(|error| ClientError::Unreachable(text(error)))?;
        let response = self.send_within(request, limits).await?;
        let status = response.status();
        let body = serde_json::from_slice(response.body());
        Ok((status, body.map_err(|_| ClientError::NoJson(status))?))
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        max_bytes: usize,
    ) -> Result<Response<Bytes>, String> {
        let (mut parts, body) = request.into_parts();
        let uri = std::mem::take(&mut parts.uri);
        let authority = uri.authority().ok_or("it has no host")?;
        let is_tls = uri.scheme_str() == Some("https");
        let port = authority
            .port_u16()
            .unwrap_or(if is_tls { 443 } else { 80 });
        let host = authority.host().trim_matches(['[', ']']);
        // The rest of the authority may be a user with a password.
        let name = authority.as_str();
        let name = name.rsplit_once('@').map_or(name, |(_, name)| name);
        let headers = &mut parts.headers;
        headers.insert(HOST, HeaderValue::from_str(name).map_err(text)?);
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        parts.uri = target.parse::<Uri>().map_err(text)?;
        let request = Request::from_parts(parts, Full::new(body));
        let stream = TcpStream::connect((host, port)).await.map_err(text)?;
        if is_tls {
            let name = ServerName::try_from(host.to_owned()).map_err(text)?;
            let stream = self.tls.connect(name, stream).await.map_err(text)?;
            converse(stream, request, max_bytes).await
        } else {
            converse(stream, request, max_bytes).await
        }
    }
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    max_bytes: usize,
) -> Result<Response<Bytes>, String> {
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(text)?;
    let exchange = async {
        let (parts, body) = sender
            .send_request(request)
            .await
            .map_err(text)?
            .into_parts();
        let body = Limited::new(body, max_bytes).collect().await;
        Ok(Response::from_parts(parts, body.map_err(text)?.to_bytes()))
    };
    // The connection ends with the exchange, also when that is cancelled.
    let (mut exchange, connection) = (pin!(exchange), pin!(connection));
    tokio::select! {
        biased;
        reply = &mut exchange => reply,
        ended = connection => match ended {
            // The server closes its connections, and the rest of the response is here.
            Ok(()) => exchange.await,
            Err(error) => Err(text(error)),
        },
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
