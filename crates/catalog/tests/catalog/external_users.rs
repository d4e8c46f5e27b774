//! Users of identity providers: creation, groups, and who is never signed in.

use docent_catalog::external_users::{ExternalUser, is_not_linked};
use docent_catalog::invitations::SignUp;
use docent_catalog::people::{NewUser, Password};
use docent_catalog::service_accounts::NewServiceAccount;
use docent_catalog::sessions::SignIn;
use docent_catalog::{AspectKey, Caller, Change, ConflictReason, Error, ErrorKind, Proposal};
use docent_model::{AspectName, Urn};
use docent_store::ReadRequest;
use serde_json::{Value, json};

use crate::{Fixture, upsert, write_as_operator};

fn ada() -> ExternalUser {
    ExternalUser {
        name: "ada".to_owned(),
        display_name: Some("Ada".to_owned()),
        email: Some("ada@example.com".to_owned()),
        groups: None,
        issued_at: None,
        provider: "example".to_owned(),
        may_create: true,
    }
}

fn in_groups(groups: &[&str]) -> ExternalUser {
    ExternalUser {
        groups: Some(groups.iter().map(|&name| name.to_owned()).collect()),
        ..ada()
    }
}

/// As a token of this time says it.
fn issued_at(time_ms: i64, groups: &[&str]) -> ExternalUser {
    ExternalUser {
        issued_at: Some(time_ms),
        ..in_groups(groups)
    }
}

/// The groups of ada.
async fn groups_of_ada(fixture: &Fixture) -> Option<Value> {
    let aspect = AspectName::GROUP_MEMBERSHIP;
    let membership = value(fixture, "urn:li:corpuser:ada", aspect).await;
    membership.map(|it| it["groups"].clone())
}

async fn value(fixture: &Fixture, urn: &str, aspect: AspectName) -> Option<Value> {
    let key = AspectKey::new(&Urn::parse(urn).unwrap(), aspect);
    let row = fixture.store.read(ReadRequest::row(&key)).await.unwrap();
    Some(serde_json::from_str(&row.into_row()?.metadata).unwrap())
}

/// The secret of the session, if the user is signed in.
async fn sign_in(fixture: &Fixture, user: &ExternalUser) -> Option<String> {
    match fixture
        .catalog
        .sign_in_external(user, None, "test")
        .await
        .unwrap()
    {
        SignIn::Welcome { secret, .. } => Some(secret),
        _ => None,
    }
}

#[tokio::test]
async fn the_first_sign_in_creates_the_user_and_later_ones_keep_the_profile() {
    let fixture = Fixture::enforced().await;
    let secret = sign_in(&fixture, &ada()).await.unwrap();
    let caller = fixture.catalog.authenticate_session(&secret).await.unwrap();
    assert_eq!(caller.unwrap().actor().as_str(), "urn:li:corpuser:ada");
    let ada_urn = "urn:li:corpuser:ada";
    let info = value(&fixture, ada_urn, AspectName::CORP_USER_INFO)
        .await
        .unwrap();
    assert_eq!(info["displayName"], "Ada");
    assert_eq!(info["email"], "ada@example.com");
    let origin = value(&fixture, ada_urn, AspectName::ORIGIN).await.unwrap();
    assert_eq!(
        origin,
        json!({"type": "EXTERNAL", "externalType": "example"})
    );
    let renamed = ExternalUser {
        display_name: Some("Another".to_owned()),
        ..ada()
    };
    assert!(sign_in(&fixture, &renamed).await.is_some());
    let info = value(&fixture, ada_urn, AspectName::CORP_USER_INFO)
        .await
        .unwrap();
    assert_eq!(info["displayName"], "Ada");
    assert_eq!(
        fixture
            .catalog
            .sign_out(&secret, None, "test")
            .await
            .unwrap()
            .as_deref(),
        Some("example")
    );
    assert_eq!(
        fixture
            .catalog
            .sign_out(&secret, None, "test")
            .await
            .unwrap(),
        None
    );
}

