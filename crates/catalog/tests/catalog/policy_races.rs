//! Decisions about policies and proposals that must be made inside the transaction of the write:
//! with failures between transactions, and with other writers in between.

use std::sync::Arc;

use docent_catalog::action_requests::{ActionRequestFilter, Verdict};
use docent_catalog::descriptions::NewDescription;
use docent_catalog::groups::MemberChange;
use docent_catalog::policies::{NewPolicy, PolicyActors};
use docent_catalog::tokens::{NewToken, TokenScope};
use docent_catalog::{Caller, Catalog, Change, ConflictReason, Error, ErrorKind, Proposal};
use docent_model::{AspectName, Derived, FixedClock, Registry, Urn};
use docent_store::{AspectKey, ReadRequest, Store, StoreError, transact, version};
use docent_test_store::{InterceptedStore, TestStore};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::interrupted::Interrupted;
use crate::{dataset, domain, upsert, write_as_operator};

/// A catalog on an interrupted store, and another one that writes meanwhile.
struct World {
    catalog: Catalog,
    other: Catalog,
    store: Arc<InterceptedStore<Interrupted>>,
    _test_store: TestStore,
}

impl World {
    async fn new() -> Self {
        let test_store = TestStore::open().await.unwrap();
        let inner = test_store.store();
        let clock = Arc::new(FixedClock::at(1_790_000_000_000));
        let other = Catalog::new(Arc::clone(&inner), clock.clone());
        other.ensure_policies().await.unwrap();
        let store = Interrupted::store(inner);
        let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
        let reader = Urn::new("dataHubRole", "Reader").unwrap();
        for catalog in [&catalog, &other] {
            catalog.enforce_policies(Some(&reader));
        }
        Self {
            catalog,
            other,
            store,
            _test_store: test_store,
        }
    }

    fn allow_transactions(&self, number: usize) {
        self.store.allow_transactions(number);
    }

    async fn before_next(&self, step: impl Future<Output = ()> + Send + 'static) {
        self.store.before_next(step).await;
    }

    async fn write(&self, proposals: Vec<Proposal>) {
        write_as_operator(&self.other, proposals).await;
    }

    async fn delete(&self, urn: &Urn) -> Result<(), Error> {
        let delete = Proposal::new(urn.clone(), Change::DeleteEntity);
        let system = Caller::system();
        self.catalog.ingest(&system, vec![delete]).await.map(drop)
    }

    async fn policy_text(&self, policy: &Urn) -> String {
        let key = AspectKey::new(policy, AspectName::POLICY_INFO);
        let row = self.store.inner.read(ReadRequest::row(&key)).await.unwrap();
        row.into_row().unwrap().metadata.clone()
    }

    async fn aspect(&self, urn: &Urn, aspect: &str) -> Value {
        let aspect = Registry::get().aspect(aspect).unwrap();
        let key = AspectKey::new(urn, aspect);
        let row = self.store.inner.read(ReadRequest::row(&key)).await.unwrap();
        serde_json::from_str(&row.into_row().unwrap().metadata).unwrap()
    }

    async fn names(&self, policy: &Urn, entity: &Urn) -> bool {
        let value: Value = serde_json::from_str(&self.policy_text(policy).await).unwrap();
        value.to_string().contains(entity.as_str())
    }

    async fn exists(&self, urn: &Urn) -> bool {
        self.other.exists(std::slice::from_ref(urn)).await.unwrap()[0]
    }
}

fn user(name: &str) -> Caller {
    Caller::new(Urn::new("corpuser", name).unwrap())
}

fn administrator() -> Caller {
    user("datahub")
}

fn group(name: &str) -> (Urn, Proposal) {
    let urn = Urn::new("corpGroup", name).unwrap();
    let info = json!({"displayName": name, "admins": [], "members": [], "groups": []});
    let proposal = upsert(&urn, "corpGroupInfo", &info);
    (urn, proposal)
}

fn new_domain(name: &str) -> (Urn, Proposal) {
    let urn = domain(name);
    let value = json!({"name": name, "description": ""});
    let proposal = upsert(&urn, "domainProperties", &value);
    (urn, proposal)
}

