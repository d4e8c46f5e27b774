//! Who may write what, decided by policies and stored data.

use std::sync::Arc;

use docent_catalog::action_requests::{ActionRequestFilter, Verdict};
use docent_catalog::descriptions::NewDescription;
use docent_catalog::privilege::{DELETE_ENTITY, EDIT_ENTITY};
use docent_catalog::{Caller, Catalog, Change, Error, ErrorKind, Proposal};
use docent_model::{AspectName, SystemClock, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::{Fixture, dataset, upsert, write_as_operator};

pub(crate) fn user(name: &str) -> Caller {
    Caller::new(Urn::new("corpuser", name).unwrap())
}

pub(crate) fn administrator() -> Caller {
    user("datahub")
}

pub(crate) fn domain_urn(name: &str) -> Urn {
    Urn::new("domain", name).unwrap()
}

pub(crate) async fn write(
    fixture: &Fixture,
    caller: &Caller,
    proposals: Vec<Proposal>,
) -> Result<(), Error> {
    fixture.catalog.ingest(caller, proposals).await.map(drop)
}

/// Gives a user a role, as an administrator does.
pub(crate) async fn assign(fixture: &Fixture, name: &str, role: &str) {
    let actor = user(name).actor().clone();
    let info = upsert(&actor, "corpUserInfo", &json!({"active": true}));
    write(fixture, &administrator(), vec![info]).await.unwrap();
    let role = Urn::new("dataHubRole", role).unwrap();
    let assigned = fixture
        .catalog
        .assign_role(&administrator(), &[actor], Some(&role))
        .await;
    assigned.unwrap();
}

pub(crate) fn policy(
    name: &str,
    actors: &Value,
    privileges: &[&str],
    criteria: &Value,
) -> Proposal {
    let urn = Urn::new("dataHubPolicy", name).unwrap();
    let value = json!({
        "displayName": name, "description": "", "type": "METADATA", "state": "ACTIVE",
        "editable": true, "actors": actors, "privileges": privileges,
        "resources": {"filter": {"criteria": criteria}},
    });
    upsert(&urn, "dataHubPolicyInfo", &value)
}

/// Finance with Accounting below it, and HR; one dataset in Accounting and one in HR. Sam is a
/// Reader who may edit everything in Finance.
pub(crate) async fn with_steward() -> Fixture {
    let fixture = Fixture::enforced().await;
    assign(&fixture, "sam", "Reader").await;
    let domain = |name: &str, parent: Option<&str>| {
        let mut value = json!({"name": name, "description": ""});
        if let Some(parent) = parent {
            value["parentDomain"] = json!(domain_urn(parent));
        }
        upsert(&domain_urn(name), "domainProperties", &value)
    };
    let member = |name: &str, of: &str| {
        upsert(
            &dataset(name),
            "domains",
            &json!({"domains": [domain_urn(of)]}),
        )
    };
    let steward = policy(
        "finance-stewards",
        &json!({"users": ["urn:li:corpuser:sam"]}),
        &["EDIT_ENTITY", "CREATE_ENTITY"],
        &json!([{"field": "DOMAIN", "values": [domain_urn("finance")]}]),
    );
    let all = vec![
        domain("finance", None),
        domain("accounting", Some("finance")),
        domain("hr", None),
        member("ledger", "accounting"),
        member("salaries", "hr"),
        steward,
    ];
    write_as_operator(&fixture.catalog, all).await;
    fixture
}

async fn describe(fixture: &Fixture, caller: &Caller, name: &str) -> Result<(), Error> {
    let description = NewDescription::from("new words");
    fixture
        .catalog
        .update_description(caller, &dataset(name), None, description)
        .await
}

pub(crate) fn is_denied(result: Result<(), Error>, privilege: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
    assert!(error.to_string().contains(privilege), "{error}");
}

#[tokio::test]
async fn roles_decide_without_looking_at_the_entity() {
    let fixture = with_steward().await;
    assign(&fixture, "rita", "Reader").await;
    is_denied(
        describe(&fixture, &user("rita"), "ledger").await,
        "EDIT_ENTITY_DOCS",
    );
    // Users without a role are Editors.
    describe(&fixture, &user("eddie"), "ledger").await.unwrap();
    let tag = upsert(
        &Urn::new("tag", "t").unwrap(),
        "tagProperties",
        &json!({"name": "t"}),
    );
    is_denied(
        write(&fixture, &user("rita"), vec![tag.clone()]).await,
        "MANAGE_TAGS",
    );
    write(&fixture, &user("eddie"), vec![tag]).await.unwrap();
    let role = upsert(
        user("eddie").actor(),
        "roleMembership",
        &json!({"roles": ["urn:li:dataHubRole:Admin"]}),
    );
    is_denied(
        write(&fixture, &user("eddie"), vec![role]).await,
        "batchAssignRole",
    );
}

#[tokio::test]
async fn a_steward_edits_what_is_in_the_domain_and_below() {
    let fixture = with_steward().await;
    let sam = user("sam");
    describe(&fixture, &sam, "ledger").await.unwrap();
    is_denied(describe(&fixture, &sam, "salaries").await, "EDIT_ENTITY");
    let catalog = &fixture.catalog;
    let described = catalog
        .update_description(
            &sam,
            &domain_urn("accounting"),
            None,
            NewDescription::from("the books"),
        )
        .await;
    described.unwrap();
    // The rights move with the domain.
    let moved = catalog
        .move_domain(&administrator(), &domain_urn("accounting"), None)
        .await;
    moved.unwrap();
    is_denied(describe(&fixture, &sam, "ledger").await, "EDIT_ENTITY");
}

/// The paths of domains are kept between checks, also by other servers.
#[tokio::test]
async fn a_move_of_any_domain_above_counts_in_the_next_check() {
    let fixture = with_steward().await;
    let (catalog, sam) = (&fixture.catalog, user("sam"));
    let other = Catalog::new(Arc::clone(&fixture.store), Arc::new(SystemClock));
    other.enforce_policies(None);
    let expect = async |expected: bool, when: &str| {
        for (server, catalog) in [("own", catalog), ("other", &other)] {
            for _ in 0..2 {
                let allowed = catalog
                    .is_allowed(&sam, &[EDIT_ENTITY], Some(&dataset("ledger")))
                    .await;
                assert_eq!(allowed.unwrap(), expected, "{server}: {when}");
            }
        }
    };
    expect(true, "below finance").await;
    let (accounting, top) = (domain_urn("accounting"), domain_urn("top"));
    let between = upsert(&top, "domainProperties", &json!({"name": "top"}));
    write(&fixture, &administrator(), vec![between])
        .await
        .unwrap();
    let place = async |domain: &Urn, parent: Option<&Urn>| {
        let moved = catalog.move_domain(&administrator(), domain, parent).await;
        moved.unwrap();
    };
    place(&accounting, Some(&top)).await;
    expect(false, "moved away").await;
    place(&top, Some(&domain_urn("finance"))).await;
    expect(true, "its parent moved below finance").await;
    place(&top, None).await;
    expect(false, "its parent moved away").await;
}

#[tokio::test]
async fn a_domain_that_the_same_list_moves_counts_at_its_place_then() {
    let fixture = with_steward().await;
    let (catalog, eve) = (&fixture.catalog, user("eve"));
    assign(&fixture, "eve", "Reader").await;
    let actors = json!({"users": ["urn:li:corpuser:eve"]});
    let in_hr = json!([{"field": "DOMAIN", "values": [domain_urn("hr")]}]);
    let policies = vec![
        policy("hr-stewards", &actors, &["EDIT_ENTITY"], &in_hr),
        policy("movers", &actors, &["MANAGE_DOMAINS"], &json!([])),
    ];
    write(&fixture, &Caller::system(), policies).await.unwrap();
    // Now the path of the domain is known.
    let ledger = Some(&dataset("ledger"));
    let allowed = catalog.is_allowed(&eve, &[EDIT_ENTITY], ledger).await;
    assert!(!allowed.unwrap());
    let value = json!({"name": "accounting", "parentDomain": domain_urn("hr")});
    let move_to_hr = upsert(&domain_urn("accounting"), "domainProperties", &value);
    let hide = upsert(&dataset("ledger"), "status", &json!({"removed": true}));
    let too_early = vec![hide.clone(), move_to_hr.clone()];
    is_denied(write(&fixture, &eve, too_early).await, "EDIT_ENTITY");
    write(&fixture, &eve, vec![move_to_hr, hide]).await.unwrap();
}

#[tokio::test]
async fn a_dataset_that_changes_its_domain_needs_the_right_on_both_sides() {
    let fixture = with_steward().await;
    let (catalog, sam) = (&fixture.catalog, user("sam"));
    let out = catalog
        .set_domain(&sam, &dataset("ledger"), &domain_urn("hr"))
        .await;
    is_denied(out, "EDIT_DOMAINS_PRIVILEGE");
    let into = catalog
        .set_domain(&sam, &dataset("salaries"), &domain_urn("finance"))
        .await;
    is_denied(into, "EDIT_DOMAINS_PRIVILEGE");
    let within = catalog
        .set_domain(&sam, &dataset("ledger"), &domain_urn("finance"))
        .await;
    within.unwrap();
    let away = catalog
        .move_domain(&sam, &domain_urn("accounting"), Some(&domain_urn("hr")))
        .await;
    is_denied(away, "EDIT_ENTITY");
}

/// Decides the newest proposal.
pub(crate) async fn decide_first(
    fixture: &Fixture,
    caller: &Caller,
    verdict: Verdict,
) -> Result<(), Error> {
    let catalog = &fixture.catalog;
    let (admin, all) = (administrator(), ActionRequestFilter::default());
    let listed = catalog.list_action_requests(&admin, &all, 0, 1);
    let (requests, _) = listed.await.unwrap();
    let urns = [requests[0].urn.clone()];
    let decided = catalog.decide_action_requests(caller, &urns, verdict, None);
    decided.await.map(drop)
}

#[tokio::test]
async fn a_proposer_is_the_author_of_the_links_that_are_accepted() {
    let fixture = with_steward().await;
    let paula = user("paula");
    assign(&fixture, "paula", "Proposer").await;
    let link = json!({
        "url": "https://example.com", "description": "d",
        "createStamp": {"time": 1, "actor": "urn:li:corpuser:grace"},
    });
    let links = json!({"elements": [link]});
    let links = upsert(&dataset("ledger"), "institutionalMemory", &links);
    write(&fixture, &paula, vec![links]).await.unwrap();
    let accepted = decide_first(&fixture, &user("sam"), Verdict::Accept).await;
    accepted.unwrap();
    let key = AspectKey::new(&dataset("ledger"), AspectName::INSTITUTIONAL_MEMORY);
    let stored = fixture.store.read(ReadRequest::row(&key)).await.unwrap();
    let stored: Value = serde_json::from_str(&stored.into_row().unwrap().metadata).unwrap();
    let author = &stored["elements"][0]["createStamp"]["actor"];
    assert_eq!(author, paula.actor().as_str());
}

#[tokio::test]
async fn a_list_is_denied_as_a_whole_and_names_the_item() {
    let fixture = with_steward().await;
    let status = |name: &str| upsert(&dataset(name), "status", &json!({"removed": true}));
    let list = vec![status("ledger"), status("salaries")];
    let error = write(&fixture, &user("sam"), list).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Forbidden, "{error}");
    assert_eq!(error.subject().position, Some(1), "{error}");
    let key = docent_catalog::AspectKey::new(&dataset("ledger"), AspectName::STATUS);
    let stored = fixture.catalog.are_stored(&[key]).await.unwrap();
    assert_eq!(stored, [false], "nothing was written");
}

