//! `docent rebuild` and `check`.

use std::sync::Arc;

use anyhow::{Result, bail};
use docent_store::Store;
use indicatif::{ProgressBar, ProgressStyle};

use super::{runtime, say};
use crate::engine::{self, OpenMode};
use crate::import_marker;
use crate::settings::StoreFlags;

/// Opens an existing, complete store; a server may be running.
pub(super) async fn open_complete(flags: &StoreFlags) -> Result<Arc<dyn Store>> {
    let url = flags.url()?;
    let store = engine::open(&url, OpenMode::Shared).await?;
    import_marker::check_complete(&*store, &url).await?;
    Ok(store)
}

pub(super) fn rebuild(store: &StoreFlags) -> Result<()> {
    let runtime = runtime()?;
    let store = runtime.block_on(open_complete(store))?;
    let report = runtime.block_on(store.rebuild(progress("rebuilding")))?;
    say(format!("{} aspects read", report.aspects));
    if report.repaired == 0 && report.orphans == 0 {
        say("all derived data was correct");
    } else {
        say(format!(
            "repaired: the derived rows of {} aspects differed, {} rows belonged to no aspect",
            report.repaired, report.orphans
        ));
    }
    if report.unreadable > 0 {
        bail!(
            "{} aspects cannot be read; their derived rows were not changed. 'docent check' lists them",
            report.unreadable
        );
    }
    Ok(())
}

pub(super) fn check(store: &StoreFlags) -> Result<()> {
    let url = store.url()?;
    let runtime = runtime()?;
    let findings = runtime.block_on(engine::check(&url))?;
    let unfinished = runtime.block_on(async {
        // A damaged or read-only store cannot be opened, but has been checked.
        match engine::open(&url, OpenMode::ReadOnly).await {
            Ok(store) => import_marker::find_unfinished(&*store).await,
            Err(_) => Ok(None),
        }
    });
    if let Ok(Some(marker)) = &unfinished {
        // Findings in an incomplete store are not damage.
        bail!("cannot use {url}: {marker}");
    }
    if findings.is_empty() {
        unfinished?;
        say("the store is healthy");
        return Ok(());
    }
    for finding in &findings {
        say(finding);
    }
    bail!(
        "the store is damaged, at most 100 findings are shown: replace it by a backup with 'docent restore', unless \
         all findings say that 'docent rebuild' repairs them"
    );
}

/// A progress bar; hidden if standard error is not a terminal.
pub(super) fn progress(what: &'static str) -> Box<dyn FnMut(u64, u64) + Send> {
    let bar = ProgressBar::new(0).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}") {
        bar.set_style(style);
    }
    Box::new(move |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        if done >= total {
            bar.finish_and_clear();
        }
    })
}
