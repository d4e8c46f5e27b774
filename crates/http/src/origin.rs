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
//! off only the `Host` header is left to check ([`check_host`]), whatever the client's address: the
//! browser may be on another machine of the network.

use std::net::IpAddr;

use axum::http::header::{CONTENT_TYPE, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};

use crate::client::Client;
use crate::error::ErrorResponse;

const SITE: &str = "sec-fetch-site";
/// What the browser wants the response for: `document` for a navigation, `image` for a picture.
const DESTINATION: &str = "sec-fetch-dest";

/// The content types of forms.
const FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// Rejects cross-site requests with a method that may change something.
pub(crate) fn check(parts: &Parts, client: &Client) -> Result<(), ErrorResponse> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method) {
        return Ok(());
    }
    check_headers(&parts.headers, client)
}

/// Rejects requests of a browser for parts of a page: people choose the addresses of pictures, and
/// loading one must not do what following a link does.
pub(crate) fn check_navigation(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    allow_if(
        headers
            .get(DESTINATION)
            .is_none_or(|value| value == "document"),
    )
}

/// Rejects cross-site requests, whatever their method.
pub(crate) fn check_headers(headers: &HeaderMap, client: &Client) -> Result<(), ErrorResponse> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    if let Some(site) = text(SITE) {
        // `none` means that the user navigated directly: an address or a bookmark.
        return allow_if(site == "same-origin" || site == "none");
    }
    if let Some(origin) = text(ORIGIN.as_str()) {
        let (scheme, host) = origin.split_once("://").unwrap_or_default();
        // A page without TLS may be forged by anyone on the network. The reverse is normal behind
        // a proxy that is not trusted.
        let is_same_scheme = !client.is_https() || scheme == "https";
        return allow_if(is_same_scheme && client.host(headers) == Some(host));
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

/// Rejects requests with a `Host` that is neither local nor allowed. Browsers always send one.
pub(crate) fn check_host(
    headers: &HeaderMap,
    client: &Client,
    allowed: &[String],
) -> Result<(), ErrorResponse> {
    let Some(host) = client.host(headers) else {
        return Ok(());
    };
    let name = host_name(host);
    if is_local(name)
        || allowed
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name))
    {
        return Ok(());
    }
    Err(ErrorResponse::new(
        StatusCode::FORBIDDEN,
        format!(
            "Authentication is off, so requests must use an IP address, a local host name or one that --allowed-host \
             lists, not '{host}'. Start the server with '--allowed-host {name}' if the name is its own, or with --auth on."
        ),
    ))
}

/// The name in a `Host` header, without the port, a dot at the end and the brackets of an address.
pub(crate) fn host_name(host: &str) -> &str {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    // `[::1]` has colons but no port.
    let name = if port.ends_with(']') { host } else { name };
    let name = name.trim_end_matches('.');
    name.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a host name cannot come from public DNS: an IP address, `localhost`, or a name without a
/// domain.
fn is_local(name: &str) -> bool {
    !name.is_empty()
        && (name.parse::<IpAddr>().is_ok()
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
        check_headers(&headers, &Client::default()).is_ok()
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
            assert_eq!(is_local(host_name(host)), expected, "{host}");
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
        let forged = ("x-forwarded-host", "evil.example");
        assert!(!is_accepted(&[
            host,
            forged,
            ("origin", "http://evil.example")
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
