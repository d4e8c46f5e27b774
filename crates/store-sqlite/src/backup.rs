//! Backup while the database is in use, and restore.
//!
//! A copy is written under a temporary name, synced and then renamed, so that a file with the final
//! name is always complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use docent_store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::connection::{SMALL_CACHE_KIB, open_copy, open_read_only, open_reader};
use crate::error::{EngineError, RESTORE_HINT, file_error};
use crate::lock::{ServerLock, expect_unused_log};
use crate::path::{
    LOG_SUFFIXES, create_private, directory_of, expect_valid_path, real_path, sibling,
};
use crate::readers::Snapshot;
use crate::{check, migrations};

/// The first bytes of every backup, as of every SQLite file.
pub const BACKUP_START: &[u8] = b"SQLite format 3\0";

/// Pages per step; progress is reported after each.
const STEP_PAGES: i32 = 256;

/// Writes a copy of the current state of `source` to the new file `target`.
pub(crate) fn backup(
    source: &Path,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    expect_valid_path(target)?;
    if exists(target)? {
        return Err(rejected(format!(
            "{} exists already; choose another name for the backup",
            target.display()
        )));
    }
    let source = open_reader(source, SMALL_CACHE_KIB)?;
    UnfinishedCopy::copy_of(&source, target, progress)?.finish(target)
}

/// Restores a backup to `to`.
///
/// Rejects a backup that is damaged or from a newer docent, a database in use by a server, and an
/// existing database unless `replace` is set. The old database stays unchanged until the copy is
/// complete and on disk.
///
/// Returns the new path of the old database if its log could not be checkpointed, because it is
/// damaged, the disk is full or another process has it open.
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
    expect_valid_path(to)?;
    if exists(to)? && !replace {
        return Err(rejected(format!(
            "{} exists already: use --replace to replace it by the backup",
            to.display()
        )));
    }
    if !exists(to)? {
        expect_unused_log(to)?;
    }
    let is_new = reserve(to)?;
    let _lock = ServerLock::take(to)?;
    // Ours only since it is locked; removed before the lock is released.
    let reserved = is_new.then(|| Reserved(to));
    expect_backup(from)?;
    let source = open_read_only(from).map_err(backup_error)?;
    if migrations::state(&source, from).map_err(backup_error)? == migrations::State::Empty {
        return Err(rejected(format!(
            "{} is empty, not a backup; {USE_ANOTHER}",
            from.display()
        )));
    }
    if let Some(finding) = check::integrity(&source)?.first() {
        return Err(rejected(format!(
            "{}: {finding}; {USE_ANOTHER}",
            from.display()
        )));
    }
    let copy = UnfinishedCopy::copy_of(&source, to, progress)?;
    drop(source);
    let moved = clear_log(to, reserved.is_some())?;
    if let Err(error) = copy.finish(to) {
        if let Some(moved) = moved {
            moved.move_back();
        }
        return Err(error);
    }
    if let Some(reserved) = reserved {
        reserved.keep();
    }
    Ok(moved.map(|moved| moved.path))
}

/// An empty file under the name of the database to restore, so that it can be locked. Removed if
/// the restore fails.
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

/// Creates the file; returns whether it is new.
fn reserve(database: &Path) -> Result<bool, EngineError> {
    match create_private(database) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file_error(database, &error).into()),
    }
}

const USE_ANOTHER: &str = "use another backup";

fn expect_backup(from: &Path) -> Result<(), EngineError> {
    let problem = if from.is_dir() {
        "is a directory, not a backup"
    } else if exists(from)? {
        return Ok(());
    } else {
        "does not exist: name the file that 'docent backup' wrote"
    };
    Err(rejected(format!("{} {problem}", from.display())))
}

/// Errors about the backup are not errors of the store, and a restore does not fix them.
fn backup_error(error: EngineError) -> EngineError {
    match StoreError::from(error) {
        StoreError::Unavailable { reason } => match reason.strip_suffix(RESTORE_HINT) {
            Some(reason) => rejected(format!("{reason}; {USE_ANOTHER}")),
            None => rejected(reason),
        },
        other => other.into(),
    }
}

/// Removes the log of the old database, which SQLite would apply to the new one. Moves the old
/// database away if its log cannot be checkpointed.
fn clear_log(database: &Path, is_new: bool) -> Result<Option<MovedDatabase>, EngineError> {
    let mut closed = true;
    if !is_new {
        // Leaving WAL mode checkpoints the log.
        let checkpointed = open_copy(database).and_then(|connection| leave_wal_mode(&connection));
        if let Err(error) = checkpointed {
            tracing::warn!(%error, "cannot checkpoint the log of the replaced database");
            closed = false;
        }
    }
    for suffix in LOG_SUFFIXES {
        closed = closed && !exists(&sibling(database, suffix))?;
    }
    (!closed)
        .then(|| MovedDatabase::move_away(database, is_new))
        .transpose()
}

/// A database that was moved away with all its files, so that it can be opened under its new name.
struct MovedDatabase {
    path: PathBuf,
    /// Old and new paths of its files.
    files: Vec<(PathBuf, PathBuf)>,
}

impl MovedDatabase {
    fn move_away(database: &Path, is_new: bool) -> Result<Self, EngineError> {
        let mut number = 1;
        let path = loop {
            let path = sibling(database, &format!(".replaced.{number}"));
            if !exists(&path)? {
                break path;
            }
            number += 1;
        };
        let mut database_moved = Self {
            path,
            files: Vec::new(),
        };
        // A reserved file is not part of the old database.
        let database_itself = (!is_new).then_some("");
        for suffix in database_itself.into_iter().chain(LOG_SUFFIXES) {
            let (from, to) = (
                sibling(database, suffix),
                sibling(&database_moved.path, suffix),
            );
            match fs::rename(&from, &to) {
                Ok(()) => database_moved.files.push((from, to)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    database_moved.move_back();
                    return Err(file_error(&from, &error).into());
                }
            }
        }
        Ok(database_moved)
    }

    fn move_back(self) {
        for (from, to) in self.files {
            if let Err(error) = fs::rename(&to, &from) {
                tracing::error!(%error, "cannot move the database back: {} is now at {}", from.display(), to.display());
            }
        }
    }
}

fn copy_pages(
    source: &Connection,
    target: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), EngineError> {
    // With a snapshot from before the first page, concurrent writes do not restart the copy.
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
    leave_wal_mode(&copy)
}

fn leave_wal_mode(connection: &Connection) -> Result<(), EngineError> {
    Ok(connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?)
}

/// A copy under a temporary name, removed unless it is finished.
struct UnfinishedCopy {
    path: PathBuf,
}

impl UnfinishedCopy {
    /// Copies the database and syncs the copy to disk.
    fn copy_of(
        source: &Connection,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, EngineError> {
        let path = sibling(target, &format!(".{}.unfinished", std::process::id()));
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

impl Drop for UnfinishedCopy {
    fn drop(&mut self) {
        for suffix in std::iter::once("").chain(LOG_SUFFIXES) {
            // None of them exists after a success.
            let _ = fs::remove_file(sibling(&self.path, suffix));
        }
    }
}

fn exists(path: &Path) -> Result<bool, EngineError> {
    Ok(path
        .try_exists()
        .map_err(|error| file_error(path, &error))?)
}

/// Makes a rename durable.
fn sync_directory_of(path: &Path) -> Result<(), EngineError> {
    let directory = directory_of(path);
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| file_error(directory, &error).into())
}

fn rejected(reason: String) -> EngineError {
    StoreError::Rejected { reason }.into()
}
