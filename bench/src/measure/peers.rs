//! Docent compared with what else answers the same questions about the same data on one machine:
//!
//! - [`postgraphile`]: a GraphQL API generated from tables in PostgreSQL.
//! - [`strawberry`]: a GraphQL service of the kind that people write themselves, in Python with an
//!   ORM, on the same tables.
//! - [`datahub_lite`]: DataHub's own small catalog, an aspect store behind a small HTTP server.
//!
//! Their programs and pinned versions are in `bench/peers`; `scripts/set-up-peers` installs them
//! below the target directory. One that is not installed is left out, and the report says so.
//!
//! All processes of a server, its database included, run on the server core. They are measured
//! alternately with Docent, in short slices. Every reply is checked: some in full, the others by
//! their length. Peers know no users, so Docent alone checks a token with every request.
//!
//! To add a peer, implement [`CatalogServer`] and add it to [`measure`].

mod datahub_lite;
mod docent;
mod postgraphile;
mod strawberry;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use datahub_lite::DatahubLite;
use docent::OurServer;
use postgraphile::Postgraphile;
use serde_json::Value;
use strawberry::Strawberry;

use crate::bench::{Bench, CONNECTIONS, Prepared, median, per_request};
use crate::data::BLOCK;
use crate::data::labels::CatalogRead;
use crate::load::{Client, Until};
use crate::measure::reads::{Rounds, Slices};
use crate::postgres_server::{self, PostgresServer};
use crate::process::{self, Cores, Server};
use crate::report::{Report, Target};

const START_TIMEOUT: Duration = Duration::from_mins(1);
/// How often a server that starts is asked.
const POLL: Duration = Duration::from_millis(2);
/// How many replies are compared in full.
const SAMPLE: usize = 50;
const STARTS: usize = 5;

/// A server that holds the catalog of [`crate::data::labels`].
trait CatalogServer {
    fn name(&self) -> &'static str;

    /// Starts it; it need not listen yet.
    fn start(&self) -> Result<Server>;

    fn stop(&self, server: Server) -> Result<()> {
        drop(server);
        Ok(())
    }

    /// The database that works for it in other processes.
    fn database(&self) -> Option<&PostgresServer> {
        None
    }

    /// `None` if one request cannot ask for this.
    fn request(&self, read: CatalogRead, first: usize) -> Option<Vec<u8>>;

    /// The expected reply.
    fn reply(&self, read: CatalogRead, first: usize) -> Value;

    /// The bytes of the stored catalog. Called while it does not run.
    fn disk_bytes(&self) -> Result<u64>;
}

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let datasets = if bench.quick { BLOCK / 5 } else { BLOCK };
    report.progress("peers: loading Docent");
    let ours = OurServer::load(bench, datasets).await?;
    if postgres_server::is_installed() {
        report.progress("peers: loading PostgreSQL");
        let database = PostgresServer::start(bench, Cores::Server, &[])?;
        let bytes = tables::load(&database, datasets).await?;
        match Postgraphile::find(bench, &database, datasets, bytes) {
            Some(peer) => compare(bench, &ours, &peer, datasets, report).await?,
            None => leave_out("PostGraphile", report),
        }
        match Strawberry::find(bench, &database, datasets, bytes) {
            Some(peer) => compare(bench, &ours, &peer, datasets, report).await?,
            None => leave_out("strawberry", report),
        }
    } else {
        report.left_out("PostGraphile and strawberry: PostgreSQL is not installed");
    }
    report.progress("peers: loading DataHub Lite");
    match DatahubLite::load(bench, datasets)? {
        Some(peer) => compare(bench, &ours, &peer, datasets, report).await?,
        None => leave_out("DataHub Lite", report),
    }
    ours.remove()
}

fn leave_out(name: &str, report: &mut Report) {
    report.left_out(format!(
        "{name}: it is not installed, and scripts/set-up-peers shows why"
    ));
}

async fn compare(
    bench: &Bench,
    ours: &OurServer,
    peer: &dyn CatalogServer,
    datasets: usize,
    report: &mut Report,
) -> Result<()> {
    let servers: [&dyn CatalogServer; 2] = [ours, peer];
    let name = peer.name();
    report.progress(&format!("peers: {name}"));
    let mut running = [start(ours).await?.0, start(peer).await?.0];
    for read in CatalogRead::ALL {
        if peer.request(read, 0).is_some() {
            reads(bench, servers, &mut running, read, datasets, report).await?;
        }
    }
    memory(servers, &running, report)?;
    let [our_server, peer_server] = running;
    ours.stop(our_server)?;
    peer.stop(peer_server)?;
    starts(servers, report).await?;
    let [our_bytes, peer_bytes] =
        [ours.disk_bytes()?, peer.disk_bytes()?].map(|bytes| bytes as f64 / datasets as f64);
    report.line(
        format!("peers: disk, against {name}"),
        format!("{our_bytes:.0} bytes per dataset"),
        format!("{name} {peer_bytes:.0} bytes"),
        peer_bytes / our_bytes,
        Target::None,
        "The disk that a catalog needs; Docent's figure contains the search index and the change log.",
    );
    Ok(())
}

