//! Measures search in a catalog of a million datasets, and the same queries with the full-text
//! search of SQLite and PostgreSQL.
//!
//! To measure another kind of query, add a function to [`ask`] that makes its request, and a call
//! of [`Asker::time`].

mod ask;
mod fts5;
pub(crate) mod graphql;
mod load;
mod peers;
mod postgres;
mod relevance;
mod view;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ask::{Asker, Times};

use crate::bench::{Bench, KEPT, Store, median, turn_index};
use crate::load::{Client, Source, Until};
use crate::measure::{datahub_page, web_page};
use crate::process::{Cores, Server};
use crate::report::{Report, Target};
use crate::search_data::Catalog;
use crate::search_data::vocabulary::Random;
use crate::store;

const WRITERS: usize = 64;
/// Writes of each writer per slice.
const TURNS: u64 = 64;

/// An index that was idle for this long has no merges left to do.
const REST_TIME: Duration = Duration::from_millis(300);

/// How much to measure.
#[derive(Debug, Clone, Copy)]
struct Amounts {
    datasets: usize,
    questions: usize,
    after_writes: usize,
    restarts: usize,
    slices: usize,
}

impl Amounts {
    fn of(bench: &Bench) -> Self {
        if bench.quick {
            return Self {
                datasets: bench.search.datasets.unwrap_or(20_000),
                questions: 300,
                after_writes: 50,
                restarts: 3,
                slices: 2,
            };
        }
        Self {
            datasets: bench.search.datasets.unwrap_or(1_000_000),
            questions: 1_000,
            after_writes: 200,
            restarts: 5,
            slices: 5,
        }
    }
}

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let amounts = Amounts::of(bench);
    let catalog = Catalog::new(amounts.datasets);
    let (store, index) = create_store(bench, &catalog, report).await?;
    let server = start(bench, &store, Some(&index))?;
    let rate = build(&server, &index, &catalog, report).await?;
    let mut random = Random::new(1);
    let words: Vec<[String; 2]> = (0..amounts.questions)
        .map(|_| catalog.two_words(&mut random))
        .collect();
    let ours = two_words(&server, &words, report).await?;
    view::in_library(&server, &catalog, &words, report).await?;
    let mut random = Random::new(2);
    let beginnings: Vec<String> = (0..amounts.questions)
        .map(|_| catalog.beginning(&mut random))
        .collect();
    autocomplete(&server, &beginnings, report).await?;
    let known_datasets = relevance::known_datasets(&catalog);
    let our_rank = relevance::ours(&mut Asker::open(&server).await?, &known_datasets).await?;
    after_writes(&server, &catalog, &words, amounts, report).await?;
    server.stop()?;
    graphql::measure(bench, &store, &words, &beginnings, report).await?;
    datahub_page::at_scale(bench, &store, &catalog, report).await?;
    web_page::at_scale(bench, &store, &catalog, report).await?;
    view::measure(bench, &store, &catalog, &words, report).await?;
    restart(bench, &store, &index, &words, amounts, report).await?;
    writes(bench, &store, &index, &catalog, amounts, report).await?;
    remove_store(bench, store, &index)?;

    if bench.quick || bench.search.without_peers {
        return Ok(());
    }
    let (name, mut peer) = ("SQLite FTS5", fts5::load(bench, &catalog, rate, report)?);
    peers::ask(name, &mut peer, &words, &ours, report)?;
    relevance::of_peer(name, &mut peer, &known_datasets, our_rank, report)?;
    let name = "PostgreSQL tsvector";
    let Some(mut peer) = postgres::load(bench, &catalog, rate, report)? else {
        report.progress("PostgreSQL is not installed and is left out");
        return Ok(());
    };
    peers::ask(name, &mut peer, &words, &ours, report)?;
    relevance::of_peer(name, &mut peer, &known_datasets, our_rank, report)
}

/// Measures only the web pages: DataHub's and our own.
pub(crate) async fn measure_pages(bench: &Bench, report: &mut Report) -> Result<()> {
    let catalog = Catalog::new(Amounts::of(bench).datasets);
    let (store, index) = create_store(bench, &catalog, report).await?;
    let server = start(bench, &store, Some(&index))?;
    build(&server, &index, &catalog, report).await?;
    server.stop()?;
    datahub_page::at_scale(bench, &store, &catalog, report).await?;
    web_page::at_scale(bench, &store, &catalog, report).await?;
    remove_store(bench, store, &index)
}

async fn create_store(
    bench: &Bench,
    catalog: &Catalog,
    report: &mut Report,
) -> Result<(Store, PathBuf)> {
    report.progress(&format!("search: {} datasets", catalog.len()));
    let (store, index) = if bench.search.keep {
        copy_of_kept_store(bench, catalog, report).await?
    } else {
        let store = bench.create_store("search.db")?;
        load::write(&store, catalog, report).await?;
        (store, bench.path("search.db-search"))
    };
    // Otherwise later measurements would include writing gigabytes to the disk.
    std::fs::File::open(&store.path)?.sync_all()?;
    Ok((store, index))
}

