//! The client of a request: its address, the host name that it used, and whether it used HTTPS.
//!
//! Determined once per request ([`identify`]); rate limits, logs, cookies and origin checks use the
//! result. Forwarding headers (`X-Forwarded-For`, `-Host`, `-Proto`) count only if the connection
//! comes from a trusted proxy, because any client can send them.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::header::{CACHE_CONTROL, HOST, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use ipnet::IpNet;

use crate::request_record::RequestRecord;
use crate::server::Peer;
use crate::{AppState, SettingsInEffect};

const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_HOST: &str = "x-forwarded-host";
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// One year, the usual minimum.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");
const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The client of a request. Handlers take it as an argument.
#[derive(Debug, Clone, Default)]
pub(crate) struct Client {
    address: Option<IpAddr>,
    forwarded_host: Option<HeaderValue>,
    is_https: bool,
    /// What the server learns about the request. Here, because each extension of a request costs.
    record: Arc<RequestRecord>,
}

impl Client {
    fn new(peer: Peer, headers: &HeaderMap, trusted_proxies: &[IpNet]) -> Self {
        let is_trusted =
            |address: IpAddr| trusted_proxies.iter().any(|proxy| proxy.contains(&address));
        let direct = Self {
            address: peer.address(),
            forwarded_host: None,
            is_https: peer.is_tls(),
            record: Arc::default(),
        };
        let Some(proxy) = direct.address.filter(|address| is_trusted(*address)) else {
            return direct;
        };
        let protocol = last_value(headers, FORWARDED_PROTO);
        Self {
            address: Some(forwarded_address(headers, proxy, is_trusted)),
            forwarded_host: last_value(headers, FORWARDED_HOST)
                .and_then(|host| HeaderValue::from_str(host).ok()),
            is_https: protocol.map_or(direct.is_https, |protocol| {
                protocol.eq_ignore_ascii_case("https")
            }),
            record: direct.record,
        }
    }

    /// What the server learns about the request of this client.
    pub(crate) fn record(&self) -> &RequestRecord {
        &self.record
    }

    /// The client of a request that is being handled.
    pub(crate) fn of(parts: &Parts) -> Self {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    /// `None` only if the connection was lost before its address was read.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(crate) fn is_https(&self) -> bool {
        self.is_https
    }

    /// The host name and port that the client used; an unreadable one is empty.
    pub(crate) fn host<'h>(&'h self, headers: &'h HeaderMap) -> Option<&'h str> {
        let host = self.forwarded_host.as_ref().or_else(|| headers.get(HOST));
        host.map(|host| host.to_str().unwrap_or_default())
    }
}

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// Determines the client of a request, limits its rate, and adds the headers of every response.
pub(crate) async fn identify<F>(
    state: &AppState,
    in_effect: &SettingsInEffect,
    mut request: Request,
    record: Arc<RequestRecord>,
    answer: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let peer = request.extensions().get().copied().unwrap_or_default();
    let client = Client::new(peer, request.headers(), &in_effect.settings.trusted_proxies);
    let client = Client { record, ..client };
    let is_https = client.is_https();
    let path = request.uri().path();
    let admitted = in_effect
        .rate_limits
        .check_address(&client, path, state.catalog());
    let mut response = match admitted {
        Ok(()) => {
            request.extensions_mut().insert(client);
            answer(request).await
        }
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, NO_SNIFF);
    // The files of the web page have their own rules.
    headers.entry(CACHE_CONTROL).or_insert(NO_STORE);
    if is_https {
        headers.insert(STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

/// The rightmost address that is not a trusted proxy: each proxy appends the address of its client,
/// so everything to the left of that may be forged. Stops at an entry that is not an address.
fn forwarded_address(
    headers: &HeaderMap,
    proxy: IpAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> IpAddr {
    let mut nearest = proxy;
    let lines = headers.get_all(FORWARDED_FOR).iter().rev();
    let entries = lines.flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
    for entry in entries {
        let Some(address) = parse_address(entry.trim()) else {
            return nearest;
        };
        nearest = address;
        if !is_trusted(address) {
            return nearest;
        }
    }
    nearest
}

/// An address, with or without a port; some proxies append one.
fn parse_address(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse().ok();
    let address = address.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip()))?;
    Some(address.to_canonical())
}

/// The last value of a list: the one that the nearest proxy added.
fn last_value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let line = headers.get_all(name).iter().next_back()?;
    let value = line.to_str().ok()?.rsplit(',').next()?.trim();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, headers: &[(&'static str, &str)]) -> Client {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let trusted = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
        Client::new(Peer::at(peer.parse().unwrap()), &map, &trusted)
    }

    #[test]
    fn the_client_is_the_rightmost_address_that_is_not_a_trusted_proxy() {
        let one = |forwarded| vec![(FORWARDED_FOR, forwarded)];
        for (peer, headers, expected) in [
            ("192.0.2.1", one("198.51.100.7"), "192.0.2.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", one("198.51.100.7"), "198.51.100.7"),
            ("::ffff:10.0.0.1", one("198.51.100.7"), "198.51.100.7"),
            ("::1", one("198.51.100.7"), "198.51.100.7"),
            ("10.0.0.1", one("203.0.113.9, 198.51.100.7"), "198.51.100.7"),
            ("10.0.0.1", one("198.51.100.7,10.2.3.4"), "198.51.100.7"),
            ("10.0.0.1", one("10.2.3.4 , 10.2.3.5"), "10.2.3.4"),
            ("10.0.0.1", one("198.51.100.7:4711"), "198.51.100.7"),
            ("10.0.0.1", one("[2001:db8::1]:4711"), "2001:db8::1"),
            ("10.0.0.1", one("[2001:db8::1]"), "2001:db8::1"),
            ("10.0.0.1", one("198.51.100.7, unknown"), "10.0.0.1"),
            ("10.0.0.1", one("198.51.100.7, "), "10.0.0.1"),
            (
                "10.0.0.1",
                vec![
                    (FORWARDED_FOR, "203.0.113.9"),
                    (FORWARDED_FOR, "198.51.100.7"),
                ],
                "198.51.100.7",
            ),
        ] {
            let found = client(peer, &headers).address();
            assert_eq!(found, expected.parse().ok(), "{peer} {headers:?}");
        }
    }

    #[test]
    fn host_and_protocol_are_forwarded_by_trusted_proxies_only() {
        let headers = [
            (FORWARDED_HOST, "forged.example, catalog.example"),
            (FORWARDED_PROTO, "http, HTTPS"),
        ];
        let mut host = HeaderMap::new();
        host.insert(HOST, HeaderValue::from_static("docent:8080"));
        let proxied = client("10.0.0.1", &headers);
        assert_eq!(proxied.host(&host), Some("catalog.example"));
        assert!(proxied.is_https());
        let direct = client("192.0.2.1", &headers);
        assert_eq!(direct.host(&host), Some("docent:8080"));
        assert!(!direct.is_https());
        assert!(!client("10.0.0.1", &[(FORWARDED_PROTO, "https, http")]).is_https());
        assert!(!client("10.0.0.1", &[]).is_https());
    }

    #[test]
    fn a_tls_connection_is_https_unless_a_trusted_proxy_says_otherwise() {
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        let over_tls = |peer: &str, headers: &HeaderMap| {
            let peer = Peer::at(peer.parse().unwrap()).over_tls();
            Client::new(peer, headers, &trusted).is_https()
        };
        let mut headers = HeaderMap::new();
        assert!(over_tls("10.0.0.1", &headers));
        headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
        assert!(over_tls("192.0.2.1", &headers));
        assert!(!over_tls("10.0.0.1", &headers));
    }
}
