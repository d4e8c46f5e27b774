//! Two builds of docent side by side: what a change costs or gains.
//!
//! Both servers are up all the time and take turns in short slices, so both meet the same noise.
//! Each row compares CPU time per request; a ratio above 1 means that the new build is slower. Each
//! build fills a store of its own, because the stores of two versions may differ in format.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;

use crate::bench::{Bench, CONNECTIONS, Docent, Prepared, Store, median, per_request};
use crate::client;
use crate::data::{self, BLOCK, Read};
use crate::load::{Client, Repeated, Source, Until};
use crate::measure::reads::{self, Rounds, Slices};
use crate::measure::writes::ColumnWrites;
use crate::measure::{bulk, writes};
use crate::report::{Report, Target};

/// A figure that is worse than this fails the comparison.
const TOLERANCE: f64 = 1.10;

/// Bulk ingestion is measured over this many slices of the catalog.
const BULK_SLICES: usize = 10;

/// One request in this many is a write in the mixed workload.
const WRITE_EVERY: u64 = 20;

/// The new build comes first, the old one second, everywhere in this module.
pub(crate) async fn measure(benches: [&Bench; 2], report: &mut Report) -> Result<()> {
    let stores = [
        benches[0].create_store("after.db")?,
        benches[1].create_store("before.db")?,
    ];
    let servers = [
        benches[0].serve(&stores[0], None)?,
        benches[1].serve(&stores[1], None)?,
    ];
    bulk_ingestion(&servers, report).await?;
    for read in Read::ALL {
        warm_reads(benches[0], &servers, read, report).await?;
    }
    mixed(benches[0], &servers, &stores, report).await?;
    column_writes(benches[0], &servers, &stores, report).await?;
    let [after, before] = servers;
    after.server.stop()?;
    before.server.stop()?;
    first_touch(benches, &stores, report).await
}

async fn bulk_ingestion(servers: &[Docent; 2], report: &mut Report) -> Result<()> {
    report.progress("bulk ingestion");
    let datasets = BLOCK / BULK_SLICES;
    let mut clients = [servers[0].client(4).await?, servers[1].client(4).await?];
    let mut slices = [Slices::default(), Slices::default()];
    for (docent, client) in servers.iter().zip(&mut clients) {
        bulk::load_domains(docent, client).await?;
    }
    for slice in 0..BULK_SLICES {
        for index in 0..servers.len() {
            let docent = &servers[index];
            let before = docent.server.cpu()?;
            let first = slice * datasets;
            let done = bulk::load_datasets(docent, &mut clients[index], first, datasets).await?;
            let after = docent.server.cpu()?;
            slices[index].add(per_request(&before, &after, datasets as u64), done);
        }
    }
    report_ratio("bulk ingestion, per dataset", &slices, report);
    Ok(())
}

async fn warm_reads(
    bench: &Bench,
    servers: &[Docent; 2],
    read: Read,
    report: &mut Report,
) -> Result<()> {
    for form in ["variable", "literal"] {
        let body = if form == "variable" {
            Read::with_variable
        } else {
            Read::with_literal
        };
        let name = format!("read {}, URN as {form}", read.name());
        report.progress(&name);
        let sources =
            [0, 1].map(|index| Arc::new(reads::requests(&servers[index], read, body, 0..BLOCK)));
        for (docent, source) in servers.iter().zip(&sources) {
            reads::check(docent, read, source, BLOCK).await?;
        }
        alternate(bench, servers, &sources, &name, report).await?;
    }
    Ok(())
}

async fn alternate<S: Repeated>(
    bench: &Bench,
    servers: &[Docent; 2],
    sources: &[Arc<S>; 2],
    name: &str,
    report: &mut Report,
) -> Result<()> {
    let slices = reads::alternate_with(
        [&servers[0].server, &servers[1].server],
        [&sources[0], &sources[1]],
        Rounds::of(bench),
    )
    .await?;
    report_ratio(name, &slices, report);
    Ok(())
}

/// Reads of descriptions, with one write of a column's description among [`WRITE_EVERY`] requests.
#[derive(Debug)]
struct Mixed {
    reads: Prepared,
    token: String,
    serial: AtomicU64,
    write_reply: Vec<u8>,
}