#[tokio::test]
async fn groups_follow_the_claim_and_unknown_ones_are_created() {
    let fixture = Fixture::enforced().await;
    let groups = async || groups_of_ada(&fixture).await;
    sign_in(&fixture, &ada()).await.unwrap();
    assert_eq!(groups().await, None);
    sign_in(&fixture, &in_groups(&["finance", "data stewards"]))
        .await
        .unwrap();
    let both = json!(["urn:li:corpGroup:finance", "urn:li:corpGroup:data stewards"]);
    assert_eq!(groups().await, Some(both.clone()));
    let finance = value(
        &fixture,
        "urn:li:corpGroup:finance",
        AspectName::CORP_GROUP_INFO,
    )
    .await;
    assert_eq!(finance.unwrap()["displayName"], "finance");
    // The same groups in another order change nothing, and silence says nothing.
    let before = fixture.store.log_newest().await.unwrap().unwrap().position;
    let user = in_groups(&["data stewards", "finance"]);
    let verify = async || Ok(Some((user, i64::MAX)));
    fixture
        .catalog
        .authenticate_external("token", None, verify)
        .await
        .unwrap();
    assert_eq!(
        fixture.store.log_newest().await.unwrap().unwrap().position,
        before
    );
    sign_in(&fixture, &ada()).await.unwrap();
    assert_eq!(groups().await, Some(both));
    sign_in(&fixture, &in_groups(&[])).await.unwrap();
    assert_eq!(groups().await, Some(json!([])));
}

#[tokio::test]
async fn the_administrator_and_service_accounts_are_nobodys_users() {
    let fixture = Fixture::enforced().await;
    let system = Caller::system();
    let service = fixture
        .catalog
        .create_service_account(&system, NewServiceAccount::default())
        .await
        .unwrap();
    for name in [
        "datahub",
        "__datahub_system",
        service.key(),
        "service_invented",
        "UNKNOWN",
    ] {
        let user = ExternalUser {
            name: name.to_owned(),
            ..ada()
        };
        let error = fixture
            .catalog
            .sign_in_external(&user, None, "test")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Forbidden, "{name}");
        let verify = async || Ok(Some((user, i64::MAX)));
        let error = fixture
            .catalog
            .authenticate_external(name, None, verify)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Forbidden, "{name}");
    }
}

#[tokio::test]
async fn a_name_that_has_another_form_here_is_nobodys() {
    let fixture = Fixture::enforced().await;
    sign_in(&fixture, &ada()).await.unwrap();
    for name in ["(ada)", "((ada))"] {
        let user = ExternalUser {
            name: name.to_owned(),
            ..ada()
        };
        let signed_in = fixture.catalog.sign_in_external(&user, None, "test").await;
        assert_eq!(signed_in.unwrap_err().kind(), ErrorKind::Invalid, "{name}");
        let verify = async || Ok(Some((user, i64::MAX)));
        let authenticated = fixture
            .catalog
            .authenticate_external(name, None, verify)
            .await;
        let error = authenticated.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
    }
    let groups = in_groups(&["(admins)", "finance (europe)", "((admins))"]);
    sign_in(&fixture, &groups).await.unwrap();
    let left = json!(["urn:li:corpGroup:finance (europe)"]);
    assert_eq!(groups_of_ada(&fixture).await, Some(left));
}

#[tokio::test]
async fn unknown_and_suspended_users_are_rejected() {
    let fixture = Fixture::enforced().await;
    let known_only = ExternalUser {
        may_create: false,
        ..ada()
    };
    assert!(sign_in(&fixture, &known_only).await.is_none());
    assert!(sign_in(&fixture, &ada()).await.is_some());
    let secret = sign_in(&fixture, &known_only).await.unwrap();
    let system = Caller::system();
    let urn = Urn::new("corpuser", "ada").unwrap();
    fixture.catalog.suspend_user(&system, &urn).await.unwrap();
    assert!(sign_in(&fixture, &ada()).await.is_none());
    let session = fixture.catalog.authenticate_session(&secret).await.unwrap();
    assert_eq!(session, None);
}

