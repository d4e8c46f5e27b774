//! Whether a request was made by a page of ours, or by one of somebody else in the browser of a person who is signed in.
//!
//! A browser sends cookies along whoever made it ask. So a request that is believed because of a cookie, and that may
//! change something, must not come from another site. Browsers say where a request comes from in `Sec-Fetch-Site` or
//! `Origin`, which no page can forge; programs say neither and have no pages. A request without both is taken unless
//! it looks like a form, the one kind of request that a page of another site could always send.
//!
//! Requests with a token in `Authorization` need none of this: no browser adds that header by itself.

use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};

use crate::error::Refusal;

const SITE: &str = "sec-fetch-site";
const FORWARDED_HOST: &str = "x-forwarded-host";

/// The content types of forms.
const FORMS: [&str; 3] = [
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
];

/// Refuses what may change something and was not asked for by a page of ours or by a program.
pub(crate) fn check(parts: &Parts) -> Result<(), Refusal> {
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(&parts.method) {
        return Ok(());
    }
    check_headers(&parts.headers)
}

/// The same for requests that change something whatever their method is.
pub(crate) fn check_headers(headers: &HeaderMap) -> Result<(), Refusal> {
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
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            format!(
                "A request with a session cookie must not look like a form, and this one is {kind}. \
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

fn allowed(same: bool) -> Result<(), Refusal> {
    if same {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        "This request comes from a page of another site, and such pages may not use your session. \
         Programs send a token in the header 'Authorization' instead.",
    ))
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
