//! `docent backup` and `docent restore`.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use jiff::Timestamp;

use super::maintenance::{open_complete, progress};
use super::status::in_units;
use super::times::time_of_flag;
use super::{counted, note, runtime, say};
use crate::backups::{Destination, LocalBackup, States};
use crate::engine;
use crate::settings::StoreFlags;

#[derive(Debug, Args)]
pub(crate) struct BackupFlags {
    #[arg(
        help = "The file to create; or an existing directory or s3://BUCKET/PREFIX, where the backup gets a dated name"
    )]
    target: String,
    /// Delete all but this many of the newest backups there
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    /// Make no backup, but check one: restore it to a temporary place and check the store there;
    /// of a directory or bucket, the newest
    #[arg(long, conflicts_with = "keep")]
    verify: bool,
    /// Make no backup, but list those of a directory or bucket, with the states that each gives
    #[arg(long, conflicts_with_all = ["keep", "verify"])]
    list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreFlags {
    #[arg(
        help = "The backup file; or a directory or s3://BUCKET/PREFIX, for the newest state there"
    )]
    source: String,
    /// Replace an existing store
    #[arg(long)]
    replace: bool,
    /// Restore the newest state up to this time: for example 10m, which is ten minutes ago,
    /// 2026-01-31 or 2026-01-31T12:00:00Z. Without an archived write-ahead log, the newest backup
    /// until then
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub(super) fn back_up(store: &StoreFlags, flags: &BackupFlags) -> Result<()> {
    if flags.verify {
        return verify(store, &flags.target);
    }
    if flags.list {
        return list(&flags.target);
    }
    if Destination::is_meant(&flags.target) {
        return back_up_to(store, flags);
    }
    ensure!(
        flags.keep.is_none(),
        "--keep needs an existing directory or s3://BUCKET/PREFIX, where older backups are"
    );
    let file = Path::new(&flags.target);
    let runtime = runtime()?;
    let store = runtime.block_on(open_complete(store))?;
    runtime.block_on(store.backup(file, progress("copying")))?;
    say(format!("backed up to {}", file.display()));
    Ok(())
}

fn back_up_to(store: &StoreFlags, flags: &BackupFlags) -> Result<()> {
    let destination = Destination::parse(&flags.target)?;
    let url = store.url()?;
    let runtime = runtime()?;
    let store = runtime.block_on(open_complete(store))?;
    let keep = flags.keep.map(usize::from);
    let making = destination.back_up(&*store, &url, keep, None, progress);
    let made = runtime.block_on(making)?;
    say(format!(
        "backed up to {destination}/{}, {}, and checked it",
        made.name,
        in_units(made.bytes)
    ));
    if made.deleted > 0 {
        say(format!("deleted {} older backups", made.deleted));
    }
    Ok(())
}

fn verify(store: &StoreFlags, source: &str) -> Result<()> {
    let url = store.url()?;
    let runtime = runtime()?;
    let backup = runtime.block_on(LocalBackup::find(source, None, progress))?;
    runtime.block_on(backup.verify(&url, progress("checking")))?;
    let state = backup.state.map(|time| format!(", the state of {time},"));
    say(format!(
        "{}{} was restored to a temporary place: the store is healthy",
        backup.name,
        state.unwrap_or_default()
    ));
    if Destination::is_meant(source) {
        let checking = Destination::parse(source)?;
        let (older, gaps) = runtime.block_on(checking.older_gaps())?;
        gaps.iter().for_each(note);
        if older > 0 {
            let backups = counted(older, "older backup", "older backups");
            say(format!(
                "{backups}: looked for missing parts of the log, and restored nothing"
            ));
        }
    }
    match backup.gap {
        Some(gap) => bail!("{gap}"),
        None => Ok(()),
    }
}

/// Needs no store: it may be lost.
fn list(place: &str) -> Result<()> {
    ensure!(
        Destination::is_meant(place),
        "--list needs an existing directory or s3://BUCKET/PREFIX"
    );
    let listed = runtime()?.block_on(Destination::parse(place)?.listed())?;
    if listed.is_empty() {
        say(format!(
            "there is no backup at {place}: 'docent backup' makes one"
        ));
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["BACKUP", "SIZE", "FIRST STATE", "LAST STATE", "LOG"]);
    for backup in listed {
        let states = match backup.states {
            Some(States {
                first,
                last,
                segments,
            }) => {
                let log = match segments {
                    0 => "none".to_owned(),
                    _ => counted(segments, "segment", "segments"),
                };
                [first.to_string(), last.to_string(), log]
            }
            None => [
                "none".to_owned(),
                "none".to_owned(),
                "parts are missing".to_owned(),
            ],
        };
        let first = [backup.name.to_string(), in_units(backup.bytes)];
        table.add_row(first.into_iter().chain(states));
    }
    for line in table.lines() {
        say(line.trim());
    }
    Ok(())
}

pub(super) fn restore(store: &StoreFlags, flags: &RestoreFlags) -> Result<()> {
    let url = store.url()?;
    let at_ms = time_of_flag("--at", flags.at.as_deref())?;
    let at = at_ms.map(Timestamp::from_millisecond).transpose()?;
    let runtime = runtime()?;
    let backup = runtime.block_on(LocalBackup::find(&flags.source, at, progress))?;
    let mut progress = progress("restoring");
    let restoring = engine::restore(&url, &backup.path, flags.replace, &mut *progress);
    let old_store = runtime
        .block_on(restoring)
        .map_err(|error| backup.explain(error))?;
    if let Some(gap) = &backup.gap {
        note(gap);
    }
    let state = backup.state.map(|time| format!(": the state of {time}"));
    say(format!(
        "restored {url} from {}{}",
        backup.name,
        state.unwrap_or_default()
    ));
    if let Some(old_store) = old_store {
        say(format!(
            "the old store could not be closed; it was moved to {}",
            old_store.display()
        ));
    }
    Ok(())
}
