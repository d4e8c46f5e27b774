//! Changes of long values, computed before the transaction that stores them.
//!
//! Parsing, patching and checking a value of 16 MiB takes most of a second, and other writers wait
//! for a transaction. So a list that changes long values ends its first transaction where it meets
//! them, without effect. It then computes these changes outside, from the stored values, and runs
//! again. If a value is another one by then, the transaction computes that change itself.
//!
//! Lists with long values run one at a time ([`LANE`]): they wait for each other, not others for
//! them, and their parsed values, which take several times the memory of their texts, exist once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use docent_model::aspects::AuditStamp;
use docent_model::patch::PatchBudget;
use docent_store::{AspectKey, ReadRequest, StoredAspect};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::batch::Current;
use super::prepare::{Payload, Prepared};
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::proposal::Change;
use crate::{Catalog, Error};

/// All long values of a list that are parsed outside its transaction, together: a little more than
/// the largest one.
const MAX_BYTES: usize = 20 * 1024 * 1024;

static LANE: Semaphore = Semaphore::const_new(1);

/// What was computed ahead of a transaction, and what should have been.
#[derive(Default)]
pub(super) struct Ahead {
    /// `None` if the transaction has to compute everything that is not here.
    requested: Option<Mutex<Vec<LongChange>>>,
    computed: HashMap<AspectKey, Computed>,
}

/// A change of a long value, by its index in the list.
pub(super) struct LongChange {
    pub(super) index: usize,
    pub(super) key: AspectKey,
}

struct Computed {
    index: usize,
    current: Arc<Current>,
    change: ComputedChange,
}

pub(super) enum ComputedChange {
    /// Only the stored value was parsed, for the comparison with the new one.
    None,
    Unchanged,
    Changed(Arc<Payload>),
    /// Returned once; a retry of the transaction finds the error itself.
    Failed(Mutex<Option<Error>>),
}

impl Ahead {
    /// For a first transaction.
    pub(super) fn on_request() -> Self {
        Self {
            requested: Some(Mutex::default()),
            computed: HashMap::new(),
        }
    }

    pub(super) fn is_on_request(&self) -> bool {
        self.requested.is_some()
    }

    /// Ends the transaction.
    pub(super) fn request(&self, changes: Vec<LongChange>) -> Error {
        if let Some(requested) = &self.requested {
            *requested.lock().unwrap_or_else(PoisonError::into_inner) = changes;
        }
        Error::unavailable("the changes of long values were not computed")
    }

