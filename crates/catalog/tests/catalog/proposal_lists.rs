//! Lists of proposals: who may decide them, without reading what they propose.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use docent_catalog::action_requests::{ActionRequestFilter, Verdict};
use docent_catalog::{Caller, Catalog, Proposal};
use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Derived, SystemClock, Urn};
use docent_store::{AspectKey, ReadReply, ReadRequest, Store, StoreError, transact, version};
use docent_test_store::{Intercept, InterceptedStore};
use serde_json::{Value, json};

use crate::access::{administrator, assign, domain_urn, policy, user, with_steward, write};
use crate::{Fixture, dataset, upsert, write_as_operator};

/// Counts how many texts of proposals are read.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    texts: AtomicUsize,
}

#[async_trait]
impl Intercept for Counting {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        let is_text = |key: &&AspectKey| key.aspect == AspectName::ACTION_REQUEST_INFO;
        let texts = request.rows.iter().filter(is_text).count();
        self.texts.fetch_add(texts, Ordering::SeqCst);
        self.inner.read(request).await
    }
}

struct World {
    fixture: Fixture,
    /// On the counting store, with view policies.
    catalog: Catalog,
    store: Arc<InterceptedStore<Counting>>,
}

impl World {
    /// Sam sees and edits Finance alone, and Nora nothing.
    async fn new() -> Self {
        let fixture = with_steward().await;
        for (name, role) in [("paula", "Proposer"), ("nora", "Reader")] {
            assign(&fixture, name, role).await;
        }
        let everything = json!([]);
        let paulas = json!({"users": [user("paula").actor()]});
        let views = ["VIEW_ENTITY_PAGE"];
        let mut setup = vec![policy("paula-views", &paulas, &views, &everything)];
        for id in ["view-entity-page-all", "reader-metadata-policy"] {
            let urn = Urn::new("dataHubPolicy", id).unwrap();
            setup.push(Proposal::new(urn, docent_catalog::Change::DeleteEntity));
        }
        write_as_operator(&fixture.catalog, setup).await;
        let store = Arc::new(InterceptedStore(Counting {
            inner: Arc::clone(&fixture.store),
            texts: AtomicUsize::new(0),
        }));
        let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, Arc::new(SystemClock));
        catalog.enforce_policies(None);
        catalog.enforce_view_policies();
        Self {
            fixture,
            catalog,
            store,
        }
    }

    async fn propose(&self, list: Vec<Proposal>) {
        write(&self.fixture, &user("paula"), list).await.unwrap();
    }

    /// How many proposals a caller finds, and how many texts were read for it.
    async fn listed(&self, caller: &Caller, filter: &ActionRequestFilter) -> (usize, usize) {
        let before = self.store.texts.load(Ordering::SeqCst);
        let seen = self.catalog.seen_by(caller).await.unwrap();
        let listed = seen.list_action_requests(caller, filter, 0, 0).await;
        let read = self.store.texts.load(Ordering::SeqCst) - before;
        (listed.unwrap().1, read)
    }

    /// Writes the summaries as versions did that stored nothing of what is proposed.
    async fn make_old(&self) {
        let aspect = AspectName::ACTION_REQUEST_PENDING;
        let store = &self.fixture.store;
        let listed = store.urns_list("actionRequest", aspect, None, 100).await;
        for urn in listed.unwrap() {
            let key = AspectKey::new(&urn, aspect);
            let row = store.read(ReadRequest::row(&key)).await.unwrap();
            let row = row.into_row().unwrap();
            let mut summary: Value = serde_json::from_str(&row.metadata).unwrap();
            assert!(summary["proposed"].take().is_array());
            summary.as_object_mut().unwrap().remove("proposed");
            for demand in summary["demands"].as_array_mut().unwrap() {
                demand.as_object_mut().unwrap().remove("moves");
            }
            let text = summary.to_string();
            transact::<(), StoreError, _>(store.as_ref(), move |tx| {
                let new = version::NewAspect {
                    metadata: text.clone(),
                    system_metadata: None,
                    stamp: AuditStamp::new(administrator().actor(), 1),
                    derived: Derived::default(),
                    retired_version: None,
                };
                let write = version::replace(key.clone(), Some(&row), new);
                Box::pin(async move { tx.write(&[write]).await })
            })
            .await
            .unwrap();
        }
    }
}

fn in_domain(name: &str, domain: &str) -> Proposal {
    let domains = json!({"domains": [domain_urn(domain)]});
    upsert(&dataset(name), "domains", &domains)
}

#[tokio::test]
async fn lists_of_proposals_read_no_texts() {
    let world = World::new().await;
    let hide = |name: &str| upsert(&dataset(name), "status", &json!({"removed": true}));
    // A change of something old, something new, and moves within Finance, out of it and into it.
    world.propose(vec![hide("ledger")]).await;
    world
        .propose(vec![hide("new"), in_domain("new", "accounting")])
        .await;
    world.propose(vec![in_domain("ledger", "finance")]).await;
    world.propose(vec![in_domain("ledger", "hr")]).await;
    world.propose(vec![in_domain("salaries", "finance")]).await;
    world
        .propose(vec![hide("elsewhere"), in_domain("elsewhere", "hr")])
        .await;
    let all = ActionRequestFilter::default();
    let own = ActionRequestFilter {
        concerns_caller: true,
        ..all.clone()
    };
    let (sam, nora) = (user("sam"), user("nora"));
    let expected = [(&sam, &all, 4), (&sam, &own, 3), (&nora, &all, 0)];
    for (caller, filter, total) in expected {
        assert_eq!(world.listed(caller, filter).await, (total, 0));
    }
    let admin = administrator();
    assert_eq!(world.listed(&admin, &own).await, (6, 0));
    // Those of older versions are read.
    world.make_old().await;
    for (caller, filter, total) in expected {
        let (found, read) = world.listed(caller, filter).await;
        assert_eq!(found, total);
        assert!(read > 0, "{caller:?} {filter:?}");
    }
    // So are no texts of those that were decided.
    let listed = world.catalog.list_action_requests(&admin, &all, 0, 20);
    let (requests, _) = listed.await.unwrap();
    let urns: Vec<Urn> = requests.into_iter().map(|it| it.urn).collect();
    let rejected = world
        .catalog
        .decide_action_requests(&admin, &urns, Verdict::Reject, None);
    rejected.await.unwrap();
    let decided = ActionRequestFilter {
        decided: true,
        ..all
    };
    for (caller, total) in [(&sam, 4), (&nora, 0), (&admin, 6)] {
        assert_eq!(world.listed(caller, &decided).await, (total, 0));
    }
}

#[tokio::test]
async fn what_decides_about_a_proposal_is_limited() {
    let world = World::new().await;
    let tags = (0..1_000).map(|number| json!({"tag": format!("urn:li:tag:a-long-name-{number}")}));
    let tags = json!({"tags": tags.collect::<Vec<_>>()});
    let many = |name: &str| upsert(&dataset(name), "globalTags", &tags);
    let paula = user("paula");
    let new = write(&world.fixture, &paula, vec![many("new")]).await;
    let error = new.unwrap_err();
    assert!(error.to_string().contains("at most 32768"), "{error}");
    // Tags of what exists decide nothing.
    world.propose(vec![many("ledger")]).await;
}
