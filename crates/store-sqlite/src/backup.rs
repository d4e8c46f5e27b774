//! Copies of the whole database: made while it is in use, and put back in its place.
//!
//! A copy is written under another name, brought to the disk and then renamed, so that a file of the final name
//! is always whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use docent_store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::{SMALL_CACHE_KIB, create_private, open_copy, open_reader};
use crate::error::{EngineError, file_error};
use crate::lock::{ServerLock, beside};
use crate::readers::Snapshot;
use crate::{check, migrations};

/// Pages per step: the progress is told in between.
const STEP_PAGES: i32 = 256;

/// Writes a copy of `source` as it is now to the new file `target`.
pub(crate) fn backup(
    source: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    if exists(target)? {
        return Err(refused(format!(
            "{} exists already; choose another name for the backup",
            target.display()
        )));
    }
    let source = open_reader(source, SMALL_CACHE_KIB)?;
    copy_whole(&source, target, progress)
}

/// Puts a backup in the place of the database at `to`.
///
/// The backup is checked first; one of a newer docent or a damaged one is refused. So is a database that a server
/// uses, and one that exists already unless `replace` says to lose it.
pub fn restore(
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), StoreError> {
    Ok(restore_checked(from, to, replace, progress)?)
}

fn restore_checked(
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    let _lock = ServerLock::take(to)?;
    let replaces = exists(to)?;
    if replaces && !replace {
        return Err(refused(format!(
            "{} exists already: with --replace the backup takes its place",
            to.display()
        )));
    }
    let source = open_reader(from, SMALL_CACHE_KIB)?;
    if migrations::state(&source, from)? == migrations::State::Empty {
        return Err(refused(format!(
            "{} is empty, not a backup",
            from.display()
        )));
    }
    if let Some(finding) = check::integrity(&source)?.first() {
        return Err(refused(format!("{}: {finding}", from.display())));
    }
    if replaces {
        retire(to)?;
    }
    copy_whole(&source, to, progress)
}

/// Makes sure that no log of the old database is left: SQLite would play it into the new one.
fn retire(database: &Path) -> Result<(), EngineError> {
    // Leaving the log mode brings the log into the file. If the old database is too broken for that, it is
    // about to be replaced for good reason.
    let closed = open_copy(database).and_then(|connection| leave_log_mode(&connection));
    if let Err(error) = closed {
        tracing::warn!(%error, "the log of the replaced database is given up");
    }
    for suffix in ["-wal", "-shm"] {
        let path = beside(database, suffix);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(file_error(&path, &error).into());
            }
            _ => {}
        }
    }
    sync_directory_of(database)
}

fn copy_whole(
    source: &Connection,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    let unfinished = Unfinished::beside(target)?;
    copy_pages(source, &unfinished.path, progress)?;
    let synced = File::options()
        .write(true)
        .open(&unfinished.path)
        .and_then(|file| file.sync_all());
    synced.map_err(|error| file_error(&unfinished.path, &error))?;
    fs::rename(&unfinished.path, target).map_err(|error| file_error(target, &error))?;
    sync_directory_of(target)
}

fn copy_pages(
    source: &Connection,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    // With a snapshot held from before the first page, writes in between cannot make the copy start again.
    let _snapshot = Snapshot::begin(source)?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut copy = open_copy(target)?;
    let backup = Backup::new(source, &mut copy)?;
    loop {
        match backup.step(STEP_PAGES)? {
            StepResult::Busy | StepResult::Locked => return Err(StoreError::Busy.into()),
            step => {
                let state = backup.progress();
                let total = u64::try_from(state.pagecount).unwrap_or(0);
                let left = u64::try_from(state.remaining).unwrap_or(0);
                progress(total.saturating_sub(left), total);
                if step == StepResult::Done {
                    break;
                }
            }
        }
    }
    drop(backup);
    leave_log_mode(&copy)
}

fn leave_log_mode(connection: &Connection) -> Result<(), EngineError> {
    Ok(connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?)
}

/// A file that is removed again unless it was renamed.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn beside(target: &Path) -> Result<Self, EngineError> {
        let path = beside(target, &format!(".{}.unfinished", std::process::id()));
        create_private(&path).map_err(|error| file_error(&path, &error))?;
        Ok(Self { path })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm", "-journal"] {
            // None of them is there when all went well.
            let _ = fs::remove_file(beside(&self.path, suffix));
        }
    }
}

fn exists(path: &Path) -> Result<bool, EngineError> {
    Ok(path
        .try_exists()
        .map_err(|error| file_error(path, &error))?)
}

/// A rename is durable when the directory is.
fn sync_directory_of(path: &Path) -> Result<(), EngineError> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| file_error(directory, &error).into())
}

fn refused(reason: String) -> EngineError {
    StoreError::Refused { reason }.into()
}
