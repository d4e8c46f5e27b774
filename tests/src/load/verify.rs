//! Reads back what the writers wrote, and compares it with their journals.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::{
    BATCH_KEY, COLUMNS, Collection, Connection, DOMAINS, HALF_BATCH, PROPERTIES, Register, Writer,
    link,
};

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

/// The number of versions of an aspect that are kept, with the latest.
const RETAINED_VERSIONS: usize = 20;

/// The number of batches of a writer that are searched for.
const SEARCHED_BATCHES: usize = 3;

impl Writer {
    /// Compares the server's data with the journal, and settles the pending write.
    ///
    /// `thorough` reads all entities ever created, and the history of versions, instead of the
    /// latest ones.
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
        self.verify_batches(server, thorough)?;
        self.verify_versions(server, thorough).context("versions")?;
        self.verify_index(server, thorough).context("search")
    }

    /// Verifies a copy made while the writer was running: it must contain exactly the writes up to
    /// some point, which must not be before the write `at_least`.
    pub fn verify_copy(&self, server: &Connection, at_least: u64) -> anyhow::Result<()> {
        // Whether a domain was removed before or after the copy is not in the journal.
        let mut domains = self.created_domains.all();
        domains.retain(|domain| Some(*domain) != self.created_domains.pending_removal());
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
        let mut writes = to_verify(&self.created_domains, thorough);
        writes.extend(self.created_domains.pending_removal());
        let removed = self.created_domains.removed().iter().rev();
        writes.extend(removed.take(if thorough { usize::MAX } else { 5 }));
        let found = self.stored_domains(server, &writes)?;
        self.created_domains
            .settle(&writes, &found)
            .context("created domains")?;
        let domains = &self.created_domains;
        let settled = domains.settled().iter().rev().take(PAGE_SIZE / 2);
        let removed = domains.removed().iter().rev().take(PAGE_SIZE / 2);
        let settled: Vec<String> = settled.map(|write| self.domain_urn(*write)).collect();
        let mut urns: Vec<String> = removed.map(|write| self.domain_urn(*write)).collect();
        urns.extend_from_slice(&settled);
        let found: BTreeSet<String> = search_urns(server, &urns)?.into_iter().collect();
        ensure!(
            found == settled.iter().cloned().collect(),
            "the domains {settled:?} are stored, but a search finds {found:?}"
        );
        Ok(())
    }

    fn domain_urn(&self, write: u64) -> String {
        format!("urn:li:domain:load-{}-{write}", self.number)
    }

    /// Returns the writes whose domain is stored.
    fn stored_domains(
        &self,
        server: &Connection,
        writes: &BTreeSet<u64>,
    ) -> anyhow::Result<BTreeSet<u64>> {
        let urns: Vec<String> = writes.iter().map(|write| self.domain_urn(*write)).collect();
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

    /// Verifies that every write has one version: none is missing, and none is stored twice.
    fn verify_versions(&self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        let described = self.columns.iter().map(Register::changes).sum();
        expect_version(server, &self.dataset(), "editableSchemaMetadata", described)?;
        let batches = self.batches.settled();
        for urn in self.shared_urns() {
            expect_version(server, &urn, PROPERTIES, batches.len() as u64)?;
            if !thorough {
                return Ok(());
            }
            let after_latest = batches.len() as u64 + 1;
            ensure!(
                server.aspect(&urn, PROPERTIES, after_latest)?.is_none(),
                "{urn} has a version {after_latest}"
            );
            let history = batches.iter().enumerate().rev();
            for (index, batch) in history.take(RETAINED_VERSIONS) {
                let version = index as u64 + 1;
                let stored = server.aspect(&urn, PROPERTIES, version)?;
                let stored = stored.with_context(|| format!("{urn} has no version {version}"))?;
                let found = &stored["value"]["customProperties"][&self.batch_key()];
                ensure!(
                    found.as_str() == Some(batch.to_string().as_str()),
                    "version {version} of {urn} has batch {found} instead of {batch}"
                );
            }
        }
        Ok(())
    }

    /// Verifies that searches find the entities of every batch, each of them once.
    fn verify_index(&self, server: &Connection, thorough: bool) -> anyhow::Result<()> {
        let batches = self.batches.settled();
        let last = batches.last().copied();
        for write in batches.iter().rev().take(SEARCHED_BATCHES) {
            let mut expected = self.own_urns(*write);
            if Some(*write) == last {
                expected.extend(self.shared_urns());
            }
            expected.sort_unstable();
            let mut found = search(server, &self.batch_word(*write))?;
            found.sort_unstable();
            ensure!(
                found == expected,
                "batch {write} has {expected:?}, but a search finds {found:?}"
            );
        }
        if !thorough {
            return Ok(());
        }
        let expected: BTreeMap<String, usize> = batches
            .iter()
            .map(|write| {
                let halves = if Some(*write) == last { 2 } else { 1 };
                let value = format!("{}={write}", self.batch_key());
                (value, halves * HALF_BATCH)
            })
            .collect();
        let prefix = format!("{}=", self.batch_key());
        let mut found = BTreeMap::new();
        for (value, count) in indexed_values(server)? {
            if value.starts_with(&prefix) {
                found.insert(value, count);
            }
        }
        ensure!(
            found == expected,
            "the index has {found:?}, but {expected:?} is stored"
        );
        Ok(())
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
            .find(|entry| is_batch_key(&entry["key"]));
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

fn is_batch_key(key: &Value) -> bool {
    key.as_str().is_some_and(|key| key.starts_with(BATCH_KEY))
}

fn expect_version(
    server: &Connection,
    urn: &str,
    aspect: &str,
    expected: u64,
) -> anyhow::Result<()> {
    let stored = server.aspect(urn, aspect, 0)?.unwrap_or_default();
    let version = match stored["systemMetadata"]["version"].as_str() {
        None => 0,
        Some(text) => text.parse()?,
    };
    ensure!(
        version == expected,
        "{aspect} of {urn} has version {version} after {expected} writes"
    );
    Ok(())
}

/// Returns the URNs of the entities that a word finds.
fn search(server: &Connection, word: &str) -> anyhow::Result<Vec<String>> {
    const DOCUMENT: &str = "query ($word: String!) {
        searchAcrossEntities(input: {query: $word, count: 100}) {
            total searchResults { entity { urn } }
        } }";
    found_urns(&server.query(DOCUMENT, &json!({ "word": word }))?)
}

fn found_urns(data: &Value) -> anyhow::Result<Vec<String>> {
    let page = &data["searchAcrossEntities"];
    let results = page["searchResults"].as_array().context("no results")?;
    ensure!(page["total"] == results.len(), "the total is wrong: {page}");
    let urns = results
        .iter()
        .map(|result| result["entity"]["urn"].as_str());
    let urns = urns.map(|urn| urn.map(str::to_owned).context("no URN"));
    urns.collect()
}

/// Returns which of these entities are in the index.
fn search_urns(server: &Connection, urns: &[String]) -> anyhow::Result<Vec<String>> {
    const DOCUMENT: &str = "query ($urns: [String!]!, $count: Int!) {
        searchAcrossEntities(input: {
            query: \"*\", count: $count, orFilters: [{and: [{field: \"urn\", values: $urns}]}]
        }) { total searchResults { entity { urn } } } }";
    let variables = json!({ "urns": urns, "count": PAGE_SIZE });
    found_urns(&server.query(DOCUMENT, &variables)?)
}

/// Returns the custom properties in the index, each with the number of its entities.
fn indexed_values(server: &Connection) -> anyhow::Result<Vec<(String, usize)>> {
    const DOCUMENT: &str = "{ aggregateAcrossEntities(input: {
            query: \"*\", facets: [\"customProperties\"], searchFlags: {maxAggValues: 10000}
        }) { facets { aggregations { value count } } } }";
    let data = server.query(DOCUMENT, &json!({}))?;
    let counted = data["aggregateAcrossEntities"]["facets"][0]["aggregations"].as_array();
    let counted = counted.context("no facet")?.iter();
    let pairs = counted.map(|entry| {
        let count = usize::try_from(entry["count"].as_u64()?).ok()?;
        Some((entry["value"].as_str()?.to_owned(), count))
    });
    pairs
        .collect::<Option<_>>()
        .context("a value without a count")
}
