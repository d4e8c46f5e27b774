//! Conversions between Rust values and columns.

use std::error::Error;

use bytes::BytesMut;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{RowVersion, StoreError, StoredAspect};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::error::EngineError;

/// PostgreSQL counts microseconds from the year 2000.
const EPOCH_TO_2000_MS: i64 = 946_684_800_000;

/// A `timestamp` column in UTC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp(pub(crate) EpochMillis);

impl ToSql for Timestamp {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let microseconds = self.0.saturating_sub(EPOCH_TO_2000_MS).saturating_mul(1000);
        out.extend_from_slice(&microseconds.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMP);
    to_sql_checked!();
}

impl FromSql<'_> for Timestamp {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let microseconds = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(
            microseconds
                .div_euclid(1000)
                .saturating_add(EPOCH_TO_2000_MS),
        ))
    }

    accepts!(TIMESTAMP);
}

/// Replaces NUL, which PostgreSQL text cannot contain. Used for names and ids, which are only
/// compared; in aspects JSON escapes it.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{FFFD}")
}

/// Reads six columns, `version` first, in the order of the table.
pub(crate) fn stored_aspect(row: &Row, first: usize) -> Result<StoredAspect, EngineError> {
    Ok(StoredAspect {
        version: RowVersion::new(row.try_get(first)?),
        metadata: row.try_get(first + 1)?,
        system_metadata: row.try_get(first + 2)?,
        created_on_ms: row.try_get::<_, Timestamp>(first + 3)?.0,
        created_by: row.try_get(first + 4)?,
        created_for: row.try_get(first + 5)?,
    })
}

/// `None` if the aspect is not in the registry.
pub(crate) fn aspect_name(row: &Row, index: usize) -> Result<Option<AspectName>, EngineError> {
    Ok(Registry::get().stored_aspect(row.try_get(index)?))
}

pub(crate) fn urn_at(row: &Row, index: usize, table: &'static str) -> Result<Urn, EngineError> {
    let text: &str = row.try_get(index)?;
    Urn::parse(text).map_err(|error| {
        EngineError::Store(StoreError::Corrupt {
            table,
            column: "urn",
            key: text.to_owned(),
            reason: error.to_string(),
        })
    })
}

/// Reads a `count(*)`.
pub(crate) fn count_at(row: &Row, index: usize) -> Result<u64, EngineError> {
    unsigned_at(row, index)
}

/// Reads a `count(*)` or an index.
pub(crate) fn usize_at(row: &Row, index: usize) -> Result<usize, EngineError> {
    unsigned_at(row, index)
}

fn unsigned_at<T: TryFrom<i64>>(row: &Row, index: usize) -> Result<T, EngineError> {
    let number: i64 = row.try_get(index)?;
    T::try_from(number)
        .map_err(|_| StoreError::other(format!("unexpected negative number {number}")).into())
}

/// The parent column; empty for roots.
pub(crate) fn parent_text(parent: Option<&Urn>) -> &str {
    parent.map_or("", Urn::as_str)
}

pub(crate) fn as_limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_before_and_after_2000_round_trip_to_the_millisecond() {
        for time_ms in [-1, 0, 1, EPOCH_TO_2000_MS - 1, 1_700_000_000_123] {
            let mut out = BytesMut::new();
            Timestamp(time_ms)
                .to_sql(&Type::TIMESTAMP, &mut out)
                .unwrap();
            let back = Timestamp::from_sql(&Type::TIMESTAMP, &out).unwrap();
            assert_eq!(back.0, time_ms);
        }
    }
}
