//! Times in flags.

use anyhow::{Context as _, Result};
use docent_model::{Clock as _, EpochMillis, SystemClock, parse_duration_ms};
use jiff::tz::TimeZone;

/// A time as users write it, if there is one: how long ago it was, a date or a time.
pub(super) fn time_of_flag(flag: &str, text: Option<&str>) -> Result<Option<EpochMillis>> {
    let Some(text) = text else { return Ok(None) };
    let time = parse_time(text, SystemClock.now_ms()).with_context(|| {
        format!(
            "'{text}' is not a time for {flag}: use for example 10m (ago), 2026-01-31 or 2026-01-31T12:00:00Z, with a zone"
        )
    })?;
    Ok(Some(time))
}

fn parse_time(text: &str, now_ms: EpochMillis) -> Option<EpochMillis> {
    if let Some(ago_ms) = parse_duration_ms(text) {
        return Some(now_ms.saturating_sub(ago_ms));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_millisecond());
    }
    // A date and a time without a zone would be parsed, too.
    let is_date = text.len() == "2026-01-31".len();
    let date: jiff::civil::Date = text.parse().ok().filter(|_| is_date)?;
    let start = date.to_zoned(TimeZone::UTC).ok()?;
    Some(start.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_durations_dates_or_rfc_3339() {
        let day = 24 * 3_600_000;
        assert_eq!(parse_time("7d", 30 * day), Some(23 * day));
        assert_eq!(parse_time("1970-01-03", 0), Some(2 * day));
        assert_eq!(parse_time("1970-01-03T00:00:01Z", 0), Some(2 * day + 1000));
        for wrong in [
            "",
            "soon",
            "2026-13-01",
            "2026-01-31T12:00:00",
            "2026-01-31 12:00:00",
            "2026-01-31T12:00:00[Europe/Berlin]",
        ] {
            assert_eq!(parse_time(wrong, 0), None, "{wrong}");
        }
    }
}
