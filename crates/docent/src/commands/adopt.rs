//! `docent adopt`: all aspects of a DataHub database, with their history, into a store of ours.
//!
//! `source` reads the rows, `judge` says of each whether it is one that we can keep, `gather` puts the rows of an aspect
//! together and carries them over page by page, `report` counts and remembers what was refused. Nothing here writes to the
//! database that is read.
//!
//! Every run reads everything and takes what is missing, so a run that was stopped is gone on with by another one.

mod gather;
mod judge;
mod mysql;
mod report;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;
use docent_catalog::{Catalog, Proposal};
use docent_model::{Clock as _, Registry, SystemClock};
use docent_store::{AspectKey, Store};
use serde_json::json;

use super::maintenance::progress;
use super::{operator, runtime, say};
use crate::engine::{self, Use};
use crate::settings::{StoreFlags, StoreUrl};
use gather::Gathering;
use report::Report;
use source::{Source, SourceUrl};

/// Says in the store itself that it is one into which a catalog is being adopted.
const MARK: &str = "urn:li:dataHubUpgrade:docent-adopt";
const MARK_ASPECT: &str = "dataHubUpgradeResult";

/// The progress is told, and a wish to stop is heard, once per so many rows.
const STEP: u64 = 1000;

#[derive(Debug, Args)]
pub(crate) struct AdoptFlags {
    // The value may have a password in it, which the help would show.
    #[arg(
        long,
        env = "DOCENT_ADOPT_FROM",
        value_name = "URL",
        hide_env_values = true,
        help = "DataHub's database: postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE; it is only read"
    )]
    from: String,
    /// A new file for all rows that are refused, as lines of JSON, each with the reason
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(super) fn run(store: &StoreFlags, flags: &AdoptFlags) -> Result<()> {
    let from = SourceUrl::parse(&flags.from).context("--from is not right")?;
    let to = store.url()?;
    runtime()?.block_on(adopt(&from, &to, flags.report.as_deref()))
}

async fn adopt(from: &SourceUrl, to: &StoreUrl, report_file: Option<&Path>) -> Result<()> {
    let mut source = Source::open(from)
        .await
        .with_context(|| format!("{from} cannot be read"))?;
    let mut report = Report::new(report_file)?;
    let target = engine::open(to, Use::Server).await?;
    let catalog = Catalog::new(Arc::clone(&target), Arc::new(SystemClock));
    begin(&*target, &catalog, from, to).await?;
    carry(&mut source, &*target, &mut report)
        .await
        .with_context(|| {
            format!("{to} is not complete yet: run the same command again to go on")
        })?;
    drop(source);
    target.rebuild(progress("deriving")).await?;
    mark(&catalog, from, "SUCCEEDED").await?;
    report.finish()?;
    say(report.summary(from, to));
    let findings = target.check().await?;
    if let Some(finding) = findings.first() {
        bail!("{to} is not in order: {finding}; 'docent check' says more");
    }
    Ok(())
}

/// Makes sure that the store is new, or one that an earlier run began to fill.
async fn begin(
    target: &dyn Store,
    catalog: &Catalog,
    from: &SourceUrl,
    to: &StoreUrl,
) -> Result<()> {
    if !engine::is_empty(target).await? {
        let began = target.aspects_read(&[mark_key()?]).await?;
        if began.iter().all(Option::is_none) {
            bail!("{to} is not empty: adopt into a new store");
        }
    }
    mark(catalog, from, "IN_PROGRESS").await
}

fn mark_key() -> Result<AspectKey> {
    let registry = Registry::get();
    let aspect = registry
        .aspect(MARK_ASPECT)
        .with_context(|| format!("the registry has no aspect {MARK_ASPECT}"))?;
    Ok(AspectKey::new(&registry.parse_urn(MARK)?, aspect))
}

async fn mark(catalog: &Catalog, from: &SourceUrl, state: &str) -> Result<()> {
    let AspectKey { urn, aspect } = mark_key()?;
    let value = json!({
        "timestampMs": SystemClock.now_ms(),
        "state": state,
        "result": { "from": from.to_string() },
    });
    let proposal = Proposal::upsert(urn, aspect, value.to_string());
    catalog.apply(&operator()?, vec![proposal]).await?;
    Ok(())
}

async fn carry(source: &mut Source, target: &dyn Store, report: &mut Report) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&stop);
    let listening = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            heard.store(true, Ordering::Relaxed);
        }
    });
    let mut progress = progress("copying");
    let (mut done, total) = (0, source.total());
    let mut gathering = Gathering::new(target, report);
    while let Some(row) = source.next().await? {
        gathering.row(row).await?;
        done += 1;
        if done % STEP == 0 {
            progress(done, total.max(done));
            // Rows that are there already are read without waiting for anything else.
            tokio::task::yield_now().await;
            if stop.load(Ordering::Relaxed) {
                bail!("stopped");
            }
        }
    }
    gathering.finish().await?;
    progress(total.max(done), total.max(done));
    listening.abort();
    Ok(())
}