fn remove_store(bench: &Bench, store: Store, index: &Path) -> Result<()> {
    if bench.search.keep {
        return Ok(());
    }
    std::fs::remove_dir_all(index)?;
    store.remove()
}

/// Copies the store of an earlier run, or creates it. There is no index.
async fn copy_of_kept_store(
    bench: &Bench,
    catalog: &Catalog,
    report: &mut Report,
) -> Result<(Store, PathBuf)> {
    let path = bench.path(&format!("{KEPT}{}.db", catalog.len()));
    if !path.exists() {
        let store = bench.create_store("unfinished.db")?;
        load::write(&store, catalog, report).await?;
        std::fs::rename(&store.path, &path)?;
    }
    let copy = bench.path("search.db");
    std::fs::copy(&path, &copy)?;
    for left in ["search.db-wal", "search.db-shm"] {
        let _ = std::fs::remove_file(bench.path(left));
    }
    let index = bench.path("search.db-search");
    if index.exists() {
        std::fs::remove_dir_all(&index)?;
    }
    // The copy has the token of the first store, whose secret is lost.
    Ok((bench.create_store("search.db")?, index))
}

/// Starts the search server on a store. Without an index it only accepts writes.
fn start(bench: &Bench, store: &Store, index: Option<&Path>) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("search-server").arg(&store.path);
    command.args(index);
    Server::start(command, Cores::Server, &bench.path("search.log"))
}

/// Measures how many datasets are indexed per second.
async fn build(
    server: &Server,
    index: &Path,
    catalog: &Catalog,
    report: &mut Report,
) -> Result<f64> {
    report.progress("building the index");
    let mut asker = Asker::open(server).await?;
    let started = Instant::now();
    asker.ask(&ask::prepare()).await?;
    let rate = catalog.len() as f64 / started.elapsed().as_secs_f64();
    report.line(
        format!("search: indexing {} datasets", catalog.len()),
        format!("{rate:.0} datasets/s"),
        format!(
            "{} MiB of own memory afterwards",
            server.memory_kib("RssAnon")? / 1024
        ),
        rate,
        Target::Above(15_000.0, "/s"),
        "A server that gets a new catalog of this size answers searches after the time that this takes.",
    );
    let bytes = store::size_of_directory(index)? as f64 / catalog.len() as f64;
    report.line(
        "search: size of the index per dataset",
        format!("{bytes:.0} bytes"),
        "",
        bytes,
        Target::NoPeer,
        "The disk that the search index needs besides the store, for each dataset.",
    );
    Ok(rate)
}

async fn two_words(server: &Server, words: &[[String; 2]], report: &mut Report) -> Result<Times> {
    report.progress("two-word queries");
    let mut asker = Asker::open(server).await?;
    let requests: Vec<Vec<u8>> = words
        .iter()
        .map(|words| ask::search(&words.join(" ")))
        .collect();
    for request in requests.iter().take(50) {
        asker.ask(request).await?;
    }
    let times = asker.time(server, &requests, ask::has_found).await?;
    let total = times
        .replies
        .iter()
        .filter_map(ask::total)
        .map(|it| it as f64);
    report.line(
        "search: two words with facets, p50",
        times.text(50),
        format!(
            "{:.0} results each (median)",
            median(&total.collect::<Vec<_>>())
        ),
        times.percentile_ms(50),
        Target::Below(10.0, "ms"),
        "Half of the searches of somebody who types two words take at most this long, facets included.",
    );
    report.line(
        "search: two words with facets, p99",
        times.text(99),
        "",
        times.percentile_ms(99),
        Target::Below(40.0, "ms"),
        "One search in a hundred takes longer than this; 40 ms are not yet noticed.",
    );
    Ok(times)
}

async fn autocomplete(server: &Server, beginnings: &[String], report: &mut Report) -> Result<()> {
    report.progress("autocomplete");
    let mut asker = Asker::open(server).await?;
    let requests: Vec<Vec<u8>> = beginnings.iter().map(|it| ask::complete(it)).collect();
    let times = asker.time(server, &requests, ask::has_completed).await?;
    report.line(
        "search: autocomplete, p50",
        times.text(50),
        format!("p99 {:.2} ms", times.percentile_ms(99)),
        times.percentile_ms(50),
        Target::Below(3.0, "ms"),
        "Suggestions appear between two keystrokes.",
    );
    Ok(())
}

