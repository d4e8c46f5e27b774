//! Several servers on one PostgreSQL database, and what happens when one of them or the database goes away.
//!
//! `DOCENT_LOAD_SECONDS` sets how long the load runs (60 by default), `DOCENT_LOAD_SEED` which random numbers are used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::load::Random;
use docent_e2e::{Finished, Options, Server, Signal, docent_command, temporary_directory};
use docent_test_postgres::Database;
use reqwest::blocking::Client;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);
const PROPERTIES: &str = "datasetProperties";

fn dataset(name: impl std::fmt::Display) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

fn open_servers(url: &str, count: usize) -> anyhow::Result<Vec<Server>> {
    let options = || Options::default().store(url).without_authentication();
    (0..count).map(|_| Server::start(options())).collect()
}

/// A client of one server; every reply is an answer, whatever its status.
#[derive(Clone)]
struct Caller {
    client: Client,
    address: String,
}

struct Answer {
    status: u16,
    retry_after: Option<String>,
    body: Value,
}

impl Caller {
    fn new(server: &Server) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::builder().no_proxy().timeout(PATIENCE).build()?,
            address: server.address().to_owned(),
        })
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let request = self.client.post(format!("{}{path}", self.address));
        let reply = request.json(body).send()?;
        let retry_after = reply.headers().get("retry-after");
        Ok(Answer {
            status: reply.status().as_u16(),
            retry_after: retry_after.map(|value| value.to_str().unwrap_or_default().to_owned()),
            body: serde_json::from_str(&reply.text()?).unwrap_or_default(),
        })
    }

    fn propose(
        &self,
        change: &str,
        urn: &str,
        aspect: &str,
        value: &Value,
    ) -> anyhow::Result<Answer> {
        let kind = if change == "PATCH" {
            "application/json-patch+json"
        } else {
            "application/json"
        };
        let proposal = json!({
            "entityType": urn.split(':').nth(2),
            "entityUrn": urn,
            "changeType": change,
            "aspectName": aspect,
            "aspect": {"value": value.to_string(), "contentType": kind},
        });
        self.post(
            "/aspects?action=ingestProposal",
            &json!({ "proposal": proposal }),
        )
    }

    /// Adds a property to a dataset by a patch.
    fn patch(&self, urn: &str, property: &str) -> anyhow::Result<Answer> {
        let path = format!("/customProperties/{property}");
        let patch = json!([{"op": "add", "path": path, "value": "x"}]);
        self.propose("PATCH", urn, PROPERTIES, &patch)
    }

    /// The data of a query; errors fail.
    fn query(&self, document: &str, variables: &Value) -> anyhow::Result<Value> {
        let body = json!({"query": document, "variables": variables});
        let mut answer = self.post("/api/graphql", &body)?;
        let errors = &answer.body["errors"];
        ensure!(
            answer.status == 200 && errors.is_null(),
            "{} {}",
            answer.status,
            answer.body
        );
        Ok(answer.body["data"].take())
    }

    /// Runs a mutation; says whether it did it. Being refused as bad input or for a conflict is an answer, too.
    fn mutate(&self, document: &str, variables: &Value) -> anyhow::Result<bool> {
        let body = json!({"query": document, "variables": variables});
        let answer = self.post("/api/graphql", &body)?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
        let code = &answer.body["errors"][0]["extensions"]["code"];
        match code.as_u64() {
            None => Ok(true),
            Some(400 | 404 | 409) => Ok(false),
            Some(_) => bail!("{}", answer.body),
        }
    }

    fn found(&self, text: &str) -> anyhow::Result<u64> {
        let query = "query($text: String!) { searchAcrossEntities(input: {query: $text, count: 0}) { total } }";
        let data = self.query(query, &json!({ "text": text }))?;
        data["searchAcrossEntities"]["total"]
            .as_u64()
            .context("no total")
    }

    /// The properties of a dataset, and how often the aspect was written.
    fn properties(&self, urn: &str) -> anyhow::Result<(BTreeSet<String>, u64)> {
        let url = format!(
            "{}/openapi/v3/entity/dataset/{}?systemMetadata=true&aspects={PROPERTIES}",
            self.address,
            encoded(urn)
        );
        let reply: Value = serde_json::from_str(&self.client.get(url).send()?.text()?)?;
        let aspect = &reply[PROPERTIES];
        let properties = aspect["value"]["customProperties"].as_object();
        let version = aspect["systemMetadata"]["version"].as_str();
        Ok((
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect(),
            version.and_then(|text| text.parse().ok()).unwrap_or(0),
        ))
    }
}

fn encoded(urn: &str) -> String {
    urn.replace('(', "%28")
        .replace(')', "%29")
        .replace(',', "%2C")
        .replace(':', "%3A")
}