#[tokio::test]
async fn a_bearer_token_works_until_it_expires_or_its_user_is_suspended() {
    let fixture = Fixture::enforced().await;
    let now_ms = fixture.catalog.now_ms();
    let authenticate = async |token: &str, until_ms: i64| {
        let verify = async || Ok(Some((ada(), until_ms)));
        let caller = fixture
            .catalog
            .authenticate_external(token, None, verify)
            .await
            .unwrap();
        caller.map(|caller| caller.actor().to_string())
    };
    let expected = Some("urn:li:corpuser:ada".to_owned());
    assert_eq!(authenticate("a", now_ms + 1).await, expected);
    assert_eq!(authenticate("b", now_ms).await, None);
    let invalid = fixture
        .catalog
        .authenticate_external("c", None, async || Ok(None))
        .await;
    assert_eq!(invalid.unwrap(), None);
    let urn = Urn::new("corpuser", "ada").unwrap();
    let system = Caller::system();
    fixture.catalog.suspend_user(&system, &urn).await.unwrap();
    assert_eq!(authenticate("a", now_ms + 1).await, None);
    fixture.catalog.resume_user(&system, &urn).await.unwrap();
    assert_eq!(authenticate("a", now_ms + 1).await, expected);
}

/// The user of a bearer token.
async fn authenticate(fixture: &Fixture, token: &str, user: &ExternalUser) -> Option<String> {
    let verify = async || Ok(Some((user.clone(), i64::MAX)));
    let authenticated = fixture
        .catalog
        .authenticate_external(token, None, verify)
        .await;
    authenticated
        .unwrap()
        .map(|caller| caller.actor().to_string())
}

fn new_ada() -> NewUser {
    NewUser {
        user: Urn::new("corpuser", "ada").unwrap(),
        display_name: None,
        email: None,
        password: Password::new("correct horse battery").unwrap(),
    }
}

/// What somebody with an invite link can do.
async fn sign_up_as_ada(fixture: &Fixture) -> Result<SignIn, Error> {
    let (catalog, system) = (&fixture.catalog, Caller::system());
    let invited = catalog.create_invite_token(&system, None, false).await;
    let sign_up = SignUp {
        user: new_ada(),
        title: None,
        invite_token: invited.unwrap(),
    };
    catalog.sign_up(sign_up, None, "test").await
}

/// Fails if a provider signs in ada, or one of its tokens is accepted.
async fn is_not_linked_as_ada(fixture: &Fixture) {
    let user = in_groups(&["admins"]);
    let signed_in = fixture.catalog.sign_in_external(&user, None, "test").await;
    let verify = async || Ok(Some((user, i64::MAX)));
    let authenticated = fixture
        .catalog
        .authenticate_external("token", None, verify)
        .await;
    for error in [signed_in.unwrap_err(), authenticated.unwrap_err()] {
        assert!(is_not_linked(&error), "{error}");
        assert!(
            error.message().contains("'docent user link ada'"),
            "{error}"
        );
    }
    assert_eq!(groups_of_ada(fixture).await, None);
}

#[tokio::test]
async fn a_provider_does_not_sign_in_an_account_with_a_password_until_it_is_linked() {
    let fixture = Fixture::enforced().await;
    let (catalog, system) = (&fixture.catalog, Caller::system());
    sign_up_as_ada(&fixture).await.unwrap();
    is_not_linked_as_ada(&fixture).await;
    let urn = Urn::new("corpuser", "ada").unwrap();
    for _ in 0..2 {
        catalog.link_user(&system, &urn).await.unwrap();
        sign_in(&fixture, &in_groups(&["admins"])).await.unwrap();
    }
    let admins = json!(["urn:li:corpGroup:admins"]);
    assert_eq!(groups_of_ada(&fixture).await, Some(admins));

    for (name, kind) in [
        ("datahub", ErrorKind::Forbidden),
        ("nobody", ErrorKind::NoEntity),
    ] {
        let urn = Urn::new("corpuser", name).unwrap();
        let error = catalog.link_user(&system, &urn).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
    }
}

