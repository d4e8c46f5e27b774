//! The log filter.

use anyhow::{Context as _, Result, bail};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use super::Settings;

/// The connection pool logs every lost connection; `store-postgres` logs an outage once.
const POOL: &str = "deadpool";

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
    let filter = if text.contains(POOL) {
        text.to_owned()
    } else {
        format!("{text},{POOL}=off")
    };
    EnvFilter::try_new(filter).with_context(|| format!("'{text}' is not a log filter"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
