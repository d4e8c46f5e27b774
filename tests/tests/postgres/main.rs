//! Several servers on one PostgreSQL database, and what happens when one of them or the database goes away.
//!
//! `DOCENT_LOAD_SECONDS` sets how long the load runs (60 by default), `DOCENT_LOAD_SEED` which random numbers are used.

mod caller;
mod faults;
mod operators;
mod round_trips;
mod upgrade;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::load::Random;
use docent_e2e::{Finished, Options, Server, docent_command, temporary_directory};
use docent_test_postgres::Database;
use serde_json::json;

use caller::Caller;

const PATIENCE: Duration = Duration::from_mins(1);
const PROPERTIES: &str = "datasetProperties";

fn dataset(name: impl std::fmt::Display) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

fn open_servers(url: &str, count: usize) -> anyhow::Result<Vec<Server>> {
    let options = || Options::default().store(url).without_authentication();
    (0..count).map(|_| Server::start(options())).collect()
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
fn a_database_that_cannot_be_written_to_costs_no_more_than_when_a_token_was_last_used()
-> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut server = Server::start(Options::default().store(database.url()))?;
    let secret = server.token("datahub")?;
    database.sql(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )?;
    let ask = || -> anyhow::Result<serde_json::Value> {
        let query =
            "{ listAccessTokens(input: { start: 0, count: 10 }) { tokens { lastUsedAt } } }";
        let request = server.anonymous_request(reqwest::Method::POST, "/api/graphql");
        let request = request.bearer_auth(&secret);
        let reply = server.send(request.json(&serde_json::json!({ "query": query })))?;
        ensure!(reply.status == 200, "{reply:?}");
        reply.json()
    };
    let started = Instant::now();
    // The connections were cut, which may cost a request.
    while ask().is_err() {
        ensure!(started.elapsed() < Duration::from_secs(10));
    }
    let reply = ask()?;
    let used = &reply["data"]["listAccessTokens"]["tokens"][0]["lastUsedAt"];
    ensure!(used.is_i64(), "{reply}");
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(printed.contains("could not be stored"), "{printed}");
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

#[test]
fn everything_moves_to_postgresql_and_back() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut server = Server::start(Options::default().store("sqlite:docent.db").demo())?;
    let shift = |from: &str, to: &str| {
        let mut command = server.docent(["move", "--from", from, "--to", to])?;
        Finished::run(&mut command)
    };
    let refusal = shift("sqlite:docent.db", database.url())?.refused()?;
    ensure!(refusal.contains("another docent server"), "{refusal}");
    ensure!(server.stop()?.success());
    let shift = |from: &str, to: &str| {
        let mut command = server.docent(["move", "--from", from, "--to", to])?;
        Finished::run(&mut command)
    };
    let said = shift("sqlite:docent.db", database.url())?.succeeded()?;
    ensure!(said.contains("all of them are the same"), "{said}");
    let refusal = shift("sqlite:docent.db", database.url())?.refused()?;
    ensure!(refusal.contains("not empty"), "{refusal}");
    is_sound(database.url())?;
    {
        let moved = Server::start(
            Options::default()
                .store(database.url())
                .without_authentication(),
        )?;
        ensure!(Caller::new(&moved)?.found("*")? > 10);
    }
    // A version that must not be used again, as a rollback leaves it.
    database.sql(&format!(
        "INSERT INTO retired_version VALUES ('{}', 'status', 7)",
        dataset("gone")
    ))?;
    let said = shift(database.url(), "sqlite:back.db")?.succeeded()?;
    ensure!(said.contains("all of them are the same"), "{said}");
    let again = Database::empty()?;
    let said = shift("sqlite:back.db", again.url())?.succeeded()?;
    ensure!(said.contains("all of them are the same"), "{said}");
    // Fails if it is not there.
    again
        .sql("SELECT 1 / count(*) FROM retired_version WHERE aspect = 'status' AND version = 7")?;
    let path = server.directory().join("back.db");
    let back = Server::start(
        Options::default()
            .store(format!("sqlite:{}", path.display()))
            .without_authentication(),
    )?;
    let found = Caller::new(&back)?.found("*")?;
    ensure!(found > 10, "{found}");
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
            let mut patched = known.patched.lock().unwrap_or_else(PoisonError::into_inner);
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
                let mut links = known.links.lock().unwrap_or_else(PoisonError::into_inner);
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
    let patched = known.patched.lock().unwrap_or_else(PoisonError::into_inner);
    let links = known.links.lock().unwrap_or_else(PoisonError::into_inner);
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

fn number_from(variable: &str, default: u64) -> anyhow::Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(default),
    }
}
