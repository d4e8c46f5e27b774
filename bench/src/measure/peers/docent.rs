//! Docent as one of the compared servers: a SQLite store with default settings.

use anyhow::Result;
use serde_json::Value;

use super::CatalogServer;
use crate::bench::{Bench, Store};
use crate::client;
use crate::data::labels::{self, CatalogRead};
use crate::measure::scale;
use crate::process::Server;
use crate::store;

pub(super) struct OurServer {
    bench: Bench,
    store: Store,
    datasets: usize,
}

impl OurServer {
    /// Loads the catalog through the API.
    pub(super) async fn load(bench: &Bench, datasets: usize) -> Result<Self> {
        let store = bench.create_store("peers.db")?;
        let docent = bench.serve(&store, None)?;
        let mut client = docent.client(1).await?;
        for batch in labels::batches(datasets) {
            client.ask(&docent.batch(&batch)).await?;
        }
        scale::wait_until_indexed(&docent, datasets).await?;
        docent.server.stop()?;
        Ok(Self {
            bench: bench.clone(),
            store,
            datasets,
        })
    }

    pub(super) fn remove(self) -> Result<()> {
        self.store.remove()
    }
}

impl CatalogServer for OurServer {
    fn name(&self) -> &'static str {
        "Docent"
    }

    fn start(&self) -> Result<Server> {
        Ok(self.bench.serve(&self.store, None)?.server)
    }

    fn stop(&self, server: Server) -> Result<()> {
        server.stop()
    }

    fn request(&self, read: CatalogRead, first: usize) -> Option<Vec<u8>> {
        let body = labels::request(read, first, self.datasets);
        Some(client::post("/api/graphql", &self.store.token, &body))
    }

    fn reply(&self, read: CatalogRead, first: usize) -> Value {
        labels::reply(read, first, self.datasets)
    }

    fn disk_bytes(&self) -> Result<u64> {
        let index = store::size_of_directory(&store::search_index(&self.store.path))?;
        Ok(self.store.path.metadata()?.len() + index)
    }
}