#[tokio::test]
async fn a_password_from_an_administrator_does_not_keep_a_user_of_a_provider_out() {
    let fixture = Fixture::enforced().await;
    let (catalog, system) = (&fixture.catalog, Caller::system());
    let urn = Urn::new("corpuser", "ada").unwrap();
    // Ingestion has named the user before.
    let info = json!({"active": true, "displayName": "Ada"});
    write_as_operator(catalog, vec![upsert(&urn, "corpUserInfo", &info)]).await;
    sign_in(&fixture, &ada()).await.unwrap();
    let password = Password::new("correct horse battery").unwrap();
    catalog
        .set_password(&system, &urn, &password)
        .await
        .unwrap();
    sign_in(&fixture, &in_groups(&["admins"])).await.unwrap();
}

#[tokio::test]
async fn signing_up_with_the_name_of_a_deleted_user_does_not_inherit_the_link() {
    let fixture = Fixture::enforced().await;
    sign_in(&fixture, &ada()).await.unwrap();
    let user = Urn::new("corpuser", "ada").unwrap();
    let delete = Proposal::new(user, Change::DeleteEntity);
    write_as_operator(&fixture.catalog, vec![delete]).await;
    sign_up_as_ada(&fixture).await.unwrap();
    is_not_linked_as_ada(&fixture).await;
}

#[tokio::test]
async fn nobody_signs_up_with_a_name_that_the_catalog_refers_to() {
    let fixture = Fixture::enforced().await;
    let owner = json!([{"owner": "urn:li:corpuser:ada", "type": "DATAOWNER"}]);
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let ownership = json!({"owners": owner, "lastModified": stamp});
    let ownership = upsert(&crate::dataset("ledger"), "ownership", &ownership);
    write_as_operator(&fixture.catalog, vec![ownership]).await;
    let error = sign_up_as_ada(&fixture).await.unwrap_err();
    let taken = ErrorKind::Conflict(ConflictReason::AlreadyExists);
    assert_eq!(error.kind(), taken, "{error}");
    // An administrator knows who ada is.
    let added = fixture
        .catalog
        .add_user(&Caller::system(), new_ada(), None)
        .await;
    added.unwrap();
}

