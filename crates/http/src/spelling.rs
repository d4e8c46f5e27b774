//! The two spellings of a path. Clients write a slash at its end or leave it out, for the same thing: it is taken away
//! before the router sees the path, so that no route has to know of it. A slash that belongs to a URN is `%2F`, which stays.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// Goes with a request whose path had a slash at its end, for what is relative to the path as it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HadSlash;

/// The request without the slash at the end of its path.
pub(crate) fn without_slash(mut request: Request) -> Request {
    if let Some(shorter) = shorter(request.uri()) {
        *request.uri_mut() = shorter;
        request.extensions_mut().insert(HadSlash);
    }
    request
}

fn shorter(uri: &Uri) -> Option<Uri> {
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
    fn one_slash_at_the_end_of_the_path_goes_and_nothing_else_changes() {
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
            let found = shorter(&sent.parse().unwrap());
            assert_eq!(found, expected.map(|uri| uri.parse().unwrap()), "{sent}");
        }
    }
}