#[tokio::test]
async fn a_new_entity_is_decided_by_its_state_after_the_list() {
    let fixture = with_steward().await;
    let sam = user("sam");
    let properties = |name: &str| upsert(&dataset(name), "datasetProperties", &json!({}));
    let member = |name: &str, of: &str| {
        upsert(
            &dataset(name),
            "domains",
            &json!({"domains": [domain_urn(of)]}),
        )
    };
    let inside = vec![properties("new"), member("new", "accounting")];
    write(&fixture, &sam, inside).await.unwrap();
    let outside = vec![properties("other"), member("other", "hr")];
    is_denied(write(&fixture, &sam, outside).await, "EDIT");
    is_denied(
        write(&fixture, &sam, vec![properties("nowhere")]).await,
        "EDIT_ENTITY",
    );
    let delete = Proposal::new(dataset("new"), Change::DeleteEntity);
    is_denied(write(&fixture, &sam, vec![delete]).await, "DELETE_ENTITY");
}

#[tokio::test]
async fn owners_and_groups_count_and_changes_take_effect_at_once() {
    let fixture = with_steward().await;
    let rita = user("rita");
    assign(&fixture, "rita", "Reader").await;
    let owners = |urn: &Urn| {
        let owner = json!([{"owner": urn, "type": "DATAOWNER"}]);
        let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
        let value = json!({"owners": owner, "lastModified": stamp});
        upsert(&dataset("salaries"), "ownership", &value)
    };
    is_denied(describe(&fixture, &rita, "salaries").await, "EDIT_ENTITY");
    let owned = owners(rita.actor());
    write(&fixture, &administrator(), vec![owned])
        .await
        .unwrap();
    describe(&fixture, &rita, "salaries").await.unwrap();
    let group = Urn::new("corpGroup", "payroll").unwrap();
    let owned = owners(&group);
    write(&fixture, &administrator(), vec![owned])
        .await
        .unwrap();
    is_denied(describe(&fixture, &rita, "salaries").await, "EDIT_ENTITY");
    let membership = |groups: &[&Urn]| {
        upsert(
            rita.actor(),
            "nativeGroupMembership",
            &json!({"nativeGroups": groups}),
        )
    };
    let joined = membership(&[&group]);
    write_as_operator(&fixture.catalog, vec![joined]).await;
    describe(&fixture, &rita, "salaries").await.unwrap();
    let left = membership(&[]);
    write_as_operator(&fixture.catalog, vec![left]).await;
    is_denied(describe(&fixture, &rita, "salaries").await, "EDIT_ENTITY");
}