/// A policy about everything for these actors.
fn policy(name: &str, actors: &Value, privileges: &[&str]) -> (Urn, Proposal) {
    let urn = Urn::new("dataHubPolicy", name).unwrap();
    let value = json!({
        "displayName": name, "description": "", "type": "METADATA", "state": "ACTIVE",
        "editable": true, "actors": actors, "privileges": privileges,
    });
    let proposal = upsert(&urn, "dataHubPolicyInfo", &value);
    (urn, proposal)
}

/// The input of a policy for groups.
fn for_groups(groups: &[&Urn]) -> NewPolicy {
    NewPolicy {
        name: "for groups".to_owned(),
        state: "ACTIVE".to_owned(),
        privileges: vec!["EDIT_ENTITY".to_owned()],
        actors: PolicyActors {
            groups: groups.iter().map(|it| (*it).clone()).collect(),
            ..PolicyActors::default()
        },
        ..NewPolicy::default()
    }
}

/// It would wait for the locks of a server that was killed, if only for its unchanged policies.
#[tokio::test]
async fn a_start_on_a_prepared_store_writes_nothing() {
    let world = World::new().await;
    let system = Caller::system();
    let types = world.other.add_built_in_ownership_types(&system).await;
    types.unwrap();
    world.allow_transactions(0);
    let types = world.catalog.add_built_in_ownership_types(&system).await;
    types.unwrap();
    world.catalog.ensure_policies().await.unwrap();
}

#[tokio::test]
async fn a_deletion_and_the_removal_of_its_grants_are_one_transaction() {
    let world = World::new().await;
    let (urn, new_group) = group("g");
    let (policy, new_policy) = policy("p", &json!({"groups": [urn]}), &["EDIT_ENTITY"]);
    world.write(vec![new_group, new_policy]).await;
    world.allow_transactions(0);
    world.delete(&urn).await.unwrap_err();
    assert!(world.exists(&urn).await && world.names(&policy, &urn).await);
    world.allow_transactions(1);
    world.delete(&urn).await.unwrap();
    assert!(!world.exists(&urn).await && !world.names(&policy, &urn).await);
}

#[tokio::test]
async fn a_deletion_in_several_transactions_removes_grants_with_the_last() {
    let world = World::new().await;
    let (urn, new_domain) = new_domain("d");
    world.write(vec![new_domain]).await;
    let steward = Urn::new("corpGroup", "stewards").unwrap();
    let policy = Urn::new("dataHubPolicy", "p").unwrap();
    let value = json!({
        "displayName": "p", "description": "", "type": "METADATA", "state": "ACTIVE",
        "editable": true, "actors": {"groups": [steward]}, "privileges": ["EDIT_ENTITY"],
        "resources": {"filter": {"criteria": [
            {"field": "DOMAIN", "values": [urn], "condition": "EQUALS"},
        ]}},
    });
    world
        .write(vec![upsert(&policy, "dataHubPolicyInfo", &value)])
        .await;
    let members = (0..450).map(|number| {
        let domains = json!({"domains": [urn]});
        upsert(&dataset(number), "domains", &domains)
    });
    world.write(members.collect()).await;
    world.allow_transactions(2);
    world.delete(&urn).await.unwrap_err();
    assert!(world.exists(&urn).await && world.names(&policy, &urn).await);
    // The same call continues.
    world.allow_transactions(1);
    world.delete(&urn).await.unwrap();
    assert!(!world.exists(&urn).await && !world.names(&policy, &urn).await);
}

#[tokio::test]
async fn a_group_is_deleted_with_its_memberships() {
    let world = World::new().await;
    let ((urn, new_group), (other, new_other)) = (group("g"), group("other"));
    world.write(vec![new_group, new_other]).await;
    let kinds = [
        ("nativeGroupMembership", "nativeGroups"),
        ("groupMembership", "groups"),
    ];
    let member = |number: usize| {
        let (aspect, list) = kinds[number % 2];
        (user(&format!("u{number}")).actor().clone(), aspect, list)
    };
    let memberships = (0..450).map(|number| {
        let (user, aspect, list) = member(number);
        upsert(&user, aspect, &json!({list: [urn, other]}))
    });
    world.write(memberships.collect()).await;
    world.allow_transactions(2);
    world.delete(&urn).await.unwrap_err();
    assert!(world.exists(&urn).await);
    world.allow_transactions(1);
    world.delete(&urn).await.unwrap();
    assert!(!world.exists(&urn).await);
    for number in 0..450 {
        let (user, aspect, list) = member(number);
        assert_eq!(world.aspect(&user, aspect).await[list], json!([other]));
    }
}

