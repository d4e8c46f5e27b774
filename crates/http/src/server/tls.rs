//! TLS: the certificate of the server, its renewal, and handshakes.
//!
//! The files are reread periodically and compared by content, because tools that renew certificates
//! replace them in many ways. Files that cannot be used change nothing: the server keeps the
//! certificate that it has, and logs why.

#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::handshakes::Handshakes;

/// From the connection to the end of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Handshakes in progress, of all clients and of one address. Further connections wait, within the
/// timeout.
const MAX_HANDSHAKES: usize = 512;
const MAX_ADDRESS_HANDSHAKES: usize = 64;
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Certificates and keys are a few kilobytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The certificate that the server presents.
#[derive(Debug)]
pub struct Certificate {
    chain_file: PathBuf,
    key_file: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
    /// The hash of the contents that were read last, usable or not.
    seen: Mutex<u64>,
    hasher: RandomState,
    handshakes: Handshakes,
    handshake_timeout: Duration,
}

/// A certificate that was read and can be used.
#[derive(Debug)]
pub struct ReadCertificate {
    config: ServerConfig,
    hash: u64,
}

/// Why the files cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct CertificateError(String);

impl fmt::Display for CertificateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for CertificateError {}

impl Certificate {
    /// Reads a certificate chain and its private key, both in PEM form.
    pub fn load(chain_file: &Path, key_file: &Path) -> Result<Self, CertificateError> {
        let hasher = RandomState::new();
        let contents = Contents::read(chain_file, key_file)?;
        let config = contents.parse(chain_file, key_file)?;
        Ok(Self {
            chain_file: chain_file.to_owned(),
            key_file: key_file.to_owned(),
            current: RwLock::new(Arc::new(config)),
            seen: Mutex::new(hasher.hash_one(&contents)),
            hasher,
            handshakes: Handshakes::new(MAX_HANDSHAKES, MAX_ADDRESS_HANDSHAKES),
            handshake_timeout: HANDSHAKE_TIMEOUT,
        })
    }

    /// Rereads the files periodically, forever.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            let certificate = Arc::clone(&self);
            // Fails only during shutdown.
            let _ = tokio::task::spawn_blocking(move || certificate.reload()).await;
        }
    }

    /// Rereads the files. New connections use the certificate from here on. Returns whether it has
    /// changed.
    pub fn reload(&self) -> bool {
        let contents = match Contents::read(&self.chain_file, &self.key_file) {
            Ok(contents) => contents,
            Err(error) => {
                // Missing for a moment while they are replaced; logged once.
                if self.is_new(0) {
                    tracing::warn!("{error}; the server keeps its certificate");
                }
                return false;
            }
        };
        if !self.is_new(self.hasher.hash_one(&contents)) {
            return false;
        }
        match contents.parse(&self.chain_file, &self.key_file) {
            Ok(config) => {
                self.set_current(config);
                true
            }
            Err(error) => {
                tracing::warn!("{error}; the server keeps its certificate");
                false
            }
        }
    }

    /// Reads the files without using them yet.
    pub fn read(&self) -> Result<ReadCertificate, CertificateError> {
        let contents = Contents::read(&self.chain_file, &self.key_file)?;
        Ok(ReadCertificate {
            config: contents.parse(&self.chain_file, &self.key_file)?,
            hash: self.hasher.hash_one(&contents),
        })
    }

    /// New connections use this certificate from here on.
    pub fn replace(&self, read: ReadCertificate) {
        if self.is_new(read.hash) {
            self.set_current(read.config);
        }
    }

    fn set_current(&self, config: ServerConfig) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(config);
        tracing::info!("using the new certificate in {}", self.chain_file.display());
    }

    fn current(&self) -> Arc<ServerConfig> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }

    fn is_new(&self, hash: u64) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *seen, hash) != hash
    }

    /// Completes the handshake of a connection; `None` if it fails or takes too long. The address
    /// is the one that the connection counts for, if any.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        address: Option<IpAddr>,
    ) -> Option<TlsStream<TcpStream>> {
        let handshake = async {
            // Before the handshake begins: a client that sends nothing must not delay others.
            if is_plain_http(&stream).await? {
                reject_plain_http(&stream).await?;
                return Err(io::Error::other("the client does not use TLS"));
            }
            let _begun = self.handshakes.begin(address).await;
            TlsAcceptor::from(self.current()).accept(stream).await
        };
        match tokio::time::timeout(self.handshake_timeout, handshake).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, "TLS handshake failed: {error}");
                None
            }
            Err(_) => {
                tracing::debug!("TLS handshake timed out");
                None
            }
        }
    }
}

/// The contents of the two files.
#[derive(Hash)]
struct Contents {
    chain: Vec<u8>,
    key: Vec<u8>,
}

impl Contents {
    fn read(chain_file: &Path, key_file: &Path) -> Result<Self, CertificateError> {
        Ok(Self {
            chain: read(chain_file, "certificate")?,
            key: read(key_file, "key")?,
        })
    }

    fn parse(&self, chain_file: &Path, key_file: &Path) -> Result<ServerConfig, CertificateError> {
        let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(&self.chain)
            .collect::<Result<_, _>>()
            .map_err(|error| invalid(chain_file, &error))?;
        if chain.is_empty() {
            return Err(CertificateError(format!(
                "the file {} contains no certificate: it must have the form PEM, with 'BEGIN CERTIFICATE'",
                chain_file.display()
            )));
        }
        let chain = chain.into_iter().map(CertificateDer::into_owned).collect();
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| {
            CertificateError(format!(
                "the file {} contains no private key: it must have the form PEM, with 'BEGIN PRIVATE KEY', and no \
                 passphrase",
                key_file.display()
            ))
        })?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => CertificateError(format!(
                    "the key in {} does not belong to the certificate in {}",
                    key_file.display(),
                    chain_file.display()
                )),
                error => invalid(chain_file, &error),
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn invalid(file: &Path, error: &dyn fmt::Display) -> CertificateError {
    CertificateError(format!(
        "the certificate in {} is invalid: {error}",
        file.display()
    ))
}

fn read(file: &Path, what: &str) -> Result<Vec<u8>, CertificateError> {
    let failed = |error: io::Error| {
        CertificateError(format!(
            "cannot read the {what} file {}: {error}",
            file.display()
        ))
    };
    if std::fs::metadata(file).map_err(failed)?.len() > MAX_FILE_BYTES {
        return Err(failed(io::Error::other("the file is too large")));
    }
    std::fs::read(file).map_err(failed)
}

/// Whether a connection starts with a letter, like a request without TLS. A handshake starts with
/// the byte 22.
async fn is_plain_http(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let count = stream.peek(&mut first).await?;
    Ok(count == 1 && first[0].is_ascii_uppercase())
}

/// Answers a request without TLS, so that its sender learns what is wrong.
async fn reject_plain_http(stream: &TcpStream) -> io::Result<()> {
    const BODY: &str = r#"{"status":400,"error":"Bad Request","message":"This port uses TLS: send the request to https://."}"#;
    // Unread data would reset the connection before the response arrives.
    let mut request = vec![0; 16 * 1024];
    stream.readable().await?;
    let _ = stream.try_read(&mut request);
    let response = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.writable().await?;
    stream.try_write(response.as_bytes())?;
    Ok(())
}
