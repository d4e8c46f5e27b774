//! Writers that put load on a server, each with a journal of its sent and acknowledged writes.
//!
//! A [`Writer`] sends one request at a time and writes to entities of its own, so at most one of
//! its writes is pending. [`Writer::verify`] reads everything back: acknowledged writes must be
//! stored, the pending one may be stored, but only completely, and anything else is an error.
//!
//! To add a kind of write: a journal in [`Writer`], an arm in `Writer::step`, a check in `verify`.

mod connection;
mod journal;
mod random;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

pub use connection::{Connection, proposal};
pub use journal::{Collection, Register};
pub use random::{Random, word};

/// The columns of each writer's dataset.
const COLUMNS: [&str; 2] = ["first", "second"];

/// The domains that datasets move between.
const DOMAINS: [&str; 2] = ["urn:li:domain:load-red", "urn:li:domain:load-blue"];

/// A batch writes this many datasets shared by all batches, and as many new ones.
const HALF_BATCH: usize = 10;

/// More links would only make the dataset slow to write.
const MAX_LINKS: usize = 100;

/// The number of entities per query.
const PAGE_SIZE: usize = 200;

const READ: &str = "query read($dataset: String!) { dataset(urn: $dataset) {
    editableSchemaMetadata { editableSchemaFieldInfo { fieldPath description } }
    domain { domain { urn } }
    institutionalMemory { elements { url } }
} }";