#[tokio::test]
async fn a_member_who_is_added_while_the_group_is_removed_does_not_stay() {
    let world = World::new().await;
    let (urn, new_group) = group("g");
    let member = user("rita").actor().clone();
    let info = upsert(&member, "corpUserInfo", &json!({"active": true}));
    world.write(vec![new_group, info]).await;
    let (other, group, users) = (world.other.clone(), urn.clone(), [member.clone()]);
    let add = async move {
        let (admin, add) = (administrator(), MemberChange::Add);
        let added = other.change_group_members(&admin, &group, &users, add);
        added.await.unwrap();
    };
    world.before_next(add).await;
    let removed = world.catalog.remove_group(&administrator(), &urn).await;
    removed.unwrap();
    assert!(!world.exists(&urn).await);
    let left = world.aspect(&member, "nativeGroupMembership").await;
    assert_eq!(left["nativeGroups"], json!([]));
}

/// Datasets that all of these own.
fn owned(count: usize, owners: &[&Urn]) -> Vec<Proposal> {
    let owners: Vec<Value> = owners
        .iter()
        .map(|owner| json!({"owner": owner, "type": "DATAOWNER"}))
        .collect();
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let value = json!({"owners": owners, "lastModified": stamp});
    let ownership = |number| upsert(&dataset(number), "ownership", &value);
    (0..count).map(ownership).collect()
}

impl World {
    async fn owners(&self, number: usize) -> Vec<Urn> {
        let ownership = self.aspect(&dataset(number), "ownership").await;
        let owners = ownership["owners"].as_array().unwrap().iter();
        owners
            .map(|it| Urn::parse(it["owner"].as_str().unwrap()).unwrap())
            .collect()
    }
}

/// A new user or group of the same name owns nothing.
#[tokio::test]
async fn a_user_or_group_is_deleted_with_its_ownerships() {
    let ((team, new_group), (other, new_other)) = (group("g"), group("other"));
    let ada = user("ada").actor().clone();
    let info = upsert(&ada, "corpUserInfo", &json!({"active": true}));
    for (urn, new) in [(team, new_group), (ada, info)] {
        let world = World::new().await;
        world.write(vec![new, new_other.clone()]).await;
        world.write(owned(450, &[&urn, &other])).await;
        world.allow_transactions(2);
        world.delete(&urn).await.unwrap_err();
        assert!(world.exists(&urn).await);
        world.allow_transactions(1);
        world.delete(&urn).await.unwrap();
        assert!(!world.exists(&urn).await);
        for number in 0..450 {
            assert_eq!(world.owners(number).await, std::slice::from_ref(&other));
        }
    }
}

#[tokio::test]
async fn an_owner_that_is_added_while_the_group_is_removed_does_not_stay() {
    let world = World::new().await;
    let (urn, new_group) = group("g");
    world.write(vec![new_group]).await;
    let (other, owned) = (world.other.clone(), owned(1, &[&urn]));
    world
        .before_next(async move { write_as_operator(&other, owned).await })
        .await;
    let removed = world.catalog.remove_group(&administrator(), &urn).await;
    removed.unwrap();
    assert!(!world.exists(&urn).await);
    assert_eq!(world.owners(0).await, []);
}

/// The last transaction would find out, but the others would be committed.
#[tokio::test]
async fn a_denied_deletion_in_several_transactions_changes_nothing() {
    let world = World::new().await;
    let (ada, eve) = (user("ada").actor().clone(), user("eve"));
    let actors = json!({"users": [eve.actor()]});
    let (_, deleters) = policy("deleters", &actors, &["DELETE_ENTITY"]);
    let member = upsert(
        &ada,
        "groupMembership",
        &json!({"groups": ["urn:li:corpGroup:g"]}),
    );
    world.write(vec![member, deleters]).await;
    world.write(owned(450, &[&ada])).await;
    let delete = Proposal::new(ada.clone(), Change::DeleteEntity);
    let denied = world.catalog.ingest(&eve, vec![delete]).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
    for number in 0..450 {
        assert_eq!(world.owners(number).await, std::slice::from_ref(&ada));
    }
}

