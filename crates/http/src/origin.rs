//! Rejects cross-site requests (CSRF).
//!
//! A browser attaches cookies to requests of any site's page, and with authentication off no cookie
//! is needed. So a request that may change something, and is authenticated by a cookie or not at
//! all, must not come from another site. Browsers send `Sec-Fetch-Site` or `Origin`, which pages
//! cannot forge; programs send neither. A request without both headers is accepted unless its
//! content type is that of a form, because pages of other sites can always submit forms.
//!
//! Requests with an `Authorization` header are exempt: browsers never add it on their own.
//!
//! DNS rebinding: a site can make its own host name resolve to this machine, and the browser then
//! treats our responses as same-origin. Cookies are bound to the host name, but with authentication
//! off only the `Host` header is left to check ([`check_host`]).

use std::net::IpAddr;

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};

use crate::error::ErrorResponse;
use crate::server::Peer;

const SITE: &str = "sec-fetch-site";
const FORWARDED_HOST: &str = "x-forwarded-host";

/// The content types of forms.
const FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// Rejects cross-site requests with a method that may change something.
pub(crate) fn check(parts: &Parts) -> Result<(), ErrorResponse> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method) {
        return Ok(());
    }
    check_headers(&parts.headers)
}

/// Rejects cross-site requests, whatever their method.
pub(crate) fn check_headers(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    if let Some(site) = text(SITE) {
        // `none` means that the user navigated directly: an address or a bookmark.
        return allow_if(site == "same-origin" || site == "none");
    }
    if let Some(origin) = text(ORIGIN.as_str()) {
        let host = origin.split_once("://").map(|(_, host)| host);
        let own = [text(FORWARDED_HOST), text(HOST.as_str())];
        return allow_if(host.is_some() && own.contains(&host));
    }
    if let Some(kind) = form(headers) {
        return Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            format!(
                "Requests without a token must not have the content type of a form ({kind}). \
                 Send the header 'Content-Type: application/json'."
            ),
        ));
    }
    Ok(())
}

/// The content type of the request, if it is one that forms have.
pub(crate) fn form(headers: &HeaderMap) -> Option<&str> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let is_form = FORMS.iter().any(|form| form.eq_ignore_ascii_case(kind));
    is_form.then_some(kind)
}

fn allow_if(same_origin: bool) -> Result<(), ErrorResponse> {
    if same_origin {
        return Ok(());
    }
    Err(ErrorResponse::new(
        StatusCode::FORBIDDEN,
        "Cross-site requests are not allowed. \
         Programs send a token in the header 'Authorization' instead.",
    ))
}

/// Rejects requests from this machine with a `Host` that is not local. Clients on other machines
/// may use any name of the server.
pub(crate) fn check_host(parts: &Parts) -> Result<(), ErrorResponse> {
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.and_then(|peer| peer.address());
    let Some(host) = parts.headers.get(HOST) else {
        return Ok(());
    };
    let host = host.to_str().unwrap_or_default();
    if !peer.is_some_and(|address| address.to_canonical().is_loopback()) || is_local(host) {
        return Ok(());
    }
    Err(ErrorResponse::new(
        StatusCode::FORBIDDEN,
        format!(
            "Authentication is off, so requests from this machine must use an IP address or a local host name, not \
             '{host}'. Use localhost, let the proxy send 'Host: localhost', or start the server with --auth on."
        ),
    ))
}

/// Whether a host name cannot come from public DNS: an IP address, `localhost`, or a name without a
/// domain.
fn is_local(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    // `[::1]` has colons but no port.
    let name = if port.ends_with(']') { host } else { name };
    let name = name.trim_end_matches('.');
    let address = name.trim_start_matches('[').trim_end_matches(']');
    !name.is_empty()
        && (address.parse::<IpAddr>().is_ok()
            || !name.contains('.')
            || name.to_ascii_lowercase().ends_with(".localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(headers: &[(&'static str, &str)]) -> bool {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<Vec<(axum::http::HeaderName, axum::http::HeaderValue)>>()
            .into_iter()
            .collect();
        check_headers(&headers).is_ok()
    }

    #[test]
    fn public_host_names_are_not_local() {
        for (host, expected) in [
            ("localhost:8080", true),
            ("LOCALHOST", true),
            ("docent.localhost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("datahub-gms:8080", true),
            ("evil.example:8080", false),
            ("evil.example", false),
            ("127.0.0.1.evil.example:8080", false),
            ("localhost.evil.example", false),
            ("evil.example.:8080", false),
            ("", false),
        ] {
            assert_eq!(is_local(host), expected, "{host}");
        }
    }

    #[test]
    fn only_same_origin_pages_and_programs_are_accepted() {
        let json = ("content-type", "application/json");
        let host = ("host", "docent.example:8080");
        assert!(is_accepted(&[host, json]), "a program");
        assert!(is_accepted(&[host]), "a program without a body");
        for form in FORMS {
            assert!(!is_accepted(&[host, ("content-type", form)]), "{form}");
        }
        let upper = "Text/Plain; charset=utf-8";
        assert!(!is_accepted(&[host, ("content-type", upper)]));
        for (origin, expected) in [
            ("http://docent.example:8080", true),
            ("https://docent.example:8080", true),
            ("http://docent.example", false),
            ("http://evil.example:8080", false),
            ("http://docent.example:8080.evil.example", false),
            ("docent.example:8080", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(
                is_accepted(&[host, json, ("origin", origin)]),
                expected,
                "{origin}"
            );
        }
        let proxied = ("x-forwarded-host", "catalog.example");
        assert!(is_accepted(&[
            host,
            proxied,
            ("origin", "https://catalog.example")
        ]));
        for (site, expected) in [
            ("same-origin", true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("", false),
        ] {
            // Sec-Fetch-Site takes precedence over Origin.
            let origin = ("origin", "http://docent.example:8080");
            assert_eq!(
                is_accepted(&[host, origin, (SITE, site)]),
                expected,
                "{site}"
            );
        }
    }
}
