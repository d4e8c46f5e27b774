//! The aspect table of another product's database: read row by row, in one snapshot, and never
//! written.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Debug};
use std::pin::Pin;

use docent_store::{RawAspect, RowVersion, StoreError, StoredAspect};
use futures_util::StreamExt as _;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Row, RowStream};

use crate::error::{ASPECTS, EngineError};
use crate::pool::{Connections, Lease};
use crate::settings::Settings;
use crate::values::count_at;

/// Whether the user may read the table; null if it does not exist.
const READABLE: &str = "SELECT has_any_column_privilege(to_regclass($1), 'SELECT')";

/// Ordered by the table's primary key, in the database's own collation, so that no sort is needed.
/// A timestamp without a time zone is taken as UTC.
const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, \
     CASE WHEN isfinite(createdon) THEN round(extract(epoch FROM date_trunc('milliseconds', createdon)) * 1000)::bigint END, \
     createdby, createdfor \
     FROM metadata_aspect_v2 ORDER BY urn, aspect, version";

/// A row of such a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignAspect {
    pub raw: RawAspect,
    /// What could not be read exactly; `raw` has an approximation.
    pub fault: Option<&'static str>,
}

impl ForeignAspect {
    pub const NO_TIME: &'static str = "the time at which it was written is none";
    pub const NO_TEXT: &'static str = "there are bytes in it that are not UTF-8";
}

/// Text that may not be UTF-8, as in databases with the encoding `SQL_ASCII`.
struct LossyText {
    text: String,
    is_valid: bool,
}

impl<'a> FromSql<'a> for LossyText {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let text = String::from_utf8_lossy(raw);
        Ok(Self {
            is_valid: matches!(text, Cow::Borrowed(_)),
            text: text.into_owned(),
        })
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql>::accepts(kind)
    }
}

/// A scan of the whole table, aspect by aspect, the latest version of each first.
pub struct ForeignAspects {
    rows: Pin<Box<RowStream>>,
    total: u64,
    /// Holds the transaction of the scan open.
    _lease: Lease,
}

impl ForeignAspects {
    /// Begins the scan. Later commits are not visible to it.
    pub async fn open(settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self::begin(settings).await?)
    }

    /// The number of rows.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the next row, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<ForeignAspect>, StoreError> {
        match self.rows.next().await {
            None => Ok(None),
            Some(row) => Ok(Some(read(&row.map_err(EngineError::from)?)?)),
        }
    }

    async fn begin(settings: &Settings) -> Result<Self, EngineError> {
        let connections = Connections::new(settings)?;
        let mut lease = connections.lease().await?;
        lease
            .begin_long("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        let privileges = lease.query(READABLE, &[&ASPECTS]).await?;
        let readable: Option<bool> = privileges.first().map_or(Ok(None), |row| row.try_get(0))?;
        if readable == Some(false) {
            return Err(EngineError::Store(StoreError::Rejected {
                reason: format!(
                    "the user in the URL may not read the table {ASPECTS}: GRANT SELECT ON {ASPECTS} to that user, or name another one"
                ),
            }));
        }
        if readable.is_none() {
            return Err(EngineError::Store(StoreError::Rejected {
                reason: format!(
                    "the database has no table {ASPECTS}: name its schema with search_path in the URL if it is in another"
                ),
            }));
        }
        let count = lease
            .query("SELECT count(*) FROM metadata_aspect_v2", &[])
            .await?;
        let total = count.first().map_or(Ok(0), |row| count_at(row, 0))?;
        // Sorting would write the whole table to the disk of a database that is in use.
        lease.execute("SET LOCAL enable_sort = off").await?;
        let no_parameters: [&(dyn ToSql + Sync); 0] = [];
        let rows = lease.client()?.query_raw(ROWS, no_parameters).await?;
        Ok(Self {
            rows: Box::pin(rows),
            total,
            _lease: lease,
        })
    }
}

fn read(row: &Row) -> Result<ForeignAspect, EngineError> {
    let mut fault = None;
    let mut text = |index: usize| -> Result<Option<String>, EngineError> {
        let value: Option<LossyText> = row.try_get(index)?;
        if value.as_ref().is_some_and(|value| !value.is_valid) {
            fault = Some(ForeignAspect::NO_TEXT);
        }
        Ok(value.map(|value| value.text))
    };
    let (urn, aspect, metadata) = (text(0)?, text(1)?, text(3)?);
    let (system_metadata, created_by, created_for) = (text(4)?, text(6)?, text(7)?);
    let created_on_ms: Option<i64> = row.try_get(5)?;
    if created_on_ms.is_none() {
        fault = Some(ForeignAspect::NO_TIME);
    }
    Ok(ForeignAspect {
        raw: RawAspect {
            urn: urn.unwrap_or_default(),
            aspect: aspect.unwrap_or_default(),
            row: StoredAspect {
                version: RowVersion::new(row.try_get(2)?),
                metadata: metadata.unwrap_or_default(),
                system_metadata,
                created_on_ms: created_on_ms.unwrap_or_default(),
                created_by: created_by.unwrap_or_default(),
                created_for,
            },
        },
        fault,
    })
}

impl Debug for ForeignAspects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ForeignAspects({} rows)", self.total)
    }
}
