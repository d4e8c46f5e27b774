//! Parses preconditions in the form of HTTP headers.
//!
//! Clients send them in the input of `patchEntity`, in REST bodies, and as real headers. The crate
//! `docent-http` uses this module for the latter two, so that all of them have the same names,
//! formats and errors.

use docent_catalog::{Conditions, Error, MISSING_VERSION};
use docent_model::EpochMillis;
use jiff::Timestamp;

const VERSION_MATCH: &str = "If-Version-Match";
const MODIFIED_SINCE: &str = "If-Modified-Since";
const UNMODIFIED_SINCE: &str = "If-Unmodified-Since";
const NONE_MATCH: &str = "If-None-Match";
/// Compares entity tags, which the server does not have. Known, so that it is rejected and not
/// ignored.
const MATCH: &str = "If-Match";

/// The names of all precondition headers.
pub const CONDITION_HEADERS: [&str; 5] = [
    VERSION_MATCH,
    MODIFIED_SINCE,
    UNMODIFIED_SINCE,
    NONE_MATCH,
    MATCH,
];

/// Adds the condition of a header, whose name is case-insensitive. Ignores other headers.
pub fn set_condition(conditions: &mut Conditions, name: &str, text: &str) -> Result<(), Error> {
    let mut known = CONDITION_HEADERS.into_iter();
    let Some(name) = known.find(|known| known.eq_ignore_ascii_case(name)) else {
        return Ok(());
    };
    match name {
        VERSION_MATCH => {
            let version = text.trim().parse().map_err(|_| {
                Error::invalid(format!(
                    "{name} is '{text}': send a version number, or {MISSING_VERSION} for an aspect that must not exist"
                ))
            })?;
            conditions.version = Some(version);
        }
        MODIFIED_SINCE => conditions.modified_since = Some(parse_time(name, text)?),
        UNMODIFIED_SINCE => conditions.unmodified_since = Some(parse_time(name, text)?),
        MATCH => {
            return Err(Error::invalid(format!(
                "{name} is '{text}', but aspects have no entity tags: send the version in {VERSION_MATCH}"
            )));
        }
        _ if text.trim() == "*" => conditions.none_match = true,
        _ => {
            return Err(Error::invalid(format!(
                "{name} is '{text}': only '*' is supported, for an aspect that must not exist; send versions in {VERSION_MATCH}"
            )));
        }
    }
    Ok(())
}

/// Parses ISO 8601 and the date format of HTTP.
fn parse_time(name: &str, text: &str) -> Result<EpochMillis, Error> {
    let text = text.trim();
    let iso = text.parse::<Timestamp>().ok();
    let parsed = iso.or_else(|| {
        let http = jiff::fmt::rfc2822::parse(text).ok();
        http.map(|zoned| zoned.timestamp())
    });
    parsed.map(Timestamp::as_millisecond).ok_or_else(|| {
        Error::invalid(format!(
            "{name} is '{text}', which is not a time: use for example 2026-01-31T12:00:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Conditions, Error> {
        let mut conditions = Conditions::default();
        set_condition(&mut conditions, name, text).map(|()| conditions)
    }

    #[test]
    fn times_are_parsed_in_iso_and_http_format() {
        for text in [
            "1994-11-06T08:49:37Z",
            "1994-11-06T09:49:37+01:00",
            "Sun, 06 Nov 1994 08:49:37 GMT",
        ] {
            let parsed = parse("if-modified-since", text).unwrap();
            assert_eq!(parsed.modified_since, Some(784_111_777_000), "{text}");
        }
        let error = parse("If-Unmodified-Since", "yesterday").unwrap_err();
        assert!(error.to_string().contains("yesterday"), "{error}");
    }

    #[test]
    fn invalid_conditions_are_rejected_and_other_headers_ignored() {
        for (name, text) in [
            ("If-None-Match", "\"etag\""),
            ("If-Match", "\"etag\""),
            ("If-Version-Match", "new"),
        ] {
            assert!(parse(name, text).is_err(), "{name}: {text}");
        }
        assert_eq!(parse("X-Other", "x").unwrap(), Conditions::default());
    }
}
