//! A steady mix of requests for a long time: memory, files and descriptors must not grow.
//!
//! The load overwrites a fixed set of entities. What grows by design is the change log and the
//! audit log, so the database may grow by a number of bytes for each change. For longer runs,
//! `DOCENT_SOAK_SECONDS` sets the time (30 by default).

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{Random, proposal, verify_store, word};
use docent_e2e::{Options, Server, files_below, on_postgres};
use docent_test_postgres::Database;
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};

const MIB: u64 = 1024 * 1024;

const CLIENTS: u64 = 4;
/// Each client sends a request this often at most, so that the load is steady.
const PACE: Duration = Duration::from_millis(20);
const SAMPLES: u32 = 120;

const DATASETS: u64 = 500;
/// Datasets that are deleted and created again.
const TRANSIENT: u64 = 20;
const BATCH: u64 = 20;
const PROPERTIES: &str = "datasetProperties";
const PASSWORD: &str = "a password for the soak";

/// How much more memory the server may have in the last third than in the second, in KiB. Caches
/// fill, and the allocator does not return everything.
const MEMORY_SLACK: u64 = 24 * 1024;
/// How many more descriptors: connections of the moment, and files of the index.
const DESCRIPTOR_SLACK: u64 = 32;
/// How much more the index may take: segments with replaced documents wait to be merged.
const INDEX_SLACK: u64 = 4 * MIB;
/// The write-ahead log of SQLite is checkpointed at 16 MiB.
const MAX_LOG: u64 = 32 * MIB;
/// The file of the database grows when the log is checkpointed, so by this much at once.
const DATABASE_SLACK: u64 = 16 * MIB;
/// By how many bytes the logs grow for each change.
const SQLITE_GROWTH: u64 = 1000;
/// PostgreSQL also keeps replaced rows until it vacuums the table.
const POSTGRES_GROWTH: u64 = 4000;

#[test]
fn load_memory_files_and_descriptors_stay_flat() -> anyhow::Result<()> {
    let time = Duration::from_secs(number_from("DOCENT_SOAK_SECONDS", 30)?);
    let soak = Soak::start()?;
    let is_over = AtomicBool::new(false);
    let samples = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (soak, is_over) = (&soak, &is_over);
                scope.spawn(move || soak.send_until(is_over, Random::seeded(number)))
            })
            .collect();
        let samples = soak.sample(time);
        is_over.store(true, Ordering::SeqCst);
        for client in clients {
            client.join().map_err(|_| anyhow!("a client panicked"))??;
        }
        samples
    })?;
    let report = Report::of(&samples)?;
    let engine = if on_postgres()? {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    record(
        &format!("soak on {engine}"),
        &format!(
            "{} requests and {} changes in {} s; {report}",
            soak.requests.load(Ordering::Relaxed),
            soak.changes.load(Ordering::Relaxed),
            time.as_secs(),
        ),
    )?;
    report.verify()?;
    verify_store(soak.server.directory(), soak.server.store())
}

struct Soak {
    server: Server,
    token: String,
    client: Client,
    database: Option<Database>,
    requests: AtomicU64,
    /// Written and deleted aspects, each of which has an entry in the logs.
    changes: AtomicU64,
    numbers: AtomicU64,
}

