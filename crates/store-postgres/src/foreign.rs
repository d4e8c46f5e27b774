//! The aspect table of a database that is somebody else's: read row by row, in one snapshot, and never written.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Debug};
use std::pin::Pin;

use docent_store::{RawAspect, RowVersion, StoreError, StoredAspect};
use futures_util::StreamExt as _;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Row, RowStream};

use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::settings::Settings;
use crate::values::{ASPECTS, count_at};

/// Whether it may be read; nothing if there is none.
const READABLE: &str = "SELECT has_any_column_privilege(to_regclass($1), 'SELECT')";

/// The order is that of the table's own key, whatever the database sorts by, so that nothing has to be sorted. A time
/// without a zone is in UTC; one with a zone is converted.
const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, \
     CASE WHEN isfinite(createdon) THEN round(extract(epoch FROM date_trunc('milliseconds', createdon)) * 1000)::bigint END, \
     createdby, createdfor \
     FROM metadata_aspect_v2 ORDER BY urn, aspect, version";

/// A row of such a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignAspect {
    pub raw: RawAspect,
    /// What of it cannot be read; something like it stands there.
    pub fault: Option<&'static str>,
}

impl ForeignAspect {
    pub const NO_TIME: &'static str = "the time at which it was written is none";
    pub const NO_TEXT: &'static str = "there are bytes in it that are not UTF-8";
}

/// Any bytes where text should be: databases with the encoding `SQL_ASCII` have them.
struct Text {
    text: String,
    is_whole: bool,
}

impl<'a> FromSql<'a> for Text {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let text = String::from_utf8_lossy(raw);
        Ok(Self {
            is_whole: matches!(text, Cow::Borrowed(_)),
            text: text.into_owned(),
        })
    }

    fn accepts(kind: &Type) -> bool {
        <&str as FromSql>::accepts(kind)
    }
}

/// A walk over all rows of the table, aspect by aspect, the latest version of each first.
pub struct ForeignAspects {
    rows: Pin<Box<RowStream>>,
    total: u64,
    /// The rows come over it, inside of a transaction that ends with it.
    _lease: Lease,
}

impl ForeignAspects {
    /// Begins the walk. What is committed later is not seen.
    pub async fn open(settings: &Settings) -> Result<Self, StoreError> {
        Ok(Self::begin(settings).await?)
    }

    /// How many rows there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The next row; `None` behind the last.
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
        let found = lease.query(READABLE, &[&ASPECTS]).await?;
        let readable: Option<bool> = found.first().map_or(Ok(None), |row| row.try_get(0))?;
        if readable == Some(false) {
            return Err(EngineError::Store(StoreError::Refused {
                reason: format!(
                    "the user in the URL may not read the table {ASPECTS}: GRANT SELECT ON {ASPECTS} to that user, or name another one"
                ),
            }));
        }
        if readable.is_none() {
            return Err(EngineError::Store(StoreError::Refused {
                reason: format!(
                    "the database has no table {ASPECTS}: name its schema with search_path in the URL if it is in another"
                ),
            }));
        }
        let counted = lease
            .query("SELECT count(*) FROM metadata_aspect_v2", &[])
            .await?;
        let total = counted.first().map_or(Ok(0), |row| count_at(row, 0))?;
        // Sorting would write the whole table to the disk of a database that is in use.
        lease.execute("SET LOCAL enable_sort = off").await?;
        let nothing: [&(dyn ToSql + Sync); 0] = [];
        let rows = lease.client()?.query_raw(ROWS, nothing).await?;
        Ok(Self {
            rows: Box::pin(rows),
            total,
            _lease: lease,
        })
    }
}

fn read(row: &Row) -> Result<ForeignAspect, EngineError> {
    let mut fault = None;
    let mut text = |at: usize| -> Result<Option<String>, EngineError> {
        let found: Option<Text> = row.try_get(at)?;
        if found.as_ref().is_some_and(|found| !found.is_whole) {
            fault = Some(ForeignAspect::NO_TEXT);
        }
        Ok(found.map(|found| found.text))
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
