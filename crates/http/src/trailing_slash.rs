//! Removes one slash from the end of a path before routing, because clients send paths with and
//! without it. A slash that belongs to a URN is `%2F` and stays.
//!
//! Not `tower_http::normalize_path`: that removes every slash at both ends, so that a URN which
//! ends with an unencoded slash could not be addressed, and hides from handlers that there was one.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// Request extension: the path had a trailing slash. Relative redirects depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HadTrailingSlash;

pub(crate) fn remove(mut request: Request) -> Request {
    if let Some(trimmed) = trimmed(request.uri()) {
        *request.uri_mut() = trimmed;
        request.extensions_mut().insert(HadTrailingSlash);
    }
    request
}

fn trimmed(uri: &Uri) -> Option<Uri> {
    let path = uri
        .path()
        .strip_suffix('/')
        .filter(|path| !path.is_empty())?;
    let path_and_query = match uri.query() {
        None => PathAndQuery::try_from(path),
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_trailing_slash_of_the_path_is_removed() {
        for (sent, expected) in [
            ("/config/", Some("/config")),
            (
                "/aspects/?action=ingestProposal",
                Some("/aspects?action=ingestProposal"),
            ),
            (
                "/entities/urn%3Ali%3Atag%3Aa%2F/",
                Some("/entities/urn%3Ali%3Atag%3Aa%2F"),
            ),
            ("/a//?b=/", Some("/a/?b=/")),
            (
                "http://docent.example/health/",
                Some("http://docent.example/health"),
            ),
            ("/entities/urn%3Ali%3Atag%3Aa%2F", None),
            ("/config?a=/", None),
            ("/?a=b", None),
            ("/", None),
        ] {
            let found = trimmed(&sent.parse().unwrap());
            assert_eq!(found, expected.map(|uri| uri.parse().unwrap()), "{sent}");
        }
    }
}
