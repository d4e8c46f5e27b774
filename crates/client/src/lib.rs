//! HTTP requests to other servers: identity providers, receivers of webhooks, buckets, a collector
//! of traces, and for commands a running Docent.
//!
//! They are few and small, so each has its own connection. Every request is limited in time, and
//! every response in size. Redirects are not followed, because a redirected secret would reach
//! another host.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use http::{Request, Response, StatusCode, Uri, request};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, InvalidMessage, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How long a request may take, and how many bytes the body of its response may have; 0 does not
/// read it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub timeout: Duration,
    pub response_bytes: usize,
}

const DEFAULT_LIMITS: Limits = Limits {
    timeout: Duration::from_secs(10),
    response_bytes: 1024 * 1024,
};
/// How many addresses of a host are tried.
const MAX_ADDRESSES: usize = 8;
const JSON: &str = "application/json";
const AGENT: &str = concat!("docent/", env!("CARGO_PKG_VERSION"));

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    #[error(
        "its certificate is not trusted ({0}): name a file with the certificate of its authority in the variable \
         SSL_CERT_FILE"
    )]
    NotTrusted(rustls::Error),
    #[error("its certificate is not valid: {0}")]
    InvalidCertificate(rustls::Error),
    #[error("this port does not use TLS: use http://")]
    NoTls,
    #[error("did not answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    #[error("is at {0}, and that address is not allowed")]
    Refused(IpAddr),
    #[error("returned {0} without JSON")]
    NoJson(StatusCode),
}

/// Whether to connect to an address.
pub type AddressCheck<'c> = dyn Fn(IpAddr) -> bool + Send + Sync + 'c;

#[derive(Clone, Default)]
pub struct HttpClient {
    /// Made when it is first needed: reading the authorities takes longer than the rest of a start.
    tls: Arc<OnceLock<TlsConnector>>,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("HttpClient")
    }
}

impl HttpClient {
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
        let exchange = Box::pin(self.exchange(request, limits.response_bytes, None));
        within(limits.timeout, exchange).await
    }

    /// [`Self::send_within`] to a server that somebody else has chosen: connects only to addresses
    /// that the check allows. What is checked is what is connected to: a name is resolved once.
    pub async fn send_checked(
        &self,
        request: Request<Bytes>,
        limits: Limits,
        check: &AddressCheck<'_>,
    ) -> Result<Response<Bytes>, ClientError> {
        let exchange = Box::pin(self.exchange(request, limits.response_bytes, Some(check)));
        within(limits.timeout, exchange).await
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
        let request = request.map_err(unreachable)?;
        let response = self.send_within(request, limits).await?;
        let status = response.status();
        let body = serde_json::from_slice(response.body());
        Ok((status, body.map_err(|_| ClientError::NoJson(status))?))
    }

    async fn exchange(
        &self,
        request: Request<Bytes>,
        max_bytes: usize,
        check: Option<&AddressCheck<'_>>,
    ) -> Result<Response<Bytes>, ClientError> {
        let (mut parts, body) = request.into_parts();
        let uri = std::mem::take(&mut parts.uri);
        let failed = |reason: &str| ClientError::Unreachable(reason.to_owned());
        let authority = uri.authority().ok_or_else(|| failed("it has no host"))?;
        let is_tls = uri.scheme_str() == Some("https");
        let port = authority
            .port_u16()
            .unwrap_or(if is_tls { 443 } else { 80 });
        let host = authority.host().trim_matches(['[', ']']);
        // The rest of the authority may be a user with a password.
        let name = authority.as_str();
        let name = name.rsplit_once('@').map_or(name, |(_, name)| name);
        let headers = &mut parts.headers;
        headers.insert(HOST, HeaderValue::from_str(name).map_err(unreachable)?);
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        parts.uri = target.parse::<Uri>().map_err(unreachable)?;
        let request = Request::from_parts(parts, Full::new(body));
        let stream = connect(host, port, check).await?;
        if is_tls {
            let name = ServerName::try_from(host.to_owned()).map_err(unreachable)?;
            let connecting = self.tls()?.connect(name, stream);
            let stream = connecting.await.map_err(tls_error)?;
            converse(stream, request, max_bytes).await
        } else {
            converse(stream, request, max_bytes).await
        }
    }

    /// Trusts the certificate authorities of the system, or those in `SSL_CERT_FILE`.
    fn tls(&self) -> Result<&TlsConnector, ClientError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unreachable)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(self
            .tls
            .get_or_init(|| TlsConnector::from(Arc::new(config))))
    }
}

async fn within(
    timeout: Duration,
    exchange: impl Future<Output = Result<Response<Bytes>, ClientError>>,
) -> Result<Response<Bytes>, ClientError> {
    match tokio::time::timeout(timeout, exchange).await {
        Ok(exchanged) => exchanged,
        Err(_) => Err(ClientError::Timeout(timeout)),
    }
}

/// Connects to the first address of a host that answers, and that the check allows.
async fn connect(
    host: &str,
    port: u16,
    check: Option<&AddressCheck<'_>>,
) -> Result<TcpStream, ClientError> {
    let found = tokio::net::lookup_host((host, port)).await;
    let mut failure = ClientError::Unreachable("the host has no address".to_owned());
    for address in found.map_err(unreachable)?.take(MAX_ADDRESSES) {
        if check.is_some_and(|is_allowed| !is_allowed(address.ip())) {
            failure = ClientError::Refused(address.ip());
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = unreachable(error),
        }
    }
    Err(failure)
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
    max_bytes: usize,
) -> Result<Response<Bytes>, ClientError> {
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.map_err(unreachable)?;
    let exchange = async {
        let (parts, body) = sender
            .send_request(request)
            .await
            .map_err(unreachable)?
            .into_parts();
        if max_bytes == 0 {
            return Ok(Response::from_parts(parts, Bytes::new()));
        }
        let body = Limited::new(body, max_bytes).collect().await;
        Ok(Response::from_parts(
            parts,
            body.map_err(unreachable)?.to_bytes(),
        ))
    };
    // The connection ends with the exchange, also when that is cancelled.
    let (mut exchange, connection) = (pin!(exchange), pin!(connection));
    tokio::select! {
        biased;
        reply = &mut exchange => reply,
        ended = connection => match ended {
            // The server closes its connections, and the rest of the response is here.
            Ok(()) => exchange.await,
            Err(error) => Err(unreachable(error)),
        },
    }
}

/// Tells the errors apart that another setting of the client or the server corrects.
fn tls_error(error: std::io::Error) -> ClientError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match tls {
        Some(error @ rustls::Error::InvalidCertificate(reason)) => match reason {
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::Other(_) => ClientError::NotTrusted(error.clone()),
            _ => ClientError::InvalidCertificate(error.clone()),
        },
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            ClientError::NoTls
        }
        _ => unreachable(error),
    }
}

fn unreachable(error: impl std::fmt::Display) -> ClientError {
    ClientError::Unreachable(error.to_string())
}