#[tokio::test]
async fn a_soft_deleted_group_grants_nothing() {
    let fixture = with_steward().await;
    let (rita, group) = (user("rita"), Urn::new("corpGroup", "editors").unwrap());
    assign(&fixture, "rita", "Reader").await;
    let (admin, editor) = (administrator(), Urn::new("dataHubRole", "Editor").unwrap());
    let info = json!({"admins": [], "members": [], "groups": []});
    let info = upsert(&group, "corpGroupInfo", &info);
    write(&fixture, &admin, vec![info]).await.unwrap();
    let groups = std::slice::from_ref(&group);
    let assigned = fixture.catalog.assign_role(&admin, groups, Some(&editor));
    assigned.await.unwrap();
    let member = upsert(rita.actor(), "groupMembership", &json!({"groups": [group]}));
    let by_group = policy(
        "by-group",
        &json!({"groups": [group]}),
        &["DELETE_ENTITY"],
        &json!([]),
    );
    write_as_operator(&fixture.catalog, vec![member, by_group]).await;
    let is_allowed = async || {
        let salaries = dataset("salaries");
        let may = async |privilege| {
            let privileges = [privilege];
            let allowed = fixture
                .catalog
                .is_allowed(&rita, &privileges, Some(&salaries));
            allowed.await.unwrap()
        };
        (may(EDIT_ENTITY).await, may(DELETE_ENTITY).await)
    };
    assert_eq!(is_allowed().await, (true, true));
    for removed in [true, false] {
        let status = upsert(&group, "status", &json!({"removed": removed}));
        write(&fixture, &admin, vec![status]).await.unwrap();
        assert_eq!(is_allowed().await, (!removed, !removed));
    }
}

