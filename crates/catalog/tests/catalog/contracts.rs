//! Data contracts, with other writers in between.

use std::sync::Arc;

use docent_catalog::contracts::NewContract;
use docent_catalog::{Caller, Catalog, Error, ErrorKind};
use docent_model::{FixedClock, Urn};
use docent_store::Store;
use docent_test_store::TestStore;
use serde_json::json;

use crate::interrupted::Interrupted;
use crate::{dataset, upsert, write_as_operator};

async fn sign(catalog: &Catalog) -> Result<Urn, Error> {
    let new = NewContract {
        dataset: dataset("orders"),
        id: None,
        freshness: None,
        schema: None,
        data_quality: None,
        state: None,
    };
    catalog.upsert_contract(&Caller::system(), new).await
}

#[tokio::test]
async fn a_dataset_gets_one_contract_from_two_first_requests() {
    let test_store = TestStore::open().await.unwrap();
    let clock = Arc::new(FixedClock::at(1_790_000_000_000));
    let other = Catalog::new(test_store.store(), clock.clone());
    let store = Interrupted::store(test_store.store());
    let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
    let status = upsert(&dataset("orders"), "status", &json!({"removed": false}));
    write_as_operator(&other, vec![status]).await;
    let meanwhile = {
        let other = other.clone();
        async move { drop(sign(&other).await.unwrap()) }
    };
    store.before_next(meanwhile).await;
    let error = sign(&catalog).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Conflict(_)), "{error}");
    let contract = sign(&catalog).await.unwrap();
    let stored = other.contracts_of(&[dataset("orders")]).await.unwrap();
    assert_eq!(stored, [Some(contract)]);
}
