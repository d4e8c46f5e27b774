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
mod trees;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use docent_catalog::Catalog;
use docent_model::SystemClock;
use docent_store::Store;

use super::maintenance::progress;
use super::{runtime, say};
use crate::engine::{self, Use};
use crate::interrupt;
use crate::settings::{StoreFlags, StoreUrl};
use crate::unfinished::{self, Filling};
use gather::Gathering;
use report::Report;
use source::{Source, SourceUrl};

/// The progress is told once per so many rows.
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
    let target = engine::open(to, Use::AloneAndNew).await?;
    let catalog = Catalog::new(Arc::clone(&target), Arc::new(SystemClock));
    let origin = from.to_string();
    unfinished::begin(&catalog, &*target, to, Filling::Adoption, &origin).await?;
    interrupt::end_with(format!(
        "stopped before {to} was complete: run the same command again to go on"
    ))?;
    carry(&mut source, &*target, &mut report)
        .await
        .with_context(|| {
            format!("{to} is not complete yet: run the same command again to go on")
        })?;
    drop(source);
    target.rebuild(progress("deriving")).await?;
    report.lost_domains = trees::lost_domains(&*target).await?;
    unfinished::finish(&catalog, Filling::Adoption, &origin).await?;
    report.finish()?;
    say(report.summary(from, to));
    let findings = target.check().await?;
    if let Some(finding) = findings.first() {
        bail!("{to} is not in order: {finding}; 'docent check' says more");
    }
    Ok(())
}

async fn carry(source: &mut Source, target: &dyn Store, report: &mut Report) -> Result<()> {
    let mut progress = progress("copying");
    let (mut done, total) = (0, source.total());
    let mut gathering = Gathering::new(target, report);
    while let Some(row) = source.next().await? {
        gathering.row(row).await?;
        done += 1;
        if done % STEP == 0 {
            progress(done, total.max(done));
        }
    }
    gathering.finish().await?;
    expect_all(done, total)?;
    progress(total, total);
    Ok(())
}

/// Rows are counted and read from one snapshot: an end that comes early or late is a fault of the reading.
fn expect_all(done: u64, total: u64) -> Result<()> {
    if done != total {
        bail!("the database has {total} rows, and {done} of them were read");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adoption_whose_source_ends_early_is_not_complete() {
        expect_all(3, 3).unwrap();
        let error = expect_all(2, 3).unwrap_err().to_string();
        assert_eq!(error, "the database has 3 rows, and 2 of them were read");
    }
}
