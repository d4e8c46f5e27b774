//! The log filter.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::Settings;

/// Libraries that would repeat our own log, with their levels. The connection pool logs every lost
/// connection, and `store-postgres` logs an outage once. The MCP library logs each request in three
/// lines, with what the client sent, and the request log has one.
const QUIET: [(&str, &str); 2] = [("deadpool", "off"), ("rmcp", "error")];

impl Settings {
    pub(crate) fn log_filter(&self) -> Result<EnvFilter> {
        parse(&self.log)
    }
}

/// Accepts levels, and levels of targets. The library would take any other word for a target and
/// log nothing of it.
pub(super) fn parse(text: &str) -> Result<EnvFilter> {
    let is_level = |word: &str| word.trim().parse::<LevelFilter>().is_ok();
    let wrong = text.split(',').find(|part| match part.rsplit_once('=') {
        Some((target, level)) => target.trim().is_empty() || !is_level(level),
        None => part.trim().is_empty() || !is_level(part),
    });
    if let Some(wrong) = wrong {
        bail!(
            "the log filter '{text}' is invalid at '{wrong}': use a level (off, error, warn, info, debug, trace) or \
             target=level, separated by commas, for example info,docent_http=debug"
        );
    }
    let mut filter = text.to_owned();
    let is_off = text
        .split(',')
        .any(|part| part.trim().eq_ignore_ascii_case("off"));
    let quiet = QUIET
        .iter()
        .filter(|(library, _)| !text.contains(library) && !is_off);
    for (library, level) in quiet {
        let _ = write!(filter, ",{library}={level}");
    }
    EnvFilter::try_new(filter).with_context(|| format!("'{text}' is not a log filter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_repeat_our_log_are_quiet_unless_they_are_named() {
        for (text, has, has_not) in [
            ("debug", "rmcp=error", "rmcp=debug"),
            ("info,rmcp=info", "rmcp=info", "rmcp=error"),
            ("off", "off", "rmcp=error"),
        ] {
            let filter = parse(text).unwrap().to_string();
            assert!(
                filter.contains(has) && !filter.contains(has_not),
                "{filter}"
            );
        }
    }

    #[test]
    fn log_filters_consist_of_levels_and_targets() {
        for right in [
            "info",
            "WARN",
            "off",
            "docent=debug",
            "info,docent_http=trace",
            "warn,x=3",
        ] {
            parse(right).unwrap();
        }
        for (wrong, at) in [
            ("inof", "'inof'"),
            ("", "''"),
            ("docent=debgu", "'docent=debgu'"),
            ("info,docent", "'docent'"),
            ("=info", "'=info'"),
        ] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains(at), "{error}");
            assert!(error.contains("target=level"), "{error}");
        }
    }
}
