//! Many clients on several servers, who all write to the same few entities.
//!
//! `DOCENT_LOAD_SECONDS` sets how long the load runs (60 by default), `DOCENT_LOAD_SEED` which random numbers are used.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::load::Random;
use docent_test_postgres::Database;
use serde_json::json;

use crate::caller::Caller;
use crate::replay::{self, Counts, Deed, Replay};
use crate::{PROPERTIES, dataset, is_sound, open_servers};

/// What the clients of the load were told.
#[derive(Default)]
struct Known {
    deeds: Mutex<Counts>,
    done: AtomicU64,
}

impl Known {
    fn note(&self, deed: Deed) {
        let mut deeds = self.deeds.lock().unwrap_or_else(PoisonError::into_inner);
        *deeds.entry(deed).or_default() += 1;
    }
}

const DATASETS: u64 = 12;
/// Datasets that come and go.
const FLEETING: u64 = 3;
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
    replay::record(&database)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let known = Known::default();
    for number in 0..DOMAINS {
        ensure!(create_domain(&callers[0], &known, number)?);
    }
    for number in 0..DATASETS {
        let properties = json!({"description": "load", "customProperties": {}});
        let answer = callers[0].propose("UPSERT", &dataset(number), PROPERTIES, &properties)?;
        ensure!(answer.status == 200, "{}", answer.body);
    }
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
                        let caller = &callers[choices.index(4)];
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
    // Whoever searches gives positions to all that is in the log.
    for caller in &callers {
        ensure!(
            caller.found("load")? >= DATASETS,
            "the index misses something"
        );
    }
    let replayed = Replay::of(&database)?;
    let deeds = known.deeds.lock().unwrap_or_else(PoisonError::into_inner);
    replayed.agrees_with(&deeds)?;
    for caller in &callers {
        shown(caller, &replayed)?;
    }
    is_sound(database.url())
}

/// One random thing that a client does.
fn step(caller: &Caller, random: &mut Random, known: &Known, unique: &str) -> anyhow::Result<()> {
    let asset = dataset(random.below(DATASETS));
    let domain = |random: &mut Random| format!("urn:li:domain:load-{}", random.below(DOMAINS));
    let patch = |asset: String| -> anyhow::Result<()> {
        let answer = caller.patch(&asset, unique)?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
        known.note(Deed::Patched(asset, unique.to_owned()));
        Ok(())
    };
    match random.below(12) {
        0..4 => patch(asset)?,
        4 | 5 => {
            let url = format!("https://example.com/{unique}");
            let add = "mutation($urn: String!, $url: String!) { addLink(input: {linkUrl: $url, label: \"l\", resourceUrn: $urn}) }";
            ensure!(caller.mutate(add, &json!({"urn": asset, "url": url}))?);
            known.note(Deed::Linked(asset.clone(), url.clone()));
            if random.below(2) == 0 {
                let remove = "mutation($urn: String!, $url: String!) { removeLink(input: {linkUrl: $url, resourceUrn: $urn}) }";
                ensure!(caller.mutate(remove, &json!({"urn": asset, "url": url}))?);
                known.note(Deed::Unlinked(asset, url));
            }
        }
        6 | 7 => {
            let domain = domain(random);
            let set = "mutation($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }";
            if caller.mutate(set, &json!({"urn": asset, "domain": domain}))? {
                known.note(Deed::SetDomain(asset, domain));
            }
        }
        8 => {
            let parent = (random.below(4) > 0).then(|| domain(random));
            let domain = domain(random);
            let shift = "mutation($domain: String!, $parent: String) { moveDomain(input: {resourceUrn: $domain, parentDomain: $parent}) }";
            if caller.mutate(shift, &json!({"domain": domain, "parent": parent}))? {
                known.note(Deed::Moved(domain, parent));
            }
        }
        9 => {
            let number = random.below(DOMAINS);
            let delete = "mutation($domain: String!) { deleteDomain(urn: $domain) }";
            let domain = format!("urn:li:domain:load-{number}");
            if caller.mutate(delete, &json!({ "domain": domain }))? {
                known.note(Deed::Deleted(domain));
                create_domain(caller, known, number)?;
            }
        }
        10 => patch(dataset(format!("fleeting-{}", random.below(FLEETING))))?,
        _ => {
            let asset = dataset(format!("fleeting-{}", random.below(FLEETING)));
            if caller.delete(&asset)? {
                known.note(Deed::Deleted(asset));
            }
        }
    }
    Ok(())
}

fn create_domain(caller: &Caller, known: &Known, number: u64) -> anyhow::Result<bool> {
    let create =
        "mutation($id: String!, $name: String!) { createDomain(input: {id: $id, name: $name}) }";
    let (id, name) = (format!("load-{number}"), format!("Load {number}"));
    let created = caller.mutate(create, &json!({"id": id, "name": name}))?;
    if created {
        known.note(Deed::Created(format!("urn:li:domain:{id}")));
    }
    Ok(created)
}

/// Whether what a server shows is what the writes come to.
fn shown(caller: &Caller, replayed: &Replay) -> anyhow::Result<()> {
    let read = "query($urn: String!) { dataset(urn: $urn) { institutionalMemory { elements { url } } domain { domain { urn properties { name } } } } }";
    let steady = (0..DATASETS).map(dataset);
    for urn in steady.chain((0..FLEETING).map(|number| dataset(format!("fleeting-{number}")))) {
        let expected = replayed.properties(&urn);
        let (properties, version) = caller.properties(&urn)?;
        ensure!(
            properties == expected,
            "{urn}: {} of {}",
            properties.len(),
            expected.len()
        );
        if urn.contains("fleeting") {
            continue;
        }
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

fn number_from(variable: &str, default: u64) -> anyhow::Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .with_context(|| format!("{variable} is no number")),
        Err(_) => Ok(default),
    }
}