/// Starts a server and returns it with the time until its first correct reply.
async fn start(server: &dyn CatalogServer) -> Result<(Server, Duration)> {
    let read = CatalogRead::Description;
    let request = server.request(read, 7).context("no server lacks it")?;
    let started = Instant::now();
    let mut running = server.start()?;
    let body = loop {
        if let Ok(mut client) = Client::open(running.address(), 1).await {
            break client.ask(&request).await?;
        }
        let name = server.name();
        ensure!(!running.has_ended()?, "{name} has ended: see its log");
        ensure!(
            started.elapsed() < START_TIMEOUT,
            "{name} does not listen: see its log"
        );
        tokio::time::sleep(POLL).await;
    };
    let elapsed = started.elapsed();
    let reply: Value = serde_json::from_slice(&body)?;
    ensure!(
        reply == server.reply(read, 7),
        "the first reply of {} is {reply}",
        server.name()
    );
    Ok((running, elapsed))
}

fn processes(server: &dyn CatalogServer, running: &Server) -> Result<Vec<u32>> {
    let mut all = process::family(running.id());
    if let Some(database) = server.database() {
        all.extend(database.processes()?);
    }
    Ok(all)
}

/// The fixed rate per second at which latency is measured: about half of what the slowest peer can
/// do.
fn fixed_rate(read: CatalogRead) -> u32 {
    match read {
        CatalogRead::Description | CatalogRead::ColumnsAndDomain => 50,
        CatalogRead::Page => 10,
    }
}

fn target(name: &str, read: CatalogRead) -> Target {
    match read {
        CatalogRead::Page if name == postgraphile::NAME => Target::AtLeast(20.0),
        _ => Target::None,
    }
}

fn meaning(read: CatalogRead) -> &'static str {
    match read {
        CatalogRead::Description => {
            "A server of the same price tells so many times more clients what a dataset is about."
        }
        CatalogRead::ColumnsAndDomain => {
            "A server of the same price lists the columns for so many times more clients."
        }
        CatalogRead::Page => "A page that lists 50 datasets loads the server so many times less.",
    }
}

/// Measures one read: cost and rate alternately, then the latency at a fixed rate.
async fn reads(
    bench: &Bench,
    servers: [&dyn CatalogServer; 2],
    running: &mut [Server; 2],
    read: CatalogRead,
    datasets: usize,
    report: &mut Report,
) -> Result<()> {
    let name = servers[1].name();
    report.progress(&format!("peers: {}, against {name}", read.name()));
    let mut sources = Vec::new();
    for (server, running) in servers.iter().zip(&*running) {
        sources.push(prepare(*server, running, read, datasets).await?);
    }
    let warm_up = Duration::from_secs(if bench.quick { 1 } else { 4 });
    let mut clients = Vec::new();
    for (running, source) in running.iter().zip(&sources) {
        let mut client = Client::open(running.address(), CONNECTIONS).await?;
        client.drive(source, Until::Elapsed(warm_up)).await?;
        clients.push(client);
    }
    // Peers close connections that were idle during the warm-up of the other.
    clients[0] = Client::open(running[0].address(), CONNECTIONS).await?;
    let rounds = Rounds::of(bench);
    let (mut slices, mut ratios) = ([Slices::default(), Slices::default()], Vec::new());
    for _ in 0..rounds.count {
        let mut costs = [0.0; 2];
        for side in 0..2 {
            let cpu = || process::cpu(processes(servers[side], &running[side])?);
            let before = cpu()?;
            let done = clients[side]
                .drive(&sources[side], Until::Elapsed(rounds.slice))
                .await?;
            costs[side] = per_request(&before, &cpu()?, done.requests);
            slices[side].add(costs[side], done);
        }
        ratios.push(costs[1] / costs[0]);
    }
    drop(clients);
    let shown = |slices: &Slices| {
        let (cost, rate) = (median(&slices.costs), median(&slices.rates));
        format!("{cost:.0} µs CPU ({rate:.0}/s)")
    };
    report.line(
        format!("peers: {}, against {name}", read.name()),
        shown(&slices[0]),
        format!("{name} {}", shown(&slices[1])),
        median(&ratios),
        target(name, read),
        meaning(read),
    );
    latency(bench, servers, running, &sources, read, report).await
}