impl Source for Mixed {
    fn request(&self, connection: usize, turn: u64, request: &mut Vec<u8>) -> bool {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        if !serial.is_multiple_of(WRITE_EVERY) {
            return self.reads.request(connection, turn, request);
        }
        // A prime apart, so that writes touch random datasets.
        let dataset = serial.wrapping_mul(7919) % BLOCK as u64;
        let body = data::column_write(usize::try_from(dataset).unwrap_or(0), 0, serial);
        request.extend(client::post("/api/graphql", &self.token, &body));
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        self.reads.is_right(reply) || reply == self.write_reply
    }
}

impl Repeated for Mixed {
    fn distinct_requests(&self) -> usize {
        self.reads.distinct_requests()
    }
}

async fn mixed(
    bench: &Bench,
    servers: &[Docent; 2],
    stores: &[Store; 2],
    report: &mut Report,
) -> Result<()> {
    let name = "read description while 5 % of the requests are writes";
    report.progress(name);
    let sources = [0, 1].map(|index: usize| {
        Arc::new(Mixed {
            reads: reads::requests(
                &servers[index],
                Read::Description,
                Read::with_variable,
                0..BLOCK,
            ),
            token: stores[index].token.clone(),
            serial: AtomicU64::new(0),
            write_reply: data::column_write_reply().to_string().into_bytes(),
        })
    });
    alternate(bench, servers, &sources, name, report).await
}

async fn column_writes(
    bench: &Bench,
    servers: &[Docent; 2],
    stores: &[Store; 2],
    report: &mut Report,
) -> Result<()> {
    let name = "column descriptions, 64 writers";
    report.progress(name);
    let sources = [0, 1].map(|index: usize| {
        Arc::new(ColumnWrites::new(
            &stores[index],
            writes::WRITERS * 16,
            1_000_000,
        ))
    });
    let mut clients = [
        servers[0].client(writes::WRITERS).await?,
        servers[1].client(writes::WRITERS).await?,
    ];
    let mut slices = [Slices::default(), Slices::default()];
    for _ in 0..Rounds::of(bench).count {
        for index in 0..servers.len() {
            let server = &servers[index].server;
            let before = server.cpu()?;
            let done = clients[index]
                .drive(&sources[index], Until::Turns(16))
                .await?;
            let after = server.cpu()?;
            slices[index].add(per_request(&before, &after, done.requests), done);
        }
    }
    report_ratio(name, &slices, report);
    Ok(())
}

/// Each dataset once, in random order, right after a start: nothing is cached yet.
async fn first_touch(benches: [&Bench; 2], stores: &[Store; 2], report: &mut Report) -> Result<()> {
    for read in [Read::Description, Read::Columns] {
        let name = format!("read {}, first touch after a start", read.name());
        report.progress(&name);
        let mut slices = [Slices::default(), Slices::default()];
        for _ in 0..if benches[0].quick { 3 } else { 7 } {
            for (index, bench) in benches.into_iter().enumerate() {
                let docent = bench.serve(&stores[index], None)?;
                let source = Arc::new(reads::requests(
                    &docent,
                    read,
                    Read::with_variable,
                    0..BLOCK,
                ));
                let mut client = Client::open(docent.server.address(), CONNECTIONS).await?;
                let turns = Until::Turns((BLOCK / CONNECTIONS) as u64);
                let before = docent.server.cpu()?;
                let done = client.drive(&source, turns).await?;
                let after = docent.server.cpu()?;
                slices[index].add(per_request(&before, &after, done.requests), done);
                docent.server.stop()?;
            }
        }
        report_ratio(&name, &slices, report);
    }
    Ok(())
}

fn report_ratio(name: &str, [after, before]: &[Slices; 2], report: &mut Report) {
    let ratios: Vec<f64> = after
        .costs
        .iter()
        .zip(&before.costs)
        .map(|(after, before)| after / before)
        .collect();
    let figures = |slices: &Slices| {
        let (cost, rate) = (median(&slices.costs), median(&slices.rates));
        format!("{cost:.1} µs CPU ({rate:.0}/s)")
    };
    report.line(
        name,
        figures(after),
        format!("before {}", figures(before)),
        median(&ratios),
        Target::AtMost(TOLERANCE),
        "A ratio above the target means that this build became slower.",
    );
}
