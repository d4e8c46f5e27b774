//! What clients accept: `Accept` and `Accept-Encoding`.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderName};

/// The weight of an item that a header lists, such as a media type or an encoding; `None` if it
/// lists others only. Wildcards are items of their own.
pub(crate) fn weight(headers: &HeaderMap, header: HeaderName, item: &str) -> Option<f32> {
    let values = headers.get_all(header);
    let mut listed = values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    listed.find_map(|listed| {
        let mut parts = listed.split(';').map(str::trim);
        let is_it = parts.next()?.eq_ignore_ascii_case(item);
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
        is_it.then_some(weight.unwrap_or(1.0))
    })
}

/// Whether the client is a browser window. Programs that accept `*/*` do not expect HTML.
pub(crate) fn is_browser_window(headers: &HeaderMap) -> bool {
    weight(headers, ACCEPT, "text/html").is_some()
}
