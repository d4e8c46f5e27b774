//! Handshakes with real certificates, made here.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use rcgen::CertifiedKey;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::tests::NotifyOnDrop;
use super::super::{
    ConnectionLimits, Connections, Peer, READING_PACE, ReadingPace, SHUTDOWN_TIMEOUTS, Server,
    serve,
};
use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// A certificate for `localhost`, with its key.
fn generated() -> CertifiedKey<rcgen::KeyPair> {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

struct Files {
    directory: TempDir,
}

impl Files {
    fn with(generated: &CertifiedKey<rcgen::KeyPair>) -> Self {
        let files = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        files.write_chain(&generated.cert.pem());
        files.write_key(&generated.signing_key.serialize_pem());
        files
    }

    fn chain(&self) -> PathBuf {
        self.directory.path().join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("key.pem")
    }

    fn write_chain(&self, text: &str) {
        fs::write(self.chain(), text).unwrap();
    }

    fn write_key(&self, text: &str) {
        fs::write(self.key(), text).unwrap();
    }

    fn load(&self) -> Result<Certificate, CertificateError> {
        Certificate::load(&self.chain(), &self.key())
    }
}

/// Serves whether a connection uses TLS. Returns the port.
async fn start(certificate: &Arc<Certificate>) -> u16 {
    let handler =
        |Extension(peer): Extension<Peer>| async move { format!("TLS: {}", peer.is_tls()) };
    let router = Router::new().route("/", get(handler));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = Arc::clone(certificate);
    tokio::spawn(serve(
        listener,
        Connections::new(ConnectionLimits::default()),
        Some(certificate),
        router,
        std::future::pending(),
    ));
    port
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// A handshake of a client that trusts these certificates.
async fn handshake(
    port: u16,
    trusted: &[&CertifiedKey<rcgen::KeyPair>],
) -> io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for generated in trusted {
        roots.add(generated.cert.der().clone()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, connect(port).await).await
}

async fn response(mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) -> String {
    stream.write_all(REQUEST).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

fn presented(stream: &TlsStream<TcpStream>) -> CertificateDer<'static> {
    let chain = stream.get_ref().1.peer_certificates().unwrap();
    chain[0].clone().into_owned()
}

#[tokio::test]
async fn requests_over_tls_are_answered() {
    let generated = generated();
    let certificate = Arc::new(Files::with(&generated).load().unwrap());
    let port = start(&certificate).await;
    let stream = handshake(port, &[&generated]).await.unwrap();
    let text = response(stream).await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(text.ends_with("TLS: true"), "{text}");
    handshake(port, &[]).await.unwrap_err();
}

#[tokio::test]
async fn requests_without_tls_are_told_to_use_it() {
    let certificate = Arc::new(Files::with(&generated()).load().unwrap());
    let port = start(&certificate).await;
    let text = response(connect(port).await).await;
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    assert!(text.contains("https://"), "{text}");
}

#[tokio::test]
async fn new_connections_use_a_replaced_certificate_if_it_is_valid() {
    let (old, new) = (generated(), generated());
    let files = Files::with(&old);
    let certificate = Arc::new(files.load().unwrap());
    let port = start(&certificate).await;
    let current = async || presented(&handshake(port, &[&old, &new]).await.unwrap());
    let open = handshake(port, &[&old]).await.unwrap();
    assert!(!certificate.reload(), "nothing has changed");

    // The files are replaced one after the other.
    files.write_chain(&new.cert.pem());
    assert!(!certificate.reload(), "the key is that of the old one");
    assert_eq!(current().await, *old.cert.der());
    files.write_key(&new.signing_key.serialize_pem());
    assert!(certificate.reload());
    assert_eq!(current().await, *new.cert.der());
    let text = response(open).await;
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");

    files.write_chain("garbage");
    assert!(!certificate.reload());
    fs::remove_file(files.key()).unwrap();
    assert!(!certificate.reload());
    assert_eq!(current().await, *new.cert.der());
    files.write_chain(&old.cert.pem());
    files.write_key(&old.signing_key.serialize_pem());
    assert!(certificate.reload());
    assert_eq!(current().await, *old.cert.der());
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_handshake_is_disconnected() {
    let mut certificate = Files::with(&generated()).load().unwrap();
    certificate.handshake_timeout = Duration::from_millis(50);
    certificate.handshakes = Handshakes::new(1, 1);
    let port = start(&Arc::new(certificate)).await;
    // The second one waits for the first, within its own timeout.
    for start in [&b""[..], b"\x16\x03\x01"] {
        let (mut first, mut second) = (connect(port).await, connect(port).await);
        for stream in [&mut first, &mut second] {
            stream.write_all(start).await.unwrap();
        }
        for mut stream in [first, second] {
            // Closed, or reset because of the unread bytes.
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{rest:?}");
        }
    }
}

#[tokio::test]
async fn clients_that_send_nothing_delay_no_handshake() {
    let generated = generated();
    let mut certificate = Files::with(&generated).load().unwrap();
    certificate.handshakes = Handshakes::new(1, 1);
    certificate.handshake_timeout = Duration::from_mins(1);
    let port = start(&Arc::new(certificate)).await;
    let _silent = [connect(port).await, connect(port).await];
    let trusted = [&generated];
    let shaken = handshake(port, &trusted);
    let shaken = tokio::time::timeout(Duration::from_secs(20), shaken).await;
    shaken.expect("the handshake waits").unwrap();
}

#[tokio::test]
async fn a_reader_that_never_reads_over_tls_loses_its_connection() {
    let generated = generated();
    let certificate = Files::with(&generated).load().unwrap();
    let ended = Arc::new(Notify::new());
    let handler = {
        let ended = Arc::clone(&ended);
        // More than the kernel buffers, and dropped with the connection.
        move || async move {
            Bytes::from_owner(LongReply {
                bytes: vec![b'x'; 64 * 1024 * 1024],
                _ended: NotifyOnDrop(ended),
            })
        }
    };
    let router = Router::new().route("/", get(handler));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server {
        timeouts: SHUTDOWN_TIMEOUTS,
        pace: ReadingPace {
            window: Duration::from_millis(50),
            ..READING_PACE
        },
        connections: Connections::new(ConnectionLimits::default()),
        certificate: Some(Arc::new(certificate)),
    };
    let server = tokio::spawn(server.serve(listener, router, std::future::pending()));
    let mut stream = handshake(port, &[&generated]).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let closed = tokio::time::timeout(Duration::from_secs(20), ended.notified()).await;
    assert!(closed.is_ok(), "the response still waits");
    server.abort();
}

struct LongReply {
    bytes: Vec<u8>,
    _ended: NotifyOnDrop,
}

impl AsRef<[u8]> for LongReply {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[test]
fn unusable_files_are_explained() {
    let (generated, other) = (generated(), generated());
    let certificate = generated.cert.pem();
    let key = generated.signing_key.serialize_pem();
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (chain, key, says) in [
        ("", key.as_str(), "contains no certificate"),
        (&key, &key, "contains no certificate"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            &key,
            "is invalid",
        ),
        (&certificate, "", "contains no private key"),
        (&certificate, encrypted, "no passphrase"),
        (
            &certificate,
            &other.signing_key.serialize_pem(),
            "does not belong to",
        ),
    ] {
        let files = Files::with(&generated);
        files.write_chain(chain);
        files.write_key(key);
        let error = files.load().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(error.contains(".pem"), "{error}");
    }
    let missing = Certificate::load(Path::new("missing.pem"), Path::new("key.pem"));
    let error = missing.unwrap_err().to_string();
    assert!(
        error.contains("cannot read the certificate file missing.pem"),
        "{error}"
    );
}
