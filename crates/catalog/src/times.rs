//! Times as people read them.

use docent_model::EpochMillis;

/// The time in ISO 8601.
pub(crate) fn iso(time_ms: EpochMillis) -> String {
    jiff::Timestamp::from_millisecond(time_ms)
        .map_or_else(|_| format!("{time_ms} ms"), |time| time.to_string())
}
