//! Rows as column arrays, the form in which statements take them.
//!
//! `A` is the type of aspect names: `&'static str` from the registry, or `String` for imports.

use docent_model::EpochMillis;
use docent_store::{AspectKey, LogicalVersion, RowVersion, StoredAspect, TimeseriesRow};
use tokio_postgres::types::ToSql;

use crate::pool::Step;
use crate::values::{Timestamp, storable};

/// The name of an aspect.
pub(crate) trait Aspect: ToSql + Sync + Send + 'static {}

impl Aspect for &'static str {}
impl Aspect for String {}

#[derive(Debug)]
pub(crate) struct Keys<A = &'static str> {
    pub(crate) urns: Vec<String>,
    pub(crate) aspects: Vec<A>,
}

impl<A> Default for Keys<A> {
    fn default() -> Self {
        Self {
            urns: Vec::new(),
            aspects: Vec::new(),
        }
    }
}

impl<A> Keys<A> {
    fn add(&mut self, (urn, aspect): (String, A)) {
        self.urns.push(urn);
        self.aspects.push(aspect);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.urns.is_empty()
    }
}

impl Keys {
    pub(crate) fn push(&mut self, key: &AspectKey) {
        self.add(texts(key));
    }
}

fn texts(key: &AspectKey) -> (String, &'static str) {
    (key.urn.to_string(), key.aspect.as_str())
}

/// Tables have 0 for no version.
fn stored_version(version: Option<LogicalVersion>) -> i64 {
    version.map_or(0, LogicalVersion::get)
}

/// Rows of the table of aspects.
#[derive(Debug)]
pub(crate) struct Rows<A = &'static str> {
    keys: Keys<A>,
    versions: Vec<i64>,
    metadata: Vec<String>,
    system_metadata: Vec<Option<String>>,
    created_on: Vec<Timestamp>,
    created_by: Vec<String>,
    created_for: Vec<Option<String>>,
}

impl<A> Default for Rows<A> {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            versions: Vec::new(),
            metadata: Vec::new(),
            system_metadata: Vec::new(),
            created_on: Vec::new(),
            created_by: Vec::new(),
            created_for: Vec::new(),
        }
    }
}

impl<A: Aspect> Rows<A> {
    pub(crate) fn add(&mut self, key: (String, A), version: RowVersion, row: StoredAspect) {
        self.keys.add(key);
        self.versions.push(version.get());
        self.metadata.push(row.metadata);
        self.system_metadata.push(row.system_metadata);
        self.created_on.push(Timestamp(row.created_on_ms));
        self.created_by.push(row.created_by);
        self.created_for.push(row.created_for);
    }

    /// The statement for these rows, or `None` if there are none.
    pub(crate) fn step(self, sql: &'static str) -> Option<Step> {
        (!self.keys.is_empty()).then(|| {
            Step::new(
                sql,
                vec![
                    Box::new(self.keys.urns),
                    Box::new(self.keys.aspects),
                    Box::new(self.versions),
                    Box::new(self.metadata),
                    Box::new(self.system_metadata),
                    Box::new(self.created_on),
                    Box::new(self.created_by),
                    Box::new(self.created_for),
                ],
            )
        })
    }
}

impl Rows {
    pub(crate) fn push(&mut self, key: &AspectKey, version: RowVersion, row: &StoredAspect) {
        self.add(texts(key), version, row.clone());
    }
}

/// Last versions of deleted aspects, which must not be used again.
#[derive(Debug)]
pub(crate) struct Retired<A = &'static str> {
    keys: Keys<A>,
    versions: Vec<i64>,
}

impl<A> Default for Retired<A> {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            versions: Vec::new(),
        }
    }
}

impl<A: Aspect> Retired<A> {
    pub(crate) fn add(&mut self, key: (String, A), version: Option<LogicalVersion>) {
        self.keys.add(key);
        self.versions.push(stored_version(version));
    }

    /// The statement for these rows, or `None` if there are none.
    pub(crate) fn step(self, sql: &'static str) -> Option<Step> {
        let Self { keys, versions } = self;
        (!versions.is_empty()).then(|| {
            Step::new(
                sql,
                vec![
                    Box::new(keys.urns),
                    Box::new(keys.aspects),
                    Box::new(versions),
                ],
            )
        })
    }
}

impl Retired {
    pub(crate) fn push(&mut self, key: &AspectKey, version: Option<LogicalVersion>) {
        self.add(texts(key), version);
    }
}

/// Points of time series.
#[derive(Debug)]
pub(crate) struct Points<A = &'static str> {
    keys: Keys<A>,
    times_ms: Vec<EpochMillis>,
    ids: Vec<String>,
    metadata: Vec<String>,
    system_metadata: Vec<Option<String>>,
}

impl<A> Default for Points<A> {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            times_ms: Vec::new(),
            ids: Vec::new(),
            metadata: Vec::new(),
            system_metadata: Vec::new(),
        }
    }
}

impl<A: Aspect> Points<A> {
    pub(crate) fn add(&mut self, key: (String, A), point: TimeseriesRow) {
        self.keys.add(key);
        self.times_ms.push(point.time_ms);
        self.ids.push(storable(&point.id));
        self.metadata.push(point.metadata);
        self.system_metadata.push(point.system_metadata);
    }

    /// The statement for these rows, or `None` if there are none.
    pub(crate) fn step(self, sql: &'static str) -> Option<Step> {
        (!self.keys.is_empty()).then(|| {
            Step::new(
                sql,
                vec![
                    Box::new(self.keys.urns),
                    Box::new(self.keys.aspects),
                    Box::new(self.times_ms),
                    Box::new(self.ids),
                    Box::new(self.metadata),
                    Box::new(self.system_metadata),
                ],
            )
        })
    }
}

impl Points {
    pub(crate) fn push(&mut self, key: &AspectKey, point: &TimeseriesRow) {
        self.add(texts(key), point.clone());
    }
}

/// Entries of the change log.
#[derive(Debug)]
pub(crate) struct Entries<A = &'static str> {
    keys: Keys<A>,
    kinds: Vec<&'static str>,
    versions: Vec<i64>,
    times_ms: Vec<EpochMillis>,
    actors: Vec<String>,
    runs: Vec<Option<String>>,
}

impl<A> Default for Entries<A> {
    fn default() -> Self {
        Self {
            keys: Keys::default(),
            kinds: Vec::new(),
            versions: Vec::new(),
            times_ms: Vec::new(),
            actors: Vec::new(),
            runs: Vec::new(),
        }
    }
}

impl<A: Aspect> Entries<A> {
    pub(crate) fn add(
        &mut self,
        key: (String, A),
        kind: &'static str,
        version: Option<LogicalVersion>,
        time_ms: EpochMillis,
        (actor, run): (String, Option<String>),
    ) {
        self.keys.add(key);
        self.kinds.push(kind);
        self.versions.push(stored_version(version));
        self.times_ms.push(time_ms);
        self.actors.push(actor);
        self.runs.push(run);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// `number` assigns the transaction number for these entries, `log` writes them.
    pub(crate) fn steps(self, number: &'static str, log: &'static str) -> [Step; 2] {
        let count = i32::try_from(self.keys.urns.len()).unwrap_or(i32::MAX);
        [
            Step::new(number, vec![Box::new(count)]),
            Step::new(
                log,
                vec![
                    Box::new(self.keys.urns),
                    Box::new(self.keys.aspects),
                    Box::new(self.kinds),
                    Box::new(self.versions),
                    Box::new(self.times_ms),
                    Box::new(self.actors),
                    Box::new(self.runs),
                ],
            ),
        ]
    }
}
