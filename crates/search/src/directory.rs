//! The directory of the index, which does not sync files to the disk.
//!
//! The index is a cache: the store has everything that a power failure may take from it. A killed
//! process loses nothing that it wrote, and files that a power failure left incomplete fail their
//! checksums, which are verified when the index is opened or soon after ([`crate::index`]). So
//! neither a commit of about twenty small files nor the search that waits for it depends on the
//! disk.
//!
//! Small files are read into memory, larger ones are memory-mapped. Reading a mapped file that was
//! truncated kills the process. Files are written once and then read-only, which keeps others than
//! root from truncating them by mistake. [`OpenFiles`] notices a truncated file before a search or
//! an update reads it, but not during one, nor during a merge. Replacing a file creates another
//! one, which is harmless.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tantivy::Directory;
use tantivy::directory::error::{
    DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError,
};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

/// The lengths of all files take some ten microseconds to read, which searches that follow each
/// other at once should not all spend.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Larger files are memory-mapped. Most files are smaller, until a catalog has a million entities.
const MAX_SMALL_FILE_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct CacheDirectory {
    mapped: MmapDirectory,
    path: PathBuf,
    files: OpenFiles,
}

/// The files that are in use. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenFiles(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    files: HashMap<PathBuf, OpenFile>,
    checked: Option<Instant>,
}

#[derive(Debug)]
struct OpenFile {
    inode: u64,
    length: u64,
    /// That of a small file, which readers open again with every commit.
    content: Option<OwnedBytes>,
}

impl OpenFiles {
    /// A file that is shorter than it was when it was opened, unless they were checked just now.
    pub(crate) fn truncated(&self, now: Instant) -> Option<PathBuf> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.checked.is_some_and(|at| now < at + CHECK_INTERVAL) {
            return None;
        }
        known.checked = Some(now);
        let is_truncated = |(path, opened): &(&PathBuf, &OpenFile)| {
            // A missing file stays open as it is, and so does one that was replaced.
            fs::metadata(path).is_ok_and(|it| it.ino() == opened.inode && it.len() < opened.length)
        };
        let found = known.files.iter().find(is_truncated);
        found.map(|(path, _)| path.clone())
    }

    /// The content of a small file that was opened before, also if others deleted or replaced it.
    fn content(&self, path: &Path) -> Option<OwnedBytes> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.files.get(path)?.content.clone()
    }

    fn add(&self, path: PathBuf, metadata: &Metadata, content: Option<OwnedBytes>) {
        let opened = OpenFile {
            inode: metadata.ino(),
            length: metadata.len(),
            content,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.files.insert(path, opened);
    }

    fn remove(&self, path: &Path) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.files.remove(path);
    }
}

impl CacheDirectory {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenDirectoryError> {
        Ok(Self {
            mapped: MmapDirectory::open(path)?,
            path: path.to_owned(),
            files: OpenFiles::default(),
        })
    }

    pub(crate) fn files(&self) -> OpenFiles {
        self.files.clone()
    }
}

impl Directory for CacheDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let whole = self.path.join(path);
        if let Some(content) = self.files.content(&whole) {
            return Ok(Arc::new(content));
        }
        let metadata = fs::metadata(&whole).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => OpenReadError::wrap_io_error(error, path.to_owned()),
        })?;
        if metadata.len() <= MAX_SMALL_FILE_BYTES {
            let content = OwnedBytes::new(self.mapped.atomic_read(path)?);
            self.files.add(whole, &metadata, Some(content.clone()));
            return Ok(Arc::new(content));
        }
        let handle = self.mapped.get_file_handle(path)?;
        self.files.add(whole, &metadata, None);
        Ok(handle)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.files.remove(&self.path.join(path));
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.files.remove(&self.path.join(path));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o400)
            .open(self.path.join(path))
            .map_err(|error| {
                if error.kind() == io::ErrorKind::AlreadyExists {
                    OpenWriteError::FileAlreadyExists(path.to_owned())
                } else {
                    OpenWriteError::wrap_io_error(error, path.to_owned())
                }
            })?;
        Ok(BufWriter::new(Box::new(Unsynced(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let whole = self.path.join(path);
        let mut name = whole.clone().into_os_string();
        name.push(".new");
        fs::write(&name, data)?;
        fs::rename(&name, whole)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(callback)
    }
}

struct Unsynced(File);

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl TerminatingWrite for Unsynced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_files_are_found_and_deleted_ones_are_not() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = CacheDirectory::open(scratch.path()).unwrap();
        let name = Path::new("file");
        let write = |text: &str| {
            let mut file = directory.open_write(name).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file.terminate().unwrap();
            directory.get_file_handle(name).unwrap();
        };
        write("long");
        let (files, path) = (directory.files(), scratch.path().join(name));
        let mut now = Instant::now();
        assert_eq!(files.truncated(now), None);
        fs::remove_file(&path).unwrap();
        now += CHECK_INTERVAL;
        assert_eq!(files.truncated(now), None);
        write("again");
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(2)
            .unwrap();
        assert_eq!(files.truncated(now), None, "checked just now");
        now += CHECK_INTERVAL;
        assert_eq!(files.truncated(now), Some(path));
        let handle = directory.get_file_handle(name).unwrap();
        assert_eq!(handle.read_bytes(0..5).unwrap().as_slice(), b"again");
        directory.delete(name).unwrap();
        now += CHECK_INTERVAL;
        assert_eq!(files.truncated(now), None);
    }
}
