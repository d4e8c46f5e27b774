//! `docent rebuild`, `check`, `backup` and `restore`.

use std::path::Path;

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::{runtime, say};
use crate::engine::{self, Use};
use crate::settings::StoreFlags;
use crate::unfinished;

pub(super) fn rebuild(store: &StoreFlags) -> Result<()> {
    let runtime = runtime()?;
    let store = runtime.block_on(engine::open(&store.url()?, Use::Existing))?;
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
    let finished = runtime.block_on(async {
        // What could be checked has the newest schema, so that opening it changes nothing; what is damaged, or may only be
        // read by us, cannot be opened, and has been looked at.
        match engine::open(&url, Use::Existing).await {
            Ok(store) => unfinished::expect_finished(&*store, &url).await,
            Err(_) => Ok(()),
        }
    });
    if findings.is_empty() {
        finished?;
        say("the store is healthy");
        return Ok(());
    }
    for finding in &findings {
        say(finding);
    }
    // Of a store that is being filled nothing else can be expected.
    finished?;
    bail!("the store is damaged; at most 100 findings are shown");
}

pub(super) fn backup(store: &StoreFlags, file: &Path) -> Result<()> {
    let runtime = runtime()?;
    let store = runtime.block_on(engine::open(&store.url()?, Use::Existing))?;
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
