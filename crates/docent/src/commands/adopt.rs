//! `docent adopt`: imports all aspects of a DataHub database, with their history.
//!
//! `source` reads the rows, `row_check` validates each, `importer` groups the rows of an aspect and
//! stores them page by page, `report` counts them and records rejections. Nothing here writes to
//! DataHub's database.
//!
//! Every run reads everything and imports what is missing, so another run continues an interrupted
//! one.

mod importer;
mod mysql;
mod report;
mod row_check;
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
use crate::engine::{self, OpenMode};
use crate::import_marker::{self, Import};
use crate::interrupt;
use crate::settings::{StoreFlags, StoreUrl};
use importer::Importer;
use report::Report;
use source::{Source, SourceUrl};

/// Rows between two updates of the progress bar.
const PROGRESS_STEP: u64 = 1000;

#[derive(Debug, Args)]
pub(crate) struct AdoptFlags {
    // The help would show the value, which may contain a password.
    #[arg(
        long,
        env = "DOCENT_ADOPT_FROM",
        value_name = "URL",
        hide_env_values = true,
        help = "URL of DataHub's database, which is only read: postgres://USER:PASSWORD@HOST/DATABASE or mysql://USER:PASSWORD@HOST/DATABASE"
    )]
    from: String,
    /// Write all rejected rows to a new file, as JSON lines with the reason
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(super) fn run(store: &StoreFlags, flags: &AdoptFlags) -> Result<()> {
    let from = SourceUrl::parse(&flags.from).context("--from is invalid")?;
    let to = store.url()?;
    runtime()?.block_on(adopt(&from, &to, flags.report.as_deref()))
}

async fn adopt(from: &SourceUrl, to: &StoreUrl, report_file: Option<&Path>) -> Result<()> {
    let mut source = Source::open(from)
        .await
        .with_context(|| format!("cannot read {from}"))?;
    let mut report = Report::new(report_file)?;
    let target = engine::open(to, OpenMode::ExclusiveCreate).await?;
    let catalog = Catalog::new(Arc::clone(&target), Arc::new(SystemClock));
    let origin = from.to_string();
    import_marker::begin(&catalog, &*target, to, Import::Adoption, &origin).await?;
    interrupt::exit_on_signal(format!(
        "stopped before {to} was complete: run the same command again to continue"
    ))?;
    import(&mut source, &*target, &mut report)
        .await
        .with_context(|| {
            format!("{to} is not complete yet: run the same command again to continue")
        })?;
    drop(source);
    target.rebuild(progress("deriving")).await?;
    report.lost_domains = trees::lost_domains(&*target).await?;
    import_marker::finish(&catalog, Import::Adoption, &origin).await?;
    report.finish()?;
    say(report.summary(from, to));
    let findings = target.check().await?;
    if let Some(finding) = findings.first() {
        bail!("{to} is damaged: {finding}; 'docent check' lists all findings");
    }
    Ok(())
}

async fn import(source: &mut Source, target: &dyn Store, report: &mut Report) -> Result<()> {
    let mut progress = progress("copying");
    let (mut done, total) = (0, source.total());
    let mut importer = Importer::new(target, report);
    while let Some(row) = source.next().await? {
        importer.row(row).await?;
        done += 1;
        if done % PROGRESS_STEP == 0 {
            progress(done, total.max(done));
        }
    }
    importer.finish().await?;
    check_count(done, total)?;
    progress(total, total);
    Ok(())
}

/// Rows are counted and read in one snapshot, so a difference is a read error.
fn check_count(done: u64, total: u64) -> Result<()> {
    if done != total {
        bail!("the database has {total} rows, but {done} were read");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_with_missing_rows_fails() {
        check_count(3, 3).unwrap();
        let error = check_count(2, 3).unwrap_err().to_string();
        assert_eq!(error, "the database has 3 rows, but 2 were read");
    }
}