impl Soak {
    fn start() -> anyhow::Result<Self> {
        let database = on_postgres()?.then(Database::empty).transpose()?;
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), PASSWORD)?;
        let mut options =
            Options::default().variable("DOCENT_ADMIN_PASSWORD_FILE", file.path().as_os_str());
        if let Some(database) = &database {
            options = options.store(database.url());
        }
        let server = Server::start(options)?;
        let soak = Self {
            token: server.token("datahub")?,
            client: Client::builder()
                .no_proxy()
                .timeout(Duration::from_mins(1))
                .build()?,
            server,
            database,
            requests: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            numbers: AtomicU64::new(0),
        };
        let all: Vec<u64> = (0..DATASETS).collect();
        // Twice the number of versions that are kept, so that the history is full.
        for _ in 0..40 {
            soak.ingest(&all)?;
        }
        Ok(soak)
    }

    fn send_until(&self, is_over: &AtomicBool, mut random: Random) -> anyhow::Result<()> {
        while !is_over.load(Ordering::SeqCst) {
            let started = Instant::now();
            self.send(&mut random)?;
            thread::sleep(PACE.saturating_sub(started.elapsed()));
        }
        Ok(())
    }

    fn send(&self, random: &mut Random) -> anyhow::Result<()> {
        let dataset = random.below(DATASETS);
        match random.below(100) {
            0..40 => self.read(dataset),
            40..65 => self.search(random),
            65..78 => self.ingest(&[dataset]),
            78..90 => self.patch(dataset, random.below(10)),
            90..95 => {
                let first = random.below(DATASETS - BATCH);
                self.ingest(&(first..first + BATCH).collect::<Vec<_>>())
            }
            95..99 => self.delete_and_create(DATASETS + random.below(TRANSIENT)),
            _ => self.sign_in(),
        }
    }

    /// Reads a dataset with a document that no other request has.
    fn read(&self, dataset: u64) -> anyhow::Result<()> {
        let (urn, number) = (urn(dataset), self.number());
        let document = format!(
            "{{ a{number}: dataset(urn: \"{urn}\") {{ urn properties {{ description customProperties {{ key value }} }} }} }}"
        );
        let data = self.graphql(&document, &Value::Null)?;
        let found = &data[format!("a{number}")]["urn"];
        ensure!(*found == urn, "{urn} is missing: {data}");
        Ok(())
    }

    fn search(&self, random: &mut Random) -> anyhow::Result<()> {
        let document = "query ($word: String!) { searchAcrossEntities(input: {query: $word, count: 10}) { \
             total searchResults { entity { urn } } facets { field aggregations { value count } } } }";
        let word = match random.below(2) {
            0 => "*".to_owned(),
            _ => word(random.below(1000)),
        };
        let data = self.graphql(document, &json!({ "word": word }))?;
        let total = &data["searchAcrossEntities"]["total"];
        ensure!(total.is_u64(), "no total: {data}");
        Ok(())
    }

    /// Overwrites the properties of datasets in one batch.
    fn ingest(&self, datasets: &[u64]) -> anyhow::Result<()> {
        let number = self.number();
        let value = json!({
            "description": word(number % 1000),
            "customProperties": {"number": number.to_string()},
        });
        let proposals: Vec<Value> = datasets
            .iter()
            .map(|dataset| proposal(&urn(*dataset), PROPERTIES, &value))
            .collect();
        let path = "/aspects?action=ingestProposalBatch";
        let request = self.request(Method::POST, path);
        self.exchange(request.json(&json!({ "proposals": proposals })))?;
        self.count_changes(datasets.len() as u64);
        Ok(())
    }

    fn patch(&self, dataset: u64, property: u64) -> anyhow::Result<()> {
        let path = format!("/openapi/v3/entity/dataset/{}/{PROPERTIES}", urn(dataset));
        let operations = json!([{
            "op": "add",
            "path": format!("/customProperties/patched{property}"),
            "value": self.number().to_string(),
        }]);
        self.exchange(self.request(Method::PATCH, &path).json(&operations))?;
        self.count_changes(1);
        Ok(())
    }

    fn delete_and_create(&self, dataset: u64) -> anyhow::Result<()> {
        self.ingest(&[dataset])?;
        let path = format!("/openapi/v3/entity/dataset/{}", urn(dataset));
        let reply = self.exchange(self.request(Method::DELETE, &path))?;
        // Another client may have deleted it. The other aspects are created with the entity.
        let deleted = reply["rows"].as_u64().unwrap_or_default();
        self.count_changes(2 * deleted);
        Ok(())
    }

    fn sign_in(&self) -> anyhow::Result<()> {
        let body = json!({"username": "datahub", "password": PASSWORD});
        let url = format!("{}/logIn", self.server.address());
        self.exchange(self.client.post(url).json(&body))?;
        // The new session, and the oldest one, which is deleted.
        self.count_changes(4);
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.address());
        self.client.request(method, url).bearer_auth(&self.token)
    }

    fn graphql(&self, document: &str, variables: &Value) -> anyhow::Result<Value> {
        let body = json!({"query": document, "variables": variables});
        let request = self.request(Method::POST, "/api/graphql");
        let mut reply = self.exchange(request.json(&body))?;
        ensure!(reply["errors"].is_null(), "{reply}");
        Ok(reply["data"].take())
    }

    fn exchange(&self, request: RequestBuilder) -> anyhow::Result<Value> {
        let response = request.send()?;
        let (status, text) = (response.status().as_u16(), response.text()?);
        ensure!(status == 200, "{status} {text}");
        self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(serde_json::from_str(&text).unwrap_or_default())
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn count_changes(&self, count: u64) {
        self.changes.fetch_add(count, Ordering::Relaxed);
    }

    fn sample(&self, time: Duration) -> anyhow::Result<Vec<Sample>> {
        let started = Instant::now();
        let mut samples = Vec::new();
        for number in 1..=SAMPLES {
            let at = time * number / SAMPLES;
            thread::sleep(at.saturating_sub(started.elapsed()));
            samples.push(Sample::take(self)?);
        }
        Ok(samples)
    }
}

