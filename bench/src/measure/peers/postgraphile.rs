//! `PostGraphile`, which generates a GraphQL API from the tables of [`super::tables`].

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::{CatalogServer, program};
use crate::bench::Bench;
use crate::client;
use crate::data::labels::{CatalogRead, Label, LabeledDataset, request_body};
use crate::postgres_server::PostgresServer;
use crate::process::{self, Cores, Server};

pub(super) const NAME: &str = "PostGraphile";

pub(super) struct Postgraphile<'d> {
    bench: Bench,
    /// With Node, the packages and the program.
    directory: PathBuf,
    database: &'d PostgresServer,
    datasets: usize,
    disk_bytes: u64,
}

impl<'d> Postgraphile<'d> {
    /// Returns `None` if it is not installed.
    pub(super) fn find(
        bench: &Bench,
        database: &'d PostgresServer,
        datasets: usize,
        disk_bytes: u64,
    ) -> Option<Self> {
        let directory = bench.environments.join("postgraphile");
        let stamp = directory.join("node_modules/.installed-lock");
        stamp.exists().then(|| Self {
            bench: bench.clone(),
            directory,
            database,
            datasets,
            disk_bytes,
        })
    }
}

impl CatalogServer for Postgraphile<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn start(&self) -> Result<Server> {
        // Node looks for packages next to the program.
        let script = self.directory.join("server.mjs");
        std::fs::write(
            &script,
            include_str!("../../../peers/postgraphile/server.mjs"),
        )?;
        let address = process::free_address()?;
        let mut command = program(&self.directory.join("node"));
        command
            .arg(script)
            .arg(self.database.url("postgres", super::tables::DATABASE))
            .arg(address.port().to_string())
            .env("NODE_ENV", "production");
        let log = self.bench.path("postgraphile.log");
        Server::start_at(command, Cores::Server, &log, address)
    }

    fn database(&self) -> Option<&PostgresServer> {
        Some(self.database)
    }

    fn request(&self, read: CatalogRead, first: usize) -> Option<Vec<u8>> {
        let query = match read {
            CatalogRead::Description => {
                "query read($urn: String!) { datasetByUrn(urn: $urn) { description } }"
            }
            CatalogRead::ColumnsAndDomain => {
                "query read($urn: String!) { datasetByUrn(urn: $urn) { \
                 datasetColumnsByDatasetId { nodes { name description } } \
                 domainByDomainId { urn name } } }"
            }
            CatalogRead::Page => {
                "query read($urns: [String!]!) { datasetsWithUrns(urns: $urns) { nodes { urn name \
                 domainByDomainId { urn name } \
                 datasetOwnersByDatasetId { nodes { personByPersonId { urn name } } } \
                 datasetTagsByDatasetId { nodes { tagByTagId { urn name } } } } } }"
            }
        };
        let body = request_body(query, read, first, self.datasets);
        Some(client::post("/graphql", "none", &body))
    }

    fn reply(&self, read: CatalogRead, first: usize) -> Value {
        let dataset = LabeledDataset(first);
        let data = match read {
            CatalogRead::Description => {
                json!({"datasetByUrn": {"description": dataset.description()}})
            }
            CatalogRead::ColumnsAndDomain => {
                let columns = dataset
                    .columns()
                    .map(|(name, description)| json!({"name": name, "description": description}));
                json!({"datasetByUrn": {
                    "datasetColumnsByDatasetId": {"nodes": columns},
                    "domainByDomainId": named(&dataset.domain()),
                }})
            }
            CatalogRead::Page => {
                let nodes: Vec<Value> = LabeledDataset::page(first, self.datasets)
                    .map(|dataset| {
                        let owners = dataset.owners();
                        let owners = owners.map(|it| json!({"personByPersonId": named(&it)}));
                        let tags = dataset.tags().map(|it| json!({"tagByTagId": named(&it)}));
                        json!({
                            "urn": dataset.urn(),
                            "name": dataset.name(),
                            "domainByDomainId": named(&dataset.domain()),
                            "datasetOwnersByDatasetId": {"nodes": owners},
                            "datasetTagsByDatasetId": {"nodes": tags},
                        })
                    })
                    .collect();
                json!({"datasetsWithUrns": {"nodes": nodes}})
            }
        };
        json!({"data": data})
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.disk_bytes)
    }
}

/// A label as both peers on PostgreSQL return it.
pub(super) fn named(label: &Label) -> Value {
    json!({"urn": label.urn, "name": label.name})
}
