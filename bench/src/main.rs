//! The benchmarks: compare a release build of docent with its peers and print one table.
//!
//! docent is measured over HTTP like any client would use it, side by side with other servers that
//! answer the same questions ([`measure::peers`]). Search is also measured as a library, behind a
//! small server ([`search_server`]), and so are decisions about rights.
//! docs/PERFORMANCE.md describes the measurements. To add one, write a module in [`measure`] and
//! call it in [`run_all`].

#![expect(
    clippy::cast_precision_loss,
    reason = "counts become rates; none is near 2^52"
)]

mod bench;
mod canned;
mod client;
mod data;
mod load;
mod machine;
mod measure;
mod plot;
mod postgres_server;
mod process;
mod report;
mod search_data;
mod search_server;
mod store;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use bench::{Bench, KEPT};
use clap::{Args, Parser, Subcommand};
use machine::Machine;
use report::Report;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures docent.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure everything, or some parts
    All(Options),
    /// Compare two builds of docent in one run
    Compare(CompareOptions),
    /// Serve a canned body until standard input closes
    #[command(hide = true)]
    Canned {
        /// The file with the body
        body: PathBuf,
    },
    /// Serve search as a library until standard input closes
    #[command(hide = true)]
    SearchServer(search_server::Options),
}

#[derive(Debug, Args)]
struct Options {
    /// Take a minute instead of many: fewer and shorter slices, no measurement with a million
    /// entities
    #[arg(long)]
    quick: bool,
    /// The binary to measure [default: docent next to this program]
    #[arg(long, value_name = "FILE")]
    docent: Option<PathBuf>,
    /// A directory on a real disk for the stores; it is emptied first [default: bench-work next to
    /// this program's directory]
    #[arg(long, value_name = "DIRECTORY")]
    work: Option<PathBuf>,
    /// Write the results document to this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Draw the plots into this directory [default: images next to the results document]
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
    /// Only these parts: start, reads, writes, memory, scale, loading, postgres, peers, agent,
    /// rights, growth, search, page
    #[arg(long, value_delimiter = ',', value_name = "PARTS")]
    only: Vec<String>,
    /// Requests of DataHub's web page that its browser test has recorded, for the part page
    /// [default: without it, that part is left out]
    #[arg(long, value_name = "FILE")]
    page_requests: Option<PathBuf>,
    #[command(flatten)]
    search: bench::SearchOptions,
}

