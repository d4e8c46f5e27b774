//! How a server behaves while its catalog grows from ten thousand aspects to ten million: disk,
//! memory, reads, searches and start, each drawn as a plot (docs/images/growth.svg).
//!
//! The datasets of the first block are loaded through the API; the others are copies of their rows.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, CONNECTIONS, Docent, Store, median, per_request};
use crate::data::{self, BLOCK, DATASETS_PER_REQUEST, Read};
use crate::load::{Client, Until};
use crate::measure::reads::{self, Rounds};
use crate::measure::search::graphql::{SEARCH, request};
use crate::measure::{bulk, scale, start};
use crate::plot::{Panel, Series, draw};
use crate::report::{Report, Target};
use crate::store;

const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];
const QUICK_SIZES: [usize; 2] = [10_000, 100_000];

const STARTS: usize = 5;

/// The text in all datasets.
const COMMON_WORDS: &str = "orders shop";

/// A catalog of one size.
#[derive(Debug, Default)]
struct Point {
    aspects: f64,
    /// Without the index.
    bytes_per_aspect: f64,
    index_bytes_per_dataset: f64,
    start_ms: f64,
    description_us: f64,
    columns_us: f64,
    name_search_ms: f64,
    common_search_ms: f64,
    /// Without the pages of files, which the system may drop.
    own_mib: f64,
    resident_mib: f64,
}

