//! The index beside a real store: what it finds, and how it takes care of itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop as tests do")]

mod asking;
mod coverage;
mod damage;
mod filters;
mod keeping_up;
mod scrolling;

use std::sync::Arc;

use docent_model::aspects::AuditStamp;
use docent_model::{Registry, Urn, derive};
use docent_search::{Found, Page, Request, Search};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, AspectWrite, Effect, Store, transact};
use docent_test_store::TestStore;
use serde_json::{Value, json};

const ACTOR: &str = "urn:li:corpuser:datahub";

/// A store of its own; the index stands in its directory.
struct Fixture {
    store: Arc<dyn Store>,
    search: Search,
    place: TestStore,
}

impl Fixture {
    async fn new() -> Self {
        Self::on(TestStore::open().await.unwrap())
    }

    /// As after a restart: another store and another index on the same files.
    async fn restart(self) -> Self {
        Self::on(self.closed().reopened().await.unwrap())
    }

    /// As when an empty store, or an older backup, was put in the place of the store.
    async fn replaced(self) -> Self {
        Self::on(self.closed().replaced().await.unwrap())
    }

    fn closed(self) -> TestStore {
        let Self {
            store,
            search,
            place,
        } = self;
        drop(search);
        drop(store);
        place
    }

    fn on(place: TestStore) -> Self {
        let (store, index) = (place.store(), place.directory().join("index"));
        let search = Search::in_directory(Arc::clone(&store), &index).unwrap();
        Self {
            store,
            search,
            place,
        }
    }

    async fn dataset(&self, name: &str, description: &str) -> Urn {
        let urn = dataset(name);
        self.put(&urn, "datasetKey", &key_of(&urn)).await;
        let properties = json!({"description": description, "customProperties": {}, "tags": []});
        self.put(&urn, "datasetProperties", &properties).await;
        urn
    }

    async fn put(&self, urn: &Urn, aspect: &str, value: &Value) {
        let aspect = Registry::get().aspect(aspect).unwrap();
        let key = AspectKey::new(urn, aspect);
        let derived = derive(urn, aspect, value);
        let new = NewAspect {
            metadata: value.to_string(),
            system_metadata: None,
            stamp: AuditStamp::new(&Urn::parse(ACTOR).unwrap(), 1_794_700_000_000),
            derived,
            retired_version: 0,
        };
        transact(&*self.store, move |tx| {
            let (key, new) = (key.clone(), new.clone());
            Box::pin(async move {
                let previous = tx.aspects_get(std::slice::from_ref(&key)).await?.remove(0);
                let write = version::put(key, previous.as_ref(), new);
                tx.write(write.as_slice()).await
            })
        })
        .await
        .unwrap();
    }

    /// Removes an entity with everything that is known about it.
    async fn delete(&self, urn: &Urn) {
        let rows = self.store.entities_read(std::slice::from_ref(urn)).await;
        let writes: Vec<AspectWrite> = rows.unwrap()[0]
            .iter()
            .map(|(aspect, _)| AspectWrite {
                key: AspectKey::new(urn, *aspect),
                effect: Effect::Delete {
                    retired_version: 0,
                    time_ms: 0,
                    actor: ACTOR.to_owned(),
                },
            })
            .collect();
        transact(&*self.store, move |tx| {
            let writes = writes.clone();
            Box::pin(async move { tx.write(&writes).await })
        })
        .await
        .unwrap();
    }

    async fn find(&self, query: &str) -> Found {
        let request = Request {
            query: query.to_owned(),
            page: Page::From {
                start: 0,
                count: 100,
            },
            explain_matches: true,
            ..Request::default()
        };
        self.search.search(&request).await.unwrap()
    }

    async fn names(&self, query: &str) -> Vec<String> {
        let found = self.find(query).await;
        found.hits.iter().map(|hit| name_of(&hit.urn)).collect()
    }

    fn index_path(&self) -> std::path::PathBuf {
        self.place.directory().join("index")
    }
}

fn dataset(name: &str) -> Urn {
    Urn::parse(&format!(
        "urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    ))
    .unwrap()
}

fn key_of(urn: &Urn) -> Value {
    Registry::get().key_aspect_value(urn).unwrap()
}

fn name_of(urn: &Urn) -> String {
    urn.key_parts()
        .get(1)
        .map_or_else(|| urn.to_string(), ToString::to_string)
}
