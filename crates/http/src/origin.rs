//! Whether a request was made by a page of ours, or by one of somebody else in the browser of a person who is let in.
//!
//! A browser sends cookies along whoever made it ask, and with authentication off it needs none. So a request that is
//! believed because of a cookie, or without anything, and that may change something, must not come from another site. Browsers say where a request comes from in `Sec-Fetch-Site` or
//! `Origin`, which no page can forge; programs say neither and have no pages. A request without both is taken unless
//! it looks like a form, the one kind of request that a page of another site could always send.
//!
//! Requests with a token in `Authorization` need none of this: no browser adds that header by itself.
//!
//! A page can also make its own name lead to this machine: then the browser takes our replies for its own. A cookie
//! is bound to the name that it was given under; with authentication off only the name is left to look at
//! ([`check_host`]).

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

/// Refuses what may change something and was not asked for by a page of ours or by a program.
pub(crate) fn check(parts: &Parts) -> Result<(), ErrorResponse> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method) {
        return Ok(());
    }
    check_headers(&parts.headers)
}

/// The same for requests that change something whatever their method is.
pub(crate) fn check_headers(headers: &HeaderMap) -> Result<(), ErrorResponse> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    if let Some(site) = text(SITE) {
        // `none` is what a person asked for without any page: an address typed in, a bookmark.
        return allowed(site == "same-origin" || site == "none");
    }
    if let Some(origin) = text(ORIGIN.as_str()) {
        let host = origin.split_once("://").map(|(_, host)| host);
        let own = [text(FORWARDED_HOST), text(HOST.as_str())];
        return allowed(host.is_some() && own.contains(&host));
    }
    if let Some(kind) = form(headers) {
        return Err(ErrorResponse::new(
            StatusCode::FORBIDDEN,
            format!(
                "A request without a token must not look like a form, and this one is {kind}. \
                 Send the header 'Content-Type: application/json'."
            ),
        ));
    }
    Ok(())
}

/// The content type of the request if a form can have it.
pub(crate) fn form(headers: &HeaderMap) -> Option<&str> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().unwrap_or_default();
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let is_form = FORMS.iter().any(|form| form.eq_ignore_ascii_case(kind));
    is_form.then_some(kind)
}

fn allowed(same: bool) -> Result<(), ErrorResponse> {
    if same {
        return Ok(());
    }
    Err(ErrorResponse::new(
        StatusCode::FORBIDDEN,
        "This request comes from a page of another site, and such pages may change nothing here. \
         Programs send a token in the header 'Authorization' instead.",
    ))
}

/// Refuses a request from this machine to a name that is not this machine's. Whoever comes from elsewhere may know the
/// server by any name.
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
            "Authentication is off, so this machine is answered only if it asks by an address or a local name, and \
             '{host}' may belong to anybody. Ask for localhost, let a proxy send 'Host: localhost', or use --auth on."
        ),
    ))
}

/// Whether no domain name system outside of this machine's network can have led here: an address, `localhost`, or a name
/// without a domain.
fn is_local(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    // The colons of an address stand in brackets.
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

    fn taken(headers: &[(&'static str, &str)]) -> bool {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<Vec<(axum::http::HeaderName, axum::http::HeaderValue)>>()
            .into_iter()
            .collect();
        check_headers(&headers).is_ok()
    }

    #[test]
    fn a_name_that_anybody_can_own_is_not_local() {
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
    fn only_our_own_pages_and_programs_may_use_a_session() {
        let json = ("content-type", "application/json");
        let host = ("host", "docent.example:8080");
        assert!(taken(&[host, json]), "a program");
        assert!(taken(&[host]), "a program without a body");
        for form in FORMS {
            assert!(!taken(&[host, ("content-type", form)]), "{form}");
        }
        let upper = "Text/Plain; charset=utf-8";
        assert!(!taken(&[host, ("content-type", upper)]));
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
                taken(&[host, json, ("origin", origin)]),
                expected,
                "{origin}"
            );
        }
        let proxied = ("x-forwarded-host", "catalog.example");
        assert!(taken(&[
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
            // The browser's word for it comes first.
            let origin = ("origin", "http://docent.example:8080");
            assert_eq!(taken(&[host, origin, (SITE, site)]), expected, "{site}");
        }
    }
}