/// Measures the latency at a fixed rate.
async fn latency(
    bench: &Bench,
    servers: [&dyn CatalogServer; 2],
    running: &[Server; 2],
    sources: &[Arc<Prepared>],
    read: CatalogRead,
    report: &mut Report,
) -> Result<()> {
    let (name, rate) = (servers[1].name(), fixed_rate(read));
    let seconds = if bench.quick { 3 } else { 20 };
    let mut percentiles = Vec::new();
    for (running, source) in running.iter().zip(sources) {
        let mut client = Client::open(running.address(), CONNECTIONS).await?;
        let times = client.at_rate(source, rate, rate * seconds).await?;
        let milliseconds = |percent: usize| -> Result<f64> {
            let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            let time = times.get(index).context("no request was sent")?;
            Ok(time.as_secs_f64() * 1e3)
        };
        percentiles.push([milliseconds(50)?, milliseconds(99)?]);
    }
    let shown = |[half, most]: [f64; 2]| format!("{half:.2} / {most:.2} ms");
    report.line(
        format!(
            "peers: {}, p50 / p99 at {rate} requests per second, against {name}",
            read.name()
        ),
        shown(percentiles[0]),
        format!("{name} {}", shown(percentiles[1])),
        percentiles[1][1] / percentiles[0][1],
        Target::None,
        "How long a client waits on a quiet day: half of the time, and once in a hundred times. The \
         ratio is that of the latter.",
    );
    Ok(())
}

/// Prepares the requests of a read and compares some replies in full.
async fn prepare(
    server: &dyn CatalogServer,
    running: &Server,
    read: CatalogRead,
    datasets: usize,
) -> Result<Arc<Prepared>> {
    let count = match read {
        // Large requests.
        CatalogRead::Page => datasets / 10,
        _ => datasets,
    };
    let requests: Option<Vec<Vec<u8>>> = (0..count)
        .map(|first| server.request(read, first))
        .collect();
    let requests = requests.context("a server does not have this read")?;
    let mut client = Client::open(running.address(), 1).await?;
    let mut reply_length = 0;
    for first in (0..count).step_by(count.div_ceil(SAMPLE)) {
        let body = client.ask(&requests[first]).await?;
        reply_length = body.len();
        let reply: Value = serde_json::from_slice(&body)?;
        ensure!(
            reply == server.reply(read, first),
            "{}: {} of {first} reads {reply}, expected {}",
            server.name(),
            read.name(),
            server.reply(read, first)
        );
    }
    Ok(Arc::new(Prepared {
        requests,
        reply_length,
    }))
}

fn memory(
    servers: [&dyn CatalogServer; 2],
    running: &[Server; 2],
    report: &mut Report,
) -> Result<()> {
    let mut mib = Vec::new();
    for (server, running) in servers.into_iter().zip(running) {
        let kib = process::memory_kib(processes(server, running)?)?;
        mib.push(kib as f64 / 1024.0);
    }
    let name = servers[1].name();
    report.line(
        format!("peers: memory after the reads, against {name}"),
        format!("{:.0} MiB", mib[0]),
        format!("{name} {:.0} MiB", mib[1]),
        mib[1] / mib[0],
        Target::None,
        "The memory to rent for a catalog of this size, its database included.",
    );
    Ok(())
}

async fn starts(servers: [&dyn CatalogServer; 2], report: &mut Report) -> Result<()> {
    let mut milliseconds = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (server, milliseconds) in servers.iter().zip(&mut milliseconds) {
            let (running, elapsed) = start(*server).await?;
            milliseconds.push(elapsed.as_secs_f64() * 1e3);
            server.stop(running)?;
        }
    }
    let (name, [ours, theirs]) = (servers[1].name(), milliseconds.map(|all| median(&all)));
    report.line(
        format!("peers: start to first answer, against {name}"),
        format!("{ours:.0} ms"),
        format!("{name} {theirs:.0} ms"),
        theirs / ours,
        Target::None,
        "How long a restart interrupts the service; a database of the peer keeps running meanwhile.",
    );
    Ok(())
}

/// Prepares a program of a peer, which ends with this process.
fn program(path: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]).arg(path);
    command
}

/// Returns the directory of a Python environment that is installed completely.
fn python_environment(bench: &Bench, name: &str) -> Option<PathBuf> {
    let environment = bench.environments.join(name);
    let stamp = environment.join("requirements.installed");
    stamp.exists().then_some(environment)
}

/// Returns the directory with the programs of a peer.
fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(name)
}