/// `docent check` and `docent rebuild` have nothing to say.
fn is_sound(url: &str) -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let run = |command: &str| {
        let mut docent = docent_command(directory.path())?;
        Finished::run(docent.args([command, "--store", url]))?.succeeded()
    };
    let checked = run("check")?;
    ensure!(checked.contains("healthy"), "{checked}");
    let rebuilt = run("rebuild")?;
    ensure!(
        rebuilt.contains("everything derived from them was right"),
        "{rebuilt}"
    );
    Ok(())
}

#[test]
fn a_write_on_one_server_is_found_by_the_next_search_on_another() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 3)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    for round in 0..30 {
        let (writer, reader) = (&callers[round % 3], &callers[(round + 1) % 3]);
        let word = format!("zebra{round}");
        let answer = writer.propose(
            "UPSERT",
            &dataset(&word),
            PROPERTIES,
            &json!({"description": word, "customProperties": {}}),
        )?;
        ensure!(answer.status == 200, "{}", answer.body);
        ensure!(reader.found(&word)? == 1, "round {round}");
    }
    is_sound(database.url())
}

#[test]
fn a_revoked_token_stops_working_on_every_server_within_a_second() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let start = || Server::start(Options::default().store(database.url()));
    let (one, other) = (start()?, start()?);
    for round in 0..5 {
        let name = format!("round-{round}");
        let secret = one.run_docent([
            "token",
            "create",
            "--store",
            database.url(),
            "--user",
            "datahub",
            "--name",
            &name,
        ])?;
        let status = |server: &Server| -> anyhow::Result<u16> {
            let request = server
                .anonymous_request(reqwest::Method::GET, "/entitiesV2/urn:li:corpuser:datahub");
            Ok(server.send(request.bearer_auth(secret.trim()))?.status)
        };
        for server in [&one, &other] {
            // Asked several times, so that the server remembers it.
            for _ in 0..3 {
                ensure!(status(server)? == 200);
            }
        }
        let list = one.run_docent(["token", "list", "--store", database.url()])?;
        let line = list
            .lines()
            .find(|line| line.contains(&name))
            .context("not listed")?;
        let id = line.split_whitespace().next().context("no id")?;
        one.run_docent(["token", "revoke", "--store", database.url(), id])?;
        let revoked = Instant::now();
        for server in [&one, &other] {
            while status(server)? != 401 {
                ensure!(revoked.elapsed() < Duration::from_secs(1), "round {round}");
            }
        }
    }
    Ok(())
}

#[test]
fn two_servers_do_not_share_a_search_index() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let server = Server::start(Options::default().store(database.url()))?;
    let mut second = server.docent([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        database.url(),
    ])?;
    let refusal = Finished::run(&mut second)?.refused()?;
    ensure!(refusal.contains("--search-index"), "{refusal}");
    Ok(())
}

/// What the clients of the load know.
#[derive(Default)]
struct Known {
    /// Properties that were acknowledged, per dataset.
    patched: Mutex<BTreeMap<String, BTreeSet<String>>>,
    links: Mutex<BTreeMap<String, BTreeSet<String>>>,
    done: AtomicU64,
}

const DATASETS: u64 = 12;
const DOMAINS: u64 = 6;

