//! Addresses, networks, and the files for HTTPS.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ipnet::IpNet;

/// A network, or a single address.
pub(super) fn parse_network(text: &str) -> Result<IpNet> {
    let network = text.parse().ok();
    network
        .or_else(|| Some(IpNet::from(text.parse::<IpAddr>().ok()?)))
        .with_context(|| {
            format!("'{text}' is not a network: use for example 10.0.0.0/8 or 192.0.2.1")
        })
}

/// A host name without a port.
pub(super) fn parse_host(name: String) -> Result<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_part) {
        bail!("'{name}' is not a host name: use for example docent.example.com, without a port");
    }
    Ok(name)
}

/// Accepts host names, such as `localhost:8080`, as well as addresses.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr> {
    use std::net::ToSocketAddrs;
    text.to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .with_context(|| {
            format!("'{text}' is not an address to listen on: use for example 127.0.0.1:8080")
        })
}

/// The files for HTTPS.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl TlsFiles {
    pub(super) fn resolve(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Result<Option<Self>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                bail!("--tls-cert needs --tls-key, the private key of the certificate")
            }
            (None, Some(_)) => bail!("--tls-key needs --tls-cert, the certificate of the key"),
        }
    }
}
