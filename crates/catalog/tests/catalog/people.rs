//! User accounts: the first user, sign-in during changes of the account, tokens, and rollbacks.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use docent_catalog::invitations::SignUp;
use docent_catalog::people::{Administrator, NewUser, Password};
use docent_catalog::sessions::{SignIn, SignInClient};
use docent_catalog::tokens::{NewToken, TokenFilter};
use docent_catalog::{AspectKey, Caller, Catalog, Change, ConflictReason, ErrorKind, Proposal};
use docent_model::{AspectName, FixedClock, SystemMetadata, Urn};
use docent_store::{RawAspect, RowVersion, Store, StoredAspect};
use serde_json::{Value, json};

use crate::Fixture;
use crate::interrupted::Interrupted;
use crate::writing::write_raw;

const PASSWORD: &str = "a long password";

fn datahub() -> Urn {
    Urn::new("corpuser", "datahub").unwrap()
}

#[tokio::test]
async fn a_conflict_without_a_password_is_an_error() {
    let fixture = Fixture::new().await;
    let info = AspectKey::new(&datahub(), AspectName::CORP_USER_INFO);
    write_raw(&*fixture.store, info, r#"{"active":"perhaps"}"#).await;
    let made = fixture.catalog.ensure_administrator(&fixture.caller, None);
    let error = made.await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Conflict(ConflictReason::UnexpectedValue)
    );
    assert!(error.to_string().contains("corpUserInfo"), "{error}");
}

#[tokio::test]
async fn one_of_two_starting_servers_creates_the_first_user() {
    let fixture = Fixture::new().await;
    let given = || Some(Password::new("one and the same").unwrap());
    let (first, second) = tokio::join!(
        fixture
            .catalog
            .ensure_administrator(&fixture.caller, given()),
        fixture
            .catalog
            .ensure_administrator(&fixture.caller, given()),
    );
    let made = [first.unwrap(), second.unwrap()];
    let count = |matches: fn(&Administrator) -> bool| made.iter().filter(|it| matches(it)).count();
    assert_eq!(count(|it| matches!(it, Administrator::Created(_))), 1);
    assert_eq!(count(|it| matches!(it, Administrator::Exists)), 1);
    let again = NewUser {
        user: datahub(),
        display_name: None,
        email: None,
        password: Password::new("something else").unwrap(),
    };
    let rejected = fixture
        .catalog
        .add_user(&Caller::system(), again, None)
        .await;
    let kind = rejected.unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Conflict(ConflictReason::PasswordExists));
}

#[tokio::test]
async fn the_administrator_is_created_besides_other_users_and_stays_removed() {
    let fixture = Fixture::new().await;
    add(&fixture, "ada").await;
    let ensure = async || {
        let made = fixture.catalog.ensure_administrator(&fixture.caller, None);
        made.await.unwrap()
    };
    assert!(matches!(ensure().await, Administrator::Created(_)));
    assert!(matches!(ensure().await, Administrator::Exists));
    let removed = json!({"removed": true}).to_string();
    let removal = Proposal::upsert(datahub(), AspectName::STATUS, removed);
    let administrator = Caller::new(datahub());
    let ingested = fixture
        .catalog
        .ingest(&administrator, vec![removal.clone()]);
    assert_eq!(ingested.await.unwrap_err().kind(), ErrorKind::Forbidden);
    let operator = Caller::system();
    let ingested = fixture.catalog.ingest(&operator, vec![removal]);
    ingested.await.unwrap();
    assert!(matches!(ensure().await, Administrator::Blocked));
    let users = fixture.catalog.list_users(false, None, 10);
    let removed: Vec<bool> = users.await.unwrap().iter().map(|it| it.removed).collect();
    assert_eq!(removed, [false, true]);
}

async fn add(fixture: &Fixture, name: &str) -> Urn {
    let user = Urn::new("corpuser", name).unwrap();
    let new = NewUser {
        user: user.clone(),
        display_name: None,
        email: None,
        password: Password::new(PASSWORD).unwrap(),
    };
    fixture
        .catalog
        .add_user(&fixture.caller, new, None)
        .await
        .unwrap();
    user
}

