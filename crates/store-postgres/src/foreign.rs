//! The aspect table of a database that is somebody else's: read row by row, in one snapshot, and never written.

use std::fmt::{self, Debug};
use std::pin::Pin;

use docent_store::{RawAspect, StoreError, StoredAspect};
use futures_util::StreamExt as _;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::settings::Settings;
use crate::values::{ASPECTS, count_at};

/// The order is that of the table's own key, whatever the database sorts by, so that nothing has to be sorted. A time
/// without a zone is in UTC; one with a zone is converted.
const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, \
     round(extract(epoch FROM date_trunc('milliseconds', createdon)) * 1000)::bigint, createdby, createdfor \
     FROM metadata_aspect_v2 ORDER BY urn, aspect, version";

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
    pub async fn next(&mut self) -> Result<Option<RawAspect>, StoreError> {
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
        let there = lease
            .query("SELECT to_regclass($1) IS NOT NULL", &[&ASPECTS])
            .await?;
        if !there.first().is_some_and(|row| row.get(0)) {
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

fn read(row: &Row) -> Result<RawAspect, EngineError> {
    Ok(RawAspect {
        urn: row.try_get(0)?,
        aspect: row.try_get(1)?,
        row: StoredAspect {
            version: row.try_get(2)?,
            metadata: row.try_get(3)?,
            system_metadata: row.try_get(4)?,
            created_on_ms: row.try_get(5)?,
            created_by: row.try_get(6)?,
            created_for: row.try_get(7)?,
        },
    })
}

impl Debug for ForeignAspects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ForeignAspects({} rows)", self.total)
    }
}
