//! Measures our web page in a real browser, in the catalog of a million datasets that search is
//! measured with.
//!
//! `ui/scripts/time-pages.mjs` visits the pages. To add one, add its address to [`addresses`].

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::bench::{Bench, Docent, Store, median};
use crate::report::{Report, Target};
use crate::search_data::vocabulary::Random;
use crate::search_data::{ACTOR, Catalog, NOON_MS, domain_urn, owner_urn, tag_urn};

/// How often each page is visited, each time about other entities.
const VISITS: usize = 7;

/// The datasets that are derived from the one whose lineage is shown.
const DOWNSTREAMS: usize = 1_000;
/// The datasets that one of those is derived from.
const UPSTREAMS: usize = 20;
const BATCH: usize = 200;

/// From the start of a navigation.
const LIMIT_MS: f64 = 1_500.0;

/// Measures the pages, without the browser's cache and with warm caches of the server.
pub(crate) async fn at_scale(
    bench: &Bench,
    store: &Store,
    catalog: &Catalog,
    report: &mut Report,
) -> Result<()> {
    report.progress("our page in a browser: relationships");
    bench.rebuild(store)?;
    let docent = bench.serve(store, None)?;
    let mut random = Random::new(3);
    let center = write_lineage(&docent, catalog, &mut random).await?;
    report.progress("our page in a browser");
    let visits: Vec<Vec<(&str, String)>> = (0..VISITS)
        .map(|_| addresses(catalog, &center, &mut random))
        .collect();
    let paths: Vec<&str> = visits
        .iter()
        .flatten()
        .map(|(_, path)| path.as_str())
        .collect();
    let times = visit(&docent, &paths)?;
    docent.server.stop()?;
    let pages = visits.first().context("no page was visited")?;
    for (number, (page, _)) in pages.iter().enumerate() {
        let times: Vec<f64> = times
            .iter()
            .skip(number)
            .step_by(pages.len())
            .copied()
            .collect();
        let longest = times.iter().copied().fold(0.0, f64::max);
        report.line(
            format!("page, {} datasets: {page}, p50", catalog.len()),
            format!("{:.0} ms", median(&times)),
            format!("at most {longest:.0} ms"),
            median(&times),
            Target::Below(LIMIT_MS, "ms"),
            "Somebody who opens the page for the first time sees all of it after this time.",
        );
    }
    Ok(())
}

/// Makes one dataset the source of many, and one of those the result of several. Returns the first.
async fn write_lineage(docent: &Docent, catalog: &Catalog, random: &mut Random) -> Result<String> {
    let mut draw = || catalog.dataset(random.below(catalog.len())).urn();
    let center = draw();
    let mut edges: Vec<(String, Vec<String>)> = (0..DOWNSTREAMS)
        .map(|_| (draw(), vec![center.clone()]))
        .filter(|(downstream, _)| *downstream != center)
        .collect();
    edges.push((center.clone(), (0..UPSTREAMS).map(|_| draw()).collect()));
    let mut client = docent.client(1).await?;
    for batch in edges.chunks(BATCH) {
        let proposals: Vec<Value> = batch
            .iter()
            .map(|(urn, upstreams)| lineage_proposal(urn, upstreams))
            .collect();
        let body = json!({"proposals": proposals, "async": "false"}).to_string();
        client.ask(&docent.batch(&body)).await?;
    }
    Ok(center)
}

fn lineage_proposal(urn: &str, upstreams: &[String]) -> Value {
    let upstreams: Vec<Value> = upstreams
        .iter()
        .map(|upstream| {
            json!({
                "dataset": upstream,
                "type": "TRANSFORMED",
                "auditStamp": {"time": NOON_MS, "actor": ACTOR},
            })
        })
        .collect();
    json!({
        "entityType": "dataset",
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": "upstreamLineage",
        "aspect": {
            "contentType": "application/json",
            "value": json!({"upstreams": upstreams}).to_string(),
        },
    })
}

/// The pages with their addresses for random entities. Common words, domains, tags and owners are
/// drawn more often, as people see them.
fn addresses(catalog: &Catalog, center: &str, random: &mut Random) -> Vec<(&'static str, String)> {
    let mut draw = || catalog.dataset(random.below(catalog.len()));
    let dataset = escaped(&draw().urn());
    let domain = escaped(&domain_urn(
        std::iter::repeat_with(&mut draw)
            .find_map(|it| it.domain)
            .unwrap_or_default(),
    ));
    let tag = escaped(&tag_urn(
        std::iter::repeat_with(&mut draw)
            .find_map(|it| it.tags.first().copied())
            .unwrap_or_default(),
    ));
    let owner = escaped(&owner_urn(
        std::iter::repeat_with(&mut draw)
            .find_map(|it| it.owners.first().copied())
            .unwrap_or_default(),
    ));
    let (platform, column) = (draw().platform, draw().columns[0].0.clone());
    let words = escaped(&catalog.two_words(random).join(" "));
    let lineage = escaped(center);
    vec![
        ("home", "/".to_owned()),
        ("search for two words", format!("/search?query={words}")),
        ("all results", "/search?query=*".to_owned()),
        (
            "search in a domain",
            format!("/search?query={words}&filter_domains={domain}"),
        ),
        ("dataset", format!("/dataset/{dataset}")),
        (
            "lineage with 1,000 downstream datasets",
            format!("/dataset/{lineage}/Lineage"),
        ),
        ("history", format!("/dataset/{dataset}/History")),
        ("domains", "/domains".to_owned()),
        ("domain", format!("/domain/{domain}")),
        (
            "domain including subdomains",
            format!("/domain/{domain}?below=true"),
        ),
        ("tags", "/tags".to_owned()),
        ("tag", format!("/tag/{tag}")),
        ("people", "/people".to_owned()),
        ("person", format!("/user/{owner}")),
        ("platforms", "/platforms".to_owned()),
        (
            "platform",
            format!("/platform/urn:li:dataPlatform:{platform}"),
        ),
        ("glossary", "/glossary".to_owned()),
        ("changes", "/changes".to_owned()),
        (
            "columns of one name",
            format!("/bulk/columns?name={}", escaped(&column)),
        ),
        ("users", "/settings/users".to_owned()),
        ("audit log", "/settings/audit".to_owned()),
        ("server", "/settings/server".to_owned()),
    ]
}

/// Encodes a text for a path or a query of an address.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.:,".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Visits the pages one after another and returns how many milliseconds each took.
fn visit(docent: &Docent, paths: &[&str]) -> Result<Vec<f64>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ui/scripts/time-pages.mjs");
    let mut browser = Command::new("node")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start node")?;
    let task = json!({
        "address": format!("http://{}", docent.server.address()),
        "token": docent.token,
        "paths": paths,
    });
    let mut input = browser.stdin.take().context("node has no input")?;
    input.write_all(task.to_string().as_bytes())?;
    drop(input);
    let output = browser.wait_with_output()?;
    ensure!(output.status.success(), "the pages could not be visited");
    let times: Vec<f64> = serde_json::from_slice(&output.stdout)?;
    ensure!(times.len() == paths.len(), "a page has no time");
    Ok(times)
}
