//! The first user, where the store is not what was expected; and users of whom a rollback takes something back.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;

use docent_catalog::people::{Administrator, NewUser, Password};
use docent_catalog::sessions::SignIn;
use docent_catalog::tokens::NewToken;
use docent_catalog::{AspectKey, Caller, ConflictReason, ErrorKind, Proposal};
use docent_model::{AspectName, SystemMetadata, Urn};
use serde_json::{Value, json};

use crate::House;
use crate::writing::write_raw;

const PASSWORD: &str = "a long password";

fn datahub() -> Urn {
    Urn::new("corpuser", "datahub").unwrap()
}

#[tokio::test]
async fn a_conflict_that_lets_nobody_in_is_not_taken_for_another_server_s_user() {
    let house = House::new().await;
    let info = AspectKey::new(&datahub(), AspectName::CORP_USER_INFO);
    write_raw(&*house.store, info, r#"{"active":"perhaps"}"#).await;
    let made = house.catalog.ensure_administrator(&house.caller, None);
    let error = made.await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Conflict(ConflictReason::PasswordExists)
    );
    assert!(error.to_string().contains("corpUserInfo"), "{error}");
}

#[tokio::test]
async fn of_two_servers_that_start_at_once_one_makes_the_first_user() {
    let house = House::new().await;
    let given = || Some(Password::new("one and the same").unwrap());
    let (first, second) = tokio::join!(
        house.catalog.ensure_administrator(&house.caller, given()),
        house.catalog.ensure_administrator(&house.caller, given()),
    );
    let made = [first.unwrap(), second.unwrap()];
    let count = |wanted: fn(&Administrator) -> bool| made.iter().filter(|it| wanted(it)).count();
    assert_eq!(count(|it| matches!(it, Administrator::Created(_))), 1);
    assert_eq!(count(|it| matches!(it, Administrator::Exists)), 1);
    let again = NewUser {
        user: datahub(),
        display_name: None,
        email: None,
        password: Password::new("something else").unwrap(),
    };
    let refused = house.catalog.add_user(&house.caller, again).await;
    let kind = refused.unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Conflict(ConflictReason::AccountInactive));
}

#[tokio::test]
async fn the_administrator_is_made_whoever_else_can_sign_in_and_stays_removed() {
    let house = House::new().await;
    add(&house, "ada").await;
    let ensure = async || {
        let made = house.catalog.ensure_administrator(&house.caller, None);
        made.await.unwrap()
    };
    assert!(matches!(ensure().await, Administrator::Created(_)));
    assert!(matches!(ensure().await, Administrator::Exists));
    let removed = json!({"removed": true}).to_string();
    let removal = Proposal::upsert(datahub(), AspectName::STATUS, removed);
    let administrator = Caller::new(datahub());
    let ingested = house.catalog.ingest(&administrator, vec![removal]);
    ingested.await.unwrap();
    assert!(matches!(ensure().await, Administrator::KeptOut));
    let users = house.catalog.list_users(&house.caller, false, None, 10);
    let removed: Vec<bool> = users.await.unwrap().iter().map(|it| it.removed).collect();
    assert_eq!(removed, [false, true]);
}

async fn add(house: &House, name: &str) -> Urn {
    let user = Urn::new("corpuser", name).unwrap();
    let new = NewUser {
        user: user.clone(),
        display_name: None,
        email: None,
        password: Password::new(PASSWORD).unwrap(),
    };
    house.catalog.add_user(&house.caller, new).await.unwrap();
    user
}

#[tokio::test]
async fn who_is_suspended_or_removed_while_the_password_is_checked_gets_no_session() {
    let house = House::new().await;
    let administrator = Caller::new(datahub());
    for how in ["suspended", "removed"] {
        let user = add(&house, how).await;
        let mut attempt = pin!(house.catalog.sign_in(how, PASSWORD, None));
        let begun = poll_fn(|context| Poll::Ready(attempt.as_mut().poll(context))).await;
        assert!(begun.is_pending(), "it waits for the hash");
        if how == "suspended" {
            let suspended = house.catalog.suspend_user(&administrator, &user);
            suspended.await.unwrap();
        } else {
            let removed = json!({"removed": true}).to_string();
            let removal = Proposal::upsert(user.clone(), AspectName::STATUS, removed);
            let ingested = house.catalog.ingest(&administrator, vec![removal]);
            ingested.await.unwrap();
        }
        let ended = attempt.await.unwrap();
        assert!(matches!(ended, SignIn::Refused), "{how}: {ended:?}");
    }
}

fn by_run(user: &Urn, aspect: AspectName, value: &Value) -> Proposal {
    let noted = SystemMetadata {
        run_id: "r".to_owned(),
        ..SystemMetadata::default()
    };
    Proposal::upsert(user.clone(), aspect, value.to_string()).with_system_metadata(Some(noted))
}

#[tokio::test]
async fn a_user_who_goes_with_a_run_leaves_no_token_behind() {
    let house = House::new().await;
    let ada = Urn::new("corpuser", "ada").unwrap();
    let info = by_run(&ada, AspectName::CORP_USER_INFO, &json!({"active": true}));
    let ingested = house.catalog.ingest(&house.caller, vec![info.clone()]);
    ingested.await.unwrap();
    let new = NewToken {
        name: "ci".to_owned(),
        description: None,
        actor: ada.clone(),
        ttl_ms: None,
    };
    let token = house.catalog.create_token(&house.caller, new).await;
    let secret = token.unwrap().secret;
    let lets_in = async || house.catalog.authenticate(&secret).await.unwrap().is_some();
    assert!(lets_in().await);
    let dry = house.catalog.roll_back(&house.caller, "r", true, true);
    assert_eq!(dry.await.unwrap().entities_affected, 1);
    assert!(lets_in().await, "nothing happens in a dry run");
    let refused = house.catalog.roll_back(&house.caller, "r", false, true);
    let refused = refused.await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Forbidden);
    assert!(lets_in().await, "nobody else ends the token");
    let administrator = Caller::new(datahub());
    let done = house.catalog.roll_back(&administrator, "r", false, true);
    done.await.unwrap();
    let again = house.catalog.ingest(&house.caller, vec![info]);
    again.await.unwrap();
    assert!(!lets_in().await, "somebody else has the name now");
}

#[tokio::test]
async fn a_rollback_lifts_no_suspension_for_others() {
    let house = House::new().await;
    let ada = Urn::new("corpuser", "ada").unwrap();
    let info = Proposal::upsert(
        ada.clone(),
        AspectName::CORP_USER_INFO,
        json!({"active": true}).to_string(),
    );
    let status = json!({"status": "SUSPENDED", "lastModified": {"time": 1, "actor": datahub()}});
    let suspended = by_run(&ada, AspectName::CORP_USER_STATUS, &status);
    let administrator = Caller::new(datahub());
    let written = house
        .catalog
        .ingest(&administrator, vec![info, suspended])
        .await;
    written.unwrap();
    let other = Caller::new(Urn::new("corpuser", "eve").unwrap());
    let refused = house.catalog.roll_back(&other, "r", false, false).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Forbidden);
    let lifted = house
        .catalog
        .roll_back(&administrator, "r", false, false)
        .await;
    assert_eq!(lifted.unwrap().aspects_reverted, 1);
}
