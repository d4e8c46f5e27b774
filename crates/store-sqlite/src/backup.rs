//! Copies of the whole database: made while it is in use, and put back in its place.
//!
//! A copy is written under another name, brought to the disk and then renamed, so that a file of the final name
//! is always whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use docent_store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::{SMALL_CACHE_KIB, open_copy, open_reader, open_visitor};
use crate::error::{EngineError, RESTORE_MENDS, file_error};
use crate::lock::{ServerLock, expect_unused_log};
use crate::path::{BESIDE, beside, create_private, expect_place, folder_of, real_path};
use crate::readers::Snapshot;
use crate::{check, migrations};

/// What every backup begins with, as every file of SQLite does.
pub const BACKUP_START: &[u8] = b"SQLite format 3\0";

/// Pages per step: the progress is told in between.
const STEP_PAGES: i32 = 256;

/// Writes a copy of `source` as it is now to the new file `target`.
pub(crate) fn backup(
    source: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    expect_place(target)?;
    if exists(target)? {
        return Err(refused(format!(
            "{} exists already; choose another name for the backup",
            target.display()
        )));
    }
    let source = open_reader(source, SMALL_CACHE_KIB)?;
    Unfinished::copy_of(&source, target, progress)?.finish(target)
}

/// Puts a backup in the place of the database at `to`.
///
/// The backup is checked first; one of a newer docent or a damaged one is refused. So is a database that a server
/// uses, and one that exists already unless `replace` says to lose it. Until the copy is whole and on the disk, the
/// old database stays as it is.
///
/// Returns where the old database is if its log could not be brought into it, because it is broken, the disk is full or
/// another process has it open: then its files are kept under that name.
pub fn restore(
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<PathBuf>, StoreError> {
    Ok(restore_checked(from, &real_path(to), replace, progress)?)
}

fn restore_checked(
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Option<PathBuf>, EngineError> {
    expect_place(to)?;
    if exists(to)? && !replace {
        return Err(refused(format!(
            "{} exists already: with --replace the backup takes its place",
            to.display()
        )));
    }
    if !exists(to)? {
        expect_unused_log(to)?;
    }
    let is_new = reserve(to)?;
    let _lock = ServerLock::take(to)?;
    // Ours only now that it is locked, and gone again before the lock is.
    let reserved = is_new.then(|| Reserved(to));
    expect_backup(from)?;
    let source = open_visitor(from).map_err(as_of_backup)?;
    if migrations::state(&source, from).map_err(as_of_backup)? == migrations::State::Empty {
        return Err(refused(format!(
            "{} is empty, not a backup",
            from.display()
        )));
    }
    if let Some(finding) = check::integrity(&source)?.first() {
        return Err(refused(format!(
            "{}: {finding}; {TAKE_ANOTHER}",
            from.display()
        )));
    }
    let copy = Unfinished::copy_of(&source, to, progress)?;
    drop(source);
    let aside = retire(to, reserved.is_some())?;
    if let Err(error) = copy.finish(to) {
        if let Some(aside) = aside {
            aside.put_back();
        }
        return Err(error);
    }
    if let Some(reserved) = reserved {
        reserved.keep();
    }
    Ok(aside.map(|aside| aside.path))
}

/// An empty file that keeps the place of a database that is being restored, so that it can be locked. It goes again if
/// nothing comes of it.
struct Reserved<'p>(&'p Path);

impl Reserved<'_> {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

/// Whether the file was made.
fn reserve(database: &Path) -> Result<bool, EngineError> {
    match create_private(database) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file_error(database, &error).into()),
    }
}

const TAKE_ANOTHER: &str = "take another backup";

fn expect_backup(from: &Path) -> Result<(), EngineError> {
    let what = if from.is_dir() {
        "is a directory, not a backup"
    } else if exists(from)? {
        return Ok(());
    } else {
        "does not exist: name the file that 'docent backup' wrote"
    };
    Err(refused(format!("{} {what}", from.display())))
}

/// What is wrong with the backup is no matter of the store, and no restore mends it.
fn as_of_backup(error: EngineError) -> EngineError {
    match StoreError::from(error) {
        StoreError::Unavailable { reason } => match reason.strip_suffix(RESTORE_MENDS) {
            Some(reason) => refused(format!("{reason}; {TAKE_ANOTHER}")),
            None => refused(reason),
        },
        other => other.into(),
    }
}

/// Makes sure that no log of the old database is left: SQLite would play it into the new one.
fn retire(database: &Path, is_new: bool) -> Result<Option<Aside>, EngineError> {
    let mut closed = true;
    if !is_new {
        // Leaving the log mode brings the log into the file.
        let left = open_copy(database).and_then(|connection| leave_log_mode(&connection));
        if let Err(error) = left {
            tracing::warn!(%error, "the log of the replaced database cannot be brought into it");
            closed = false;
        }
    }
    for suffix in BESIDE {
        closed = closed && !exists(&beside(database, suffix))?;
    }
    (!closed)
        .then(|| Aside::move_away(database, is_new))
        .transpose()
}

/// The files of a database that was moved out of the way, all of them, so that it can be opened under its new name.
struct Aside {
    path: PathBuf,
    /// From where to where.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl Aside {
    fn move_away(database: &Path, is_new: bool) -> Result<Self, EngineError> {
        let mut number = 1;
        let path = loop {
            let path = beside(database, &format!(".replaced.{number}"));
            if !exists(&path)? {
                break path;
            }
            number += 1;
        };
        let mut aside = Self {
            path,
            moved: Vec::new(),
        };
        // The place that a new database has reserved is not part of the old one.
        let database_itself = (!is_new).then_some("");
        for suffix in database_itself.into_iter().chain(BESIDE) {
            let (from, to) = (beside(database, suffix), beside(&aside.path, suffix));
            match fs::rename(&from, &to) {
                Ok(()) => aside.moved.push((from, to)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    aside.put_back();
                    return Err(file_error(&from, &error).into());
                }
            }
        }
        Ok(aside)
    }

    fn put_back(self) {
        for (from, to) in self.moved {
            if let Err(error) = fs::rename(&to, &from) {
                tracing::error!(%error, "{} is now at {}: {error}", from.display(), to.display());
            }
        }
    }
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

/// A copy under another name, which is removed again unless it gets its final one.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Copies everything; when this returns, the copy is whole and on the disk.
    fn copy_of(
        source: &Connection,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, EngineError> {
        let path = beside(target, &format!(".{}.unfinished", std::process::id()));
        create_private(&path).map_err(|error| file_error(&path, &error))?;
        let copy = Self { path };
        copy_pages(source, &copy.path, progress).map_err(|error| match error.into() {
            StoreError::Unavailable { reason } => StoreError::Unavailable {
                reason: format!("{} could not be written: {reason}", target.display()),
            },
            other => other,
        })?;
        let synced = File::options()
            .write(true)
            .open(&copy.path)
            .and_then(|file| file.sync_all());
        synced.map_err(|error| file_error(&copy.path, &error))?;
        Ok(copy)
    }

    fn finish(self, target: &Path) -> Result<(), EngineError> {
        fs::rename(&self.path, target).map_err(|error| file_error(target, &error))?;
        sync_directory_of(target)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for suffix in std::iter::once("").chain(BESIDE) {
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
    let directory = folder_of(path);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| file_error(directory, &error).into())
}

fn refused(reason: String) -> EngineError {
    StoreError::Refused { reason }.into()
}