const READ_MANY: &str = "query readMany($urns: [String!]!) { entities(urns: $urns) {
    urn
    ... on Dataset { properties { customProperties { key value } } }
    ... on Domain { properties { description } }
} }";

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

    /// Writes until the connection breaks, which is an error unless `killed` is set.
    pub fn run_until_killed(
        &mut self,
        server: &Connection,
        killed: &AtomicBool,
    ) -> anyhow::Result<()> {
        while self.step(server)? {}
        ensure!(
            killed.load(Ordering::SeqCst),
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

    fn send_batch(&mut self, server: &Connection, write: u64) -> anyhow::Result<bool> {
        self.batches.begin(write);
        let value = json!({"customProperties": {"batch": write.to_string()}});
        let proposals: Vec<Value> = self
            .shared_urns()
            .into_iter()
            .chain(self.own_urns(write))
            .map(|urn| proposal(&urn, "datasetProperties", &value))
            .collect();
        let done = server.ingest(&proposals)?;
        if done {
            self.batches.acknowledge();
        }
        Ok(done)
    }

    /// Compares the server's data with the journal, and settles the pending write.
    ///
    /// `thorough` reads all entities ever created instead of the latest ones.
    pub fn verify(&mut self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        self.verify_all(server, thorough)
            .with_context(|| format!("writer {}", self.number))
    }

    fn verify_all(&mut self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        let reply = server.query(READ, &json!({"dataset": self.dataset()}))?;
        let dataset = &reply["dataset"];
        ensure!(dataset.is_object(), "the dataset is missing: {reply}");
        for (index, column) in COLUMNS.iter().enumerate() {
            let stored = described(dataset, column)?;
            self.columns[index]
                .settle(stored)
                .with_context(|| format!("the description of column {column}"))?;
        }
        let domain = match dataset["domain"]["domain"]["urn"].as_str() {
            None => None,
            Some(urn) => Some(
                DOMAINS
                    .iter()
                    .position(|domain| *domain == urn)
                    .with_context(|| format!("an unexpected domain: {urn}"))?,
            ),
        };
        self.domain.settle(domain).context("the dataset's domain")?;
        let writes = self.links.all();
        let found = stored_links(dataset, &writes)?;
        self.links.settle(&writes, &found).context("links")?;
        self.verify_domains(server, thorough)?;
        self.verify_batches(server, thorough)
    }

    /// Verifies a copy made while the writer was running: it must contain exactly the writes up to
    /// some point, which must not be before the write `at_least`.
    pub fn verify_copy(&self, server: &Connection, at_least: u64) -> anyhow::Result<()> {
        let domains = self.created_domains.all();
        let batches = self.batches.all();
        let links = self.links.all();
        let reply = server.query(READ, &json!({"dataset": self.dataset()}))?;
        let mut found = self.stored_domains(server, &domains)?;
        found.extend(self.stored_batches(server, &batches)?);
        found.extend(stored_links(&reply["dataset"], &links)?);
        let point = found.last().copied().unwrap_or(0);
        let expected: BTreeSet<u64> = domains
            .iter()
            .chain(&batches)
            .chain(&links)
            .filter(|write| **write <= point.max(at_least))
            .copied()
            .collect();
        ensure!(
            found == expected,
            "writer {}: write {at_least} was acknowledged before the copy started, but the copy has {found:?} of {expected:?}",
            self.number
        );
        let shared = whole_batch(&read_many(server, &self.shared_urns())?)?;
        let last = batches.intersection(&found).last().copied();
        ensure!(
            shared == last,
            "writer {}: the latest batch in the copy is {last:?}, but the shared datasets have {shared:?}",
            self.number
        );
        Ok(())
    }

    fn verify_domains(&mut self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        let writes = to_verify(&self.created_domains, thorough);
        let found = self.stored_domains(server, &writes)?;
        self.created_domains
            .settle(&writes, &found)
            .context("created domains")
    }

    /// Returns the writes whose domain is stored.
    fn stored_domains(
        &self,
        server: &Connection,
        writes: &BTreeSet<u64>,
    ) -> anyhow::Result<BTreeSet<u64>> {
        let urns: Vec<String> = writes
            .iter()
            .map(|write| format!("urn:li:domain:load-{}-{write}", self.number))
            .collect();
        let mut found = BTreeSet::new();
        for (write, entity) in writes.iter().zip(read_many(server, &urns)?) {
            if !entity.is_null() {
                let description = entity["properties"]["description"].as_str();
                ensure!(
                    description == Some(write.to_string().as_str()),
                    "a domain is stored partially: {entity}"
                );
                found.insert(*write);
            }
        }
        Ok(found)
    }

    fn verify_batches(&mut self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        let writes = to_verify(&self.batches, thorough);
        let found = self.stored_batches(server, &writes)?;
        self.batches.settle(&writes, &found).context("batches")?;
        let shared = read_many(server, &self.shared_urns())?;
        let last = whole_batch(&shared).context("the shared datasets")?;
        ensure!(
            last == self.batches.settled().last().copied(),
            "the shared datasets have {last:?}, but the latest stored batch is {:?}",
            self.batches.settled().last()
        );
        Ok(())
    }

    /// Returns the stored batches; a partially stored one is an error.
    fn stored_batches(
        &self,
        server: &Connection,
        writes: &BTreeSet<u64>,
    ) -> anyhow::Result<BTreeSet<u64>> {
        let urns: Vec<String> = writes
            .iter()
            .flat_map(|write| self.own_urns(*write))
            .collect();
        let stored = read_many(server, &urns)?;
        let mut found = BTreeSet::new();
        for (write, entities) in writes.iter().zip(stored.chunks(HALF_BATCH)) {
            if whole_batch(entities).context("the new datasets of a batch")? == Some(*write) {
                found.insert(*write);
            }
        }
        Ok(found)
    }

    fn dataset(&self) -> String {
        dataset_urn(&format!("writer_{}", self.number))
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

/// Returns the writes to read back: all, or the latest few.
fn to_verify(collection: &Collection, thorough: bool) -> BTreeSet<u64> {
    let all = collection.all();
    if thorough {
        return all;
    }
    all.into_iter().rev().take(5).collect()
}

fn dataset_urn(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,load.{name},PROD)")
}

fn link(write: u64) -> String {
    format!("https://load.example/{write}")
}

/// Returns the writes whose link is stored.
fn stored_links(dataset: &Value, writes: &BTreeSet<u64>) -> anyhow::Result<BTreeSet<u64>> {
    let elements = dataset["institutionalMemory"]["elements"].as_array();
    let links: Vec<&str> = elements
        .into_iter()
        .flatten()
        .filter_map(|element| element["url"].as_str())
        .collect();
    let found: BTreeSet<u64> = writes
        .iter()
        .filter(|write| links.contains(&link(**write).as_str()))
        .copied()
        .collect();
    ensure!(
        links.len() == found.len(),
        "the dataset has unexpected or duplicate links: {links:?}"
    );
    Ok(found)
}

/// Returns the number in a column's description.
fn described(dataset: &Value, column: &str) -> anyhow::Result<Option<u64>> {
    let columns = dataset["editableSchemaMetadata"]["editableSchemaFieldInfo"].as_array();
    let description = columns
        .into_iter()
        .flatten()
        .find(|info| info["fieldPath"] == column)
        .and_then(|info| info["description"].as_str());
    match description {
        None => Ok(None),
        Some(text) => Ok(Some(text.parse().with_context(|| {
            format!("column {column} has an unexpected description: {text}")
        })?)),
    }
}

/// Returns the batch number of these datasets; `None` if none of them exists.
fn whole_batch(entities: &[Value]) -> anyhow::Result<Option<u64>> {
    let mut numbers = BTreeSet::new();
    for entity in entities {
        let properties = entity["properties"]["customProperties"].as_array();
        let entry = properties
            .into_iter()
            .flatten()
            .find(|entry| entry["key"] == "batch");
        numbers.insert(match entry.and_then(|entry| entry["value"].as_str()) {
            Some(number) => Some(number.parse::<u64>()?),
            None => None,
        });
    }
    let mut numbers = numbers.into_iter();
    match (numbers.next(), numbers.next()) {
        (Some(number), None) => Ok(number),
        _ => bail!("a batch is stored partially: {entities:?}"),
    }
}

/// Reads entities page by page; a missing one is null.
fn read_many(server: &Connection, urns: &[String]) -> anyhow::Result<Vec<Value>> {
    let mut entities = Vec::with_capacity(urns.len());
    for page in urns.chunks(PAGE_SIZE) {
        let reply = server.query(READ_MANY, &json!({ "urns": page }))?;
        let read = reply["entities"].as_array().context("no entities")?;
        ensure!(
            read.len() == page.len(),
            "the reply has too few entities: {reply}"
        );
        entities.extend(read.iter().cloned());
    }
    Ok(entities)
}