#[tokio::test]
async fn a_removed_user_stays_out_until_somebody_lets_the_user_back_in() {
    let fixture = Fixture::enforced().await;
    let (catalog, system) = (&fixture.catalog, Caller::system());
    let urn = Urn::new("corpuser", "ada").unwrap();
    let is_in = async || {
        let by_token = authenticate(&fixture, "token", &ada()).await.is_some();
        assert_eq!(sign_in(&fixture, &ada()).await.is_some(), by_token);
        by_token
    };
    let remove = async || {
        catalog.remove_user(&system, &urn).await.unwrap();
        assert!(!is_in().await);
        let exists = catalog.exists(std::slice::from_ref(&urn)).await.unwrap();
        assert_eq!(exists, [false]);
    };
    assert!(is_in().await);
    let reader = Urn::new("dataHubRole", "Reader").unwrap();
    let assigned = catalog.assign_role(&system, std::slice::from_ref(&urn), Some(&reader));
    assigned.await.unwrap();
    remove().await;

    catalog.resume_user(&system, &urn).await.unwrap();
    assert!(is_in().await);
    remove().await;

    // Pipelines write users, but decide nothing.
    let info = json!({"active": true, "displayName": "Ada"});
    write_as_operator(catalog, vec![upsert(&urn, "corpUserInfo", &info)]).await;
    assert!(!is_in().await);
    catalog.resume_user(&system, &urn).await.unwrap();
    assert!(is_in().await);
    remove().await;

    let new = new_ada();
    catalog.add_user(&system, new.clone(), None).await.unwrap();
    catalog.link_user(&system, &urn).await.unwrap();
    assert!(is_in().await);
    remove().await;

    sign_up_as_ada(&fixture).await.unwrap();
    catalog.link_user(&system, &urn).await.unwrap();
    assert!(is_in().await);

    let nobody = Urn::new("corpuser", "nobody").unwrap();
    let error = catalog.resume_user(&system, &nobody).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_token_does_not_restore_groups_from_before_a_newer_sign_in_or_token() {
    let fixture = Fixture::enforced().await;
    let now_ms = fixture.catalog.now_ms();
    // Each token is another one, because equal ones are cached.
    let groups_after = async |token: &str, time_ms: i64, groups: &[&str]| {
        let user = issued_at(time_ms, groups);
        assert!(authenticate(&fixture, token, &user).await.is_some());
        groups_of_ada(&fixture).await.unwrap()
    };
    let admins = json!(["urn:li:corpGroup:admins"]);
    let old = async |token: &str| groups_after(token, now_ms - 1000, &["admins"]).await;
    assert_eq!(old("old").await, admins);
    sign_in(&fixture, &in_groups(&[])).await.unwrap();
    assert_eq!(old("old").await, json!([]));
    assert_eq!(old("another old").await, json!([]));

    let minute = 60_000;
    let finance = json!(["urn:li:corpGroup:finance"]);
    let newer = groups_after("newer", now_ms + minute, &["finance"]).await;
    assert_eq!(newer, finance);
    // A token that confirms the groups counts, too.
    let confirmed = groups_after("confirms", now_ms + 3 * minute, &["finance"]).await;
    assert_eq!(confirmed, finance);
    let between = groups_after("between", now_ms + 2 * minute, &["admins"]).await;
    assert_eq!(between, finance);
    // A sign-in is the newest, even if the clock of the issuer is ahead.
    sign_in(&fixture, &in_groups(&[])).await.unwrap();
    let ahead = groups_after("ahead", now_ms + 3 * minute, &["finance"]).await;
    assert_eq!(ahead, json!([]));

    // A user who was deleted is new, and has the groups of the first token.
    let user = Urn::new("corpuser", "ada").unwrap();
    let delete = Proposal::new(user, Change::DeleteEntity);
    write_as_operator(&fixture.catalog, vec![delete]).await;
    assert_eq!(old("after the deletion").await, admins);
}

#[tokio::test]
async fn a_token_that_confirms_the_groups_shortly_after_another_is_the_newest() {
    let fixture = Fixture::enforced().await;
    let begin = fixture.catalog.now_ms();
    let seconds = |count: i64| begin + 1000 * count;
    for (token, time_ms, groups) in [
        ("first", seconds(0), &["finance"] as &[&str]),
        ("confirms", seconds(50), &["finance"]),
        ("confirms as well", seconds(40), &["finance"]),
        ("between", seconds(45), &["finance", "admins"]),
    ] {
        let user = issued_at(time_ms, groups);
        assert!(authenticate(&fixture, token, &user).await.is_some());
        let finance = json!(["urn:li:corpGroup:finance"]);
        assert_eq!(groups_of_ada(&fixture).await, Some(finance), "{token}");
    }
}

#[tokio::test]
async fn tokens_with_different_groups_do_not_change_them_in_turns() {
    let fixture = Fixture::enforced().await;
    let now_ms = fixture.catalog.now_ms();
    let first = issued_at(now_ms - 2000, &["finance"]);
    let second = issued_at(now_ms - 1000, &["marketing"]);
    let same_second = issued_at(now_ms - 1000, &["sales"]);
    let use_all = async || {
        for (token, user) in [("a", &first), ("b", &second), ("c", &same_second)] {
            assert!(authenticate(&fixture, token, user).await.is_some());
        }
        let newest = fixture.store.log_newest().await.unwrap();
        newest.unwrap().position
    };
    let before = use_all().await;
    let marketing = json!(["urn:li:corpGroup:marketing"]);
    assert_eq!(groups_of_ada(&fixture).await, Some(marketing.clone()));
    // The change of another user makes the server check the tokens again.
    let grace = ExternalUser {
        name: "grace".to_owned(),
        ..ada()
    };
    assert!(authenticate(&fixture, "grace", &grace).await.is_some());
    let created = fixture.store.log_newest().await.unwrap().unwrap().position;
    assert!(created > before);
    assert_eq!(use_all().await, created);
    assert_eq!(groups_of_ada(&fixture).await, Some(marketing));
}
