//! Times as people read them, and days as they count them.

use docent_model::EpochMillis;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Error;

/// The time in ISO 8601.
pub fn iso(time_ms: EpochMillis) -> String {
    Timestamp::from_millisecond(time_ms)
        .map_or_else(|_| format!("{time_ms} ms"), |time| time.to_string())
}

/// The time of a text in ISO 8601 with its distance from UTC.
pub(crate) fn parse_iso(text: &str) -> Option<EpochMillis> {
    let time: Timestamp = text.parse().ok()?;
    Some(time.as_millisecond())
}

/// Rejects a period that ends before it starts.
pub(crate) fn check_period(
    since_ms: Option<EpochMillis>,
    until_ms: Option<EpochMillis>,
) -> Result<(), Error> {
    match (since_ms, until_ms) {
        (Some(since_ms), Some(until_ms)) if since_ms > until_ms => Err(Error::invalid(format!(
            "the period starts at {} and ends before that, at {}: swap the times",
            iso(since_ms),
            iso(until_ms)
        ))),
        _ => Ok(()),
    }
}

/// The time zone with a name such as Europe/Berlin; UTC without one.
pub fn time_zone(name: Option<&str>) -> Result<TimeZone, Error> {
    let Some(name) = name else {
        return Ok(TimeZone::UTC);
    };
    TimeZone::get(name).map_err(|_| {
        Error::invalid(format!(
            "there is no time zone '{name}' on this server: use a name such as Europe/Berlin, or UTC"
        ))
    })
}

/// When the day of a time began in a time zone. Times that no calendar has are days of their own.
pub(crate) fn start_of_day(time_ms: EpochMillis, zone: &TimeZone) -> EpochMillis {
    let start = Timestamp::from_millisecond(time_ms)
        .and_then(|time| time.to_zoned(zone.clone()).start_of_day());
    start.map_or(time_ms, |start| start.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight_of_its_time_zone() {
        const HOUR_MS: EpochMillis = 3_600_000;
        let start = |time_ms, zone| start_of_day(time_ms, &time_zone(zone).unwrap());
        let noon = 12 * HOUR_MS;
        assert_eq!(start(noon, None), 0);
        assert_eq!(start(noon, Some("UTC")), 0);
        assert_eq!(start(noon, Some("Asia/Tokyo")), -9 * HOUR_MS);
        assert_eq!(start(20 * HOUR_MS, Some("Asia/Tokyo")), 15 * HOUR_MS);
        assert_eq!(start(EpochMillis::MAX, None), EpochMillis::MAX);
        let error = time_zone(Some("Mars/Base")).unwrap_err();
        assert!(error.to_string().contains("Mars/Base"), "{error}");
    }
}
