//! Writers that put load on a server, each with a journal of its sent and acknowledged writes.
//!
//! A [`Writer`] sends one request at a time and writes to entities of its own, so at most one of
//! its writes is pending. [`Writer::verify`] reads everything back: acknowledged writes must be
//! stored, the pending one may be stored, but only completely, and anything else is an error.
//!
//! To add a kind of write: a journal in [`Writer`], an arm in `Writer::step`, a check in
//! `verify.rs`.

mod connection;
mod journal;
mod kills;
mod random;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::ensure;
use serde_json::{Value, json};

pub use connection::{Connection, proposal};
pub use journal::{Collection, Register};
pub use kills::{index_equals_store, remove_index, verify_store, write_and_kill};
pub use random::{Random, word};

/// The aspect that batches write.
const PROPERTIES: &str = "datasetProperties";

/// How the name of the property begins that has the number of the batch.
const BATCH_KEY: &str = "batch-";

/// The columns of each writer's dataset.
const COLUMNS: [&str; 2] = ["first", "second"];

/// The domains that datasets move between.
const DOMAINS: [&str; 2] = ["urn:li:domain:load-red", "urn:li:domain:load-blue"];

/// A batch writes this many datasets shared by all batches, and as many new ones.
const HALF_BATCH: usize = 10;

/// More links would only make the dataset slow to write.
const MAX_LINKS: usize = 100;

/// One writing client and the journals of its writes.
#[derive(Debug)]
pub struct Writer {
    number: usize,
    random: Random,
    /// The number of the latest write; numbers increase.
    last: u64,
    columns: [Register<Option<u64>>; 2],
    domain: Register<Option<usize>>,
    links: Collection,
    created_domains: Collection,
    batches: Collection,
    acknowledged: Arc<AtomicU64>,
    last_acknowledged: Arc<AtomicU64>,
}

impl Writer {
    /// Creates a writer and the entities that it writes to.
    pub fn prepare(number: usize, random: Random, server: &Connection) -> anyhow::Result<Self> {
        let writer = Self {
            number,
            random,
            last: 0,
            columns: [Register::new(None), Register::new(None)],
            domain: Register::new(None),
            links: Collection::default(),
            created_domains: Collection::default(),
            batches: Collection::default(),
            acknowledged: Arc::default(),
            last_acknowledged: Arc::default(),
        };
        let fields: Vec<Value> = COLUMNS
            .iter()
            .map(|column| {
                json!({
                    "fieldPath": column,
                    "type": {"type": {"com.linkedin.schema.StringType": {}}},
                    "nativeDataType": "text",
                })
            })
            .collect();
        let schema = json!({
            "schemaName": "load",
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": fields,
        });
        let mut proposals = vec![proposal(&writer.dataset(), "schemaMetadata", &schema)];
        for domain in DOMAINS {
            proposals.push(proposal(
                domain,
                "domainProperties",
                &json!({"name": domain}),
            ));
        }
        ensure!(
            server.ingest(&proposals)?,
            "the connection broke before the load started"
        );
        Ok(writer)
    }