#[tokio::test]
async fn people_write_their_own_profile_and_nobody_elses() {
    let fixture = with_steward().await;
    let profile = |name: &str| {
        let value = json!({"aboutMe": "hello", "skills": [], "teams": []});
        upsert(user(name).actor(), "corpUserEditableInfo", &value)
    };
    write(&fixture, &user("sam"), vec![profile("sam")])
        .await
        .unwrap();
    is_denied(
        write(&fixture, &user("eddie"), vec![profile("sam")]).await,
        "EDIT_USER_PROFILE",
    );
    write(&fixture, &administrator(), vec![profile("sam")])
        .await
        .unwrap();
}

#[tokio::test]
async fn default_policies_are_written_once_and_those_of_the_root_user_always() {
    let fixture = Fixture::enforced().await;
    let changed = |id: &str| {
        let urn = Urn::new("dataHubPolicy", id).unwrap();
        Proposal::new(urn, Change::DeleteEntity)
    };
    let deletions = vec![changed("editor-metadata-policy"), changed("0")];
    write_as_operator(&fixture.catalog, deletions).await;
    let exist = async || {
        let urns = ["editor-metadata-policy", "0"].map(|id| Urn::new("dataHubPolicy", id).unwrap());
        fixture.catalog.exists(&urns).await.unwrap()
    };
    assert_eq!(exist().await, [false, false]);
    let root = Urn::new("dataHubPolicy", "1").unwrap();
    assert_eq!(fixture.catalog.exists(&[root]).await.unwrap(), [true]);
    fixture.catalog.ensure_policies().await.unwrap();
    assert_eq!(exist().await, [false, true]);
}