fn urn(dataset: u64) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,soak.{dataset},PROD)")
}

/// What the server takes at one moment; sizes in bytes.
#[derive(Debug, Clone, Copy)]
struct Sample {
    changes: u64,
    /// In KiB.
    memory: u64,
    descriptors: u64,
    database: u64,
    /// The write-ahead log of SQLite.
    log: u64,
    index: u64,
}

impl Sample {
    fn take(soak: &Soak) -> anyhow::Result<Self> {
        let process = Path::new("/proc").join(soak.server.process_id().to_string());
        let status = fs::read_to_string(process.join("status"))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let memory = line.and_then(|line| line.split_whitespace().nth(1));
        let directory = soak.server.directory();
        let (database, index) = match &soak.database {
            Some(database) => {
                let rows = database.rows("SELECT pg_database_size(current_database())")?;
                let size = rows.first().and_then(|row| row[0].as_ref());
                (size.context("no size")?.parse()?, "docent-search")
            }
            None => (
                fs::metadata(directory.join("docent.db"))?.len(),
                "docent.db-search",
            ),
        };
        Ok(Self {
            changes: soak.changes.load(Ordering::Relaxed),
            memory: memory.context("no memory in the status")?.parse()?,
            descriptors: fs::read_dir(process.join("fd"))?.count() as u64,
            database,
            log: size(&directory.join("docent.db-wal")),
            index: files_below(&directory.join(index))?
                .iter()
                .map(|(_, content)| content.len() as u64)
                .sum(),
        })
    }
}

/// The size of a file, 0 if it has been deleted.
fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Compares the second third of the time with the last; the first is the warm-up.
struct Report {
    before: Sample,
    after: Sample,
    largest_log: u64,
    /// How much the database may grow for each change.
    max_growth: u64,
}

impl Report {
    fn of(samples: &[Sample]) -> anyhow::Result<Self> {
        let third = samples.len() / 3;
        Ok(Self {
            before: median(&samples[third..2 * third]),
            after: median(&samples[2 * third..]),
            largest_log: samples.iter().map(|sample| sample.log).max().unwrap_or(0),
            max_growth: if on_postgres()? {
                POSTGRES_GROWTH
            } else {
                SQLITE_GROWTH
            },
        })
    }

    fn changes(&self) -> u64 {
        self.after.changes - self.before.changes
    }

    fn growth(&self) -> u64 {
        self.after.database.saturating_sub(self.before.database)
    }

    fn verify(&self) -> anyhow::Result<()> {
        let (before, after) = (&self.before, &self.after);
        ensure!(self.changes() > 0, "nothing was written");
        ensure!(
            after.memory <= before.memory + MEMORY_SLACK,
            "the memory grows: {self}"
        );
        ensure!(
            after.descriptors <= before.descriptors + DESCRIPTOR_SLACK,
            "the number of descriptors grows: {self}"
        );
        ensure!(
            after.index <= before.index + INDEX_SLACK,
            "the index grows: {self}"
        );
        ensure!(
            self.largest_log <= MAX_LOG,
            "the write-ahead log is not checkpointed: {self}"
        );
        ensure!(
            self.growth() <= self.changes() * self.max_growth + DATABASE_SLACK,
            "the database grows more than the logs: {self}"
        );
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (before, after) = (&self.before, &self.after);
        write!(
            formatter,
            "second and last third: memory {} and {} MiB, {} and {} descriptors, index {} and {} KiB, \
             database {} and {} MiB ({} bytes for each of {} changes), write-ahead log at most {} MiB",
            before.memory / 1024,
            after.memory / 1024,
            before.descriptors,
            after.descriptors,
            before.index / 1024,
            after.index / 1024,
            before.database / MIB,
            after.database / MIB,
            self.growth() / self.changes().max(1),
            self.changes(),
            self.largest_log / MIB,
        )
    }
}

/// The median of each value.
fn median(samples: &[Sample]) -> Sample {
    let of = |value: fn(&Sample) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(value).collect();
        values.sort_unstable();
        values[values.len() / 2]
    };
    Sample {
        changes: of(|sample| sample.changes),
        memory: of(|sample| sample.memory),
        descriptors: of(|sample| sample.descriptors),
        database: of(|sample| sample.database),
        log: of(|sample| sample.log),
        index: of(|sample| sample.index),
    }
}