#[derive(Debug, Args)]
struct CompareOptions {
    /// The old build
    #[arg(long, value_name = "FILE")]
    before: PathBuf,
    /// The new build [default: docent beside this program]
    #[arg(long, value_name = "FILE")]
    docent: Option<PathBuf>,
    /// Fewer and shorter slices
    #[arg(long)]
    quick: bool,
    /// A directory on a real disk for the stores; it is emptied first [default: bench-compare
    /// beside this program's directory]
    #[arg(long, value_name = "DIRECTORY")]
    work: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Canned { body } => canned::serve(&body).map(|()| true),
        Command::SearchServer(options) => search_server::serve(&options).map(|()| true),
        Command::All(options) => all(&options),
        Command::Compare(options) => compare(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("docent-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether every target was met.
fn all(options: &Options) -> Result<bool> {
    let own = std::env::current_exe()?;
    let directory = own.parent().context("this program is in no directory")?;
    let docent = options
        .docent
        .clone()
        .unwrap_or_else(|| directory.join("docent"));
    ensure!(
        docent.exists(),
        "{} does not exist: build docent first",
        docent.display()
    );
    let work = match &options.work {
        Some(work) => work.clone(),
        None => directory.with_file_name("bench-work"),
    };
    process::check_cores()?;
    // A document without the rows of an engine would be misleading.
    ensure!(
        options.page.is_none() || postgres_server::is_installed(),
        "PostgreSQL is not installed: install the Debian package postgresql, or measure without --page"
    );
    std::fs::create_dir_all(&work)?;
    remove_leftovers(&work, options.search.keep)?;
    let bench = Bench {
        docent: docent.canonicalize()?,
        work: work.canonicalize()?,
        environments: directory.with_file_name("").canonicalize()?,
        quick: options.quick,
        search: options.search.clone(),
        page_requests: options.page_requests.clone(),
    };
    let mut report = Report::default();
    let ran = measure_all(&bench, options, &mut report);
    report.print()?;
    ran?;
    if !options.search.keep {
        std::fs::remove_dir_all(&work)?;
    }
    Ok(report.is_good())
}

/// Returns whether no figure of the new build is worse by more than the tolerance.
fn compare(options: &CompareOptions) -> Result<bool> {
    let own = std::env::current_exe()?;
    let directory = own.parent().context("this program is in no directory")?;
    let after = options
        .docent
        .clone()
        .unwrap_or_else(|| directory.join("docent"));
    let work = options
        .work
        .clone()
        .unwrap_or_else(|| directory.with_file_name("bench-compare"));
    process::check_cores()?;
    std::fs::create_dir_all(&work)?;
    remove_leftovers(&work, false)?;
    let work = work.canonicalize()?;
    let bench = |binary: &Path| -> Result<Bench> {
        let found = binary.canonicalize();
        Ok(Bench {
            docent: found.with_context(|| format!("cannot find {}", binary.display()))?,
            work: work.clone(),
            // There are no peers.
            environments: PathBuf::new(),
            quick: options.quick,
            search: bench::SearchOptions::default(),
            page_requests: None,
        })
    };
    let (after, before) = (bench(&after)?, bench(&options.before)?);
    let mut report = Report::default();
    process::pin(process::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ran = runtime.block_on(measure::compare::measure([&after, &before], &mut report));
    report.print()?;
    ran?;
    std::fs::remove_dir_all(&work)?;
    Ok(report.is_good())
}

/// Removes the files of a killed run, except for catalogs to keep.
fn remove_leftovers(work: &Path, keep: bool) -> Result<()> {
    for entry in std::fs::read_dir(work)? {
        let entry = entry?;
        if keep && entry.file_name().to_string_lossy().starts_with(KEPT) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn measure_all(bench: &Bench, options: &Options, report: &mut Report) -> Result<()> {
    let mut machine = Machine::before_run(&bench.work, &bench.docent)?;
    process::pin(process::CLIENT_CORE)?;
    // A single thread: it has one core, and children end with the thread that started them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run_all(bench, options, report))?;
    machine.after_run()?;
    report.progress(&format!("done\n{machine}"));
    if let Some(page) = &options.page {
        report.write(&machine, Path::new(page))?;
    }
    Ok(())
}

async fn run_all(bench: &Bench, options: &Options, report: &mut Report) -> Result<()> {
    let is_selected =
        |part: &str| options.only.is_empty() || options.only.iter().any(|only| only == part);
    if is_selected("page") {
        measure::datahub_page::measure(bench, report).await?;
    }
    if is_selected("search") {
        measure::search::measure(bench, report).await?;
    } else if is_selected("page") {
        measure::search::measure_pages(bench, report).await?;
    }
    if is_selected("postgres") {
        measure::postgres::measure(bench, report).await?;
    }
    if is_selected("loading") {
        measure::loading::measure(bench, report).await?;
    }
    if is_selected("peers") {
        measure::peers::measure(bench, report).await?;
    }
    if is_selected("agent") {
        measure::agent_query::measure(bench, report).await?;
    }
    if is_selected("rights") {
        measure::rights::measure(bench, report).await?;
    }
    if is_selected("growth") {
        let page = options.page.as_deref().and_then(Path::parent);
        let plots = options.plots.clone().or_else(|| Some(page?.join("images")));
        measure::growth::measure(bench, plots.as_deref(), report).await?;
    }
    // The others share a store.
    let is_separate = |only: &String| {
        [
            "search", "page", "postgres", "rights", "peers", "agent", "growth", "loading",
        ]
        .contains(&only.as_str())
    };
    if !options.only.is_empty() && options.only.iter().all(is_separate) {
        return Ok(());
    }
    let store = bench.create_store("docent.db")?;
    // Loads the data that the others read.
    measure::bulk::measure(bench, &store, report).await?;
    if is_selected("start") {
        measure::start::measure(bench, &store, report).await?;
    }
    if is_selected("reads") {
        measure::reads::measure(bench, &store, report).await?;
    }
    if is_selected("writes") {
        measure::writes::measure(bench, &store, report).await?;
    }
    if is_selected("memory") && !bench.quick {
        measure::memory::measure(bench, report).await?;
    }
    if is_selected("scale") && !bench.quick {
        measure::scale::measure(bench, &store, report).await?;
    }
    Ok(())
}
