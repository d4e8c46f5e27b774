//! DataHub Lite: an aspect store in SQLite, its default, behind a small HTTP server.
//!
//! It returns whole aspects of one dataset, and of a domain only the URN.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::{CatalogServer, program, python_environment, sources};
use crate::bench::Bench;
use crate::client;
use crate::data::labels::{self, CatalogRead, LabeledDataset};
use crate::process::{self, Cores, Server};

pub(super) struct DatahubLite {
    bench: Bench,
    environment: PathBuf,
    /// The home directory, with its settings.
    home: PathBuf,
    store: PathBuf,
}

impl DatahubLite {
    /// Loads the catalog through its interface for Python. Returns `None` if it is not installed.
    pub(super) fn load(bench: &Bench, datasets: usize) -> Result<Option<Self>> {
        let Some(environment) = python_environment(bench, "venv-datahub") else {
            return Ok(None);
        };
        let home = bench.path("datahub-lite");
        let store = home.join("catalog.db");
        std::fs::create_dir(&home)?;
        // Its settings must have the address of a server, which is not used.
        let settings = json!({
            "gms": {"server": "http://localhost:1"},
            "lite": {"type": "sqlite", "config": {"file": store}},
        });
        std::fs::write(home.join(".datahubenv"), settings.to_string())?;
        let proposals = home.join("proposals");
        write_proposals(&proposals, datasets)?;
        let peer = Self {
            bench: bench.clone(),
            environment,
            home,
            store,
        };
        let status = peer.python("load.py").arg(&proposals).status()?;
        ensure!(status.success(), "DataHub Lite could not be loaded");
        Ok(Some(peer))
    }

    fn python(&self, script: &str) -> std::process::Command {
        let mut command = program(&self.environment.join("bin/python"));
        command
            .arg(sources("datahub").join(script))
            .env("HOME", &self.home)
            .env("DATAHUB_TELEMETRY_ENABLED", "false")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Writes the catalog in DataHub's file format, one proposal on a line.
fn write_proposals(path: &std::path::Path, datasets: usize) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let of_datasets = (0..datasets).map(|number| labels::dataset_proposals(LabeledDataset(number)));
    for mut proposal in labels::label_proposals()
        .into_iter()
        .chain(of_datasets)
        .flatten()
    {
        let value = proposal["aspect"]["value"].as_str().unwrap_or_default();
        proposal["aspect"] = json!({"json": serde_json::from_str::<Value>(value)?});
        writeln!(file, "{proposal}")?;
    }
    Ok(file.flush()?)
}

fn aspects(read: CatalogRead) -> &'static [&'static str] {
    match read {
        CatalogRead::Description => &["datasetProperties"],
        CatalogRead::ColumnsAndDomain => &["schemaMetadata", "domains"],
        CatalogRead::Page => &[],
    }
}

impl CatalogServer for DatahubLite {
    fn name(&self) -> &'static str {
        "DataHub Lite"
    }

    fn start(&self) -> Result<Server> {
        let address = process::free_address()?;
        let mut command = self.python("serve.py");
        command.arg(address.port().to_string());
        let log = self.bench.path("datahub-lite.log");
        Server::start_at(command, Cores::Server, &log, address)
    }

    fn request(&self, read: CatalogRead, first: usize) -> Option<Vec<u8>> {
        let aspects = aspects(read);
        if aspects.is_empty() {
            return None;
        }
        let urn = LabeledDataset(first).urn();
        let urn = utf8_percent_encode(&urn, NON_ALPHANUMERIC);
        let names: Vec<String> = aspects.iter().map(|it| format!("aspects={it}")).collect();
        let path = format!("/entities/{urn}?{}", names.join("&"));
        Some(client::get(&path))
    }

    fn reply(&self, read: CatalogRead, first: usize) -> Value {
        let dataset = LabeledDataset(first);
        let mut reply = Map::from_iter([("urn".to_owned(), json!(dataset.urn()))]);
        for (name, mut value) in dataset.aspects() {
            if !aspects(read).contains(&name) {
                continue;
            }
            if name == "schemaMetadata" {
                // DataHub's client writes the default values of these members.
                for member in ["created", "lastModified"] {
                    value[member] = json!({"time": 0, "actor": "urn:li:corpuser:unknown"});
                }
            }
            reply.insert(name.to_owned(), value);
        }
        Value::Object(reply)
    }

    fn disk_bytes(&self) -> Result<u64> {
        Ok(self.store.metadata()?.len())
    }
}