#[tokio::test]
async fn damaged_policies_do_not_keep_entities_from_being_deleted() {
    let world = World::new().await;
    let tag = Urn::new("tag", "t").unwrap();
    let properties = upsert(&tag, "tagProperties", &json!({"name": "t"}));
    world.write(vec![properties]).await;
    // Without required members, and not JSON at all; with escapes, so that they may name the tag.
    let texts = [
        r#"{"actors": {}, "description": "a\\b urn:li:tag:t"}"#,
        r"not JSON \ urn:li:tag:t",
    ];
    for (number, text) in texts.iter().enumerate() {
        let urn = Urn::new("dataHubPolicy", &format!("damaged{number}")).unwrap();
        let key = AspectKey::new(&urn, AspectName::POLICY_INFO);
        let text = (*text).to_owned();
        transact::<(), StoreError, _>(world.store.inner.as_ref(), move |tx| {
            let new = version::NewAspect {
                metadata: text.clone(),
                system_metadata: None,
                stamp: docent_model::aspects::AuditStamp::new(administrator().actor(), 1),
                derived: Derived::default(),
                retired_version: None,
            };
            let write = version::replace(key.clone(), None, new);
            Box::pin(async move { tx.write(&[write]).await })
        })
        .await
        .unwrap();
    }
    world.delete(&tag).await.unwrap();
    assert!(!world.exists(&tag).await);
    for (number, text) in texts.iter().enumerate() {
        let urn = Urn::new("dataHubPolicy", &format!("damaged{number}")).unwrap();
        assert_eq!(world.policy_text(&urn).await, *text);
    }
}

#[tokio::test]
async fn an_update_does_not_restore_a_grant_of_a_group_that_is_deleted_meanwhile() {
    let world = World::new().await;
    let (urn, new_group) = group("g");
    let (policy, new_policy) = policy("p", &json!({"groups": [urn]}), &["EDIT_ENTITY"]);
    world.write(vec![new_group, new_policy]).await;
    let (other, deleted) = (world.other.clone(), urn.clone());
    world
        .before_next(async move {
            let delete = Proposal::new(deleted, Change::DeleteEntity);
            write_as_operator(&other, vec![delete]).await;
        })
        .await;
    let update = for_groups(&[&urn]);
    let error = world
        .catalog
        .update_policy(&administrator(), &policy, update)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
    assert!(!world.names(&policy, &urn).await);
}

#[tokio::test]
async fn concurrent_deletions_and_policies_leave_no_dangling_grant() {
    let world = World::new().await;
    let administrator = administrator();
    for round in 0..20 {
        let (urn, new_group) = group(&format!("g{round}"));
        let id = format!("p{round}");
        let (old, new_policy) = policy(&id, &json!({"groups": [urn]}), &["EDIT_ENTITY"]);
        world.write(vec![new_group, new_policy]).await;
        let created = world
            .other
            .create_policy(&administrator, for_groups(&[&urn]));
        let updated = world
            .other
            .update_policy(&administrator, &old, for_groups(&[&urn]));
        let (deleted, created, updated) = tokio::join!(world.delete(&urn), created, updated);
        deleted.unwrap();
        for error in [created.as_ref().err(), updated.as_ref().err()] {
            let message = error.map(ToString::to_string).unwrap_or_default();
            let is_expected = error.is_none() || message.contains("does not exist");
            assert!(is_expected, "{message}");
        }
        assert!(!world.exists(&urn).await);
        for policy in created.ok().iter().chain([&old]) {
            assert!(!world.names(policy, &urn).await, "{policy} names {urn}");
        }
    }
}

#[tokio::test]
async fn a_result_is_not_stored_for_an_assertion_that_gets_another_asset_meanwhile() {
    let world = World::new().await;
    let assertion = Urn::new("assertion", "a").unwrap();
    let about = |name: &str| {
        let info = json!({"type": "CUSTOM", "entityUrn": dataset(name),
            "customAssertion": {"type": "c", "entity": dataset(name)}});
        upsert(&assertion, "assertionInfo", &info)
    };
    let status = |name: &str| upsert(&dataset(name), "status", &json!({"removed": false}));
    let setup = vec![status("own"), status("other"), about("own")];
    world.write(setup).await;
    let (other, moved) = (world.other.clone(), about("other"));
    let step = async move { write_as_operator(&other, vec![moved]).await };
    world.before_next(step).await;
    let report = async || {
        let (caller, result) = (administrator(), json!({"type": "SUCCESS"}));
        let catalog = &world.catalog;
        let reported = catalog.report_assertion_result(&caller, &assertion, 5, &result);
        reported.await
    };
    let error = report().await.unwrap_err();
    assert!(error.to_string().contains("changed meanwhile"), "{error}");
    report().await.unwrap();
}