#[tokio::test]
async fn a_user_suspended_or_removed_during_the_password_check_gets_no_session() {
    let fixture = Fixture::new().await;
    let administrator = Caller::new(datahub());
    for how in ["suspended", "removed"] {
        let user = add(&fixture, how).await;
        let mut attempt = pin!(
            fixture
                .catalog
                .sign_in(how, PASSWORD, SignInClient::default())
        );
        let begun = poll_fn(|context| Poll::Ready(attempt.as_mut().poll(context))).await;
        assert!(begun.is_pending(), "it waits for the hash");
        if how == "suspended" {
            let suspended = fixture.catalog.suspend_user(&administrator, &user);
            suspended.await.unwrap();
        } else {
            let removed = json!({"removed": true}).to_string();
            let removal = Proposal::upsert(user.clone(), AspectName::STATUS, removed);
            let ingested = fixture.catalog.ingest(&administrator, vec![removal]);
            ingested.await.unwrap();
        }
        let ended = attempt.await.unwrap();
        assert!(matches!(ended, SignIn::Rejected), "{how}: {ended:?}");
    }
}

/// Whichever comes first, the change of the password or the session: none of the old password
/// survives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_begins_while_the_password_changes_does_not_survive() {
    let fixture = Fixture::new().await;
    let ada = add(&fixture, "ada").await;
    let mut old = PASSWORD.to_owned();
    for round in 0..4 {
        let next = format!("password number {round}");
        let password = Password::new(next.as_str()).unwrap();
        // Attempts that come too late have a wrong password, of which few are allowed per address.
        let client = SignInClient {
            address: Some([127, 0, 0, round].into()),
            ..SignInClient::default()
        };
        let (first, changed, second) = tokio::join!(
            fixture.catalog.sign_in("ada", &old, client),
            fixture
                .catalog
                .set_password(&fixture.caller, &ada, &password),
            fixture.catalog.sign_in("ada", &old, client),
        );
        changed.unwrap();
        for attempt in [first, second] {
            if let Ok(SignIn::Welcome { secret, .. }) = attempt {
                let session = fixture.catalog.authenticate_session(&secret).await;
                assert_eq!(session.unwrap(), None);
            }
        }
        old = next;
    }
    let welcome = fixture
        .catalog
        .sign_in("ada", &old, SignInClient::default())
        .await
        .unwrap();
    let SignIn::Welcome { secret, user, .. } = welcome else {
        panic!("{welcome:?}")
    };
    let session = fixture.catalog.authenticate_session(&secret).await.unwrap();
    assert_eq!(session, Some(Caller::new(user)));
}

/// However the status changes: a session does not go on when its user comes back.
#[tokio::test]
async fn a_direct_write_that_blocks_a_user_ends_the_sessions() {
    let fixture = Fixture::new().await;
    let administrator = Caller::new(datahub());
    let stamp = json!({"actor": "urn:li:corpuser:datahub", "time": 1});
    for (name, aspect, blocked, free) in [
        (
            "suspended",
            AspectName::CORP_USER_STATUS,
            json!({"status": "SUSPENDED", "lastModified": stamp}),
            json!({"status": "ACTIVE", "lastModified": stamp}),
        ),
        (
            "removed",
            AspectName::STATUS,
            json!({"removed": true}),
            json!({"removed": false}),
        ),
    ] {
        let user = add(&fixture, name).await;
        let SignIn::Welcome { secret, .. } = fixture
            .catalog
            .sign_in(name, PASSWORD, SignInClient::default())
            .await
            .unwrap()
        else {
            panic!("{name} cannot sign in");
        };
        let authenticated = async || fixture.catalog.authenticate_session(&secret).await.unwrap();
        assert_eq!(authenticated().await, Some(Caller::new(user.clone())));
        for value in [blocked, free] {
            let write = Proposal::upsert(user.clone(), aspect, value.to_string());
            let written = fixture.catalog.ingest(&administrator, vec![write]);
            written.await.unwrap();
            assert_eq!(authenticated().await, None, "{name}");
        }
    }
}