#[test]
fn load_four_servers_and_32_clients_leave_a_history_that_one_order_of_writes_explains()
-> anyhow::Result<()> {
    let (seconds, seed) = (
        number_from("DOCENT_LOAD_SECONDS", 60)?,
        number_from("DOCENT_LOAD_SEED", 5)?,
    );
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 4)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    for number in 0..DOMAINS {
        ensure!(create_domain(&callers[0], number)?);
    }
    for number in 0..DATASETS {
        let properties = json!({"description": "load", "customProperties": {}});
        let answer = callers[0].propose("UPSERT", &dataset(number), PROPERTIES, &properties)?;
        ensure!(answer.status == 200, "{}", answer.body);
    }
    let known = Known::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::seeded(seed);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..32)
            .map(|client| {
                let mut choices = Random::seeded(random.below(u64::MAX));
                let (callers, known) = (&callers, &known);
                scope.spawn(move || -> anyhow::Result<()> {
                    let mut number = 0;
                    while Instant::now() < end {
                        number += 1;
                        let caller = &callers[choices.below(4) as usize];
                        step(caller, &mut choices, known, &format!("{client}-{number}"))?;
                        known.done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
    })?;
    let done = known.done.load(Ordering::Relaxed);
    eprintln!("{done} requests in {seconds} s, seed {seed}");
    ensure!(
        done >= seconds * 10,
        "only {done} requests: this proves nothing"
    );
    explained(&callers, &known)?;
    is_sound(database.url())
}

/// One random thing that a client does.
fn step(caller: &Caller, random: &mut Random, known: &Known, unique: &str) -> anyhow::Result<()> {
    let asset = dataset(random.below(DATASETS));
    let domain = |random: &mut Random| format!("urn:li:domain:load-{}", random.below(DOMAINS));
    match random.below(10) {
        0..4 => {
            let answer = caller.patch(&asset, unique)?;
            ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
            let mut patched = known
                .patched
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            patched.entry(asset).or_default().insert(unique.to_owned());
        }
        4 | 5 => {
            let url = format!("https://example.com/{unique}");
            let add = "mutation($urn: String!, $url: String!) { addLink(input: {linkUrl: $url, label: \"l\", resourceUrn: $urn}) }";
            ensure!(caller.mutate(add, &json!({"urn": asset, "url": url}))?);
            if random.below(2) == 0 {
                let remove = "mutation($urn: String!, $url: String!) { removeLink(input: {linkUrl: $url, resourceUrn: $urn}) }";
                ensure!(caller.mutate(remove, &json!({"urn": asset, "url": url}))?);
            } else {
                let mut links = known
                    .links
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                links.entry(asset).or_default().insert(url);
            }
        }
        6 | 7 => {
            let set = "mutation($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }";
            caller.mutate(set, &json!({"urn": asset, "domain": domain(random)}))?;
        }
        8 => {
            let parent = (random.below(4) > 0).then(|| domain(random));
            let shift = "mutation($domain: String!, $parent: String) { moveDomain(input: {resourceUrn: $domain, parentDomain: $parent}) }";
            caller.mutate(shift, &json!({"domain": domain(random), "parent": parent}))?;
        }
        _ => {
            let number = random.below(DOMAINS);
            let delete = "mutation($domain: String!) { deleteDomain(urn: $domain) }";
            let variables = json!({"domain": format!("urn:li:domain:load-{number}")});
            if caller.mutate(delete, &variables)? {
                create_domain(caller, number)?;
            }
        }
    }
    Ok(())
}

fn create_domain(caller: &Caller, number: u64) -> anyhow::Result<bool> {
    let create =
        "mutation($id: String!, $name: String!) { createDomain(input: {id: $id, name: $name}) }";
    caller.mutate(
        create,
        &json!({"id": format!("load-{number}"), "name": format!("Load {number}")}),
    )
}

/// Whether what every server shows is what the clients were told.
fn explained(callers: &[Caller], known: &Known) -> anyhow::Result<()> {
    let patched = known
        .patched
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let links = known
        .links
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let read = "query($urn: String!) { dataset(urn: $urn) { institutionalMemory { elements { url } } domain { domain { urn properties { name } } } } }";
    for caller in callers {
        for number in 0..DATASETS {
            let urn = dataset(number);
            let expected = patched.get(&urn).cloned().unwrap_or_default();
            let (properties, version) = caller.properties(&urn)?;
            ensure!(
                properties == expected,
                "{urn}: {} of {}",
                properties.len(),
                expected.len()
            );
            // The first write and one version for each patch: none was lost, none was written twice.
            ensure!(
                version == 1 + expected.len() as u64,
                "{urn}: version {version}, {} patches",
                expected.len()
            );
            let data = caller.query(read, &json!({ "urn": urn }))?;
            let elements = data["dataset"]["institutionalMemory"]["elements"].as_array();
            let urls: Vec<String> = elements
                .into_iter()
                .flatten()
                .filter_map(|link| Some(link["url"].as_str()?.to_owned()))
                .collect();
            let once: BTreeSet<String> = urls.iter().cloned().collect();
            ensure!(once.len() == urls.len(), "{urn}: a link stands twice");
            ensure!(
                once == links.get(&urn).cloned().unwrap_or_default(),
                "{urn}: {once:?}"
            );
            let domain = &data["dataset"]["domain"]["domain"];
            ensure!(
                domain.is_null() || domain["properties"]["name"].is_string(),
                "{urn} is in {domain}"
            );
        }
        ensure!(
            caller.found("load")? >= DATASETS,
            "the index misses something"
        );
    }
    Ok(())
}

/// Clients that go on whatever happens to the database.
struct Steady<'a> {
    callers: &'a [Caller],
    stop: AtomicBool,
    acknowledged: Mutex<BTreeMap<String, BTreeSet<String>>>,
    refused: AtomicU64,
    last_success: Mutex<Instant>,
}

impl Steady<'_> {
    fn run(&self, client: usize) -> anyhow::Result<()> {
        let urn = dataset(format!("steady-{client}"));
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let property = format!("p{number}");
            let answer = self.callers[number % self.callers.len()].patch(&urn, &property)?;
            match answer.status {
                200 => {
                    let mut acknowledged = self
                        .acknowledged
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    acknowledged
                        .entry(urn.clone())
                        .or_default()
                        .insert(property);
                    *self
                        .last_success
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner) = Instant::now();
                }
                503 => {
                    ensure!(
                        answer.retry_after.is_some(),
                        "503 without Retry-After: {}",
                        answer.body
                    );
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(5));
                }
                status => bail!("{status} {}", answer.body),
            }
        }
        Ok(())
    }

    /// How long it took until somebody was answered again.
    fn recovery(&self, since: Instant) -> anyhow::Result<Duration> {
        loop {
            let last = *self
                .last_success
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if last > since {
                return Ok(last - since);
            }
            ensure!(since.elapsed() < PATIENCE, "nothing works any more");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn crash_of_the_database_loses_nothing_and_is_over_two_seconds_after_its_return()
-> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let servers = open_servers(&database.url(), 2)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let steady = Steady {
        callers: &callers,
        stop: AtomicBool::new(false),
        acknowledged: Mutex::default(),
        refused: AtomicU64::new(0),
        last_success: Mutex::new(Instant::now()),
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let steady = &steady;
                scope.spawn(move || steady.run(client))
            })
            .collect();
        let ran = || -> anyhow::Result<()> {
            for _ in 0..3 {
                steady.recovery(Instant::now())?;
                database.kill()?;
                let refused = steady.refused.load(Ordering::Relaxed);
                while steady.refused.load(Ordering::Relaxed) < refused + 8 {
                    ensure!(
                        clients.iter().all(|client| !client.is_finished()),
                        "a client gave up"
                    );
                    thread::sleep(Duration::from_millis(5));
                }
                database.start_again()?;
                let took = steady.recovery(Instant::now())?;
                ensure!(took < Duration::from_secs(2), "{took:?}");
            }
            // A database that hangs instead of going away.
            database.signal_all(Signal::STOP)?;
            thread::sleep(Duration::from_secs(2));
            database.signal_all(Signal::CONT)?;
            steady.recovery(Instant::now())?;
            Ok(())
        }();
        steady.stop.store(true, Ordering::Relaxed);
        for client in clients {
            client
                .join()
                .unwrap_or_else(|_| bail!("a client panicked"))?;
        }
        ran
    })?;
    let acknowledged = steady
        .acknowledged
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for caller in &callers {
        for (urn, expected) in &*acknowledged {
            let (properties, _) = caller.properties(urn)?;
            let lost: Vec<&String> = expected.difference(&properties).collect();
            ensure!(lost.is_empty(), "{urn} lost {lost:?}");
        }
    }
    is_sound(&database.url())
}

