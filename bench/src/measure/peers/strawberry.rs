//! A GraphQL service as people write it themselves, with strawberry and `SQLAlchemy`.
//!
//! It is asynchronous and has PostgreSQL below it, like the examples of its parts: `SQLAlchemy` has
//! no asynchronous driver for SQLite that people use for a service with several clients. Its schema
//! is written for these questions, so its queries are shorter than those of `PostGraphile`.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::postgraphile::named;
use super::{CatalogServer, program, python_environment, sources};
use crate::bench::Bench;
use crate::client;
use crate::data::labels::{CatalogRead, LabeledDataset, request_body};
use crate::postgres_server::PostgresServer;
use crate::process::{self, Cores, Server};

pub(super) struct Strawberry<'d> {
    bench: Bench,
    environment: PathBuf,
    database: &'d PostgresServer,
    datasets: usize,
    disk_bytes: u64,
}

impl<'d> Strawberry<'d> {
    /// Returns `None` if it is not installed.
    pub(super) fn find(
        bench: &Bench,
        database: &'d PostgresServer,
        datasets: usize,
        disk_bytes: u64,
    ) -> Option<Self> {
        Some(Self {
            bench: bench.clone(),
            environment: python_environment(bench, "venv-strawberry")?,
            database,
            datasets,
            disk_bytes,
        })
    }
}

impl CatalogServer for Strawberry<'_> {
    fn name(&self) -> &'static str {
        "strawberry and SQLAlchemy"
    }

    fn start(&self) -> Result<Server> {
        let address = process::free_address()?;
        let database = super::tables::DATABASE;
        let mut command = program(&self.environment.join("bin/python"));
        command
            .args(["-m", "uvicorn", "service:app", "--log-level", "warning"])
            .arg("--app-dir")
            .arg(sources("strawberry"))
            .args(["--port", &address.port().to_string()])
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env(
                "DATABASE_URL",
                self.database.url("postgresql+asyncpg", database),
            );
        let log = self.bench.path("strawberry.log");
        Server::start_at(command, Cores::Server, &log, address)
    }

    fn database(&self) -> Option<&PostgresServer> {
        Some(self.database)
    }

    fn request(&self, read: CatalogRead, first: usize) -> Option<Vec<u8>> {
        let query = match read {
            CatalogRead::Description => {
                "query read($urn: String!) { dataset(urn: $urn) { description } }"
            }
            CatalogRead::ColumnsAndDomain => {
                "query read($urn: String!) { dataset(urn: $urn) { \
                 columns { name description } domain { urn name } } }"
            }
            CatalogRead::Page => {
                "query read($urns: [String!]!) { datasets(urns: $urns) { urn name \
                 domain { urn name } owners { urn name } tags { urn name } } }"
            }
        };
        let body = request_body(query, read, first, self.datasets);
        Some(client::post("/graphql", "none", &body))
    }

    fn reply(&self, read: CatalogRead, first: usize) -> Value {
        let dataset = LabeledDataset(first);
        let data = match read {
            CatalogRead::Description => {
                json!({"dataset": {"description": dataset.description()}})
            }
            CatalogRead::ColumnsAndDomain => {
                let columns = dataset
                    .columns()
                    .map(|(name, description)| json!({"name": name, "description": description}));
                json!({"dataset": {"columns": columns, "domain": named(&dataset.domain())}})
            }
            CatalogRead::Page => {
                let datasets: Vec<Value> = LabeledDataset::page(first, self.datasets)
                    .map(|dataset| {
                        json!({
                            "urn": dataset.urn(),
                            "name": dataset.name(),
                            "domain": named(&dataset.domain()),
                            "owners": dataset.owners().map(|owner| named(&owner)),
                            "tags": dataset.tags().map(|tag| named(&tag)),
                        })
                    })
                    .collect();
                json!({"datasets": datasets})
            }
        };
        json!({"data": data})
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.disk_bytes)
    }
}
