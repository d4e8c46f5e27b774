//! The boundary between Docent and its databases.
//!
//! An engine implements three traits: [`StoreReader`] reads aspects, the rows derived from them and
//! the change log; [`StoreWriter`] runs a transaction; [`StoreMaintenance`] exports, imports,
//! rebuilds, backs up and checks. [`Store`] is all three, and what the rest of Docent holds as
//! `Arc<dyn Store>`.
//!
//! A transaction ([`transact`]) sees the database through [`Transaction`]: it reads (and thereby
//! locks) what it needs, decides, and hands over one list of [`AspectWrite`]s. So an engine speaks
//! SQL and decides nothing, and the catalog decides and speaks no SQL.
//!
//! The effect of a write on versions and history is engine-independent too ([`version`]); so are
//! the invariants between rows ([`audit`]), and what engines filter by inside stored JSON
//! ([`fields`]).
//!
//! To add an engine: implement the traits, run the conformance suite (`suite`, behind the feature
//! of the same name) against it, and name it in the binary. To add a query: a method of the trait
//! it belongs to, a test in the suite, and the SQL in each engine. The traits have no default
//! methods, so that the compiler finds every implementation.

pub mod audit;
pub mod audit_log;
pub mod change_log;
mod error;
pub mod fields;
mod maintenance;
mod measurements;
mod numbers;
mod reader;
mod rows;
pub mod spent;
#[cfg(feature = "suite")]
pub mod suite;
mod transaction;
pub mod version;
mod writer;

use std::fmt::Debug;

pub use audit_log::{
    AspectChange, AuditEvent, AuditItem, AuditKey, AuditOutcome, AuditRange, AuditRecord,
};
pub use change_log::{BrowsedEntry, LogKey};
pub use docent_model::LogicalVersion;
pub use error::StoreError;
pub use maintenance::{
    EXPORT_PAGE_BYTES, EXPORT_PAGE_ITEMS, PRUNED_ITEMS, RebuildReport, StoreMaintenance,
};
pub use measurements::{PoolMeasurements, StoreMeasurements, WriterMeasurements};
pub use numbers::{CommitStamp, LogPosition, RowVersion};
pub use reader::{EntityAspects, ReadReply, ReadRequest, SHORT_READ_BYTES, StoreReader};
pub use rows::{
    AspectKey, AspectRow, AspectWrite, Effect, EntityTexts, ListPage, LogEntry, LogEntryKind,
    PointKey, PointRange, PointSize, RawAspect, RawPoint, RawRetiredVersion, RelatedEntity,
    RunAspect, RunSummary, StoredAspect, TimeseriesRow, VersionKey,
};
pub use transaction::{AbortReason, Transaction, TransactionBody};
pub use writer::{StoreWriter, transact};

/// An engine. All reads see the last committed write.
pub trait Store: StoreReader + StoreWriter + StoreMaintenance + Debug {}

impl<T: StoreReader + StoreWriter + StoreMaintenance + Debug> Store for T {}
