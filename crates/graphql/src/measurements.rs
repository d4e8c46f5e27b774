//! What the engine counts, for administrators. Operations are counted by their first field, never
//! by name: clients choose names.
//!
//! The number of fields is that of the schema. A document knows its [`RootField`] once it is
//! parsed, so counting an operation looks nothing up.

use std::sync::OnceLock;
use std::time::Duration;

use apollo_compiler::ast::OperationType;
use docent_model::measure::{Counter, Distribution, Histogram};

const KINDS: [(OperationType, &str); 3] = [
    (OperationType::Query, "query"),
    (OperationType::Mutation, "mutation"),
    (OperationType::Subscription, "subscription"),
];
/// The field of operations that select none but those of introspection.
const NO_FIELD: &str = "-";

/// The counts since the server started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineMeasurements {
    /// Those of which there was an operation.
    pub operations: Vec<FieldMeasurements>,
    pub plan_cache: PlanCacheMeasurements,
}

/// The operations of a kind with the same first field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMeasurements {
    pub kind: &'static str,
    pub field: Box<str>,
    pub outcomes: [OutcomeCount; OUTCOMES],
    /// `None` if there was no [`crate::Engine::observe`].
    pub micros: Option<Distribution>,
}

/// How many operations had an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCount {
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

/// The kind of an operation and its first field, as an index in [`RootFields`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootField(usize);

impl RootField {
    /// Of a document that cannot be parsed, or has no such operation.
    pub(crate) const UNKNOWN: Self = Self(0);
}

/// The fields that operations may begin with.
#[derive(Debug)]
pub(crate) struct RootFields(Vec<(&'static str, Box<str>)>);

impl RootFields {
    pub(crate) fn new<'n>(names: impl Fn(OperationType) -> Vec<&'n str>) -> Self {
        let mut fields = vec![("unknown", NO_FIELD.into())];
        for (kind, kind_name) in KINDS {
            let mut names = names(kind);
            names.sort_unstable();
            let names = [NO_FIELD].into_iter().chain(names);
            fields.extend(names.map(|name| (kind_name, name.into())));
        }
        Self(fields)
    }

    /// The index of a field; without a name, that of an operation without fields of the schema.
    pub(crate) fn find(&self, kind: OperationType, name: Option<&str>) -> RootField {
        let kind = KINDS.iter().find(|(known, _)| *known == kind);
        let kind = kind.map(|(_, name)| *name);
        let name = name.unwrap_or(NO_FIELD);
        let is_same = |(of, field): &(&str, Box<str>)| Some(*of) == kind && **field == *name;
        let index = self.0.iter().position(is_same);
        index.map_or(RootField::UNKNOWN, RootField)
    }
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

const OUTCOMES: usize = Outcome::ALL.len();

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

/// The counts of each of the [`RootFields`].
#[derive(Debug)]
pub(crate) struct OperationCounters(Box<[FieldCounters]>);

#[derive(Debug, Default)]
struct FieldCounters {
    outcomes: [Counter; OUTCOMES],
    /// Most fields of the schema are never used.
    took: OnceLock<Histogram>,
}

impl OperationCounters {
    pub(crate) fn new(fields: &RootFields) -> Self {
        Self(fields.0.iter().map(|_| FieldCounters::default()).collect())
    }

    pub(crate) fn count(&self, field: RootField, outcome: Outcome) {
        if let Some(counters) = self.0.get(field.0) {
            counters.outcomes[outcome as usize].increment();
        }
    }

    pub(crate) fn observe(&self, field: RootField, took: Duration) {
        if let Some(counters) = self.0.get(field.0) {
            let histogram = counters.took.get_or_init(Histogram::of_durations);
            histogram.observe_duration(took);
        }
    }

    pub(crate) fn read(&self, fields: &RootFields) -> Vec<FieldMeasurements> {
        let fields = fields.0.iter().zip(&self.0);
        let read = fields.map(|((kind, field), counters)| FieldMeasurements {
            kind,
            field: field.clone(),
            outcomes: Outcome::ALL.map(|outcome| OutcomeCount {
                outcome: outcome.name(),
                count: counters.outcomes[outcome as usize].get(),
            }),
            micros: counters.took.get().map(Histogram::read),
        });
        let is_used = |it: &FieldMeasurements| {
            it.micros.is_some() || it.outcomes.iter().any(|outcome| outcome.count > 0)
        };
        read.filter(is_used).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Engine, Request};
    use docent_catalog::{Caller, Catalog};
    use docent_model::FixedClock;
    use docent_test_store::TestStore;
    use std::sync::Arc;

    /// The label of the field that a document is counted by.
    async fn counted_by(engine: &Engine, query: &str) -> (&'static str, String) {
        let prepared = engine.prepare(query, None).await;
        engine.observe(prepared.root_field(), Duration::from_micros(1));
        let counted = engine.measurements().operations.into_iter();
        let found = counted.filter(|it| {
            let observed = it.micros.as_ref().map(|it| it.counts.iter().sum::<u64>());
            observed == Some(1)
        });
        let [found] = found.collect::<Vec<_>>().try_into().unwrap();
        (found.kind, found.field.into())
    }

    #[tokio::test]
    async fn operations_are_counted_by_their_first_field_of_the_schema() {
        for (query, kind, field) in [
            (
                "query Any { __typename me { corpUser { urn } } }",
                "query",
                "me",
            ),
            (
                "{ ...A } fragment A on Query { ... { mine: me { corpUser { urn } } } }",
                "query",
                "me",
            ),
            (
                "mutation { createDomain(input: {name: \"a\"}) }",
                "mutation",
                "createDomain",
            ),
            ("{ __typename }", "query", "-"),
            ("{ noSuchField }", "unknown", "-"),
            ("not GraphQL", "unknown", "-"),
        ] {
            let engine = Engine::docent().unwrap();
            let counted = counted_by(&engine, query).await;
            assert_eq!(counted, (kind, field.to_owned()), "{query}");
        }
    }

    #[tokio::test]
    async fn outcomes_are_counted_for_each_field() {
        let engine = Engine::docent().unwrap();
        let store = TestStore::open().await.unwrap();
        let clock = Arc::new(FixedClock::at(1_700_000_000_000));
        let context = Context::new(Catalog::new(store.store(), clock), Caller::system());
        let query = "{ entityExists(urn: \"urn:li:tag:a\") }";
        for query in [query, query, "{ __typename }", "{"] {
            let request = Request {
                query,
                ..Request::default()
            };
            engine.execute(&context, request).await;
        }
        let counted = engine.measurements().operations.into_iter();
        let counted: Vec<_> = counted
            .map(|it| {
                (
                    it.kind,
                    it.field.into_string(),
                    it.outcomes.map(|it| it.count),
                )
            })
            .collect();
        let expected = [
            ("unknown", "-", [0, 0, 1]),
            ("query", "-", [1, 0, 0]),
            ("query", "entityExists", [2, 0, 0]),
        ];
        let expected = expected.map(|(kind, field, counts)| (kind, field.to_owned(), counts));
        assert_eq!(counted, expected);
    }
}
