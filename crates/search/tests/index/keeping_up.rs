//! A search sees every write that came before it.

use serde_json::json;

use super::{Fixture, dataset};

#[tokio::test]
async fn a_write_is_found_by_the_next_search() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.find("orders").await.total, 0);
    fixture.dataset("sales.orders", "What was sold").await;
    assert_eq!(fixture.names("orders").await, ["sales.orders"]);
    fixture
        .dataset("sales.orders", "Parcels on their way")
        .await;
    assert_eq!(fixture.names("parcels").await, ["sales.orders"]);
    assert_eq!(fixture.find("sold").await.total, 0);
    fixture.delete(&dataset("sales.orders")).await;
    assert_eq!(fixture.find("orders").await.total, 0);
}

#[tokio::test]
async fn searches_and_writes_at_once_all_see_what_came_before_them() {
    let fixture = std::sync::Arc::new(Fixture::new().await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let fixture = std::sync::Arc::clone(&fixture);
        tasks.spawn(async move {
            let name = format!("unmistakable{number}");
            fixture.dataset(&name, "x").await;
            assert_eq!(fixture.names(&name).await.first(), Some(&name));
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!(fixture.find("*").await.total, 20);
}

#[tokio::test]
async fn a_restart_goes_on_from_what_the_index_holds() {
    let fixture = Fixture::new().await;
    fixture.dataset("one", "first").await;
    assert_eq!(fixture.find("*").await.total, 1);
    let made = made_at(&fixture);
    let fixture = fixture.restart().await;
    fixture.dataset("two", "second").await;
    assert_eq!(fixture.names("second").await, ["two"]);
    assert_eq!(fixture.find("*").await.total, 2);
    assert_eq!(made_at(&fixture), made, "the index was built anew");
}

#[tokio::test]
async fn soft_deleted_entities_are_left_out_unless_asked_for() {
    let fixture = Fixture::new().await;
    let urn = fixture.dataset("gone", "once").await;
    fixture.put(&urn, "status", &json!({"removed": true})).await;
    assert_eq!(fixture.find("gone").await.total, 0);
    let request = docent_search::Request {
        query: "gone".to_owned(),
        include_removed: true,
        ..docent_search::Request::default()
    };
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 1);
    fixture
        .put(&urn, "status", &json!({"removed": false}))
        .await;
    assert_eq!(fixture.find("gone").await.total, 1);
}

#[tokio::test]
async fn access_tokens_are_not_found_whoever_asks() {
    let fixture = Fixture::new().await;
    fixture.find("*").await;
    let urn = docent_model::Urn::parse("urn:li:dataHubAccessToken:0123").unwrap();
    let key = super::key_of(&urn);
    fixture.put(&urn, "dataHubAccessTokenKey", &key).await;
    let request = docent_search::Request {
        types: vec!["dataHubAccessToken".to_owned()],
        ..docent_search::Request::default()
    };
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 0);
    // Neither from the log nor when everything is read.
    std::fs::remove_dir_all(fixture.index_path()).unwrap();
    let fixture = fixture.restart().await;
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 0);
}

/// A folder that is made once for each index.
pub(crate) fn made_at(fixture: &Fixture) -> std::time::SystemTime {
    std::fs::metadata(fixture.files_path())
        .unwrap()
        .created()
        .unwrap()
}