/// Measures the first search after each of some writes. Every tenth time, also checks that the
/// write is found.
async fn after_writes(
    server: &Server,
    catalog: &Catalog,
    words: &[[String; 2]],
    amounts: Amounts,
    report: &mut Report,
) -> Result<()> {
    report.progress("the first search after a write");
    let mut asker = Asker::open(server).await?;
    let mut random = Random::new(3);
    let mut times = Times::default();
    for serial in 0..amounts.after_writes {
        let urn = catalog.dataset(random.below(catalog.len())).urn();
        let mark = format!("marked{serial:06}x");
        asker
            .ask(&ask::write(&urn, &format!("Edited, {mark}")))
            .await?;
        let request = ask::search(&words[serial % words.len()].join(" "));
        times.add(asker.time(server, &[request], ask::has_found).await?);
        if serial % 10 == 0 {
            let found = asker.ask(&ask::search(&mark)).await?;
            ensure!(
                ask::first_urn(&found).is_some_and(|first| first == urn),
                "{urn} was written but not found: {found}"
            );
        }
    }
    report.line(
        "search: the first one after a write, p50",
        times.text(50),
        format!("p99 {:.2} ms", times.percentile_ms(99)),
        times.percentile_ms(50),
        Target::Below(25.0, "ms"),
        "Somebody who edits a description and searches for it at once waits this long.",
    );
    Ok(())
}

/// Measures the time from process start to the first reply.
async fn restart(
    bench: &Bench,
    store: &Store,
    index: &Path,
    words: &[[String; 2]],
    amounts: Amounts,
    report: &mut Report,
) -> Result<()> {
    report.progress("restart with the index there");
    let mut milliseconds = Vec::new();
    for words in words.iter().take(amounts.restarts) {
        let started = Instant::now();
        let server = start(bench, store, Some(index))?;
        let mut asker = Asker::open(&server).await?;
        let reply = asker.ask(&ask::search(&words.join(" "))).await?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        ensure!(ask::has_found(&reply), "the first reply is {reply}");
        server.stop()?;
    }
    report.line(
        "search: restart to the first answer",
        format!("{:.0} ms", median(&milliseconds)),
        "",
        median(&milliseconds),
        Target::Below(150.0, "ms"),
        "After an update or a crash, searches work again this soon.",
    );
    Ok(())
}

/// Each writer has datasets of its own, and every write has another text.
#[derive(Debug)]
struct DescriptionWrites {
    urns: Vec<String>,
    serial: AtomicU64,
}

impl Source for DescriptionWrites {
    fn request(&self, connection: usize, turn: u64, request: &mut Vec<u8>) -> bool {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let urn = &self.urns[(turn_index(turn) * WRITERS + connection) % self.urns.len()];
        let description = format!("Edited by a person, for the {serial:09}th time.");
        request.extend(ask::write(urn, &description));
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        reply == b"true"
    }
}

/// Measures writes without and with search, alternately.
async fn writes(
    bench: &Bench,
    store: &Store,
    index: &Path,
    catalog: &Catalog,
    amounts: Amounts,
    report: &mut Report,
) -> Result<()> {
    let mut random = Random::new(4);
    let writes = Arc::new(DescriptionWrites {
        urns: (0..WRITERS * 64)
            .map(|_| catalog.dataset(random.below(catalog.len())).urn())
            .collect(),
        serial: AtomicU64::new(0),
    });
    report.progress("writing the first edit of each dataset");
    write_slice(bench, store, None, &writes).await?;
    let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for slice in 0..amounts.slices {
        report.progress(&format!(
            "writes without search and with it, slice {}",
            slice + 1
        ));
        let mut pair = [0.0; 2];
        let mut sides = [(0, None), (1, Some(index))];
        // The second one has a longer history, so the order alternates.
        if slice % 2 == 1 {
            sides.reverse();
        }
        for (side, index) in sides {
            pair[side] = write_slice(bench, store, index, &writes).await?;
            rates[side].push(pair[side]);
        }
        ratios.push(pair[0] / pair[1]);
    }
    report.line(
        "search: cost of a write with search on",
        format!("{:.0} writes/s", median(&rates[1])),
        format!("search off {:.0} writes/s", median(&rates[0])),
        median(&ratios),
        Target::AtMost(1.1),
        "Being searchable does not make writing noticeably slower.",
    );
    Ok(())
}

/// Starts a server, writes every dataset once and returns the writes per second.
async fn write_slice(
    bench: &Bench,
    store: &Store,
    index: Option<&Path>,
    writes: &Arc<DescriptionWrites>,
) -> Result<f64> {
    let server = start(bench, store, index)?;
    if index.is_some() {
        Asker::open(&server).await?.ask(&ask::prepare()).await?;
    }
    // Indexing the writes of the previous slice ends with merges.
    server.wait_until_idle(REST_TIME).await?;
    let mut client = Client::open(server.address(), WRITERS).await?;
    client.drive(writes, Until::Turns(8)).await?;
    let done = client.drive(writes, Until::Turns(TURNS)).await?;
    drop(client);
    server.stop()?;
    Ok(done.per_second())
}