#[test]
fn load_a_server_that_is_paused_holds_up_no_other_and_loses_nothing() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 2)?;
    let (paused, running) = (Caller::new(&servers[0])?, Caller::new(&servers[1])?);
    let urn = dataset("paused");
    let stop = AtomicBool::new(false);
    let (expected, took) = thread::scope(|scope| -> anyhow::Result<_> {
        let writer = scope.spawn(|| -> anyhow::Result<BTreeSet<String>> {
            let mut acknowledged = BTreeSet::new();
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let property = format!("one-{number}");
                let answer = paused.patch(&urn, &property)?;
                ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
                acknowledged.insert(property);
            }
            Ok(acknowledged)
        });
        let mut slowest = Duration::ZERO;
        let mut acknowledged = BTreeSet::new();
        for round in 0..5 {
            servers[0].signal(Signal::STOP)?;
            for number in 0..20 {
                let property = format!("two-{round}-{number}");
                let begun = Instant::now();
                let answer = running.patch(&urn, &property)?;
                ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
                slowest = slowest.max(begun.elapsed());
                acknowledged.insert(property);
            }
            servers[0].signal(Signal::CONT)?;
            thread::sleep(Duration::from_millis(100));
        }
        stop.store(true, Ordering::Relaxed);
        acknowledged.extend(
            writer
                .join()
                .unwrap_or_else(|_| bail!("the writer panicked"))?,
        );
        Ok((acknowledged, slowest))
    })?;
    // Transactions that were cut in the middle give their locks up after five seconds.
    ensure!(took < Duration::from_secs(10), "{took:?}");
    for caller in [&paused, &running] {
        let (properties, version) = caller.properties(&urn)?;
        ensure!(
            properties == expected,
            "{} of {}",
            properties.len(),
            expected.len()
        );
        ensure!(version == expected.len() as u64, "version {version}");
    }
    is_sound(database.url())
}

fn number_from(variable: &str, default: u64) -> anyhow::Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(default),
    }
}