#[tokio::test]
async fn a_policy_can_limit_the_tags_that_may_be_added() {
    let fixture = with_steward().await;
    assign(&fixture, "rita", "Reader").await;
    let tag = |name: &str| Urn::new("tag", name).unwrap();
    let mut limited = json!({
        "displayName": "taggers", "description": "", "type": "METADATA", "state": "ACTIVE",
        "actors": {"users": ["urn:li:corpuser:rita"]}, "privileges": ["EDIT_ENTITY_TAGS"],
    });
    limited["resources"] = json!({"privilegeConstraints": {"criteria": [
        {"field": "URN", "values": [tag("public")]},
    ]}});
    let policy = Urn::new("dataHubPolicy", "taggers").unwrap();
    let setup = vec![
        upsert(&tag("public"), "tagProperties", &json!({"name": "public"})),
        upsert(&tag("secret"), "tagProperties", &json!({"name": "secret"})),
        upsert(&policy, "dataHubPolicyInfo", &limited),
    ];
    write_as_operator(&fixture.catalog, setup).await;
    let rita = user("rita");
    let add = async |names: &[&str]| {
        let tags: Vec<Urn> = names.iter().map(|name| tag(name)).collect();
        let targets = [docent_catalog::Target::entity(dataset("ledger"))];
        let kind = docent_catalog::labels::LabelKind::Tag;
        fixture
            .catalog
            .add_labels(&rita, kind, &tags, &targets)
            .await
    };
    add(&["public"]).await.unwrap();
    is_denied(add(&["secret"]).await, "EDIT_ENTITY_TAGS");
    is_denied(add(&["public", "secret"]).await, "EDIT_ENTITY_TAGS");
    // A direct write does not say which tags it adds.
    let tags = json!({"tags": [{"tag": tag("secret")}]});
    let direct = upsert(&dataset("ledger"), "globalTags", &tags);
    is_denied(
        write(&fixture, &rita, vec![direct]).await,
        "EDIT_ENTITY_TAGS",
    );
}