    /// Returns the number of acknowledged writes.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    /// Returns the counter of acknowledged writes, updated while the writer runs.
    pub fn acknowledged_counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.acknowledged)
    }

    /// Returns the number of the latest acknowledged write, updated while the writer runs.
    pub fn last_acknowledged(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.last_acknowledged)
    }

    /// Writes until a write is not acknowledged, which is an error unless `killed` is set or the
    /// store may be unavailable.
    pub fn run_until_killed(
        &mut self,
        server: &Connection,
        killed: &AtomicBool,
    ) -> anyhow::Result<()> {
        while self.step(server)? {}
        ensure!(
            killed.load(Ordering::SeqCst) || server.is_patient(),
            "writer {}: the connection broke although the server was not killed",
            self.number
        );
        Ok(())
    }

    /// Writes until `stop` is set, and at least `at_least` times.
    pub fn run_until_stopped(
        &mut self,
        server: &Connection,
        at_least: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let goal = self.acknowledged() + at_least;
        while self.acknowledged() < goal || !stop.load(Ordering::SeqCst) {
            ensure!(
                self.step(server)?,
                "writer {}: the connection broke",
                self.number
            );
        }
        Ok(())
    }

    /// Sends one write. Returns false if the connection broke before the acknowledgement.
    fn step(&mut self, server: &Connection) -> anyhow::Result<bool> {
        self.last += 1;
        let write = self.last;
        let acknowledged = match self.random.below(10) {
            0..=3 => self.describe_column(server, write)?,
            4 | 5 => self.change_domain(server)?,
            6 if self.links.settled().len() < MAX_LINKS => self.add_link(server, write)?,
            7 if self.random.below(3) == 0 && !self.created_domains.settled().is_empty() => {
                self.delete_domain(server)?
            }
            7 => self.create_domain(server, write)?,
            _ => self.send_batch(server, write)?,
        };
        if acknowledged {
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
            self.last_acknowledged.store(write, Ordering::SeqCst);
        }
        Ok(acknowledged)
    }

    fn describe_column(&mut self, server: &Connection, write: u64) -> anyhow::Result<bool> {
        let column = self.random.index(COLUMNS.len());
        self.columns[column].begin(Some(write));
        let done = server.mutate(
            "mutation describe($input: DescriptionUpdateInput!) { done: updateDescription(input: $input) }",
            &json!({"input": {
                "description": write.to_string(),
                "resourceUrn": self.dataset(),
                "subResource": COLUMNS[column],
                "subResourceType": "DATASET_FIELD",
            }}),
        )?;
        if done {
            self.columns[column].acknowledge();
        }
        Ok(done)
    }

    fn change_domain(&mut self, server: &Connection) -> anyhow::Result<bool> {
        let choice = self.random.index(DOMAINS.len() + 1);
        let target = DOMAINS.get(choice);
        self.domain.begin(target.map(|_| choice));
        let done = match target {
            Some(domain) => server.mutate(
                "mutation set($dataset: String!, $domain: String!) \
                 { done: setDomain(entityUrn: $dataset, domainUrn: $domain) }",
                &json!({"dataset": self.dataset(), "domain": domain}),
            )?,
            None => server.mutate(
                "mutation unset($dataset: String!) { done: unsetDomain(entityUrn: $dataset) }",
                &json!({"dataset": self.dataset()}),
            )?,
        };
        if done {
            self.domain.acknowledge();
        }
        Ok(done)
    }

    fn add_link(&mut self, server: &Connection, write: u64) -> anyhow::Result<bool> {
        self.links.begin(write);
        let done = server.mutate(
            "mutation link($input: AddLinkInput!) { done: addLink(input: $input) }",
            &json!({"input": {"linkUrl": link(write), "label": "load", "resourceUrn": self.dataset()}}),
        )?;
        if done {
            self.links.acknowledge();
        }
        Ok(done)
    }

    fn create_domain(&mut self, server: &Connection, write: u64) -> anyhow::Result<bool> {
        self.created_domains.begin(write);
        let id = format!("load-{}-{write}", self.number);
        let done = server.mutate(
            "mutation create($input: CreateDomainInput!) { done: createDomain(input: $input) }",
            &json!({"input": {
                "id": id,
                "name": id,
                "description": write.to_string(),
                "parentDomain": DOMAINS[0],
            }}),
        )?;
        if done {
            self.created_domains.acknowledge();
        }
        Ok(done)
    }

    fn delete_domain(&mut self, server: &Connection) -> anyhow::Result<bool> {
        let settled = self.created_domains.settled();
        let domain = settled[self.random.index(settled.len())];
        self.created_domains.begin_removal(domain);
        let urn = format!("urn:li:domain:load-{}-{domain}", self.number);
        let done = server.mutate(
            "mutation delete($urn: String!) { done: deleteDomain(urn: $urn) }",
            &json!({ "urn": urn }),
        )?;
        if done {
            self.created_domains.acknowledge();
        }
        Ok(done)
    }

    fn send_batch(&mut self, server: &Connection, write: u64) -> anyhow::Result<bool> {
        self.batches.begin(write);
        let value = json!({
            "description": self.batch_word(write),
            "customProperties": {self.batch_key(): write.to_string()},
        });
        let proposals: Vec<Value> = self
            .shared_urns()
            .into_iter()
            .chain(self.own_urns(write))
            .map(|urn| proposal(&urn, PROPERTIES, &value))
            .collect();
        let done = server.ingest(&proposals)?;
        if done {
            self.batches.acknowledge();
        }
        Ok(done)
    }

    fn dataset(&self) -> String {
        dataset_urn(&format!("writer_{}", self.number))
    }

    /// The property that has the number of the batch.
    fn batch_key(&self) -> String {
        format!("{BATCH_KEY}{}", self.number)
    }

    /// A word that finds the datasets of a batch.
    fn batch_word(&self, write: u64) -> String {
        word((self.number as u64) << 32 | write)
    }

    /// The datasets shared by all batches of this writer.
    fn shared_urns(&self) -> Vec<String> {
        (0..HALF_BATCH)
            .map(|index| dataset_urn(&format!("shared_{}_{index}", self.number)))
            .collect()
    }

    /// The datasets that only this batch writes.
    fn own_urns(&self, write: u64) -> Vec<String> {
        (0..HALF_BATCH)
            .map(|index| dataset_urn(&format!("batch_{}_{write}_{index}", self.number)))
            .collect()
    }
}

fn dataset_urn(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,load.{name},PROD)")
}

fn link(write: u64) -> String {
    format!("https://load.example/{write}")
}