    /// What the transaction has requested; empty if it has not ended for that.
    pub(super) fn requested(&self) -> Vec<LongChange> {
        self.requested.as_ref().map_or_else(Vec::new, |requested| {
            std::mem::take(&mut *requested.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// The stored value, parsed already if this row was.
    pub(super) fn current(&self, key: &AspectKey, row: Option<Arc<StoredAspect>>) -> Arc<Current> {
        match self.computed.get(key) {
            Some(computed) if computed.current.row() == row.as_ref() => {
                Arc::clone(&computed.current)
            }
            _ => Arc::new(Current::new(row)),
        }
    }

    /// The result of an item for this stored value, if it was computed.
    pub(super) fn change(
        &self,
        index: usize,
        key: &AspectKey,
        current: &Arc<Current>,
    ) -> Option<&ComputedChange> {
        let computed = self.computed.get(key)?;
        let is_same = computed.index == index && Arc::ptr_eq(&computed.current, current);
        is_same.then_some(&computed.change)
    }
}

/// Waits for other lists with long values. The turn ends when the permit is dropped, which is after
/// the list was stored.
pub(super) async fn take_turn() -> Result<SemaphorePermit<'static>, Error> {
    LANE.acquire().await.map_err(Error::internal)
}

impl Catalog {
    /// Computes the changes of long values of a list.
    pub(super) async fn compute_ahead(
        &self,
        prepared: &[Prepared],
        changes: Vec<LongChange>,
        stamp: &AuditStamp,
    ) -> Result<Ahead, Error> {
        // Lists before this one may have changed the values.
        let keys: Vec<AspectKey> = changes.iter().map(|change| change.key.clone()).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let compute = || {
            let work = PatchBudget::default();
            let mut bytes = 0;
            let mut computed = HashMap::new();
            for (LongChange { index, key }, row) in changes.into_iter().zip(rows) {
                bytes += row.as_ref().map_or(0, |row| row.metadata.len());
                if bytes > MAX_BYTES {
                    break;
                }
                let current = Arc::new(Current::new(row));
                let change = compute(&prepared[index], &key, &current, stamp, &work);
                let entry = Computed {
                    index,
                    current,
                    change,
                };
                computed.insert(key, entry);
            }
            Ahead {
                requested: None,
                computed,
            }
        };
        Ok(long_work::run(true, compute).await)
    }
}

fn compute(
    item: &Prepared,
    key: &AspectKey,
    current: &Current,
    stamp: &AuditStamp,
    work: &PatchBudget,
) -> ComputedChange {
    let (entity, aspect) = (item.entity, key.aspect);
    let changed = match &item.proposal.change {
        Change::Patch { patch, .. } => current
            .patched(entity, aspect, patch, stamp, work)
            .map(Some),
        Change::Edit { edit, .. } => current.edited(entity, aspect, edit, stamp),
        _ => {
            current.readable();
            return ComputedChange::None;
        }
    };
    match changed {
        Ok(None) => ComputedChange::Unchanged,
        Ok(Some(payload)) => {
            payload.text();
            payload.derived(key);
            ComputedChange::Changed(Arc::new(payload))
        }
        Err(error) => ComputedChange::Failed(Mutex::new(Some(error))),
    }
}

/// Whether a text is long enough to be parsed outside the transaction.
pub(super) fn is_long(row: &StoredAspect) -> bool {
    row.metadata.len() > LONG_TEXT_BYTES
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use docent_model::patch::Patch;
    use docent_model::{AspectName, FixedClock, Urn};
    use docent_store::{Store, StoreError, TransactionBody};
    use docent_test_store::{Intercept, InterceptedStore, TestStore};
    use serde_json::{Value, json};

    use super::*;
    use crate::apply::json::conversions;
    use crate::{Caller, ErrorKind, Proposal};

    const ASPECT: AspectName = AspectName::EDITABLE_DATASET_PROPERTIES;

    /// Counts conversions of a text inside transactions, and lets others write before one of them.
    struct Watched {
        inner: Arc<dyn Store>,
        text: String,
        transactions: AtomicUsize,
        conversions: AtomicUsize,
        others: Catalog,
        others_write: Mutex<Option<(usize, Vec<Proposal>)>>,
    }

    impl fmt::Debug for Watched {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("Watched")
        }
    }

    #[async_trait]
    impl Intercept for Watched {
        fn inner(&self) -> &dyn Store {
            self.inner.as_ref()
        }

        async fn run_transaction(&self, body: Box<dyn TransactionBody>) -> Result<(), StoreError> {
            let number = self.transactions.fetch_add(1, Ordering::SeqCst) + 1;
            let write = {
                let mut write = self.others_write.lock().unwrap();
                write.take_if(|(before, _)| *before == number)
            };
            if let Some((_, write)) = write {
                let written = self.others.apply(&Caller::system(), write).await;
                written.map_err(|error| StoreError::other(error.to_string()))?;
            }
            let before = conversions::of(&self.text);
            let ran = self.inner.run_transaction(body).await;
            let conversions = conversions::of(&self.text) - before;
            self.conversions.fetch_add(conversions, Ordering::SeqCst);
            ran
        }
    }

    struct Setup {
        _test_store: TestStore,
        store: Arc<InterceptedStore<Watched>>,
        catalog: Catalog,
        urn: Urn,
    }

    impl Setup {
        /// Stores a long value. The name makes its text unique among the tests of this process.
        async fn new(name: &str, others_write: Option<(usize, Value)>) -> Self {
            let test_store = TestStore::open().await.unwrap();
            let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)");
            let urn = Urn::parse(&urn).unwrap();
            let clock = Arc::new(FixedClock::at(1));
            let others = Catalog::new(test_store.store(), clock.clone());
            let text = json!({"description": name.repeat(100_000)}).to_string();
            let write = Proposal::upsert(urn.clone(), ASPECT, text.clone());
            others.apply(&Caller::system(), vec![write]).await.unwrap();
            // Deleted first, because a change of a long value would wait for its turn.
            let others_write = others_write.map(|(number, value)| {
                let delete = Proposal::new(urn.clone(), Change::DeleteAspect { aspect: ASPECT });
                let write = Proposal::upsert(urn.clone(), ASPECT, value.to_string());
                (number, vec![delete, write])
            });
            let store = Arc::new(InterceptedStore(Watched {
                inner: test_store.store(),
                text,
                transactions: AtomicUsize::default(),
                conversions: AtomicUsize::default(),
                others,
                others_write: Mutex::new(others_write),
            }));
            let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
            Self {
                _test_store: test_store,
                store,
                catalog,
                urn,
            }
        }

        fn patch(&self, operations: Value) -> Proposal {
            let patch = Arc::new(Patch::from_value(operations).unwrap());
            let aspect = ASPECT;
            Proposal::new(self.urn.clone(), Change::Patch { aspect, patch })
        }

        async fn apply(&self, proposal: Proposal) -> Result<(), Error> {
            let caller = Caller::system();
            self.catalog.apply(&caller, vec![proposal]).await.map(drop)
        }

        async fn stored(&self) -> Value {
            let key = AspectKey::new(&self.urn, ASPECT);
            let read = self.catalog.read(ReadRequest::row(&key)).await.unwrap();
            serde_json::from_str(&read.into_row().unwrap().metadata).unwrap()
        }

        fn counts(&self) -> (usize, usize) {
            let transactions = self.store.transactions.load(Ordering::SeqCst);
            (transactions, self.store.conversions.load(Ordering::SeqCst))
        }
    }

    #[tokio::test]
    async fn long_values_are_changed_outside_the_transaction() {
        let setup = Setup::new("patched", None).await;
        let name = json!([{"op": "add", "path": "/name", "value": "n"}]);
        setup.apply(setup.patch(name)).await.unwrap();
        assert_eq!(setup.counts(), (2, 0));
        assert_eq!(setup.stored().await["name"], "n");

        let setup = Setup::new("edited", None).await;
        let edit = Proposal::edit(setup.urn.clone(), ASPECT, |current: Option<Value>, _| {
            let description = current.unwrap_or_default()["description"].clone();
            Ok(json!({"description": description, "name": "edited"}))
        });
        setup.apply(edit).await.unwrap();
        assert_eq!(setup.counts(), (2, 0));
        assert_eq!(setup.stored().await["name"], "edited");

        let setup = Setup::new("replaced", None).await;
        let text = r#"{"name":"replaced"}"#.to_owned();
        let replace = Proposal::upsert(setup.urn.clone(), ASPECT, text);
        setup.apply(replace).await.unwrap();
        assert_eq!(setup.counts(), (2, 0));
        assert_eq!(setup.stored().await, json!({"name": "replaced"}));

        // An error is that of the patch, and is not found again inside.
        let setup = Setup::new("rejected", None).await;
        let failing = json!([{"op": "test", "path": "/name", "value": "n"}]);
        let rejected = setup.apply(setup.patch(failing)).await.unwrap_err();
        assert_eq!(setup.counts(), (2, 0));
        assert!(rejected.to_string().contains("/name"), "{rejected}");
    }

    /// Others write before the first transaction, before the second one when the value was already
    /// changed outside, and never.
    #[tokio::test]
    async fn a_long_value_that_others_change_meanwhile_is_changed_as_it_is_then() {
        for before in [1, 2, 3] {
            let others = json!({"name": "of others", "description": "short"});
            let name = format!("meanwhile{before}");
            let setup = Setup::new(&name, Some((before, others))).await;
            let description = json!([{"op": "add", "path": "/description", "value": "mine"}]);
            setup.apply(setup.patch(description)).await.unwrap();
            let stored = setup.stored().await;
            assert_eq!(stored["description"], "mine");
            let is_kept = stored["name"] == "of others";
            assert_eq!(is_kept, before < 3, "{before}: {stored}");
        }
    }

    /// A list with a long value may wait for minutes.
    #[tokio::test]
    async fn a_list_that_waited_for_its_turn_has_the_rights_of_that_time() {
        let setup = Setup::new("waiting", None).await;
        setup.catalog.enforce_policies(None);
        let bea = Urn::parse("urn:li:corpuser:bea").unwrap();
        let policy = Urn::parse("urn:li:dataHubPolicy:beas").unwrap();
        let info = json!({
            "displayName": "b", "description": "", "type": "METADATA", "state": "ACTIVE",
            "privileges": ["EDIT_ENTITY"], "actors": {"users": [bea]},
        });
        let grant = Proposal::upsert(policy.clone(), AspectName::POLICY_INFO, info.to_string());
        setup.apply(grant).await.unwrap();
        let before = setup.counts().0;
        let turn = take_turn().await.unwrap();
        let name = setup.patch(json!([{"op": "add", "path": "/name", "value": "n"}]));
        let catalog = setup.catalog.clone();
        let waiting = tokio::spawn(async move {
            let caller = Caller::new(bea);
            catalog.apply(&caller, vec![name]).await.map(drop)
        });
        // Its first transaction finds the long value.
        while setup.counts().0 == before {
            tokio::task::yield_now().await;
        }
        let revoke = Proposal::new(policy, Change::DeleteEntity);
        setup.apply(revoke).await.unwrap();
        drop(turn);
        let denied = waiting.await.unwrap().unwrap_err();
        assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
        assert_eq!(setup.stored().await["name"], Value::Null);
    }
}
