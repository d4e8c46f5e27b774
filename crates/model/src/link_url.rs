//! The URLs that links may have.

/// Allows only URLs that a browser can open without running code. The error says what is wrong,
/// in a sentence.
pub fn check_link_url(url: &str) -> Result<(), String> {
    const ALLOWED: [&str; 4] = ["http", "https", "ftp", "mailto"];
    let (scheme, rest) = url
        .split_once(':')
        .map_or((None, ""), |(scheme, rest)| (Some(scheme), rest));
    let is_allowed = scheme.is_some_and(|scheme| {
        ALLOWED
            .iter()
            .any(|known| known.eq_ignore_ascii_case(scheme))
    });
    if !is_allowed {
        Err(format!(
            "URL scheme '{}' is not allowed. Use one of {}.",
            scheme.unwrap_or("null"),
            ALLOWED.join(", ")
        ))
    } else if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        Err(format!(
            "'{url}' is not a URL: white space must be written as %20."
        ))
    } else if !has_host(rest) {
        Err(format!(
            "'{url}' is not a whole URL: write where it leads behind the scheme."
        ))
    } else {
        Ok(())
    }
}

/// Whether a host or a mail address follows the scheme. As lenient as browsers, which ignore the
/// number of slashes.
fn has_host(rest: &str) -> bool {
    let authority = rest
        .trim_start_matches('/')
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    !host.is_empty() && !host.starts_with(':')
}
