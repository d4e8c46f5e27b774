//! Times of the sample catalog, relative to the start of the demo.
//!
//! A string of a value that begins with `@` is a time: `@now`, `@midnight` (UTC) or, in a time
//! series, `@point`, optionally less a duration: `@now-3d`, `@midnight-1d`.

use anyhow::{Context, Result};
use docent_model::{EpochMillis, parse_duration_ms};
use serde_json::Value;

/// The time of a point in a time series.
pub(super) const TIMESTAMP: &str = "timestampMillis";

const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, Copy)]
pub(super) struct RelativeTimes {
    pub(super) now_ms: EpochMillis,
}

impl RelativeTimes {
    /// Replaces all relative times in a value. `point` is the time of its point, if it is one.
    pub(super) fn resolve(self, value: &mut Value, point: Option<EpochMillis>) -> Result<()> {
        match value {
            Value::String(text) if text.starts_with('@') => {
                *value = self.time(text, point)?.into();
            }
            Value::Array(elements) => {
                for element in elements {
                    self.resolve(element, point)?;
                }
            }
            Value::Object(members) => {
                for member in members.values_mut() {
                    self.resolve(member, point)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Parses a relative time that is not inside a point.
    pub(super) fn parse(self, text: &str) -> Result<EpochMillis> {
        self.time(text, None)
    }

    fn time(self, text: &str, point: Option<EpochMillis>) -> Result<EpochMillis> {
        let (base, before) = match text.split_once('-') {
            Some((base, duration)) => (base, parse_duration_ms(duration)),
            None => (text, Some(0)),
        };
        let base = match base {
            "@now" => Some(self.now_ms),
            "@midnight" => Some(self.now_ms - self.now_ms.rem_euclid(DAY_MS)),
            "@point" => point,
            _ => None,
        };
        base.zip(before)
            .map(|(base, before)| base - before)
            .with_context(|| format!("'{text}' is not a relative time such as @now-3d"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_MS: EpochMillis = 20_000 * DAY_MS + 1000;
    const TIMES: RelativeTimes = RelativeTimes { now_ms: NOW_MS };

    #[test]
    fn relative_times_become_milliseconds_at_any_depth() {
        let mut value = json!({
            "a": "@now-1d12h",
            "b": [{"c": "@midnight-1d"}, "@point", "@now"],
            "d": "me@now"
        });
        TIMES.resolve(&mut value, Some(5)).unwrap();
        let expected = json!({
            "a": NOW_MS - 3 * DAY_MS / 2,
            "b": [{"c": 19_999 * DAY_MS}, 5, NOW_MS],
            "d": "me@now"
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn a_malformed_time_is_an_error_that_shows_it() {
        for text in ["@then", "@now-", "@now-soon", "@now-3", "@point"] {
            let error = TIMES.resolve(&mut json!([text]), None).unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
