//! Docent on PostgreSQL, compared with a plain tokio-postgres client of the same database.
//!
//! The database, Docent, the plain client and the load generator share both cores: Docent does the
//! plain client's work plus that of an HTTP server. Rates are compared.

mod patches;
mod peer;

use anyhow::Result;

use crate::bench::{Bench, CONNECTIONS, Docent, median, per_request};
use crate::data::{BLOCK, DATASETS_PER_REQUEST, Read};
use crate::load::{Client, Until};
use crate::measure::bulk::{load_datasets, load_domains};
use crate::measure::reads::{Rounds, Slices, spread};
use crate::postgres_server::{self, PostgresServer};
use crate::process::{self, CLIENT_CORE, Cores, CpuReading};
use crate::report::{Report, Target};
use peer::{Reader, Writer};

/// Settings recommended by PostgreSQL's manual; acknowledged writes are durable.
const SETTINGS: [&str; 4] = [
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "checkpoint_timeout=30min",
    "jit=off",
];

/// The connections of ingestion.
const WRITERS: usize = 4;

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    if !postgres_server::is_installed() {
        report.progress("PostgreSQL is not installed: skipped");
        return Ok(());
    }
    process::unpin()?;
    let measured = measure_on_both(bench, report).await;
    process::pin(CLIENT_CORE)?;
    measured
}

async fn measure_on_both(bench: &Bench, report: &mut Report) -> Result<()> {
    let server = PostgresServer::start(bench, Cores::Both, &SETTINGS)?;
    let admin = server.connect("postgres").await?;
    for database in ["docent", "peer"] {
        admin
            .batch_execute(&format!("CREATE DATABASE {database}"))
            .await?;
    }
    // docent creates the peer's tables too.
    bench.create_token(&server.url("postgres", "peer"))?;
    let docent_url = server.url("postgres", "docent");
    let token = bench.create_token(&docent_url)?;
    let docent = bench.serve_beside(&docent_url, &token)?;
    let datasets = if bench.quick { BLOCK / 5 } else { BLOCK };
    ingestion(&server, &docent, datasets, report).await?;
    // Autovacuum would do this after a while.
    for database in ["docent", "peer"] {
        let client = server.connect(database).await?;
        client.batch_execute("VACUUM ANALYZE").await?;
    }
    reads(bench, &server, &docent, datasets, report).await?;
    let docent = patches::measure(bench, docent, report).await?;
    docent.server.stop()
}

async fn ingestion(
    server: &PostgresServer,
    docent: &Docent,
    datasets: usize,
    report: &mut Report,
) -> Result<()> {
    let mut client = docent.client(WRITERS).await?;
    load_domains(docent, &mut client).await?;
    let mut writer = Writer::open(server, WRITERS).await?;
    writer.skip().await?;
    let slices = datasets / 1000;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for slice in 0..slices {
        report.progress(&format!(
            "PostgreSQL, bulk against multi-row inserts, slice {}",
            slice + 1
        ));
        let (first, count) = (slice * datasets / slices, datasets / slices);
        let done = load_datasets(docent, &mut client, first, count).await?;
        let (rows, elapsed) = writer.replay(count / DATASETS_PER_REQUEST).await?;
        let (our_rate, their_rate) = (
            rows as f64 / done.elapsed.as_secs_f64(),
            rows as f64 / elapsed.as_secs_f64(),
        );
        ours.push(our_rate);
        theirs.push(their_rate);
        ratios.push(our_rate / their_rate);
    }
    report.line(
        "PostgreSQL: bulk ingestion, 200 per request",
        format!("{:.0} aspects/s", median(&ours)),
        format!("multi-row inserts {:.0} aspects/s", median(&theirs)),
        median(&ratios),
        Target::AtLeast(0.4),
        "Teams that run PostgreSQL load a catalog nearly as fast as their database allows.",
    );
    Ok(())
}

async fn reads(
    bench: &Bench,
    server: &PostgresServer,
    docent: &Docent,
    datasets: usize,
    report: &mut Report,
) -> Result<()> {
    report.progress("PostgreSQL, reads against the bare point query");
    let source = spread(docent, Read::Description, datasets).await?;
    let mut client = Client::open(docent.server.address(), CONNECTIONS).await?;
    let mut reader = Reader::open(server, CONNECTIONS, datasets).await?;
    let rounds = Rounds::of(bench);
    // Warm up: every connection prepares its statements, and every page is cached.
    let turns = source.requests.len().div_ceil(CONNECTIONS) as u64;
    client.drive(&source, Until::Turns(turns)).await?;
    reader.read(rounds.slice).await?;
    // The load generator and the plain client are in this process.
    let all = || -> Result<CpuReading> {
        let processes = server.processes()?.into_iter();
        process::cpu(processes.chain([docent.server.id(), std::process::id()]))
    };
    let (mut ours, mut theirs, mut ratios) = (Slices::default(), Slices::default(), Vec::new());
    for _ in 0..rounds.count {
        let before = all()?;
        let done = client.drive(&source, Until::Elapsed(rounds.slice)).await?;
        let between = all()?;
        let bare = reader.read(rounds.slice).await?;
        let after = all()?;
        ours.rates.push(done.per_second());
        ours.costs
            .push(per_request(&before, &between, done.requests));
        theirs.rates.push(bare.per_second());
        theirs
            .costs
            .push(per_request(&between, &after, bare.requests));
        ratios.push(done.per_second() / bare.per_second());
    }
    let shown = |slices: &Slices| {
        let (rate, cost) = (median(&slices.rates), median(&slices.costs));
        format!("{rate:.0}/s ({cost:.0} µs CPU of all)")
    };
    report.line(
        "PostgreSQL: read description",
        shown(&ours),
        format!("bare point query {}", shown(&theirs)),
        median(&ratios),
        Target::AtLeast(0.5),
        "With PostgreSQL, an API request costs a few times the bare query; most of it is HTTP.",
    );
    Ok(())
}