/// Writes the plot to a directory, if there is one.
pub(crate) async fn measure(
    bench: &Bench,
    plots: Option<&Path>,
    report: &mut Report,
) -> Result<()> {
    let store = bench.create_store("growth.db")?;
    let mut catalog = Growing {
        datasets: 0,
        aspects_per_dataset: 0,
    };
    let sizes: &[usize] = if bench.quick { &QUICK_SIZES } else { &SIZES };
    let mut points = Vec::new();
    for size in sizes {
        report.progress(&format!("growth: {size} aspects"));
        catalog.grow(bench, &store, *size, report).await?;
        let point = point(bench, &store, catalog.datasets).await?;
        report_point(&point, report);
        points.push(point);
    }
    store.remove()?;
    if let Some(directory) = plots {
        std::fs::create_dir_all(directory)?;
        let path = directory.join("growth.svg");
        std::fs::write(&path, draw(TITLE, &panels(&points)))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The size of a store that grows.
struct Growing {
    datasets: usize,
    aspects_per_dataset: usize,
}

impl Growing {
    async fn grow(
        &mut self,
        bench: &Bench,
        store: &Store,
        aspects: usize,
        report: &mut Report,
    ) -> Result<()> {
        let docent = bench.serve(store, None)?;
        let mut client = docent.client(4).await?;
        if self.datasets == 0 {
            bulk::load_domains(&docent, &mut client).await?;
            let reader = store::open_reader(&store.path)?;
            let before = store::aspect_rows(&reader)?;
            bulk::load_datasets(&docent, &mut client, 0, DATASETS_PER_REQUEST).await?;
            self.datasets = DATASETS_PER_REQUEST;
            let rows = usize::try_from(store::aspect_rows(&reader)? - before)?;
            self.aspects_per_dataset = rows / self.datasets;
        }
        let needed = (aspects / self.aspects_per_dataset).next_multiple_of(DATASETS_PER_REQUEST);
        let loaded = needed.min(BLOCK);
        if loaded > self.datasets {
            let missing = loaded - self.datasets;
            bulk::load_datasets(&docent, &mut client, self.datasets, missing).await?;
            self.datasets = loaded;
        }
        docent.server.stop()?;
        if needed > self.datasets {
            store::grow::grow(store, self.datasets..needed, report)?;
            self.datasets = needed;
        }
        report.progress("growth: indexing");
        let docent = bench.serve(store, None)?;
        scale::wait_until_indexed(&docent, self.datasets).await?;
        docent.server.stop()
    }
}

async fn point(bench: &Bench, store: &Store, datasets: usize) -> Result<Point> {
    let reader = store::open_reader(&store.path)?;
    let aspects = store::aspect_rows(&reader)? as f64;
    drop(reader);
    let index = store::size_of_directory(&store::search_index(&store.path))?;
    let mut point = Point {
        aspects,
        bytes_per_aspect: store.path.metadata()?.len() as f64 / aspects,
        index_bytes_per_dataset: index as f64 / datasets as f64,
        ..Point::default()
    };
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let (docent, milliseconds) = start::to_first_reply(bench, store).await?;
        starts.push(milliseconds);
        docent.server.stop()?;
    }
    point.start_ms = median(&starts);
    let docent = bench.serve(store, None)?;
    point.description_us = cost(bench, &docent, Read::Description, datasets).await?;
    point.columns_us = cost(bench, &docent, Read::Columns, datasets).await?;
    let searches = if bench.quick { 50 } else { 200 };
    let names: Vec<String> = (0..searches)
        .map(|number| data::dataset_name(number * 7919 % datasets))
        .collect();
    point.name_search_ms = search(&docent, &names).await?;
    let common = vec![COMMON_WORDS.to_owned(); searches];
    point.common_search_ms = search(&docent, &common).await?;
    point.own_mib = docent.server.memory_kib("RssAnon")? as f64 / 1024.0;
    point.resident_mib = docent.server.memory_kib("VmRSS")? as f64 / 1024.0;
    docent.server.stop()?;
    Ok(point)
}

/// Returns the CPU time of a read in microseconds.
async fn cost(bench: &Bench, docent: &Docent, read: Read, datasets: usize) -> Result<f64> {
    let source = reads::spread(docent, read, datasets).await?;
    let mut client = Client::open(docent.server.address(), CONNECTIONS).await?;
    let pass = source.requests.len().div_ceil(CONNECTIONS) as u64;
    client
        .drive(&source, Until::Turns(reads::WARM_UP_PASSES as u64 * pass))
        .await?;
    let (rounds, mut costs) = (Rounds::of(bench), Vec::new());
    for _ in 0..rounds.count {
        let before = docent.server.cpu()?;
        let done = client.drive(&source, Until::Elapsed(rounds.slice)).await?;
        costs.push(per_request(&before, &docent.server.cpu()?, done.requests));
    }
    Ok(median(&costs))
}

/// Returns the median time of a search in milliseconds. The first results are not measured.
async fn search(docent: &Docent, texts: &[String]) -> Result<f64> {
    let mut client = docent.client(1).await?;
    let mut times = Vec::new();
    for text in texts.iter().take(5).chain(texts) {
        let request = request(&docent.token, SEARCH, text);
        let started = Instant::now();
        let reply = client.ask(&request).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        let reply: Value = serde_json::from_slice(&reply)?;
        let found = scale::first_name(&reply).unwrap_or_default();
        ensure!(
            found == text || (text == COMMON_WORDS && !found.is_empty()),
            "the first result of '{text}' is '{found}'"
        );
    }
    Ok(median(&times[5..]))
}

fn report_point(point: &Point, report: &mut Report) {
    report.line(
        format!("growth: {:.0} aspects", point.aspects),
        format!(
            "description {:.1} µs CPU, ten columns {:.1} µs; search p50 {:.2} ms for a name, {:.2} ms \
             for words in all",
            point.description_us, point.columns_us, point.name_search_ms, point.common_search_ms
        ),
        format!(
            "{:.0} bytes of disk per aspect, index {:.0} bytes per dataset; {:.0} MiB of own memory, {:.0} \
             MiB resident; start {:.0} ms",
            point.bytes_per_aspect,
            point.index_bytes_per_dataset,
            point.own_mib,
            point.resident_mib,
            point.start_ms
        ),
        point.bytes_per_aspect,
        Target::NoPeer,
        "What a catalog of this size needs, and how quickly it replies.",
    );
}

const TITLE: &str = "A growing catalog: disk, index, memory, start, reads and searches by the number \
                     of aspects";

fn panels(points: &[Point]) -> [Panel; 6] {
    let series = |name: &str, value: fn(&Point) -> f64| Series {
        name: name.to_owned(),
        points: points.iter().map(|it| (it.aspects, value(it))).collect(),
    };
    let panel = |title: &str, series: Vec<Series>| Panel {
        title: title.to_owned(),
        series,
    };
    [
        panel(
            "Disk, bytes per aspect",
            vec![series("", |it| it.bytes_per_aspect)],
        ),
        panel(
            "Search index, bytes per dataset",
            vec![series("", |it| it.index_bytes_per_dataset)],
        ),
        panel(
            "Memory after the reads, MiB",
            vec![
                series("with pages of files", |it| it.resident_mib),
                series("own", |it| it.own_mib),
            ],
        ),
        panel(
            "Start to first answer, ms",
            vec![series("", |it| it.start_ms)],
        ),
        panel(
            "CPU per read, µs",
            vec![
                series("ten columns", |it| it.columns_us),
                series("description", |it| it.description_us),
            ],
        ),
        panel(
            "Search, median, ms",
            vec![
                series("words in all datasets", |it| it.common_search_ms),
                series("a name", |it| it.name_search_ms),
            ],
        ),
    ]
}
