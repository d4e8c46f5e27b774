//! What the engine counts, for administrators. Operations are counted by kind, never by name:
//! clients choose names.

use apollo_compiler::ast::OperationType;
use docent_model::measure::Counter;

/// The kinds of operations, with those that cannot be parsed.
const KINDS: [&str; 4] = ["query", "mutation", "subscription", "unknown"];

/// The counts since the server started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineMeasurements {
    pub operations: Vec<OperationCount>,
    pub plan_cache: PlanCacheMeasurements,
}

/// How many operations of a kind had an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationCount {
    pub kind: &'static str,
    pub outcome: &'static str,
    pub count: u64,
}

/// The cache of documents and their plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanCacheMeasurements {
    pub hits: u64,
    pub misses: u64,
    pub documents: u64,
    pub bytes: u64,
    pub max_bytes: u64,
}

/// How an operation has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    /// The reply has errors.
    Failed,
    /// It was not executed: it is invalid, or exceeds a limit.
    Rejected,
}

impl Outcome {
    const ALL: [Self; 3] = [Self::Succeeded, Self::Failed, Self::Rejected];

    fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "ok",
            Self::Failed => "error",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct OperationCounters([[Counter; 3]; KINDS.len()]);

impl OperationCounters {
    /// `None` for a document that cannot be parsed, or has no such operation.
    pub(crate) fn count(&self, kind: Option<OperationType>, outcome: Outcome) {
        let kind = match kind {
            Some(OperationType::Query) => 0,
            Some(OperationType::Mutation) => 1,
            Some(OperationType::Subscription) => 2,
            None => 3,
        };
        self.0[kind][outcome as usize].increment();
    }

    pub(crate) fn read(&self) -> Vec<OperationCount> {
        let kinds = KINDS.iter().zip(&self.0);
        let counts = kinds.flat_map(|(kind, counters)| {
            let outcomes = Outcome::ALL.into_iter().zip(counters);
            outcomes.map(|(outcome, counter)| OperationCount {
                kind,
                outcome: outcome.name(),
                count: counter.get(),
            })
        });
        counts.collect()
    }
}
