//! A search sees every earlier write.

use serde_json::json;

use super::{Fixture, dataset};

#[tokio::test]
async fn the_next_search_sees_every_write() {
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
async fn concurrent_searches_see_all_earlier_writes() {
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
    while let Some(error) = tasks.join_next().await {
        error.unwrap();
    }
    assert_eq!(fixture.find("*").await.total, 20);
}

#[tokio::test]
async fn a_restart_continues_with_the_existing_index() {
    let fixture = Fixture::new().await;
    fixture.dataset("one", "first").await;
    assert_eq!(fixture.find("*").await.total, 1);
    let created = created_at(&fixture);
    let fixture = fixture.restart().await;
    fixture.dataset("two", "second").await;
    assert_eq!(fixture.names("second").await, ["two"]);
    assert_eq!(fixture.find("*").await.total, 2);
    assert_eq!(created_at(&fixture), created, "the index was rebuilt");
}

#[tokio::test]
async fn soft_deleted_entities_are_excluded_by_default() {
    let fixture = Fixture::new().await;
    let urn = fixture.dataset("gone", "once").await;
    fixture.put(&urn, "status", &json!({"removed": true})).await;
    assert_eq!(fixture.find("gone").await.total, 0);
    let request = docent_search::SearchRequest {
        query: "gone".to_owned(),
        include_removed: true,
        ..docent_search::SearchRequest::default()
    };
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 1);
    fixture
        .put(&urn, "status", &json!({"removed": false}))
        .await;
    assert_eq!(fixture.find("gone").await.total, 1);
}

#[tokio::test]
async fn access_tokens_are_not_indexed() {
    let fixture = Fixture::new().await;
    fixture.find("*").await;
    let urn = docent_model::Urn::parse("urn:li:dataHubAccessToken:0123").unwrap();
    let key = super::key_of(&urn);
    fixture.put(&urn, "dataHubAccessTokenKey", &key).await;
    let request = docent_search::SearchRequest {
        types: vec!["dataHubAccessToken".to_owned()],
        ..docent_search::SearchRequest::default()
    };
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 0);
    // Nor does a rebuild index them.
    std::fs::remove_dir_all(fixture.index_path()).unwrap();
    let fixture = fixture.restart().await;
    assert_eq!(fixture.search.search(&request).await.unwrap().total, 0);
}

/// When the directory of the index was created, which a rebuild changes.
pub(crate) fn created_at(fixture: &Fixture) -> std::time::SystemTime {
    std::fs::metadata(fixture.files_path())
        .unwrap()
        .created()
        .unwrap()
}