#[tokio::test]
async fn a_token_is_not_created_for_a_domain_that_is_deleted_meanwhile() {
    let world = World::new().await;
    let (urn, new_domain) = new_domain("d");
    world.write(vec![new_domain]).await;
    let (other, delete) = (world.other.clone(), urn.clone());
    world
        .before_next(async move {
            let delete = Proposal::new(delete, Change::DeleteEntity);
            write_as_operator(&other, vec![delete]).await;
        })
        .await;
    let new = NewToken {
        name: "t".to_owned(),
        description: None,
        actor: user("ada").actor().clone(),
        ttl_ms: None,
        scope: Some(TokenScope {
            domain: Some(urn),
            ..TokenScope::default()
        }),
    };
    let created = world.catalog.create_token(&Caller::system(), new).await;
    let error = created.unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

async fn describe(catalog: &Catalog, caller: &Caller, name: &str) -> Result<(), Error> {
    let description = NewDescription::from("new words");
    catalog
        .update_description(caller, &dataset(name), None, description)
        .await
}

/// A proposer, and a dataset of this name in the domain.
async fn with_proposer(world: &World, name: &str, domain: &Urn) -> Caller {
    let proposer = user("paula");
    let actors = json!({"users": [proposer.actor()]});
    let (_, propose) = policy("propose", &actors, &["PROPOSE_CHANGES"]);
    let domains = json!({"domains": [domain]});
    let member = upsert(&dataset(name), "domains", &domains);
    world.write(vec![propose, member]).await;
    proposer
}

#[tokio::test]
async fn concurrent_proposals_stay_within_the_limit() {
    let world = World::new().await;
    let (urn, new_domain) = new_domain("d");
    world.write(vec![new_domain]).await;
    let paula = with_proposer(&world, "orders", &urn).await;
    for _ in 0..98 {
        describe(&world.catalog, &paula, "orders").await.unwrap();
    }
    let proposals = (0..8).map(|number| {
        let catalog = [&world.catalog, &world.other][number % 2];
        describe(catalog, &paula, "orders")
    });
    let results = join_all(proposals).await;
    for error in results.iter().filter_map(|it| it.as_ref().err()) {
        let too_many = ErrorKind::Conflict(ConflictReason::TooManyProposals);
        assert_eq!(error.kind(), too_many, "{error}");
    }
    assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 2);
    let all = ActionRequestFilter::default();
    let listed = world.catalog.list_action_requests(&paula, &all, 0, 1).await;
    assert_eq!(listed.unwrap().1, 100);
}

#[tokio::test]
async fn a_steward_does_not_reject_a_proposal_for_a_dataset_that_has_just_left_the_domain() {
    let world = World::new().await;
    let ((finance, new_finance), (hr, new_hr)) = (new_domain("finance"), new_domain("hr"));
    let steward = user("sam");
    let info = upsert(steward.actor(), "corpUserInfo", &json!({"active": true}));
    world.write(vec![new_finance, new_hr, info]).await;
    let (admin, add) = (administrator(), MemberChange::Add);
    let added = world
        .other
        .change_steward(&admin, &finance, steward.actor(), add);
    assert!(added.await.unwrap());
    let paula = with_proposer(&world, "orders", &finance).await;
    describe(&world.catalog, &paula, "orders").await.unwrap();
    let all = ActionRequestFilter::default();
    let listed = world.catalog.list_action_requests(&paula, &all, 0, 1).await;
    let request = listed.unwrap().0.remove(0);
    let place = |domain: &Urn| upsert(&dataset("orders"), "domains", &json!({"domains": [domain]}));
    let (other, moved) = (world.other.clone(), place(&hr));
    world
        .before_next(async move { write_as_operator(&other, vec![moved]).await })
        .await;
    let urns = std::slice::from_ref(&request.urn);
    let reject = async || {
        world
            .catalog
            .decide_action_requests(&steward, urns, Verdict::Reject, None)
            .await
    };
    let denied = reject().await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Forbidden, "{denied}");
    assert!(denied.to_string().contains("EDIT_ENTITY"), "{denied}");
    world.write(vec![place(&finance)]).await;
    reject().await.unwrap();
}
