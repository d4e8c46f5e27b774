//! Traces: what has become of the aspects that a request wrote.
//!
//! A request over REST has a trace id, which its response returns. It is in the system metadata of
//! every aspect that the request wrote or confirmed ([`Caller::in_trace`]), until a later request
//! writes or confirms that aspect. Writes are durable before their response, so none is pending.
//!
//! [`Caller::in_trace`]: crate::Caller::in_trace

use docent_model::{EpochMillis, Registry};
use docent_store::{AspectKey, StoredAspect, version};

use crate::{Catalog, Error};

/// The digits of a trace id, and those of the time in it.
const DIGITS: usize = 32;
const TIME_DIGITS: usize = 16;
/// The times that a trace id may have. Ids of other programs are random, so theirs are no times.
const EARLIEST_MS: EpochMillis = 1_577_836_800_000;
const MAX_AHEAD_MS: EpochMillis = 24 * 60 * 60 * 1000;

/// The id of a request: 32 hexadecimal digits. Those that this server makes begin with the time in
/// microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceId(String);

impl TraceId {
    /// An id at a time.
    pub fn new(now_ms: EpochMillis, random: u64) -> Self {
        Self(format!("{:016x}{random:016x}", now_ms.saturating_mul(1000)))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_id = text.len() == DIGITS
            && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            && text.bytes().any(|byte| byte != b'0');
        is_id.then(|| Self(text.to_ascii_lowercase()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn time_ms(&self, now_ms: EpochMillis) -> Option<EpochMillis> {
        let digits = self.0.get(..TIME_DIGITS)?;
        let time_ms = EpochMillis::from_str_radix(digits, 16).ok()? / 1000;
        (EARLIEST_MS..=now_ms.saturating_add(MAX_AHEAD_MS))
            .contains(&time_ms)
            .then_some(time_ms)
    }
}

/// What has become of an aspect that a request wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracedWrite {
    /// It is the latest version.
    Latest,
    /// It did not change the value.
    Unchanged,
    /// A later write has replaced or confirmed it.
    Replaced,
    /// A point of a time series: these have no trace.
    Untraced,
    /// The id has no time, so it is unknown whether a later write has replaced it.
    Unknown,
    /// It is not stored: it was never written, or has been deleted.
    Missing,
}

impl Catalog {
    /// What has become of each aspect that a request wrote.
    pub async fn traced_writes(
        &self,
        trace: &TraceId,
        keys: &[AspectKey],
    ) -> Result<Vec<TracedWrite>, Error> {
        let rows = self.read_unfiltered(keys).await?;
        let now_ms = self.now_ms();
        let states = keys.iter().zip(&rows).map(|(key, row)| match row {
            None => TracedWrite::Missing,
            Some(_) if Registry::get().is_timeseries(key.aspect) => TracedWrite::Untraced,
            Some(row) => state(trace, row, now_ms),
        });
        Ok(states.collect())
    }
}

fn state(trace: &TraceId, row: &StoredAspect, now_ms: EpochMillis) -> TracedWrite {
    let metadata = version::system_metadata_of(row);
    let stored = version::trace_of(&metadata).and_then(TraceId::parse);
    if stored.as_ref() == Some(trace) {
        return if version::is_confirmed(&metadata) {
            TracedWrite::Unchanged
        } else {
            TracedWrite::Latest
        };
    }
    let Some(time_ms) = trace.time_ms(now_ms) else {
        return TracedWrite::Unknown;
    };
    let written_ms = stored.and_then(|stored| stored.time_ms(now_ms));
    if time_ms <= written_ms.unwrap_or(row.created_on_ms) {
        TracedWrite::Replaced
    } else if time_ms < metadata.last_observed {
        TracedWrite::Unchanged
    } else {
        TracedWrite::Missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: EpochMillis = 1_700_000_000_000;

    #[test]
    fn ids_of_this_server_have_a_time() {
        let id = TraceId::new(NOW_MS, 7);
        assert_eq!(id.as_str().len(), DIGITS);
        assert_eq!(id.time_ms(NOW_MS), Some(NOW_MS));
        assert_eq!(TraceId::parse(&id.as_str().to_uppercase()), Some(id));
    }

    #[test]
    fn random_ids_have_no_time() {
        for id in [
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "ffffffffffffffffa3ce929d0e0e4736",
            "0000000000000001a3ce929d0e0e4736",
        ] {
            assert_eq!(TraceId::parse(id).unwrap().time_ms(NOW_MS), None, "{id}");
        }
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in [
            "",
            "0123",
            &"0".repeat(32),
            &"g".repeat(32),
            &"é".repeat(16),
        ] {
            assert_eq!(TraceId::parse(text), None, "{text}");
        }
    }
}
