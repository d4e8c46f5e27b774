//! `docent rebuild`, `check`, `backup` and `restore`.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use docent_store::Store;
use indicatif::{ProgressBar, ProgressStyle};

use super::{runtime, say};
use crate::engine::{self, Use};
use crate::settings::StoreFlags;
use crate::unfinished;

/// A store that is there and complete; a server may be running beside.
async fn open_finished(flags: &StoreFlags) -> Result<Arc<dyn Store>> {
    let url = flags.url()?;
    let store = engine::open(&url, Use::Existing).await?;
    unfinished::expect_finished(&*store, &url).await?;
    Ok(store)
}

pub(super) fn rebuild(store: &StoreFlags) -> Result<()> {
    let runtime = runtime()?;
    let store = runtime.block_on(open_finished(store))?;
    let report = runtime.block_on(store.rebuild(progress("rebuilding")))?;
    say(format!("{} aspects read", report.aspects));
    if report.mended == 0 && report.orphans == 0 {
        say("everything derived from them was right");
    } else {
        say(format!(
            "mended: the derived rows of {} aspects differed, {} rows belonged to no aspect",
            report.mended, report.orphans
        ));
    }
    if report.unreadable > 0 {
        bail!(
            "{} aspects cannot be read, and what is derived from them was left as it is: 'docent check' names them",
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
        // What could be checked has the newest schema, so that opening it changes nothing; what is damaged, or may only be
        // read by us, cannot be opened, and has been looked at.
        match engine::open(&url, Use::Existing).await {
            Ok(store) => unfinished::find(&*store).await,
            Err(_) => Ok(None),
        }
    });
    if let Ok(Some(mark)) = &unfinished {
        // Much does not fit together yet, which is no damage.
        bail!("{url} cannot be used: {mark}");
    }
    if findings.is_empty() {
        unfinished?;
        say("the store is healthy");
        return Ok(());
    }
    for finding in &findings {
        say(finding);
    }
    bail!("the store is damaged; at most 100 findings are shown");
}

pub(super) fn backup(store: &StoreFlags, file: &Path) -> Result<()> {
    let runtime = runtime()?;
    let store = runtime.block_on(open_finished(store))?;
    runtime.block_on(store.backup(file, progress("copying")))?;
    say(format!("backed up to {}", file.display()));
    Ok(())
}

pub(super) fn restore(store: &StoreFlags, file: &Path, replace: bool) -> Result<()> {
    let url = store.url()?;
    let mut progress = progress("restoring");
    let former = runtime()?.block_on(engine::restore(&url, file, replace, &mut *progress))?;
    say(format!("restored {} from {}", url, file.display()));
    if let Some(former) = former {
        say(format!(
            "the store that was there could not be closed; it is kept as {}",
            former.display()
        ));
    }
    Ok(())
}

/// A bar on a terminal; nothing where there is none.
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
