//! The first user, where the store is not what was expected.

use docent_catalog::people::{Administrator, NewUser, Password};
use docent_catalog::{AspectKey, Error};
use docent_model::{AspectName, Urn};

use crate::House;
use crate::writing::write_raw;

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
    assert!(matches!(error, Error::Conflict(_)), "{error:?}");
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
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
}
