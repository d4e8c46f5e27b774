//! What an engine counts, for administrators.

use docent_model::measure::Distribution;

/// The counts of one open store since it was opened. Those of other engines are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreMeasurements {
    pub writer: Option<WriterMeasurements>,
    pub pool: Option<PoolMeasurements>,
}

/// An engine with one writer and group commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterMeasurements {
    /// Transactions that wait for the writer.
    pub queued: u64,
    /// More are rejected.
    pub max_queued: u64,
    /// Transactions that ran, including failed ones.
    pub transactions: u64,
    /// How many transactions shared a commit that wrote something.
    pub commit_transactions: Distribution,
    /// How long such a commit took until it was durable, in microseconds.
    pub commit_micros: Distribution,
}

/// An engine with a pool of connections to a database server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolMeasurements {
    pub max_connections: u64,
    pub used_connections: u64,
    pub idle_connections: u64,
    /// Callers that wait for a connection.
    pub waiting: u64,
    /// How long callers waited for one, in microseconds.
    pub wait_micros: Distribution,
    /// Transactions that ran, including failed ones.
    pub transactions: u64,
    /// Attempts that were repeated after a conflict with another transaction.
    pub retries: u64,
}
