//! Reads, compared with a server that returns a canned body of the same size.
//!
//! Both servers run all the time and are measured alternately, in short slices, so that noise
//! affects both. The result is the CPU time per request: near the maximum the load generator
//! saturates first, and requests per second would measure the generator.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, CONNECTIONS, Docent, Prepared, Store, median, per_request};
use crate::data::{BLOCK, Read};
use crate::load::{Client, Done, Repeated, Until};
use crate::process::Server;
use crate::report::{Report, Target};

/// The target efficiency.
fn target(read: Read) -> f64 {
    match read {
        Read::Description => 0.55,
        Read::Columns => 0.45,
        Read::Domain => 0.40,
    }
}

fn meaning(read: Read, form: &str) -> &'static str {
    match (read, form) {
        (_, "literal") => "The same for scripts that write the URN into the query text.",
        (Read::Description, _) => {
            "One core tells so many clients per second what a dataset is about."
        }
        (Read::Columns, _) => "One core lists the columns of so many datasets per second.",
        (Read::Domain, _) => "One core tells so many clients per second who a dataset belongs to.",
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) count: usize,
    pub(crate) slice: Duration,
}

impl Rounds {
    pub(crate) fn of(bench: &Bench) -> Self {
        let (count, milliseconds) = if bench.quick { (3, 250) } else { (9, 500) };
        Self {
            count,
            slice: Duration::from_millis(milliseconds),
        }
    }
}

pub(crate) async fn measure(bench: &Bench, store: &Store, report: &mut Report) -> Result<()> {
    let docent = bench.serve(store, None)?;
    for read in Read::ALL {
        for form in ["variable", "literal"] {
            let body = if form == "variable" {
                Read::with_variable
            } else {
                Read::with_literal
            };
            let prepared = requests(&docent, read, body, 0..BLOCK);
            let name = format!("read {}, URN as {form}", read.name());
            report.progress(&name);
            let reply = check(&docent, read, &prepared, BLOCK).await?;
            let canned = bench.serve_canned(&reply)?;
            let [ours, theirs] = alternate(
                [&docent.server, &canned],
                &Arc::new(prepared),
                Rounds::of(bench),
            )
            .await?;
            drop(canned);
            let efficiency: Vec<f64> = theirs
                .costs
                .iter()
                .zip(&ours.costs)
                .map(|(theirs, ours)| theirs / ours)
                .collect();
            report.line(
                name,
                format!(
                    "{:.1} µs CPU ({:.0}/s)",
                    median(&ours.costs),
                    median(&ours.rates)
                ),
                format!(
                    "canned {:.1} µs ({:.0}/s)",
                    median(&theirs.costs),
                    median(&theirs.rates)
                ),
                median(&efficiency),
                // Clients send variables; literals are measured for comparison.
                if form == "variable" {
                    Target::AtLeast(target(read))
                } else {
                    Target::None
                },
                meaning(read, form),
            );
        }
    }
    docent.server.stop()
}

pub(crate) fn requests(
    docent: &Docent,
    read: Read,
    body: impl Fn(Read, usize) -> String,
    numbers: impl Iterator<Item = usize>,
) -> Prepared {
    Prepared {
        requests: numbers
            .map(|number| docent.graphql(&body(read, number)))
            .collect(),
        reply_length: read.reply(0).to_string().len(),
    }
}

/// Reads some datasets and compares the replies as JSON; returns the body of one.
pub(crate) async fn check(
    docent: &Docent,
    read: Read,
    prepared: &Prepared,
    datasets: usize,
) -> Result<Vec<u8>> {
    let mut client = docent.client(1).await?;
    let mut body = Vec::new();
    for number in (0..prepared.requests.len()).step_by(prepared.requests.len().div_ceil(50)) {
        body = client.ask(&prepared.requests[number]).await?;
        let reply: Value = serde_json::from_slice(&body)?;
        let dataset = number * (datasets / prepared.requests.len());
        ensure!(
            reply == read.reply(dataset),
            "the {} of dataset {dataset} reads {reply}",
            read.name()
        );
    }
    Ok(body)
}

/// A server's results in each slice.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    /// Microseconds of CPU per request.
    pub(crate) costs: Vec<f64>,
    /// Requests per second.
    pub(crate) rates: Vec<f64>,
}

impl Slices {
    pub(crate) fn add(&mut self, cost: f64, done: Done) {
        self.costs.push(cost);
        self.rates.push(done.per_second());
    }
}

/// Measures two servers alternately, after a warm-up with every request.
///
/// The cache admits repeated reads, so it is in a steady state after the third pass.
pub(crate) async fn alternate(
    servers: [&Server; 2],
    source: &Arc<Prepared>,
    rounds: Rounds,
) -> Result<[Slices; 2]> {
    alternate_with(servers, [source, source], rounds).await
}

/// The number of warm-up passes over all requests.
pub(crate) const WARM_UP_PASSES: usize = 3;

pub(crate) async fn alternate_with<S: Repeated>(
    servers: [&Server; 2],
    sources: [&Arc<S>; 2],
    rounds: Rounds,
) -> Result<[Slices; 2]> {
    let mut clients = [
        Client::open(servers[0].address(), CONNECTIONS).await?,
        Client::open(servers[1].address(), CONNECTIONS).await?,
    ];
    for (client, source) in clients.iter_mut().zip(sources) {
        let turns = (WARM_UP_PASSES * source.distinct_requests()).div_ceil(CONNECTIONS) as u64;
        client.drive(source, Until::Turns(turns)).await?;
    }
    let mut slices = [Slices::default(), Slices::default()];
    for _ in 0..rounds.count {
        for (index, client) in clients.iter_mut().enumerate() {
            let (cost, done) = slice(servers[index], client, sources[index], rounds.slice).await?;
            slices[index].add(cost, done);
        }
    }
    Ok(slices)
}

async fn slice(
    server: &Server,
    client: &mut Client,
    source: &Arc<impl Repeated>,
    duration: Duration,
) -> Result<(f64, Done)> {
    let before = server.cpu()?;
    let done = client.drive(source, Until::Elapsed(duration)).await?;
    let after = server.cpu()?;
    Ok((per_request(&before, &after, done.requests), done))
}

/// Limits the memory of prepared requests.
const MAX_REQUESTS: usize = 100_000;

/// Prepares requests for evenly spaced datasets in a store of `datasets`, and checks a sample.
pub(crate) async fn spread(docent: &Docent, read: Read, datasets: usize) -> Result<Arc<Prepared>> {
    let step = (datasets / MAX_REQUESTS).max(1);
    let numbers = (0..datasets).step_by(step);
    let prepared = requests(docent, read, Read::with_variable, numbers);
    check(docent, read, &prepared, datasets).await?;
    Ok(Arc::new(prepared))
}
