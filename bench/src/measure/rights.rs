//! Measures decisions about what a caller may do, as a library: with 1,000 policies and 10,000
//! domains, by users whom one policy, many policies or none names.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use docent_catalog::privilege::{EDIT_ENTITY, Privilege};
use docent_catalog::{Caller, Catalog, Proposal};
use docent_model::{Registry, SystemClock, Urn};
use docent_store_sqlite::{OpenOptions, SqliteStore};
use serde_json::{Value, json};

use crate::bench::{Bench, median};
use crate::report::{Report, Target};

const POLICIES: usize = 1_000;
const DOMAINS: usize = 10_000;
/// Each domain has so many subdomains, down to the last level.
const SUBDOMAINS: usize = 10;
const DATASETS: usize = 10_000;
/// How many entities are written at once.
const CHUNK: usize = 2_000;
const CHECKS: usize = 20_000;
const SLICES: usize = 5;
const PRIVILEGES: &[Privilege] = &[EDIT_ENTITY];

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    report.progress("rights: 1,000 policies and 10,000 domains");
    let path = bench.path("rights.db");
    let store = SqliteStore::open(&path, OpenOptions::default())?;
    let catalog = Catalog::new(Arc::new(store), Arc::new(SystemClock));
    write(&catalog).await?;
    catalog.enforce_policies(None);
    let datasets: Vec<Urn> = (0..DATASETS).map(dataset).collect::<Result<_>>()?;
    for (who, user) in [
        ("a user whom one policy names", "steward-7"),
        ("a user whom 1,000 policies name", "steward-of-all"),
        ("a user whom no policy names", "nobody"),
    ] {
        let caller = Caller::new(Urn::new("corpuser", user)?);
        let mut slices = Vec::new();
        for slice in 0..SLICES {
            let started = Instant::now();
            for check in 0..CHECKS {
                let urn = &datasets[(slice * CHECKS + check) * 7919 % DATASETS];
                let allowed = catalog.is_allowed(&caller, PRIVILEGES, Some(urn)).await?;
                black_box(allowed);
            }
            slices.push(started.elapsed().as_secs_f64() * 1e6 / CHECKS as f64);
        }
        let micros = median(&slices);
        report.line(
            format!("rights: a check on a dataset for {who}"),
            format!("{micros:.2} µs"),
            "with the reads of the dataset's domains",
            micros,
            Target::Below(5.0, "µs"),
            "A page that asks for a user's rights on a hundred datasets waits less than a millisecond for them.",
        );
    }
    let steward = Caller::new(Urn::new("corpuser", "steward-7")?);
    let mut allowed = 0;
    for urn in &datasets {
        allowed += usize::from(catalog.is_allowed(&steward, PRIVILEGES, Some(urn)).await?);
    }
    ensure!((1..DATASETS).contains(&allowed), "{allowed} are allowed");
    Ok(())
}

fn domain(number: usize) -> String {
    format!("urn:li:domain:area-{number:05}")
}

fn dataset(number: usize) -> Result<Urn> {
    let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,rights.table_{number:05},PROD)");
    Ok(Urn::parse(&urn)?)
}

/// Domains in a tree, datasets in them, and policies for stewards of one domain each and of all.
async fn write(catalog: &Catalog) -> Result<()> {
    let mut aspects: Vec<(Urn, &str, Value)> = Vec::new();
    for number in 0..DOMAINS {
        let mut value = json!({"name": format!("Area {number}"), "customProperties": {}});
        if number >= SUBDOMAINS {
            value["parentDomain"] = json!(domain(number / SUBDOMAINS));
        }
        aspects.push((Urn::parse(&domain(number))?, "domainProperties", value));
    }
    for number in 0..DATASETS {
        let domains = json!({"domains": [domain(number * 31 % DOMAINS)]});
        aspects.push((dataset(number)?, "domains", domains));
    }
    for number in 0..POLICIES {
        let users = ["steward-of-all".to_owned(), format!("steward-{number}")];
        let users = users.map(|user| format!("urn:li:corpuser:{user}"));
        let policy = json!({
            "displayName": format!("Stewards {number}"), "description": "", "type": "METADATA",
            "state": "ACTIVE", "editable": true, "privileges": ["EDIT_ENTITY"],
            "actors": {
                "users": users,
                "resourceOwners": false, "allUsers": false, "allGroups": false,
            },
            "resources": {"filter": {"criteria": [
                {"field": "DOMAIN", "values": [domain(number)], "condition": "EQUALS"},
            ]}},
        });
        let urn = Urn::new("dataHubPolicy", &format!("stewards-{number}"))?;
        aspects.push((urn, "dataHubPolicyInfo", policy));
    }
    for chunk in aspects.chunks(CHUNK) {
        let proposals = chunk.iter().filter_map(|(urn, aspect, value)| {
            let aspect = Registry::get().aspect(aspect)?;
            Some(Proposal::upsert(urn.clone(), aspect, value.to_string()))
        });
        catalog
            .ingest(&Caller::system(), proposals.collect())
            .await?;
    }
    Ok(())
}