#[tokio::test]
async fn a_deleted_user_cannot_come_back_by_creating_a_token() {
    let fixture = Fixture::new().await;
    let user = add(&fixture, "gone").await;
    let delete = Proposal::new(user.clone(), Change::DeleteEntity);
    let administrator = Caller::new(datahub());
    let deleted = fixture.catalog.ingest(&administrator, vec![delete]);
    deleted.await.unwrap();
    let new = NewToken {
        name: "back".to_owned(),
        description: None,
        actor: user.clone(),
        ttl_ms: Some(1000),
        scope: None,
    };
    fixture.enforce().await;
    // Another server may know the session for a moment.
    let caller = Caller::new(user.clone());
    let issued = fixture.catalog.issue_token(&caller, new);
    let error = issued.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoEntity, "{error}");
    assert_eq!(fixture.catalog.exists(&[user]).await.unwrap(), [false]);
}

#[tokio::test]
async fn a_user_with_thousands_of_tokens_is_deleted_in_several_transactions() {
    let fixture = Fixture::new().await;
    let user = add(&fixture, "many").await;
    // Imported, because creating them one by one takes long.
    let row = |aspect: &str, id: &str, value: &Value| RawAspect {
        urn: format!("urn:li:dataHubAccessToken:{id}"),
        aspect: aspect.to_owned(),
        row: StoredAspect {
            version: RowVersion::LATEST,
            metadata: value.to_string(),
            system_metadata: None,
            created_on_ms: 1,
            created_by: user.as_str().to_owned(),
            created_for: None,
        },
    };
    let info = json!({"name": "one of many", "actorUrn": user, "ownerUrn": user, "createdAt": 1});
    let ids: Vec<String> = (0..1010).map(|number| format!("a{number:04}")).collect();
    let rows = ids.iter().flat_map(|id| {
        [
            row("dataHubAccessTokenKey", id, &json!({"id": id})),
            row("dataHubAccessTokenInfo", id, &info),
        ]
    });
    fixture
        .store
        .import(rows.collect(), Vec::new())
        .await
        .unwrap();
    fixture.store.rebuild(Box::new(|_, _| ())).await.unwrap();
    let token = |id: &str| Urn::new("dataHubAccessToken", id).unwrap();
    let some = [token("a0000"), token("a1009")];
    assert_eq!(fixture.catalog.exists(&some).await.unwrap(), [true, true]);
    let administrator = Caller::new(datahub());
    let removed = fixture.catalog.remove_user(&administrator, &user);
    removed.await.unwrap();
    assert_eq!(fixture.catalog.exists(&[user]).await.unwrap(), [false]);
    assert_eq!(fixture.catalog.exists(&some).await.unwrap(), [false, false]);
    assert_eq!(fixture.store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn tokens_of_a_user_are_found_by_the_user_and_go_with_the_user() {
    let fixture = Fixture::new().await;
    let administrator = Caller::new(datahub());
    for (name, actor) in [("one", "ada"), ("two", "ada"), ("three", "grace")] {
        let new = NewToken {
            name: name.to_owned(),
            description: None,
            actor: Urn::new("corpuser", actor).unwrap(),
            ttl_ms: None,
            scope: None,
        };
        fixture
            .catalog
            .create_token(&administrator, new)
            .await
            .unwrap();
    }
    let ada = Urn::new("corpuser", "ada").unwrap();
    let listed = async |actor: Option<&Urn>| {
        let filter = TokenFilter {
            actor: actor.cloned(),
            ..TokenFilter::default()
        };
        let page = fixture
            .catalog
            .list_tokens(&Caller::system(), &filter, 0, 10)
            .await
            .unwrap();
        let mut names: Vec<String> = page.items.into_iter().map(|it| it.info.name).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(listed(Some(&ada)).await, ["one", "two"]);
    let delete = Proposal::new(ada.clone(), Change::DeleteEntity);
    let deleted = fixture.catalog.ingest(&administrator, vec![delete]);
    deleted.await.unwrap();
    assert!(listed(Some(&ada)).await.is_empty());
    assert_eq!(listed(None).await, ["three"]);
    assert_eq!(fixture.store.check().await.unwrap(), Vec::<String>::new());
}

fn by_run(user: &Urn, aspect: AspectName, value: &Value) -> Proposal {
    let system_metadata = SystemMetadata {
        run_id: "r".to_owned(),
        ..SystemMetadata::default()
    };
    Proposal::upsert(user.clone(), aspect, value.to_string())
        .with_system_metadata(Some(system_metadata))
}

#[tokio::test]
async fn the_rollback_of_a_user_revokes_the_tokens() {
    let fixture = Fixture::enforced().await;
    let ada = Urn::new("corpuser", "ada").unwrap();
    let info = by_run(&ada, AspectName::CORP_USER_INFO, &json!({"active": true}));
    let ingested = fixture.catalog.ingest(&fixture.caller, vec![info.clone()]);
    ingested.await.unwrap();
    let new = NewToken {
        name: "ci".to_owned(),
        description: None,
        actor: ada.clone(),
        ttl_ms: None,
        scope: None,
    };
    let token = fixture.catalog.create_token(&fixture.caller, new).await;
    let secret = token.unwrap().secret;
    let is_valid = async || {
        fixture
            .catalog
            .authenticate(&secret)
            .await
            .unwrap()
            .is_some()
    };
    assert!(is_valid().await);
    let dry = fixture.catalog.roll_back(&fixture.caller, "r", true, true);
    assert_eq!(dry.await.unwrap().entities_affected, 1);
    assert!(is_valid().await, "nothing happens in a dry run");
    let rejected = fixture.catalog.roll_back(&fixture.caller, "r", false, true);
    let rejected = rejected.await.unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Forbidden);
    assert!(is_valid().await, "only the administrator revokes the token");
    let administrator = Caller::new(datahub());
    let done = fixture.catalog.roll_back(&administrator, "r", false, true);
    done.await.unwrap();
    let again = fixture.catalog.ingest(&fixture.caller, vec![info]);
    again.await.unwrap();
    assert!(!is_valid().await, "another user may have the name now");
}

#[tokio::test]
async fn a_rollback_by_others_does_not_lift_a_suspension() {
    let fixture = Fixture::enforced().await;
    let ada = Urn::new("corpuser", "ada").unwrap();
    let info = Proposal::upsert(
        ada.clone(),
        AspectName::CORP_USER_INFO,
        json!({"active": true}).to_string(),
    );
    let status = json!({"status": "SUSPENDED", "lastModified": {"time": 1, "actor": datahub()}});
    let suspended = by_run(&ada, AspectName::CORP_USER_STATUS, &status);
    let administrator = Caller::new(datahub());
    let written = fixture
        .catalog
        .ingest(&administrator, vec![info, suspended])
        .await;
    written.unwrap();
    let other = Caller::new(Urn::new("corpuser", "eve").unwrap());
    let rejected = fixture.catalog.roll_back(&other, "r", false, false).await;
    assert_eq!(rejected.unwrap_err().kind(), ErrorKind::Forbidden);
    let lifted = fixture
        .catalog
        .roll_back(&administrator, "r", false, false)
        .await;
    assert_eq!(lifted.unwrap().aspects_reverted, 1);
}

/// Somebody who gets an error repeats the request: nothing of it may be done already.
#[tokio::test]
async fn an_account_and_a_new_password_are_one_transaction_with_their_session() {
    let fixture = Fixture::new().await;
    let ada = add(&fixture, "ada").await;
    fixture.enforce().await;
    let invite = fixture
        .catalog
        .create_invite_token(&Caller::system(), None, false)
        .await
        .unwrap();
    let store = Interrupted::store(Arc::clone(&fixture.store));
    let clock = Arc::new(FixedClock::at(1_790_000_000_000));
    let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
    let sign_up = async || {
        let user = NewUser {
            user: Urn::new("corpuser", "grace").unwrap(),
            display_name: None,
            email: None,
            password: Password::new(PASSWORD).unwrap(),
        };
        let sign_up = SignUp {
            user,
            title: None,
            invite_token: invite.clone(),
        };
        catalog.sign_up(sign_up, None, "signUp").await
    };
    let caller = Caller::new(ada);
    let next = Password::new("another long password").unwrap();
    let change = async || catalog.change_password(&caller, PASSWORD, &next).await;
    store.allow_transactions(0);
    sign_up().await.unwrap_err();
    change().await.unwrap_err();
    store.allow_transactions(1);
    let signed_up = sign_up().await;
    store.allow_transactions(1);
    for begun in [signed_up, change().await] {
        let SignIn::Welcome { secret, user, .. } = begun.unwrap() else {
            panic!("no session")
        };
        let session = catalog.authenticate_session(&secret).await.unwrap();
        assert_eq!(session, Some(Caller::new(user)));
    }
}
