//! How long sessions last.

use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use docent_catalog::sessions::SessionLimits;
use docent_model::{EpochMillis, parse_duration_ms};

const MINUTE_MS: EpochMillis = 60_000;
const DAY_MS: EpochMillis = 24 * 60 * MINUTE_MS;

pub(super) fn parse(ttl: Option<&str>, idle: Option<&str>) -> Result<SessionLimits> {
    let parse = |name: &str, text: &str, range: RangeInclusive<EpochMillis>, allowed: &str| {
        parse_duration_ms(text)
            .filter(|milliseconds| range.contains(milliseconds))
            .with_context(|| format!("'{text}' is not a time for {name}: use {allowed}"))
    };
    let mut limits = SessionLimits::default();
    if let Some(text) = ttl {
        let allowed = "5m to 90d, for example 24h";
        limits.absolute_ms = parse("--session-ttl", text, 5 * MINUTE_MS..=90 * DAY_MS, allowed)?;
    }
    if let Some(text) = idle.filter(|text| *text != "none") {
        let allowed = "5m to 90d, for example 30m, or none";
        let range = 5 * MINUTE_MS..=90 * DAY_MS;
        limits.idle_ms = Some(parse("--session-idle", text, range, allowed)?);
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_sessions_are_minutes_to_months() {
        for (ttl, idle, says) in [
            (
                Some("1m"),
                None,
                "'1m' is not a time for --session-ttl: use 5m to 90d",
            ),
            (Some("none"), None, "'none' is not a time for --session-ttl"),
            (
                None,
                Some("soon"),
                "'soon' is not a time for --session-idle: use 5m to 90d",
            ),
            (None, Some("10s"), "'10s' is not a time for --session-idle"),
        ] {
            let error = parse(ttl, idle).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let none = parse(None, Some("none")).unwrap();
        assert_eq!(none.idle_ms, None);
    }
}
