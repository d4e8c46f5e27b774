//! The index with a real store: what it finds, and how it maintains itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests may stop as tests do")]

mod coverage;
mod faulty_store;
mod filters;
mod freshness;
mod identity;
mod limits;
mod lists;
mod maintenance;
mod query_language;
mod recovery;
mod scrolling;

use std::sync::Arc;

use docent_model::aspects::AuditStamp;
use docent_model::{Registry, Urn, derive};
use docent_search::{Search, SearchPage, SearchRequest, SearchResults};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, AspectWrite, Effect, ReadRequest, Store, transact};
use docent_test_store::TestStore;
use serde_json::{Value, json};

const ACTOR: &str = "urn:li:corpuser:datahub";

/// A store, and an index in its directory.
struct Fixture {
    store: Arc<dyn Store>,
    search: Search,
    test_store: TestStore,
}

impl Fixture {
    async fn new() -> Self {
        Self::on(TestStore::open().await.unwrap())
    }

    /// Reopens the store and the index, as after a restart.
    async fn restart(self) -> Self {
        Self::on(self.closed().reopened().await.unwrap())
    }

    /// Replaces the store by an empty one, and keeps the index.
    async fn replaced(self) -> Self {
        Self::on(self.closed().replaced().await.unwrap())
    }

    fn closed(self) -> TestStore {
        let Self {
            store,
            search,
            test_store,
        } = self;
        drop(search);
        drop(store);
        test_store
    }

    fn on(test_store: TestStore) -> Self {
        let (store, index) = (test_store.store(), test_store.directory().join("index"));
        let search = Search::in_directory(Arc::clone(&store), &index).unwrap();
        Self {
            store,
            search,
            test_store,
        }
    }

    async fn dataset(&self, name: &str, description: &str) -> Urn {
        let urn = dataset(name);
        self.put(&urn, "datasetKey", &key_of(&urn)).await;
        let properties = json!({"description": description, "customProperties": {}, "tags": []});
        self.put(&urn, "datasetProperties", &properties).await;
        urn
    }

    /// Writes many datasets with only their names in one transaction.
    async fn datasets(&self, names: impl IntoIterator<Item = String>) {
        let urns = names.into_iter().map(|name| dataset(&name));
        let keys = urns.map(|urn| (urn.clone(), "datasetKey", key_of(&urn)));
        self.put_all(&keys.collect::<Vec<_>>()).await;
    }

    async fn put(&self, urn: &Urn, aspect: &'static str, value: &Value) {
        self.put_all(&[(urn.clone(), aspect, value.clone())]).await;
    }

    async fn put_all(&self, aspects: &[(Urn, &'static str, Value)]) {
        let stamp = AuditStamp::new(&Urn::parse(ACTOR).unwrap(), 1_794_700_000_000);
        let new: Vec<(AspectKey, NewAspect)> = aspects
            .iter()
            .map(|(urn, aspect, value)| {
                let aspect = Registry::get().aspect(aspect).unwrap();
                let new = NewAspect {
                    metadata: value.to_string(),
                    system_metadata: None,
                    stamp: stamp.clone(),
                    derived: derive(urn, aspect, value),
                    retired_version: None,
                };
                (AspectKey::new(urn, aspect), new)
            })
            .collect();
        transact(&*self.store, move |tx| {
            let new = new.clone();
            Box::pin(async move {
                let keys: Vec<AspectKey> = new.iter().map(|(key, _)| key.clone()).collect();
                let previous = tx.aspects_get(&keys).await?;
                let writes: Vec<AspectWrite> = new
                    .into_iter()
                    .zip(previous)
                    .filter_map(|((key, new), previous)| version::put(key, previous.as_ref(), new))
                    .collect();
                tx.write(&writes).await
            })
        })
        .await
        .unwrap();
    }

    /// Deletes all aspects of an entity.
    async fn delete(&self, urn: &Urn) {
        let urns = std::slice::from_ref(urn);
        let reply = self.store.read(ReadRequest::entities(urns)).await;
        let writes: Vec<AspectWrite> = reply.unwrap().entities[0]
            .iter()
            .map(|(aspect, _)| AspectWrite {
                key: AspectKey::new(urn, *aspect),
                effect: Effect::Delete {
                    retired_version: None,
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

    async fn find(&self, query: &str) -> SearchResults {
        let request = SearchRequest {
            query: query.to_owned(),
            page: SearchPage::Offset {
                start: 0,
                count: 100,
            },
            explain_matches: true,
            ..SearchRequest::default()
        };
        self.search.search(&request).await.unwrap()
    }

    async fn names(&self, query: &str) -> Vec<String> {
        let found = self.find(query).await;
        found.hits.iter().map(|hit| name_of(&hit.urn)).collect()
    }

    fn index_path(&self) -> std::path::PathBuf {
        self.test_store.directory().join("index")
    }

    /// The directory with the files of the index.
    fn files_path(&self) -> std::path::PathBuf {
        let entries = std::fs::read_dir(self.index_path()).unwrap();
        let mut folders = entries.map(|entry| entry.unwrap().path());
        let is_of_a_format = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("format-")
        };
        folders.find(is_of_a_format).unwrap()
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
