//! Clients that patch one aspect at the same time, on PostgreSQL and on SQLite: every patch depends
//! on the latest version, so at most one of them can win at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::bench::{Bench, Docent, median};
use crate::client;
use crate::load::{Client, Source, Until};
use crate::report::{Report, Target};

const CLIENTS: usize = 8;
/// Patches of each client in a slice.
const TURNS: u64 = 100;
const URN: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,patched,PROD)";

/// Each client sets a property of its own to a number that grows.
#[derive(Debug)]
struct Patches {
    token: String,
    serials: [AtomicU64; CLIENTS],
}

impl Patches {
    fn new(docent: &Docent) -> Self {
        Self {
            token: docent.token.clone(),
            serials: Default::default(),
        }
    }

    /// What the aspect must contain.
    fn properties(&self) -> Value {
        let properties = self.serials.iter().enumerate().map(|(client, serial)| {
            let value = format!("{:06}", serial.load(Ordering::Relaxed));
            json!({"key": format!("client_{client}"), "value": value})
        });
        properties.collect()
    }
}

impl Source for Patches {
    fn request(&self, connection: usize, _turn: u64, request: &mut Vec<u8>) -> bool {
        let Some(serial) = self.serials.get(connection) else {
            return false;
        };
        let serial = serial.fetch_add(1, Ordering::Relaxed) + 1;
        let patch = json!([{
            "op": "add",
            "path": format!("/customProperties/client_{connection}"),
            "value": format!("{serial:06}"),
        }]);
        let proposal = json!({
            "entityType": "dataset",
            "entityUrn": URN,
            "changeType": "PATCH",
            "aspectName": "datasetProperties",
            "aspect": {"value": patch.to_string(), "contentType": "application/json-patch+json"},
        });
        let body = json!({"proposal": proposal}).to_string();
        request.extend(client::post(
            "/aspects?action=ingestProposal",
            &self.token,
            &body,
        ));
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        let reply: Result<Value, _> = serde_json::from_slice(reply);
        reply.is_ok_and(|reply| reply["value"] == json!("success"))
    }
}

/// A server with its clients.
struct Side {
    docent: Docent,
    client: Client,
    patches: Arc<Patches>,
    rates: Vec<f64>,
}

impl Side {
    async fn open(docent: Docent) -> Result<Self> {
        let patches = Arc::new(Patches::new(&docent));
        let mut client = docent.client(CLIENTS).await?;
        client.drive(&patches, Until::Turns(TURNS / 10)).await?;
        Ok(Self {
            docent,
            client,
            patches,
            rates: Vec::new(),
        })
    }

    async fn slice(&mut self) -> Result<f64> {
        let done = self.client.drive(&self.patches, Until::Turns(TURNS));
        let rate = done.await?.per_second();
        self.rates.push(rate);
        Ok(rate)
    }

    /// Fails if a patch was lost.
    async fn check(&mut self) -> Result<()> {
        let query = "query read($urn: String!) { dataset(urn: $urn) { properties { \
                     customProperties { key value } } } }";
        let body = json!({"query": query, "variables": {"urn": URN}}).to_string();
        let reply = self.client.ask(&self.docent.graphql(&body)).await?;
        let reply: Value = serde_json::from_slice(&reply)?;
        let mut found = reply["data"]["dataset"]["properties"]["customProperties"].clone();
        if let Some(properties) = found.as_array_mut() {
            properties.sort_by_key(|property| property["key"].to_string());
        }
        let expected = self.patches.properties();
        ensure!(
            found == expected,
            "the patched properties are {found}, expected {expected}"
        );
        Ok(())
    }
}

/// Measures both alternately. The server on PostgreSQL must run.
pub(super) async fn measure(
    bench: &Bench,
    on_postgres: Docent,
    report: &mut Report,
) -> Result<Docent> {
    report.progress("8 clients patch one aspect");
    let store = bench.create_store("patches.db")?;
    let mut postgres = Side::open(on_postgres).await?;
    let mut sqlite = Side::open(bench.serve_on_both(&store)?).await?;
    let mut ratios = Vec::new();
    for _ in 0..if bench.quick { 3 } else { 9 } {
        let (slow, fast) = (postgres.slice().await?, sqlite.slice().await?);
        ratios.push(fast / slow);
    }
    postgres.check().await?;
    sqlite.check().await?;
    sqlite.docent.server.stop()?;
    store.remove()?;
    report.line(
        "PostgreSQL: 8 clients patching one aspect, against SQLite",
        format!("{:.0} patches/s", median(&postgres.rates)),
        format!("SQLite {:.0} patches/s", median(&sqlite.rates)),
        median(&ratios),
        Target::AtMost(1.5),
        "Connectors that add to the same dataset at once wait for each other, and not much longer \
         with PostgreSQL.",
    );
    Ok(postgres.docent)
}
