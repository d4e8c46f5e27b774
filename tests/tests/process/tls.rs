//! HTTPS: settings, renewal of the certificate, startup errors.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server, temporary_directory};
use rcgen::CertifiedKey;
use rustix::process::Signal;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::{TIMEOUT, serve};

type Generated = CertifiedKey<rcgen::KeyPair>;

/// Writes a new certificate and its key. The files are replaced at once, as renewal tools do.
fn write_certificate(directory: &Path) -> anyhow::Result<Generated> {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    for (name, text) in [
        ("chain.pem", generated.cert.pem()),
        ("key.pem", generated.signing_key.serialize_pem()),
    ] {
        let next = directory.join(format!("{name}.next"));
        fs::write(&next, text)?;
        fs::rename(next, directory.join(name))?;
    }
    Ok(generated)
}

/// Requests a path over TLS, as a client that trusts one certificate.
fn get(server: &Server, trusted: &Generated, path: &str) -> anyhow::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.cert.der().clone())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost")?;
    let address = server.address().strip_prefix("https://");
    let stream = TcpStream::connect(address.context("not HTTPS")?)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let connection = ClientConnection::new(Arc::new(config), name)?;
    let mut stream = StreamOwned::new(connection, stream);
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

#[test]
fn the_server_uses_a_renewed_certificate_without_a_restart() -> anyhow::Result<()> {
    let files = temporary_directory()?;
    let old = write_certificate(files.path())?;
    let server = Server::start(
        Options::default()
            .variable("DOCENT_TLS_CERT", files.path().join("chain.pem"))
            .argument("--tls-key")
            .argument(files.path().join("key.pem")),
    )?;
    let response = get(&server, &old, "/health")?.to_ascii_lowercase();
    ensure!(response.starts_with("http/1.1 200"), "{response}");
    ensure!(
        response.contains("strict-transport-security: max-age="),
        "{response}"
    );
    fs::write(files.path().join("chain.pem"), "half a file")?;
    server.logged_line("the server keeps its certificate")?;
    get(&server, &old, "/health").context("the old certificate is gone")?;
    let new = write_certificate(files.path())?;
    let deadline = Instant::now() + TIMEOUT;
    while get(&server, &new, "/health").is_err() {
        ensure!(Instant::now() < deadline, "the new certificate is not used");
    }
    ensure!(get(&server, &old, "/health").is_err());
    Ok(())
}

#[test]
fn commands_say_which_side_of_a_connection_is_wrong() -> anyhow::Result<()> {
    let files = temporary_directory()?;
    write_certificate(files.path())?;
    let mut options = Options::default();
    for (flag, name) in [("--tls-cert", "chain.pem"), ("--tls-key", "key.pem")] {
        options = options.argument(flag).argument(files.path().join(name));
    }
    let server = Server::start(options)?;
    let plain = Server::start(Options::default())?;
    let empty = files.path().join("token").display().to_string();
    fs::write(&empty, "\n")?;
    let address = server.address().to_owned();
    let port = address.rsplit(':').next().unwrap_or_default();
    let https = format!("https://localhost:{port}");
    let to_tls = format!("http://localhost:{port}");
    let to_plain = plain.address().replace("http://", "https://");
    for (arguments, expected) in [
        (vec!["status", &https], "the variable SSL_CERT_FILE"),
        (
            vec!["webhook", "list", "--server", &https],
            "the variable SSL_CERT_FILE",
        ),
        (
            vec!["rollback", "a-run", "--server", &https],
            "the variable SSL_CERT_FILE",
        ),
        (
            vec!["status", &to_tls],
            "This port uses TLS: send the request to https://.",
        ),
        (
            vec!["webhook", "list", "--server", &to_tls],
            "This port uses TLS",
        ),
        (
            vec!["status", &to_plain],
            "this port does not use TLS: use http://",
        ),
        (
            vec!["status", plain.address(), "--token-file", &empty],
            "token is empty: write a token",
        ),
    ] {
        let error = CommandOutput::run(&mut server.docent(&arguments)?)?.failed()?;
        ensure!(error.contains(expected), "{arguments:?}: {error}");
        ensure!(
            !error.contains("is 'docent serve' running"),
            "{arguments:?}: {error}"
        );
    }
    Ok(())
}

#[test]
fn a_reload_with_an_invalid_certificate_changes_nothing() -> anyhow::Result<()> {
    let files = temporary_directory()?;
    let certificate = write_certificate(files.path())?;
    let config = files.path().join("docent.toml");
    let settings = |rate: &str| {
        let directory = files.path().display();
        fs::write(
            &config,
            format!(
                "tls-cert = '{directory}/chain.pem'\ntls-key = '{directory}/key.pem'\naddress-rate-limit = '{rate}'\n"
            ),
        )
    };
    settings("1000/s")?;
    let server = Server::start(Options::default().argument("--config").argument(&config))?;
    let valid = fs::read(files.path().join("chain.pem"))?;
    settings("1/h")?;
    fs::write(files.path().join("chain.pem"), "half a file")?;
    server.signal(Signal::HUP)?;
    let line = server.logged_line("the settings were not reloaded")?;
    ensure!(line.contains("chain.pem"), "{line}");
    for _ in 0..3 {
        let response = get(&server, &certificate, "/config")?;
        ensure!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    fs::write(files.path().join("chain.pem"), valid)?;
    server.signal(Signal::HUP)?;
    let line = server.logged_line("reloaded the settings: ")?;
    ensure!(line.ends_with("address-rate-limit changed"), "{line}");
    Ok(())
}

#[test]
fn unusable_certificates_are_startup_errors() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    write_certificate(directory.path())?;
    fs::write(directory.path().join("empty.pem"), "")?;
    for (arguments, says) in [
        (&["--tls-cert", "chain.pem"][..], "--tls-key"),
        (&["--tls-key", "key.pem"], "--tls-cert"),
        (
            &["--tls-cert", "missing.pem", "--tls-key", "key.pem"],
            "missing.pem",
        ),
        (
            &["--tls-cert", "empty.pem", "--tls-key", "key.pem"],
            "no certificate",
        ),
        (
            &["--tls-cert", "chain.pem", "--tls-key", "chain.pem"],
            "no private key",
        ),
    ] {
        let arguments = [&["--listen", "127.0.0.1:0"], arguments].concat();
        let error = serve(directory.path(), &arguments)?.failed()?;
        ensure!(error.contains(says), "{arguments:?}: {error}");
    }
    ensure!(!directory.path().join("docent.db").exists());
    Ok(())
}
