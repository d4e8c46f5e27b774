//! Many clients on several servers, all writing to the same few entities.
//!
//! For longer manual runs, `DOCENT_LOAD_SECONDS` sets the duration of the load (15 by default) and
//! `DOCENT_LOAD_SEED` the random seed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use docent_e2e::figures::number_from;
use docent_e2e::load::Random;
use docent_test_postgres::Database;
use serde_json::json;

use crate::caller::Caller;
use crate::replay::{self, Action, ActionCounts, Replay};
use crate::{PROPERTIES, dataset, expect_sound, start_servers};

/// What the servers acknowledged.
#[derive(Default)]
struct Acknowledged {
    actions: Mutex<ActionCounts>,
    requests: AtomicU64,
}

impl Acknowledged {
    fn add(&self, action: Action) {
        let mut actions = self.actions.lock().unwrap_or_else(PoisonError::into_inner);
        *actions.entry(action).or_default() += 1;
    }
}

const DATASETS: u64 = 12;
/// Datasets that are created and deleted.
const TRANSIENT: u64 = 3;
const DOMAINS: u64 = 6;

#[test]
fn load_of_32_clients_on_four_servers_leaves_a_serializable_history() -> anyhow::Result<()> {
    let (seconds, seed) = (
        number_from("DOCENT_LOAD_SECONDS", 15)?,
        number_from("DOCENT_LOAD_SEED", 5)?,
    );
    let database = Database::empty()?;
    let servers = start_servers(database.url(), 4)?;
    replay::record(&database)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let acknowledged = Acknowledged::default();
    for number in 0..DOMAINS {
        ensure!(create_domain(&callers[0], &acknowledged, number)?);
    }
    for number in 0..DATASETS {
        let properties = json!({"description": "load", "customProperties": {}});
        let response = callers[0].propose("UPSERT", &dataset(number), PROPERTIES, &properties)?;
        ensure!(response.status == 200, "{}", response.body);
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut random = Random::seeded(seed);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..32)
            .map(|client| {
                let mut choices = Random::seeded(random.below(u64::MAX));
                let (callers, acknowledged) = (&callers, &acknowledged);
                scope.spawn(move || -> anyhow::Result<()> {
                    let mut number = 0;
                    while Instant::now() < end {
                        number += 1;
                        let caller = &callers[choices.index(4)];
                        let unique = format!("{client}-{number}");
                        act(caller, &mut choices, acknowledged, &unique)?;
                        acknowledged.requests.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")))
    })?;
    let requests = acknowledged.requests.load(Ordering::Relaxed);
    eprintln!("{requests} requests in {seconds} s, seed {seed}");
    ensure!(
        requests >= seconds * 10,
        "only {requests} requests: too few to prove anything"
    );
    // A search assigns positions to all changes in the log, which the replay needs.
    for caller in &callers {
        ensure!(caller.found("load")? >= DATASETS, "the index is incomplete");
    }
    let replayed = Replay::of(&database)?;
    let actions = acknowledged
        .actions
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    replayed.agrees_with(&actions)?;
    for caller in &callers {
        expect_shown(caller, &replayed)?;
    }
    expect_sound(database.url())
}

/// Performs a random action.
fn act(
    caller: &Caller,
    random: &mut Random,
    acknowledged: &Acknowledged,
    unique: &str,
) -> anyhow::Result<()> {
    let asset = dataset(random.below(DATASETS));
    let domain = |random: &mut Random| format!("urn:li:domain:load-{}", random.below(DOMAINS));
    let patch = |asset: String| -> anyhow::Result<()> {
        let response = caller.patch(&asset, unique)?;
        ensure!(
            response.status == 200,
            "{} {}",
            response.status,
            response.body
        );
        acknowledged.add(Action::Patched(asset, unique.to_owned()));
        Ok(())
    };
    match random.below(12) {
        0..4 => patch(asset)?,
        4 | 5 => {
            let url = format!("https://example.com/{unique}");
            let add = "mutation($urn: String!, $url: String!) { addLink(input: {linkUrl: $url, label: \"l\", resourceUrn: $urn}) }";
            ensure!(caller.mutate(add, &json!({"urn": asset, "url": url}))?);
            acknowledged.add(Action::Linked(asset.clone(), url.clone()));
            if random.below(2) == 0 {
                let remove = "mutation($urn: String!, $url: String!) { removeLink(input: {linkUrl: $url, resourceUrn: $urn}) }";
                ensure!(caller.mutate(remove, &json!({"urn": asset, "url": url}))?);
                acknowledged.add(Action::Unlinked(asset, url));
            }
        }
        6 | 7 => {
            let domain = domain(random);
            let set = "mutation($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }";
            if caller.mutate(set, &json!({"urn": asset, "domain": domain}))? {
                acknowledged.add(Action::SetDomain(asset, domain));
            }
        }
        8 => {
            let parent = (random.below(4) > 0).then(|| domain(random));
            let domain = domain(random);
            let move_domain = "mutation($domain: String!, $parent: String) { moveDomain(input: {resourceUrn: $domain, parentDomain: $parent}) }";
            if caller.mutate(move_domain, &json!({"domain": domain, "parent": parent}))? {
                acknowledged.add(Action::Moved(domain, parent));
            }
        }
        9 => {
            let number = random.below(DOMAINS);
            let delete = "mutation($domain: String!) { deleteDomain(urn: $domain) }";
            let domain = format!("urn:li:domain:load-{number}");
            if caller.mutate(delete, &json!({ "domain": domain }))? {
                acknowledged.add(Action::Deleted(domain));
                create_domain(caller, acknowledged, number)?;
            }
        }
        10 => patch(dataset(format!("transient-{}", random.below(TRANSIENT))))?,
        _ => {
            let asset = dataset(format!("transient-{}", random.below(TRANSIENT)));
            if caller.delete(&asset)? {
                acknowledged.add(Action::Deleted(asset));
            }
        }
    }
    Ok(())
}

fn create_domain(
    caller: &Caller,
    acknowledged: &Acknowledged,
    number: u64,
) -> anyhow::Result<bool> {
    let create =
        "mutation($id: String!, $name: String!) { createDomain(input: {id: $id, name: $name}) }";
    let (id, name) = (format!("load-{number}"), format!("Load {number}"));
    let created = caller.mutate(create, &json!({"id": id, "name": name}))?;
    if created {
        acknowledged.add(Action::Created(format!("urn:li:domain:{id}")));
    }
    Ok(created)
}

/// Compares what a server returns with the result of the replay.
fn expect_shown(caller: &Caller, replayed: &Replay) -> anyhow::Result<()> {
    let read = "query($urn: String!) { dataset(urn: $urn) { institutionalMemory { elements { url } } domain { domain { urn properties { name } } } } }";
    let permanent = (0..DATASETS).map(dataset);
    let transient = (0..TRANSIENT).map(|number| dataset(format!("transient-{number}")));
    for urn in permanent.chain(transient) {
        let expected = replayed.properties(&urn);
        let (properties, version) = caller.properties(&urn)?;
        ensure!(
            properties == expected,
            "{urn}: {} of {}",
            properties.len(),
            expected.len()
        );
        if urn.contains("transient") {
            continue;
        }
        // One version for the first write and one for each patch: none was lost or written twice.
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
        ensure!(once.len() == urls.len(), "{urn} has a link twice");
        ensure!(once == replayed.links(&urn), "{urn}: {once:?}");
        let domain = &data["dataset"]["domain"]["domain"];
        ensure!(
            domain["urn"].as_str() == replayed.domain(&urn),
            "{urn} is in {domain}"
        );
        ensure!(
            domain.is_null() || domain["properties"]["name"].is_string(),
            "{urn} is in {domain}"
        );
    }
    Ok(())
}
