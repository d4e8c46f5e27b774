//! The state of the server, for administrators.

use docent_model::EpochMillis;
pub use docent_search::IndexStatus;

use crate::privilege::{MANAGE_SYSTEM_OPERATIONS, Privilege, VIEW_SYSTEM_STATUS};
use crate::{Caller, Catalog, Error};

/// One of these allows to read the state.
pub const STATUS_PRIVILEGES: &[Privilege] = &[MANAGE_SYSTEM_OPERATIONS, VIEW_SYSTEM_STATUS];

/// The state of one server. Several servers may use the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerStatus {
    pub started_at_ms: EpochMillis,
    /// The name of the storage engine.
    pub engine: &'static str,
    /// How many bytes the database takes on the disk.
    pub store_bytes: u64,
    /// Whether the database accepts writes.
    pub is_writable: bool,
    /// `None` for a server without a search index.
    pub index: Option<IndexStatus>,
}

impl Catalog {
    pub async fn server_status(&self, caller: &Caller) -> Result<ServerStatus, Error> {
        self.authorize(caller, STATUS_PRIVILEGES, None).await?;
        let index = match &self.options.search {
            Some(search) => Some(search.status().await?),
            None => None,
        };
        Ok(ServerStatus {
            started_at_ms: self.inner.started_at_ms,
            engine: self.store().engine(),
            store_bytes: self.store().size_bytes().await?,
            is_writable: self.is_writable().await?,
            index,
        })
    }
}
